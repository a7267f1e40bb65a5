"""Decide a claim: its instances, its mutants, its units, its search; then one word that carries its scope."""
from __future__ import annotations

import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import CertificateFailed, FLTheoryError, MissingLibrary, NoFixedPoint, TooLarge
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, STRENGTH, Terms, show, weakest
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Balls
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.relations import at_most, equal
from fltheory.verdicts import records, verdict_text
from fltheory.verdicts.claims.instance import Instance
from fltheory.verdicts.deciding import certified, proof_steps, slow
from fltheory.verdicts.deciding.at_instance import data
from fltheory.verdicts.deciding.evidence import ERROR, FALSE, HOLDING, OUT_OF_SCOPE, SKIPPED, SUPPORTED, InstanceVerdict
from fltheory.verdicts.deciding.proved_domain import argued, covered, domain, label, restricted
from fltheory.verdicts.deciding.tested_range import Reach
from fltheory.verdicts.deciding.word import UNIVERSAL, Basis, word_of

BLOWN = 1e6   # times the squared error at the start, or 1: a run that ends beyond has diverged
QUICK_ROUNDS = 5   # instances on whose coded rounds a quick run tries the facts of a pencil proof


@dataclass(repr=False)
class ClaimVerdict:
    """One claim's word with everything it rests on. Prints as a few lines, shows as a table in a notebook."""

    claim: Any
    word: str
    evidence: str
    instances: list
    mutants: list = field(default_factory=list)
    search: records.Searched | None = None
    dimensional: records.Outcome | None = None
    seconds: float = 0.0
    over: list = field(default_factory=list)  # the settings of function classes that are certified
    proof: list = field(default_factory=list)  # the steps of the pencil proof
    powers_tested: bool = True  # whether mutants were run at all (not in quick mode)
    reach: Reach | None = None  # of the variables; None where the search did not go to their ends
    left_out: int = 0  # instances and settings that a quick run did not decide

    @property
    def as_expected(self) -> bool:
        if self.word == SKIPPED:
            return True  # a missing library is no disagreement; the reason is in the report
        return self.word == (self.claim.expect or SUPPORTED) and not self.surprises()

    @property
    def holds(self) -> bool:
        """Whether the statement was PROVED, CERTIFIED or SUPPORTED without a contradiction; for claims without a
        ledger, which owe no reason for rejecting no mutant."""
        return self.word in HOLDING and all(s.startswith("POWERLESS") for s in self.surprises())

    def __str__(self):
        return verdict_text.verdict_text(self)

    __repr__ = __str__

    def _repr_html_(self):
        return verdict_text.verdict_html(self)

    def surprises(self) -> list[str]:
        """What contradicts the declaration although the word matches: mutants that survive, failing units, errors."""
        out = [f"instance {v.instance}: {v.status} {v.reason}" for v in (*self.instances, *self.over) if v.status == ERROR]
        out += proof_steps.missing(self.proof)
        named = {self.claim.finding} - {None}
        if self.word == FALSE and self.claim.folder is not None and (not self.claim.findings or named - self.claim.findings):
            wanted = f"finding {self.claim.finding!r} stands nowhere" if named else "no finding says why"
            out.append(f"FALSE, and {wanted}: a statement is called false with a witness")
        if self.reach and self.word not in (FALSE, SKIPPED, ERROR):
            out += self.reach.missed()
        if self.dimensional and self.dimensional.status == "failed":
            out.append(f"dimensional test: {self.dimensional.detail}")
        if self.powerless and not self.claim.powerless:
            out.append("POWERLESS: no mutant was rejected and no reason is given")
        if not self.powerless:
            # a statement that is false fails under other bugs too; a fault of the engine must be seen to change that
            out += [f"mutant {m.name} survived" for m in self.mutants if m.status == "survived"
                    and (self.word != FALSE or m.kind == "engine")]
        return out

    @property
    def powerless(self) -> bool:
        # a statement that fails on the true algorithm has shown that its check can fail
        return (
            self.powers_tested
            and self.word not in (SKIPPED, FALSE)
            and not any(m.status == "killed" for m in self.mutants)
        )

    def failures(self) -> list[str]:
        lines = [f"  {v.instance}: {v.status} {c.label} {show(c.lhs)} {c.relation} {show(c.rhs)}"
                 for v in (*self.instances, *self.over) for c in v.comparisons if c.status != HOLDS]
        return lines + [f"  {v.instance}: {v.status} {v.reason}" for v in (*self.instances, *self.over) if v.reason] + \
            [f"  {s}" for s in self.surprises()]

    @property
    def scope(self) -> str:
        """How far the word was tried."""
        searched = self.search and f"; search of {self.search.tries} tries over {', '.join(self.search.families)}"
        proved = sum(v.status == HOLDS for v in self.over)
        late = f" ({self.left_out} slow ones left out)" if self.left_out else ""
        return f"{len(self.instances)} instances{late}" + (searched or "") + (
            f"; {proved} settings certified for all functions of a class" if proved else "") + (
            f"; a proof of {len(self.proof)} steps" if proof_steps.holds(self.proof) else "")

    def describe(self) -> records.Claim:
        """The claim's record."""
        c, covers = self.claim, covered(self.claim, self.word)
        claimed = argued(c, self.word, self.instances)
        loose = [v.looseness for v in self.instances if v.looseness is not None and v.status == HOLDS]
        return records.declared(
            records.Claim, c, word=self.word, expected=c.expect or SUPPORTED, as_expected=self.as_expected,
            surprises=self.surprises(), domain=domain(c, self.word), covers=covers,
            restricted=restricted(covers), argued=claimed, label=label(self.word, covers, claimed),
            evidence=self.evidence, scope=self.scope,
            counts=dict(Counter(v.status for v in (*self.instances, *self.over))),
            looseness=[min(loose), max(loose)] if loose else [], search=self.search, mutants=self.mutants, proof=self.proof,
            powerless=self.powerless, powerless_reason=c.powerless, reached=self.reach.reached() if self.reach else [],
            tightest=self.reach.tightest() if self.reach and (c.ends or c.kind in UNIVERSAL) else None,
            dimensional=self.dimensional, seconds=round(self.seconds, 3))

    def record(self) -> dict:
        """The claim's record as JSON."""
        return self.describe().to_json()

    def records(self) -> list[dict]:
        """The claim's record followed by one record per instance, as JSON."""
        return [self.record(), *(instance_record(self.claim, v) for v in (*self.instances, *self.over))]


def instance_record(claim, v: InstanceVerdict) -> dict:
    """The record of one instance as JSON: text and numbers, which any process can read."""
    return records.Instance(
        claim.paper, claim.id, v.instance, v.status, v.evidence, v.reason, v.says, v.data, v.hypotheses,
        [records.Comparison.of(c.record()) for c in v.comparisons], round(v.seconds, 3)).to_json()


def check(claim, mutant=None, search=True, quick=False, decided=lambda verdict: None) -> ClaimVerdict:
    """Decide a claim.

    mutant: a function instance -> instance applied everywhere (to see a claim fail); search: run the counter-example
    search; quick: a tenth of its tries and none at the ends, no mutants, and not what its folder lists as slow, proofs
    tried on the rounds of a few instances; decided: is called with each instance's verdict at once.
    """
    began, reach = time.perf_counter(), Reach(claim)
    left_out = claim.slow if quick else ()
    on = [mutant(i) if mutant else i for i in slow.without(claim.on, left_out)]
    instances = []
    for instance in on:
        instances.append(check_instance(claim, instance))
        if instances[-1].status == FALSIFIED:
            instances[-1].data = data(instance)
        reach.add(instance, instances[-1])
        decided(instances[-1])
    tried = None
    if claim.search_plan is not None and search:
        try:
            tried, refuting = claim.search_plan.run(claim, quick, reach)
            instances += [refuting] if refuting else []
        except MissingLibrary as error:
            instances.append(InstanceVerdict("search", SKIPPED, reason=str(error)))
        except Exception as error:
            instances.append(InstanceVerdict("search", ERROR, reason=f"{type(error).__name__}: {error}"))
    settings = [] if mutant else slow.without(claim.over, left_out)
    over = [check_instance(claim, setting, certify=True) for setting in settings]
    for setting, proved in zip(settings, over, strict=True):
        reach.add(setting, proved)
    verdict = ClaimVerdict(claim, "", "none", instances, search=tried, over=over)
    verdict.left_out = len(claim.on) - len(on) + (0 if mutant else len(claim.over) - len(over))
    if claim.proof and not mutant:
        held = [i for i, v in zip(on, instances, strict=False) if v.status == HOLDS]
        verdict.proof = proof_steps.decided(claim, held[:QUICK_ROUNDS] if quick else held)
    verdict.reach = reach if search and not mutant and not quick else None
    if not mutant and not quick:
        verdict.mutants = _term_mutants(instances) + _code_mutants(claim, on, instances)
        verdict.dimensional = _dimensional(claim, on, instances)
    verdict.powers_tested = not mutant and not quick
    verdict.word, verdict.evidence = word_of(Basis(claim, instances, tried, over, proof_steps.holds(verdict.proof)))
    verdict.seconds = time.perf_counter() - began
    return verdict


def check_instance(claim, instance: Instance, certify=False) -> InstanceVerdict:
    """One claim on one instance; hypotheses first, so that inapplicable never counts as a pass. certify: the instance is a
    setting of function classes, and decided is what `certify` says of it."""
    fault = instance.extra.get("fault")
    if fault is not None:
        with fault.planted():
            return check_instance(claim, instance.but(fault=None), certify)
    began = time.perf_counter()
    out = InstanceVerdict(instance.name, ERROR, says=instance.says)
    try:
        with Balls.apart(getattr(instance.domain, "bits", 53)):
            out.hypotheses = [h.check(instance) for h in claim.needs]
            failed = [h for h in out.hypotheses if not h.holds]
            if failed:
                out.status = OUT_OF_SCOPE
                out.reason = "; ".join(f"{h.name} fails: {h.lhs} against {h.rhs}" for h in failed)
                return out
            out.comparisons = certified.comparisons(claim, instance)[0] if certify else claim(instance)
        if not out.comparisons:
            out.reason = "the claim compared nothing"
        statuses = {c.status for c in out.comparisons}
        out.status = next((s for s in (FALSIFIED, INCONCLUSIVE) if s in statuses), HOLDS if statuses else ERROR)
        deciding = [c for c in out.comparisons if c.status == out.status] or out.comparisons
        kinds = [c.evidence for c in deciding]
        # one failing leg refutes with its own strength; a conjunction holds only as strongly as its weakest leg
        # runs confirm what exact legs decide; alone they are statistical
        decisive = [k for k in kinds if k != "statistical"] or kinds
        out.evidence = max(kinds, key=STRENGTH.index) if out.status == FALSIFIED else weakest(decisive)
    except ImportError as error:  # `linalg` and `scalars` say which library is missing and what for
        out.status, out.reason = SKIPPED, str(error)
    except (CertificateFailed, TooLarge) as error:
        out.status, out.reason = INCONCLUSIVE, str(error)
    except NoFixedPoint as error:
        out.status, out.reason, out.evidence = INCONCLUSIVE, str(error), "none"
    except Exception as error:
        out.status, out.reason = ERROR, f"{type(error).__name__}: {error} ({_where(claim, error)})"
    finally:
        out.seconds = time.perf_counter() - began
    return out


def _where(claim, error) -> str:
    """The line of the claim's own file that an error came through, and the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    file = getattr(getattr(claim.body, "__code__", None), "co_filename", None)
    mine = [f for f in frames if f.filename == file] or [f for f in frames if f.name != "check_instance"] or frames
    last, place = frames[-1], f"at {mine[-1].name}, line {mine[-1].lineno}"
    return place if last is mine[-1] else f"{place}; raised in {last.name}, line {last.lineno}"


# ---- mutants ---------------------------------------------------------------------------------------------
def _term_mutants(instances) -> list[records.Mutant]:
    """Each term of a bound is dropped in turn; some instance must then violate the bound."""
    names = []
    for v in instances:
        for c in v.comparisons:
            names += [n for n in (c.terms or {}) if n not in names]
    out = []
    for name in names:
        killer = next(
            (
                v.instance
                for v in instances
                if v.status == HOLDS
                for c in v.comparisons
                if c.terms and name in c.terms and _without(c, name).status == FALSIFIED
            ),
            None,
        )
        out.append(records.Mutant(f"drop:{name}", "term", "killed" if killer else "survived", killer or "",
                                  "" if killer else "no instance needs this term"))
    return out


def _without(c, name):
    relation = equal if c.relation == "equal" else at_most
    return relation(c.lhs, Terms(**c.terms).without(name))


def _code_mutants(claim, on, instances) -> list[records.Mutant]:
    """Catalogued bugs swapped into the instances, and each must be noticed somewhere. One that diverges counts as nothing:
    whoever runs it notices.

    A fault of the engine is noticed where it turns HOLDS and FALSIFIED into each other: a statement that is false on
    purpose loses its witness. A bug that only raises an error, or leaves a comparison undecided, was not noticed.
    """
    out = []
    for bug in claim.rejects:
        tried, killer, diverging = 0, None, []
        passed: dict[str, str] = {}   # why instances were not tried
        noticed = {HOLDS: FALSIFIED} | ({FALSIFIED: HOLDS} if _of_engine(bug) else {})
        for instance, right in zip(on, instances, strict=False):  # what a search found stands behind the instances
            try:
                mutated = apply_bug(bug, instance)
            except (TypeError, AttributeError, FLTheoryError) as error:
                passed.setdefault(f"raises {type(error).__name__}: {' '.join(str(error).split())}", instance.name)
                continue
            wanted = None if mutated is None else noticed.get(right.status)
            if mutated is None or wanted is None:
                passed.setdefault("changes nothing" if mutated is None else f"not tried where the claim is {right.status}",
                                  instance.name)
                continue
            tried += 1
            if not _of_engine(bug) and _diverges(mutated):
                diverging.append(instance.name)
                continue
            if check_instance(claim, mutated).status == wanted:
                killer = instance.name
                break
        status = (
            "killed" if killer else "inapplicable" if tried == 0 else "unstable" if tried == len(diverging) else "survived"
        )
        detail = (bug.__doc__ or "").split("\n")[0] + (f" (diverges on {', '.join(diverging)})" if diverging else "")
        if status == "inapplicable":
            why = [f"{reason} (on {name})" for reason, name in passed.items()]
            detail = " ".join(filter(None, (detail, "Inapplicable: " + ("; ".join(why) or "the claim has no instance") + ".")))
        out.append(records.Mutant(bug.__name__, "engine" if _of_engine(bug) else "bug", status, killer or "", detail))
    return out


def apply_bug(bug, instance) -> Instance | None:
    """The instance under a catalogued bug (a function of the algorithm, or of the law), None where it changes nothing.

    A bug with `of = "engine"` is a wrong line of this package: a fresh instance carries it as `fault`, and
    `check_instance` decides that one while `fault.planted()` holds.
    """
    if _of_engine(bug):
        return instance.afresh().but(fault=bug)
    field = getattr(bug, "of", "algorithm")
    value = getattr(instance, field)
    changed = None if value is None else bug(value)
    return None if changed is None or changed == value else instance.but(**{field: changed}, stated=instance.stated)


def _of_engine(bug) -> bool:
    return getattr(bug, "of", "") == "engine"


def _diverges(instance) -> bool:
    """Whether second moments grow on the instance, where it has numbers: by its operator, else by its declared run."""
    if instance.domain not in (FLOAT, RATIONAL) and not isinstance(instance.domain, Balls):
        return False  # a symbolic identity is about every step size
    try:
        if isinstance(instance.problem, Quadratic):
            return not instance.but(domain=FLOAT).op.stable
        return instance.simulate is not None and _blown_up(instance.run)
    except Exception:  # a bug that breaks the round is no reason to break off: the claim on it will say ERROR
        return False


def _blown_up(trace) -> bool:
    """Whether a run ended far beyond where it began, or outside the floats."""
    error = trace.mean() if "error" in trace.metrics else np.zeros(1)
    return not np.isfinite(trace.final).all() or not error[-1] <= BLOWN * max(error[0], 1.0)


def _dimensional(claim, on, instances) -> records.Outcome | None:
    """A bound's truth may not depend on units: both sides must scale alike under f -> c f and x -> s x."""
    if not claim.bound:
        return None
    usable = [i for i, v in zip(on, instances, strict=False) if v.status == HOLDS and i.problem is not None
              and hasattr(i.problem, "H") and getattr(i, "units", True) and i.algorithm is not None
              and any(c.terms for c in v.comparisons)]
    for instance in usable[:2]:
        for loss, length in ((Fraction(3), Fraction(1)), (Fraction(1), Fraction(2, 5))):
            base, other = claim(instance), claim(instance.rescaled(loss, length))
            for a, b in zip(base, other, strict=True):
                if a.terms is None:
                    continue
                ratio = equal(_ratio(a), _ratio(b))
                if ratio.status != HOLDS:
                    return records.Outcome("failed", f"{instance.name}: rhs/lhs changes from {show(ratio.lhs)} to "
                                           f"{show(ratio.rhs)} under f -> {loss} f, x -> {length} x")
    if not usable:
        # said on the claim's line: who writes bound=True believes that units were tried
        summed = any(c.terms for v in instances for c in v.comparisons)
        return records.Outcome("not applicable", "no instance with a sum of terms can be rescaled" if summed else
                               "no comparison has ft.Terms")
    return records.Outcome("passed", f"both sides scale alike on {len(usable[:2])} instances")


def _ratio(c):
    return c.looseness if c.looseness is not None else 0
