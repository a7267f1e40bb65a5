"""Local work recovered from responses to curvature.

One active client with curvature h moves the model from 1 to 1 - s q(h). q is a polynomial whose degree is the number
of local steps; s is the aggregation weight.
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace

import numpy as np

from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla
from fltheory.mutants import local
from fltheory.mutants.base import altered

MOST_STEPS = 64
_SIGNED = np.concatenate([np.linspace(-0.9, -0.1, 9), [-0.03, 0.01, 0.03], np.linspace(0.08, 0.95, 11)])
_UNIT = np.concatenate([[0.03], np.linspace(0.1, 0.95, 12)])
# kind of local step -> its parameters with starting points; simplest first, the first that fits is taken
KINDS = {"plain": {}, "last gradient": {}, "proximal": {"alpha": _SIGNED},
         "decay": {"gamma": np.array([0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.97, 1.03, 1.1, 1.3, 2.0])},
         "momentum": {"rho": _UNIT}, "dampened momentum": {"rho": _UNIT}, "Nesterov momentum": {"rho": _UNIT},
         "proximal after the step": {"alpha": _SIGNED},
         "proximal inside the momentum": {"rho": _UNIT[::2], "alpha": _UNIT[::2]}}
# the solver that makes the step, and the mutant of it; "last gradient" is none: what is sent is not what is moved
SOLVERS = {"plain": (Vanilla, None), "proximal": (Proximal, None),
           "proximal after the step": (Proximal, local.proximal_after), "decay": (Decay, None),
           "momentum": (Momentum, None), "dampened momentum": (Momentum, local.dampened_momentum),
           "momentum dampened after the first step": (Momentum, local.dampened_later),
           "Nesterov momentum": (Momentum, local.nesterov_momentum), "momentum and proximal": (MomentumProximal, None),
           "proximal inside the momentum": (MomentumProximal, local.proximal_in_buffer)}
FAMILY = {"momentum": ("momentum", "dampened momentum", "momentum dampened after the first step", "Nesterov momentum"),
          "proximal": ("proximal", "proximal after the step"),
          "momentum and proximal": ("momentum and proximal", "proximal inside the momentum")}


@dataclass(frozen=True)
class Fit:
    """Recovered local work of one client. share: aggregation weight; lr: step size; extra: further parameters.

    residual: largest deviation of the fit, relative; mass: |a_i|_1 = q'(0)/lr. product: only share times lr is
    determined (one local step), and share is what it is for the lr stated.
    """

    kind: str
    steps: int
    lr: float
    share: float
    extra: dict
    residual: float
    mass: float
    product: bool = False


def solver_of(kind, extra):
    """The solver of a kind, its numbers unchecked: columns and complex ones too."""
    base, mutant = SOLVERS[kind]
    solver = object.__new__(base)
    for f in fields(base):
        object.__setattr__(solver, f.name, extra.get(f.name))
    return solver if mutant is None else altered(solver, mutant.change, "step", **mutant.more)


def path(kind, h, lr, extra, decay=0.0):
    """Yield 1 - y_k for k = 1, 2, ...: the local iterate started at 1 with gradient h y."""
    y = 1 + 0 * (h * lr)
    if kind == "last gradient":
        while True:
            sent = lr * (h + decay) * y
            y = y - sent
            yield sent
    solver = solver_of(kind, extra)
    buffer = solver.start(y)
    while True:
        y, buffer = solver.step(y, 1, buffer, (h + decay) * y, lr, 1)
        yield 1 - y


def response(kind, steps, h, lr, extra, decay=0.0):
    """q(h) after a number of steps; with a weight decay, the part that the curvature adds."""
    out = next(itertools.islice(path(kind, h, lr, extra, decay), steps - 1, None))
    if np.ndim(decay) == 0 and decay == 0:
        return out
    return out - next(itertools.islice(path(kind, 0 * h, lr, extra, decay), steps - 1, None))


def fit(h, r, tolerance, prior=None, idle=False):
    """The simplest kind of local work that explains responses r (k,) at curvatures h (k,) > 0, or None.

    tolerance: largest relative residual accepted. idle: a client without gradient moves too (weight decay is fitted).
    prior: a `Fit` that is expected; what agrees with it in all but one number is preferred to what agrees in less,
    since few local steps leave several explanations.
    """
    weight = 1 / (0.02 * np.abs(r).max() / 30 + np.abs(r) + 1e-300)
    if idle:
        if prior is not None:     # models averaged with weights that do not sum to 1 move too, without any decay
            best = _near(prior, h, r, weight, tolerance, False)
            for share in (prior.share, None):
                best = best or _one_number(prior.kind, "decay", np.logspace(-4, 0, 20) / prior.lr, prior, h, r, weight, tolerance,
                                           share)
            if best is not None:
                return best
        return _fit_kind("plain", h, r, weight, tolerance, {"decay": np.logspace(-4, 0, 14) * 2 / h.max()})
    best = None if prior is None else _near(prior, h, r, weight, tolerance)
    for kind in KINDS if best is None else ():
        best = best or _fit_kind(kind, h, r, weight, tolerance, KINDS[kind])
    return None if best is None else canonical(best)


def canonical(fit):
    """The catalogue's reading among equal ones: decay runs downwards, the proximal term stays out of the momentum."""
    e = fit.extra
    if len(e) == 1 and abs(next(iter(e.values())) - (fit.kind == "decay")) < 1e-9:
        return replace(fit, kind="plain", extra={})
    if fit.kind == "decay" and e["gamma"] > 1:
        lr = fit.lr * e["gamma"] ** (fit.steps - 1)
        return replace(fit, lr=lr, mass=fit.mass * fit.lr / lr, extra={"gamma": 1 / e["gamma"]})
    if fit.kind == "proximal inside the momentum":
        gap = e["rho"] - e["alpha"]         # rho (1 - alpha) and alpha (1 - rho) are what shows
        root = (1 - gap) ** 2 - 4 * e["alpha"]
        if root >= 0:
            alpha = ((1 - gap) - root**0.5) / 2
            return replace(fit, kind="momentum and proximal", extra={"rho": alpha + gap, "alpha": alpha})
    return fit


def mass(kind, steps, lr, extra, decay=0.0):
    """|a_i|_1 = q'(0)/lr, by a complex step."""
    return float(np.imag(response(kind, steps, np.array([1e-30j]), lr, extra, decay))[0] / 1e-30 / lr)


def fit_of(kind, steps, lr, extra, h, r, weight, share=None, decay=0.0):
    """The `Fit` with everything given but the aggregation weight (fitted unless given too)."""
    q = response(kind, steps, h, lr, extra, decay)
    s = (weight * weight * q * r).sum() / (weight * weight * q * q).sum() if share is None else share
    return Fit(kind, steps, float(lr), float(s), {k: float(v) for k, v in extra.items()},
               float(np.abs(weight * (r - s * q)).max()), mass(kind, steps, lr, extra))


def _near(prior, h, r, weight, tolerance, numbers=True):
    """A fit that differs from the prior in one respect, or in one and in the aggregation weight, the nearest ones first."""
    with np.errstate(all="ignore"):
        kinds = FAMILY.get(prior.kind, (prior.kind,))
        for share in (prior.share, None):
            for kind in kinds:
                for steps in sorted(range(1, MOST_STEPS + 1), key=lambda k: abs(k - prior.steps)):
                    candidate = fit_of(kind, steps, prior.lr, prior.extra, h, r, weight, share)
                    if candidate.residual <= tolerance and candidate.share > 0:
                        return candidate
        candidate = fit_of(prior.kind, prior.steps, prior.lr, prior.extra, h, r, weight)   # its sign may be wrong
        if candidate.residual <= tolerance:
            return candidate
        if not numbers:
            return None
        coarse = prior.kind == "decay" and tolerance > 1e-6     # a factor of 1 +- 1e-7, which `canonical` does not take for 1
        options = [("plain", None, (0,))] if coarse or prior.kind in ("proximal", "momentum") else []
        options += [(kind, "lr", prior.lr * 2.0 ** np.arange(-8, 8, 0.25)) for kind in kinds]
        options += [(kind, name, start) for kind in kinds for name, start in KINDS.get(kind, {}).items()]
        if not prior.extra:
            options += [(kind, name, start) for kind, new in KINDS.items() if len(new) == 1 for name, start in new.items()]
        for share in (prior.share, None):
            for kind, name, start in options:
                unknown = (share is None) + (name is not None)   # which the steps' coefficients must outnumber
                if share is not None or prior.steps > unknown:
                    candidate = _one_number(kind, name, start, prior, h, r, weight, tolerance, share)
                    if candidate is not None:
                        return candidate
    return None


def _one_number(kind, name, starts, prior, h, r, weight, tolerance, share):
    """Prior steps and numbers, except one: fitted from every start by Gauss-Newton. share None: fitted too."""
    def numbers(v):
        extra = {} if name is None else prior.extra | ({} if name == "lr" else {name: v})
        decay = extra.pop("decay", 0.0)
        return (v if name == "lr" else prior.lr), extra, decay

    def weighted(v):
        """The weighted responses at a number, and the share with which they come nearest to those measured."""
        q = weight * response(kind, prior.steps, h, *numbers(v))
        return q, (q * weight * r).sum() / (q * q).sum() if share is None else share

    def miss(v):
        q, s = weighted(v)
        return weight * r - s * q

    for v in sorted(starts, key=lambda v: np.nan_to_num(np.abs(miss(v)).max(), nan=np.inf))[:3]:
        v = v if name is None else _least(miss, v)
        residual = float(np.abs(miss(v)).max())
        if residual <= tolerance and name == "decay":
            return replace(prior, kind=kind, share=float(weighted(v)[1]), extra=prior.extra | {name: float(v)}, residual=residual)
        if residual <= tolerance:
            lr, extra, _ = numbers(v)
            return fit_of(kind, prior.steps, lr, extra, h, r, weight, share)
    return None


def _least(miss, v):
    """The number at which miss, an array, is least in squares, from a start v: Gauss-Newton with complex-step derivatives."""
    for _ in range(40):
        e, slope = miss(v), np.imag(miss(v + 1e-30j)) / 1e-30
        step = -(e * slope).sum() / (slope * slope).sum()
        if not np.isfinite(step):
            break
        for _ in range(8):
            if (miss(v + step) ** 2).sum() < (e**2).sum():
                break
            step /= 4
        v = v + step
        if abs(step) <= 1e-15 * max(abs(v), 1e-3):
            break
    return v


def _split(names, values):
    extra = dict(zip(names, values, strict=True))   # a weight decay is no number of the local step
    return extra, extra.pop("decay", 0.0)


def _fit_kind(kind, h, r, weight, tolerance, starts):
    if kind == "plain" and not starts:
        slope = (weight * weight * h * r).sum() / (weight * weight * h * h).sum()
        residual = np.abs(weight * (r - slope * h)).max()
        if residual <= tolerance:   # one step: only the product of weight and step size shows
            return Fit("plain", 1, 1.0, float(slope), {}, float(residual), 1.0, True)
    names = list(starts)
    lr = np.logspace(-2.3, 1.1, 100) / h.max()
    grid = np.array(list(itertools.product(lr, *starts.values())))
    columns = [grid[:, k, None] for k in range(grid.shape[1])]
    extra, decay = _split(names, columns[1:])
    top = MOST_STEPS if len(names) < 2 else 24
    base = path(kind, 0 * h, columns[0], extra, decay) if "decay" in names else None
    best = []
    small = h <= np.quantile(h, 0.7)     # the steep end is left to the refinement
    with np.errstate(all="ignore"):
        for k, q in zip(range(1, top + 1), path(kind, h, columns[0], extra, decay), strict=False):
            q = q if base is None else q - next(base)
            wq, wr = (weight * q)[:, small], (weight * r)[small]
            s = (wq * wr).sum(1) / (wq * wq).sum(1)
            miss = ((wr - s[:, None] * wq) ** 2).sum(1)
            if k == 1 and kind != "decay" and "decay" not in names:
                continue             # one step shows no more than a slope
            for at in np.argsort(np.where(np.isfinite(miss), miss, np.inf))[:2]:
                best.append((miss[at], k, grid[at]))
    best.sort(key=lambda v: v[0] if np.isfinite(v[0]) else np.inf)
    for _, k, start in best[:24 if len(names) < 2 else 30]:
        candidate = _refine(kind, names, k, start, h, r, weight, small, tolerance)
        if candidate is not None:
            return candidate
    return None


def _refine(kind, names, steps, start, h, r, weight, small, tolerance):
    """Gauss-Newton with complex-step derivatives, first on the flat part of the responses, then on all."""
    theta = np.array(start, dtype=float)
    scale = np.maximum(np.abs(theta), 1e-3)

    def model(t, part):
        extra, decay = _split(names, t[1:])
        return response(kind, steps, h[part], t[0], extra, decay)

    def miss(t, part):
        q = model(t, part)
        wq, wr = weight[part] * q, weight[part] * r[part]
        s = (wq * wr).sum() / (wq * wq).sum()
        return wr - s * wq, s

    with np.errstate(all="ignore"):
        for part, rounds in ((small, 12), (np.ones_like(small), 30)):
            e, s = miss(theta, part)
            damp = 1e-3
            for _ in range(rounds):
                J = np.stack([np.imag(miss(theta + 1e-30j * unit, part)[0]) / 1e-30 for unit in np.diag(scale)], axis=1)
                if not np.isfinite(J).all() or not np.isfinite(e).all():
                    return None
                A = J.T @ J
                for _ in range(6):
                    step = np.linalg.lstsq(A + damp * np.diag(np.diag(A) + 1e-30), -J.T @ e, rcond=None)[0]
                    new = theta + scale * step
                    e_new, s_new = miss(new, part)
                    if np.isfinite(e_new).all() and (e_new**2).sum() < (e**2).sum():
                        gain = 1 - (e_new**2).sum() / max((e**2).sum(), 1e-300)
                        theta, e, s, damp = new, e_new, s_new, damp / 10
                        break
                    damp *= 10
                else:
                    break
                if gain < 1e-6:
                    break
            if np.abs(e).max() > 0.2:
                return None
    if not np.abs(e).max() <= tolerance or theta[0] <= 0:
        return None
    extra, decay = _split(names, theta[1:].tolist())
    return Fit(kind, steps, float(theta[0]), float(s), extra | ({"decay": decay} if "decay" in names else {}),
               float(np.abs(e).max()), mass(kind, steps, theta[0], extra, decay))


def recover(box, problems, height, tolerance, priors=None):
    """Fits (list of `Fit` or None) of every client of a black box, and the idle response (d,).

    height: a curvature at which the joint round moves by an appreciable part. priors: expected fits per client.
    """
    d = problems.d
    ones = np.ones(d)
    idle = ones - box.first(problems.single(0, np.zeros(d)), ones)
    moves = bool(np.abs(idle).max() > max(tolerance, 1e-6))   # less is single precision

    def responses(i, hs):
        out = []
        for at in range(0, len(hs), d):
            part = np.array(hs[at:at + d])
            padded = np.concatenate([part, np.full(d - len(part), part[0])])
            out += (ones - box.first(problems.single(i, padded), ones) - idle)[:len(part)].tolist()
        return np.array(out)

    fits, longest = [None] * problems.n, None
    order = range(problems.n) if priors is None else sorted(range(problems.n), key=lambda i: -priors[i].steps)
    for i in order:              # many local steps first: they show most
        top, size = _steepest(lambda h, i=i: float(np.abs(responses(i, [h])).max()), height * 2.0 ** np.arange(-2, 12), 4)
        if top is None or size <= 1e-7 * max(1, tolerance / 1e-9):
            continue
        h = top * np.concatenate([np.linspace(0.03, 0.3, 7), np.linspace(0.36, 1, 9)])
        prior, r = longest if priors is None else priors[i], responses(i, h)
        if longest is not None and priors is not None and longest.kind in SOLVERS:
            fits[i] = _likewise(longest, prior, h, r, tolerance, moves)
        fits[i] = fits[i] or fit(h, r, tolerance, prior, moves)
        if fits[i] is not None and not fits[i].product and (longest is None or priors is None):
            longest = fits[i]
    example = next((f for f in fits if f is not None and not f.product), None)
    if example is not None:     # the step size that other clients show
        fits = [replace(f, share=f.share / example.lr, lr=example.lr, product=False) if f and f.product else f for f in fits]
    return fits, idle


def _likewise(other, prior, h, r, tolerance, moves):
    """The prior's steps with the numbers that another client shows, which few steps alone would not tell; or None."""
    decay, weight = other.extra.get("decay", 0.0), 1 / (0.02 * np.abs(r).max() / 30 + np.abs(r) + 1e-300)
    if moves and not decay:
        return None
    extra = {k: v for k, v in other.extra.items() if k != "decay"}
    for share in (prior.share, None):
        with np.errstate(all="ignore"):
            candidate = fit_of(other.kind, prior.steps, other.lr, extra, h, r, weight, share, decay)
        if candidate.residual <= tolerance:
            return replace(candidate, extra=other.extra)
    return None


def _steepest(size, ladder, start):
    """(h, size(h)) of the largest curvature of a ladder with size(h) <= 20, or (None, 0.0); sizes grow with the curvature.

    One at a time, from that at `start`: further up numbers may overflow.
    """
    best = None, 0.0
    for h in ladder[start:]:
        value = size(h)
        if value > 20:
            break
        if value > 1e-6 * best[1]:  # an even number of steps with lr h = 2 comes back to where it began
            best = h, value
    if best[1] <= 1e-6:
        lower = [best] + [(h, value) for h in ladder[:start][::-1] if (value := size(h)) <= 20]
        best = next(v for v in lower if v[1] >= 1e-6 * max(size for _, size in lower))
    return best


def expected(reference, problems, kind, lr, extra):
    """Fits of a reference algorithm whose local work is known: only the aggregation weights are measured."""
    out, h = [], np.array([0.1, 0.4, 0.9]) / lr
    for i in range(problems.n):
        steps = int(reference.steps[i])
        r = np.array([1 - reference.first(problems.single(i, np.full(problems.d, v)), np.ones(problems.d))[0] for v in h])
        numbers = {k: np.broadcast_to(v, problems.n)[i] for k, v in extra.items()}  # a decay may be one per client
        out.append(fit_of(kind, steps, lr, numbers, h, r, 1 / (np.abs(r) + 1e-300)))
    return out
