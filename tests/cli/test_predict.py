"""`fltheory predict`: a CSV file in, predictions beside measurements out; every refusal is one line."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

import fltheory as ft
from fltheory.cli import main, predict
from fltheory.workbench.table import read_residual, read_ridge
from tests.cli.test_decide import HEAVY, ROOT, refused
from verification.named_problems import DIABETES

DATA = ("predict", str(DIABETES), "--client", "age", "--bands", "5", "--target", "target")


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text(
        "who,x,z,y\n" + "".join(f"{'abc'[k % 3]},{k},{k * k % 7},{(3 * k + k % 3) % 11}\n" for k in range(24))
    )
    return (
        "predict",
        str(path),
        "--client",
        "who",
        "--target",
        "y",
        "--algorithms",
        "FedAvg,Scaffold",
        "--rounds",
        "30",
    )


def test_the_diabetes_data_by_age(capsys, tmp_path):
    pytest.importorskip("torch")
    assert (
        main([*DATA, "--csv", str(tmp_path / "out.csv"), "--html", str(tmp_path / "out.html"), "--steps", "1,2,4,8,16"])
        == 0
    )
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    for text in (
        "442 rows, 5 clients by age",
        "19..35 (85 rows, p 0.192)",
        "kappa^2 =",
        "20 of 20 predictions inside",
        "0.5 of the smallest first crossing",
        "Focus weighs clients equally",
        "bmi (26.38, 4.413)",
    ):
        assert text in out
    with open(tmp_path / "out.csv", newline="") as handle:
        rows = {r["method"]: r for r in csv.DictReader(handle)}
    lr = next(line for line in out.splitlines() if line.startswith("lr = ")).split()[2]
    problem = read_ridge(DIABETES, "age", "target", bands=5)
    op = ft.derive(ft.FedNova(lr, (1, 2, 4, 8, 16)), problem, ft.Full())
    assert float(rows["FedNova"]["rate"]) == pytest.approx(op.rate())
    assert float(rows["FedNova"]["floor"]) == pytest.approx(float(op.floor()))
    assert float(lr) <= min(float(r["stable_step"]) for r in rows.values()) / 2
    assert "<table>" in (tmp_path / "out.html").read_text()


def test_options_reach_the_table(small, capsys, tmp_path):
    pytest.importorskip("torch")
    assert (
        main(
            [
                *small,
                "--lr",
                "1/30",
                "--steps",
                "2",
                "--participation",
                "uniform:2",
                "--noise",
                "1/2",
                "--reg",
                "1/5",
                "--features",
                "x",
                "--weights",
                "uniform",
                "--standardise",
                "none",
                "--replicates",
                "300",
                "--seed",
                "3",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "lr = 0.0333333 (given); 2 local steps" in out and "Uniform(m=2), noise 1/2" in out
    assert "coefficients (2): x, 1" in out and "standardised: nothing" in out and "ridge 1/5" in out
    assert "30 rounds" in out


def test_without_a_measurement_nothing_is_run(small, capsys, monkeypatch):
    monkeypatch.setattr("fltheory.workbench.comparison.measure.run", None)
    assert main([*small, "--no-measure", "--participation", "bernoulli:1/2"]) == 0
    out = capsys.readouterr().out
    assert "measured" not in out and "Bernoulli(p=1/2)" in out


def test_whoever_waits_is_told_what_is_being_done(small, capsys):
    assert main([*small, "--progress"]) == 0
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert lines[0].startswith("fltheory: [0/7] predict: reading ") and lines[0].endswith("small.csv")
    assert lines[1:] == [f"fltheory: [{k}/7] predict: {what}" for k, what in enumerate(
        ("stable step sizes of FedAvg", "stable step sizes of Scaffold", "operator of FedAvg", "runs of FedAvg",
         "operator of Scaffold", "runs of Scaffold"), 1)]
    assert main([*small, "--no-measure"]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == "" and quiet.out.startswith(out[:200])


def test_a_picture_is_written(small, tmp_path):
    pytest.importorskip("matplotlib")
    assert main([*small, "--no-measure", "--picture", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_a_step_size_is_found_where_no_method_has_a_crossing(small, capsys):
    assert main([*small[:-4], "--algorithms", "FedAvg", "--no-measure", "--participation", "uniform:3"]) == 0
    problem = read_ridge(small[1], "who", "y")
    args = type("Args", (), {"steps": (2, 3, 4)})
    lr, why = predict._step_size({}, problem, args)
    assert 0 < lr <= 1 / (8 * problem.constants.L) and "no first crossing" in why


@pytest.mark.parametrize(
    "value, expected", [(0.0695, "0.069"), (1.0, "1"), (12.345, "12"), (0.1, "0.1"), (0.0999, "0.099")]
)
def test_step_sizes_are_rounded_down(value, expected):
    from fractions import Fraction

    assert predict._rounded_down(Fraction(value)) == Fraction(expected)


@pytest.mark.parametrize(
    "options, says",
    [
        (["--client", "town"], "which has who, x, z, y"),
        (["--target", "price"], "which has who, x, z, y"),
        (["--features", "x,w"], "'w'"),
        (["--algorithms", "FedAvg,FedMagic"], "FedMagic"),
        (["--algorithms", ","], "at least one method"),
        (["--lr", "fast"], "is no rational"),
        (["--lr", "0"], "must be positive"),
        (["--steps", "0"], "not an integer >= 1"),
        (["--steps", "1,2"], "one per client"),
        (["--mu", "-1"], "mu"),
        (["--reg", "-1"], ">= 0"),
        (["--participation", "sometimes"], "uniform:M"),
        (["--participation", "uniform:9"], "only 3 clients"),
        (["--participation", "bernoulli:2"], "(0, 1]"),
        (["--participation", "bernoulli:often"], "no rational"),
        (["--noise", "-1"], "standard deviation"),
        (["--standardise", "rows"], "features, all, short, none"),
        (["--weights", "columns"], '"rows", "uniform"'),
        (["--lr", "0"], "lr = 0: "),
        (["--lr", "-0.0"], "lr = -0.0: "),
        (["--reg=-1/20"], "reg = -1/20: "),
        (["--delimiter", ";;"], "one character"),
        (["--delimiter", ";"], "--delimiter ,"),
        (["--html", "no/such/page.html"], "is no folder"),
        (["--picture", "no/such/p.png"], "is no folder"),
        (["--csv", "."], "is a folder"),
        (["--csv", "a\0b"], "is no folder"),
        (["--bands", "3"], "no decimal"),
        (["--bands", "0"], "not an integer >= 1"),
        (["--seed", "-1"], "seed"),
        (["--rounds", "20000000"], "1 to 1,000,000 rounds"),
        (["--alpha", "2"], "--alpha = '2': is of residual learning"),
        (["--personal-lr", "3"], "--personal-lr = '3': is of residual learning"),
        (["--picture", "p.exe", "--no-measure"], "picture"),
        (["--csv", "no/such/folder.csv", "--no-measure"], "cannot be written"),
    ],
)
def test_what_is_refused(small, options, says, capsys):
    extra = ["--algorithms", "FedProx"] if options[0] == "--mu" else []
    assert says in refused(capsys, *small, *options, *extra)


@pytest.mark.parametrize("wrong", [("--steps", "1,2"), ("--participation", "uniform:9"), ("--noise", "-1")])
def test_an_option_without_meaning_is_refused_before_a_step_size_is_chosen(small, wrong, capsys):
    assert main([*small, *wrong]) == 2
    assert "lr = " not in capsys.readouterr().out


def test_what_rounding_leaves_of_no_curvature_is_not_printed_as_negative(small, capsys):
    Path(small[1]).write_text("who,x,z,y\n" + "".join(f"{'abc'[k % 3]},{k},{k * k},{k % 5}\n" for k in range(5)))
    assert main([*small, "--reg", "0", "--no-measure"]) == 0
    assert ", mu = ~0; ridge 0" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--csv", "--html", "--picture"])
def test_outputs_are_checked_before_the_work(small, option, capsys, monkeypatch):
    monkeypatch.setattr("fltheory.workbench.table.read_ridge", None)  # nothing is read
    assert "cannot be written" in refused(capsys, *small, option, "no/such/out.png")


@pytest.mark.parametrize("mark, typed", [(";", ";"), ("\t", "tab")])
def test_other_delimiters(small, mark, typed, capsys):
    path = Path(small[1])
    path.write_text(path.read_text().replace(",", mark))
    assert f"--delimiter {typed}".replace(";", "';'") in refused(capsys, *small)
    assert main([*small, "--no-measure", "--delimiter", typed]) == 0


@pytest.mark.parametrize("lr", ["1/2", "1", "50"])
def test_divergence_is_a_result(lr, capsys):
    pytest.importorskip("torch")
    assert main([*DATA, "--steps", "1,2,4,8,16", "--algorithms", "FedAvg,Scaffold", "--lr", lr, "--rounds", "120"]) == 0
    out = capsys.readouterr().out
    assert "diverge" in out and "OUTSIDE" not in out


def test_something_outside_has_exit_code_one(small, monkeypatch, capsys):
    pytest.importorskip("torch")
    from fltheory import runs

    right = runs.run
    monkeypatch.setattr("fltheory.workbench.comparison.measure.run",
                        lambda a, *rest, **given: right(ft.FedAvg(a.lr, 1), *rest, **given))
    assert main([*small, "--lr", "1/30"]) == 1 and "OUTSIDE" in capsys.readouterr().out


def test_names_that_would_drive_a_terminal_are_escaped_in_every_output(small, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "a\u202eb\x1b[31m$x_$.csv"
    path.write_text(Path(small[1]).read_text())
    out = [tmp_path / f"o.{kind}" for kind in ("csv", "html", "png")]
    assert main([small[0], str(path), *small[2:], "--no-measure", "--csv", str(out[0]), "--html", str(out[1]),
                 "--picture", str(out[2])]) == 0
    for text in (capsys.readouterr().out, out[0].read_text(), out[1].read_text()):
        assert "\x1b" not in text and "\u202e" not in text


def test_a_missing_file_is_refused(capsys, tmp_path):
    assert "cannot be read" in refused(capsys, "predict", tmp_path / "none.csv", "--client", "a", "--target", "b")


def test_help_is_light():
    code = (
        "import sys, contextlib, io\nfrom fltheory.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main(['predict', '--help'])\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(ROOT), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- shared and local columns -----------------------------------------------------------------------------
LOCAL = ("--shared", "x,1", "--local", "x,z", "--no-measure")


@pytest.fixture
def split(small):
    return (*small[:6], *LOCAL)


def test_residual_learning_of_a_file(split, capsys, tmp_path):
    """Where each method ends, beside the operators of the same problem read in Python."""
    assert main([*split, "--steps", "4", "--lr", "1/40", "--personal-lr", "1/50", "--alpha", "5/4", "--noise", "1/2",
                 "--csv", str(tmp_path / "out.csv")]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    for text in ("shared coefficients (2): x, 1", "local coefficients (2 of each client): x, z", "joint optimum: shared",
                 "lr = 0.025 (given); 4 local steps", "noise 1/2"):
        assert text in out, text
    with open(tmp_path / "out.csv", newline="") as handle:
        rows = {r["method"]: r for r in csv.DictReader(handle)}
    assert list(rows) == list(predict.PERSONAL)
    problem = read_residual(split[1], "who", "y", ["x", "1"], ["x", "z"])
    w, theta = problem.joint_optimum()
    own = {"personal_lr": "1/50"}
    methods = {"FedResNaive": ft.FedResNaive("1/40", 4, **own), "FedResNaive-sim": ft.FedResNaive("1/40", 4, order="sim", **own),
               "FedResSgd": ft.FedResSgd("1/40", 4, **own), "FedResAvg": ft.FedResAvg("1/40", 4, alpha="5/4", **own),
               "FedResAvg-I": ft.FedResAvg("1/40", 4, alpha="5/4", option=1, **own)}
    for name, algorithm in methods.items():
        op = ft.derive(algorithm, problem, ft.Full(), "1/2")
        end = op.fixed_point()
        t = end.state[2:8].reshape(3, 2)
        row = {k: float(v) for k, v in rows[name].items() if k in ("distance", "loss_gap", "rate", "floor")}
        assert row["rate"] == pytest.approx(op.rate()) and row["floor"] == pytest.approx(op.floor(reference=w))
        assert row["distance"] == pytest.approx(sum((end.x - w) ** 2) ** 0.5, abs=1e-12)
        gap = problem.joint_value(end.x, t) - problem.joint_value(w, theta)
        assert row["loss_gap"] == pytest.approx(float(gap), abs=1e-12)
    assert max(float(rows[name]["distance"]) for name in ("FedResSgd", "FedResAvg")) < 1e-10
    assert min(float(rows[name]["distance"]) for name in ("FedResNaive", "FedResNaive-sim", "FedResAvg-I")) > 1e-4


def test_residual_learning_is_measured(split, capsys):
    pytest.importorskip("torch")
    assert main([*split[:-1], "--rounds", "40", "--algorithms", "fedresavg", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "4 of 4 predictions inside" in out and "(1/(2 L tau)); 2 local steps" in out


def test_without_a_unique_joint_optimum_rates_are_left(split, capsys):
    assert main([*split, "--reg", "0"]) == 0
    out = capsys.readouterr().out
    assert "no unique joint optimum" in out and "no minimiser is known" in out and "rate of E x" in out


@pytest.mark.parametrize(("change", "says"), [
    (("--local", ""), "use read_ridge"), (("--shared", ""), "learns alone"), (("--local", "q"), "which has who, x, z, y"),
    (("--local", "x,x"), "and once"), (("--features", "x"), "--shared and --local together"),
    (("--algorithms", "FedAvg"), "is none of FedResNaive"), (("--personal-lr", "0"), "must be positive"),
    (("--alpha", "-1"), "alpha"), (("--steps", "1,2"), "one per client"), (("--local", "who"), "says who owns a row"),
    (("--participation", "uniform:9"), "3 clients"),
])
def test_what_is_refused_of_residual_learning(split, change, says, capsys):
    assert says in refused(capsys, *split, *change)


def test_shared_and_local_belong_together(small, capsys):
    for one in (("--shared", "x"), ("--local", "z")):
        assert "together" in refused(capsys, *small, *one)
    assert "is none of FedAvg" in refused(capsys, *small, "--algorithms", "FedResSgd")
