"""`ft.identify`: is this training code the algorithm it says it is, and if not, what does it do instead?"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from fltheory.algorithms.base import Algorithm
from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla
from fltheory.errors import FLTheoryError, refuse
from fltheory.identification import explain, sampling
from fltheory.identification.blackbox import BlackBox, Reference
from fltheory.identification.checks import check, clipping, find_height
from fltheory.identification.clients import Problems
from fltheory.identification.maps import arrangement, blocks, distance, measured, plan, predicted
from fltheory.identification.result import Fault, Identification
from fltheory.identification.variants import memories, neighbours
from fltheory.laws.base import Law, RandomSteps
from fltheory.laws.memoryless import Full

TRIALS = 3000


def identify(round_fn, n, d, algorithm=None, law=None, weights=None, state=None, reset=None, rounds=3, bugs=(),
             tolerance=None, seed=0, trials=TRIALS) -> Identification:
    """Probe a federated round as a black box on quadratics, compare it with an algorithm, and name its fault.

    round_fn(x, clients) -> x_new, or round_fn(x, clients, cohort) with the list of participants. x: float64 numpy (d,);
    x_new: numpy or torch (d,). clients: n objects with X (m, d), y (m,), size, weight, loss(w) = |X w - y|^2/(2 m) and
    grad(w); row counts are proportional to the weights.
    algorithm: what the code should be, such as ft.Scaffold("1/20", steps=5); None searches the catalogue.
    law: the law of participation (of the cohorts passed, or, without a parameter `cohort`, of the code's own draws).
    weights: (n,) rationals p_i > 0 with sum 1; by default all distinct. state: zero arrays of a joint state, {"x": (d,),
    "c": (d,), ..}: round_fn then maps such dicts. reset: forgets hidden memories; `rounds` rounds after it are compared.
    bugs: functions algorithm -> wrong algorithm or None (law -> law where `bug.of == "law"`), named if they fit.
    tolerance: largest relative deviation; by default 1e-9, 1e-4 where float32 is met. trials: rounds for own draws.
    Raises BadInput for bad arguments, and for user code that raises or returns something else than (d,) finite numbers.
    """
    problems = Problems(n, d, weights, seed)
    box = BlackBox(round_fn, problems.n, problems.d, state, reset)
    _check_arguments(algorithm, law, rounds, tolerance, trials)
    steps = getattr(law, "steps", None)
    reference = None if algorithm is None else Reference(algorithm, problems.n, problems.d, steps)
    if isinstance(steps, RandomSteps) or (law is not None and not box.takes_cohort and not isinstance(law, Full)):
        return _drawn(box, problems, algorithm, law, bugs, tolerance, trials)
    height = find_height(box, problems)
    checked = check(box, problems, height, tolerance)
    name = "the catalogue" if algorithm is None else _name(algorithm)
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
        return _finish(result, box)
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
    return _finish(result, box)


def _check_arguments(algorithm, law, rounds, tolerance, trials):
    if algorithm is not None and not isinstance(algorithm, Algorithm):
        refuse("algorithm", type(algorithm).__name__, "is an algorithm of fltheory or None", 'Give ft.FedAvg("1/20", 5).')
    if algorithm is not None and (not algorithm.affine or algorithm.personal):
        refuse("algorithm", type(algorithm).__name__, "has no affine map of the model", "Compare an affine algorithm.")
    if law is not None and not isinstance(law, Law):
        refuse("law", type(law).__name__, "is a law of participation or None", "Give ft.Uniform(2), or leave it out.")
    for what, value in (("rounds", rounds), ("trials", trials)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            refuse(what, value, "is a whole number >= 1", "Give an int.")
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        refuse("tolerance", tolerance, "lies between 0 and 1", "Leave it out: it follows the arithmetic met.")


def _name(algorithm):
    return repr(algorithm)


def _finish(result, box):
    result.calls, result.notes = box.calls, [*result.notes, *box.notes]
    result.dtype = "/".join(sorted(box.dtypes)) + (", float32 inside" if box.single and box.calls
                                                   and "float64" in box.dtypes else "")
    return result


def _compare(result, box, problems, height, reference, law, rounds, bugs, tolerance, seed):
    instance = problems.generic(height, box.scale)
    order = arrangement(box, reference, instance)
    joint = order is not None
    if box.template is not None and not joint:
        result.notes.append("the state's names or shapes are not the reference's: models over rounds are compared")
    keys = plan(box, reference, law, rounds, joint, seed)
    result.maps = {key: measured(box, instance, key, joint) for key in keys}
    scaled = problems.generic(height)   # in units of the scale

    def gap(other):
        try:
            there = arrangement(box, other, scaled) if joint else None
            if joint and there is None:
                return np.inf
            return distance(result.maps, {key: predicted(other, scaled, key, joint, there) for key in keys})
        except FLTheoryError:
            return np.inf

    result.deviation, result.tolerance = gap(reference), tolerance
    zero = problems.single(0, np.zeros(box.d))
    drift = float(np.abs(box.first(zero, np.zeros(box.d))).max())
    if drift > tolerance:
        result.verdict, result.reason = "differs", "the first round moves the model although every gradient vanishes"
        result.faults = [Fault("the memories do not start at 0 (random or stale initial values?)",
                               f"the model 0 moves by {drift:.3g} in a problem without gradients", drift)]
        return
    if result.deviation <= tolerance:
        result.verdict, result.reason = "matches", f"the maps agree entry by entry ({len(keys)} maps)"
        return
    result.verdict, result.reason = "differs", f"the maps are {result.deviation:.2g} apart"
    found = []
    for bug in bugs:
        wrong = bug(reference.algorithm) if getattr(bug, "of", "algorithm") == "algorithm" else None
        if wrong is None:
            continue
        residual = gap(Reference(wrong, box.n, box.d, None if wrong.steps != reference.algorithm.steps else reference.steps))
        if residual <= tolerance:
            text = (bug.__doc__ or bug.__name__).strip().split("\n")[0]
            found.append(Fault(text, f"catalogued bug {bug.__name__}: its maps agree", residual, bug.__name__))
    work = 0
    fits, wanted, idle = explain.observe(box, problems, height, tolerance, reference)
    result.parameters = explain.parameters(fits, problems)
    if wanted is not None:
        seen_work = explain.faults_of_fits(fits, wanted, idle, tolerance)
        found, work = found + seen_work, len(seen_work)
        if None not in fits:
            cohorts = sorted({c for key in keys for c in ((key,) if joint else key) if c is not None})
            cohorts = [c for c in cohorts if len(set(c)) == len(c)]
            full = [f.share for f in fits]
            seen = explain.shares(box, problems, height, full, cohorts)
            base = explain.shares(reference, problems, height, [f.share for f in wanted], cohorts)
            found += explain.faults_of_weights(seen, base, fits, problems, tolerance)
    near = []
    for sentence, wrong in neighbours(reference.algorithm, reference.steps):
        if wrong is not None and wrong.stateful and box.form == "round":
            continue
        other = _Uniform(reference) if wrong is None else Reference(wrong, box.n, box.d)
        near.append(Fault(sentence, "its maps agree", gap(other)))
    near.sort(key=lambda f: f.residual)
    near = [f for f in near if f.residual <= tolerance]
    where = len(found) if not reference.algorithm.stateful else sum(f.name is not None for f in found) + work
    found[where:where] = near
    if not found:
        where = blocks(result.maps, {k: predicted(reference, scaled, k, joint, order) for k in keys}, box, tolerance) \
            if joint else "the first round agrees, later ones do not"
        found.append(Fault("the memories are updated wrongly: " + where, "the local work and the weights agree", 1.0))
    result.faults = found


class _Uniform(Reference):
    """A reference whose data weights are dropped."""

    def __init__(self, reference):
        super().__init__(reference.algorithm, reference.n, reference.d, tuple(int(k) for k in reference.steps))

    def _plain(self, instance):
        class Plain:
            problem = instance.problem.surrogate(None)
            d = instance.d
        return Plain

    def run(self, instance, x, schedule=(None,), draws=None):
        return super().run(self._plain(instance), x, schedule, draws)

    def joint(self, instance, z, cohort=None):
        return super().joint(self._plain(instance), z, cohort)


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
        result.reason = f"the code is {_name(best[1])}"
    else:
        result.faults = [Fault(f"nearest of the catalogue: {_name(best[1])}", "maps over rounds", best[0])]


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
        from fltheory.algorithms.fednova import GeneralRule
        w = np.array([v.share * v.mass for v in fits]) / total
        if (w >= 0).all() and not product:
            w[-1] = 1 - w[:-1].sum()
            yield GeneralRule(lr, steps, solver, "weighted", float(total), tuple(w.tolist()))
    if memory:
        for beta in np.arange(1, 20) / 20:
            from fltheory.identification.variants import with_momentum
            yield with_momentum(lr, steps, float(beta))


def _drawn(box, problems, algorithm, law, bugs, tolerance, trials):
    """Code that draws its own cohorts or steps."""
    if algorithm is None:
        refuse("algorithm", None, "testing the code's own draws needs the algorithm", 'Name it: ft.FedAvg("1/20", 5).')
    full = law if law.steps is not None else law.with_steps(algorithm.steps)
    plain = algorithm if law.steps is None else replace(algorithm, steps=None)
    if box.takes_cohort:
        full = Full(steps=full.steps)
    height = find_height(box, problems)
    instance, sampled = sampling.collect(box, problems, height, trials)
    allowed = tolerance or (1e-4 if box.precision > 1e-10 else 1e-8)

    def references(any_law):
        return Reference(plain, box.n, box.d, any_law.steps)

    weights = [str(w) for w in problems.weights]
    level = sampling.LEVEL
    p_value, lost, faults = sampling.explain(sampled, references, instance, full, weights, bugs, allowed, level)
    result = Identification("differs", "", f"{_name(plain)} under {full}", deviation=None, tolerance=allowed, faults=faults)
    if p_value is not None:
        result.notes.append(f"{trials} rounds against the law's distribution of outcomes: p = {p_value:.2g}, "
                            f"level {level:g}")
    if lost or (p_value is not None and p_value < level / 2) or faults:
        for bug in bugs:
            wrong = bug(plain if plain.steps is not None else algorithm) if getattr(bug, "of", "algorithm") == "algorithm" \
                else None
            if wrong is not None:
                wrong = replace(wrong, steps=None) if law.steps is not None else wrong
                p, missing = sampling.against(sampled, Reference(wrong, box.n, box.d, wrong.steps or full.steps), instance,
                                              full if wrong.steps is None else replace(full, steps=wrong.steps), allowed)
                if not missing and p >= level:
                    text = (bug.__doc__ or bug.__name__).strip().split("\n")[0]
                    result.faults.insert(0, Fault(text, f"catalogued bug {bug.__name__} explains the outputs", 0.0,
                                                  bug.__name__))
        result.reason = "the rounds are not distributed as the law and the algorithm say"
    elif p_value is None:
        result.verdict = "inconclusive"
        result.reason = "inclusion and pair frequencies agree; the law has too many outcomes for a test of the models"
    else:
        result.verdict, result.reason = "matches", "the models are distributed as the law and the algorithm say"
    return _finish(result, box)
