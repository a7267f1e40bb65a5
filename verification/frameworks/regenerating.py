"""`fltheory reproduce gallery`: other people's frameworks before `identify` again, in the environment that has them."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fltheory.core.errors import refuse

PACKAGES = ("flwr", "pfl", "fedlab", "nvflare")
MODULE, SCRIPT = "verification.frameworks.gallery", Path(".ci/frameworks")
KEPT = Path("verification/frameworks/gallery.json")


def _installed(package) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def checkout() -> Path | None:
    """The folder of the repository: the current one, or that of this package; None where it was installed from a wheel."""
    around = (Path.cwd(), Path(__file__).resolve().parents[2])
    return next((p for p in around if (p / SCRIPT).is_file() and (p / "verification/frameworks/gallery.py").is_file()), None)


def _rows(root, only) -> list:
    """The rows that these names mean: framework, framework/algorithm. Raises BadInput for a name of none."""
    rows = json.loads((root / KEPT).read_text(encoding="utf-8"))["rows"]
    known = {f"{r['framework']}/{r['algorithm']}": {r["framework"], f"{r['framework']}/{r['algorithm']}"} for r in rows}
    unknown = sorted(set(only).difference(*known.values()))
    if unknown:
        refuse("row", unknown, f"is none of {sorted({r['framework'] for r in rows})}, nor a row of one of them",
               f"Name a framework, or a row of it such as {next(iter(known))!r}.")
    return [key for key, names in known.items() if names.intersection(only)]


def regenerated(drawn_only=False, only=()) -> int:
    """Write verification/frameworks/gallery.json and .md anew; returns 0, or 1 where a row is another one than before.

    only: names of frameworks, or of rows as framework/algorithm: these are decided again and compared, and nothing is written.

    It runs here if all frameworks are installed here, else in .venv-frameworks, which .ci/frameworks makes first (some minutes
    and 2 GB, once). drawn_only: the page alone, from the committed numbers. Raises BadInput outside a checkout, and where the
    run breaks off.
    """
    root = checkout()
    if root is None:
        refuse("gallery", str(Path.cwd()), f"is no checkout of the repository (it has no {SCRIPT}), where the gallery is made",
               "Run it in a checkout; the gallery as committed is on the page of `fltheory verify --report DIR`.")
    if only and drawn_only:
        refuse("--only", list(only), "goes with --drawn-only nowhere: the page is drawn whole", "Leave one of them out.")
    rows = ["--only", *_rows(root, only)] if only else []
    here = [sys.executable, "-W", "ignore", "-m", MODULE, *rows]
    if drawn_only:
        command, where = [*here, "--drawn-only"], ""
    elif all(map(_installed, PACKAGES)):
        command, where = here, "here, where all of them are installed"
    else:
        missing = ", ".join(p for p in PACKAGES if not _installed(p))
        first = "" if (root / ".venv-frameworks/.ready").is_file() else ", which is made first (some minutes, about 2 GB)"
        command, where = [str(root / SCRIPT), "--gallery", *rows], f"in .venv-frameworks{first}: {missing} not installed here"
    if where:
        writes = "nothing is written" if rows else f"what is found goes to {root / KEPT} and gallery.md beside it"
        print(f"fltheory: the frameworks run {where}; {writes}", file=sys.stderr, flush=True)
    done = subprocess.run(command, cwd=root, env=os.environ | {"PY": sys.executable}, check=False)
    if done.returncode not in (0, 1):
        refuse("gallery", " ".join(command), f"ended with status {done.returncode}", "What it printed above says why.")
    return done.returncode
