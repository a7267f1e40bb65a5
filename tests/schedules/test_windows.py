"""The automata of bounded gaps: against the definition on every schedule of a few rounds, and what they refuse."""

import itertools

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, TooLarge
from fltheory.schedules.windows import Automaton


def subsets(n, empty):
    return [s for k in range(0 if empty else 1, n + 1) for s in itertools.combinations(range(n), k)]


def meets_windows(rounds, n, windows):
    """The definition, word by word: whole windows inside the rounds, and for blocks an unfinished last one."""
    D = windows.length
    starts = range(len(rounds) - D + 1) if isinstance(windows, ft.Sliding) else range(0, len(rounds) - D + 1, D)
    if any(set().union(*rounds[t : t + D]) != set(range(n)) for t in starts):
        return False
    return windows.empty != "never" or all(rounds)


def admits(windows, rounds, n=2):
    return windows.automaton(n).walk(rounds) is not None


def can_go_on(rounds, n, windows):
    """Schedules that break no window yet can always be saved by calling everybody."""
    return meets_windows([*rounds, *[range(n)] * windows.length], n, windows)


CLASSES = [kind(D, empty) for kind in (ft.Sliding, ft.Blocks) for D in (1, 2, 3) for empty in ("move", "never")]


@pytest.mark.parametrize("windows", CLASSES, ids=str)
@pytest.mark.parametrize(("n", "T"), [(1, 7), (2, 5), (3, 3)])
def test_the_walks_are_the_schedules_of_the_definition(windows, n, T):
    automaton = windows.automaton(n)
    counts = [0] * (T + 1)
    for length in range(1, T + 1):
        for rounds in itertools.product(subsets(n, True), repeat=length):
            told = automaton.walk(rounds) is not None
            assert told == can_go_on(rounds, n, windows), rounds
            counts[length] += told
    # the same counts by powers of the adjacency matrix
    ways = [int(k == automaton.start) for k in range(len(automaton.nodes))]
    for length in range(1, T + 1):
        new = [0] * len(ways)
        for a, _, b in automaton.edges:
            new[b] += ways[a]
        ways = new
        assert sum(ways) == counts[length] > 0


@pytest.mark.parametrize("windows", CLASSES, ids=str)
def test_every_node_has_an_edge_in_and_out_and_no_edge_stands_twice(windows):
    automaton = windows.automaton(3)
    everything = set(range(len(automaton.nodes)))
    assert {a for a, _, _ in automaton.edges} == {b for _, _, b in automaton.edges} == everything
    assert len({(a, s) for a, s, _ in automaton.edges}) == len(automaton.edges)
    assert automaton.leaving()[automaton.start]


@pytest.mark.parametrize(("windows", "n", "nodes", "edges"), [
    (ft.Sliding(3), 3, 27, 125),
    (ft.Sliding(4), 3, 64, 343),
    (ft.Sliding(3), 4, 81, 625),
    (ft.Sliding(2), 5, 32, 243),
    (ft.Sliding(6), 3, 216, 1331),
    (ft.Sliding(3, "never"), 3, 19, 91),  # somebody has age 0
    (ft.Blocks(3), 3, 17, 8 + 64 + 27),
    (ft.Blocks(1), 9, 1, 1),
    (ft.Sliding(1), 60, 1, 1),
    (ft.Blocks(1), 60, 1, 1),
])
def test_sizes(windows, n, nodes, edges):
    automaton = windows.automaton(n)
    assert (len(automaton.nodes), len(automaton.edges)) == (nodes, edges)


def test_pruning_goes_on_until_nothing_is_left_to_prune():
    from fltheory.schedules.windows import _pruned
    chain = [("a", (0,), "b"), ("b", (0,), "c"), ("c", (), "c"), ("c", (0,), "d"), ("d", (0,), "e")]
    assert _pruned("c", chain) == Automaton(("c",), ((),), ((0, 0, 0),), 0)


@pytest.mark.parametrize("windows", [ft.Sliding(2), ft.Sliding(3), ft.Blocks(2), ft.Blocks(3, "never")], ids=str)
def test_a_gap_of_one_round_more_is_outside(windows):
    longer = type(windows)(windows.length + 1, windows.empty)
    late = [(0,)] * windows.length + [(0, 1)]
    assert not admits(windows, late)
    assert not windows.automaton(2).closes(late)
    assert admits(longer, late)
    assert longer.automaton(2).closes(late)
    assert admits(windows, late[1:])


def test_blocks_allow_longer_gaps_than_sliding_windows():
    rounds = [(0, 1), (0,), (0,), (0, 1)]
    assert admits(ft.Blocks(2), rounds)
    assert not admits(ft.Sliding(2), rounds)
    assert ft.Blocks(2).automaton(2).closes(rounds)
    assert not ft.Blocks(2).automaton(2).closes(rounds[1:])  # three rounds are no number of blocks


def test_order_inside_a_set_does_not_matter():
    assert admits(ft.Sliding(2), [(1, 0), [0], (1,)])


def test_classes_say_what_they_are():
    assert str(ft.Sliding(3)) == "every client at least once in any 3 consecutive rounds (empty rounds allowed, and run as coded)"
    assert str(ft.Blocks(4, "never")) == "every client at least once in each block of 4 rounds (no empty rounds)"
    assert "skipped" in str(ft.Sliding(2, empty="skip"))


@pytest.mark.parametrize("make", [
    lambda: ft.Sliding(0), lambda: ft.Sliding(10**5000), lambda: ft.Sliding(2.0), lambda: ft.Blocks(True), lambda: ft.Blocks("3"),
    lambda: ft.Sliding(2, empty=True), lambda: ft.Sliding(2, "redraw"), lambda: ft.Sliding(2).automaton(0),
])
def test_what_is_no_class_is_refused(make):
    with pytest.raises(BadInput):
        make()


@pytest.mark.parametrize(("windows", "n", "count"), [(ft.Sliding(6), 4, "14641"), (ft.Blocks(2), 8, "6817"),
                                                    (ft.Sliding(1000), 40, r"more than 2\^438")])
def test_too_many_edges_are_counted_not_built(windows, n, count):
    with pytest.raises(TooLarge, match=f"{count} edges exceed 1500"):
        windows.automaton(n)
