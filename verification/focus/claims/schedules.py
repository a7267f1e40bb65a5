"""Every schedule with bounded gaps: worst contraction from both sides, and step limits."""
from fractions import Fraction as Q

from fltheory.verdicts.claims.claim import claim
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most, equal
from verification.focus.bugs import repository as public
from verification.focus.bugs import schedules as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.instances import schedules as I


def _replayed(i):
    """Rate of the stated schedule, repeated, by the operator of its replay: at least this."""
    return i.op.certify().mean[0]


def _in_class(i):
    return equal(int(i.windows.automaton(i.problem.n).closes(i.schedule)), 1, "the schedule, repeated, has no longer gaps")


def _every(i):
    """All schedules contract by the instance's target: refuted by a slower schedule, else decided by the enclosure."""
    worst = i.worst_schedule
    return at_most(worst.lower if worst.lower > i.target else Bounds(*worst.enclosure), i.target, "every schedule")


def _bracket(i):
    worst = i.worst_schedule
    return (_every(i), at_most(Q(i.slower), worst.lower, "the slowest schedule found"),
            at_most(Q(i.slow), _replayed(i), "the stated schedule, replayed"), _in_class(i),
            equal(int(worst.exact), 1, "every round keeps the minimiser"))


@claim("bounded-gaps-focus", on=I.focus,
       rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.tracking_reset, wrong.pushes_averaged],
       domain="h = (1,2,4), tau = 2, eta = .05, every infinite schedule with each client in any three consecutive rounds, "
              "empty rounds allowed: 27 Lyapunov matrices and 125 inequalities in rationals; exact products along two periodic "
              "schedules")
def bounded_gaps_focus(i):
    r"""On $h=(1,2,4)$ with $\tau=2$, $\eta=.05$, every schedule in which each client takes part at least once in any 3 consecutive
    rounds (empty rounds allowed) contracts FOCUS towards $x^\star$ by a factor of at most $.7788$ per round; the schedule
    $\{3\},\{2\},\{1\}$, repeated, is not faster than $.76429$, and one of period 8 not faster than $.7684$.
    """
    return _bracket(i)


@claim("bounded-gaps-scaffold", on=I.scaffold,
       rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.variates_never_updated, public.variate_drifts],
       domain="h = (1,2,4), tau = 3, eta = .1, every infinite schedule with each client in any three consecutive rounds, "
              "empty rounds allowed: 27 Lyapunov matrices and 125 inequalities in rationals; exact products along two periodic "
              "schedules")
def bounded_gaps_scaffold(i):
    r"""On $h=(1,2,4)$ with $\tau=3$, $\eta=.1$, every such schedule contracts SCAFFOLD towards $x^\star$ by a factor of at most
    $.8177$ per round; one of period 5 is not faster than $.80610$, and one of period 8 not faster than $.8135$.
    """
    return _bracket(i)


@claim("bounded-gaps-steps", on=I.steps, rejects=[bugs.one_round_longer, bugs.disjoint_blocks, wrong.tracking_reset],
       domain="h = (1,2,4), the six steps named: Lyapunov matrices in rationals at the smaller one of each pair, the exact product "
              "along a periodic schedule at the larger one")
def bounded_gaps_steps(i):
    r"""Same schedules and curvatures. FOCUS with $\tau=1$ contracts on every schedule, by $.99999$ or better, at $\eta=.0951$ and
    not on all at $.0953$; with $\tau=2$ at $.2497$ and not at $.2501$; SCAFFOLD with $\tau=3$ at $.4187$ and not at $.4192$.
    """
    if i.side > 0:
        return at_most(1, _replayed(i), "the stated schedule, replayed"), _in_class(i)
    return _every(i)
