"""Instances for every schedule with bounded gaps: three curvatures on a line, each client seen in any three rounds."""
from fractions import Fraction as Q

from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.modes import Replay
from fltheory.core.schedules.windows import Sliding
from fltheory.verdicts.claims.claim import Instance
from verification.focus.instances import line

EVERYBODY = (0, 1, 2)


def _at(make, tau, eta, schedule, **extra):
    """The law replays one schedule of the class, so that the operator is that of this schedule."""
    problem = line((1, 2, 4), (1, -1, 0))
    return Instance(f"h = (1,2,4), tau = {tau}, eta = {eta}", problem, make(eta, tau), Replay([(s, None) for s in schedule]),
                    windows=Sliding(3), schedule=schedule, **extra)


focus = [_at(Focus, 2, "1/20", ((2,), (1,), (0,)), slow=".76429", slower=".7684", target=Q(".7788"))]
scaffold = [_at(Scaffold, 3, "1/10", ((1,), (0, 1), (2,), (), EVERYBODY), slow=".80610", slower=".8135", target=Q(".8177"))]
steps = [_at(make, tau, eta, schedule, side=side, target=Q(".99999"))
         for make, tau, schedule, below, above in (
             (Focus, 1, ((), (), EVERYBODY), ".0951", ".0953"),
             (Focus, 2, ((2,), (2,), EVERYBODY), ".2497", ".2501"),
             (Scaffold, 3, ((2,), (1, 2), (0,), (0, 1)), ".4187", ".4192"))
         for side, eta in ((-1, below), (1, above))]
