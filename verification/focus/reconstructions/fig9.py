"""Figures 8 and 9 with bundled digits over 32 clients, Dirichlet(0.05): equal and matched steps, both participation laws."""
import numpy as np

from fltheory.problems.logistic import Logistic
from fltheory.report.figures import COLOURS, canvas
from fltheory.runs import run
from fltheory.streams import Stream
from verification.focus.instances import figures as I

TEST, ROUNDS, SEEDS, EVERY = 360, 150, 16, 10
METHODS = I.contest()


def digits():
    """(clients, test) as pairs (x, labels): scikit-learn's digits, each class dealt by Dirichlet(0.05)."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    rng = Stream(8, "fig8").generator()
    order = rng.permutation(len(x))
    x, labels = np.concatenate([x[order] / 16, np.ones((len(x), 1))], axis=1), labels[order]
    owners = I.dealt(labels[TEST:], rng)
    return [(x[TEST:][o], labels[TEST:][o]) for o in owners], (x[:TEST], labels[:TEST])


def fig8_data():
    """How many rows of each label a client holds."""
    return [{"client": i, "label": k, "rows": int((labels == k).sum())} for i, (_, labels) in enumerate(digits()[0])
            for k in range(10)]


def fig8_draw(rows):
    figure, axes = canvas(1, width=6.4, height=2.6)
    ax = axes[0][0]
    x, y, size = (np.array([r[k] for r in rows]) for k in ("client", "label", "rows"))
    ax.scatter(x[size > 0], y[size > 0], s=2 * size[size > 0], color=COLOURS[0], alpha=0.7, lw=0)
    ax.set(xlabel="client", ylabel="label", yticks=range(10), xlim=(-1, I.FIG9_CLIENTS))
    ax.set_title("digits over 32 clients, Dirichlet(0.05); area: rows", fontsize=9)
    return figure


def fig9_data():
    """Test accuracy (%) of softmax regression (ridge 1e-4): mean over 16 seeds with 99 % half-widths."""
    clients, (x, labels) = digits()
    problem = Logistic([a for a, _ in clients], [b for _, b in clients], 1e-4, classes=10)
    accuracy, rows = I.Accuracy(x, labels, 10), []
    for panel, law in I.chances().items():
        for name, algorithm in METHODS.items():
            trace = run(algorithm, problem, law, rounds=ROUNDS, replicates=SEEDS, seed=9,
                        metrics={"accuracy": accuracy, "error": accuracy})
            for r in range(0, ROUNDS + 1, EVERY):
                i = trace.interval(r, "accuracy", 0.99)
                rows.append({"panel": panel, "method": name, "round": r, "accuracy": 100 * i.value,
                             "half_width": 100 * i.half_width})
    return rows


def fig9_draw(rows):
    figure, axes = canvas(2, 2, width=4.2, height=2.8)
    colour = dict(zip(("SG-FOCUS", "FedAU", "SCAFFOLD", "FedAvg"), COLOURS, strict=False))
    for line, matched in zip(axes, (False, True), strict=True):
        for ax, panel in zip(line, ("active", "passive"), strict=True):
            for name in METHODS:
                if name != "SG-FOCUS" and ("matched" in name) != matched:
                    continue
                mine, own = [r for r in rows if r["panel"] == panel and r["method"] == name], name.partition(",")[0]
                x, y, h = (np.array([r[k] for r in mine]) for k in ("round", "accuracy", "half_width"))
                ax.plot(x, y, color=colour[own], lw=1.2, label=own)
                ax.fill_between(x, y - h, y + h, color=colour[own], alpha=0.15, lw=0)
            ax.set(xlabel="round", ylim=(0, 100))
            steps = r"$\eta\tau$ of the others raised to $\eta N$" if matched else r"the same $\eta$"
            ax.set_title(f"{panel}, {steps}", fontsize=9)
        line[0].set_ylabel("test accuracy (%)")
        line[1].legend(fontsize=7, frameon=False, loc="lower right")
    return figure
