"""One coded round from any state, over every outcome of its noise, in exact rationals; and the constants of Huber sums.

An instance holds an `ft.Personal` problem, an algorithm with personal steps, the state before the round as `x0` (w) and `theta0`
(one vector per client, default zeros), and `noise`, a `Noise` or 0. Gradient slots 0..K-1 are Step 1, K..2K-1 Step 2.
"""
import itertools
from dataclasses import dataclass
from fractions import Fraction as Q
from functools import lru_cache
from math import comb, isqrt

import numpy as np

import fltheory as ft
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort

MOST, FEW = 2**14, 6   # outcomes of one round; draws of which all outcomes are listed in any case


@dataclass(frozen=True)
class Noise:
    """Noise of one mini-batch: the vector (w, theta) times a draw of mean 0 and variance 1, fresh for every slot and client.

    w, theta: amplitudes, () for none; skew: a draw is `skew` with probability 1/(1 + skew^2), else -1/skew; common: all clients
    share the draw of a slot; slots: those with noise, None for all; where: noise that depends on the state, a function
    (w (..., 1 or n, d), theta (..., n, k)) -> factors of both blocks, broadcast to (..., n, 1); variance: sigma^2, default
    |w|^2 + |theta|^2 (smaller where the factors never let both blocks be loud at one state).
    """

    w: tuple = ()
    theta: tuple = ()
    skew: object = 1
    common: bool = False
    slots: tuple | None = None
    where: object = None
    variance: object = None

    @property
    def sigma2(self):
        total = sum(ft.fraction(v) ** 2 for v in (*self.w, *self.theta))
        return total if self.variance is None else ft.fraction(self.variance)

    def outcomes(self, slots, n, amplitude, sums=False):
        """(draws (m, slots, n), chances (m,)) of slots whose noise has this amplitude. sums: nothing but the sum of all draws
        matters, so that where these are many one outcome stands for each number of high ones."""
        loud = [k for k in slots if any(amplitude) and (self.slots is None or k in self.slots)]
        places = [(k, j) for k in loud for j in ([slice(None)] if self.common else range(n))]
        M, high = len(places), ft.fraction(self.skew)
        p = 1 / (1 + high * high)
        if sums and self.where is None and M > FEW:
            picks = [(True,) * j + (False,) * (M - j) for j in range(M + 1)]
            chances = [comb(M, j) * p**j * (1 - p) ** (M - j) for j in range(M + 1)]
        elif 2**M > MOST:
            refuse("noise", M, f"all outcomes of more than {MOST.bit_length() - 1} draws are too many", "Give fewer slots noise.")
        else:
            picks = list(itertools.product((True, False), repeat=M))
            chances = [p ** sum(v) * (1 - p) ** (M - sum(v)) for v in picks]
        draws = np.zeros((len(picks), len(slots), n), dtype=object)
        for row, pick in zip(draws, picks, strict=True):
            for (k, j), up in zip(places, pick, strict=True):
                row[k - slots[0], j] = high if up else -1 / high
        return draws, np.array(chances, dtype=object)


class Noisy:
    """The problem as a round sees it: samples are draws (..., n, 1), turned into noise at the point asked for; notes everything."""

    def __init__(self, problem, noise):
        self.problem, self.noise = problem, noise
        self.n, self.p, self.d, self.personal = problem.n, problem.p, problem.d, problem.personal
        self.points, self.exact, self.given = [], [], []

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _amplitudes(self, w, theta):
        parts = [np.array(list(v) if len(v) else [0] * size, dtype=object)
                 for v, size in ((self.noise.w, self.d), (self.noise.theta, self.personal))]
        parts = [ft.RATIONAL.array(v) for v in parts]
        if self.noise.where is None:
            return parts
        return [f * v for f, v in zip(self.noise.where(w, theta), parts, strict=True)]

    def _gradient_pair(self, who, w, theta, sample):
        exact = given = self.problem.at(who).grad_pair(w, theta, None)
        if sample is not None:
            given = tuple(g + a * sample for g, a in zip(exact, self._amplitudes(w, theta), strict=True))
        self.points.append((w, theta))
        self.exact.append(exact)
        self.given.append(given)
        return given


@dataclass(frozen=True)
class Round:
    """One coded round. Arrays have axes (outcomes of Step 1, outcomes of Step 2, ...), either of which may be 1; entries are
    Fractions. chances: of both; w (1, 1, d), theta (1, 1, n, k) before; w1, theta1 after; points, exact, given: one pair (w, theta)
    per gradient slot, as asked, as it is, as it was given."""

    problem: object
    chances: tuple
    w: np.ndarray
    theta: np.ndarray
    w1: np.ndarray
    theta1: np.ndarray
    state: object
    points: list
    exact: list
    given: list

    def given_step1(self, v):
        """E[v | history before Step 2]: (outcomes of Step 1, outcomes of Step 2, ...) -> (outcomes of Step 1, ...)."""
        v = np.asarray(v, dtype=object)
        v = np.broadcast_to(v, (len(self.chances[0]), len(self.chances[1]), *v.shape[2:]))
        return (self.chances[1].reshape(1, -1, *(1,) * (v.ndim - 2)) * v).sum(1)

    def mean(self, v):
        """E[v | history before the round]."""
        v = self.given_step1(v)
        return (self.chances[0].reshape(-1, *(1,) * (v.ndim - 1)) * v).sum(0)

    def F(self, w, theta):
        """The objective (..., )."""
        lead = np.broadcast_shapes(w.shape[:-1], theta.shape[:-2])
        w, theta = np.broadcast_to(w, (*lead, w.shape[-1])), np.broadcast_to(theta, (*lead, *theta.shape[-2:]))
        return _fractions(self.problem.joint_value(_rational(w), _rational(theta)))

    def gradients(self, w, theta):
        """(grad_w L_i (..., n, d), grad_theta L_i (..., n, k))."""
        return tuple(_fractions(g) for g in self.problem.at(EVERYONE).grad_pair(_rational(w)[..., None, :], _rational(theta), None))

    def p(self):
        return _fractions(self.problem.p)

    def shared(self, w, theta):
        """grad_w F = (1/N) sum_i grad_w L_i(w, theta_i), (..., d)."""
        return (self.p()[:, None] * self.gradients(w, theta)[0]).sum(-2)

    def own2(self, w, theta):
        """(1/N) sum_i |grad_theta L_i(w, theta_i)|^2, (...)."""
        return (self.p() * square(self.gradients(w, theta)[1])).sum(-1)


def square(v):
    """|v|^2 over the last axis."""
    return (v * v).sum(-1)


def _rational(v):
    return ft.RATIONAL.array(np.asarray(v, dtype=object))


def _fractions(v):
    return ft.linalg.to_fractions(v)


def noise_of(i):
    return i.noise if isinstance(i.noise, Noise) else Noise()


def start(i):
    """(w (d,), theta (n, k)) before the round."""
    w = [0] * i.problem.d if i.x0 is None else list(i.x0)
    theta = i.extra.get("theta0")
    return w, [[0] * i.problem.personal] * i.problem.n if theta is None else [list(v) for v in theta]


@lru_cache(8)   # hypotheses and both sides of a claim look at the same round
def one_round(i) -> Round:
    """The instance's coded round from its state, over every outcome of its noise. Raises BadInput on too many outcomes."""
    problem, algorithm, noise = Noisy(i.problem.to(ft.RATIONAL), noise_of(i)), i.algorithm.to(ft.RATIONAL), noise_of(i)
    K, n = algorithm.steps, problem.n
    first, chance1 = noise.outcomes(range(K), n, noise.theta)
    second, chance2 = noise.outcomes(range(K, 2 * K), n, noise.w, isinstance(algorithm, ft.FedResSgd))   # one large batch
    if len(chance1) * len(chance2) > MOST:
        refuse("noise", (len(chance1), len(chance2)), f"more than {MOST} outcomes of one round", "Give fewer slots noise.")
    first, second = _rational(first)[:, None], _rational(second)[None]   # (m1, 1, K, n), (1, m2, K, n)
    w, theta = (_rational(v)[None, None] for v in start(i))
    begin = algorithm.init(problem, w)._replace(x=w, theta=theta)
    slots = [first[:, :, k, :, None] for k in range(K)] + [second[:, :, k, :, None] for k in range(K)]
    quiet = not (noise.w or noise.theta)
    draw = ft.everyone(n, K)._replace(xi=None if quiet else slots.__getitem__)
    after = algorithm.round(problem, begin, draw)
    parts = [[tuple(_fractions(v) for v in pair) for pair in pairs] for pairs in (problem.points, problem.exact, problem.given)]
    return Round(problem.problem, (chance1, chance2), *(_fractions(v) for v in (w, theta, after.x, after.theta)), after, *parts)


# ---- constants -------------------------------------------------------------------------------------------
def root_above(q, digits=12):
    """A rational root of q >= 0 where there is one, else one just above it."""
    q = ft.fraction(q)
    top, bottom = isqrt(q.numerator), isqrt(q.denominator)
    if top * top == q.numerator and bottom * bottom == q.denominator:
        return Q(top, bottom)
    scale = 10**digits
    return Q(isqrt(q.numerator * scale * scale // q.denominator) + 1, scale)


def block_constant2(H, shared):
    """The square of the smallest gamma of Assumption 1 for a Hessian H with `shared` first coordinates, from above: the larger
    squared spectral norm of its two block columns."""
    sizes = []
    for columns in (H[:, :shared], H[:, shared:]):
        gram = ft.linalg.matmul(columns.T, columns)
        sizes.append(gram[0, 0] if gram.shape == (1, 1) else ft.linalg.largest_eigenvalue_bound(gram))
    return max(ft.fraction(v) for v in sizes)


@lru_cache(512)
def gamma2(problem):
    """gamma^2 of `ft.Residual`, or of `ft.Personal` over quadratics or Huber sums (every set of rows in their quadratic zone)."""
    if isinstance(problem, ft.Residual):
        return max(block_constant2(ft.linalg.to_fractions(np.block([[A, B], [B.T, C]])), problem.d)
                   for A, B, C in zip(problem.A, problem.B, problem.C, strict=True))
    if hasattr(problem, "H"):
        return max(block_constant2(H, problem.d) for H in ft.linalg.to_fractions(problem.H))
    return max(block_constant2(sum(s * np.outer(u, u) for s, u, _ in chosen), problem.d)
               for rows in client_rows(problem) for size in range(1, len(rows) + 1)
               for chosen in itertools.combinations(rows, size))


@lru_cache(512)
def G2(problem):
    """G^2 of Huber sums: the largest |sum_j +-s_j delta_j u_j|^2; None for quadratics, whose gradients are unbounded."""
    if not hasattr(problem, "targets"):
        return None
    return max(square(sum(sign * s * delta * u for sign, (s, u, delta) in zip(signs, rows, strict=True)))
               for rows in client_rows(problem) for signs in itertools.product((1, -1), repeat=len(rows)))


def client_rows(huber):
    """Per client [(s_j, (u_j, v_j), delta_j)] of a Huber sum, as Fractions."""
    U, targets, scale = (_fractions(v) for v in (huber.rows, huber.targets, huber.scale))
    return [[(scale[j][m], U[j][m], targets[j][m][1]) for m in range(size)] for j, size in enumerate(huber.sizes)]


def signed(huber, scales):
    """The Huber sum with these scales instead, one list per client, of any sign: smooth, and not convex where one is negative."""
    for j, own in enumerate(scales):
        huber.scale[j, :len(own)] = [ft.fraction(v) for v in own]
    return huber


def loudest(i):
    """The largest variance of one mini-batch, both blocks, at the points of the instance's coded round."""
    noise = noise_of(i)
    if not (noise.w or noise.theta):
        return Q(0)
    found = []
    for w, theta in one_round(i).points:
        problem = i.problem.to(ft.RATIONAL)
        parts = Noisy(problem, noise)._amplitudes(_rational(w), _rational(theta))
        found.append(np.max(sum(square(_fractions(v)) for v in parts)))
    return max(found)


def gamma(i):
    """gamma of an instance, a rational at least as large as the smallest one."""
    return root_above(gamma2(i.stated.problem))


def sigma2(i):
    """sigma^2 of Assumption 3: one mini-batch, both blocks."""
    return noise_of(i.stated).sigma2 if isinstance(i.stated.noise, Noise) else ft.fraction(0)
