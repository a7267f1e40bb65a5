"""A reader's own paper folder, written into a temporary directory."""

from fltheory.verdicts.papers.discover import COLUMNS

HEADER = ",".join(COLUMNS)
CLAIM = "half,Sec 1,claim,identity,CERTIFIED,exact,,Two halves make one."
WRONG = "third,Sec 1,claim,identity,FALSE,exact,half,Two thirds make one."
FINDING = "f1,Sec 1,finding,counterexample,CONFIRMED,witness,half,third: two thirds are no whole."

BUGS = '''
from dataclasses import replace


def one_third(algorithm):
    """A third is taken for a half."""
    return replace(algorithm, part=1)
'''
FORMULAS = """
from fractions import Fraction


def share(k):
    return Fraction(1, k)
"""
CLAIMS = '''
from dataclasses import dataclass

from fltheory.verdicts.claims.claim import Instance, claim
from fltheory.core.relations import equal
from {package} import formulas as f


@dataclass(frozen=True)
class Part:
    part: int = 0


@claim("half", on=[Instance("two", algorithm=Part(), k=2)], domain="two parts", powerless="an example")
def half(i):
    """Two halves make one."""
    return equal(2 * f.share(i.k + i.algorithm.part), {total})


@claim("third", on=[Instance("three", k=3)])
def third(i):
    """Two thirds make one."""
    return equal(2 * f.share(i.k), {total})
'''
FINDINGS = """
from fltheory.verdicts.claims.claim import finding

finding("f1", kind="counterexample", breaks="third", at=("three",), script="witnesses/f1.py",
        reading="As printed.", survives="half")
"""
SCRIPT = """from fractions import Fraction
print("VERDICT: two thirds are", Fraction(2, 3))
"""


def paper(parent, slug="own", total=1, rows=(CLAIM, WRONG, FINDING), bugs=True):
    """Write a complete paper folder <parent>/<slug> and return it."""
    folder = parent / slug
    (folder / "claims").mkdir(parents=True)
    (folder / "witnesses").mkdir()
    (folder / "ledger.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    (folder / "formulas.py").write_text(FORMULAS)
    (folder / "claims" / "first.py").write_text(CLAIMS.format(package=f"{parent.name}.{slug}", total=total))
    (folder / "findings.py").write_text(FINDINGS)
    (folder / "witnesses" / "f1.py").write_text(SCRIPT)
    if bugs:
        (parent / "bugs.py").write_text(BUGS)
    return folder
