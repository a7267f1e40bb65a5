"""Table 1 computed: every method under every kind of participation on the reference instance, beside what the paper prints.

A cell is "exact" (the stationary error is 0 in rationals), "biased" (distance of the mean's limit, stationary error), or
"divergent" (mean-square rate >= 1, by an enclosure), at the step 1/20 and, where that does not settle it, at 1/200 too.
"""
import itertools
import math
from fractions import Fraction as Q

from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.fedawe import FedAwe
from fltheory.algorithms.fedvarp import FedVarp
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.localsgd import LocalSgd
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.reweighted import Reweighted
from fltheory.algorithms.scaffnew import Scaffnew
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import CertificateFailed, NoFixedPoint
from fltheory.core.laws.ages import Ages
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.modes import Chain, Replay
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.core.optima import optimum
from fltheory.derivation import derive
from fltheory.pictures import COLOURS, GREY, canvas, key
from fltheory.schedules.windows import Sliding
from fltheory.schedules.worst import UNSTABLE, worst_schedule
from verification.focus.instances import plane
from verification.focus.panels import pick

N, TAU, STEP, SMALL_STEP = 3, 4, Q(1, 20), Q(1, 200)
STAYS = (("7/10", "1/5", "1/10"), ("1/4", "7/10", "1/20"), ("1/5", "1/10", "7/10"))
LAWS = {"full": Full(), "one uniform": Uniform(1), "two uniform": Uniform(2),
        "Bernoulli (.9, .5, .1)": Bernoulli(("9/10", "1/2", "1/10"), "redraw"),
        "Bernoulli (.9, .5, .01)": Bernoulli(("9/10", "1/2", "1/100"), "redraw"),
        "chain of pairs": Chain(sets=((0, 1), (0, 2), (1, 2)), matrix=STAYS)}
EVERY = "every schedule"
WINDOWS, PERIOD = Sliding(2, "never"), 3
METHODS = {
    "FedAvg": lambda lr, law: FedAvg(lr, TAU, averaging="plain"),
    "local SGD": lambda lr, law: LocalSgd(lr, TAU),
    "known probabilities": lambda lr, law: Reweighted(lr, TAU, inclusion=law.inclusion(N)),
    "FedAU": lambda lr, law: FedAu(lr, TAU, weights=[1 / p for p in law.inclusion(N)]),
    "FedAWE": lambda lr, law: FedAwe(lr, TAU, cap=CAPS.get(law, 2)),
    "FedVARP": lambda lr, law: FedVarp(lr, TAU),
    "MIFA": lambda lr, law: Mifa(lr, TAU),
    "SCAFFOLD, I": lambda lr, law: Scaffold(lr, TAU, option=1),
    "SCAFFOLD, II": lambda lr, law: Scaffold(lr, TAU),
    "ProxSkip, immediate": lambda lr, law: Scaffnew(lr, TAU),
    "ProxSkip, late": lambda lr, law: Scaffnew(lr, TAU, update="late"),
    "FOCUS": lambda lr, law: Focus(lr, TAU),
}
# ages are cut here: never under full participation and the schedules; too often with rare clients
CAPS = {LAWS["full"]: 1, LAWS["two uniform"]: 16, LAWS["Bernoulli (.9, .5, .1)"]: 4, LAWS["chain of pairs"]: 24}
MOST_TAIL = Q(1, 1000)  # likelier cuts say nothing about ages of any length
# the rounds of these share one fixed point, or a conserved quantity, for every set: bracketed over all schedules at once
BRACKETED = ("FedVARP", "MIFA", "SCAFFOLD, I", "SCAFFOLD, II", "ProxSkip, late", "FOCUS")
# printed: participation, complexity if strongly convex, if not convex; which column a single entry belongs to is a reading
PRINTED = {"FedAvg": ("uniform", r"$1/\varepsilon$", r"$1/\varepsilon^2$"),
           "local SGD": ("uniform", r"$1/\sqrt{\varepsilon}$", r"$1/\varepsilon^{3/2}$"),
           "FedAU": ("arbitrary", "–", r"$1/\varepsilon^2$"), "FedAWE": ("arbitrary", "–", r"$1/\varepsilon^2$"),
           "MIFA": ("arbitrary", "–", r"$1/\varepsilon^2$"),
           "SCAFFOLD, I": ("uniform", r"$\log 1/\varepsilon$", r"$1/\varepsilon$"),
           "SCAFFOLD, II": ("uniform", r"$\log 1/\varepsilon$", r"$1/\varepsilon$"),
           "ProxSkip, immediate": ("full", r"$\log 1/\varepsilon$", "–"),
           "ProxSkip, late": ("full", r"$\log 1/\varepsilon$", "–"),
           "FOCUS": ("arbitrary", r"$\log 1/\varepsilon$", r"$\log 1/\varepsilon$, PL")}
NAN = float("nan")


# ---- cells ------------------------------------------------------------------------------------------------
def _cell(method, law, lr, domain=RATIONAL):
    """verdict, mean-square rate, |limit of the mean - x*|, stationary E|x - x*|^2 of a method under a law."""
    problem = plane()
    best = optimum(problem).x
    op = derive(METHODS[method](lr, law), problem, law, domain=domain)
    rate, bias = op.mean_square_rate(), None
    try:
        bias = sum((u - v) ** 2 for u, v in zip(op.fixed_point().x, best, strict=True))
    except NoFixedPoint:    # the mean round has the eigenvalue 1 or several fixed points: the rate is at least 1
        if rate < 1 + 1e-9:
            return {"verdict": "no single limit", "rate": rate, "bias": NAN, "floor": NAN}
    low, high = _enclosed(op, rate)
    if low >= 1:
        return {"verdict": "divergent", "rate": rate, "bias": NAN, "floor": NAN}
    if high >= 1:
        return {"verdict": "undecided", "rate": rate, "bias": NAN, "floor": NAN}
    floor = op.floor(best)
    return {"verdict": "exact" if floor == 0 else "biased", "rate": rate, "bias": float(bias) ** 0.5, "floor": float(floor)}


def _enclosed(op, rate):
    """Bounds on the mean-square rate: certified where the operator is in rationals and its blocks allow it."""
    try:
        return op.certify(width=1e-4).mean_square if op.domain is RATIONAL else (rate - 1e-9, rate + 1e-9)
    except CertificateFailed:
        return rate - 1e-9, rate + 1e-9


def _aged(law, lr):
    """FedAWE: exact ages where nobody averages with anybody, else cut ones and a bound on the chance of a cut in a round."""
    if isinstance(law, Uniform) and law.m == 1:
        return _alone(lr)
    cap = CAPS.get(law)
    tail = min(Q(1), Ages(law, cap or 4, N).tail())
    if tail > MOST_TAIL:    # x* = w_i does not stand still where a client comes alone: its own gradient is not 0 there
        best, problem = optimum(plane()).x, plane()
        alone = [int(present.argmax()) for _, _, present in law.cohorts(N) if present.sum() == 1]
        moves = any((problem.H[i] @ best != problem.b[i]).any() for i in alone)
        return {"verdict": "not exact" if moves else "undecided", "rate": NAN, "bias": NAN, "floor": NAN, "tail": float(tail)}
    return _cell("FedAWE", law, lr, RATIONAL if cap == 1 else FLOAT) | {"tail": float(tail)}


def _alone(lr):
    """One uniform client a round: each walks alone from its own model, x - c_i multiplied by 1 - A q along each curvature h,
    q = 1 - (1 - lr h)^tau, for the geometric age A; so ages of any length need no operator. The floor does not see them."""
    import numpy as np
    curvatures = np.linalg.eigvalsh(np.array(plane().H, dtype=float)).reshape(-1)
    rate = max(walk_rate(1 / N, 1 - (1 - float(lr) * h) ** TAU) for h in curvatures)
    if rate >= 1:
        return {"verdict": "divergent", "rate": rate, "bias": NAN, "floor": NAN, "tail": 0.0}
    return _cell("FedAWE", LAWS["one uniform"], lr) | {"rate": rate, "tail": 0.0}


def walk_rate(p, q):
    """The rate r with E (1 - A q)^2 r^-A = 1 for a geometric age A of parameter p: mean square per round of one client."""
    from scipy.optimize import brentq

    def excess(r):
        z = (1 - p) / r
        return p / (1 - p) * (z / (1 - z) - 2 * q * z / (1 - z) ** 2 + q * q * z * (1 + z) / (1 - z) ** 3) - 1
    return float(brentq(excess, (1 - p) * (1 + 1e-9), 10, xtol=1e-14, rtol=1e-14))


def periodic():
    """Schedules of period up to 3 in which each client takes part in any two consecutive rounds, one per rotation."""
    sets = [s for k in range(1, N + 1) for s in itertools.combinations(range(N), k)]
    automaton, seen = WINDOWS.automaton(N), set()
    for k in range(1, PERIOD + 1):
        for schedule in itertools.product(sets, repeat=k):
            first = min(schedule[j:] + schedule[:j] for j in range(k))
            if first not in seen and automaton.closes(list(schedule)):
                seen.add(first)
                yield schedule


def _every(method, lr):
    """All schedules at once where the rounds allow it, else the largest stationary error over the periodic ones."""
    if method in BRACKETED:
        return _bracketed(method, lr)
    law, worst, slowest = None, -1.0, 0.0
    for schedule in periodic():
        candidate = Replay([(s, None) for s in schedule])
        cell = _cell(method, candidate, lr, FLOAT)
        slowest = max(slowest, cell["rate"])
        if cell["verdict"] != "biased" and cell["verdict"] != "exact":
            raise ValueError(f"{method} on {schedule}: {cell['verdict']}")
        if cell["floor"] > worst * (1 + 1e-9):
            law, worst = candidate, cell["floor"]
    return _cell(method, law, lr) | {"rate": slowest, "schedule": _words(law.sets)}


def _bracketed(method, lr):
    algorithm, problem = METHODS[method](lr, None), plane()
    low = worst_schedule(algorithm, problem, WINDOWS, certify=False)
    cell = {"rate": float(low.lower) ** 2, "bias": NAN, "floor": NAN, "schedule": _words(low.walk.sets)}
    if low.verdict == UNSTABLE:
        return cell | {"verdict": "divergent" if low.lower > 1 else "no single limit"}
    target = Q(math.ceil(103 * low.lower), 100)         # 3 % above, rounded up: asked once instead of bisected
    found = worst_schedule(algorithm, problem, WINDOWS, rate=target)
    if found.upper is None or found.upper >= 1 or found.fixed_point is None:
        return cell | {"verdict": "undecided"}
    bias = sum((u - v) ** 2 for u, v in zip(found.fixed_point, optimum(problem).x, strict=True))
    return cell | {"verdict": "exact" if found.exact else "biased", "upper": float(target) ** 2, "bias": float(bias) ** 0.5,
                   "floor": float(bias)}


def _words(sets):
    return " ".join("{" + ",".join(str(i + 1) for i in s) + "}" for s in sets)


def table1_data():
    """One row per method, kind of participation and step; rates are of the squared distance, per round.

    upper: certified over every schedule; tail: chance per round that FedAWE's ages are cut; schedule: the worst one found.
    """
    rows = []
    for method in METHODS:
        for name in (*LAWS, EVERY):
            for lr in (STEP, SMALL_STEP):
                if name == EVERY:
                    cell = _every(method, lr)
                else:
                    cell = _aged(LAWS[name], lr) if method == "FedAWE" else _cell(method, LAWS[name], lr)
                rows.append({"method": method, "participation": name, "eta": float(lr), "upper": NAN, "tail": NAN, "schedule": ""}
                            | cell)
                if cell["verdict"] in ("exact", "biased", "not exact"):
                    break
    order = ("method", "participation", "eta", "verdict", "rate", "upper", "bias", "floor", "tail", "schedule")
    return [{k: r[k] for k in order} for r in rows]


# ---- picture ----------------------------------------------------------------------------------------------
FILL = {"exact": COLOURS[2], "biased": COLOURS[1], "divergent": COLOURS[3], "other": "black"}
FAINT = {"exact": 0.3, "biased": 0.22, "divergent": 0.4, "other": 0.08}
SAYS = {"exact": "exact: the error is 0 in the limit", "biased": "an error remains: biased, or not exact",
        "divergent": r"divergent at $\eta=1/20$", "other": r"no single limit at $\eta=1/20$"}
CAPTION = (
    r"Table 1 computed on quadratics: three clients in the plane, $\tau=4$, $\eta=1/20$ (at 1/200 too where that does not "
    r"converge). Bias: $\|\lim\,E\,x-x^\star\|$. Error: $\sqrt{E\|x-x^\star\|^2}$ in the limit. Rate: of $E\|x-x^\star\|^2$ per "
    "round. All are predictions, no run enters. FedAU with its weights at their limits. Every schedule: each client in any two "
    "consecutive rounds; bias and error along the worst periodic one found, rates reached and certified for all. Printed: "
    "participation; complexity if strongly convex; if not convex. Of the printed ticks for exactness only SCAFFOLD's can be read, "
    "a cross whose footnote says that a proof is missing.")


def _kind(verdict):
    """The colour's name of a cell."""
    return {"exact": "exact", "biased": "biased", "not exact": "biased", "divergent": "divergent"}.get(verdict, "other")


def _short(v):
    """Three digits or two, without a leading 0."""
    text = f"{v:.2g}" if v < 0.01 or v >= 10 or v == 1 else f"{v:.3f}"
    return text.removeprefix("0") if text.startswith("0.") else text


def _lines(r):
    """What a cell says at one step: a word or the bias, then numbers."""
    rate = f"rate {r['rate']:.4f}".replace(" 0.", " .")
    if not math.isnan(r["upper"]):
        rate += f" to {r['upper']:.3f}".replace(" 0.", " .")
    if r["verdict"] == "biased":
        cut = [f"ages cut: {r['tail']:.0e}"] if r["tail"] > 0 else []
        return [f"bias {_short(r['bias'])}", f"error {_short(r['floor'] ** 0.5)}", rate, *cut]
    unknown = ["limit undecided:", "ages cut in up to", f"{_short(r['tail'])} of rounds"]
    return [r["verdict"], *(unknown if math.isnan(r["rate"]) else [rate])]


def _text(mine):
    """The lines of a cell; with a smaller step both in few lines."""
    lines = _lines(mine[0])
    if len(mine) == 2:
        first, *rest = _lines(mine[1])
        lines = [*lines, f"at 1/200: {first},", ", ".join(rest)]
    return "\n".join(lines)


def table1_draw(rows):
    figure, axes = canvas(1, width=13.8, height=10.6)
    ax, columns, methods = axes[0][0], [*LAWS, EVERY], list(METHODS)
    for y, method in enumerate(methods):
        for x, name in enumerate(columns):
            mine = sorted(pick(rows, method=method, participation=name), key=lambda r: -r["eta"])
            kind = _kind(mine[0]["verdict"])
            ax.fill_between((x - 0.48, x + 0.48), y - 0.47, y + 0.47, color=FILL[kind], alpha=FAINT[kind], lw=0)
            ax.text(x, y, _text(mine), ha="center", va="center", fontsize=9, linespacing=1.15)
        printed = PRINTED.get(method)
        says = "no such row" if printed is None else "\n".join(printed)
        ax.text(len(columns), y, says, ha="center", va="center", fontsize=9, linespacing=1.15)
    ax.axvline(len(columns) - 0.5, color="black", lw=0.8)
    ax.set(xlim=(-0.5, len(columns) + 0.5), ylim=(len(methods) - 0.5, -0.5))
    ax.set_xticks(range(len(columns) + 1), [*(c.replace(" (", "\n(") for c in columns), "printed"], fontsize=10.5)
    ax.xaxis.tick_top()
    names = [m.replace("ProxSkip, ", "ProxSkip,\n").replace("known ", "known\n") for m in methods]
    ax.set_yticks(range(len(methods)), names, fontsize=10.5)
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    key(figure, {says: {"facecolor": FILL[k], "alpha": FAINT[k], "edgecolor": GREY} for k, says in SAYS.items()})
    return figure
