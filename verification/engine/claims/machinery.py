"""The machinery that decides claims, decided by itself: what fails must fail, what is searched must be found."""
import tempfile
from fractions import Fraction as Q
from pathlib import Path

import fltheory as ft
from fltheory.core.evidence import evidence_of, number
from fltheory.runs.executors import completed
from fltheory.verdicts import records
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.deciding.findings import confirm
from fltheory.verdicts.papers import answers
from fltheory.verdicts.papers.discover import Paper, read_ledger
from fltheory.verdicts.papers.journal import FILE, Journal
from verification.engine.faults import these
from verification.engine.instances import machinery as on
from verification.engine.twins import forms, words

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


@ft.claim("verdict-words", on=on.WORDS, domain=LISTED,
          rejects=these("floats-accuse", "strict-needs-are-weak", "numbers-prove-beside-symbols"))
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


@ft.claim("search-at-the-ends", on=[on.plain("64 clients and one round")], domain="two variables with two ends each",
          rejects=these("ends-side-by-side"))
def search_at_the_ends(i):
    """What fails at one combination of ends alone is found there, although no random draw comes near it."""
    family = ft.Family("inside", lambda draw, clients=8, rounds=8: ft.Instance("drawn", clients=clients, rounds=rounds),
                       corners=ft.corners(clients=(1, 64), rounds=(1, 100)))
    made = on.inner(lambda j: ft.at_most(j.clients - j.rounds, 62))
    refuted = ft.Search((family,), tries=5).run(made)[1]
    return ft.equal(int(refuted is not None), 1)


@ft.claim("draws-within-caps", on=[on.averaging("one step each", 1)], domain="100 draws of the default family",
          rejects=these("diagonals-for-eigenvalues"))
def draws_within_caps(i):
    """Default families draw local steps of at most 1/L: 1/eta - H is positive semidefinite, by its principal minors."""
    def within(j):
        d = range(j.problem.d)
        return ft.equal([int(forms.semidefinite([[(1 / Q(j.eta) if a == b else 0) - H[a][b] for b in d] for a in d]))
                         for H in j.problem.H], [1] * j.problem.n)
    found = on.inner(within, i.but(fault=None)).search(seconds=None, tries=100)
    return [ft.equal(int(found.found), 0, "a step above"), ft.equal(int(found.in_scope >= 50), 1, "draws")]


@ft.claim("closed-forms-of-steps", on=on.STEPS, domain=LISTED, rejects=these("starts-unchecked"))
def closed_forms_of_steps(i):
    """A closed form of k local steps needs the start as well as the step."""
    return says(ft.local_run(i, [on.X], i.change, [on.POWER], 1 - 2 * on.ETA).status, i.status)


@ft.claim("chi-square-floors", on=on.UNEVEN, domain="two clients of equal curvature", rejects=these("divergence-turned-round"))
def chi_square_floors(i):
    """Two clients of curvature 2 at 0 and 1 with surrogate weights 1/4 and 3/4 meet at 3/4, where the squared gradient of
    their mean, (2 (3/4 - 1/2))^2, is their chi-square floor."""
    return ft.equal(ft.floor_of(i).value, (2 * (Q(3, 4) - Q(1, 2))) ** 2)


@ft.claim("answers-carried", on=on.ANSWERS, domain=LISTED, rejects=these("weaker-words-carry", "figures-are-to-be-written"))
def answers_carried(i):
    """A sentence is carried by its word or a stronger one, and lost under a weaker one or with a number that stands nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ledger.csv").write_text(i.ledger)
        (Path(folder) / "answer.md").write_text(i.text)
        paper = Paper("own", Path(folder), read_ledger(Path(folder) / "ledger.csv"), claims=dict.fromkeys(i.words))
        paper.answer = answers.read(folder, paper.ledger)
    judged = answers.judge(paper, [records.Claim(k, "own", word=w).to_json() for k, w in i.words.items()])
    return [*(says(s["state"], wanted) for s, wanted in zip(judged[0]["sentences"], i.states, strict=True)),
            ft.equal(paper.written, [2, 2], "written")]


@ft.claim("journals-resumed", on=[on.plain("one whole, one altered, one of another claim")], domain=LISTED,
          rejects=these("altered-verdicts-believed", "verdicts-of-other-claims"))
def journals_resumed(i):
    """Of the verdicts that an earlier run left, those that were altered or are another claim's are decided again."""
    with tempfile.TemporaryDirectory() as folder:
        for k, (key, name) in enumerate((("eq1", "eq1"), ("eq2", "eq2"), ("eq3", "eq4"))):
            journal = Journal(folder, k > 0)
            journal.append(("stamp", "own", "claim", key), [{"type": "claim", "paper": "own", "id": name, "word": f"OPEN {k}"}])
            journal.close()
        file = Path(folder) / FILE
        file.write_text(file.read_text().replace("OPEN 1", "PROVED"))
        journal = Journal(folder, True)
        journal.close()
    return says(" ".join(key[3] for key in journal.finished), "eq1")


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
