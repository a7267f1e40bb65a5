"""What FOCUS's figures share: picking rows, the style of a panel, runs with their intervals."""
import numpy as np

NO_RUN = {"run": float("nan"), "half_width": float("nan")}


def pick(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


def columns(rows, *keys):
    return [np.array([r[k] for r in rows]) for k in keys]


def run_row(interval):
    return {"run": interval.value, "half_width": interval.half_width}


def finish(ax, title, legend=None, **settings):
    """Title, labels and a legend of one panel in the sizes of all of them."""
    ax.set(**settings)
    ax.set_title(title, fontsize=9)
    if legend is not None:
        ax.legend(**{"fontsize": 7, "frameon": False} | legend)


def note(figure, text):
    figure.suptitle(text, fontsize=8)
    return figure


def markers(ax, x, seen, half, colour, label=None):
    """Runs: circles with their intervals, cut above 0 for logarithmic axes."""
    below = np.minimum(half, 0.95 * seen)
    ax.errorbar(x, seen, yerr=[below, half], fmt="o", ms=4, mfc="none", color=colour, lw=1, label=label)
