"""Pictures of the experiments' tables."""
from math import sqrt

import numpy as np

from fltheory.pictures import COLOURS, FLOOR, GREY, PREDICTION, PRINTED, RUN, canvas, finish, key
from verification.asyncfeded import published
from verification.asyncfeded.formulas.cycle import gamma_cycle
from verification.asyncfeded.formulas.far_field import gamma_star
from verification.asyncfeded.formulas.k_rule import TABLE4
from verification.asyncfeded.published import METHODS

LOOKS = dict(zip(METHODS, ({"color": COLOURS[0], "marker": "o"}, {"color": COLOURS[1], "marker": "s"},
                           {"color": COLOURS[4], "marker": "D"}, {"color": "black", "marker": "^"},
                           {"color": COLOURS[3], "marker": "v"}), strict=True))
GOALS = {"Synthetic": 75, "digits": 80, "text": 35, "Synthetic, MLP": 75}
JOINED = {"linestyle": "-", "linewidth": 0.8, "markersize": 3.2}


def pick(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


def columns(rows, *names):
    return (np.array([r[k] for r in rows]) for k in names)


def spread(values):
    """(mean, [below, above]) of values by seed, a list of arrays."""
    mid, low, high = (np.array([f(v) for v in values]) for f in (np.mean, np.min, np.max))
    return mid, np.maximum([mid - low, high - mid], 0)     # equal values have a rounded mean


def names(rows, what):
    return list(dict.fromkeys(r[what] for r in rows))


def _curve(ax, rows, sign, band=True):
    x, y, low, high = columns(rows, "time", "accuracy", "low", "high")
    ax.plot(x, y, **RUN | sign | JOINED)
    if band:
        ax.fill_between(x, low, high, color=sign["color"], alpha=0.13, linewidth=0)


def _methods(rows, looks=LOOKS):
    return {m: RUN | looks[m] | JOINED for m in names(rows, "method")}


def fig2(rows):
    tasks = names(rows, "task")
    figure, axes = canvas(len(tasks), width=2.8, height=3.2)
    for ax, name in zip(axes[0], tasks, strict=True):
        for m, sign in LOOKS.items():
            _curve(ax, pick(rows, task=name, method=m), sign)
        ax.axhline(GOALS[name], color=GREY, linewidth=0.8, linestyle=":")
        finish(ax, name, xlabel="seconds")
    axes[0][0].set_ylabel("test accuracy (%)")
    key(figure, _methods(rows))
    return figure


def fig5(rows):
    Ps, tasks = sorted(names(rows, "P")), names(rows, "task")
    figure, axes = canvas(len(tasks), len(Ps), width=3.6, height=1.75, sharex="col")
    for line, P in zip(axes, Ps, strict=True):
        for ax, name in zip(line, tasks, strict=True):
            mine = pick(rows, task=name, P=P)
            if not mine:
                ax.axis("off")
                continue
            for m, sign in LOOKS.items():
                _curve(ax, pick(mine, method=m), sign, band=False)
            finish(ax, f"{name}, $P={P:g}$")
        line[0].set_ylabel("accuracy (%)")
    for ax in axes[-1]:
        ax.set_xlabel("seconds")
    key(figure, _methods(rows))
    return figure


def fig3(rows):
    tasks = ("Synthetic", "digits", "text")
    figure, axes = canvas(3, 4, width=3.9, height=2.7, sharex=True)
    for c, name in enumerate(tasks):
        for m, (k, sign) in zip(LOOKS, enumerate(LOOKS.values()), strict=True):
            mine = pick(rows, task=name, method=m)
            Ps = sorted(names(mine, "P"))
            for ax, what in ((axes[0][c], "maximum"), (axes[1][c], "common")):
                _against(ax, Ps, [[r[what] for r in pick(mine, P=P)] for P in Ps], sign, k)
        stands = published.TASKS[c]
        _logged(axes[2][c], "maximum", stands)
        _logged(axes[3][c], "common", stands)
        finish(axes[0][c], name, ylabel="maximum (%)" if c == 0 else None)
        finish(axes[1][c], f"{name}, to {GOALS[name]} %", ylim=(0, None), ylabel="seconds" if c == 0 else None)
        finish(axes[2][c], f"public logs, {stands}", ylabel="maximum (%)" if c == 0 else None)
        finish(axes[3][c], f"public logs, {stands}", ylabel="seconds" if c == 0 else None, ylim=(0, None), xlabel="$P$")
        for line in axes:
            line[c].set_xlim(-0.05, 0.95)
    key(figure, {m: RUN | s | JOINED for m, s in LOOKS.items()}
        | {"public logs": PRINTED, "not reached by some seed, or run": {"linestyle": "none", "marker": "x", "markersize": 4.5}})
    return figure


def _against(ax, Ps, values, sign, place):
    """Mean and range of the seeds over P; where some seed does not get there, a cross on the upper edge instead."""
    all_there = np.array([np.isfinite(v).all() for v in values])
    x = np.array(Ps) + 0.008 * (place - 2)
    seen = [np.array(v) for v, there in zip(values, all_there, strict=True) if there]
    if seen:
        mid, bars = spread(seen)
        ax.errorbar(x[all_there], mid, yerr=bars, elinewidth=0.8, capsize=1.2, **RUN | sign | JOINED)
    _crosses(ax, x[~all_there], sign, place)


def _crosses(ax, x, sign, place):
    """Marks below the upper edge, a line of them for each method."""
    if len(x):
        ax.plot(x, [1 - 0.045 * place] * len(x), transform=ax.get_xaxis_transform(), linestyle="none", marker="x",
                color=sign["color"], markersize=4.5, clip_on=False)


def _logged(ax, quantity, task):
    joined = {} if quantity == "maximum" else {"linestyle": "none"}     # times are recorded at two P only
    for place, (m, sign) in enumerate(LOOKS.items()):
        Ps = [P for t, P in published.cells(quantity) if t == task]
        values = [float(published.logged(quantity, task, m, P)) for P in Ps]
        there = [(float(P), v) for P, v in zip(Ps, values, strict=True) if v < published.NEVER]
        ax.plot(*zip(*there, strict=True), color=sign["color"], **PRINTED | {"marker": sign["marker"], "markersize": 4} | joined)
        gone = [float(P) for P, v in zip(Ps, values, strict=True) if v >= published.NEVER]
        _crosses(ax, gone, sign, place)


STEPS = dict(zip(("adaptive", "K = 5", "K = 10", "K = 15", "K = 20"),
                 ({"color": COLOURS[0], "marker": "o"}, {"color": COLOURS[4], "marker": "v"}, {"color": COLOURS[1], "marker": "s"},
                  {"color": COLOURS[2], "marker": "D"}, {"color": COLOURS[3], "marker": "^"}), strict=True))


def fig4(rows):
    tasks = names(rows, "task")
    figure, axes = canvas(len(tasks), width=3.7, height=3.2)
    for ax, name in zip(axes[0], tasks, strict=True):
        for label, sign in STEPS.items():
            mine = pick(rows, task=name, steps=label)
            times = sorted(names(mine, "time"))
            ax.plot(times, [np.mean([r["accuracy"] for r in mine if r["time"] == s]) for s in times], **RUN | sign | JOINED)
        finish(ax, name, xlabel="seconds")
    axes[0][0].set_ylabel("test accuracy (%)")
    key(figure, {label if label == "adaptive" else f"${label}$": RUN | s | JOINED for label, s in STEPS.items()})
    return figure


def staleness(rows):
    tasks = names(rows, "task")
    figure, axes = canvas(len(tasks), 2, width=3.6, height=2.3, sharex="col")
    for c, name in enumerate(tasks):
        mine = pick(rows, task=name)
        x, gamma, low, high, K, least, largest = columns(mine, "time", "gamma", "low", "high", "K", "least", "largest")
        for ax, y, a, b, colour in ((axes[0][c], gamma, low, high, COLOURS[0]), (axes[1][c], K, least, largest, COLOURS[2])):
            ax.plot(x, y, color=colour, **RUN | JOINED)
            ax.fill_between(x, a, b, color=colour, alpha=0.15, linewidth=0)
        lam, eps, gbar, _ = TABLE4[published.TASKS[c]]
        axes[0][c].axhline(float(gbar), color="black", **FLOOR)
        axes[0][c].axhline(gamma_star(10, float(lam), float(eps), sqrt), color=COLOURS[1], **PREDICTION)
        axes[0][c].axhline(gamma_cycle(float(lam), float(eps), sqrt), color=COLOURS[4], **PREDICTION)
        finish(axes[0][c], name, ylim=(0, None))
        finish(axes[1][c], xlabel="seconds")
    axes[0][0].set_ylabel(r"$\gamma$, median")
    axes[1][0].set_ylabel("$K$, mean")
    key(figure, {r"$\gamma$ of arrivals, quartiles": RUN | JOINED | {"color": COLOURS[0]},
                 "$K$, range": RUN | JOINED | {"color": COLOURS[2]}, r"target $\bar\gamma$": FLOOR | {"color": "black"},
                 "prediction, far off, equal clients": PREDICTION | {"color": COLOURS[1]},
                 "prediction, on a cycle": PREDICTION | {"color": COLOURS[4]}})
    return figure


HINGE = dict(zip(("constant", "lag in seconds", "lag in changes"),
                 ({"color": COLOURS[1], "marker": "s"}, {"color": COLOURS[4], "marker": "D"}, {"color": COLOURS[2], "marker": "^"}),
                 strict=True))


def hinge(rows):
    tasks = names(rows, "task")
    figure, axes = canvas(len(tasks), width=3.6, height=3.1)
    for ax, name in zip(axes[0], tasks, strict=True):
        for m, sign in HINGE.items():
            _curve(ax, pick(rows, task=name, method=m), sign)
        finish(ax, name, xlabel="seconds")
    axes[0][0].set_ylabel("test accuracy (%)")
    key(figure, _methods(rows, HINGE))
    return figure


# ---- sweeps -----------------------------------------------------------------------------------------------------------
SELECTED = {"mu": {"Synthetic": 0.1, "digits": 1, "text": 0.01}, "alpha": {"Synthetic": 0.1, "digits": 0.5}}
TASK_LOOKS = dict(zip(("Synthetic", "digits", "text"), ({"color": COLOURS[0], "marker": "o"}, {"color": COLOURS[1], "marker": "s"},
                                                        {"color": COLOURS[2], "marker": "D"}), strict=True))


def _line(rows, over, symbol):
    figure, axes = canvas(1, width=5.2, height=3.2)
    ax = axes[0][0]
    for name in names(rows, "task"):
        mine, sign = pick(rows, task=name), TASK_LOOKS[name]
        x = sorted(names(mine, over))
        mid, bars = spread([[r["maximum"] for r in pick(mine, **{over: v})] for v in x])
        ax.errorbar(x, mid, yerr=bars, elinewidth=0.8, capsize=1.5, **RUN | sign | JOINED)
        chosen = SELECTED[over][name]
        ax.plot([chosen], [mid[x.index(chosen)]], linestyle="none", marker="o", markersize=11, markerfacecolor="none",
                markeredgecolor=sign["color"], markeredgewidth=1.2)
    finish(ax, xscale="log", xlabel=symbol, ylabel="maximum accuracy (%)")
    key(figure, {name: RUN | TASK_LOOKS[name] | JOINED for name in names(rows, "task")})
    return figure


def table1(rows):
    return _line(rows, "mu", r"$\mu$")


def table2(rows):
    return _line(rows, "alpha", r"$\alpha$")


def _map(ax, rows, across, up, chosen, title, labels):
    x, y = sorted(names(rows, across)), sorted(names(rows, up))
    values = np.array([[np.mean([r["maximum"] for r in pick(rows, **{across: a, up: b})]) for a in x] for b in y])
    image = ax.imshow(values, origin="lower", cmap="viridis", vmin=20, vmax=100, aspect="auto")
    for i, b in enumerate(y):
        for j, a in enumerate(x):
            ax.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", fontsize=8,
                    color="white" if values[i, j] < 75 else "black")
            if (a, b) == chosen:
                ax.add_patch(_frame(j, i))
    ax.set_xticks(range(len(x)), [f"{v:g}" for v in x])
    ax.set_yticks(range(len(y)), [f"{v:g}" for v in y])
    ax.grid(False)
    finish(ax, title, xlabel=labels[0], ylabel=labels[1])
    return image


def _frame(j, i):
    from matplotlib.patches import Rectangle
    return Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor=COLOURS[1], linewidth=2)


def table3(rows):
    figure, axes = canvas(2, width=4.2, height=3.3)
    _map(axes[0][0], pick(rows, unit="seconds"), "a", "b", (5, 5), "lag in seconds", ("$a$ (1/s)", "$b$ (s)"))
    mine = pick(rows, unit="changes")
    ax, x = axes[0][1], sorted(names(mine, "a"))
    mid, bars = spread([[r["maximum"] for r in pick(mine, a=v)] for v in x])
    ax.errorbar(x, mid, yerr=bars, elinewidth=0.8, capsize=1.5, color=COLOURS[2], **RUN | JOINED)
    ax.plot([5], [mid[x.index(5)]], linestyle="none", marker="o", markersize=11, markerfacecolor="none", markeredgecolor=COLOURS[1],
            markeredgewidth=1.5)
    finish(ax, "lag in changes of the server", xscale="log", xlabel="$a=b$", ylabel="maximum accuracy (%)", ylim=(0, 100))
    return figure


def table4(rows):
    figure, axes = canvas(2, width=4.2, height=3.3)
    _map(axes[0][0], pick(rows, panel="server"), "lam", "most", (5, 1), r"$\bar\gamma=3$, $\kappa=1$",
         (r"$\lambda$", r"$\lambda/\varepsilon$"))
    _map(axes[0][1], pick(rows, panel="steps"), "kappa", "gbar", (1, 3), r"$\lambda=\varepsilon=5$", (r"$\kappa$", r"$\bar\gamma$"))
    return figure


