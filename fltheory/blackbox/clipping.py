"""Clipped gradients and updates: the rule and the threshold, read off beyond saturation and checked in between."""
from __future__ import annotations

import numpy as np

from fltheory.blackbox import bent_rounds
from fltheory.core.numbers.text import number

RULES = {("gradient", "norm"): "every gradient is clipped to norm {}",
         ("update", "norm"): "a client's update is clipped to norm {}",
         ("gradient", "coordinates"): "each coordinate of every gradient is clipped to {}",
         ("update", "coordinates"): "each coordinate of a client's update is clipped to {}"}


def size(v, kind="norm"):
    """What a threshold of a kind bounds."""
    return float(np.abs(v).max() if kind == "coordinates" else np.linalg.norm(v))


def clip(v, kind, C):
    return np.clip(v, -C, C) if kind == "coordinates" else v * min(1.0, C / max(np.linalg.norm(v), 1e-300))


def change_of(fit, curvatures, at, what, kind, C):
    """How far one client whose work is clipped moves the model from (at, .., at)."""
    y = at * np.ones(len(curvatures))
    for _ in range(fit.steps):
        g = curvatures * y
        y = y - fit.lr * (clip(g, kind, C) if what == "gradient" else g)
    return fit.share * (clip(at - y, kind, C) if what == "update" else at - y)


def saturated(moved):
    """moved(scale) once it no longer depends on the scale: at the least such scale, which keeps most digits."""
    far, scale, unequal = moved(1e-6), 1e-6, np.inf
    while scale < 1e9:
        before, far, scale = far, moved(4 * scale), 4 * scale
        last, unequal = unequal, float(np.abs(far - before).max() / max(np.abs(before).max(), 1e-300))
        if last < 1e-2 and (unequal >= last or last < 1e-12):
            return before
    return far


def clipping(box, problems, height, fit, reference=None):
    """(sentence, residual) on the clipping rule and threshold of code whose local work below it is `fit`."""
    if fit is None or fit.kind != "plain":
        return "gradients or updates are clipped: the round is affine near the optimum and saturates far from it", 1.0
    d, curvatures = problems.d, height * np.linspace(1, 0.5, problems.d)

    def moves(curvatures):
        instance = problems.single(0, curvatures)

        def moved(scale):
            usual, box.scale = box.scale, scale
            out = scale * (np.ones(d) - box.first(instance, np.ones(d)))
            box.scale = usual
            return out
        return moved

    far, options = saturated(moves(np.full(d, height))), []
    for (what, kind), name in RULES.items():
        C = size(far, kind) / (fit.share * (fit.lr * fit.steps if what == "gradient" else 1))
        options.append((C, what, kind, name.format(number(C if box.precision < 1e-10 else float(f"{C:.3g}")))))
    # each pair of rules differs at some of these points: where gradients or updates reach their thresholds
    reach = fit.share * size(1 - (1 - fit.lr * curvatures) ** fit.steps)
    points = [options[0][0] / size(curvatures) * k for k in (0.8, 1.05, 1.2, 1.5, 2.5)]
    points += [options[1][0] * fit.share / reach * k for k in (0.8, 1.0, 1.05, 1.3, 2.0)]
    between = moves(curvatures)
    pairs = [(at, between(at)) for at in points]
    ranked = sorted(((max(size(change_of(fit, curvatures, at, what, kind, C) - v) / max(size(v), 1e-300) for at, v in pairs), text)
                     for C, what, kind, text in options), key=lambda pair: pair[0])
    best, text = ranked[0]
    if best > 1e-2:
        other = bent_rounds.kind(box, problems, height, reference)
        if other is not None:
            return other
        return "gradients or updates are clipped, in a way unknown here: " + text + " comes nearest", best
    like = [text for value, text in ranked if value <= max(3 * best, 30 * box.precision)][:2 if d > 1 else 1]
    if len(like) > 1:
        return f"{' or '.join(like)}: the two cannot be told apart in this arithmetic", best
    return like[0], best
