"""Random problems, methods and laws, each twice: for the package, and as plain numbers for the oracle."""
from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from tests.fuzz.oracle import laws as chances
from tests.fuzz.oracle.rounds import Clients, ResidualClients

SOLVERS = ("vanilla", "proximal mu", "proximal alpha", "momentum", "both", "decay", "decays")
SOLVED = {"FedAvg", "FedNova", "GeneralRule", "ServerMomentum", "AdaptiveServer", "FedNovaVR"}
LAWS = ("full", "uniform", "weighted", "weighted replace", "replacement", "bernoulli move", "bernoulli skip",
        "bernoulli redraw", "cyclic", "replay", "periodic", "chain", "markov", "coin")
CERTAIN = ("full", "cyclic", "replay", "periodic certain", "coin 1")          # one outcome a round: loops can follow
MODELS = {"FedAvg", "FedNova", "GeneralRule", "FedAu", "Reweighted", "FedSgd"}  # the state is the model
# method -> how many ways of declaring it the draw goes through
METHODS = {"FedAvg": 3, "FedNova": 3, "GeneralRule": 2, "ServerMomentum": 2, "VRLSGD": 2, "Scaffold": 2, "Scaffnew": 2,
           "ProxSkip": 1, "Focus": 2, "Mifa": 1, "FedVarp": 1, "LocalSgd": 2, "FedAu": 1, "Reweighted": 1, "FedAwe": 1,
           "FedNovaVR": 2, "NeighbourAveraging": 4, "FedResAvg": 4, "FedResSgd": 1, "FedResNaive": 2, "FedSgd": 1, "LocalProx": 1,
           "StaleSteps": 2}
# not affine: runs against loops only
LOOPS = {"FedAu": 2, "FedAwe": 1, "AdaptiveServer": 1, "AsyncFedED": 1, "FedAsync": 3, "FedBuff": 1}
KINDS = ("float", "float", "float", "rational", "dyadic")                     # data and arithmetic


@dataclass
class Case:
    """One draw. kind "dyadic": float data, exact arithmetic. a: the method's numbers; before, moves: the chain of draws."""

    seed: str
    kind: str
    name: str
    solver: str
    law_name: str
    algorithm: object
    problem: object
    law: object
    noise: object
    x0: list
    a: SimpleNamespace
    data: SimpleNamespace
    before: list
    moves: list

    @property
    def exact(self):
        return self.kind != "float"

    def __str__(self):
        given = {k: getattr(self.problem, k).tolist() for k in (*self.problem._data, "weights")}
        return (f"seed {self.seed}: {self.algorithm!r} under {self.law!r}, noise {self.noise}, x0 {self.x0}, "
                f"{'' if self.exact else 'float '}{given}")


class Draw:
    """A case of a seed. large: sizes of the long search."""

    def __init__(self, seed, name, way, large=False, loops=False):
        self.seed, self.name, self.way, self.large, self.loops = seed, name, way, large, loops
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(self.random.getrandbits(64))
        self.kind = "float" if loops else self.random.choice(KINDS)
        self.exact = self.kind != "float"
        self.whole = name == "FedNovaVR" or (name, way) == ("NeighbourAveraging", 0)  # all clients in every round

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def of(self, value):
        """A declared number as the oracle's: floats, or their exact values."""
        return Fraction(value) if self.exact else float(value)

    def number(self, low, high):
        """Between two numbers: a float, or a short fraction."""
        if self.kind == "rational":
            bottom = self.random.choice([2, 3, 5, 7, 10, 12, 20])
            return low + (high - low) * Fraction(self.random.randint(0, bottom), bottom)
        if self.kind == "dyadic":
            return float(low) + float(high - low) * self.random.randint(0, 1000) / 1000
        return self.random.uniform(float(low), float(high))

    def positive(self, low, high):
        return max(self.number(Fraction(low), Fraction(high)), self.number(Fraction(low), Fraction(high)))

    def weights(self, n):
        """Of the clients: equal, of any kind, or one of them nearly all."""
        form = self.random.choice(["uniform", "any", "any", "dominating"])
        if form == "uniform" or n == 1:
            return None
        if self.kind == "rational":
            parts = [Fraction(self.random.randint(1, 9)) for _ in range(n)]
            if form == "dominating":
                parts[self.random.randrange(n)] = Fraction(10**9)
            return [v / sum(parts) for v in parts]
        if form == "dominating":
            rest = self.numbers.dirichlet(np.ones(n - 1)) * 1e-9
            return [1 - float(rest.sum()), *rest.tolist()]
        return np.maximum(self.numbers.dirichlet(np.ones(n)), 1e-6).tolist() if self.exact else self._dirichlet(n)

    def _dirichlet(self, n):
        w = np.maximum(self.numbers.dirichlet(np.ones(n)), 1e-12)
        return (w / w.sum()).tolist()

    # ---- problem -----------------------------------------------------------------------------------------------------
    def sizes(self):
        light = self.name in MODELS or self.loops
        if self.exact:
            return (self.random.randint(1, 4), self.random.randint(1, 2)) if light else self.random.choice(
                [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2) if self.large else (2, 1)])
        if self.name == "FedAwe" and not self.loops:
            return self.random.randint(1, 3), self.random.randint(1, 2)
        most = (12, 4) if self.large and light else (9, 3) if self.large and self.random.random() < 0.3 else (4, 2)
        return self.random.randint(1, most[0]), self.random.randint(1, most[1])

    def hessian(self, d, spread, sign=1):
        if self.kind == "rational":
            R = [[self.number(Fraction(-1), Fraction(1)) for _ in range(d)] for _ in range(d)]
            return [[sum(R[k][i] * R[k][j] for k in range(d)) + (sign * Fraction(1, 3) if i == j else 0) for j in range(d)]
                    for i in range(d)]
        basis = np.linalg.qr(self.numbers.standard_normal((d, d)))[0]
        values = 10.0 ** -self.numbers.uniform(0, spread, d)
        values[0] = sign if d == 1 and spread < 1 else sign * values[0]
        H = basis @ np.diag(values) @ basis.T
        if self.kind == "dyadic":
            H = np.round(H * 1000) / 1000 + np.eye(d) / 100
        return ((H + H.T) / 2).tolist()

    def quadratic(self, n, d):
        """(problem, data of the oracle, largest curvature)."""
        spread = self.random.choice([0, 1, 2, 4, 8])
        scale = 1 if self.exact else 10.0 ** self.random.uniform(-3, 3)
        odd = self.random.randrange(n) if self.random.random() < 0.1 else None  # a client that is not convex
        H = [self.hessian(d, spread, -1 if i == odd else 1) for i in range(n)]
        if not self.exact:
            H = (scale * np.array(H) * self.numbers.lognormal(0, 0.5, (n, 1, 1))).tolist()
        b = [[self.number(Fraction(-3), Fraction(3)) for _ in range(d)] for _ in range(n)]
        p = self.weights(n)
        if self.name == "NeighbourAveraging":
            graph, p = self.graph(n)
        if self.kind == "rational" and self.random.random() < 0.5:  # by its minimisers
            c = b
            b = [[sum(u * v for u, v in zip(row, m, strict=True)) for row in h] for h, m in zip(H, c, strict=True)]
            problem = ft.Quadratic(H, c, p)
        else:
            problem = ft.Quadratic.from_linear(H, b, p)
        data = self.oracle_data(n, d, p)
        matrices, vectors = self.array(H), self.array(b)
        data.clients = lambda one, noise=None: Clients(matrices, vectors, data.p, one, noise)
        data.H, data.b = matrices, vectors
        if self.name == "NeighbourAveraging":
            data.graph = graph
        L = max(float(np.abs(np.linalg.eigvalsh(np.array(h, dtype=float))).max()) for h in H)
        return problem, data, max(L, 1e-3 * scale)

    def residual(self, n, d):
        k = [self.random.randint(1, 2) for _ in range(n)]
        spread = self.random.choice([0, 1, 2])
        blocks = [np.array(self.hessian(d + m, spread), dtype=object) for m in k]
        A, B, C = ([h[:d, :d].tolist() for h in blocks], [h[:d, d:].tolist() for h in blocks], [h[d:, d:].tolist() for h in blocks])
        bw = [[self.number(Fraction(-3), Fraction(3)) for _ in range(d)] for _ in range(n)]
        bt = [[self.number(Fraction(-3), Fraction(3)) for _ in range(m)] for m in k]
        p = self.weights(n)
        problem, data = ft.Residual(A, B, C, bw, bt, p), self.oracle_data(n, d, p)
        parts = [self.array(A), [self.array(v) for v in B], [self.array(v) for v in C], self.array(bw), [self.array(v) for v in bt]]
        data.clients = lambda one, noise=None: ResidualClients(*parts, data.p, one, noise)
        data.blocks, data.drawn = parts, d + max(k)
        return problem, data, max(float(np.abs(np.linalg.eigvalsh(h.astype(float))).max()) for h in blocks)

    def oracle_data(self, n, d, p):
        p = [Fraction(1, n)] * n if p is None else [self.of(v) for v in p]
        p = [v / sum(p) for v in p] if self.exact else [float(v) for v in p]
        return SimpleNamespace(n=n, d=d, drawn=d, p=p, exact=self.exact)

    def array(self, values):
        """Nested lists as the oracle's array."""
        a = np.array(values, dtype=object)
        out = np.empty(a.shape, dtype=object if self.exact else float)
        out.reshape(-1)[:] = [self.of(v) for v in a.reshape(-1)]
        return out

    def graph(self, n):
        E = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i, n):
                E[i][j] = E[j][i] = Fraction(self.random.randint(1, 5))
        total = sum(map(sum, E))
        E = [[v / total for v in row] for row in E]
        if self.kind != "rational":
            E = [[float(v) for v in row] for row in E]
        return E, [sum(row) for row in E]

    # ---- method ------------------------------------------------------------------------------------------------------
    def solver(self, lr, n):
        """(declared, the oracle's, name)."""
        form = self.random.choice(SOLVERS) if self.name in SOLVED else "vanilla"
        part = self.number(Fraction(0), Fraction(4, 5))
        o = self.of
        if form == "proximal mu":  # lr mu <= 1: beyond it |a|_1 is no sum of signed entries
            mu = part / lr if self.kind != "float" else float(part) / float(lr)
            return ft.Proximal(mu=mu), ("proximal", o(mu)), form
        if form == "proximal alpha":
            return ft.Proximal(alpha=part), ("proximal", o(part) / o(lr)), form
        if form == "momentum":
            return ft.Momentum(part), ("momentum", o(part)), form
        if form == "both":
            alpha = self.number(Fraction(0), Fraction(1))
            return ft.MomentumProximal(part, alpha), ("both", o(part), o(alpha) / o(lr)), form
        if form == "decay":
            gamma = self.number(Fraction(0), Fraction(5, 4))
            return ft.Decay(gamma), ("decay", o(gamma)), form
        if form == "decays":
            gamma = [self.number(Fraction(0), Fraction(5, 4)) for _ in range(n)]
            return ft.Decay(gamma), ("decay", [o(v) for v in gamma]), form
        return ft.Vanilla(), ("vanilla",), form

    def method(self, lr, n, data, inclusion):
        """(make: steps -> declared, the oracle's numbers, solver's name)."""
        solver, twin, form = self.solver(lr, n)
        declared, a = {}, {"lr": self.of(lr)}

        def give(**values):
            for k, v in values.items():
                declared[k] = v
                plain = v is None or isinstance(v, (str, int))
                a[k] = v if plain else [self.of(u) for u in v] if isinstance(v, list) else self.of(v)
        if self.name in SOLVED:
            declared["solver"], a["solver"] = solver, twin
            a["averaging"], a["tau_eff"] = "weighted", None
        if self.name in ("FedAvg", "FedNova"):
            give(averaging=["weighted", "plain", "unbiased"][self.way])
        if self.name in ("FedNova", "ServerMomentum") and self.random.random() < 0.4:
            give(tau_eff=self.positive(1, 3))
        if self.name == "GeneralRule":
            w = [Fraction(self.random.randint(1, 7)) for _ in range(n)]
            w = [v / sum(w) for v in w]
            give(tau_eff=self.positive(1, 3), w=[w, None][self.way])
        if self.name in ("ServerMomentum", "AdaptiveServer"):
            give(beta=self.number(Fraction(0), Fraction(4, 5)))
        if self.name == "AdaptiveServer":
            give(server_lr=self.positive(Fraction(1, 5), 2), epsilon=self.positive(Fraction(1, 5), 2))
        if self.name == "FedNovaVR":
            give(variant=["repaired", "printed"][self.way])
        if self.name == "VRLSGD":
            give(divisor=["own", "mean"][self.way])
        if self.name == "Scaffold":
            give(option=[2, 1][self.way], server_lr=self.positive(Fraction(1, 2), Fraction(3, 2)))
        if self.name == "Scaffnew":
            give(update=["immediate", "late"][self.way])
        if self.name == "ProxSkip":
            give(p=self.positive(Fraction(1, 5), 1))
        if self.name == "Focus":
            declared["init"] = a["start"] = ["zero", "warm"][self.way]
        if self.name in ("FedVarp", "Reweighted", "FedAwe", "FedAu"):
            give(server_lr=self.positive(Fraction(1, 2), Fraction(5, 4)))
        if self.name == "LocalSgd":
            give(report=["average", "mean"][self.way])
        if self.name == "Reweighted":
            give(inclusion=[self.positive(Fraction(1, 5), 1) for _ in range(n)] if inclusion is None else inclusion)
        if self.name == "FedAu":
            give(weights=None if self.loops else [self.positive(Fraction(1, 5), 3) for _ in range(n)],
                 cutoff=[None, 2][self.way] if self.loops else None)
        if self.name == "FedAwe":
            give(cap=None if self.loops else self.random.randint(1, 2 if n == 3 else 3))
        if self.name == "NeighbourAveraging":
            declared["graph"], a["graph"] = data.graph, [[self.of(v) for v in row] for row in data.graph]
            give(beta=self.positive(Fraction(1, 5), 1), average=["full", "printed", "renormalised", "renormalised"][self.way],
                 absent=["stale", "stale", "reset", "stale"][self.way])
        if self.name == "FedResAvg":
            give(personal_lr=lr, alpha=self.positive(Fraction(1, 2), Fraction(3, 2)), option=[2, 1, 2, 2][self.way],
                 start=["zero", "zero", "warm", "zero"][self.way], over=["all", "all", "all", "present"][self.way])
        if self.name in ("FedResSgd", "FedResNaive"):
            give(personal_lr=lr / 2)
        if self.name == "FedResNaive":
            give(order=["seq", "sim"][self.way])
        if self.name == "StaleSteps":
            give(server_lr=self.positive(Fraction(1, 5), 1), mixing=["update", "model"][self.way])
        if self.name == "LocalProx":
            give(mu=self.positive(Fraction(1, 5), 2))
        return (lambda steps: getattr(ft, self.name)(lr, steps, **declared)), SimpleNamespace(**a), form

    # ---- law ---------------------------------------------------------------------------------------------------------
    def steps(self, n):
        """(declared, the oracle's) local steps."""
        most = 3 if self.exact else 4
        form = self.random.choice(["common", "own", "own", "random", "together"])
        if form == "common":
            tau = self.random.randint(1, most)
            return tau, tau
        if form == "own" or self.loops or n > 3 or self.name in ("FedAwe", "ProxSkip"):
            tau = [self.random.randint(1, most) for _ in range(n)]
            return tau, tau
        one = [(Fraction(1, 3), 1), (Fraction(2, 3), self.random.randint(2, 3))]
        if form == "together":
            one[1] = (one[1][0], [self.random.randint(1, 3) for _ in range(n)])
        return ft.RandomSteps(one, form == "random"), ("random", [(self.of(q), s) for q, s in one], form == "random")

    def probability(self):
        near = self.random.random()
        if near < 0.15:
            return Fraction(1, 10**6) if self.kind == "rational" else 1e-9
        if near < 0.3:
            return 1 - Fraction(1, 10**6) if self.kind == "rational" else 1 - 1e-9
        return self.positive(Fraction(1, 10), Fraction(19, 20))

    def bernoulli(self, n, empty):
        p = self.probability() if self.random.random() < 0.3 else [self.probability() for _ in range(n)]
        if isinstance(p, list) and self.random.random() < 0.2:
            p[self.random.randrange(n)] = 1
        each = [self.of(v) for v in (p if isinstance(p, list) else [p] * n)]
        return (lambda **o: ft.Bernoulli(p, empty, **o)), ("bernoulli", each, empty)

    def memoryless(self, kind, n):
        """(make: options -> law, the oracle's law)."""
        if kind == "uniform":
            m = self.random.randint(1, n)
            while math.comb(n, m) > (16 if self.exact else 250):
                m = self.random.randint(1, n)
            return (lambda **o: ft.Uniform(m, **o)), ("uniform", self.of(1), m)
        if kind in ("weighted", "weighted replace"):
            m = self.random.randint(1, min(n, 3 if n < 7 else 2))
            w = [self.positive(Fraction(1, 5), 3) for _ in range(n)]
            exact = [Fraction(v) for v in w]
            each = [self.of(v / sum(exact)) for v in exact]
            return ((lambda **o: ft.Weighted(m, w, kind != "weighted", **o)),
                    ("weighted", m, each) if kind == "weighted" else ("replacement", m, each))
        if kind == "replacement":
            m, w = self.random.randint(1, 2), [Fraction(self.random.randint(1, 5)) for _ in range(n)]
            w = [v / sum(w) for v in w]
            given = None if self.random.random() < 0.3 else w
            return (lambda **o: ft.WithReplacement(m, given, **o)), (
                "replacement", m, [self.of(v) for v in (given or [Fraction(1, n)] * n)])
        if kind.startswith("bernoulli"):
            return self.bernoulli(n, kind.split()[1])
        if kind.startswith("coin"):
            p = 1 if kind == "coin 1" else self.probability()
            return (lambda **o: ft.Coin(p, **o)), ("coin", self.of(p))
        return ft.Full, ("full",)

    def sets(self, n, k):
        return [[i for i in range(n) if self.random.random() < 0.6] for _ in range(k)]

    def law(self, kind, n):
        """(law without steps or noise as make(**options), oracle's law, its own steps or None) of a kind."""
        if kind == "cyclic":
            groups = self.sets(n, self.random.randint(1, 3))
            return (lambda **o: ft.Cyclic(groups, **o)), ("sets", groups, None, None, False), None
        if kind == "replay":
            groups = [list(range(n))] * 2 if self.whole else self.sets(n, self.random.randint(1, 4))
            each = [self.random.choice([1, 2, [self.random.randint(1, 3) for _ in range(n)]]) for _ in groups]
            return ((lambda **o: ft.Replay(list(zip(groups, each, strict=True)), **o)),
                    ("sets", groups, None, None, False), ("modes", each))
        if kind.startswith("periodic"):
            parts = ["full", "full"] if "certain" in kind or self.whole else [
                self.random.choice(["full", "uniform", "weighted", "bernoulli move", "bernoulli redraw"])
                for _ in range(self.random.randint(1, 2))]
            made, turns = [], []
            for part in parts:
                make, law = self.memoryless(part, n)
                tau = self.random.choice([None, 1, 2])
                made.append(make(steps=tau))
                turns.append((law, tau))
            return (lambda **o: ft.Periodic(made, **o)), ("turns", turns), None
        if kind == "chain":
            k = self.random.randint(1, 3)
            rows = [[Fraction(self.random.randint(1, 4)) for _ in range(k)] for _ in range(k)]
            rows = [[v / sum(row) for v in row] for row in rows]
            sets, empty = self.sets(n, k), self.random.choice(["move", "skip"])
            first = [Fraction(int(j == 0)) for j in range(k)]
            return ((lambda **o: ft.Chain(sets=sets, matrix=rows, initial=first, empty=empty, **o)),
                    ("sets", sets, [[self.of(v) for v in row] for row in rows], [self.of(v) for v in first], empty == "skip"), None)
        if kind == "markov":
            p = [self.positive(Fraction(1, 5), Fraction(4, 5)) for _ in range(n)]
            rho = self.number(Fraction(0), Fraction(9, 10))
            return (lambda **o: ft.Markov(p, rho, n, **o)), ("markov", [self.of(v) for v in p], [self.of(rho)] * n), None
        make, law = self.memoryless(kind, n)
        return make, law, None

    def law_kind(self, n):
        if self.loops:
            certain = ("full", "coin 1") if self.name == "ProxSkip" else CERTAIN
            return self.random.choice([k for k in certain if not self.whole or k != "cyclic"])
        if self.whole:
            return self.random.choice(["full", "replay", "periodic", "coin"])
        if self.name == "ProxSkip":
            return self.random.choice(["coin", "coin", "full"])
        while True:
            kind = self.random.choice(LAWS)
            if "replace" in kind and (self.name not in MODELS or n > 6):
                continue
            if kind == "markov" and n > 3 - (self.exact or self.name == "FedAwe"):
                continue
            if (kind == "periodic" or "bernoulli" in kind) and n > (4 if self.exact or self.name == "FedAwe" else 8):
                continue
            return kind

    # ---- all together ------------------------------------------------------------------------------------------------
    def case(self) -> Case:
        n, d = self.sizes()
        problem, data, L = (self.residual if self.name.startswith("FedRes") else self.quadratic)(n, d)
        kind = self.law_kind(n)
        make, law, own = self.law(kind, n)
        part = self.random.choice([Fraction(1, 20), Fraction(1, 5), Fraction(2, 5), Fraction(3, 5)])
        part = part / n if self.name == "Focus" else part
        lr = Fraction(part / Fraction(L)).limit_denominator(200) or Fraction(1, 200)
        lr = lr if self.kind == "rational" else float(lr) if self.exact else float(part) / L
        tau, steps = (None, own) if own is not None else self.steps(n)
        if law[0] == "turns" and all(each is not None for _, each in law[1]):
            tau, own = None, steps                 # not used by any round
        build, a, solver = self.method(lr, n, data, None)
        inside = own is None and not isinstance(tau, ft.RandomSteps) and self.random.random() < 0.5 and self.name != "ProxSkip"
        if self.name == "ProxSkip":  # its steps are one unless told otherwise
            inside, tau = True, tau if own is None else 1
        noise = 0 if self.loops or self.random.random() < 0.4 else self.positive(Fraction(1, 10), 2)
        options = {} if own is not None or inside else {"steps": tau}
        before, moves = chances.chain(law, steps, n)
        if self.name == "FedAwe" and a.cap is not None:
            before, moves = chances.aged(before, moves, n, a.cap)
        x0 = [self.number(Fraction(-3), Fraction(3)) for _ in range(d)]
        return Case(self.seed, self.kind, self.name, solver, kind, build(tau if inside else None), problem, make(**options), noise,
                    x0, a, data, before, moves)
