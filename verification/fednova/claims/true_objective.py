"""Section 4.2 and Appendix D: the true objective (Lemma 3, Theorem 2, Lemma 4)."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.scalars import is_rational
from fltheory.verdicts.claims.floors import chi_square_floor, floor_of
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.claims import surrogate as thm1
from verification.fednova.claims.quadratics import unit_change, unit_run
from verification.fednova.formulas import true_objective as g
from verification.fednova.instances import Descending, ManyKinked, plane, scalar, surrogate, theorem, two_clients

ALARM = 1e-4  # each statistical comparison's false-alarm level


# ---- Lemma 3 ----------------------------------------------------------------------------------------------
def coded_weights(i):
    """The small-step surrogate weights of the instance's algorithm, from its coded round."""
    return [_read(v) for v in ft.surrogate_weights(i.algorithm, i.law, i.problem.n, i.problem.weights, domain=i.domain)]


def square(v):
    return _read((v * v).sum())


def _read(v):
    """Rationals of the engine as Fractions, which the formulas speak; symbols stay."""
    return ft.fraction(v) if is_rational(v) else v


def fractions(values):
    import numpy as np
    return np.array([ft.fraction(v) for v in values] + [None], dtype=object)[:-1]


def gradients(i, w):
    """(grad F, grad F~) of the instance's objective and surrogate at its point."""
    x = i.domain.array(fractions(i.x0))
    return i.problem.to(i.domain).gradient(x), i.problem.surrogate(w).to(i.domain).gradient(x)


def constants(i, w):
    """(chi^2, beta^2, kappa^2): the smallest kappa^2 of the problem at its declared beta^2."""
    return f.chi2([ft.fraction(v) for v in i.problem.weights], w), i.beta2, i.problem.dissimilarity(w, i.beta2)


def squares(i, w):
    """chi^2 times the slack of A3, plus a sum of squares with positive factors: what Lemma 3's right side exceeds its
    left by."""
    pairs = g.lagrange(i.p, w, [i.problem.to(i.domain).grad(i.domain.array(np.zeros((len(w), 1), dtype=object)))[k, 0]
                                for k in range(len(w))])
    return sum((s * s * k for s, k in pairs), f.chi2(i.p, w) * i.slack)


def _weights_needed(i):
    if i.general:
        return ft.ASSUMED
    smallest = min(v for v, p in zip(coded_weights(i), i.problem.weights, strict=True) if p)
    return 0, smallest


def _finite(i):
    return ft.ASSUMED if i.general else (0, i.problem.dissimilarity(coded_weights(i), i.beta2))


positive_weights = ft.Hypothesis("positive weights", r"$w_i>0$ wherever $p_i>0$ (else $\chi^2=\infty$)",
                                 _weights_needed,
                                 strict=True)
dissimilar = ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", _finite)
_POINTWISE = ("n = 2, 3, 4 clients, every p, w, beta^2 and gradient; every dimension (coordinates add up); the excess "
              "is a sum of squares")


# ---- pointwise: Lemma 3 and what follows from it ----------------------------------------------------------
def _free(n):
    """n clients whose gradients at the point are free symbols, any p and w; s >= 0 is the slack of Assumption 3."""
    names = ["beta2", "s", "c", *(f"p{i}" for i in range(n - 1)), *(f"w{i}" for i in range(n - 1)),
             *(f"g{i}" for i in range(n))]
    field = ft.Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p, w = ([d[f"{k}{i}"] for i in range(n - 1)] for k in "pw")
    p, w = ([*v, 1 - sum(v)] for v in (p, w))
    g = [d[f"g{i}"] for i in range(n)]
    problem = ft.Quadratic.from_linear([[[0]]] * n, [[-v] for v in g], p)
    mean, square = (f.dot(w, u)
                    for u in (g, [v * v for v in g]))
    return ft.Instance(f"n={n}, free gradients", problem, ft.GeneralRule(1, 1, w=tuple(w)), ft.Full(), domain=field,
                       x0=[0], c=d["c"], beta2=d["beta2"], slack=d["s"],
                       kappa2=square - d["beta2"] * mean * mean + d["s"], general=True,
                       says="every gradient, p, w and beta^2 are symbols; coordinates add up, so every dimension")


free = [_free(2), _free(3), _free(4)]


def point(name, problem, taus, beta2, x0, c=1, algorithm=None, says=""):
    return ft.Instance(name, problem, algorithm or ft.FedAvg(Fraction(1, 10), tuple(taus)), ft.Full(), x0=x0,
                       beta2=ft.fraction(beta2), c=ft.fraction(c), general=False, says=says)


# two clients with h = (1, 3), p = 1/2, w = (3/4, 1/4): beta^2 = sum w h^2 / (sum w h)^2 = 4/3, attained far away
_COMMON = scalar([1, 3], [0, 0])
pointwise = [
    point("far away", scalar([1, 3], [1, -1]), (3, 1), "7/5", [50], says="the beta^2 - 1 part dominates"),
    point("surrogate optimum", scalar([1, 1], [1, -1]), (3, 1), 1, ["1/2"], "1/100",
          says="grad F~ = 0: only chi^2 kappa^2 is left"),
    point("common minimiser", _COMMON, (3, 1), "4/3", [1], 3,
          says="kappa^2 = 0, and Young's inequality is attained at c = 3"),
    point("plane", plane(), (1, 3, 8), 4, [2, -1], "1/2"),
    point("plane, FedProx", plane(), (1, 3, 8), 4, [1, 1], 2, ft.FedAvg(Fraction(1, 10), (1, 3, 8),
                                                                        ft.Proximal(alpha="1/2"))),
]
no_weight = ft.Instance("w_1 = 0 although p_1 = 1/2", two_clients(), ft.GeneralRule(Fraction(1, 10), 1, w=(0, 1)),
                        ft.Full(), x0=["1/2"], beta2=Fraction(1), c=Fraction(1), general=False,
                        says="chi^2 is infinite")


@ft.claim("lem3", covers={"d": "all", "tau": "none"},
          on=[*free, *pointwise, no_weight], needs=[positive_weights, dissimilar], bound=True,
          domain=_POINTWISE)
def lem3(i):
    r"""If $w_i>0$ wherever $p_i>0$, then for all $x$: $\|\nabla F-\nabla\widetilde
    F\|^2\le\chi^2_{p\|w}\left[(\beta^2-1)\|\nabla\widetilde F\|^2+\kappa^2\right]$."""
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    if i.general:
        bound = ft.Terms(**g.lem3(f.chi2(i.p, w), i.beta2, i.kappa2, square(surrogate))).total
        return ft.equal(bound - square(true - surrogate), squares(i, w),
                        "right - left = chi^2 slack + sum of squares/(w_i w_j)")
    return ft.at_most(square(true - surrogate), ft.Terms(**g.lem3(*constants(i, w), square(surrogate))))


def _attained(n):
    base = _free(n)
    w = base.algorithm.w
    problem = ft.Quadratic([[[1]]] * n, [[(a - b) / b] for a, b in zip(base.p, w, strict=True)], base.p)
    return base.but(name=f"n={n}, any p and w", problem=problem, says="minimisers (p_i - w_i)/w_i")


def attained_by(taus, weights):
    """FedAvg with steps tau_i: w_i = p_i tau_i / sum p_j tau_j, minimisers placed at (p_i - w_i)/w_i."""
    p = [ft.fraction(v) for v in weights]
    total = f.dot(p, taus)
    xi = [total / t - 1 for t in taus]
    return point(f"FedAvg, tau={tuple(taus)}", scalar([1] * len(xi), xi, weights), taus, 1, [0],
                 says="p_i/w_i = sum p_j tau_j / tau_i")


tight = [*(_attained(n) for n in (2, 3, 4, 5)), attained_by((1, 2, 10), ["1/2", "3/10", "1/5"]),
         attained_by((9, 1), ["1/2", "1/2"])]


@ft.claim("lem3-tight", covers={"tau": "none"},
          on=tight, rejects=[bugs.uniform_weights, bugs.one_step_more],
          domain="every p and w for n = 2, 3, 4, 5 clients")
def lem3_tight(i):
    r"""For every $(p,w)$ the scalar clients $F_i=\frac12(x-\xi_i)^2$ with $\xi_i=(p_i-w_i)/w_i$ attain Lemma 3 at the
    surrogate optimum $x_w=0$: $|\nabla F|^2=\chi^4=\chi^2\kappa^2$ with $\beta^2=1$, $\kappa^2=\chi^2$."""
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    zero = i.domain.array(np.zeros((len(w), 1), dtype=object))
    own = np.array([_read(v) for v in i.problem.to(i.domain).grad(zero)[:, 0]])
    kappa2 = (np.array(w) * own * own).sum()  # Assumption 3 with beta^2 = 1 is an equality for a common Hessian
    chi2 = f.chi2(i.p if i.general else [ft.fraction(v) for v in i.problem.weights], w)
    return (ft.equal(surrogate, 0 * surrogate, "x_w = 0"), ft.equal(kappa2, chi2, "kappa^2 = chi^2"),
            ft.equal(square(true), chi2 * kappa2, "attained"))


@ft.claim("eq109-110", covers={"d": "all", "tau": "none"},
          on=[*free, *pointwise, no_weight], needs=[positive_weights, dissimilar], bound=True, domain=_POINTWISE)
def eq109_110(i):
    r"""For all $x$: $\|\nabla F\|^2\le2[\chi^2_{p\|w}(\beta^2-1)+1]\,\|\nabla\widetilde F\|^2+2\chi^2_{p\|w}\kappa^2$.
    """
    w = coded_weights(i)
    true, surrogate = gradients(i, w)
    if i.general:
        bound = ft.Terms(**g.eq110(f.chi2(i.p, w), i.beta2, i.kappa2, square(surrogate))).total
        return ft.equal(bound - square(true), 2 * squares(i, w) + square(true - 2 * surrogate),
                        "right - left is a sum of squares")
    return ft.at_most(square(true), ft.Terms(**g.eq110(*constants(i, w), square(surrogate))))


# ---- floors -----------------------------------------------------------------------------------------------
def floor(name, problem, taus, eta, beta2, c, solver=None, noise=0, x0=None, simulate=None, says=""):
    algorithm = ft.FedAvg(ft.fraction(eta),
                          tuple(taus)) if solver is None else ft.FedAvg(ft.fraction(eta), tuple(taus), solver)
    return ft.Instance(name, problem, algorithm, ft.Full(), noise=ft.fraction(noise), beta2=ft.fraction(beta2),
                       c=ft.fraction(c), x0=x0 or [0] * problem.d, simulate=simulate, general=False, floor=True,
                       says=says)


_RUNS = {"rounds": 300, "replicates": 256, "seed": 31}
floors = [
    floor("FedAvg floor, tau=(9,1)", two_clients(), (9, 1), "1/100", 1, "1/10", noise="1/4", x0=["4/5"], simulate=_RUNS,
          says="also by 256 runs"),
    floor("FedProx floor, alpha=1/2", two_clients(), (9, 1), "1/100", 1, "1/10", ft.Proximal(alpha="1/2"), "1/4",
          ["1/3"],
          _RUNS | {"rounds": 600, "seed": 32}, "also by 256 runs"),
    floor("FedAvg floor, strong noise", two_clients(), (9, 1), "1/100", 1, "1/10", noise=10,
          says="the surrogate error matters"),
    floor("FedAvg floor, plane", plane(), (1, 3, 8), "1/100", 4, "1/2", noise="1/2",
          says="non-commuting Hessians, unequal weights"),
]


@ft.claim("thm2-sharper", covers={"d": "all", "tau": "none"},
          on=[*free, *pointwise, *floors, no_weight], needs=[positive_weights, dissimilar],
          bound=True, domain=_POINTWISE + "; every c > 0, hence averaged over rounds and in expectation")
def thm2_sharper(i):
    r"""For every $c>0$: $\|\nabla F\|^2\le(1+c)\chi^2_{p\|w}\left[(\beta^2-1)\|\nabla\widetilde F\|^2+\kappa^2\right]
    +(1+\tfrac1c)\|\nabla\widetilde F\|^2$. At an exact stationary point of $\widetilde F$ the floor is
    $\chi^2\kappa^2$, not $2\chi^2\kappa^2$."""
    w = coded_weights(i)
    if "floor" in i.extra:  # stationary: E|grad F|^2 against E|grad F~|^2 of the same coded rounds
        return measured_floor(i)[:-1]
    true, surrogate = gradients(i, w)
    if i.general:
        bound = ft.Terms(**g.thm2_sharper(f.chi2(i.p, w), i.beta2, i.kappa2, square(surrogate), i.c)).total
        rest = i.c * (true - surrogate) - surrogate
        return ft.equal(bound - square(true), (1 + i.c) * squares(i, w) + square(rest) / i.c,
                        "right - left is a sum of squares")
    return ft.at_most(square(true), ft.Terms(**g.thm2_sharper(*constants(i, w), square(surrogate), i.c)))


def measured_floor(i):
    """The chi-square floor of the stationary law, of the run, and from below where Lemma 3 is an equality."""
    floor = floor_of(i, i.beta2)
    error = ft.fraction(i.op.mean_gradient_square(i.problem.surrogate(floor.w), None, i.x0))
    exact = ft.fraction(i.op.mean_gradient_square(i.problem, None, i.x0))
    legs = [chi_square_floor(exact, floor, error, i.c, "stationary E|grad F|^2 of the coded round")]
    if i.simulate:  # unit Hessians: |grad F|^2 is the squared distance to the optimum
        measured = i.run.floor(level=1 - ALARM)
        legs += [ft.agrees(measured, exact, "measured floor"),
                 chi_square_floor(measured, floor, error, i.c, "its bound")]
    below = (1 - i.c) * floor.value - (1 / i.c - 1) * error
    return [*legs, ft.at_most(max(below, ft.fraction(0)), exact, "the floor from below (two clients, one Hessian)")]


# ---- Theorem 2 --------------------------------------------------------------------------------------------
def theorem2(i, corrected):
    """(t, A, B, C, cap of beta^2, beta^2), so that [-1:3:-1] is (beta^2, its cap); beta^2 is declared, or a declared
    share of the cap, or 1."""
    t = theorem(i)
    corrected = corrected and i.solver == "proximal"
    A, B, C = (f.abc_corrected(i.solver, i.value, i.taus, t["w"], t["tau_eff"]) if corrected
               else f.abc(t["vectors"], t["w"], t["tau_eff"]))
    cap = (f.beta2_under_corrected_cap(i.eta, t["L"], C) if corrected and C
           else f.beta2_under_cap(i.eta, t["L"], max(t["norms"])))
    beta2 = i.beta2 if "beta2" in i.extra else 1 + i.extra.get("share", 0) * (cap - 1)
    return t, A, B, C, cap, beta2


def bound2(i, corrected):
    t, A, B, C, _, beta2 = theorem2(i, corrected)
    kappa2 = i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(t["w"], beta2)
    error = f.thm1(i.eta, t["L"], t["sigma2"], kappa2, t["gap"], t["tau_eff"], i.rounds, A, B, C, t["m"])
    return ft.Terms(**g.thm2(f.chi2([ft.fraction(v) for v in i.problem.weights], t["w"]), beta2, kappa2, error))


def _needs(corrected):
    def dissimilar2(i):
        t, *_, beta2 = theorem2(i, corrected)
        return (0, 0) if "kappa2" in i.extra else (0, i.problem.dissimilarity(t["w"], beta2))
    drift = r"4\eta^2L^2C'\le\frac1{2\beta^2+1}" if corrected else r"\eta L\max_i\|a_i\|_1\sqrt{2\beta^2+1}\le\frac12"
    return [ft.Hypothesis("non-negative a", r"$a_{i,k}\ge0$",
                          lambda i: (0, min(map(min, i.vectors)))),
            ft.Hypothesis("beta^2", r"$\beta^2\ge1$", lambda i: (1, theorem2(i, corrected)[5])),
            ft.Hypothesis("step cap (101), drift", f"${drift}$, squared", lambda i: theorem2(i, corrected)[-1:3:-1]),
            ft.Hypothesis("step cap (101), server", r"$2\eta L\tau_{\rm eff}\le1$",
                          lambda i: (2 * i.eta * i.L * theorem(i)["tau_eff"], 1)),
            ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", dissimilar2),
            ft.Hypothesis("bounded below", r"$\widetilde F_{\inf}>-\infty$, gap $\ge0$",
                          lambda i: (0, theorem(i)["gap"]))]


def true_side(i):
    """(1/T) sum E |grad F(x_t)|^2 of the true objective: exact second moments, or the coded rounds of a smooth
    problem."""
    if isinstance(i, ManyKinked):
        return i.left_side()  # one objective, so F = F~
    if not isinstance(i, Descending):
        return i.op.mean_gradient_square(i.problem, i.rounds, i.x0)
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state, total = algorithm.init(problem, i.domain.array(fractions(i.x0))), 0
    for _ in range(i.rounds):
        g = problem.gradient(state.x)
        total = total + (g * g).sum()
        state = algorithm.round(problem, state, ft.everyone(problem.n, i.taus))
    return total / i.rounds


# ---- Theorem 2 --------------------------------------------------------------------------------------------
def with_beta(instance, beta2, name=None):
    """A Theorem 1 instance with a declared beta^2 of Assumption 3."""
    return instance.but(beta2=ft.fraction(beta2), name=name or instance.name)


solvers = [with_beta(i, 4) for i in thm1.solvers]
terms = [with_beta(i, b) for i, b in zip(thm1.one_per_term, (2, 1, 3, 3, 1), strict=True)]
mismatch = with_beta(surrogate("mismatch dominates", two_clients(), (9, 1), "1/1000"), 1)
two_prox = with_beta(surrogate("FedProx, alpha=1/2", two_clients(), (9, 1), "1/100", "proximal", "1/2", rounds=50,
                                 x0=[1]), 1)
prox_alpha1 = with_beta(thm1.prox_alpha1, 1).but(name="prox-alpha1, T=100", rounds=100)
prox_alpha1_limit = with_beta(thm1.prox_alpha1_limit, 1)
too_large = with_beta(thm1.too_large, 6)


@ft.claim("thm2-as-printed", on=[*solvers, *terms, mismatch, two_prox, prox_alpha1, prox_alpha1_limit,
                                 too_large],
          needs=_needs(False), bound=True, rejects=[bugs.normaliser_missing],
          finding="e1-thm2", at=("prox-alpha1, T=100", "prox-alpha1, T to infinity"), script="witnesses/e1_thm2.py",
          step="Theorem 2 inserts Theorem 1's right-hand side, which misses the drift of the proximal solver (eq 69); "
               "Lemma 3 is not to blame",
          reading="The error of Theorem 1 is the right-hand side of (97) with the constants of its proof; beta^2 = 1 "
                  "on the failing instance, where Assumption 3 is an equality. An expectation is added on the left, "
                  "where (10) has none. alpha = 1 gives w = p, so chi^2 = 0 and F = F~; the constants of (10) are "
                  "those of (97) times 2.",
          survives="The theorem holds with Theorem 1's error wherever that bound holds: vanilla, step decay, "
                   "momentum. The step from Theorem 1 to Theorem 2 (Lemma 3) is correct. With the prefix-based error "
                   "(thm2-corrected) the same instance satisfies the bound.")
def thm2_as_printed(i):
    r"""Under the conditions of Theorem 1, for every solver with $a_{i,k}\ge0$: $\min_tE\|\nabla
    F(x^{(t,0)})\|^2\le2[\chi^2_{p\|w}(\beta^2-1)+1]\,\epsilon_{\rm opt}+2\chi^2_{p\|w}\kappa^2$ (10), where
    $\epsilon_{\rm opt}$ is the right-hand side of Theorem 1."""
    return ft.at_most(true_side(i), bound2(i, corrected=False))


def quadratics(draw):
    """Theorem 1's random quadratics with beta^2 anywhere between 1 and its cap."""
    i = families.quadratics(draw)
    return None if i is None else i.but(share=ft.fraction(draw(families.st.sampled_from(["1/100", "1/10", "1/2",
                                                                                         "1"]))))


same_weights = with_beta(surrogate("FedProx, alpha=1, small step", scalar([1, 1], [1, -1], ["3/4", "1/4"]), (2, 3),
                                     "1/1000", "proximal", 1), 1)
kinked = with_beta(thm1.many_kinked, 1)


@ft.claim("thm2-corrected", needs=_needs(True), bound=True,
          rejects=[bugs.normaliser_missing, bugs.uniform_weights, bugs.proximal_missing],
          on=[*solvers, *terms, mismatch, two_prox, same_weights, kinked, prox_alpha1,
              prox_alpha1_limit,
              too_large],
          search=ft.Search((ft.Family("quadratic", quadratics), ft.Family("Huber", families.hubers),
                            ft.Family("logistic", families.logistics)), tries=100))
def thm2_corrected(i):
    r"""Theorem 2 holds in the averaged form $\frac1T\sum_{t<T}E\|\nabla
    F\|^2\le2[\chi^2_{p\|w}(\beta^2-1)+1]\,\epsilon_{\rm opt}+2\chi^2_{p\|w}\kappa^2$ with the error
    $\epsilon_{\rm opt}$ of Theorem 1 for vanilla, step decay and momentum, and with $B',C'$ from the prefix
    coefficients in $\epsilon_{\rm opt}$ and in its step-size cap for the proximal solver."""
    return ft.at_most(true_side(i), bound2(i, corrected=True))


# ---- Lemma 4 ----------------------------------------------------------------------------------------------
def _lem4_general():
    field = ft.Field("eta a z0 z1 t0 t1 r0 r1 k")
    eta, a, z0, z1, t0, t1, r0, r1, k = field.symbols
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance("any tau_1, tau_2, a", problem, ft.FedAvg(eta, 1), ft.Full(), domain=field, e=[[a], [-a]], a=a,
                       z=[z0, z1], t=[t0, t1], r=[r0, r1], k=k, general=True, floor=False, says="z_i = (1 - eta)^tau_i")


def _lem4_explicit(taus):
    field = ft.Field("eta a")
    eta, a = field.symbols
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance(f"tau={taus}", problem, ft.FedAvg(eta, taus), ft.Full(), domain=field, a=a,
                       t=[Fraction(t) for t in taus], general=False, floor=False,
                       says="the whole coded round, eta and a free")


on_lem4 = [_lem4_general(), _lem4_explicit((9, 1)), _lem4_explicit((1, 4)), *(i.but(t=[Fraction(9), Fraction(1)])
                                                                           for i in (floors[0], floors[2]))]


# ---- Lemma 4 ----------------------------------------------------------------------------------------------
@ft.claim("lem4", covers={"tau": "all"},
          on=on_lem4, rejects=[bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step],
          domain="every tau_1, tau_2 (integers, by induction on the coded local step) and a; the whole coded round for "
                 "tau = (9,1) and (1,4)")
def lem4(i):
    r"""$F_{1,2}=\frac12(x\mp a)^2$, $p=\frac12$, FedAvg: $\lim_{\eta\to0}\lim_{T\to\infty}\|\nabla
    F\|^2=\left(\frac{\tau_1-\tau_2}{\tau_1+\tau_2}\right)^2a^2=\chi^2_{p\|w}\kappa^2$, for the last iterate and every
    start."""
    if i.floor:
        return measured_floor(i)
    if i.general:
        point, w = f.eq29(i.e, i.z), g.lem4_weights(*i.t)
        jets = [1 - t * i.eta + i.eta * i.eta * r for t, r in zip(i.t, i.r, strict=True)]
        reached = ft.limit(f.eq29(i.e, jets), "eta")

        def server(at):
            return ft.server_step(i, [at], unit_change(i, [at])(np.array(i.z)))[0]
        run = [unit_run(i, [i.k]),
               ft.equal(server(i.k + 1) - server(i.k), f.eq29_factor(i.z),
                        "every start: each round multiplies x - limit by a factor in (0, 1)"),
               ft.equal([server(point[0])], point, "coded server step fixes eq 29")]
    else:
        reached, w, run = ft.limit(i.op.fixed_point().x, "eta"), coded_weights(i), []
    problem, reached = i.problem.to(i.domain), np.array(reached)
    floor = square(problem.gradient(reached))
    own = problem.grad(reached[None, :] + 0 * problem.p[:, None])[:, 0]
    kappa2, half = (np.array(w) * own * own).sum(), [ft.fraction("1/2")] * 2
    return (*run, ft.equal(square(problem.surrogate(w).gradient(reached)), 0, "the limit minimises the surrogate"),
            ft.equal(floor, g.lem4_limit(*i.t, i.a), "limit of |grad F|^2"),
            ft.equal(floor, f.chi2(half, w) * kappa2, "= chi^2 kappa^2"))


def _minimum_over_rounds():
    """Lemma 4's instance, tau = (9, 1): started at x* = 0 the minimum over rounds is 0 although the last iterate's
    limit is not; started beyond the limit the rounds come down monotonically and never pass it."""
    at_optimum = surrogate("from 0", two_clients(), (9, 1), "1/100", rounds=1)
    limit = ft.fraction(at_optimum.op.fixed_point().x[0])
    first = ft.fraction(at_optimum.op.mean_gradient_square(at_optimum.problem, 1, [0]))
    slope = ft.fraction(at_optimum.op.mean_map()[0][0, 0])
    # x = limit + gap with gap >= 0: one round keeps the sign, shrinks it
    z0, z1, gap = ft.Field("z0 z1 gap").symbols
    factor = f.eq29_factor([z0, z1])
    return (ft.equal(first, 0, "start at x* = 0: the minimum of |grad F|^2 over rounds is 0"),
            ft.at_most(ft.fraction("1/2"), limit**2,
                       "limit of |grad F|^2 for the last iterate, eta = 1/100 (0.64 as eta tends to 0)"),
            ft.equal(slope, f.eq29_factor([ft.fraction("99/100") ** 9, ft.fraction("99/100")]),
                     "factor of the coded round"),
            ft.nonnegative(factor * gap, "a start at or beyond the limit stays there: x - limit >= 0 is multiplied by "
                                         "(z_1 + z_2)/2 >= 0"))


ft.finding("r6", kind="remark", breaks="lem4", check=_minimum_over_rounds,
           reading="Section 4.2 states the lower bound for the minimum over rounds, Lemma 4 proves it for the last "
                   "iterate.",
           survives="As an existence statement both hold: from any start at or beyond the limit the minimum over "
                    "rounds is the limit.")


def constants_at(taus, a=1):
    a = ft.fraction(a)
    problem = ft.Quadratic([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance(f"tau={taus}, a={a}", problem, ft.FedAvg(Fraction(1, 10), taus), ft.Full(),
                       t=[Fraction(t) for t in taus], a=a, general=False)


on_constants = [constants_at((9, 1)), constants_at((2, 5), "3/2")]


@ft.claim("lem4-constants-as-printed", on=on_constants,
          finding="e9", at=("tau=(9, 1), a=1", "tau=(2, 5), a=3/2"), script="witnesses/e9.py",
          step="w_1 |x - a|^2 + w_2 |x + a|^2 = |grad F~|^2 + 4 w_1 w_2 a^2: the factor is 4, and chi^2 has 4 tau_1 "
               "tau_2 below",
          reading="w, kappa^2 and chi^2 as defined in the paper; beta^2 = 1 is the smallest admissible value, and "
                  "Assumption 3 is then an equality for every x.",
          survives="The product chi^2 kappa^2, which is all that Lemma 4 uses, is right; the constants are off by "
                   "factors 2 and 1/2.")
def lem4_constants_as_printed(i):
    r"""On Lemma 4's instance $\kappa^2=2w_1w_2a^2$ and $\chi^2_{p\|w}=\dfrac{(\tau_1-\tau_2)^2}{2\tau_1\tau_2}$."""
    return constants_of(i, printed=True)


def _constants_symbolic():
    field = ft.Field("t0 t1 a x")
    t0, t1, a, x = field.symbols
    w = (t0 / (t0 + t1), t1 / (t0 + t1))
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance("any tau_1, tau_2, a", problem, ft.GeneralRule(1, 1, w=w), ft.Full(), domain=field, t=[t0, t1],
                       a=a, x=x, w=w, general=True, says="any server model x")


constants_symbolic = _constants_symbolic()


@ft.claim("lem4-constants-corrected", covers={"tau": "all"},
          on=[constants_symbolic, *on_constants], rejects=[bugs.one_step_more],
          domain="every tau_1, tau_2, a and server model x")
def lem4_constants_corrected(i):
    r"""On Lemma 4's instance $\kappa^2=4w_1w_2a^2=\dfrac{4\tau_1\tau_2a^2}{(\tau_1+\tau_2)^2}$ and
    $\chi^2_{p\|w}=\dfrac{(\tau_1-\tau_2)^2}{4\tau_1\tau_2}$, with $\beta^2=1$."""
    return constants_of(i, printed=False)


def constants_of(i, printed):
    kappa2, chi2 = g.lem4_constants(*i.t, i.a, printed)
    w = coded_weights(i)
    stated = ft.equal(f.chi2([ft.fraction("1/2")] * 2, w), chi2, "chi^2 of the coded weights")
    if not i.general:
        return ft.equal(i.problem.dissimilarity(w, 1), kappa2, "smallest kappa^2 at beta^2 = 1"), stated
    problem, x = i.problem.to(i.domain), np.array([i.x])
    own = problem.grad(x[None, :] + 0 * problem.p[:, None])[:, 0]
    exact = (np.array(w) * own * own).sum() - square(problem.surrogate(w).gradient(x))
    return ft.equal(exact, kappa2, "Assumption 3 is an equality at every x"), stated


# ---- when the minimisers agree ----------------------------------------------------------------------------
def agree(name, problem, taus, solver=None, identical=False, says=""):
    algorithm = ft.FedAvg(Fraction(1, 10), tuple(taus)) if solver is None else ft.FedAvg(Fraction(1, 10), tuple(taus),
                                                                                         solver)
    alpha = None if solver is None else ft.fraction(solver.alpha)
    return ft.Instance(name, problem, algorithm, ft.Full(), alpha=alpha, identical=identical, general=False, says=says)


ordinary = [
    agree("ordinary", scalar([1, 2], [1, -1]), (1, 5), says="w differs from p, and so do the minimisers"),
    agree("equal steps", scalar([1, 2], [1, -1]), (4, 4), says="w = p"),
    agree("FedProx, alpha=1, unequal steps", scalar([1, 2], [1, -1]), (1, 5), ft.Proximal(alpha=1),
          says="w = p although the steps differ"),
    agree("identical clients", scalar([2, 2], [1, 1]), (1, 5), identical=True),
]
common = agree("common minimiser", scalar([1, 2], [0, 0]), (1, 5),
               says="F_i = h_i x^2/2 with h = (1, 2): objectives and weights differ")
same_sum = agree("two alike of three", scalar([1, 1, 2], [1, 1, -1], ["1/3", "1/3", "1/3"]), (1, 3, 2),
                 says="F_1 = F_2 differs from F_3, w = (1/6, 1/2, 1/3): the surrogate objective is F itself")


# ---- when there is no inconsistency -----------------------------------------------------------------------
@ft.claim("disc-only-two-cases", on=[*ordinary, common, same_sum],
          finding="e10", at=("common minimiser", "two alike of three"), script="witnesses/e10.py",
          step="w != p moves the minimiser only if sum (p_i - w_i) grad F_i(x_w) != 0; a common minimiser makes it 0 "
               "for every w",
          reading="Inconsistency: the surrogate's minimiser is not the true one; kappa^2 = 0 at the common minimiser, "
                  "so Theorem 2's own floor vanishes. On the last instance, two alike of three clients, the two "
                  "objectives are even the same function, which refutes the reading F~ = F too. The sentence says "
                  "that it is absent only if w = p (printed as equal steps with the same solver, which we widen) or "
                  "all local objectives are the same.",
          survives="Both named cases avoid it; for a given pair w != p almost every choice of clients is "
                   "inconsistent. inconsistency-condition: the minimisers agree exactly when sum (p_i - w_i) grad "
                   "F_i(x_w) = 0.")
def disc_only_two_cases(i):
    r"""The minimisers of $F$ and $\widetilde F$ agree only if $w=p$ or all $F_i$ are the same."""
    w = coded_weights(i)
    gap = _distance(i, w)
    mismatch = f.chi2([ft.fraction(v) for v in i.problem.weights], w)
    return ft.equivalent((gap == 0, (gap, 0)), (mismatch == 0 or i.identical, (mismatch, 0)),
                         "consistent exactly when w = p or identical")


convex = ft.Hypothesis("strongly convex", r"$H_i\succ0$ for every client",
                       lambda i: ft.ASSUMED if i.general else (0, i.problem.constants.mu), strict=True)


def _agree_symbolic():
    """Two clients in the plane; b_2 is chosen such that y is stationary for the surrogate, z is any point."""
    names = "p w a1 c1 d1 a2 c2 d2 u v y0 y1 z0 z1"
    field = ft.Field(names)
    p, w, a1, c1, d1, a2, c2, d2, u, v, y0, y1, z0, z1 = field.symbols
    H, y = [[[a1, c1], [c1, d1]], [[a2, c2], [c2, d2]]], (y0, y1)
    image = [[h[j][0] * y0 + h[j][1] * y1 for j in (0, 1)] for h in H]
    b2 = [image[1][j] + w * (image[0][j] - b) / (1 - w) for j, b in enumerate((u, v))]
    problem = ft.Quadratic.from_linear(H, [[u, v], b2], [p, 1 - p])
    return ft.Instance("two clients in the plane", problem, ft.GeneralRule(1, 1, w=(w, 1 - w)), ft.Full(), domain=field,
                       y=y, z=(z0, z1), H=H, general=True, says="every Hessian, p, w and both points are symbols")


agree_symbolic = _agree_symbolic()

# p_i xi_i = (1, -2, 1) and steps (1, 2, 3): both sum p_i xi_i and sum p_i tau_i xi_i vanish
coincidence = agree("coincidence", scalar([1, 1, 1], [2, -8, 4], ["1/2", "1/4", "1/4"]), (1, 2, 3),
                    says="sum (p_i - w_i) grad F_i(x_w) = 0 by accident")
coincidence_plane = agree("plane", plane(), (1, 3, 8))

# in numbers what the others prove in symbols
ft.illustrate([
    coincidence, coincidence_plane, common, *on_constants, *floors, *on_lem4, no_weight, *ordinary, *pointwise, *tight,
])


@ft.claim("inconsistency-condition", covers={"tau": "none"},
          needs=[convex], rejects=[bugs.decayed_step, bugs.uniform_weights],
          on=[agree_symbolic, *ordinary, common, coincidence, coincidence_plane],
          domain="two clients in the plane, every Hessian, p and w: grad F(x_w) = sum (p_i - w_i) grad F_i(x_w) and "
                 "grad F(y) - grad F(z) = H_p (y - z), so for H_p > 0 it vanishes exactly at the minimiser; exactly on "
                 "every listed instance")
def inconsistency_condition(i):
    r"""For strongly convex quadratics the minimisers of $F$ and $\widetilde F$ agree exactly when
    $\sum_i(p_i-w_i)\nabla F_i(x_w)=0$."""
    if i.general:
        problem, y, z, w = i.problem.to(i.domain), np.array(i.y), np.array(i.z), coded_weights(i)
        own = problem.grad(y[None, :] + 0 * problem.p[:, None])
        stated = [sum((i.p[k] - w[k]) * own[k, j] for k in (0, 1)) for j in (0, 1)]
        Hp = [[sum(i.p[k] * i.H[k][j][m] for k in (0, 1)) for m in (0, 1)] for j in (0, 1)]
        moved = [sum(Hp[j][m] * (y[m] - z[m]) for m in (0, 1)) for j in (0, 1)]
        return (ft.equal(problem.surrogate(w).gradient(y), [0, 0], "y is stationary for the surrogate"),
                ft.equal(problem.gradient(y), stated, "grad F(x_w) = sum (p_i - w_i) grad F_i(x_w)"),
                ft.equal(problem.gradient(y) - problem.gradient(z), moved, "grad F(y) - grad F(z) = H_p (y - z)"))
    gap, stated = _distance(i, coded_weights(i)), _condition(i)
    return ft.equivalent((gap == 0, (gap, 0)), (stated == 0, (stated, 0)),
                         "minimisers agree exactly when the condition holds")


def _distance(i, w):
    """Squared distance between the exact minimisers of F and of the surrogate with weights w."""
    p = [ft.fraction(v) for v in i.problem.weights]
    return sum((ft.fraction(a) - ft.fraction(b)) ** 2 for a, b in
               zip(ft.surrogate_optimum(i.problem, w).x, ft.surrogate_optimum(i.problem, p).x, strict=True))


def _condition(i):
    """|sum (p_i - w_i) (H_i x_w - e_i)|^2 with the paper's weights, x_w by substitution-checked linear solve."""
    p = [ft.fraction(v) for v in i.problem.weights]
    solver = "vanilla" if i.alpha is None else "proximal"
    _, w = f.plain_averaging(p, [f.norm1(f.a_vector(solver, t, i.alpha)) for t in i.taus])
    H, b = i.problem.H, i.problem.b
    x = ft.linalg.solve(f.dot(w, H), f.dot(w, b))
    total = sum((a - q) * (ft.linalg.matmul(h, x[:, None])[:, 0] - v) for a, q, h, v in zip(p, w, H, b, strict=True))
    return sum(v * v for v in total)
