"""Section 4.2 and Appendix C: what Corollary 1 and the linear speed-up say of the rounds, not only of the formulas."""
from fractions import Fraction

import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova.claims import surrogate as s
from verification.fednova.claims import theorem1_rate as rate
from verification.fednova.claims.appendix_c import dominated
from verification.fednova.common_noise import FAIR, exceeded, independent
from verification.fednova.formulas import constants as fc
from verification.fednova.instances import descending, scalar, surrogate, theorem
from verification.fednova.proofs import theorems

plain = ft.Hypothesis("FedAvg with uniform weights", r"$\max_i|p_i-1/m|\le0$, vanilla steps, plain averaging",
                      lambda i: (max(abs(p - Fraction(1, i.n)) for p in i.p) if i.solver == "vanilla" and not i.fednova else 1, 0))
NEEDS = [plain, rate.prescribed, *s.needs(False), independent]


def root(i):
    """sqrt(m taubar T) at the prescribed step."""
    return rate.clients(i) / i.eta


def drawn(draw, make):
    """Two clients with equal weights and vanilla steps at a prescribed step inside (101)."""
    st = families.st
    taus = tuple(draw(st.integers(1, 4)) for _ in range(2))
    x0, share = draw(st.integers(-3, 3)), draw(st.sampled_from([Fraction(7, 2), 4, 6]))
    return rate._prescribed(make(draw, taus, x0), share)


def quadratics(draw):
    def make(draw, taus, x0):
        st = families.st
        h = [Fraction(1), draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(-1, 8)]))]
        e, sigma = [draw(st.integers(-3, 3)) for _ in h], draw(st.integers(0, 1))
        return surrogate("random quadratics", ft.Quadratic.from_linear([[[v]] for v in h], [[v] for v in e]), taus, 1, sigma=sigma,
                         rounds=1, x0=[x0], says=f"h={h}, e={e}, tau={taus}, sigma={sigma}, x0={x0}")
    return drawn(draw, make)


def hubers(draw):
    def make(draw, taus, x0):
        offsets = [[draw(families.st.integers(-3, 3))] for _ in taus]
        return descending("random Huber losses", ft.HuberLoss([[[1]], [[1]]], offsets, 1), ft.RATIONAL, Fraction(1), taus, 1,
                          "vanilla", None, 1, [x0], says=f"offsets={offsets}, tau={taus}, x0={x0}").but(domain=ft.FLOAT)
    return drawn(draw, make)


one_step = rate.eq8("one step each", scalar([1, 2], [1, -1]), (1, 1), 4, x0=["-1/3"], says="no drift, started at the optimum")
fedavg = [
    rate.eq8("start dominates", scalar([1, 2], [0, 0]), (1, 1), 4, x0=[5], says="no noise, common minimiser"),
    rate.eq8("noise dominates", scalar([1, 1], [0, 0]), (1, 1), 4, sigma=1, says="one local step, started at the optimum"),
    rate.eq8("drift dominates", scalar([1, 3], [1, -1]), (1, 2), 8, x0=["-5/7"], says="no noise, from the surrogate's optimum"),
    rate.eq8("all terms", scalar([1, 2], [1, -1]), (1, 2), 6, sigma=1, x0=[2]),
    one_step, rate._long_kinked(),
]


def meaning(i):
    """What the proof speaks of, once per client."""
    for known, points in rate.rate_meaning(i):
        tau = known["nn"]   # |a_i|_2^2 of vanilla steps
        mean, squares = known["taubar"], sum(ft.fraction(t) ** 2 for t in i.taus)
        yield known | {"ti": tau, "t2": tau**2, "r": tau / (i.n * mean) ** 2, "b": (tau**2 - tau) / (i.n * mean), "St": i.n * mean,
                       "S2": squares, "var": squares / i.n - mean**2, "longest": max(i.taus)}, points


# eta is prescribed as a pure number, so the bound lives in fixed units
@ft.claim("cor1", proof=lambda: (theorems.corollary1(), theorems.theorem1_rate()), meaning=meaning, domain=theorems.FEDAVG,
          on=[*fedavg, *rate.no_cap, rate.common_noise], needs=NEEDS, rejects=[bugs.one_step_more],
          search=ft.Search((ft.Family("quadratic", quadratics), ft.Family("Huber", hubers)), tries=60),
          reading="The hidden constants are 4, 4 L, 6 L^2 and 12 L^2 of the proof of Theorem 1. 'Under the same conditions as "
                  "Theorem 1': 'small enough eta' (Section 4.2) is read as (101), and 'workers are independent to each other' "
                  "(C.1) supplies the other hypothesis. That the right side is eq 8 with FedAvg's constants is "
                  "cor1-substitution.")
def cor1(i):
    r"""FedAvg with $p_i=1/m$ and $\eta=\sqrt{m/(\bar\tau T)}$, under (101) and noise independent across clients:
    $$\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2\le\frac{4\Delta+4L\sigma^2}{\sqrt{m\bar\tau T}}
    +\frac{6L^2m\sigma^2(\bar\tau-1+\mathrm{var}[\tau]/\bar\tau)}{\bar\tau T}
    +\frac{12L^2m\kappa^2\tau_{\max}(\tau_{\max}-1)}{\bar\tau T}.$$"""
    return ft.at_most(rate.gradient_square(i), ft.Terms(**right_side(i)))


def right_side(i):
    t, beta2 = theorem(i), s.constants(i, False)[-1]
    return fc.corollary1(root(i), t["L"], t["sigma2"], s.kappa2(i, t, beta2), t["gap"], i.taus, max(i.taus), rate.clients(i))


def _no_cap():
    """At the prescribed step the smallest |grad F|^2 of gradient descent is that of the start."""
    legs = []
    for i, ratio in zip(rate.no_cap, (20, 500), strict=True):
        least = min(second[0, 0] for _, second in i.op.trajectory(i.rounds, i.x0))
        legs.append(ft.equal(least, ratio * sum(right_side(i.but(kappa2=ft.fraction(0))).values()), f"{i.name}: {ratio} times"))
    return legs


ft.finding("err-no-cap-cor1", kind="remark", breaks="cor1", check=_no_cap, script="witnesses/err_no_cap.py",
           reading=f"'Under the same conditions as Theorem 1'. {rate.SMALL_ENOUGH}",
           survives="Once T is so large that the prescribed eta meets (101): cor1.")


def _one_noise_for_all():
    i = rate.common_noise
    return exceeded(rate.gradient_square(i), sum(right_side(i).values()), "the mean of E|grad F|^2 against Corollary 1")


ft.finding("err-common-noise-cor1", kind="remark", breaks="cor1", check=_one_noise_for_all,
           script="witnesses/err_common_noise.py", reading=FAIR, survives="With noise independent across clients: cor1.")


# ---- linear speed-up --------------------------------------------------------------------------------------
def faster(i, gamma, j, A0=1):
    """gamma m_0 clients at the step prescribed for T_0/gamma rounds; compared with the bound's first two terms at m_0, T_0."""
    out = rate.own_eta(i, j)
    return out.but(rounds=int(out.rounds), gamma=gamma, A0=ft.fraction(A0), m0=Fraction(out.n, gamma), T0=gamma * out.rounds)


def leading(i):
    """Twice the first two terms of eq 8 at m_0 clients and T_0 rounds, with A_0 for A; root^2 = m_0 taubar T_0."""
    t = theorem(i)
    terms = fc.eq8(i.m0 / (i.eta / i.gamma), t["L"], t["sigma2"], 0, t["gap"], t["tau_eff"], rate.mean_steps(i), i.m0, i.A0, 0, 0)
    return {k: 2 * terms[k] for k in ("start", "noise")}


def _vanishing(i):
    t, *_, beta2 = s.constants(i, False)
    if s.kappa2(i, t, beta2) is None:
        return None, None
    terms = rate.eq8_terms(i, corrected=False)
    return terms["drift_noise"] + terms["drift"], sum(leading(i).values()) / 2


large = ft.Hypothesis("large T", "the last two terms of (8) are at most the first two", _vanishing)
bounded = ft.Hypothesis("A bounded", r"$A\le A_0$ however many clients there are", lambda i: (s.constants(i, False)[1], i.A0))
shares = ft.Hypothesis("gamma times the clients, 1/gamma of the rounds", r"$|m_0T_0-mT|\le0$",
                       lambda i: (abs(i.m0 * i.T0 - rate.clients(i) * i.rounds), 0))


def crowd(gamma, j, xi=0, taus=(1, 1), sigma=0, x0=0, h=(1, 1)):
    """2 gamma clients: gamma times two of them."""
    name = f"{2 * gamma} clients, tau={taus}, xi={xi}, sigma={sigma}"
    problem = scalar(list(h) * gamma, [xi, -xi] * gamma)
    return faster(surrogate(name, problem, taus * gamma, 1, sigma=sigma, rounds=1, x0=[x0]), gamma, j)


speedup = [crowd(1, 16, x0=3), crowd(4, 2, x0=3), crowd(4, 2, sigma=1), crowd(2, 6, 1, (1, 3), 1, 8),
           crowd(2, 2, 1, x0="-1/3", h=(1, 2)).but(domain=ft.RATIONAL)]
_SKEWED = [Fraction(937, 1000), *[Fraction(1, 1000)] * 63]
dominant = faster(surrogate("one dominant client", scalar([1] * 64, [0] * 64, _SKEWED), (1,) * 64, 1, sigma=1, rounds=1,
                            says="A = m sum p_i^2 is about 56"), 64, Fraction(1, 8))


# FedProx at alpha = 1, where A = tau_eff = 1 and the last two terms of (8) are 0
strong_proximal = rate.e1_members[1].but(gamma=1, A0=ft.fraction(1), m0=ft.fraction(1014), T0=1014**2)


CORNERS = ({"gamma": 1, "taus": (1, 1), "noisy": 0}, {"gamma": 8, "j": 2, "taus": (1, 1), "noisy": 1, "far": 0},
           {"gamma": 2, "j": 6, "taus": (1, 5)})
ENDS = {"clients": (2, 16), "local steps": (1, 5), "noise against drift": (0, 1), ft.Variable("gamma", lambda i: i.gamma): (1, 8)}


def speedups(draw, gamma=None, j=None, taus=None, noisy=None, far=6):
    """noisy: the noise; far=0: one common minimiser, where the run starts."""
    st = families.st
    gamma, sigma = gamma or draw(st.sampled_from([1, 2, 3])), draw(st.integers(0, 1)) if noisy is None else noisy
    taus, x0 = taus or (draw(st.integers(1, 2)), draw(st.integers(1, 2))), draw(st.integers(-far, far))
    xi = draw(st.integers(-1, 1)) if far else 0
    return crowd(gamma, j or draw(st.integers(2, 4)), xi, taus, sigma, x0).but(domain=ft.FLOAT)


def bent_speedups(draw):
    gamma, x0 = draw(families.st.sampled_from([1, 2, 3])), draw(families.st.integers(-3, 3))
    offsets = [[draw(families.st.integers(-1, 1))] for _ in range(2)] * gamma
    problem = ft.HuberLoss([[[1]]] * (2 * gamma), offsets, 1)
    base = descending("random Huber losses", problem, ft.RATIONAL, Fraction(1), (1, 1) * gamma, 1, "vanilla", None, 1, [x0],
                      says=f"{2 * gamma} clients, offsets={offsets[:2]}, x0={x0}")
    return faster(base, gamma, draw(families.st.sampled_from([4, 5]))).but(domain=ft.FLOAT)


def speedup_meaning(i):
    """The constants of a run and the mean of |grad F~|^2 in floats."""
    t, A, B, C, beta2 = s.constants(i, False)
    yield {"L": t["L"], "eta": i.eta, "tau_eff": t["tau_eff"], "beta2": beta2, "m": t["m"], "T": i.rounds,
           "taubar": rate.mean_steps(i),
           "sigma2": t["sigma2"], "kappa2": s.kappa2(i, t, beta2), "gap": t["gap"], "A": A, "B": B, "C": C, "A0": i.A0,
           "S": float(rate.gradient_square(i)) * i.rounds}, {}


@ft.claim("remark-linear-speedup", proof=theorems.speedup, meaning=speedup_meaning, domain=theorems.DOMINATED,
          on=[*speedup, dominant, strong_proximal],
          needs=[rate.prescribed, shares, *s.needs(False), dominated, independent, bounded, large],
          rejects=[bugs.one_step_more],
          search=ft.Search((ft.Family("repeated quadratics", speedups, CORNERS), ft.Family("repeated Huber losses", bent_speedups)),
              tries=20), ends=ENDS,
          reading="'One can use T/gamma total rounds when using gamma times more clients' is said of the error bound, where it is "
                  "arithmetic: its first two terms depend on m and T through mT alone. What is checked is that rounds of gamma m "
                  "clients do obey it.")
def remark_linear_speedup(i):
    r"""With noise independent across clients, for vanilla SGD, step decay and momentum with $0\le\rho<1$
    ($b^{(k)}_{i,s}\le a_{i,s}$): when $A\le A_0$ for every number of clients, the last two terms of (8) are no larger than the
    first two, and (101) holds, then $\gamma m$ clients that run $T/\gamma$ rounds at their prescribed step reach
    $\frac1T\sum_tE\|\nabla\widetilde F\|^2\le2\,\dfrac{4\Delta\,\bar\tau/\tau_{\rm eff}+4L\sigma^2A_0}{\sqrt{m\bar\tau T}}$, the
    same as $m$ clients in $T$ rounds."""
    return ft.at_most(rate.gradient_square(i), ft.Terms(**leading(i)))


ft.finding("e1-speedup", kind="missing-hypothesis", breaks="remark-linear-speedup", at=(strong_proximal.name,),
           script="witnesses/e1_speedup.py",
           step="the remark reads the rate off (8), which FedProx can exceed (eq 69)",
           reading="Section 4.2 names no solver. FedProx at alpha = 1 with 1014 clients and T = m^2: A = tau_eff = 1 and the last "
                   "two terms of (8) vanish, so that every T is large; each |grad F~|^2 of the run is at least 1/5929, twice the "
                   "first two terms 1/6591.",
           survives="For vanilla steps, step decay and momentum: remark-linear-speedup.")
