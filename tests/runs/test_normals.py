"""Normal numbers of raw words: the logarithm against mpmath, the law's moments and tails."""
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from fltheory.runs.normals import _ODD, _SINE, LARGEST, TILE, Filler, half_logarithm, transformed
from fltheory.runs.normals import _Room as Room
from fltheory.runs.streams import Stream, standard_normals


def of_words(words, scale=1.0):
    words, out = np.array(words, dtype=np.int64), np.empty(2 * len(words))
    for k in range(0, len(words), TILE):
        transformed(words[k:k + TILE], out[2 * k:2 * (k + TILE)], scale, AT)
    return out


AT = Room()


def ulps(x):
    """The largest distance, in units of the last place, from -log(x / 2^63)/2 in 120 bits."""
    x = np.asarray(x, dtype=float)
    found, worst = x.copy(), 0.0
    half_logarithm(found)
    with mpmath.workprec(120):
        for a, b in zip(x.tolist(), found.tolist(), strict=True):
            exact = -mpmath.log(mpmath.mpf(a) / 2**63) / 2
            assert (b == 0) == (exact == 0)
            worst = worst if exact == 0 else max(worst, float(abs(b - exact) / math.ulp(float(exact))))
    return worst


@pytest.mark.parametrize("make", [
    lambda u: u * 2.0**63, lambda u: 2.0 ** (63 * u), lambda u: 2.0**63 * (1 - 2.0 ** (-53 * u)),
    lambda u: 2.0**63 * (1 - u / 32), lambda u: 2.0**63 * (1 - 1 / 128 - u / 256)])
def test_the_logarithm_is_within_two_ulp(make):
    assert ulps(make(np.random.default_rng(1).random(3000))) <= 2


def test_the_logarithm_at_the_ends_and_beside_every_entry_of_its_table():
    whole = 2.0 ** np.arange(64)
    grid = np.concatenate([2.0**e * (1 + np.arange(0.5, 64) / 64) for e in (0, 1, 31, 61, 62)])   # where the entry changes
    points = np.concatenate([whole, np.nextafter(whole[1:], 0), np.nextafter(whole[:-1], 2.0**63), grid, np.nextafter(grid, 0)])
    assert ulps(points) <= 2


def test_the_sine_is_as_close_as_it_says():
    """2 sin(pi/4 v) for v on [-1, 1], in 120 bits: the coefficients as they stand, and numbers made with them."""
    with mpmath.workprec(120):
        c = [mpmath.mpf(x) for x in _SINE[::-1]]
        for k in range(-200, 201):
            v = mpmath.mpf(k) / 200 * 2**31
            made = sum(a * v ** (2 * j + 1) for j, a in enumerate(c))
            assert abs(made - 2 * mpmath.sin(mpmath.pi / 4 * k / 200)) < 1.5e-14, k
        words = np.random.default_rng(3).integers(-2**63, 2**63 - 1, 500) | 1
        for word, z in zip(words.tolist(), of_words(words).reshape(-1, 2), strict=True):
            angle = mpmath.pi / 2 * (((word * _ODD + 2**31) % 2**32) - 2**31) / 2**31
            r = (-1 if word < 0 else 1) * mpmath.sqrt(-2 * mpmath.log(abs(mpmath.mpf(word)) / 2**63))
            assert abs(z[0] - r * mpmath.cos(angle)) < 1e-13, word
            assert abs(z[1] - abs(r) * mpmath.sin(angle)) < 1e-13, word


def test_the_law():
    size = 800_000
    z = Stream(1, "law of normals").standard_normal(size)
    for order, moment in enumerate((1, 0, 1, 0, 3, 0, 15, 0, 105)):
        variance = math.prod(range(1, 2 * order, 2)) - moment**2
        assert abs((z**order).mean() - moment) <= 4.5 * math.sqrt(variance / size) + 1e-15, order
    assert stats.kstest(z, "norm").pvalue > 1e-4
    for level in (1, 2, 3, 4, 5):
        for side in (z > level, z < -level):
            expected = size * stats.norm.sf(level)
            assert stats.poisson.cdf(side.sum(), expected) > 1e-5 and stats.poisson.sf(side.sum() - 1, expected) > 1e-5
    a, b = z[::2], z[1::2]
    assert stats.kstest(a, "norm").pvalue > 1e-4 and stats.kstest(b, "norm").pvalue > 1e-4
    for f in (lambda v: v, np.abs, lambda v: v * v, lambda v: v > 2):
        for g in (lambda v: v, np.abs, lambda v: v * v, lambda v: v > 2):
            for c, d in ((a, b), (z[:-2], z[2:]), (z[:-1], z[1:])):
                assert abs(np.corrcoef(f(c), g(d))[0, 1]) < 5 / math.sqrt(len(c))
    assert stats.kstest(np.arctan2(a, b), "uniform", (-math.pi, 2 * math.pi)).pvalue > 1e-4
    assert stats.kstest((a * a + b * b) / 2, "expon").pvalue > 1e-4


@pytest.mark.parametrize(("level", "bits", "close"), [(6.8, 32, .06), (7, 32, .06), (8, 18, .03)])
def test_far_tails(level, bits, close):
    """Only words whose upper bits are 0 come so far; odd ones below 2^bits, of either sign, have |word|/2^63 < 2^(bits - 63)."""
    assert math.exp(-level**2 / 2) < 2.0 ** (bits - 63)
    words = np.arange(1, 2**18, 2) if bits == 18 else np.random.default_rng(2).integers(0, 2**(bits - 1), 2**19) * 2 + 1
    z = of_words(np.concatenate([words, -words]))
    expected = stats.norm.sf(level) * 2.0 ** (63 - bits)
    for values in (z[::2], z[1::2]):
        for side in (values > level, values < -level):
            assert side.mean() == pytest.approx(expected, rel=close), (level, side.sum())


def test_the_largest_and_the_smallest():
    z = of_words([0, 1, -1, 2**63 - 1, -2**63, -2**63 + 1, 2, 3])
    assert np.isfinite(z).all() and np.abs(z).max() <= LARGEST == pytest.approx(9.345, abs=1e-3)
    assert np.hypot(z[0], z[1]) == pytest.approx(LARGEST)   # a word 0 counts as 1
    assert (z[6:8] == 0).all()                              # |word| rounds to 2^63: the radius is 0
    assert np.allclose(of_words([0, 5], 1e200), 1e200 * of_words([0, 5]), rtol=1e-15, atol=0)
    assert (of_words([0, 5], 0.0) == 0).all()


@pytest.mark.parametrize("sizes", [[1], [7], [0, 3, 4], [2 * TILE], [2 * TILE + 1, 5], [100] * 500, [2 * TILE - 2, 4, 1, 6]])
def test_streams_together_and_one_by_one(sizes):
    streams = [Stream(2, k) for k in range(len(sizes))]
    out = np.full(sum(sizes), np.nan)
    standard_normals(streams, sizes, out, 2.5)
    assert np.array_equal(out, np.concatenate([s.standard_normal(k, 2.5) for s, k in zip(streams, sizes, strict=True)]))
    longer = [s.standard_normal(k + 11, 2.5)[:k] for s, k in zip(streams, sizes, strict=True)]   # more are the same and others
    assert np.array_equal(out, np.concatenate(longer))


@pytest.mark.parametrize("sizes", [[40], [7, 0, 33], [1, 1, 1], [2 * TILE + 3, 9]])
def test_any_part_of_streams_together(sizes):
    """From any number on: at the first and the second of a word, and at every word of a counter."""
    streams, whole = [Stream(3, k) for k in range(len(sizes))], np.empty(sum(sizes))
    standard_normals(streams, sizes, whole, 2.5)
    ends = sorted({k for k in range(-4, 48) if 0 <= k <= whole.size} | {max(whole.size - 11, 0), whole.size})
    for low in ends:
        for high in (k for k in ends if k >= low):
            out = np.full(high - low, np.nan)
            standard_normals(streams, sizes, out, 2.5, low)
            assert np.array_equal(out, whole[low:high]), (low, high)
    assert np.array_equal(streams[0].random(5), streams[0].generator().random(5))   # others still begin at their first number
    for size, low in ((1, whole.size), (whole.size + 1, 0), (2, -1)):
        with pytest.raises(ValueError, match=f"of streams of {whole.size}"):
            standard_normals(streams, sizes, np.empty(size), 2.5, low)


def test_a_stream_begins_at_the_first_number_of_its_words():
    stream, out, pair = Stream(3, 1), np.empty(7), np.empty(3)
    filler = Filler(out)
    filler.add(stream.generator().bit_generator, 7)
    filler.finish()
    assert np.array_equal(stream.standard_normal(7), out)
    filler = Filler(pair)   # numbers that wait are written before a second one
    filler.add(stream.generator().bit_generator, 2)
    filler.second(stream.generator().bit_generator)
    filler.finish()
    assert np.array_equal(pair, [out[0], out[1], out[1]])
