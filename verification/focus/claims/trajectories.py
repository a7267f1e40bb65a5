"""Sections 3 and 4, Appendix E: the algorithms against their matrix forms, tracking, starts and fixed points."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.core.laws.draw import everyone
from fltheory.verdicts.claims.claim import Hypothesis, claim
from fltheory.verdicts.claims.relations import equal, induction
from verification.focus.bugs import structure as bugs
from verification.focus.formulas import matrices as m
from verification.focus.formulas import rounds as f
from verification.focus.instances import structure as I

FOCUS_BUGS = [bugs.pushes_averaged, bugs.stores_first_gradient, bugs.server_moves_first]


def coded(i, state=None, sets=None):
    """States before the first round and after each round of the instance's schedule, by the algorithm's own code."""
    algorithm, problem = i.algorithm.to(i.domain), i.problem.to(i.domain)
    state = algorithm.init(problem, i.domain.array(np.array(i.x0, dtype=object))) if state is None else state
    out = [state]
    for S in i.sets if sets is None else sets:
        draw = everyone(problem.n, i.tau, np.array([int(k in S) for k in range(1, problem.n + 1)]))
        out.append(algorithm.round(problem, out[-1], draw))
    return out


def _exact(vector):
    return linalg.to_fractions(vector)


def _gradients(problem):
    """Stacked exact gradients of a quadratic problem, row 0 zero."""
    H, b = problem.H, problem.b

    def grad(X):
        out = 0 * X
        for k in range(problem.n):
            out[k + 1] = linalg.matmul(H[k], X[k + 1][:, None])[:, 0] - b[k]
        return out
    return grad


def _stack(rows):
    return np.array([[Q(v) for v in row] for row in rows], dtype=object)


@claim("eq8-fedavg-matrix", on=I.fedavg_schedules, rejects=[bugs.divides_by_all],
       domain="exact trajectories on the listed schedules, all 9 pairs of non-empty sets of two clients among them")
def eq8_fedavg_matrix(i):
    r"""FedAvg (2), its time-varying matrix form (6)-(7) and the all-clients form (46)-(47) have the same server trajectory."""
    X, grad = _stack([i.x0] * (i.problem.n + 1)), _gradients(i.problem)
    server = [_exact(s.x) for s in coded(i)[1:]]
    return (equal(server, m.fedavg_rounds(i.sets, i.tau, i.eta, X, grad), "(2) and (6)-(7)"),
            equal(server, m.fedavg_everybody(i.sets, i.tau, i.eta, X, grad), "(2) and (46)-(47)"))


@claim("rem-w-not-doubly-restricted", covers={"n": "1 to 5"},
       on=I.every_set, rejects=[bugs.indices_swapped],
       domain="any set of N = 1 to 5 clients as symbols: the column of client j sums to N I_j/|S|, which is 1 for every j only if "
              "all indicators equal |S|/N, so all are 1; subset by subset for N = 1, 2, 3, 5")
def rem_w_not_doubly(i):
    r"""The client block of FedAvg's $W(S)$ is doubly stochastic if and only if every client takes part."""
    out = []
    for I_S in i.sets:
        block, size = np.stack([i.average(I_S)[0]] * (i.N + 1))[1:, 1:], sum(I_S[1:], I_S[0])
        out += [equal(block.sum(1), 0 * block[0] + 1, "row sums"),
                equal(block.sum(0), [i.N * v / size for v in I_S], "column sums N I_j/|S|")]
        if all(isinstance(v, Q) for v in I_S):
            out.append(equal(int(all(v == 1 for v in block.sum(0))), int(size == i.N), "doubly stochastic iff everybody"))
    return out


@claim("alg1-equiv", on=I.focus_schedules, rejects=FOCUS_BUGS,
       domain="exact trajectories on the listed schedules, empty rounds and a concave client among them")
def alg1_equiv(i):
    r"""Algorithm 1 started with $g_i=0$, $y=0$ is the matrix form (73)-(74) whose client rows start at their own stationary
    points: $x_r$ is the server row at $k=r\tau+1$, and $y$, $g_i$ are its tracking variables and gradients.
    """
    points = [linalg.solve(H, b) for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    grad = _gradients(i.problem)
    states = m.push_pull(i.sets, i.tau, i.eta, _stack([i.x0, *points]), grad)
    mine = coded(i)
    out = []
    for r, s in enumerate(mine):
        X, Y = states[r * i.tau + 1]
        out += [equal(_exact(s.x), X[0], f"x_{r}"), equal(_exact(s.y), Y[0], f"y_{r}"),
                equal(_exact(s.g), grad(states[r * i.tau][0])[1:], f"g at the start of round {r}")]
    return out


@claim("alg1-equiv-warm", on=I.warm_schedules, rejects=FOCUS_BUGS,
       domain="exact trajectories on the listed schedules, empty rounds and a concave client among them")
def alg1_equiv_warm(i):
    r"""Algorithm 1 after a full gradient pass is the collect-all form (75)-(77) if the server row starts at
    $x_0+\eta\sum_i\nabla f_i(x_0)$, so that its step $k=0$ lands on $x_0$.
    """
    grad = _gradients(i.problem)
    X = _stack([i.x0] * (i.problem.n + 1))
    X[0] = X[0] + i.eta * grad(X).sum(0)
    states = m.push_pull(i.sets, i.tau, i.eta, X, grad, collect_all=True)
    return [equal(_exact(s.x), states[r * i.tau + 1][0][0], f"x_{r}") for r, s in enumerate(coded(i))]


def _state(i):
    """The instance's state of symbols, in the shapes of the coded algorithm."""
    a, p = i.algorithm.to(i.domain), i.problem.to(i.domain)
    like = a.init(p, i.domain.array(np.zeros(1, dtype=np.int64)))
    column = np.array([[v] for v in i.g], dtype=object)
    return type(like)(np.array([i.x], dtype=object), np.array([i.y], dtype=object), column)


@claim("linear-form", covers={"tau": "all"},
       on=[*I.symbolic_rounds, *I.local_steps], rejects=FOCUS_BUGS,
       domain="all curvatures, minimisers, steps eta and states; every tau by induction over the coded local step, and tau = 1, 2, "
              "3, 5 in full for 1 to 3 clients; in d dimensions along a common eigenbasis, and the step identity for any H")
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
        out += [equal(new.x[0], x, f"x, S={S}"), equal(new.y[0], y, f"y, S={S}"), equal(new.g[:, 0], g, f"g, S={S}")]
    return out


def _local_step(i):
    """The local loop keeps v_t = grad f(u_{t-1}) - g_old and moves u_t = u_{t-1} - eta v_t. With one client, y = 0 and
    tau = 1 the server makes the same move, so a coded round from x = u_{t-1} is the coded local step.
    """
    z = i.g[0] / i.h[0] + i.c[0]
    u = f.stale_point(i.h[0], i.eta, i.P, i.x, z)  # P = (1 - eta h)^(t - 1) is a free symbol
    new = coded(i, _state(i.but(x=u, y=0 * u)), [(1,)])[1]
    return (induction(base=[(f.stale_point(i.h[0], i.eta, 1 + 0 * i.P, i.x, z), i.x)],
                      step=[(new.x[0], f.stale_point(i.h[0], i.eta, i.P * (1 - i.eta * i.h[0]), i.x, z))], label="u_t"),
            equal(new.y[0], i.h[0] * (u - z), "what is pushed after t gradients"),
            equal(new.g[0, 0], i.h[0] * (u - i.c[0]), "what is stored"))


@claim("tracking", on=[*I.symbolic_rounds, *I.column_sums], rejects=[bugs.pushes_averaged, bugs.stores_first_gradient],
       domain="all states and curvatures as symbols, tau = 1, 2, 3, 5 and 1 to 3 clients; matrix form: every set of 1 to 4 clients "
              "and every k, since only the column sums of C_k enter")
def tracking(i):
    r"""(80): $\mathbf 1^\top Y_{k+1}=\mathbf 1^\top\nabla f(X_k)$ for every $k$; in Algorithm 1, $y-\sum_ig_i$ never changes,
    so $y=\sum_ig_i$ from either start.
    """
    if i.problem is None:
        after = linalg.matmul(m.collect(i.present), (i.Y + i.now - i.before)[:, None])
        return equal(after.sum() - i.now.sum(), i.Y.sum() - i.before.sum(), "mass minus gradients is conserved")
    out = []
    for S in i.sets:
        new = coded(i, _state(i), [S])[1]
        out.append(equal(new.y[0] - new.g.sum(), i.y - sum(i.g[1:], i.g[0]), f"S={S}"))
    return out


@claim("init-frozen", on=I.frozen, rejects=[bugs.tracking_reset],
       domain="any curvatures, minimisers, x_0 and eta; 1 to 3 clients, tau = 1, 2, 3, any set")
def init_frozen(i):
    r"""With $g_i=\nabla f_i(x_0)$ and $y=0$ (I3) every round leaves $x_0$, $y$ and all $g_i$ where they are."""
    stored = [h * (i.x - c) for h, c in zip(i.h, i.c, strict=True)]
    start = _state(i.but(g=stored, y=0 * i.x))
    out = []
    for S in i.sets:
        new = coded(i, start, [S])[1]
        out += [equal(new.x[0], i.x, f"x, S={S}"), equal(new.y[0], 0 * i.x, f"y, S={S}"), equal(new.g[:, 0], stored, f"g, S={S}")]
    return out


@claim("fixed-point", on=I.symbolic_rounds, rejects=[bugs.tracking_reset],
       domain="any curvatures, minimisers and eta (x* the weighted mean); 1 to 3 clients, tau = 1, 2, 3, 5, every listed set; "
              "coordinate-wise for commuting Hessians, and the same cancellation for any")
def fixed_point(i):
    r"""$x^\star$ with $g_i=\nabla f_i(x^\star)$, $y=0$ is a fixed point of FOCUS for every set $S$, every $\tau$ and $\eta$."""
    best = sum(h * c for h, c in zip(i.h, i.c, strict=True)) / sum(i.h[1:], i.h[0])
    stored = [h * (best - c) for h, c in zip(i.h, i.c, strict=True)]
    start = _state(i.but(x=best, y=0 * best, g=stored))
    out = [equal(sum(stored[1:], stored[0]), 0 * best, "gradients sum to 0 at x*")]
    for S in i.sets:
        new = coded(i, start, [S])[1]
        out += [equal(new.x[0], best, f"x, S={S}"), equal(new.y[0], 0 * best, f"y, S={S}"), equal(new.g[:, 0], stored, f"g, S={S}")]
    return out


@claim("sec5-1-delay", on=I.delays, rejects=[bugs.pushes_averaged, bugs.tracking_reset],
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
    return [c for r in range(len(mine)) for c in (equal(_exact(mine[r].x), stale[r], f"aggregated gradients, x_{r}"),
                                                 equal(_exact(mine[r].x), _exact(other[r].x), f"MIFA, x_{r}"))]


everybody_seen = Hypothesis("everybody has taken part", r"$\bigcup_rS_r$ holds all clients",
                            lambda i: (0, 0) if i.problem is None else (i.problem.n, len({k for S in i.sets for k in S})))


@claim("eq79-restricted", covers={"n": "1, 2, 4"},
       on=[*I.focus_schedules, *I.first_round_only, *I.every_start], needs=[everybody_seen],
       rejects=[bugs.pushes_averaged],
       domain="collect-all: every state as symbols; C(S): the listed schedules, exactly, once everybody has taken part")
def eq79_restricted(i):
    r"""(79) $\bar y=\mathbf 1^\top\nabla f(X)$: the server's tracking variable is the sum of all stored gradients under
    collect-all, and under $C(S)$ once every client has taken part.
    """
    if i.problem is None:
        after = linalg.matmul(m.collect([0 * i.Y[0] + 1] * i.N), (i.Y + i.now - i.before)[:, None])[:, 0]
        return (equal(after[0], i.Y.sum() + i.now.sum() - i.before.sum(), "all mass is on the server"),
                equal(after[1:], 0 * i.Y[1:], "clients hold none"))
    grad, n = _gradients(i.problem), i.problem.n
    X = _stack([i.x0] * (n + 1))  # a common start: Y_0 = grad X_0 is not zero
    states, out, seen = m.push_pull(i.sets, i.tau, i.eta, X, grad), [], set()
    for r, S in enumerate(i.sets, start=1):
        seen |= set(S)
        k = r * i.tau
        if len(seen) == n or r == len(i.sets):
            out.append(equal(states[k + 1][1][0], grad(states[k][0]).sum(0), f"after round {r}"))
    warm = coded(i.but(algorithm=type(i.algorithm)(i.eta, i.tau, init="warm")))
    return [*out, *(equal(_exact(s.y), _exact(s.g).sum(0), "Algorithm 1 after a full pass") for s in warm)]


@claim("c0-zero", on=I.common_starts, finding="e22-c0", instead="c0-zero-corrected",
       reading="$C_0=\\|\\mathbf 1\\bar x_1-X_0\\|_F^2$ over the clients, with (75)-(76) run literally from a common model: its "
               "step $k=0$ already moves the server. Row 0 of the printed difference is the server's own move and only adds to it.",
       survives="A start in which the server does not move before round 0 (one full gradient pass, Algorithm 1 "
                "with warm memories).")
def c0_zero(i):
    r"""As printed: $C_0=0$ when clients and server start from the same model."""
    return equal(_first_gap(i), Q(0), "C_0")


@claim("c0-zero-corrected", covers={"d": "all"},
       on=[*I.common_starts, *I.common_symbols], rejects=[bugs.no_extra_move],
       domain="any curvatures, minimisers, eta and x_0 for 1 to 3 clients on the line (coordinates add); exactly in the plane")
def c0_zero_corrected(i):
    r"""A common start gives $C_0=\eta^2N^3\|\nabla F(x_0)\|^2$, which is 0 only at $x^\star$; a full gradient pass without the
    extra server move gives 0.
    """
    return equal(_first_gap(i), f.first_consensus_error(i.eta, _start(i), _gradients(i.problem)), "C_0")


def _start(i):
    return np.array([list(i.x0)] * (i.problem.n + 1), dtype=object) + 0 * i.eta


def _first_gap(i):
    X = _start(i)
    gap = i.first_step(X, i.eta, _gradients(i.problem))[0] - X[1:]
    return (gap * gap).sum()


@claim("eq78", covers={"n": "1 to 5"},
       on=I.every_set, rejects=[bugs.server_row_pulled],
       domain="every participation set of N = 1 to 5 clients as symbols, and subset by subset")
def eq78(i):
    r"""(78): $e_0^\top R_k=e_0^\top$: nobody overwrites the server."""
    unit = [int(j == 0) for j in range(i.N + 1)]
    return [equal(i.assign(I_S)[0], unit, "server row") for I_S in i.sets]


def _errors(i, chances):
    """Both sides of (81) and (82) on the client rows, X with the server model in row 0."""
    X = np.array([[i.x], *([z] for z in i.z)], dtype=object)
    pulled = [(q, linalg.matmul(m.assign(m.indicators(S, i.N)), X)) for q, S in i.law_list]
    change = sum(q * ((P[1:] - X[1:]) ** 2).sum() for q, P in pulled)
    left = sum(q * ((i.x - P[1:]) ** 2).sum() for q, P in pulled)
    squares = [(i.x - z) ** 2 for z in i.z]
    return (equal(change, sum(c * s for c, s in zip(chances, squares, strict=True)), "(81)"),
            equal(left, sum((1 - c) * s for c, s in zip(chances, squares, strict=True)), "(82)"))


@claim("eq81-82", on=I.pulls, finding="e1-81-82", instead="eq81-82-corrected",
       reading="(81)-(82) on the client rows (row 0 of the printed norm is the server's own move), conditional on the past, with "
               "$q_i$ the averaging weights of Assumption 1.",
       survives="Exactly one participant in every round; and as inequalities where they are used, since $q_i\\le p_i$.")
def eq81_82(i):
    r"""As printed: $E\|X_{r\tau+1}-X_{r\tau}\|^2=\sum_iq_i\|\bar x-x_i\|^2$ and
    $E\|\mathbf 1\bar x-X_{r\tau+1}\|^2=\sum_i(1-q_i)\|\bar x-x_i\|^2$.
    """
    return _errors(i, m.participation(i.law_list, i.N)[1])


@claim("eq81-82-corrected", covers={"n": "2, 3"},
       on=[*I.pulls, *I.pull_symbols], rejects=[bugs.averaging_for_participation],
       domain="every law over the sets of 2 and 3 clients (probabilities and points as symbols), empty rounds allowed")
def eq81_82_corrected(i):
    r"""On the client rows, conditional on the past: $E\|X_{r\tau+1}-X_{r\tau}\|^2=\sum_ip_i\|\bar x-x_i\|^2$ and
    $E\|\mathbf 1\bar x-X_{r\tau+1}\|^2=\sum_i(1-p_i)\|\bar x-x_i\|^2$.
    """
    p, q = m.participation(i.law_list, i.N)
    return _errors(i, p if i.weights == "p" else q)


@claim("eq83-corrected", on=I.displacements, rejects=[bugs.one_move_fewer],
       domain="any curvatures, minimisers, eta and states; one and two clients, tau = 2, 3, 4")
def eq83_corrected(i):
    r"""(83), with the factor $-\eta$ it lacks: $x_{(r+1)\tau,i}-x_{r\tau+1,i}=-\eta\sum_{k=r\tau+2}^{(r+1)\tau}y_{k,i}$ for
    participants.
    """
    X = np.array([[v] for v in (i.x, *i.z)], dtype=object)
    everybody = tuple(range(1, i.N + 1))
    states = m.push_pull([everybody], i.tau, i.eta, X, _gradients(i.problem))
    first, last = states[1][0], states[i.tau][0]
    pushed = sum(states[k][1][1:] for k in range(2, i.moves(i.tau) + 1))
    return equal((last - first)[1:, 0], (-i.eta * pushed)[:, 0], "displacement")
