"""Mechanical faults: every one-line change of a few kinds that a file of the engine allows, drawn by a seed.

    python -m verification.engine.mutator SEED GROUP [COUNT [FOLDER]]

prints faults of one group (a folder of `fltheory` such as core.laws, or `top` for its modules) in the order in which the
seed draws them: a module first, then one of its changes, so that long files have no advantage. FOLDER is the package
to draw from, by default the one here; another text gives another order, so what was drawn once is kept in `faults.csv`.

Left out before anything is drawn: input checks (conditions whose body only refuses or raises), messages, docstrings,
annotations, and whatever stands on a line that its module has twice, since a fault is named by its line.
"""
from __future__ import annotations

import ast
import random
import sys
from pathlib import Path
from types import CodeType

ENGINE = Path(__file__).parents[2] / "fltheory"
SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Lt: ("<", "<="),
         ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
         ast.And: ("and", "or"), ast.Or: ("or", "and")}
SKIPPED = (ast.Raise, ast.JoinedStr, ast.Assert)


def files_of(group, engine=ENGINE) -> list[Path]:
    """The modules of a folder of the engine, or those that lie in none."""
    inside = engine.glob("*.py") if group == "top" else (engine / group.replace(".", "/")).rglob("*.py")
    return sorted(p for p in inside if p.name != "__main__.py")


def changes(source: str) -> list[tuple[str, str, str]]:
    """[(line, wrong line, kind)] without indentation, each line standing once in the source, each change compiling."""
    lines = source.split("\n")
    stripped = [line.strip() for line in lines]
    right = _functions(compile(source, "m", "exec"))
    out = []
    for number, start, end, text, kind in _edits(ast.parse(source), lines):
        raw = lines[number].encode()
        new = (raw[:start] + text.encode() + raw[end:]).decode()
        if stripped.count(stripped[number]) > 1 or new == lines[number]:
            continue
        try:
            wrong = _functions(compile("\n".join([*lines[:number], new, *lines[number + 1:]]), "m", "exec"))
        except (SyntaxError, ValueError):
            continue
        if wrong != right and (stripped[number], new.strip(), kind) not in out:
            out.append((stripped[number], new.strip(), kind))
    return out


def _functions(code):
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _edits(tree, lines):
    """(line, first byte, last byte, replacement, kind) of every change inside functions."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            body = function.body if isinstance(function.body, list) else [function.body]
            for statement in body:
                _walk(statement, lines, found)
    return sorted(set(found))


def _walk(node, lines, found):
    if isinstance(node, SKIPPED) or _only_refuses(node) or _is_text(node):
        return
    if getattr(node, "lineno", 0) and node.lineno == node.end_lineno:
        found += [(node.lineno - 1, *edit) for edit in _of(node, lines[node.lineno - 1].encode())]
    skip = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
    for child in ast.iter_child_nodes(node):
        if id(child) not in skip and not (isinstance(node, (ast.FunctionDef, ast.Lambda)) and child is node.args):
            _walk(child, lines, found)


def _only_refuses(node) -> bool:
    def refuses(s):
        return isinstance(s, ast.Raise) or (isinstance(s, ast.Expr) and _calls_refuse(s.value)) or (
            isinstance(s, ast.Return) and _calls_refuse(s.value))
    if isinstance(node, ast.Expr):
        return _calls_refuse(node.value)
    return isinstance(node, ast.If) and all(map(refuses, node.body))


def _calls_refuse(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("refuse", "listed")


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of(node, line):
    """[(first byte, last byte, replacement, kind)] of one node on one line."""
    def sign(left, right, op):
        old, new = SIGNS[type(op)]
        at = line.find(old.encode(), left.end_col_offset, right.col_offset)
        return [] if at < 0 else [(at, at + len(old), new, f"{old} {new}")]
    out = []
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        out += sign(node.left, node.right, node.op)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            out.append((node.left.end_col_offset, node.end_col_offset, "", "drop a term"))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SIGNS:
        out += sign(node.left, node.comparators[0], node.ops[0])
    elif isinstance(node, ast.BoolOp):
        out += sign(node.values[0], node.values[1], node.op)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        out.append((node.col_offset, node.end_col_offset, str(node.value + 1), "constant + 1"))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        out.append((node.col_offset, node.operand.col_offset, "", "negated condition"))
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        a, b = (line[v.col_offset:v.end_col_offset].decode() for v in node.args[:2])
        between = line[node.args[0].end_col_offset:node.args[1].col_offset].decode()
        out.append((node.args[0].col_offset, node.args[1].end_col_offset, b + between + a, "arguments swapped"))
    if isinstance(node, (ast.If, ast.IfExp)) and node.test.lineno == node.test.end_lineno == node.lineno:
        inner = line[node.test.col_offset:node.test.end_col_offset].decode()
        out.append((node.test.col_offset, node.test.end_col_offset, f"not ({inner})", "negated condition"))
    return out


def drawn(seed, group, count, engine=ENGINE) -> list[tuple[str, str, str, str]]:
    """The first `count` faults (module, line, wrong line, kind) of a group; the order does not depend on `count`."""
    draw = random.Random(f"{seed}:{group}")
    waiting = {}
    for path in files_of(group, engine):
        name = ".".join(path.relative_to(engine).with_suffix("").parts).removesuffix(".__init__")
        of_file = changes(path.read_text(encoding="utf-8"))
        if of_file:
            waiting[name] = draw.sample(of_file, len(of_file))
    out = []
    while len(out) < count and waiting:
        name = draw.choice(sorted(waiting))
        out.append((name, *waiting[name].pop()))
        if not waiting[name]:
            del waiting[name]
    return out


if __name__ == "__main__":
    seed, group, count, folder = (sys.argv[1:] + ["10", str(ENGINE)][len(sys.argv) - 3:])[:4]
    for row in drawn(int(seed), group, int(count), Path(folder)):
        print(*row, sep="\n    ")
