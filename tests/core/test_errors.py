"""Messages show values as they are written, on one line, whatever they are."""
from fractions import Fraction

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, refuse, shown


@pytest.mark.parametrize(("value", "text"), [
    (Fraction(1, 2), "1/2"), (Fraction(-3), "-3"), ([[Fraction(1), Fraction(-1, 3)]], "[[1, -1/3]]"), ("Fraction", "'Fraction'"),
    (np.array([Fraction(1, 2), 3], dtype=object), "array([1/2, 3], dtype=object)"), (None, "None"), ("a\nb", r"'a\nb'"),
])
def test_values_are_shown_as_they_are_written(value, text):
    assert shown(value) == text


def test_what_cannot_be_written_out_is_named():
    assert shown(10**5000).startswith("<a int that cannot")


def test_a_refusal_has_value_rule_and_remedy():
    with pytest.raises(BadInput, match=r"^lr = 1/2: is too large\. Halve it\.$"):
        refuse("lr", Fraction(1, 2), "is too large", "Halve it.")


def test_a_problem_in_a_message_is_one_to_be_recognised():
    problem = ft.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]])
    assert repr(problem) == repr(problem.to(ft.FLOAT)) == "Quadratic(n=2, d=1)"
    with pytest.raises(BadInput, match=r"algorithm = Quadratic\(n=2, d=1\): is no algorithm"):
        ft.derive(problem, ft.FedAvg("1/20", 1), ft.Full())
