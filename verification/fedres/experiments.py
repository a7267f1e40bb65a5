"""Figure 2's substitute (Experiment E.2): every method on fresh samples of the synthetic model, with exact population losses.

Long (half an hour on one core); run by `fltheory reproduce`, which commits the tables. What the paper leaves out is ours:
mini-batches of 10, 60 rounds, lambda = eta, alpha = 1 on the server, mixing weights and seeds.
"""
import functools
from pathlib import Path

import numpy as np

from fltheory.algorithms.fedresavg import FedResAvg
from fltheory.algorithms.fedresnaive import FedResNaive
from fltheory.algorithms.fedressgd import FedResSgd
from fltheory.algorithms.localprox import LocalProx
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.statistics import Interval, moments
from fltheory.pictures import COLOURS, FLOOR, GREY, OPTIMUM, RUN, canvas, finish, key, runs
from fltheory.verdicts.report.figures import Figure, from_csv
from verification.fedres import population
from verification.fedres.formulas.population import difference

LEVELS = Path(__file__).parent / "data" / "levels.csv"
STEPS, ROUNDS, TAIL, SEEDS, LEVEL = 50, 60, 10, 256, 0.999
PILOT, FIRST = range(1000, 1016), 4     # seeds that choose the step size; seeds whose losses are kept for a short second run
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
SETTINGS = {("drawn", 2): (MIXES, (0.003, 0.01, 0.03, 0.1)),     # ground truth, rows of a model: mixing weights, grid of steps;
            ("stated", 1): ((0.0, 0.5, 1.0), (0.01, 0.03, 0.1))}  # the paper's own protocol first, with its [0.001, 0.1]
SHOWN = (1, 2, 3, 4, 6, 8, 11, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60)
PROX = (0, 0.05, 0.5)
FEDRES = ("FedResNaive", "FedResSGD", "FedResAvg I", "FedResAvg II")
PAIRS = (("FedAvg", "SCAFFOLD"), *((a, b) for a in FEDRES for b in FEDRES if a < b), ("FedProx 0.05", "FedProx 0"),
         ("FedProx 0.5", "FedProx 0.05"))


def methods(lr, steps=STEPS) -> dict:
    """The methods of Figure 2 at one step size."""
    made = {"FedAvg": FedAvg(lr, steps), "SCAFFOLD": Scaffold(lr, steps)}
    made |= {f"FedProx {mu:g}": LocalProx(lr, steps, mu=mu) for mu in PROX}
    return made | {"FedResNaive": FedResNaive(lr, steps, personal_lr=lr), "FedResSGD": FedResSgd(lr, steps, personal_lr=lr),
                   "FedResAvg I": FedResAvg(lr, steps, personal_lr=lr, option=1),
                   "FedResAvg II": FedResAvg(lr, steps, personal_lr=lr, option=2)}


def truths(kind, seeds, mix):
    """v_i: (n, d) of the stated ground truth, or (seeds, n, d), one drawn for each seed."""
    if kind == "stated":
        return difference(*population.stated(), mix)
    return np.stack([difference(*population.drawn(s), mix) for s in seeds])


def mean(values) -> Interval:
    count, average, m2, m3 = len(values), *moments(np.asarray(values))
    return Interval.of_mean(count, average, m2, m3, LEVEL)


@functools.cache
def _optima(kind, seeds, mix):
    """(best losses of the clients' own models, best losses of one model for all), means over clients, one for each seed."""
    v = truths(kind, seeds, mix)
    single = [population.single_optimum(w)[0] for w in (v if v.ndim == 3 else [v])]
    return [np.broadcast_to(a, len(seeds)) for a in (np.atleast_1d(population.own_optima(v)[0].mean(-1)), np.array(single))]


@functools.cache
def _losses(kind, rows, seeds, chosen):
    """{(mix, method, lr): {round: mean loss of the clients (seeds,)}} for chosen ((mix, method, lr), ...)."""
    seen, at = {}, {mix: population.Population(truths(kind, seeds, mix), rows) for mix in {c[0] for c in chosen}}
    entries = {c: (methods(c[2])[c[1]], at[c[0]]) for c in chosen}
    for name, r, losses in population.contest(entries, ROUNDS, seeds, lambda r: r in SHOWN or r > ROUNDS - TAIL):
        seen.setdefault(name, {})[r] = losses.mean(-1)
    return seen


def _last(curve):
    """Mean over the last rounds, one for each seed."""
    return np.mean([v for r, v in curve.items() if r > ROUNDS - TAIL], 0)


def _tried(kind, rows):
    """Losses of the whole grid of step sizes, on seeds of its own."""
    mixes, grid = SETTINGS[kind, rows]
    return _losses(kind, rows, PILOT, tuple((mix, name, lr) for mix in mixes for lr in grid for name in methods(lr)))


def _run(kind, rows):
    """Losses of every method with the step size that was best where it was tried."""
    (mixes, grid), seen = SETTINGS[kind, rows], _tried(kind, rows)
    return _losses(kind, rows, range(SEEDS), tuple(
        (mix, name, min(grid, key=lambda lr, m=mix, k=name: _last(seen[m, k, lr]).mean())) for mix in mixes for name in methods(1)))


def fig2_data():
    """Mean losses along the rounds with 99.9 % half-widths over 256 seeds, and their mean over the first four seeds."""
    rows = []
    for kind, stored in SETTINGS:
        for (mix, name, lr), curve in _run(kind, stored).items():
            for r in SHOWN:
                i = mean(curve[r])
                rows.append({"truth": kind, "rows": stored, "mix": mix, "method": name, "lr": lr, "round": r, "loss": i.value,
                             "half_width": i.half_width, "first": float(curve[r][:FIRST].mean())})
    return rows


def levels_data():
    """Losses of the last ten rounds: as they are, over the clients' own optima, over the best single model; paired differences of
    methods; and the step sizes tried."""
    rows = []
    for (kind, stored), (mixes, _) in SETTINGS.items():
        for mix in mixes:
            own, single = _optima(kind, range(SEEDS), mix)
            at = {"truth": kind, "rows": stored, "mix": mix, "method": "", "lr": 0.0, "seeds": SEEDS}
            rows += [_row(at | {"quantity": "optimum of each client"}, own), _row(at | {"quantity": "best single model"}, single)]
            seen = {name: (lr, _last(curve)) for (m, name, lr), curve in _run(kind, stored).items() if m == mix}
            for name, (lr, last) in seen.items():
                mine = at | {"method": name, "lr": lr}
                rows += [_row(mine | {"quantity": "loss"}, last), _row(mine | {"quantity": "over each client's"}, last - own),
                         _row(mine | {"quantity": "over the single"}, last - single)]
            rows += [_row(at | {"method": f"{a} - {b}", "quantity": "difference"}, seen[a][1] - seen[b][1]) for a, b in PAIRS]
            rows += [_row(at | {"method": n, "lr": lr, "seeds": len(PILOT), "quantity": "step size tried"}, _last(curve))
                     for (m, n, lr), curve in _tried(kind, stored).items() if m == mix]
    return rows


def _row(row, values):
    i = mean(values)
    exact = np.ptp(values) == 0
    return row | {"value": i.value, "half_width": 0.0 if exact else i.half_width}


# ---- pictures --------------------------------------------------------------------------------------------------------
SIGNS = {name: {"color": c, "marker": m, "markersize": size} for name, c, m, size in (
    ("FedAvg", COLOURS[0], "o", 6.5), ("SCAFFOLD", COLOURS[5], "s", 3), ("FedProx 0.05", COLOURS[1], "D", 4),
    ("FedResNaive", COLOURS[2], "^", 7), ("FedResSGD", COLOURS[3], "v", 6.5), ("FedResAvg I", COLOURS[4], "P", 4.5),
    ("FedResAvg II", GREY, "x", 3))}
PENALTIES = {"FedProx 0": {"color": COLOURS[1], "marker": "v", "markersize": 4}, "FedProx 0.05": SIGNS["FedProx 0.05"],
             "FedProx 0.5": {"color": COLOURS[1], "marker": "^", "markersize": 4}}
NAMES = {("drawn", 2): "drawn ground truths, two rows", ("stated", 1): "stated ground truth, one vector"}
PANELS, CROWDED = (0.0, 0.25, 0.5, 1.0), (25, 35, 45, 50, 55)     # rounds that are not drawn
BEST = {"best single model": FLOOR | {"color": COLOURS[0]}, "optimum of each client": FLOOR | {"color": COLOURS[2]}}


def optimum(rows, mix, what, kind="drawn"):
    """An exact optimum from the table of levels, mean over the ground truths."""
    return next(r["value"] for r in rows if r["quantity"] == what and r["mix"] == mix and r["truth"] == kind)


def fig2_draw(rows):
    figure, axes = canvas(len(PANELS), width=3.0, height=3.3)
    levels = from_csv(LEVELS)
    for ax, mix in zip(axes[0], PANELS, strict=True):
        for name, sign in SIGNS.items():
            mine = [r for r in rows if (r["truth"], r["rows"], r["mix"], r["method"]) == ("drawn", 2, mix, name)
                    and r["round"] not in CROWDED]
            runs(ax, *([r[c] for r in mine] for c in ("round", "loss", "half_width")), **sign)
        for what, sign in BEST.items():
            ax.axhline(optimum(levels, mix, what), zorder=1, **sign)
        finish(ax, f"mixing weight {mix:g}", xlabel="round", xscale="log")
        ax.set_xticks([1, 3, 10, 30, 60], ["1", "3", "10", "30", "60"])
        ax.set_xticks([], minor=True)
    axes[0][0].set_ylabel("population loss")
    key(figure, {f"{name}, run with 99.9 % intervals" if name == "FedAvg" else name: RUN | sign for name, sign in SIGNS.items()}
        | {f"exact: {what}": sign for what, sign in BEST.items()})
    return figure


def levels_draw(rows):
    figure, axes = canvas(len(SETTINGS), width=5, height=3.8, sharey=True)
    for ax, ((kind, stored), (mixes, _)) in zip(axes[0], SETTINGS.items(), strict=True):
        for k, (name, sign) in enumerate((SIGNS | PENALTIES).items()):
            mine = [r for r in rows if (r["truth"], r["rows"], r["method"], r["quantity"]) == (kind, stored, name, "loss")]
            runs(ax, [r["mix"] + 0.02 * (k - 4) for r in mine], *([r[c] for r in mine] for c in ("value", "half_width")), **sign)
        for what, sign in BEST.items():
            ax.plot(mixes, [optimum(rows, mix, what, kind) for mix in mixes], color=sign["color"], zorder=4, **OPTIMUM)
        finish(ax, NAMES[kind, stored], xlabel="mixing weight")
    axes[0][0].set_ylabel("population loss, last ten rounds")
    key(figure, {name + (", run with 99.9 % intervals" if name == "FedAvg" else ""): RUN | sign
                 for name, sign in (SIGNS | PENALTIES).items()}
        | {f"exact: {what}": OPTIMUM | {"color": sign["color"]} for what, sign in BEST.items()})
    return figure


EXPERIMENTS = {
    "levels": Figure(
        levels_data, levels_draw,
        "Losses of the last ten rounds against the mixing weight, means over 256 seeds, beside the exact optima; signs of one "
        "weight stand side by side. FedProx is shown with three penalties. Its clients start again from the server model in every "
        "round, so that even without a penalty it does not reach the clients' optima."),
    "fig2": Figure(
        fig2_data, fig2_draw,
        "Figure 2's substitute: ten clients, ten features, K = 50, softmax with two rows, a ground truth drawn for each of 256 "
        "seeds; each method with its best step size of 0.1, 0.03, 0.01, 0.003. Exact population losses, not test samples."),
}
