"""Scaffnew against SCAFFOLD, and its two forms under partial participation."""
import itertools
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import proxskip as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.coded import around_optimum, coded_round, column, x_star
from verification.focus.formulas import matrices as m
from verification.focus.formulas import proxskip as f
from verification.focus.instances import law_of, line, plane, subsets, symbols


def _both_trajectories(i):
    problem, a, b = i.problem.to(i.domain), i.algorithm.to(i.domain), i.scaffnew.to(i.domain)
    x0, draw, out = i.domain.array(np.array(i.x0, dtype=object)), ft.everyone(i.n, i.tau), []
    s, t = a.init(problem, x0), b.init(problem, x0)
    for r in range(1, 6):
        s, t = a.round(problem, s, draw), b.round(problem, t, draw)
        out += [ft.equal(s.x, t.x, f"x_{r}"), ft.equal(s.ci - s.c, t.h, f"shifts after round {r}")]
    return out


def _pair(i):
    return i.but(scaffnew=ft.Scaffnew(i.algorithm.lr, i.tau))


rounds_of_both = [_pair(symbols(ft.Scaffold, n, tau, "one round")) for n, tau in ((1, 2), (2, 1), (2, 3), (3, 2))]
any_local_phase = [_pair(symbols(ft.Scaffold, n, 1, "local phase", linear=True)) for n in (1, 2, 3, 4)]
trajectories_of_both = ft.illustrate([ft.Instance(f"trajectory, {name}, tau={tau}", problem, ft.Scaffold("1/20", tau),
                                                  ft.Full(), part="trajectory",
                                                  x0=x0, scaffnew=ft.Scaffnew("1/20", tau))
                                      for name, problem, x0 in (("plane", plane(), [3, -2]),
                                                                ("line", line([1, 2, 4, 3], [1, -1, 0, 5]), [3]))
                                      for tau in (1, 3)])


@ft.claim("scaffold-scaffnew", covers={"n": "all", "d": "all", "tau": "all"},
          on=[*rounds_of_both, *any_local_phase, *trajectories_of_both],
          rejects=[bugs.fresh_variates, wrong.variates_never_updated],
          domain="every state with c = mean of c_i, any f_i, N = 1 to 4 and every tau: the coded local steps agree at any point "
                 "and gradient (induction), and the coded server updates agree for any local ends; in full for quadratics with "
                 "N = 1 to 3 and tau = 1, 2, 3; only sums over clients occur, so N does not matter")
def scaffold_scaffnew(i):
    r"""Under full participation with server step 1, SCAFFOLD (option II) is Scaffnew with fixed $\tau$ and $h_i=c_i-c$: the same
    server model, and again $h_i=c_i-c$ with $c=\frac1N\sum_ic_i$, after every round.
    """
    everybody = range(1, i.n + 1)
    if i.part == "trajectory":
        return _both_trajectories(i)
    c = sum(i.u) / i.n
    h = [v - c for v in i.u]
    first, second = coded_round(i, i.algorithm, everybody, i.x, c=c, ci=i.u), coded_round(i, i.scaffnew, everybody, i.x, h=h)
    out = [ft.equal(first.x, second.x, "server model"), ft.equal(column(second.h), [v - first.c[0] for v in column(first.ci)],
                                                                 "shifts"),
           ft.equal(first.c[0], sum(column(first.ci)) / i.n, "c is the mean of c_i")]
    if i.part == "local phase":  # alone, a client hands its local model to the server: one coded local step from any point x
        alone = [(coded_round(i, i.algorithm, (k,), i.x, c=c, ci=i.u).x[0], coded_round(i, i.scaffnew, (k,), i.x, h=h).x[0])
                 for k in everybody]
        out.append(ft.induction(base=[(i.x, i.x)], step=[*alone, *((y, i.x - i.eta * (v - b)) for (y, _), v, b in zip(
            alone, [-w for w in h], i.b, strict=True))], label="local models"))
    return out


def _mismatch(i):
    """Smallest |sum of gradients at x*|^2 over the proper groups of clients: 0 if some group alone has the minimiser x*."""
    if i.part != "law":
        return ft.ASSUMED
    best, out = x_star(i), []
    for S in subsets(i.n)[:-1]:
        g = sum(ft.linalg.matmul(i.problem.H[k - 1], best[:, None])[:, 0] - i.problem.b[k - 1] for k in S)
        out.append((g * g).sum())
    return 0, min(out)


heterogeneous = ft.Hypothesis("no group of clients alone has the minimiser x*",
                              r"$\sum_{i\in C}\nabla f_i(x^\star)\ne0$ for proper $C$", _mismatch, strict=True)


def _conserved(i):
    out = []
    for S in i.sets:
        new = coded_round(i, i.algorithm, S, i.x, h=i.u)
        h = column(new.h)
        out += [ft.equal([h[k - 1] for k in range(1, i.n + 1) if k not in S],
                         [i.u[k - 1] for k in range(1, i.n + 1) if k not in S],
                         f"absent shifts, S={S}")] if len(S) < i.n else []
        out += [ft.equal(sum(h[k - 1] for k in S), sum(i.u[k - 1] for k in S), f"sum over S={S}")] if S else []
        if len(S) == 1:
            out += [ft.equal(coded_round(i, i.algorithm, S, i.x).x, coded_round(i, i.fedavg, S, i.x).x, f"S={S}: FedAvg"),
                    ft.equal(h, i.u, f"S={S}: no shift moves")]
    return out


def _attracted(i):
    """h_i' - h_i is the server's move minus a multiple of h_i - grad f_i(x): once x stays, h_i is drawn to the gradient."""
    out = []
    for S in i.sets:
        new = coded_round(i, i.algorithm, S, i.x, h=i.u)
        length, h = i.eta * i.tau, column(new.h)
        for k in S:
            a, b, v = i.a[k - 1], i.b[k - 1], i.u[k - 1]
            pull = (1 - (1 - i.eta * a) ** i.tau) / (length * a)
            out.append(ft.equal(h[k - 1] - v, (new.x[0] - i.x) / length - pull * (v - (a * i.x - b)), f"client {k}, S={S}"))
            out.append(ft.equal(ft.limit(pull, "eta"), 1, "the factor tends to 1 for small steps"))
    still = coded_round(i, i.algorithm, i.sets[-1], i.x, h=[a * i.x - b for a, b in zip(i.a, i.b, strict=True)])
    return [*out, ft.equal(still.x, [i.x], "h_i = grad f_i(x): nothing moves")]


def _gossip(i):
    out = []
    at, h, gradients = around_optimum(i, i.x, i.u)
    for S in i.sets:
        new = coded_round(at, i.algorithm, S, i.x, h=h)
        k = [i.eta * i.tau * (v - g) for v, g in zip(column(new.h), gradients, strict=True)]
        x, averaged = f.small_step_round(i.x, i.u, S)
        out += [ft.equal(ft.limit(new.x[0], "eta"), x, f"server, S={S}"),
                ft.equal(ft.limit(k, "eta"), averaged, f"shifts, S={S}"),
                ft.equal(sum(v * v for v in i.u) - sum(v * v for v in averaged), f.lost_spread(i.u, S),
                         f"|k|^2 loses a sum of squares, S={S}")]
    return out


def _drift(i):
    """E[x + sum w_i k_i] after a round from (x, k = 0), to first order in eta, and unchanged at eta = 0 for every sum k = 0."""
    w, mass = f.slow_weights(i.law_list, i.n)
    centred = [*i.u[:-1], -sum(i.u[:-1])]
    nobody = 1 - sum(c for c, _ in i.law_list)
    moved, kept = nobody * i.x, nobody * (i.x + sum(a * k for a, k in zip(w, centred, strict=True)))
    at, h, gradients = around_optimum(i, i.x, [0 * i.x] * i.n)
    for chance, S in i.law_list:
        new = coded_round(at, i.algorithm, S, i.x, h=h)
        k = [i.eta * i.tau * (v - g) for v, g in zip(column(new.h), gradients, strict=True)]
        moved = moved + chance * (new.x[0] + sum(a * v for a, v in zip(w, k, strict=True)))
        x, k = f.small_step_round(i.x, centred, S)
        kept = kept + chance * (x + sum(a * v for a, v in zip(w, k, strict=True)))
    zeroth, first = ft.limit(moved, "eta"), ft.limit((moved - i.x) / i.eta, "eta")
    return (ft.equal(zeroth, i.x, "order 0"), ft.equal(first, -i.tau * mass * sum(i.a) / i.n * i.x,
                                                       "order 1: the Hessian of F"),
            ft.equal(kept, i.x + sum(a * k for a, k in zip(w, centred, strict=True)), "slow direction at eta = 0"))


def _law(i):
    groups, floor, best = i.grouped(i.sets, i.n), i.op.floor(x_star(i)), x_star(i)
    out = [ft.equivalent((floor > 0, (0, floor)), (len(groups) > 1, (1, len(groups))), "not exact iff several components"),
           ft.at_most(ft.Bounds(*i.op.certify(width=float(i.eta) / 20).mean_square), 1, "mean-square rate", strict=True)]
    if len(groups) == 1:
        out.append(ft.equal(i.op.fixed_point().x, best, "x*"))
    return out


conserved = [symbols(ft.Scaffnew, n, 1, "conserved", linear=True) for n in (1, 2, 3, 4)] + \
    [symbols(ft.Scaffnew, n, tau, "conserved") for n, tau in ((2, 2), (3, 3))]
conserved = [i.but(fedavg=ft.FedAvg(i.eta, i.tau, averaging="plain")) for i in conserved]
attracted = [symbols(ft.Scaffnew, n, tau, "attracted") for n, tau in ((1, 3), (2, 2), (3, 1))]
gossip = [symbols(ft.Scaffnew, n, tau, "small steps") for n, tau in ((2, 3), (3, 2), (4, 1))]
drift = [symbols(ft.Scaffnew, n, tau, "drift", law=True) for n, tau in ((2, 1), (2, 3), (3, 2))]


def iid(sets):
    """Independent rounds, each of these sets of clients 1..N with the same probability."""
    row = (Q(1, len(sets)),) * len(sets)
    return ft.Chain(sets=tuple(tuple(i - 1 for i in S) for S in sets), matrix=(row,) * len(sets))


def _listed(name, problem, law, sets, eta="1/20", tau=3, make=ft.Scaffnew, **extra):
    return ft.Instance(name, problem, make(eta, tau), law, part="law", sets=sets,
                       grouped=f.components, **extra)


def _families(n, most):
    """Families of at most `most` non-empty sets that together hold all clients."""
    return [F for size in range(1, most + 1) for F in itertools.combinations(subsets(n), size)
            if len(set().union(*map(set, F))) == n]


def _words(sets):
    return ", ".join("{" + ",".join(map(str, S)) + "}" for S in sets)


three, four = line([1, 2, 4], [1, -1, 0]), line([1, 2, 4, 3], [1, -1, 0, 2])
families = ft.illustrate([_listed(_words(F), three, iid(F), F) for F in _families(3, 3)])
families += ft.illustrate([_listed(_words(F), four, iid(F), F)
                           for F in (((1, 2), (3, 4)), ((1, 2), (2, 3), (4,)), ((1, 2), (2, 3), (3, 4)),
                                                                         ((1, 2, 3), (4,)), ((1, 2, 3), (3, 4)))])


def _typed(problem, laws, **options):
    return [_listed(name, problem, law, [S for _, S in law_of(law, problem.n) if S], **options) for name, law in laws.items()]


PARTIAL = {"one uniform client": ft.Uniform(1), "two uniform clients": ft.Uniform(2),
           "weighted, two of three": ft.Weighted(2, (7, 2, 1)),
           "Bernoulli(.9,.5,.1)": ft.Bernoulli(("9/10", "1/2", "1/10"), "redraw")}
typed = ft.illustrate(_typed(plane(), {"full": ft.Full(), **PARTIAL}, eta="1/50"))


@ft.claim("table1-proxskip-immediate", covers={"n": "2, 3", "tau": "all"},
          on=[*conserved, *attracted, *gossip, *drift, *families, *typed],
          needs=[heterogeneous],
          rejects=[bugs.shifts_never_updated, bugs.shifts_half_updated, bugs.shifts_from_the_start,
                   bugs.everybody_in_the_union],
          domain="quadratics, independent rounds, steps small enough for the law. Only if: any local phase and every set of 1 "
                 "to 4 clients; sum h over a linked component is conserved and h_i is drawn to grad f_i(x*), so x* would need "
                 "sum grad f_i(x*) = 0 over each component. If: as eta -> 0 shifts average over the sets (any set, N = 2 to 4), "
                 "which contracts on sum h = 0 exactly when the sets link all clients, and the slow direction moves by -eta tau "
                 "times the Hessian of F (any law, N = 2, 3)")
def table1_proxskip_immediate(i):
    r"""Scaffnew with $h_i$ moved at once is exact on heterogeneous quadratics, for small steps, if and only if the participation
    sets with at least two members link all clients; $\sum h_i$ over each linked component never changes, and a client that comes
    alone never moves its shift, so with one client per round it is FedAvg.
    """
    return {"conserved": _conserved, "attracted": _attracted, "small steps": _gossip, "drift": _drift, "law": _law}[i.part](i)


def _everybody(i):
    """The late form is the other one with the pending correction h_i + (x - last_i)/(eta tau) carried along."""
    everybody, length = range(1, i.n + 1), i.eta * i.tau
    late = coded_round(i, i.algorithm, everybody, i.x, h=i.u, last=i.v)
    now = coded_round(i, i.immediate, everybody, i.x, h=[u + (i.x - v) / length for u, v in zip(i.u, i.v, strict=True)])
    pending = [u + (late.x[0] - v) / length for u, v in zip(column(late.h), column(late.last), strict=True)]
    return ft.equal(late.x, now.x, "server model"), ft.equal(pending, column(now.h), "shifts with what is pending")


def _standing(i):
    out, gradients = [], [a * i.x - b for a, b in zip(i.a, i.b, strict=True)]
    for S in i.sets:
        new = coded_round(i, i.algorithm, S, i.x, h=gradients, last=[i.x] * i.n)
        out += [ft.equal(new.x, [i.x], f"any x stands still, S={S}"), ft.equal(column(new.h), gradients, f"shifts, S={S}"),
                ft.equal(column(new.last), [i.x] * i.n, f"local models, S={S}")]
    return out


def _growing(i):
    """The mean round at eta = 0 and its growing state; there a_i and b_i stand for any p_i and q_i."""
    problem = type(i.problem).from_linear([[[a]] for a in i.a], [[0 * a] for a in i.a])  # the homogeneous part
    at, length, out = i.but(problem=problem), i.eta * i.tau, []
    means = [(1 - sum(c for c, _ in i.law_list)) * v for v in (i.x, *i.u, *i.v)]
    for chance, S in i.law_list:
        new = coded_round(at, i.algorithm, S, i.x, h=[v / length for v in i.u], last=i.v)
        leaves = ft.limit([new.x[0], *(length * v for v in column(new.h)), *column(new.last)], "eta")
        x, k, last = f.small_step_round_late(i.x, i.u, i.v, S)
        out.append(ft.equal(leaves, [x, *k, *last], f"round at eta = 0, S={S}"))
        means = [a + chance * b for a, b in zip(means, leaves, strict=True)]
    p, q = m.participation(i.law_list, i.n)
    x, k, last = f.mean_round_late(p, q, i.x, i.u, i.v)
    out.append(ft.equal(means, [x, *k, *last], "mean round at eta = 0"))
    state = f.growing_state(i.a, i.mu)
    x, k, last = f.mean_round_late(i.a, i.b, *state)
    grown, s = [[(1 + i.mu) * v for v in leaf] for leaf in state[1:]], f.secular(i.a, i.b, i.mu)
    one = 0 * i.mu + 1
    return (*out, ft.equal([*k, *last], [*grown[0], *grown[1]], "shifts and local models: factor 1 + mu"),
            ft.equal(x, (1 + i.mu) * state[0] + s - 1, "server: factor 1 + mu where sum q_j/(mu + p_j) = 1"),
            ft.equal(f.secular(p, q, 0 * i.mu) - 1, f.excess(i.law_list, p), "sum q_j/p_j - 1, set by set"),
            ft.nonnegative(f.excess(i.law_list, p),
                           "positive if a set misses a client: as mu grows the sum falls to 0, through 1"),
            ft.equal(f.secular([i.mu] * i.n, [one / i.n] * i.n, 1 - i.mu), 1, "equal p_j, no empty rounds: mu = 1 - p"))


def _late_law(i):
    rate = i.op.certify(width=1e-2).mean_square
    if i.sets == [tuple(range(1, i.n + 1))]:
        return (ft.equal(i.op.fixed_point().x, x_star(i), "fixed point"),
                ft.at_most(ft.Bounds(*rate), 1, "mean-square rate", strict=True))
    return ft.at_most(1, rate[0], "mean-square rate, from below", strict=True)


def Late(eta, tau):
    return ft.Scaffnew(eta, tau, update="late")


with_everybody = [symbols(Late, n, tau, "everybody") for n, tau in ((1, 2), (2, 1), (3, 2))] + \
    [symbols(Late, n, 1, "everybody", linear=True) for n in (2, 3, 4)]
with_everybody = [i.but(immediate=ft.Scaffnew(i.eta, i.tau)) for i in with_everybody]
standing = [symbols(Late, n, tau, "standing") for n, tau in ((1, 1), (2, 2), (3, 1))]
growing = [symbols(Late, n, tau, "growing", law=True) for n, tau in ((2, 1), (2, 3), (3, 1))]
late_full = ft.illustrate([_listed(f"{name}, full, eta={eta}, tau={tau}", problem, ft.Full(), [tuple(range(1, 4))], eta, tau,
                                   Late)
                           for name, problem in (("plane", plane()), ("line", three))
                           for eta, tau in (("1/20", 1), ("1/100", 3))])
late_partial = ft.illustrate([_listed(f"{name}, eta={eta}, tau={tau}", plane(), law, [S for _, S in law_of(law, 3) if S], eta,
                                      tau, Late)
                              for name, law in PARTIAL.items() for eta, tau in (("1/50", 1), ("1/100", 3), ("1/10000", 3))])


@ft.claim("table1-proxskip-late", covers={"n": "2, 3", "tau": "all"},
          on=[*with_everybody, *standing, *growing, *late_full, *late_partial],
          rejects=[bugs.moved_at_once, bugs.shifts_never_updated],
          reading="Diverges: the mean grows without bound from almost every start, for every law of independent rounds under "
                  "which each client appears and some non-empty round misses one, and every step below a threshold that depends "
                  "on the law. Exact: as the form that moves shifts at once.",
          survives="Larger steps can damp the growth (line h=(1,2,4), two of three, tau=3, eta=1/20: mean rate 1); then the "
                   "model stops somewhere on a line of fixed points that depends on the draws.",
          domain="Full participation: every state, 1 to 4 clients and any local phase. Partial: every law over the sets of 2 "
                 "and 3 clients (probabilities symbols, empty rounds allowed) and, since only p_j and q_j enter, the same "
                 "growing state for any N; eigenvalues are continuous in eta at 0. Twelve listed steps and laws in the plane "
                 "have mean-square rate > 1")
def table1_proxskip_late(i):
    r"""Scaffnew with $h_i$ moved at the next pull: with everybody it is the form that moves $h_i$ at once, hence exact; if some
    non-empty round misses a client, even its mean diverges for all small steps, growing by $1+\mu$ per round as $\eta\to0$ with
    $\mu>0$ the root of $\sum_jq_j/(\mu+p_j)=1$ ($1+\mu=2-p$ for equal $p_j$); at no step is $x^\star$ its only fixed point.
    """
    return {"everybody": _everybody, "standing": _standing, "growing": _growing, "law": _late_law}[i.part](i)
