"""Every schedule with bounded gaps: worst contraction from both sides, and step limits."""
from fractions import Fraction as Q

import fltheory as ft
from verification.focus.bugs import repository as public
from verification.focus.bugs import schedules as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.instances import line


def _replayed(i):
    """Rate of the stated schedule, repeated, by the operator of its replay: at least this."""
    return i.op.certify().mean[0]


def _in_class(i):
    return ft.equal(int(i.windows.automaton(i.problem.n).closes(i.schedule)), 1, "the schedule, repeated, has no longer gaps")


def _every(i):
    """All schedules contract by the instance's target: refuted by a slower schedule, else decided by the enclosure."""
    worst = i.worst_schedule
    return ft.at_most(worst.lower if worst.lower > i.target else ft.Bounds(*worst.enclosure), i.target, "every schedule")


def _bracket(i):
    worst = i.worst_schedule
    return (_every(i), ft.at_most(Q(i.slower), worst.lower, "the slowest schedule found"),
            ft.at_most(Q(i.slow), _replayed(i), "the stated schedule, replayed"), _in_class(i),
            ft.equal(int(worst.exact), 1, "every round keeps the minimiser"))


def _at(make, tau, eta, schedule, **extra):
    """The law replays one schedule of the class, so that the operator is that of this schedule."""
    problem = line((1, 2, 4), (1, -1, 0))
    return ft.Instance(f"h = (1,2,4), tau = {tau}, eta = {eta}", problem, make(eta, tau),
                       ft.Replay([(s, None) for s in schedule]), windows=ft.Sliding(3), schedule=schedule, **extra)


focus = [_at(ft.Focus, 2, "1/20", ((2,), (1,), (0,)), slow=".76429", slower=".7684", target=Q(".7788"))]


@ft.claim("bounded-gaps-focus", on=focus,
          rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.tracking_reset, wrong.pushes_averaged],
          domain="h = (1,2,4), tau = 2, eta = .05, every infinite schedule with each client in any three consecutive rounds, "
                 "empty rounds allowed: 27 Lyapunov matrices and 125 inequalities in rationals; exact products along two "
                 "periodic schedules")
def bounded_gaps_focus(i):
    r"""On $h=(1,2,4)$ with $\tau=2$, $\eta=.05$, every schedule in which each client takes part at least once in any 3 consecutive
    rounds (empty rounds allowed) contracts FOCUS towards $x^\star$ by a factor of at most $.7788$ per round; the schedule
    $\{3\},\{2\},\{1\}$, repeated, is not faster than $.76429$, and one of period 8 not faster than $.7684$.
    """
    return _bracket(i)


EVERYBODY = (0, 1, 2)
scaffold = [_at(ft.Scaffold, 3, "1/10", ((1,), (0, 1), (2,), (), EVERYBODY), slow=".80610", slower=".8135", target=Q(".8177"))]


@ft.claim("bounded-gaps-scaffold", on=scaffold,
          rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.variates_never_updated, public.variate_drifts],
          domain="h = (1,2,4), tau = 3, eta = .1, every infinite schedule with each client in any three consecutive rounds, "
                 "empty rounds allowed: 27 Lyapunov matrices and 125 inequalities in rationals; exact products along two "
                 "periodic schedules")
def bounded_gaps_scaffold(i):
    r"""On $h=(1,2,4)$ with $\tau=3$, $\eta=.1$, every such schedule contracts SCAFFOLD towards $x^\star$ by a factor of at most
    $.8177$ per round; one of period 5 is not faster than $.80610$, and one of period 8 not faster than $.8135$.
    """
    return _bracket(i)


steps = [_at(make, tau, eta, schedule, side=side, target=Q(".99999"))
         for make, tau, schedule, below, above in (
             (ft.Focus, 1, ((), (), EVERYBODY), ".0951", ".0953"),
             (ft.Focus, 2, ((2,), (2,), EVERYBODY), ".2497", ".2501"),
             (ft.Scaffold, 3, ((2,), (1, 2), (0,), (0, 1)), ".4187", ".4192"))
         for side, eta in ((-1, below), (1, above))]


@ft.claim("bounded-gaps-steps", on=steps, rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.tracking_reset],
          domain="h = (1,2,4), the six steps named: Lyapunov matrices in rationals at the smaller one of each pair, the exact "
                 "product along a periodic schedule at the larger one")
def bounded_gaps_steps(i):
    r"""Same schedules and curvatures. FOCUS with $\tau=1$ contracts on every schedule, by $.99999$ or better, at $\eta=.0951$ and
    not on all at $.0953$; with $\tau=2$ at $.2497$ and not at $.2501$; SCAFFOLD with $\tau=3$ at $.4187$ and not at $.4192$.
    """
    if i.side > 0:
        return ft.at_most(1, _replayed(i), "the stated schedule, replayed"), _in_class(i)
    return _every(i)
