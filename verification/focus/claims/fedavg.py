"""FedAvg in Sections 2 and 3 and Appendix B up to (48): fixed points, bias, heterogeneity, variance, exact floors."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.core.laws.draw import Draw, everyone
from fltheory.core.scalars import RATIONAL
from fltheory.verdicts.claims.claim import ASSUMED, Hypothesis, claim
from fltheory.verdicts.claims.relations import at_most, equal, induction, nonnegative
from verification import bugs as known
from verification.focus.bugs import fedavg as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.formulas import fedavg as f
from verification.focus.formulas import matrices as m
from verification.focus.instances import fedavg as I

# ---- what the coded pieces do -----------------------------------------------------------------------------


def read(i, numbers):
    """Exact numbers as Fractions, symbols and floats as they are."""
    return linalg.to_fractions(numbers) if i.domain is RATIONAL else numbers


def one_step(i, X):
    """Points (n, d) after one coded local step of every client from its own point X (n, d)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    X = i.domain.array(X)
    after, _ = algorithm.solver.step(X, X, algorithm.solver.start(X), problem.grad(X), algorithm.lr, 1)
    return read(i, after)


def rounds(i, Y, centre):
    """[(probability, server model)]: the coded server at `centre` (d,) for every set of the law; client i ended at Y_i."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    Y, centre, n = i.domain.array(Y), i.domain.array(centre), i.problem.n
    sets = i.extra.get("law_list")
    cohorts = i.law.cohorts(n) if sets is None or "law_of" in i.extra else [
        (chance, slice(None), np.array([int(k in S) for k in range(1, n + 1)])) for chance, S in sets]
    out = []
    for chance, who, present in cohorts:
        change = Y[who] - centre
        draw = Draw(who, present, np.ones(len(change), dtype=np.int64))
        out.append((chance, read(i, algorithm.server(centre, problem.at(who), draw, change, 0 * change[:, :1] + 1))))
    return out


def law_mean(i, Y, centre):
    """The mean over the law of the coded server step: q'Y."""
    return f.total(chance * x for chance, x in rounds(i, Y, centre))


never_empty = Hypothesis("no empty round", r"$\sum_iq_i=1$",
                         lambda i: ASSUMED if "law_of" not in i.extra and "law_list" in i.extra else
                         (Q(1), sum(I.weights(i.law, i.problem.n))))


# ---- fixed points and the bias ----------------------------------------------------------------------------
@claim("fedavg-fixed-point", covers={"n": "2, 3", "tau": "all"},
       on=I.fixed_points, rejects=[known.one_step_more, wrong.divides_by_all],
       domain="local phase: every H_i, c_i and eta in one and two dimensions, every tau by induction on the coded local step; "
              "server: every law over the non-empty sets of 2 and 3 clients (probabilities symbols), fed with any "
              "(1 - eta h_i)^tau, coordinate by coordinate; whole coded round: two and three clients, eta a symbol")
def fedavg_fixed_point(i):
    r"""On quadratics one round has the mean $x-\sum_iq_iG_i(x-c_i)$ with $G_i=I-(I-\eta H_i)^\tau$, hence the fixed point
    $x^o=\big(\sum_iq_iG_i\big)^{-1}\sum_iq_iG_ic_i$; under full participation $q_i=1/N$ and every round is this map.
    """
    if i.part == "local":
        step = np.stack([i.c + f.apply(i.P, i.x - i.c)])
        factor = linalg.identity(len(i.H), i.H) - i.eta * i.H
        return induction(base=[(i.c + f.apply(linalg.identity(len(i.H), i.H), i.x - i.c), i.x)],
                         step=[(one_step(i, step)[0], i.c + f.apply(linalg.matmul(factor, i.P), i.x - i.c))], label="y_t")
    if i.part == "server":
        q, c = m.participation(i.law_list, len(i.c))[1], f.as_rows(i.c)
        gaps, x = [np.array([[G]], dtype=object) for G in i.G], np.array([i.x], dtype=object)
        ends = np.stack([x - f.apply(G, x - v) for G, v in zip(gaps, c, strict=True)])
        best = f.fixed_point(gaps, c, q)
        return (equal(law_mean(i, ends, x), f.mean_round(gaps, c, q, x), "mean of the coded server step"),
                equal(f.mean_round(gaps, c, q, best), best, "x^o is its fixed point"))
    gaps = [f.local_gap(i.domain.array(H), i.eta, i.tau) for H in i.H]
    return equal(i.op.fixed_point().x, f.fixed_point(gaps, i.domain.array(i.c), i.q), "fixed point of the coded round")


def _bias(i):
    """x^o - x* of the coded round under full participation."""
    H, c = (i.domain.array(v) if i.domain is not RATIONAL else v for v in (i.problem.H, i.problem.c))
    return i.op.fixed_point().x - f.minimiser(H, c)


_local = Hypothesis("several local steps", r"$\tau\ge2$", lambda i: (2, i.tau))
_away = Hypothesis("x* is not the origin", r"$x^\star\ne0$",
                   lambda i: (0, f.square(f.minimiser(i.problem.H, i.problem.c))), strict=True)
_convex = Hypothesis("strongly convex", r"$\mu>0$", lambda i: (0, i.constants.mu), strict=True)
_step = Hypothesis("step", r"$\eta\le1/L$", lambda i: (i.eta * i.constants.L, 1))


@claim("eq3", on=I.biases, needs=[_convex, _step, _local, _away], finding="e17",
       reading=r"For every problem, as printed; $\Omega$ hides a positive constant; full participation on quadratics; 1e-9 stands "
               "for the constant, and a left side of 0 refutes every other one.",
       survives=r"For the unsquared distance, with a constant that depends on the clients and is 0 for equal Hessians "
                "(eq3-corrected); (3) is attributed to a theorem that constructs one problem and does not square. Squared, it "
                "fails on fixed quadratics as the step shrinks (e17-rate).")
def eq3(i):
    r"""As printed: $\|x^o-x^\star\|^2=\Omega\big((\tau-1)\eta\big)\|x^\star\|^2$."""
    best = f.minimiser(i.problem.H, i.problem.c)
    return at_most(i.constant * f.eq3(i.eta, i.tau, best), f.square(_bias(i)), "constant times right side against squared bias")


@claim("eq3-corrected", covers={"d": "1", "tau": "all"},
       on=I.first_order, rejects=[known.one_step_more],
       domain="1 to 3 clients on the line with any h_i and c_i, every tau through the second-order part of (1 - eta h)^tau "
              "(induction on the coded local step); whole coded round for tau = 1, 2, 4, and in the plane "
              "(Hessians that do not commute) for tau = 2, 5")
def eq3_corrected(i):
    r"""$x^o-x^\star=-\eta\,\frac{\tau-1}2\big(\sum_iH_i\big)^{-1}\sum_iH_i^2(c_i-x^\star)+O(\eta^2)$, which is 0 at this order,
    and at every order, for equal Hessians.
    """
    if i.extra.get("part") == "jet":
        return _any_tau(i)
    found = [[v.series("eta", 1)[k] for v in _bias(i)] for k in (0, 1)]
    H, c = (i.domain.array(v) for v in (i.problem.H, i.problem.c))
    return (equal(found[0], [0] * len(found[0]), "order 0"), equal(found[1], f.first_order_bias(H, c, i.tau), "order 1"),
            *(_equal_curvature(i) if i.problem.d == 1 else []))


def _equal_curvature(i):
    same = {str(h): i.problem.H[0, 0, 0] for h in i.problem.H[1:, 0, 0]}
    return [equal([v.substitute(**same) + 0 * i.eta for v in _bias(i)], [0], "equal Hessians: no bias at all")]


def _any_tau(i):
    h, c = i.problem.H[:, 0, 0], i.problem.c
    def jets(t):
        return np.array([f.power_jet(i.eta * a, t, i.eta**3 * r) for a, r in zip(h, i.r, strict=True)], dtype=object)[:, None]
    moved = one_step(i, c + jets(i.t)) - c - jets(i.t + 1)   # from c + (1 - eta h)^t: one unit away from c
    low = [v.series("eta", 2) for v in moved[:, 0]]
    gaps = [np.array([[1 - z]], dtype=object) for z in jets(i.t)[:, 0]]
    q = [1 + 0 * i.eta] * len(h)
    scaled = [G / i.eta for G in gaps]                       # G_i vanishes at eta = 0
    point = f.fixed_point(scaled, c, q)
    bias = [v.series("eta", 1) for v in point - f.minimiser(i.problem.H, c)]
    ends = np.stack([point - f.apply(G, point - v) for G, v in zip(gaps, c, strict=True)])
    return (induction(base=[(jets(0 * i.t)[:, 0] - i.eta**3 * np.array(i.r), [1] * len(h))], step=[(low, [[0] * 3] * len(h))],
                      label="second-order part of (1 - eta h)^tau"),
            equal(law_mean(i, ends, point), point, "the coded server stays at x^o"),
            equal([b[0] for b in bias], [0], "order 0"),
            equal([b[1] for b in bias], f.first_order_bias(i.problem.H, c, i.t), "order 1"))


# ---- heterogeneity ----------------------------------------------------------------------------------------
def _apart(i):
    if i.rows is not None:
        return ASSUMED  # f_i = g_i'x: the gradients do not depend on the point
    X = np.array(i.x0, dtype=object)
    return max(f.square(x - X[0]) for x in X), 0


consensus = Hypothesis("consensus", r"$X=\mathbf 1x^\top$: largest $\|x_i-x_1\|^2$", _apart)


def _sampled(i, X):
    """q'grad f(X): the mean coded move of one local step, divided by eta. X is centred at its first row."""
    Y = one_step(i, X)
    kept = law_mean(i.but(law_list=None), X, X[0])
    return (kept - law_mean(i.but(law_list=None), Y, X[0])) / i.eta


@claim("delta-le-sigma", covers={"n": "all", "d": "all", "tau": "none"},
       on=I.gradients, needs=[consensus],
       rejects=[wrong.divides_by_all, bugs.keeps_empty_rounds],
       domain="2 and 3 clients, any gradients and any independent participation without empty rounds, coordinate by coordinate; "
              "the argument is Jensen's for every N: the gap is sum_{i<j} q_i q_j |g_i - g_j|^2")
def delta_le_sigma(i):
    r"""At consensus and without empty rounds
    $\|q^\top\nabla f-u^\top\nabla f\|^2\le\sum_iq_i\|\nabla f_i-\nabla F\|^2\le\sigma_G^2$, and the left side is 0 for $q=u$.
    """
    if i.rows is None:
        X = np.array(i.x0, dtype=object)
        own = np.stack([f.apply(H, x) - b for H, x, b in zip(i.problem.H, X, i.problem.b, strict=True)])
        centre = np.stack([f.apply(H, X[0]) - b for H, b in zip(i.problem.H, i.problem.b, strict=True)])
        return at_most(f.square(_sampled(i, X) - f.plain_mean(own)), f.heterogeneity(centre), "delta_q^2 against sigma_G^2")
    found = _sampled(i, 0 * i.rows)
    if i.even:
        return equal(found, f.plain_mean(i.rows), "uniform weights: no sampling heterogeneity")
    left, around = f.square(found - f.plain_mean(i.rows)), f.spread(i.q, i.rows, f.plain_mean(i.rows))
    return (equal(around - left, f.pairs(i.q, i.rows), "Jensen's gap is a sum of squares"),
            equal(f.total(i.q), 1 + 0 * left, "sum of q: an average is at most the largest"),
            *(nonnegative(w, f"q_{k}") for k, w in enumerate(i.q, start=1)))


# ---- the variance split -----------------------------------------------------------------------------------
def _split(i):
    """(E|x+ - x*|^2, |q'Y - x*|^2, E|x+ - q'Y|^2, q, Y) of the coded server on the stacked state Y."""
    Y, best = f.as_rows(i.Y), np.array([i.best], dtype=object)
    laws = i.law_list if "law_of" not in i.extra else i.law_of(i.law, len(Y))
    q = m.participation(laws, len(Y))[1]
    found, mean = rounds(i, Y, best), f.weighted_mean(q, Y)
    return (f.total(c * f.square(x - best) for c, x in found), f.square(mean - best),
            f.total(c * f.square(x - mean) for c, x in found), q, Y)


@claim("eq48", covers={"tau": "none"},
       on=I.stacked, needs=[never_empty], rejects=[wrong.divides_by_all],
       domain="every law over the non-empty sets of 2 and 3 clients (probabilities symbols), every stacked state and x*")
def eq48(i):
    r"""(48): given the local models $Y$, $E\|\bar x_{k+1}-x^\star\|^2=\|q^\top Y-x^\star\|^2+E\|W[0,:]Y-q^\top Y\|^2$ at the end
    of a round, if rounds are never empty.
    """
    error, of_mean, variance, _, _ = _split(i)
    return equal(error, of_mean + variance, "mean squared error after averaging")


@claim("eq48-variance", covers={"tau": "none"},
       on=I.stacked, needs=[never_empty], rejects=[wrong.divides_by_all],
       domain="every law over the non-empty sets of 2 and 3 clients (probabilities symbols), every stacked state: the gap is the "
              "sum over the sets of P(S) |S|^-2 sum_{i<j in S} |y_i - y_j|^2; listed laws exactly")
def eq48_variance(i):
    r"""$E\|W[0,:]Y-q^\top Y\|^2\le\sum_iq_i\|y_i-q^\top Y\|^2$."""
    _, _, variance, q, Y = _split(i)
    bound = f.spread(q, Y, f.weighted_mean(q, Y))
    if "law_of" in i.extra:
        return at_most(variance, bound, "sampling variance against spread")
    inside = [chance * f.pairs([1 + 0 * chance] * len(S), [Y[k - 1] for k in S]) / len(S) ** 2 for chance, S in i.law_list]
    return equal(bound - variance, f.total(inside), "the gap is a sum of squares")


# ---- exact floors -----------------------------------------------------------------------------------------
@claim("cor2-exact-floor", covers={"n": "all"},
       on=[*I.exact_floors, *I.equal_curvature],
       rejects=[known.one_step_more, wrong.one_client_more, known.server_step_two],
       domain="1 to 4 clients, every h, b and eta (only mean and variance of b enter x+ = x - eta h (x - b_S), so every N)")
def cor2_exact_floor(i):
    r"""$f_i=\frac h2(x-b_i)^2$, one uniform client a round, $\tau=1$:
    $\lim E\|x-x^\star\|^2=\dfrac{\eta h\,\mathrm{Var}(b)}{2-\eta h}$.
    """
    return equal(i.op.floor(), f.equal_curvature_floor(i.eta, i.h, i.b), "stationary second moment of the coded round")


@claim("cor3", covers={"n": "all", "d": "all", "tau": "all"},
       on=I.homogeneous, rejects=[bugs.last_client_works_longer, known.server_step_two],
       domain="any number of equal clients (2 and 3 coded) in one and two dimensions, every eta and tau by induction on the coded "
              "local step, every set; on the line steps up to 1/(3L) contract, and eigenvalue by eigenvalue in any dimension")
def cor3(i):
    r"""Homogeneous clients ($\sigma_G=0$): whatever the sets, $x_{r+1}-x^\star=(I-\eta H)^\tau(x_r-x^\star)$, which tends to 0 for
    $\eta\le1/(3L)$: FedAvg converges exactly.
    """
    if i.extra.get("part") == "rate":
        M, shift = i.op.mean_map()
        T = i.op.moments.second_matrix()
        return (equal(M[0, 0], 1 - i.eta * i.h, "every set: factor of one local step"),
                equal(T[0, 0], M[0, 0] * M[0, 0], "no spread between the sets"),
                equal(shift, [i.eta * i.h * i.c], "fixed point x*"),
                nonnegative(M[0, 0], "0 <= 1 - eta h"), nonnegative(1 - M[0, 0], "1 - eta h <= 1"),
                equal((1 - M[0, 0]) * (3 + i.s), 1 + 0 * i.s, "and below 1"))
    eye, away = linalg.identity(i.d, i.H), i.x - i.c
    def at(P):
        return i.c + f.apply(P, away)
    step = one_step(i, np.stack([at(i.P)] * i.n))
    after = at(linalg.matmul(eye - i.eta * i.H, i.P))
    server = [law_mean(i.but(law_list=[(1 + 0 * i.eta, S)], problem=i.problem), step, i.x) for S in I.S.subsets(i.n)]
    whole = i.algorithm.to(i.domain).round(i.problem.to(i.domain), i.algorithm.init(None, i.x), everyone(i.n, 1))
    return (induction(base=[(at(eye), i.x)], step=[(y, after) for y in step], label="every client's y_t"),
            *(equal(x, after, f"server, set {k}") for k, x in enumerate(server)),
            equal(whole.x, at(eye - i.eta * i.H), "a whole coded round, tau = 1"))


@claim("rem-thm3-restricted", on=I.partial, rejects=[bugs.everybody_takes_part],
       needs=[Hypothesis("partial participation", r"$m<N$", lambda i: (i.size, i.problem.n), strict=True)],
       domain="one coordinate of N = 2 to 5 clients with any curvatures and gradients at x*, m of N a round: the variance of one "
              "round at x* is a positive multiple of sum |grad f_i(x*)|^2. If E|x_r - x*|^2 came near 0, the next one would come "
              "near this number, so it stays away from 0 unless all minimisers agree; exact positive floors on listed instances")
def rem_thm3_restricted(i):
    r"""$\tau=1$, $m<N$ uniform clients: from $x^\star$ one round has $E\|x^+-x^\star\|^2=\eta^2\frac{N-m}{m(N-1)}\cdot\frac1N
    \sum_i\|\nabla f_i(x^\star)\|^2$, so FedAvg keeps a positive floor unless all clients share the minimiser.
    """
    if i.g is None:
        return at_most(Q(0), i.op.floor(), "stationary E|x - x*|^2 is positive", strict=True)
    _, (mean, second) = i.op.trajectory(2, [0])
    factor = Q(i.problem.n - i.size, i.size * (i.problem.n - 1) * i.problem.n)
    left = f.partial_variance(i.eta, f.as_rows(i.g), i.size)
    return (equal(mean, [0], "no move in mean"), equal(second[0, 0], left, "second moment after one round from x*"),
            equal(second[0, 0] / (i.eta**2 * f.total(v * v for v in i.g)), factor, "a number times the sum of squares"),
            at_most(Q(0), factor, "the number is positive", strict=True))

