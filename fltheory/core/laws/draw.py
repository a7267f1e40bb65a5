"""One round's randomness as plain data: replayable, enumerable, movable between devices."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Array, Steps, Who
from fltheory.core.numbers.arrays import EVERYONE, arange, is_torch, take, to_numpy
from fltheory.core.numbers.scalars import entries, is_count
from fltheory.core.problems.plain import Rows

MOST = 10_000_000  # clients of one draw
MASKS = 100_000  # entries of the masks of all local steps up to which they are made together


class Draw(NamedTuple):
    """Who takes part in a round, with how many local steps and which samples.

    who: index array (..., m) of the client at each place (repeats are fresh runs), or EVERYONE
    present: (..., m) integer 0/1; with `who` EVERYONE it is the participation mask
    steps: (..., m) integer local steps
    xi: None (exact gradients), or slots of samples: `xi_at(k)` is what local step k gets
    extra: what only the law knows (ages, coins, paces, `happens`: 0 where an empty round is skipped)
    """

    who: Any
    present: Any
    steps: Any
    xi: Any = None
    extra: Any = None

    def local_steps(self) -> Iterator[tuple[int, Array]]:
        """Yield (k, on) for k = 0..max steps - 1; on (..., m, 1) is 1 while a client still works."""
        count = int(self.steps.max())
        if is_torch(self.steps) and 0 < count * self.steps.numel() <= MASKS:  # one operation costs what its overhead costs
            turns = arange(count, self.steps)[(slice(None), *(None,) * self.steps.ndim)]
            yield from enumerate(((self.steps[None] > turns) * 1)[..., None].unbind(0))
            return
        for k in range(count):
            on = (self.steps > k) * 1
            yield k, on[..., None]

    def xi_at(self, k: int) -> Any:
        """The sample of gradient slot k, None if gradients are exact."""
        return None if self.xi is None else self.xi(k)

    def choose(self, who: Who, steps: Steps) -> Draw:
        """The draw of a cohort who (..., m) that the state itself has chosen, each with its own client's samples.

        For asynchronous rounds; self must hold a sample for every client (`who` EVERYONE), or be asked for theirs alone (`Alone`).
        steps: (..., m).
        """
        def of_cohort(k):
            if isinstance(self.xi, Alone):
                return self.xi.of(k, who)
            sample = self.xi_at(k)
            if isinstance(sample, Rows):
                return Rows(take(sample.index, who))
            return None if sample is None else take(sample, who)
        return Draw(who, 0 * who + 1, steps, None if self.xi is None else of_cohort, self.extra)

    def map(self, move: Callable) -> Draw:
        """Every array passed through `move` (to a device, to numpy)."""
        extra = None if self.extra is None else {k: move(v) if hasattr(v, "shape") else v
                                                 for k, v in self.extra.items()}
        who = self.who if isinstance(self.who, slice) else move(self.who)
        return Draw(who, move(self.present), move(self.steps), self.xi, extra)


class Slots:
    """Gradient samples by slot, made on demand; remembers how many slots a round asked for.

    Slots are discovered, never declared: a round that takes one more gradient simply asks for one more.
    """

    def __init__(self, make=None):
        self._make, self._samples = make, {}

    def __call__(self, k):
        if k not in self._samples:
            self._samples[k] = None if self._make is None else self._make(k)
        return self._samples[k]

    @property
    def count(self) -> int:
        return max(self._samples, default=-1) + 1

    def made(self):
        """The samples handed out so far, slot -> sample (recorded for replays)."""
        return dict(self._samples)


class Alone:
    """Samples of those clients alone whom the state chooses: of(k, who) is what local step k of the cohort who gets. They are made
    afresh whenever they are asked for, from a stream of their own, and so the same."""

    def __init__(self, make):
        self.of = make


def everyone(n: int, steps: Steps, present: Array = None) -> Draw:
    """A draw over all clients in order. n >= 1; steps: an int >= 1 or (n,) of them; present (..., n) 0/1, default all ones.

    Raises BadInput for other counts and steps, TooLarge for more than 10 million clients.
    """
    if not is_count(n):
        refuse("n", n, "is an int >= 1", "Give the number of clients.")
    if n > MOST:
        raise TooLarge(f"{n} clients in one draw, above {MOST}: take fewer")
    if not (isinstance(steps, np.ndarray) and steps.dtype.kind == "i"):
        steps = entries(steps, "steps")
        if steps.shape not in ((), (n,)) or not all(is_count(v) for v in steps.reshape(-1)):
            refuse("steps", steps, f"is an int >= 1, or one for each of the {n} clients", "Give local steps.")
    steps = np.broadcast_to(np.asarray(steps, dtype=np.int64), (n,) if present is None else np.shape(present))
    return Draw(EVERYONE, np.ones(n, dtype=np.int64) if present is None else present, steps)


def to_device(draw: Draw, device) -> Draw:
    """The draw as torch tensors."""
    import torch
    return draw.map(lambda a: a if is_torch(a) else torch.as_tensor(np.array(to_numpy(a)), device=device))
