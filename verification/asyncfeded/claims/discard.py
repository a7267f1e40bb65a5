"""Assumption 4 achieved by discarding, as Sec. 5.1 advises: the noise of the updates that are kept has no longer mean zero."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded import updates as up
from verification.asyncfeded.arrivals_run import rational
from verification.asyncfeded.claims.corollary1 import HILL, cor1, discarded, stale
from verification.asyncfeded.formulas import drift

GAMMA = Q(1, 10)
louder = stale("noise of size 9", HILL, 3, -1, Q(-48049, 10**5), paths.skewed(9), Gamma=GAMMA, discarding=True)
everyone = louder.but(discarding=False)


def kept_by_the_server(i):
    """[whether the coded server with discard = Gamma moves at all] for every outcome of the noise; a second client holds x_t."""
    two = ft.PiecewiseQuadratic([[1, -1, 1]] * 2, [[-10, 10]] * 2, [-20, -20]).to(ft.RATIONAL)
    algorithm = rational(ft.AsyncFedED(1, i.K, lam=1, eps=1, discard=GAMMA, solver=i.algorithm.solver))
    draw = ft.EventClock((1, 2), steps=i.K).support(2)[0][1]
    start = algorithm.init(two, _row([i.now[0]]), draw)
    start = start._replace(base=np.stack([_row([i.base[0]]), _row([i.now[0]])]))
    out = []
    for row in range(2**i.K):
        noise = [paths.path(everyone if i is louder else i.but(discarding=False)).noise[k][row] for k in range(i.K)]
        after = algorithm.round(two, start, draw._replace(xi=lambda k, noise=noise: np.stack([_row(noise[k])] * 2)))
        out.append(bool(after.x[0] != start.x[0]))
    return out


def _row(values):
    return ft.RATIONAL.array(np.array(list(values), dtype=object))


def _discarded():
    one, all_of = up.updates(louder)[0], up.updates(everyone)[0]
    bound = sum(drift.theorem1(3, louder.L, louder.slope2, louder.sigma_g2, louder.sigma2).values())
    comparison = cor1.body(discarded)
    moves = {i.name: kept_by_the_server(i) for i in (louder, discarded)}
    return (*(ft.equal(sum(v), 1, f"{k}: the coded server keeps one outcome of eight") for k, v in moves.items()),
            ft.at_most(Q(179, 100) * bound, one.paths.drift[3], "Theorem 1 among the kept: exceeded 1.79 times"),
            ft.at_most(all_of.paths.drift[3], bound, "Theorem 1 over all outcomes holds"),
            ft.at_most(Q(1108, 1000) * comparison.rhs.total, comparison.lhs, "Corollary 1 among the kept: exceeded 1.108 times"),
            ft.equal([b[0, 0] for b in one.paths.bias], [9] * 3, "mean of the kept noise at each step"))


ft.finding("a4-discard", kind="missing-hypothesis", breaks="cor1", at=(discarded.name,), check=_discarded,
           script="witnesses/a4-discard.py",
           step="A4 'is easily achieved by simply discarding any update that is older than the given threshold'; (25e) and (17) "
                "erase products of noise and gradients as if all outcomes were kept",
           reading="E over the updates that the server uses. gamma depends on |Delta|: keeping those with gamma <= Gamma favours "
                   "long updates. A2 holds as printed, for every draw and before the choice.",
           survives="Both where nothing can be discarded: gamma <= Gamma for every outcome of the noise (cor1). Theorem 1, which "
                    "does not use A4, over all outcomes.")
