"""The gallery of frameworks: what `identify` says of other people's code, committed beside the papers and reported by `verify`.

It lies in the folder of papers (`verification/frameworks/gallery.json`, with the hand checks in `hand.py`), which an installed
wheel carries; nothing of the frameworks is imported here.
"""
from __future__ import annotations

import json
from pathlib import Path

from fltheory.core.errors import BadInput
from fltheory.verdicts.records import Gallery

FOLDER, NAME, LISTING = "frameworks", "gallery.json", "hand.py"


def read(root) -> Gallery | None:
    """The gallery of a folder of papers; None if it has none. Raises BadInput for one that cannot be read."""
    path = Path(root) / FOLDER / NAME
    if not path.is_file():
        return None
    try:
        raw, hand = json.loads(path.read_text(encoding="utf-8")), path.with_name(LISTING)
        if not isinstance(raw, dict):
            raise ValueError("it holds no rows")
        return Gallery.of({**raw, "listing": hand.read_text(encoding="utf-8") if hand.is_file() else ""})
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{NAME} in {str(path.parent)!r} cannot be read ({error}). "
                       "Make it again with `fltheory reproduce gallery`.") from None


def record(roots) -> list[dict]:
    """The galleries of a report: one per root folder that has one."""
    galleries = map(read, dict.fromkeys(Path(r).resolve() for r in roots))
    return [gallery.to_json() for gallery in galleries if gallery is not None]
