"""The rules of a proof: each proves what is true and refuses its nearest falsehood."""
import pytest

from fltheory.core.errors import BadInput
from fltheory.proofs.argument import Proof


def last(p):
    return p.steps[-1].status


def test_youngs_inequality_holds_for_vectors_of_any_dimension_and_not_with_half_the_constant():
    p = Proof("s", "", "", "u v")
    s, u, v = p("s u v")
    square = p.square("square", s * u - v)
    p.follows("Young", (1 + s) * u.square + (1 + 1 / s) * v.square - (u + v).square, (1 / s, square))
    assert last(p) == "HOLDS"
    p.follows("half", (1 + s) * u.square + (1 + 1 / (2 * s)) * v.square - (u + v).square, (1 / s, square))
    assert last(p) == "INCONCLUSIVE"
    assert "remainder" in p.steps[-1].detail


def test_a_multiplier_must_show_its_sign():
    p = Proof("a", "b", "c")
    a, b, c = p("a b c")
    fact = p.given("fact", b - a)
    for name, factor in (("signless", c), ("negative", -a), ("mixed", a - b)):
        p.follows(name, factor * (b - a), (factor, fact))
        assert last(p) == "INCONCLUSIVE"
    p.follows("even", c**2 * (b - a), (c**2, fact))
    assert last(p) == "HOLDS"


def test_inner_products_are_signless_and_squares_are_not():
    p = Proof("a", vectors="u v")
    u, v = p("u v")
    p.follows("length", u.square)
    assert last(p) == "HOLDS"
    p.follows("angle", u.dot(v))
    assert last(p) == "INCONCLUSIVE"


def test_an_equality_takes_any_multiplier_and_is_not_proved_by_inequalities():
    p = Proof("a", "b", "c d")
    c, d = p("c d")
    same = p.define("same", c - d)
    p.follows("turned", d - c, (-1, same))
    assert last(p) == "HOLDS"
    bound = p.given("bound", p("b") - p("a"))
    p.follows("no equality", p("b") - p("a"), bound, equality=True)
    assert last(p) == "INCONCLUSIVE"


def test_division_needs_a_factor_that_is_bounded_away_from_0():
    p = Proof("a", "b x")
    a, b, x = p("a b x")
    whole = p.given("product", (a + b) * (x - 1))
    p.cancel("quotient", x - 1, whole, p.follows("factor", b), a)
    assert last(p) == "HOLDS"
    zero = p.given("zero", b * (x - 1))
    p.cancel("by what may be 0", x - 1, zero, p.follows("again", b), 0)
    assert last(p) == "INCONCLUSIVE"
    p.cancel("of another product", x - 2, whole, p.facts["factor"], a)
    assert last(p) == "INCONCLUSIVE"


def test_an_expectation_is_taken_of_what_is_affine_only():
    p = Proof("a", "X Y EX EY k")
    X, Y, k = p("X Y k")
    p.expect("mean", p.given("affine", k * X + 1 - Y), {"X": "EX", "Y": "EY"}, fixed="k")
    assert last(p) == "HOLDS"
    p.expect("product", p.given("two", X * Y), {"X": "EX", "Y": "EY"})
    assert last(p) == "INCONCLUSIVE"
    p.expect("forgotten", p.given("other", X - Y), {"X": "EX"})
    assert "neither averaged nor fixed" in p.steps[-1].detail


def growing(rate):
    """A number that starts at most at 1 and is at most doubled in each round."""
    p = Proof("z Z", "x x1 end")
    z, x, x1 = p("z x x1")
    doubled = p.given("round", 2 * x - x1)
    now = p.suppose("now", z - x)
    then = p.follows("then", rate * z - x1, (2, now), doubled)
    return p, p.induct("end", now, then, {"z": 1, "x": 0}, {"z": 2 * z, "x": x1}, {"z": "Z", "x": "end"})


def test_induction_discharges_its_hypothesis_and_must_prove_the_next_statement():
    p, fact = growing(2)
    assert p.conclude(fact).status == "HOLDS"
    p, _ = growing(3)
    assert "another statement" in p.steps[-1].detail


def test_nothing_is_concluded_from_an_open_hypothesis_nor_with_an_idle_step():
    p = Proof("z", "x")
    with pytest.raises(BadInput, match="still rests on"):
        p.conclude(p.suppose("now", p("z") - p("x")))
    p = Proof("z", "x")
    p.given("idle", p("x"))
    with pytest.raises(BadInput, match="does not need"):
        p.conclude(p.follows("sign", p("z")))


def test_an_induction_must_start():
    p = Proof("z", "x x1")
    now = p.suppose("now", p("z") - p("x"))
    then = p.follows("then", p("z") - p("x1"), now, p.given("falls", p("x") - p("x1")))
    p.induct("end", now, then, {"x": 2 * p("z")}, {"x": "x1"}, {"x": "x1"})
    assert "start" in p.steps[-1].detail


def test_only_listed_inequalities_are_cited_and_informal_steps_prove_nothing():
    p = Proof("a", "b")
    with pytest.raises(BadInput, match="none of the standard inequalities"):
        p.standard("step", p("a"), "folklore")
    assert p.conclude(p.informal("step", p("b") - p("a"), "it seems so")).status == "INCONCLUSIVE"


def test_facts_belong_to_one_proof_and_names_are_not_used_twice():
    p, q = Proof("a"), Proof("a")
    fact = p.given("one", p("a"))
    with pytest.raises(BadInput, match="no fact of this proof"):
        q.follows("two", q("a"), fact)
    with pytest.raises(BadInput, match="name of its own"):
        p.given("one", p("a"))
    with pytest.raises(BadInput, match="none of"):
        p("c")


def test_a_wrong_inequality_is_seen_on_numbers():
    p = Proof("a", vectors="u v")
    u, v = p("u v")
    wrong = p.standard("wrong", u.square - (u + v).square, "triangle inequality")
    assert [value for _, value in p.tested({"a": 1}, {"u": [1, 0], "v": [1, 0]})] == [-3]
    assert wrong.name == "wrong"


class Leaks:
    """Ways to smuggle in what was not shown, by what they abuse: each returns a proof, or is refused."""
    def start_of_a_constant():
        p = Proof("", "", "x")
        held = p.suppose("held", p("x"))
        return p, p.induct("end", held, p.follows("step", p("x"), held), {"x": 0}, {}, {})

    def another_constant():
        p = Proof("", "b d d1 D")
        b, d, d1 = p("b d d1")
        bound, held = p.given("bound", b - d1), p.suppose("held", b - d)
        step = p.follows("step", b - d1, bound)
        return p, p.induct("end", held, step, {"d": 0, "b": b}, {"d": "d1", "b": b}, {"d": "D", "b": 0})

    def a_sign_that_is_lost():
        p = Proof("", "z", "a A")
        a, z = p("a z")
        held = p.suppose("held", a)
        step = p.follows("step", a + z, held)
        return p, p.induct("end", held, step, {"a": 0, "z": 1}, {"a": a + z, "z": z - 1}, {"a": "A", "z": "z"})

    def an_index_below_0():
        p = Proof("", "t", "x")
        held = p.suppose("held", p("t"))
        return p, p.induct("end", held, p.follows("step", p("t") + 1, held), {"t": 0}, {"t": p("t") + 1}, {"t": "x"})

    def a_negative_number_of_terms():
        p = Proof("x")
        return p, p.total("sum", p.follows("sign", p("x")), {}, -1)

    def an_empty_sum():
        p = Proof("", "b d S")
        return p, p.total("sum", p.given("bound", p("b") - p("d")), {"d": "S"}, 0, "b")

    def two_means_in_one():
        p = Proof("", "a b E")
        return p, p.expect("mean", p.given("apart", p("a") - p("b") - 1), {"a": "E", "b": "E"})

    def a_mean_at_will():
        p = Proof("x", "d")
        return p, p.expect("mean", p.follows("sign", p("d")), {"d": -p("x")})

    def a_sign_for_a_mean():
        p = Proof("", "E", "d")
        return p, p.expect("mean", p.given("fact", 1 - p("d")), {"d": "E"})

    def an_open_hypothesis():
        other = Proof("", "", "x")
        other.conclude(other.follows("turned", -other("x"), other.given("negative", -other("x"))))
        p = Proof("", "", "x")
        p.suppose("held", -p("x"))
        return p, p.lemma("lemma", other)

    def contradicting_definitions():
        p = Proof("x", "", "y")
        p.define("first", p("y") - p("x"))
        return p, p.define("second", p("y") + p("x"))

    def a_cited_constant():
        other = Proof("L", "gap", "", "g")
        L, gap, g = other("L gap g")
        other.conclude(other.standard("smooth", 2 * L * gap - g.square, "gradient below the gap"))
        p = Proof("L", "gap", "", "g")
        return p, p.lemma("lemma", other, L=p("L") / 1000)

    def a_pole():
        p = Proof("", "", "x")
        return p, p.square("square", 1 / p("x"))

    def a_fact_of_another_proof():
        other, p = Proof("x"), Proof("x")
        return p, p.expect("mean", other.informal("wrong", -other("x"), ""), {})

    def a_misspelt_symbol():
        other, p = Proof("a"), Proof("a")
        other.conclude(other.follows("sign", other("a")))
        return p, p.lemma("lemma", other, aa=p("a"))


@pytest.mark.parametrize("leak", [f for f in vars(Leaks).values() if callable(f)], ids=lambda f: f.__name__)
def test_nothing_is_smuggled_in(leak):
    try:
        p, _ = leak()
    except BadInput:
        return
    assert p.steps[-1].status == "INCONCLUSIVE"


def test_a_fact_within_an_induction_does_not_leave_it():
    p = Proof("", "T t d d1 D")
    T, t, d, d1 = p("T t d d1")
    inside = p.given("index", T - t - 1, within="t")
    with pytest.raises(BadInput, match="still rests on"):
        p.conclude(p.follows("several", T - 1, inside))
    p = Proof("", "T t d d1 D")
    T, t, d, d1 = p("T t d d1")
    inside = p.given("index", T - t - 1, within="t")
    grows, held = p.given("grows", T * (d + 1) - T * d1), p.suppose("held", T * (t - d))
    step = p.follows("step", T * (t + 1 - d1), held, grows, (0, inside))
    assert p.conclude(p.induct("end", held, step, {"t": 0, "d": 0}, {"t": t + 1, "d": d1}, {"t": "T", "d": "D"})).status == "HOLDS"


def test_a_lemma_shows_the_hypotheses_on_what_is_its_own():
    other = Proof("x", "y")
    other.conclude(other.follows("turned", -other("x"), other.given("small", -other("x") - other("y"))))
    p = Proof("x")
    p.conclude(p.lemma("lemma", other))
    assert next((s.name, s.rule, s.shown) for s in p.steps) == ("lemma: small", "hypothesis", "-x - y >= 0")
