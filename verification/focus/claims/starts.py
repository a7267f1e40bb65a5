"""Appendix E: what a start leaves in the server's tracking variable and in the consensus error; (81) to (83)."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import structure as bugs
from verification.focus.coded import coded, exact, gradients, stack
from verification.focus.formulas import matrices as m
from verification.focus.formulas import rounds as f
from verification.focus.instances import (
    SAMPLED,
    SCHEDULE,
    _column_sums,
    _schedule,
    focus_schedules,
    line,
    plane,
    subsets,
    symbolic_round,
)

first_round_only = ft.illustrate([_schedule("plane, first round only", plane(), ft.Focus("1/50", 3), [2, -1], SCHEDULE[:1])])


def _every_start(N):
    i = _column_sums(N)
    return i.but(name=f"collect-all, N={N}")


every_start = [_every_start(N) for N in (1, 2, 4)]
everybody_seen = ft.Hypothesis("everybody has taken part", r"$\bigcup_rS_r$ holds all clients",
                               lambda i: (0, 0) if i.problem is None else (i.problem.n, len({k for S in i.sets for k in S})))


@ft.claim("eq79-restricted", covers={"n": "1, 2, 4"},
          on=[*focus_schedules, *first_round_only, *every_start], needs=[everybody_seen],
          rejects=[bugs.pushes_averaged],
          domain="collect-all: every state as symbols; C(S): the listed schedules, exactly, once everybody has taken part")
def eq79_restricted(i):
    r"""(79) $\bar y=\mathbf 1^\top\nabla f(X)$: the server's tracking variable is the sum of all stored gradients under
    collect-all, and under $C(S)$ once every client has taken part.
    """
    if i.problem is None:
        after = ft.linalg.matmul(m.collect([0 * i.Y[0] + 1] * i.N), (i.Y + i.now - i.before)[:, None])[:, 0]
        return (ft.equal(after[0], i.Y.sum() + i.now.sum() - i.before.sum(), "all mass is on the server"),
                ft.equal(after[1:], 0 * i.Y[1:], "clients hold none"))
    grad, n = gradients(i.problem), i.problem.n
    X = stack([i.x0] * (n + 1))  # a common start: Y_0 = grad X_0 is not zero
    states, out, seen = m.push_pull(i.sets, i.tau, i.eta, X, grad), [], set()
    for r, S in enumerate(i.sets, start=1):
        seen |= set(S)
        k = r * i.tau
        if len(seen) == n or r == len(i.sets):
            out.append(ft.equal(states[k + 1][1][0], grad(states[k][0]).sum(0), f"after round {r}"))
    warm = coded(i.but(algorithm=type(i.algorithm)(i.eta, i.tau, init="warm")))
    return [*out, *(ft.equal(exact(s.y), exact(s.g).sum(0), "Algorithm 1 after a full pass") for s in warm)]


def _eq79_reset():
    i = focus_schedules[0]
    X, grad = stack([i.x0] * 4), gradients(i.problem)
    states = m.push_pull(i.sets, i.tau, i.eta, X, grad)  # Y_0 = grad X_0 differs from 0, client 2 is absent in round 1
    gap = states[i.tau + 1][1][0] - grad(states[i.tau][0]).sum(0)
    after = states[2 * i.tau + 1][1][0] - grad(states[2 * i.tau][0]).sum(0)
    return (ft.at_most(Q(1, 100), max(abs(v) for v in gap), "after round 1, client 2 not yet seen: (79) is off by"),
            ft.equal(after, 0 * after, "after round 2, when everybody has taken part"))


ft.finding("eq79-reset", kind="missing-hypothesis", breaks="eq79-restricted", at=("plane, first round only",),
           check=_eq79_reset,
           step="before (75): collecting from everybody amounts to collecting from participants, since the others' y is zero",
           reading="C(S) collects from participants only and Y_0 = grad f(X_0). (79) is printed for collect-all, where it "
                   "holds.",
           survives="Collect-all, zero initial tracking, or once every client has taken part (eq79-restricted).")


def first_step(X, eta, grad):
    """Row 0 after the step k = 0 of (75)-(76)."""
    return m.push_pull([()], 1, eta, X, grad, collect_all=True)[1][0]


common_starts = ft.illustrate([ft.Instance("h=(1,2,4)", line([1, 2, 4], [0, 0, 0]), x0=[Q(1)], eta=Q(1, 1000),
                                           first_step=first_step),
                               ft.Instance("plane", plane(), x0=[Q(1), Q(2)], eta=Q(1, 100), first_step=first_step)])


def _start(i):
    return np.array([list(i.x0)] * (i.problem.n + 1), dtype=object) + 0 * i.eta


def _first_gap(i):
    X = _start(i)
    gap = i.first_step(X, i.eta, gradients(i.problem))[0] - X[1:]
    return (gap * gap).sum()


@ft.claim("c0-zero", on=common_starts, finding="e22-c0", instead="c0-zero-corrected",
          reading="$C_0=\\|\\mathbf 1\\bar x_1-X_0\\|_F^2$ over the clients, with (75)-(76) run literally from a common model: "
                  "its step $k=0$ already moves the server. Row 0 of the printed difference is the server's own move and only "
                  "adds to it.",
          survives="A start in which the server does not move before round 0 (one full gradient pass, Algorithm 1 "
                   "with warm memories).",
          at=("h=(1,2,4)",), script="witnesses/e22_c0.py")
def c0_zero(i):
    r"""As printed: $C_0=0$ when clients and server start from the same model."""
    return ft.equal(_first_gap(i), Q(0), "C_0")


def _common_symbols(n):
    i = symbolic_round(n, [])
    return i.but(name=f"N={n}, any start", x0=[i.x], first_step=first_step)


common_symbols = [_common_symbols(n) for n in (1, 2, 3)]


@ft.claim("c0-zero-corrected", covers={"d": "all"},
          on=[*common_starts, *common_symbols], rejects=[bugs.no_extra_move],
          domain="any curvatures, minimisers, eta and x_0 for 1 to 3 clients on the line (coordinates add); exactly in the "
                 "plane")
def c0_zero_corrected(i):
    r"""A common start gives $C_0=\eta^2N^3\|\nabla F(x_0)\|^2$, which is 0 only at $x^\star$; a full gradient pass without the
    extra server move gives 0.
    """
    return ft.equal(_first_gap(i), f.first_consensus_error(i.eta, _start(i), gradients(i.problem)), "C_0")


pulls = ft.illustrate([i.but(x=Q(2), z=[Q(k * k) for k in range(i.N)]) for i in SAMPLED if i.name != "one of three"])


def _errors(i, chances):
    """Both sides of (81) and (82) on the client rows, X with the server model in row 0."""
    X = np.array([[i.x], *([z] for z in i.z)], dtype=object)
    pulled = [(q, ft.linalg.matmul(m.assign(m.indicators(S, i.N)), X)) for q, S in i.law_list]
    change = sum(q * ((P[1:] - X[1:]) ** 2).sum() for q, P in pulled)
    left = sum(q * ((i.x - P[1:]) ** 2).sum() for q, P in pulled)
    squares = [(i.x - z) ** 2 for z in i.z]
    return (ft.equal(change, sum(c * s for c, s in zip(chances, squares, strict=True)), "(81)"),
            ft.equal(left, sum((1 - c) * s for c, s in zip(chances, squares, strict=True)), "(82)"))


@ft.claim("eq81-82", on=pulls, finding="e1-81-82", instead="eq81-82-corrected",
          reading="(81)-(82) on the client rows (row 0 of the printed norm is the server's own move), conditional on the past, "
                  "with $q_i$ the averaging weights of Assumption 1.",
          survives="Exactly one participant in every round; and as inequalities where they are used, since $q_i\\le p_i$.",
          at=("full, N=2", "two of three"), script="witnesses/e1_81_82.py",
          step="(99) repeats the weights; harmless in Lemmas 3 and 4 because q_i <= p_i")
def eq81_82(i):
    r"""As printed: $E\|X_{r\tau+1}-X_{r\tau}\|^2=\sum_iq_i\|\bar x-x_i\|^2$ and
    $E\|\mathbf 1\bar x-X_{r\tau+1}\|^2=\sum_i(1-q_i)\|\bar x-x_i\|^2$.
    """
    return _errors(i, m.participation(i.law_list, i.N)[1])


def _pull_symbols(N, empty):
    sets = ([()] if empty else []) + subsets(N)
    k = ft.Field(" ".join([*(f"c{j}" for j in range(len(sets) - 1)), "x", *(f"z{j}" for j in range(N))]))
    c, (x, *z) = k.symbols[:len(sets) - 1], k.symbols[len(sets) - 1:]
    chances = [*c, 1 - sum(c)]
    return ft.Instance(f"any law, N={N}", domain=k, law_list=list(zip(chances, sets, strict=True)), N=N, x=x, z=z, weights="p",
                       says="probabilities and points are symbols")


pull_symbols = [_pull_symbols(2, True), _pull_symbols(3, False)]


@ft.claim("eq81-82-corrected", covers={"n": "2, 3"},
          on=[*pulls, *pull_symbols], rejects=[bugs.averaging_for_participation],
          domain="every law over the sets of 2 and 3 clients (probabilities and points as symbols), empty rounds allowed")
def eq81_82_corrected(i):
    r"""On the client rows, conditional on the past: $E\|X_{r\tau+1}-X_{r\tau}\|^2=\sum_ip_i\|\bar x-x_i\|^2$ and
    $E\|\mathbf 1\bar x-X_{r\tau+1}\|^2=\sum_i(1-p_i)\|\bar x-x_i\|^2$.
    """
    p, q = m.participation(i.law_list, i.N)
    return _errors(i, p if i.weights == "p" else q)


def _displacement(n, tau):
    i = symbolic_round(n, [], tau)
    return i.but(name=f"N={n}, tau={tau}", z=list(i.g), moves=lambda tau: tau, says="all points and curvatures are symbols")


displacements = [_displacement(1, 2), _displacement(1, 4), _displacement(2, 3)]


@ft.claim("eq83-corrected", on=displacements, rejects=[bugs.one_move_fewer],
          domain="any curvatures, minimisers, eta and states; one and two clients, tau = 2, 3, 4")
def eq83_corrected(i):
    r"""(83), with the factor $-\eta$ it lacks: $x_{(r+1)\tau,i}-x_{r\tau+1,i}=-\eta\sum_{k=r\tau+2}^{(r+1)\tau}y_{k,i}$ for
    participants.
    """
    X = np.array([[v] for v in (i.x, *i.z)], dtype=object)
    everybody = tuple(range(1, i.N + 1))
    states = m.push_pull([everybody], i.tau, i.eta, X, gradients(i.problem))
    first, last = states[1][0], states[i.tau][0]
    pushed = sum(states[k][1][1:] for k in range(2, i.moves(i.tau) + 1))
    return ft.equal((last - first)[1:, 0], (-i.eta * pushed)[:, 0], "displacement")


def _e7_eta():
    i = displacements[0]
    X = np.array([[v] for v in (i.x, *i.z)], dtype=object)
    states = m.push_pull([(1,)], i.tau, i.eta, X, gradients(i.problem))
    moved = (states[i.tau][0] - states[1][0])[1, 0]
    pushed = states[2][1][1, 0]
    return ft.equal(moved, -i.eta * pushed, "x_{(r+1) tau} - x_{r tau + 1} = -eta y_{r tau + 2} at tau = 2, all symbols")


ft.finding("e7-eta", kind="misprint", breaks="eq83-corrected", check=_e7_eta,
           says="(83) and (85) miss the factor -eta; (85) prints x for y.")
