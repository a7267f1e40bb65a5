"""FedAvg in Appendix B up to (48): heterogeneity (37) and the variance of sampling."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import fedavg as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.coded import law_mean, one_step, rounds
from verification.focus.formulas import fedavg as f
from verification.focus.formulas import matrices as m
from verification.focus.instances import RARE, _server, law_of, line, make, names, plain, weights


def _apart(i):
    if i.rows is not None:
        return ft.ASSUMED  # f_i = g_i'x: the gradients do not depend on the point
    X = np.array(i.x0, dtype=object)
    return max(f.square(x - X[0]) for x in X), 0


consensus = ft.Hypothesis("consensus", r"$X=\mathbf 1x^\top$: largest $\|x_i-x_1\|^2$", _apart)


def _sampled(i, X):
    """q'grad f(X): the mean coded move of one local step, divided by eta. X is centred at its first row."""
    Y = one_step(i, X)
    kept = law_mean(i.but(law_list=None), X, X[0])
    return (kept - law_mean(i.but(law_list=None), Y, X[0])) / i.eta


def linear(gradients, eta, law, domain, **extra):
    """Clients f_i = g_i'x."""
    n, d = len(gradients), len(gradients[0])
    zero = [[[0] * d] * d] * n
    return make(extra.pop("name"), ft.Quadratic.from_linear(zero, [[-v for v in g] for g in gradients]), law, eta, 1, domain,
                rows=np.array(gradients, dtype=object), **extra)


def _free_gradients(n, law=None):
    k = ft.Field(" ".join([*names("gu", n)]))
    g, u = k.symbols[:n], k.symbols[n:]
    any_law = ft.Bernoulli([1 / (1 + v) for v in u], "redraw")
    return linear([[v] for v in g], 1, any_law if law is None else law, k, even=law is not None,
                  name=f"free gradients, N={n}" + ("" if law is None else f", {type(law).__name__}"),
                  says="gradients are symbols" + (", p_i = 1/(1 + u_i), u_i >= 0" if law is None else ", q is uniform"))


def _point(name, H, c, law, eta, X, **extra):
    """Quadratic clients at stacked points X (n, d) or at one consensus point."""
    problem = ft.Quadratic(H, c)
    rows = [X] * problem.n if np.ndim(X[0]) == 0 else X
    return make(name, problem, law, eta, 1, x0=rows, even=False, rows=None, **extra)


free_state = _point("free stacked state", [[[1]]] * 2, [[1], [-1]], ft.Weighted(1, ("9/10", "1/10")), "1/10", [[10], [0]])
points = [
    _point("equal Hessians, weighted", [[[1]]] * 2, [[1], [-1]], ft.Weighted(1, ("9/10", "1/10")), "1/10", [5]),
    _point("plane, rare client", [[[2, "1/2"], ["1/2", 1]]] * 3, [[1, 0], [-1, 2], [0, -3]], RARE, "1/20", [1, -2]), free_state]
gradients = ft.illustrate([_free_gradients(2), _free_gradients(3), _free_gradients(3, ft.Full()),
                           _free_gradients(3, ft.Uniform(2)), *points])


@ft.claim("delta-le-sigma", covers={"n": "all", "d": "all", "tau": "none"},
          on=gradients, needs=[consensus],
          rejects=[wrong.divides_by_all, bugs.keeps_empty_rounds],
          domain="2 and 3 clients, any gradients and any independent participation without empty rounds, coordinate by "
                 "coordinate; the argument is Jensen's for every N: the gap is sum_{i<j} q_i q_j |g_i - g_j|^2")
def delta_le_sigma(i):
    r"""At consensus and without empty rounds
    $\|q^\top\nabla f-u^\top\nabla f\|^2\le\sum_iq_i\|\nabla f_i-\nabla F\|^2\le\sigma_G^2$, and the left side is 0 for $q=u$.
    """
    if i.rows is None:
        X = np.array(i.x0, dtype=object)
        own = np.stack([f.apply(H, x) - b for H, x, b in zip(i.problem.H, X, i.problem.b, strict=True)])
        centre = np.stack([f.apply(H, X[0]) - b for H, b in zip(i.problem.H, i.problem.b, strict=True)])
        return ft.at_most(f.square(_sampled(i, X) - f.plain_mean(own)), f.heterogeneity(centre), "delta_q^2 against sigma_G^2")
    found = _sampled(i, 0 * i.rows)
    if i.even:
        return ft.equal(found, f.plain_mean(i.rows), "uniform weights: no sampling heterogeneity")
    left, around = f.square(found - f.plain_mean(i.rows)), f.spread(i.q, i.rows, f.plain_mean(i.rows))
    return (ft.equal(around - left, f.pairs(i.q, i.rows), "Jensen's gap is a sum of squares"),
            ft.equal(sum(i.q), 1 + 0 * left, "sum of q: an average is at most the largest"),
            *(ft.nonnegative(w, f"q_{k}") for k, w in enumerate(i.q, start=1)))


def _eq37_consensus():
    """q'grad f(X) - u'grad f(X) at X = (s, 0), f_i = h (x - c_i)^2/2: a quadratic in s with leading coefficient > 0."""
    k = ft.Field("s h c1 c2 d")
    s, h, c1, c2, d = k.symbols
    q = [Q(1, 2) + d, Q(1, 2) - d]
    rows = f.as_rows([h * (s - c1), -h * c2])
    value = f.sampling(q, rows)
    rest = value - (d * h * s) ** 2
    top = rest.substitute(s=1 / s) * s * s
    same = f.sampling(q, f.as_rows([h * (s - c1), h * (s - c2)]))
    free = f.sampling([Q(9, 10), Q(1, 10)], f.as_rows([Q(10**6) - 1, Q(1)]))
    return (ft.equal(ft.limit(top, "s"), 0,
                     "beyond (d h s)^2, d = q_1 - 1/2, only lower powers of s: the supremum over s is infinite"),
            ft.equal(same, (d * h * (c1 - c2)) ** 2, "at consensus the value does not depend on the point"),
            ft.nonnegative(d * d * h * h, "its coefficient (d h)^2 is positive unless d = 0"),
            ft.at_most(Q(10**10), free, "X = (10^6, 0), q = (.9,.1), h = 1: value above 10^10"))


ft.finding("eq37-consensus", kind="missing-hypothesis", breaks="delta-le-sigma", at=(free_state.name,), check=_eq37_consensus,
           step="(37) bounds the difference over free stacked states, where it grows with the distance between the rows",
           reading="(37) for every stacked X, with q different from uniform.",
           survives="Consensus, X = 1 x', which is all that the proofs use (delta-le-sigma).")

never_empty = ft.Hypothesis("no empty round", r"$\sum_iq_i=1$",
                            lambda i: ft.ASSUMED if "law_of" not in i.extra and "law_list" in i.extra else
                            (Q(1), sum(weights(i.law, i.problem.n))))


def _split(i):
    """(E|x+ - x*|^2, |q'Y - x*|^2, E|x+ - q'Y|^2, q, Y) of the coded server on the stacked state Y."""
    Y, best = f.as_rows(i.Y), np.array([i.best], dtype=object)
    laws = i.law_list if "law_of" not in i.extra else i.law_of(i.law, len(Y))
    q = m.participation(laws, len(Y))[1]
    found, mean = rounds(i, Y, best), f.weighted_mean(q, Y)
    return (sum(c * f.square(x - best) for c, x in found), f.square(mean - best),
            sum(c * f.square(x - mean) for c, x in found), q, Y)


def _stacked(N):
    """Any law over the non-empty sets and any stacked state Y, coordinate by coordinate."""
    base = _server(N)
    return base.but(name=f"any law, N={N}", Y=base.c, best=base.x, says="probabilities, the stacked state and x* are symbols")


def _stacked_law(name, law, Y, best):
    n = len(Y)
    return ft.Instance(name, line([1] * n, [0] * n), plain("1/10", 1), law, law_list=law_of(law, n), Y=[Q(v) for v in Y],
                       best=Q(best), law_of=law_of)


stacked = ft.illustrate([_stacked(2), _stacked(3), _stacked_law("full", ft.Full(), (1, -2, 4), 1),
                         _stacked_law("two of four", ft.Uniform(2), (1, -2, 4, 0), 3),
                         _stacked_law("rare client", RARE, (1, -2, 4), 1),
                         _stacked_law("weighted, two of three", ft.Weighted(2, ("7/10", "1/5", "1/10")), (3, 0, -1), 0)])


@ft.claim("eq48", covers={"tau": "none"},
          on=stacked, needs=[never_empty], rejects=[wrong.divides_by_all],
          domain="every law over the non-empty sets of 2 and 3 clients (probabilities symbols), every stacked state and x*")
def eq48(i):
    r"""(48): given the local models $Y$, $E\|\bar x_{k+1}-x^\star\|^2=\|q^\top Y-x^\star\|^2+E\|W[0,:]Y-q^\top Y\|^2$ at the end
    of a round, if rounds are never empty.
    """
    error, of_mean, variance, _, _ = _split(i)
    return ft.equal(error, of_mean + variance, "mean squared error after averaging")


@ft.claim("eq48-variance", covers={"tau": "none"},
          on=stacked, needs=[never_empty], rejects=[wrong.divides_by_all],
          domain="every law over the non-empty sets of 2 and 3 clients (probabilities symbols), every stacked state: the gap is "
                 "the sum over the sets of P(S) |S|^-2 sum_{i<j in S} |y_i - y_j|^2; listed laws exactly")
def eq48_variance(i):
    r"""$E\|W[0,:]Y-q^\top Y\|^2\le\sum_iq_i\|y_i-q^\top Y\|^2$."""
    _, _, variance, q, Y = _split(i)
    bound = f.spread(q, Y, f.weighted_mean(q, Y))
    if "law_of" in i.extra:
        return ft.at_most(variance, bound, "sampling variance against spread")
    inside = [chance * f.pairs([1 + 0 * chance] * len(S), [Y[k - 1] for k in S]) / len(S) ** 2 for chance, S in i.law_list]
    return ft.equal(bound - variance, sum(inside), "the gap is a sum of squares")
