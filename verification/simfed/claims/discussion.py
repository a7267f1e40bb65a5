"""Section 5, what the text reads off the bounds, and the constants of the experiments that it meets."""
from fractions import Fraction as Q
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.simfed.claims.vacuous import on_symbols, wrong
from verification.simfed.formulas import discussion as f
from verification.simfed.formulas import theorems as th
from verification.simfed.proofs import discussion as proofs
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

ALL = {"n": "all", "d": "all", "tau": "all"}
BETA = ft.Variable("beta", lambda i: i.beta)
SMALL, LARGE = Q(1, 1000), Q(999, 1000)


# ---- (9) ------------------------------------------------------------------------------------------------------------
def at(name, condition, beta, alpha, t, formula=f.factors, **extra):
    return ft.Instance(name, formula=formula, L=Q(1), mu=Q(1) / condition, beta=Q(beta), alpha=Q(alpha), t=t, rounds=t, **extra)


on_eq9 = [at("one round, mu = L", 1, "1/2", 1, 1), at("FedAvg", 10, 1, 0, 20), at("many rounds", 10**8, SMALL, 1000, 400),
          at("beta near 1", 2, LARGE, SMALL, 3), at("the start", 5, "1/10", 2, 0)]
orders_swapped = wrong("beta_the_wrong_way", "2 - beta in place of beta: smaller beta would be slower.", f.factors,
                       lambda L, mu, alpha, beta: f.factors(L, mu, alpha, 2 - beta))


def drawn_at(draw, condition=None, beta=None, t=None, make=at):
    parts = st.sampled_from([SMALL, Q(1, 10), Q(1, 2), Q(9, 10), LARGE])
    return make("drawn", condition or draw(st.sampled_from([1, 2, 30])), beta or draw(parts), draw(st.sampled_from([0, 1, 90])),
                draw(st.integers(0, 30)) if t is None else t)


CORNERS = ({"t": 0}, {"beta": SMALL, "t": 400}, {"beta": LARGE, "condition": 10**8})


@ft.claim("eq9", on=on_eq9, rejects=[orders_swapped], proof=proofs.eq9,
          domain="every t, mu <= L, beta in (0, 1] and alpha >= 0; the bounds' factors at the two theorems' own steps",
          ends={BETA: (SMALL, LARGE), "rounds": (0, 400), ft.Variable("condition number", lambda i: i.L / i.mu): (1, 10**8)},
          search=ft.Search((ft.Family("constants", drawn_at, CORNERS),), tries=24),
          reading="An order of three printed factors, not of rates on a given problem (order-instance), nor of the bounds: their "
                  "error terms differ, as the text itself says.")
def eq9(i):
    r"""$\big(1-\frac\mu{(\beta+2)L}\big)^t\le\big(1-\frac\mu{3L}\big)^t\le\big(1-\frac\mu{3(\alpha+L)}\big)^t$ for $\beta\le1$,
    $\alpha\ge0$, $\mu\le L$ and every $t$."""
    ours, avg, prox = (v**i.t for v in i.formula(i.L, i.mu, i.alpha, i.beta))
    return ft.at_most(ours, avg, "ours, FedAvg"), ft.at_most(avg, prox, "FedAvg, FedProx")


# ---- the ratio of rounds ----------------------------------------------------------------------------------------------
def listed(x, printed):
    """Ratios of logarithms to the digits of the ledger at mu/L = x, beta = 1/2, E = 10: {name: text}."""
    return ft.Instance(f"mu/L = {x}", formula=f.gains, x=Q(x), printed=printed, illustrates=True)


def ratio(gain, base):
    """Rational bounds of ln(1 - gain)/ln(1 - base)."""
    (low, high), (bottom, top) = f.minus_log(gain), f.minus_log(base)
    return low / top, high / bottom


relaxed = wrong("curvature_relaxed", "(191) with mu <= L used, which is (9).", f.gains,
                lambda x, beta, E: f.gains(x, beta, E) | {"(191)": f.gain9(x, beta)})


on_ratios = [*on_symbols(f.gains, "x beta"), listed("1/100", {"(9)": "1.2004", "(191)": "1.00250", "exact": "1.00113"}),
             listed("1/2", {"(9)": "1.2239", "(191)": "1.1262", "exact": "1.0653"})]


@ft.claim("eq191-ratio-limit", on=on_ratios, rejects=[relaxed], proof=proofs.gain, covers=ALL,
          domain="every beta in (0, 1] and number of local steps: a round's gain 1 - kappa lies between x/2 - beta x^2/8 and x/2 "
                 "at x = mu/L, and -ln(1 - y)/y tends to 1; in symbols also as a limit for E = 1, 2, 5, 10")
def eq191_ratio_limit(i):
    r"""FedAvg's rounds over ours to the same decay, $\ln(\text{factor}_\beta)/\ln(\text{factor}_1)$, as $x=\mu/L\to0$: by (9)
    $\frac3{\beta+2}$, but 1 by the paper's own $1-\frac\mu{2L+\beta\mu}$ of (191), and 1 on identical quadratics, where the
    factors are exact."""
    if not isinstance(i.domain, ft.Field):
        ours, avg = i.formula(i.x, Q(1, 2), 10), i.formula(i.x, Q(1), 10)
        return [c for name, text in i.printed.items() for c in rounds_to(text, *ratio(ours[name], avg[name]), name)]
    x, beta = i.s.x, i.s.beta
    want = {"(9)": 3 / (beta + 2), "(191)": 1 + 0 * beta, "exact": 1 + 0 * beta}
    return [ft.equal(ft.limit(i.formula(x, beta, E)[k] / i.formula(x, 1 + 0 * beta, E)[k], "x"), v, f"{k}, E = {E}")
            for E in (1, 2, 5, 10) for k, v in want.items()]


def rounds_to(text, low, high, label):
    """[low, high] rounds to this decimal."""
    half = Q(1, 2 * 10 ** len(text.partition(".")[2]))
    return (ft.at_most(Q(text) - half, low, f"{label} is {text}, from below"),
            ft.at_most(high, Q(text) + half, f"{label} is {text}, from above"))


def _not_from_the_method():
    """What (9) shows at E = 1, where the method and FedAvg have one exact factor; the limits; the listed values."""
    s, small = on_symbols(f.gains, "x beta")[0].s, Q(1, 100)
    nine = ratio(f.gain9(small, Q(1, 2)), f.gain9(small, Q(1)))
    return (ft.equal(f.gain_exact(s.x, s.beta, 1), s.x / 2, "E = 1: the exact gain does not depend on beta"),
            ft.at_most(Q(6, 5), nine[0], "where (9) gives a ratio of rounds above 6/5 at mu/L = 1/100, beta = 1/2"),
            ft.equal(ft.limit(f.gain191(s.x, s.beta) / f.gain191(s.x, 1), "x"), 1 + 0 * s.x, "(191): the ratio tends to 1"),
            ft.equal(f.gain9(s.x, s.beta) - f.gain191(s.x, s.beta) * (2 + s.beta * s.x) / (2 + s.beta), 0 * s.x,
                     "(9) is (191) with 2 L + beta mu enlarged to (2 + beta) L"))


ft.finding("err-speedup", kind="remark", breaks="eq9", check=_not_from_the_method,
           reading="(9) is true, and the text speaks of contraction terms of bounds. Its factors come from 2 L + beta mu <= "
                   "(2 + beta) L, which costs most where mu/L is small: there all of the gain is that relaxation.",
           survives="With identical Hessians and E >= 2 the method's exact factor is smaller (d2-ordering), by a share of order "
                    "mu/L.")


# ---- the terms of Theorems 1, 2 and 4 -----------------------------------------------------------------------------------
not_shared = wrong("noise_not_shared", "The noise term of Theorem 1 is not multiplied by L/(L + alpha).", th.theorem1,
                   lambda L, mu, alpha, gap, S, sigma2, *rest: th.theorem1(L, mu, alpha, gap, S, sigma2, *rest)
                   | {"noise": S * sigma2 / (4 * mu)})


@ft.claim("disc-alpha", on=on_symbols(th.theorem1, "L mu alpha more S sigma2 Gamma G2 E"), rejects=[not_shared], covers=ALL,
          domain="all positive constants, as an identity in them",
          reading="A statement on the error term of the bound; the step that the theorem prescribes shrinks with alpha too. What "
                  "the bias itself does is disc-alpha-bias.")
def disc_alpha(i):
    r"""The error term of Theorem 1 is $\frac L{L+\alpha}$ of its value at $\alpha=0$, so that it falls with $\alpha$; the decay
    factor grows."""
    s = i.s

    def error(alpha):
        return sum(i.formula(s.L, s.mu, alpha, 0, s.S, s.sigma2, s.Gamma, s.G2, s.E, 1).values())
    slower = f.factors(s.L, s.mu, s.alpha + s.more, 1)[2] - f.factors(s.L, s.mu, s.alpha, 1)[2]
    return (ft.equal(error(s.alpha), s.L / (s.L + s.alpha) * error(0 * s.alpha), "its share"),
            ft.nonnegative(error(s.alpha) - error(s.alpha + s.more), "it falls"), ft.nonnegative(slower, "the factor grows"))


complexities = SimpleNamespace(prox=f.complexity_prox, ours=f.complexity_ours)
fewer = wrong("sixteen_for_both", "16 L^2 in FedProx's first term, as in the method's.", complexities, SimpleNamespace(
    ours=f.complexity_ours, prox=lambda *a: (lambda c: c | {"start": (1, c["start"][1] / 4)})(f.complexity_prox(*a))))


@ft.claim("disc-eps", on=on_symbols(complexities, "L alpha gap S sigma2 G2 E root x"), rejects=[fewer], covers=ALL,
          domain="all positive constants, beta = 1/(1 + x), T = root^2/E: at epsilon equal to a term of the bound, the printed "
                 "number of rounds is this T",
          reading="The O hides that the terms are added: that each of j terms is at most epsilon/j takes constants more.")
def disc_eps(i):
    r"""The printed iteration complexities, $O\big(\frac{64L_\alpha^2\Delta^2}{E\epsilon^2}\big)+..$ for FedProx and
    $O\big(\frac{16L^2\Delta^2}{E\epsilon^2}\big)+..$ for the method, are the numbers of rounds $T$ at which single terms of
    Theorems 2 and 4 equal $\epsilon$."""
    s = i.s
    T, beta = s.root**2 / s.E, 1 / (1 + s.x)
    rest = s.gap, s.S, s.sigma2, s.G2, s.E
    both = {"FedProx": (th.theorem2(s.L, s.alpha, *rest, T, s.root), lambda eps: i.formula.prox(s.L, s.alpha, *rest, eps)),
            "ours": (th.theorem4(s.L, beta, *rest, T, s.root), lambda eps: i.formula.ours(s.L, beta, *rest, eps))}
    return [ft.equal(printed(value)[name][1], T ** printed(value)[name][0], f"{who}: {name}")
            for who, (terms, printed) in both.items() for name, value in terms.items()]


third_kept = wrong("drift_grows_with_alpha", "The 1/T term of Theorem 2 multiplied by alpha/L: it would vanish too.", th.theorem2,
                   lambda L, alpha, *rest: (lambda c: c | {"drift": c["drift"] * alpha / L})(th.theorem2(L, alpha, *rest)))


@ft.claim("rem-extra", on=on_symbols(th.theorem2, "L alpha gap S sigma2 G2 E T root c"), rejects=[third_kept], covers=ALL,
          domain="all positive constants, as an identity in them",
          reading="About the bound; neither term is in the sharper one (note-extra-terms).")
def rem_extra(i):
    r"""Theorem 2 at $\alpha=0$ loses exactly two of its terms, those of order $G^2/\sqrt T$ and $G^2/T^{3/2}$."""
    s, rest = i.s, (i.s.gap, i.s.S, i.s.sigma2, i.s.G2, i.s.E)
    full, avg = i.formula(s.L, s.alpha, *rest, s.T, s.root), i.formula(s.L, 0 * s.alpha, *rest, s.T, s.root)
    later = i.formula(s.L, s.alpha, *rest, s.c**2 * s.T, s.c * s.root)
    kept = {"start": 8 * s.L * s.gap / s.root, "noise": s.S * s.sigma2 / s.root, "drift": 2 * s.E * s.G2 / s.T}
    return (*(ft.equal(avg[k], kept.get(k, 0 * s.L), f"{k} at alpha = 0") for k in full),
            ft.equal(later["proximal"] * s.c, full["proximal"], "one is of order T^(-1/2)"),
            ft.equal(later["last"] * s.c**3, full["last"], "the other of order T^(-3/2)"))


# ---- the constants of the experiments -----------------------------------------------------------------------------------
def constants(name, L, beta, *_):
    return ft.Instance(name, formula=f.decay3, L=Q(L), beta=Q(beta))


def drawn_constants(draw, **ends):
    """mu is fixed, so that L is what `drawn_at` calls a condition number."""
    return drawn_at(draw, make=constants, **ends)


on_decay = [constants(f"L = {L}, beta = {beta}", L, beta) for L in (1, 7, 10**6) for beta in (SMALL, "1/2", "7/10", "9/10", LARGE)]
two_forgotten = wrong("two_forgotten", "1 - mu/(beta L): the 2 of the factor is forgotten.", f.decay3,
                      lambda L, mu, beta, t: f.decay3(L, mu, beta - 2, t))


@ft.claim("decay-invisible", on=on_decay, rejects=[two_forgotten], proof=proofs.invisible,
          ends={BETA: (SMALL, LARGE), ft.Variable("L", lambda i: i.L): (1, 10**6)},
          search=ft.Search((ft.Family("constants", drawn_constants, ({"condition": 1, "beta": SMALL},
                                                                     {"condition": 10**6, "beta": LARGE})),), tries=12),
          domain="mu = 1e-4, 200 rounds, every L >= 1 and beta in (0, 1); standardised images have L well above 1")
def decay_invisible(i):
    r"""With $\mu=10^{-4}$ (softmax-mu) and $L\ge1$: $\big[1-\frac\mu{(\beta+2)L}\big]^{200}\ge.99$, so that the decay in Theorem 3
    is not what is seen in 200 rounds."""
    return ft.at_most(Q(99, 100), i.formula(i.L, f.MU, i.beta, f.ROUNDS))


def rows(name, X, labels, classes, reg):
    """One client; the last feature is the constant 1 of the bias, which (212) penalises too."""
    X = [[*x, 1] for x in X]
    return ft.Instance(name, ft.Logistic([X], [labels], reg, classes=classes), X=np.array(X, dtype=float), classes=classes,
                       lam=float(reg), domain=ft.FLOAT, formula=penalty)


def penalty(lam, X):
    return lam


curvature_of_data = wrong("data_counted", "The data are taken to add curvature in every direction.", penalty,
                          lambda lam, X: lam + np.linalg.eigvalsh(X.T @ X / len(X))[0] / 4)
on_softmax = [rows("three classes", [[2, -1], [0, 1], [1, 1], [-3, 0]], [0, 1, 2, 2], 3, 1e-4),
              rows("ten classes, one feature", [[1], [-2], [5]], [0, 9, 4], 10, 0.5), rows("one row", [[4, 0, 1]], [3], 4, 1e-2)]


@ft.claim("softmax-mu", on=on_softmax, rejects=[curvature_of_data], proof=proofs.softmax, covers=ALL | {"tau": "none"},
          domain="every number of classes, features and rows, bias penalised as printed; the same lambda for all clients")
def softmax_mu(i):
    r"""The regularised softmax loss (212), (213) is strongly convex with $\mu=\lambda$ and no larger constant: adding one vector to
    the weights of all classes does not change the cross entropy."""
    problem, rng, mu = i.problem.to(ft.FLOAT), np.random.default_rng(0), i.formula(i.lam, i.X)
    x, y = rng.normal(size=(2, i.classes, i.X.shape[1]))
    all_alike = np.tile(rng.normal(size=i.X.shape[1]), (i.classes, 1))

    def slope(w):
        return problem.gradient(w.reshape(-1)).reshape(w.shape)
    return (ft.equal(slope(x + all_alike) - slope(x), mu * all_alike, "along one vector for all classes"),
            ft.at_most(mu * ((y - x) ** 2).sum(), ((slope(y) - slope(x)) * (y - x)).sum(), "between two points"))


# ---- sines ------------------------------------------------------------------------------------------------------------
def phases(n):
    """n phases as points (1 - u^2, 2 u)/(1 + u^2) of the circle, free weights p and a free point of the line, from v."""
    s = Symbols("v", u=n, p=n)
    circle = [((1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)) for u in (*s.u, s.v)]
    return ft.Instance(f"{n} clients", formula=f.sine_least2, domain=s.field, p=[v / sum(s.p) for v in s.p], circle=circle, s=s,
                       says="phases and the point by rational points of the circle, weights p/sum p")


in_phase = wrong("cross_terms_dropped", "sum p_i^2 for |sum p_i e^(-i phi_i)|^2: phases taken to be uncorrelated.", f.sine_least2,
                 lambda p, c, s: sum(v**2 for v in p))


@ft.claim("sine-instance", on=[phases(n) for n in (1, 2, 3)], rejects=[in_phase], covers={"n": "all", "d": "1", "tau": "none"},
          domain="every n: value and slope of f depend on the clients through sum p_i cos phi_i and sum p_i sin phi_i alone")
def sine_instance(i):
    r"""$f_i(w)=\sin(w-\phi_i)$ has $L=1$ and $G=1$ on the whole line ($f_i^2+f_i'^2=1$, $f_i''=-f_i$), and $f=\sum_ip_if_i$ has the
    minimum $f_\infty=-\big|\sum_ip_ie^{-i\phi_i}\big|$."""
    *phi, (x, y) = i.circle
    c, s = zip(*phi, strict=True)
    own, slopes = [y * a - x * b for a, b in phi], [x * a + y * b for a, b in phi]
    least2 = i.formula(i.p, c, s)
    mean = sum(p * v for p, v in zip(i.p, own, strict=True)), sum(p * v for p, v in zip(i.p, slopes, strict=True))
    low = sum(p * b for p, b in zip(i.p, s, strict=True)), -sum(p * a for p, a in zip(i.p, c, strict=True))
    there = sum(p * (low[1] * a - low[0] * b) for p, (a, b) in zip(i.p, phi, strict=True))
    flat = sum(p * (low[0] * a + low[1] * b) for p, (a, b) in zip(i.p, phi, strict=True))
    return (*(ft.equal(v**2 + w**2, 1 + 0 * x, "f_i^2 + f_i'^2") for v, w in zip(own, slopes, strict=True)),
            ft.equal(mean[0] ** 2 + mean[1] ** 2, least2, "f^2 + f'^2, so that |f| is at most its root"),
            ft.equal([there, flat], [-least2, 0 * x], "the root times f and f' at the minimiser (sum p s_i, -sum p c_i)/root"))
