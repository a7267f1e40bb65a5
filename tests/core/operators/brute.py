"""Second routes of the operator tests: the naive twins run on bases, all cohorts listed, plain Kronecker products."""
import itertools
from fractions import Fraction as Q

import numpy as np

from fltheory.core.problems.quadratic import Quadratic
from tests.naive import fedavg, scaffold
from tests.naive.vectors import QuadraticClients, add, exact, scale, sub

H3 = exact([[[2, 1], [1, 2]], [[1, 0], [0, "1/2"]], [["3/5", "1/5"], ["1/5", "4/5"]]])
B3 = exact([[1, 0], [0, 2], [-1, "-2/3"]])
P3 = exact(["1/2", "3/10", "1/5"])


def three(weights=P3):
    """(Quadratic, twin): three clients in the plane."""
    weights = [Q(1, 3)] * 3 if weights is None else weights
    return Quadratic.from_linear(H3, B3, weights), QuadraticClients(H3, B3, weights)


def scalars(n, weights=None):
    """(Quadratic, twin): n scalar clients with short rationals."""
    H, b = [[[Q(k + 2, 3)]] for k in range(n)], [[Q((-1) ** k * (k + 1), 2)] for k in range(n)]
    weights = [Q(1, n)] * n if weights is None else weights
    return Quadratic.from_linear(H, b, weights), QuadraticClients(H, b, weights)


def in_floats(clients):
    def move(a):
        return [move(v) for v in a] if isinstance(a, list) else float(a)
    return QuadraticClients(move(clients.H), move(clients.b), move(clients.p))


# ---- cohorts with their probabilities ------------------------------------------------------------------------
def bernoulli(p, empty="move"):
    """[(probability, members)] of independent participation; under "redraw" without the empty set."""
    out = []
    for bits in itertools.product((0, 1), repeat=len(p)):
        prob = Q(1)
        for bit, chance in zip(bits, p, strict=True):
            prob *= chance if bit else 1 - chance
        out.append((prob, [i for i, bit in enumerate(bits) if bit]))
    if empty == "redraw":
        out = [(q / (1 - out[0][0]), members) for q, members in out[1:]]
    return [(q, members) for q, members in out if q]


def uniform(n, m):
    sets = list(itertools.combinations(range(n), m))
    return [(Q(1, len(sets)), list(s)) for s in sets]


# ---- affine maps of one round --------------------------------------------------------------------------------
def affine(step, D, zero=0, one=1):
    """[M | c] (D, D + 1) of an affine map of lists, read off a basis."""
    origin = step([zero] * D)
    columns = [sub(step([one if k == j else zero for k in range(D)]), origin) for j in range(D)]
    return np.array([*columns, origin], dtype=object).T


def scaffold_round(clients, lr, cohort):
    """The map of (x, c_1, ..., c_n) flattened; the server's c = sum p_i c_i is no free coordinate."""
    d = clients.d

    def step(z):
        parts = [z[k * d:(k + 1) * d] for k in range(clients.n + 1)]
        x, _, ci = scaffold.rounds(clients, parts[0], lr, [cohort], parts[1:])[0]
        return [v for part in (x, *ci) for v in part]
    return step


def focus_round(clients, lr, cohort):
    """The map of (x, g_1, ..., g_n) flattened; y = sum g_i. `focus.rounds` with a free start."""
    d = clients.d

    def step(z):
        x, *g = (z[k * d:(k + 1) * d] for k in range(clients.n + 1))
        y = g[0]
        for stored in g[1:]:
            y = add(y, stored)
        g = list(g)
        for i, steps in cohort:
            u, v = x, [0 * t for t in x]
            for _ in range(steps):
                current = clients.grad(i, u)
                v, g[i] = add(v, sub(current, g[i])), current
                u = sub(u, scale(lr, v))
            y = add(y, v)
        return [t for part in (sub(x, scale(lr, y)), *g) for t in part]
    return step


def fedavg_round(clients, lr, cohort, solver=None):
    return lambda z: fedavg.rounds(clients, z, lr, [cohort], solver)[0]


def fedavg_noise(clients, lr, cohort):
    """G (d, places x steps x d): responses of one round from 0 to unit noise vectors."""
    d, zero = clients.d, [0 * clients.b[0][0]] * clients.d
    plain = fedavg.rounds(clients, zero, lr, [cohort])[0]
    columns = []
    for place, (_, steps) in enumerate(cohort):
        for k, j in itertools.product(range(steps), range(d)):
            def unit(r, at, slot, here=(place, k, j)):
                return [int((at, slot, e) == here) for e in range(d)]
            columns.append(sub(fedavg.rounds(clients, zero, lr, [cohort], noise=unit)[0], plain))
    return np.array(columns, dtype=float).T.reshape(d, len(columns))


# ---- moments -------------------------------------------------------------------------------------------------
def maps(chances, round_of, D):
    """(probabilities, [M | c]) of every cohort, floats. round_of(members) -> step."""
    made = [affine(round_of(members), D).astype(float) for _, members in chances]
    return [float(q) for q, _ in chances], made


def kron_rate(probabilities, made):
    """Spectral radius of E[M (x) M] from its definition, without symmetry or reduction."""
    D = len(made[0])
    total = sum(q * np.kron(A[:, :D], A[:, :D]) for q, A in zip(probabilities, made, strict=True))
    return np.abs(np.linalg.eigvals(total)).max()


def kron_stationary(probabilities, made, noise=None):
    """(mean, covariance) of z' = M z + c + e from vec(E zz') = E[A (x) A] vec(...), noise = E[ee']."""
    D = len(made[0])
    mean_map = sum(q * A for q, A in zip(probabilities, made, strict=True))
    mean = np.linalg.solve(np.eye(D) - mean_map[:, :D], mean_map[:, D])
    T = sum(q * np.kron(A[:, :D], A[:, :D]) for q, A in zip(probabilities, made, strict=True))
    push = np.zeros((D, D)) if noise is None else noise
    for q, A in zip(probabilities, made, strict=True):
        drift, c = np.outer(A[:, :D] @ mean, A[:, D]), A[:, D]
        push = push + q * (drift + drift.T + np.outer(c, c))
    X = np.linalg.solve(np.eye(D * D) - T, push.reshape(-1)).reshape(D, D)
    return mean, X - np.outer(mean, mean)
