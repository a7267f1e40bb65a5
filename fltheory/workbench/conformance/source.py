"""The rule on the text of a round: what is written in it, and in the functions it calls."""
from __future__ import annotations

import ast
import dataclasses
import inspect
import linecache
import textwrap
import types
from pathlib import Path

from fltheory.core.algorithms.base import ours
from fltheory.core.kinds import Algorithm
from fltheory.workbench.conformance.cases import NotChecked, Violation

ALLOWED_OF_PROBLEM = {"p", "at", "grad", "grad_pair", "n"}
EVERYWHERE_NAMES = {"float", "int", "sorted", "print"}
EVERYWHERE_METHODS = {"astype", "float", "item"}
ORDER_NAMES = {"abs", "max", "min"}
ORDER_METHODS = {"max", "min", "abs", "clip", "clamp", "argmax", "argmin", "sort"}
ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE
SHOWN = 4  # places that are written out


def read(case):
    """Raise a `Violation` naming the lines that break the rule; `NotChecked` where the text cannot be had."""
    broken, missing = [], []
    functions = sources(case.algorithm, missing)
    for function in functions:
        broken += _breaks(function, case.affine, _whole(case.algorithm))
    if broken:
        texts = "; ".join(text for text, _ in broken[:SHOWN])
        more = f"; and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
        raise Violation(texts + more, "; ".join(dict.fromkeys(place for _, place in broken[:SHOWN])))
    if missing:
        raise NotChecked(f"the text of {', '.join(missing)} cannot be read here (typed at a plain prompt, or made by "
                         "exec): put the class into a file or a notebook cell")
    return ", ".join(f.__qualname__ for f in functions)


def sources(algorithm: Algorithm, missing=None):
    """`round`, the `start` and `step` of solver fields, and the functions of algorithms that they name.

    missing: list that receives the names of functions without readable text.
    """
    kind, missing = type(algorithm), [] if missing is None else missing
    pending = [kind.round]
    for f in dataclasses.fields(algorithm):
        value = getattr(algorithm, f.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            pending += [getattr(type(value), name) for name in ("start", "step") if hasattr(type(value), name)]
    functions: list = []
    visited: list = []
    while pending:
        function = inspect.unwrap(pending.pop())
        if function in visited or not inspect.isfunction(function):
            continue
        visited.append(function)
        tree = _tree(function)
        if tree is None:
            missing.append(function.__qualname__)
            continue
        functions.append(function)
        pending += [f for f in _called(function, tree, kind) if _ours(f, kind)]
    return functions


def _called(function, tree, kind):
    """Functions that a function names: globals, enclosed ones, attributes of modules, its own and inherited methods."""
    known = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield known.get(node.id)
        elif isinstance(node, ast.Attribute):
            base = node.value
            if isinstance(base, ast.Name) and base.id == "self":
                yield _plain(inspect.getattr_static(kind, node.attr, None))
            elif isinstance(base, ast.Name) and isinstance(known.get(base.id), types.ModuleType):
                yield getattr(known[base.id], node.attr, None)
            elif isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
                yield from (_plain(vars(c)[node.attr]) for c in kind.__mro__ if node.attr in vars(c))


def _plain(member):
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def _ours(function, kind) -> bool:
    """Whether a function belongs to the package's algorithms or to where the class comes from."""
    if not inspect.isfunction(function):
        return False
    where = function.__module__ or ""
    if where == "fltheory" or where.startswith("fltheory."):
        return ours(where)
    return where.partition(".")[0] == (kind.__module__ or "").partition(".")[0]


def _tree(function):
    """The parsed definition of a function, or None if there is no text or it is another one's."""
    try:
        linecache.checkcache(function.__code__.co_filename)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    node = tree.body[0] if tree.body else None
    return tree if getattr(node, "name", None) == function.__name__ else None


def _whole(algorithm: Algorithm) -> set:
    """Hyper-parameters of the algorithm and its solver that are Python ints in every arithmetic: no `Number`."""
    records = [algorithm, *(getattr(algorithm, f.name) for f in dataclasses.fields(algorithm))]
    whole: set = set()
    moved: set = set()
    for record in (r for r in records if dataclasses.is_dataclass(r) and not isinstance(r, type)):
        for f in dataclasses.fields(record):
            counts = f.type in (int, "int") and type(getattr(record, f.name)) is int
            (whole if counts else moved).add(f.name)
    return whole - moved


def _counters(definition) -> set:
    """Names that only ever count local steps or loops: Python ints."""
    names = set()
    counted = set()   # the nodes that bind a counter
    for node in ast.walk(definition):
        if not isinstance(node, ast.For | ast.comprehension) or not isinstance(node.iter, ast.Call):
            continue
        called = node.iter.func.attr if isinstance(node.iter.func, ast.Attribute) else getattr(node.iter.func, "id", "")
        first = node.target.elts[0] if isinstance(node.target, ast.Tuple) and called != "range" else node.target
        pair = isinstance(node.target, ast.Tuple)
        if isinstance(first, ast.Name) and pair == (called != "range") and called in ("local_steps", "enumerate", "range"):
            names.add(first.id)
            counted.add(first)
    bound = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and n not in counted}
    return names - bound - {a.arg for a in ast.walk(definition) if isinstance(a, ast.arg)}


def _integer(node, counters, whole) -> bool:
    """Whether an expression is a Python int whatever the arithmetic: a counter, a literal, a length, an int of the record."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.Div | ast.Pow) and all(_integer(n, counters, whole) for n in (node.left, node.right))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _integer(node.operand, counters, whole)
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in whole
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return type(node.value) is int if isinstance(node, ast.Constant) else isinstance(node, ast.Name) and node.id in counters


def _breaks(function, affine, whole=frozenset()):
    """[(what, where)] of every line that breaks the rule. whole: names of hyper-parameters that are Python ints."""
    tree = _tree(function)
    definition = tree.body[0]
    first = function.__code__.co_firstlineno
    file = Path(function.__code__.co_filename).name
    problems = {"problem", "cohort"} | _second(definition, function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and \
                isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "at":
            problems |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    counters = _counters(definition)
    breaks = []
    for node in ast.walk(definition):
        if isinstance(node, ast.Compare) and all(_integer(n, counters, whole) for n in (node.left, *node.comparators)):
            continue   # the place of a local step is no number of the arithmetic
        what = _wrong(node, problems, affine)
        if what:
            line = first + getattr(node, "lineno", 1) - 1
            breaks.append((what, f"{file}, line {line}, in {function.__qualname__}"))
    return breaks


def _second(definition, function):
    """The name that a `round` gives to its problem."""
    names = [a.arg for a in definition.args.args]
    return set(names[1:2]) if function.__name__ == "round" else set()


def _wrong(node, problems, affine):
    """What is wrong with one node of the text, "" if nothing."""
    if isinstance(node, ast.AugAssign):
        return f"`{ast.unparse(node)}` writes in place"
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(t, ast.Subscript | ast.Attribute) for t in targets):
            return f"`{ast.unparse(targets[0])} = ...` writes in place"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id in problems and node.attr not in ALLOWED_OF_PROBLEM:
            return f"a round does not see `{node.value.id}.{node.attr}`"
        if node.value.id == "self" and node.attr == "steps":
            return "`self.steps` is read: local steps come from `draw.local_steps()`"
    names, methods = EVERYWHERE_NAMES, EVERYWHERE_METHODS
    if affine:
        names, methods = names | ORDER_NAMES, methods | ORDER_METHODS
        if isinstance(node, ast.Compare) and any(isinstance(op, ORDER) for op in node.ops):
            return f"`{ast.unparse(node)}` compares by order"
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return f"float literal {node.value}"
    if isinstance(node, ast.Attribute) and node.attr in methods:
        return f"`.{node.attr}` leaves the arithmetic"
    if isinstance(node, ast.Name) and node.id in names:
        return f"`{node.id}` leaves the arithmetic"
    return ""
