"""Derived facts D1 to D4: clients of one Hessian, whose mean model goes its own way whatever the graph."""
from fractions import Fraction as Q
from itertools import pairwise

import numpy as np

import fltheory as ft
from verification.simfed import bugs, instances
from verification.simfed.formulas import rates as f
from verification.simfed.formulas import theorems as t
from verification.simfed.proofs import rates as proofs
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the search says that it is skipped
    st = None

TURNED = [[Q(2), Q(1)], [Q(1), Q(2)]]   # eigenvalues 3 and 1 along (1, 1) and (1, -1)
AXES = {1: [1, -1], 3: [1, 1]}
LOCAL_BUGS = [bugs.beta_swapped, bugs.iterate_perturbed, bugs.one_step_more]


def read(values):
    return np.array([ft.fraction(v) for v in np.asarray(values, dtype=object).reshape(-1)], dtype=object)


def stated(i):
    """(gamma, E, beta, alpha) as an instance states them; alpha = 0 for the method, beta = 1 for FedProx."""
    a = i.stated.algorithm
    alpha = getattr(getattr(a, "solver", None), "mu", 0) or 0
    return (*(v if hasattr(v, "terms") else ft.fraction(v) for v in (a.lr, getattr(a, "beta", 1), alpha)), a.steps)


def kappa(i, h):
    """The factor of Lemma 3 of either appendix with the curvature h for mu."""
    gamma, beta, alpha, E = stated(i)
    return t.kappa_ours(beta, h, gamma, E) if hasattr(i.stated.algorithm, "beta") else t.kappa_prox(alpha, h, gamma, E)


def coded(i, x, w=None, xi=None):
    """The state after one coded round from the server model x (d,) and the last local models w (n, d), None: all at x."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, i.domain.array(np.array(x, dtype=object)))
    if w is not None:
        state = state._replace(w=i.domain.array(np.array(w, dtype=object)))
    return algorithm.round(problem, state, ft.everyone(problem.n, algorithm.steps)._replace(xi=xi))


def visited(i, rounds=3):
    """Server models of coded rounds from x0, exact."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state, out = algorithm.init(problem, i.domain.array(np.array(i.x0, dtype=object))), []
    for _ in range(rounds + 1):
        out.append(read(state.x))
        state = algorithm.round(problem, state, ft.everyone(problem.n, algorithm.steps))
    return out


# ---- every E: one more coded local step --------------------------------------------------------------------------
def free(name, n=2, steps=1, alike=True, more="", x="x", make=None, says=""):
    """n clients whose edge weights, curvatures (one if `alike`), minimisers and models are symbols; x: of the server model."""
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    s = Symbols(f"gamma beta {x} {more}".rstrip(), h=1 if alike else n, c=n, z=1 if alike else n, w=n, e=len(pairs) - 1)
    last = (1 - 2 * sum(s.e)) * Q(1, 2)
    edge = dict(zip(pairs, [*s.e, last], strict=True))
    graph = [[0 if a == b else edge[min(a, b), max(a, b)] for b in range(n)] for a in range(n)]
    p = [sum(row) for row in graph]
    h, z = (v * n if alike else v for v in (s.h, s.z))
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in s.c], p)
    algorithm = make(s) if make else ft.NeighbourAveraging(s.gamma, steps, beta=s.beta, graph=graph)
    return ft.Instance(name, problem, algorithm, ft.Full(), domain=s.field, s=s, h=h, z=z, weights=p, edges=graph,
                       says=says or "edge weights, curvatures, minimisers and all models are symbols")


def neighbours(i, w):
    return [sum(e * v for e, v in zip(row, w, strict=True)) / p for row, p in zip(i.edges, i.weights, strict=True)]


def every_E(i, x, w, label="a client, every E"):
    """The closed form of a client after any number of coded local steps from x; last local models w."""
    s, n = i.s, len(i.weights)
    u = neighbours(i, w)

    def after(z):
        return [f.client(z[k], s.beta, x, u[k], s.c[k]) for k in range(n)]
    further = [coded_models(i, [after(i.z)[k]], w)[k] for k in range(n)]
    return ft.induction([(after([1] * n), [x] * n)],
                        [(further, after([z * (1 - s.gamma * s.beta * h) for z, h in zip(i.z, i.h, strict=True)]))], label, "E")


def coded_models(i, x, w, xi=None):
    """Last local models of a coded round from x, of every client."""
    return [v[0] for v in coded(i, x, [[v] for v in w], xi=xi).w]


def every_E_prox(i):
    s = i.s
    return ft.local_run(i, [s.x], lambda z: np.array([[f.client_prox(z[k], s.h[0], s.alpha, s.x, s.c[k]) - s.x]
                                                       for k in range(i.problem.n)], dtype=object),
                        [s.z[0]] * i.problem.n, 1 - s.gamma * (s.h[0] + s.alpha), label="a FedProx client, every E")


def free_prox(name, n=2, steps=1, **options):
    return free(name, n, more="alpha", make=lambda s: ft.FedProx(s.gamma, steps, mu=s.alpha), **options)


# ---- D1 -------------------------------------------------------------------------------------------------------
def alike(name, graph, gamma, E, beta=None, alpha=0, H=(("1",),), x0=None, modes=None, says="", n=None):
    """Numbers: clients i with minimiser i^2 - 1 (and i); `modes` {eigenvalue: eigenvector} of their common Hessian."""
    weights = graph.weights if graph else [Q(k + 1, n * (n + 1) // 2) for k in range(n)]
    H, d = [[ft.fraction(v) for v in row] for row in H], len(H)
    c = [[k**2 - 1, k][:d] for k in range(len(weights))]
    algorithm = instances.ours(gamma, E, beta, graph) if graph else instances.prox(gamma, E, alpha)
    return ft.Instance(name, ft.Quadratic([H] * len(c), c, [str(v) for v in weights]), algorithm, ft.Full(),
                       x0=x0 or [5, -3][:d], modes=modes or {H[0][0]: [1]}, says=says)


def modes_of(i):
    return [(ft.fraction(h), np.array(v, dtype=object)) for h, v in i.modes.items()]


on_d1 = [free("method, three clients, every E", 3), free_prox("FedProx, three clients, every E", 3)]
shown_d1 = ft.illustrate([
    alike("unequal graph, 2-d", instances.UNEQUAL, "1/10", 4, "1/2", H=TURNED, modes=AXES, says="Hessian ((2, 1), (1, 2))"),
    alike("star of four, step beyond the cap", instances.star(4), "3/5", 2, "9/10", H=TURNED, modes=AXES),
    alike("two clients, one step", instances.SWAP, "1/2", 1, "1/10"),
    alike("pairs, 60 steps", instances.matching(4), "1/120", 60, "1/1000", says="gamma = 1/(2LE), beta = 1/1000"),
    alike("FedProx, 2-d", None, "1/10", 4, alpha="1/3", H=TURNED, modes=AXES, n=3),
    alike("FedProx, 60 steps", None, "1/120", 60, alpha="20", n=2)])


def drawn(draw, n=None, E=None, beta=None):
    n, E = n or draw(st.sampled_from((2, 3, 4, 6))), E or draw(st.integers(1, 8))
    graph = draw(st.sampled_from((instances.star, instances.complete, *([instances.matching] * (n % 2 == 0)))))(n)
    beta, gamma = beta or draw(st.sampled_from(("1/100", "1/3", "2/3", "99/100"))), draw(st.sampled_from(("1/40", "1/7", "1")))
    h = draw(st.sampled_from((Q(1, 10**8), Q(1, 3), Q(1))))
    return alike("drawn", graph, gamma, E, beta, H=[[h]])


FAMILY = ft.Family("identical clients", drawn, ({"n": 100, "E": 2}, {"n": 2, "E": 300, "beta": "1/1000"}, {"n": 2, "E": 1}))
BETA = ft.Variable("beta", lambda i: stated(i)[1])
ENDS = {"clients": (2, 100), "local steps": (1, 300), BETA: (Q(1, 1000), Q(99, 100))}


def read_means(i):
    """Numbers for the proofs of the means, along each eigenvector, off the second coded round: two clients suffice."""
    if isinstance(i.domain, ft.Field) or i.n > 10:
        return
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    gamma, beta, alpha, E = stated(i)
    old = algorithm.round(problem, algorithm.init(problem, i.domain.array(np.array(i.x0, dtype=object))), ft.everyone(i.n, E))
    new, ours = algorithm.round(problem, old, ft.everyone(i.n, E)), hasattr(algorithm, "beta")
    for h, e in modes_of(i):
        def along(v, e=e):
            return sum(a * b for a, b in zip(read(v), e, strict=True))
        shared = {"z": (1 - gamma * (beta * h + alpha)) ** E, "x": along(old.x), "V": along(new.x), "w": along(weighted_mean(i))}
        shared |= {"C": shared["w"]} | ({"beta": beta, "U": along(old.x)} if ours else {"h": h, "s": h + alpha})
        u = algorithm.averages(problem, old) if ours else []
        yield shared, {}
        for k in range(2 * ours):
            yield shared | {"u": along(u[k]), "c": along(i.problem.c[k]), "y": along(new.w[k])}, {}


@ft.claim("d1", on=[*on_d1, *shown_d1], proof=proofs.means, meaning=read_means, covers={"tau": "all"}, ends=ENDS,
          rejects=[*LOCAL_BUGS, bugs.degrees_not_used, bugs.neighbours_counted_alike, bugs.proximal_missing,
                   bugs.unscaled_proximal, bugs.proximal_repelling],
          search=ft.Search((FAMILY,), tries=12),
          domain="every E by induction on one more coded local step, with all numbers symbols; every number of clients and every "
                 "symmetric graph by summing over clients; d > 1 in the eigenbasis of H, where coordinates do not mix")
def d1(i):
    r"""If every $H_i=H$, then along each eigenvector of $H$, of eigenvalue $h$, $\bar w_{t+1,0}-w_*$ is $\bar w_{t,0}-w_*$ times
    the $\kappa$ of Lemma 3 of Appendix B (FedProx: A) with $h$ for $\mu$, whatever the minimisers, the graph and the
    neighbours' last models are. The bias is 0."""
    if isinstance(i.domain, ft.Field):
        return d1_symbols(i)
    x = visited(i)
    best = weighted_mean(i)
    out = [ft.equal([(v - best).dot(e) for v in x[1:]], [kappa(i, h) * (v - best).dot(e) for v in x[:-1]], f"h = {h}")
           for h, e in modes_of(i)]
    return [*out, ft.equal(i.op.fixed_point().x, best, "coded fixed point")] if i.n < 10 else out


def weighted_mean(i):
    """w* of identical Hessians."""
    return sum(p * read(c) for p, c in zip(read(i.p), i.stated.problem.c, strict=True))


def d1_symbols(i):
    s, n = i.s, len(i.weights)
    best, z = sum(p * c for p, c in zip(i.weights, s.c, strict=True)), s.z[0]
    if hasattr(s, "alpha"):
        x, found, factor = s.x, [f.client_prox(z, s.h[0], s.alpha, s.x, c) for c in s.c], f.mean_prox(z, s.h[0], s.alpha)
        step = every_E_prox(i)
    else:
        x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
        u, factor = neighbours(i, s.w), f.mean_ours(z, s.beta)
        found, step = [f.client(z, s.beta, x, u[k], s.c[k]) for k in range(n)], every_E(i, x, s.w)
    return (step, ft.equal(sum(p * v for p, v in zip(i.weights, found, strict=True)) - best, factor * (x - best), "mean model"))


# ---- D2 to D4 -------------------------------------------------------------------------------------------------
def trio(name, h, gamma, E, beta, alpha, graph=instances.UNEQUAL, **more):
    """The method, with FedAvg and FedProx at the same step beside it."""
    i = alike(name, graph, gamma, E, beta, H=[[h]], **more)
    i.extra |= {"alpha": ft.fraction(alpha), "others": [i.but(algorithm=instances.prox(gamma, E, a), x0=[5]) for a in (0, alpha)]}
    return i


def coded_factor(i):
    """(wbar_1 - w*)/(wbar_0 - w*) of coded rounds of one coordinate."""
    best = weighted_mean(i)[0]
    before, after = (x[0] - best for x in visited(i, 1))
    return after / before


cap = ft.Hypothesis("cap", r"$\gamma(h+\alpha)\le1$", lambda i: (stated(i)[0] * (i.stated.L + i.alpha), 1), cap=1)
trios = [trio("two steps", 1, "1/10", 2, "1/2", "1/2"), trio("at the cap", "1/2", 1, 6, "1/1000", "1/2", instances.star(3)),
         trio("one step", 1, "1/4", 1, "1/5", 3), trio("long", 1, "1/50", 60, "9/10", "1/100", instances.SWAP)]


def drawn_trio(draw, n=None, E=None, beta=None, alpha=None, share=None):
    n, E = n or draw(st.sampled_from((2, 3, 5))), E or draw(st.integers(1, 9))
    h = draw(st.sampled_from((Q(1, 10**8), Q(1, 3), Q(1))))
    alpha = ft.fraction(alpha or draw(st.sampled_from(("1/1000", "1/3", "5"))))
    gamma = ft.fraction(share or draw(st.sampled_from(("1/1000", "1/2", "1")))) / (h + alpha)
    return trio("drawn", h, gamma, E, ft.fraction(beta or draw(st.sampled_from(("1/1000", "1/2", "99/100")))), alpha,
                instances.star(n))


TRIOS = ft.Search((ft.Family("identical clients", drawn_trio, (
    {"n": 100, "E": 2}, {"n": 2, "E": 300, "beta": "1/1000"}, {"n": 2, "E": 1, "alpha": "100", "share": "1/1000"},
    {"n": 2, "beta": "99/100", "share": "1"})),), tries=16)
ALPHA = ft.Variable("alpha", lambda i: i.alpha)


def read_ordering(i):
    """phi(s) and phi(s + e) after E - 1 steps from the coded factors, for ours against FedAvg and FedAvg against FedProx."""
    gamma, beta, _, E = stated(i)
    h = ft.fraction(i.stated.L)
    found = [(1 - coded_factor(v)) / h for v in (i, *i.others)]
    for (low, high), (T, U) in zip(pairwise([beta * h, h, h + i.alpha]), pairwise(found), strict=True):
        a, b = 1 - gamma * low, 1 - gamma * high
        if b > 0 and E > 1:
            yield {"gamma": gamma, "e": high - low, "b": b, "TE": (T - gamma) / a, "rE": (U - gamma) / b - gamma}, {}


@ft.claim("d2-ordering", on=trios, needs=[cap], proof=proofs.ordering, meaning=read_ordering, search=TRIOS,
          rejects=[*LOCAL_BUGS, bugs.one_step_less], ends=ENDS | {ALPHA: (Q(1, 1000), 100), "step over its cap": (Q(1, 1000), 1)},
          domain="every E, h > 0, alpha > 0, beta in (0, 1) with gamma (h + alpha) <= 1, by induction over local steps; every "
                 "number of clients and every graph, through the factors of d1: 1 - h phi(s) with s = beta h, h, h + alpha",
          reading="Signed factors at one step size. Beyond the cap the sign turns: gamma = h = 1, E = 3, alpha = 1.1 has "
                  "FedProx below FedAvg by 11/100, and alpha = 1 ties.")
def d2_ordering(i):
    r"""Identical Hessians and one step with $\gamma(h+\alpha)\le1$: the factors of $\bar w-w_*$ are those of d1, $1-h\varphi(s)$
    with $\varphi(s)=\gamma\sum_{j<E}(1-\gamma s)^j$ at $s=\beta h,h,h+\alpha$. They are ordered ours $\le$ FedAvg $\le$ FedProx,
    strictly iff $E\ge2$ ($\beta<1$, $\alpha>0$), and $\varphi(s)-\varphi(s')\ge\gamma^2(s'-s)$ for $s<s'$, $E\ge2$."""
    gamma, beta, _, E = stated(i)
    h, found = ft.fraction(i.stated.L), [coded_factor(v) for v in (i, *i.others)]
    s = [beta * h, h, h + i.alpha]
    gaps = [gamma**2 * h * (b - a) * (E > 1) for a, b in pairwise(s)]
    return [ft.equal(found, [1 - h * f.phi(gamma, v, E) for v in s], "ours, FedAvg, FedProx"),
            *(ft.at_most(a + gap, b, label) if E > 1 else ft.equal(a, b, label) for (a, b), gap, label in
              zip(pairwise(found), gaps, ("ours below FedAvg", "FedAvg below FedProx"), strict=True)),
            *beyond_the_cap()]


def beyond_the_cap():
    """The sign beyond the cap: coded factors at gamma = h = 1, E = 3."""
    avg, tie, prox = (coded_factor(v) for v in OVER)
    return (ft.equal(tie, avg, "alpha = 1, gamma (h + alpha) = 2: a tie"),
            ft.equal(prox - avg, -Q(11, 100), "alpha = 1.1: FedProx below FedAvg"))


OVER = [alike(f"alpha = {a}", None, 1, 3, alpha=a, n=2) for a in (0, 1, "11/10")]


on_e1 = [free("the method, three clients", 3), free_prox("FedProx, three clients", 3), free("the method, two clients", 2),
         free("the method, five clients", 5)]


@ft.claim("d2-e1", on=on_e1, proof=proofs.single_step, covers={"tau": "1"},
          rejects=[bugs.one_step_more, bugs.degrees_not_used, bugs.neighbours_counted_alike, bugs.proximal_repelling],
          domain="every beta, alpha, gamma and curvature, every state; every number of clients and symmetric graph by summing over "
                 "clients")
def d2_e1(i):
    r"""Identical Hessians, $E=1$: $\bar w_{t+1,0}-w_*=(1-\gamma h)(\bar w_{t,0}-w_*)$ for every $\beta$ and every $\alpha$."""
    s, ours = i.s, not hasattr(i.s, "alpha")
    x = sum(p * w for p, w in zip(i.weights, s.w, strict=True)) if ours else s.x
    after = coded(i, [x], [[v] for v in s.w] if ours else None).x[0]
    best = sum(p * c for p, c in zip(i.weights, s.c, strict=True))
    return ft.equal(after - best, (1 - s.gamma * s.h[0]) * (x - best))


def twins(E):
    """The method and FedProx with the proximal weight (beta - 1) h, at symbols."""
    i = free(f"E = {E}", 3 if E < 3 else 2, E)
    i.extra["twin"] = i.but(algorithm=instances.prox(i.s.gamma, E, (i.s.beta - 1) * i.s.h[0]))
    return i


@ft.claim("d3-duality", on=[twins(E) for E in (1, 2, 3, 5)], rejects=LOCAL_BUGS, covers={"n": "all", "d": "all", "tau": "all"},
          domain="the factors for every E, as z = (1 - gamma beta h)^E is the power of both; the coded rounds of two and three "
                 "clients for E = 1, 2, 3, 5; every graph, by d1")
def d3_duality(i):
    r"""$\kappa_{\rm ours}(\beta;\mu)=\kappa_{\rm FedProx}(\alpha;\mu)$ at $\alpha=(\beta-1)\mu$: with identical Hessians the
    mean model moves as FedProx with a negative proximal weight, matched to the curvature."""
    s = i.s
    h, z, alpha, E = s.h[0], s.z[0], (s.beta - 1) * s.h[0], i.stated.algorithm.steps
    x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
    return (ft.equal(f.mean_ours(z, s.beta), f.mean_prox(z, h, alpha), "every E, z the power"),
            ft.equal(1 - s.gamma * s.beta * h, 1 - s.gamma * (h + alpha), "of which z is the power"),
            ft.equal(t.kappa_ours(s.beta, h, s.gamma, E), t.kappa_prox(alpha, h, s.gamma, E), "the lemmas' factors"),
            ft.equal(coded(i, [x], [[v] for v in s.w]).x, coded(i.twin, [x]).x, "coded rounds"))


def jets():
    """Clients of any curvature; z_i = 1 - k gamma beta h_i + beta^2 r_i after k steps, r_i free."""
    i = free("every E", 2, alike=False, more="k", x="x r0 r1")
    i.extra["induced"] = True
    return i


on_d4 = [jets(), *(free(f"E = {E}, curvatures differ", 2, E, alike=False) for E in (1, 2, 4)), free("E = 3, identical", 3, 3)]


@ft.claim("d4-limit", on=on_d4, rejects=LOCAL_BUGS, covers={"n": "all", "tau": "all", "d": "all"},
          domain="a client's move depends on its own numbers alone; every E by induction on the coded local step; whole coded "
                 "rounds of two and three clients for E = 1 to 4; d > 1 as the move is a polynomial in H_i")
def d4_limit(i):
    r"""As $\beta\to0$ a client's round becomes one gradient step of size $\gamma E$, taken at its neighbours' mean:
    $w_{t,E}^i\to\bar w_{t,0}-\gamma E\nabla f_i(u_t^i)$. With identical Hessians the factor of the mean becomes $1-\gamma Eh$:
    at Theorem 3's $\gamma=1/(2LE)$ that is gradient descent with step $1/(2L)$."""
    s, n = i.s, len(i.weights)
    x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
    u = neighbours(i, s.w)
    if hasattr(i, "induced"):
        return jets_advance(i, x, u)
    E = i.stated.algorithm.steps
    models = [ft.limit(v, "beta") for v in coded_models(i, [x], s.w)]
    out = ft.equal(models, [x - s.gamma * E * i.h[k] * (u[k] - s.c[k]) for k in range(n)], "every client")
    if len(s.h) > 1:
        return out
    best = sum(p * c for p, c in zip(i.weights, s.c, strict=True))
    factor = f.gradient_step(s.h[0], s.gamma, E)
    return (out, ft.equal(sum(p * v for p, v in zip(i.weights, models, strict=True)) - best, factor * (x - best), "mean model"),
            ft.equal(ft.limit(t.kappa_ours(s.beta, s.h[0], s.gamma, E), "beta"), factor, "kappa of Lemma 3"))


def jets_advance(i, x, u):
    """One more coded local step keeps the form, so that k steps end at x - gamma k h (u - c) for beta = 0."""
    s, n = i.s, len(i.weights)

    def after(k, r):
        return [f.client(1 - k * s.gamma * s.beta * i.h[j] + s.beta**2 * r[j], s.beta, x, u[j], s.c[j]) for j in range(n)]
    r = [s.r0, s.r1]
    grown = [v * (1 - s.gamma * s.beta * h) + s.k * (s.gamma * h) ** 2 for v, h in zip(r, i.h, strict=True)]
    further = [coded_models(i, [after(s.k, r)[j]], s.w)[j] for j in range(n)]
    return (ft.induction([(after(0, [0] * n), [x] * n)], [(further, after(s.k + 1, grown))], "k local steps", "k"),
            ft.equal([ft.limit(v, "beta") for v in after(s.k, r)],
                     [x - s.gamma * s.k * i.h[j] * (u[j] - s.c[j]) for j in range(n)], "beta = 0"))
