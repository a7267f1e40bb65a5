"""The local work that single clients show, and in what it differs from the reference's, in sentences."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.algorithms.localprox import LocalProx
from fltheory.blackbox.fits import SOLVERS, expected, recover
from fltheory.blackbox.result import Fault
from fltheory.core.kinds import Algorithm
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.numbers.text import number

CURVATURE = "fit of the responses to curvature"
DEGREE = "degree of the response to curvature"


class Work(NamedTuple):
    """fits: a `Fit` or None per client; wanted: the reference's, None where one client's response says nothing; idle: how a
    model moves in a problem without gradients (d,); silent: clients whose data have no effect; rows: how many each has."""

    fits: list
    wanted: list | None
    idle: np.ndarray | None
    silent: tuple = ()
    rows: tuple = ()


def declared(algorithm: Algorithm):
    """(kind, lr, extra) of the local work of a reference as its record declares them."""
    record = algorithm.to(FLOAT)
    solver, lr = getattr(record, "solver", None), float(record.lr)
    if isinstance(algorithm, Focus):
        return "last gradient", lr, {}
    if isinstance(algorithm, LocalProx):
        return "proximal", lr, {"alpha": lr * float(record.mu)}
    kind = next((kind for kind, (base, mutant) in SOLVERS.items() if type(solver) is base and mutant is None), "plain")
    extra = {} if kind == "plain" else {k: v for k, v in vars(solver).items() if v is not None}
    if "mu" in extra:
        extra = {"alpha": lr * extra["mu"]}
    return kind, lr, {k: v if kind == "decay" else float(v) for k, v in extra.items()}   # decays may be one per client


def observe(box, problems, height, tolerance, reference=None) -> Work:
    """The local work of the code beside the reference's."""
    wanted = None
    if problems.personal:   # one client's responses mix the steps on its own parameters with those on the model
        return Work([None] * problems.n, None, None)
    if reference is not None:
        wanted = expected(reference, problems, *declared(reference.algorithm))
        if max(f.residual for f in wanted) > 1e-6:   # such as a warm start
            return Work([None] * problems.n, None, None)
    fits, idle = recover(box, problems, height, max(tolerance, 1e-9), wanted)
    ones = np.ones(problems.d)

    def still(i):
        return bool((box.first(problems.single(i, height * ones), ones) == ones - idle).all())

    return Work(fits, wanted, idle, tuple(i for i, f in enumerate(fits) if f is None and still(i)),
                tuple(c.size for c in problems.generic().clients))


def parameters(fits, problems):
    """One dict per client for the result."""
    out = []
    for f, p in zip(fits, problems.weights, strict=True):
        row = {"p": float(p)}
        if f is not None:
            kind = ", ".join([f.kind, *(f"{k} = {number(v)}" for k, v in f.extra.items())])
            row |= {"weight": f.share if not f.product else None, "steps": f.steps, "kind": kind, "residual": f.residual,
                    "lr": None if f.product else f.lr, "weight times lr": f.share * f.lr, **f.extra}
        out.append(row)
    return out


def faults_of_work(work, tolerance):
    """Faults that the fits of single clients show, apart from the aggregation weights."""
    pairs = [(i, f, w) for i, (f, w) in enumerate(zip(work.fits, work.wanted, strict=True)) if f is not None]
    out = _idle(work.idle, [(f, w) for _, f, w in pairs], tolerance) + lost(work)
    if not pairs:
        return out
    worst = max(f.residual for _, f, _ in pairs)
    return out + _steps(pairs, worst) + _kinds(pairs, worst, tolerance) + _rates(pairs, worst, tolerance, work.rows)


def _idle(idle, pairs, tolerance):
    """Models that move although every gradient vanishes."""
    if np.abs(idle).max() <= max(tolerance, 1e-6):   # less is single precision
        return []
    decay = next((f.extra["decay"] for f, _ in sorted(pairs, key=lambda k: -k[0].steps) if "decay" in f.extra), None)
    if decay is None and pairs and all(f.steps == 1 and abs(f.share / w.share - 1) <= 1e-6 for f, w in pairs):
        decay = float(idle[0]) / sum(f.share * f.lr for f, _ in pairs)
    if decay is None and np.ptp(idle) <= 1e-6:
        return [Fault(f"the weights of the averaged models sum to {number(1 - float(idle[0]))}, not to 1",
                      "a model without any gradient is multiplied by it", tolerance)]
    size = "" if decay is None else f" {number(decay)}, each local step takes lr wd = " \
        f"{number(decay * pairs[0][0].lr)} of the model away"
    does = "shrinks" if idle[0] > 0 else "grows"
    return [Fault(f"the model {does} although every gradient vanishes: hidden weight decay{size}",
                  f"model 1 becomes {1 - float(idle[0]):.6g}", tolerance)]


def lost(work):
    """Clients whose local work fits nothing: their data have no effect, or one that is not known here."""
    silent, other = work.silent, [i for i, f in enumerate(work.fits) if f is None and i not in work.silent]
    out = []
    if len(silent) == len(work.fits) and work.idle is not None and not np.any(work.idle):
        out.append(Fault("the round does nothing: it returns the model it was given, whatever the data (is a copy trained, and the "
                         "model itself returned?)", "the round gives back its input", 0.0))
    elif len(silent) == len(work.fits):
        out.append(Fault("no client's data have an effect on the model: is a copy trained, and the model itself returned?",
                         "the round gives one output on all data", 1.0))
    elif silent:
        out.append(Fault(f"the data of {_clients(silent)} have no effect on the model: left out of the average, or never trained?",
                         "their curvature changes nothing", 0.0))
    if other:
        out.append(Fault(f"the local work of {_clients(other)} is none of the kinds known here",
                         "no fit to the responses to curvature", 1.0))
    return out


def _clients(numbers):
    return f"client{'s' if len(numbers) > 1 else ''} {_list(numbers)}"


def _steps(pairs, worst):
    """Other numbers of local steps: the same too many everywhere, or client by client."""
    more = {f.steps - w.steps for _, f, w in pairs}
    if len(more) == 1 and len(pairs) > 1 and more != {0}:
        k = more.pop()
        text = f"every client makes {abs(k)} local step{'s' if abs(k) > 1 else ''} too {'many' if k > 0 else 'few'}"
        text += f" ({_list([f.steps for _, f, _ in pairs])}, the reference {_list([w.steps for *_, w in pairs])})"
        return [Fault(text, DEGREE, worst)]
    return [Fault(f"client {i} makes {f.steps} local steps, the reference {w.steps}", DEGREE, f.residual)
            for i, f, w in pairs if f.steps != w.steps]


def _kinds(pairs, worst, tolerance):
    """Another kind of local step, or other numbers in it, read off the client with most steps."""
    def other(f, w):
        far = any(abs(v - w.extra.get(k, np.inf)) > 100 * max(tolerance, 1e-9) for k, v in f.extra.items() if k != "decay")
        return f.steps > 1 and (f.kind != w.kind or far)
    changed = [(f, w) for _, f, w in pairs if other(f, w)]
    if not changed:
        return []
    f, w = max(changed, key=lambda pair: pair[0].steps)
    return [Fault(_kind_sentence(f, w), f"{f.kind} local step fits, {w.kind} is stated", worst)]


SENTENCES = {   # (kind that fits, kind stated; None: any other)
    ("plain", "proximal"): "the proximal term is missing: plain local steps",
    ("plain", "momentum"): "the local momentum is missing: plain local steps",
    ("plain", "decay"): "the local decay is missing: plain local steps",
    ("proximal after the step", None): "the proximal term is applied after the gradient step{sign}: alpha = {alpha}",
    ("proximal", "proximal"): "the proximal coefficient alpha = lr mu is {alpha}, stated {stated}",
    ("proximal", None): "a hidden proximal term (weight decay towards the server model): alpha = {alpha}, mu = {mu}",
    ("decay", "decay"): "the step size decays by the factor {gamma} per local step, stated {stated}",
    ("decay", None): "the step size decays by the factor {gamma} per local step although it is stated constant",
    ("proximal inside the momentum", None): "the proximal term leaks into the momentum buffer (rho = {rho}, alpha = {alpha})",
    ("momentum dampened after the first step", None):
        "the momentum is dampened, u <- rho u + (1 - rho) g from the second step on (rho = {rho})",
    ("dampened momentum", None):
        "the momentum buffer averages gradients, u <- rho u + (1 - rho) g, instead of summing (rho = {rho})",
    ("Nesterov momentum", None): "Nesterov's look-ahead is used instead of heavy-ball momentum (rho = {rho})",
    ("momentum", "momentum"): "the momentum is {rho}, stated {stated}",
    ("momentum", None): "hidden local momentum rho = {rho}",
}


def _kind_sentence(f, w):
    alpha = f.extra.get("alpha")
    kind = "proximal after the step" if alpha is not None and alpha < 0 else f.kind
    text = SENTENCES.get((kind, w.kind)) or SENTENCES.get((kind, None))
    numbers = {k: number(v) for k, v in f.extra.items()}
    if text is None:
        return f"the local step is {f.kind} ({', '.join(f'{k} = {v}' for k, v in numbers.items())}), the reference's {w.kind}"
    if (kind, w.kind) == ("proximal", "proximal"):
        stated = w.extra["alpha"]
        text += ": it enters squared" if abs(alpha - stated**2) < 1e-6 else \
            ": mu is not multiplied by the step size" if abs(alpha - stated / w.lr) < 1e-6 else ""
    return text.format(**numbers, sign=", with the wrong sign (it repels)" if alpha is not None and alpha < 0 else "",
                       mu=None if alpha is None else number(alpha / f.lr),
                       stated=next((number(w.extra[k]) for k in f.extra if k in w.extra), ""))


def _rates(pairs, worst, tolerance, rows):
    """Other step sizes than the stated one."""
    ratios = [(i, f.lr / w.lr) for i, f, w in pairs if not f.product and (f.steps > 1 or abs(f.lr / w.lr - 1) > 1e-6)]
    off = [(i, v) for i, v in ratios if abs(v - 1) > 30 * max(tolerance, 1e-8)]
    if not off:
        return []
    values, stated = [v for _, v in off], pairs[0][2]
    if max(values) - min(values) > 1e-3 * max(values):
        text = "the step sizes differ by client: " + _list([f"{number(v)} times the stated one at client {i}"
                                                             for i, v in off]) + ": a sum over rows, not a mean?"
        return [Fault(text, CURVATURE, worst)]
    text = f"the step size is {number(values[0])} times the stated one ({number(values[0] * stated.lr)} " \
           f"instead of {number(stated.lr)})"
    if abs(values[0] - 2) < 1e-3:
        text += ": a squared-error loss without the factor 1/2, such as MSELoss?"
    if rows and all(abs(v - rows[i]) < 1e-3 * v for i, v in off):
        text += f"{', or' if text[-1] == '?' else ':'} a sum over the {rows[0]} rows, not a mean?"
    if stated.kind == "decay" and abs(values[0] - stated.extra["gamma"]) < 1e-3:
        text += ": the decay is applied before the first local step"
    return [Fault(text, CURVATURE, worst)]


def _list(values):
    return ", ".join(str(v) for v in values)
