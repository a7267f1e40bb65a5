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
    "large.ridge_rows": ["RidgeRows"],
    "workbench.table": ["read_residual", "read_ridge"],
    "core.problems.logistic": ["Logistic"],
    "core.problems.huber": ["HuberLoss"],
    "core.problems.piecewise": ["PiecewiseQuadratic"],
    "algorithms.residual_problem": ["Residual"],
    "algorithms.personal_problem": ["Personal"],
    "runs.network": ["Network"],
    "algorithms.graphs": ["SimilarityGraph", "messages", "misalignment"],
    "core.laws.base": ["RandomSteps"],
    "core.laws.memoryless": ["Full", "Uniform", "Bernoulli", "WithReplacement", "Coin"],
    "asynchronous.event_clock": ["EventClock"],
    "core.laws.modes": ["Chain", "Cyclic", "Markov", "Replay"],
    "core.laws.weighted": ["Weighted"],
    "core.laws.periodic": ["Periodic"],
    "core.laws.ages": ["Ages"],
    "core.algorithms.fedavg": ["FedAvg", "FedProx"],
    "algorithms.fednova": ["FedNova", "GeneralRule"],
    "algorithms.fednova_vr": ["FedNovaVR"],
    "algorithms.server_momentum": ["AdaptiveServer", "ServerMomentum"],
    "algorithms.vrlsgd": ["VRLSGD"],
    "algorithms.scaffold": ["Scaffold"],
    "algorithms.scaffnew": ["ProxSkip", "Scaffnew"],
    "algorithms.focus": ["Focus"],
    "algorithms.fedresavg": ["FedResAvg"],
    "algorithms.fedresnaive": ["FedResNaive"],
    "algorithms.fedressgd": ["FedResSgd"],
    "algorithms.fedsgd": ["FedSgd"],
    "algorithms.localprox": ["LocalProx"],
    "algorithms.mifa": ["Mifa"],
    "algorithms.localsgd": ["LocalSgd"],
    "algorithms.fedau": ["FedAu"],
    "algorithms.fedawe": ["FedAwe"],
    "algorithms.fedvarp": ["FedVarp"],
    "algorithms.reweighted": ["Reweighted"],
    "algorithms.neighbour": ["NeighbourAveraging"],
    "asynchronous.asyncfeded": ["AsyncFedED"],
    "asynchronous.fedasync": ["FedAsync", "FedBuff", "StaleSteps"],
    "core.algorithms.solvers": ["Vanilla", "Proximal", "Momentum", "MomentumProximal", "Decay", "Listed"],
    "analysis.adversarial": ["adversarial"],
    "large.exchangeable": ["exchangeable"],
    "analysis.surrogates": ["step_weights", "surrogate_weights"],
    "core.operators.forms": ["worst_ratio"],
    "analysis.linearise": ["linearise"],
    "analysis.stability": ["StableSteps", "stable_steps"],
    "analysis.step_maps": ["StepMap", "step_map"],
    "schedules.windows": ["Blocks", "Sliding"],
    "schedules.worst": ["WorstSchedule", "worst_schedule"],
    "worstcase.interval": ["certified_between"],
    "worstcase.lyapunov": ["Lyapunov", "lyapunov"],
    "worstcase.relation": ["certified_over"],
    "worstcase.worst": ["WorstCase", "worst_case"],
    "worstcase.classes": ["Dissimilar", "QuadraticClass", "Smooth", "SmoothBlocks", "SmoothConvex"],
    "schedules.steps": ["ScheduleSteps", "schedule_steps"],
    "blackbox.adapters": ["adapters"],
    "blackbox.engine": ["identify"],
    "blackbox.result": ["Identification"],
    "workbench.comparison": ["MethodTable", "compare"],
    "core.optima": ["optimum", "surrogate_optimum", "second_route"],
    "derivation": ["derive"],
    "runs": ["run"],
    "runs.sweep": ["Sweep", "sweep"],
    "asynchronous.events": ["record", "replay"],
    "asynchronous.recorded": ["Events"],
    "runs.trace": ["Trace"],
    "core.numbers.scalars": ["FLOAT", "RATIONAL", "Balls", "Field", "Modular", "Torch", "declare", "fraction"],
    "core.laws.draw": ["everyone"],
    "core.numbers.linalg": ["linalg"],
    "core.numbers.linalg.algebraic": ["Algebraic", "root"],
    "verdicts.claims.claim": ["ASSUMED", "Claim", "Finding", "Hypothesis", "claim", "finding"],
    "verdicts.claims.instance": ["Instance", "illustrate"],
    "analysis.algebra": ["eigenvalues_within", "expansion", "positive_semidefinite", "power_series"],
    "analysis.spectra": ["Supremum", "for_all_spectra", "supremum"],
    "analysis.functional": ["round_function"],
    "core.relations": ["agrees", "at_most", "equal", "equivalent", "induction", "limit", "nonnegative"],
    "proofs.argument": ["Proof"],
    "core.evidence": ["Bounds", "Terms"],
    "verdicts.claims.floors": ["chi_square_floor", "floor_of"],
    "verdicts.claims.meaning": ["local_mass", "local_run", "server_step"],
    "verdicts.search.search": ["Family", "Search", "corners"],
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
