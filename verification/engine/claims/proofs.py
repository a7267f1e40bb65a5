"""The checker of pencil proofs: it accepts Young's inequality and an induction, and refuses their nearest falsehoods."""
from fractions import Fraction as Q

import fltheory as ft
from verification.engine.faults import these

LISTED = "the listed steps, decided by hand"
CONSTANTS = [ft.Instance(f"{share} of the constant", share=Q(share), holds=holds) for share, holds in (("1", 1), ("9/10", 0),
                                                                                                       ("2", 1))]
GROWTH = [ft.Instance(f"a number that doubles, bounded by {rate}^r", rate=rate, holds=int(rate == 2)) for rate in (2, 1, 3)]


def accepted(step) -> int:
    return int(step.status == "HOLDS")


@ft.claim("proof-inequality", on=CONSTANTS, domain=LISTED, rejects=these("sign-always-shown", "multiplier-of-any-sign"))
def proof_inequality(i):
    """(1 + s)|u|^2 + c (1 + 1/s)|v|^2 >= |u + v|^2 is accepted for every dimension where c >= 1, and refused below; no fact may
    be turned by a negative multiplier.
    """
    p = ft.Proof("s", vectors="u v")
    s, u, v = p("s u v")
    square = p.square("square", s * u - v)
    p.follows("Young", (1 + s) * u.square + i.share * (1 + 1 / s) * v.square - (u + v).square, (1 / s, square))
    p.follows("turned", -square.expression, (-1, square))
    return ft.equal([accepted(step) for step in p.steps[-2:]], [i.holds, 0])


@ft.claim("proof-induction", on=GROWTH, domain=LISTED, rejects=these("induction-step-unchecked"))
def proof_induction(i):
    """From x' <= 2x the bound z >= x is kept by z' = 2z; a step that proves the bound for another z' is refused."""
    p = ft.Proof("z Z", "x x1 end")
    z, x, x1 = p("z x x1")
    now = p.suppose("now", z - x)
    then = p.follows("then", 2 * z - x1, (2, now), p.given("round", 2 * x - x1))
    p.induct("end", now, then, {"z": 1, "x": 0}, {"z": i.rate * z, "x": "x1"}, {"z": "Z", "x": "end"})
    return ft.equal(accepted(p.steps[-1]), i.holds)
