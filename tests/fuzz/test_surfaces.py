"""Parts that the calls of `calls` do not reach: many clients, shares, residues, journals, devices, searches."""
import itertools
import re
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

import numpy as np
from hypothesis import strategies as st

import fltheory as ft
from fltheory.core.errors import Inexact
from fltheory.core.laws.shares import FixedSize, Independent, Shares
from fltheory.core.numbers.residues import Residues, Words, word_prime
from tests.fuzz import calls
from tests.fuzz.budget import cases
from tests.fuzz.hostile import made, values
from tests.fuzz.test_cli import HEAD, acceptable
from tests.fuzz.test_files import damaged

PAPERS = Path(__file__).parents[2] / "verification"


# ---- many clients ---------------------------------------------------------------------------------------------------
def methods(n, lr):
    return st.sampled_from([ft.FedAvg(lr, 2), ft.FedAvg(lr, 3, averaging="unbiased"), ft.FedNova(lr, [1 + k % 3 for k in range(n)]),
                            ft.FedAvg(lr, 2, ft.Decay([1 / (1 + k) for k in range(n)])), ft.FedProx(lr, 2, mu=3),
                            ft.Scaffold(lr, 2), ft.Focus(lr / n, 2), ft.Mifa(lr, 1), ft.VRLSGD(lr, 2), ft.FedVarp(lr, 1)])


@cases(fast=6, slow=60, data=st.data(), seed=st.integers(0, 2**32), size=st.sampled_from([2, 5, 9, 30]),
       law=st.sampled_from(["full", "uniform", "bernoulli", "redraw"]), noise=st.sampled_from([None, 1]))
def test_many_clients(data, seed, size, law, noise):
    """Random float data: numbers, never NaN, and the optimum where a method finds it."""
    many(lambda lr: data.draw(methods(size, lr)), seed, size, law, noise)


@pytest.mark.fuzz
@pytest.mark.parametrize("law", ["full", "uniform"])
@pytest.mark.parametrize("make", [lambda lr: ft.FedAvg(lr, 2), lambda lr: ft.FedNova(lr, 3), lambda lr: ft.Scaffold(lr, 2),
                                  lambda lr: ft.Focus(lr / 200, 2)], ids=["FedAvg", "FedNova", "Scaffold", "Focus"])
def test_two_hundred_clients(make, law):
    assert many(make, 0, 200, law, None)


def many(make, seed, size, law, noise):
    """What holds of make(lr) on random float data of so many clients; whether it was accepted."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((size, 2, 2))
    H = H @ H.swapaxes(1, 2) + np.eye(2) / 4
    algorithm = make(0.2 / float(np.linalg.eigvalsh(H).max()))
    problem = ft.Quadratic(H, rng.standard_normal((size, 2)), rng.dirichlet(np.ones(size)))
    chosen = {"full": ft.Full, "uniform": lambda: ft.Uniform(max(1, size // 3)),
              "bernoulli": lambda: ft.Bernoulli(np.clip(rng.random(size), 1e-9, 1).tolist()),
              "redraw": lambda: ft.Bernoulli(float(rng.random()) + 1e-9, empty="redraw")}[law]()
    op = calls.declared(ft.derive, algorithm, problem, chosen, noise)
    if op is None:
        return False
    assert isinstance(op.assumed, str)
    rate, point = calls.declared(op.rate), calls.declared(op.fixed_point)
    assert rate is None or (np.isfinite(rate) and rate >= 0)
    if point is not None:
        calls.sound(point.x, "the fixed point")
        if type(algorithm) in (ft.Scaffold, ft.Focus) or (type(algorithm) is ft.VRLSGD and law == "full"):
            best = ft.optimum(problem.surrogate([1 / size] * size) if type(algorithm) is ft.Focus else problem).x
            assert np.abs(point.x - best).max() <= 1e-6 * max(1.0, np.abs(best).max())
    return True


def counted(model, v):
    """Moments of `Shares` by listing all cohorts: (means), (seconds)."""
    n = len(v)
    if isinstance(model, FixedSize):
        chances = dict.fromkeys(itertools.combinations(range(n), model.m), 1.0)
    else:
        chances = {}
        for bits in itertools.product((0, 1), repeat=n):
            s = tuple(i for i in range(n) if bits[i])
            if s or not model.nobody == 0.0 or np.any(model.p == 1):
                chances[s] = float(np.prod([p if b else 1 - p for p, b in zip(model.p, bits, strict=True)]))
    total = sum(chances.values()) if isinstance(model, FixedSize) or model.nobody == 0 else 1.0
    one, share, both, mixed, shares = np.zeros(n), np.zeros(n), *np.zeros((3, n, n))
    for s, q in chances.items():
        inside = np.array([float(i in s) for i in range(n)])
        part = inside * v / max(sum(v[i] for i in s), 1e-300)
        q = q / total
        one, share = one + q * inside, share + q * part
        both, mixed, shares = (both + q * np.outer(inside, inside), mixed + q * np.outer(inside, part),
                               shares + q * np.outer(part, part))
    return one, share, both, mixed, shares


@cases(fast=20, slow=300, n=st.integers(1, 7), data=st.data(), uniform=st.booleans(), redraw=st.booleans(),
       spread=st.sampled_from([0, 1, 6, 12]), seed=st.integers(0, 2**32))
def test_shares_are_what_counting_gives(n, data, uniform, redraw, spread, seed):
    """Integrals over all cohorts, also where chances are near 0 or 1 and weights differ by 10^12."""
    rng = np.random.default_rng(seed)
    v = 10.0 ** -rng.uniform(0, spread, n)
    if uniform:
        model = FixedSize(n, data.draw(st.integers(1, n)))
    else:
        p = [data.draw(st.sampled_from([1e-9, 1e-3, 0.3, 0.5, 1 - 1e-9, 1.0, float(rng.uniform(0.01, 1))])) for _ in range(n)]
        model = Independent(p, redraw)
    found = Shares(model, v)
    one, share, _ = found.means()
    for ours, counts in zip((one, share, *found.seconds()), counted(model, v), strict=True):
        assert np.abs(np.asarray(ours) - counts).max() <= 1e-9


# ---- residues -------------------------------------------------------------------------------------------------------
def whole(value):
    """Whether residues may take it: an int, or an array of them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "iub"
    return isinstance(value, int)


SIGNS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
         "==": lambda a, b: a == b, "@": lambda a, b: a @ b, "**": lambda a, b: a ** b, "//": lambda a, b: a // b,
         "<": lambda a, b: a < b, "%": lambda a, b: a % b}


@cases(fast=60, slow=1200, sign=st.sampled_from(sorted(SIGNS)), value=values, swapped=st.booleans(),
       index=st.integers(0, 30))
def test_residues_stay_residues(sign, value, swapped, index):
    """Whatever meets residues: residues come out, or no number at all; a float never mixes in."""
    prime, value = word_prime(index), made(value)
    ours = Residues(np.arange(1, 3), prime)
    try:
        out = SIGNS[sign](value, ours) if swapped else SIGNS[sign](ours, value)
    except (Inexact, ZeroDivisionError):
        return
    except Exception as error:
        # shapes that do not fit, and what another library makes of our arrays in its own operator
        assert isinstance(error, (ValueError, TypeError, OverflowError, RuntimeError)), error
        assert not whole(value) or np.ndim(value) or sign == "@", error
        return
    plain = out.view(np.ndarray) if isinstance(out, Residues) else out
    if isinstance(out, Residues) and plain.dtype != bool:
        assert out.prime == prime and plain.dtype == np.int64 and ((plain >= 0) & (plain < prime)).all()
        assert whole(value), (sign, value, out)
    else:
        assert not isinstance(plain, np.ndarray) or plain.dtype.kind in "bO", (sign, value, out)


@cases(fast=40, slow=600, value=values, index=st.integers(0, 30))
def test_words_take_numbers_or_refuse_them(value, index):
    """A declared number has a residue; whatever is none is refused."""
    domain = Words(word_prime(index))
    value = made(value)
    for use in (domain.scalar, domain.array):
        out = calls.declared(use, value)
        if out is not None:
            plain = np.asarray(out).view(np.ndarray)
            assert ((plain >= 0) & (plain < domain.prime)).all()


# ---- files ----------------------------------------------------------------------------------------------------------
NUMBER = st.one_of(st.floats(-5, 5).map(lambda v: f"{v:.3g}"), st.integers(-9, 9).map(str), st.just("1,5"), st.just(""),
                   st.just("x"))


@cases(fast=6, slow=60, rows=st.lists(st.tuples(st.sampled_from("abc"), NUMBER, NUMBER), min_size=1, max_size=9),
       separator=st.sampled_from([";", "\t", ",", "|"]), told=st.sampled_from([";", "tab", ",", "\\t", "", ";;"]),
       lr=st.sampled_from(["", "1e-9", "0.05", "1/3", "3", "1000", "1e200"]), steps=st.sampled_from(["1", "1,2", "5"]),
       more=st.sampled_from([[], ["--no-measure"], ["--participation", "bernoulli:0.001"], ["--noise", "3"],
                             ["--weights", "uniform"],
                             ["--shared", "f", "--local", "f,1", "--algorithms", "FedResSgd,FedResAvg", "--noise", "1"]]))
def test_predictions_of_any_table(folder, rows, separator, told, lr, steps, more):
    """Semicolons, tabs and steps at which everything diverges: an answer or one line."""
    lines = [separator.join(("c", "t", "f")), *(separator.join(row) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines))
    argv = ["predict", str(folder / "t.csv"), "--client", "c", "--target", "t", "--steps", steps, "--delimiter", told,
            "--rounds", "30", "--replicates", "20", "--algorithms", "FedAvg,Scaffold", *more]
    code, out, err = acceptable([*argv, *(["--lr", lr] if lr else [])])
    assert code != 3 and not re.search(r"\bnan\b", out), (out, err)


TWO = "".join(f"@ft.claim({name!r}, on=[ft.Instance('i')])\ndef {name}(i):\n    'x'\n    return ft.equal(1, {value})\n"
              for name, value in (("a", 1), ("b", 2)))


def words(path):
    return re.findall(r'"word": "(\w+)"', (path / "verdicts.jsonl").read_text())


@cases(fast=8, slow=80, data=st.data(), again=st.booleans())
def test_damaged_journals(folder, data, again):
    """What is left of a journal is used, the rest is decided again; the verdicts are the same."""
    here, report = folder / "journals", folder / "report"
    kept, journal = folder / "kept.jsonl", report / "verdicts.partial.jsonl"
    if not kept.exists():  # once: a journal holds times, so that another one has another length
        paper = here / "p"
        (paper / "claims").mkdir(parents=True)
        (paper / "ledger.csv").write_text(HEAD + "a,Eq. 1,claim,identity,SUPPORTED,,,says\nb,Eq. 2,claim,identity,FALSE,,,says\n"
                                          "f,Eq. 2,finding,remark,CONFIRMED,,,says\n")
        (paper / "findings.py").write_text(
            "import fltheory as ft\nft.finding('f', kind='remark', breaks='b', check=lambda: ft.equal(1, 1, 'one is one'))\n")
        (paper / "claims" / "main.py").write_text("import fltheory as ft\n" + TWO)
        assert acceptable(["verify", str(here), "--report", str(report), "--quick"])[0] == 0
        kept.write_bytes(journal.read_bytes())
    content = kept.read_bytes()
    journal.write_bytes(damaged(content, data) + (damaged(content, data) if again else b""))
    after, *_ = acceptable(["verify", str(here), "--report", str(report), "--quick", "--resume"])
    assert (after, words(report)) == (0, ["SUPPORTED", "FALSE", "CONFIRMED"])


# ---- searches -------------------------------------------------------------------------------------------------------
def ledgers():
    import csv
    out = []
    for ledger in sorted(PAPERS.glob("*/ledger.csv")):
        with open(ledger, newline="") as handle:
            out += [f"{ledger.parent.name}/{row['id']}" for row in csv.DictReader(handle) if row["type"] == "claim"]
    return out


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(6))
def test_every_claim_can_be_searched(part):
    """With one try each: a status, no traceback."""
    asked = ledgers()[part::6]
    assert len(asked) > 20
    for name in asked:
        code, out, err = acceptable(["search", name, str(PAPERS), "--tries", "1"])
        assert code in (0, 1, 2), (name, code, out, err)
