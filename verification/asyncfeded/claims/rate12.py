"""Section 5.2, (12), and Section 5.3: what the server step (KNT)^(-1/2) makes of (11), and whether it is true."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded import runs_theorem2_noise as noise
from verification.asyncfeded.claims import theorem2 as counter
from verification.asyncfeded.formulas import rate12 as f
from verification.asyncfeded.formulas import theorem2 as f11
from verification.asyncfeded.instances import log_between
from verification.asyncfeded.proofs import theorem2_alternating
from verification.symbols import Symbols


def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


# ---- (12) itself: left and right side at T = 1/(S g^2), eta_g = g, as g -> 0 ----------------------------------------
G = ft.Field("g")
g, = G.symbols


def one_client(i):
    """(left side, at most; Gamma^2): sum of x_t^2 over all t."""
    q = f11.moved(i.schedule)
    return i.S * g * g / (g * q * (2 - g * q)), 0


def two_in_turn(i):
    """(left side, at least; Gamma^2): all models keep to the box around the resting point."""
    x, r = f11.box(i.pulls, g)
    return (counter.CURVED * (abs(x) - r)) ** 2, f11.alternating_gamma(i.pulls, g) ** 2


def drawn_anew(i):
    """(left side, at least; Gamma^2): the mean of the models stays at the resting point."""
    return (counter.CURVED * f11.resting(i.pulls, i.shares)) ** 2, 0


def kept_by_noise(i):
    """(left side, at least; Gamma^2): what the drift of a round leaves, from x_1 = x_*."""
    return noise.as_it_falls(i, g), 0


falling = [counter.e1[1].but(name="one client", sides=one_client), counter.e2c_alternating.but(sides=two_in_turn),
           counter.e2c.but(sides=drawn_anew), counter.e2d.but(sides=kept_by_noise)]


@ft.claim("eq12", on=falling, needs=[runs.near, runs.steps_cap, counter.balanced], finding="e2c-eq12",
          at=tuple(i.name for i in falling[1:3]), script="witnesses/e2c-eq12.py", step=counter.DRIFT,
          reading="Any hidden constants that do not depend on T: with K, N and clients fixed both sides are compared "
                  "as T grows and eta_g = (KNT)^(-1/2) falls, so that (T2) holds from some T on and Theta tends to 1; "
                  "for clients in turn as for clients drawn uniformly and independently.",
          survives="The right side is of order T^(-1/2); so is the left side for local steps that are short enough and "
                   "up to floors of the order of sigma_g^2 and, for K >= 2, of sigma_l^2 (thm2-repaired): equal clients "
                   "alone do not help (e2d-eq12). For K = 1, uniform draws and no staleness the rate is true "
                   "(thm2-k1-uniform).")
def eq12(i):
    r"""$\eta_g=(KNT)^{-1/2}$: $\frac1T\sum_{t\le T}E\|\nabla F(x_t)\|^2\le O\Big(\frac{F(x_1)-F(x_*)}{\sqrt{KNT}}\Big)
    +O\Big(\frac{\sigma_l^2+\sigma_g^2}{K^{3/2}N^{3/2}\sqrt T\,\Theta(\Gamma)}\Big)$; here as $T\to\infty$ for fixed
    $K$, $N$."""
    left, Gamma2 = i.sides(i)
    theta = 1 - Gamma2 * f.span(i.K, i.L, i.M, log_between(i.K + 1)[1])
    rate = i.gap * g + (i.sl2 + i.sg2) * g / (i.S * theta)   # K^(3/2) N^(3/2) T^(1/2) = S/g
    left, right = (ft.fraction(str(ft.limit(v + 0 * g, "g"))) for v in (left, rate))
    return ft.equal(right, 0, "limit of (12), whatever its constants"), ft.at_most(left, right, "limits as T grows")


def _box():
    """The proof of the box, and its steps on coded arrivals of the two clients in turn."""
    i = counter.e2c_alternating
    steps = theorem2_alternating.after_client2(), theorem2_alternating.box()
    (Q1, B1), (Q2, _) = i.pulls
    x, run = i.x0[0], runs.path(i.but(order=(0, 1) * 6))[0][1]
    u, v = ([a.after[0] - x for a in run[k::2]] for k in (1, 0))
    pull = i.eta_g * Q1 * (B1 - x)
    common = {"g": i.eta_g, "Q1": Q1, "Q2": Q2, "kappa": Q1 * (B1 - x)}
    seen = [-abs(value) if fact.equality else value for j in range(1, 5) for p in steps for fact, value in p.tested(
        common | {"u": u[j], "v": v[j + 1], "un": u[j + 1], "uE": u[j + 1], "d": u[j] - v[j] + pull,
                  "dE": u[j + 1] - v[j + 1] + pull})]
    return (ft.equal([p.status for p in steps].count("HOLDS"), 2, "proofs whose every step is checked"),
            ft.at_most(0, min(seen), "every fact of them on coded arrivals"))


ft.finding("e2c-alternating", kind="counterexample", breaks="thm2", at=(counter.e2c_alternating.name,), check=_box,
           script="witnesses/e2c-alternating.py", step=counter.DRIFT,
           reading="The protocol itself: two clients of one speed, each restarts from the model it was sent after its "
                   "own last update; T = 10^6.",
           survives="thm2-repaired, with a floor of the order of sigma_g^2.")


# ---- inserting it into (11) -----------------------------------------------------------------------------------------
# K = a^2, N = b^2, T = r^2, Theta = 1/(1 + x), ln(K + 1) = K/(1 + y), u = 1/K
s = Symbols("a b r L x y gap sl2 sg2 u")
K, N, T, THETA, SHARE = s.a**2, s.b**2, s.r**2, 1 / (1 + s.x), 1 / (1 + s.y)
ROOTS = s.a, s.b, s.r
ETA_G = f.server_step(*ROOTS)


def symbols(name, formula, **extra):
    return [ft.Instance(name, domain=s.field, formula=formula, s=s, **extra)]


def without_n(L, K, N, theta, log, eta_g, sl2, sg2):
    return f11.floor(L, K, 1, theta, log, eta_g, sl2, sg2)


def start_doubled(*args, **more):
    found = f11.bound(*args, **more)
    return found | {"start": 2 * found["start"]}


def step_forgotten(L, K, N, theta, log, eta_g, T, *rest):
    return f11.bound(L, K, N, theta, log, 1 / (K * N * L), T, *rest)


N_LOST = wrong("n_lost", "eta_g (..) in place of eta_g/N (..) in (11).", f11.floor, without_n)
STEP_FORGOTTEN = wrong("step_forgotten", "eta_g stays at its cap instead of falling with T.", f11.bound, step_forgotten)
STEP_DOUBLED = wrong("start_doubled", "4 (F(x_1) - F(x_*)) in (11).", f11.bound, start_doubled)


def inserted(i):
    """The floors of (11) at eta_g = (KNT)^(-1/2)."""
    return i.formula(s.L, K, N, THETA, SHARE * K, ETA_G, s.sl2, s.sg2)


@ft.claim("eq12-from-11", on=symbols("every K, N, T", f11.floor), finding="e4", at=("every K, N, T",),
          script="witnesses/e4.py",
          step="eta_g/N (ln(K+1) + 4K) at eta_g = (KNT)^(-1/2) is K^(1/2) N^(-3/2) T^(-1/2) (4 + ln(K+1)/K)",
          reading="Hidden constants that do not depend on K, as the exponents of K are printed and discussed.",
          survives="For fixed K and N only a constant is affected: T^(-1/2) does follow from (11) (disc-sqrt-rate).")
def eq12_from_11(i):
    r"""(11) at $\eta_g=(KNT)^{-1/2}$ has a noise term of order $\frac{\sigma_l^2}{K^{3/2}N^{3/2}\sqrt T\,\Theta}$:
    this order over that term stays above a number $>0$ as $K\to\infty$."""
    term, order = inserted(i)["noise"], f.printed(*ROOTS, THETA, 0, s.sl2)["noise"]
    over = 1 / f.quotient(1 / s.u, SHARE, s.L)
    left = ft.limit(over, "u")
    return (ft.equal(term / order, f.quotient(K, SHARE, s.L), "the term over the printed order"),
            ft.at_most(0, ft.fraction(str(left)), "limit of the printed order over the term", strict=True))


@ft.claim("eq12-substituted", on=symbols("every K, N, T", f11.floor), rejects=[N_LOST],
          domain="every K, N, T, L, Theta in (0, 1] and 0 < ln(K + 1) <= K")
def eq12_substituted(i):
    r"""(11) at $\eta_g=(KNT)^{-1/2}$: its floors are $\frac{K^{1/2}}{N^{3/2}\sqrt T\,L\Theta}$ times
    $\frac{4+\ln(K+1)/K}{72}\sigma_l^2+\frac{4+3\ln(K+1)/K}{18}\sigma_g^2$, with numbers in $[\frac1{18},\frac5{72}]$
    and $[\frac29,\frac7{18}]$. The first is $\frac{K^2(4+\ln(K+1)/K)}{72L}$ times the printed order: 5.889 at $K=10$,
    $L=1$."""
    found, (own, apart) = inserted(i), f.coefficients(SHARE)
    order = f.substituted(*ROOTS, s.L, THETA, 0, 1)["noise"]
    printed = f.printed(*ROOTS, THETA, 0, s.sl2)["noise"]
    low, high = (f.quotient(10, v / 10, 1) for v in log_between(11))
    return (ft.equal(found["noise"], own * order * s.sl2), ft.equal(found["heterogeneity"], apart * order * s.sg2),
            ft.nonnegative(own - Q(1, 18)), ft.nonnegative(Q(5, 72) - own), ft.nonnegative(apart - Q(2, 9)),
            ft.nonnegative(Q(7, 18) - apart), ft.equal(found["noise"] / printed, f.quotient(K, SHARE, s.L)),
            ft.equal([round(low, 3), round(high, 3)], [Q("5.889")] * 2, "at K = 10"))


@ft.claim("eq12-first-term", on=symbols("every K, N, T", f11.bound), rejects=[STEP_DOUBLED, STEP_FORGOTTEN],
          domain="every K, N, T, L with T >= N K L^2")
def eq12_first_term(i):
    r"""For $T\ge NKL^2$ the step $\eta_g=(KNT)^{-1/2}$ meets (T2), as $(\eta_gNKL)^2=\frac{NKL^2}T$, and the first
    term of (11) is $\frac{2(F(x_1)-F(x_*))}{\sqrt{KNT}}$."""
    start = i.formula(s.L, K, N, THETA, SHARE * K, ETA_G, T, s.gap, s.sl2, s.sg2)["start"]
    return (ft.equal((ETA_G * N * K * s.L) ** 2, N * K * s.L**2 / T),
            ft.equal(start, 2 * f.printed(*ROOTS, THETA, s.gap, 0)["start"]))


# ---- Section 5.3 ----------------------------------------------------------------------------------------------------
def floors_divided(*args):
    return {k: v if k == "start" else v / args[6] for k, v in f11.bound(*args).items()}


FLOOR_LOST = wrong("floor_lost", "The floors of (11) are divided by T.", f11.bound, floors_divided)


@ft.claim("disc-constant-step", on=symbols("every constant step", f11.bound), rejects=[FLOOR_LOST],
          domain="every eta_g > 0, K, N, L, Theta in (0, 1]; some sigma > 0")
def disc_constant_step(i):
    r"""With constant $\eta_g$ and some $\sigma>0$ the right side of (11) does not vanish as $T\to\infty$: its limit is
    the floor, at least $\frac{\eta_gK}{18NL}(\sigma_l^2+4\sigma_g^2)$."""
    step = s.r   # any number > 0
    bound = sum(i.formula(s.L, K, N, THETA, SHARE * K, step, 1 / s.u, s.gap, s.sl2, s.sg2).values())
    end = ft.limit(bound, "u")
    return (ft.equal(end, sum(f11.floor(s.L, K, N, THETA, SHARE * K, step, s.sl2, s.sg2).values())),
            ft.nonnegative(end - step * K / (18 * N * s.L) * (s.sl2 + 4 * s.sg2)))


@ft.claim("disc-sqrt-rate", on=symbols("every K, N", f11.bound), rejects=[STEP_FORGOTTEN],
          domain="every K, N, L, Theta, T; a statement on the bound, which is not true for every run")
def disc_sqrt_rate(i):
    r"""For constant $K$, $N$ and $\eta_g=(KNT)^{-1/2}$ the right side of (11) is of order $T^{-1/2}$: times $\sqrt T$
    it does not depend on $T$, with $\Theta$ that does not. (That the left side follows is another matter: e2c-eq12.)"""
    def right(r):
        step = f.server_step(s.a, s.b, r)
        return sum(i.formula(s.L, K, N, THETA, SHARE * K, step, r**2, s.gap, s.sl2, s.sg2).values())
    return ft.equal(s.r * right(s.r), right(1))


def earlier_theta(k1, k2, L, theta):
    """Theta at K = k1 < k2: all steps at the cap of the last of k2, so that N and M stay; Theta = theta at k2."""
    M = counter.at_cap(k2, L)[-1] ** 2
    low, high = (f.span(k, L, M, log_between(k + 1)[0]) for k in (k1, k2))
    return 1 - (1 - theta) * low / high


w = Symbols("th e X l d a M L G")   # theta at the larger K; X, l, d: span and logarithm at K = a^2, their increase


THETA_LOST = wrong("theta_lost", "(12) without Theta.", f.printed,
                   lambda a, b, r, theta, gap, s2: f.printed(a, b, r, 1, gap, s2))


@ft.claim("disc-nonmonotone", on=[ft.Instance("N, M and Gamma fixed", domain=w.field, formula=f.printed, s=w)],
          rejects=[THETA_LOST],
          domain="every pair K_1 < K_2, N, T, L and positive hidden constants; sigma > 0; Gamma near the end of (C1) "
                 "at K_2")
def disc_nonmonotone(i):
    r"""With $N$, $M$ and $\Gamma$ fixed, (12) is no decreasing function of $K$, and only because $\Theta$ falls with
    $K$: for $K_1<K_2$ and $\Theta$ near 0 at $K_2$ its value there exceeds every bound, while that at $K_1$ stays;
    with $\Theta$ held fixed both terms decrease."""
    th, e, X = w.th, w.e, w.X
    later = i.formula(w.a + e, 1, 1, th, 1, 1)   # sqrt(K_2) = a + e, Gamma^2 = (1 - th)/(X + d)
    earlier = i.formula(w.a, 1, 1, 1 - (1 - th) * X / (X + w.d), 1, 1)
    held = [i.formula(v, 1, 1, th, 1, 1) for v in (w.a, w.a + e)]
    grows = f.span(w.a**2 + e, w.L, w.M, w.l + w.d) - f.span(w.a**2, w.L, w.M, w.l)
    blown = ft.limit(th * sum(later.values()), "th")
    theta = earlier_theta(9, 10, 1, Q(1, 1000))
    numbers = [f.printed(1, 1, 1, v, 0, 1)["noise"] / k for v, k in ((theta, 27), (Q(1, 1000), 32))]   # 32 > 10^(3/2)
    return (ft.nonnegative(grows, "Theta falls with K"),
            ft.equal(blown, 1 / (w.a + e) ** 3, "theta times (12) at K_2 stays"),
            ft.equal(ft.limit(th * sum(earlier.values()), "th"), 0, "theta times (12) at K_1 vanishes"),
            *(ft.nonnegative(held[0][k] - held[1][k], f"with Theta held, the {k} term falls") for k in held[0]),
            ft.at_most(numbers[0], numbers[1], "K = 9 and 10, all steps alike, Theta(10) = 1/1000", strict=True))


# ---- the algorithm's own server step --------------------------------------------------------------------------------
def _cycle():
    """The pair H = (1, 1/4), b = (1, -2) with K = 5, eta = 1/10, lambda = eps = 1 and equal speeds: 200 coded arrivals
    from 0, the model rounded to 40 digits, and the cycle in balls: gamma = eta_g on it, as the two moves of the server
    cancel."""
    import flint
    problem = ft.Quadratic([[[1]], [["1/4"]]], [[1], [-2]])
    run = arrivals.record(ft.AsyncFedED("1/10", 5, lam=1, eps=1, kappa=0), problem, ft.EventClock(), [0], 200,
                          digits=40)
    q = [f11.moved([Q(1, 10)] * 5, a) for a in (Q(1), Q(1, 4))]
    with ft.Balls(192).working():
        step = (flint.arb(5).sqrt() - 1) / 2   # eta_g (eta_g + 1) = 1
        one, two = (step * flint.arb(flint.fmpq(v.numerator, v.denominator)) for v in q)
        # x = y - one (x - 1) after client 1, which started from x; y = x - two (y + 2) after client 2
        y = (one - 2 * two * (1 + one)) / ((1 + two) * (1 + one) - 1)
        x = (y + one) / (1 + one)
        seen = [a.after[0] for a in run[-2:]]
        near = [abs(flint.arb(flint.fmpq(v.numerator, v.denominator)) - u) for u, v in zip((x, y), seen, strict=True)]
        return (*(ft.at_most(v, Q(1, 10**12), "the coded run ends in the cycle") for v in near),
                *(ft.at_most(abs(v - flint.arb(said)), Q(1, 2 * 10**6), f"{said}, to its digits")
                  for v, said in zip(sorted((x, y), key=float), (".199664", ".361311"), strict=True)),
                ft.equal(ft.fraction(ft.optimum(problem).x[0]), Q(2, 5), "the minimiser of F"),
                ft.at_most(x, Q(2, 5), "the cycle lies below it", strict=True),
                ft.at_most(y, Q(2, 5), "the cycle lies below it", strict=True),
                ft.at_most(Q(61, 100), min(a.eta for a in run[-50:]),
                           "eta_g does not fall: it is lambda/(gamma + eps)"))


ft.finding("e11", kind="remark", breaks="disc-sqrt-rate", check=_cycle,
           reading="Rule (7) with the fixed lambda and eps of Table 4: eta_g is at least lambda/(Gamma + eps), so "
                   "that it is no schedule of order T^(-1/2), and the run ends in a cycle that does not hold x_*.",
           survives="The paper itself says that (11) does not vanish for constant eta_g; lambda chosen in advance, of "
                    "order T^(-1/2), would be such a schedule.")
