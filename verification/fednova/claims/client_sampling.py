"""Section 5 footnote 1, Appendix G up to eq 180 and Algorithm 1: FedNova under client sampling."""
import itertools
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.common_noise import FAIR, CommonNoise, SharedRuns, exceeded, fresh, independent, shared
from verification.fednova.formulas import client_sampling as c
from verification.fednova.instances import SOLVERS, Local, Symbols, declared, free_clients, plane, read
from verification.fednova.proofs import numbers, sampling


class Sampled(Local):
    """FedNova with a fixed tau_eff under a sampling scheme of q draws; `m` clients, of which the problem may group equal ones."""

    @property
    def tau_eff(self):
        return declared(self.stated.algorithm.tau_eff)

    @property
    def m(self):
        return self.extra.get("m", self.n)


class CommonSampled(CommonNoise, Sampled):
    """Noise shared by all: the clients are alike, so that every sample of them makes the same round."""


class SharedSampled(SharedRuns, Sampled):
    """Noise shared by the draws of the first client."""


def common(eta, rounds=None):
    """64 equal clients with one noise, 64 draws."""
    return shared("noise shared by 64 clients", ft.FedNova(ft.fraction(eta), (1,) * 64, averaging="plain", tau_eff=1), q=64,
                  law=ft.WithReplacement(64), kind=CommonSampled, shared=0, part="round", rounds=rounds, gap=ft.fraction(0))


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
        draw = ft.everyone(len(members), 1, present)._replace(who=who)
        out.append((prob, members, read(algorithm.server(0 * change[0], problem.at(who), draw, change, mass))))
    return out


def run_variance(i):
    """E|(1/q) sum (d_l - h_l)|^2 of the coded server for uncorrelated runs of mean zero and variances v_i.

    Each run is fed along a unit vector of its own; with `shared` all draws of one client are one run."""
    def runs(who):  # d = change/(eta t): unit vectors times eta t
        size = i.n if i.shared else len(who)
        return [[i.eta * i.t[k] * int(j == (k if i.shared else place)) for j in range(size)]
                for place, k in enumerate(who)]
    total = 0
    for prob, who, move in server_moves(i, runs):
        owner = range(i.n) if i.shared else who
        total = total + prob * sum(i.v[k] * m * m for k, m in zip(owner, move, strict=True))
    return total / (i.eta * i.tau_eff) ** 2


def after_one_round(i):
    """(E x+ (d,), E x+ x+^T (d, d)) of one coded round from x0."""
    if isinstance(i, CommonNoise):
        _, (mean, square) = itertools.islice(i.moments(), 2)
        return i.domain.array(np.array([mean])), i.domain.array(np.array([[square]]))
    _, found = i.op.trajectory(2, i.x0)
    return tuple(map(i.domain.array, found))


def round_square(i):
    """E|(x - x+)/(tau_eff eta)|^2 of one coded round from x0: exact second moments of the operator."""
    x = i.domain.array(np.array(i.x0, dtype=object))
    mean, second = after_one_round(i)
    return read([ft.linalg.trace(second) - 2 * (mean * x).sum() + (x * x).sum()])[0] / (i.tau_eff * i.eta) ** 2


def coded_square(i):
    """The same by enumeration of the coded round over the law's outcomes, for any problem without noise."""
    return sum(p * ((x - i.start()) ** 2).sum() for p, x in i.outcomes()) / (i.tau_eff * i.eta) ** 2


def runs(i):
    """(h (n, d), gradients at x0 (n, d), spreads of h, of d, of 2h - d) from the prefix coefficients of the paper."""
    x, sigma2 = ft.declare(i.x0), i.sigma**2
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


def scheme_i(q, p):
    """(law, averaging) of footnote 1, scheme (i): q i.i.d. draws with probabilities p, averaged plainly."""
    return ft.WithReplacement(q, list(p)), "plain"


# ---- the coded server step, fed with free changes ---------------------------------------------------------


def server_only(scheme, n, q, shared=0, places=None):
    """Every number a symbol: p_i = r_i / sum r, changes c_i, masses eta t_i, variances v_i below V_i = v_i + g_i."""
    size = n if places is None else places
    s = Symbols("eta tau_eff", r=n, t=n, v=n, g=n, c=size, b=size)
    law, averaging = scheme(q, [r / sum(s.r) for r in s.r])
    return Sampled(f"server, n={n}, q={q}", _still([r / sum(s.r) for r in s.r]),
                   ft.FedNova(s.eta, 1, averaging=averaging, tau_eff=s.tau_eff), law, domain=s.field, q=q, shared=shared,
                   part="server", units=False, **s.these("t v g c b"),
                   says="any weights, tau_eff, solver and changes of the clients")


def _still(p):
    """Clients without losses: only the weights matter."""
    return ft.Quadratic.from_linear([[[0]]] * len(p), [[0]] * len(p), p)


def quadratic_round(scheme, n, q, taus, noise=0):
    """The whole coded round on scalar quadratics with every number a symbol; noise of variance 1 or none."""
    s = Symbols("eta tau_eff x", p=n, h=n, e=n)
    law, averaging = scheme(q, s.weights(n))
    algorithm = ft.FedNova(s.eta, taus, averaging=averaging, tau_eff=s.tau_eff)
    return Sampled(f"whole round, n={n}, q={q}, tau={taus}", free_clients(s, n), algorithm, law, noise=noise,
                   domain=s.field, q=q, x0=[s.x], shared=0, part="round", units=False,
                   says="every h_i, e_i, p_i, x, eta and tau_eff a symbol")


def sampled(name, problem, taus, eta, q, tau_eff=None, solver="vanilla", value=None, sigma=0, rounds=None, x0=None,
            scheme=scheme_i, kind=Sampled, says="", **extra):
    """FedNova with a fixed tau_eff (default sum p_i |a_i|_1) under a sampling scheme, in rationals."""
    p, value = [ft.fraction(v) for v in problem.weights], declared(value)
    if tau_eff is None:
        tau_eff = f.dot(p, [f.norm1(f.a_vector(solver, t, value)) for t in taus])
    law, averaging = scheme(q, p)
    algorithm = ft.FedNova(ft.fraction(eta), tuple(taus), SOLVERS[solver](value), averaging=averaging,
                           tau_eff=ft.fraction(tau_eff))
    return kind(name, problem, algorithm, law, noise=sigma, x0=[0] * problem.d if x0 is None else x0, q=q, rounds=rounds,
                says=says, **({"shared": 0, "part": "round"} | extra))


on_footnote_i = ft.illustrate([
    *(server_only(scheme_i, n, q) for n, q in ((2, 1), (2, 2), (2, 3), (3, 2))),
    quadratic_round(scheme_i, 2, 2, (1, 2)), quadratic_round(scheme_i, 2, 1, (2, 3)),
    sampled("plane, q=2", plane(), (1, 3, 4), "1/10", 2, says="non-commuting Hessians, unequal weights and steps")])


@ft.claim("footnote1-i", covers={"tau": "all"},
          on=on_footnote_i, rejects=[*_footnote_bugs, bugs.without_replacement, bugs.hidden_proximal],
          domain="server step: n = 2 with q = 1, 2, 3 and n = 3 with q = 2, every p, tau_eff, |a_i|_1 and every change "
                 "of the clients (so every solver, tau_i, objective and noise); whole coded round: n = 2, every scalar "
                 "quadratic, steps (1,2) with q = 2 and (2,3) with q = 1")
def footnote_i(i):
    r"""$l_1,\dots,l_q$ i.i.d. with $P(l=i)=p_i$ and a fixed $\tau_{\rm eff}$:
    $x^+=x-\tau_{\rm eff}\,\eta\frac1q\sum_jd_{l_j}$ has mean $x-\tau_{\rm eff}\,\eta\sum_ip_id_i$ (rule 12)."""
    return rule12_in_mean(i)


def scheme_ii(q, p):
    """Scheme (ii): a uniform q-subset without replacement, weights p_i m/q."""
    return ft.Uniform(q), "unbiased"


on_footnote_ii = ft.illustrate([
    *(server_only(scheme_ii, n, q) for n, q in ((2, 1), (3, 1), (3, 2), (3, 3), (4, 2))),
    quadratic_round(scheme_ii, 2, 1, (1, 2)), quadratic_round(scheme_ii, 3, 2, (1, 2, 2)),
    sampled("plane, q=2", plane(), (1, 3, 4), "1/10", 2, scheme=scheme_ii,
            says="the same clients, drawn without replacement")])


@ft.claim("footnote1-ii", covers={"tau": "all"},
          on=on_footnote_ii, rejects=[*_footnote_bugs, *_subset_bugs],
          domain="server step: n = 2, 3, 4 with subsets of several sizes q, every p, tau_eff, |a_i|_1 and every change "
                 "of the clients (so every solver, tau_i, objective and noise); whole coded round: every scalar "
                 "quadratic, n = 2, q = 1, steps (1,2) and n = 3, q = 2, steps (1,2,2)")
def footnote_ii(i):
    r"""A uniform subset $\mathcal S$ of $q$ clients without replacement, weights $p_im/q$ and a fixed $\tau_{\rm eff}$:
    $x^+=x-\tau_{\rm eff}\,\eta\sum_{i\in\mathcal S}\frac{p_im}qd_i$ has mean rule 12."""
    return rule12_in_mean(i)


# ---- repeated draws ---------------------------------------------------------------------------------------
_law_bugs = [bugs.without_replacement, bugs.one_draw_less]
def variances(name, p, v, q, shared, says=""):
    """Runs of mean zero and variance v_i, as numbers."""
    p = [ft.fraction(k) for k in p]
    law, averaging = scheme_i(q, p)
    return Sampled(name, _still(p), ft.FedNova(Fraction(1, 10), 1, averaging=averaging, tau_eff=2), law, q=q,
                   v=[ft.fraction(k) for k in v], shared=shared, t=[1] * len(p), part="variance", units=False, says=says)


listed = {"p": ["1/2", "3/10", "1/5"], "v": [1, 2, 5], "q": 3}
fresh_runs = ft.illustrate([
    *(server_only(scheme_i, n, q, places=q) for n, q in ((2, 2), (2, 3), (3, 2))),
    quadratic_round(scheme_i, 2, 2, (1, 2), noise=1), quadratic_round(scheme_i, 2, 1, (2, 2), noise=1),
    variances("listed, fresh runs", shared=0, **listed),
    variances("listed, shared runs", shared=1, says="a client drawn twice sends the same run twice", **listed),
    variances("dominant client, shared runs", ["9/10", "1/10"], [1, 0], 3, 1, says="here the bound (163) itself fails"),
    sampled("plane with noise", plane(), (1, 3, 4), "1/10", 2, sigma="1/2", x0=[2, 2]),
    sampled("momentum with noise", plane(), (1, 2, 3), "1/10", 2, solver="momentum", value="1/2", sigma=1, x0=[1, -1])])
common_noise = common("1/13")


def meaning(i):
    """What the proof of (163) speaks of, on one coded round."""
    if i.part == "round" and numbers.readable(i):
        yield from numbers.draws(i, {}, True)


@ft.claim("eq163-fresh-runs", proof=sampling.second_moment, meaning=meaning,
          on=[*fresh_runs, common_noise], needs=[fresh, independent],
          rejects=[*_law_bugs, bugs.one_step_more], bound=True,
          domain=f"{sampling.DOMAIN}; the coded server and round in symbols: n = 2 with q = 1, 2, 3, n = 3 with q = 2, "
                 f"quadratics with "
                 "steps (1,2) and (2,2)")
def eq163(i):
    r"""With fresh runs for repeated draws, independent across clients,
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
    share = c.noise_share(i.p, i.vectors)
    terms = {"noise": 2 * i.sigma**2 * share / i.q, "mean": 2 * c.mean_square(i.p, i.q, h, of_h)}
    left = round_square(i)
    if i.domain is ft.RATIONAL:
        return ft.at_most(left, ft.Terms(**terms))
    rest = c.mean_square(i.p, i.q, h, of_gap)  # E|(1/q) sum (2h - d)|^2 >= 0
    return (ft.equal(left, c.mean_square(i.p, i.q, h, of_d), "second moment of the coded sampled mean"),
            ft.equal(left + rest, ft.Terms(**terms), "the right side exceeds the left by E|(1/q) sum (2h - d)|^2"))


def _holds_with_fresh_runs():
    listed = next(i for i in fresh_runs if i.name == "listed, fresh runs")
    again = next(i for i in fresh_runs if i.name == "listed, shared runs")
    return [ft.equal(run_variance(listed), ft.fraction("7/10"), "fresh runs: (1/q) sum p v"),
            ft.equal(run_variance(again), ft.fraction("28/25"), "one shared run per client")]


ft.finding("e8", kind="missing-hypothesis", breaks="eq163-fresh-runs",
           at=("listed, shared runs", "dominant client, shared runs"),
           check=_holds_with_fresh_runs, step="(162) treats the draws of one client as independent runs",
           reading="A client drawn twice does its local work once and its update counts twice.",
           survives="eq163-fresh-runs with fresh runs; eq162-shared-runs for shared ones. (175) and (182) fail with shared "
                    "runs too: e8-eq175, e8-cor3.")


def _one_noise_for_all():
    i = common_noise
    return exceeded(round_square(i), 2 * i.sigma**2 * c.noise_share(i.p, i.vectors) / i.q, "(163) at x = 0, where h = 0")


ft.finding("err-common-noise-eq163", kind="remark", breaks="eq163-fresh-runs", check=_one_noise_for_all, script="witnesses/e8.py",
           reading=FAIR,
           survives="With fresh runs and noise independent across clients: eq163-fresh-runs.")


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


shared_runs = ft.illustrate([*(server_only(scheme_i, n, q, 1) for n, q in ((2, 2), (2, 3), (3, 2))),
                             variances("listed", shared=1, **listed)])


@ft.claim("eq162-shared-runs", covers={"d": "none", "tau": "all"},
          on=shared_runs, rejects=_law_bugs,
          domain="n = 2 with q = 2, 3 and n = 3 with q = 2, every p, v_i, |a_i|_1 and tau_eff")
def eq162_shared(i):
    r"""If a client drawn twice shares one run, with $v_i=E\|d_i-h_i\|^2$,
    $E\Big\|\frac1q\sum_j(d_{l_j}-h_{l_j})\Big\|^2=\frac1q\sum_ip_iv_i+\frac{q-1}q\sum_ip_i^2v_i$."""
    return ft.equal(run_variance(i), ft.Terms(fresh=c.fresh_variance(i.p, i.v, i.q),
                                              repeats=c.repeat_variance(i.p, i.v, i.q)))


# ---- Algorithm 1 ------------------------------------------------------------------------------------------


def algorithm1(m, q):
    """Algorithm 1 (default tau_eff over the participants), uniform p, linear losses: one direction per client."""
    s = Symbols("eta k", t=m)
    return ft.Instance(f"m={m}, q={q}", _still([Fraction(1, m)] * m), ft.FedNova(s.eta, 1), ft.Uniform(q), domain=s.field,
                       q=q, general=True, says="any integers tau_i", **s.these("k t"))


def algorithm1_listed(name, taus, q, weights=None, says=""):
    n = len(taus)
    problem = ft.Quadratic.from_linear([[[0] * n] * n] * n, np.eye(n, dtype=int).tolist(), weights)
    return ft.Instance(name, problem, ft.FedNova(Fraction(1, 10), tuple(taus)), ft.Uniform(q), q=q, general=False, says=says)


partial = ft.illustrate([*(algorithm1(m, q) for m in (2, 3, 4) for q in range(1, m + 1)), algorithm1(5, 2), algorithm1(5, 3),
           algorithm1_listed("tau=(1,2,10), q=2", (1, 2, 10), 2, says="weights (14,15,23)/52"),
           algorithm1_listed("tau=(1,2,10), q=1", (1, 2, 10), 1, says="literally FedAvg")])

@ft.claim("alg1-partial-weights", covers={"tau": "all"},
          on=partial,
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


skewed = algorithm1_listed("equal steps, p=(.7,.2,.1), q=2", (3, 3, 3), 2, ["7/10", "1/5", "1/10"])


def _not_consistent():
    """Uniform pairs: unequal steps with uniform p, equal steps with unequal p, and Appendix H's missing division."""
    uneven = ft.surrogate_weights(partial[-2].algorithm, partial[-2].law, 3)
    ratio = ft.surrogate_weights(skewed.algorithm, skewed.law, 3, skewed.problem.weights)
    one = algorithm1(3, 1)
    undivided = one.but(algorithm=bugs.shares_not_renormalised(one.algorithm))

    def steps(who):
        return [[-one.eta * one.t[k] * int(j == k) for j in range(3)] for k in who]
    printed, text = (sum(p * m for p, _, m in server_moves(i, steps)) for i in (one, undivided))
    return [ft.equal(list(uneven), [ft.fraction(v) / 52 for v in (14, 15, 23)],
                     "tau = (1,2,10), uniform p, q = 2: coded weights"),
            ft.at_most(0, sum(abs(v - ft.fraction("1/3")) for v in uneven), "they differ from p", strict=True),
            ft.equal(list(ratio), c.ratio_weights([ft.fraction(v) for v in ("7/10", "1/5", "1/10")]),
                     "equal steps, p = (.7,.2,.1), q = 2"),
            ft.at_most(ratio[0], ft.fraction("7/10"), "the heaviest client gets less than p_1 (ratio estimator)",
                       strict=True),
            ft.equal(3 * text, printed,
                     "m = 3, q = 1: the text of Appendix H moves one third as far as the pseudo-code")]


ft.finding("e5", kind="remark", breaks="alg1-partial-weights", check=_not_consistent,
           reading="Consistency read as: surrogate weights equal to p as eta tends to 0, for the pseudo-code of "
                   "Algorithm 1 (divided by p_S) with uniform pairs. No theorem of the paper covers it.",
           survives="footnote1-i and footnote1-ii: with tau_eff independent of the sample both schemes are unbiased; "
                    "Corollary 3 covers rule (153) only.")
