"""What is known about a number that floats found: how it was checked, what the check left over, and what bound follows."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """One number and its accuracy.

    name, value; check: what was done; residual: what it left over (relative); bound: on the relative error (a distance for fixed
    points), None if nothing bounds it; kind: "bound" (an inequality that floats verify), "checked" (a residual on the coded
    round, with an estimated condition) or "estimate".
    """

    name: str
    value: float
    check: str
    residual: float
    bound: float | None
    kind: str

    @property
    def label(self) -> str:
        """One phrase, estimates called so."""
        rest = f", residual {self.residual:.1e}"
        most = "" if self.bound is None else f", error {'<=' if self.kind == 'bound' else 'about'} {self.bound:.1e}"
        return f"{self.check}{rest}{most}"


@dataclass(frozen=True)
class Accuracy:
    """The numbers of a structured operator that were asked for, by name, and how far each can be trusted."""

    found: tuple

    def __getitem__(self, name: str) -> Value:
        for f in self.found:
            if f.name == name:
                return f
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(f.name == name for f in self.found)

    def __iter__(self):
        return iter(self.found)

    def __str__(self) -> str:
        return "\n".join(f"{f.name} = {f.value:.10g}: {f.label}" for f in self.found)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html
        rows = "".join(f"<tr><th>{f.name.replace('_', ' ')}</th><td>{f.value:.10g}</td><td>{html.escape(f.label)}</td></tr>"
                       for f in self.found)
        return f"<table>{rows}</table>"
