"""Theorem 2 where it is true: one local step; and by how much it fails for more of them, one client without noise."""
import itertools
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import bugs_theorem2 as bugs
from verification.asyncfeded import instances
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded import runs_theorem2_meaning as meaning
from verification.asyncfeded import runs_theorem2_uniform as uniform
from verification.asyncfeded.formulas import theorem2 as f
from verification.asyncfeded.formulas.steps import cap2
from verification.asyncfeded.proofs import theorem2 as proofs
from verification.asyncfeded.proofs import theorem2_stale
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- no staleness, clients drawn uniformly --------------------------------------------------------------------------
def fresh(name, problem, of_cap, T, share=1, x0=0, noise=0, chances=runs.SIGNS, **extra):
    """of_cap: eta_g N L; share: of the cap of (T1)."""
    L = ft.fraction(problem.constants.L)
    step = instances.at_cap(1, L, share, 4 if L <= 1 else 3 + len(str(int(L))))
    algorithm = runs.Fresh(1, 1, server_lr=ft.fraction(of_cap) / (step[0] * L), solver=ft.Listed(step))
    said = extra.pop("says", "")
    return runs.Runs(name, problem, algorithm, ft.Uniform(1), noise=noise, x0=[ft.fraction(x0)] * problem.d, rounds=T,
                     Gamma2=Q(0), chances=chances if noise else ((Q(1), Q(0)),),
                     says=f"{said}; eta_g N L = {of_cap}, T = {T}, x_1 = {x0}, sigma = {noise}", **extra)


drawn_alike = ft.Hypothesis("uniform draws", "the largest chance of a client at most the least",
                            lambda i: (max(i.stated.law.inclusion(i.n)), min(i.stated.law.inclusion(i.n))))
LINE, TWO = ft.Quadratic([[[1]]], [[0]]), ft.Quadratic([[[1]], [[1]]], [[1], [-1]])
BENT = ft.PiecewiseQuadratic([[1, -1, 1], [1, 1, 1]], [[-1, 1], [0, 2]], [Q(1, 2), -1], calm=[0, 1])
CUP = ft.PiecewiseQuadratic([[1, -1, 0, 1]], [[-2, -1, 1]], [0])
PLANE = ft.Quadratic([[[1, 0], [0, "1/3"]]] * 3, [[1, 0], [0, 2], [-1, -1]])
MANY = ft.Quadratic([[[1]]] * 300, [[j % 3] for j in range(300)])
PAIR_STEEP, PAIR_FLAT = (ft.Quadratic([[[v]]] * 2, [[1], [-1]]) for v in (100, "1/100"))
on_uniform = [fresh("one client at the cap", LINE, 1, 3, x0=1),
              fresh("nothing but noise, at the cap", LINE, 1, 3, noise=2),
              fresh("three equal clients", ft.Quadratic([[[1]]] * 3, [[0]] * 3), 1, 5, x0=1),
              fresh("slowly", LINE, Q(1, 10), 6, Q(1, 2), x0=1), fresh("two clients from the optimum", TWO, 1, 5),
              fresh("state-dependent skewed noise", BENT, Q(1, 2), 3, x0=-2, noise=1, chances=runs.SKEWED),
              fresh("not convex", CUP, Q(1, 3), 5, x0=-1),
              fresh("three clients in the plane", PLANE, Q(1, 2), 3, x0=2, noise=1),
              fresh("300 clients", MANY, 1, 2, x0=4), fresh("L = 100", PAIR_STEEP, Q(1, 2), 5, x0=3),
              fresh("L = 1/100", PAIR_FLAT, Q(1, 2), 5, x0=3), fresh("long", LINE, Q(1, 2), 200, x0=1)]


def drawn_uniform(draw, n=None, L=None, noise=None):
    """One bump each, common outer slopes."""
    L, some = L or draw(st.sampled_from([Q(1), Q(100), Q(1, 100)])), min(n or draw(st.integers(1, 3)), 3)
    outer = draw(st.sampled_from([Q(1), Q(1, 2)]))
    slopes = [[outer * L, draw(st.sampled_from([Q(-1), Q(0), Q(1)])) * L, outer * L] for _ in range(some)]
    left = [draw(st.integers(-2, 1)) for _ in range(some)]
    b, rows = [draw(st.integers(-3, 3)) * L for _ in range(some)], [j % some for j in range(n or some)]
    problem = ft.PiecewiseQuadratic([slopes[j] for j in rows], [[left[j], left[j] + 1] for j in rows],
                                    [b[j] for j in rows], calm=[0] * len(rows) if draw(st.booleans()) else None)
    return fresh("drawn", problem, draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10)])), draw(st.integers(1, 3)),
                 draw(st.sampled_from([Q(1), Q(1, 2)])), Q(draw(st.integers(-6, 6)), 2),
                 (draw(st.sampled_from([Q(0), Q(1), Q(4)])) if noise is None else noise) * L,
                 draw(st.sampled_from([runs.SIGNS, runs.SKEWED])),
                 says=f"slopes={slopes}, knots from {left}, b={b}")


STEEP = ft.Variable("L", lambda i: i.L)
UNIFORM = ft.Search((ft.Family("bumps", drawn_uniform, ({"n": 1, "noise": Q(4), "L": Q(1, 100)},
                                                         {"n": 2, "noise": Q(0), "L": Q(100)})),), tries=16)


@ft.claim("thm2-k1-uniform", on=on_uniform, needs=[runs.near, runs.steps_cap, runs.server_cap, drawn_alike],
          proof=proofs.uniform, meaning=uniform.meaning, rejects=[bugs.divided_by_all, bugs.tenth_added],
          search=UNIFORM, covers={"tau": "1"},
          domain="K = 1, every number of clients and dimension, no staleness, Theta in (0, 1]; clients drawn uniformly "
                 "and independently; " + proofs.HSTAR,
          ends={"clients": (1, 300), "rounds": (1, 200), STEEP: (Q(1, 100), 100), "noise against drift": (0, 1),
                "step over its cap": (Q(1, 2), 1)},
          reading="Its floor L eta_g N (sigma_g^2 + sigma_l^2) is below the printed one, as 18 L^2 N^2 <= 1. Both "
                  "floors are one term here: declared runs miss them together.")
def thm2_k1_uniform(i):
    r"""(11) is true for $K=1$, $\tau=0$, clients drawn uniformly and independently, and noise with mean zero and
    variance at most $\sigma_l^2$ given everything earlier and the client ($H^*$); even with the floor
    $L\eta_gN(\sigma_l^2+\sigma_g^2)$."""
    left, (low, high) = uniform.average_uniform(i), i.of(f.bound, T=i.T, gap=i.gap)
    own = {"start": low["start"], "noise": i.L * i.eta_g * i.N * i.sl2, "heterogeneity": i.L * i.eta_g * i.N * i.sg2}
    legs = []
    if isinstance(i.problem, ft.Quadratic) and i.d == 1 and i.T < 50 and i.n < 10:
        legs.append(ft.equal(i.op.mean_gradient_square(i.problem, i.T, i.x0), left, "derived operator"))
    low, high = sum(low.values()), sum(high.values())
    return [*legs, ft.at_most(left, ft.Terms(**own), "the own floor"), runs.decided(left, low, high, "(11)")]


# ---- stale, but equal clients without noise -------------------------------------------------------------------------
def equal(name, slopes, knots, b, n, of_cap, kind, T, share=1, x0=1, Gamma=None, **extra):
    """n clients of one loss. of_cap: eta_g N L; Gamma: a stated one, else the observed one."""
    problem = ft.PiecewiseQuadratic([slopes] * n, [knots] * n, [b] * n)
    L = ft.fraction(problem.constants.L)
    step = instances.at_cap(1, L, share, 4 if L <= 1 else 3 + len(str(int(L))))
    more = {} if Gamma is None else {"Gamma": ft.fraction(Gamma), "Gamma2": ft.fraction(Gamma) ** 2}
    g = ft.fraction(of_cap) / (step[0] * L)
    return runs.stale(name, problem, step, g, runs.order_of(kind, n, T), x0, **more, **extra)


silent = ft.Hypothesis("no noise, equal clients", r"$\sigma_l^2+\sigma_g^2\le0$", lambda i: (i.sl2 + i.sg2, 0))
meets = ft.Hypothesis("condition", r"$LN\eta_g+L^2N^2\Gamma^2\le1$", lambda i: (
    None if i.Gamma2 is None else i.L * i.N * i.eta_g + (i.L * i.N) ** 2 * i.Gamma2, 1), cap=1)
SQUARE, FLAT, WELL = ([1, 1], [0], 0), ([0, 1, 0], [-1, 1], 1), ([1, -1, 1], [0, 1], 0)
STEEP_BEND, FLAT_BEND = ([100, 50], [0], 0), (["1/100", "1/200"], [0], 0)
on_stale = [equal("one client at the cap", *SQUARE, 1, 1, "turn", 4),
            equal("two in turn", *SQUARE, 2, Q(1, 10), "turn", 12),
            equal("five in turn", *SQUARE, 5, Q(1, 20), "turn", 12),
            equal("Huber's loss", *FLAT, 2, Q(1, 10), "turn", 9, x0=4), equal("one of three", *SQUARE, 3, 1, "one", 4),
            equal("two minima", *WELL, 3, Q(1, 20), "speeds", 12, x0=-2),
            equal("long", *SQUARE, 2, Q(1, 10), "turn", 60, Q(1, 2)),
            equal("300 clients", *SQUARE, 300, Q(1, 400), "turn", 60, Q(1, 2)),
            equal("L = 100", *STEEP_BEND, 2, Q(1, 10), "turn", 8),
            equal("L = 1/100", *FLAT_BEND, 2, Q(1, 10), "turn", 8)]


def drawn_equal(draw, n=None, L=None, kind=None, of_cap=None, Gamma=None):
    L = L or draw(st.sampled_from([Q(1), Q(100), Q(1, 100)]))
    slopes = [draw(st.sampled_from([Q(1), Q(1, 2), Q(0)])), draw(st.sampled_from([Q(-1), Q(0), Q(1)])),
              draw(st.sampled_from([Q(1), Q(1, 2)]))]
    left, b = draw(st.integers(-2, 1)), draw(st.integers(-2, 2))
    problem = ft.PiecewiseQuadratic([slopes], [[left, left + 1]], [b])
    if problem.least() is None or not any(slopes):
        return None
    of_cap = of_cap or draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10), Q(1, 50)]))
    kind = kind or draw(st.sampled_from(["turn", "one", "blocks", "speeds"]))
    return equal("drawn", [v * L for v in slopes], [left, left + 1], b * L, n or draw(st.integers(1, 4)), of_cap, kind,
                 draw(st.integers(1, 10)), draw(st.sampled_from([Q(1), Q(1, 2)])), Q(draw(st.integers(-6, 6)), 2),
                 Gamma, says=f"slopes={slopes}, knot {left}, b={b}, L={L}, eta_g N L = {of_cap}, {kind}")


STALE = ft.Search((ft.Family("equal clients", drawn_equal, (
    {"n": 300, "L": Q(1), "of_cap": Q(1, 400)}, {"n": 1, "of_cap": Q(1)}, {"n": 2, "L": Q(100), "of_cap": Q(1, 10)})),),
    tries=40)


@ft.claim("thm2-k1", on=on_stale, needs=[silent, runs.stale_bound, meets], proof=proofs.one_local_step,
          meaning=meaning.one_local_step, rejects=[bugs.divided_by_all, bugs.tenth_added],
          search=STALE, covers={"tau": "1"},
          domain="K = 1, equal clients, no noise; every number of clients, dimension, L-smooth loss and arrival order",
          ends={"clients": (1, 300), "rounds": (1, 60), STEEP: (Q(1, 100), 100), "step over its cap": (Q(1, 4), 1)})
def thm2_k1(i):
    r"""$K=1$, no noise, equal clients: where $LN\eta_g+L^2N^2\Gamma^2\le1$, (11) is true:
    $\frac1T\sum_{t\le T}\|\nabla F(x_t)\|^2\le\frac{2(F(x_1)-F(x_*))}{\eta_gNT}$."""
    start = f.bound(i.L, 1, i.N, 1, 0, i.eta_g, i.T, i.gap, 0, 0)["start"]
    return ft.at_most(runs.average(i), ft.Terms(start=start))


outside = ft.Hypothesis("outside thm2-k1", r"$1<LN\eta_g+L^2N^2\Gamma^2$",
                        lambda i: (1, i.L * i.N * i.eta_g + (i.L * i.N) ** 2 * i.Gamma2), strict=True)
WIDEST = Q(148, 100)   # below the 1.48532 of (C1) at K = 1
on_outside = [equal("one client at the cap", *SQUARE, 1, 1, "turn", 4, Gamma=WIDEST),
              equal("one of three", *SQUARE, 3, Q(95, 100), "one", 5, Gamma=WIDEST),
              equal("two minima", *WELL, 2, 1, "one", 6, x0=Q(1, 3), Gamma=WIDEST),
              equal("from a stationary point", *WELL, 2, 1, "turn", 6, x0=0, Gamma=WIDEST),
              equal("two in turn are stale", *SQUARE, 2, Q(9, 10), "turn", 4, Gamma=WIDEST),
              equal("long", *FLAT, 2, 1, "one", 40, x0=20, Gamma=WIDEST),
              equal("300 clients", *SQUARE, 300, Q(9, 10), "one", 3, Gamma=WIDEST),
              equal("L = 100", *STEEP_BEND, 2, 1, "one", 4, Gamma=WIDEST),
              equal("L = 1/100", *FLAT_BEND, 2, 1, "one", 4, Gamma=WIDEST)]


def drawn_outside(draw, n=None, L=None, kind=None):
    return drawn_equal(draw, n, L, kind, draw(st.sampled_from([Q(1), Q(95, 100), Q(9, 10)])), WIDEST)


OUTSIDE = ft.Search((ft.Family("equal clients", drawn_outside, (
    {"n": 300, "L": Q(1), "kind": "one"}, {"n": 1}, {"n": 2, "L": Q(100)}, {"n": 2, "kind": "turn"})),), tries=60)


@ft.claim("thm2-k1-stale", on=on_outside,
          needs=[silent, runs.stale_bound, runs.steps_cap, runs.enough, runs.server_cap, outside],
          proof=lambda: (theorem2_stale.nothing_stale(), theorem2_stale.fresh(), theorem2_stale.radius()),
          meaning=meaning.one_local_step, rejects=[bugs.tenth_added], search=OUTSIDE, covers={"tau": "1"},
          domain="K = 1, equal clients, no noise; every number of clients, dimension, L-smooth loss and arrival "
                 "order; ln 2 > 69/100",
          ends={"clients": (1, 300), "rounds": (1, 40), STEEP: (Q(1, 100), 100)})
def thm2_k1_stale(i):
    r"""$K=1$, no noise, equal clients, (T1), (C1), (T2): (11) is true for $LN\eta_g+L^2N^2\Gamma^2>1$ as well, as no
    arrival with $\gamma>0$ meets Assumption 4 there: the step of its own start would have brought $F$ further down
    than the staleness allows."""
    start = f.bound(i.L, 1, i.N, 1, 0, i.eta_g, i.T, i.gap, 0, 0)["start"]
    return ft.at_most(i.observed, 0, "largest gamma^2"), ft.at_most(runs.average(i), ft.Terms(start=start), "(11)")


# ---- stale and different, drawn independently: open ------------------------------------------------------------------
def every_order(name, problem, of_cap, T, Gamma, x0=0, noise=0, **extra):
    """StaleSteps over all draws of who arrives; of_cap: eta_g N L."""
    step = instances.at_cap(1, 1, 1, 4)
    return runs.stale(name, problem, step, ft.fraction(of_cap) / step[0], (0,) * T, x0, noise, Gamma2=ft.fraction(Gamma) ** 2,
                      loud=[(1, 0), (2, 0)], says=f"all {problem.n}^{T} orders of {T} arrivals, eta_g N L = {of_cap}", **extra)


def orders(i):
    return [i.but(order=o, algorithm=i.algorithm) for o in itertools.product(range(i.n), repeat=i.T)]


def largest(i):
    found = [v.observed for v in orders(i)]
    return None if None in found else max(found)


stale_in_all = ft.Hypothesis("Assumption 4", r"$\gamma\le\Gamma$ for all orders and outcomes: the largest $\gamma^2$",
                             lambda i: (largest(i.but(algorithm=i.stated.algorithm)), i.Gamma2))
on_open = [every_order("one client at the cap", LINE, 1, 3, 0, 1),
           every_order("two clients apart", TWO, Q(1, 20), 5, Q(12, 10)),
           every_order("two clients apart, noise", TWO, Q(1, 40), 4, Q(12, 10), 3, Q(1, 4)),
           every_order("three clients", ft.Quadratic([[[1]]] * 3, [[1], [1], [-2]]), Q(1, 40), 3, Q(12, 10)),
           every_order("two equal clients, far away", ft.Quadratic([[[1]]] * 2, [[0]] * 2), Q(1, 20), 5, Q(12, 10), 1)]


@ft.claim("thm2-k1-stale-uniform", on=on_open, rejects=[bugs.tenth_added], covers={"tau": "all"},
          needs=[runs.near, stale_in_all, runs.steps_cap, runs.enough, runs.server_cap],
          reading="Undecided. Without staleness it is true (thm2-k1-uniform), without heterogeneity and noise as well (thm2-k1). "
                  "For equally frequent arrivals in a fixed order it is false (e2e). The proof would need E<grad F(x_t), "
                  "grad f_i(x_{t-tau})>, where i and x_{t-tau} depend on each other: a model is old because its client was "
                  "not drawn. On all orders of a few arrivals it holds.")
def thm2_k1_stale_uniform(i):
    r"""(11) for $K=1$, clients drawn uniformly and independently, each from the model it was sent after its own last update
    ($\tau>0$), different clients ($\sigma_g>0$) and noise, under Assumptions 1 to 4, $H^*$, (T1), (C1) and (T2)."""
    left = sum(runs.average(v) for v in orders(i)) / i.n**i.T
    return runs.decided(left, *(sum(v.values()) for v in i.of(f.bound, T=i.T, gap=i.gap)))


# ---- by how much it fails -------------------------------------------------------------------------------------------
s = Symbols("x z g j", e=3)


def symbolic(K):
    algorithm = ft.StaleSteps(1, K, server_lr=s.g, solver=ft.Listed(s.e[:K]))
    return ft.Instance(f"K = {K}, every step", LINE, algorithm, ft.Full(), domain=s.field)


def in_numbers(K, said=None, small=None):
    """said: the quotient at eta_g = 1/S; small: that as eta_g -> 0; all steps at the cap."""
    steps = instances.at_cap(K)
    algorithm = ft.StaleSteps(1, K, server_lr=1 / sum(steps), solver=ft.Listed(steps))
    return ft.Instance(f"K = {K}, at the cap", LINE, algorithm, ft.Full(), said=said, small=small, illustrates=True)


def arrived(i, x):
    """The model after one coded arrival from x."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, i.domain.array([x]))
    return algorithm.round(problem, state, ft.everyone(1, i.stated.algorithm.steps)).x[0]


@ft.claim("e1-ratio", on=[*map(symbolic, (1, 2, 3)), in_numbers(2, "1.00701"), in_numbers(10, "1.07633"),
                          in_numbers(100, "1.25789"), in_numbers(1000, small="1.173")],
          rejects=[bugs.tenth_added], covers={"n": "none", "d": "none", "tau": "all"},
          domain="one client x^2/2, every schedule and eta_g, T to infinity; for every K as one local step multiplies "
                 "the model by 1 - eta_k")
def e1_ratio(i):
    r"""One client $\frac12x^2$, $S=KN$, $q=1-\prod_k(1-\eta_k)$: as $T\to\infty$ the left side of (11) over its bound
    tends to $\frac S{q(2-\eta_gq)}$, at $\eta_g=1/S$ that is $\frac1{1-(1-q/S)^2}$: 1.07633 for $K=10$; it tends to
    $\frac S{2q}>\frac S2$ as $\eta_g\to0$. At the cap $S$ grows by $1/\sqrt{60}$ to $1/\sqrt{12}$ when $K$ doubles,
    like $\ln K$, without bound."""
    if i.domain != s.field:
        steps = i.stated.algorithm.solver.factors
        q, S, r = f.moved(steps), sum(steps), arrived(i, Q(1))
        legs = [ft.equal(ft.fraction(r), 1 - q / S, "the coded arrival")]
        for value, said in ((f.ratio(q, S), i.said), (S / (2 * q), i.small)):
            legs += [ft.equal(round(value, len(said) - 2), Q(said), f"to its digits: {said}")] if said else []
        return legs
    steps = s.e[:i.stated.algorithm.steps]
    q, S, r, g = f.moved(steps), sum(steps), arrived(i, s.x) / s.x, s.g

    def total(z):   # sum of x_t^2 while x_t^2 falls from 1 to z
        return (1 - z) / (1 - (1 - g * q) ** 2)
    quotient = total(0 * g) * g * S   # the bound times T is 1/(g S)
    k = 1 + s.j
    return (ft.induction([(0 * g, total(1 + 0 * g))], [(total(s.z) + s.z, total(s.z * r**2))], "sum of squares",
                         over="T"),
            ft.equal(quotient, S / (q * (2 - g * q))),
            ft.equal(quotient.substitute(g=1 / S), f.ratio(q, S), "at eta_g = 1/S"),
            ft.equal(ft.limit(quotient, "g"), S / (2 * q), "as eta_g -> 0"),
            ft.nonnegative(k**2 * cap2(2 * k, 1) - Q(1, 60), "S at 2K less S at K, squared, is at least 1/60"),
            ft.nonnegative(Q(1, 12) - k**2 * cap2(k, 1), "and at most 1/12"))
