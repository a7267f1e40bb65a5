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
    "core.problems.quadratic": ["Quadratic"],
    "core.problems.ridge": ["Ridge"],
    "core.problems.ridge_rows": ["RidgeRows"],
    "core.problems.table": ["read_residual", "read_ridge"],
    "core.problems.logistic": ["Logistic"],
    "core.problems.huber": ["HuberLoss"],
    "core.problems.piecewise": ["PiecewiseQuadratic"],
    "core.problems.residual": ["Residual"],
    "core.problems.personal": ["Personal"],
    "core.problems.network": ["Network"],
    "core.graphs": ["SimilarityGraph", "messages", "misalignment"],
    "core.laws.base": ["RandomSteps"],
    "core.laws.memoryless": ["Full", "Uniform", "Bernoulli", "WithReplacement", "Coin"],
    "core.laws.clock": ["EventClock"],
    "core.laws.modes": ["Chain", "Cyclic", "Markov", "Replay"],
    "core.laws.weighted": ["Weighted"],
    "core.laws.periodic": ["Periodic"],
    "core.laws.ages": ["Ages"],
    "core.algorithms.fedavg": ["FedAvg", "FedProx"],
    "core.algorithms.fednova": ["FedNova", "GeneralRule"],
    "core.algorithms.fednova_vr": ["FedNovaVR"],
    "core.algorithms.server_momentum": ["AdaptiveServer", "ServerMomentum"],
    "core.algorithms.vrlsgd": ["VRLSGD"],
    "core.algorithms.scaffold": ["Scaffold"],
    "core.algorithms.scaffnew": ["ProxSkip", "Scaffnew"],
    "core.algorithms.focus": ["Focus"],
    "core.algorithms.fedresavg": ["FedResAvg"],
    "core.algorithms.fedresnaive": ["FedResNaive"],
    "core.algorithms.fedressgd": ["FedResSgd"],
    "core.algorithms.fedsgd": ["FedSgd"],
    "core.algorithms.localprox": ["LocalProx"],
    "core.algorithms.mifa": ["Mifa"],
    "core.algorithms.localsgd": ["LocalSgd"],
    "core.algorithms.fedau": ["FedAu"],
    "core.algorithms.fedawe": ["FedAwe"],
    "core.algorithms.fedvarp": ["FedVarp"],
    "core.algorithms.reweighted": ["Reweighted"],
    "core.algorithms.neighbour": ["NeighbourAveraging"],
    "core.algorithms.asyncfeded": ["AsyncFedED"],
    "core.algorithms.fedasync": ["FedAsync", "FedBuff", "StaleSteps"],
    "core.algorithms.solvers": ["Vanilla", "Proximal", "Momentum", "MomentumProximal", "Decay", "Listed"],
    "core.operators.operator": ["derive"],
    "core.operators.adversarial": ["adversarial"],
    "core.operators.exchangeable": ["exchangeable"],
    "core.operators.surrogates": ["step_weights", "surrogate_weights"],
    "core.operators.forms": ["worst_ratio"],
    "core.operators.linearise": ["linearise"],
    "core.operators.stability": ["StableSteps", "stable_steps"],
    "core.operators.step_maps": ["StepMap", "step_map"],
    "core.schedules.windows": ["Blocks", "Sliding"],
    "core.schedules.worst": ["WorstSchedule", "worst_schedule"],
    "core.worstcase.interval": ["certified_between"],
    "core.worstcase.lyapunov": ["Lyapunov", "lyapunov"],
    "core.worstcase.relation": ["certified_over"],
    "core.worstcase.worst": ["WorstCase", "worst_case"],
    "core.worstcase.classes": ["Dissimilar", "QuadraticClass", "Smooth", "SmoothBlocks", "SmoothConvex"],
    "core.schedules.steps": ["ScheduleSteps", "schedule_steps"],
    "blackbox.adapters": ["adapters"],
    "blackbox.engine": ["identify"],
    "blackbox.result": ["Identification"],
    "workbench.comparison": ["MethodTable", "compare"],
    "core.optima": ["optimum", "surrogate_optimum", "second_route"],
    "core.runs": ["run"],
    "core.runs.sweep": ["Sweep", "sweep"],
    "core.runs.events": ["record", "replay"],
    "core.runs.recorded": ["Events"],
    "core.trace": ["Trace"],
    "core.scalars": ["FLOAT", "RATIONAL", "Balls", "Field", "Modular", "Torch", "declare", "fraction"],
    "core.laws.draw": ["everyone"],
    "core.linalg": ["linalg"],
    "core.linalg.algebraic": ["Algebraic", "root"],
    "verdicts.claims.claim": ["ASSUMED", "Claim", "Finding", "Hypothesis", "claim", "finding"],
    "verdicts.claims.instance": ["Instance", "illustrate"],
    "core.algebra": ["eigenvalues_within", "expansion", "positive_semidefinite", "power_series"],
    "core.spectra": ["Supremum", "for_all_spectra", "supremum"],
    "core.operators.functional": ["round_function"],
    "core.relations": ["agrees", "at_most", "equal", "equivalent", "induction", "limit", "nonnegative"],
    "core.proofs.argument": ["Proof"],
    "core.evidence": ["Bounds", "Terms"],
    "verdicts.claims.floors": ["chi_square_floor", "floor_of"],
    "verdicts.claims.proofs": ["local_mass", "local_run", "server_step"],
    "verdicts.claims.search": ["Family", "Search", "corners"],
    "verdicts.claims.variables": ["Variable"],
    "workbench.conformance.report": ["assert_conforms", "conforms"],
    "workbench.assertions.points": ["assert_bias", "assert_fixed_point"],
    "workbench.assertions.floors": ["assert_floor"],
    "workbench.assertions.rates": ["assert_linear_rate"],
    "verdicts.assertions": ["assert_claim"],
    "core.errors": [
        "BadInput",
        "CertificateFailed",
        "FLTheoryError",
        "NoFixedPoint",
        "NoMinimiser",
        "NotAffine",
        "TooLarge",
        "WorkersLost",
    ],
}
_MODULES = {"adapters", "linalg"}  # public as a whole
_WHERE = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name in _WHERE:
        module = _import(f"fltheory.{_WHERE[name]}")
        value = module if name in _MODULES else getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fltheory' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_WHERE])
