"""The wheel carries the papers inside fltheory, and what is installed from it works in an empty folder."""
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "constraints.txt")
PAPERS = "fltheory/papers/verification"

pytestmark = pytest.mark.slow


def build(what, source, out):
    """The file that setuptools builds from a source folder; the repository itself stays as it is."""
    code = f"import setuptools.build_meta as b; b.build_{what}({str(out)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=True, timeout=120)
    return next(out.glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[what]))


def files_of(folder):
    """Names of the files below a folder, without bytecode."""
    return {p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The repository as an archive of sources holds it: the wheel is built from there, so both are complete."""
    pytest.importorskip("setuptools", minversion="77")
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("sdist")
    for name in BUILT:
        shutil.copy(ROOT / name, copy)
    for name in ("fltheory", "verification"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    with tarfile.open(build("sdist", copy, out)) as archive:
        archive.extractall(out, filter="data")
    return next(p for p in out.iterdir() if p.is_dir())


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    """The wheel, unpacked as an installation has it."""
    out, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(build("wheel", source, out)) as archive:
        archive.extractall(folder)
    return folder


def python(site, folder, *arguments):
    """What a Python with the unpacked wheel and the installed libraries prints: (exit status, stdout, stderr).

    -S leaves out the .pth files of the environment, by which an editable installation finds the repository.
    """
    libraries = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *libraries]), "PYTHONDONTWRITEBYTECODE": "1",
                 "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-S", *arguments], cwd=folder, env=variables, capture_output=True, text=True,
                          timeout=240)
    return done.returncode, done.stdout, done.stderr


def test_sources_and_wheel_hold_every_file(source, site):
    for name in ("fltheory", "verification"):
        assert files_of(source / name) == files_of(ROOT / name)
    assert files_of(site / PAPERS) == files_of(ROOT / "verification")
    assert {n for n in files_of(site / "fltheory") if not n.startswith("papers/")} == files_of(ROOT / "fltheory")


def test_nothing_but_fltheory_can_be_imported(site):
    assert {p.name.partition("-")[0] for p in site.iterdir()} == {"fltheory"}
    assert not (site / "verification").exists()


def test_an_empty_folder(site, tmp_path):
    before = files_of(site)
    said = f"the papers of the installed package ({site / PAPERS})"

    def run(*arguments):
        status, out, err = python(site, tmp_path, "-m", "fltheory", *arguments)
        assert status == 0 and err == f"fltheory: no folder verification here, so these are {said}\n", (arguments, err)
        return out

    listed = run("list")
    assert "fednova/eq26-28" in listed and "focus/" in listed and "engine/" in listed
    assert '"word": "CERTIFIED"' in run("show", "eq26-28", "--json")
    assert "VERDICT" in run("witness", "fednova/e1")
    out = run("verify", "--quick", "--only", "eq26-28", "e1", "--jobs", "2", "--report", "reports")
    assert "every verdict is as expected" in out and (tmp_path / "reports" / "fednova.html").is_file()
    run("figures", "--only", "fig1")
    assert {p.suffix for p in (tmp_path / "reports" / "figures").glob("focus-fig1.*")} >= {".csv", ".png"}
    run("figures", "--only", "map", "--drawn-only")
    assert (tmp_path / "reports" / "figures" / "fednova-map.png").is_file()
    assert files_of(site) == before
    assert {p.name for p in tmp_path.iterdir()} == {"reports"}


def test_bench_in_an_empty_folder(site, tmp_path):
    status, out, err = python(site, tmp_path, "-m", "fltheory", "bench", "--only", "maps")
    assert status == 0 and not err and "x stepping the coded round" in out, err


def test_assert_claim_in_an_empty_folder(site, tmp_path):
    code = ("import sys, fltheory as ft; print(ft.assert_claim('eq26-28').word, ft.__file__, ft.__version__); "
            "print(sys.modules['verification'].__file__)")
    status, out, err = python(site, tmp_path, "-c", code)
    assert status == 0, err
    assert out.splitlines() == [f"CERTIFIED {site / 'fltheory' / '__init__.py'} 0.1.0", f"{site / PAPERS / '__init__.py'}"]


def test_a_readers_own_papers_beside_the_installed_ones(site, tmp_path):
    shutil.copytree(ROOT / "verification", tmp_path / "verification", ignore=shutil.ignore_patterns("__pycache__"))
    code = ("import sys, fltheory as ft\n"
            "if __name__ == '__main__':\n"
            "    from fltheory.verdicts.papers.discover import load\n    from fltheory.verdicts.folders import CARRIED\n"
            "    from fltheory.verdicts.verify import verify\n"
            "    print(ft.assert_claim('eq26-28', quick=True).word, sys.modules['verification'].__file__)\n"
            "    folders = ['verification/fednova', CARRIED / 'fednova']\n"
            "    records, _ = verify(folders, only=['eq26-28'], quick=True, jobs=2, on_record=lambda r: None)\n"
            "    print(*(r['word'] for r in records if r['type'] == 'claim'))\n"
            "    print(load(CARRIED / 'fednova').folder, sys.modules['verification'].__file__)\n")
    (tmp_path / "both.py").write_text(code)
    status, out, err = python(site, tmp_path, "both.py")
    assert status == 0, err
    assert out.splitlines() == [f"CERTIFIED {tmp_path / 'verification' / '__init__.py'}", "CERTIFIED CERTIFIED",
                                f"{site / PAPERS / 'fednova'} {site / PAPERS / '__init__.py'}"]
