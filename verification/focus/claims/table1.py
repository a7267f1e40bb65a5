"""Table 1 on quadratics with a constant step: exact, biased, or neither, by the exact operator."""
from fltheory.core import linalg
from fltheory.verdicts.claims.claim import claim
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most, equal
from fltheory.verdicts.claims.search import Family, Search
from verification.focus.bugs import repository as public
from verification.focus.bugs import structure as wrong
from verification.focus.formulas import table1 as f
from verification.focus.instances import table1 as I


def _best(i):
    return linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))


def _contracts(i):
    return at_most(Bounds(*i.op.certify(width=float(i.eta) / 20).mean_square), 1, "mean-square rate", strict=True)


@claim("table1-fedavg", on=I.fedavg, rejects=[wrong.one_step_only, public.shared_storage],
       domain="the 2-d reference instance and a line of three clients, four laws, tau = 1 and 3, exactly")
def table1_fedavg(i):
    r"""FedAvg with a constant step is not exact on heterogeneous quadratics under any participation type: with everybody it
    stops at the drift point, which is $x^\star$ if and only if $\tau=1$; under partial participation its stationary
    error is positive.
    """
    best = _best(i)
    if i.kind == "full":
        at = i.op.fixed_point().x
        apart = max(abs(u - v) for u, v in zip(at, best, strict=True))
        return (equal(at, f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau), "drift point"),
                equal(at, best, "tau = 1: exact") if i.tau == 1 else at_most(0, apart, "distance to x*", strict=True))
    return at_most(0, i.op.floor(best), "stationary error", strict=True)


@claim("table1-scaffold", on=I.scaffold, rejects=[wrong.variates_never_updated],
       search=Search((Family("random quadratics", I.drawn(I.Scaffold)),), tries=25))
def table1_scaffold(i):
    r"""SCAFFOLD converges linearly to $x^\star$ on quadratics under full, uniform and arbitrary participation, for small steps."""
    return equal(i.op.fixed_point().x, _best(i), "fixed point"), equal(i.op.floor(_best(i)), 0, "stationary error"), _contracts(i)


@claim("table1-focus", on=I.focus, rejects=[wrong.tracking_reset],
       search=Search((Family("random quadratics", I.drawn(I.Focus)),), tries=25))
def table1_focus(i):
    r"""FOCUS converges linearly to $x^\star$ on quadratics under full, uniform and arbitrary participation, for small steps."""
    return equal(i.op.fixed_point().x, _best(i), "fixed point"), equal(i.op.floor(_best(i)), 0, "stationary error"), _contracts(i)


@claim("table1-mifa", on=I.mifa, rejects=[wrong.one_step_only, public.shared_storage])
def table1_mifa(i):
    r"""MIFA converges linearly, under every law at small steps, to the limit of FedAvg with all clients, exact only for
    $\tau=1$.
    """
    at, best = i.op.fixed_point().x, _best(i)
    apart = max(abs(u - v) for u, v in zip(at, best, strict=True))
    return (equal(at, f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau), "drift point of full participation"), _contracts(i),
            equal(at, best, "tau = 1: exact") if i.tau == 1 else at_most(0, apart, "distance to x*", strict=True))
