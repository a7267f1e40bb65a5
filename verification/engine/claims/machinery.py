"""The machinery that decides claims, decided by itself: what fails must fail, what is searched must be found."""
from fractions import Fraction as Q

import fltheory as ft
from fltheory.core.evidence import evidence_of, number
from fltheory.runs.executors import completed
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.deciding.findings import confirm
from verification.engine.faults import these
from verification.engine.instances import machinery as on
from verification.engine.twins import words

LISTED = "the listed comparisons, decided by hand"
FEW = ft.Hypothesis("equal steps", "all clients make the same number of local steps",
                    lambda i: (max(_steps(i)), min(_steps(i))))


def _steps(i):
    return i.algorithm.steps if isinstance(i.algorithm.steps, tuple) else (i.algorithm.steps,)


def says(found, wanted, label=""):
    """Two words are one."""
    return ft.equal(words.number(found), words.number(wanted), f"{label} found {found}, by hand {wanted}".strip())


@ft.claim("false-optimum", on=on.OPTIMUM, rejects=these("equal-always"), finding="optimum-needs-equal-steps",
          at=("unequal steps",), step="all clients make the same number of local steps",
          reading="False on purpose: that what differs is called different shows here, with FedAvg's well-known bias as the case. "
                  "The two clients make one and ten steps; the fixed point lies at 1 - w for the weight w of the first.",
          survives="equal-steps-optimum, with as many local steps at every client.")
def false_optimum(i):
    """The fixed point of FedAvg is the minimiser of the objective, whatever the numbers of local steps."""
    return ft.equal(i.op.fixed_point().x, ft.optimum(i.problem).x)


@ft.claim("equal-steps-optimum", on=on.OPTIMUM, needs=(FEW,), domain="the listed pair of clients, one step each",
          powerless="the statement that it corrects shows that its check can fail")
def equal_steps_optimum(i):
    """With one local step at every client the fixed point of FedAvg is the minimiser of the objective."""
    return false_optimum.body(i)


@ft.claim("false-tie", on=[*on.TIES, *on.BELOW], rejects=these("ties-are-strict"), finding="ties-are-no-strict-order",
          at=("1/3 and 1/3", "a sum"), step="the two numbers differ",
          reading="False on purpose: a strict inequality between equal numbers fails, and must be called false: "
                  "1/3 < 1/3 is false, and so is 1/3 + 1/6 < 1/2.",
          survives="weak-tie, where equality is allowed.")
def false_tie(i):
    """The left number is strictly below the right one, also where both are equal."""
    return ft.at_most(i.left, i.right, strict=True)


@ft.claim("weak-tie", on=[*on.TIES, *on.BELOW], domain="the listed pairs of numbers",
          powerless="the statement that it corrects shows that its check can fail")
def weak_tie(i):
    """The left number is at most the right one, and may equal it."""
    return ft.at_most(i.left, i.right)


@ft.claim("relation-statuses", on=on.RELATIONS, domain=LISTED,
          rejects=these("agrees-always", "ties-are-strict", "nonnegative-always"))
def relation_statuses(i):
    """Every relation holds, fails, or stays undecided where a reader of the two sides says so."""
    return says(i.made().status, i.status)


@ft.claim("relation-evidence", on=on.EVIDENCE, domain=LISTED, rejects=these("evidence-of-the-strongest"))
def relation_evidence(i):
    """The evidence of a comparison is the weakest kind of number in it."""
    return says(evidence_of(*i.sides), i.kind)


@ft.claim("verdict-words", on=on.WORDS, domain=LISTED, rejects=these("floats-accuse"))
def verdict_words(i):
    """A claim gets the word that its instances, its domain and its evidence give it."""
    return says(check(i.claim(), search=False).word, i.word)


@ft.claim("bugs-by-verdict", on=on.BUGS, domain=LISTED, rejects=these("errors-kill-bugs"))
def bugs_by_verdict(i):
    """A bug is killed by a comparison that fails; one that only raises an error survives."""
    return says(check(on.inner(on.mean_rate, rejects=(i.bug,))).mutants[0].status, i.status)


@ft.claim("search-finds", on=[on.averaging("one step each", 1)], domain="the default families around one instance, 40 tries",
          rejects=these("search-silent"))
def search_finds(i):
    """A search for a counter-example to a false statement finds one, exactly, where the given instance is no counter-example."""
    found = on.inner(false_optimum.body, i.but(fault=None)).search(seconds=None, tries=40)
    return [ft.equal(int(found.found), 1, "found"), ft.equal(int(found.exact), 1, "exactly"),
            says(found.verdict.status if found.found else "nothing", "FALSIFIED", "the witness")]


@ft.claim("tasks-anywhere", on=on.PLACES, domain="the listed places, twenty tasks", rejects=these("results-exchanged"))
def tasks_anywhere(i):
    """Every task is done once and comes back with its own result, wherever it was done."""
    with i.place() as place:
        found = sorted(completed(abs, range(-20, 0), place))
    return ft.equal([v for pair in found for v in pair], [v for k in range(20, 0, -1) for v in (-k, k)])


@ft.claim("numbers-of-tables", on=[on.plain("texts and truths")], domain=LISTED, rejects=these("truths-as-numbers"))
def numbers_of_tables(i):
    """Tables of numbers hold numbers alone: neither texts of digits nor truth values, nor what does not exist."""
    return [ft.equal([int(number(v) is None) for v in ("7", True, None, float("inf"))], [1, 1, 1, 1], "no numbers"),
            ft.equal([Q(number(v)) for v in (7, 0.5, -2)], [7, Q(1, 2), -2], "numbers")]


@ft.claim("finding-lifts", on=on.OPTIMUM[:1], domain=LISTED, rejects=these("missing-hypothesis-not-lifted"))
def finding_lifts(i):
    """A missing hypothesis is confirmed where the statement without it fails, although the claim now asks for it."""
    asked = on.inner(false_optimum.body, i.but(fault=None), needs=(FEW,))
    made = ft.Finding("inner-finding", "missing-hypothesis", breaks="inner", at=(i.name,))
    return says(confirm(made, {"inner": asked}).word, "CONFIRMED")
