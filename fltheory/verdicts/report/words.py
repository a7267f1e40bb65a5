"""How verdict words look, and how texts and numbers are shortened and made harmless, for all writers."""

import math
import re
from typing import NamedTuple

from fltheory.core.numbers.text import digits


class Look(NamedTuple):
    """How a verdict word is shown: a tone (colour), a mark (so colour is never alone) and a gloss."""

    tone: str
    mark: str
    gloss: str


# Only PROVED and CERTIFIED carry the tone "true": no other word may look like an established result.
WORDS = {"PROVED": Look("true", "✓", "true: there is a proof that the program checked"),
         "CERTIFIED": Look("true", "✓", "true on the scope stated beside it, by exact or enclosed arithmetic"),
         "SUPPORTED": Look("support", "◐", "no counterexample was met; this is evidence and not a proof"),
         "FALSE": Look("false", "✗", "false as read here: a witness refutes it"),
         "VACUOUS": Look("neutral", "∅", "nothing to check: it says nothing about any instance tried"),
         "OPEN": Look("neutral", "?", "not decided"),
         "ERROR": Look("error", "!", "the check itself failed, so there is no verdict"),
         "SKIPPED": Look("neutral", "–", "not run this time"),
         "CONFIRMED": Look("finding", "◆", "every step of the finding's procedure was reproduced"),
         "NOT CONFIRMED": Look("error", "◇", "the finding's procedure was not reproduced"),
         "HOLDS": Look("plain", "·", "the comparison holds on this instance"),
         "FALSIFIED": Look("false", "✗", "the comparison fails on this instance"),
         "OUT_OF_SCOPE": Look("neutral", "–", "a hypothesis fails, so the instance does not count"),
         "INCONCLUSIVE": Look("neutral", "?", "the two sides could not be told apart")}
UNKNOWN = Look("neutral", "?", "a word this report does not know")
CLAIM_WORDS = ("PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "VACUOUS", "OPEN", "ERROR", "SKIPPED")
TRUE_WORDS = ("PROVED", "CERTIFIED")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spelt(number) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def look(word) -> Look:
    return WORDS.get(str(word or ""), UNKNOWN)


def natural(value):
    """Sort key under which ``thm2`` comes before ``thm10``."""
    return [(1, int(p), "") if p.isdecimal() else (0, 0, p) for p in re.split(r"(\d+)", str(value)) if p]


def show(value, most=4) -> str:
    """A number to four significant digits, or `most`; text stays as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return "NaN" if math.isnan(value) else digits(value, most).replace("-", "−")
    return str(value)


def cut_digits(text) -> str:
    """Long runs of digits lose their middle."""
    return re.sub(r"\d{17,}", lambda m: f"{m[0][:6]}…{m[0][-4:]}", text)


def plain(text) -> str:
    """Fractions among the parameters of a class or law as they are written by hand: Fraction(-1, 2) and '-1/2' as -1/2."""
    text = re.sub(r"Fraction\((-?\d+), (\d+)\)", lambda m: m[1] if m[2] == "1" else f"{m[1]}/{m[2]}", text)
    return re.sub(r"'(-?[\d./]+)'", r"\1", text)


def shorten(value, limit=44) -> str:
    """Long digit runs lose their middle, then a text that is still too long does."""
    full = show(value)
    if len(full) <= limit:
        return full
    short = cut_digits(full)
    half = (limit - 1) // 2
    return short if len(short) <= limit else f"{short[:half]}…{short[-half:]}"


# Control characters, lone surrogates (no encoding writes them) and marks that reverse the order of what follows.
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(page) -> str:
    """The text with characters that no page should hold replaced by a visible mark; newlines and tabs stay."""
    return _UNSHOWN.sub("\ufffd", page)


def flat(value) -> str:
    """One line that cannot drive a terminal or reorder what stands beside it."""
    return " ".join(_UNSHOWN.sub(" ", show(value)).split())


def plural(count, noun) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def _reads_as_number(text) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def approximation(exact, number) -> str:
    """The decimal shown next to an exact value; empty when the printed value is already a short decimal."""
    if number is None or (exact and len(exact) <= 10 and _reads_as_number(exact)):
        return ""
    return show(number)


def factors(numbers) -> str:
    """How far above the left side the right side lies: a factor, or the range of factors."""
    return "×" + " to ×".join(dict.fromkeys(map(show, numbers))) if numbers else ""
