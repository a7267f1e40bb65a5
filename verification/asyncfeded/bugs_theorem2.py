"""Wrong servers that the claims around Theorem 2 reject: they still converge, but more slowly than is stated."""
import fltheory as ft
from fltheory.mutants.base import changed
from verification.asyncfeded.runs_theorem2 import Fresh

KINDS = ft.StaleSteps, Fresh, ft.AsyncFedED


def _rescaled(right, problem, s, draw, parts):
    after = right(problem, s, draw)
    x = s.x + (after.x - s.x) / parts
    if not hasattr(s, "base"):
        return after._replace(x=x)
    moved = (after.base != s.base) * 1    # the client that arrived starts again from x
    return after._replace(x=x, base=after.base * (1 - moved) + (x[..., None, :] + 0 * s.base) * moved)


@changed(KINDS, "round")
def divided_by_all(self, right, problem, s, draw):
    """The update of the one client that arrives is divided by the number of all clients."""
    return _rescaled(right, problem, s, draw, problem.n)


@changed(KINDS, "round")
def tenth_added(self, right, problem, s, draw):
    """The server adds a tenth of what the client sends: eta_g is applied at both ends."""
    return _rescaled(right, problem, s, draw, 10)

