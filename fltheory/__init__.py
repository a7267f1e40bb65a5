"""fltheory: decides whether the theorems of federated optimisation are true.

Public names load lazily: `import fltheory` imports none of torch, cvxpy, sympy or matplotlib.
"""
import logging as _logging
import time as _time
from importlib import import_module as _import

_BEGAN = _time.time_ns()  # no module of the package was read before

__version__ = "0.1.0"

_logging.getLogger("fltheory").addHandler(_logging.NullHandler())  # quiet unless the reader wants to hear (`fltheory -v`)

_PUBLIC = {  # {module: its public names}, by room
    # core/numbers: what a round computes with, and linear algebra over all of it
    "core.numbers.scalars": ["FLOAT", "RATIONAL", "Balls", "Field", "Modular", "Torch", "declare", "fraction"],
    "core.numbers.linalg": ["linalg"],
    "core.numbers.linalg.algebraic": ["Algebraic", "root"],
    # core/problems: what the clients want
    "core.problems.quadratic": ["Quadratic"],
    "core.problems.ridge": ["Ridge"],
    "core.problems.logistic": ["Logistic"],
    "core.problems.huber": ["HuberLoss"],
    "core.problems.piecewise": ["PiecewiseQuadratic"],
    # core/laws: who takes part, for how many local steps, with which noise
    "core.laws.base": ["RandomSteps"],
    "core.laws.memoryless": ["Full", "Uniform", "Bernoulli", "WithReplacement", "Coin"],
    "core.laws.modes": ["Chain", "Cyclic", "Markov", "Replay"],
    "core.laws.weighted": ["Weighted"],
    "core.laws.periodic": ["Periodic"],
    "core.laws.ages": ["Ages"],
    "core.laws.draw": ["everyone"],
    # core/algorithms: FedAvg and its local solvers
    "core.algorithms.fedavg": ["FedAvg", "FedProx"],
    "core.algorithms.solvers": ["Vanilla", "Proximal", "Momentum", "MomentumProximal", "Decay", "Listed"],
    # core/operators: what a round does to means and second moments
    "core.operators.forms": ["worst_ratio"],
    # core, the loose files: minimisers, what is compared and how strong that is, errors
    "core.optima": ["optimum", "surrogate_optimum", "second_route"],
    "core.relations": ["agrees", "at_most", "equal", "equivalent", "induction", "limit", "nonnegative"],
    "core.evidence": ["Bounds", "Terms"],
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
    # algorithms: every other method, with the problems and graphs that some of them need
    "algorithms.residual_problem": ["Residual"],
    "algorithms.personal_problem": ["Personal"],
    "algorithms.graphs": ["SimilarityGraph", "messages", "misalignment"],
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
    # beside the rooms: the operator of any method under any law
    "derivation": ["derive"],
    # analysis: a question a file
    "analysis.adversarial": ["adversarial"],
    "analysis.surrogates": ["step_weights", "surrogate_weights"],
    "analysis.linearise": ["linearise"],
    "analysis.stability": ["StableSteps", "stable_steps"],
    "analysis.step_maps": ["StepMap", "step_map"],
    "analysis.algebra": ["eigenvalues_within", "expansion", "positive_semidefinite", "power_series"],
    "analysis.spectra": ["Supremum", "for_all_spectra", "supremum"],
    "analysis.functional": ["round_function"],
    # large: many clients, or many dimensions
    "large.ridge_rows": ["RidgeRows"],
    "large.exchangeable": ["exchangeable"],
    # runs: Monte Carlo
    "runs.network": ["Network"],
    "runs.batched": ["run"],
    "runs.sweep": ["Sweep", "sweep"],
    "runs.trace": ["Trace"],
    # asynchronous: a round is an arrival
    "asynchronous.event_clock": ["EventClock"],
    "asynchronous.asyncfeded": ["AsyncFedED"],
    "asynchronous.fedasync": ["FedAsync", "FedBuff", "StaleSteps"],
    "asynchronous.events": ["record", "replay"],
    "asynchronous.recorded": ["Events"],
    # worstcase: over whole classes of functions
    "worstcase.interval": ["certified_between"],
    "worstcase.lyapunov": ["Lyapunov", "lyapunov"],
    "worstcase.relation": ["certified_over"],
    "worstcase.worst": ["WorstCase", "worst_case"],
    "worstcase.classes": ["Dissimilar", "QuadraticClass", "Smooth", "SmoothBlocks", "SmoothConvex"],
    # schedules: over all schedules in which nobody stays away for long
    "schedules.windows": ["Blocks", "Sliding"],
    "schedules.worst": ["WorstSchedule", "worst_schedule"],
    "schedules.steps": ["ScheduleSteps", "schedule_steps"],
    # proofs: pencil proofs that a machine reads
    "proofs.argument": ["Proof"],
    # verdicts: claims of papers, and what decides them
    "verdicts.claims.claim": ["ASSUMED", "Claim", "Finding", "Hypothesis", "claim", "finding"],
    "verdicts.claims.instance": ["Instance", "illustrate"],
    "verdicts.claims.floors": ["chi_square_floor", "floor_of"],
    "verdicts.claims.meaning": ["local_mass", "local_run", "server_step"],
    "verdicts.search.search": ["Family", "Search", "corners"],
    "verdicts.claims.variables": ["Variable"],
    "verdicts.assertions": ["assert_claim"],
    # blackbox: which method somebody else's code runs
    "blackbox.adapters": ["adapters"],
    "blackbox.engine": ["identify"],
    "blackbox.result": ["Identification"],
    # workbench: comparisons, conformance, assertions for tests
    "workbench.table": ["read_residual", "read_ridge"],
    "workbench.comparison": ["MethodTable", "compare"],
    "workbench.conformance.report": ["assert_conforms", "conforms"],
    "workbench.assertions.points": ["assert_bias", "assert_fixed_point"],
    "workbench.assertions.floors": ["assert_floor"],
    "workbench.assertions.rates": ["assert_linear_rate"],
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
