"""What a map must be before it can be compared: repeatable, without memory, affine."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.blackbox.box import EPS, seeded
from fltheory.blackbox.result import number


@dataclass
class Checked:
    """status: "fine", "random", "memory", "clipped" or "nonlinear". residuals: {scale: departure from affinity}."""

    status: str
    reason: str = ""
    residuals: dict | None = None
    tolerance: float = 1e-9


def find_height(box, problems):
    """A curvature at which one round moves the model by about half its distance, whatever the step size."""
    height, ones, before, kept = 1.0, np.ones(problems.d), None, box.scale
    box.scale = 1e-3   # below most clipping thresholds
    for _ in range(12):
        moved = max(float(np.abs(ones - box.first(problems.generic(height, 0.0), ones)).max()) for _ in range(3))
        if before is not None and abs(moved - before) <= 0.01 * moved:   # not a matter of curvature
            height = 1.0
            break
        if moved == 0 or 0.2 <= moved <= 0.9:
            break
        height, before = height * float(np.clip(0.5 / moved, 1e-3, 1e3)), moved
    box.scale = kept
    return height


def check(box, problems, height, tolerance):
    """Determinism under fixed seeds, memory between calls, affinity at scales 1/1000, 1 and above."""
    rng = np.random.default_rng([problems.seed, 7])
    u, v = rng.uniform(-1, 1, (2, problems.d))
    instance = problems.generic(height)
    with seeded(1):
        first = box.first(instance, u)
    with seeded(1):
        again = box.first(instance, u)
    with seeded(2):
        other = box.first(instance, u)
    box.first(problems.generic(2 * height), v)
    with seeded(1):
        later = box.first(instance, u)
    precision = box.precision
    near = 200 * precision * max(1.0, float(np.abs(first).max()))
    gaps = [float(np.abs(first - w).max()) for w in (again, later, other)]
    if max(gaps[:2]) > near:
        how = "although reset() was called before each" if box.form == "reset" else "with the random seeds fixed"
        return Checked("memory", f"the same input gave outputs {max(gaps[:2]):.2g} apart, {how}: the code keeps memories "
                       "between calls or draws from a generator of its own. Give state= (the joint state) or reset= (a "
                       "function that forgets), or law= if the code draws its cohort itself.")
    if gaps[2] > near:
        return Checked("random", f"two calls with the same input differ by {gaps[2]:.2g} as the random seed changes. "
                       "Give law= to test the drawing of cohorts, or take the noise out.")
    coarse = max((EPS.get(t, 0) for t in box.dtypes), default=0)
    a, b, kept = 0.75, -1.5, box.scale

    def corners(scale):
        """The model after one round from u, and the departure from affinity, with everything at this scale."""
        inst, box.scale = problems.generic(height, scale), scale
        f0, fu, fv, fw = (box.first(inst, p) for p in (0 * u, u, v, a * u + b * v))
        box.scale = kept
        return fu, float(np.abs(fw - a * fu - b * fv - (1 - a - b) * f0).max())

    at_one, bent = corners(1.0)
    size = max(1.0, float(np.abs(at_one).max()))
    inside = max(precision, EPS["float32"] if 1e-11 < bent / size < 1e-5 else 0)   # float32 behind a float64 face
    allowed = tolerance or (1e-9 if inside < 1e-10 else 1e-4 if inside < 1e-6 else min(0.05, 40 * inside))
    for low in (1e-3, 1e-6):
        base, bent_low = corners(low)
        if bent_low <= allowed * size:
            break
    else:
        far = 30.0 if coarse > 1e-6 else 1e6
        residuals = {low: bent_low / size, 1.0: bent / size, far: corners(far)[1] / size}
        return Checked("nonlinear", bending(box, problems, height, residuals), residuals, allowed)
    residuals = {low: bent_low / size, 1.0: max(bent, float(np.abs(at_one - base).max())) / size}
    bends = [bent / size, bent_low / size]
    for scale in (30.0,) if coarse > 1e-6 else (1e3, 1e6):
        there, bent = corners(scale)
        residuals[scale] = max(bent, float(np.abs(there - base).max())) / size
        bends.append(bent / size)
    if max(residuals.values()) <= allowed:
        return Checked("fine", "", residuals, allowed)
    if max(bends) <= allowed:
        return Checked("fine", "", residuals, allowed)   # affine, with a constant that does not scale: a memory not at 0
    box.scale = 1e-6 if coarse < 1e-6 else low
    return Checked("clipped", "affine near the optimum, not far from it", residuals, allowed)


def bending(box, problems, height, residuals):
    """A sentence on how the change of the model grows with the gradient."""
    ones, sizes, kept = np.ones(problems.d), [], box.scale
    for scale in (1e-2, 1.0, 1e2):
        box.scale = scale
        moved = ones - box.first(problems.single(0, np.full(problems.d, height)), ones)
        sizes.append(float(np.linalg.norm(moved)) * scale)
    box.scale = kept
    small, one, large = sizes
    numbers = "changes of " + ", ".join(f"{v:.3g}" for v in sizes) + " for gradients 1 : 100 : 10000"
    if 0 < large < 3 * one and one < 3 * small:
        return f"the step hardly depends on the size of the gradient: normalised, signed or adaptive steps ({numbers})"
    far = max(residuals)
    if residuals[far] < 1e-2 * residuals[1.0] and far > 1:
        return ("the departure from an affine map does not grow with the distance: a term of constant size, such as a "
                f"proximal penalty |y - x| that is not squared ({numbers})")
    return f"the round is not affine in the model on quadratics at any scale ({numbers})"


def clipping(box, problems, height, fits):
    """(sentence, residual) on the clipping threshold: read off far from the optimum, checked where only part is clipped."""
    d, fit = problems.d, fits[0]
    if fit is None or fit.kind != "plain":
        return "gradients or updates are clipped: the round is affine near the optimum and saturates far from it", 1.0
    curvatures = height * np.linspace(1, 0.5, d)
    instances = {"far": problems.single(0, np.full(d, height)), "between": problems.single(0, curvatures)}

    def moved(which, scale):
        kept, box.scale = box.scale, scale
        out = scale * (np.ones(d) - box.first(instances[which], np.ones(d)))
        box.scale = kept
        return out

    far, scale, unequal = moved("far", 1e-6), 1e-6, np.inf
    while scale < 1e9:    # the least scale that saturates keeps most digits
        before, far, scale = far, moved("far", 4 * scale), 4 * scale
        last, unequal = unequal, float(np.abs(far - before).max() / max(np.abs(before).max(), 1e-300))
        if last < 1e-2 and (unequal >= last or last < 1e-12):
            far = before
            break

    def clip(v, kind, C):
        return np.clip(v, -C, C) if kind == "coordinates" else v * min(1.0, C / max(np.linalg.norm(v), 1e-300))

    def model(what, kind, C, at):
        y = at * np.ones(d)
        for _ in range(fit.steps):
            g = curvatures * y
            y = y - fit.lr * (clip(g, kind, C) if what == "gradient" else g)
        change = at - y
        return fit.share * (clip(change, kind, C) if what == "update" else change)

    def size(v, kind):
        return float(np.abs(v).max() if kind == "coordinates" else np.linalg.norm(v))

    names = {("gradient", "norm"): "every gradient is clipped to norm {}", ("update", "norm"): "a client's update is "
             "clipped to norm {}", ("gradient", "coordinates"): "each coordinate of every gradient is clipped to {}",
             ("update", "coordinates"): "each coordinate of a client's update is clipped to {}"}
    options = []
    for (what, kind), name in names.items():
        C = size(far, kind) / (fit.share * (fit.lr * fit.steps if what == "gradient" else 1))
        options.append((C, what, kind, name.format(number(C if box.precision < 1e-10 else float(f"{C:.3g}")))))
    # each pair of rules differs at some of these points: where gradients or updates reach their thresholds
    reach = fit.share * size(1 - (1 - fit.lr * curvatures) ** fit.steps, "norm")
    points = [options[0][0] / size(curvatures, "norm") * k for k in (0.8, 1.05, 1.2, 1.5, 2.5)]
    points += [options[1][0] * fit.share / reach * k for k in (0.8, 1.0, 1.05, 1.3, 2.0)]
    seen = [moved("between", at) for at in points]

    def miss(C, what, kind):
        return max(size(model(what, kind, C, at) - v, "norm") / max(size(v, "norm"), 1e-300)
                   for at, v in zip(points, seen, strict=True))

    ranked = sorted(((miss(*rest), text) for *rest, text in options), key=lambda pair: pair[0])
    best = ranked[0][0]
    if best > 1e-2:
        return "gradients or updates are clipped, in a way unknown here: " + ranked[0][1] + " comes nearest", best
    like = [text for value, text in ranked if value <= max(3 * best, 30 * box.precision)][:2 if d > 1 else 1]
    if len(like) > 1:
        return f"{' or '.join(like)}: the two cannot be told apart in this arithmetic", best
    return like[0], best
