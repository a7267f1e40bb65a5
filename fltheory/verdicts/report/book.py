"""The records of a run in order: grouped by paper, counted, and placed on pages."""

from collections import Counter
from dataclasses import dataclass, field

from fltheory.verdicts import records
from fltheory.verdicts.records import ENGINE, Claim, Paper, Run, page_of
from fltheory.verdicts.report.words import CLAIM_WORDS, flat, natural


@dataclass
class Book:
    """The records of a run, sorted, so that two runs with the same content give the same page."""

    runs: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    calibrations: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    abouts: list = field(default_factory=list)
    galleries: list = field(default_factory=list)
    instances: dict = field(default_factory=dict)
    orphans: list = field(default_factory=list)
    here: str = ""  # the page that is being written
    where: dict = field(default_factory=dict)  # the pages of entries that are not on their paper's own, by anchor

    @classmethod
    def of(cls, raw) -> "Book":
        """The book of records, or of lines of JSON."""
        book = cls()
        loose: list = []
        lists = {"run": book.runs, "claim": book.claims, "finding": book.findings, "calibration": book.calibrations,
                 "answer": book.answers, "paper": book.abouts, "gallery": book.galleries, "instance": loose}
        for record in records.read_all(raw or []):
            lists[record.type].append(record)
        for group in (book.claims, book.findings):
            group.sort(key=lambda r: (natural(r.paper), natural(r.id)))
        book.answers.sort(key=lambda r: natural(r.paper))
        known = {(c.paper, c.id) for c in book.claims}
        for record in sorted(loose, key=lambda r: natural(r.instance)):
            if (record.paper, record.claim) in known:
                book.instances.setdefault((record.paper, record.claim), []).append(record)
            else:
                book.orphans.append(record)
        return book

    @property
    def run(self) -> Run:
        """The record of the run that made the others; an empty one if there is none."""
        return self.runs[0] if self.runs else Run()

    @property
    def entries(self) -> list:
        return self.claims + self.findings

    @property
    def papers(self) -> list:
        """The papers, and after them this program, whose claims watch the checks."""
        return sorted({r.paper for r in self.entries}, key=lambda paper: (paper == ENGINE, natural(paper)))

    def about(self, paper) -> Paper:
        """What the folder says about the paper itself; an empty record if it says nothing."""
        return next((a for a in self.abouts if a.paper == paper), Paper())

    def page(self, entry) -> str:
        """The page on which an entry stands."""
        return self.where.get(entry.anchor) or page_of(entry.paper)

    def href(self, entry) -> str:
        """The address of an entry, from the page that is being written."""
        there = self.page(entry)
        return entry.href if there == self.here else there + entry.href

    def of_claim(self, claim) -> list:
        return self.instances.get((claim.paper, claim.id), [])

    def mismatches(self) -> list:
        return [r for r in self.entries if r.unexpected]

    def lost(self) -> list:
        """Pairs (paper, sentence) of answers that the verdicts of this run no longer carry."""
        return [(a.paper, s) for a in self.answers for s in a.sentences if s.state == "lost"]

    def unfinished(self) -> str:
        """What the run could not decide because worker processes died, "" if there is nothing."""
        names = [flat(name) for run in self.runs for name in run.lost]
        return f"{len(names)} not decided: {', '.join(names)} (the worker process died, and its successor too)" if names else ""

    def find(self, kind, paper, name):
        """The claim or finding called `name` in `paper`, None without one; `paper/name` is understood as well."""
        among = {"claim": self.claims, "finding": self.findings}.get(kind, []) if name else []
        return next((r for r in among if (r.paper, r.id) == (paper, name) or r.name == name), None)

    def cases(self, word) -> list:
        """(claim, the finding that explains it or None, the corrected statement or None) of the claims with this word."""
        return [(c, self.find("finding", c.paper, c.finding), self.find("claim", c.paper, c.instead))
                for c in self.claims if c.word == word]


def finished(book) -> tuple:
    """(papers of which every claim and finding of the ledger was decided, all papers), slugs in order."""
    papers = [p for p in book.papers if p != ENGINE]
    undecided = {r.paper for r in book.entries if r.word in ("", "ERROR", "SKIPPED")}
    def whole(paper):
        written, listed = book.run.written.get(paper, (0, 0))
        return paper not in undecided and 0 < written == listed == sum(r.paper == paper for r in book.entries)
    return [p for p in papers if whole(p)], papers


def word_table(book) -> tuple:
    """(words in use, [(paper, {word: claims}, "c of n" findings confirmed)]), with a last row "all" where there are several.

    Words that this report does not know are counted as "other".
    """
    def row(name, papers):
        claims, findings = ([r for r in those if r.paper in papers] for those in (book.claims, book.findings))
        confirmed = sum(f.word == "CONFIRMED" for f in findings)
        words = Counter(c.word if c.word in CLAIM_WORDS else "other" for c in claims)
        return name, words, f"{confirmed} of {len(findings)}" if findings else ""
    papers = [p for p in book.papers if p != ENGINE]
    rows = [row(p, [p]) for p in papers] + ([row("all", papers)] if len(papers) > 1 else [])
    return [w for w in (*CLAIM_WORDS, "other") if any(words[w] for _, words, _ in rows)], rows


def of_papers(entries) -> list:
    """The claims or findings of papers."""
    return [r for r in entries if r.paper != ENGINE]


def word_counts(entries) -> Counter:
    return Counter(r.word or "(no word)" for r in entries)


def whole(word) -> str:
    """What the unrestricted claims of a divided word are called: a proof reaches all n; exact arithmetic, what is stated."""
    return "all" if word == "PROVED" else "as stated"


def tallies(claims) -> list:
    """[(word, "" | what `whole` says | "restricted", count)], known words first; a word is divided where one of its labels is."""
    claims = list(claims)
    words, limited = word_counts(claims), word_counts([c for c in claims if c.limited])
    out = []
    for word in (*CLAIM_WORDS, *sorted(set(words) - set(CLAIM_WORDS))):
        parts = [("", words[word])]
        if limited[word]:
            parts = [(whole(word), words[word] - limited[word]), ("restricted", limited[word])]
        out += [(word, reach, count) for reach, count in parts if count]
    return out


def bugs(claims: list[Claim], kind="bug") -> dict:
    """The matrix claims x catalogued bugs: name -> (what it does, claims that reject it, claims that miss it).

    kind: "bug" (wrong implementations of methods), or "engine" (wrong lines of this package).
    """
    out: dict = {}
    for claim in claims:
        for mutant in claim.mutants:
            if mutant.kind == kind:
                _, killed, missed = out.setdefault(mutant.name, (mutant.detail, [], []))
                {"killed": killed, "survived": missed}.get(mutant.status, []).append(claim)
    return dict(sorted(out.items()))
