"""Commands that write working examples to start from: new-paper, new-algorithm."""

from __future__ import annotations

from pathlib import Path


def add(command):
    """Declare the commands."""
    paper = command("new-paper", _paper, "write a paper folder that passes verify, with examples to replace")
    paper.add_argument("slug", metavar="SLUG", help="lower-case name of the folder, for example my_paper")
    paper.add_argument("--into", metavar="DIR", help="folder of papers (default: verification if it exists, else papers)")
    algorithm = command("new-algorithm", _algorithm, "write an algorithm and its tests, with examples to replace")
    algorithm.add_argument("name", metavar="NAME", help="name of the class, for example PlainSGD")
    algorithm.add_argument("--into", metavar="DIR", help="folder (default: algorithms)")


def _paper(args):
    from fltheory.skeletons import new_paper
    written = new_paper(args.slug, args.into)
    folder = next(p for p in written if p.name == "ledger.csv").parent
    _say(written, f"fltheory verify {_near(folder)}", f"pytest {_near(folder.parent)} --claims")
    return 0


def _algorithm(args):
    from fltheory.skeletons import new_algorithm
    written = new_algorithm(args.name, args.into)
    _say(written, f"pytest {_near(next(p for p in written if p.name.startswith('test_')))}")
    return 0


def _say(written, *commands):
    for path in written:
        print(f"wrote {_near(path)}")
    print("everything marked EXAMPLE is to be replaced; it passes as it is:")
    for line in commands:
        print(f"  {line}")


def _near(path) -> Path:
    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path
