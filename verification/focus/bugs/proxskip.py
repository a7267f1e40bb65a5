"""Wrong variants of Scaffnew, and of the equality with SCAFFOLD."""
from fltheory.algorithms.scaffnew import LateState, Scaffnew
from fltheory.mutants.base import changed
from fltheory.mutants.memories import fresh_variates
from verification.focus.formulas import proxskip as f


@changed(Scaffnew, "round")
def shifts_never_updated(self, right, problem, s, draw):
    """The shifts stay at zero: plain FedAvg."""
    return right(problem, s, draw)._replace(h=s.h)


@changed(Scaffnew, "round")
def shifts_half_updated(self, right, problem, s, draw):
    """The shifts move half the way: the same fixed point, reached at another rate."""
    new = right(problem, s, draw)
    return new._replace(h=s.h + (new.h - s.h) / 2)


@changed(Scaffnew, "round", lambda a: a.update == "immediate")
def shifts_from_the_start(self, right, problem, s, draw):
    """The shift is corrected with the model pulled instead of the new average: the sum of the shifts drifts."""
    new = right(problem, s, draw)
    moved = draw.present[..., None] * (s.x - new.x)[..., None, :] / (draw.steps[..., None] * self.lr)
    return new._replace(h=new.h + moved)


@changed(Scaffnew, "round", lambda a: a.update == "late")
def moved_at_once(self, right, problem, s, draw):
    """The shifts move in the round itself instead of at the next pull."""
    now = Scaffnew(self.lr, self.steps).round(problem, s, draw)
    return LateState(now.x, now.h, s.last + draw.present[..., None] * (now.x[..., None, :] - s.last))


def everybody_in_the_union(grouped):
    """Clients count as linked as soon as sets of any size cover them."""
    return (lambda sets, N: [tuple(sorted({i for S in sets for i in S}))]) if grouped is f.components else None


everybody_in_the_union.of = "grouped"

__all__ = ["everybody_in_the_union", "fresh_variates", "moved_at_once", "shifts_from_the_start", "shifts_half_updated",
           "shifts_never_updated"]
