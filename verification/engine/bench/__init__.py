"""Speed, measured: ratios against a stated baseline, in one process, medians of repeated runs."""
from __future__ import annotations

from fltheory.core.libraries import have
from verification.engine.bench import deciding, proofs
from verification.engine.bench.clock import ARRIVING, RUN_STEPS, arrivals, heap_loop
from verification.engine.bench.large import large
from verification.engine.bench.maps import step_maps
from verification.engine.bench.pepit import WITHOUT, worst_cases
from verification.engine.bench.proofs import certificates
from verification.engine.bench.replicates import COHORT, REPEATS, sampled, single
from verification.engine.bench.rounds import measure
from verification.engine.bench.timing import CLIENTS, DIMENSION, STEPS, random_quadratic


def table(repeats=20, sections=None) -> str:
    """The measurements as a text table. repeats: runs per median of single rounds; sections: {name: function of the repeats that
    returns lines}, default `SECTIONS`."""
    return "\n\n".join("\n".join(make(repeats)) for make in (SECTIONS if sections is None else sections).values())


def _rounds(repeats):
    rows = measure(repeats)
    base = rows[0][1]
    return [f"{CLIENTS} clients, d={DIMENSION}, {STEPS} local steps; medians of {repeats} runs, one thread", "",
            *(f"{what:<86} {seconds * 1e3:10.4f} ms   {base / seconds:10.2f} x the loop" for what, seconds, _ in rows)]


def _replicates(repeats):
    repeats = min(repeats, REPEATS)
    return ["every client, exact gradients, one replicate without audit: a round of FedAvg",
            *(f"{what:<86} {loop / ratio * 1e3:10.4f} ms   {ratio:10.2f} x the loop" for what, loop, ratio in single(repeats)), "",
            f"{COHORT} of {CLIENTS} clients, {STEPS} noisy local steps, with audit: a round of a replicate (noise collapsed)",
            *(f"{what:<86} {loop / ratio * 1e6:10.4f} us   {ratio:10.2f} x the loop ({collapsed:.2f} x)"
              for what, loop, ratio, collapsed in sampled(repeats=repeats))]


def _clock(_):
    return [f"arrivals of AsyncFedED on the event clock, {ARRIVING} clients, d={DIMENSION}, {RUN_STEPS} local steps",
            *(f"{what:<86} {1e6 / ratio * loop:10.4f} us   {ratio:10.2f} x a loop over one heap"
              for what, loop, ratio in arrivals())]


def _maps(_):
    what, stepping, mapped = step_maps()
    return [f"{what:<86} {mapped * 1e3:10.4f} ms   {stepping / mapped:10.2f} x stepping the coded round"]


def _large(_):
    return ["large problems, operators without lists: seconds here and of the prototype, peak memory of this process",
            *(f"{what + ': ' + asked:<86} {here:10.3f} s    {there:10.2f} s   {gib:.2f} GiB"
              for what, asked, here, there, gib, _ in large())]


def _certificates(_):
    return ["what a certificate costs: time with it, beside the bare number's",
            *(f"{what:<86} {bare * ratio * 1e3:10.4f} ms   {ratio:10.2f} x the time of {baseline}"
              for what, baseline, bare, ratio in certificates()),
            *([] if have("cvxpy") and have("clarabel") else [proofs.WITHOUT])]


def _pepit(_):
    if not have("PEPit"):
        return [WITHOUT]
    return ["the same worst cases here and in PEPit, medians of 5 runs",
            *(f"{what:<86} {here * 1e3:10.4f} ms   {there / here:10.2f} x PEPit's speed" for what, here, there in worst_cases())]


SECTIONS = {"rounds": _rounds, "replicates": _replicates, "clock": _clock, "maps": _maps, "large": _large,
            "certificates": _certificates, "pepit": _pepit, "verify": lambda repeats: deciding.lines()}

__all__ = ["SECTIONS", "arrivals", "certificates", "heap_loop", "measure", "random_quadratic", "sampled", "single", "step_maps",
           "table", "worst_cases"]
