"""pytest plugin: `pytest verification --claims` turns every paper folder into one test per claim and instance.

Ids read `verification/fednova::eq26-28[plane]`; `::eq26-28[word]` checks the claim's final word and `::finding[e1]`
confirms a finding. Fixture `check_claim(claim, instance)` asserts a single one. Without --claims nothing is collected.
"""

from pathlib import Path

import pytest

LEDGER = "ledger.csv"
WIDTH = 56  # of a number in a failure's table


def pytest_addoption(parser):
    group = parser.getgroup("fltheory")
    group.addoption("--claims", action="store_true",
                    help="collect the claims and findings of paper folders (with a ledger.csv)")


def pytest_configure(config):
    if not config.getoption("claims"):
        return
    for mark in ("claim: one claim on one instance, or its final word", "finding: one finding"):
        config.addinivalue_line("markers", mark)
    config.args[:] = [_with_ledger(arg) for arg in config.args]


def _with_ledger(arg):
    """pytest wants a file before `::`: the id of an item, given as an argument, names its folder."""
    base, bracket, rest = arg.partition("[")
    folder, colons, name = base.partition("::")
    return f"{folder}/{LEDGER}::{name}{bracket}{rest}" if colons and (Path(folder) / LEDGER).is_file() else arg


def pytest_collect_file(file_path, parent):
    if file_path.name != LEDGER or not parent.config.getoption("claims"):
        return None
    folder = file_path.parent
    root = parent.config.rootpath
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.as_posix()
    return PaperFolder.from_parent(parent, path=file_path, nodeid=name)


class PaperFolder(pytest.File):
    """A paper folder; its children are the claims on their instances, the claims' words and the findings."""

    def collect(self):
        from fltheory.core.errors import FLTheoryError
        from fltheory.core.tables import plain
        from fltheory.verdicts.papers.discover import load

        try:
            paper = load(self.path.parent)
        except FLTheoryError as error:
            raise self.CollectError(str(error)) from None
        for claim in paper.claims.values():
            for instance in claim.on:
                name = plain(f"{claim.id}[{instance.name}]")
                yield ClaimItem.from_parent(self, name=name, claim=claim, instance=instance)
            yield WordItem.from_parent(self, name=plain(f"{claim.id}[word]"), claim=claim)
        for finding in paper.findings.values():
            yield FindingItem.from_parent(self, name=plain(f"finding[{finding.id}]"), finding=finding, claims=paper.claims)


class Refuted(Exception):
    """Carries the table of a failed item."""


class _Item(pytest.Item):
    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value) if isinstance(excinfo.value, Refuted) else super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.name

    def setup(self):
        from fltheory.verdicts.folders import activate

        activate(self.path.parent)


class ClaimItem(_Item):
    """One claim on one instance. A claim expected to be FALSE may hold or fail here; its word is judged elsewhere."""

    def __init__(self, claim, instance, **rest):
        super().__init__(**rest)
        self.claim, self.instance = claim, instance
        self.add_marker("claim")

    def runtest(self):
        from fltheory.verdicts.deciding.check import check_instance

        verdict = check_instance(self.claim, self.instance)
        _skip_if_undecided(verdict)
        allowed = {"FALSE": ("HOLDS", "FALSIFIED"), "OPEN": ("HOLDS", "FALSIFIED", "INCONCLUSIVE")}
        if verdict.status not in allowed.get(self.claim.expect, ("HOLDS",)):
            raise Refuted(table(self.claim, verdict))


class WordItem(_Item):
    """The final word of a claim, with its search, mutants and units."""

    def __init__(self, claim, **rest):
        super().__init__(**rest)
        self.claim = claim
        self.add_marker("claim")

    def runtest(self):
        from fltheory.core.tables import plain

        verdict = self.claim.check()
        if verdict.word == "SKIPPED":
            pytest.skip("; ".join(v.reason for v in verdict.instances if v.status == "SKIPPED"))
        if not verdict.as_expected:
            head = f"{self.claim.id}: {verdict.word}, expected {self.claim.expect or 'SUPPORTED'}"
            raise Refuted(plain("\n".join([head, *verdict.failures()])))


class FindingItem(_Item):
    """One finding, confirmed by the procedure of its kind."""

    def __init__(self, finding, claims, **rest):
        super().__init__(**rest)
        self.finding, self.claims = finding, claims
        self.add_marker("finding")

    def runtest(self):
        from fltheory.core.tables import plain
        from fltheory.verdicts.deciding.findings import confirm

        verdict = confirm(self.finding, self.claims)
        if verdict.word == "SKIPPED":
            pytest.skip("; ".join(s.detail for s in verdict.steps if s.status == "skipped"))
        if not verdict.as_expected:
            rows = [(s.status, s.step, s.detail) for s in verdict.steps]
            head = plain(f"{self.finding.id}: {verdict.word}, expected {self.finding.expect}")
            raise Refuted("\n".join([head, *_align(rows)]))


@pytest.fixture
def check_claim():
    """check_claim(claim, instance): fail with a table unless the claim holds there; skip where it does not apply."""
    from fltheory.verdicts.deciding.check import check_instance

    def check(claim, instance):
        __tracebackhide__ = True
        verdict = check_instance(claim, instance)
        _skip_if_undecided(verdict)
        if verdict.status != "HOLDS":
            pytest.fail(table(claim, verdict), pytrace=False)

    return check


def _skip_if_undecided(verdict):
    if verdict.status in ("OUT_OF_SCOPE", "SKIPPED"):
        pytest.skip(f"{verdict.status}: {verdict.reason}")


def table(claim, verdict) -> str:
    """One instance of a claim: hypotheses with both numbers, then both sides of each comparison with the margin."""
    from fltheory.core.tables import plain
    from fltheory.verdicts.comparison_text import computed_row, exactly, hypothesis_row

    lines = [plain(f"{claim.id} on {verdict.instance}: {verdict.status} {verdict.reason}".rstrip())]
    if verdict.hypotheses:
        lines += _align([("hypothesis", "left", "right", "margin", ""), *map(hypothesis_row, verdict.hypotheses)])
    if verdict.comparisons:
        rows = [computed_row(c, exactly) for c in verdict.comparisons]
        lines += _align([("comparison", "left", "relation", "right", "margin", ""), *rows])
    return "\n".join(lines)


def _align(rows):
    from fltheory.core.tables import aligned, keep_ends

    return aligned([[keep_ends(str(c), WIDTH) for c in row] for row in rows], "  ")
