"""One valid call of every public name, which the tests spoil one argument at a time, and what its result must satisfy."""
from __future__ import annotations

import atexit
import dataclasses
import functools
import inspect
import math
import re
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import fltheory as ft
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.laws.base import Law
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.operators.operator import Operator
from fltheory.core.problems.base import Problem

NOT_CALLED = {
    "FLOAT": "a constant; its methods are called as FLOAT.array", "RATIONAL": "a constant, see RATIONAL.array",
    "StableSteps": "a result: made by stable_steps", "StepMap": "a result: made by step_map",
    "MethodTable": "a result: made by compare",
    "Algebraic": "a result: made by root and exact_rate", "Supremum": "a result: made by supremum",
    "Trace": "a result: made by run, read by Trace.load, see test_files",
    "Events": "a result: made by record",
    "Sweep": "a result: made by sweep", "Claim": "made by the decorator claim",
    "Identification": "a result: made by identify",
    "WorstSchedule": "a result: made by worst_schedule", "ScheduleSteps": "a result: made by schedule_steps",
    "WorstCase": "a result: made by worst_case", "Lyapunov": "a result: made by lyapunov",
    "ASSUMED": "a hypothesis that every claim may name", "linalg": "a module, with tests of its own",
    "adapters": "a module, with tests of its own",
    **dict.fromkeys(("local_mass", "local_run", "server_step"), "a step of a proof in symbols, see the tests of proofs"),
    **dict.fromkeys(ft._PUBLIC["core.errors"], "an exception"),
}


def problem(n=2):
    return ft.Quadratic([[[1]]] * n, [[k] for k in range(n)])


def residual():
    return ft.Residual([[[2]]] * 2, [[[1]]] * 2, [[[2]]] * 2, [[1], [0]], [[1], [2]])


def logistic():
    return ft.Logistic([[[1], [2]], [[1], [-1]]], [[0, 1], [1, 0]], 1)


def wide():
    return ft.Logistic([[[1, 2], [2, 1]], [[1, 0], [-1, 1]]], [[0, 1], [1, 0]], 0)


def fedavg():
    return ft.FedAvg("1/20", 2)


def instance(**extra):
    return ft.Instance("i", problem(), fedavg(), ft.Full(), **extra)


def comparison(i):
    r"""$x = x$"""
    return ft.equal(i.op.fixed_point().x[0], Fraction(1, 2))


def module():
    import torch
    return torch.nn.Linear(1, 2)


@functools.cache
def operator():
    return ft.derive(fedavg(), problem(), ft.Full(), domain=ft.RATIONAL)


def arriving():
    return ft.FedAsync("1/20", 2)


@functools.cache
def events():
    return ft.record(arriving(), problem(), ft.EventClock([1, 2]), 4, 2)


@functools.cache
def trace():
    return ft.run(fedavg(), problem(), ft.Uniform(1), 40, 300)


def plain(x, clients):
    """Federated averaging as somebody else writes it."""
    return sum(c.weight * (x - 0.05 * c.grad(x)) for c in clients)


PAPER = """import fltheory as ft

@ft.claim("a", on=[ft.Instance("i")])
def a(i):
    "$1 = 1$"
    return ft.equal(1, 1)
"""


@functools.cache
def paper():
    """A folder of one paper of one claim, and of one table."""
    folder = Path(tempfile.mkdtemp(prefix="fuzzed_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "p" / "claims").mkdir(parents=True)
    (folder / "p" / "ledger.csv").write_text("id,place,type,kind,expected,evidence,corrected_by,says\n"
                                             "a,Eq. 1,claim,identity,SUPPORTED,,,says\n")
    (folder / "p" / "claims" / "main.py").write_text(PAPER)
    (folder / "table.csv").write_text("c,t,f\n1,1,2\n1,2,1\n2,3,5\n2,1,1\n")
    return str(folder)


ROWS = {"A": [[[1], [2]], [[3], [1]]], "y": [[1, 2], [0, 1]]}
RUN = {"rounds": 2, "replicates": 2, "seed": 0, "noise": None, "x0": None, "metrics": None,
       "tail": 0.25, "chunk": 1, "device": "cpu", "checkpoint": None}
SIDES = {"lhs": [1, 2], "rhs": [1, 2], "label": ""}
COMMON = {"steps": 2, "noise": 0, "batch": None}

KIND, (ETA,) = ft.SmoothConvex(1, "1/10"), ft.Field("eta").symbols
SERIES = ft.Field("K R").symbols

CALLS = {
    "Quadratic": {"H": [[[1]], [[2]]], "c": [[0], [1]], "weights": ["1/2", "1/2"], "name": ""},
    "Quadratic.from_linear": {"H": [[[1]], [[2]]], "b": [[0], [1]], "weights": None, "offset": [0, 1]},
    "Ridge": dict(**ROWS, reg="1/10", weights=None, convention="half-mean"),
    "RidgeRows": dict(**ROWS, reg="1/10", weights=None, convention="half-mean"),
    "read_ridge": lambda: {"path": f"{paper()}/table.csv", "client": "c", "target": "t", "features": ["f"], "reg": 1,
                           "standardise": "none", "weights": "rows", "convention": "half-mean", "intercept": True,
                           "bands": None},
    "read_residual": lambda: {"path": f"{paper()}/table.csv", "client": "c", "target": "t", "shared": ["f"], "local": ["1", "f"],
                              "reg": 1, "standardise": "none", "weights": "rows", "bands": None},
    "Logistic": {"A": ROWS["A"], "labels": [[0, 1], [1, 0]], "reg": "1/10", "classes": None, "weights": None},
    "HuberLoss": {"U": ROWS["A"], "offsets": ROWS["y"], "deltas": 1, "scales": 1, "reg": 1, "weights": None},
    "Residual": {"A": [[[2]]] * 2, "B": [[[1]]] * 2, "C": [[[2]]] * 2, "bw": [[1], [0]], "btheta": [[1], [2]],
                 "weights": None},
    "Personal": {"problem": wide(), "shared": 1},
    "Personal quadratic": {"problem": ft.Quadratic([[[2, 1], [1, 2]]] * 2, [[0, 1], [1, 1]]), "shared": 1},
    "Network": {"module_factory": module, "inputs": ROWS["A"], "targets": [[0, 1], [1, 0]], "loss": "cross-entropy",
                "weights": None},
    "RandomSteps": {"choices": [("1/2", 1), ("1/2", 2)], "independent": True},
    "Full": COMMON,
    "Uniform": dict(m=1, **COMMON),
    "Bernoulli": dict(p=["1/2", 1], empty="move", **COMMON),
    "WithReplacement": dict(draws=2, probabilities=["1/2", "1/2"], **COMMON),
    "Chain": {"sets": [[0], [1]], "matrix": [["1/2", "1/2"], [1, 0]], "initial": None,
              "per_mode_steps": None, "empty": "move", "steps": 2},
    "Cyclic": {"groups": [[0], [1]], "steps": 2},
    "Markov": {"p": "1/2", "correlation": "1/2", "n": 2, "steps": 2},
    "Replay": {"schedule": [([0], 1), ([1], 2)]},
    "Weighted": dict(m=1, w=[1, 2], replace=False, **COMMON),
    "Periodic": {"laws": [ft.Full(), ft.Uniform(1)], "steps": 2, "noise": 0},
    "EventClock": dict(pace=[1, 2], transmission=[0, 1], suspension="1/2", hang=3, spread="1/2", hang_law="exponential",
                       hang_of="slowest", spread_law="uniform", **COMMON),
    "EventClock.proportional": {"sizes": [3, 5], "pace": 2, "base": 1, "steps": 2},
    "AsyncFedED": {"lr": "1/20", "steps": 2, "lam": 1, "eps": 1, "gbar": 3, "kappa": "1/2", "discard": 2, "rounding": "strict",
                   "clamp": True, "real": False, "momentum": "kept", "decay": "1/2"},
    "FedAsync": {"lr": "1/20", "steps": 2, "alpha": "1/2", "staleness": "hinge", "a": 5, "b": 5, "unit": "time",
                 "momentum": "kept", "decay": "1/2"},
    "FedBuff": {"lr": "1/20", "steps": 2, "buffer": 2, "server_lr": 1, "momentum": "kept", "decay": "1/2"},
    "StaleSteps": {"lr": "1/20", "steps": 2, "server_lr": "1/2", "mixing": "model"},
    "Ages": {"law": ft.Uniform(1, steps=2), "cap": 3, "n": 2},
    "Coin": dict(p="1/2", **COMMON),
    "ProxSkip": {"lr": "1/20", "steps": 1, "p": "1/2"},
    "Reweighted": {"lr": "1/20", "steps": 2, "inclusion": ["1/2", 1], "server_lr": 1},
    "FedProx": {"lr": "1/20", "steps": 2, "mu": 1, "alpha": None},
    "FedResAvg": {"lr": "1/20", "steps": 2, "personal_lr": "1/20", "alpha": 1, "option": 2, "start": "warm", "over": "present"},
    "LocalProx": {"lr": "1/20", "steps": 2, "mu": "1/2"},
    "GeneralRule": {"lr": "1/20", "steps": 2, "solver": ft.Vanilla(), "averaging": "weighted", "tau_eff": 2, "w": ["1/2", "1/2"]},
    "NeighbourAveraging": {"lr": "1/20", "steps": 2, "beta": "1/2", "graph": [["1/4", "1/4"], ["1/4", "1/4"]],
                           "average": "printed", "absent": "reset"},
    "SimilarityGraph": {"adjacency": [[0, 1], [1, 0]]},
    "messages": {"data": [[[1, 2], [2, 1]], [[1, 0], [3, 1]]], "kind": "principal", "sign": "positive-sum"},
    "misalignment": {"messages": [["3/5", "4/5"], [1, 0]]},
    "Vanilla": {},
    "Proximal": {"mu": 1, "alpha": None},
    "Momentum": {"rho": "1/2"},
    "MomentumProximal": {"rho": "1/2", "alpha": "1/2"},
    "Decay": {"gamma": "1/2"},
    "Listed": {"factors": ["1/2", 1]},
    "Decay clients": {"gamma": ["1/2", 1]},
    "derive": {"algorithm": fedavg(), "problem": problem(), "law": ft.Full(), "noise": None, "start": "init", "domain": ft.FLOAT,
               "method": "dense"},
    "exchangeable": {"algorithm": fedavg(), "problem": ft.Quadratic([[[1]]] * 2, [[1]] * 2), "law": ft.Uniform(1), "noise": None},
    "surrogate_weights": {"algorithm": fedavg(), "law": ft.Full(), "n": 2, "weights": None, "domain": ft.RATIONAL},
    "surrogate_weights mu": {"algorithm": ft.FedProx("1/20", [1, 2], mu=3), "law": ft.Full(), "n": 2,
                             "weights": ["1/3", "2/3"], "domain": ft.RATIONAL},
    "step_weights": {"algorithm": ft.FedProx("1/20", [1, 2], mu=3), "law": ft.Full(), "n": 2, "weights": None,
                     "domain": ft.RATIONAL},
    "adversarial": {"algorithm": fedavg(), "n": 2, "rounds": [{0: 2, 1: 1}], "leaf": "x", "client": None, "weights": None},
    "worst_ratio": {"form": [[1, 0], [0, "1/2"]], "bound": [[2, 0], [0, 1]]},
    "linearise": {"algorithm": fedavg(), "problem": logistic(), "law": ft.Full(), "x0": None, "tolerance": 1e-9, "limit": 20},
    "stable_steps": {"algorithm": fedavg(), "problem": problem(), "law": ft.Full(), "noise": None,
                     "measure": "mean", "up_to": 3, "points": 4,
                         "certify": False},
    "step_map": {"algorithm": fedavg(), "problem": problem(), "law": ft.Full(), "steps": ["1/10", "1/5"], "rounds": 3,
                 "noise": None, "x0": None},
    "Sliding": {"length": 2, "empty": "never"},
    "Blocks": {"length": 2, "empty": "skip"},
    "worst_schedule": {"algorithm": fedavg(), "problem": problem(), "windows": ft.Sliding(2), "certify": False, "accuracy": "1/10",
                       "longest": 4, "degree": 2, "rate": None},
    "schedule_steps": {"algorithm": fedavg(), "problem": problem(), "windows": ft.Blocks(2), "accuracy": "1/10", "up_to": 1,
                       "longest": 4},
    "compare": {"algorithms": [fedavg()], "problem": problem(), "law": ft.Full(), "noise": None,
                "measure": False, "x0": None, "stable": False, "on_progress": None},
    "optimum": {"problem": problem()},
    "surrogate_optimum": {"problem": problem(), "w": ["1/3", "2/3"]},
    "second_route": {"problem": problem()},
    "sweep": {"problems": problem(), "algorithms": fedavg(), "laws": ft.Full(), "rounds": 3, "replicates": 8, "seeds": [0, 1],
              "chunk": 5, "grid": {"lr": ["1/20"]}},
    "run": dict(algorithm=fedavg(), problem=problem(), law=ft.Full(), **RUN),
    "record": dict({k: v for k, v in RUN.items() if k not in ("rounds", "tail")}, algorithm=arriving(), problem=problem(),
                   law=ft.EventClock([1, 2]), arrivals=3, every=2, until=5, clock=None, seconds=5),
    "replay": {"events": events(), "algorithm": arriving(), "problem": problem(), "law": ft.EventClock([1, 2]), "noise": None,
               "device": "cpu", "metrics": None, "chunk": 1},
    "Balls": {"bits": 64},
    "Field": {"names": "a b"},
    "Modular": {"prime": 101},
    "Torch": {"device": "cpu"},
    "FLOAT.array": {"values": [1, "1/2"]},
    "RATIONAL.array": {"values": [1, "1/2"]},
    "Finding": {"id": "f", "kind": "gap", "at": ()},
    "finding": {"id": "f", "kind": "gap", "at": ()},
    "Hypothesis": {"name": "h", "statement": "s", "sides": lambda i: (0, 1), "strict": False},
    "Instance": {"name": "i", "problem": problem(), "algorithm": fedavg(), "law": ft.Full(), "noise": 0,
                 "domain": ft.RATIONAL, "x0": None},
    "claim": {"id": "c", "on": [instance()], "needs": (), "rejects": (), "search": None},
    "Variable": {"name": "delay", "read": lambda i: 1},
    "corners": {"n": (1, 64), "steps": [1, 100]},
    "Proof": {"positive": "L eta", "nonnegative": "b", "signed": "c", "vectors": "u v"},
    "PiecewiseQuadratic": {"slopes": [[1, -1], [0, 2]], "knots": [[1], ["1/2"]], "b": [0, 1], "weights": None, "calm": None,
                           "name": ""},
    "illustrate": {"instances": [instance()], "symbols": False},
    "Family": {"name": "f", "build": lambda draw: None},
    "Search": {"families": (), "tries": 2},
    "Terms": {"a": 1, "b": "1/2"},
    "agrees": {"measured": None, "predicted": 1},
    "at_most": SIDES | {"lhs": 1, "rhs": 2, "strict": False},
    "equal": SIDES,
    "floor_of": {"i": instance(), "beta2": 2},
    "chi_square_floor": {"measured": 0.1, "floor": ft.floor_of(instance()), "error": "1/10", "c": 1, "label": "floor"},
    "equivalent": {"first": (True, (1, 2)), "second": (True, (1, 2))},
    "induction": {"base": [(1, 1)], "step": [(1, 1)], "over": "tau"},
    "limit": {"expression": 1, "symbol": "a", "at": 0},
    "nonnegative": {"polynomial": 1},
    "positive_semidefinite": {"A": [[1, 0], [0, 2]], "strict": False},
    "eigenvalues_within": {"A": [[1, 0], [0, 2]], "low": 0, "high": 3},
    "expansion": {"x": ft.Field("a").symbols[0], "symbol": "a", "coefficients": [0, 1]},
    "power_series": {"r": "1/2", "K": SERIES[0], "order": 1, "rest": SERIES[1]},
    "root": {"value": "9/10", "k": 3},
    "for_all_spectra": {"r": ft.Field("a").symbols[0], "low": 1, "high": 2, "bound": 3, "strict": True},
    "supremum": {"r": ft.Field("a").symbols[0], "low": 1, "high": 2, "absolute": True},
    "round_function": {"algorithm": fedavg(), "problem": ft.Quadratic([[[ft.Field("a").symbols[0]]]], [[0]]), "law": ft.Full(),
                       "rounds": 1},
    "Bounds": {"low": 1, "high": 2},
    "declare": {"values": [1, "1/2"], "what": "numbers"},
    "fraction": {"value": "1/2"},
    "everyone": {"n": 2, "steps": 2},
    "SmoothConvex": {"L": 1, "mu": "1/10"},
    "Smooth": {"L": 1, "mu": None},
    "SmoothBlocks": {"gamma": 1, "convex": True},
    "QuadraticClass": {"L": 1, "mu": "1/10"},
    "Dissimilar": {"beta2": 2, "kappa2": 1},
    "worst_case": {"algorithm": fedavg(), "classes": KIND, "law": ft.Full(), "measure": "distance", "initial": "distance",
                   "rounds": 1, "counts": None, "clients": 1, "weights": None, "noise": None, "start": "init", "certify": True},
    "worst_case counted": {"algorithm": fedavg(), "classes": [KIND], "counts": [3],
                           "initial": ["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1]},
    "worst_case personal": {"algorithm": ft.FedResSgd("1/9", 1, personal_lr="1/9"), "classes": ft.SmoothBlocks(), "clients": 1,
                            "measure": lambda s: s.joint_value(s.next, s.after.theta) - s.joint_value(s.x, s.before.theta),
                            "initial": lambda s: s.square(s.x) <= 1},
    "lyapunov": {"algorithm": ft.FedAvg("1/5", 1), "classes": KIND, "law": None, "clients": 1, "weights": None, "centre": None,
                 "invariants": None, "low": 0, "high": 1, "width": "1/4"},
    "certified_over": {"algorithm": fedavg(), "classes": KIND, "left": lambda s: s.square(s.next - s.star),
                       "terms": {"distance": (1, lambda s: s.square(s.x - s.star))}, "tight": "distance", "label": "",
                       "initial": ()},
    "certified_between": {"algorithm": ft.FedAvg(ETA, 1), "classes": KIND, "symbol": "eta", "between": ("1/2", 1),
                          "left": lambda s: s.square(s.next - s.star), "terms": {"distance": (1, lambda s: s.square(s.x - s.star))},
                          "label": "", "initial": ()},
    "assert_bias": lambda: {"subject": operator(), "expected": 0, "tolerance": "1/10", "reference": None, "level": 0.99},
    "assert_bias trace": lambda: {"subject": trace(), "expected": 0, "tolerance": 1, "reference": ["1/2"], "level": 0.99},
    "assert_claim": lambda: {"id": "a", "paths": paper(), "word": "SUPPORTED", "quick": True},
    "assert_conforms": {"algorithm": fedavg()},
    "assert_fixed_point": lambda: {"subject": operator(), "expected": ["1/2"], "tolerance": None, "level": 0.99},
    "assert_fixed_point trace": lambda: {"subject": trace(), "expected": ["1/2"], "tolerance": 1, "level": 0.99},
    "assert_floor": lambda: {"subject": operator(), "at_most": 1, "reference": ["1/2"], "level": 0.99},
    "assert_floor trace": lambda: {"subject": trace(), "expected": 0, "tolerance": 1, "level": 0.99},
    "assert_linear_rate": lambda: {"subject": operator(), "at_most": 1, "kind": "mean", "level": 0.99},
    "assert_linear_rate trace": lambda: {"subject": trace(), "at_most": 1, "kind": "mean-square", "window": (0, 10),
                                         "level": 0.99},
    "conforms": {"algorithm": fedavg()},
    "identify": {"round_fn": plain, "n": 2, "d": 1, "algorithm": ft.FedAvg("1/20", 1), "law": None, "weights": None,
                 "state": None, "reset": None, "rounds": 2, "bugs": (), "tolerance": None, "seed": 0, "trials": 50, "personal": 0,
                 "call": None},
}


def public() -> list[str]:
    """Every public name that can be called, and further entries of CALLS: methods, and second calls "name what"."""
    return [*(n for n in ft.__all__ if n not in NOT_CALLED), *(n for n in CALLS if "." in n or " " in n)]


def target(name):
    first, _, rest = name.partition(" ")[0].partition(".")
    value = getattr(ft, first)
    return getattr(value, rest) if rest else value


def valid(name) -> dict:
    """The arguments of a valid call; algorithms need no entry, their fields say what they are."""
    if name in CALLS:
        return dict(CALLS[name]() if callable(CALLS[name]) else CALLS[name])
    made = target(name)
    if not (isinstance(made, type) and issubclass(made, Algorithm)):
        raise KeyError(f"{name} is public and never fuzzed: add a valid call to CALLS, or a reason to NOT_CALLED")
    names = list(inspect.signature(made).parameters)
    default = {f.name: f.default for f in dataclasses.fields(made)}
    given = {"lr": "1/20", "steps": 2, "init": "zero", "personal_lr": "1/20"}
    return {k: given.get(k, default.get(k)) for k in names}


# ---- what a result must satisfy -------------------------------------------------------------------------------
def numbers(value):
    """Every number inside an array or number."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return list(np.asarray(value, dtype=object).reshape(-1))


def sound(value, what):
    """No NaN or infinity in numbers; symbols and exact numbers pass."""
    for v in numbers(value):
        if isinstance(v, (float, np.floating)):
            assert math.isfinite(v), f"{what} holds {v}"
        else:
            assert v is None or isinstance(v, (int, np.integer, Fraction, Symbolic)) or type(v).__module__.startswith("flint"), \
                f"{what} holds a {type(v).__name__}"


def declared(function, *args, **options):
    """The result, or None if it is refused in the project's words."""
    try:
        return function(*args, **options)
    except (ft.FLTheoryError, NotImplementedError) as error:
        refusal(error)
        return None


def refusal(error):
    """The message names what was wrong, the rule and a remedy, briefly and readably."""
    text = str(error)
    assert 20 < len(text) < 3000, f"a message of {len(text)} characters: {text[:400]}"
    if type(error) is ft.BadInput:
        assert text == text.strip() and text.endswith((".", "?")), text
        what, _, rest = text.partition(": ")
        assert " = " in what or re.search(r"[a-z]{3}", what), f"no value: {text}"
        rule, _, remedy = rest[:-1].rpartition(". ")
        assert re.search(r"[a-z]{2}", rule), f"no rule: {text}"
        assert re.search(r"[A-Za-z]{2}", remedy), f"no remedy: {text}"


def assertion(error, name):
    """A failed assertion of the front door: its table, never an `assert` inside the library."""
    assert str(error).startswith(f"{name.partition(' ')[0]}: "), error


def check_trace(t):
    """Metrics, tails and the final model are finite; so is what a trace says of itself."""
    for table in (t.metrics, t.tail):
        for name, parts in table.items():
            for part, v in parts.items():
                sound(v, f"{part} of {name}")
    sound(t.final, "the final model")
    assert t.audit is None or math.isfinite(t.audit)
    for name in t.metrics:
        found = declared(t.floor, name)
        assert found is None or (math.isfinite(found.value) and not math.isnan(found.half_width))


def check_operator(op):
    point = declared(op.fixed_point)
    if point is not None:
        sound(point.x, "the fixed point")
    for f in (op.rate, op.mean_square_rate):
        value = declared(f)
        assert value is None or (value >= 0 and math.isfinite(value)), f"{f.__name__} = {value}"


def check_problem(p):
    assert p.n >= 1 and p.d >= 1
    sound(p.weights, "weights")
    if p.native in (ft.FLOAT, ft.RATIONAL):
        assert abs(float(sum(p.weights)) - 1) < 1e-9 and all(v >= 0 for v in p.weights)
    for k in p._data:
        if getattr(p, k) is not None:
            sound(getattr(p, k), k)
    if isinstance(p, ft.Network):
        return
    if p.personal:
        op = declared(ft.derive, ft.FedResAvg("1/20", 2, personal_lr="1/20"), p, ft.Full())
    else:
        best = declared(ft.optimum, p)
        if best is not None:
            sound(best.x, "the minimiser")
            sound(best.value, "the minimum")
        op = declared(ft.derive, fedavg(), p, ft.Full()) if p.native in (ft.FLOAT, ft.RATIONAL) else None
    if op is not None:
        check_operator(op)


def check_law(law):
    for n in (2, 3):
        p = declared(law.inclusion, n)
        if p is not None:
            assert all(v == v and 0 <= v <= 1 for v in p if not isinstance(v, Symbolic)), p
            q = law.averaging_weights(n)
            assert all(v >= 0 for v in q if not isinstance(v, Symbolic))
            assert isinstance(sum(q), Symbolic) or sum(q) <= 1
    steps = None if law.steps is not None or getattr(law, "per_mode_steps", None) is not None else 2
    op = declared(ft.derive, ft.FedAvg("1/20", steps), problem(), law)
    if op is not None:
        check_operator(op)


def check_algorithm(a):
    p = residual() if a.personal else problem()
    op = declared(ft.derive, a, p, ft.Full(steps=None if a.steps is not None else 2))
    if op is not None:
        check_operator(op)


def check(result):
    """The invariants of whatever a public call returned."""
    if isinstance(result, Problem):
        check_problem(result)
    elif isinstance(result, Law):
        check_law(result)
    elif isinstance(result, Algorithm):
        check_algorithm(result)
    elif isinstance(result, Operator):
        check_operator(result)
    elif type(result).__module__.endswith("solvers"):
        check_algorithm(ft.FedAvg("1/20", 2, solver=result))
    elif isinstance(result, np.ndarray):
        sound(result, "the array")
    elif type(result).__name__ in ("Optimum", "Linearisation"):
        sound(result.x, "x")
    elif type(result).__name__ == "Comparison":
        result.record()
    elif isinstance(result, ft.Instance) and result.problem is not None:
        declared(lambda: check_operator(result.op))
    elif isinstance(result, ft.Trace):
        check_trace(result)
    elif type(result).__name__ == "ClaimVerdict":
        assert result.record()["word"] == result.word
    elif type(result).__name__ == "MethodTable":
        assert str(result) and result._repr_html_()
    elif type(result).__name__ == "StableSteps":
        assert str(result) and 0 <= result.first <= result.up_to < math.inf
        assert all(a < b for a, b in result.intervals)
    elif type(result).__name__ == "WorstSchedule":
        assert str(result) and 0 <= result.lower <= (result.lower if result.upper is None else result.upper)
    elif type(result).__name__ == "ScheduleSteps":
        assert str(result) and (None in (result.stable, result.unstable) or 0 < result.stable < result.unstable)
    elif type(result).__name__ in ("Conformance", "Evidence", "Identification"):
        text = str(result)
        assert text and not re.search(r"\bnan\b", text), text
