"""Section 5 footnote 1, Appendix G up to eq 180 and Algorithm 1: FedNova under client sampling."""
import numpy as np

import fltheory as ft
from fltheory.core.laws.draw import Draw
from fltheory.core.scalars import is_rational
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.formulas import client_sampling as c
from verification.fednova.instances import client_sampling as I
from verification.fednova.instances import sampling_families as families

# ---- what the coded server and the coded round do with a sample -------------------------------------------


def server_moves(i, changes):
    """[(probability, who, move (d,))]: the coded server step at 0 for every cohort of the law.

    changes(who) -> (places, d) are fed as the cohort's displacements; the masses are eta t_i."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    t, out = np.array(i.t, dtype=object), []
    for prob, who, present in i.law.cohorts(problem.n):
        members = np.arange(problem.n)[who] if isinstance(who, slice) else who
        change = i.domain.array(np.array(changes(members), dtype=object))
        mass = i.domain.array((i.eta * t[members])[:, None])
        draw = Draw(who, present, np.ones(len(members), dtype=np.int64))
        out.append((prob, members, read(algorithm.server(0 * change[0], problem.at(who), draw, change, mass))))
    return out


def read(numbers):
    """Exact numbers as Fractions, symbols as they are: flint's rationals do not mix with Fractions."""
    return np.array([ft.fraction(v) if is_rational(v) else v for v in numbers], dtype=object)


def run_variance(i):
    """E|(1/q) sum (d_l - h_l)|^2 of the coded server for uncorrelated runs of mean zero and variances v_i.

    Each run is fed along a unit vector of its own; with `shared` all draws of one client are one run."""
    n = i.problem.n

    def runs(who):  # d = change/(eta t): unit vectors times eta t
        size = n if i.shared else len(who)
        return [[i.eta * i.t[k] * int(j == (k if i.shared else place)) for j in range(size)]
                for place, k in enumerate(who)]
    total = 0
    for prob, who, move in server_moves(i, runs):
        owner = range(n) if i.shared else who
        total = total + prob * sum(i.v[k] * m * m for k, m in zip(owner, move, strict=True))
    return total / (i.eta * i.tau_eff) ** 2


def round_square(i):
    """E|(x - x+)/(tau_eff eta)|^2 of one coded round from x0: exact second moments of the operator."""
    x = i.domain.array(np.array(i.x0, dtype=object))
    _, (mean, second) = i.op.trajectory(2, i.x0)
    return read([ft.linalg.trace(second) - 2 * (mean * x).sum() + (x * x).sum()])[0] / (i.tau_eff * i.eta) ** 2


def coded_square(i):
    """The same by enumeration of the coded round over the law's outcomes, for any problem without noise."""
    return sum(p * ((x - i.start()) ** 2).sum() for p, x in i.outcomes()) / (i.tau_eff * i.eta) ** 2


def runs(i):
    """(h (n, d), gradients at x0 (n, d), spreads of h, of d, of 2h - d) from the prefix coefficients of the paper."""
    x, sigma2 = ft.declare(i.x0), i.noise**2
    if hasattr(i, "gradient"):
        gradient = [lambda y, k=k: i.gradient(k, y) for k in range(len(i.p))]
    else:
        gradient = [lambda y, H=H, b=b: (H * y).sum(-1) - b for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    h = [c.averaged_gradient(g, x, i.eta, i.solver, t, i.value) for g, t in zip(gradient, i.taus, strict=True)]
    g = [each(x) for each in gradient]
    if not i.noise:
        return h, g, *([0] * len(h) for _ in range(3))
    both = [c.noise_response(H, i.eta, i.solver, t, i.value) for H, t in zip(i.problem.H, i.taus, strict=True)]
    return (h, g, [c.spread(a, sigma2) for a, _ in both], [c.spread(b, sigma2) for _, b in both],
            [c.spread([2 * u - v for u, v in zip(a, b, strict=True)], sigma2) for a, b in both])


# ---- footnote 1 -------------------------------------------------------------------------------------------


def rule12_in_mean(i):
    """The mean over the law of the coded server step, and of the whole coded round, is rule 12."""
    if i.part == "server":
        stated = c.rule12(i.p, i.c, i.t, i.tau_eff)
        return ft.equal(sum(prob * move[0] for prob, _, move in server_moves(i, lambda who: [[i.c[k]] for k in who])),
                        stated, "server step")
    matrix, offset = c.rule12_map(i.problem.H, i.problem.b, i.p, i.eta, i.taus, i.tau_eff)
    M, shift = i.op.mean_map()
    return ft.equal(M, matrix, "matrix of the mean round"), ft.equal(shift, offset, "its offset")


_footnote_bugs = [bugs.tau_eff_halved, bugs.normaliser_missing, bugs.one_step_more, bugs.renormalised_weights]
_subset_bugs = [bugs.weights_not_renormalised, bugs.fednova_scaled_up]


@ft.claim("footnote1-i", covers={"tau": "all"},
          on=I.footnote_i, rejects=[*_footnote_bugs, bugs.without_replacement, bugs.hidden_proximal],
          domain="server step: n = 2 with q = 1, 2, 3 and n = 3 with q = 2, every p, tau_eff, |a_i|_1 and every change "
                 "of the clients (so every solver, tau_i, objective and noise); whole coded round: n = 2, every scalar "
                 "quadratic, steps (1,2) with q = 2 and (2,3) with q = 1")
def footnote_i(i):
    r"""$l_1,\dots,l_q$ i.i.d. with $P(l=i)=p_i$ and a fixed $\tau_{\rm eff}$:
    $x^+=x-\tau_{\rm eff}\,\eta\frac1q\sum_jd_{l_j}$ has mean $x-\tau_{\rm eff}\,\eta\sum_ip_id_i$ (rule 12)."""
    return rule12_in_mean(i)


@ft.claim("footnote1-ii", covers={"tau": "all"},
          on=I.footnote_ii, rejects=[*_footnote_bugs, *_subset_bugs],
          domain="server step: n = 2, 3, 4 with subsets of several sizes q, every p, tau_eff, |a_i|_1 and every change "
                 "of the clients (so every solver, tau_i, objective and noise); whole coded round: every scalar "
                 "quadratic, n = 2, q = 1, steps (1,2) and n = 3, q = 2, steps (1,2,2)")
def footnote_ii(i):
    r"""A uniform subset $\mathcal S$ of $q$ clients without replacement, weights $p_im/q$ and a fixed $\tau_{\rm eff}$:
    $x^+=x-\tau_{\rm eff}\,\eta\sum_{i\in\mathcal S}\frac{p_im}qd_i$ has mean rule 12."""
    return rule12_in_mean(i)


# ---- repeated draws ---------------------------------------------------------------------------------------
_law_bugs = [bugs.without_replacement, bugs.one_draw_less]
fresh = ft.Hypothesis("fresh runs", "every draw makes a run of its own (number of shared runs is 0)",
                      lambda i: (i.shared, 0))


@ft.claim("eq163-fresh-runs", covers={"tau": "all"},
          on=I.fresh_runs, needs=[fresh], rejects=[*_law_bugs, bugs.one_step_more], bound=True,
          domain="sampling: n = 2 with q = 2, 3 and n = 3 with q = 2, every p and |a_i|_1, uncorrelated runs of any "
                 "variances, any dependence of h on the noise; whole coded round: every pair of scalar quadratics, p, "
                 "eta, tau_eff, x, steps (1,2) with q = 2 and (2,2) with q = 1")
def eq163(i):
    r"""With fresh runs for repeated draws
    $E\Big\|\frac1q\sum_j(d_{l_j}-h_{l_j})\Big\|^2=\frac1q\sum_ip_iE\|d_i-h_i\|^2$, hence
    $$E\Big\|\frac1q\sum_jd_{l_j}\Big\|^2\le\frac{2\sigma^2}q\sum_ip_i\frac{\|a_i\|_2^2}{\|a_i\|_1^2}
    +2E\Big\|\frac1q\sum_jh_{l_j}\Big\|^2.$$
    """
    if i.part != "round":
        parts = ft.equal(run_variance(i), ft.Terms(fresh=c.fresh_variance(i.p, i.v, i.q)),
                         "eq 162: variance of the coded sampled mean")
        if i.part == "variance":  # runs with h = 0 and A2 tight
            return parts, ft.at_most(run_variance(i), 2 * c.fresh_variance(i.p, i.v, i.q), "eq 163 with h = 0")
        return parts, *_split(i)
    h, _, of_h, of_d, of_gap = runs(i)
    share = c.noise_share(i.p, [f.a_vector(i.solver, t, i.value) for t in i.taus])
    terms = {"noise": 2 * ft.fraction(i.noise) ** 2 * share / i.q, "mean": 2 * c.mean_square(i.p, i.q, h, of_h)}
    left = round_square(i)
    if i.domain is ft.RATIONAL:
        return ft.at_most(left, ft.Terms(**terms))
    rest = c.mean_square(i.p, i.q, h, of_gap)  # E|(1/q) sum (2h - d)|^2 >= 0
    return (ft.equal(left, c.mean_square(i.p, i.q, h, of_d), "second moment of the coded sampled mean"),
            ft.equal(left + rest, ft.Terms(**terms), "the right side exceeds the left by E|(1/q) sum (2h - d)|^2"))


def _split(i):
    """|u + w|^2 = 2|u|^2 + 2|w|^2 - |u - w|^2 through the coded server for every sample, and A2 termwise."""
    def squares(combine):
        moves = server_moves(i, lambda who: [[combine(i.c[place], i.b[place])] for place, _ in enumerate(who)])
        return np.array([m[0] * m[0] for _, _, m in moves])
    both, minus = squares(lambda u, w: u + w), squares(lambda u, w: u - w)
    first, second = squares(lambda u, w: u), squares(lambda u, w: w)
    above = [a + b for a, b in zip(i.v, i.g, strict=True)]  # V_i = sigma^2 |a_i|_2^2/|a_i|_1^2 >= v_i
    return (ft.equal(both, 2 * first + 2 * second - minus, "the square of a sum splits for every sample"),
            ft.nonnegative(c.fresh_variance(i.p, above, i.q) - c.fresh_variance(i.p, i.v, i.q), "v_i <= V_i termwise"))


@ft.claim("eq162-shared-runs", covers={"d": "none", "tau": "all"},
          on=I.shared_runs, rejects=_law_bugs,
          domain="n = 2 with q = 2, 3 and n = 3 with q = 2, every p, v_i, |a_i|_1 and tau_eff")
def eq162_shared(i):
    r"""If a client drawn twice shares one run, with $v_i=E\|d_i-h_i\|^2$,
    $E\Big\|\frac1q\sum_j(d_{l_j}-h_{l_j})\Big\|^2=\frac1q\sum_ip_iv_i+\frac{q-1}q\sum_ip_i^2v_i$."""
    return ft.equal(run_variance(i), ft.Terms(fresh=c.fresh_variance(i.p, i.v, i.q),
                                              repeats=c.repeat_variance(i.p, i.v, i.q)))


# ---- lemma 5, eqs 175-180 ---------------------------------------------------------------------------------


def kappa2(i, beta2):
    """Smallest kappa^2 of Assumption 3 at this beta^2 with w = p; None if there is no finite one."""
    found = i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(i.p, beta2)
    return None if found is None else ft.fraction(found)


dissimilar = ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$ with $\beta^2\ge1$",
                           lambda i: (1, i.beta2 if kappa2(i, i.beta2) is not None else None))


@ft.claim("lem5", on=I.lem5, needs=[dissimilar], bound=True, rejects=[bugs.normaliser_missing],
          search=ft.Search((ft.Family("quadratic", families.lem5_quadratics), ft.Family("Huber", families.lem5_hubers)),
                           tries=120))
def lem5(i):
    r"""$l_j$ i.i.d. with probabilities $p$, any vectors $z_i$ (here $z_i=h_i$):
    $$E\Big\|\frac1q\sum_jz_{l_j}\Big\|^2\le3\sum_ip_i\|z_i-\nabla F_i(x)\|^2+3\|\nabla F(x)\|^2
    +\frac3q(\beta^2\|\nabla F(x)\|^2+\kappa^2);$$
    it also holds with $\beta^2-1$ in place of $\beta^2$."""
    h, g, *_ = runs(i)
    left = coded_square(i) if hasattr(i, "outcomes") else round_square(i)
    return [ft.at_most(left, ft.Terms(**c.lem5(i.p, h, g, i.q, i.beta2, kappa2(i, i.beta2), sharper)), label)
            for sharper, label in ((False, "as printed"), (True, "with beta^2 - 1"))]


def _server_beta2(i):
    return c.beta2_allowed(i.eta, ft.fraction(i.constants.L), i.tau_eff, i.q, 0)


def finite(i, beta2):
    """Sides of the hypothesis that a finite kappa^2 exists at an admissible beta^2."""
    return 0, None if beta2 < 1 else kappa2(i, beta2)


@ft.claim("eq175", on=I.descent, bound=True, rejects=[bugs.normaliser_missing],
          needs=[ft.Hypothesis("server step", r"$6\tau_{\rm eff}\eta L(1+\beta^2/q)\le\frac12$ leaves $\beta^2\ge1$",
                               lambda i: (1, _server_beta2(i))),
                 ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", lambda i: finite(i, _server_beta2(i)))],
          search=ft.Search((ft.Family("quadratic", families.descent_quadratics),
                            ft.Family("Huber", families.descent_hubers)),
                           tries=120))
def eq175(i):
    r"""Scheme (i) under $6\tau_{\rm eff}\eta L(1+\beta^2/q)\le\frac12$:
    $$\frac{E[F(x^+)]-F(x)}{\eta\tau_{\rm eff}}\le-\frac14\|\nabla F(x)\|^2+\frac32\sum_ip_iE\|\nabla F_i(x)-h_i\|^2
    +\frac{\tau_{\rm eff}\eta L}q\Big(\sigma^2\sum_ip_i\frac{\|a_i\|_2^2}{\|a_i\|_1^2}+3\kappa^2\Big).$$
    """
    h, g, of_h, *_ = runs(i)
    total = sum(w * v for w, v in zip(i.p, g, strict=True))
    drift = sum(w * (((a - b) ** 2).sum() + s) for w, a, b, s in zip(i.p, h, g, of_h, strict=True))
    share = c.noise_share(i.p, [f.a_vector(i.solver, t, i.value) for t in i.taus])
    terms = c.eq175(drift, i.eta, ft.fraction(i.constants.L), i.tau_eff, i.q, ft.fraction(i.noise) ** 2, share,
                    kappa2(i, _server_beta2(i)))
    return ft.at_most(rise(i) / (i.eta * i.tau_eff) + (total * total).sum() / 4, ft.Terms(**terms))


def rise(i):
    """E F(x+) - F(x) over one coded round."""
    problem = i.problem.to(ft.RATIONAL)
    if hasattr(i, "outcomes"):
        return sum(p * (ft.fraction(problem.value(ft.RATIONAL.array(x))) - ft.fraction(problem.value(ft.RATIONAL.array(i.start()))))
                   for p, x in i.outcomes())
    _, (mean, second) = i.op.trajectory(2, i.x0)
    H, b = ((problem.p.reshape(-1, *[1] * k) * part).sum(0) for k, part in ((2, problem._H), (1, problem._b)))
    x = ft.RATIONAL.array(np.array([ft.fraction(v) for v in i.x0], dtype=object))
    before = (x * (H * x).sum(-1)).sum() / 2 - (b * x).sum()
    return ft.fraction((H * second).sum() / 2 - (b * mean).sum() - before)


@ft.claim("eq177-180", covers={"tau": "all"},
          on=I.algebra,
          domain="every beta^2 >= 1 and every D allowed; every non-negative a of every length (induction on the length)")
def eq177_180(i):
    r"""$D\le\frac1{12\beta^2+1}$ gives $\frac1{1-D}\le2$ and $\frac{3D\beta^2}{2(1-D)}\le\frac18$ (177); and
    $\|a\|_2\le\|a\|_1$ for $a\ge0$ (180)."""
    beta2 = 1 + i.b                                            # b >= 0
    top = 1 / (12 * beta2 + 1)                                 # the largest D
    first, second = c.eq177(top / (1 + i.s), beta2)            # s >= 0: every smaller D
    at_top = c.eq177(top, beta2)
    square = ft.induction(base=[(f.norm1([i.a]) ** 2 - f.norm2([i.a]), 0 * i.a)],
                          step=[((i.S + i.a) ** 2 - (i.Q + i.a * i.a) - (i.S**2 - i.Q), 2 * i.S * i.a)],
                          label="|a|_1^2 - |a|_2^2 grows by 2 |a|_1 a_k with each entry", over="length")
    return (ft.equal(at_top[0], ft.Terms(one=0 * i.b + 1, rest=1 / (12 * beta2)), "1/(1-D) at the largest D"),
            ft.equal(at_top[1], ft.Terms(eighth=0 * i.b + ft.fraction("1/8")),
                     "the second quantity there: the constant 1/8 is sharp"),
            ft.nonnegative(2 - first, "1/(1-D) <= 2"),
            ft.nonnegative(ft.fraction("1/8") - second, "3 D beta^2/(2(1-D)) <= 1/8"),
            square,
            ft.nonnegative(f.norm1([i.a, i.S, i.Q]) ** 2 - f.norm2([i.a, i.S, i.Q]), "three entries in full"))


# ---- Algorithm 1 ------------------------------------------------------------------------------------------


@ft.claim("alg1-partial-weights", covers={"tau": "all"},
          on=I.partial,
          rejects=[bugs.hidden_proximal, bugs.normaliser_missing, bugs.shares_not_renormalised, *_subset_bugs],
          domain="m = 2, 3, 4 with every q and m = 5 with q = 2, 3, uniform p, every integer tau_i (coded normaliser "
                 "by induction), every eta on linear losses, which is the limit eta -> 0 of every smooth objective")
def alg1_partial(i):
    r"""Algorithm 1 with uniform $q$-subsets and $p_i=1/m$ has, as $\eta\to0$, surrogate weights
    $w_i\propto\tau_i+\frac{q-1}{m-1}\sum_{j\ne i}\tau_j$; for $q=1$ this is FedAvg."""
    if not i.general:
        stated = c.algorithm1_moves([ft.fraction(t) for t in i.taus], i.q, i.eta)
        return ft.equal(ft.surrogate_weights(i.algorithm, i.law, len(i.taus)), [v / sum(stated) for v in stated],
                        "weights of the coded round")
    m = len(i.t)  # client k is fed with -eta t_k along the k-th unit vector
    moves = server_moves(i, lambda who: [[-i.eta * i.t[k] * int(j == k) for j in range(m)] for k in who])
    stated = c.algorithm1_moves(i.t, i.q, i.eta)
    return (ft.local_mass(i, lambda k: i.eta * k, i.k),
            ft.equal(sum(prob * move for prob, _, move in moves), stated, "mean move of the coded server"))
