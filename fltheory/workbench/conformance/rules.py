"""The twelve rules of a round, each a function that raises on a `Case` that breaks it.

A rule carries what it says (one sentence), how to repair a round that breaks it, and when it does not apply.
"""
from __future__ import annotations

import dataclasses

import numpy as np

from fltheory.analysis.traffic import least_traffic
from fltheory.core.errors import BadInput, NotAffine
from fltheory.core.kinds import Algorithm
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Torch, fraction, have
from fltheory.workbench.conformance.cases import (ROUNDING, Violation, combine, described, gap, mask, numbers, places,
                                                  random)
from fltheory.workbench.conformance.source import read

RULES: list = []


def rule(title, says, repair, applies=None):
    """Register a rule. applies(case) -> "" or the reason why the rule does not apply."""
    def wrap(check):
        check.title, check.says, check.repair = title, says, repair
        check.applies = applies or (lambda case: "")
        RULES.append(check)
        return check
    return wrap


def _affine_only(case):
    return "" if case.affine else "the round declares affine = False"


def _cohorts_only(case):
    if not case.algorithm.partial:
        return "only full participation is defined (partial = False)"
    return "the round chooses its cohort itself" if case.chooses else ""


def _lists(case):
    if case.algorithm.absent_act:
        return "absent clients act too, so cohorts are masks only (absent_act = True)"
    return _cohorts_only(case)


def _memories(case):
    if _lists(case):
        return _lists(case)
    return "" if case.memories(case.state(FLOAT)) else "the clients keep no memories"


@rule("affine in the state",
      "On quadratic losses the new state is an affine map of the old one, and so are `init` and `model`.",
      "Multiply the state by numbers only, never by the state; if the method really is not affine, declare "
      "`affine: ClassVar[bool] = False`: it keeps its runs and loses its exact operator.", _affine_only)
def affine(case):
    def additive(f, u, v, zero, where):
        gaps = combine((1, 1, -1, -1), [f(s) for s in (combine((1, 1), (u, v)), zero, u, v)])
        for name, leaf in zip(gaps._fields, gaps, strict=True):
            if any(numbers(leaf)):
                raise Violation(f"{name} of f(u + v) + f(0) - f(u) - f(v) is not 0", where)
    u, v, zero = case.state(RATIONAL, 1), case.state(RATIONAL, 2), case.state(RATIONAL, zero=True)
    for draw in case.draws():
        additive(lambda s, d=draw: case.step(RATIONAL, s, d), u, v, zero, f"round, {described(draw)}")
    kind = type(u)
    p, a = case.problem().to(RATIONAL), case.algorithm.to(RATIONAL)
    models = [a.model(s) for s in (combine((1, 1), (u, v)), zero, u, v)]
    if any(numbers(models[0] + models[1] - models[2] - models[3])):
        raise Violation("the server model is not an affine function of the state", "model")
    rng = np.random.default_rng(3)
    x, y = (RATIONAL.array(random(rng, (p.d,))) for _ in range(2))
    states = [kind(*a.init(p, point)) for point in (x + y, 0 * x, x, y)]
    if any(any(numbers(leaf)) for leaf in combine((1, 1, -1, -1), states)):
        raise Violation("the first state is not an affine function of x0", "init")


@rule("stays in its arithmetic",
      "Every entry of the new state is a number of the arithmetic that went in: rationals stay rational, balls stay "
      "balls, float64 stays float64.",
      "Write integer literals and quotients of them (x / 2, not 0.5 * x), no numpy constants, no casts; declare "
      "hyper-parameters as `name: Number` in a file or cell that begins with `from __future__ import annotations`.")
def stays_in_the_arithmetic(case):
    for record in (case.algorithm, *_solvers(case.algorithm)):
        for f in dataclasses.fields(record):
            value = getattr(record, f.name)
            if not isinstance(f.type, str) and _is_number(value):
                raise Violation(f"hyper-parameter {f.name} = {value!r} is not moved between arithmetics: its "
                                "annotation is not the text `Number`", f"{type(record).__name__}.{f.name}")
    for domain in case.domains():
        for draw in case.draws():
            where = f"{domain}, {described(draw)}"
            try:
                new = case.step(domain, case.state(domain, 3), draw)
            except Violation:
                raise
            except (TypeError, ValueError, NotImplementedError) as error:
                raise Violation(f"the round cannot be made in {domain}: {type(error).__name__}: {error}",
                                where) from error
            for name, leaf in zip(new._fields, new, strict=True):
                try:
                    domain.check(leaf, name)
                except Exception as error:
                    raise Violation(str(error), where) from None
                if domain is FLOAT and leaf.dtype != np.float64:
                    raise Violation(f"{name} became {leaf.dtype}", where)
    absent = [name for name in ("torch", "flint") if not have(name)]
    tried = [str(d).partition(" mod ")[0] for d in case.domains()]
    return f"in {', '.join(tried)}" + (f" (absent: {', '.join(absent)})" if absent else "")


def _solvers(algorithm: Algorithm):
    values = [getattr(algorithm, f.name) for f in dataclasses.fields(algorithm)]
    return [v for v in values if dataclasses.is_dataclass(v) and not isinstance(v, type)]


def _is_number(value) -> bool:
    """A number that needs converting: ints are exact everywhere, and words are options."""
    try:
        fraction(value)
    except BadInput:
        return False
    return not isinstance(value, (int, np.integer))


@rule("keeps its structure",
      "The new state has the type and the shapes of the old one, with and without a batch of replicates; "
      "states with rows per client are declared `stateful`.",
      "Return the same NamedTuple as `init`; sum over clients with `.sum(-2)`, address axes from the right, and "
      "declare `stateful: ClassVar[bool] = True` if clients keep memories.")
def keeps_the_structure(case):
    for lead in ((), (2,)):
        old = case.state(case.domain, 4, lead)
        for draw in case.draws():
            new, where = case.step(case.domain, old, draw), described(draw)
            if type(new) is not type(old):
                raise Violation(f"the state became another type, {type(new).__name__}", where)
            shapes = [(name, tuple(b.shape), tuple(a.shape)) for name, a, b in zip(old._fields, old, new, strict=True)]
            for name, now, before in shapes:
                if now != before:
                    raise Violation(f"{name} has shape {now}, before the round {before}", where)
            model = case.algorithm.model(new)
            if tuple(model.shape) != (*lead, case.problem().d):
                raise Violation(f"the server model has shape {tuple(model.shape)}", "model")
    if case.partial and not case.algorithm.stateful and case.client_leaves(case.state(case.domain)):
        raise Violation(f"the state has a row per client in {case.client_leaves(case.state(case.domain))}, but the "
                        "class does not declare stateful = True: laws that draw one client twice would be accepted",
                        type(case.algorithm).__name__)


@rule("writes nothing",
      "A round leaves the state and the draw that it was given unchanged.",
      "Replace `x += step` by `x = x + step` and `a[i] = v` by `put(a, who, v, present)`; never write into an "
      "argument.")
def writes_nothing(case):
    for domain in [d for d in case.domains() if d in (FLOAT, RATIONAL) or isinstance(d, Torch)]:
        for draw in case.draws():
            state = case.state(domain, 5)
            before = [numbers(leaf) for leaf in state]
            arrays = [*state, *(a for a in draw if isinstance(a, np.ndarray))]
            copies = [to_numpy(a).copy() for a in arrays]
            where = f"{domain}, {described(draw)}"
            if not isinstance(domain, Torch):
                for a in arrays:
                    a.setflags(write=False)
            try:
                case.step(domain, state, draw)
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
                raise Violation("an argument of the round is written to", where) from error
            if before != [numbers(leaf) for leaf in state]:
                raise Violation("the old state was written to", where)
            if not all((to_numpy(a) == c).all() for a, c in zip(arrays, copies, strict=True)):
                raise Violation("an argument of the round was written to", where)


@rule("batches",
      "A batch of three states gives what three rounds one by one give, and torch gives what numpy gives.",
      "Address axes from the right (`[..., None]`, `.sum(-2)`, `.sum(-1, keepdims=True)`): further axes stand in "
      "front.")
def batches(case):
    domain = case.domain
    for draw in case.draws():
        singles = [case.state(domain, 10 + r) for r in range(3)]
        stacked = type(singles[0])(*(np.stack(leaves) for leaves in zip(*singles, strict=True)))
        out = case.step(domain, stacked, draw)
        for r, single in enumerate(singles):
            short = next((n for n, leaf in zip(out._fields, out, strict=True) if leaf.shape[:1] != (3,)), None)
            if short:
                raise Violation(f"{short} lost the axis of replicates", described(draw))
            case.same(type(out)(*(leaf[r] for leaf in out)), case.step(domain, single, draw),
                      f"replicate {r} of a batch, {described(draw)}")
        if have("torch"):
            floats = type(out)(*(Torch().array(FLOAT.array(leaf)) for leaf in stacked))
            for name, leaf, exact in zip(out._fields, case.step(Torch(), floats, draw), out, strict=True):
                exact = FLOAT.array(exact)
                off = np.abs(to_numpy(leaf) - exact).max()
                if not off <= ROUNDING * max(1.0, np.abs(exact).max()):
                    raise Violation(f"{name} differs in torch by {off:.1e}", described(draw))


@rule("broadcasts over cohorts",
      "A stack of cohort masks against a stack of states gives all pairs, which is how laws are enumerated.",
      "Let masks meet states through `draw.present[..., None]` and `on`; reshape nothing, loop over no cohort.",
      _affine_only)
def broadcasts_draws(case):
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
                case.same(type(points)(*ours), single, f"one of {len(draws)} stacked cohorts, {described(draw)}")


@rule("absent clients remember",
      "The memories of clients that take no part are bit-identical afterwards.",
      "Write memories with `put(s.memory, draw.who, new, draw.present)`, which touches only those present.", _memories)
def absent_clients_remember(case):
    for domain in (FLOAT, RATIONAL) if case.affine else (FLOAT,):
        for draw in case.draws():
            state = case.state(domain, 7)
            new = case.step(domain, state, draw)
            members = np.arange(case.n)[draw.who] if isinstance(draw.who, slice) else draw.who
            absent = sorted(set(range(case.n)) - set(members[draw.present > 0].tolist()))
            for name in case.memories(state):
                if numbers(getattr(state, name)[absent]) != numbers(getattr(new, name)[absent]):
                    raise Violation(f"{name} of an absent client changed", f"{domain}, {described(draw)}")


def _own_cohort(case):
    return "the round chooses its cohort itself" if case.chooses else ""


@rule("finished clients stand still",
      "More local steps of others leave a client that has finished where it is: exactly in rationals, to rounding in "
      "floats.",
      "Multiply every local change by the mask `on` that `draw.local_steps()` yields: y = y - lr * on * gradient.",
      _own_cohort)
def finished_clients_stand_still(case, bits=False):
    """bits: ask for bit-identity in floats instead."""
    n, domain = case.n, FLOAT if bits else case.domain
    for i in range(n):
        present = [int(j == i) for j in range(n)] if case.partial else [1] * n
        few, many = [2] * n, [2 if j == i else 7 for j in range(n)]
        state = case.state(domain, 8)
        a, b = (case.step(domain, state, mask(present, steps)) for steps in (few, many))
        for name in a._fields:
            x, y = getattr(a, name), getattr(b, name)
            if name in case.client_leaves(state):
                x, y = x[i], y[i]
            elif not case.partial:
                continue                                     # the server also hears the others
            if numbers(x) != numbers(y) and (domain is RATIONAL or bits or gap(x, y) > ROUNDING):
                raise Violation(f"{name} depends on steps after client {i} has finished", "local steps 2 against 7")


@rule("numbering is irrelevant",
      "Renumbering the clients renumbers their memories and changes nothing else; so does the order of places.",
      "Treat clients by their data, weights and presence only; never index a cohort by a fixed place.")
def numbering_is_irrelevant(case):
    for order in case.orders():
        for draw in case.draws():
            state = case.state(case.domain, 9)
            rows = case.client_leaves(state)
            moved = state._replace(**{name: getattr(state, name)[list(order)] for name in rows})
            if isinstance(draw.who, slice):
                other = mask(draw.present[list(order)], draw.steps[list(order)])
            else:
                back = {client: k for k, client in enumerate(order)}
                other = places([back[int(i)] for i in draw.who][::-1], draw.present[::-1], draw.steps[::-1])
            new, out = case.step(case.domain, state, draw), case.step(case.domain, moved, other, order)
            case.same(out, new._replace(**{name: getattr(new, name)[list(order)] for name in rows}),
                      f"clients renumbered {' '.join(map(str, order))}, {described(draw)}")


@rule("masks are cohorts",
      "A mask over all clients means the same as the list of those present.",
      "Reach clients through `problem.at(draw.who)`, `spread`, `take` and `put`, and weigh them by `draw.present`.",
      _lists)
def masks_are_cohorts(case):
    n = case.n
    for present in ([1] * n, [0] + [1] * (n - 1), [1] + [0] * (n - 1)):
        steps, state = np.array([3 - i % 3 for i in range(n)]), case.state(case.domain, 11)
        who = np.flatnonzero(present)
        case.same(case.step(case.domain, state, mask(present, steps)),
                  case.step(case.domain, state, places(who, [1] * len(who), steps[who])),
                  described(mask(present, steps)))


@rule("sends what it declares",
      "No more vectors of the model's size pass between server and participant than `uplink` and `downlink` say.",
      "Declare `uplink: ClassVar[int]` and `downlink: ClassVar[int]`, counted per participant and round.", _affine_only)
def sends_what_it_declares(case):
    method = case.algorithm
    try:
        up, down = least_traffic(dataclasses.replace(method, steps=method.steps or 2), case.problem())
    except NotAffine:  # which is a rule of its own
        return
    for way, needed, declared in (("uplink", up, method.uplink), ("downlink", down, method.downlink)):
        if needed > declared:
            raise Violation(f"{needed} vectors cannot be done without, {way} = {declared}", f"{type(method).__name__}.{way}")


@rule("reads well",
      "The text of the round and of what it calls holds no float, no comparison by order, no write in place, no look "
      "into the data of the problem (for rounds that are not affine: no cast, no write, no look into the data).",
      "Use only + - * / and integer literals on the state; gradients through `problem.at(draw.who).grad`, weights "
      "through `.p`, local steps through `draw.local_steps()`; test `den == 0` through `ratio`.")
def reads_well(case):
    return read(case)
