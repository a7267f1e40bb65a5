"""Federated training codes as practitioners write them in torch: the specimens that `identify` is tried on.

Nothing here uses fltheory. Each specimen is correct unless it is made with one of its bugs. Bugs with a reference in
their description were shipped by that public code; the others are slips of the same kinds. The layouts are those of
public code, the lines are written for this folder.
"""

from tests.blackbox.loops import fednova, flower, focus_repository, scaffold, servers, state_dicts
from tests.blackbox.loops.specimen import Loop, Specimen

SPECIMENS = [*state_dicts.SPECIMENS, *flower.SPECIMENS, *fednova.SPECIMENS, *scaffold.SPECIMENS, *servers.SPECIMENS,
             *focus_repository.SPECIMENS]
NAMED = {s.name: s for s in SPECIMENS}

__all__ = ["NAMED", "SPECIMENS", "Loop", "Specimen"]
