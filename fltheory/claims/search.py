"""Counter-example search: hypothesis draws admissible instances and shrinks a violation to small rationals."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fltheory.claims import evidence as ev
from fltheory.scalars import need


@dataclass(frozen=True)
class Family:
    """A named family of instances: `build` takes hypothesis' `draw` and returns an Instance (or None to discard)."""

    name: str
    build: Callable


@dataclass(frozen=True)
class Search:
    """A budget of tries over families; universal claims need at least one non-quadratic family where allowed."""

    families: tuple
    tries: int = 200

    def run(self, claim, quick=False) -> dict:
        """Search for a violation of the claim inside its hypotheses.

        Returns {tries, families: {name: tries}, in_scope, best (largest lhs/rhs seen), found, verdict, seconds}.
        """
        hypothesis = need("hypothesis", "counter-example search")
        st = need("hypothesis.strategies", "counter-example search")
        from fltheory.claims.check import check_instance
        began = time.perf_counter()
        out = {"tries": 0, "in_scope": 0, "families": {}, "best": 0.0, "found": None, "verdict": None}
        for family in self.families:
            seen = {"tries": 0}
            last = {}

            def violated(instance, seen=seen, last=last):
                if instance is None:
                    return False
                seen["tries"] += 1
                verdict = check_instance(claim, instance)
                if verdict.status == ev.ERROR:
                    raise AssertionError(f"search of {claim.id} on {instance.name}: {verdict.reason}")
                if verdict.status in (ev.HOLDS, ev.FALSIFIED):
                    out["in_scope"] += 1
                if verdict.looseness:
                    out["best"] = max(out["best"], 1 / verdict.looseness)
                if verdict.status == ev.FALSIFIED:
                    last["verdict"] = verdict
                return verdict.status == ev.FALSIFIED

            budget = max(10, self.tries // (10 if quick else 1))
            strategy = st.composite(family.build)()
            settings = hypothesis.settings(max_examples=budget, derandomize=True, database=None, deadline=None,
                                           suppress_health_check=list(hypothesis.HealthCheck))
            try:
                hypothesis.find(strategy, violated, settings=settings)
                verdict = last["verdict"]
                verdict.instance = f"found by search ({family.name})"
                out["found"] = {"family": family.name, "says": verdict.says,
                                "comparisons": [c.record() for c in verdict.comparisons]}
                out["verdict"] = verdict
            except hypothesis.errors.NoSuchExample:
                pass
            out["families"][family.name] = seen["tries"]
            out["tries"] += seen["tries"]
            if out["found"]:
                break
        out["seconds"] = round(time.perf_counter() - began, 3)
        return out
