"""What a worst case is about, and the programme that its rounds write when they run on abstract vectors."""
from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import BadInput, TooLarge, listed, refuse
from fltheory.core.kinds import Algorithm, Draw, Law
from fltheory.core.laws.draw import Slots
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import RATIONAL, fraction, is_count
from fltheory.core.operators.setting import prepare
from fltheory.core.records import is_one_of
from fltheory.worstcase.classes import Dissimilar, FunctionClass
from fltheory.worstcase.gram import LARGEST, Gram, built
from fltheory.worstcase.pairs import PairGram
from fltheory.worstcase.programme import Programme
from fltheory.worstcase.quadratic_forms import Condition, Form, number, square
from fltheory.worstcase.view import View

MOST_OUTCOMES = 4_096


class _StarFirst(Exception):
    """The minimiser of convex functions is asked for after other points: made first it is the origin, from which values count,
    and made for nobody it would leave the programme without an interior."""


@dataclass(frozen=True)
class Setting:
    """All that a worst case is about; `programme()` runs the rounds and writes the semidefinite programme, exactly."""

    algorithm: Any
    classes: Any
    law: Any
    measure: Any
    initial: tuple
    rounds: int = 1
    counts: tuple | None = None
    weights: Any = None
    noise: Any = None
    start: Any = "init"
    domain: Any = RATIONAL
    joint: tuple = ()

    def programme(self) -> Programme:
        """The exact programme. Raises TooLarge."""
        try:
            return built(self._programme)
        except _StarFirst:
            return built(lambda size: self._programme(size, True))

    def _programme(self, size, first=False):
        kind = PairGram if self.algorithm.personal else Gram
        gram = kind(self.classes, self.weights, self.counts, size, self.domain)
        algorithm = self.algorithm.to(self.domain)

        @functools.cache
        def star():
            if any(gram.points) and not first and all(c.low >= 0 for c in self.classes):
                raise _StarFirst
            return gram.minimiser()
        if first:
            star()
        x0 = gram.leaf("x0")
        before = self.begin(gram, algorithm, x0, star)
        conditions = [c for one in self.initial for c in _conditions(one(View(gram, algorithm, before, star=star)))]
        objective, noises = Form(), {}
        for q, after, models in self.outcomes(gram, algorithm, before, noises):
            conditions += [c.condition(gram, x) for c in self.joint for x in models]
            objective = objective + self.measure(View(gram, algorithm, before, after, star)) * number(q)
        conditions += [square(v) <= number(fraction(self.noise)) for v in noises.values()]
        unique = list({id(c): c for c in conditions}.values())
        forms = [objective, *(f for c in unique for f in ([c.form] if c.matrix is None else itertools.chain(*c.matrix)))]
        return Programme(gram, objective, [*unique, *gram.conditions(forms)], before, star)

    def begin(self, gram, algorithm: Algorithm, x0, star, centre=None):
        """The state at the start. centre: {field: value around which its free parts are counted}."""
        state = _abstract(algorithm.init, algorithm, gram, x0)
        if callable(self.start):
            return state._replace(**self.start(View(gram, algorithm, state, star=star)))
        if self.start == "init":
            return state
        around, leaves = {} if centre is None else centre(View(gram, algorithm, state, star=star)), {}
        for name, leaf in zip(state._fields, state, strict=True):
            if name == "x":
                continue
            if leaf.shape == (gram.d,):
                leaves[name] = gram.leaf(name)
            elif leaf.shape == (len(gram.classes), gram.d):
                leaves[name] = gram.free(name)
            else:
                refuse("start", name, f"has shape {leaf.shape}, neither a vector nor one per client", 'Use start="init".')
        return state._replace(**{name: leaf + around.get(name, 0 * leaf) for name, leaf in leaves.items()})

    def outcomes(self, gram, algorithm: Algorithm, state, noises, round_=0, q=Fraction(1), models=(), path=()):
        """(probability, state after, server models at which rounds started) of every outcome."""
        if round_ == self.rounds:
            yield q, state, models
            return
        models = (*models, algorithm.model(state))
        for k, (chance, draw) in enumerate(self.law.support(len(self.classes), 0)):
            branch = (*path, k)
            for share, xi, signs in self._samples(gram, algorithm, state, draw, noises, branch):
                after = _abstract(advance, algorithm, algorithm, gram, state, draw._replace(xi=xi))
                yield from self.outcomes(gram, algorithm, after, noises, round_ + 1, q * fraction(chance) * share, models,
                                          (*branch, *signs))

    def _samples(self, gram, algorithm: Algorithm, state, draw: Draw, noises, path):
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
            raise TooLarge(f"{2 ** len(felt)} outcomes of the noise in one round, above {MOST_OUTCOMES}: take fewer clients, or "
                           "fewer local steps")
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


def _abstract(step, algorithm: Algorithm, *arguments):
    """step(*arguments) on abstract vectors; what they cannot do is said as such."""
    try:
        return step(*arguments)
    except (AttributeError, TypeError) as error:
        raise BadInput(f"algorithm {type(algorithm).__name__} cannot run on abstract vectors ({error}): worst cases need rounds "
                       "made of sums, multiples and gradients, without roots or comparisons. Use ft.run, or a method without "
                       "them") from error


def _conditions(answer):
    answer = [] if answer is None else list(answer) if isinstance(answer, (list, tuple)) else [answer]
    for one in answer:
        if not isinstance(one, Condition):
            refuse("initial", one, "is no condition", "Return comparisons such as s.square(s.x - s.star) <= 1.")
    return answer


def setting_of(raw: Setting, clients=None) -> Setting:
    """The arguments of `worst_case`, as they came in `raw`, as a setting; raises BadInput for what has no meaning."""
    counts = None if raw.counts is None else tuple(
        listed(raw.counts, "counts", "is a list of ints >= 1, one per class", "Give counts."))
    kinds, joint = _by_kind(raw.classes)
    for what, value in (("clients", clients), ("rounds", raw.rounds), *(("counts", c) for c in counts or ())):
        if value is not None and not is_count(value) and not isinstance(value, Symbolic):
            refuse(what, value, "is an int >= 1", "Give a count.")
    if clients is not None:
        kinds = _one_per_client(kinds, clients)
    if not is_one_of(raw.start, ("init", "free")) and not callable(raw.start):
        refuse("start", raw.start, 'is "init", "free" or a function of the situation giving {field: value}', "Choose one.")
    if raw.noise is not None and fraction(raw.noise) < 0:
        refuse("noise", raw.noise, "a variance is not negative", "Give sigma^2 >= 0.")
    law = _without_memory(raw.algorithm, kinds, raw.weights, Full() if raw.law is None else raw.law)
    setting = replace(raw, classes=tuple(kinds), law=law, initial=tuple(raw.initial), counts=counts, joint=tuple(joint))
    if counts is not None:
        _check_counted(setting)
    return setting


def _by_kind(classes):
    """(classes of functions, conditions that tie them together) of what was given as one or in a list."""
    given = [classes] if isinstance(classes, (FunctionClass, Dissimilar)) else listed(
        classes, "classes", "is a class of functions, or a list of them", "Give ft.SmoothConvex(L, mu), for example.")
    kinds, joint = [c for c in given if isinstance(c, FunctionClass)], [c for c in given if isinstance(c, Dissimilar)]
    wrong = [c for c in given if not isinstance(c, (FunctionClass, Dissimilar))]
    if wrong or not kinds:
        refuse("classes", wrong[0] if wrong else given, "is no class of functions", "Give ft.SmoothConvex(L, mu), for example.")
    return kinds, joint


def _one_per_client(kinds, clients):
    if len(kinds) not in (1, clients):
        refuse("clients", clients, f"there are {len(kinds)} classes", "Give one class, or one per client.")
    if clients > LARGEST:
        raise TooLarge(f"{clients} listed clients need more than {LARGEST} abstract vectors: count identical clients (counts=)")
    return kinds * (clients // len(kinds))


def _without_memory(algorithm: Algorithm, kinds, weights, law: Law):
    """The law as the algorithm needs it; refused if a round depends on the rounds before."""
    gram = PairGram if getattr(algorithm, "personal", False) else Gram
    law = prepare(algorithm, gram(kinds, weights, size=1), law, None)
    if law.modes != 1:
        refuse("law", type(law).__name__, f"has {law.modes} modes: its rounds depend on the past", "Give a law without memory.")
    return law


def _check_counted(setting):
    """Refuse what identical clients that are counted, not listed, cannot have."""
    counts, kinds = setting.counts, setting.classes
    if len(counts) != len(kinds):
        refuse("counts", list(counts), f"one per class, so {len(kinds)}", "Give as many counts as classes.")
    if not isinstance(setting.law, Full):
        refuse("counts", list(counts), "identical clients are counted under full participation alone",
               "Use ft.Full(), or no counts.")
    if setting.weights is not None:
        refuse("weights", setting.weights, "counted clients weigh the same", "Leave weights out, or list the clients.")
    if setting.noise is not None:
        refuse("noise", setting.noise, "counted clients have no noise of their own", "Leave counts out.")
