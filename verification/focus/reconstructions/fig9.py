"""Figures 8 and 9 with bundled digits over 32 clients, Dirichlet(0.05): equal and matched steps, both participation laws."""
import numpy as np

from fltheory.core.problems.logistic import Logistic
from fltheory.pictures import COLOURS, MARKERS, RUN, canvas, finish, key, runs
from fltheory.runs import run
from fltheory.runs.streams import Stream
from verification.focus import setups

TEST, ROUNDS, SEEDS, EVERY = 360, 150, 16, 10
METHODS = setups.contest()


def digits():
    """(clients, test) as pairs (x, labels): scikit-learn's digits, each class dealt by Dirichlet(0.05)."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    rng = Stream(8, "fig8").generator()
    order = rng.permutation(len(x))
    x, labels = np.concatenate([x[order] / 16, np.ones((len(x), 1))], axis=1), labels[order]
    owners = setups.dealt(labels[TEST:], rng)
    return [(x[TEST:][o], labels[TEST:][o]) for o in owners], (x[:TEST], labels[:TEST])


def fig8_data():
    """How many rows of each label a client holds."""
    return [{"client": i, "label": k, "rows": int((labels == k).sum())} for i, (_, labels) in enumerate(digits()[0])
            for k in range(10)]


def fig8_draw(rows):
    figure, axes = canvas(1, width=7.5, height=3.3)
    ax = axes[0][0]
    x, y, size = (np.array([r[k] for r in rows]) for k in ("client", "label", "rows"))
    ax.scatter(x[size > 0], y[size > 0], s=2 * size[size > 0], color=COLOURS[0], alpha=0.7, lw=0)
    finish(ax, xlabel="client", ylabel="label", yticks=range(10), xlim=(-1, setups.FIG9_CLIENTS), ylim=(-0.7, 9.7))
    key(figure, {f"{n} rows" if n > 1 else "1 row": {"linestyle": "none", "marker": "o", "markersize": (2 * n) ** 0.5,
                 "color": COLOURS[0], "alpha": 0.7, "markeredgewidth": 0} for n in (1, 10, 30, 100)}, ncols=4)
    return figure


def fig9_data():
    """Test accuracy (%) of softmax regression (ridge 1e-4): mean over 16 seeds with 99 % half-widths."""
    clients, (x, labels) = digits()
    problem = Logistic([a for a, _ in clients], [b for _, b in clients], 1e-4, classes=10)
    accuracy, rows = setups.Accuracy(x, labels, 10), []
    for panel, law in setups.chances().items():
        for name, algorithm in METHODS.items():
            trace = run(algorithm, problem, law, rounds=ROUNDS, replicates=SEEDS, seed=9,
                        metrics={"accuracy": accuracy, "error": None})
            for r in range(0, ROUNDS + 1, EVERY):
                i = trace.interval(r, "accuracy", 0.99)
                rows.append({"panel": panel, "method": name, "round": r, "accuracy": 100 * i.value,
                             "half_width": 100 * i.half_width})
    return rows


def fig9_draw(rows):
    figure, axes = canvas(2, 2, width=4.4, height=2.9, sharex=True, sharey=True)
    names = ("SG-FOCUS", "FedAU", "SCAFFOLD", "FedAvg")
    signs = {name: {"color": c, "marker": m, "markersize": 3.5} for name, c, m in zip(names, COLOURS, MARKERS, strict=False)}
    for line, matched in zip(axes, (False, True), strict=True):
        for ax, panel in zip(line, ("active", "passive"), strict=True):
            for name in METHODS:
                if name != "SG-FOCUS" and ("matched" in name) != matched:
                    continue
                mine, own = [r for r in rows if r["panel"] == panel and r["method"] == name], name.partition(",")[0]
                x, y, half = (np.array([r[k] for r in mine]) for k in ("round", "accuracy", "half_width"))
                runs(ax, x + 1.5 * (names.index(own) - 1.5) * (x > 0), y, half, **signs[own])      # side by side
            steps = r"$\eta\tau$ of the others raised to $\eta N$" if matched else r"the same $\eta$"
            finish(ax, f"{panel}, {steps}", ylim=(0, 100), **{"xlabel": "round"} if matched else {})
        line[0].set_ylabel("test accuracy (%)")
    key(figure, {f"{name}, run with 99 % intervals": RUN | sign for name, sign in signs.items()})
    return figure
