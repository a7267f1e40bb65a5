"""The rules of a `round` that declares itself affine, each a function that raises on a `Case` that breaks it."""
import ast
import dataclasses
import inspect
import textwrap
from fractions import Fraction as Q

import numpy as np

import fltheory.algorithms.solvers
from fltheory.arrays import EVERYONE, to_numpy
from fltheory.errors import BadInput
from fltheory.laws.draw import Draw
from fltheory.problems.quadratic import Quadratic
from fltheory.problems.residual import Residual
from fltheory.scalars import FLOAT, RATIONAL, Torch, fraction
from tests.algorithms.instances import DOMAINS, GRAPH, P, on, quadratic_data, residual_data

N = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """An algorithm with rational hyper-parameters on a rational problem of three clients, converted on request."""

    algorithm: object

    def problem(self, order=(0, 1, 2)):
        def pick(parts):
            return [parts[i] for i in order]
        if self.algorithm.personal:
            return Residual(*map(pick, residual_data()), pick(P))
        return Quadratic.from_linear(*map(pick, quadratic_data()), pick(P))

    def reordered(self, order):
        """The algorithm with declared arrays over clients reordered with them."""
        changes = {f.name: tuple(tuple(row[j] for j in order) for row in (value[i] for i in order))
                   for f in dataclasses.fields(self.algorithm) if f.type == "Numbers"
                   for value in [getattr(self.algorithm, f.name)] if value is not None}
        return dataclasses.replace(self.algorithm, **changes) if changes else self.algorithm

    def state(self, domain, seed=0, lead=(), zero=False):
        """A state with random rational entries of the shapes that `init` makes, with leading axes."""
        p = self.problem().to(domain)
        like = self.algorithm.to(domain).init(p, domain.array(np.zeros(p.d, dtype=np.int64)))
        rng = np.random.default_rng(seed)
        leaves = []
        for leaf in like:
            shape = lead + tuple(leaf.shape)
            pairs = zip(rng.integers(-9, 10, np.prod(shape)), rng.integers(1, 6, np.prod(shape)), strict=True)
            flat = [Q(0) if zero else Q(int(a), int(b)) for a, b in pairs]
            leaves.append(domain.array(np.array([*flat, None], dtype=object)[:-1].reshape(shape)))
        return type(like)(*leaves)

    def draws(self):
        """Full cohort; if partial ones are defined also masks, the empty one, and index arrays."""
        steps = np.array([3, 1, 2])
        yield mask([1, 1, 1], steps)
        if self.algorithm.partial:
            yield mask([1, 0, 1], steps)
            yield mask([0, 1, 0], steps)
            yield mask([0, 0, 0], steps)
            yield places([2, 0], [1, 1], [2, 3])
            yield places([1, 0, 2], [0, 1, 1], [1, 2, 2])

    def step(self, domain, state, draw, order=None):
        p = self.problem() if order is None else self.problem(order)
        a = self.algorithm if order is None else self.reordered(order)
        return a.to(domain).round(p.to(domain), state, on(domain, draw))


def mask(present, steps):
    return Draw(EVERYONE, np.array(present), np.array(steps))


def places(who, present, steps):
    return Draw(np.array(who), np.array(present), np.array(steps))


def numbers(leaf):
    """Entries that compare exactly: Fractions of rationals and floats."""
    return [fraction(v) for v in to_numpy(leaf).reshape(-1)]


def equal(a, b, what):
    for name, x, y in zip(a._fields, a, b, strict=True):
        assert tuple(x.shape) == tuple(y.shape), f"{what}: {name} has shapes {tuple(x.shape)} and {tuple(y.shape)}"
        assert numbers(x) == numbers(y), f"{what}: {name} differs"


def combine(weights, states):
    return type(states[0])(*(sum((w * leaf for w, leaf in zip(weights, leaves, strict=True)), 0 * leaves[0])
                             for leaves in zip(*states, strict=True)))


def client_leaves(state):
    """Names of the leaves with one row per client."""
    return [name for name, leaf in zip(state._fields, state, strict=True) if leaf.ndim == 2 and leaf.shape[0] == N]


# ---- the rules ------------------------------------------------------------------------------------------


def affine(case):
    """round(u + v) + round(0) = round(u) + round(v), exactly."""
    for draw in case.draws():
        u, v, zero = case.state(RATIONAL, 1), case.state(RATIONAL, 2), case.state(RATIONAL, zero=True)
        out = [case.step(RATIONAL, s, draw) for s in (combine((1, 1), (u, v)), zero, u, v)]
        gap = combine((1, 1, -1, -1), out)
        assert all(value == 0 for leaf in gap for value in numbers(leaf)), f"not affine at {draw}"


def stays_in_the_arithmetic(case):
    """Every entry of the result is a number of the arithmetic that went in."""
    for domain in DOMAINS:
        for draw in case.draws():
            new = case.step(domain, case.state(domain, 3), draw)
            for name, leaf in zip(new._fields, new, strict=True):
                domain.check(leaf, name)
                if domain is FLOAT:
                    assert leaf.dtype == np.float64, f"{name} became {leaf.dtype}"


def keeps_the_structure(case):
    """The new state has the type and shapes of the old one, with and without a batch."""
    for lead in ((), (2,)):
        old = case.state(RATIONAL, 4, lead)
        for draw in case.draws():
            new = case.step(RATIONAL, old, draw)
            assert type(new) is type(old), f"the state became a {type(new).__name__}"
            assert [tuple(a.shape) for a in new] == [tuple(a.shape) for a in old], "shapes changed"
            assert tuple(case.algorithm.model(new).shape) == (*lead, case.problem().d)


def writes_nothing(case):
    """Inputs are read-only arrays and unchanged afterwards."""
    for domain in [d for d in DOMAINS if d in (FLOAT, RATIONAL) or isinstance(d, Torch)]:
        for draw in case.draws():
            state = case.state(domain, 5)
            before = [numbers(leaf) for leaf in state]
            arrays = [*state, *(a for a in draw if isinstance(a, np.ndarray))]
            copies = [to_numpy(a).copy() for a in arrays]
            if not isinstance(domain, Torch):
                for a in arrays:
                    a.setflags(write=False)
            case.step(domain, state, draw)
            assert before == [numbers(leaf) for leaf in state], "the state was written to"
            assert all((to_numpy(a) == c).all() for a, c in zip(arrays, copies, strict=True)), "an input was written to"


def batches(case):
    """A batch of three states equals the three rounds one by one."""
    for draw in case.draws():
        singles = [case.state(RATIONAL, 10 + r) for r in range(3)]
        stacked = type(singles[0])(*(np.stack(leaves) for leaves in zip(*singles, strict=True)))
        out = case.step(RATIONAL, stacked, draw)
        for r, single in enumerate(singles):
            equal(type(out)(*(leaf[r] for leaf in out)), case.step(RATIONAL, single, draw), f"replicate {r}")
        if any(isinstance(d, Torch) for d in DOMAINS):
            floats = type(out)(*(Torch().array(FLOAT.array(leaf)) for leaf in stacked))
            for leaf, exact in zip(case.step(Torch(), floats, draw), out, strict=True):
                gap = np.abs(to_numpy(leaf) - FLOAT.array(exact)).max()
                assert gap <= 1e-12 * max(1.0, np.abs(FLOAT.array(exact)).max()), "torch differs from the rationals"


def broadcasts_draws(case):
    """Masks (sets, 1, n) against states (points, ...) and (1, points, ...) give all pairs (sets, points, ...)."""
    draws = [d for d in case.draws() if isinstance(d.who, slice)]
    stacked = mask(np.stack([d.present for d in draws])[:, None], np.stack([d.steps for d in draws])[:, None])
    points = case.state(RATIONAL, 6, (4,))
    for state in (points, type(points)(*(leaf[None] for leaf in points))):
        out = case.step(RATIONAL, state, stacked)
        for s, draw in enumerate(draws):
            for r in range(4):
                single = case.step(RATIONAL, type(points)(*(leaf[r] for leaf in points)), draw)
                ours = (np.broadcast_to(leaf, (len(draws), 4, *alone.shape))[s, r]
                        for leaf, alone in zip(out, single, strict=True))
                equal(type(points)(*ours), single, f"set {s}, point {r}")


def absent_clients_remember(case):
    """Memories of clients that take no part are bit-identical afterwards."""
    for domain in (FLOAT, RATIONAL):
        for draw in case.draws():
            state = case.state(domain, 7)
            new = case.step(domain, state, draw)
            members = np.arange(N)[draw.who] if isinstance(draw.who, slice) else draw.who
            absent = sorted(set(range(N)) - set(members[draw.present > 0].tolist()))
            for name in client_leaves(state):
                old, now = getattr(state, name)[absent], getattr(new, name)[absent]
                assert numbers(old) == numbers(now), f"{name} of an absent client changed"


def finished_clients_stand_still(case):
    """More steps of others leave a client that has finished bit-identical."""
    for i in range(N):
        present = [int(j == i) for j in range(N)] if case.algorithm.partial else [1] * N
        few, many = np.array([2] * N), np.array([2 if j == i else 7 for j in range(N)])
        state = case.state(FLOAT, 8)
        a, b = (case.step(FLOAT, state, mask(present, steps)) for steps in (few, many))
        for name in a._fields:
            x, y = getattr(a, name), getattr(b, name)
            if name in client_leaves(state):
                x, y = x[i], y[i]
            elif not case.algorithm.partial:
                continue                                     # the server also hears the others
            assert numbers(x) == numbers(y), f"{name}: client {i} moved after its last step"


def numbering_is_irrelevant(case):
    """Renumbering the clients renumbers the memories and nothing else; so does the order of places."""
    for order in ((1, 2, 0), (0, 2, 1)):
        for draw in case.draws():
            state = case.state(RATIONAL, 9)
            rows = client_leaves(state)
            moved = state._replace(**{name: getattr(state, name)[list(order)] for name in rows})
            if isinstance(draw.who, slice):
                other = mask(draw.present[list(order)], draw.steps[list(order)])
            else:
                back = {client: k for k, client in enumerate(order)}
                other = places([back[int(i)] for i in draw.who][::-1], draw.present[::-1], draw.steps[::-1])
            new, out = case.step(RATIONAL, state, draw), case.step(RATIONAL, moved, other, order)
            equal(new._replace(**{name: getattr(new, name)[list(order)] for name in rows}), out, f"order {order}")


def masks_are_cohorts(case):
    """A mask of all clients means the same as the index array of those present."""
    for present in ([1, 1, 1], [0, 1, 1], [1, 0, 0]) if case.algorithm.partial else ():
        steps, state = np.array([3, 1, 2]), case.state(RATIONAL, 11)
        who = np.flatnonzero(present)
        equal(case.step(RATIONAL, state, mask(present, steps)),
              case.step(RATIONAL, state, places(who, [1] * len(who), steps[who])), f"mask {present}")


ALLOWED_OF_PROBLEM = {"p", "at", "grad", "n"}
FORBIDDEN_NAMES = {"float", "int", "abs", "max", "min", "sorted", "print"}
FORBIDDEN_METHODS = {"max", "min", "abs", "clip", "clamp", "argmax", "argmin", "sort", "astype", "float", "item"}


def reads_well(case):
    """Source of the round, its solver and its helpers: no floats, order comparisons, writes or hidden problem data."""
    for function in sources(case.algorithm):
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            place = f"{function.__qualname__}, line {getattr(node, 'lineno', '?')}"
            if isinstance(node, ast.Compare):
                order = [op for op in node.ops if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)]
                assert not order, f"{place}: compares by order; fields have none"
            if isinstance(node, ast.Constant):
                assert not isinstance(node.value, float), f"{place}: float literal {node.value}"
            assert not isinstance(node, ast.AugAssign), f"{place}: writes in place"
            targets = node.targets if isinstance(node, ast.Assign) else []
            assert not any(isinstance(t, ast.Subscript | ast.Attribute) for t in targets), f"{place}: writes in place"
            if isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "problem":
                    assert node.attr in ALLOWED_OF_PROBLEM, f"{place}: a round does not see problem.{node.attr}"
                assert node.attr not in FORBIDDEN_METHODS, f"{place}: .{node.attr}"
            if isinstance(node, ast.Name):
                assert node.id not in FORBIDDEN_NAMES, f"{place}: {node.id}"


def sources(algorithm):
    """`round`, the `start` and `step` of solver fields, and the functions of algorithm modules that they name."""
    start = [type(algorithm).round]
    for f in dataclasses.fields(algorithm):
        value = getattr(algorithm, f.name)
        if dataclasses.is_dataclass(value):
            start += [type(value).start, type(value).step]
    found, pending = [], start
    while pending:
        function = pending.pop()
        if function in found:
            continue
        found.append(function)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        own = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
               and isinstance(node.value, ast.Name) and node.value.id == "self"}
        called = [function.__globals__.get(name) for name in names]
        called += [getattr(type(algorithm), name, None) for name in own]
        pending += [f for f in called if inspect.isfunction(f) and ".algorithms" in f.__module__]
    return found


RULES = [affine, stays_in_the_arithmetic, keeps_the_structure, writes_nothing, batches, broadcasts_draws,
         absent_clients_remember, finished_clients_stand_still, numbering_is_irrelevant, masks_are_cohorts, reads_well]


# ---- instances of a class, built from its annotations ------------------------------------------------------


def variants(cls):
    """Instances of an algorithm class: the shortest call that it accepts, every optional number given, every solver.

    Numbers (annotated Number) become distinct small rationals, declared arrays (Numbers) the edge weights.
    """
    values = {}
    for k, f in enumerate(dataclasses.fields(cls)):
        if f.type == "Number" and f.name != "lr":
            values[f.name] = Q(1, 3 + k)
        elif f.type == "Numbers":
            values[f.name] = GRAPH
    found = []
    for options in [{}, values] if values else [{}]:
        try:
            found.append(cls("1/10", **options))
        except BadInput:
            continue
    if any(f.name == "solver" for f in dataclasses.fields(cls)):
        found += [dataclasses.replace(found[-1], solver=solver) for solver in solvers()]
    return found


def solvers():
    """One instance of every solver and of every way to give its numbers."""
    found = []
    for cls in vars(fltheory.algorithms.solvers).values():
        if not (isinstance(cls, type) and hasattr(cls, "step")):
            continue
        names = [f.name for f in dataclasses.fields(cls)]
        together = [dict.fromkeys(names, Q(2, 5))] if len(names) > 1 else []
        for options in [{}, *({name: Q(2, 5)} for name in names), *together]:
            try:
                found.append(cls(**options))
            except (BadInput, TypeError):
                continue
    return found
