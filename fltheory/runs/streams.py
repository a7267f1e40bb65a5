"""Random streams keyed by what they are for, not by when they are drawn.

A stream is a seed and a path of labels (client, round, replicate block, ...).  Its numbers depend on these
alone, so results do not change with call order, chunking, number of workers or device.
"""

import hashlib
import threading

import numpy as np

from fltheory.runs.normals import Filler

# Part of every key: raise it when the encoding below changes, so that no old stream is silently another.
_VERSION = b"fltheory.stream.1"
_WORDS = 4   # of one counter of Philox


def _is_int(x):
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _plain(label):
    """numpy ints and str subclasses as plain ones, so that equal labels have one encoding."""
    if isinstance(label, str):
        return str.__str__(label)
    if not _is_int(label):
        raise TypeError(f"label is {label!r}; it must be an int or a str, not {type(label).__name__}; convert it")
    return int(label)


def _encode(item):
    """Type tag, length and payload: no two sequences of items have the same concatenation."""
    tag, payload = (b"i", format(item, "x").encode()) if isinstance(item, int) else (b"s", item.encode())
    return tag + len(payload).to_bytes(8, "big") + payload


class Stream:
    """The random stream of (seed, labels).

    seed is an int >= 0 of any size, each label an int of any sign or a str; 1 and "1" are different labels,
    order matters, and Stream(s, a).child(b) is Stream(s, a, b).  Raises ValueError for a negative seed,
    TypeError for a bool, a float or any other type.
    """

    __slots__ = ("_encoded", "labels", "seed")

    def __init__(self, seed, *labels):
        if not _is_int(seed):
            raise TypeError(f"seed is {seed!r}; it must be an int, not a {type(seed).__name__}; pass an int")
        if seed < 0:
            raise ValueError(f"seed is {seed}; it must be at least 0; pass an int >= 0")
        self.seed, self.labels = int(seed), tuple(map(_plain, labels))
        self._encoded = _VERSION + b"".join(map(_encode, (self.seed, *self.labels)))

    def __repr__(self):
        return f"Stream({', '.join(map(repr, (self.seed, *self.labels)))})"

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.seed, self.labels) == (other.seed, other.labels)

    def __hash__(self):
        return hash((self.seed, self.labels))

    def child(self, *labels):
        """The stream with these labels appended, independent of this one.  Raises TypeError as `Stream`."""
        new = object.__new__(Stream)
        labels = tuple(map(_plain, labels))
        new.seed, new.labels, new._encoded = self.seed, self.labels + labels, self._encoded + b"".join(map(_encode, labels))
        return new

    def key(self):
        """The 128-bit Philox key as 16 bytes."""
        return hashlib.blake2b(self._encoded, digest_size=16).digest()

    def generator(self):
        """A fresh numpy Generator on Philox at counter 0; two calls give the same numbers.

        The raw bits are fixed for ever; numpy may change a distribution method between its versions.
        """
        key = np.frombuffer(self.key(), dtype="<u8").astype(np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    def random(self, shape):
        """`generator().random(shape)`, without the cost of a new generator."""
        return _rekeyed(self.key()).random(shape)

    def standard_normal(self, shape, scale=1.0):
        """scale times normal numbers (shape) made of the generator's raw words by `fltheory.runs.normals`: not the numbers of
        numpy's own method, but the same with every version of it, and on every device."""
        shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
        out = np.empty(shape)
        standard_normals([self], [out.size], out.reshape(-1), scale)
        return out


def standard_normals(streams, sizes, out, scale=1.0, begin=0):
    """Write scale times normal numbers into `out`: of sizes[k] numbers of each stream, one after the other, those from `begin` on.
    They are those of `Stream.standard_normal`, in less time than one by one where they are few. Raises ValueError where `out`
    reaches beyond the last of them."""
    filler, end = Filler(out, scale), begin + out.size
    if begin < 0 or end > sum(sizes):
        raise ValueError(f"numbers {begin} to {end} are asked of streams of {sum(sizes)}; ask for numbers that they have")
    for stream, size in zip(streams, sizes, strict=True):
        first, last = max(begin, 0), min(end, size)
        if first < last:
            word, second = divmod(first, 2)
            bits = _rekeyed(stream.key(), word // _WORDS).bit_generator
            if word % _WORDS:
                bits.random_raw(word % _WORDS)
            if second:
                filler.second(bits)
            filler.add(bits, last - first - second)
        begin, end = begin - size, end - size
    filler.finish()


class _Shared(threading.local):
    """One generator per thread, set to a stream's first number whenever it is used: a new one would ask the system for
    entropy that is then thrown away."""

    def __init__(self):
        self.bits = np.random.Philox(key=0)
        self.generator = np.random.Generator(self.bits)
        self.first = self.bits.state


_SHARED = _Shared()


def _rekeyed(key, counter=0):
    state = _SHARED.first
    state["state"]["key"] = np.frombuffer(key, dtype="<u8").astype(np.uint64)
    state["state"]["counter"][0] = counter
    _SHARED.bits.state = state
    return _SHARED.generator
