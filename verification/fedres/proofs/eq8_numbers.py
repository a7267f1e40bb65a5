"""What the symbols of the proofs of `eq8` and `theorem1` are on coded rounds, exactly: numbers and vectors on which every fact is
tried."""
import itertools
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres.one_round import noise_of, one_round, square

FEW = 3     # clients and outcomes of a step that are looked at
MOST = 12   # draws of a step with noise


class Run:
    """A coded round with its outcomes spread out: paths of Step 1 first, of Step 2 second."""

    def __init__(self, i):
        self.i, self.r, self.n, self.K = i, one_round(i), i.n, i.K
        self.m1, self.m2 = (len(v) for v in self.r.chances)
        r = self.r
        self.theta = [self._first(r.points[k][1]) for k in range(self.K)] + [self._first(r.theta1)]   # (m1, n, k)
        self.g = [self._first(r.exact[k][1]) for k in range(self.K)]
        self.e = [self._first(r.given[k][1]) - g for k, g in enumerate(self.g)]
        slots = range(self.K, 2 * self.K)
        large = [self._both(r.given[k][0] - r.exact[k][0]) for k in slots]
        self.z = sum(large) / self.K                                                  # (m1, m2, n, d)
        self.P, self.q = r.shared(r.w, r.theta)[0, 0], r.shared(r.w, r.theta1)[:, 0]
        self.GG = square(self.P) + r.own2(r.w, r.theta)[0, 0] / self.n
        self.F, self.EF1 = r.F(r.w, r.theta)[0, 0], r.mean(r.F(r.w1, r.theta1))
        self.H, self.H1 = r.F(r.w, r.theta1)[:, 0], self._both(r.F(r.w1, r.theta1))
        w = r.gradients(r.w, r.theta)[0][0, 0], r.gradients(r.w, r.theta1)[0][:, 0]
        self.change = square(w[1] - w[0])                                             # (m1, n)

    def _first(self, v):
        return np.broadcast_to(v, (self.m1, *v.shape[1:]))[:, 0]

    def _both(self, v):
        return np.broadcast_to(v, (self.m1, self.m2, *v.shape[2:]))

    def mean(self, v):
        """E v over the paths of Step 1, (m1, ...) -> (...)."""
        return (self.r.chances[0].reshape(-1, *(1,) * (v.ndim - 1)) * v).sum(0)

    def mean2(self, v):
        """E v over both steps, (m1, m2) -> ()."""
        return self.mean((self.r.chances[1] * v).sum(1))

    def loss(self, j, theta):
        """L_j(w, theta_j) on every path, theta (m1, n, k)."""
        whole = np.broadcast_to(self.theta[0][:1], theta.shape).copy()
        whole[:, j] = theta[:, j]
        at_start = self.r.F(self.r.w[:, 0], self.theta[0][:1])
        return (self.r.F(self.r.w[:, 0], whole) - at_start) * self.n   # up to L_j(w, theta_j) at the start, the same for all

    def variance(self, j):
        """E|z_j|^2 of the large batch. Noise that does not depend on the state is kept as its sum over slots and clients alone."""
        noise = noise_of(self.i)
        if noise.where is not None:
            return self.mean2(square(self.z[:, :, j]))
        loud = [k for k in range(self.K, 2 * self.K) if noise.slots is None or k in noise.slots]
        return sum((Q(v) ** 2 for v in noise.w), Q(0)) * len(loud) / self.K**2

    def server(self):
        """The numbers of Step 2."""
        z, one = self.z.sum(2) / self.n, self.variance(0)
        return {"EH": self.mean(self.H), "EH1": self.EF1, "Eq": self.mean(square(self.q)),
                "Eqz": self.mean2((self.q[:, None] * z).sum(-1)), "Ez": self.mean2(square(z)), "ez": one,
                "Sz": sum(map(self.variance, range(self.n))), "F": self.F, "GG": self.GG}, z


def apart(own, shared):
    """Vectors of theta and of w, at right angles to one another: no proof has their inner products."""
    k, d = (len(next(iter(part.values()))) for part in (own, shared))
    return {name: np.concatenate([v, [Q(0)] * d]) for name, v in own.items()} | {
        name: np.concatenate([[Q(0)] * k, v]) for name, v in shared.items()}


def readable(i):
    noise = i.noise
    return i.n <= FEW and i.K <= MOST and (not getattr(noise, "w", ()) or i.n * i.K <= MOST)


def constants(i):
    return {"gamma": i.gamma, "eta": i.eta, "N": Q(i.n), "K": Q(i.K), "sigma2": i.sigma2}


def smooth(i):
    """`displacement`, `personal_steps` and `one_round`: one client along Step 1, then the whole round."""
    if not readable(i):
        return
    run = Run(i)
    n, K, paths = run.n, run.K, range(min(FEW, run.m1))
    server, z = run.server()
    moved = [square(t - run.theta[0]) for t in run.theta]            # per k: (m1, n)
    grown = [run.mean(square(g)) for g in run.g]                      # per k: E|g_k|^2 (n,)
    S, own = sum(grown), square(run.g[0][0])
    r = run.q - run.P
    at = constants(i) | server | {
        "SS": S.sum(), "SE": run.mean(moved[K]).sum(), "SG": own.sum(), "Er": run.mean(square(r)), "SC": run.mean(run.change).sum(),
        "NF": n * run.F, "NH": n * run.mean(run.H)}
    for j in range(n):
        loss = {k: run.loss(j, run.theta[k]) for k in range(K + 1)}
        one = at | {"S": S[j], "EdK": run.mean(moved[K])[j], "SD": sum(run.mean(moved[k])[j] for k in range(K)),
                    "F0": run.mean(loss[0]), "F1": run.mean(loss[K]), "Ec": run.mean(run.change)[j],
                    "ez": run.variance(j)}
        for k, path in itertools.product(sorted({0, K - 1}), paths):
            g, e = run.g[k][:, j], run.e[k][:, j]
            u, v = (sum((part[s][:, j] for s in range(k)), 0 * g) for part in (run.e, run.g))
            noises = [run.mean(square(run.e[s][:, j])) for s in range(k)]
            known = one | {
                "k": Q(k), "Q": sum(grown[s][j] for s in range(k)), "Q1": sum((square(run.g[s][path, j]) for s in range(k)), Q(0)),
                "d": moved[k][path, j], "Ed": run.mean(moved[k])[j], "Eu": run.mean(square(u)), "Ev": run.mean(square(v)),
                "Es": sum(noises, Q(0)), "es": run.mean(square(e)), "Sk": sum((grown[s][j] for s in range(k)), Q(0)),
                "Eg": grown[k][j],
                "Ee": run.mean(square(e)), "Ege": run.mean((g * e).sum(-1)),
                "SDk": sum((run.mean(moved[s])[j] for s in range(k)), Q(0)),
                "Gk": square(g[path]), "g2": grown[k][j], "dk": moved[k][path, j], "EFk": run.mean(loss[k]),
                "EFk1": run.mean(loss[k + 1]), "Fk": loss[k][path], "Fk1": loss[k + 1][path], "q2": square(run.q[path]),
                "sc": run.change[path].sum(), "di": moved[K][path, j], "ci": run.change[path, j], "H": run.H[path]}
            known["rest"] = known["S"] - known["Q"]
            for b in range(min(FEW, run.m2)):
                yield (known | {"H1": run.H1[path, b]},
                       apart({"g": g[path], "e": e[path], "g0": run.g[0][path, j], "c": g[path] - run.g[0][path, j], "u": u[path],
                              "v": v[path]}, {"P": run.P, "r": r[path], "q": run.q[path], "z": z[path, b]}))


def quadratic(i):
    """`direction` and `quadratic_round`, for clients with one personal number each, which is their eigen-direction."""
    if not isinstance(i.problem, ft.Residual) or i.problem.personal > 1 or not readable(i) or "theta0" not in i.extra:
        return
    run, lam = Run(i), i.eta / i.n
    server, z = run.server()
    C, B = (ft.linalg.to_fractions(ft.RATIONAL.array(v)) for v in (i.problem.C[:, 0, 0], i.problem.B[:, :, 0]))
    powers = [[(1 - lam * c) ** s for s in range(run.K)] for c in C]
    v = [lam * sum(own) * run.g[0][0, j, 0] for j, own in enumerate(powers)]             # mean moves
    b = sum(B[j] * v[j] for j in range(run.n)) / run.n
    own2, moves = square(run.g[0][0]), [square(B[j] * v[j]) for j in range(run.n)]
    st, sw = (sum((Q(a) ** 2 for a in getattr(i.noise, part, ())), Q(0)) for part in ("theta", "w"))
    y = run.q - run.P + b
    at = constants(i) | server | {"NB": sum(moves), "NG": own2.sum(), "ND": run.n * (run.F - run.mean(run.H)), "st": st, "sw": sw,
                                  "Emy": run.mean((y * (run.P - b)).sum(-1)), "Ey": run.mean(square(y))}
    for j in range(run.n):
        noise, c, x = [e[:, j] for e in run.e], C[j], lam * C[j]
        grown = [0 * noise[0]]                                                            # the noise of theta_k
        for e in noise:
            grown.append((1 - x) * grown[-1] - lam * e)
        squares, drop = [run.mean(square(e)) for e in noise], run.loss(j, run.theta[0]) - run.loss(j, run.theta[run.K])
        E, S, xi = sum(squares), sum(powers[j]), grown[-1]
        one = at | {"c": c, "S": S, "m": Q(run.K), "x": x, "E": E, "X": run.mean(square(xi)), "v2": v[j] ** 2,
                    "cv2": (c * v[j]) ** 2,
                    "Exi": run.mean((run.g[0][:, j] * xi).sum(-1)), "Edrop": run.mean(drop), "Drop": run.mean(drop), "DE": E,
                    "DV": v[j] ** 2, "DC": (c * v[j]) ** 2, "DG": own2[j], "EV": E, "bb": moves[j], "ez": run.variance(j)}
        for k, path in itertools.product(sorted({0, run.K - 1}), range(min(FEW, run.m1))):
            known = one | {"k": Q(k), "Sk": sum(powers[j][:k], Q(0)), "Ek": sum(squares[:k], Q(0)), "Ee": squares[k],
                           "e2": squares[k],
                           "Xk": run.mean(square(grown[k])), "Xk1": run.mean(square(grown[k + 1])),
                           "a2": square(grown[k + 1][path]),
                           "Eae": run.mean((grown[k] * noise[k]).sum(-1)), "drop": drop[path], "q2": square(run.q[path]),
                           "H": run.H[path]}
            for second in range(min(FEW, run.m2)):
                yield (known | {"H1": run.H1[path, second]},
                       apart({"g": run.g[0][path, j], "xi": xi[path], "a": grown[k][path], "e": noise[k][path]},
                             {"m": run.P - b, "b": b, "y": y[path], "q": run.q[path], "z": z[path, second]}))


FIRST = 3   # rounds that are looked at


def runs(i):
    """The proofs of `theorem1`: what they name before and after each of the first rounds; the first start is known."""
    path = list(i.along(min(i.extra.get("rounds", FIRST), FIRST)))
    fixed = constants(i) | {"Fs": Q(0), "F0": path[0][0], "gap": path[0][0], "beta": i.beta}
    for r, ((now, grad2, far), (new, *_)) in enumerate(itertools.pairwise(path)):
        known = fixed | {"r": Q(r), "R": Q(r + 1), "Ft": now, "Fn": new, "FR": new, "Gt": grad2, "Et": far,
                         "Sr": sum((v for _, v, _ in path[:r]), Q(0)), "S": sum(v for _, v, _ in path[:r + 1])}
        yield known | ({"F": now, "EH1": new, "GG": grad2} if r == 0 else {}), {}
