"""What the symbols of the proofs of `steps` are on coded rounds, exactly: numbers and vectors on which every fact is tried."""
import itertools

import numpy as np

from verification.fedres.one_round import FEW as SLOTS
from verification.fedres.one_round import one_round, root_above, square

FEW = 3   # clients and outcomes that are looked at


def _constants(i):
    return {"gamma": i.gamma, "lam": i.lam, "eta": i.eta, "K": i.K, "N": i.n, "sigma2": i.sigma2} | (
        {} if i.G2 is None else {"G": root_above(i.G2)})


def _along(r, slots, n):
    """Gradients, noise (m, n, k) and points (m, n, k) of theta in these slots, over all outcomes of Step 1."""
    m = len(r.chances[0])

    def spread(v):
        return np.broadcast_to(v, (m, *v.shape[1:]))[:, 0]
    g = [spread(r.exact[k][1]) for k in slots]
    noise = [spread(r.given[k][1]) - v for k, v in zip(slots, g, strict=True)]
    return g, noise, [spread(r.points[k][1]) for k in slots] + [spread(r.theta1)]


def step1(i):
    """Lemma 5: single clients along Step 1, then all of them."""
    if i.n > FEW:
        return
    r = one_round(i)
    chance, (g, noise, theta) = r.chances[0], _along(r, range(i.K), i.n)
    at = _constants(i) | {"F": r.F(r.w, r.theta)[0, 0], "F1": r.mean(r.F(r.w, r.theta1)), "A": r.own2(r.w, r.theta)[0, 0]}

    def mean(v):
        return (chance * v).sum()

    for j in range(i.n):
        def loss(points, j=j):
            whole = np.broadcast_to(r.theta[:, 0], points.shape).copy()
            whole[:, j] = points[:, j]
            return r.F(r.w[:, 0], whole) / r.p()[j]
        values = {k: loss(theta[k]) for k in {0, 1, i.K - 1, i.K} if k <= i.K}
        first = mean(values[0])
        for k in sorted({0, i.K - 1}):
            S, M = (sum((v[:, j] for v in parts[:k]), 0 * g[0][:, j]) for parts in (g, noise))
            own, n = g[k][:, j], noise[k][:, j]
            known = at | {"k": k, "L0": first, "EL": mean(values[k]), "EL1": mean(values[k + 1]), "ELK": mean(values[i.K]),
                          "Eg": mean(square(own)), "Egn": mean((own * n).sum(-1)), "En": mean(square(n)), "EM": mean(square(M)),
                          "SEn": sum((mean(square(v[:, j])) for v in noise[:k]), 0)}
            at_slot = {"W": k, "W1": k + 1, "WK": i.K}
            points = {name: g[0][:, j] + i.gamma * (theta[slot] - theta[0])[:, j] for name, slot in at_slot.items()}
            length = {name: square(v) for name, v in points.items()} | {"y": (g[0][:, j] * M).sum(-1)}
            length["z"] = ((points["W"] - i.gamma * i.lam * own) * n).sum(-1)
            known |= {f"E{name}": mean(v) for name, v in length.items()} | {"r": abs(g[0][0, j, 0])}
            for o in range(min(FEW, len(chance))):
                yield (known | {name: v[o] for name, v in length.items()} | {"L": values[k][o], "L1": values[k + 1][o],
                                                                             "LK": values[i.K][o]},
                       {"g0": g[0][o, j], "g": own[o], "n": n[o], "S": S[o], "M": M[o], "D": theta[i.K][o, j] - theta[0][o, j]})


def step2(i):
    """(6) and Lemma 6: Step 2 after every outcome of Step 1."""
    if i.n * i.K > SLOTS:
        return
    r = one_round(i)
    m1, m2 = (len(v) for v in r.chances)
    p, slots = r.p()[:, None], range(i.K, 2 * i.K)
    new, old = r.shared(r.w, r.theta1), r.shared(r.w, r.theta)[0, 0]
    start, after = r.F(r.w, r.theta1), np.broadcast_to(r.F(r.w1, r.theta1), (m1, m2))
    noise = [np.broadcast_to(r.given[k][0] - r.exact[k][0], (m1, m2, i.n, i.problem.d)) for k in slots]
    mean_noise = sum((p * v).sum(-2) for v in noise) / i.K
    one, two = (r.gradients(r.w, theta)[0] for theta in (r.theta, r.theta1))
    for a in range(min(FEW, m1)):
        h = new[a, 0]
        variances = [(r.chances[1] * square(v[a, :, j])).sum() for v in noise for j in range(i.n)]
        at = _constants(i) | {"F": start[a, 0], "EF1": (r.chances[1] * after[a]).sum(), "Se": sum(variances) / (i.n * i.K) ** 2,
                              "En": (r.chances[1] * square(mean_noise[a])).sum(),
                              "Ehn": (r.chances[1] * (mean_noise[a] * h).sum(-1)).sum()}
        changed = square(two[a, 0] - one[0, 0])
        moved = square(r.theta1[a, 0] - r.theta[0, 0])
        at |= {"SD": (r.p() * changed).sum()}
        for b, j in itertools.product(range(min(FEW, m2)), range(min(FEW, i.n))):
            yield (at | {"F1": after[a, b], "e": variances[j], "D2": changed[j], "T2": moved[j]},
                   {"h": h, "n": mean_noise[a, b], "q": old})
