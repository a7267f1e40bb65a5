"""Cohorts laid out client by client: rows where they belong, and answers as in plain arrays or none at all."""
import numpy as np
import pytest

from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import put
from fltheory.runs import lazy_rows as deferred
from fltheory.runs.client_major import Placed, Places, Unplaced

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
    monkeypatch.setattr(deferred, "FEWEST", fewest)
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


def counted(at, asked=None):
    """Rows 0, 1, 2 .. in two columns, made when asked for; the bounds asked for are noted."""
    def fill(low, high, out):
        if asked is not None:
            asked.append((low, high))
        out[:] = np.arange(low, high)[:, None] + (0, 1000)
    return Placed.deferred(at, 2, fill, spare=True)


def cohorts(batch=30, places=3, n=5):
    who = np.sort(np.random.default_rng(0).random((batch, n)).argsort(1)[:, :places], 1)
    return Places(Draw(who, 1 + 0 * who, 1 + 0 * who), n, [batch])


@pytest.mark.parametrize("grouped", [1, 40, 10**6])
def test_tiles_are_whole_groups_and_all_of_them(grouped, monkeypatch):
    monkeypatch.setattr(deferred, "FEWEST", 0)
    monkeypatch.setattr(deferred, "GROUPED", grouped)
    at, asked = cohorts(), []
    x = counted(at, asked)
    assert not asked and np.array_equal(x.rows[:, 0], np.arange(at.size))
    assert asked == at.tiles(2) and {high for _, high in asked} <= {high for *_, high in at.groups}
    assert [low for low, _ in asked] == [0, *(high for _, high in asked[:-1])] and asked[-1][1] == at.size
    assert all((high - low) * 2 >= grouped for low, high in asked[:-1]) and len(asked) == {1: 5, 40: 3, 10**6: 1}[grouped]


def test_products_by_client_of_tiles(monkeypatch):
    """Of points that are deferred themselves, with samples that are, too; and of one replicate alone, row by row."""
    monkeypatch.setattr(deferred, "FEWEST", 0)
    monkeypatch.setattr(deferred, "GROUPED", 1)
    at = cohorts()

    def times(client, points, out):
        np.multiply(points, client, out=out)
    made = at.each(counted(at) * 2, times, 2, counted(at))
    k = np.arange(at.size)[:, None] + (0, 1000)
    wanted = at.client[:, None] * (k * 2) + k
    for replicate in range(at.batch):
        assert np.array_equal(made.of_replicate(replicate), at.plain(wanted)[replicate])
    assert np.array_equal(made.rows, wanted)
    assert np.array_equal(made.of_replicate(3), at.plain(wanted)[3])       # and of rows that are there


def test_what_is_held_elsewhere_is_kept_and_spare_samples_are_made_again(monkeypatch):
    monkeypatch.setattr(deferred, "FEWEST", 0)
    monkeypatch.setattr(deferred, "GROUPED", 10**9)
    at, asked, again = cohorts(), [], []
    samples = counted(at, asked)
    kept = at.each(samples, lambda i, points, out: again.append(i) or np.copyto(out, points), 2)
    total = kept + kept * 3 + samples
    assert np.array_equal(total.rows[:, 0], 5 * np.arange(at.size)) and len(asked) == 1 and len(again) == len(at.groups)
    assert kept.todo is None and samples.todo is not None
    assert np.array_equal((kept + samples).rows[:, 0], 2 * np.arange(at.size)) and len(asked) == 2 and len(again) == len(at.groups)


def test_long_chains_are_made_in_parts(monkeypatch):
    """Deeper than functions may call one another, and without all of their tiles at a time."""
    monkeypatch.setattr(deferred, "FEWEST", 0)
    at = cohorts()
    y, x = counted(at), 0 + counted(at)
    for _ in range(600):
        y = y - at.each(y, lambda i, points, out: np.multiply(points, 1 / 4, out=out), 2) * 2
        assert y.depth <= deferred.DEEPEST + 3
    for _ in range(3000):
        x = x + 1
    assert (y.rows == counted(at).rows * 0.5**600).all() and (x.rows == counted(at).rows + 3000).all()


def test_once_what_there_is_needs_no_pass():
    at = cohorts()
    x = at.of(np.ones((30, 3, 4)))
    assert x * at.present[..., None] is x and at.present[..., None] * x is x
    whole = at.of(np.ones((30, 3, 4), dtype=int))
    assert (at.present[..., None] * 1.0 * whole).dtype == float      # of whole numbers it makes floats
    some = mask()
    y = some.of(X)
    assert (y * some.present[..., None]).absent and not y.absent     # a mask says more than it multiplies by


@pytest.mark.parametrize("mine", [False, True])
def test_memories_are_written_over_where_that_is_allowed(mine):
    at = cohorts()
    a = np.random.default_rng(2).standard_normal((30, 5, 2))
    old, new = a.copy(), Placed(np.arange(2.0 * at.size).reshape(-1, 2), at)
    if mine:
        at.writable = [a]
    out = at.put(a, new, at.present)
    assert (out is a) == at.overwritten == mine and at.memories[0] is out
    wanted = old.copy()
    np.put_along_axis(wanted, at.draw.who[..., None], at.plain(new.rows), axis=-2)
    assert np.array_equal(out, wanted) and np.array_equal(a, wanted if mine else old)


def test_deferred_differences_and_quotients_are_not_turned_round(monkeypatch):
    monkeypatch.setattr(deferred, "FEWEST", 0)
    at = cohorts()
    x, who = at.of(np.random.default_rng(0).standard_normal((30, 3, 4))), np.arange(3.0)[:, None]
    assert np.array_equal((2 - x).rows, 2 - x.rows) and np.array_equal((2 / x).rows, 2 / x.rows)
    assert np.array_equal(at.plain((x - who).rows), at.plain(x.rows) - who)
    assert np.array_equal(at.plain((who - x).rows), who - at.plain(x.rows))


def test_a_shared_vector_as_long_as_there_are_rows_is_no_rows(monkeypatch):
    monkeypatch.setattr(deferred, "FEWEST", 0)
    monkeypatch.setattr(deferred, "TILE", 1)
    at = cohorts(4, 2, 3)
    x, v = np.random.default_rng(0).standard_normal((4, 2, 8)), np.arange(8.0)
    for w in (v, v[None, None]):
        assert np.array_equal(at.plain((at.of(x) * w).rows), x * v)


def test_a_client_at_two_places_has_no_one_memory():
    who = np.array([[0, 0], [1, 2]])
    at = Places(Draw(who, 1 + 0 * who, 1 + 0 * who), 3, [2], repeats=True)
    with pytest.raises(Unplaced, match="two places"):
        at.put(np.zeros((2, 3, 2)), Placed(np.ones((4, 2)), at), at.present)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_place_of_an_absent_client_may_name_one_who_is_present(order):
    """As padding of a cohort does: its memory is the new one, whichever place comes first, as in plain arrays."""
    memory, new = RNG.standard_normal((2, 3, 2)), RNG.standard_normal((2, 2, 2))
    who, present = np.array([[1, 1], [2, 0]]), np.array([[1, 0], [1, 1]])[:, list(order)]
    at = Places(Draw(who, present, 1 + 0 * who), 3, [2])
    for there in (at.present, at.present * (at.of(who) >= 0)):
        made = put(memory, at, at.of(new), there)
        assert np.array_equal(made, put(memory, who, new, present)) and made is not memory


def test_a_memory_written_over_is_remembered_when_others_are_copied():
    who = np.zeros((4, 1), dtype=int)
    at = Places(Draw(who, 1 + who, 1 + who), 3, [4])
    one, other, new = np.zeros((4, 3, 2)), np.zeros((4, 3, 2)), Placed(np.ones((4, 2)), at)
    at.writable = [one]
    assert at.put(one, new, at.present) is one and at.put(other, new, at.present) is not other
    assert at.overwritten and one.sum() == 8 and other.sum() == 0
