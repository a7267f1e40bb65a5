"""`worst_case`: the largest value that a measure takes after some rounds, over all functions of given classes."""
from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.arrays import EVERYONE
from fltheory.core.errors import BadInput, TooLarge, refuse
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.laws.memoryless import Full
from fltheory.core.operators.setting import prepare
from fltheory.core.scalars import FLOAT, RATIONAL, fraction, is_count
from fltheory.core.worstcase import certificate as certificates
from fltheory.core.worstcase import witness as witnesses
from fltheory.core.worstcase.classes import Dissimilar, FunctionClass
from fltheory.core.worstcase.forms import Condition, Form, number, square
from fltheory.core.worstcase.gram import Gram, built
from fltheory.core.worstcase.programme import SOLVED, UNBOUNDED, Programme
from fltheory.core.worstcase.view import FloatView, View, measured

MOST_OUTCOMES = 4_096
TIGHTER = Fraction(1, 100_000)  # share of the curvature range given away so that a witness interpolates strictly


@dataclass(frozen=True)
class Setting:
    """All that a worst case is about; `programme()` runs the rounds and writes the semidefinite programme, exactly."""

    algorithm: Any
    classes: tuple
    joint: tuple
    law: Any
    measure: Any
    initial: tuple
    rounds: int = 1
    counts: tuple | None = None
    weights: Any = None
    noise: Any = None
    start: str = "init"

    def programme(self) -> Programme:
        """The exact programme. Raises TooLarge."""
        return built(self._programme)

    def _programme(self, size):
        gram = Gram(self.classes, self.weights, self.counts, size)
        algorithm = self.algorithm.to(RATIONAL)
        x0 = gram.leaf("x0") if self.start == "free" or not all(c.low >= 0 for c in self.classes) else None
        star = functools.cache(gram.minimiser)
        if x0 is None:  # the minimiser first: it is then the origin, from which values count
            star()
            x0 = gram.leaf("x0")
        before = self._begin(gram, algorithm, x0)
        conditions = [c for one in self.initial for c in _conditions(one(View(gram, algorithm, before, star=star)))]
        objective, noises = Form(), {}
        for q, after, models in self._outcomes(gram, algorithm, before, noises):
            conditions += [c.condition(gram, x) for c in self.joint for x in models]
            objective = objective + self.measure(View(gram, algorithm, before, after, star)) * number(q)
        conditions += [square(v) <= number(fraction(self.noise)) for v in noises.values()]
        seen, unique = set(), []
        for c in conditions:
            if id(c) not in seen:
                seen.add(id(c))
                unique.append(c)
        forms = [objective, *(f for c in unique for f in ([c.form] if c.matrix is None else itertools.chain(*c.matrix)))]
        return Programme(gram, objective, [*unique, *gram.conditions(forms)], before, star)

    def _begin(self, gram, algorithm, x0):
        state = algorithm.init(gram, x0)
        if self.start == "init":
            return state
        made = {}
        for name, leaf in zip(state._fields, state, strict=True):
            if name == "x":
                continue
            if leaf.shape == (gram.d,):
                made[name] = gram.leaf(name)
            elif leaf.shape == (len(gram.classes), gram.d):
                rows = [gram.own_leaf(i, name) for i in range(len(gram.classes))]
                made[name] = np.array(rows, dtype=object)
                made[name] = made[name].view(gram._view) if gram.counts else made[name]
            else:
                refuse("start", name, f"has shape {leaf.shape}, neither a vector nor one per client", 'Use start="init".')
        return state._replace(**made)

    def _draws(self, gram):
        if self.counts:
            steps = np.broadcast_to(np.asarray(self.law.steps if self.law.steps is not None else 1), (len(self.classes),))
            return [(Fraction(1), Draw(EVERYONE, np.ones(len(self.classes), dtype=np.int64), steps))]
        return self.law.support(gram.n, 0)

    def _outcomes(self, gram, algorithm, state, noises, round_=0, q=Fraction(1), models=(), path=()):
        """(probability, state after, server models at which rounds started) of every outcome."""
        if round_ == self.rounds:
            yield q, state, models
            return
        models = (*models, algorithm.model(state))
        for k, (chance, draw) in enumerate(self._draws(gram)):
            here = (*path, k)
            for share, xi, signs in self._samples(gram, algorithm, state, draw, noises, here):
                after = advance(algorithm, gram, state, draw._replace(xi=xi))
                yield from self._outcomes(gram, algorithm, after, noises, round_ + 1, q * fraction(chance) * share, models,
                                          (*here, *signs))

    def _samples(self, gram, algorithm, state, draw, noises, path):
        """Two equally likely atoms +v, -v for every sample, v depending on what that client has drawn before."""
        if self.noise is None:
            yield Fraction(1), None, ()
            return
        who = np.arange(gram.n) if isinstance(draw.who, slice) else np.asarray(draw.who)
        counter = Slots()
        advance(algorithm, gram, state, draw._replace(xi=counter))
        slots = range(counter.count)
        felt = [(place, slot) for place in range(len(who)) for slot in slots
                if draw.present[place] and (slot < draw.steps[place] or slot >= int(draw.steps.max()))]
        if 2 ** len(felt) > MOST_OUTCOMES:
            raise TooLarge(f"{2 ** len(felt)} outcomes of the noise in one round, above {MOST_OUTCOMES}: take fewer clients or steps")
        for signs in itertools.product((1, -1), repeat=len(felt)):
            sign = dict(zip(felt, signs, strict=True))

            def xi(slot, sign=sign):
                rows = []
                for place, client in enumerate(who):
                    if (place, slot) not in sign:
                        rows.append(gram.zero())
                        continue
                    past = tuple(sign[place, s] for s in slots if s < slot and (place, s) in sign)
                    key = (path, place, slot, past)
                    if key not in noises:
                        noises[key] = gram.leaf(f"noise of client {client}")
                    rows.append(noises[key] * sign[place, slot])
                return np.array(rows, dtype=object)
            yield Fraction(1, 2 ** len(felt)), xi, signs


def _conditions(found):
    found = [] if found is None else [found] if isinstance(found, Condition) else list(found)
    for one in found:
        if not isinstance(one, Condition):
            refuse("initial", one, "is no condition", "Return comparisons such as s.square(s.x - s.star) <= 1.")
    return found


@dataclass(frozen=True)
class WorstCase:
    """value: the supremum in floats (None unless the solver's status is "Solved"); status: the solver's word.

    certificate: an upper bound proved in rationals (None if none was found); size: (order of each Gram block, rows);
    witness: functions on which the float round attains the value, made when asked for.
    """

    value: float | None
    status: str
    certificate: certificates.Certificate | None
    size: tuple
    setting: Setting = field(repr=False)

    @property
    def bound(self) -> Fraction | None:
        """The certified upper bound."""
        return None if self.certificate is None else self.certificate.bound

    def recheck(self) -> bool:
        """The certificate checked again, exactly and without a solver, on a programme written anew."""
        return self.certificate is not None and certificates.holds(self.setting.programme(), self.certificate)

    @functools.cached_property
    def witness(self) -> Witness:
        """Interpolating functions and the value that the float round attains on them. Raises BadInput for counted classes."""
        return _witness(self.setting)


@dataclass(frozen=True)
class Witness:
    """problem: n functions in dimension d; x0 (d,); before: the state there; attained: the measure after the float rounds."""

    problem: Any = field(repr=False)
    x0: np.ndarray
    before: Any = field(repr=False)
    attained: float = 0.0


def _witness(setting) -> Witness:
    if setting.counts:
        refuse("counts", setting.counts, "clients that are counted have no functions of their own in the programme",
               "Ask without counts, for few clients.")
    if setting.noise is not None:
        refuse("noise", setting.noise, "atoms of the noise are not replayed", "Ask without noise.")
    inner = tuple(_tighter(c) for c in setting.classes)
    programme = replace(setting, classes=inner).programme()
    solution = programme.solve()
    if solution.status != SOLVED:
        refuse("witness", solution.status, "the solver did not solve the tightened programme", "Rescale, or take fewer steps.")
    gram = programme.gram
    vec, _ = witnesses.realised(gram, solution, programme.columns)
    forms = [programme.less, programme.same, *(itertools.chain(*m) for m in programme.matrices)]
    clients = []
    for points in gram.live([*itertools.chain(*forms)]):
        X, G = (np.array([vec(getattr(p, k)) for p in points]) for k in ("x", "gradient"))
        F = np.array([_value(p.value, vec, solution.values, programme) for p in points])
        clients.append((X, G, F))
    problem = witnesses.Interpolant(clients, setting.classes, [float(fraction(v)) for v in gram.p])
    algorithm = setting.algorithm.to(FLOAT)
    x0 = vec(programme.start.x)
    before = algorithm.init(problem, x0)
    if setting.start == "free":
        before = type(before)(*(vec(v) if v.ndim == 1 else np.array([vec(r) for r in v]) for v in programme.start))
    star = functools.cache(lambda: vec(programme.star()))
    attained = 0.0
    for draws in itertools.product(setting.law.support(gram.n, 0), repeat=setting.rounds):
        state, q = before, 1.0
        for chance, draw in draws:
            q, state = q * float(fraction(chance)), advance(algorithm, problem, state, draw)
        attained += q * float(setting.measure(FloatView(problem, algorithm, before, state, star)))
    return Witness(problem, x0, before, attained)


def _value(form, vec, values, programme):
    total = float(fraction(form.constant))
    total += sum(float(fraction(c)) * (vec(u) @ vec(v)) for c, u, v in form.terms)
    return total + sum(float(fraction(c)) * values[programme._value[k]] for k, c in form.values.items())


def _tighter(kind):
    low, high = fraction(kind.mu), fraction(kind.L)
    gap = (high - low) * TIGHTER
    return replace(kind, L=high - gap, mu=low + gap)


def worst_case(algorithm, classes, law=None, measure="distance", *, initial="distance", rounds=1, counts=None, clients=None,
               weights=None, noise=None, start="init", certify=True) -> WorstCase:
    """The supremum of a measure after `rounds` rounds, over all client functions of the classes, in any dimension.

    classes: a `SmoothConvex`, `Smooth` or `QuadraticClass` per client, or one for all `clients`; `Dissimilar` among them holds
    at every server model where a round starts. law: one without memory (default `Full()`), expectations by its cohorts.
    measure: a function of the situation `s` (see `View`: x, next, before, after, star, F, grad, square, dot, ...) or "distance",
    "gap", "gradient"; initial: the same as conditions (a function, a name, meaning "at most 1", or a list of them). counts: how
    many identical clients each class stands for (full participation; the cost does not depend on them). weights: (n,) sum 1.
    noise: variance bound of a two-valued noise per sample (a lower bound of the worst noise). start: "init", or "free" for
    arbitrary states. Raises BadInput for what has no meaning, for algorithms whose round takes roots, and where the measure is
    unbounded (naming the direction); TooLarge for programmes beyond the stated size; MissingLibrary without cvxpy.
    """
    setting = _setting(algorithm, classes, law, measure, initial, rounds, counts, clients, weights, noise, start)
    try:
        programme = setting.programme()
    except (AttributeError, TypeError) as error:
        raise BadInput(f"algorithm {type(algorithm).__name__} cannot run on abstract vectors ({error}): worst cases need rounds made "
                       "of sums, multiples and gradients, without roots or comparisons. Use ft.run, or a method without them") from error
    solution = programme.solve()
    if solution.status == UNBOUNDED:
        direction = ", ".join(_names(programme, solution)) or "function values"
        refuse("measure", "unbounded", f"the worst case grows without limit along {direction}", "Add an initial condition on it.")
    solved = solution.status == SOLVED
    found = certificates.certify(programme, solution.value) if certify and solved else None
    return WorstCase(solution.value if solved else None, solution.status, found, (tuple(programme.sizes), len(programme.rows)), setting)


def _names(programme, solution):
    block = programme.gram.blocks()[0]
    sizes = np.abs(np.diag(solution.blocks[0])) if solution.blocks else np.zeros(0)
    named = [(size, programme.gram.leaves[block[c]]) for size, c in zip(sizes, programme.columns[0], strict=True)]
    return sorted({name if isinstance(name, str) else f"a {name[-1]} of client {name[-2]}" for size, name in named
                   if size > 1e-3 * max(sizes.max(initial=0.0), 1e-300)})


def _setting(algorithm, classes, law, measure, initial, rounds, counts, clients, weights, noise, start):
    given = [classes] if isinstance(classes, (FunctionClass, Dissimilar)) else list(classes)
    kinds, joint = [c for c in given if isinstance(c, FunctionClass)], [c for c in given if isinstance(c, Dissimilar)]
    wrong = [c for c in given if not isinstance(c, (FunctionClass, Dissimilar))]
    if wrong or not kinds:
        refuse("classes", wrong[0] if wrong else given, "is no class of functions", "Give ft.SmoothConvex(L, mu), ft.Smooth(L), ...")
    for what, value in (("clients", clients), ("rounds", rounds), *((("counts", c) for c in counts) if counts is not None else ())):
        if value is not None and not is_count(value):
            refuse(what, value, "is an int >= 1", "Give a count.")
    if clients is not None:
        if len(kinds) not in (1, clients):
            refuse("clients", clients, f"there are {len(kinds)} classes", "Give one class, or one per client.")
        kinds = kinds * (clients // len(kinds))
    if counts is not None and len(counts) != len(kinds):
        refuse("counts", counts, f"one per class, so {len(kinds)}", "Give as many counts as classes.")
    if start not in ("init", "free"):
        refuse("start", start, 'is "init" or "free"', "Choose one.")
    if noise is not None and fraction(noise) < 0:
        refuse("noise", noise, "a variance is not negative", "Give sigma^2 >= 0.")
    law = Full() if law is None else law
    conditions = tuple(measured(one, "initial") for one in (initial if isinstance(initial, (list, tuple)) else [initial]))
    law = prepare(algorithm, Gram(kinds, weights, counts, 1), law, None)
    if law.modes != 1:
        refuse("law", type(law).__name__, f"has {law.modes} modes: its rounds depend on the past", "Give a law without memory.")
    if counts is not None and not isinstance(law, Full):
        refuse("counts", counts, "identical clients are counted under full participation alone", "Leave counts out, or use ft.Full().")
    if counts is not None and weights is not None:
        refuse("weights", weights, "counted clients weigh the same", "Leave weights out, or list the clients.")
    if counts is not None and noise is not None:
        refuse("noise", noise, "counted clients have no noise of their own", "Leave counts out.")
    return Setting(algorithm, tuple(kinds), tuple(joint), law, measured(measure, "measure"), conditions, rounds,
                   tuple(counts) if counts is not None else None, weights, noise, start)
