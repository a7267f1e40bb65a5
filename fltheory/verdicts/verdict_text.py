"""How claims, verdicts and searches read on a terminal and in a notebook: plain lines, and escaped tables.

A notebook typesets the LaTeX of the escaped statement itself.
"""
from __future__ import annotations

from html import escape

from fltheory.core.errors import BadInput
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.tables import html_row, plain
from fltheory.verdicts.comparison_text import computed_row, needs, short
from fltheory.verdicts.deciding.proved_domain import argued, covered, label
from fltheory.verdicts.search.rebuild import text


def _lines(verdict) -> list[str]:
    """One instance verdict: hypotheses with both numbers, then both sides."""
    out = [f"  {verdict.instance}: {verdict.status} {verdict.reason}".rstrip()]
    out += [f"    {needs(h)}" for h in verdict.hypotheses]
    return out + [f"    {label}: {left} {relation} {right}: {status}"
                  for label, left, relation, right, _, status in map(computed_row, verdict.comparisons)]


def table(head, rows) -> str:
    """An HTML table; every cell is escaped."""
    left = ' style="text-align:left"'
    return f"<table>{html_row(head, 'th', cell=left)}{''.join(html_row(r, cell=left) for r in rows)}</table>"


def _instances_html(verdicts) -> str:
    rows = []
    for v in verdicts:
        needs = "; ".join(f"{h.name}: {h.lhs} against {h.rhs} {'holds' if h.holds else 'fails'}"
                          for h in v.hypotheses)
        sides = [computed_row(c) for c in v.comparisons] or [("", "", "", "", "", v.status)]
        rows += [(v.instance, needs, *side, v.reason) for side in sides]
    return table(("instance", "hypotheses", "comparison", "left", "relation", "right", "margin", "status", "reason"),
                 rows)


# ---- claims and verdicts ----------------------------------------------------------------------------------
def claim_html(claim) -> str:
    """The statement of a claim, its hypotheses and its instances."""
    rows = [(h.name, h.statement) for h in claim.needs]
    needs = table(("hypothesis", "statement"), rows) if rows else ""
    return (f"<p><b>{escape(claim.id)}</b></p><p>{escape(claim.statement)}</p>{needs}"
            f"<p>{len(claim.on)} instances: {escape(', '.join(str(i.name) for i in claim.on))}</p>")


def _head(verdict) -> str:
    covers = covered(verdict.claim, verdict.word)
    reach = label(verdict.word, covers, argued(verdict.claim, verdict.word, verdict.instances)) or verdict.word
    evidence = "" if verdict.evidence == "none" else f" ({verdict.evidence})"
    return f"{verdict.claim.id}: {reach}{evidence}, {verdict.scope}"


def verdict_text(verdict) -> str:
    """A claim's word, its instances with both sides, and what contradicts its declaration."""
    lines = [_head(verdict), *(line for v in verdict.instances for line in _lines(v))]
    return plain("\n".join(lines + [f"  note: {s}" for s in verdict.surprises()]))


def verdict_html(verdict) -> str:
    """The same for a notebook."""
    notes = "".join(f"<p>note: {escape(s)}</p>" for s in verdict.surprises())
    mutants = table(("mutant", "status", "noticed on"), [(m.name, m.status, m.by)
                                                         for m in verdict.mutants]) if verdict.mutants else ""
    return (f"<p><b>{escape(_head(verdict))}</b></p><p>{escape(verdict.claim.statement)}</p>"
            f"{_instances_html(verdict.instances)}{mutants}{notes}")


# ---- searches ---------------------------------------------------------------------------------------------
def _searched(result) -> str:
    return (f"{result.tries} tries ({result.in_scope} inside the hypotheses and decided) in {result.seconds:.1f} s over "
            f"{', '.join(result.families) or 'no family'}")


def _outcome(result) -> str:
    name = result.claim.id
    if result.error:
        return f"ERROR: the search excludes nothing, after {_searched(result)}: {short(result.error)}"
    if not result.found:
        nothing = "" if result.in_scope else " No try met the hypotheses and was decided: nothing was tested."
        return f"no counter-example to {name} in {_searched(result)}: not a proof.{nothing}"
    shrunk = "smallest so far, the deadline cut the shrinking" if result.stopped == "deadline" else "shrunk"
    if result.exact:
        return f"counter-example to {name}, {shrunk}, after {_searched(result)}"
    return (f"suspicion against {name}, {shrunk}, after {_searched(result)}: the numbers compared are not exact "
            f"({result.verdict.evidence}), and only exact numbers refute")


def _losses(result) -> str:
    """Which losses the default families reached, where that matters for what was found or not found."""
    if result.found:
        bent = type(result.witness.problem) is HuberLoss
        return "these losses are no quadratics: a statement about quadratics alone says so in needs= or families=" if bent else ""
    ways: dict = {}
    for family, why in result.left_out.items():
        ways.setdefault(why, []).append(family)
    return "; ".join(f"{' and '.join(families)} left out, the claim does not run there: {short(why.split('. ')[0])}"
                     for why, families in ways.items())


def _untested(result) -> str:
    """Draws that the claim refused, each reason once, and algorithms of the claim that were not drawn at all."""
    ways: dict = {}
    for why, n in result.refused.items():
        ways.setdefault(why.split(":")[0], []).append((n, why))
    parts = [f"{sum(n for n, _ in way)} draws refused by the claim ({short(way[0][1])})" for way in ways.values()]
    if result.unsearched:
        parts.append(f"not drawn: {', '.join(result.unsearched)}, which the claim has in symbols or on other problems only")
    return "; ".join(parts)


def _kept(result) -> str:
    if not result.kept:
        return ""
    names = ", ".join(f"{k}={short(v)}" for k, v in result.kept.items())
    return f"kept from the claim's instance: {names}; if one of these depends on the problem, give families= that say how"


def search_text(result) -> str:
    """What was found, with both sides, or honestly nothing."""
    lines = [_outcome(result)]
    if result.witness is not None:
        lines += ["  " + text(result.witness)] + (_lines(result.verdict) if result.found else [])
    if result.best and not result.found:
        lines.append(f"  largest left/right side seen: {result.best:.6g}")
    return plain("\n".join(lines + [f"  {note}" for note in (_kept(result), _losses(result), _untested(result)) if note]))


def search_html(result) -> str:
    """The same for a notebook, with the cell that rebuilds the witness."""
    out = (f"<p><b>{escape(_outcome(result))}</b></p><p>{escape(_kept(result))}</p><p>{escape(_losses(result))}</p>"
           f"<p>{escape(_untested(result))}</p>")
    if result.found:
        out += _instances_html([result.verdict])
    if result.witness is not None:
        try:
            out += f"<pre>{escape(result.code())}</pre>"
        except BadInput as error:
            out += f"<p>{escape(text(result.witness))} ({escape(str(error))})</p>"
    return out
