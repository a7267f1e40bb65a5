"""Wrong local work with a listed schedule, and wrong formulas: what the claims about the steps of one arrival reject."""
from fltheory.asynchronous.fedasync import StaleSteps
from fltheory.core.algorithms.solvers import Listed
from fltheory.mutants.base import changed
from fltheory.mutants.local import one_step_less, one_step_only


@changed(Listed, "at")
def first_step_throughout(self, right, k):
    """The schedule never advances: every local step is as large as the first one."""
    return right(0)


@changed(Listed, "step")
def gradients_kept(self, right, y, anchor, buffer, g, lr, on):
    """Gradients add up over the local steps of a round: they are never set to zero in between."""
    return right(y, anchor, buffer, buffer + g, lr, on)[0], buffer + g


@changed(Listed, "at")
def schedule_shifted(self, right, k):
    """Local step k takes the step size of step k + 1, the last one its own."""
    return right(min(k + 1, len(self.factors) - 1))


@changed(StaleSteps, "round")
def one_batch(self, right, problem, s, draw):
    """The mini-batch of the first local step is used in all of them."""
    return right(problem, s, draw._replace(xi=lambda k: draw.xi(0)))


def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


__all__ = ["first_step_throughout", "gradients_kept", "one_batch", "one_step_less", "one_step_only", "schedule_shifted", "wrong"]
