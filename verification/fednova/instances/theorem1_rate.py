"""Instances for eq 8, the leading-order floor and E1's threshold and family."""
from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.instances import plane, scalar, two_clients
from verification.fednova.instances.surrogate import Kinked, ManyKinked, descending, surrogate

# ---- eq 8: eta = sqrt(m / (taubar T)) ---------------------------------------------------------------------
EXACT_ROUNDS = 200  # beyond, rationals grow too long and balls take over


def own_eta(i, j):
    """The instance at eta = 1/(S j) and T = m^2 S j^2 with S = sum tau_i, so that eta^2 taubar T = m exactly."""
    m, S = len(i.taus), sum(i.taus)
    eta, T = Fraction(1, S * j), m * m * S * j * j
    long = i.domain is ft.RATIONAL and T > EXACT_ROUNDS and isinstance(i.problem, ft.Quadratic)
    return i.but(algorithm=replace(i.algorithm, lr=eta), rounds=T,
                 domain=ft.Balls(256) if long else i.domain, j=j, units=False)


def eq8(name, problem, taus, j, solver="vanilla", value=None, sigma=0, x0=None, server=ft.FedAvg, says="", **extra):
    made = own_eta(surrogate(name, problem, taus, 1, solver, value, sigma, 1, x0, server, says), j)
    return made.but(says=f"{says}; eta = {made.eta}, T = {made.rounds}", **extra)


class LongKinked(ManyKinked):
    """m identical kinked clients with independent noise +-1 for T rounds: drift noise that averaging does not remove.

    The coded round of one client over all noise outcomes gives its mean map psi, piecewise linear in x and convex. A
    tangent of psi maps x0 to at least x0, so E x_t >= x0 in every round; from above, |psi(x)| <= |psi(0)| + rho |x|.
    """

    def psi(self, x):
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)
        draw, total = ft.everyone(1, self.taus[0]), 0
        for signs in itertools.product((-1, 1), repeat=self.taus[0]):
            noise = [ft.RATIONAL.array(np.array([[s]])) for s in signs]
            start = algorithm.init(problem, ft.RATIONAL.array(np.array([x], dtype=object)))
            total += ft.fraction(algorithm.round(problem, start,
                                                 draw._replace(xi=lambda k, noise=noise: noise[k])).x[0])
        return total / 2 ** self.taus[0]

    def left_side(self):
        eta, left, right, x0 = self.eta, self.problem.left, self.problem.right, self.x0[0]
        kinks = [-eta / (1 - eta * left), Fraction(0), eta / (1 - eta * right)]  # where x or y_1 crosses 0
        at = [(x, self.psi(x)) for x in (kinks[0] - 1, *kinks, kinks[-1] + 1)]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(at)]
        if slopes != sorted(slopes) or not 0 < x0 < kinks[-1] or self.psi(x0) < x0 or not 0 < slopes[2] < 1:
            raise ft.CertificateFailed("the mean map of the kinked client is not convex with a tangent above x0")
        rho, drift = max(abs(s) for s in slopes), abs(at[2][1])
        L = self.problem.constants.L
        # two samples, the first also through the gradient of the second step
        noise = (2 * eta + L * eta**2) ** 2 / self.m
        second = max(x0**2, (drift**2 / (1 - rho) + noise) / (1 - rho))
        return ft.Bounds(right**2 * x0**2, L**2 * second)  # f'(x)^2 >= right^2 (2 x0 x - x0^2) for every x


def _long_kinked(m=10**6, j=4, share=6):
    eta, T = Fraction(1, 2 * j), m * 2 * j * j
    x0 = eta / share  # the mean drifts upwards below eta/5
    return LongKinked("a million kinked clients", Kinked(1, "1/2"), ft.FedAvg(eta, (2,)), ft.Full(), noise=1, x0=[x0],
                      solver="vanilla", value=None, rounds=T, fednova=False, m=m, gap=x0**2 / 4, kappa2=Fraction(0),
                      units=False, says=f"identical non-quadratic clients, eta = {eta}, T = {T}; drift to one side")


one_step = scalar([1, 2], [1, -1], ["3/4", "1/4"])
rate = [
    eq8("start dominates", scalar([1, 2], [0, 0]), (1, 1), 4, x0=[5], says="no noise, common minimiser"),
    eq8("noise dominates", scalar([1, 1], [0, 0]), (1, 1), 4, sigma=1, says="one local step, started at the optimum"),
    eq8("drift dominates", scalar([1, 3], [1, -1]), (1, 2), 8, x0=["-5/7"],
        says="no noise, started at the surrogate's optimum"),
    eq8("one step each", one_step, (1, 1), 4, x0=["1/5"], says="no drift, started at the optimum: both sides are 0"),
    eq8("FedNova", two_clients(), (1, 3), 8, x0=[0], server=ft.FedNova, says="started at the optimum"),
    eq8("vanilla", scalar([1, 2], [1, -1]), (1, 2), 6, sigma=1, x0=[2]),
    eq8("momentum", scalar([1, 1], [1, -1]), (1, 2), 6, "momentum", "1/2", sigma=1, x0=[2]),
    eq8("decay", scalar([1, 2], [1, -1]), (1, 2), 6, "decay", "1/2", sigma=1, x0=[2]),
    _long_kinked(),
]
too_early = eq8("T below the cap", scalar([1, 2], [1, -1]), (1, 2), 1, sigma=1, x0=[2],
                says="T is too small for the step-size cap")


def e1_family(j, grouped):
    """m = 6 j^2 clients, half (x-1)^2/2 with one step, half (x+1)^2/2 with two; alpha = 1, eta = 1/(3j), T = m^2.

    grouped: two clients of weight 1/2 each, which run the same deterministic round as the two halves."""
    m = 6 * j * j
    half = 1 if grouped else m // 2
    problem = ft.Quadratic([[[1]]] * (2 * half), [[1]] * half + [[-1]] * half)
    made = surrogate(f"E1 with m={m} clients", problem, (1,) * half + (2,) * half, Fraction(1, 3 * j), "proximal", 1,
                     rounds=m * m, x0=[1])
    who = "two groups of equal clients" if grouped else "all clients"
    return made.but(m=m, gap=Fraction(1, 2), kappa2=Fraction(1), j=j, monotone=True, units=False,
                    says=f"FedProx at alpha = 1, T = m^2, eta = {made.eta}, {who}")


def _e1_symbolic():
    field = ft.Field("eta")
    eta, = field.symbols
    return ft.Instance("E1 at any eta", two_clients(), ft.FedAvg(eta, (1, 2), ft.Proximal(alpha=1)), ft.Full(),
                       domain=field,
                       says="the two groups of E1's family, alpha = 1, eta a symbol")


e1_symbolic = _e1_symbolic()
e1_own_eta = e1_family(6, grouped=False)
e1_members = [e1_own_eta, e1_family(13, grouped=True), e1_family(41, grouped=True)]


# ---- the slope in T ---------------------------------------------------------------------------------------
slope = [
    eq8("start, slope", two_clients(), (1, 1), 4, x0=[4], says="start dominates", fit=True),
    eq8("noise, slope", scalar([1, 1], [0, 0]), (1, 1), 4, sigma=1, x0=["1/4"],
        says="noise dominates, started at its own level", fit=True),
    eq8("one step each, slope", one_step, (1, 1), 4, x0=["1/5"], says="both sides are 0", fit=False),
    eq8("momentum, slope", scalar([1, 1], [1, -1]), (1, 2), 6, "momentum", "1/2", sigma=1, x0=[2], fit=False),
    eq8("proximal, alpha=1, slope", two_clients(), (1, 2), 4, "proximal", 1, x0=[4],
        says="the printed bound misses a term of order 1/T here", fit=True),
    eq8("proximal, alpha=1, no start", two_clients(), (1, 2), 4, "proximal", 1, x0=[0],
        says="only the missing term is left", fit=False),
    _long_kinked(share=12).but(fit=False),
]


def _clients(draw):
    """Weights, steps, a solver with its parameter and a share of the largest step for two clients with L = 1."""
    st = families.st
    p = draw(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)]))
    solver, value = draw(st.sampled_from([("vanilla", None), ("momentum", Fraction(1, 2)), ("decay", Fraction(1, 2)),
                                          ("proximal", Fraction(1, 2)), ("proximal", Fraction(1))]))
    return [p, 1 - p], (draw(st.integers(1, 2)), draw(st.integers(1, 3))), solver, value, draw(st.sampled_from([4, 5]))


def _prescribed(i, share):
    """The instance at a prescribed step of at most 1/(share L max |a|_1)."""
    longest = max(f.norm1(f.a_vector(i.solver, t, i.value)) for t in i.taus)
    out = own_eta(i, math.ceil(share * longest / sum(i.taus)))
    return out.but(says=f"{i.says}; at eta = {out.eta}, T = {out.rounds}", fit=False)


def scalar_quadratics(draw):
    """Two scalar quadratics with curvatures up to 1 (one may be concave), any solver, with and without noise."""
    p, taus, solver, value, share = _clients(draw)
    st = families.st
    h = [Fraction(1), draw(st.sampled_from([Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(-1, 8)]))]
    e, x0, sigma = [draw(st.integers(-3, 3)) for _ in h], draw(st.integers(-3, 3)), draw(st.integers(0, 1))
    problem = ft.Quadratic.from_linear([[[v]] for v in h], [[v] for v in e], p)
    return _prescribed(surrogate("random scalar quadratics", problem, taus, 1, solver, value, sigma, 1, [x0],
                                 says=f"h={h}, e={e}, p={p}, tau={taus}, {solver} {value}, sigma={sigma}, x0={x0}"),
                       share)


def scalar_hubers(draw):
    """Two Huber losses on the line with L = 1, in exact rationals."""
    p, taus, solver, value, share = _clients(draw)
    st = families.st
    offsets = [[draw(st.integers(-3, 3))] for _ in p]
    delta = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
    x0 = draw(st.integers(-3, 3))
    problem = ft.HuberLoss([[[1]], [[1]]], offsets, delta, weights=p)
    return _prescribed(descending("random Huber losses", problem, ft.RATIONAL, delta**2, taus, 1, solver, value, 1,
                                  [x0],
                                  says=f"offsets={offsets}, delta={delta}, p={p}, tau={taus}, {solver} {value}, "
                                       f"x0={x0}"), share)


rate_families = ft.Family("scalar quadratic", scalar_quadratics), ft.Family("Huber", scalar_hubers)


# ---- the floor to leading order ---------------------------------------------------------------------------
def _floor_symbolic(n, server):
    names = ["eta", "k", "x"] + [f"{s}{j}" for s in "hctzr" for j in range(n)] + [f"p{j}" for j in range(n - 1)]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    p = [s[f"p{j}"] for j in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    h, c, t, z, r = ([s[f"{v}{j}"] for j in range(n)] for v in "hctzr")
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in c], p)
    return ft.Instance(f"{server.__name__}, n={n}, general tau", problem, server(s["eta"], 1), ft.Full(), domain=field,
                       k=s["k"], x=s["x"], h=h, c=c, t=t, z=z, r=r, fednova=server is ft.FedNova,
                       general=True, says="any curvatures, minimisers, weights and integers tau_i")


def floor(name, problem, taus, server=ft.FedAvg, says=""):
    """Rational data, eta a symbol: the fixed point as an exact function of eta."""
    field = ft.Field("eta")
    eta, = field.symbols
    return ft.Instance(name, problem, server(eta, tuple(taus)), ft.Full(), domain=field,
                       fednova=server is ft.FedNova, general=False, unit=None, units=False, says=says)


floors = [_floor_symbolic(2, ft.FedAvg), _floor_symbolic(2, ft.FedNova), floor("plane", plane(), (1, 2, 4)),
          floor("plane, FedNova", plane(), (1, 2, 4), ft.FedNova),
          floor("skewed weights", scalar([1, 3], [1, -1], ["9/10", "1/10"]), (2, 6))]


def _chain():
    """Symbols >= 0 for the inequalities behind the slack: weights, L - h, L + h, tau_i - 1, tau_max - tau_i."""
    field = ft.Field("w1 w2 w3 u1 u2 u3 below above s more M")
    return ft.Instance("every n", domain=field, chain=True,
                       says="weights, products (tau_i - 1) h_i g_i, curvatures between -L and L, steps",
                       **dict(zip(field.names, field.symbols, strict=True)))


slack = [_chain(), *(floor(f"steps (1,{M}), FedNova", two_clients(), (1, M), ft.FedNova).but(M=M, unit=True)
                     for M in (2, 5, 12)),
         floor("plane", plane(), (1, 2, 4)), floor("plane, FedNova", plane(), (1, 2, 4), ft.FedNova),
         floor("unit Hessians, three clients", scalar([1, 1, 1], [0, 1, 5]), (2, 3, 7)).but(unit=True),
         floor("one concave client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3))]
slack = [i if "chain" in i.extra else i.but(chain=False) for i in slack]


# ---- E1's threshold ---------------------------------------------------------------------------------------
def _alpha_symbol():
    field = ft.Field("alpha")
    alpha, = field.symbols
    eta = Fraction(1, 4)
    return ft.Instance("every alpha in [0, 1]", two_clients(), ft.FedAvg(eta, (1, 2), ft.Proximal(alpha=alpha)),
                       ft.Full(),
                       domain=field, alpha=alpha,
                       says="alpha is a symbol; the number of roots by Sturm's theorem")


threshold = [_alpha_symbol(),
             *(surrogate(f"alpha={a}", two_clients(), (1, 2), "1/4", "proximal", a).but(alpha=ft.fraction(a))
               for a in ("17/20", "97/100", "9748/10000", "9749/10000", "98/100", "1"))]
