"""Who takes part: a parameter of a known name, the third parameter, or what `call=` makes of it."""
import functools

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput

AVG = ft.FedAvg("1/10", 2)


def mean(x, clients, members):
    """FedAvg with two local steps over some clients."""
    total, new = sum(clients[i].weight for i in members), 0
    for i in members:
        y = x
        for _ in range(2):
            y = y - 0.1 * clients[i].grad(y)
        new = new + clients[i].weight / total * y
    return new


def by_keyword(x, clients, *, selected):
    return mean(x, clients, selected)


def named_late(x, clients, verbose=False, participants=None):
    return mean(x, clients, participants)


def by_position(x, clients, chosen_ones):
    return mean(x, clients, chosen_ones)


def positional_only(x, clients, these, /):
    return mean(x, clients, these)


class Server:
    def round(self, x, clients, idxs_users):
        return mean(x, clients, idxs_users)


ROUNDS = {"keyword": by_keyword, "late": named_late, "position": by_position, "positional only": positional_only,
          "method": Server().round, "partial": functools.partial(by_keyword)}


@pytest.mark.parametrize("name", ROUNDS)
def test_participants_are_passed_and_said_to_be(name):
    found = ft.identify(ROUNDS[name], 3, 2, AVG)
    assert found.matches and any(len(c or ()) == 1 for key in found.maps for c in key), str(found)
    assert any("is given the list of participants" in note for note in found.notes), str(found)


def other_order(clients, x, who_comes, fraction):
    return mean(x, clients, who_comes)


def test_a_call_says_how_the_round_is_called():
    found = ft.identify(other_order, 3, 2, AVG, call=lambda round_fn, x, clients, cohort: round_fn(clients, x, cohort, 0.5))
    assert found.matches and len(found.maps) == 7 and not found.notes, str(found)
    found = ft.identify(other_order, 3, 2, AVG, call=lambda round_fn, x, clients: round_fn(clients, x, [0, 1, 2], 1))
    assert found.matches and len(found.maps) == 1, str(found)


@pytest.mark.parametrize("call,words", [(3, "must be callable"), (lambda x: x, r"call\(round_fn, x, clients, cohort\)")])
def test_a_call_that_cannot_be_made_is_refused(call, words):
    with pytest.raises(BadInput, match=words):
        ft.identify(other_order, 3, 2, AVG, call=call)


def test_a_round_with_more_parameters_is_told_how():
    with pytest.raises(BadInput, match=r"participants cohort.*third parameter.*call=lambda"):
        ft.identify(other_order, 3, 2, AVG)


def test_a_third_parameter_with_a_default_stays_as_it_is():
    def run(x, clients, epochs=2):
        assert epochs == 2
        return mean(x, clients, range(3))
    assert len(ft.identify(run, 3, 2, AVG).maps) == 1
