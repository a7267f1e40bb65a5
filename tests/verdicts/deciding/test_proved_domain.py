"""What a proof covers: declared where an argument is general, read off the symbolic instances elsewhere."""
from dataclasses import replace

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.verdicts.claims.claim import Instance, claim
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.deciding.proved_domain import argued, covered, label, restricted
from tests.verdicts.claims.examples import X, Y, made

K = ft.Field("h0 h1 h2 eta")


def symbolic(n, steps, d=1):
    h = [[[K.symbols[i] if a == b else 0 for a in range(d)] for b in range(d)] for i in range(n)]
    return Instance(f"n={n}, tau={steps}", ft.Quadratic(h, [[0] * d] * n), ft.FedAvg(K.symbols[-1], steps), ft.Full(), domain=K)


def proof(**options):
    def body(i):
        return ft.equal(X * Y, Y * X)
    return made(body, **{"domain": "every h", "on": [symbolic(1, 1), symbolic(3, (1, 2, 2))], **options})


def test_what_is_not_declared_is_read_off_the_symbolic_instances():
    numbers = Instance("numbers", ft.Quadratic([[[1]]] * 9, [[0]] * 9), ft.FedAvg("1/9", 7), ft.Full())
    found = covered(proof(on=[symbolic(1, 1), symbolic(3, (1, 2, 2)), numbers]), "PROVED")
    assert found == {"n": "1, 3", "d": "1", "tau": "1, (1, 2, 2)"}
    assert covered(proof(on=[symbolic(n, t) for n in (1, 2, 3) for t in (1, 2)]), "PROVED")["n"] == "1 to 3"
    assert covered(proof(covers={"n": "all", "tau": "none"}), "PROVED") == {"n": "all", "d": "1"}
    assert covered(proof(covers={"order": "0 to 5"}), "PROVED")["order"] == "0 to 5"
    assert covered(proof(on=[Instance("no problem", domain=K)]), "PROVED") == {}
    assert covered(proof(on=[symbolic(1, t) for t in (1, 3, 5, 7, 9)]), "PROVED")["tau"] == "5 values from 1 to 9"


@pytest.mark.parametrize(("covers", "text", "limited"), [
    ({"n": "2, 3", "d": "all", "tau": "all"}, "PROVED for n = 2, 3 and all d, tau", True),
    ({"n": "2", "d": "1"}, "PROVED for n = 2; d = 1", True),
    ({"n": "all"}, "PROVED for all n", False),
    ({}, "PROVED", False)])
def test_the_word_shows_it(covers, text, limited):
    assert label("PROVED", covers) == text and restricted(covers) == limited


def test_records_carry_it_for_proofs_only():
    record = check(proof(covers={"tau": "all"})).record()
    said = "PROVED for n = 1, 3; d = 1 and, as the claim argues, all tau"
    assert (record["word"], record["label"], record["restricted"]) == ("PROVED", said, True)
    other = check(proof(domain="", covers={"tau": "all"})).record()
    assert (other["word"], other["label"], other["covers"], other["restricted"]) == ("SUPPORTED", "", {}, False)


@pytest.mark.parametrize("bad", ["all", {"n": 3}, {"": "all"}, {"n": " "}, ["n"]])
def test_bad_declarations_are_refused(bad):
    with pytest.raises(BadInput, match="dictionary of texts"):
        claim("x", on=[], covers=bad)(lambda i: [])


@pytest.mark.parametrize(("bad", "remedy"), [({"tua": "all"}, "Write 'tau'"), ({"Tau": "2"}, "Write 'tau'"),
                                             ({"order": "all"}, "values in words"), ({"dims": "none"}, "values in words")])
def test_a_misspelt_name_is_refused(bad, remedy):
    with pytest.raises(BadInput, match=remedy):
        claim("x", on=[], covers=bad)(lambda i: [])


def test_what_no_comparison_carries_is_shown_as_argued():
    def two_steps(i):   # true for K = 2 alone, as its instances are
        return ft.equal(X * Y, Y * X)
    two = made(two_steps, domain="two steps", on=[symbolic(2, 2)], covers={"tau": "all"})
    assert check(two).record()["label"] == "PROVED for n = 2; d = 1 and, as the claim argues, all tau"
    assert check(two).record()["argued"] == ["tau"] and check(replace(two, covers={"tau": "2"})).describe().argued == []
    assert [check(replace(two, covers={"tau": other})).describe().argued for other in ("3", "2, 3", "2 to 3")] == [["tau"]] * 3
    assert check(replace(two, covers={"tau": "1 to 3"})).describe().label.endswith("and, as the claim argues, tau = 1 to 3")
    assert label("PROVED", {"n": "all", "d": "all"}, ["n", "d"]) == "PROVED for all n, d, as the claim argues"
    mixed = label("PROVED", {"n": "2", "d": "all", "tau": "all"}, ["tau"])
    assert mixed == "PROVED for n = 2 and all d and, as the claim argues, all tau"


def test_an_induction_carries_every_number_of_steps_and_nothing_else():
    def inductive(i):
        return [ft.induction([(X, X)], [(X * Y, Y * X)])]

    def numbers(i):
        return [ft.induction([(1, 1)], [(2, 2)]), ft.equal(X * Y, Y * X)]
    everything = {"n": "all", "d": "all", "tau": "all"}
    first = made(inductive, domain="by induction", on=[symbolic(2, 2)], covers=everything)
    assert argued(first, "PROVED", check(first).instances) == ["n", "d"]
    second = made(numbers, domain="two steps", on=[symbolic(2, 2)], covers=everything)
    assert argued(second, "PROVED", check(second).instances) == ["n", "d", "tau"]
    assert argued(replace(second, proof=lambda: None), "PROVED", []) == []


@pytest.mark.parametrize(("over", "carried"), [
    ("tau", True), ("K", True), ("E - 1", True), ("k - s", True), ("tau, the length of a", True), ("t", False), ("n", False),
    ("length", False), ("rounds", False), ("stacks", False)])
def test_only_an_induction_over_the_local_steps_carries_them(over, carried):
    found = made(lambda i: [ft.induction([(X, X)], [(X * Y, Y * X)], over=over)], domain="by induction", on=[symbolic(2, 2)],
                 covers={"tau": "all"})
    assert argued(found, "PROVED", check(found).instances) == ([] if carried else ["tau"])


@pytest.mark.parametrize(("name", "carried"), [("K", True), ("tau", True), ("t", False)])
def test_a_power_of_every_exponent_carries_the_local_steps(name, carried):
    eta, h, K, R, c = ft.Field(f"eta h {name} R c").symbols

    def slope(i):
        return ft.expansion(c * ft.power_series(-eta * h, K, 1, R), "eta", [c, -c * K * h])

    def ratio(i):   # nothing of the power is left in what is compared
        series = ft.power_series(-eta * h, K, 1, R)
        return ft.equal(c * series / series, c)

    def other(i):
        return [ft.equal(c * h, h * c), ft.equal(K * h, h * K)]
    for body, own in ((slope, carried), (ratio, False), (other, False)):
        found = made(body, domain="small steps", on=[symbolic(2, 2)], covers={"tau": "all"})
        assert argued(found, "PROVED", check(found).instances) == ([] if own else ["tau"])


def test_a_print_and_a_notebook_say_what_is_argued():
    found = check(made(lambda i: ft.equal(X * Y, Y * X), domain="two steps", on=[symbolic(2, 2)], covers={"tau": "all"}))
    said = found.describe().label
    assert said == "PROVED for n = 2; d = 1 and, as the claim argues, all tau"
    assert f": {said} (symbolic), 1 instances" in str(found) and said in found._repr_html_()
    plain = check(made(lambda i: ft.equal(1, 1), on=[Instance("only")]))
    assert plain.word in str(plain) and " for " not in str(plain).splitlines()[0]


def test_settings_are_listed_exactly_and_names_in_one_order():
    settings = [Instance("a", algorithm=ft.FedAvg(step, 1), law=ft.Full(), classes=ft.Smooth(2), n=2)
                for step in ("4009/1000000", "1/128", "1/6000")]
    found = covered(replace(claim("x")(proof), over=settings, covers={"n": "all"}), "CERTIFIED")
    assert list(found) == ["n", "d", "tau", "law", "mu/L", "eta L"] and found["n"] == "all"
    assert found["eta L"] == "1/3000, 0.008018, 1/64"
    laws = [ft.Full(), ft.WithReplacement(1, ["1/2"] * 2), ft.WithReplacement(2, ["1/3"] * 3), ft.Uniform(1)]
    settings = [Instance("a", algorithm=ft.FedAvg("1/4", [2]), law=law, classes=ft.Smooth(2), n=2) for law in laws]
    found = covered(replace(claim("x")(proof), over=settings), "CERTIFIED")
    assert found["law"] == "Full, Uniform(m=1), WithReplacement(draws=1 or 2, probabilities=1/2 each or 1/3 each)"
    assert found["tau"] == "2"


def test_every_proof_of_the_papers_says_what_it_covers():
    from fltheory.verdicts.papers.discover import papers
    proofs = [c for p in papers(["verification"]) for c in p.claims.values() if c.expect == "PROVED"]
    assert all(c.domain for c in proofs)
    for c in proofs:
        if any(v == "all" for v in c.covers.values()):  # a general argument is in the domain's words
            assert len(c.domain) > 20, c.id
    assert sum(restricted(covered(c, "PROVED")) for c in proofs) > 100  # the page shows what they are limited to
