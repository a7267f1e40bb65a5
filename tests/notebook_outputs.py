"""Notebooks with their outputs: `python -m tests.notebook_outputs [NAME ...]` runs them and writes what they show.

Committed and fresh outputs are compared as text and tables: words are equal, numbers equal to one unit of their last printed
digit, pictures are there. In a cell with the tag `search`, whose work ends by the clock, numbers are not compared.
"""
from __future__ import annotations

import math
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 1_000_000     # bytes of a notebook
NUMBER = re.compile(r"(?<![\w.)])-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
PASSING = re.compile(r"0x[0-9a-f]{6,}|\b[\d.]+ ?m?s\b")     # addresses and times
ROUNDING = 1e-12        # numbers below are what float arithmetic leaves of a 0


def execute(path):
    """The notebook at a path, run in its own folder; outputs merged, without traces of the machine."""
    import nbformat
    from nbclient import NotebookClient
    made = nbformat.read(path, 4)
    NotebookClient(made, timeout=240, kernel_name="python3", record_timing=False,
                   resources={"metadata": {"path": str(FOLDER)}}).execute()
    made.metadata = {"kernelspec": made.metadata["kernelspec"], "language_info": {"name": "python"}}
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs = merged(cell.outputs)
    return made


def merged(outputs):
    """One stream of what was printed, whatever the pieces it came in; what was said on stderr is left out."""
    kept = []
    for output in outputs:
        if output.output_type == "stream" and kept and kept[-1].output_type == "stream" and output.name == "stdout":
            kept[-1].text += output.text
        elif output.output_type != "stream" or output.name == "stdout":
            kept.append(output)
    return kept


def shown(cell):
    """[(kind, text)] of a cell: printed text, tables as HTML, and pictures as the bare fact that there is one."""
    said = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            said.append(("text", "".join(output["text"])))
            continue
        data = output.get("data", {})
        kind = next((k for k in ("image/png", "text/html", "text/plain") if k in data), output["output_type"])
        said.append((kind, "" if kind == "image/png" else "".join(data.get(kind, ""))))
    return said


def differences(old, new):
    """What differs between the outputs of two notebooks, [(cell, old, new)]; [] where one is as good as the other."""
    found = []
    for k, (a, b) in enumerate(zip(old["cells"], new["cells"], strict=True)):
        if a["cell_type"] == "code":
            loose = "search" in a["metadata"].get("tags", [])
            before, after = shown(a), shown(b)
            if [kind for kind, _ in before] != [kind for kind, _ in after]:
                found.append((k, before, after))
            found += [(k, x, y) for (_, x), (_, y) in zip(before, after, strict=False) if not alike(x, y, loose)]
    return found


def alike(a, b, loose=False):
    """Whether two texts have the same words and, unless loose, the same numbers as far as they are printed."""
    a, b = (PASSING.sub("", text).replace("~0", "0") for text in (a, b))  # 0 up to rounding: not alike on every processor
    if " ".join(NUMBER.sub(" # ", a).split()) != " ".join(NUMBER.sub(" # ", b).split()):
        return False
    return loose or all(_close(x, y) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True))


def _close(a, b):
    x, y = float(a), float(b)
    return math.isclose(x, y, rel_tol=1e-6, abs_tol=ROUNDING) or ("." in a + b and abs(x - y) <= 1.01 * max(_unit(a), _unit(b)))


def _unit(text):
    """Of the last printed digit."""
    digits, _, power = text.lower().partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def main(names):
    import nbformat
    for path in NOTEBOOKS:
        if not names or path.stem in names:
            nbformat.write(execute(path), path)
            print(path.name, path.stat().st_size, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
