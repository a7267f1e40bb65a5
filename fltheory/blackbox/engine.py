"""`ft.identify`: is this training code the algorithm it says it is, and if not, what does it do instead?"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from fltheory.blackbox import chains, sampling
from fltheory.blackbox.arrivals import identify_arrivals, one_at_a_time
from fltheory.blackbox.box import BlackBox, Reference
from fltheory.blackbox.checks import check, find_height
from fltheory.blackbox.clients import Problems
from fltheory.blackbox.clipping import clipping
from fltheory.blackbox.comparison import Comparison, compare
from fltheory.blackbox.local_work import observe
from fltheory.blackbox.result import Fault, Identification
from fltheory.blackbox.search import search
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.errors import listed, refuse
from fltheory.core.kinds import Array
from fltheory.core.laws.base import Law, RandomSteps
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import Numbers, is_count

TRIALS = 3000
MOST_ROUNDS, MOST_TRIALS = 1000, 10**7


def identify(round_fn: Callable, n: int, d: int, algorithm: Algorithm | None = None, law: Law | None = None,
             weights: Numbers | None = None, state: dict[str, Array] | None = None, reset: Callable | None = None,
             rounds: int = 3, bugs: Iterable[Callable] = (), tolerance: float | None = None, seed: int = 0,
             trials: int = TRIALS, personal: int = 0, call: Callable | None = None) -> Identification:
    """Probe a federated round as a black box on quadratics, compare it with an algorithm, and name its fault.

    round_fn(x, clients) -> x_new, or round_fn(x, clients, cohort) with the list of participants: a parameter named cohort,
    participants, selected or the like, or the third one; else call(round_fn, x, clients, cohort) -> x_new makes the call.
    x: float64 numpy (d,); x_new: numpy or torch (d,). clients: n objects with X (m, d), y (m,), size, weight,
    loss(w) = |X w - y|^2/(2 m) and grad(w); row counts are proportional to the weights.
    algorithm: what the code should be, such as ft.Scaffold("1/20", steps=5); None searches the catalogue.
    law: the law of participation (of the cohorts passed, or, without a parameter `cohort`, of the code's own
    draws; one with memory is then tested along one run of `trials` rounds).
    weights: (n,) rationals p_i > 0 with sum 1; by default all distinct. state: arrays of a joint state at its start, mostly zeros,
    {"x": (d,), "c": (d,), ..}: round_fn then maps such dicts. reset: forgets hidden memories; `rounds` rounds after it are
    compared (more where participation is counted).
    bugs: functions algorithm -> wrong algorithm or None (law -> law where `bug.of == "law"`), named if they fit.
    tolerance: largest relative deviation; by default 1e-9, 1e-4 where float32 is met. trials: rounds for own draws.
    With an asynchronous algorithm (ft.AsyncFedED, ft.FedAsync, ft.FedBuff; ft.StaleSteps, if no law says that several arrive at
    once) round_fn(x, clients, cohort=[i]) processes the update of client i, trained from the model it was sent at its last
    arrival; a state's "base" (n, d) holds these models.
    personal: dimension k of each client's own parameters, for algorithms that have some (ft.FedResAvg): clients then hold Z (m, k)
    too, and loss(w, theta), grad(w, theta) -> (d,), (k,) are those of |X w + Z theta - y|^2/(2 m). The code keeps the theta_i
    itself (reset= forgets them, they start at 0), or maps them with its state, {"x": (d,), "theta": (n, k), ..}.
    Raises BadInput for bad arguments, and for user code that raises or returns something else than (d,) finite numbers.
    """
    problems = Problems(n, d, weights, seed, personal)
    box = BlackBox(round_fn, problems.n, problems.d, state, reset, 2 if personal else 1, call)
    _check_arguments(algorithm, law, rounds, tolerance, trials)
    _check_personal(algorithm, law, problems.personal, box)
    bugs = listed(bugs, "bugs", "is a list of functions", "Give functions algorithm -> wrong algorithm.")
    for bug in bugs:
        if not callable(bug):
            refuse("bugs", bug, "is no function", "Give functions algorithm -> wrong algorithm.")
    if algorithm is not None and one_at_a_time(box, algorithm, law, problems.n):
        return identify_arrivals(box, problems, algorithm, law, bugs, tolerance)
    reference = None if algorithm is None else Reference(algorithm, problems.n, problems.d, getattr(law, "steps", None))
    if law is not None and law.modes > 1 and not box.takes_cohort and not isinstance(law.steps, RandomSteps):
        return chains.identify_chain(box, problems, algorithm, law, bugs, tolerance, trials)
    if law is not None and (isinstance(law.steps, RandomSteps) or not (box.takes_cohort or isinstance(law, Full))):
        return sampling.identify_draws(box, problems, algorithm, law, bugs, tolerance, trials)
    height = find_height(box, problems)
    checked = check(box, problems, height, tolerance, reference)
    name = "the catalogue" if algorithm is None else repr(algorithm)
    result = Identification("inconclusive", checked.reason, name, tolerance=checked.tolerance)
    if checked.status in ("random", "memory", "nonlinear"):
        result.verdict = {"random": "not deterministic", "memory": "inconclusive", "nonlinear": "not affine"}[checked.status]
        if checked.status == "memory" and box.form == "round" and reference is not None and not reference.algorithm.stateful:
            result.faults.append(Fault("the code keeps something between calls, the reference does not (an optimiser's "
                                       "buffer, a schedule that runs on, an alias of the model, or a random generator)",
                                       "two calls with one input differ", 1.0))
        if checked.status == "nonlinear":
            result.faults.append(Fault(checked.reason, f"affine combinations miss by {max(checked.residuals.values()):.1g}",
                                       max(checked.residuals.values())))
        return result.finish(box)
    if algorithm is None:
        search(result, box, problems, height, rounds, checked.tolerance, tolerance is not None)
    else:
        compare(result, Comparison(box, problems, height, reference, law, rounds, checked.tolerance,
                                   tolerance is not None), bugs)
    if checked.status == "clipped":
        fits = observe(box, problems, height, checked.tolerance, reference).fits
        sentence, residual = clipping(box, problems, height, fits[0], reference)
        result.faults.insert(0, Fault(sentence, "the round is affine at small scale and not at large scale", residual))
        result.reason = sentence + ("; below the threshold the maps agree" if result.matches else
                                    "; below the threshold: " + result.reason)
        result.verdict = "not affine"
    return result.finish(box)


def _check_arguments(algorithm: Algorithm | None, law: Law | None, rounds, tolerance, trials):
    if algorithm is not None and not isinstance(algorithm, Algorithm):
        refuse("algorithm", type(algorithm).__name__, "is an algorithm of fltheory or None", 'Give ft.FedAvg("1/20", 5).')
    # counters depend on who took part alone, so the models along a schedule are affine maps of the first one
    if algorithm is not None and not (algorithm.affine or algorithm.counters or algorithm.arrivals):
        refuse("algorithm", type(algorithm).__name__, "has no affine map of the model", "Compare an affine algorithm.")
    if law is not None and not isinstance(law, Law):
        refuse("law", type(law).__name__, "is a law of participation or None", "Give ft.Uniform(2), or leave it out.")
    for what, value, most in (("rounds", rounds, MOST_ROUNDS), ("trials", trials, MOST_TRIALS)):
        if not is_count(value) or value > most:
            refuse(what, value, f"is a whole number from 1 to {most}", "Give an int.")
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        refuse("tolerance", tolerance, "lies between 0 and 1", "Leave it out: it follows the arithmetic met.")


def _check_personal(algorithm: Algorithm | None, law: Law | None, personal, box):
    """Personal parameters: where the reference has some, and nowhere else."""
    if algorithm is None and personal:
        refuse("algorithm", None, "codes with personal parameters are compared with a named algorithm: single clients do not show "
               "their local steps there", 'Give one, for example ft.FedResSgd("1/20", 3, personal_lr="1/20").')
    if algorithm is not None and algorithm.personal != bool(personal):
        refuse("personal", personal, f"{type(algorithm).__name__} has {'' if algorithm.personal else 'no '}personal parameters",
               "Give their dimension, for example personal=2." if algorithm.personal else "Leave it out.")
    if personal and law is not None and (isinstance(law.steps, RandomSteps) or not (box.takes_cohort or isinstance(law, Full))):
        refuse("law", law, "draws of the code's own are tested without personal parameters",
               "Give the round a parameter cohort, or leave the law out.")
