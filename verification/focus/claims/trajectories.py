"""Sections 3 and 4, Appendix E: the algorithms against their matrix forms, tracking and fixed points."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import structure as bugs
from verification.focus.coded import coded, exact, gradients, stack
from verification.focus.formulas import matrices as m
from verification.focus.formulas import rounds as f
from verification.focus.instances import _column_sums, _schedule, focus_schedules, line, plane, subsets, symbolic_round

fedavg_schedules = [
    _schedule("plane, tau=3", plane(), ft.FedAvg("1/50", 3, averaging="plain"), [2, -1]),
    _schedule("line, tau=1", line([1, 3, 10], [2, -1, 1]), ft.FedAvg("1/30", 1, averaging="plain"), [5]),
    *(_schedule(f"N=2, {first} then {then}", line([1, 3], [2, -1]), ft.FedAvg("1/10", 2, averaging="plain"), [1], [first, then])
      for first in subsets(2) for then in subsets(2)),
]


@ft.claim("eq8-fedavg-matrix", on=fedavg_schedules, rejects=[bugs.divides_by_all],
          domain="exact trajectories on the listed schedules, all 9 pairs of non-empty sets of two clients among them")
def eq8_fedavg_matrix(i):
    r"""FedAvg (2), its time-varying matrix form (6)-(7) and the all-clients form (46)-(47) have the same server trajectory."""
    X, grad = stack([i.x0] * (i.problem.n + 1)), gradients(i.problem)
    server = [exact(s.x) for s in coded(i)[1:]]
    return (ft.equal(server, m.fedavg_rounds(i.sets, i.tau, i.eta, X, grad), "(2) and (6)-(7)"),
            ft.equal(server, m.fedavg_everybody(i.sets, i.tau, i.eta, X, grad), "(2) and (46)-(47)"))


FOCUS_BUGS = [bugs.pushes_averaged, bugs.stores_first_gradient, bugs.server_moves_first]


@ft.claim("alg1-equiv", on=focus_schedules, rejects=FOCUS_BUGS,
          domain="exact trajectories on the listed schedules, empty rounds and a concave client among them")
def alg1_equiv(i):
    r"""Algorithm 1 started with $g_i=0$, $y=0$ is the matrix form (73)-(74) whose client rows start at their own stationary
    points: $x_r$ is the server row at $k=r\tau+1$, and $y$, $g_i$ are its tracking variables and gradients.
    """
    points = [ft.linalg.solve(H, b) for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    grad = gradients(i.problem)
    states = m.push_pull(i.sets, i.tau, i.eta, stack([i.x0, *points]), grad)
    mine = coded(i)
    out = []
    for r, s in enumerate(mine):
        X, Y = states[r * i.tau + 1]
        out += [ft.equal(exact(s.x), X[0], f"x_{r}"), ft.equal(exact(s.y), Y[0], f"y_{r}"),
                ft.equal(exact(s.g), grad(states[r * i.tau][0])[1:], f"g at the start of round {r}")]
    return out


def _e7_shift():
    """The matrix form with C_k = R_k' at the same k, as the sentence says, is another trajectory."""
    i = focus_schedules[2]
    grad = gradients(i.problem)
    X = stack([i.x0, *([c] for c in (2, -1, 1))])
    right = m.push_pull(i.sets, i.tau, i.eta, X, grad)
    wrong = m.push_pull(i.sets, i.tau, i.eta, X, grad, shifted=False)
    gap = max(abs(a[0][0, 0] - b[0][0, 0]) for a, b in zip(right, wrong, strict=True))
    return ft.at_most(Q(1, 100), gap, "largest difference of the server models on the schedule")


ft.finding("e7-shift", kind="misprint", breaks="alg1-equiv", check=_e7_shift,
           says="C_k is the transpose of R_k only up to a shift by one round.")


def _server(i, sets, printed=False):
    """Largest difference between the server models of Algorithm 1 as coded and of the matrix form, over the rounds of `sets`."""
    points = [ft.linalg.solve(H, b) for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    states = m.push_pull(sets, i.tau, i.eta, stack([i.x0, *points]), gradients(i.problem), printed=printed)
    mine = [ft.linalg.to_fractions(s.x) for s in coded(i, sets=i.sets[:len(sets)])]
    return [max(abs(v) for v in s - states[r * i.tau + 1][0][0]) for r, s in enumerate(mine)]


def _footnote():
    """|f_i(x) - F(x)|, as Table 1's footnote has it, against |grad f_i(x) - grad F(x)|, on equal Hessians."""
    problem = line([1, 1], [1, -1])
    one, everybody, values, gradients = problem.surrogate([1, 0]).to(ft.RATIONAL), problem.to(ft.RATIONAL), [], []
    for x in (ft.RATIONAL.array(np.array([v])) for v in (0, 10, 1000)):
        values.append(abs(ft.fraction(one.value(x) - everybody.value(x))))
        gradients.append(abs(ft.fraction((one.gradient(x) - everybody.gradient(x))[0])))
    return (ft.equal(gradients, [Q(1)] * 3, "gradients of equal quadratics differ by the same at x = 0, 10, 1000"),
            ft.equal(values, [Q(0), Q(10), Q(1000)], "values, as the footnote prints, by more and more"))


def _e7_tables():
    out = []
    for i in focus_schedules:
        right, wrong = _server(i, i.sets), _server(i, i.sets, printed=True)
        out += [ft.equal(max(right), Q(0), f"{i.name}: R(S_(r+1)), C(S_r) at k = r tau is Algorithm 1"),
                ft.equal(max(wrong[:1]), Q(0), f"{i.name}: the tables' column k = 0 agrees"),
                ft.at_most(Q(1, 100), wrong[1], f"{i.name}: the tables' R(S_r), C(S_(r-1)), server off by, one round later")]
        last = (len(i.sets) - 1) // i.tau
        picked = {p: [i.sets[r] for r in m.rounds_of(i.tau, last, p)] for p in (False, True)}
        out.append(ft.equal(max(_server(i, picked[False])), Q(0), f"{i.name}: r = floor(k/tau)"))
        if i.tau > 1 and last:
            out.append(ft.at_most(Q(1, 100), max(_server(i, picked[True])), f"{i.name}: r = floor(k/tau) tau, server off by"))
    return [*out, *_footnote()]


ft.finding("e7-tables", kind="misprint", breaks="alg1-equiv", check=_e7_tables,
           says="The two tables of Appendix E.1 start with S_1 at k = 0 but put R(S_r), C(S_{r-1}) at k = r tau, where "
                "Algorithm 1 needs S_{r+1} and S_r; Table 2 prints r as floor(k/tau) tau instead of floor(k/tau); Table 1's "
                "footnote omits the gradients.",
           reading="Matrix form (73)-(74) run with the sets that the tables name, against the coded Algorithm 1 on the "
                   "schedules of alg1-equiv.",
           survives="r = floor(k/tau) tau at tau = 1; the tables with S_0 for their first set.")

warm_schedules = [i.but(algorithm=ft.Focus(i.algorithm.lr, i.algorithm.steps, init="warm")) for i in focus_schedules]


@ft.claim("alg1-equiv-warm", on=warm_schedules, rejects=FOCUS_BUGS,
          domain="exact trajectories on the listed schedules, empty rounds and a concave client among them")
def alg1_equiv_warm(i):
    r"""Algorithm 1 after a full gradient pass is the collect-all form (75)-(77) if the server row starts at
    $x_0+\eta\sum_i\nabla f_i(x_0)$, so that its step $k=0$ lands on $x_0$.
    """
    grad = gradients(i.problem)
    X = stack([i.x0] * (i.problem.n + 1))
    X[0] = X[0] + i.eta * grad(X).sum(0)
    states = m.push_pull(i.sets, i.tau, i.eta, X, grad, collect_all=True)
    return [ft.equal(exact(s.x), states[r * i.tau + 1][0][0], f"x_{r}") for r, s in enumerate(coded(i))]


symbolic_rounds = [symbolic_round(1, [(), (1,)], tau) for tau in (1, 2, 5)] + \
    [symbolic_round(2, [(), (1,), (2,), (1, 2)], tau) for tau in (1, 3)] + [symbolic_round(3, [(1, 3), (1, 2, 3)], 2)]
local_steps = [symbolic_round(1, [(1,)], 1, power=True).but(name="local step, any tau", says="P = (1 - eta h)^(t - 1)")]


def _state(i):
    """The instance's state of symbols, in the shapes of the coded algorithm."""
    a, p = i.algorithm.to(i.domain), i.problem.to(i.domain)
    like = a.init(p, i.domain.array(np.zeros(1, dtype=np.int64)))
    column = np.array([[v] for v in i.g], dtype=object)
    return type(like)(np.array([i.x], dtype=object), np.array([i.y], dtype=object), column)


def _local_step(i):
    """The local loop keeps v_t = grad f(u_{t-1}) - g_old and moves u_t = u_{t-1} - eta v_t. With one client, y = 0 and
    tau = 1 the server makes the same move, so a coded round from x = u_{t-1} is the coded local step.
    """
    z = i.g[0] / i.h[0] + i.c[0]
    u = f.stale_point(i.h[0], i.eta, i.P, i.x, z)  # P = (1 - eta h)^(t - 1) is a free symbol
    new = coded(i, _state(i.but(x=u, y=0 * u)), [(1,)])[1]
    return (ft.induction(base=[(f.stale_point(i.h[0], i.eta, 1 + 0 * i.P, i.x, z), i.x)],
                         step=[(new.x[0], f.stale_point(i.h[0], i.eta, i.P * (1 - i.eta * i.h[0]), i.x, z))], label="u_t"),
            ft.equal(new.y[0], i.h[0] * (u - z), "what is pushed after t gradients"),
            ft.equal(new.g[0, 0], i.h[0] * (u - i.c[0]), "what is stored"))


@ft.claim("linear-form", covers={"tau": "all"},
          on=[*symbolic_rounds, *local_steps], rejects=FOCUS_BUGS,
          domain="all curvatures, minimisers, steps eta and states; every tau by induction over the coded local step, and tau = "
                 "1, 2, 3, 5 in full for 1 to 3 clients; in d dimensions along a common eigenbasis, and the step identity for "
                 "any H")
def linear_form(i):
    r"""On quadratics with $P_i=(1-\eta h_i)^{\tau-1}$ a round of FOCUS is $z_i'=P_ix+(1-P_i)z_i$ for $i\in S$, $z_i'=z_i$
    otherwise, and $x'=x-\eta(y+\sum_{i\in S}h_i(z_i'-z_i))$, where $z_i$ is the point of the stored gradient.
    """
    if i.P is not None:
        return _local_step(i)
    out = []
    for S in i.sets:
        new = coded(i, _state(i), [S])[1]
        x, y, g = f.focus_round(i.h, i.c, i.eta, i.tau, S, i.x, i.y, i.g)
        out += [ft.equal(new.x[0], x, f"x, S={S}"), ft.equal(new.y[0], y, f"y, S={S}"), ft.equal(new.g[:, 0], g, f"g, S={S}")]
    return out


column_sums = [_column_sums(N) for N in (1, 2, 4)]


@ft.claim("tracking", on=[*symbolic_rounds, *column_sums], rejects=[bugs.pushes_averaged, bugs.stores_first_gradient],
          domain="all states and curvatures as symbols, tau = 1, 2, 3, 5 and 1 to 3 clients; matrix form: every set of 1 to 4 "
                 "clients and every k, since only the column sums of C_k enter")
def tracking(i):
    r"""(80): $\mathbf 1^\top Y_{k+1}=\mathbf 1^\top\nabla f(X_k)$ for every $k$; in Algorithm 1, $y-\sum_ig_i$ never changes,
    so $y=\sum_ig_i$ from either start.
    """
    if i.problem is None:
        after = ft.linalg.matmul(m.collect(i.present), (i.Y + i.now - i.before)[:, None])
        return ft.equal(after.sum() - i.now.sum(), i.Y.sum() - i.before.sum(), "mass minus gradients is conserved")
    out = []
    for S in i.sets:
        new = coded(i, _state(i), [S])[1]
        out.append(ft.equal(new.y[0] - new.g.sum(), i.y - sum(i.g[1:], i.g[0]), f"S={S}"))
    return out


frozen = symbolic_rounds


@ft.claim("init-frozen", on=frozen, rejects=[bugs.tracking_reset],
          domain="any curvatures, minimisers, x_0 and eta; 1 to 3 clients, tau = 1, 2, 3, any set")
def init_frozen(i):
    r"""With $g_i=\nabla f_i(x_0)$ and $y=0$ (I3) every round leaves $x_0$, $y$ and all $g_i$ where they are."""
    stored = [h * (i.x - c) for h, c in zip(i.h, i.c, strict=True)]
    start = _state(i.but(g=stored, y=0 * i.x))
    out = []
    for S in i.sets:
        new = coded(i, start, [S])[1]
        out += [ft.equal(new.x[0], i.x, f"x, S={S}"), ft.equal(new.y[0], 0 * i.x, f"y, S={S}"),
                ft.equal(new.g[:, 0], stored, f"g, S={S}")]
    return out


@ft.claim("fixed-point", on=symbolic_rounds, rejects=[bugs.tracking_reset],
          domain="any curvatures, minimisers and eta (x* the weighted mean); 1 to 3 clients, tau = 1, 2, 3, 5, every listed "
                 "set; coordinate-wise for commuting Hessians, and the same cancellation for any")
def fixed_point(i):
    r"""$x^\star$ with $g_i=\nabla f_i(x^\star)$, $y=0$ is a fixed point of FOCUS for every set $S$, every $\tau$ and $\eta$."""
    best = sum(h * c for h, c in zip(i.h, i.c, strict=True)) / sum(i.h[1:], i.h[0])
    stored = [h * (best - c) for h, c in zip(i.h, i.c, strict=True)]
    start = _state(i.but(x=best, y=0 * best, g=stored))
    out = [ft.equal(sum(stored), 0 * best, "gradients sum to 0 at x*")]
    for S in i.sets:
        new = coded(i, start, [S])[1]
        out += [ft.equal(new.x[0], best, f"x, S={S}"), ft.equal(new.y[0], 0 * best, f"y, S={S}"),
                ft.equal(new.g[:, 0], stored, f"g, S={S}")]
    return out


delays = [i.but(algorithm=ft.Focus(i.eta, 1), mifa=ft.Mifa(i.eta * i.problem.n, 1)) for i in focus_schedules]


@ft.claim("sec5-1-delay", on=delays, rejects=[bugs.pushes_averaged, bugs.tracking_reset],
          domain="exact trajectories on the listed schedules, empty rounds among them")
def sec5_1_delay(i):
    r"""With $\tau=1$ FOCUS is the incremental aggregated gradient method $x_{r+1}=x_r-\eta\sum_ig_i$ with stale gradients, and
    MIFA with step $\eta N$ from zero memories.
    """
    mine, N = coded(i), i.problem.n
    other = coded(i.but(algorithm=i.mifa))
    H, b = i.problem.H, i.problem.b
    stale = f.aggregated_gradients(i.sets, i.eta, [Q(v) for v in i.x0],
                                   lambda k, x: [sum(h * v for h, v in zip(H[k - 1][j], x, strict=True)) - b[k - 1][j]
                                                 for j in range(len(x))], N)
    return [c for r in range(len(mine)) for c in (ft.equal(exact(mine[r].x), stale[r], f"aggregated gradients, x_{r}"),
                                                 ft.equal(exact(mine[r].x), exact(other[r].x), f"MIFA, x_{r}"))]
