"""What the symbols of the proofs about FedResAvg are on coded rounds, exactly: numbers and vectors on which every fact is tried."""
from fractions import Fraction as Q

from verification.fedres.one_round import root_above, square
from verification.fedres.paths import path

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
