"""Cohorts laid out client by client: rows where they belong, and answers as in plain arrays or none at all."""
import numpy as np
import pytest

from fltheory.core import placed
from fltheory.core.laws.draw import Draw
from fltheory.core.placed import Places, Unplaced

RNG = np.random.default_rng(4)
SOME = (RNG.random((6, 5)) < 0.5) * 1
SOME[0] = 0


def mask(present=SOME, blocks=(4, 2)):
    return Places(Draw(slice(None), present, 1 + 0 * present), present.shape[1], blocks)


@pytest.mark.parametrize(("n", "blocks"), [(40_000, [2]), (12_000, [1, 1, 1]), (2**15, [2]), (2**15 - 1, [2]), (1, [2])])
def test_every_row_stands_in_the_group_of_its_client(n, blocks):
    """Of more clients than 15 bits can number, too, or of as many in several blocks together."""
    who = np.array([[0, n - 1], [min(n - 1, 33_000), 5 % n], [n // 2, n - 1]])[:sum(blocks)]
    at = Places(Draw(who, 1 + 0 * who, 1 + 0 * who), n, blocks, repeats=True)
    rows = np.concatenate([np.arange(low, high) for _, low, high in at.groups])
    assert np.array_equal(rows, np.arange(who.size))
    for client, low, high in at.groups:
        assert (at.client[low:high] == client).all()
    assert np.array_equal(at.plain(at.client), who)
    assert np.array_equal(at.total(at.client), who.sum(1))


X = RNG.standard_normal((*SOME.shape, 3))
ANSWERED = {"there": lambda x, t: x * t, "twice": lambda x, t: t * x * 2, "half": lambda x, t: x * t / 2,
            "minus": lambda x, t: -(x * t), "square": lambda x, t: (x * t) ** 2, "nothing more": lambda x, t: 0 + x * t - 0,
            "both": lambda x, t: x * t - t * x / 3, "chosen": lambda x, t: (x > 0) * t}
UNKNOWN = {"all": lambda x, t: x, "power 0": lambda x, t: (x * t) ** 0, "quotient": lambda x, t: 2 / (t * x),
           "one more": lambda x, t: x * t + 1, "less": lambda x, t: 1 - t, "others": lambda x, t: x * t + x,
           "others first": lambda x, t: x - x * t, "who is away": lambda x, t: t == 0}


@pytest.mark.parametrize("fewest", [0, 10**9])
@pytest.mark.parametrize("made", ANSWERED.values(), ids=ANSWERED)
def test_sums_of_those_present_are_those_of_plain_arrays(made, fewest, monkeypatch):
    monkeypatch.setattr(placed, "FEWEST", fewest)
    at = mask()
    found = made(at.of(X), at.present[..., None])
    assert np.allclose(found.sum(-2), made(X, SOME[..., None]).sum(-2), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("made", UNKNOWN.values(), ids=UNKNOWN)
def test_a_sum_that_the_absent_are_part_of_is_no_answer(made):
    at = mask()
    with pytest.raises(Unplaced, match="the absent are part of"):
        made(at.of(X), at.present[..., None]).sum(-2)


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_sums_are_over_all_places(places):
    who = np.sort(np.random.default_rng(0).random((40, 8)).argsort(1)[:, :places], 1)
    at = Places(Draw(who, 1 + 0 * who, 1 + 0 * who), 8, [20, 20])
    assert not at.masked and np.array_equal(at.total(at.client), who.sum(1))
    x = np.random.default_rng(1).standard_normal((at.client.size, 3))
    assert (at.total(x) == at.plain(x).sum(1)).all()         # bit for bit
