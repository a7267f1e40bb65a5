"""The same worst cases here and in PEPit."""
from __future__ import annotations

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import MissingLibrary
from fltheory.core.libraries import have
from verification.engine.bench.timing import median

WITHOUT = "PEPit is not installed: pip install pepit to compare worst cases with it"
WORST = ((2, 3, None), (4, 3, None), (4, 3, [4]))  # clients, local steps, and whether identical ones are counted


def worst_cases(repeats=5) -> list[tuple]:
    """[(what, our seconds, PEPit's seconds)] for the same value to 1e-6, both with Clarabel.

    Raises MissingLibrary without PEPit.
    """
    from fltheory.worstcase.classes import SmoothConvex
    from fltheory.worstcase.worst import worst_case
    if not have("PEPit"):
        raise MissingLibrary(WITHOUT)
    out = []
    for n, steps, counts in WORST:
        def ours(n=n, steps=steps, counts=counts):
            near = ["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1]
            return worst_case(FedAvg("1/5", steps), SmoothConvex(1, "1/10"), initial=near, certify=False,
                              **({"clients": n} if counts is None else {"counts": counts})).value
        value, theirs = ours(), _pepit(n, steps)
        if abs(value - theirs) > 1e-6:
            raise AssertionError(f"worst cases differ: {value} here, {theirs} in PEPit")
        what = f"worst case of FedAvg, {n} clients, {steps} local steps{', identical ones counted' if counts else ''}"
        out.append((what, median(ours, repeats), median(lambda n=n, steps=steps: _pepit(n, steps), repeats)))
    return out


def _pepit(n, steps):
    """The same worst case in PEPit."""
    import warnings

    from PEPit import PEP
    from PEPit.functions import SmoothStronglyConvexFunction
    problem = PEP()
    clients = [problem.declare_function(SmoothStronglyConvexFunction, mu=0.1, L=1.0) for _ in range(n)]
    star, x = (sum(clients[1:], clients[0]) / n).stationary_point(), problem.set_initial_point()
    problem.set_initial_condition((x - star) ** 2 <= 1)
    problem.set_initial_condition(sum(f.gradient(star) ** 2 for f in clients) / n <= 1)
    moved = []
    for f in clients:
        y = x
        for _ in range(steps):
            y = y - 0.2 * f.gradient(y)
        moved.append(y / n)
    problem.set_performance_metric((sum(moved[1:], moved[0]) - star) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PEPit and cvxpy say of each other's versions
        return problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)


__all__ = ["WITHOUT", "worst_cases"]
