"""Both sides of a one-round inequality: as exact quadratic forms for every state, or as exact numbers at one state.

The forms come from the derived operator (quadratic clients, every state, expectation over the law), the numbers from
the coded round on every set of the law (any clients with rational gradients). Names as in Lemmas 3 and 4: A, B, gap,
grad2 before the round, A1, B1, gap1, grad2_1 their expectations after it.
"""
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from fltheory.core.evidence import Terms
from fltheory.core.laws.draw import Draw, everyone
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, fraction
from fltheory.core.relations import at_most
from verification.focus.formulas import lemmas as f

GRID = 64  # worst states are rounded to multiples of 1/64 of their largest entry


class Forms:
    """Quadratic forms in v = (x - x*, z_1 - x*, ..., z_N - x*); Hessians must be invertible."""

    def __init__(self, i):
        self.op, self.law = i.op_anywhere.exact(), i.law
        self.H = [linalg.to_fractions(h) for h in i.problem.H]
        self.N, self.d = len(self.H), len(self.H[0])
        blocks = [f.rows(self.N, self.d, k, self.H[0]) for k in range(self.N + 1)]
        g = [linalg.matmul(h, b) for h, b in zip(self.H, blocks[1:], strict=True)]
        self.embed = np.concatenate([blocks[0], sum(g), *g])     # v -> (x, y, g) with y = sum g_i
        size, zero = len(self.embed), 0 * self.H[0][0, 0]
        self.read = np.full((len(blocks) * self.d, size), zero)  # (x, y, g) -> v
        self.read[:self.d, :self.d] = linalg.identity(self.d, self.H[0])
        for k, h in enumerate(self.H):
            at, to = (k + 2) * self.d, (k + 1) * self.d
            self.read[to:to + self.d, at:at + self.d] = linalg.inverse(h)

    def after(self, V):
        """The form E V(v') of the state v' after the round."""
        inside = linalg.matmul(self.read.T, linalg.matmul(V, self.read))
        return self._pull(inside)

    def _pull(self, inside):
        pulled = linalg.to_fractions(self.op.moments.second_adjoint(self.op.domain.array(inside)[None])[0])
        return linalg.matmul(self.embed.T, linalg.matmul(f.symmetric(pulled), self.embed))

    @cached_property
    def mean(self):
        """v -> E(x, y, g) after the round."""
        return linalg.matmul(linalg.to_fractions(self.op.mean_map()[0]), self.embed)

    A = cached_property(lambda self: f.server_error(self.H))
    B = cached_property(lambda self: f.consensus(self.H))
    gap = cached_property(lambda self: f.gap(self.H))
    grad2 = cached_property(lambda self: f.gradient_square(self.H))
    pushed = cached_property(lambda self: f.square(self.embed[self.d:2 * self.d]))  # |sum_i grad f_i(z_i)|^2
    A1 = cached_property(lambda self: self.after(self.A))
    B1 = cached_property(lambda self: self.after(self.B))
    gap1 = cached_property(lambda self: self.after(self.gap))
    grad2_1 = cached_property(lambda self: self.after(self.grad2))
    present = cached_property(lambda self: f.consensus(self.H, self.law.inclusion(self.N)))
    absent = cached_property(lambda self: self.B - self.present)

    @cached_property
    def mismatch(self):
        """E|sum_i grad f_i(x) - y'|^2: x before the round, y' = sum_i grad f_i(z_i') after it."""
        old, d = f.sum_of_gradients(self.H), self.d
        size = len(self.embed)
        pick = linalg.identity(size, self.embed)[d:2 * d]
        cross = linalg.matmul(old.T, self.mean[d:2 * d])
        return f.square(old) - cross - cross.T + self._pull(f.square(pick))

    @cached_property
    def pulled(self):
        """E sum_i |x - z_i'|^2: x before the round, z_i' after it (the printed index of Psi)."""
        N, d = self.N, self.d
        x, z = f.rows(N, d, 0, self.H[0]), [f.rows(N, d, k, self.H[0]) for k in range(1, N + 1)]
        mean = linalg.matmul(self.read, self.mean)[d:]
        cross = sum(linalg.matmul(x.T, mean[k * d:(k + 1) * d]) for k in range(N))
        return N * f.square(x) - cross - cross.T + self.after(sum(f.square(s) for s in z))

    # ---- several rounds ----------------------------------------------------------------------------------
    def potential(self, name, weight):
        """(E V after the round, weight * B, the expectation of both a round later) for V = A or gap."""
        ahead, spread = self.after(getattr(self, name)), weight * self.B
        return ahead, spread, self.after(ahead + spread)

    def along(self, v, rounds, **forms):
        """[({name: E form before}, {name: E form after})] of each round from the state v, in total expectation."""
        V = {k: self.op.domain.array(linalg.matmul(self.read.T, linalg.matmul(W, self.read))) for k, W in forms.items()}
        u = self.op.domain.array(linalg.matmul(self.embed, v[:, None])[:, 0])
        X, seen = (u[:, None] * u[None, :])[None], []
        for _ in range(rounds + 1):
            seen.append({k: fraction((W * X[0]).sum()) for k, W in V.items()})
            X = self.op.moments.second(X)
        return list(pairwise(seen))

    def total(self, V):
        """S = V + E S(after): the sum over all rounds, if S is positive semidefinite (then partial sums are below it)."""
        size = len(V)
        at = [(a, b) for a in range(size) for b in range(a, size)]
        columns = []
        for a, b in at:
            unit = 0 * V
            unit[a, b] = unit[b, a] = 1 + 0 * V[0, 0]
            left = unit - self.after(unit)
            columns.append([left[p] for p in at])
        solved = linalg.solve(np.array(columns, dtype=object).T, np.array([V[p] for p in at], dtype=object))
        S = 0 * V
        for (a, b), value in zip(at, solved, strict=True):
            S[a, b] = S[b, a] = value
        return linalg.to_fractions(S)

    @property
    def warm(self):
        """x - x* -> v of a start with one full gradient pass: every z_i = x."""
        return np.concatenate([linalg.identity(self.d, self.H[0])] * (self.N + 1))

    def sums(self, start, at, *forms):
        """[(R, sum over rounds r < R of each form, pulled back to the start)] for the R in `at`, numbers of rounds."""
        now, total, out = list(forms), [0 * V for V in forms], []
        for R in range(1, max(at) + 1):
            total = [t + V for t, V in zip(total, now, strict=True)]
            now = [self.after(V) for V in now]
            if R in at:
                out.append((R, *(linalg.matmul(start.T, linalg.matmul(t, start)) for t in total)))
        return out


class Numbers:
    """The same names as numbers at one state (x, z) of clients with rational gradients; `i.best` is the minimiser."""

    def __init__(self, i, state=None):
        self.i, self.problem, self.algorithm = i, i.problem.to(RATIONAL), i.algorithm.to(RATIONAL)
        x, z = i.state if state is None else state
        self.x, self.z = RATIONAL.array(np.array(x, dtype=object)), RATIONAL.array(np.array(z, dtype=object))
        self.N = self.problem.n

    @cached_property
    def rounds(self):
        """[(probability, state after, who took part)] over the sets of the law."""
        g = self.problem.grad(self.z)
        like = self.algorithm.init(self.problem, self.x)
        state, out = type(like)(self.x, g.sum(-2), g), []
        for chance, who, present in self.i.law.cohorts(self.N):
            present = np.asarray(present)
            draw = Draw(who, present, 0 * present + self.algorithm.steps)
            members = np.arange(self.N)[who][present > 0]
            out.append((fraction(chance), self.algorithm.round(self.problem, state, draw), set(members.tolist())))
        return out

    def changes(self):
        """[v_1, ..., v_tau]: what each client would push after t gradients, read off rounds with t local steps."""
        g = self.problem.grad(self.z)
        state = type(self.algorithm.init(self.problem, self.x))(self.x, g.sum(-2), g)
        return [replace(self.algorithm, steps=t).round(self.problem, state, everyone(self.N, t)).g - g
                for t in range(1, self.algorithm.steps + 1)]

    @cached_property
    def moved(self):
        """z_i' of every client if it takes part: the point of its last gradient."""
        return self.x[None] - self.algorithm.lr * sum(self.changes()[:-1], 0 * self.z)

    def potential(self, name, weight):
        """As for `Forms`, by enumerating the sets of both rounds."""
        later = 0
        for p, s, who in self.rounds:
            z = np.stack([(self.moved if k in who else self.z)[k] for k in range(self.N)])
            n = Numbers(self.i, (s.x, z))
            later += p * (getattr(n, name + "1") + weight * n.B)
        return getattr(self, name + "1"), weight * self.B, later

    def expect(self, value):
        return sum(p * fraction(value(state, who)) for p, state, who in self.rounds)

    def _square(self, v):
        return fraction((v * v).sum())

    @property
    def optimum(self):
        return RATIONAL.array(np.array(self.i.best, dtype=object))

    A = cached_property(lambda self: self._square(self.x - self.optimum))
    B = cached_property(lambda self: self._square(self.x[None] - self.z))
    A1 = cached_property(lambda self: self.expect(lambda s, who: self._square(s.x - self.optimum)))
    B1 = cached_property(lambda self: self.expect(lambda s, who: sum(
        self._square(s.x - (self.moved if k in who else self.z)[k]) for k in range(self.N))))
    gap = cached_property(lambda self: fraction(self.problem.value(self.x) - self._low))
    gap1 = cached_property(lambda self: self.expect(lambda s, who: self.problem.value(s.x) - self._low))
    grad2 = cached_property(lambda self: self._square(self.problem.gradient(self.x)))
    grad2_1 = cached_property(lambda self: self.expect(lambda s, who: self._square(self.problem.gradient(s.x))))
    mismatch = cached_property(lambda self: self.expect(
        lambda s, who: self._square(self.N * self.problem.gradient(self.x) - s.y)))
    absent = cached_property(lambda self: self.expect(
        lambda s, who: sum(self._square(self.x - z) for k, z in enumerate(self.z) if k not in who)))
    present = cached_property(lambda self: self.B - self.absent)

    @cached_property
    def _low(self):
        return self.problem.value(self.optimum) if hasattr(self.i, "best") else 0


def along_one_path(i):
    """(sum over `i.rounds` rounds of |grad F(x_r)|^2, F(x_0) - F*) in floats, everybody taking part."""
    problem, algorithm = i.problem.to(FLOAT), i.algorithm.to(FLOAT)
    state, total = algorithm.init(problem, FLOAT.array(np.array(i.x0, dtype=object))), 0.0
    start = state.x
    for _ in range(i.rounds):
        total += float((problem.gradient(state.x) ** 2).sum())
        state = algorithm.round(problem, state, everyone(i.n, i.tau))
    return total, float(problem.value(start) - problem.value(FLOAT.array(np.array(i.best, dtype=object))))


def within(i, left, label="", **terms):
    """left <= sum of the terms: for every state (exact semidefiniteness, then the worst states), or at `i.state`."""
    if not isinstance(left, np.ndarray):
        return [at_most(left, Terms(**terms), label or "at the state")]
    right = sum(terms.values())
    if "state" in i.extra:
        return [_at(state_vector(i), left, terms, label or "at the state")]
    gap = f.symmetric(right - left)
    states = {tuple(s): s for s in [worst(gap), *(worst(f.symmetric(gap - t)) for t in terms.values())]}
    return [semidefinite(gap, f"{label} right minus left, every state:".strip()),
            *(_at(s, left, terms, f"{label} worst state {k}".strip()) for k, s in enumerate(states.values(), 1))]


def semidefinite(V, label):
    """V is positive semidefinite, decided exactly: 0 against a bound of its least eigenvalue, or a negative value of it."""
    if linalg.is_positive_definite(V, strict=False):
        low = max(linalg.smallest_eigenvalue_bound(V), 0 * V[0, 0])
        return at_most(0 * low, low, f"{label} least eigenvalue, bounded from below")
    v = worst(V, GRID**3)
    low = value(V, v) / (v * v).sum()
    if low >= 0:  # too close to zero for a short state: the bound below is negative because V is not semidefinite
        low = linalg.smallest_eigenvalue_bound(V)
    return at_most(0 * low, low, f"{label} not positive semidefinite, a negative value")


def _at(v, left, terms, label):
    return at_most(value(left, v), Terms(**{k: value(t, v) for k, t in terms.items()}), label)


def value(V, v):
    return (v[:, None] * V * v[None, :]).sum()


def worst(V, grid=GRID):
    """A rational vector near the direction in which the form V is smallest."""
    top = max(abs(v) for v in V.reshape(-1)) or 1
    vector = np.linalg.eigh((V / top).astype(float))[1][:, 0]
    vector = vector / vector[np.abs(vector).argmax()]
    return np.array([fraction(round(grid * float(v))) / grid for v in vector], dtype=object)


def state_vector(i):
    """(x - x*, z_i - x*) of `i.state` = (x, z) around the stationary point of F."""
    H, b = (linalg.to_fractions(v) for v in (i.problem.H.sum(0), i.problem.b.sum(0)[:, None]))
    best = linalg.solve(H, b)[:, 0]
    x, z = i.state
    return np.array([fraction(v) - c for row in (x, *z) for v, c in zip(row, best, strict=True)], dtype=object)
