"""Instances for client sampling: schemes (i) and (ii), Algorithm 1 and Corollary 3."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.laws.draw import Draw
from fltheory.core.problems.base import check_weights
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, plane, scalar, two_clients
from verification.fednova.instances.surrogate import Kinked, ManyKinked


def scheme_i(q, p):
    """(law, averaging) of footnote 1, scheme (i): q i.i.d. draws with probabilities p, averaged plainly."""
    return ft.WithReplacement(q, list(p)), "plain"


def scheme_ii(q, p):
    """Scheme (ii): a uniform q-subset without replacement, weights p_i m/q."""
    return ft.Uniform(q), "unbiased"


# ---- the coded server step, fed with free changes ---------------------------------------------------------


def server_only(scheme, n, q, shared=0, places=None):
    """Every number a symbol: p_i = r_i / sum r, changes c_i, masses eta t_i, variances v_i below V_i = v_i + g_i."""
    places = n if places is None else places
    groups = {"r": n, "t": n, "v": n, "g": n, "c": places, "b": places}
    names = ["eta", "tau_eff", *(f"{k}{j}" for k, size in groups.items() for j in range(size))]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    got = {k: [s[f"{k}{j}"] for j in range(size)] for k, size in groups.items()}
    total = sum(got["r"][1:], got["r"][0])
    p = [r / total for r in got["r"]]
    law, averaging = scheme(q, p)
    problem = ft.Quadratic.from_linear([[[0]]] * n, [[0]] * n, p)
    return ft.Instance(f"server, n={n}, q={q}", problem,
                       ft.FedNova(s["eta"], 1, averaging=averaging, tau_eff=s["tau_eff"]),
                       law, domain=field, tau_eff=s["tau_eff"], q=q, shared=shared, part="server",
                       units=False, says="any weights, tau_eff, solver and changes of the clients", **got)


def quadratic_round(scheme, n, q, taus, noise=0):
    """The whole coded round on scalar quadratics with every number a symbol; noise of variance 1 or none."""
    names = ["eta", "tau_eff", "x", *(f"{k}{j}" for k in "phe" for j in range(n))]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    p, h, e = ([s[f"{k}{j}"] for j in range(n)] for k in "phe")
    p[-1] = 1 - sum(p[1:-1], p[0])
    law, averaging = scheme(q, p)
    problem = ft.Quadratic.from_linear([[[v]] for v in h], [[v] for v in e], p)
    algorithm = ft.FedNova(s["eta"], taus, averaging=averaging, tau_eff=s["tau_eff"])
    return ft.Instance(f"whole round, n={n}, q={q}, tau={taus}", problem, algorithm, law, noise=noise, domain=field,
                       tau_eff=s["tau_eff"], q=q, x0=[s["x"]], solver="vanilla", value=None, shared=0,
                       part="round", units=False, says="every h_i, e_i, p_i, x, eta and tau_eff a symbol")


def sampled(name, problem, taus, eta, q, tau_eff=None, solver="vanilla", value=None, sigma=0, rounds=None, x0=None,
            scheme=scheme_i, kind=ft.Instance, says="", **extra):
    """FedNova with a fixed tau_eff (default sum p_i |a_i|_1) under a sampling scheme, in rationals."""
    eta, value = ft.fraction(eta), None if value is None else ft.fraction(value)
    p = [ft.fraction(v) for v in problem.weights]
    norms = [f.norm1(f.a_vector(solver, t, value)) for t in taus]
    tau_eff = f.plain_averaging(p, norms)[0] if tau_eff is None else ft.fraction(tau_eff)
    law, averaging = scheme(q, p)
    algorithm = ft.FedNova(eta, tuple(taus), SOLVERS[solver](value), averaging=averaging, tau_eff=tau_eff)
    extra = {"m": problem.n, "shared": 0, "part": "round"} | extra
    return kind(name, problem, algorithm, law, noise=ft.fraction(sigma), x0=[0] * problem.d if x0 is None else x0,
                q=q, tau_eff=tau_eff, solver=solver, value=value, rounds=rounds, says=says,
                **extra)


footnote_i = [server_only(scheme_i, 2, 1), server_only(scheme_i, 2, 2), server_only(scheme_i, 2, 3),
              server_only(scheme_i, 3, 2),
              quadratic_round(scheme_i, 2, 2, (1, 2)), quadratic_round(scheme_i, 2, 1, (2, 3)),
              sampled("plane, q=2", plane(), (1, 3, 4), "1/10", 2,
                      says="non-commuting Hessians, unequal weights and steps")]
footnote_ii = [server_only(scheme_ii, 2, 1), server_only(scheme_ii, 3, 1), server_only(scheme_ii, 3, 2),
               server_only(scheme_ii, 3, 3),
               server_only(scheme_ii, 4, 2), quadratic_round(scheme_ii, 2, 1, (1, 2)),
               quadratic_round(scheme_ii, 3, 2, (1, 2, 2)),
               sampled("plane, q=2", plane(), (1, 3, 4), "1/10", 2, scheme=scheme_ii,
                       says="the same clients, drawn without replacement")]


# ---- repeated draws ---------------------------------------------------------------------------------------


def variances(name, p, v, q, shared, says=""):
    """Runs of mean zero and variance v_i, as numbers."""
    p, v = [ft.fraction(k) for k in p], [ft.fraction(k) for k in v]
    problem = ft.Quadratic.from_linear([[[0]]] * len(p), [[0]] * len(p), p)
    law, averaging = scheme_i(q, p)
    return ft.Instance(name, problem, ft.FedNova(Fraction(1, 10), 1, averaging=averaging, tau_eff=2), law,
                       tau_eff=2,
                       q=q, v=v, shared=shared, t=[1] * len(p), part="variance", units=False, says=says)


listed = {"p": ["1/2", "3/10", "1/5"], "v": [1, 2, 5], "q": 3}
fresh_runs = [server_only(scheme_i, 2, 2, places=2), server_only(scheme_i, 2, 3, places=3),
              server_only(scheme_i, 3, 2, places=2),
              quadratic_round(scheme_i, 2, 2, (1, 2), noise=1), quadratic_round(scheme_i, 2, 1, (2, 2), noise=1),
              variances("listed, fresh runs", shared=0, **listed),
              variances("listed, shared runs", shared=1, says="a client drawn twice sends the same run twice",
                        **listed),
              variances("dominant client, shared runs", ["9/10", "1/10"], [1, 0], 3, 1,
                        says="here the bound (163) itself fails"),
              sampled("plane with noise", plane(), (1, 3, 4), "1/10", 2, sigma="1/2", x0=[2, 2]),
              sampled("momentum with noise", plane(), (1, 2, 3), "1/10", 2, solver="momentum", value="1/2", sigma=1,
                      x0=[1, -1])]
shared_runs = [server_only(scheme_i, 2, 2, 1), server_only(scheme_i, 2, 3, 1), server_only(scheme_i, 3, 2, 1),
               variances("listed", shared=1, **listed)]


# ---- lemma 5 and eq 175 -----------------------------------------------------------------------------------
lem5 = [sampled("plane", plane(), (1, 3, 4), "1/10", 2, tau_eff=1, x0=[2, 2], beta2=Fraction(5)),
        sampled("diverging local steps", scalar([1, 2], [1, -1]), (3, 3), 2, 2, tau_eff=1, x0=["-1/3"],
                beta2=Fraction(2), says="h_i is far from the gradient: the drift term is needed"),
        sampled("identical clients", scalar([1, 1], [0, 0]), (1, 1), "1/10", 4, tau_eff=1, x0=[3], beta2=Fraction(1),
                says="one step, many draws: only the gradient term is large"),
        sampled("at the optimum", scalar([1, 1], [1, -1]), (1, 1), "1/10", 2, tau_eff=1, beta2=Fraction(1),
                says="one step from the optimum: only the sampling term is left"),
        sampled("long runs, tau_eff = 1", scalar([1, 1], [1, -1]), (5, 5), "1/10", 2, tau_eff=1, x0=[1],
                beta2=Fraction(1))]

descent = [sampled("plane with noise", plane(), (1, 2, 4), "1/100", 2, sigma="1/2", x0=[2, 2]),
           sampled("momentum", plane(), (1, 2, 3), "1/100", 2, solver="momentum", value="1/2", sigma="1/2", x0=[1, -1]),
           sampled("proximal", plane(), (1, 2, 4), "1/100", 2, solver="proximal", value="1/2", sigma="1/2", x0=[1, -1]),
           sampled("drift dominates", scalar([1, 1], [0, 0]), (10, 10), "1/2", 1, tau_eff="1/100", x0=[1],
                   says="common minimiser, long local runs, tiny server steps"),
           sampled("noise dominates", scalar([1, 1], [0, 0]), (1, 1), "1/20", 2, sigma=1,
                   says="one noisy step from the optimum"),
           sampled("sampling dominates", scalar([1, 1], [1, -1]), (1, 1), "1/40", 1,
                   says="one exact step from the optimum"),
           sampled("tiny tau_eff", scalar([1, 1], [1, -1]), (2, 5), "1/40", 1, tau_eff="1/1000",
                   says="from the optimum"),
           sampled("step above the cap", plane(), (1, 2, 4), "1/4", 2, x0=[2, 2])]


# ---- Corollary 3 ------------------------------------------------------------------------------------------


def facts(i):
    """Everything (182) speaks of, from the instance's declared numbers (never from the algorithm's code)."""
    vectors = [f.a_vector(i.solver, t, i.value) for t in i.taus]
    L = ft.fraction(i.constants.L)
    if "gap" in i.extra:
        gap = i.gap
    else:
        try:
            at_start = i.problem.to(ft.RATIONAL).value(ft.RATIONAL.array(np.array([ft.fraction(v) for v in i.x0],
                                                                                  dtype=object)))
            gap = ft.fraction(at_start) - ft.fraction(ft.optimum(i.problem).value)
            # the optimum is a float
            gap = gap if isinstance(i.problem, ft.Quadratic) else max(gap, Fraction(0)) + Fraction(1, 10**6)
        except ft.NoMinimiser:
            gap = None
    return {"vectors": vectors, "norms": [f.norm1(a) for a in vectors], "L": L, "gap": gap,
            "sigma2": ft.fraction(i.noise) ** 2}


class Enumerated(ft.Instance):
    """Rounds without noise on any smooth problem: the coded round over every outcome of the law, in rationals."""

    def start(self):
        return np.array([ft.fraction(v) for v in self.x0], dtype=object)

    def gradient(self, k, y):
        """grad F_k at y (d,)."""
        problem = self.problem.to(ft.RATIONAL)
        return np.array([ft.fraction(v) for v in problem.grad(ft.RATIONAL.array(np.stack([y] * problem.n)))[k]],
                        dtype=object)

    def outcomes(self, x=None):
        """[(probability, server model)] after one coded round from x, default the start."""
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)
        state = algorithm.init(problem, ft.RATIONAL.array(self.start() if x is None else x))
        law = self.law.with_steps(self.algorithm.steps)
        return [(p, np.array([ft.fraction(v) for v in algorithm.round(problem, state, draw).x], dtype=object))
                for p, draw in law.support(problem.n)]

    def left_side(self):
        """(1/T) sum E|grad F(x_t)|^2 over the tree of outcomes."""
        problem, level, total = self.problem.to(ft.RATIONAL), [(Fraction(1), self.start())], 0
        for t in range(self.rounds):
            total = total + sum(p * ft.fraction((problem.gradient(ft.RATIONAL.array(x)) ** 2).sum()) for p, x in level)
            if t + 1 < self.rounds:
                level = [(p * r, after) for p, x in level for r, after in self.outcomes(x)]
        return total / self.rounds


class Crowd(ft.Instance):
    """Two groups of m/2 identical scalar clients and q i.i.d. draws, too many to enumerate.

    The coded round runs on cohorts of q draws; it is additive over the draws (checked exactly on mixed cohorts), so the
    first two moments of a round follow from the two pure cohorts."""

    def left_side(self):
        q, (one, two) = self.q, (self._cohort(0), self._cohort(self.q))
        for k in (1, q // 3, q - 1):
            mixed = self._cohort(k)
            if any(c != (a * (q - k) + b * k) / q for a, b, c in zip(one, two, mixed, strict=True)):
                raise ArithmeticError(f"the coded round is not additive over the draws at {k} of {q}")
        maps = list(zip(self.p, (one, two), strict=True))
        M, c = (sum(w * v[j] for w, v in maps) for j in (0, 1))
        mean = c / (1 - M)                                             # stationary mean, |M| < 1 below
        # second moment S = (1 - 1/q) E(Mx + c)^2 + (1/q) sum p_t E(M_t x + c_t)^2, linear in S
        shrink = (q - 1) * M * M / q + sum(w * m * m for w, (m, _) in maps) / q
        push = (q - 1) * (2 * M * c * mean + c * c) / q + sum(w * (2 * m * v * mean + v * v) for w, (m, v) in maps) / q
        if not (abs(M) < 1 and shrink < 1):
            raise ArithmeticError("the round does not contract")
        S = push / (1 - shrink)
        H, b = (sum(w * v for w, v in zip(self.p, part, strict=True)) for part in (self.h, self.b))
        return H * H * S - 2 * H * b * mean + b * b

    def _cohort(self, k):
        """(slope, offset) of the coded round when k of the q draws fall on the second group."""
        who = np.array([0] * (self.q - k) + [1] * k)
        draw = Draw(who, np.ones(self.q, dtype=np.int64), np.array(self.taus)[who])
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)
        at = [ft.fraction(algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(np.array([x]))),
                                          draw).x[0])
              for x in (0, 1)]
        return at[1] - at[0], at[0]


def crowd(name, size, eta, says):
    """E1 under sampling: half the clients F = (x-1)^2/2 with one step, half (x+1)^2/2 with two, alpha = 1."""
    return sampled(name, two_clients(), (1, 2), eta, size, solver="proximal", value=1, kind=Crowd, m=size, h=[1, 1],
                   b=[1, -1], units=False, gap=Fraction(0), says=says)


e1_crowd = crowd("m = q = 2000", 2000, "2/25", "FedProx with alpha = 1; tau_eff = 1 is its default")
e1_small = sampled("one draw of two, tau_eff = 1/10000", two_clients(), (1, 2), "1/8", 1, tau_eff="1/10000",
                   solver="proximal", value=1,
                   says="any constant tau_eff is allowed; a small one removes the sampling term")
half_proximal = sampled("proximal, alpha=1/2", plane(), (1, 2, 4), "1/100", 2, solver="proximal", value="1/2",
                        sigma="1/2", rounds=10, x0=[2, 2])

solvers = [sampled("vanilla", plane(), (1, 2, 4), "1/100", 2, sigma="1/2", rounds=10, x0=[2, 2]),
           sampled("momentum", plane(), (1, 2, 4), "1/200", 2, solver="momentum", value="1/2", sigma="1/2", rounds=10,
                   x0=[2, 2]),
           sampled("decay", plane(), (1, 2, 4), "1/100", 2, solver="decay", value="9/10", sigma="1/2", rounds=10,
                   x0=[2, 2]),
           sampled("vanilla, stationary", plane(), (1, 2, 4), "1/100", 2, sigma="1/2")]
one_per_term = [
    sampled("start dominates", scalar([1, 2], [0, 0]), (1, 2), "1/100", 2, rounds=3, x0=[5],
            says="no noise, common minimiser"),
    sampled("sampling dominates", scalar([1, 1], [1, -1]), (1, 1), "1/30", 1, says="one local step, stationary"),
    sampled("drift dominates", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (2, 6), "1/2000", 1, tau_eff="1/1000000",
            says="tiny server steps: only the bias of the mean round is left"),
    sampled("one step, unequal curvature", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (1, 1), "1/30", 2,
            tau_eff="1/1000000", says="one local step: no drift at all"),
]
many_kinked = ManyKinked("a billion kinked clients", Kinked(1, "1/2"),
                         ft.FedNova(Fraction(1, 32), (2,), averaging="plain", tau_eff=2),
                         ft.WithReplacement(1), noise=1, x0=[0], solver="vanilla",
                         value=None, rounds=2,
                         m=10**9, q=10**9, tau_eff=Fraction(2), gap=Fraction(0), kappa2=Fraction(0),
                         units=False, shared=0, part="round",
                         says="identical non-quadratic clients; noise turns into drift that averaging does not remove")
too_large = sampled("step above the cap", plane(), (1, 2, 4), "1/4", 2, rounds=3, x0=[2, 2])


# ---- Algorithm 1 ------------------------------------------------------------------------------------------


def algorithm1(m, q):
    """Algorithm 1 (default tau_eff over the participants), uniform p, linear losses: one direction per client."""
    names = ["eta", "k", *(f"t{j}" for j in range(m))]
    field = ft.Field(" ".join(names))
    eta, k, *t = field.symbols
    problem = ft.Quadratic.from_linear([[[0]]] * m, [[0]] * m)
    return ft.Instance(f"m={m}, q={q}", problem, ft.FedNova(eta, 1), ft.Uniform(q), domain=field, k=k, t=t, q=q,
                       general=True, says="any integers tau_i")


def algorithm1_listed(name, taus, q, weights=None, says=""):
    problem = ft.Quadratic.from_linear([[[0] * len(taus)] * len(taus)] * len(taus),
                                       np.eye(len(taus), dtype=int).tolist(),
                                       None if weights is None else check_weights(weights, len(taus)))
    return ft.Instance(name, problem, ft.FedNova(Fraction(1, 10), tuple(taus)), ft.Uniform(q),
                       q=q, general=False, says=says)


partial = [*(algorithm1(m, q) for m in (2, 3, 4) for q in range(1, m + 1)), algorithm1(5, 2), algorithm1(5, 3),
           algorithm1_listed("tau=(1,2,10), q=2", (1, 2, 10), 2, says="weights (14,15,23)/52"),
           algorithm1_listed("tau=(1,2,10), q=1", (1, 2, 10), 1, says="literally FedAvg")]
skewed = algorithm1_listed("equal steps, p=(.7,.2,.1), q=2", (3, 3, 3), 2, ["7/10", "1/5", "1/10"])


def _algebra():
    field = ft.Field("b s a S Q")
    return ft.Instance("all symbols", domain=field, **dict(zip(field.names, field.symbols, strict=True)),
                       says="beta^2 = 1 + b, D = 1/((12 beta^2 + 1)(1 + s)); b, s, a, S, Q >= 0")


algebra = [_algebra()]

# in numbers what the others prove in symbols
ft.illustrate([*footnote_i, *footnote_ii, *fresh_runs, *partial, *shared_runs])
