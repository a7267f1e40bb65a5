"""Wrong variants of Scaffnew, and of the equality with SCAFFOLD."""
from dataclasses import dataclass, replace

from fltheory.core.algorithms.scaffnew import LateState, Scaffnew
from fltheory.core.algorithms.scaffold import Scaffold
from verification.focus.formulas import proxskip as f


def _keeps(cls, algorithm):
    return cls(algorithm.lr, algorithm.steps, algorithm.update) if type(algorithm) is Scaffnew else None


@dataclass(frozen=True)
class _Plain(Scaffnew):
    def round(self, problem, s, draw):
        return super().round(problem, s, draw)._replace(h=s.h)


def shifts_never_updated(algorithm):
    """The shifts stay at zero: plain FedAvg."""
    return _keeps(_Plain, algorithm)


@dataclass(frozen=True)
class _Half(Scaffnew):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(h=s.h + (new.h - s.h) / 2)


def shifts_half_updated(algorithm):
    """The shifts move half the way: the same fixed point, reached at another rate."""
    return _keeps(_Half, algorithm)


@dataclass(frozen=True)
class _FromTheStart(Scaffnew):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        moved = draw.present[..., None] * (s.x - new.x)[..., None, :] / (draw.steps[..., None] * self.lr)
        return new._replace(h=new.h + moved)


def shifts_from_the_start(algorithm):
    """The shift is corrected with the model pulled instead of the new average: the sum of the shifts drifts."""
    if type(algorithm) is not Scaffnew or algorithm.update != "immediate":
        return None
    return _keeps(_FromTheStart, algorithm)


def moved_at_once(algorithm):
    """The shifts move in the round itself instead of at the next pull."""
    if type(algorithm) is not Scaffnew or algorithm.update != "late":
        return None
    return _AtOnce(algorithm.lr, algorithm.steps, "late")


@dataclass(frozen=True)
class _AtOnce(Scaffnew):
    def round(self, problem, s, draw):
        now = Scaffnew(self.lr, self.steps).round(problem, s, draw)
        return LateState(now.x, now.h, s.last + draw.present[..., None] * (now.x[..., None, :] - s.last))


def fresh_variates(algorithm):
    """SCAFFOLD's variates are gradients at the server model (option I) instead of mean local gradients."""
    return replace(algorithm, option=1) if type(algorithm) is Scaffold and algorithm.option == 2 else None


def everybody_in_the_union(grouped):
    """Clients count as linked as soon as sets of any size cover them."""
    return (lambda sets, N: [tuple(sorted({i for S in sets for i in S}))]) if grouped is f.components else None


everybody_in_the_union.of = "grouped"
