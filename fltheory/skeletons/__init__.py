"""New papers and new algorithms: working examples written from templates, to be replaced piece by piece."""
from __future__ import annotations

import builtins
import importlib
import importlib.util
import keyword
import re
from pathlib import Path

from fltheory.core.errors import BadInput, refuse

TEMPLATES = Path(__file__).parent
SLUG = re.compile(r"[a-z][a-z0-9_]*")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
WORDS = ("Algorithm", "Any", "NamedTuple", "State")  # names that the template itself uses


def new_paper(slug, into=None) -> list[Path]:
    """Write a paper folder `into`/`slug` that passes `fltheory verify`; returns the files written.

    slug: lower-case letters, digits and underscores. into: the folder of papers, made if absent; default `verification`
    if that exists here, else `papers`. Raises BadInput for a slug that names no module, a file that exists, a folder
    whose name belongs to an importable module, and one that cannot be written.
    """
    _name("slug", slug, SLUG, "is no lower-case identifier", "Write letters, digits and _, for example my_paper.")
    parent = Path(into if into is not None else "verification" if Path("verification").is_dir() else "papers").resolve()
    _name("into", parent.name, NAME, "is no identifier, and claims are imported as <into>.<slug>", "Rename the folder.")
    from fltheory.verdicts.folders import refuse_module_name
    refuse_module_name(parent)
    for other in (parent / f"{slug}.py", parent / slug):
        if other.exists():
            refuse("slug", slug, f"{other.name} exists in {parent.name}", "Nothing is overwritten: choose another.")
    return _write("paper", parent / slug, {"slug": slug, "parent": parent.name})


def new_algorithm(name, into=None) -> list[Path]:
    """Write `into`/<module>.py with an algorithm of that name, and its test beside it; returns both files.

    name: a class (MyMethod, in mymethod.py) or a module (my_method, with class MyMethod). into: a folder, made if
    absent, default `algorithms`. Raises BadInput for names that are no identifiers or belong to Python, to an algorithm
    of fltheory or to an importable module, for files that exist, and for a folder that cannot be written.
    """
    _name("name", name, NAME, "is no identifier", "Write letters, digits and _, for example PlainSGD.")
    words = [w for w in name.split("_") if w]
    cls = name if name[0].isupper() and "_" not in name else "".join(w[0].upper() + w[1:] for w in words)
    module = name.lower()
    import fltheory
    from fltheory.algorithms.catalogue import discover
    taken = {n.lower() for n in (*fltheory.__all__, *WORDS, *(c.__name__ for c in discover()))}
    if module.startswith("test"):
        refuse("name", name, "pytest would take it for a test", "Choose another.")
    if cls.lower() in taken or hasattr(builtins, cls):
        refuse("name", name, f"{cls} is taken by fltheory or by Python", "Choose another.")
    folder = Path(into if into is not None else "algorithms").resolve()
    files = {"algorithm.py": f"{module}.py", "test_algorithm.py": f"test_{module}.py"}
    for file in files.values():
        if (folder / file).exists():
            refuse("name", name, f"{file} exists in {folder.name}", "Nothing is overwritten: choose another.")
    package = _package(folder)
    if keyword.iskeyword(module) or (not package and _importable(module)):
        refuse("name", name, f"belongs to the module {module!r}, which would be shadowed", "Choose another.")
    return _write("algorithm", folder, {"class": cls, "module": f"{package}{module}"}, files)


def _name(what, value, form, rule, remedy):
    if not isinstance(value, str) or not form.fullmatch(value):
        refuse(what, value, rule, remedy)
    if keyword.iskeyword(value) or keyword.issoftkeyword(value):
        refuse(what, value, "is a keyword of Python", "Choose another.")


def _importable(module) -> bool:
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a bare folder of that name shadows nothing


def _package(folder):
    """How tests in a folder import their neighbours: "" or the dotted package that its __init__.py files make."""
    parts = []
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    return "".join(f"{p}." for p in reversed(parts))


def _write(kind, folder, words, names=None) -> list[Path]:
    """Every template of a kind, with @words@ put in, into a folder; nothing is overwritten."""
    if any(p.exists() and not p.is_dir() for p in (folder, *folder.parents)):
        refuse("into", str(folder), "is no folder", "Choose another folder with --into.")
    written: list = []
    for template in sorted((TEMPLATES / kind).rglob("*.in")):
        place = str(template.relative_to(TEMPLATES / kind)).removesuffix(".in")
        if names is not None:
            place = names[place]
        text = template.read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        target = folder / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "x", encoding="utf-8") as handle:
                handle.write(text)
        except OSError as error:
            for path in written:  # half an example would be refused by the next attempt
                path.unlink()
            raise BadInput(f"{str(target)!r} cannot be written ({error.strerror}). Choose another folder with --into."
                           ) from None
        written.append(target)
    return written


__all__ = ["new_algorithm", "new_paper"]
