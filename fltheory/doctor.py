"""What this machine has, what a verification here will have to skip, and why."""
from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

from fltheory.core.numbers.scalars import have
from fltheory.verdicts.folders import elsewhere

PACKAGE = Path(__file__).parent
REQUIRED = ("numpy", "scipy", "sympy")  # without one of these hardly anything runs
MODULES = {"python-flint": "flint"}  # where the module has another name than the distribution
# What a library is for, in a few words; what the program says where it asks for one (`scalars.need`) comes after them.
PURPOSES = {
    "numpy": ("every array",),
    "scipy": ("statistical levels, spectra and linear programs",),
    "sympy": ("symbolic identities",),
    "torch": ("running algorithms (the run legs of claims)",),
    "python-flint": ("exact rationals, their matrices, ball arithmetic and certified roots",),
    "distributed": ("`--scheduler`, sweeps on many machines",),
    "cvxpy": ("certificates over function classes and schedules; minimisers once more",),
    "clarabel": ("worst cases over function classes",),
    "matplotlib": ("figures",),
    "latex2mathml": ("formulas in the report (without it their LaTeX source is shown)",),
    "pytest": ("`pytest verification --claims`, the tests",),
    "tqdm": ("progress bars",),
}
EXTRAS = ("cluster",)  # optional parts of the package that the doctor looks at too
SHOWS_LESS = ("matplotlib", "latex2mathml", "pytest", "tqdm")  # no verdict depends on these
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def needs() -> dict:
    """{module: purposes}, read from the calls of `need` in the package, so that the list cannot go stale."""
    out: dict = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for module, purpose in re.findall(r'\bneed\(\s*"([\w.]+)",\s*"([^"]+)"', file.read_text(encoding="utf-8")):
            purposes = out.setdefault(module.split(".")[0], [])
            if purpose not in purposes:
                purposes.append(purpose)
    return out


def version_of(distribution):
    """The installed version, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def release(version) -> tuple:
    """The leading numbers of a version, local part and pre-release marks left out: "2.13.0+cpu" -> (2, 13, 0)."""
    return tuple(int(p) for p in re.findall(r"\A\d*(?:\.\d+)*", version)[0].split(".") if p)


def at_least(version, minimum) -> bool:
    """Whether a version is `minimum` or later; "2" and "2.0" are the same."""
    a, b = release(version), release(minimum)
    width = max(len(a), len(b))
    return a + (0,) * (width - len(a)) >= b + (0,) * (width - len(b))


def declared() -> dict:
    """{distribution: smallest version or None} of the installed package's own dependencies and of `EXTRAS`."""
    try:
        lines = metadata.requires("fltheory") or []
    except metadata.PackageNotFoundError:  # used from its folder, not installed
        named = {module: name for name, module in MODULES.items()}
        lines = [*PURPOSES, *(named.get(module, module) for module in needs())]
    out = {}
    for line in lines:
        spec, _, marker = line.partition(";")
        if "extra" not in marker or set(re.findall(r"\bextra == ['\"](\w+)", marker)) & {*EXTRAS}:
            (name,) = re.findall(r"\A[\w.-]+", spec.strip())
            least = re.search(r">=\s*([\w.]+)", spec)
            out[name] = least[1] if least else None
    return out


def libraries() -> list[dict]:
    """One row per library: name, version (None if missing), minimum, required, ok, needed_for, without."""
    asked = needs()
    rows = []
    for name, least in declared().items():
        module = MODULES.get(name, name)
        version = version_of(name) if have(module) else None
        required = name in REQUIRED
        rows.append({
            "name": name,
            "version": version,
            "minimum": least,
            "required": required,
            "ok": version is not None and (least is None or at_least(version, least)),
            "purpose": "; ".join(PURPOSES.get(name) or asked.get(module, ())),
            "needed_for": list(dict.fromkeys([*PURPOSES.get(name, ()), *asked.get(module, ())])),
            "without": ("nothing runs" if required else "less is shown" if name in SHOWS_LESS else
                        "this machine alone works" if name == "distributed" else "SKIPPED"),
        })
    return rows


def constraints(start: Path) -> dict:
    """The pins of constraints.txt (in `start` or beside the package) that another version violates."""
    places = [start / "constraints.txt", PACKAGE.parent / "constraints.txt"]
    file = next((p for p in places if p.is_file()), None)
    if file is None:
        return {"found": False, "violated": []}
    pins = re.findall(r"^([\w.-]+)==([\w.+-]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    versions = {name: (version_of(name), pin) for name, pin in pins}
    # A build of the pinned version, such as 2.13.0+cu126, satisfies the pin.
    return {"found": True, "violated": [
        {"name": n, "version": v, "pin": pin} for n, (v, pin) in versions.items()
        if v is not None and v.partition("+")[0] != pin.partition("+")[0]
    ]}


def accelerator() -> dict:
    """The torch build and what it can run on; empty without torch."""
    if not have("torch"):
        return {}
    try:
        import torch
    except (ImportError, OSError) as error:  # installed, but its shared libraries are not
        return {"broken": str(error)}
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_name(k) for k in range(count)]
    return {"build": torch.__version__, "cuda": torch.version.cuda, "gpus": gpus, "threads": torch.get_num_threads()}


def papers_below(start: Path) -> list[str]:
    """The slugs of the paper folders in `start`/verification, else of those that the installed package carries."""
    here = start / "verification"
    papers = here if here.exists() else PACKAGE / "papers" / "verification"
    return sorted(p.parent.name for p in papers.glob("*/ledger.csv"))


def cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def diagnose(start=".") -> dict:
    """Everything as plain data; "ok": all that is required is there. start: the folder that holds verification."""
    start, rows = Path(start), libraries()
    wanted = metadata.metadata("fltheory")["Requires-Python"] if version_of("fltheory") else ">=3.11"
    python_ok = at_least(platform.python_version(), wanted.lstrip(">= "))
    return {
        "fltheory": version_of("fltheory"),
        "python": {"version": platform.python_version(), "wanted": wanted, "ok": python_ok},
        "system": f"{platform.system()} {platform.machine()}",
        "libraries": rows,
        "constraints": constraints(start),
        "torch": accelerator(),
        "cores": cores(),
        "threads": {name: os.environ.get(name) for name in THREADS},
        "papers": papers_below(start),
        "skipped": [{"missing": r["name"], "needed_for": r["needed_for"]} for r in rows
                    if r["version"] is None and r["without"] == "SKIPPED"],
        "ok": python_ok and all(r["ok"] for r in rows if r["required"]),
    }


def _library(row) -> str:
    name, least = row["name"], row["minimum"]
    state = row["version"] or "MISSING"
    old = "" if row["version"] is None or row["ok"] else f", needs >= {least}"
    lost = "" if row["version"] else f" -> {row['without']}"
    return f"  {name:<14}{state + old:<16} {row['purpose']}{lost}"


def _torch(torch) -> str:
    if not torch:
        return "torch      not installed"
    if "broken" in torch:
        return f"torch      installed, but cannot be imported: {torch['broken']}"
    build = f"CUDA {torch['cuda']}" if torch["cuda"] else "without CUDA"
    devices = ", ".join(["cpu", *torch["gpus"]])
    return f"torch      {torch['build']} ({build}), devices: {devices}, {torch['threads']} threads"


def text(state) -> str:
    """The diagnosis for a terminal."""
    python, pins = state["python"], state["constraints"]
    set_ = ", ".join(f"{k}={v}" for k, v in state["threads"].items() if v) or "no thread variable is set"
    lines = [f"fltheory   {state['fltheory']}",
             f"Python     {python['version']} ({'as required' if python['ok'] else 'TOO OLD'}: {python['wanted']})",
             f"system     {state['system']}, {state['cores']} cores; {set_}", _torch(state["torch"]), "libraries",
             *map(_library, state["libraries"])]
    off = ", ".join(f"{v['name']} {v['version']} instead of {v['pin']}" for v in pins["violated"])
    lines.append("constraints.txt  " + ("not found, nothing compared" if not pins["found"] else off or "satisfied"))
    papers = ", ".join(state["papers"])
    lines.append(f"verification     {papers or f'not found here. {elsewhere()}'}")
    for row in (r for r in state["libraries"] if r["name"] in {s["missing"] for s in state["skipped"]}):
        parts = [v for v in row["needed_for"] if v not in row["purpose"]]   # what the row of the library has not said
        lines.append(f"will be SKIPPED without {row['name']}: {'; '.join(parts) or 'that'}")
    lines += [] if state["skipped"] else ["nothing will be SKIPPED for want of a library"]
    bad = [r["name"] for r in state["libraries"] if r["required"] and not r["ok"]] + ["Python"] * (not python["ok"])
    return "\n".join([*lines, f"not ready: {', '.join(bad)}" if bad else "ready"])
