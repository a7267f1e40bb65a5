"""Section 4.2 and Appendix D: the true objective (Lemma 3, Theorem 2, Lemma 4)."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.formulas import true_objective as g
from verification.fednova.instances import Symbols, plane, read, scalar, two_clients


# ---- Lemma 3 ----------------------------------------------------------------------------------------------
def coded_weights(i):
    """The small-step surrogate weights of the instance's algorithm, from its coded round."""
    return list(read(ft.surrogate_weights(i.algorithm, i.law, i.n, i.problem.weights, domain=i.domain)))


def square(v):
    return read((v * v).sum())


def gradients(i, w):
    """(grad F, grad F~) of the instance's objective and surrogate at its point."""
    x = i.domain.array(ft.declare(i.x0))
    return i.problem.to(i.domain).gradient(x), i.problem.surrogate(w).to(i.domain).gradient(x)


def constants(i, w):
    """(chi^2, beta^2, kappa^2): the smallest kappa^2 of the problem at its declared beta^2."""
    return f.chi2(i.p, w), i.beta2, i.problem.dissimilarity(w, i.beta2)


def squares(i, w):
    """chi^2 times the slack of A3, plus a sum of squares with positive factors: what Lemma 3's right side exceeds its
    left by."""
    pairs = g.lagrange(i.p, w, [i.problem.to(i.domain).grad(i.domain.array(np.zeros((len(w), 1), dtype=object)))[k, 0]
                                for k in range(len(w))])
    return sum((s * s * k for s, k in pairs), f.chi2(i.p, w) * i.slack)


def _weights_needed(i):
    if i.general:
        return ft.ASSUMED
    smallest = min(v for v, p in zip(coded_weights(i), i.problem.weights, strict=True) if p)
    return 0, smallest


def _finite(i):
    return ft.ASSUMED if i.general else (0, i.problem.dissimilarity(coded_weights(i), i.beta2))


positive_weights = ft.Hypothesis("positive weights", r"$w_i>0$ wherever $p_i>0$ (else $\chi^2=\infty$)",
                                 _weights_needed,
                                 strict=True)
dissimilar = ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", _finite)
_POINTWISE = ("n = 2, 3, 4 clients, every p, w, beta^2 and gradient; every dimension (coordinates add up); the excess "
              "is a sum of squares")


# ---- pointwise: Lemma 3 and what follows from it ----------------------------------------------------------
def _free(n):
    """n clients whose gradients at the point are free symbols, any p and w; s >= 0 is the slack of Assumption 3."""
    s = Symbols("beta2 s c", p=n, w=n, g=n)
    w = [*s.w[:-1], 1 - sum(s.w[:-1])]
    problem = ft.Quadratic.from_linear([[[0]]] * n, [[-v] for v in s.g], s.weights(n))
    mean = f.dot(w, s.g)
    return ft.Instance(f"n={n}, free gradients", problem, ft.GeneralRule(1, 1, w=tuple(w)), ft.Full(), domain=s.field,
                       x0=[0], slack=s.s, kappa2=sum(q * v * v for q, v in zip(w, s.g, strict=True))
                       - s.beta2 * mean * mean + s.s, general=True, **s.these("c beta2"),
                       says="every gradient, p, w and beta^2 are symbols; coordinates add up, so every dimension")


free = [_free(2), _free(3), _free(4)]


def point(name, problem, taus, beta2, x0, c=1, algorithm=None, says=""):
    return ft.Instance(name, problem, algorithm or ft.FedAvg(Fraction(1, 10), tuple(taus)), ft.Full(), x0=x0,
                       beta2=ft.fraction(beta2), c=ft.fraction(c), general=False, says=says)


# two clients with h = (1, 3), p = 1/2, w = (3/4, 1/4): beta^2 = sum w h^2 / (sum w h)^2 = 4/3, attained far away
_COMMON = scalar([1, 3], [0, 0])
pointwise = [
    point("far away", scalar([1, 3], [1, -1]), (3, 1), "7/5", [50], says="the beta^2 - 1 part dominates"),
    point("surrogate optimum", scalar([1, 1], [1, -1]), (3, 1), 1, ["1/2"], "1/100",
          says="grad F~ = 0: only chi^2 kappa^2 is left"),
    point("common minimiser", _COMMON, (3, 1), "4/3", [1], 3,
          says="kappa^2 = 0, and Young's inequality is attained at c = 3"),
    point("plane", plane(), (1, 3, 8), 4, [2, -1], "1/2"),
    point("plane, FedProx", plane(), (1, 3, 8), 4, [1, 1], 2, ft.FedAvg(Fraction(1, 10), (1, 3, 8),
                                                                        ft.Proximal(alpha="1/2"))),
]
no_weight = ft.Instance("w_1 = 0 although p_1 = 1/2", two_clients(), ft.GeneralRule(Fraction(1, 10), 1, w=(0, 1)),
                        ft.Full(), x0=["1/2"], beta2=Fraction(1), c=Fraction(1), general=False,
                        says="chi^2 is infinite")


@ft.claim("lem3", covers={"d": "all", "tau": "none"},
          on=[*free, *pointwise, no_weight], needs=[positive_weights, dissimilar], bound=True,
          domain=_POINTWISE)
def lem3(i):
    r"""If $w_i>0$ wherever $p_i>0$, then for all $x$: $\|\nabla F-\nabla\widetilde
    F\|^2\le\chi^2_{p\|w}\left[(\beta^2-1)\|\nabla\widetilde F\|^2+\kappa^2\right]$."""
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    if i.general:
        bound = ft.Terms(**g.lem3(f.chi2(i.p, w), i.beta2, i.kappa2, square(surrogate))).total
        return ft.equal(bound - square(true - surrogate), squares(i, w),
                        "right - left = chi^2 slack + sum of squares/(w_i w_j)")
    return ft.at_most(square(true - surrogate), ft.Terms(**g.lem3(*constants(i, w), square(surrogate))))


def _attained(n):
    base = _free(n)
    w = base.algorithm.w
    problem = ft.Quadratic([[[1]]] * n, [[(a - b) / b] for a, b in zip(base.p, w, strict=True)], base.p)
    return base.but(name=f"n={n}, any p and w", problem=problem, says="minimisers (p_i - w_i)/w_i")


def attained_by(taus, weights):
    """FedAvg with steps tau_i: w_i = p_i tau_i / sum p_j tau_j, minimisers placed at (p_i - w_i)/w_i."""
    p = [ft.fraction(v) for v in weights]
    total = f.dot(p, taus)
    xi = [total / t - 1 for t in taus]
    return point(f"FedAvg, tau={tuple(taus)}", scalar([1] * len(xi), xi, weights), taus, 1, [0],
                 says="p_i/w_i = sum p_j tau_j / tau_i")


tight = [*(_attained(n) for n in (2, 3, 4, 5)), attained_by((1, 2, 10), ["1/2", "3/10", "1/5"]),
         attained_by((9, 1), ["1/2", "1/2"])]


@ft.claim("lem3-tight", covers={"tau": "none"},
          on=tight, rejects=[bugs.uniform_weights, bugs.one_step_more],
          domain="every p and w for n = 2, 3, 4, 5 clients")
def lem3_tight(i):
    r"""For every $(p,w)$ the scalar clients $F_i=\frac12(x-\xi_i)^2$ with $\xi_i=(p_i-w_i)/w_i$ attain Lemma 3 at the
    surrogate optimum $x_w=0$: $|\nabla F|^2=\chi^4=\chi^2\kappa^2$ with $\beta^2=1$, $\kappa^2=\chi^2$."""
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    zero = i.domain.array(np.zeros((len(w), 1), dtype=object))
    own = read(i.problem.to(i.domain).grad(zero)[:, 0])
    kappa2 = (np.array(w) * own * own).sum()  # Assumption 3 with beta^2 = 1 is an equality for a common Hessian
    chi2 = f.chi2(i.p, w)
    return (ft.equal(surrogate, 0 * surrogate, "x_w = 0"), ft.equal(kappa2, chi2, "kappa^2 = chi^2"),
            ft.equal(square(true), chi2 * kappa2, "attained"))


@ft.claim("eq109-110", covers={"d": "all", "tau": "none"},
          on=[*free, *pointwise, no_weight], needs=[positive_weights, dissimilar], bound=True, domain=_POINTWISE)
def eq109_110(i):
    r"""For all $x$: $\|\nabla F\|^2\le2[\chi^2_{p\|w}(\beta^2-1)+1]\,\|\nabla\widetilde F\|^2+2\chi^2_{p\|w}\kappa^2$.
    """
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    if i.general:
        bound = ft.Terms(**g.eq110(f.chi2(i.p, w), i.beta2, i.kappa2, square(surrogate))).total
        return ft.equal(bound - square(true), 2 * squares(i, w) + square(true - 2 * surrogate),
                        "right - left is a sum of squares")
    return ft.at_most(square(true), ft.Terms(**g.eq110(*constants(i, w), square(surrogate))))


ft.illustrate([no_weight, *pointwise, *tight])
