"""Families of admissible instances for counter-example searches; hypothesis draws, shrinks and stops."""
import itertools
from fractions import Fraction
from math import inf

import numpy as np

import fltheory as ft
from verification import piecewise
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, Local, descending, surrogate, theorem

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def _fraction(draw, low, high):
    return ft.fraction(draw(st.fractions(low, high, max_denominator=8)))


MANY, LONG, TINY = 64, 30, Fraction(1, 1000)     # clients, local steps and steps at the ends of a search
CAP = Fraction(28867, 100000)                    # eta L max |a_i|_1 at the drift part of (101), beta^2 = 1, rounded down
BASE = ({"n": 1, "tau": 1, "kind": "even", "rounds": 1}, {"n": MANY, "tau": 1, "rounds": None, "kind": "even"},
        {"n": 2, "tau": LONG, "rounds": 1, "kind": "even"}, {"n": 2, "share": TINY, "kind": "even"},
        {"n": 2, "tau": 3, "kind": "noise", "rounds": None}, {"n": 2, "kind": "drift", "rounds": None},
        {"n": 2, "tau": 2, "kind": "concave", "share": Fraction(1, 20)}, {"n": 2, "kind": "uneven", "share": Fraction(1, 8)})


def at(share, tau=2, solver="vanilla", **more):
    """A corner at this eta L max |a_i|_1, with equal steps."""
    return {"n": 2, "tau": tau, "solver": solver, "share": ft.fraction(share), "kind": "even"} | more


CORNERS = (*BASE, {**BASE[1], "share": CAP}, {"n": 2, "share": CAP, "kind": "even"}, at("1/2"))
ONE_ROUND = tuple({**c, "rounds": 1} for c in (*BASE, at("1/2")))   # rounds from any start
ENDS = {"clients": (1, MANY), "local steps": (1, LONG), "rounds": (1, inf), "noise against drift": (0, 1), "curvature": (-1, 1),
        "weight": (Fraction(1, 100), 1)}
ROUND_ENDS = {k: v for k, v in ENDS.items() if k != "rounds"}


def _setting(draw, n, tau=None, solver=None, share=None):
    """Steps, solver with its parameter, and the share of the largest admissible step."""
    taus = tuple(tau or draw(st.integers(1, 5)) for _ in range(n))
    solver = solver or draw(st.sampled_from(sorted(SOLVERS)))
    ranges = {"proximal": (0, 1), "momentum": (0, Fraction(7, 8)), "decay": (Fraction(1, 2), 1)}
    value = _fraction(draw, *ranges[solver]) if solver in ranges else None
    return taus, solver, value, share or draw(st.sampled_from([Fraction(1, 8), Fraction(1, 4), CAP, Fraction(1, 2)]))


def weights(draw, n):
    parts = [draw(st.integers(1, 5)) for _ in range(n)]
    return [Fraction(v, sum(parts)) for v in parts]


def clients(draw, n=None, kind=""):
    """(quadratics, some with a concave client; noise; start; words). kind: "even" (curvatures near 1), "equal" (all 1), "noise" (no
    drift), "drift" (no noise, curvatures 1 and 1/2), "concave" (curvatures 1 and -1), "uneven" (weights 99 to 1)."""
    n, d = n or draw(st.integers(2, 3)), 1 if kind else draw(st.integers(1, 2))
    numbers, H = st.integers(-3, 3), []
    for _ in range(0 if kind else n):
        diagonal = [draw(st.integers(-1, 4)) for _ in range(d)]
        off = draw(st.integers(-1, 1))
        H.append([diagonal] if d == 1 else [[diagonal[0], off], [off, diagonal[1]]])
    last = {"concave": -1, "drift": Fraction(1, 2), "noise": 1, "equal": 1}.get(kind) or Fraction(draw(st.integers(1, 2)), 2)
    H = H or [[[1]]] * (n - 1) + [[[last]]]
    e = [[0 if kind == "noise" or k > 3 else draw(numbers) for _ in range(d)] for k in range(n)]
    p = [Fraction(99, 100), Fraction(1, 100)] if kind == "uneven" else [Fraction(1, n)] * n if kind and kind != "concave" else None
    p = [Fraction(3, 4), Fraction(1, 4)] if kind == "concave" else p or weights(draw, n)
    sigma = {"noise": 1, "drift": 0}[kind] if kind in ("noise", "drift") else draw(st.sampled_from([0, 1]))
    return ft.Quadratic.from_linear(H, e, p), sigma, [0 if kind == "noise" else draw(numbers) for _ in range(d)], f"H={H}, e={e}"


def quadratics(draw, n=None, tau=None, solver=None, share=None, rounds=0, kind=""):
    """Random quadratics, any solver, with and without noise."""
    problem, sigma, x0, said = clients(draw, n, kind)
    taus, solver, value, share = _setting(draw, problem.n, tau, solver, share)
    rounds = draw(st.sampled_from([1, 2, 5, None])) if rounds == 0 else rounds
    L = ft.fraction(problem.constants.L)
    if L == 0:
        return None
    eta = share / (L * max(f.norm1(f.a_vector(solver, t, value)) for t in taus))
    return surrogate("random quadratic", problem, taus, eta, solver, value, sigma, rounds, x0,
                     says=f"{said}, tau={taus}, {solver} {value}, eta={eta}, sigma={sigma}, T={rounds}, x0={x0}")


def hubers(draw):
    """Sums of Huber losses on the line, run in exact rationals: gradients with kinks."""
    n = draw(st.integers(2, 3))
    U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
    offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
    delta = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
    problem = ft.HuberLoss(U, offsets, delta, 1, draw(st.sampled_from([0, Fraction(1, 4)])), weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    # data gradients are bounded by G_i = sum delta |u|, so kappa^2 = sum w_i G_i^2 is admissible with every beta^2 >= 1
    kappa2 = sum(q * (delta * sum(abs(r[0]) for r in u)) ** 2 for q, u in zip(w, U, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 3])), [draw(st.integers(-4, 4))]
    return descending(
        "random Huber", problem, ft.RATIONAL, kappa2, taus, share, solver, value, rounds, x0,
        says=f"U={U}, offsets={offsets}, delta={delta}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def logistics(draw):
    """Regularised logistic regression in the plane, in floats."""
    n = draw(st.integers(2, 3))
    A = [[[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(draw(st.integers(2, 4)))] for _ in range(n)]
    labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
    if not any(v for a in A for r in a for v in r):
        return None
    problem = ft.Logistic(A, labels, Fraction(1, 10), weights=weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    kappa2 = sum(
        q * sum(ft.fraction(abs(r[0]) + abs(r[1])) for r in a) ** 2 / len(a) ** 2 for q, a in zip(w, A, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 5, 20])), [draw(st.integers(-3, 3)), draw(st.integers(-3, 3))]
    return descending("random logistic", problem, ft.FLOAT, kappa2, taus, share, solver, value, rounds, x0,
                        says=f"A={A}, labels={labels}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def _exact(problem):
    return [ft.fraction(v) for v in problem.weights]


class Listed(Local):
    """Rounds of clients on the line with independent signs as noise: every outcome of every round is run."""

    def left_side(self, target=None):
        """(1/T) sum E|grad|^2 of the surrogate, or of another objective."""
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)
        target = (target or self.problem.surrogate(theorem(self)["w"])).to(ft.RATIONAL)
        taus, most = np.array(self.taus), max(self.taus)
        slots = sum(self.taus) * (self.rounds - 1) if self.sigma else 0  # the last round is not looked at
        signs = self.sigma * np.array(list(itertools.product((-1, 1), repeat=slots)), dtype=object).reshape(2**slots, slots)
        state, total, used = None, 0, 0
        for t in range(self.rounds):
            x = ft.RATIONAL.array(np.array([self.x0] * len(signs), dtype=object)) if state is None else state.x
            total = total + (target.gradient(x) ** 2).sum()
            if t + 1 == self.rounds:
                return ft.fraction(total) / len(signs) / self.rounds
            xi = np.zeros((len(signs), most, self.n, 1), dtype=object)
            for j, k in [(j, k) for j, tau in enumerate(self.taus) for k in range(tau)] if slots else []:
                xi[:, k, j, 0], used = signs[:, used], used + 1
            noise = ft.RATIONAL.array(xi)
            state = algorithm.init(problem, x) if state is None else state
            state = algorithm.round(problem, state, ft.everyone(self.n, taus)._replace(xi=lambda k, noise=noise: noise[:, k]))
        return None


def nonconvex(draw, rounds=(1, 2, 3)):
    """Non-convex clients and surrogates, with and without noise, some of it quiet near a point; constants exact."""
    n = draw(st.integers(1, 2))
    problem = piecewise.either(draw, n, **({} if draw(st.booleans()) else {"weights": weights(draw, n)}))
    if problem is None:
        return None
    taus, solver, value, share = _setting(draw, n)
    taus, sigma, T = tuple(min(t, 3) for t in taus), draw(st.sampled_from([0, 1])), draw(st.sampled_from(rounds))
    T = min(T, 1 + 6 // sum(taus)) if sigma else T
    longest, x0 = max(f.norm1(f.a_vector(solver, t, value)) for t in taus), draw(st.integers(-4, 4))
    eta = share / (ft.fraction(problem.constants.L) * longest)
    made = Listed("random non-convex clients", problem, ft.FedAvg(eta, taus, SOLVERS[solver](value)), ft.Full(), noise=sigma,
                  x0=[x0], rounds=T, gap=Fraction(0), units=False,
                  says=f"{piecewise.words(problem)}, tau={taus}, {solver} {value}, eta={eta}, sigma={sigma}, T={T}, x0={x0}")
    target = problem.surrogate(theorem(made)["w"])
    least = target.least()
    return None if least is None else made.but(gap=ft.fraction(target.value([Fraction(x0)])) - least[1])
