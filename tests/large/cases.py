"""Problems, methods and laws on which structured operators are held against listed ones."""
import numpy as np

import fltheory as ft

N, D = 8, 3
CHANCES = [0.1 * (k + 1) for k in range(N)]


def random_problem(n=N, d=D, weights=None, seed=0, same=False, condition=None):
    """n random quadratics in d dimensions; same: all clients equal; condition: of every Hessian."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, d, d))
    H = a @ a.swapaxes(1, 2) / d + np.eye(d)
    if condition:
        q = np.linalg.qr(a)[0]
        H = q * np.geomspace(1 / condition, 1, d) @ q.swapaxes(1, 2)
    H = (H + H.swapaxes(1, 2)) / 2
    c = rng.standard_normal((n, d))
    if same:
        H, c = np.broadcast_to(H[0], H.shape).copy(), np.ones((n, d))
    return ft.Quadratic(H, c, weights)


EQUAL = random_problem()
WEIGHED = random_problem(weights=np.arange(1, N + 1) / (N * (N + 1) / 2))
STEP = 0.3 / float(EQUAL.constants.L)
LAWS = {"full": ft.Full(), "uniform": ft.Uniform(3), "equal chances": ft.Bernoulli("1/4"), "unequal chances": ft.Bernoulli(CHANCES)}
METHODS = {
    "FedAvg": ft.FedAvg(STEP, 3), "FedNova": ft.FedNova(STEP, 3), "Scaffold": ft.Scaffold(STEP, 3),
    "Scaffold I": ft.Scaffold(STEP, 3, option=1), "Focus": ft.Focus(STEP / N / 2, 3), "Mifa": ft.Mifa(STEP, 3),
    "FedVarp": ft.FedVarp(STEP, 3), "FedAu": ft.FedAu(STEP, 3, weights=list(range(1, N + 1))),
    "Reweighted": ft.Reweighted(STEP, 3, CHANCES), "unequal steps": ft.FedAvg(STEP, (1, 2, 3, 4, 1, 2, 3, 4)),
}


def structured(algorithm, problem, law, noise=None):
    """The operator without lists."""
    return ft.derive(algorithm, problem, law, noise, method="structured")
