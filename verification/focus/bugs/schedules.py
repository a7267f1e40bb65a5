"""Wrong variants for schedules with bounded gaps: classes that are larger than stated."""
from fltheory.schedules.windows import Blocks, Sliding


def one_round_longer(windows):
    """Clients may stay away one round longer than stated."""
    return type(windows)(windows.length + 1, windows.empty)


def disjoint_blocks(windows):
    """The windows are disjoint blocks, so that a client may stay away for almost two of them."""
    return Blocks(windows.length, windows.empty) if isinstance(windows, Sliding) else None


one_round_longer.of = disjoint_blocks.of = "windows"
