"""Symbols for claims of the papers."""
import fltheory as ft


class Symbols:
    """Symbols of one field by name: Symbols("gamma beta", h=2) has gamma, beta and the list h of h0, h1."""

    def __init__(self, single="", **several):
        names = single.split() + [f"{k}{j}" for k, n in several.items() for j in range(n)]
        self.field = ft.Field(" ".join(names))
        at = dict(zip(self.field.names, self.field.symbols, strict=True))
        for name in single.split():
            setattr(self, name, at[name])
        for name, n in several.items():
            setattr(self, name, [at[f"{name}{j}"] for j in range(n)])
