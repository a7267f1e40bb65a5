"""Quadratic clients: one noiseless round in closed form, its fixed points, and what noise it takes in (Sec 3, derived).

A client is (A, B, C, bw, bt), L_i = w'Aw/2 + w'B t + t'C t/2 - bw'w - bt't; all clients weigh 1/N. Arrays hold numbers or symbols.
"""
import numpy as np

from fltheory.core.numbers import linalg


def times(M, v):
    """M v of arrays of any numbers."""
    return (M * v).sum(-1)


def eye(M, size=None):
    return linalg.identity(len(M) if size is None else size, M)


def geometric(M, K):
    """sum_{k<K} (I - M)^k."""
    total, one = 0 * M, eye(M)
    for _ in range(K):
        total = one + linalg.matmul(one - M, total)
    return total


def mean(vectors):
    return sum(vectors[1:], vectors[0]) / len(vectors)


def gradients(client, w, theta):
    """(grad_w L_i, grad_theta L_i)."""
    A, B, C, bw, bt = client
    return times(A, w) + times(B, theta) - bw, times(B.T, w) + times(C, theta) - bt


# ---- one round --------------------------------------------------------------------------------------------
def personal(client, w, theta, P, R):
    """Step 1 of A3 and A4: theta' = P theta + R (bt - B'w), P = (I - lam C)^K, R = lam sum_{k<K} (I - lam C)^k."""
    _, B, _, _, bt = client
    return times(P, theta) + times(R, bt - times(B.T, w))


def personal_map(client, lam, K):
    """(P, R) of `personal`."""
    C = client[2]
    return linalg.power(eye(C) - lam * C, K), lam * geometric(lam * C, K)


def shared(client, w, theta, offset, eta, Q):
    """Step 2 of A4: w_i - w = -eta Q (r + offset), r = grad_w L_i(w, theta), Q = sum_{k<K} (I - eta A)^k; offset = c - c_i."""
    return -eta * times(Q, gradients(client, w, theta)[0] + offset)


def a3(clients, w, thetas, eta, lam, K):
    """FedResSGD: (w, [theta_i]) after a round."""
    new = [personal(v, w, t, *personal_map(v, lam, K)) for v, t in zip(clients, thetas, strict=True)]
    return w - eta * K * mean([gradients(v, w, t)[0] for v, t in zip(clients, new, strict=True)]), new


def a4(clients, w, thetas, c, cs, eta, lam, K, alpha, option, maps=None):
    """FedResAvg: (w, [theta_i], c, [c_i]) after a round; maps: (P_i, R_i, Q_i) of every client, which make K any number."""
    maps = maps or [(*personal_map(v, lam, K), geometric(eta * v[0], K)) for v in clients]
    new = [personal(v, w, t, P, R) for v, t, (P, R, _) in zip(clients, thetas, maps, strict=True)]
    moves = [shared(v, w, t, c - own, eta, Q) for v, t, own, (_, _, Q) in zip(clients, new, cs, maps, strict=True)]
    after = [-move / (eta * K) - c + own if option == 2 else 0 * own for move, own in zip(moves, cs, strict=True)]
    return w + alpha * mean(moves), new, mean(after), after


def injected(clients, eta, lam, K, sw, st):
    """Covariance that a round of FedResSGD adds, with independent noise of variances sw, st per coordinate in every mini-batch.

    (eta^2 K / N) sw I on w, and lam^2 st sum_{k<K} (I - lam C_i)^{2k} on theta_i', pushed through Step 2.
    """
    d, N = len(clients[0][0]), len(clients)
    sizes = [len(v[2]) for v in clients]
    total = np.full((d + sum(sizes),) * 2, 0 * eta, dtype=object)
    total[:d, :d] = eta**2 * K * sw / N * eye(clients[0][0])
    at = d
    for (_, B, C, _, _), k in zip(clients, sizes, strict=True):
        one = eye(C)
        own = lam**2 * st * geometric(one - linalg.power(one - lam * C, 2), K)
        push = np.concatenate([-eta * K / N * B, one])
        rows = [*range(d), *range(at, at + k)]
        total[np.ix_(rows, rows)] = total[np.ix_(rows, rows)] + linalg.matmul(linalg.matmul(push, own), push.T)
        at += k
    return total


def lyapunov(T, Q):
    """S with S = T S T' + Q."""
    D = len(T)
    kron = (T[:, None, :, None] * T[None, :, None, :]).reshape(D * D, D * D)
    return linalg.solve(linalg.identity(D * D, T) - kron, Q.reshape(-1)).reshape(D, D)


def joined(client):
    """(H_i, b_i) of one client in (w, theta_i)."""
    A, B, C, bw, bt = client
    return np.concatenate([np.concatenate([A, B], 1), np.concatenate([B.T, C], 1)]), np.concatenate([bw, bt])


def scaled(H, d, eta, lam):
    """D H, D = diag(eta I, lam I) with eta on the first d rows."""
    return np.concatenate([eta * H[:d], lam * H[d:]])


def a2(clients, w, thetas, eta, lam, K):
    """Simultaneous FedResNaive: (w, [theta_i]) after a round, z_K = z_0 - sum_{k<K} (I - D H)^k D (H z_0 - b)."""
    d, ends = len(w), []
    for v, t in zip(clients, thetas, strict=True):
        H, b = joined(v)
        z = np.concatenate([w, t])
        push = times(H, z) - b
        ends.append(z - times(geometric(scaled(H, d, eta, lam), K), np.concatenate([eta * push[:d], lam * push[d:]])))
    return mean([z[:d] for z in ends]), [z[d:] for z in ends]


def mismatch(gamma, M):
    """Bound of Option II's mismatch; M: largest sum of the four distances that a local step of this and the last round knows."""
    return 2 * gamma * M


# ---- the joint objective ----------------------------------------------------------------------------------
def hessian(clients):
    """The Hessian of F in (w, theta_1, .., theta_N)."""
    return joint([joined(v)[0] for v in clients], len(clients[0][0]))


def joint(matrices, d):
    """(1/N) sum_i of matrices M_i on (w, theta_i), as one on (w, theta_1, .., theta_N)."""
    N, sizes = len(matrices), [len(M) - d for M in matrices]
    whole = np.full((d + sum(sizes),) * 2, 0 * matrices[0][0, 0], dtype=object)
    at = d
    for M, k in zip(matrices, sizes, strict=True):
        rows = [*range(d), *range(at, at + k)]
        whole[np.ix_(rows, rows)] = whole[np.ix_(rows, rows)] + M / N
        at += k
    return whole


def schur(client):
    """(S_i, s_i): what is left of L_i once theta_i is optimal for w."""
    A, B, C, bw, bt = client
    return A - linalg.matmul(B, linalg.solve(C, B.T)), bw - times(B, linalg.solve(C, bt))


def best_personal(client, w):
    """argmin of L_i(w, .)."""
    _, B, C, _, bt = client
    return linalg.solve(C, bt - times(B.T, w))


def optimum(clients):
    """(w*, [theta_i*]): the joint optimum by Schur complements."""
    return weighted_schur(clients, [eye(v[0]) for v in clients])


# ---- fixed points -----------------------------------------------------------------------------------------
def weighted_schur(clients, Q):
    """(w, [theta_i]) with sum_i Q_i (S_i w - s_i) = 0 and every theta_i optimal for w: Option I with its Q_i."""
    parts = [schur(v) for v in clients]
    matrix = sum(linalg.matmul(q, S) for q, (S, _) in zip(Q, parts, strict=True))
    w = linalg.solve(matrix, sum(times(q, s) for q, (_, s) in zip(Q, parts, strict=True)))
    return w, [best_personal(v, w) for v in clients]


def preconditioner(clients, eta, lam, K):
    """U with x+ = x - U grad F(x) for a round of FedResSGD: rows (eta K I, -eta K B_j R_j) and (0, N R_j)."""
    N, d = len(clients), len(clients[0][0])
    sizes = [len(v[2]) for v in clients]
    U = np.full((d + sum(sizes),) * 2, 0 * clients[0][0][0, 0], dtype=object)
    U[:d, :d] = eta * K * eye(clients[0][0])
    at = d
    for v, k in zip(clients, sizes, strict=True):
        R = personal_map(v, lam, K)[1]
        U[:d, at:at + k], U[at:at + k, at:at + k] = -eta * K * linalg.matmul(v[1], R), N * R
        at += k
    return U


def surrogate_hessian(client, eta, lam, K):
    """H~_i = (1/K) D^-1 [I - (I - D H_i)^K] = (1/K) D^-1/2 [I - (I - D^1/2 H_i D^1/2)^K] D^-1/2: simultaneous FedResNaive."""
    H, _ = joined(client)
    d = len(client[0])
    moved = eye(H) - linalg.power(eye(H) - scaled(H, d, eta, lam), K)
    return scaled(moved, d, 1 / eta, 1 / lam) / K


def surrogate_optimum(clients, eta, lam, K):
    """x: the minimiser of (1/N) sum_i (z - z_i*)'H~_i(z - z_i*)/2, z_i* = H_i^-1 b_i, flat (w, theta_1, .., theta_N)."""
    d, own = len(clients[0][0]), [surrogate_hessian(v, eta, lam, K) for v in clients]
    pulls = [times(M, linalg.solve(*joined(v))) for M, v in zip(own, clients, strict=True)]
    right = np.concatenate([sum(p[:d] for p in pulls), *(p[d:] for p in pulls)]) / len(clients)
    return linalg.solve(joint(own, d), right)


def averaging_point(H, b, Q):
    """w with sum_i Q_i (H_i w - b_i) = 0: FedAvg with Q_i = sum_{k<K} (I - eta H_i)^k, FedProx with H_i + mu I there."""
    matrix = sum(linalg.matmul(q, h) for q, h in zip(Q, H, strict=True))
    return linalg.solve(matrix, sum(times(q, v) for q, v in zip(Q, b, strict=True)))
