"""What users see: black boxes, rules, predictions beside runs, assertions, reports, commands."""
import contextlib
import io
import tempfile
from fractions import Fraction as Q
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from fltheory.cli import main
from fltheory.core.statistics import chance_below
from fltheory.skeletons import new_algorithm
from fltheory.verdicts.report import html_pieces, markdown, terminal
from fltheory.verdicts.report.figures import figures_of
from fltheory.workbench.assertions.asked import LEVEL
from fltheory.workbench.assertions.rates import _factors
from fltheory.workbench.comparison.measure import measure
from fltheory.workbench.comparison.names import named
from fltheory.workbench.comparison.predict import predict
from verification.engine.claims.machinery import says
from verification.engine.faults import these
from verification.engine.instances import front as on
from verification.engine.twins import forms, rounds_of_others

HERE = "the listed cases"
ENGINE = Path(__file__).parents[1]


@ft.claim("black-boxes", on=on.CODES, domain=HERE, rejects=these("maps-match-loosely"))
def black_boxes(i):
    """A training round that is FedAvg matches it, and one with a dropped weight or a step more does not."""
    return says(ft.identify(i.code(), n=3, d=2, algorithm=i.against).verdict, i.verdict)


@ft.claim("adapted-rounds", on=on.ADAPTED, domain=HERE,
          rejects=these("adapter-forgets-nothing", "adapter-everybody", "adapter-whole-square"))
def adapted_rounds(i):
    """Research code in two functions, behind an adapter, is the SCAFFOLD that it is: memories last from round to round until reset,
    participants are those that are passed, and a classification loss becomes half the squared error."""
    round_fn, reset = i.code()
    return says(ft.identify(round_fn, n=3, d=2, algorithm=ft.Scaffold("1/10", 2), reset=reset).verdict, i.verdict)


@ft.claim("own-draws", on=on.DRAWS, domain=HERE, rejects=these("sampler-level"))
def own_draws(i):
    """Code that draws its cohorts as the law says matches, and code that favours a client does not."""
    return says(ft.identify(i.code(), n=3, d=3, algorithm=i.against, law=i.law, trials=1000).verdict, i.verdict)


@ft.claim("plain-work", on=on.PLAIN, domain=HERE, rejects=these("decay-of-one"))
def plain_work(i):
    """Local steps of equal size are plain, also where decaying ones were expected."""
    found = ft.identify(rounds_of_others.fedavg(0.1, 3), n=2, d=2, algorithm=i.against)
    return [says(row["kind"], i.kind) for row in found.parameters]


@ft.claim("difference-in-percent", on=on.TURNED, domain=HERE, rejects=these("percent-squared"))
def difference_in_percent(i):
    """Where no known fault makes a round, how far it is from the reference is told in percent of what that changes."""
    found = ft.identify(i.code(), n=3, d=2, algorithm=on.FEDAVG)
    return [says(found.verdict, "differs"), says(found.unexplained, f"the difference is {i.percent} % of what the round changes")]


@ft.claim("clipping-threshold", on=on.CLIPPED, domain=HERE, rejects=these("threshold-digits"))
def clipping_threshold(i):
    """The threshold at which gradients are clipped is read off to six digits in double precision."""
    found = ft.identify(rounds_of_others.fedavg(0.1, 1, clip=i.clip), n=2, d=2, algorithm=ft.FedAvg("1/10", 1))
    return [says(found.verdict, "not affine"), ft.equal(int(str(i.clip) in str(found)), 1, "the threshold is named")]


@ft.claim("rules-of-a-round", on=on.RULES, domain=HERE,
          rejects=these("conform-affine-at-zero", "conform-memories", "every-look-is-forbidden", "partial-for-full"))
def rules_of_a_round(i):
    """The rules of a round pass what obeys them, fail what does not, and leave out what they do not concern."""
    report = ft.conforms(i.algorithm)
    return [says(report[name].status, wanted, name) for name, wanted in i.says.items()]


# ---- predictions beside runs ------------------------------------------------------------------------------
@ft.claim("predictions-decided", on=on.PREDICTED, domain=HERE, rejects=these("predictions-always-ok"))
def predictions_decided(i):
    """A prediction of the method that runs agrees with the run; one of another step size lies outside."""
    best = ft.optimum(i.problem)
    said = predict(i.said, i.problem, i.law, 0, best, np.array([3.0]), 20, False)
    seen = measure(i.algorithm, i.problem, i.law, 0, said, best, np.array([3.0]), 20, 2, 0, "cpu")
    return ft.equal([int(bool(seen.checks[k].agrees)) for k in ("error", "tail")], [i.agrees] * 2)


@ft.claim("tables-show-numbers", on=on.TABLES, domain=HERE, rejects=these("numbers-as-dashes", "three-digits-in-tables"))
def tables_show_numbers(i):
    """The table of a comparison shows the distance of FedAvg's fixed point that 400 rounds of a loop reach."""
    table = str(ft.compare(i.algorithm, i.problem, i.law, measure=False))
    line = next(v for v in table.splitlines() if "|x_inf" in v)
    return says(line.split()[-1], i.distance)


@ft.claim("short-names", on=[ft.Instance("two of one kind")], domain=HERE, rejects=these("defaults-in-names"))
def short_names(i):
    """Methods are named by what differs from the defaults, and told apart."""
    found = list(named([ft.FedAvg("1/20", 3), ft.FedAvg("1/20", 3), ft.Scaffold("1/10", 2, option=1)]))
    return [says(a, b) for a, b in zip(found, ("FedAvg(lr=1/20, steps=3)", "FedAvg(lr=1/20, steps=3) #2",
                                              "Scaffold(lr=1/10, steps=2, option=1)"), strict=True)]


@ft.claim("rare-events", on=on.RARE, domain=HERE, rejects=these("chance-of-far-below"))
def rare_events(i):
    """The bound on the chance that a mean comes out at 0 is at least (1 - p)^n for n values that are 1 with chance p."""
    return ft.at_most(Q(1 - i.p) ** i.n, Q(chance_below(i.n, i.p, i.p * (1 - i.p), 0.0)))


# ---- assertions -------------------------------------------------------------------------------------------
def complaint(call) -> str:
    """What an assertion says where it fails, "" where it passes."""
    try:
        call()
    except AssertionError as error:
        return str(error)
    return ""


@ft.claim("assertions", on=on.PREDICTED[:1], domain=HERE,
          rejects=these("assert-floor-either-side", "assert-claim-any-word", "margins-hidden"))
def assertions(i):
    """Assertions fail on a floor that is too small or too large, on a wrong word and on a wrong bias, and say why."""
    op, trace = i.but(noise="1/2").op, i.but(simulate={"rounds": 2, "replicates": 8}).run
    floor = op.floor()
    wrong = complaint(lambda: ft.assert_claim("weak-tie", [str(ENGINE)], word="FALSE", quick=True))
    false = complaint(lambda: ft.assert_claim("false-tie", [str(ENGINE)], word="PROVED", quick=True))
    bias = complaint(lambda: ft.assert_bias(trace, [100], tolerance="1/8"))
    return [ft.equal([int(bool(complaint(lambda v=v: ft.assert_floor(op.exact(), v)))) for v in (floor / 2, floor, floor * 2)],
                     [1, 0, 1], "floors"),
            ft.equal(int(bool(wrong)), 1, "a wrong word"), ft.equal(int(" 0 " in false), 1, "the margin of a tie"),
            ft.equal(int(f"{LEVEL:.4%} interval" in " ".join(bias.split())), 1, "the level")]


@ft.claim("assertions-of-points", on=on.PREDICTED[:1], domain=HERE, rejects=these("bias-of-the-point", "rate-of-the-other-kind"))
def assertions_of_points(i):
    """Assertions on bias and rate pass at the right numbers and fail beside them, in rationals and in floats."""
    op, floats, best = i.op.exact(), i.but(domain=ft.FLOAT).op, ft.optimum(i.problem).x
    bias, rate = op.fixed_point().x - best, floats.rate()
    calls = [lambda: ft.assert_bias(op, bias), lambda: ft.assert_bias(op, bias + 1),
             lambda: ft.assert_linear_rate(floats, rate, tolerance="1/1000"),
             lambda: ft.assert_linear_rate(floats, rate**2 / 2)]
    return ft.equal([int(bool(complaint(call))) for call in calls], [0, 1, 0, 1])


@ft.claim("measured-limits", on=on.LIMITS, domain=HERE, rejects=these("floor-level"))
def measured_limits(i):
    """A measured floor stays below a bound at the one-sided level that is asked for: Student's quantile in closed form."""
    mean, parts = sum(i.values) / 3, {}
    parts = {"mean": mean, "m2": sum((v - mean) ** 2 for v in i.values), "m3": 0.0}
    trace = ft.Trace(rounds=1, replicates=3, seed=0, device="cpu", tail_rounds=1, final=np.zeros(1), audit=None, audited=0,
                     metrics={"error": {k: np.full(2, v) for k, v in parts.items()}}, tail={"error": parts}, provenance={})
    limit = sum(forms.mean_and_half_width(i.values, i.quantile))
    return ft.equal([int(bool(complaint(lambda v=v: ft.assert_floor(trace, at_most=v, level=i.level)))) for v in (
        0.99 * limit, 1.01 * limit)], [1, 0])


@ft.claim("measured-rates", on=on.ENDS, domain=HERE, rejects=these("ends-one-by-one"))
def measured_rates(i):
    """The factor of a measured rate reaches from the lowest last over the highest first error to the reverse, where each
    end has a Student interval at 95 %, so that both hold together at 90 %."""
    every = np.array([np.array(i.first) * i.factor**k for k in range(9)])
    mean = every.mean(1)
    parts = {"mean": mean, "m2": ((every - mean[:, None]) ** 2).sum(1), "m3": np.zeros(9)}
    trace = ft.Trace(rounds=8, replicates=3, seed=0, device="cpu", tail_rounds=1, final=np.zeros(1), audit=None, audited=0,
                     metrics={"error": parts}, tail={}, provenance={})
    (first, a), (last, b) = (forms.mean_and_half_width(list(every[k]), i.quantile) for k in (0, 8))
    _, low, high = _factors(trace, mean, 0, 8, 0.9)
    return ft.equal([int(low <= ((last - b) / (first + a)) ** (1 / 8) * (1 + 1e-9)),
                     int(high * (1 + 1e-9) >= ((last + b) / (first - a)) ** (1 / 8))], [1, 1])


@ft.claim("tests-of-instances", on=on.STATUSES, domain=HERE, rejects=these("undecided-is-skipped"))
def tests_of_instances(i):
    """The pytest plug-in skips an instance outside the hypotheses, and never one that is undecided."""
    import pytest

    from fltheory.pytest_plugin import _skip_if_undecided
    try:
        _skip_if_undecided(SimpleNamespace(status=i.status, reason=""))
    except pytest.skip.Exception:
        return ft.equal(1, i.skipped)
    return ft.equal(0, i.skipped)


# ---- reports and commands ---------------------------------------------------------------------------------
@ft.claim("reports-print-verdicts", on=on.RECORDS, domain=HERE,
          rejects=these("terminal-prints-expected", "markdown-prints-expected", "labels-as-cells"))
def reports_print_verdicts(i):
    """Every report prints the word that was reached, beside the expected one, and cells below their headings."""
    page = markdown.page([i.record])
    return [says(terminal.claim_line(i.record).split()[1], "FALSE", "terminal"),
            ft.equal([int("**FALSE**" in page), int("**PROVED**" in page)], [1, 0], "Markdown"),
            ft.equal(int('<td data-label="Head">cell</td>' in html_pieces.table(["Head"], [["cell"]])), 1, "HTML")]


@ft.claim("figures-are-found", on=[ft.Instance("focus")], domain=HERE, rejects=these("figures-not-found"))
def figures_are_found(i):
    """A paper's folder with a module of figures has figures."""
    return ft.equal(int("fig1" in figures_of(ENGINE.parent / i.name)), 1)


def command(*words) -> int:
    """Exit code of a command; what it prints is dropped."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([str(w) for w in words])


@ft.claim("exit-codes", on=[ft.Instance("commands")], domain=HERE,
          rejects=these("verify-always-passes", "figures-fail", "doctor-fails"))
def exit_codes(i):
    """`fltheory verify` ends with 0 where every word is as expected and with 1 where a planted fault changes one;
    `fltheory figures` and `fltheory doctor` end with 0 where there is nothing to draw and nothing amiss."""
    verify = ("verify", ENGINE, "--quick", "--only")
    return ft.equal([command(*verify, "weak-tie"), command(*verify, "false-tie", "--mutant", "ties-are-strict"),
                     command("figures", ENGINE), command("doctor")], [0, 1, 0, 0])


@ft.claim("skeletons", on=on.NAMES, domain=HERE, rejects=these("class-of-module", "letters-lost", "skeleton-word"))
def skeletons(i):
    """A new algorithm is a file with the class of that name, in which every place of the template is filled in."""
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(p.read_text() for p in new_algorithm(i.given, Path(folder) / "made"))
    return [ft.equal(int(f"class {i.cls}(" in text), 1, "the class"),
            ft.equal(text.count("@class@") + text.count("@module@"), 0, "places")]
