"""Figures 4 and 9: the ridge regressions as stated and as in the public notebook, clusters for Figure 9.

What neither states is chosen here: minimisers N(x_0, I), 4 of 16 clients, one draw of the weights.
"""
import functools
from dataclasses import dataclass
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, Comparison
from fltheory.runs.streams import Stream
from verification.focus.bugs.figures import PreviousModelMifa

ALARM = 1e-4  # each statistical comparison's false-alarm level
SURE = 1 - ALARM


def data(i):
    return np.array(i.problem.H, dtype=float), np.array(i.problem.b, dtype=float)


def below(first, second, label, certain=False):
    """The first measured mean is below the second: decided where the intervals are apart, open where they overlap. certain: with
    everybody in every round all replicates are one run, and the values are compared."""
    if certain:
        gap = second.value - first.value
        return Comparison("less than", first.value, second.value, HOLDS if gap > 0 else FALSIFIED, "float", label, gap)
    status = INCONCLUSIVE if first.undecided or second.undecided else (
        HOLDS if first.high < second.low else FALSIFIED if second.high < first.low else INCONCLUSIVE)
    return Comparison("less than", first, second, status, "statistical", label, second.low - first.high,
                      detail=first.undecided or second.undecided)


def leads(i, metric, sign=1):
    """The measured mean of FOCUS at the end lies below (above for sign -1) everybody else's, at equal traffic."""
    own = i.run.interval(-1, metric, SURE)
    ends = {name: i.but(algorithm=algorithm, simulate=i.simulate | {"rounds": rounds}).run.interval(-1, metric, SURE)
            for name, (algorithm, rounds) in i.rivals.items()}
    pairs = [(own, v, f"FOCUS, {name}") if sign > 0 else (v, own, f"{name}, FOCUS") for name, v in ends.items()]
    return [below(*pair, certain=isinstance(i.law, ft.Full)) for pair in pairs]


CLIENTS, COHORT = 16, 4
PANELS = ("full", "4 of 16, uniform", "4 of 16, weighted")


def stated(d=100, rows=100, seed=4, n=CLIENTS) -> ft.Ridge:
    """The paper's sizes: 16 clients with 100 standard normal rows each, minimisers N(x_0, I) around a common N(0, I),
    noise 0.1, ridge 0.01."""
    rng = Stream(seed, "fig4").generator()
    centre = rng.standard_normal(d)
    A = rng.standard_normal((n, rows, d))
    own = centre + rng.standard_normal((n, d))
    y = np.einsum("ikd,id->ik", A, own) + 0.1 * rng.standard_normal((n, rows))
    return ft.Ridge(list(A), list(y), 0.01, convention="sum", name=f"Figure 4 as stated, d={d}")


def notebook() -> ft.Ridge:
    """The public notebook's set-up: |A_i x - y_i|^2/2 without ridge, 500 rows scaled by U(.5, 1), d = 50, one x_o for all
    clients, noise 0.1."""
    rng = Stream(4, "fig4", "notebook").generator()
    centre = rng.standard_normal(50)
    A = rng.standard_normal((CLIENTS, 500, 50)) * rng.uniform(0.5, 1, (CLIENTS, 500, 1))
    y = A @ centre + 0.1 * rng.standard_normal((CLIENTS, 500))
    return ft.Ridge(list(A), list(y), 0, convention="half-sum", name="Figure 4 as in the public notebook")


def weights(seed=4):
    """rand + .01, normalised by the law."""
    return Stream(seed, "fig4", "weights").generator().random(CLIENTS) + 0.01


def laws(seed=4):
    """All; 4 of 16 uniformly; 4 of 16 with uneven weights."""
    return dict(zip(PANELS, (ft.Full(), ft.Uniform(COHORT), ft.Weighted(COHORT, weights(seed))), strict=True))


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
    return {"FOCUS": (ft.Focus(lr, tau), 2), "FOCUS, matched step": (ft.Focus(matched, tau), 2),
            "SCAFFOLD": (ft.Scaffold(lr, tau), 4),
            "FedAvg": (ft.FedAvg(lr, tau, averaging="plain"), 2), "FedAU": (ft.FedAu(lr, tau), 2),
            "MIFA": (ft.Mifa(lr, tau), 2),
            "MIFA, notebook": (PreviousModelMifa(lr, tau), 2), "ProxSkip, late": (ft.Scaffnew(lr, tau, "late"), 4),
            "ProxSkip, immediate": (ft.Scaffnew(lr, tau, "immediate"), 2 if everybody else 3)}


class Digits:
    """Metric log10 |x - x*|/|x*| of server models (..., d), x* the problem's exact minimiser; exactly 0 at x = 0."""

    def __init__(self, problem):
        self.best = np.array(ft.optimum(problem).x, dtype=float)

    def __call__(self, x):
        import torch
        best = ft.Torch().array(self.best)
        start = ((torch.zeros_like(x) - best) ** 2).sum(-1).sqrt()  # laid out, so added up, as the other sum
        gap = ((x - best) ** 2).sum(-1).sqrt() / start
        return gap.clamp(min=1e-300).log10()


def pairs(law, n=CLIENTS):
    """P(i and j take part) (n, n) in floats, P(i takes part) on the diagonal."""
    listed = [(float(chance), present) for chance, _, present in law.cohorts(n)]
    chances, masks = np.array([c for c, _ in listed]), np.array([m for _, m in listed], dtype=float)
    return (masks * chances[:, None]).T @ masks


MC = {"replicates": 256, "seed": 4}
SMALL, TINY_STEP = {"full": ft.Full(), "2 of 6, uniform": ft.Uniform(2),
                    "2 of 6, weighted": ft.Weighted(2, (1, 2, 3, 3, 4, 5))}, 0.01


def _ridge(name, problem, algorithm, law, rounds, lr, tau, **extra):
    metrics = {"digits": Digits(problem)}
    runs = MC | {"replicates": 2} if isinstance(law, ft.Full) else MC     # with everybody in every round all runs are one
    return ft.Instance(name, problem, algorithm, law, domain=ft.FLOAT, lr=float(Q(lr)), rounds=rounds,
                       simulate=runs | {"rounds": rounds, "metrics": metrics, "tail": "1/2"}, **extra)


SETUP = SETUPS["as stated"]
FIG9_CLIENTS, FIG9_BATCH, FIG9_TAU, FIG9_STEP = 32, 16, 3, 0.01


def chances(seed=9, n=FIG9_CLIENTS, batch=FIG9_BATCH):
    """Figure 9's panels: "active", p_i from U(.1, .3) for 90 % of the clients, from U(.1, .9) for the others; "passive", all
    1/5, which is what the published chain amounts to."""
    rng = Stream(seed, "fig9").generator()
    often = rng.permutation(n) < n // 10
    p = np.where(often, rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.3, n))
    return {"active": ft.Bernoulli(p, batch=batch), "passive": ft.Bernoulli(["1/5"] * n, batch=batch)}


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


class Accuracy:
    """Metric: the share of the points x (n, features) with labels (n,) that softmax models (batch, K features) get right."""

    def __init__(self, x, labels, classes):
        self.x, self.labels, self.classes = x, labels, classes

    def __call__(self, models):
        x = ft.Torch().array(self.x)
        best = (x @ models.reshape(-1, self.classes, x.shape[1]).transpose(-1, -2)).argmax(-1)
        return (best == best.new_tensor(self.labels)).double().mean(-1)


@functools.cache
def clusters(seed=9, n=FIG9_CLIENTS, classes=4, d=4):
    """(problem, accuracy): softmax regression (ridge 1e-4) on unit Gaussian clusters around N(0, 4 I), 20 rows per client on
    average, and the share of 500 fresh points that a model (batch, classes * (d + 1)) gets right."""
    rng, rows = Stream(seed, "clusters").generator(), 20 * n
    centres, labels = 2 * rng.standard_normal((classes, d)), rng.integers(0, classes, rows + 500)
    x = np.concatenate([centres[labels] + rng.standard_normal((rows + 500, d)), np.ones((rows + 500, 1))], axis=1)
    owners = dealt(labels[:rows], rng, n)
    problem = ft.Logistic([x[o] for o in owners], [labels[o] for o in owners], 1e-4, classes=classes)
    return problem, Accuracy(x[rows:], labels[rows:], classes)


def contest(lr=FIG9_STEP, tau=FIG9_TAU, n=FIG9_CLIENTS):
    """name -> algorithm at equal steps, and the others with lr tau raised to FOCUS's lr N."""
    raised = lr * n / tau
    return {"SG-FOCUS": ft.Focus(lr, tau), "FedAU": ft.FedAu(lr, tau), "SCAFFOLD": ft.Scaffold(lr, tau),
            "FedAvg": ft.FedAvg(lr, tau, averaging="plain"), "FedAU, matched step": ft.FedAu(raised, tau),
            "SCAFFOLD, matched step": ft.Scaffold(raised, tau),
            "FedAvg, matched step": ft.FedAvg(raised, tau, averaging="plain")}


def last(i, algorithm, rounds, metric="digits", **options):
    simulate = i.simulate | {"rounds": rounds} | options
    return i.but(algorithm=algorithm, simulate=simulate).run.interval(-1, metric, SURE)


def first_move(algorithm, n):
    """How far the coded server goes in the first round on n losses -x, everybody there, from 0."""
    flat = ft.Quadratic.from_linear([[[0]]] * n, [[1]] * n).to(ft.RATIONAL)
    coded = algorithm.to(ft.RATIONAL)
    start = coded.init(flat, ft.RATIONAL.array(np.array([0])))
    return coded.model(coded.round(flat, start, ft.everyone(n, algorithm.steps)))[0]
