"""Exact second moments against large batched runs, one of which converges in mean only; Figures 4, 8 and 9 rebuilt.

Run by `fltheory reproduce`, which commits the tables: two minutes on one core with 10,000 replicates; a million where
a CUDA device is there.
"""
import numpy as np

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.scaffold import Scaffold
from fltheory.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.laws.modes import Markov
from fltheory.laws.weighted import Weighted
from fltheory.operators.operator import derive
from fltheory.optima import optimum
from fltheory.problems.logistic import Logistic
from fltheory.problems.ridge import Ridge
from fltheory.report.figures import COLOURS, Figure, canvas
from fltheory.runs import run
from fltheory.scalars import FLOAT, Torch
from fltheory.streams import Stream
from verification.focus.instances import line, plane

LEVEL = 0.999
RARE = Bernoulli(("9/10", "1/2", "1/20"))
SPREAD, EQUAL = line((1, 3, 10), (1, -1, 2)), line((1, 1, 1), (1, -1, 2))
BY_WAITING = "mean only: h=(1,3,10), eta=.01"
# name -> (algorithm, problem, law, rounds): mean-square growth or decay along the trajectory
MOVING = {
    BY_WAITING: (Focus("1/100", 1), SPREAD, RARE, 200),
    "the same with tau=5": (Focus("1/100", 5), SPREAD, RARE, 200),
    "eta=.6, no memory": (Focus("3/5", 1), EQUAL, Bernoulli(["1/2"] * 3), 20),  # heavy tails: later, samples miss them
    "eta=.6, correlation .6": (Focus("3/5", 1), EQUAL, Markov("1/2", "3/5", 3), 20),
    "plane, one of three": (Focus("1/20", 4), plane(), Uniform(1), 60),
    "SCAFFOLD, plane, one of three": (Scaffold("1/20", 4), plane(), Uniform(1), 60),
}
# name -> (algorithm, problem, law, noise, rounds): stationary error
RESTING = {
    "FedAvg, one of two, q=(.9,.1)": (FedAvg("1", 1), line(["1/10"] * 2, (1, -1)), Weighted(1, ("9/10", "1/10")), None,
                                      120),
    "FedAvg, plane, two of three": (FedAvg("1/20", 4), plane(), Uniform(2), None, 120),
    "SG-FOCUS, three equal clients": (Focus("1/20", 2), EQUAL, Bernoulli(("9/10", "1/2", "1/5"), "redraw"), "1/2", 240),
    "SG-FOCUS, plane, one of three": (Focus("1/20", 4), plane(), Uniform(1), "1/2", 160),
    "SG-FOCUS, correlation .6": (Focus("1/5", 1), EQUAL, Markov("1/2", "3/5", 3), "1/2", 160),
}
POINTS = 20  # rounds of a trajectory that are recorded


def _device():
    import torch
    return ("cuda", 1_000_000) if torch.cuda.is_available() else ("cpu", 10_000)


def _measured(found, instance, quantity, when, op, predicted, trace):
    return {"instance": instance, "quantity": quantity, "round": when, "predicted": float(predicted),
            "measured": found.value, "half_width": found.half_width, "mean_rate": op.rate(),
            "mean_square_rate": op.mean_square_rate(), "replicates": trace.replicates, "device": trace.device,
            "audit": trace.audit}


def _moving(name, device, replicates):
    algorithm, problem, law, rounds = MOVING[name]
    best = FLOAT.array(optimum(problem).x)
    start = best + 1
    op = derive(algorithm, problem, law)
    trace = run(algorithm, problem, law, rounds=rounds, replicates=replicates, seed=7, x0=start, device=device,
                metrics={"shift": lambda x: x[..., 0] - best[0]})
    exact = list(op.trajectory(rounds + 1, start))
    for r in range(rounds // POINTS, rounds + 1, rounds // POINTS):  # all start at the same point
        mean, second = exact[r]
        square = np.trace(second) - 2 * best @ mean + best @ best
        yield _measured(trace.interval(r, level=LEVEL), name, "E|x-x*|^2", r, op, square, trace)
        yield _measured(trace.interval(r, "shift", LEVEL), name, "E(x-x*)_1", r, op, mean[0] - best[0], trace)


def _resting(name, device, replicates):
    algorithm, problem, law, noise, rounds = RESTING[name]
    op = derive(algorithm, problem, law, noise=noise)
    trace = run(algorithm, problem, law, rounds=rounds, replicates=replicates, seed=8, noise=noise, device=device,
                x0=op.fixed_point().x)
    return _measured(trace.floor(level=LEVEL), name, "floor", rounds, op, op.floor(), trace)


def moments_data():
    """Exact E|x - x*|^2 and E x along trajectories and exact floors, beside means of the runs with 99.9 % intervals."""
    device, replicates = _device()
    rows = [row for name in MOVING for row in _moving(name, device, replicates)]
    return rows + [_resting(name, device, replicates) for name in RESTING]


ABOVE = {"fontsize": 7, "frameon": False, "loc": "lower left", "bbox_to_anchor": (0, 1)}  # the curves fill the panels


def _chosen(rows, quantity, *names):
    return {n: [r for r in rows if r["quantity"] == quantity and r["instance"] == n] for n in names}


def _numbers(rows):
    return [np.array([r[k] for r in rows]) for k in ("round", "predicted", "measured", "half_width")]


def _trajectory(ax, rows, colour, label):
    x, exact, seen, half = _numbers(rows)
    ax.plot(x, exact, color=colour, label=label)
    ax.errorbar(x, seen, yerr=[np.minimum(half, 0.95 * seen), half], fmt="o", mfc="none", ms=4, lw=1, color=colour)


def moments_draw(rows):
    figure, ((moving, mean), (memory, floor)) = canvas(2, 2, width=4.4, height=2.8)
    pairs = ((moving, (BY_WAITING, "the same with tau=5")), (memory, ("eta=.6, no memory", "eta=.6, correlation .6")))
    for ax, names in pairs:
        for colour, (name, mine) in zip(COLOURS, _chosen(rows, "E|x-x*|^2", *names).items(), strict=False):
            _trajectory(ax, mine, colour, f"{name}: mean-square rate {mine[0]['mean_square_rate']:.4f}")
        ax.set(yscale="log", xlabel="round", ylabel=r"$E\|x-x^\star\|^2$")
        ax.legend(**ABOVE)
    (mine,) = _chosen(rows, "E(x-x*)_1", BY_WAITING).values()
    x, exact, seen, half = _numbers(mine)
    mean.plot(x, exact, color=COLOURS[0], label=f"the first of these: rate of the mean {mine[0]['mean_rate']:.4f}")
    mean.errorbar(x, seen, yerr=half, fmt="o", mfc="none", ms=4, lw=1, color=COLOURS[0])
    mean.set(xlabel="round", ylabel=r"$E\,(x-x^\star)$")
    mean.legend(**ABOVE)
    floors = [r for r in rows if r["quantity"] == "floor"]
    for k, r in enumerate(floors):
        floor.errorbar(r["measured"] / r["predicted"], k, xerr=r["half_width"] / r["predicted"], fmt="o", mfc="none",
                       ms=4, color=COLOURS[0])
    floor.axvline(1, color="black", lw=0.8)
    floor.set(ylim=(len(floors) - 0.5, -0.5), xlabel="measured floor / exact floor")
    floor.set_yticks(range(len(floors)), [r["instance"].replace(", ", ",\n", 1) for r in floors], fontsize=7)
    figure.suptitle(f"FOCUS. Lines: exact moments. Circles: runs of {rows[0]['replicates']:.0f} replicates with 99.9 % "
                    "intervals.", fontsize=8)
    return figure


# ---- Figure 4: ridge regression, the stated sizes, what is not stated chosen here -------------------------
FIG4_CLIENTS, FIG4_D, FIG4_ROWS, FIG4_REG, FIG4_TAU, FIG4_STEP = 16, 100, 100, 0.01, 5, 2e-4
FIG4_ROUNDS, FIG4_SEEDS, FIG4_EVERY = 300, 32, 10
FIG4_METHODS = {  # name -> (algorithm, vectors each way per participant)
    "FOCUS": (Focus(FIG4_STEP, FIG4_TAU), 1), "FOCUS, eta 5/16": (Focus(FIG4_STEP * 5 / 16, FIG4_TAU), 1),
    "SCAFFOLD": (Scaffold(FIG4_STEP, FIG4_TAU), 2), "FedAvg": (FedAvg(FIG4_STEP, FIG4_TAU, averaging="plain"), 1),
    "MIFA": (Mifa(FIG4_STEP, FIG4_TAU), 1)}


def ridge():
    """16 clients with 100 standard normal rows each, minimisers N(x_0, I) around a common N(0, I), noise 0.1."""
    rng = Stream(4, "fig4").generator()
    centre = rng.standard_normal(FIG4_D)
    A = rng.standard_normal((FIG4_CLIENTS, FIG4_ROWS, FIG4_D))
    own = centre + rng.standard_normal((FIG4_CLIENTS, FIG4_D))
    y = np.einsum("ikd,id->ik", A, own) + 0.1 * rng.standard_normal((FIG4_CLIENTS, FIG4_ROWS))
    return Ridge(list(A), list(y), FIG4_REG, convention="sum")


def fig4_laws():
    """All; 4 of 16 uniformly; 4 of 16 with uneven weights."""
    weights = Stream(4, "fig4", "weights").generator().random(FIG4_CLIENTS) + 0.01
    return {"full": Full(), "4 of 16, uniform": Uniform(4), "4 of 16, weighted": Weighted(4, weights)}


def fig4_data():
    """log10 |x - x*|/|x*|: mean over 32 participation seeds with 99.9 % half-widths, against rounds and traffic."""
    problem = ridge()
    best = np.array(optimum(problem).x, dtype=float)
    size, target = np.linalg.norm(best), Torch().array(best)

    def correct_digits(x):
        return (((x - target) ** 2).sum(-1).sqrt() / size).clamp(min=1e-16).log10()
    rows = []
    for panel, law in fig4_laws().items():
        for name, (algorithm, vectors) in FIG4_METHODS.items():
            trace = run(algorithm, problem, law, rounds=FIG4_ROUNDS, replicates=FIG4_SEEDS, seed=4,
                        metrics={"digits": correct_digits})
            for r in range(0, FIG4_ROUNDS + 1, FIG4_EVERY):
                i = trace.interval(r, "digits", LEVEL)
                rows.append({"panel": panel, "method": name, "round": r, "vectors": 2 * vectors * r, "digits": i.value,
                             "half_width": i.half_width})
    return rows


def fig4_draw(rows):
    panels = list(dict.fromkeys(r["panel"] for r in rows))
    figure, axes = canvas(3)
    for ax, panel in zip(axes[0], panels, strict=True):
        for colour, name in zip(COLOURS, FIG4_METHODS, strict=False):
            mine = [r for r in rows if r["panel"] == panel and r["method"] == name]
            x, y, h = (np.array([r[k] for r in mine]) for k in ("vectors", "digits", "half_width"))
            ax.plot(x, y, color=colour, marker="o", ms=2, lw=1, label=name)
            ax.fill_between(x, y - h, y + h, color=colour, alpha=0.15, lw=0)
        ax.set(xlabel="vectors sent per participating client", ylim=(-16.5, 1), xlim=(0, 2 * FIG4_ROUNDS))
        ax.set_title(panel, fontsize=9)
    axes[0][0].set_ylabel(r"$\log_{10}\|x-x^\star\|/\|x^\star\|$")
    axes[0][2].legend(fontsize=7, frameon=False, loc="lower left")
    return figure


# ---- Figures 8 and 9: bundled digits over 32 clients, Dirichlet(0.05) -------------------------------------
FIG9_CLIENTS, FIG9_TEST, FIG9_BATCH, FIG9_TAU, FIG9_STEP = 32, 360, 16, 3, 0.01
FIG9_ROUNDS, FIG9_SEEDS, FIG9_EVERY = 300, 16, 10
MATCHED = FIG9_STEP * FIG9_CLIENTS / FIG9_TAU  # eta N of FOCUS = eta tau of the others
FIG9_METHODS = {"SG-FOCUS": Focus(FIG9_STEP, FIG9_TAU), "SCAFFOLD": Scaffold(FIG9_STEP, FIG9_TAU),
                "FedAvg": FedAvg(FIG9_STEP, FIG9_TAU, averaging="plain"),
                "SCAFFOLD, matched step": Scaffold(MATCHED, FIG9_TAU),
                "FedAvg, matched step": FedAvg(MATCHED, FIG9_TAU, averaging="plain")}


def digits():
    """(clients, test) as pairs (x, labels): scikit-learn's digits, each class dealt by Dirichlet(0.05); whoever
    would hold no row takes one from the largest client."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    rng = Stream(8, "fig8").generator()
    order = rng.permutation(len(x))
    x, labels = np.concatenate([x[order] / 16, np.ones((len(x), 1))], axis=1), labels[order]
    owners = [[] for _ in range(FIG9_CLIENTS)]
    for k in range(10):
        members = np.nonzero(labels[FIG9_TEST:] == k)[0] + FIG9_TEST
        cuts = (np.cumsum(rng.dirichlet([0.05] * FIG9_CLIENTS))[:-1] * len(members)).astype(int)
        for own, part in zip(owners, np.split(members, cuts), strict=True):
            own.extend(part)
    for own in owners:
        if not own:
            own.append(max(owners, key=len).pop())
    return [(x[o], labels[o]) for o in owners], (x[:FIG9_TEST], labels[:FIG9_TEST])


def fig8_data():
    """How many rows of each label a client holds."""
    return [{"client": i, "label": k, "rows": int((labels == k).sum())} for i, (_, labels) in enumerate(digits()[0])
            for k in range(10)]


def fig8_draw(rows):
    figure, axes = canvas(1, width=6.4, height=2.6)
    ax = axes[0][0]
    x, y, size = (np.array([r[k] for r in rows]) for k in ("client", "label", "rows"))
    ax.scatter(x[size > 0], y[size > 0], s=2 * size[size > 0], color=COLOURS[0], alpha=0.7, lw=0)
    ax.set(xlabel="client", ylabel="label", yticks=range(10), xlim=(-1, FIG9_CLIENTS))
    ax.set_title("digits over 32 clients, Dirichlet(0.05); area: rows", fontsize=9)
    return figure


def fig9_laws():
    """The chances of the two panels: "active" 90 % from U(.1, .3), the others from U(.1, .9); "passive" all 1/5."""
    rng = Stream(9, "fig9").generator()
    often = rng.permutation(FIG9_CLIENTS) < FIG9_CLIENTS // 10
    p = np.where(often, rng.uniform(0.1, 0.9, FIG9_CLIENTS), rng.uniform(0.1, 0.3, FIG9_CLIENTS))
    return {"active": Bernoulli(p, batch=FIG9_BATCH), "passive": Bernoulli(["1/5"] * FIG9_CLIENTS, batch=FIG9_BATCH)}


def fig9_data():
    """Test accuracy (%) of softmax regression (ridge 1e-4): mean over 16 seeds with 99 % half-widths."""
    clients, (x, labels) = digits()
    problem = Logistic([a for a, _ in clients], [b for _, b in clients], 1e-4, classes=10)
    x, labels, rows = Torch().array(x), Torch().array(labels), []

    def accuracy(models):
        return ((x @ models.reshape(-1, 10, x.shape[1]).transpose(-1, -2)).argmax(-1) == labels).double().mean(-1)
    for panel, law in fig9_laws().items():
        for name, algorithm in FIG9_METHODS.items():
            trace = run(algorithm, problem, law, rounds=FIG9_ROUNDS, replicates=FIG9_SEEDS, seed=9,
                        metrics={"accuracy": accuracy, "error": accuracy})
            for r in range(0, FIG9_ROUNDS + 1, FIG9_EVERY):
                i = trace.interval(r, "accuracy", 0.99)
                rows.append({"panel": panel, "method": name, "round": r, "accuracy": 100 * i.value,
                             "half_width": 100 * i.half_width})
    return rows


def fig9_draw(rows):
    figure, axes = canvas(2, width=4.2, height=3)
    for ax, panel in zip(axes[0], ("active", "passive"), strict=True):
        for colour, name in zip(COLOURS, FIG9_METHODS, strict=False):
            mine = [r for r in rows if r["panel"] == panel and r["method"] == name]
            x, y, h = (np.array([r[k] for r in mine]) for k in ("round", "accuracy", "half_width"))
            ax.plot(x, y, color=colour, lw=1.2, ls="--" if "matched" in name else "-", label=name)
            ax.fill_between(x, y - h, y + h, color=colour, alpha=0.15, lw=0)
        ax.set(xlabel="round", ylim=(0, 100))
        ax.set_title(panel, fontsize=9)
    axes[0][0].set_ylabel("test accuracy (%)")
    axes[0][1].legend(fontsize=7, frameon=False)
    return figure


EXPERIMENTS = {
    "fig4": Figure(fig4_data, fig4_draw, "Figure 4 reconstructed: error against traffic, 32 seeds with bands."),
    "fig8": Figure(fig8_data, fig8_draw, "Figure 8's substitute: rows of each label per client, bundled digits."),
    "fig9": Figure(fig9_data, fig9_draw, "Figure 9's substitute: accuracy at equal and matched steps, 16 seeds."),
    "moments": Figure(moments_data, moments_draw, "Exact second moments and floors beside large batched runs."),
}
