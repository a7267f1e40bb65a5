"""Table 1 computed: where each method stops on quadratics with a constant step, under six kinds of participation."""
import numpy as np

from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fedawe import FedAwe
from fltheory.algorithms.fedvarp import FedVarp
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.localsgd import LocalSgd
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.reweighted import Reweighted
from fltheory.algorithms.scaffnew import Scaffnew
from fltheory.algorithms.scaffold import Scaffold
from fltheory.errors import BadInput
from fltheory.laws.ages import Ages
from fltheory.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.laws.modes import Chain
from fltheory.operators.operator import derive
from fltheory.optima import optimum
from fltheory.report.figures import COLOURS, canvas
from fltheory.scalars import RATIONAL
from fltheory.schedules.windows import Sliding
from fltheory.schedules.worst import STABLE, UNSTABLE, worst_schedule
from verification.focus.instances import line, plane
from verification.focus.panels import finish

N, STEP, TAU = 3, "1/20", 4
PAIRS_STAY = (("7/10", "1/5", "1/10"), ("1/4", "7/10", "1/20"), ("1/5", "1/10", "7/10"))
LAWS = {"full": Full(), "one of three,\nuniform": Uniform(1), "two of three,\nuniform": Uniform(2),
        "independent,\np = (.9, .5, .1)": Bernoulli(("9/10", "1/2", "1/10"), "redraw"),
        "Markov, pairs\nthat tend to stay": Chain(sets=((0, 1), (0, 2), (1, 2)), matrix=PAIRS_STAY)}
OPPONENT = "opponent, each seen\nin any 3 rounds"
CAPS = dict(zip(LAWS, (1, 9, 8, 4, 12), strict=True))  # FedAWE's ages are cut here; larger ones make chains too long
MOST_TAIL = 0.1  # if ages may be cut more often, the cell says nothing about ages of any length
METHODS = {  # name -> (step, local steps, name of a law or None) -> method
    "FedAvg": lambda eta, tau, name: FedAvg(eta, tau, averaging="plain"),
    "LocalSGD": lambda eta, tau, name: LocalSgd(eta, tau),
    "FedAU, weights\nat their limit": lambda eta, tau, name: FedAu(eta, tau, weights=[1 / p for p in _chances(name)]),
    "FedAWE,\nages cut": lambda eta, tau, name: FedAwe(eta, tau, cap=CAPS.get(name, 2)),
    "SCAFFOLD, option I": lambda eta, tau, name: Scaffold(eta, tau, option=1),
    "SCAFFOLD, option II": lambda eta, tau, name: Scaffold(eta, tau),
    "ProxSkip, immediate": lambda eta, tau, name: Scaffnew(eta, tau),
    "ProxSkip, late": lambda eta, tau, name: Scaffnew(eta, tau, update="late"),
    "MIFA": lambda eta, tau, name: Mifa(eta, tau),
    "FOCUS": lambda eta, tau, name: Focus(eta, tau),
    "known probabilities": lambda eta, tau, name: Reweighted(eta, tau, inclusion=_chances(name)),
    "FedVARP": lambda eta, tau, name: FedVarp(eta, tau),
}
# Quoted from Table 1: complexity for strongly convex and for non-convex losses ("-": no entry), participation. Its ticks
# for exactness cannot be read in the source, except SCAFFOLD's cross. Which column the single entry of FedAU, FedAWE and
# ProxSkip stands in is a reading.
PRINTED = {
    "FedAvg": "1/ε, 1/ε²\nuniform", "LocalSGD": "1/√ε, 1/ε$^{3/2}$\nuniform",
    "FedAU, weights\nat their limit": "-, 1/ε²\narbitrary",
    "FedAWE,\nages cut": "-, 1/ε²\narbitrary", "SCAFFOLD, option I": "log 1/ε, 1/ε; exact ✗\nuniform",
    "SCAFFOLD, option II": "log 1/ε, 1/ε; exact ✗\nuniform", "ProxSkip, immediate": "log 1/ε, -\nfull",
    "ProxSkip, late": "log 1/ε, -\nfull", "MIFA": "-, 1/ε²\narbitrary", "FOCUS": "log 1/ε, log 1/ε (PL)\narbitrary",
}
WINDOWS, LINE_STEP, LINE_TAU = Sliding(3, "never"), "1/20", 3
NEUTRAL = 1e-9  # a mean-square rate this close to 1 counts as 1: where a run ends depends on the draws
NAN = float("nan")
NOTHING = dict.fromkeys(("mean_square_rate", "bias", "floor", "lower", "upper", "tail"), NAN)


def _chances(name):
    return LAWS[name].inclusion(N)


def _distance(u, v):
    return float(sum((a - b) ** 2 for a, b in zip(u, v, strict=True))) ** 0.5


def under_law(make, name):
    """One cell, on the reference instance in the plane. "exact": stable, and the stationary error is 0 in rationals; "biased":
    stable, with the distance of the mean's limit to x* and the stationary E|x - x*|^2; "diverges", "stalls": the mean-square
    rate is above 1, or 1; "undecided": ages may be cut in more than a tenth of the rounds (tail, an upper bound)."""
    problem, law, method = plane(), LAWS[name], make(STEP, TAU, name)
    best = optimum(problem).x
    op = derive(method, problem, law)
    rate, aged = op.mean_square_rate(), isinstance(method, FedAwe)
    tail = float(min(1, Ages(law, method.cap, N).tail())) if aged else NAN
    cell = NOTHING | {"mean_square_rate": rate, "tail": tail}
    if rate >= 1 - NEUTRAL:
        return cell | {"word": "undecided" if tail > MOST_TAIL else "diverges" if rate > 1 + NEUTRAL else "stalls"}
    if not aged:  # its chain of ages is long for rationals, and its error far from 0
        op = derive(method, problem, law, domain=RATIONAL)
    floor = op.floor(best)
    word = "undecided" if tail > MOST_TAIL else "biased" if aged or floor != 0 else "exact"
    return cell | {"word": word, "bias": _distance(op.fixed_point().x, best), "floor": float(floor)}


def under_opponent(make):
    """One cell: every schedule that shows each client in any 3 rounds, three clients on a line (a plane takes minutes).

    "exact": all schedules contract, by a certificate, to a common point, which is x*; "biased": to another point;
    "no limit": the rounds share no fixed point, so that some schedule has none; "diverges", "stalls": some schedule does not
    contract, with a factor above 1, or 1; "open": between the bounds; "-": weights from probabilities, which an opponent
    has not, or rounds that depend on more than the participants.
    """
    try:
        method = make(LINE_STEP, LINE_TAU, None)
        found = worst_schedule(method, line((1, 2, 4), (1, -1, 0)), WINDOWS, accuracy=1e-3)
    except (BadInput, KeyError):  # no law, no probabilities
        return NOTHING | {"word": "-"}
    if found.verdict == UNSTABLE:
        word = "diverges" if found.lower > 1 else "stalls"
    elif found.verdict != STABLE:
        word = "open"
    else:
        word = "no limit" if found.fixed_point is None else "exact" if found.exact else "biased"
    return NOTHING | {"word": word, "lower": float(found.lower), "upper": NAN if found.upper is None else float(found.upper)}


def _flat(name):
    return name.replace("\n", " ")


def table1_data():
    """Reference instance in the plane, tau = 4, eta = .05 (for the opponent: a line, tau = 3): every cell computed."""
    rows = []
    for method, make in METHODS.items():
        cells = {name: under_law(make, name) for name in LAWS} | {OPPONENT: under_opponent(make)}
        rows += [{"method": _flat(method), "participation": _flat(name)} | cell for name, cell in cells.items()]
    return rows


# ---- picture ----------------------------------------------------------------------------------------------
SHADES = {"exact": COLOURS[2], "biased": COLOURS[1], "no limit": COLOURS[1], "stalls": COLOURS[1], "diverges": COLOURS[3]}


def _says(r):
    """The lines of a cell."""
    if r["word"] == "-":
        return "not defined"
    if r["participation"] == _flat(OPPONENT):
        only = np.isnan(r["upper"]) or r["lower"] >= 1
        return f"{r['word']}\nrate " + (f"≥ {r['lower']:.4f}" if only else f"{r['lower']:.4f} to {r['upper']:.4f}")
    out = f"{r['word']}, rate {r['mean_square_rate']:.4f}"
    if r["floor"] > 0:
        out += f"\nbias {r['bias']:.2g}, error {r['floor']:.2g}"
    return out if not r["tail"] > 0 else out + f"\nages cut in ≤ {r['tail']:.2g}"


def table1_draw(rows):
    figure, axes = canvas(1, width=11.5, height=6.6)
    ax, columns, methods = axes[0][0], [*LAWS, OPPONENT], list(METHODS)
    at = {_flat(name): k + 1 for k, name in enumerate(columns)}
    down = {_flat(name): k for k, name in enumerate(methods)}
    for r in rows:
        x, y = at[r["participation"]], down[r["method"]]
        ax.fill_between((x - 0.48, x + 0.48), y - 0.46, y + 0.46, color=SHADES.get(r["word"], "grey"), alpha=0.18, lw=0)
        ax.text(x, y, _says(r), ha="center", va="center", fontsize=7)
    for y, name in enumerate(methods):
        ax.text(0, y, PRINTED.get(name, "-"), ha="center", va="center", fontsize=7, color="dimgrey")
    ax.grid(False)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    finish(ax, "Mean-square rate, distance of the mean's limit to x*, stationary E|x-x*|²: plane, three clients, η = .05, τ = 4.\n"
           "Opponent: line, h = (1,2,4), η = .05, τ = 3, worst contraction factor per round of any schedule.\n",
           xlim=(-0.5, len(columns) + 0.5), ylim=(len(methods) - 0.5, -0.5))
    ax.set_xticks(range(len(columns) + 1), ["printed", *columns], fontsize=8)
    ax.set_yticks(range(len(methods)), methods, fontsize=8)
    return figure


__all__ = ["LAWS", "METHODS", "OPPONENT", "PRINTED", "table1_data", "table1_draw"]
