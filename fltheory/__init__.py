"""fltheory: decides whether the theorems of federated optimisation are true.

Public names load lazily: `import fltheory` imports none of torch, cvxpy, sympy or matplotlib.
"""
import logging as _logging
import time as _time
from importlib import import_module as _import

_BEGAN = _time.time_ns()  # no module of the package was read before

__version__ = "0.1.0"

_logging.getLogger("fltheory").addHandler(_logging.NullHandler())  # quiet unless the reader wants to hear (`fltheory -v`)

_PUBLIC = {
    "problems.quadratic": ["Quadratic"],
    "problems.ridge": ["Ridge"],
    "problems.table": ["read_ridge"],
    "problems.logistic": ["Logistic"],
    "problems.huber": ["HuberLoss"],
    "problems.residual": ["Residual"],
    "problems.network": ["Network"],
    "laws.base": ["RandomSteps"],
    "laws.memoryless": ["Full", "Uniform", "Bernoulli", "WithReplacement"],
    "laws.modes": ["Chain", "Cyclic", "Markov", "Replay"],
    "laws.weighted": ["Weighted"],
    "laws.periodic": ["Periodic"],
    "laws.events": ["EventClock"],
    "laws.ages": ["Ages"],
    "laws.coin": ["Coin"],
    "algorithms.fedavg": ["FedAvg", "FedProx"],
    "algorithms.fednova": ["FedNova", "GeneralRule"],
    "algorithms.fednova_vr": ["FedNovaVR"],
    "algorithms.server_momentum": ["AdaptiveServer", "ServerMomentum"],
    "algorithms.vrlsgd": ["VRLSGD"],
    "algorithms.scaffold": ["Scaffold"],
    "algorithms.scaffnew": ["ProxSkip", "Scaffnew"],
    "algorithms.focus": ["Focus"],
    "algorithms.fedresavg": ["FedResAvg"],
    "algorithms.mifa": ["Mifa"],
    "algorithms.localsgd": ["LocalSgd"],
    "algorithms.fedau": ["FedAu"],
    "algorithms.fedawe": ["FedAwe"],
    "algorithms.fedvarp": ["FedVarp"],
    "algorithms.reweighted": ["Reweighted"],
    "algorithms.neighbour": ["NeighbourAveraging"],
    "algorithms.asyncfeded": ["AsyncFedED"],
    "algorithms.solvers": ["Vanilla", "Proximal", "Momentum", "MomentumProximal", "Decay"],
    "operators.operator": ["derive"],
    "operators.surrogates": ["step_weights", "surrogate_weights"],
    "operators.forms": ["worst_ratio"],
    "operators.linearise": ["linearise"],
    "operators.stability": ["StableSteps", "stable_steps"],
    "schedules.windows": ["Blocks", "Sliding"],
    "schedules.worst": ["WorstSchedule", "worst_schedule"],
    "schedules.steps": ["ScheduleSteps", "schedule_steps"],
    "identification.engine": ["identify"],
    "identification.result": ["Identification"],
    "comparison": ["MethodTable", "compare"],
    "optima": ["optimum", "surrogate_optimum", "second_route"],
    "runs": ["run"],
    "trace": ["Trace"],
    "scalars": ["FLOAT", "RATIONAL", "Balls", "Field", "Modular", "Torch"],
    "claims.claim": ["Claim", "Finding", "Hypothesis", "Instance", "claim", "finding", "illustrate"],
    "claims.relations": ["agrees", "at_most", "equal", "equivalent", "induction", "limit", "nonnegative"],
    "claims.evidence": ["Terms"],
    "claims.search": ["Family", "Search"],
    "conformance.report": ["conforms"],
    "assertions.points": ["assert_bias", "assert_fixed_point"],
    "assertions.floors": ["assert_floor"],
    "assertions.rates": ["assert_linear_rate"],
    "assertions.verdicts": ["assert_claim", "assert_conforms"],
    "errors": [
        "BadInput",
        "CertificateFailed",
        "FLTheoryError",
        "NoFixedPoint",
        "NoMinimiser",
        "NotAffine",
        "TooLarge",
    ],
}
_WHERE = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name in _WHERE:
        value = getattr(_import(f"fltheory.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fltheory' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_WHERE])
