"""Arrivals as operators on (server model, base models): where constant steps rest, how far they spread, and fixed patterns."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs
from verification.asyncfeded.formulas import stale as f
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

UPDATES = [bugs.stale_models_mixed, bugs.stale_model_sent, bugs.never_stale, bugs.one_step_more]
MODELS = [bugs.stale_updates_added, *UPDATES[1:]]


# ---- where they rest -------------------------------------------------------------------------------------------------
def free(mixing, K, n=2):
    """Clients on the line, everything a symbol but the number of local steps; p of arrivals."""
    s = Symbols("eta g x", h=n, b=n, p=n - 1)
    return ft.Instance(f"{n} clients, {K} local steps, all symbols", ft.Quadratic([[[v]] for v in s.h], [[v] for v in s.b]),
                       ft.StaleSteps(s.eta, K, server_lr=s.g, mixing=mixing), domain=s.field, s=s, p_of=[*s.p, 1 - sum(s.p)],
                       x=s.x, K=K, g=s.g, mixing=mixing, lr=s.eta, says="curvatures, minimisers, steps, probabilities: symbols")


def numbers(mixing, name, h, b, p, K, lr, g):
    """Clients on the line under memoryless arrivals; the derived fixed point."""
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in b])
    return ft.Instance(name, problem, ft.StaleSteps(lr, K, server_lr=g, mixing=mixing), ft.Weighted(1, p), h=h, b=b, p_of=p, K=K,
                       g=g, mixing=mixing, lr=lr)


HALF, RARE = (Q(1, 2), Q(1, 2)), (Q(999, 1000), Q(1, 1000))
LISTED = {   # curvatures, minimisers, probabilities, local steps, step, server step
    "three clients": ((1, Q(1, 5), 2), (0, 1, -3), (Q(1, 6), Q(1, 2), Q(1, 3)), 3, Q(1, 10), Q(1, 2)),
    "one client": ((Q(3, 2),), (5,), (Q(1),), 7, Q(1, 10), Q(3, 4)),
    "a rare client, condition 10^8": ((1, Q(1, 10**8)), (-1, 4), RARE, 2, Q(1, 2), Q(1, 3)),
    "300 local steps": ((1, Q(1, 9)), (-1, 4), HALF, 300, Q(1, 10), Q(1, 7)),
    "64 clients": ([Q(4 + i % 3, 4) for i in range(64)], [i % 5 - 2 for i in range(64)], [Q(1, 64)] * 64, 2, Q(1, 10), Q(1, 2)),
}


def several(mixing):
    return [free(mixing, 1), free(mixing, 2), free(mixing, 1, 3),
            *ft.illustrate([numbers(mixing, name, *v) for name, v in LISTED.items()])]


def arrived(i, client, x, bases):
    """(x, bases) after the coded arrival of one client, in the instance's arithmetic."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, np.array([x], dtype=object))._replace(base=np.array([[v] for v in bases], dtype=object))
    present = np.array([int(j == client) for j in range(problem.n)])
    new = algorithm.round(problem, state, ft.everyone(problem.n, algorithm.steps, present))
    return [new.x[0], *new.base[:, 0]]


def rests(i):
    """In symbols: the expected coded arrival leaves the stated state where it is; in numbers: the derived fixed point."""
    if i.law is None:
        q = [f.left(h, i.lr, i.K) for h in i.s.h]
        x = f.rest(i.p_of, q, i.s.b, i.g, i.mixing)
        bases = [f.base(v, b, i.g, x, i.mixing) for v, b in zip(q, i.s.b, strict=True)]
        moved = [sum(p * v for p, v in zip(i.p_of, parts, strict=True))
                 for parts in zip(*(arrived(i, k, x, bases) for k in range(len(q))), strict=True)]
        return ft.equal(moved, [x, *bases], "expected coded arrival from the stated mean state")
    q = [f.left(h, i.lr, i.K) for h in i.h]
    return ft.equal(i.op.fixed_point().x[0], f.rest(i.p_of, q, i.b, i.g, i.mixing), "derived fixed point")


def drawn(mixing):
    def build(draw, n=None, K=None, least=None, condition=None):
        n, K = n or draw(st.integers(1, 4)), K or draw(st.sampled_from([1, 2, 5]))
        h = [Q(1)] + [Q(draw(st.integers(1, 5)), 4) for _ in range(n - 1)]
        h[-1] = Q(1, condition) if condition else h[-1]
        b = [draw(st.integers(-5, 5)) for _ in range(n)]
        share = [Q(draw(st.integers(1, 5))) for _ in range(n)]
        p = [v / sum(share) for v in share]
        if least:
            p = [least, *((1 - least) * v / sum(share[1:]) for v in share[1:])]
        lr, g = draw(st.sampled_from([Q(1, 10), Q(1, 2)])), draw(st.sampled_from([Q(1, 3), Q(1)]))
        return numbers(mixing, "drawn", h, b, p, K, lr, g)
    return ft.Search((ft.Family("clients on the line", build, (
        {"n": 1, "K": 1}, {"n": 12, "K": 1}, {"n": 2, "K": 300}, {"n": 3, "least": Q(1, 10**4), "K": 2},
        {"n": 2, "condition": 10**8, "K": 2})),), tries=12)


ENDS = {"clients": (1, 64), "local steps": (1, 300), "condition number": (1, 10**8)}
DOMAIN = ("two clients with one and two local steps, three with one, everything a symbol: the expected coded arrival leaves the "
          "stated mean state alone; listed and drawn clients in numbers, through the derived operator's fixed point")


@ft.claim("async-operator-constant", on=several("update"), rejects=UPDATES, search=drawn("update"), ends=ENDS, domain=DOMAIN,
          covers={"n": "2, 3", "d": "1", "tau": "1, 2"},
          reading="Arrivals are independent of everything else, client i with probability p_i > 0; every client keeps the model "
                  "that it was sent after its own last arrival.")
def async_operator_constant(i):
    r"""Quadratic clients $\frac12(x-b_i)^\top H_i(x-b_i)$, memoryless arrivals with probabilities $p_i$ and a constant server step
    $g$: the mean of $x_t$ at rest solves $\sum_iW_i(x-b_i)=0$ with $W_i=p_iQ_i(I+gQ_i)^{-1}$, $Q_i=I-(I-\eta H_i)^{K_i}$. Staleness
    acts on the weights alone."""
    return rests(i)


@ft.claim("async-operator-fedasync", on=several("model"), rejects=MODELS, search=drawn("model"), ends=ENDS, domain=DOMAIN,
          covers={"n": "2, 3", "d": "1", "tau": "1, 2"},
          reading="FedAsync with a constant weight, (40) of the paper; arrivals as in async-operator-constant.")
def async_operator_fedasync(i):
    r"""The same for FedAsync with the constant weight $\alpha$: $W_i=p_iQ_i\big((1-\alpha)I+\alpha Q_i\big)^{-1}$."""
    return rests(i)


# ---- second moments --------------------------------------------------------------------------------------------------
PLANE = ([[[1, "1/5"], ["1/5", "1/2"]], [["1/4", 0], [0, 2]], [["3/4", "-1/4"], ["-1/4", "1/3"]]], [[0, 1], [2, -1], [-1, -3]])
LINE = ([[[1]], [["1/2"]]], [[0], [1]])
MANY = ([[[1 + i % 3]] for i in range(30)], [[i % 4] for i in range(30)])


def noisy(name, data, p, K, lr, g, mixing, noise, simulate=None):
    H, b = data
    return ft.Instance(name, ft.Quadratic(H, b), ft.StaleSteps(lr, K, server_lr=g, mixing=mixing), ft.Weighted(1, p), noise=noise,
                       domain=ft.FLOAT, simulate=simulate, g=g, mixing=mixing, p_of=p)


def floats(values):
    return np.array([ft.fraction(v) for v in np.array(values, dtype=object).reshape(-1)], dtype=float).reshape(np.shape(values))


def moments(i):
    problem, algorithm = i.stated.problem, i.stated.algorithm
    H, b, p = floats(problem.H), floats(problem.c), floats(i.p_of)
    C = np.eye(b.shape[1]) * float(ft.fraction(i.stated.noise)) ** 2 / b.shape[1]
    return f.second_moment(p, H, b, float(ft.fraction(algorithm.lr)), algorithm.steps, float(ft.fraction(i.g)), i.mixing, C)


RUNS = {"rounds": 400, "replicates": 256, "seed": 3}
on_moments = [noisy("two clients", LINE, ["1/3", "2/3"], 2, "1/10", "1/3", "update", "1/2", RUNS),
              noisy("three in the plane, FedAsync", PLANE, ["1/2", "1/3", "1/6"], 3, "1/5", "1/2", "model", 1, RUNS),
              noisy("without noise", PLANE, ["1/2", "1/3", "1/6"], 2, "1/5", "1/2", "update", 0),
              noisy("a rare client", LINE, ["99/100", "1/100"], 5, "1/5", "1/2", "update", 2),
              noisy("identical clients, noise alone", ([[[1]]] * 6, [[0]] * 6), ["1/6"] * 6, 1, "1/10", 1, "update", 1)]


def drawn_noisy(draw, n=None, K=None, noise=None):
    n, K = n or draw(st.integers(1, 3)), K or draw(st.sampled_from([1, 3]))
    H = [[[draw(st.sampled_from(["1", "1/3", "2"]))]] for _ in range(n)]
    b = [[draw(st.integers(-3, 3))] for _ in range(n)]
    share = [Q(draw(st.integers(1, 4))) for _ in range(n)]
    return noisy("drawn", (H, b), [v / sum(share) for v in share], K, "1/10", draw(st.sampled_from(["1/4", "1"])),
                 draw(st.sampled_from(["update", "model"])), draw(st.sampled_from([0, 1])) if noise is None else noise)


@ft.claim("async-operator-second-moment", on=on_moments, rejects=[bugs.stale_model_sent, bugs.never_stale, bugs.one_step_more],
          ends={"clients": (1, 20), "local steps": (1, 60)},
          search=ft.Search((ft.Family("clients on the line", drawn_noisy, ({"n": 1, "K": 1, "noise": 1}, {"n": 20, "K": 1},
                                                                         {"n": 2, "K": 60})),), tries=8),
          reading="Noise of one gradient is spread evenly over the coordinates, independent of arrivals and of the past. Floats.")
def async_operator_second_moment(i):
    r"""The covariance $V$ of the stacked state $(x,y_1,\dots,y_m)$ at rest solves $V=\sum_ip_i\big(A_iVA_i^\top+o_io_i^\top
    +B_iN_iB_i^\top\big)$: $A_i$ is the map of client $i$'s arrival, $o_i$ how far it moves the mean state, $B_i=g$ times the rows
    of $x$ and $y_i$, and $N_i=\sum_{j<K_i}\eta^2(I-\eta H_i)^jC(I-\eta H_i)^j$."""
    mean, V = moments(i)
    d, seen = i.d, i.op.stationary()
    size = max(1.0, abs(V).max())
    out = [ft.at_most(abs(seen.mean - mean[:d]).max(), 1e-9 * max(1.0, abs(mean).max()), "mean of the derived operator"),
           ft.at_most(abs(seen.covariance - V[:d, :d]).max(), 1e-9 * size, "covariance of the derived operator")]
    if i.simulate:
        best = np.linalg.solve(sum(floats(i.stated.problem.H)), np.einsum("nij,nj->i", floats(i.stated.problem.H),
                                                                         floats(i.stated.problem.c)))
        out.append(ft.agrees(i.run.floor(level=1 - 1e-4), float(np.trace(V[:d, :d]) + ((mean[:d] - best) ** 2).sum()),
                             "measured E|x - x*|^2"))
    return out


# ---- fixed patterns --------------------------------------------------------------------------------------------------
def pattern(name, order, data, K, lr, g, mixing, paces=None):
    """order: the clients of one period; paces: of an event clock that has this order, on which FedAsync is run."""
    H, b = data
    return ft.Instance(name, ft.Quadratic(H, b), ft.StaleSteps(lr, K, server_lr=g, mixing=mixing), ft.Cyclic([[i] for i in order]),
                       domain=ft.FLOAT, order=order, g=g, mixing=mixing, paces=paces)


def clocked(i, rounds):
    """Models of FedAsync on the event clock with the same numbers, in exact rationals."""
    own = i.algorithm
    algorithm = ft.FedAsync(own.lr, own.steps, alpha=own.server_lr).to(ft.RATIONAL)
    problem, law = i.problem.to(ft.RATIONAL), ft.EventClock(i.paces, steps=own.steps)
    (_, draw), = law.support(problem.n)
    state, out = algorithm.init(problem, ft.RATIONAL.array(np.array([0] * problem.d)), draw), []
    for _ in range(rounds):
        state = algorithm.round(problem, state, draw)
        out.append([float(ft.fraction(v)) for v in state.x])
    return np.array(out)


on_patterns = [pattern("in turns", [0, 1], LINE, 2, "1/4", "1/3", "update"),
               pattern("three in turns, FedAsync on a clock", [0, 1, 2], PLANE, 2, "1/4", "2/3", "model", (1, 1, 1)),
               pattern("one twice as fast, FedAsync on a clock", [0, 0, 1], LINE, 1, "1/2", "3/4", "model", (1, 2)),
               pattern("one client", [0], ([[[2]]], [[3]]), 5, "1/10", 1, "update"),
               pattern("a step that diverges", [0, 1], LINE, 60, 1, 3, "update"),
               pattern("thirty in turns", list(range(30)), MANY, 2, "1/10", "1/2", "update")]


def drawn_pattern(draw, n=None, K=None):
    n, K = n or draw(st.integers(1, 3)), K or draw(st.sampled_from([1, 2]))
    order = list(range(n)) + draw(st.lists(st.integers(0, n - 1), max_size=3))
    data = [[[draw(st.sampled_from(["1", "1/4"]))]] for _ in range(n)], [[draw(st.integers(-3, 3))] for _ in range(n)]
    return pattern("drawn", order, data, K, draw(st.sampled_from(["1/4", "1/2"])), draw(st.sampled_from(["1/3", "1"])),
                   draw(st.sampled_from(["update", "model"])))


@ft.claim("async-operator-period-map", on=on_patterns, rejects=[bugs.stale_model_sent, bugs.never_stale, bugs.one_step_more],
          ends={"clients": (1, 30), "local steps": (1, 100)},
          search=ft.Search((ft.Family("fixed orders", drawn_pattern, ({"n": 1, "K": 1}, {"n": 8, "K": 1}, {"n": 2, "K": 100})),),
                           tries=8),
          reading="The clock's ties are broken by the client's index. Floats; the run on the clock is exact.")
def async_operator_period_map(i):
    r"""Arrivals in a fixed periodic order: the product of the arrivals' affine maps has the spectral radius $\rho$ by which
    deviations shrink in a period, and, if $\rho<1$, its fixed point is the orbit on which every run ends."""
    problem, algorithm = i.stated.problem, i.stated.algorithm
    seen, radius = f.orbit(i.order, floats(problem.H), floats(problem.c), float(ft.fraction(algorithm.lr)), algorithm.steps,
                           float(ft.fraction(i.g)), i.mixing)
    rate = i.op_anywhere.rate() ** len(i.order)
    out = [ft.at_most(abs(rate - radius), 1e-8 * max(1.0, radius), "radius of a period")]
    if radius < .999:
        far = len(i.order) * max(4, round(np.log(1e-12) / np.log(max(radius, 1e-6))))
        *_, last = (x for x, _ in i.op.trajectory(min(far, 6000) // len(i.order) * len(i.order) + 1, [0.0] * i.d))
        out.append(ft.at_most(abs(last - seen[-1]).max(), 1e-6 * max(1.0, abs(seen).max()), "end of the derived trajectory"))
        if i.paces:
            out.append(ft.at_most(abs(clocked(i, far)[-len(i.order):] - seen).max(), 1e-6, "end of the run on the clock"))
    return out
