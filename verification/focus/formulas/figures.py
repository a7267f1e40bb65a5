"""Figure 4: exact second moments of FOCUS and of averaging methods on quadratics, for laws known by their pairs.

H (N, d, d): Hessians; b (N, d): linear terms, f_i = x'H_i x/2 - b_i'x; both (N, N): P(i and j take part), P(i takes part) on
the diagonal. Rounds are independent. Everything in floats; states are measured from the fixed point.
"""
import numpy as np


def stale(H, eta, tau):
    """P_i = (I - eta H_i)^(tau-1): a participant's stored gradient moves by P_i (H_i x - g_i)."""
    return np.stack([np.linalg.matrix_power(np.eye(len(h)) - eta * h, tau - 1) for h in H])


def focus_start(H, b):
    """E s s' of s = (x - x*, g_1 - g_1*, ...) at x = 0, g = 0."""
    best = np.linalg.solve(H.sum(0), b.sum(0))
    s = -np.concatenate([best, *(h @ best - v for h, v in zip(H, b, strict=True))])
    return np.outer(s, s)


def focus_step(H, P, eta, both):
    """The map E s s' -> E s s' of one round: g_i <- g_i + 1{i in S} P_i (H_i x - g_i), then x <- x - eta sum_i g_i."""
    N, d, _ = H.shape
    p, fresh = np.diagonal(both), P @ H
    across = np.concatenate([f.T for f in fresh], axis=1)      # (d, N d)

    def step(X):
        X = (X + X.T) / 2  # rounding must not leave the symmetric matrices
        C, G = X[:d, d:].reshape(d, N, d), X[d:, d:].reshape(N, d, N, d)
        moved = fresh @ X[:d] - P @ X[d:].reshape(N, d, -1)    # what the participants would add, times s
        rows = moved.reshape(N * d, -1)
        twice = rows[:, :d] @ across - np.concatenate(
            [rows[:, (j + 1) * d:(j + 2) * d] @ P[j].T for j in range(N)], axis=1)
        cross = p[:, None, None, None] * moved[:, :, d:].reshape(N, d, N, d)
        G = G + cross + cross.transpose(2, 3, 0, 1) + both[:, None, :, None] * twice.reshape(N, d, N, d)
        C = C + p[None, :, None] * moved[:, :, :d].transpose(2, 0, 1)
        total = G.sum(0)                                        # E (sum_i g_i) g_j'
        out = np.empty_like(X)
        out[:d, :d] = X[:d, :d] - eta * (C.sum(1) + C.sum(1).T) + eta**2 * total.sum(1)
        out[:d, d:] = (C - eta * total).reshape(d, N * d)
        out[d:, :d] = out[:d, d:].T
        out[d:, d:] = G.reshape(N * d, N * d)
        return out
    return step


def focus_errors(H, b, eta, tau, both, rounds):
    """E|x_r - x*|^2 for r = 0..rounds from x = 0, g = 0, and the last E s s'."""
    step, X, d = focus_step(H, stale(H, eta, tau), eta, both), focus_start(H, b), H.shape[1]
    out = [np.trace(X[:d, :d])]
    for _ in range(rounds):
        X = step(X)
        out.append(np.trace(X[:d, :d]))
    return np.array(out), X


def focus_rate(H, eta, tau, both, X, krylov=15):
    """Spectral radius of the map of E s s' by Arnoldi's method from a second moment X late in a run: (Ritz value, residual)."""
    step, upper = focus_step(H, stale(H, eta, tau), eta, both), np.triu(np.ones(X.shape, dtype=bool))
    basis, h = np.zeros((krylov + 1, upper.sum())), np.zeros((krylov + 1, krylov))
    basis[0] = X[upper] / np.linalg.norm(X[upper])
    for k in range(krylov):
        full = np.zeros(X.shape)
        full[upper] = basis[k]
        w, known = step(full + full.T - np.diag(np.diagonal(full)))[upper], basis[:k + 1]
        size = np.linalg.norm(w)
        for _ in range(2):
            c = known @ w
            h[:k + 1, k] += c
            w -= c @ known
        h[k + 1, k] = np.linalg.norm(w)
        if h[k + 1, k] <= 1e-12 * size:  # an invariant subspace
            krylov = k + 1
            break
        basis[k + 1] = w / h[k + 1, k]
    values, vectors = np.linalg.eig(h[:krylov, :krylov])
    top = np.abs(values).argmax()
    return float(np.abs(values[top])), float(h[krylov, krylov - 1] * np.abs(vectors[-1, top]))


def averaging_floor(H, b, eta, tau, weights, both):
    """Stationary E|x - x*|^2 of x <- x + sum_{i in S} weights_i (u_i - x), u_i: tau gradient steps from x."""
    eye, p = np.eye(H.shape[1]), np.diagonal(both)
    powers = [np.stack([np.linalg.matrix_power(eye - eta * h, k) for h in H]) for k in range(tau + 1)]
    D = weights[:, None, None] * (powers[tau] - eye)            # client i adds D_i x + a_i
    a = weights[:, None] * eta * (sum(powers[:tau]) @ b[..., None])[..., 0]
    drift = np.einsum("i,ikl->kl", p, D)
    mean = np.linalg.solve(drift, -(p @ a))
    kick, paired = D @ mean + a, np.einsum("ij,jkl->ikl", both, D)
    noise = np.einsum("ij,ik,jl->kl", both, kick, kick)
    C = 0 * noise
    for _ in range(10_000):                                     # contracts, or does not settle
        last, C = C, C + drift @ C + C @ drift.T + (D @ C @ paired.swapaxes(1, 2)).sum(0) + noise
        if np.abs(last - C).max() <= 1e-15 * np.abs(C).max():
            break
    best = np.linalg.solve(H.sum(0), b.sum(0))
    return float(((mean - best) ** 2).sum() + np.trace(C))
