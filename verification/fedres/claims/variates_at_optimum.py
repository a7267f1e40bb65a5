"""Section 3.2: what the control variates correct, at the joint optimum and along noiseless runs."""
from itertools import pairwise

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.round_maps import maker
from verification.fedres.formulas import round_maps as f
from verification.fedres.free import Answers, Free, any_loss, array, numbers, read
from verification.fedres.instances import figure1
from verification.fedres.one_round import Noise, Noisy, gamma
from verification.fedres.proofs import mismatch as proofs
from verification.symbols import Symbols

option1, option2 = (maker(ft.FedResAvg, option=k) for k in (1, 2))


def corrected(asked, K, d, eta):
    """(w_i^[k] - w_i^[k+1])/eta (K - 1, n, d): what the coded local steps of Step 2 subtract; asked: points by slot."""
    path = asked[K:, :, :d]
    return (path[:-1] - path[1:]) / eta


@ft.claim("remark-cv-at-optimum", on=[any_loss(f"Option {'I' * k}", make) for k, make in ((1, option1), (2, option2))],
          covers={"n": "3", "d": "all", "tau": "3"}, rejects=[bugs.variates_not_averaged],
          domain="every loss: of the clients only their gradients at the optimum are used; each coordinate is treated alike")
def remark_cv_at_optimum(i):
    r"""At the joint optimum with $c_i=\nabla_wL_i(w^*,\theta_i^*)$ Option II's corrected gradient $g_i^{(k)}-c_i+c$ equals the mean
    gradient $\frac1N\sum_j\nabla_wL_j=0$ in every local step; Option I's is $\nabla_wL_i(w^*,\theta_i^*)$ in the first one."""
    one = i.option == 1
    _, asked = i.noted(i.w, i.theta) if one else i.noted(i.w, i.theta, i.c, i.g)
    steps, mean = corrected(asked, i.K, 2, i.eta), f.mean(list(i.g))
    if one:
        return ft.equal(steps[0], i.g, "the first local step takes the client's own gradient")
    return [ft.equal(step, np.stack([mean] * i.n), f"local step {k + 1}") for k, step in enumerate(steps)]


# ---- along a run ------------------------------------------------------------------------------------------
def two_rounds(n, K):
    """n clients that answer with free symbols, other ones in each of two rounds of Option II."""
    s = Symbols("eta lam", g=4 * K * n * 2, h=4 * K * n * 2, w=2, t=2 * n)
    problem = Answers(*(np.array(v, dtype=object).reshape(4 * K, n, 2) for v in (s.g, s.h)))
    return Free(f"{n} clients, K={K}, free gradients", problem, option2(s.eta, s.lam, K), ft.Full(), domain=s.field, w=array(s.w),
                theta=np.array(s.t, dtype=object).reshape(n, 2), says="every gradient of two rounds is a free vector")


def split(i):
    """The corrected gradient of round 2 from those that the coded rounds were given: g - a_i + (a_i - c_i) - mean_j (a_j - c_j)."""
    K, g = i.K, i.problem.gw
    one, _ = i.noted(i.w, i.theta)
    asked = i.algebra[0].asked
    asked.clear()
    i.coded(one.x, list(one.theta), one.c, one.ci, noise=lambda k: k + 2 * K)
    path = np.stack([asked[2 * K + k] for k in range(2 * K)])
    a, variate = g[3 * K], g[K:2 * K].sum(0) / K    # both (n, 2)
    off = f.mean(list(a - variate))
    stated = g[3 * K:4 * K - 1] - a + (a - variate) - off + f.mean(list(a))
    return (ft.equal(corrected(path, K, 2, i.eta), stated, "corrected gradient"),
            ft.equal(path[K][:, :2], np.stack([read(one.x)] * i.n), "a_i is asked at w"))


def rounds(i):
    """[(w, theta', path (K, n), gradients (K, n))] of coded noiseless rounds on the line, from (w, theta) = (1, -1)."""
    problem, algorithm = Noisy(i.problem.to(ft.RATIONAL), Noise()), i.algorithm.to(ft.RATIONAL)
    state, K, n = algorithm.init(problem, ft.RATIONAL.array([1])), i.K, i.n
    state, out = state._replace(theta=state.theta - 1), []
    for _ in range(i.rounds):
        problem.points.clear()
        problem.exact.clear()
        w = state.x
        state = algorithm.round(problem, state, ft.everyone(n, K))
        path = read(np.stack([np.broadcast_to(v, (n, 1)) for v, _ in problem.points[K:]]))[..., 0]
        out.append((read(w)[0], read(problem.points[K][1])[:, 0], path, read(np.stack([g for g, _ in problem.exact[K:]]))[..., 0]))
    return out


def distances(i):
    """Of every round from the second: (mismatches (K - 1, n), d (K - 1, n), s, H (n,), t (n,), this round, the one before)."""
    for before, now in pairwise(rounds(i)):
        (w0, theta0, path0, _), (w, theta, path, g) = before, now
        e = abs((path[:-1] - path[1:]) / i.eta - g[0].sum() / i.n)
        yield e, abs(path[:-1] - w), abs(w - w0), abs(path0 - w0).max(0), abs(theta - theta0), now, before


def meaning(i):
    """The numbers of the proof, for every client, local step and local step of the round before."""
    if isinstance(i.domain, ft.Field) or i.K > 5:
        return
    fixed = {"gamma": gamma(i), "N": ft.fraction(i.n), "K": ft.fraction(i.K)}
    for e, d, s, H, t, (w, _, _, g), (w0, _, path0, g0) in distances(i):
        own, v = g[0] - g0.sum(0) / i.K, abs(g[0] - g0)
        fixed |= {"s": s, "M": (d.max(0) + s + H + t).max(), "Own": abs(own).sum(), "mean": abs(own.sum()) / i.n}
        for k, j, h in np.ndindex(*d.shape, i.K):
            yield fixed | {"e": e[k, j], "near": abs(g[k, j] - g[0, j]), "own": abs(own[j]), "away": abs(w - path0[h, j]),
                           "v": v[h, j], "V": v[:, j].sum(), "d": d[k, j], "h": abs(w0 - path0[h, j]), "H": H[j], "t": t[j]}, {}


huber = ft.Personal(ft.HuberLoss([[[1, 1], [2, -1]], [[-1, 2]]], [[1, -2], [3]], "1/2"), 1)
on_runs = [two_rounds(2, 2), two_rounds(3, 3), *ft.illustrate([
    Free(name, problem, option2(eta, lam, K, alpha), ft.Full(), rounds=rounds, says=says)
    for name, problem, eta, lam, K, alpha, rounds, says in (
        ("three clients", numbers(3, 1, (1, 1, 1)), "1/20", "1/10", 4, 1, 4, "quadratics"),
        ("one client", numbers(1, 1, (1,)), "1/10", "1/5", 3, 1, 3, "one client"),
        ("five clients, long", numbers(5, 1, (1,) * 5), "1/100", "1/50", 100, 2, 3, "100 local steps, alpha = 2"),
        ("Figure 1", figure1(), "1/100", "1/100", 5, 1, 4, "not strictly convex"),
        ("Huber losses", huber, "1/10", "1/20", 5, "3/2", 5, "not quadratic: runs cross the kinks"),
        ("large steps", numbers(2, 1, (1, 1)), 1, 1, 3, 1, 3, "the run diverges; the bound asks for no step size"))])]


@ft.claim("remark-cv-mismatch", on=on_runs, covers={"n": "all", "d": "all", "tau": "all"}, proof=proofs.mismatch, meaning=meaning,
          rejects=[bugs.mean_not_divided, bugs.variates_dropped, bugs.variates_not_averaged], domain=proofs.EVERY)
def remark_cv_mismatch(i):
    r"""Along noiseless runs of Option II, from round 2, every corrected gradient $g_i^{(k)}-c_i+c$ is within $2\gamma M$ of
    $\frac1N\sum_j\nabla_wL_j(w^r,\theta_j^{r\prime})$, where $M$ is the largest
    $\|w_j^{[k]}-w^r\|+\|w^r-w^{r-1}\|+\|w^{r-1}-w_j^{r-1,[h]}\|+\|\theta_j^{r\prime}-\theta_j^{r-1\prime}\|$ over clients and
    local steps."""
    if isinstance(i.domain, ft.Field):
        return split(i)
    return [ft.at_most(e.max(), f.mismatch(gamma(i), (d.max(0) + s + H + t).max()), f"round {r}")
            for r, (e, d, s, H, t, _, _) in enumerate(distances(i), 2)]
