"""FedResAvg (Federated Residual Learning), Algorithm 4, noiseless, all clients in every round."""

from tests.naive.vectors import add, matvec, mix, scale, sub, transpose, zeros_like


class ResidualClients:
    """L_i(w, theta_i) = 1/2 w'A_i w + w'B_i theta_i + 1/2 theta_i'C_i theta_i - bw_i'w - bt_i'theta_i.

    Every client has weight 1/n; the theta_i may have different lengths.
    """

    def __init__(self, A, B, C, bw, bt):
        self.A, self.B, self.C, self.bw, self.bt = A, B, C, bw, bt
        self.n, self.d = len(A), len(bw[0])

    def grad(self, i, w, theta):
        gw = sub(add(matvec(self.A[i], w), matvec(self.B[i], theta)), self.bw[i])
        gtheta = sub(add(matvec(transpose(self.B[i]), w), matvec(self.C[i], theta)), self.bt[i])
        return gw, gtheta


def rounds(clients, w0, theta0, lr, personal_lr, steps, alpha, n_rounds, controls=None, option=2):
    """(w, [theta_i], [c_i], c) after each round; `controls` are the initial c_i, zero by default, or "warm"."""
    n = clients.n
    w, theta = w0, list(theta0)
    if controls == "warm":
        controls = [clients.grad(i, w0, theta0[i])[0] for i in range(n)]
    c_i = [zeros_like(w0)] * n if controls is None else list(controls)
    c = mean(c_i)
    history = []
    for _ in range(n_rounds):
        theta_new, c_i_new, moves = [], [], []
        for i in range(n):
            # Step 1: the personal part, w frozen
            t = theta[i]
            for _ in range(steps):
                _, gtheta = clients.grad(i, w, t)
                t = sub(t, scale(personal_lr, gtheta))
            # Step 2: the shared part, the new theta_i frozen, the old c_i and c throughout
            w_i, g_sum = w, zeros_like(w0)
            for _ in range(steps):
                g, _ = clients.grad(i, w_i, t)
                w_i = sub(w_i, scale(lr, add(sub(g, c_i[i]), c)))
                g_sum = add(g_sum, g)
            theta_new.append(t)
            c_i_new.append([entry / steps for entry in g_sum] if option == 2 else zeros_like(w0))
            moves.append(sub(w_i, w))
        w = add(w, scale(alpha, mean(moves)))
        theta, c_i, c = theta_new, c_i_new, mean(c_i_new)
        history.append((w, theta, c_i, c))
    return history


def mean(vectors):
    """(1/n) sum_i vectors[i]"""
    return [entry / len(vectors) for entry in mix([1] * len(vectors), vectors)]
