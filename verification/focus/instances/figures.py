"""Instances for Figures 4 and 9: the ridge regressions as stated and as in the public notebook, clusters for Figure 9.

What neither states is chosen here: minimisers N(x_0, I), 4 of 16 clients, one draw of the weights.
"""
import functools
import itertools
from dataclasses import dataclass
from fractions import Fraction as Q

import numpy as np

from fltheory.core.algorithms.fedau import FedAu
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffnew import Scaffnew
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.optima import optimum
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.ridge import Ridge
from fltheory.core.scalars import FLOAT, Field, Torch
from fltheory.core.streams import Stream
from fltheory.verdicts.claims.claim import Instance
from verification.focus.bugs.figures import PreviousModelMifa, StuckFedAu
from verification.focus.instances import line, plane

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

CLIENTS, COHORT = 16, 4
PANELS = ("full", "4 of 16, uniform", "4 of 16, weighted")


# ---- Figure 4's data --------------------------------------------------------------------------------------
def stated(d=100, rows=100, seed=4, n=CLIENTS) -> Ridge:
    """The paper's sizes: 16 clients with 100 standard normal rows each, minimisers N(x_0, I) around a common N(0, I),
    noise 0.1, ridge 0.01."""
    rng = Stream(seed, "fig4").generator()
    centre = rng.standard_normal(d)
    A = rng.standard_normal((n, rows, d))
    own = centre + rng.standard_normal((n, d))
    y = np.einsum("ikd,id->ik", A, own) + 0.1 * rng.standard_normal((n, rows))
    return Ridge(list(A), list(y), 0.01, convention="sum", name=f"Figure 4 as stated, d={d}")


def notebook() -> Ridge:
    """The public notebook's set-up: |A_i x - y_i|^2/2 without ridge, 500 rows scaled by U(.5, 1), d = 50, one x_o for all
    clients, noise 0.1."""
    rng = Stream(4, "fig4", "notebook").generator()
    centre = rng.standard_normal(50)
    A = rng.standard_normal((CLIENTS, 500, 50)) * rng.uniform(0.5, 1, (CLIENTS, 500, 1))
    y = A @ centre + 0.1 * rng.standard_normal((CLIENTS, 500))
    return Ridge(list(A), list(y), 0, convention="half-sum", name="Figure 4 as in the public notebook")


def weights(seed=4):
    """rand + .01, normalised by the law."""
    return Stream(seed, "fig4", "weights").generator().random(CLIENTS) + 0.01


def laws(seed=4):
    """All; 4 of 16 uniformly; 4 of 16 with uneven weights."""
    return dict(zip(PANELS, (Full(), Uniform(COHORT), Weighted(COHORT, weights(seed))), strict=True))


@dataclass(frozen=True)
class SetUp:
    """problem: () -> Ridge, made once; tau; lr of each panel."""

    problem: object
    tau: int
    lr: tuple


SETUPS = {"as stated": SetUp(functools.cache(stated), 5, (2e-4, 2e-4, 2e-4)),
          "public notebook": SetUp(functools.cache(notebook), 3, (6e-4, 1.5e-4, 1e-4))}


def methods(lr, tau, everybody=False):
    """name -> (algorithm, vectors sent per participant and round, up and down together).

    As published: 4 for SCAFFOLD, and 4 for ProxSkip, which the paper counts twice. The immediate update needs the new
    average at once besides the model pulled the next time, so 3, or 2 where everybody is there and the two are one.
    """
    matched = lr * tau / CLIENTS
    return {"FOCUS": (Focus(lr, tau), 2), "FOCUS, matched step": (Focus(matched, tau), 2), "SCAFFOLD": (Scaffold(lr, tau), 4),
            "FedAvg": (FedAvg(lr, tau, averaging="plain"), 2), "FedAU": (FedAu(lr, tau), 2), "MIFA": (Mifa(lr, tau), 2),
            "MIFA, notebook": (PreviousModelMifa(lr, tau), 2), "ProxSkip, late": (Scaffnew(lr, tau, "late"), 4),
            "ProxSkip, immediate": (Scaffnew(lr, tau, "immediate"), 2 if everybody else 3)}


class Digits:
    """Metric log10 |x - x*|/|x*| of server models (..., d), x* the problem's exact minimiser."""

    def __init__(self, problem):
        self.best = np.array(optimum(problem).x, dtype=float)

    def __call__(self, x):
        gap = ((x - Torch().array(self.best)) ** 2).sum(-1).sqrt() / np.linalg.norm(self.best)
        return gap.clamp(min=1e-300).log10()


def pairs(law, n=CLIENTS):
    """P(i and j take part) (n, n) in floats, P(i takes part) on the diagonal."""
    listed = [(float(chance), present) for chance, _, present in law.cohorts(n)]
    chances, masks = np.array([c for c, _ in listed]), np.array([m for _, m in listed], dtype=float)
    return (masks * chances[:, None]).T @ masks


# ---- Figure 4's claims ------------------------------------------------------------------------------------
MC = {"replicates": 256, "seed": 4}
SMALL, TINY_STEP = {"full": Full(), "2 of 6, uniform": Uniform(2), "2 of 6, weighted": Weighted(2, (1, 2, 3, 3, 4, 5))}, 0.01


@functools.cache
def small() -> Ridge:
    """6 clients with 4 rows in 4 dimensions: small enough for the exact operator."""
    return stated(4, 4, n=6)


def _ridge(name, problem, algorithm, law, rounds, lr, tau, **extra):
    metrics = {"digits": Digits(problem)}
    runs = MC | {"replicates": 2} if isinstance(law, Full) else MC     # with everybody in every round all runs are one
    return Instance(name, problem, algorithm, law, domain=FLOAT, lr=float(Q(lr)), rounds=rounds,
                    simulate=runs | {"rounds": rounds, "metrics": metrics, "tail": "1/2"}, **extra)


def _focus(name, problem, law, rounds, lr, tau, **extra):
    return _ridge(name, problem, Focus(lr, tau), law, rounds, lr, tau, **extra)


SETUP = SETUPS["as stated"]
linear = [_focus(f"6 clients, {name}", small(), law, 60, TINY_STEP, 5, exact=True, seen=(2, 5)) for name, law in SMALL.items()]
linear += [_focus(name, SETUP.problem(), law, rounds, SETUP.lr[0], SETUP.tau, exact=False, seen=(2, 5))
           for (name, law), rounds in zip(laws().items(), (24, 60, 100), strict=True)]


def drawn(draw):
    """A ridge regression of 3 to 5 clients in 1 to 3 dimensions, one of the three kinds of law, a small step."""
    n, d, kind = draw(st.integers(3, 5)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    problem = stated(d, d + 1, draw(st.integers(0, 999)), n)
    w = tuple(draw(st.integers(1, 5)) for _ in range(n))
    law = (Full(), Uniform(2), Weighted(2, w))[kind]
    tau, rare = draw(st.integers(1, 5)), float(min(law.inclusion(n)))
    return _focus("drawn", problem, law, 40, rare / (4 * n * problem.constants.L), tau, exact=True, seen=())


RIVALS = ("SCAFFOLD", "FedAvg", "FedAU", "MIFA", "ProxSkip, late")  # what the figure plots beside FOCUS
FEW, FEW_STEP, FEW_VECTORS = "16 clients, d=8, ", 2e-3, 80


@functools.cache
def few(seed=4) -> Ridge:
    """16 clients with 8 rows in 8 dimensions."""
    return stated(8, 8, seed)


def race(name, problem, law, vectors, lr, tau, rivals=RIVALS):
    """FOCUS and the others, each for as many rounds as `vectors` sent per participant allow."""
    (algorithm, cost), all_of_them = methods(lr, tau)["FOCUS"], methods(lr, tau)
    others = {k: (all_of_them[k][0], vectors // all_of_them[k][1]) for k in rivals}
    return _ridge(name, problem, algorithm, law, vectors // cost, lr, tau, rivals=others)


def _race(name, vectors):
    return race(name, SETUP.problem(), laws()[name], vectors, SETUP.lr[0], SETUP.tau)


fastest = [race("6 clients, full", small(), SMALL["full"], 40, TINY_STEP, 5),
           race(FEW + PANELS[1], few(), laws()[PANELS[1]], FEW_VECTORS, FEW_STEP, 5)]
fastest += [_race("full", 24), _race("4 of 16, uniform", 100)]
fastest_weighted = [race("6 clients, 2 of 6, weighted", small(), SMALL["2 of 6, weighted"], FEW_VECTORS, TINY_STEP, 5),
                    _race("4 of 16, weighted", 120)]


def another(kinds):
    """Other data, weights and participation, FOCUS against the only other method that converges."""
    def family(draw):
        seed, name = draw(st.integers(0, 9999)), draw(st.sampled_from(kinds))
        return race("other data", few(seed), laws(seed)[name], FEW_VECTORS, FEW_STEP, 5, ("SCAFFOLD",))
    return family


# ---- floors -----------------------------------------------------------------------------------------------
def _stalls(name, problem, law, lr, tau, kind, part, rounds=60, n=CLIENTS):
    """FedAvg, FedAU with weights at their limits (both with what a participant's change is multiplied by), or counted."""
    p = np.diagonal(pairs(law, n))
    made = {"FedAvg": (FedAvg(lr, tau, averaging="plain"), np.full(n, 1 / p.sum())),
            "FedAU": (FedAu(lr, tau, weights=tuple(1 / p)), 1 / p / n), "FedAU, counted": (FedAu(lr, tau), None)}
    algorithm, share = made[kind]
    certain = bool((p == 1).all())  # one run, until rounding level
    made = _ridge(f"{name}, {kind}", problem, algorithm, law, 250 if certain else rounds, lr, tau, weights=share, part=part)
    return made.but(simulate=made.simulate | {"replicates": 1}) if certain else made


stalls = [_stalls(f"6 clients, {name}", small(), law, TINY_STEP, 5, kind, "operator", 120, 6)
          for name, law in SMALL.items() for kind in ("FedAvg", "FedAU")]
stalls += [_stalls(name, SETUP.problem(), law, SETUP.lr[0], SETUP.tau, kind, "formula") for name, law in laws().items()
           for kind in (("FedAvg", "FedAU") if name == PANELS[2] else ("FedAvg",))]  # the same under the other two
stalls += [_stalls(name, SETUP.problem(), laws()[name], SETUP.lr[0], SETUP.tau, "FedAU, counted", "counted", 80)
           for name in PANELS[1:]]


# ---- MIFA -------------------------------------------------------------------------------------------------
def _telescopes(n, tau):
    k = Field(" ".join(["eta", *(f"{v}{i}" for v in "hcu" for i in range(n))]))
    eta, *rest = k.symbols
    h, c, u = (rest[j * n:(j + 1) * n] for j in range(3))
    return Instance(f"everybody, N={n}, tau={tau}", line(h, c), PreviousModelMifa(eta, tau), Full(), domain=k, part="telescopes",
                    h=h, c=c, last=u, fedavg=FedAvg(eta, tau),
                    says="one round from any previous local models, the server at their mean, as at the start")


def _partial(name, problem, law, eta="1/20", tau=3):
    return Instance(f"{name}, tau={tau}", problem, PreviousModelMifa(eta, tau), law, part="diverges", published=Mifa(eta, tau))


mifa = [_telescopes(1, 2), _telescopes(2, 1), _telescopes(2, 3), _telescopes(3, 2),
        _partial("plane, one of three", plane(), Uniform(1)), _partial("plane, two of three", plane(), Uniform(2)),
        _partial("plane, Bernoulli", plane(), Bernoulli(("9/10", "1/2", "1/10"))),
        _partial("line, p = 7/10", line((1, 1), (1, -1)), Bernoulli(("7/10", "7/10"))),
        _partial("line, p = 9/10", line((1, 1), (1, -1)), Bernoulli(("9/10", "9/10"))).but(part="neutral"),
        *(_ridge(name, SETUP.problem(), PreviousModelMifa(SETUP.lr[0], SETUP.tau), law, 40, SETUP.lr[0], SETUP.tau, part="run",
                 published=Mifa(SETUP.lr[0], SETUP.tau)) for name, law in list(laws().items())[1:])]


# ---- Figure 9 ---------------------------------------------------------------------------------------------
FIG9_CLIENTS, FIG9_BATCH, FIG9_TAU, FIG9_STEP = 32, 16, 3, 0.01


def chances(seed=9, n=FIG9_CLIENTS, batch=FIG9_BATCH):
    """Figure 9's panels: "active", p_i from U(.1, .3) for 90 % of the clients, from U(.1, .9) for the others; "passive", all
    1/5, which is what the published chain amounts to."""
    rng = Stream(seed, "fig9").generator()
    often = rng.permutation(n) < n // 10
    p = np.where(often, rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.3, n))
    return {"active": Bernoulli(p, batch=batch), "passive": Bernoulli(["1/5"] * n, batch=batch)}


def dealt(labels, rng, n=FIG9_CLIENTS, alpha=0.05):
    """Rows of each client: every class dealt by Dirichlet(alpha); who would hold none takes one from the largest client."""
    owners = [[] for _ in range(n)]
    for k in range(labels.max() + 1):
        members = np.nonzero(labels == k)[0]
        cuts = (np.cumsum(rng.dirichlet([alpha] * n))[:-1] * len(members)).astype(int)
        for own, part in zip(owners, np.split(members, cuts), strict=True):
            own.extend(part)
    for own in owners:
        if not own:
            own.append(max(owners, key=len).pop())
    return owners


@functools.cache
def clusters(seed=9, n=FIG9_CLIENTS, classes=4, d=4):
    """(problem, accuracy): softmax regression (ridge 1e-4) on unit Gaussian clusters around N(0, 4 I), 20 rows per client on
    average, and the share of 500 fresh points that a model (batch, classes * (d + 1)) gets right."""
    rng, rows = Stream(seed, "clusters").generator(), 20 * n
    centres, labels = 2 * rng.standard_normal((classes, d)), rng.integers(0, classes, rows + 500)
    x = np.concatenate([centres[labels] + rng.standard_normal((rows + 500, d)), np.ones((rows + 500, 1))], axis=1)
    owners = dealt(labels[:rows], rng, n)
    problem = Logistic([x[o] for o in owners], [labels[o] for o in owners], 1e-4, classes=classes)
    return problem, Accuracy(x[rows:], labels[rows:], classes)


class Accuracy:
    """Metric: the share of the points x (n, features) with labels (n,) that softmax models (batch, K features) get right."""

    def __init__(self, x, labels, classes):
        self.x, self.labels, self.classes = x, labels, classes

    def __call__(self, models):
        x = Torch().array(self.x)
        best = (x @ models.reshape(-1, self.classes, x.shape[1]).transpose(-1, -2)).argmax(-1)
        return (best == best.new_tensor(self.labels)).double().mean(-1)


def contest(lr=FIG9_STEP, tau=FIG9_TAU, n=FIG9_CLIENTS):
    """name -> algorithm at equal steps, and the others with lr tau raised to FOCUS's lr N."""
    raised = lr * n / tau
    return {"SG-FOCUS": Focus(lr, tau), "FedAU": FedAu(lr, tau), "SCAFFOLD": Scaffold(lr, tau),
            "FedAvg": FedAvg(lr, tau, averaging="plain"), "FedAU, matched step": FedAu(raised, tau),
            "SCAFFOLD, matched step": Scaffold(raised, tau), "FedAvg, matched step": FedAvg(raised, tau, averaging="plain")}


def _contest(name, panel, seed, n=FIG9_CLIENTS, rounds=20, rivals=("FedAU", "SCAFFOLD", "FedAvg"), lr=0.003):
    (problem, accuracy), made = clusters(seed, n), contest(lr, n=n)
    return Instance(name, problem, made["SG-FOCUS"], chances(seed, n, 1)[panel], domain=FLOAT, rounds=rounds, lr=lr,
                    rivals={k: (made[k], rounds) for k in rivals}, counted=made["FedAU"], fedavg=made["FedAvg"],
                    stuck=StuckFedAu(lr, FIG9_TAU),
                    simulate={"seed": 9, "replicates": 256, "rounds": rounds, "metrics": {"accuracy": accuracy, "error": accuracy}})


best_accuracy = [_contest(f"clusters, {panel}", panel, 9) for panel in ("active", "passive")]


counters = [i.but(name=i.name, algorithm=i.stuck) for i in (_contest(f"8 clients, {panel}", panel, 9, 8, lr=0.01)
                                                            for panel in ("active", "passive"))]


# ---- findings ---------------------------------------------------------------------------------------------
passive = Instance("two clients", line((1, 3), (1, -1)), Focus("1/10", 3), Bernoulli(["1/5"] * 2))


def _stuck(n, tau):
    k = Field(" ".join(["eta", "x", "t", *(f"{v}{i}" for v in "hc" for i in range(n))]))
    eta, x, t, *rest = k.symbols
    return Instance(f"N={n}", line(rest[:n], rest[n:]), StuckFedAu(eta, tau), Full(), domain=k, fedavg=FedAvg(eta, tau), x=x, t=t,
                    sets=subsets(range(n)))


def subsets(clients):
    """All non-empty sets of clients."""
    return [S for m in range(1, len(clients) + 1) for S in itertools.combinations(clients, m)]


stuck = [_stuck(2, 2), _stuck(3, 1)]
