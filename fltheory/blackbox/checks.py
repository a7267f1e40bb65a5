"""What a map must be before it can be compared: repeatable, without memory, affine."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.blackbox import bent_rounds
from fltheory.blackbox.box import EPS, seeded


@dataclass
class Checked:
    """status: "fine", "random", "memory", "clipped" or "nonlinear". residuals: {scale: departure from affinity}."""

    status: str
    reason: str = ""
    residuals: dict | None = None
    tolerance: float = 1e-9


def find_height(box, problems, repeats=1, first=None):
    """A curvature at which one round moves the model by about half its distance, whatever the step size.

    repeats: rounds of which the largest move counts, where the code draws its own cohorts. first: the model after a
    round on an instance from a start, where that is not `box.first`.
    """
    height, ones, before, usual, first, factor = 1.0, np.ones(problems.d), None, box.scale, first or box.first, 1.0
    box.scale = 1e-3   # below most clipping thresholds
    for _ in range(12):
        moved = max(float(np.abs(ones - first(problems.generic(height, 0.0), ones)).max()) for _ in range(repeats))
        far = 0.1 if max(factor, 1 / factor) > 10 else 0.01
        if before is not None and abs(moved - before) <= far * moved:   # not a matter of curvature
            height = 1.0
            break
        if moved == 0 or 0.2 <= moved <= 0.9:
            break
        factor = float(np.clip(0.5 / moved, 1e-3, 1e3))
        height, before = height * factor, moved
    box.scale = usual
    return height


def check(box, problems, height, tolerance, reference=None):
    """Determinism under fixed seeds, memory between calls, affinity at scales 1/1000, 1 and above."""
    rng = np.random.default_rng([problems.seed, 7])
    u, v = rng.uniform(-1, 1, (2, problems.d))
    instance = problems.generic(height)

    def repeat(seed):
        with seeded(seed):
            return box.first(instance, u)
    first, again, other = repeat(1), repeat(1), repeat(2)
    box.first(problems.generic(2 * height), v)
    later = repeat(1)
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
    a, b, usual = 0.75, -1.5, box.scale

    def corners(scale):
        """The model after a round (`depth` of them) from u, and the departure from affinity, with everything at this scale."""
        inst, box.scale = problems.generic(height, scale), scale
        f0, fu, fv, fw = (box.run(inst, p, (None,) * box.depth)[-1] for p in (0 * u, u, v, a * u + b * v))
        box.scale = usual
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
        return Checked("nonlinear", bending(box, problems, height, residuals, reference), residuals, allowed)
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


def bending(box, problems, height, residuals, reference=None):
    """A sentence on what bends the round, else on how the change of the model grows with the gradient."""
    bend = bent_rounds.kind(box, problems, height, reference)
    if bend is not None:
        return bend[0]
    ones, sizes, usual = np.ones(problems.d), [], box.scale
    for scale in (1e-2, 1.0, 1e2):
        box.scale = scale
        moved = ones - box.first(problems.single(0, np.full(problems.d, height)), ones)
        sizes.append(float(np.linalg.norm(moved)) * scale)
    box.scale = usual
    _, one, large = sizes   # the smallest steps may overshoot, and so come out smaller than they are
    numbers = "changes of " + ", ".join(f"{v:.3g}" for v in sizes) + " for gradients 1 : 100 : 10000"
    if 0 < large < 3 * one:
        return f"the step hardly depends on the size of the gradient: normalised, signed or adaptive steps ({numbers})"
    far = max(residuals)
    if residuals[far] < 1e-2 * residuals[1.0] and far > 1:
        return f"the departure from an affine map does not grow with the distance: a term of constant size ({numbers})"
    return f"the round is not affine in the model on quadratics at any scale ({numbers})"
