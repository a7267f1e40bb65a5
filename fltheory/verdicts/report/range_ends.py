"""How far a universal claim was tested, in words for all writers: each variable with its ends, and where its bound is tightest."""

from fltheory.verdicts.report.words import show

FAR = 0.5  # a bound whose sides never came closer is said to be untested within a factor 2


def sentences(claim) -> list[str]:
    """One sentence per declared variable."""
    out = []
    for r in claim.reached:
        both = [end for end in (r.low, r.high) if end != "out of reach"]
        aim = f" (declared end{'s' * (len(both) == 2)} {' and '.join(both)})" if both else ""
        why = f"; beyond: {'; '.join(r.beyond)}" if r.beyond else ""
        out.append(f"{r.variable} {r.tested}{aim}{why}")
    return out


def tightest(claim) -> str:
    """The largest left/right of a bound with its place; "" where there is none, or where the claim is false."""
    t = claim.tightest
    if t is None or t.ratio is None or claim.word == "FALSE":
        return ""
    lead = "never tested within a factor 2: worst ratio" if t.ratio < FAR else "worst ratio left/right"
    at = ", ".join(f"{name} {value}" for name, value in t.at.items())
    label = f", {t.label}" if t.label else ""
    return f"{lead} {show(t.ratio)} on {t.instance}{label}" + (f" ({at})" if at else "")
