"""What the claims about Figure 2 compare: recorded losses with their intervals, and short live runs on other ground truths."""
import functools
from pathlib import Path

import numpy as np

import fltheory as ft
from fltheory.core.statistics import Interval
from fltheory.verdicts.report.figures import from_csv
from verification.fedres import population
from verification.fedres.experiments import FIRST, LEVEL, SETTINGS, TAIL, methods, truths
from verification.fedres.formulas.population import difference

AGAIN, LIVE, LIVE_STEP = 3, 12, 0.1     # rounds of a second run; rounds and step size of a live one
EXCESS = "over each client's"
NAMED = {("drawn", 2): "ground truths drawn, two rows", ("stated", 1): "the stated ground truth, one vector"}


@functools.cache
def table(name):
    """Rows of a recorded table by their keys."""
    keys = ("truth", "rows", "mix", "method", *{"levels": ("quantity", "seeds"), "fig2": ("round",)}[name])
    return {tuple(r[k] for k in keys): r for r in from_csv(Path(__file__).parent / "data" / f"{name}.csv")}


def level(i, quantity, method=""):
    """A recorded mean over 256 seeds with its interval."""
    r = table("levels")[i.truth, i.stored, i.mix, method, quantity, 256.0]
    return Interval(r["value"], r["half_width"], LEVEL, 256)


def recorded(mix, method, kind, stored):
    """The recorded runs at one mixing weight; `method` is the one whose first rounds are run again."""
    row = table("levels")[kind, stored, mix, method, "loss", 256.0]
    problem = population.Population(truths(kind, range(FIRST), mix), stored)
    name = f"{NAMED[kind, stored]}, mixing weight {mix:g}, {method} again"
    return ft.Instance(name, problem, methods(row["lr"])[method], ft.Full(), domain=ft.FLOAT, mix=mix, method=method, truth=kind,
                       stored=stored, rounds=60, live=False, alike=0.001, near=0.005)


def all_recorded(mixes, names):
    """Every setting at every weight; the methods take turns in being run again."""
    cells = [(mix, *setting) for setting, (run, _) in SETTINGS.items() for mix in mixes if mix in run]
    return [recorded(mix, names[k % len(names)], kind, stored) for k, (mix, kind, stored) in enumerate(cells)]


def live(mix, method, seed=1, n=10, d=10, name=None):
    """A short run on a ground truth of its own."""
    problem = population.Population(difference(*population.drawn(10**6 + seed, n, d), mix))
    return ft.Instance(name or f"live, mixing weight {mix:g}, {method}", problem, methods(LIVE_STEP)[method], ft.Full(),
                       domain=ft.FLOAT, mix=mix, method=method, rounds=LIVE, live=True, alike=0.005, near=0.04)


def gap(i):
    """What the best single model loses against the clients' own, exactly."""
    if not i.live:
        return level(i, "best single model").value - level(i, "optimum of each client").value
    return population.single_optimum(i.problem.v)[0] - population.own_optima(i.problem.v)[0].mean()


def losses(i, names):
    """{method: loss of the last rounds over the clients' own optima}: recorded intervals, or numbers of a live run."""
    if not i.live:
        return {name: level(i, EXCESS, name) for name in names}
    made = methods(LIVE_STEP) | {i.method: i.algorithm}
    own, out = population.own_optima(i.problem.v)[0].mean(), {}
    seen = population.contest({name: (made[name], i.problem) for name in names}, LIVE, range(2),
                              look=lambda r: r > LIVE - TAIL // 2)
    for name, _, values in seen:
        out.setdefault(name, []).append(values.mean())
    return {name: float(np.mean(v)) - own for name, v in out.items()}


def apart(i, seen, a, b):
    """Loss of a less that of b, on the same samples: recorded as pairs."""
    return level(i, "difference", f"{a} - {b}") if not i.live else seen[a] - seen[b]


def within(value, most, label):
    """-most <= value <= most, for the whole interval of a recorded value."""
    minus = Interval(-value.value, value.half_width, value.level, value.count) if isinstance(value, Interval) else -value
    return [ft.at_most(value, most, label), ft.at_most(minus, most, f"{label}, the other way round")]


def below(a, b, label):
    """a < b, with intervals apart where there are some."""
    return ft.at_most(a, b.low if isinstance(b, Interval) else b, label, strict=True)


def above(a, b, label):
    """a > b, for the whole interval of a."""
    return below(b, a, label)


def again(i):
    """The first rounds of the recorded run, of its first seeds, by the instance's algorithm: nothing for live ones."""
    if i.live:
        return []
    ((_, _, values),) = population.contest({i.method: (i.algorithm, i.problem)}, AGAIN, range(FIRST), look=lambda r: r == AGAIN)
    row = table("fig2")[i.truth, i.stored, i.mix, i.method, AGAIN]
    return [ft.equal(float(values.mean()), row["first"], f"{i.method} run again: mean loss of {FIRST} seeds after {AGAIN} rounds")]
