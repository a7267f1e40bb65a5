"""What the symbols of the proofs about FedResAvg are on coded rounds, exactly: numbers and vectors on which every fact is tried."""
from fractions import Fraction as Q

import numpy as np

from verification.fedres.one_round import gamma2, root_above, square
from verification.fedres.paths import Noise, path, run_of
from verification.fedres.rounds import clients

FEW = 2   # clients, local steps and outcomes that are looked at


def _constants(i):
    return {"gamma": i.gamma, "alpha": i.alpha, "eta": i.eta, "lam": i.lam, "K": Q(i.K), "N": Q(i.n), "sigma2": i.sigma2,
            "G2": i.G2}


def step_two(i):
    """Lemma 8 in the first round, from every outcome."""
    if i.n * i.K > 12:
        return
    r, K, n = path(i), i.K, i.n
    (w, theta, _), (w1, theta1, _) = r.states[:2]
    exact, given = ([v[k][0] for k in range(K, 2 * K)] for v in (r.exact[0], r.given[0]))
    noise = [a - b for a, b in zip(given, exact, strict=True)]
    at_new, at_old = r.gradients(w, theta1)[0], r.gradients(w, theta)[0]
    P, M, X = at_new.mean(1), sum(v.mean(1) for v in exact) / K, sum(v.mean(1) for v in noise) / K
    F, F1 = r.F(w, theta1), r.F(w1, theta1)
    drifts = [square(r.points[0][K + k][0] - w[:, None]) for k in range(K)]     # (m, n)
    changes = [square(g - at_new) for g in exact]
    moved, turned = square(theta1 - theta), square(at_new - at_old)
    own, noises = [v[1] for v in r.exact[0][:K]], [a[1] - b[1] for a, b in zip(r.given[0][:K], r.exact[0][:K], strict=True)]
    a, b = sum(own), sum(noises)
    Sds, loud = sum(v.sum(-1) for v in drifts), [r.mean(square(v)) for v in noise]
    at = _constants(i) | {"EF": r.mean(F), "EF1": r.mean(F1), "EP": r.mean(square(P)), "ESds": r.mean(Sds),
                          "EPX": r.mean((P * X).sum(-1)),
                          "EX": r.mean(square(X)), "Es": sum(v.sum() for v in loud), "ESe": r.mean(moved.sum(-1))}
    for o in range(min(FEW, len(r.chances))):
        for j in range(min(FEW, n)):
            for k in {0, K - 1}:
                quiet = [r.mean(square(v[:, j])) for v in noises]
                numbers = {"F": F[o], "F1": F1[o], "Sds": Sds[o], "ds": drifts[k][o, j], "Sr": sum(v[o].sum() for v in changes),
                           "es": loud[k][j], "e": moved[o, j], "Se": moved[o].sum(), "Sq": turned[o].sum(),
                           "Ee": r.mean(moved[:, j]), "gg": square(own[k][o, j]), "Sgg": sum(square(v[o, j]) for v in own),
                           "nn": quiet[k], "Snn": sum(quiet), "Eb": r.mean(square(b[:, j]))}
                yield at | numbers, {"P": P[o], "M": M[o], "X": X[o], "Q": at_old[o].mean(0), "r": exact[k][o, j] - at_new[o, j],
                                     "q": at_new[o, j] - at_old[o, j], "a": a[o, j], "b": b[o, j]}


def _norm(v):
    """|v|, exact on the line."""
    return root_above(square(v)) if len(v) > 1 else abs(v[0])


def local_runs(i):
    """Lemma 9 in the last round, the pieces of its proof and the crude drift; single outcomes where there is no noise."""
    r, K, n, last = path(i), i.K, i.n, i.rounds - 1
    if n * K > 24 or not last:
        return
    old, now = (_of_round(r, k, K) for k in (last - 1, last))
    w0, w, c = r.states[last - 1][0], r.states[last][0], r.states[last][2].mean(1)
    theta0 = r.states[last - 1][1]
    mean = sum(g.mean(1) for g in old["g"]) / K                    # of the exact gradients of the round before
    own = sum(old["g"]) / K                                        # a_i
    loud = sum(old["n"]) / K                                       # b_i
    g = r.gradients(w0, theta0)[0].mean(1)
    move = r.mean(square(w - w0))
    at = _constants(i) | {"EA2": move, "Eg2": r.mean(square(g)), "EB2": r.mean(square(loud.mean(1))),
                          "Ev2": r.mean(square(mean - g)),
                          "G": root_above(i.G2)}
    quiet = len(r.chances) == 1
    for j in range(min(FEW, n)):
        personal, back = square(now["theta"][:, j] - old["theta"][:, j]), square(old["theta"][:, j] - theta0[:, j])
        of_client = at | {"Eb2": r.mean(square(loud[:, j])), "EA4": r.mean(personal), "EA5": r.mean(back), "Ee": r.mean(personal)}
        for k in sorted({1, K - 1} & set(range(1, K))):
            so_far = sum(now["g"][h][:, j] for h in range(k)) / k
            t = square(so_far - own[:, j])
            numbers = of_client | {"k": Q(k), "ED": r.mean(square(now["w"][k][:, j] - w)),
                                   "En2": r.mean(square(sum(now["n"][h][:, j] for h in range(k)))),
                                   "Et2": r.mean(t), "EA1": r.mean(square(now["w"][k][:, j] - w)),
                                   "EA3": r.mean(square(old["w"][K - 1][:, j] - w0))}
            if quiet:
                numbers |= {"D": numbers["ED"], "g2": at["Eg2"], "t2": t[0], "v2": at["Ev2"],
                            "a1": _norm(now["w"][k - 1][0, j] - w[0]),
                            "a2": _norm(w[0] - w0[0]), "a3": _norm(old["w"][K - 1][0, j] - w0[0]), "c": _norm(c[0]),
                            "a4": _norm(now["theta"][0, j] - old["theta"][0, j]), "a5": _norm(old["theta"][0, j] - theta0[0, j]),
                            "f": _norm(now["w"][k - 1][0, j] - old["w"][K - 1][0, j]),
                            "rho": _norm(now["g"][k - 1][0, j] - old["g"][K - 1][0, j]),
                            "q2": square(now["g"][k - 1][0, j] - old["g"][K - 1][0, j]),
                            "far": _norm(old["g"][K - 1][0, j] - r.gradients(w0, theta0)[0][0, j]),
                            "z2": square(old["g"][K - 1][0, j] - r.gradients(w0, theta0)[0][0, j])}
            yield numbers, {}


def _of_round(r, k, K):
    """Gradients, noise and iterates of Step 2 of a round, per local step, and theta after Step 1."""
    exact, given = ([v[K + h][0] for h in range(K)] for v in (r.exact[k], r.given[k]))
    return {"g": exact, "n": [a - b for a, b in zip(given, exact, strict=True)], "w": [r.points[k][K + h][0] for h in range(K)],
            "theta": r.points[k][K][1]}


def rounds(i):
    """One round of `either` and (9), and the sums of Theorem 2, along the coded rounds."""
    yield from step_two(i)
    r, K, n, s = path(i), i.K, Q(i.n), i.s
    values, squares = [r.value(k) for k in range(i.rounds + 1)], [r.squares(*v[:2]) for v in r.states]
    shared, own = ([r.mean(v[k]) for v in squares] for k in (0, 1))
    gradients = [a + b / n**2 for a, b in zip(shared, own, strict=True)]
    least = i.least if "least" in i.extra else min(values)
    base = _constants(i) | {"s": s, "R": Q(i.rounds), "E1": values[0] - least}
    for k in range(i.rounds):
        drift = r.drifts(k, K)
        middle = r.mean(r.F(r.states[k][0], r.states[k + 1][1]))
        numbers = {"F0": values[k], "EF0": values[k], "EEF1": values[k + 1], "EQ2": shared[k], "ET2": own[k], "EEds": drift.sum(),
                   "EG": gradients[k], "Er": values[k] - least, "Er1": values[k + 1] - least,
                   "r": Q(k), "sumG": sum(gradients[:k], Q(0)),
                   "totalG": sum(gradients[:i.rounds], Q(0)), "last": values[-1] - least, "S0": n * values[k], "S1": n * middle,
                   "ESds": drift.sum(), "Q2": shared[k], "T2": own[k], "ED": drift[-1, 0]}
        if k == 0:
            numbers |= {"EF": middle, "EF1": values[1]}
        if k:
            numbers |= {"Eg2": shared[k - 1], "Eh2": own[k - 1] / n**2, "EGb": gradients[k - 1],
                        "delta": 6 * i.gamma * i.eta**2 * K**2 * gradients[k - 1],
                        "delta1": 6 * i.gamma * i.eta**2 * K**2 * gradients[k]}
        yield base | numbers, {}


def _tuned_runs():
    """(run, x, q) of convex Huber sums with F* = 0 at 0, at u = 1/max(96 gamma, x, q)."""
    for name, U, K, w, noise, count, x, q in (
            ("one client, noise", [[[1, 0], [0, 1]]], 1, 1, Noise((Q(1, 2),), (Q(1),), 2), 2, 200, 300),
            ("four clients", [[[3, 4], [0, 1]], [[1, 0]], [[0, 2]], [[4, -3]]], 2, 2, 0, 3, 900, 480),
            ("at the cap", [[[3, 4]]], 3, 1, 0, 3, 0, 1)):
        problem = clients(U)
        gamma, n = root_above(gamma2(problem), 3), Q(len(U))
        u = 1 / max(96 * gamma, Q(x), Q(q))
        yield run_of(name, problem, K, u / root_above(n) / K, w=w, theta=1, noise=noise, rounds=count), gamma, u, Q(x), Q(q)


def tuned(_):
    """The convex bound along coded rounds at a tuned step: with the sigma^2 and G^2 that x and q stand for."""
    for i, gamma, u, x, q in _tuned_runs():
        r, R, K, N = path(i), Q(i.rounds), Q(i.K), Q(i.n)
        D = 2 * root_above(max(r.mean(square(w) + square(theta).sum(-1)) for w, theta, _ in r.states), 2)
        a, D2 = 4 * D**2 / R, D**2
        sigma2, G2 = x**3 * a**2 * N * K / (8 * D2 * gamma), q**4 * a**2 * N / (44 * D2 * gamma**2)
        c, e = u / (4 * D2), a * (x + q)
        at = {"gamma": gamma, "eta": i.eta, "K": K, "s": i.s, "N": N, "R": R, "D2": D2, "D": D, "sigma2": sigma2, "x": x,
              "q": q, "c": c,
              ("E" if 2 * c * e >= 1 else "e"): e, "S": a * x, "T": a * q, "d": c * e**2, "B": r.value(i.rounds), "G2": G2}
        for k in range(i.rounds):
            (w, theta, _), now, later = r.states[k], r.value(k), r.value(k + 1)
            g, h = r.gradients(w, theta)
            P = np.concatenate([g.mean(1), h.reshape(len(h), -1) / N], axis=1)
            z = np.concatenate([w, theta.reshape(len(theta), -1)], axis=1)
            shared, own = (r.mean(v) for v in r.squares(w, theta))
            numbers = {"Er": now, "Er1": later, "y": Q(1, 2) - c * now, "y1": Q(1, 2) - c * later, "EG": shared + own / N**2,
                       "EQ2": shared, "ET2": own, "Ez": r.mean(square(z)), "Ezz": r.mean(square(z)), "EPz": r.mean((P * z).sum(-1))}
            for o in range(min(FEW, len(w))):
                yield at | numbers | {"f": r.F(w, theta)[o]}, {"P": P[o], "z": z[o]}
