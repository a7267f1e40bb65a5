"""The operator is the round, run on the basis: no algorithm may define its own.

One batched call at [0, e_1, ..., e_D] gives c and every column of M, in whatever arithmetic was passed in;
unit noise vectors give the response G to gradient noise.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import NotAffine, refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.numbers.arrays import concat
from fltheory.core.numbers.scalars import FLOAT, Domain

CHUNK = 2_000_000  # entries of one batched probe
LARGEST = 1e290    # of a round's constant in floats


@dataclass(frozen=True)
class Layout:
    """How a state flattens into a vector of length `size`: leaf names and trailing shapes."""

    kind: type
    shapes: tuple

    @classmethod
    def of(cls, state) -> Layout:
        return cls(type(state), tuple(tuple(leaf.shape) for leaf in state))

    @property
    def size(self) -> int:
        return sum(math.prod(s) for s in self.shapes)

    def flatten(self, state):
        """State leaves (lead..., *shape) -> (lead..., size), leading axes broadcast against each other."""
        leads = [tuple(leaf.shape[:leaf.ndim - len(s)]) for leaf, s in zip(state, self.shapes, strict=True)]
        lead = np.broadcast_shapes(*leads)
        return concat([np.broadcast_to(leaf, lead + s).reshape(lead + (-1,)) if isinstance(leaf, np.ndarray)
                       else leaf.expand(lead + s).reshape(lead + (-1,))
                       for leaf, s in zip(state, self.shapes, strict=True)])

    def unflatten(self, z):
        """(lead..., size) -> state."""
        parts, at = [], 0
        for s in self.shapes:
            k = math.prod(s)
            parts.append(z[..., at:at + k].reshape(tuple(z.shape[:-1]) + s))
            at += k
        return self.kind(*parts)

    def owners(self, n):
        """Whose each coordinate is (size,): the client's number in leaves with an axis of n clients, -1 for the server's."""
        return np.concatenate([np.repeat(np.arange(n), math.prod(shape) // n) if len(shape) > 1 and shape[0] == n
                               else np.full(math.prod(shape), -1) for shape in self.shapes])

    def names(self):
        """One readable name per coordinate: x[0], c_i[2][1], ..."""
        out = []
        for field, s in zip(self.kind._fields, self.shapes, strict=True):
            out += [field + "".join(f"[{k}]" for k in index) for index in np.ndindex(*s)]
        return out


def basis(domain: Domain, size: int):
    """[0, e_1, ..., e_size] (size+1, size) in an arithmetic."""
    return domain.array(np.concatenate([np.zeros((1, size), dtype=np.int64), np.eye(size, dtype=np.int64)]))


def layout(algorithm: Algorithm, problem: Problem) -> Layout:
    """The state layout of an algorithm on a problem (both already in one arithmetic)."""
    zero = problem.domain.array(np.zeros(problem.d, dtype=np.int64))
    return Layout.of(algorithm.init(problem, zero))


def probe_init(algorithm: Algorithm, problem: Problem, lay: Layout):
    """init as an affine map of x0: (J (D, d), z0 (D,))."""
    def run(x):
        return lay.flatten(algorithm.init(problem, x))
    z, unit = _probed(run, problem.domain, problem.d)
    return _per(unit, (z[1:] - z[0]).T), z[0]


def _probed(run, domain, size):
    """(run([0, unit e_1, ..., unit e_size]), unit): the affine map of `run` at a basis, in the unit of its constant.

    In floats a constant of 10^9 would leave a column of 1, the difference of two such numbers, seven digits; a power of
    two as its unit leaves all. The unit is 1 elsewhere, and smaller where columns in it leave the range of floats.
    """
    out = run(basis(domain, size))
    unit = _unit(domain, out[..., 0, :])
    while unit != 1:
        out = run(unit * basis(domain, size))
        if np.isfinite(out).all():
            return out, unit
        unit = 2.0 ** (math.log2(unit) // 2) if unit > 2 else 1
    return out, 1


def _unit(domain, constant):
    """A power of two >= the entries of a constant, 1 if they are small, exact, or no numbers (which is refused later)."""
    largest = np.abs(constant).max(initial=0.0) if domain is FLOAT else 0.0
    if LARGEST < largest < math.inf:
        refuse("problem", f"entries up to {largest:.2g} after a round", f"floats beyond {LARGEST:.0e} leave no room for a unit",
               "Rescale the problem, or work exactly (domain=ft.RATIONAL).")
    return 2.0 ** math.ceil(math.log2(largest)) if 4 < largest <= LARGEST else 1


def _per(unit, response):
    return response if unit == 1 else response / unit


def probe_model(algorithm: Algorithm, problem: Problem, lay: Layout):
    """The server model as an affine map of the state: (E (d, D), e (d,))."""
    out = algorithm.model(lay.unflatten(basis(problem.domain, lay.size)))
    return (out[1:] - out[0]).T, out[0]


def slots_used(algorithm: Algorithm, problem: Problem, lay: Layout, draw: Draw) -> int:
    """How many gradient samples one round asks for, discovered by a dry run."""
    counter = Slots()
    algorithm.round(problem, lay.unflatten(basis(problem.domain, lay.size)[:1]), draw._replace(xi=counter))
    return counter.count


def probe_round(algorithm: Algorithm, problem: Problem, lay: Layout, draw: Draw, noise=False, plain=False):
    """[M | c | G] (D, D+1+k) of one round at one draw; k noise coordinates (slots x places x d) if `noise`.

    A stack of participation masks (s, m) in the draw gives (s, D, D+1+k). plain: run `round` even where the law
    would skip it.
    """
    masks = draw.present
    if masks.ndim == 2:
        per = max(1, CHUNK // ((lay.size + 1) * math.prod(lay.shapes[-1]) * 4))
        if len(masks) > per:
            return joined([probe_round(algorithm, problem, lay, _slice(draw, k, k + per), noise, plain)
                           for k in range(0, len(masks), per)])
    step = algorithm.round if plain else None
    batched = draw
    if masks.ndim == 2:
        batched = draw.map(lambda a: a[:, None] if a.ndim and a.shape[0] == len(masks) and a is not draw.who else a)

    def run(z, xi=None):
        state = lay.unflatten(z)
        d = batched._replace(xi=xi)
        return lay.flatten(step(problem, state, d) if step else advance(algorithm, problem, state, d))

    out, scale = _probed(run, problem.domain, lay.size)
    pieces = [_per(scale, np.swapaxes(out[..., 1:, :] - out[..., :1, :], -1, -2)), out[..., 0, :, None]]
    if noise:
        places = masks.shape[-1]
        shape = (slots_used(algorithm, problem, lay, draw), places, problem.drawn)
        unit = basis(problem.domain, math.prod(shape))[1:].reshape((-1,) + shape)
        unit = unit if scale == 1 else scale * unit
        zero = problem.domain.array(np.zeros((1, lay.size), dtype=np.int64))
        response = run(zero, lambda k: unit[:, k])
        pieces.append(_per(scale, np.swapaxes(response - out[..., :1, :], -1, -2)))
    lead = np.broadcast_shapes(*[p.shape[:-2] for p in pieces])
    return np.concatenate([np.broadcast_to(p, lead + p.shape[-2:]) for p in pieces], axis=-1)


def joined(parts):
    """Stacks of extended maps (k, D, W) joined; those with fewer gradient slots get zero columns of noise."""
    width = max(p.shape[-1] for p in parts)
    return np.concatenate([np.concatenate([p, *[0 * p[..., :1]] * (width - p.shape[-1])], axis=-1) for p in parts])


def probe_offsets(algorithm: Algorithm, problem: Problem, lay: Layout, draw: Draw):
    """(D, n d): response of one round to a constant added to every gradient of one client (a change of linear term)."""
    zero = problem.domain.array(np.zeros((1, lay.size), dtype=np.int64))
    unit = basis(problem.domain, problem.n * problem.d)[1:].reshape(-1, problem.n, problem.d)
    unit = unit if isinstance(draw.who, slice) else unit[:, draw.who]

    def run(xi):
        return lay.flatten(algorithm.round(problem, lay.unflatten(zero), draw._replace(xi=xi)))
    return (run(lambda k: unit) - run(None)).T


def _slice(draw: Draw, a, b):
    size = len(draw.present)
    return draw.map(lambda v: v[a:b] if v.ndim and v.shape[0] == size else v)


def check_affine(algorithm: Algorithm, problem: Problem, lay: Layout, draw: Draw):
    """Raise NotAffine unless round(u + v) + round(0) = round(u) + round(v) at fixed test points."""
    advice = ("Probing needs quadratic problems and no step that depends on distances or norms; "
              "use ft.linearise for the local rate at a fixed point.")
    if not algorithm.affine:
        raise NotAffine(f"{type(algorithm).__name__}: the algorithm declares its round as not affine. {advice}")
    domain = problem.domain
    D = lay.size
    u = domain.array(np.array([(7 * k * k + 3 * k) % 11 - 5 for k in range(D)]))
    v = domain.array(np.array([(5 * k * k + k) % 13 - 6 for k in range(D)]))
    points = np.stack([0 * u, u, v, u + v])
    out = lay.flatten(algorithm.round(problem, lay.unflatten(points), draw._replace(xi=None)))
    gap = out[3] + out[0] - out[1] - out[2]
    if domain is FLOAT:
        residual = float(np.abs(gap).max())
        if not np.isfinite(out).all():
            residual = 0.0  # an overflow, refused where the maps are built
        bad = not residual <= 1e-9 * max(1.0, float(np.abs(out).max()))
    else:
        bad, residual = any(not (g == 0) for g in gap) and domain.exact, gap
    if bad:
        raise NotAffine(f"{type(algorithm).__name__}: the round is not affine in the state (residual {residual}). "
                        f"{advice}")
