"""How somebody else's round is told who takes part: by a name, by position, or as `call=` says."""
from __future__ import annotations

import inspect

from fltheory.core.errors import refuse

NAMES = ("cohort", "participants", "selected", "selected_clients", "selection", "sampled", "sampled_clients", "sample", "chosen",
         "active", "active_clients", "available", "online_clients", "client_ids", "client_idxs", "client_indices", "clients_idx",
         "idxs_users", "idxs", "indices", "ids", "members", "subset", "who", "present", "S", "S_t")
HOW = ("Call the list of participants cohort (or " + ", ".join(NAMES[1:4]) + ", ..), make it the third parameter, or say how the "
       "round is called: call=lambda round_fn, x, clients, cohort: round_fn(x, clients, chosen=cohort). Give further parameters a "
       "default.")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def caller(round_fn, call=None):
    """(function of x, clients and, if told who takes part, the cohort; whether it is told; a note or None).

    call: call(round_fn, x, clients[, cohort]) makes the round. Without it a parameter of a known name takes the participants,
    else a third parameter without a default.
    """
    if call is not None:
        return _called(round_fn, call)
    try:
        signature = inspect.signature(round_fn)
    except (TypeError, ValueError):  # written in C, it may have none
        return round_fn, False, None
    parameters = list(signature.parameters.values())
    third = [p for p in parameters if p.kind in POSITIONAL][2:3]
    name = next((p for usual in NAMES for p in parameters if p.name == usual and p not in parameters[:2]), None)
    if name is None and third and third[0].default is inspect.Parameter.empty:
        name = third[0]
    keywords = {} if name is None else {name.name: []}
    by_place = name is not None and name.kind is inspect.Parameter.POSITIONAL_ONLY
    try:
        signature.bind("x", "clients", *([[]] if by_place else []), **({} if by_place else keywords))
    except TypeError:
        refuse("round_fn", str(signature), "is called as round(x, clients), or as round(x, clients, cohort=[0, 2]) if it is told "
               "who takes part", HOW)
    if name is None:
        return round_fn, False, None
    note = None if name.name == "cohort" else f"the parameter {name.name} is given the list of participants"
    if by_place:
        return round_fn, True, note
    return lambda x, clients, cohort: round_fn(x, clients, **{name.name: cohort}), True, note


def _called(round_fn, call):
    if not callable(call):
        refuse("call", type(call).__name__, "must be callable", "Give call(round_fn, x, clients, cohort) -> x_new.")
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        signature = None
    for informed in (True, False):
        try:
            if signature is not None:
                signature.bind(round_fn, "x", "clients", *([[]] if informed else []))
        except TypeError:
            continue
        return (lambda x, clients, *cohort: call(round_fn, x, clients, *cohort)), informed, None
    return refuse("call", str(signature), "is called as call(round_fn, x, clients, cohort), or without the last where everybody "
                  "takes part", "For example call=lambda round_fn, x, clients, cohort: round_fn(x, clients, chosen=cohort).")
