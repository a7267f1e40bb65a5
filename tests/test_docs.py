"""The documentation: its examples print what it shows, its reference is complete, and the built site has no dead link."""
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import pytest

import fltheory
from fltheory.cli import parser
from tests.docs_examples import FOLDER, PAGES, ROOT, examples, run
from tests.notebook_outputs import alike

TEXTS = {p.relative_to(FOLDER).as_posix(): p.read_text() for p in PAGES}
README = (ROOT / "README.md").read_text()
SITE = ("sphinx", "myst_nb", "furo")


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if examples(text)])
def test_examples_print_what_the_page_shows(page):
    for library in ("torch", "cvxpy", "hypothesis", "flint"):
        pytest.importorskip(library)
    for example, printed in run(TEXTS[page], page):
        assert alike(example.printed, printed), f"{example.code}\nprints\n{printed}\n`python -m tests.docs_examples` writes it"


def test_a_block_that_is_not_run_is_refused():
    with pytest.raises(ValueError, match="'bash' is not run"):
        examples("```bash\nls\n```\n")
    with pytest.raises(ValueError, match="closed"):
        examples("```python\n1\n")


def test_what_an_example_prints_is_noticed():
    text = "```python\nprint(2)\n```\n\n```text\n3\n```\n"
    (example, printed), = run(text)
    assert (example.printed, printed) == ("3\n", "2\n") and not alike(example.printed, printed)
    (example, printed), = run("```python\nprint(2)\n```\n")
    assert not alike(example.printed, printed)


def test_the_assertions_and_the_proof_of_the_readme_run():
    """Its other blocks are run by test_readme."""
    pytest.importorskip("torch")
    ft = fltheory
    problem = ft.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]])
    op = ft.derive(ft.FedAvg("1/20", [1, 10]), problem, ft.Full())
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    proof = next(code for code in blocks if "ft.Proof(" in code)
    here = {"ft": ft}
    exec(proof, here)
    assert here["p"].status == "HOLDS"
    lines = next(code for code in blocks if "ft.assert_floor" in code).splitlines()
    trace = ft.run(ft.FedAvg("1/20", [1, 10]), problem, ft.Full(), rounds=60, replicates=256, noise="1/2")
    floor = ft.derive(ft.FedAvg("1/20", [1, 10]), problem, ft.Full(), noise="1/2").floor()
    expected = {"fixed_point": op.exact().fixed_point().x, "bias": abs(op.exact().fixed_point().x[0] - ft.optimum(problem).x[0]),
                "floor": float(floor)}
    for line in lines:
        name = re.match(r"ft\.assert_(\w+)\(", line)[1]
        if name != "claim":   # a verdict of the papers: tests/verdicts
            exec(line, {"ft": ft, "op": op, "trace": trace, "MyAlgorithm": ft.FedAvg, "expected": expected.get(name)})


def test_every_public_name_is_on_one_page_of_the_reference():
    sys.path.insert(0, str(FOLDER))
    try:
        from extensions.reference import names_below
    except ImportError:
        pytest.skip("sphinx is not installed: pip install -e '.[docs]'")
    finally:
        sys.path.remove(str(FOLDER))
    groups = [line.split() for text in TEXTS.values() for line in re.findall(r"^```\{public\} (.*)$", text, re.M)]
    assert sorted(name for group in groups for name in names_below(group)) == fltheory.__all__


def test_names_commands_and_options_in_the_text_exist():
    subparsers = next(a for a in parser()._actions if hasattr(a, "choices") and a.choices).choices
    for page, text in TEXTS.items():
        for name in set(re.findall(r"\bft\.(\w+)", text)):
            assert name in fltheory.__all__, (page, name)
        for command, rest in re.findall(r"(?:`|^\$ )fltheory ([a-z][a-z-]*)([^`\n]*)", text, re.M):
            assert command in subparsers, (page, command)
            for option in re.findall(r"--[a-z-]+", rest):
                assert any(option in a.option_strings for a in subparsers[command]._actions), (page, command, option)


def test_pages_are_short_and_on_the_way():
    linked = set()
    for page, text in TEXTS.items():
        assert len(text.splitlines()) < 400, page
        folder = (FOLDER / page).parent
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            linked |= {(folder / f"{name}.md").relative_to(FOLDER).as_posix() for name in tree.splitlines()
                       if name and name[0] not in ":" and "*" not in name}
    assert linked == set(TEXTS) - {"index.md"}


class Links(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {v for k in ("id", "name") if (v := attrs.get(k))}
        self.targets += [v for k in ("href", "src") if (v := attrs.get(k))]


def built(folder):
    """The site, built with every warning an error. Without sphinx there is none: `make docs` installs it."""
    missing = [name for name in SITE if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: `make docs` installs what the site needs")
    strictly = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    done = subprocess.run([*strictly, "-d", folder / "trees", FOLDER, folder / "html"], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def dead_links(pages):
    """(page, target) of what refers to nothing on the site."""
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if not parts.scheme and not parts.netloc:
                where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                missed = parts.fragment and where in pages and unquote(parts.fragment) not in pages[where].anchors
                if missed or not where.exists():
                    yield path.name, target


def test_a_dead_link_is_noticed(tmp_path):
    for name, text in (("a", '<a id="here" href="b.html#there">'), ("b", '<a id="there" href="a.html#gone"><img src="no.png">')):
        (tmp_path / f"{name}.html").write_text(text)
    pages = {p.resolve(): Links(p) for p in tmp_path.iterdir()}
    assert sorted(dead_links(pages)) == [("b.html", "a.html#gone"), ("b.html", "no.png")]


@pytest.mark.slow
def test_the_site_builds_has_no_dead_link_and_needs_no_network(tmp_path):
    site = built(tmp_path)
    pages = {p.resolve(): Links(p) for p in sorted(site.rglob("*.html"))}
    assert len(pages) > 40 and not list(dead_links(pages))
    for path in pages:
        text = path.read_text()
        assert not re.findall(r"<(?:script|link|img)\b[^>]*(?:src|href)=\"https?:", text), f"{path.name} asks the network"
        assert '<code class="tex' not in text, f"{path.name}: a formula that MathML does not say"
    assert 'href="api/operators.html#fltheory.derive"' in (site / "quickstart.html").read_text()
    assert all(path.stat().st_size < 2_000_000 for path in pages)
