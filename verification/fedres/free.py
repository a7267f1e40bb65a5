"""Quadratic clients whose coded round starts where a claim says: at free symbols, at an optimum, at a fixed point."""
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

import fltheory as ft
from fltheory.core.numbers.scalars import is_rational
from fltheory.core.problems.base import Problem, check_weights
from verification.symbols import Symbols


def read(values):
    """Exact numbers of the engine as Fractions, which the formulas speak; symbols stay."""
    values = np.asarray(values, dtype=object)
    return array([ft.fraction(v) if is_rational(v) else v for v in values.reshape(-1)]).reshape(values.shape)


def array(values):
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


class Free(ft.Instance):
    """An instance on `ft.Residual`; `s` holds its symbols where it has some, and `state` the symbols of a state."""

    @cached_property
    def clients(self):
        """[(A, B, C, bw, bt)] as the problem declares them, without padding: what formulas speak of."""
        p = self.stated.problem
        cut = [(p.A[i], p.B[i][:, :k], p.C[i][:k, :k], p.bw[i], p.btheta[i][:k]) for i, k in enumerate(p.dims)]
        return [tuple(read(v) for v in client) for client in cut]

    @property
    def rates(self):
        """(eta, lambda, K), which most formulas take."""
        return self.eta, self.lam, self.K

    lam = property(lambda self: declared(self.stated.algorithm.personal_lr))
    alpha = property(lambda self: declared(self.stated.algorithm.alpha))
    option = property(lambda self: self.stated.algorithm.option)
    K = property(lambda self: self.stated.algorithm.steps)

    @cached_property
    def algebra(self):
        """(problem, algorithm) in the instance's arithmetic."""
        return self.problem.to(self.domain), self.algorithm.to(self.domain)

    def start(self, w, thetas=None, c=None, cs=None):
        """The algorithm's state at w (d,), theta_i (vectors without padding), c and c_i; what is left out starts as it does."""
        problem, algorithm = self.algebra
        state = algorithm.init(problem, self.domain.array(w))
        if thetas is not None:
            padded = [[*t, *[0] * (problem.personal - len(t))] for t in thetas]
            state = state._replace(theta=self.domain.array(np.array(padded, dtype=object)))
        if cs is not None:
            state = state._replace(c=self.domain.array(c), ci=self.domain.array(np.array([list(v) for v in cs], dtype=object)))
        return state

    def coded(self, *start, noise=None):
        """The state after one coded round from `start(...)`; noise: slot -> sample (n, d + personal)."""
        problem, algorithm = self.algebra
        return algorithm.round(problem, self.start(*start), ft.everyone(problem.n, algorithm.steps)._replace(xi=noise))

    def noted(self, *start):
        """(the state after the round, the points (slots, n, d + personal) at which it asked): clients that are `Answers`."""
        asked = self.algebra[0].asked
        asked.clear()
        return self.coded(*start, noise=lambda k: k), np.stack([asked[k] for k in sorted(asked)])

    def personal(self, state):
        """[theta_i] of a state, without padding."""
        return [read(state.theta[i][:k]) for i, k in enumerate(self.problem.dims)]

    def flat(self, w, thetas):
        """(w, theta_1, .., theta_N) as one vector."""
        return read(np.concatenate([w, *thetas]))

    def moved(self, *start):
        """(w, theta) after the round from `start` as one vector."""
        state = self.coded(*start)
        return self.flat(state.x, self.personal(state))


class Answers(Problem):
    """Clients of which nothing is known: gradient slot k is answered by gw[k] (n, d) and gt[k] (n, personal), whatever is asked;
    `asked` says where it was first."""

    _data = ("gw", "gt")

    def __init__(self, gw, gt):
        self.gw, self.gt, self.asked = gw, gt, {}
        self.n, self.d, self.personal = *gw.shape[1:], gt.shape[2]
        self.dims, self.weights = (self.personal,) * self.n, check_weights(None, self.n)

    def _gradient_pair(self, who, w, theta, sample):
        self.asked.setdefault(sample, np.concatenate([np.broadcast_to(w, (self.n, self.d)), theta], axis=-1))
        return self._gw[sample], self._gt[sample]


def any_loss(name, make, n=3, K=3):
    """n clients of which only the optimum (w, theta) is known: there grad_w L_i = g_i, summing to zero, and grad_theta L_i = 0."""
    s = Symbols("eta lam al", g=2 * n - 2, w=2, t=2 * n)
    g = np.array(s.g, dtype=object).reshape(n - 1, 2)
    g = np.concatenate([g, -g.sum(0)[None]])
    theta = np.array(s.t, dtype=object).reshape(n, 2)
    return Free(name, Answers(np.stack([g] * 2 * K), 0 * np.stack([theta] * 2 * K)), make(s.eta, s.lam, K, s.al), ft.Full(),
                domain=s.field, w=array(s.w), theta=theta, c=0 * g[0], g=g, loss=True,
                says="answers with the gradients at the optimum, and says where it was asked")


def rests(i):
    """The round from the optimum (with c_i = g_i, c = 0) asks nowhere else and ends there: then so for every loss."""
    state, asked = i.noted(i.w, i.theta, i.c, i.g) if hasattr(i.algorithm, "option") else i.noted(i.w, i.theta)
    here = np.concatenate([np.stack([i.w] * i.n), i.theta], axis=1)
    return (ft.equal(state.x, i.w, "w rests"), ft.equal(state.theta, i.theta, "theta rests"),
            ft.equal(asked, np.stack([here] * len(asked)), "every gradient is asked at the optimum"))


def declared(value):
    return value if isinstance(value, (type(None), int)) or hasattr(value, "terms") else ft.fraction(value)


def symmetric(entries, d):
    """(d, d) from d (d + 1)/2 numbers."""
    out = np.empty((d, d), dtype=object)
    for (j, k), v in zip(combinations_with_replacement(range(d), 2), entries, strict=True):
        out[j, k] = out[k, j] = v
    return out


def cut(values, sizes):
    """A list of numbers in pieces of these sizes."""
    ends = np.cumsum(sizes)
    return [array(values[b - a:b]) for a, b in zip(sizes, ends, strict=True)]


def symbolic(name, make, d=1, dims=(1, 1), says="every entry of the blocks, the state and the step sizes are symbols",
             more=(), **extra):
    """N = len(dims) clients all of whose numbers are symbols; make: symbols -> algorithm; more: further lists of symbols."""
    n, halves = len(dims), [k * (k + 1) // 2 for k in dims]
    s = Symbols("eta lam al", A=n * d * (d + 1) // 2, B=d * sum(dims), C=sum(halves), f=n * d, h=sum(dims), w=d, t=sum(dims),
                c=d, v=n * d, **dict(more))
    B = [b.reshape(d, k) for b, k in zip(cut(s.B, [d * k for k in dims]), dims, strict=True)]
    problem = ft.Residual(np.array([symmetric(a, d) for a in cut(s.A, [d * (d + 1) // 2] * n)]), B,
                          [symmetric(v, k) for v, k in zip(cut(s.C, halves), dims, strict=True)],
                          np.array(s.f, dtype=object).reshape(n, d), cut(s.h, dims))
    return Free(name, problem, make(s), ft.Full(), domain=s.field, says=says, s=s,
                w=array(s.w), theta=cut(s.t, dims), c=array(s.c), cs=cut(s.v, [d] * n), **extra)


def placed(i, ws, thetas, g):
    """The instance with linear terms that give client k the gradient (g_k, 0) at (ws[k], thetas[k])."""
    p, (_, B, C, _, _) = i.problem, zip(*i.clients, strict=True)
    pulls = [(A.dot(w) + b.dot(t) - v, b.T.dot(w) + c.dot(t)) for A, b, c, w, t, v in zip(p.A, B, C, ws, thetas, g, strict=True)]
    bw = np.array([list(v) for v, _ in pulls], dtype=object)
    return i.but(problem=ft.Residual(p.A, B, C, bw, [v for _, v in pulls]), g=g)


def numbers(n, d, dims, scale=1, tie=False):
    """n strictly convex clients in rationals whose blocks do not commute: H_i = M'M/4 + I/2 from small integers.

    scale: the last coordinate of every client is divided by it, so that condition numbers grow with its square; tie: equal
    A_i (their sum).
    """
    parts = []
    for i in range(n):
        size = d + dims[i]
        M = np.array([[(3 * i + 5 * j + 7 * k + i * j * k) % 5 - 2 for k in range(size)] for j in range(size)], dtype=object)
        stretch = np.array([1 if j + 1 < size else ft.fraction(1) / scale for j in range(size)], dtype=object)
        H = (M.T.dot(M) * ft.fraction("1/4") + np.eye(size, dtype=int) * ft.fraction("1/2")) * stretch * stretch[:, None]
        b = [ft.fraction((2 * i + 3 * j) % 7 - 3) for j in range(size)]
        parts.append((H[:d, :d], H[:d, d:], H[d:, d:], b[:d], b[d:]))
    A, B, C, bw, bt = zip(*parts, strict=True)
    return ft.Residual(np.array([sum(A)] * n if tie else A), B, C, bw, bt)


def listed(name, problem, algorithm, says="", **extra):
    """A problem in numbers; every number of the state is a symbol: the whole affine map is compared."""
    n, d, dims = problem.n, problem.d, problem.dims
    s = Symbols(w=d, t=sum(dims), c=d, v=n * d)
    return Free(name, problem, algorithm, ft.Full(), domain=s.field, says=says, s=s,
                w=array(s.w), theta=cut(s.t, dims), c=array(s.c), cs=cut(s.v, [d] * n), **extra)


def same(i, state, w, thetas, c=None, cs=None):
    """Comparisons of a coded state with a formula's."""
    found = [ft.equal(state.x, w, "w"), ft.equal(np.concatenate(i.personal(state)), np.concatenate(thetas), "theta")]
    if cs is not None:
        found += [ft.equal(state.c, c, "c"), ft.equal(state.ci, np.array([list(v) for v in cs], dtype=object), "c_i")]
    return found
