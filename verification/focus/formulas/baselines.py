"""Baselines of Table 1, from Section 2: counted intervals, mixing of own models, echoes of absence."""
import numpy as np

from fltheory.core.numbers import linalg


# ---- FedAU's counters -------------------------------------------------------------------------------------
def counted(weight, seen, waited, ends):
    """(sum of finished intervals, their number, rounds since the last) after a round that ends an interval, or not."""
    done = weight * seen
    return (done + waited + 1, seen + 1, 0 * waited) if ends else (done, seen, waited + 1)


def mean_interval(p, K):
    """E min(T, K) for T geometric with parameter p: (1 - (1 - p)^K)/p."""
    return (1 - (1 - p) ** K) / p


def mean_interval_of(p, survived):
    """The same with (1 - p)^K given as `survived`."""
    return (1 - survived) / p


def chain_mean(moves, p):
    """Mean interval of a counter with moves[s] = ((next if present, ends), (next if absent, ends)), s = 0..K-1.

    The rounds are cut into intervals without gaps, so the mean is one over the stationary rate of ends.
    """
    K, one = len(moves), 1 + 0 * p
    P, rate = np.array([[0 * p] * K for _ in range(K)], dtype=object), [0 * p] * K
    for s, outcomes in enumerate(moves):
        for chance, (new, ends) in zip((p, 1 - p), outcomes, strict=True):
            P[s, new] = P[s, new] + chance
            rate[s] = rate[s] + chance * ends
    system = P.T - linalg.identity(K, P)
    system[-1] = one
    right = np.array([0 * p] * (K - 1) + [one], dtype=object)
    pi = linalg.solve(system, right)
    return 1 / sum(a * b for a, b in zip(pi, rate, strict=True))


# ---- one dimension ----------------------------------------------------------------------------------------
def local(h, c, eta, tau, x):
    """x after tau local steps on h (x - c)^2/2."""
    return c + (1 - eta * h) ** tau * (x - c)


def weighted_move(h, c, eta, tau, x, S, shares, weights):
    """x + sum_{i in S} shares_i weights_i (u_i - x), clients counted from 1."""
    return sum([x, *(shares[i - 1] * weights[i - 1] * (local(h[i - 1], c[i - 1], eta, tau, x) - x) for i in S)])


def average(h, c, eta, tau, x):
    """FedAvg with everybody: the plain mean of the local models."""
    return sum(local(a, b, eta, tau, x) for a, b in zip(h, c, strict=True)) / len(h)


# ---- many dimensions --------------------------------------------------------------------------------------
def minimiser(H, b):
    """x* of the plain mean: (sum H_i)^-1 sum b_i."""
    return linalg.solve(sum(H), sum(b))


def _local_maps(H, b, eta, tau):
    """[(A_i, a_i)] with u_i = A_i x + a_i after tau local steps."""
    out = []
    for h, v in zip(H, b, strict=True):
        eye = linalg.identity(len(h), h)
        A = linalg.power(eye - eta * h, tau)
        out.append((A, linalg.matmul(eye - A, linalg.solve(h, v)[:, None])[:, 0]))
    return out


def drift_point(H, b, eta, tau, weights):
    """Fixed point of x <- x + sum_i weights_i (u_i(x) - x)."""
    maps = _local_maps(H, b, eta, tau)
    eye = linalg.identity(len(H[0]), H[0])
    return linalg.solve(sum(w * (eye - A) for w, (A, _) in zip(weights, maps, strict=True)),
                        sum(w * a for w, (_, a) in zip(weights, maps, strict=True)))


def own_models(H, b, eta, tau, law):
    """Local SGD's stationary means under a law [(probability, S)] without empty rounds, S counted from 1.

    Mixing E W has rows (1 - p_i) e_i + E[1{i in S} 1_S/|S|]; the means of the own models solve w = E W (A w + a), and the
    mean of the participants' average is sum_j E[1{j in S}/|S|] (A_j w_j + a_j). Returns (that mean, plain mean of the w_i).
    """
    n, d = len(H), len(H[0])
    maps = _local_maps(H, b, eta, tau)
    zero = 0 * law[0][0]
    both = [[sum((q / len(S) for q, S in law if i in S and j in S), zero) for j in range(1, n + 1)] for i in range(1, n + 1)]
    for i in range(n):
        both[i][i] = both[i][i] + 1 - sum((q for q, S in law if i + 1 in S), zero)
    blocks = np.concatenate([np.concatenate([both[i][j] * maps[j][0] for j in range(n)], axis=1) for i in range(n)])
    right = np.concatenate([sum(both[i][j] * maps[j][1] for j in range(n)) for i in range(n)])
    w = linalg.solve(linalg.identity(n * d, blocks) - blocks, right).reshape(n, d)
    q = [sum((c / len(S) for c, S in law if j in S), zero) for j in range(1, n + 1)]
    stepped = [linalg.matmul(A, v[:, None])[:, 0] + a for (A, a), v in zip(maps, w, strict=True)]
    return sum(v * u for v, u in zip(q, stepped, strict=True)), sum(w) / n


def mean_square_distance(points, chances, x):
    """sum_i chances_i |points_i - x|^2."""
    return sum(q * ((v - x) ** 2).sum() for q, v in zip(chances, points, strict=True))


# ---- FedAWE's echo ----------------------------------------------------------------------------------------
def echo(p, Q):
    """E (1 - A Q)^2 for a geometric age A with parameter p: mean-square factor per participation, Q = 1 - (1 - eta h)^tau."""
    return 1 - 2 * Q / p + (2 - p) * Q * Q / (p * p)


def _cut_tail(p, cap, rate, base=1):
    """sum_{a > cap} p (1 - p)^(a - 1) (base/rate)^a."""
    z = (1 - p) * base / rate
    return p / (1 - p) * z ** (cap + 1) / (1 - z)


def cut_echo(p, Q, cap, rate=1):
    """E (1 - min(A, cap) Q)^2 rate^-A: the mean-square rate per round of one client makes this 1."""
    head = sum((1 - a * Q) ** 2 * p * (1 - p) ** (a - 1) / rate**a for a in range(1, cap + 1))
    return head + (1 - cap * Q) ** 2 * _cut_tail(p, cap, rate)


def met_echo(p, P, Q, cap, rate=1):
    """The part with A <= cap of E ((P^A + 1 - A Q)/2)^2 rate^-A.

    Client 1 is always present and contracts by P = (1 - eta h_1)^tau a round; client 2 comes with probability p and A
    rounds after the last meeting, from whose model it sends 1 - A Q of it, Q = 1 - (1 - eta h_2)^tau: the factor of a model
    from one meeting to the next. A mean square that grows along these paths alone grows.
    """
    return sum(((P**a + 1 - a * Q) / 2) ** 2 * p * (1 - p) ** (a - 1) / rate**a for a in range(1, cap + 1))


def cut_met_echo(p, P, Q, cap, rate=1):
    """The same over all A, with min(A, cap) in place of the age."""
    C = 1 - cap * Q
    rest = (C * C * _cut_tail(p, cap, rate) + 2 * C * _cut_tail(p, cap, rate, P) + _cut_tail(p, cap, rate, P * P)) / 4
    return met_echo(p, P, Q, cap, rate) + rest
