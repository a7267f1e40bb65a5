"""Claims that are certified for whole function classes at listed settings, and the certificates kept beside their paper.

A claim's `certify` turns each setting of its `over` into comparisons of `certified_over`. Multipliers that were found once lie
in the paper's `certificates.json`; they are checked anew, exactly, each time, and only where one is missing or no longer holds
is a solver asked.
"""
from __future__ import annotations

import functools
import json
from pathlib import Path

from fltheory.core.errors import BadInput
from fltheory.worstcase.certificate import Certificate
from fltheory.worstcase.relation import Shelf, shelved

FILE = "certificates.json"


@functools.lru_cache(maxsize=8)
def certificates_in(folder: Path | None) -> dict:
    """{claim id: {setting: [Certificate]}} of a paper folder, empty without a file. Raises BadInput for one that is none."""
    if folder is None or not (path := folder / FILE).is_file():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {id: {name: [Certificate.from_json(c) for c in certificates] for name, certificates in settings.items()}
                for id, settings in data.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise BadInput(f"certificates {str(path)!r} cannot be read ({error}): make them again with `fltheory certify`") from None


def comparisons(claim, setting, anew=False):
    """(comparisons of `certify` on a setting, certificates used). anew: ask the solver whatever is kept."""
    shelf = Shelf(() if anew else certificates_in(claim.folder).get(claim.id, {}).get(setting.name, ()))
    with shelved(shelf):
        result = claim.certify(setting)
    return (list(result) if isinstance(result, (list, tuple)) else [result]), shelf.used


def make(paper, ids=(), said=lambda text: None) -> Path | None:
    """Find the certificates of a paper's claims (or some of them) anew and write them; returns the file, None without claims."""
    certificates = {id: {name: [c.to_json() for c in these] for name, these in settings.items()}
             for id, settings in certificates_in(paper.folder).items() if id in paper.claims}
    for claim in paper.claims.values():
        if not claim.over:
            certificates.pop(claim.id, None)
        elif not ids or claim.id in ids:
            certificates[claim.id] = {}
            for setting in claim.over:
                results, used = comparisons(claim, setting, anew=True)
                certificates[claim.id][setting.name] = [c.to_json() for c in used]
                said("\n".join(f"{claim.id}, {setting.name}: {c.status} {c.label} {c.detail}" for c in results))
    if not certificates:
        return None
    path = paper.folder / FILE
    path.write_text(json.dumps(certificates, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    certificates_in.cache_clear()
    return path
