"""Somebody else's round as a function of numbers: called, counted and checked, but never looked into."""
from __future__ import annotations

import itertools
import random
import sys

import numpy as np

from fltheory.blackbox.participants import caller
from fltheory.core.algorithms.base import advance
from fltheory.core.errors import BadInput, refuse
from fltheory.core.kinds import Algorithm
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE, is_torch
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.probe import Layout

EPS = {"float64": 2.2e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.8e-3}


class BlackBox:
    """The contract with the user's code.

    `run` makes rounds from a start and returns the models; `joint` makes one round of the whole state. Inputs and
    outputs are multiplied by `scale`, which lies below any clipping threshold once the checks have found one. depth: rounds
    from the start until every part of the state has acted on the model. call: how the code is called, where it is not
    round_fn(x, clients[, participants]).
    """

    def __init__(self, round_fn, n, d, state=None, reset=None, depth=1, call=None):
        if not callable(round_fn):
            refuse("round_fn", type(round_fn).__name__, "must be callable", "Give round(x, clients) -> x_new.")
        if reset is not None and not callable(reset):
            refuse("reset", type(reset).__name__, "must be callable", "Give a function that forgets all memories.")
        self._reset, self.n, self.d, self.depth = reset, n, d, depth
        self._round, self.takes_cohort, note = caller(round_fn, call)
        self.template = None if state is None else self._check_template(state)
        self.calls, self.dtypes, self.notes, self._instances = 0, set(), [note] if note else [], set()
        self.scale, self.single = 1.0, True

    def _check_template(self, state):
        if not isinstance(state, dict) or not state:
            refuse("state", type(state).__name__, "is a dict of arrays", 'For example {"x": zeros(d), "c": zeros(d)}.')
        out = {}
        for k, v in state.items():
            try:
                out[k] = np.array(to_float64(v))
            except (TypeError, ValueError):
                refuse(f"state[{k!r}]", type(v).__name__, "must be an array of numbers", "Give zeros of its shape.")
        if "x" not in out or out["x"].shape != (self.d,):
            refuse("state", {k: v.shape for k, v in out.items()}, f'has the model under "x", of shape ({self.d},)',
                   "Name the server model x.")
        return out

    @property
    def form(self) -> str:
        return "state" if self.template is not None else "reset" if self._reset is not None else "round"

    @property
    def size(self) -> int:
        return self.d if self.template is None else sum(v.size for v in self.template.values())

    @property
    def places(self) -> dict[str, slice]:
        """Where the parts of a joint state stand in the flattened one."""
        ends = itertools.accumulate(v.size for v in self.template.values())
        return {k: slice(end - v.size, end) for (k, v), end in zip(self.template.items(), ends, strict=True)}

    @property
    def precision(self) -> float:
        """Unit roundoff of the coarsest arithmetic seen."""
        coarsest = max((EPS.get(t, 2.2e-16) for t in self.dtypes), default=2.2e-16)
        return max(coarsest, EPS["float32"]) if self.single and self.calls else coarsest

    def fresh(self):
        """Forget all memories, where the code offers it."""
        if self._reset is not None:
            self._guard(self._reset, "reset()")

    def begin(self, x):
        """Forget all memories; what the first round is called with at the model x, the joint state where there is one."""
        self.fresh()
        return x if self.template is None else {k: v.copy() for k, v in self.template.items()} | {"x": x}

    def _guard(self, act, what):
        try:
            return act()
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(f"round_fn: {what} (call {self.calls}) raised {type(error).__name__}: {error}. "
                           "The code must run on the clients it is given; see the contract in ft.identify.") from error

    def call(self, value, instance, cohort=None):
        """One call of the user's code, checked: value is a model (d,) or a dict of arrays."""
        self.calls += 1
        argument = {k: v.copy() for k, v in value.items()} if isinstance(value, dict) else value.copy()
        extra = () if not self.takes_cohort else (list(range(self.n)) if cohort is None else [int(i) for i in cohort],)
        clients, where = list(instance.clients), "round_fn(" + ("state" if isinstance(value, dict) else "x")
        where += ", clients" + (f", cohort={extra[0]})" if extra else ")")
        out = self._guard(lambda: self._round(argument, clients, *extra), where)
        if id(instance) not in self._instances:
            self._instances.add(id(instance))
            instance.keep = self._instances   # an id is only unique among objects that live
            if instance.spoilt():
                self._note("the code writes into the clients' data")
        if isinstance(value, dict):
            if not isinstance(out, dict) or not set(value) <= set(out):
                refuse("round_fn", type(out).__name__ if not isinstance(out, dict) else sorted(out),
                       f"must return a dict with {sorted(value)}", "Return the whole state after the round.")
            new = {k: self._number(out[k], v.shape, f"{where}[{k!r}]") for k, v in value.items()}
            touched = any(not np.array_equal(argument.get(k), v) for k, v in value.items())
        else:
            new = self._number(out, (self.d,), where)
            touched = not np.array_equal(argument, value)
        if touched:
            self._note("the code writes into its argument: the caller's model changes under its hands")
        return new

    def _note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def _number(self, out, shape, where):
        try:
            array = to_float64(out)
        except (TypeError, ValueError):
            refuse(where, type(out).__name__, "must return numbers", "Return a numpy array or a torch tensor.")
        if array.shape != shape:
            refuse(f"{where}.shape", array.shape, f"the round must return shape {shape}", "Return the new model.")
        if not np.isfinite(array).all():
            refuse(where, array.tolist(), f"the output of call {self.calls} is not finite",
                   "Check the code for a division by zero or an overflow.")
        self.dtypes.add(str(out.dtype).removeprefix("torch.") if hasattr(out, "dtype") else "float64")
        with np.errstate(over="ignore"):
            self.single = self.single and bool(np.array_equal(array.astype(np.float32).astype(np.float64), array))
        return array

    # ---- rounds in units of `scale` ------------------------------------------------------------------------
    def run(self, instance, x, schedule=(None,)):
        """Models (R, d) of the rounds after a fresh start at x (d,); schedule: one cohort (None: all) per round.

        The instance must have minimisers of size `scale` too (or 0) to be scaled along.
        """
        value, out = self.begin(self.scale * np.asarray(x, dtype=float)), []
        for cohort in schedule:
            value = self.call(value, instance, cohort)
            out.append((value["x"] if isinstance(value, dict) else value) / self.scale)
        return np.stack(out)

    def first(self, instance, x, cohort=None):
        """The model (d,) after one round."""
        return self.run(instance, x, (cohort,))[0]

    def joint(self, instance, z, cohort=None):
        """One round of the flattened state (D,)."""
        value = {k: self.scale * z[place].reshape(self.template[k].shape) for k, place in self.places.items()}
        new = self.call(value, instance, cohort)
        return np.concatenate([new[k].reshape(-1) for k in self.template]) / self.scale


class Reference:
    """An algorithm behind the same two methods, all starts at once. alike: every client counts alike, in the model and in the
    memories, whatever its weight; ignoring: everybody takes part, whatever the cohort."""

    scale = 1.0

    def __init__(self, algorithm: Algorithm, n, d, steps=None, alike=False, ignoring=False):
        self.algorithm, self.n, self.d, self.alike, self.ignoring = algorithm, n, d, alike, ignoring
        self._float, self.steps_given = algorithm.to(FLOAT), steps
        steps = algorithm.steps if steps is None else steps
        if steps is None:
            refuse("steps", None, "the reference needs local steps", "Give steps= to the algorithm or the law.")
        if isinstance(steps, RandomSteps):
            steps = steps.outcomes(n)[0][1]
        if isinstance(steps, tuple) and len(steps) != n:
            refuse("steps", steps, f"one per client, so {n} of them", "Give an int for a common number.")
        self.steps = np.broadcast_to(np.array(steps), (n,))
        self.tau = tuple(int(k) for k in self.steps)

    def like(self, algorithm: Algorithm):
        """Another algorithm as a reference of the same size; its steps are its own."""
        return Reference(algorithm, self.n, self.d, alike=self.alike, ignoring=self.ignoring)

    def counting_alike(self):
        """The same reference without the data weights."""
        return Reference(self.algorithm, self.n, self.d, self.steps_given, True, self.ignoring)

    def ignoring_cohorts(self):
        """The same reference with everybody in every round."""
        return Reference(self.algorithm, self.n, self.d, self.steps_given, self.alike, True)

    def _problem(self, instance):
        return instance.problem.surrogate(None) if self.alike else instance.problem

    def draw(self, cohort=None):
        if cohort is None or self.ignoring:
            return Draw(EVERYONE, np.ones(self.n, dtype=np.int64), self.steps)
        who = np.array(list(cohort), dtype=np.int64)
        if len(who) and len(set(who.tolist())) < len(who):
            return Draw(who, np.ones(len(who), dtype=np.int64), self.steps[who])
        present = np.zeros(self.n, dtype=np.int64)
        present[who] = 1
        return Draw(EVERYONE, present, self.steps)

    def follows(self, instance) -> bool:
        """Whether a start at another model changes other parts of the state too, such as the clients' own models."""
        at = [self._float.init(self._problem(instance), np.full(self.d, v)) for v in (0.0, 1.0)]
        return any(not np.array_equal(a, b) for name, a, b in zip(at[0]._fields, *at, strict=True) if name != "x")

    def run(self, instance, x, schedule=(None,), draws=None):
        """Models (R, ..., d) from starts x (..., d)."""
        problem = self._problem(instance)
        state, out = self._float.init(problem, np.asarray(x, dtype=float)), []
        for draw in draws or [self.draw(c) for c in schedule]:
            state = advance(self._float, problem, state, draw)
            out.append(self._float.model(state))
        return np.stack([np.broadcast_to(v, np.shape(x)) for v in out])

    def first(self, instance, x, cohort=None):
        return self.run(instance, x, (cohort,))[0]

    def layout(self, instance):
        return Layout.of(self._float.init(self._problem(instance), np.zeros(self.d)))

    def joint(self, instance, z, cohort=None):
        lay = self.layout(instance)
        out = advance(self._float, self._problem(instance), lay.unflatten(np.asarray(z, dtype=float)), self.draw(cohort))
        return lay.flatten(out)


def to_float64(value):
    """A numpy float64 array of any number-like array, torch ones included."""
    if is_torch(value):
        value = value.detach().cpu().double().numpy()
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "fiu":
        raise TypeError(array.dtype)
    return array.astype(np.float64)


class seeded:
    """The global random generators at a fixed seed inside the block, as they were after it."""

    def __init__(self, seed):
        self.seed = seed

    def __enter__(self):
        self._before = (random.getstate(), np.random.get_state())
        torch = sys.modules.get("torch")
        self._torch = None if torch is None else torch.random.get_rng_state()
        random.seed(self.seed)
        np.random.seed(self.seed)
        if torch is not None:
            torch.random.default_generator.manual_seed(self.seed)

    def __exit__(self, *error):
        random.setstate(self._before[0])
        np.random.set_state(self._before[1])
        if self._torch is not None:
            sys.modules["torch"].random.set_rng_state(self._torch)
