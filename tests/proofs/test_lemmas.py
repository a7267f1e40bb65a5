"""Lemmas: a positive symbol stays positive, and hypotheses are told through every level."""
from fltheory.proofs.argument import Proof


def inner():
    """1/c >= b from c b <= 1 and c >= a > 0, whatever b is: the largest of numbers e."""
    p = Proof("a", "b c e")
    whole = p.given("product", 1 - p("c") * p("e"))
    least = p.given("factor", p("c") - p("a"))
    largest = p.given("attained", p("e") - p("b"))
    bound = p.cancel("bound", 1 / p("c") - p("e"), whole, least, p("a"))
    return p.conclude(p.follows("largest bound", 1 / p("c") - p("b"), bound, largest))


def outer(a):
    p = Proof("d", "b c")
    p.given("factor", p("c") - p(a) if a else p("c"))
    return p, p.lemma("inner", inner(), a=p(a) if a else 0)


def test_a_positive_symbol_may_not_become_0():
    assert outer("d")[0].steps[-1].status == "HOLDS"
    assert "sign of a" in outer("")[0].steps[-1].detail
    assert "sign of a" in outer("b")[0].steps[-1].detail


def test_hypotheses_on_what_is_not_named_are_told_through_every_level():
    p, fact = outer("d")
    assert p.steps[-1].says.endswith("it supposes: product, attained")
    again = Proof("d c", "b")
    again.given("factor", again("c") - again("d"))
    again.lemma("outer", p.conclude(fact))
    assert again.steps[-1].status == "HOLDS"
    assert again.steps[-1].says.endswith("it supposes: product, attained")
