"""Section 3 and Appendix C: the stochastic matrices of a participation set, and the matrix forms of both algorithms.

Stacked states have N + 1 rows, row 0 the server. A set S is given by its indicators I_1..I_N: Fractions 0 and 1, or
symbols, for identities that hold whatever the set; E R and E C are R and C at the probabilities, being affine in I.
"""
from fractions import Fraction

import numpy as np

from fltheory.core.numbers import linalg


def _zeros(present):
    out = np.empty((len(present) + 1,) * 2, dtype=object)
    out[:] = 0 * present[0]
    return out


def indicators(S, N):
    """(I_1, ..., I_N) of a participation set."""
    return [Fraction(int(i in S)) for i in range(1, N + 1)]


def assign(present):
    """R(S), eq 4: participants take the server's row, everybody else keeps its own."""
    out = _zeros(present)
    out[0, 0] = 0 * present[0] + 1
    for i, v in enumerate(present, start=1):
        out[i, i], out[i, 0] = 1 - v, v
    return out


def average(present):
    """A(S), eq 4 (its indices swapped back): the server takes the mean over S, clients keep theirs.

    Undefined for the empty set; here the server then keeps its row.
    """
    out, size = _zeros(present), sum(present)
    if size == 0:
        return linalg.identity(len(out), out)
    for j, v in enumerate(present, start=1):
        out[0, j], out[j, j] = v / size, 0 * v + 1
    return out


def average_swapped(present):
    """A(S) as eq 4 prints its cases: the entries 1/|S| stand in column 0."""
    return average(present).T


def collect(present):
    """C(S) = R(S)': participants send all they hold to the server."""
    return assign(present).T


def mixing(present):
    """The symmetric W(S) of Section 3: off-diagonal 1/|S| between server and participants, the diagonal fills up."""
    return _filled(present, sum(present))


def mixing_of_the_figure(present):
    """W(S) as in the paper's figure: 1/(|S| + 1) where the formula says 1/|S|."""
    return _filled(present, sum(present) + 1)


def _filled(present, size):
    out = _zeros(present)
    out[0, 0] = 1 - sum(present) / size
    for i, v in enumerate(present, start=1):
        out[i, 0] = out[0, i] = v / size
        out[i, i] = 1 - v / size
    return out


def active(present, server=False):
    """D_k: 1 for participants, and for the server where it moves."""
    out = _zeros(present)
    out[0, 0] = 0 * present[0] + int(server)
    for i, v in enumerate(present, start=1):
        out[i, i] = v
    return out


def fedavg_mixing(present):
    """W of eqs 8 and 47: all rows are the server's row of A(S)."""
    return np.stack([average(present)[0]] * (len(present) + 1))


def mean(build, law, N):
    """E of a matrix under a law [(probability, S)]."""
    terms = [q * build(indicators(S, N)) for q, S in law]
    return sum(terms)


def participation(law, N):
    """(p_i) and (q_i) of Assumption 1 under a law [(probability, S)]; an empty round adds nothing to either."""
    clients = range(1, N + 1)
    return ([sum((c for c, S in law if i in S), 0 * law[0][0]) for i in clients],
            [sum((c / len(S) for c, S in law if i in S), 0 * law[0][0]) for i in clients])


def mean_average(q):
    """E A, eq 5, for laws without empty rounds: the server's row is q."""
    out = _zeros(q)
    for j, v in enumerate(q, start=1):
        out[0, j], out[j, j] = v, 0 * v + 1
    return out


def perron(R):
    """Left Perron vector of a row-stochastic matrix with one closed class, entries summing to 1."""
    kernel, _ = linalg.nullspace((R - linalg.identity(len(R), R)).T)
    if kernel.shape[1] != 1:
        raise ValueError(f"{kernel.shape[1]} left vectors for the eigenvalue 1: more than one closed class")
    return kernel[:, 0] / kernel[:, 0].sum()


# ---- matrix forms ----------------------------------------------------------------------------------------
def _times(A, X):
    return linalg.matmul(A, X)


def fedavg_rounds(sets, tau, eta, X, grad):
    """Eqs 6-7: the server's row after each round. X (N+1, d); grad maps stacked points to stacked gradients, row 0 zero.

    R(S_r) pulls before the first local step of a round, A(S_r) averages after the last one.
    """
    N, out = len(X) - 1, []
    for S in sets:
        for t in range(tau):
            Y = _times(assign(indicators(S, N)), X) if t == 0 else X
            X = Y - eta * _times(active(indicators(S, N)), grad(Y))
        X = _times(average(indicators(S, N)), X)
        out.append(X[0])
    return out


def fedavg_everybody(sets, tau, eta, X, grad):
    """Eqs 46-47: all clients step, and every row takes the participants' mean at the end of a round."""
    N, out = len(X) - 1, []
    for S in sets:
        for _ in range(tau):
            X = X - eta * grad(X)
        X = _times(fedavg_mixing(indicators(S, N)), X)
        out.append(X[0])
    return out


def timetable(sets, printed=False):
    """[(pulling, collected)]: whose rows R and C act on at k = r tau, r = 0, 1, .., one entry more than sets S_1, S_2, ..

    The first round is S_1, at k = 0, so that k = r tau has R(S_{r+1}) and C(S_r). printed: as the two tables of Appendix E.1,
    which start with S_1 at k = 0, without collection, and say R(S_r) and C(S_{r-1}) at every other k = r tau.
    """
    named = {r: tuple(S) for r, S in enumerate(sets, start=1)}
    late = [0 if printed and r else 1 for r in range(len(sets) + 1)]
    return [(named.get(r + s, ()), named.get(r + s - 1, ())) for r, s in enumerate(late)]


def push_pull(sets, tau, eta, X, grad, collect_all=False, Y=None, shifted=True, printed=False):
    """Eqs 73-74 in one-index time: states (X_k, Y_k) for k = 0, 1, ... up to the end of the last round's collection.

    Y_{k+1} = C_k (Y_k + grad X_k - grad X_{k-1}), X_{k+1} = R_k (X_k - eta D_k Y_{k+1}); at k = r tau the matrices are
    C(S_{r-1}) (all of it to the server with `collect_all`, eqs 75-77) and R(S_r), else the identity; D_k moves the
    server at k = r tau only and the participants always. X_0 (N+1, d) and Y_0 = grad X_{-1} with X_{-1} = X_0.
    shifted=False takes C_k = R_k' at the same k, as Section 4 says in words; printed=True the timetable of Appendix E.1.
    """
    N = len(X) - 1
    before = grad(X)
    Y, states = before if Y is None else Y, []
    for r, (now_in, last) in enumerate(timetable(sets, printed)):
        last = range(1, N + 1) if collect_all else last if shifted else now_in
        for t in range(tau if r < len(sets) else 1):
            states.append((X, Y))
            now = grad(X)
            Y, before = Y + now - before, now
            Y = _times(collect(indicators(last, N)), Y) if t == 0 else Y
            X = X - eta * _times(active(indicators(now_in, N), server=t == 0), Y)
            X = _times(assign(indicators(now_in, N)), X) if t == 0 else X
    return [*states, (X, Y)]


def rounds_of(tau, last, printed=False):
    """r at k = 0, tau, .., last tau: floor(k/tau), or floor(k/tau) tau as Table 2 prints it."""
    return [k // tau * (tau if printed else 1) for k in range(0, last * tau + 1, tau)]
