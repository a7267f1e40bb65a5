"""What `run` and `record` have in common before and around their rounds: phases, devices, blocks of replicates, a bar."""
from __future__ import annotations

import functools
import platform
from dataclasses import dataclass
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.records import count
from fltheory.runs.checkpoint import run_key
from fltheory.runs.draws import BLOCK
from fltheory.runs.options import RunOptions
from fltheory.runs.streams import Stream

MOST_ROUNDS = 10**7


@dataclass(frozen=True)
class Setting:
    """What a run is made of, checked: its phases [(algorithm, rounds), ..]; of each, the algorithm in the arithmetic `domain` of
    the run, and its law; the problem as it was given (plain), and in that arithmetic; the models at the start; the metrics that
    are recorded. chunk: blocks of replicates that are stepped together."""

    options: RunOptions
    phases: list
    algorithms: list
    laws: list
    plain: Problem
    problem: Problem
    domain: Any
    device: str
    start: np.ndarray
    measures: dict
    chunk: int

    @functools.cached_property
    def total(self) -> int:
        return sum(k for _, k in self.phases)

    @property
    def chunks(self) -> int:
        return -(-self.options.replicates // (BLOCK * self.chunk))

    def blocks(self, c) -> tuple:
        """(streams, sizes) of the blocks of a chunk."""
        span = self.span(c)
        begins = range(span.start, span.stop, BLOCK)
        return [Stream(self.options.seed, "block", k // BLOCK) for k in begins], [min(BLOCK, span.stop - k) for k in begins]

    def span(self, c) -> slice:
        """The replicates of a chunk."""
        size = self.chunk * BLOCK
        return slice(c * size, min((c + 1) * size, self.options.replicates))

    def key(self, *rest) -> str | None:
        """What a snapshot belongs to, where one is made. rest: what else its numbers depend on."""
        options = self.options
        if options.checkpoint is None:
            return None
        return run_key(self.phases, self.plain, self.laws, options.metrics or {}, sorted(self.measures), options.replicates,
                       options.seed, self.device, self.start, self.chunk, *rest)


def phases_of(algorithm: Algorithm | list, rounds, what="rounds"):
    phases = list(algorithm) if isinstance(algorithm, (list, tuple)) else [(algorithm, rounds)]
    if isinstance(algorithm, (list, tuple)) and rounds is not None:
        refuse(what, rounds, f"phases carry their own numbers of {what}", f"Leave {what} out.")
    if not phases:
        refuse("phases", phases, "a run has at least one phase", f"List (algorithm, {what}) pairs.")
    for entry in phases:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            refuse("phases", entry, f"a phase is a pair (algorithm, {what})", f"List (algorithm, {what}) pairs.")
    number = count(1, MOST_ROUNDS, f"a run has at least one {what[:-1]} (and at most {MOST_ROUNDS})")
    return [(a, number(k, what)) for a, k in phases]


def check_carried(algorithms, problem: Problem, x0):
    """Refuse a phase whose state has other parts than that of the phase before it."""
    if len(set(map(type, algorithms))) == 1:
        return
    states = [algorithm.init(problem, x0) for algorithm in algorithms]
    for before, state, algorithm in zip(states, states[1:], algorithms[1:], strict=False):
        if state._fields != before._fields:
            refuse("phases", type(algorithm).__name__, f"its state is {', '.join(state._fields)}, and the phase before it carries "
                   f"{', '.join(before._fields)} over", "Let phases be one method with other numbers.")


def device_name(device):
    if isinstance(device, str) and device == "cpu":   # whose runs may need no torch, which takes longer to load than a small run
        return device
    import torch
    try:
        name = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        refuse("device", device, "is no torch device", 'Use "cpu" or "cuda".')
    if name.type not in ("cpu", "cuda"):
        refuse("device", str(device), "runs are made on a CPU or a CUDA device", 'Use "cpu" or "cuda".')
    if name.type == "cuda" and not torch.cuda.is_available():
        refuse("device", str(device), "no CUDA device is available here", 'Use device="cpu".')
    return str(name)


def schedule(phases, begin, *of_phases):
    """(number of a round from `begin` on, what each list holds of its phase)."""
    t = 0
    for (_, k), *its in zip(phases, *of_phases, strict=True):
        for number in range(max(t, begin), t + k):
            yield number, *its
        t += k


def provenance(device="cpu") -> dict:
    """Versions and device that a recorded result depends on."""
    name = platform.machine()
    if device.startswith("cuda"):
        import torch
        name = torch.cuda.get_device_name()
    return {"python": platform.python_version(), "torch": version("torch"), "numpy": np.__version__, "device": name}


def progress_bar(progress, total, begin, unit="round"):
    """What is told of every step, from step `begin` on: a bar, or nobody."""
    if not progress:
        return SimpleNamespace(update=lambda steps: None, close=lambda: None)
    from tqdm.auto import tqdm
    return tqdm(total=total, initial=begin, unit=unit)
