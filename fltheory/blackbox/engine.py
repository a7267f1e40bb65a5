"""`ft.identify`: is this training code the algorithm it says it is, and if not, what does it do instead?"""
from __future__ import annotations

import numpy as np

from fltheory.blackbox import chains, explain, sampling
from fltheory.blackbox.box import BlackBox, Reference
from fltheory.blackbox.checks import check, clipping, find_height
from fltheory.blackbox.clients import Problems
from fltheory.blackbox.maps import arrangement, blocks, distance, measured, plan, predicted
from fltheory.blackbox.result import Fault, Identification, first_line
from fltheory.blackbox.variants import fitted, memories, neighbours, numbers
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.fednova import FedNova
from fltheory.core.algorithms.server_momentum import ServerMomentum
from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla
from fltheory.core.errors import FLTheoryError, listed, refuse
from fltheory.core.laws.base import Law, RandomSteps
from fltheory.core.laws.memoryless import Full
from fltheory.core.scalars import is_count

TRIALS = 3000
MOST_ROUNDS, MOST_TRIALS = 1000, 10**7


def identify(round_fn, n, d, algorithm=None, law=None, weights=None, state=None, reset=None, rounds=3, bugs=(),
             tolerance=None, seed=0, trials=TRIALS) -> Identification:
    """Probe a federated round as a black box on quadratics, compare it with an algorithm, and name its fault.

    round_fn(x, clients) -> x_new, or round_fn(x, clients, cohort) with the list of participants. x: float64 numpy (d,);
    x_new: numpy or torch (d,). clients: n objects with X (m, d), y (m,), size, weight, loss(w) = |X w - y|^2/(2 m) and
    grad(w); row counts are proportional to the weights.
    algorithm: what the code should be, such as ft.Scaffold("1/20", steps=5); None searches the catalogue.
    law: the law of participation (of the cohorts passed, or, without a parameter `cohort`, of the code's own
    draws; one with memory is then tested along one run of `trials` rounds).
    weights: (n,) rationals p_i > 0 with sum 1; by default all distinct. state: arrays of a joint state at its start, mostly zeros,
    {"x": (d,), "c": (d,), ..}: round_fn then maps such dicts. reset: forgets hidden memories; `rounds` rounds after it are
    compared (more where participation is counted).
    bugs: functions algorithm -> wrong algorithm or None (law -> law where `bug.of == "law"`), named if they fit.
    tolerance: largest relative deviation; by default 1e-9, 1e-4 where float32 is met. trials: rounds for own draws.
    Raises BadInput for bad arguments, and for user code that raises or returns something else than (d,) finite numbers.
    """
    problems = Problems(n, d, weights, seed)
    box = BlackBox(round_fn, problems.n, problems.d, state, reset)
    _check_arguments(algorithm, law, rounds, tolerance, trials)
    bugs = listed(bugs, "bugs", "is a list of functions", "Give functions algorithm -> wrong algorithm.")
    for bug in bugs:
        if not callable(bug):
            refuse("bugs", bug, "is no function", "Give functions algorithm -> wrong algorithm.")
    steps = getattr(law, "steps", None)
    reference = None if algorithm is None else Reference(algorithm, problems.n, problems.d, steps)
    if law is not None and law.modes > 1 and not box.takes_cohort and not isinstance(steps, RandomSteps):
        return chains.identify_chain(box, problems, algorithm, law, bugs, tolerance, trials)
    if isinstance(steps, RandomSteps) or (law is not None and not box.takes_cohort and not isinstance(law, Full)):
        return sampling.identify_draws(box, problems, algorithm, law, bugs, tolerance, trials)
    height = find_height(box, problems)
    checked = check(box, problems, height, tolerance)
    name = "the catalogue" if algorithm is None else repr(algorithm)
    result = Identification("inconclusive", checked.reason, name, tolerance=checked.tolerance)
    if checked.status in ("random", "memory", "nonlinear"):
        result.verdict = {"random": "not deterministic", "memory": "inconclusive", "nonlinear": "not affine"}[checked.status]
        if checked.status == "memory" and box.form == "round" and reference is not None and not algorithm.stateful:
            result.faults.append(Fault("the code keeps something between calls, the reference does not (an optimiser's "
                                       "buffer, a schedule that runs on, an alias of the model, or a random generator)",
                                       "two calls with one input differ", 1.0))
        if checked.status == "nonlinear":
            result.faults.append(Fault(checked.reason, f"affine combinations miss by {max(checked.residuals.values()):.1g}",
                                       max(checked.residuals.values())))
        return result.finish(box)
    if algorithm is None:
        _search(result, box, problems, height, rounds, checked.tolerance, seed)
    else:
        _compare(result, box, problems, height, reference, law, rounds, bugs, checked.tolerance, seed)
    if checked.status == "clipped":
        fits = explain.observe(box, problems, height, checked.tolerance, reference)[0]
        sentence, residual = clipping(box, problems, height, fits)
        result.faults.insert(0, Fault(sentence, "the round is affine at small scale and not at large scale", residual))
        result.reason = sentence + ("; below the threshold the maps agree" if result.matches else
                                    "; below the threshold: " + result.reason)
        result.verdict = "not affine"
    return result.finish(box)


def _check_arguments(algorithm, law, rounds, tolerance, trials):
    if algorithm is not None and not isinstance(algorithm, Algorithm):
        refuse("algorithm", type(algorithm).__name__, "is an algorithm of fltheory or None", 'Give ft.FedAvg("1/20", 5).')
    # counters depend on who took part alone, so the models along a schedule are affine maps of the first one
    if algorithm is not None and (not (algorithm.affine or algorithm.counters) or algorithm.personal):
        refuse("algorithm", type(algorithm).__name__, "has no affine map of the model", "Compare an affine algorithm.")
    if law is not None and not isinstance(law, Law):
        refuse("law", type(law).__name__, "is a law of participation or None", "Give ft.Uniform(2), or leave it out.")
    for what, value, most in (("rounds", rounds, MOST_ROUNDS), ("trials", trials, MOST_TRIALS)):
        if not is_count(value) or value > most:
            refuse(what, value, f"is a whole number from 1 to {most}", "Give an int.")
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        refuse("tolerance", tolerance, "lies between 0 and 1", "Leave it out: it follows the arithmetic met.")


def _compare(result, box, problems, height, reference, law, rounds, bugs, tolerance, seed):
    instance = problems.generic(height, box.scale)
    order = arrangement(box, reference, instance)
    joint = order is not None and reference.algorithm.affine
    if box.template is not None and not joint and reference.follows(instance):
        refuse("state", sorted(box.template), f"{type(reference.algorithm).__name__} starts more than x at the model, and its "
               "whole state cannot be compared map by map", "Give a round x -> x_new that starts itself, and reset=.")
    if box.template is not None and order is None:
        result.notes.append("the state's names or shapes are not the reference's: models over rounds are compared")
    keys = plan(box, reference, law, rounds, joint, seed)
    result.maps = {key: measured(box, instance, key, joint) for key in keys}
    scaled = problems.generic(height)   # in units of the scale

    def maps_of(other, keys=keys):
        """{key: map} of another reference, or None where it has none to compare."""
        try:
            there = arrangement(box, other, scaled) if joint else None
            return None if joint and there is None else {k: predicted(other, scaled, k, joint, there) for k in keys}
        except FLTheoryError:
            return None

    def gap(other):
        """The distance of its maps, up to the first that differs."""
        worst = 0.0
        for key in keys:
            maps = maps_of(other, [key])
            worst = np.inf if maps is None else max(worst, distance({key: result.maps[key]}, maps))
            if worst > tolerance:
                break
        return worst

    def joint_gap(other):
        """Where models over rounds are compared: the distance of the joint states' maps, if names and shapes agree."""
        there = None if joint or not other.algorithm.affine else arrangement(box, other, scaled)
        if there is None:
            return np.inf
        both = [(measured(box, instance, k, True), predicted(other, scaled, k, True, there))
                for k in plan(box, other, law, rounds, True, seed)]
        return max(distance({0: a}, {0: b}) for a, b in both)

    def misses(made, value):
        """The entries of some maps less those of a reference with a number in it."""
        try:
            maps = maps_of(made(value), keys[:4])
        except FLTheoryError:
            return None
        return None if maps is None else np.concatenate([(result.maps[k] - maps[k]).ravel() for k in maps])

    wanted_maps = maps_of(reference)
    result.deviation, result.tolerance = distance(result.maps, wanted_maps), tolerance
    drift = float(np.abs(box.first(problems.single(0, np.zeros(box.d)), np.zeros(box.d))).max())
    linear = {k: v[:, :-1] for k, v in result.maps.items()}
    same = distance(linear, {k: v[:, :-1] for k, v in wanted_maps.items()}) <= tolerance
    if drift > tolerance or (same and result.deviation > tolerance):
        result.verdict, result.reason = "differs", "the maps have the right linear parts, but not the right constants"
        evidence = "only the constants of the maps differ"
        if drift > tolerance:
            result.reason = "the first round moves the model although every gradient vanishes"
            evidence = f"the model 0 moves by {drift:.3g} in a problem without gradients"
        result.faults = [Fault("the memories do not start at 0 (random or stale initial values?)", evidence, drift)]
        return
    if result.deviation <= tolerance:
        result.verdict, result.reason = "matches", f"the maps agree entry by entry ({len(keys)} maps)"
        return
    result.verdict, result.reason = "differs", f"the maps are {result.deviation:.2g} apart"
    named, work, weights = [], [], []
    for bug in bugs:
        wrong = bug(reference.algorithm) if getattr(bug, "of", "algorithm") == "algorithm" else None
        if wrong is not None:
            steps = None if wrong.steps != reference.algorithm.steps else reference.steps
            other = Reference(wrong, box.n, box.d, steps)
            residual = min(gap(other), joint_gap(other))
            if residual <= tolerance:
                named.append(Fault(first_line(bug), f"catalogued bug {bug.__name__}: its maps agree", residual, bug.__name__))
    memory = box.form != "round"
    near = [Fault(sentence, "its maps agree", min(gap(other), joint_gap(other)))
            for sentence, other in neighbours(reference, memory)]
    near = sorted((f for f in near if f.residual <= tolerance), key=lambda f: f.residual > 1e-3 * tolerance)
    fits, wanted, idle = explain.observe(box, problems, height, tolerance, reference)
    if wanted is not None:
        result.parameters = explain.parameters(fits, problems)
        work = explain.faults_of_fits(fits, wanted, idle, tolerance)
        if None not in fits and not near:   # agreement of whole maps says more than single weights do
            cohorts = sorted({c for key in keys for c in ((key,) if joint else key) if c is not None})
            cohorts = [c for c in cohorts if len(set(c)) == len(c)]
            seen = explain.shares(box, problems, height, [f.share for f in fits], cohorts)
            base = explain.shares(reference, problems, height, [f.share for f in wanted], cohorts)
            weights = explain.faults_of_weights(seen, base, fits, problems, tolerance)
    first = reference.algorithm.stateful or hasattr(reference.algorithm, "beta") or any(f.residual >= 1 for f in work)
    found = [*near, *work] if first else [*work, *near]
    found += weights
    if all(f.residual >= 1 for f in found):
        for sentence, made, starts in numbers(reference, memory):
            value = fitted(misses, made, starts, tolerance)
            residual = np.inf if value is None else gap(made(value))
            if residual <= tolerance:
                found.append(Fault(sentence(value), "its maps agree at the fitted number", residual))
    result.faults = named + ([f for f in found if f.residual < 1] or found)   # what says little only where nothing else does
    if not result.faults:
        where = blocks(result.maps, wanted_maps, box, tolerance) if joint else "the first round agrees, later ones do not"
        result.faults = [Fault("the memories are updated wrongly: " + where, "the local work and the weights agree", 1.0)]


def _search(result, box, problems, height, rounds, tolerance, seed):
    """No algorithm named: fit the local work, then try the catalogue with the fitted numbers."""
    fits, _, idle = explain.observe(box, problems, height, tolerance)
    result.parameters = explain.parameters(fits, problems)
    result.verdict, result.reason = "differs", "no algorithm of the catalogue has these maps"
    if any(f is None for f in fits) or np.abs(idle).max() > max(1e-9, tolerance):
        result.faults = [Fault("the local work is none of the kinds known here", "fits to the responses to curvature", 1.0)]
        return
    instance, scaled = problems.generic(height, box.scale), problems.generic(height)
    maps, best = {}, None
    for candidate in _candidates(fits, problems, box.form != "round"):
        reference = Reference(candidate, box.n, box.d)
        keys = plan(box, reference, None, rounds, False, seed)
        for key in keys:
            if key not in maps:
                maps[key] = measured(box, instance, key, False)
        residual = distance({k: maps[k] for k in keys}, {k: predicted(reference, scaled, k, False) for k in keys})
        if best is None or residual < best[0]:
            best = residual, candidate
        if residual <= max(tolerance, 3e-9):
            break
    result.maps = maps
    if best is None:
        return
    result.deviation, result.tolerance = best[0], max(tolerance, 3e-9)
    if best[0] <= result.tolerance:
        result.verdict, result.found = "matches", best[1]
        result.reason = f"the code is {best[1]!r}"
    else:
        result.faults = [Fault(f"nearest of the catalogue: {best[1]!r}", "maps over rounds", best[0])]


def _candidates(fits, problems, memory):
    f = max(fits, key=lambda v: v.steps)
    steps = tuple(v.steps for v in fits)
    product = f.product
    lr = sum(v.share * v.lr for v in fits) if product else float(np.median([v.lr for v in fits if v.steps == f.steps]))
    if memory:
        for _, algorithm in memories(lr, steps):
            yield algorithm
    e = f.extra
    solver = {"plain": Vanilla, "proximal": lambda: Proximal(alpha=e["alpha"]) if 0 <= e["alpha"] <= 1 else None,
              "momentum": lambda: Momentum(e["rho"]) if 0 <= e["rho"] < 1 else None, "decay": lambda: Decay(e["gamma"]),
              "momentum and proximal": lambda: MomentumProximal(e["rho"], e["alpha"])}.get(f.kind, lambda: None)()
    if solver is not None:
        for averaging in ("weighted", "plain", "unbiased"):
            yield FedAvg(lr, steps, solver, averaging)
        for averaging in ("weighted", "plain"):
            yield FedNova(lr, steps, solver, averaging)
        total = sum(v.share * v.mass for v in fits)
        yield FedNova(lr, steps, solver, "weighted", float(total))
        from fltheory.core.algorithms.fednova import GeneralRule
        w = np.array([v.share * v.mass for v in fits]) / total
        if (w >= 0).all() and not product:
            w[-1] = 1 - w[:-1].sum()
            yield GeneralRule(lr, steps, solver, "weighted", float(total), tuple(w.tolist()))
    if memory:
        yield from (ServerMomentum(lr, steps, beta=k / 20) for k in range(1, 20))
