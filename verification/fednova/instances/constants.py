"""Instances for the constants of Theorem 1 and for Corollaries 1 and 2."""
import csv
from fractions import Fraction
from pathlib import Path

import fltheory as ft
from verification.fednova.instances.solvers import general, linear_losses, whole

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

fedavg = [general("vanilla", 2), general("vanilla", 3), whole("vanilla", (1, 3, 8)),
          whole("vanilla", (2, 3, 7), uniform=True),
          whole("vanilla", (4, 4, 4))]
fednova = [general("vanilla", 2, ft.FedNova), general("vanilla", 3, ft.FedNova),
           general("vanilla", 3, ft.FedNova, uniform=True),
           whole("vanilla", (1, 3, 8), ft.FedNova), whole("vanilla", (2, 3, 7), ft.FedNova, uniform=True)]
fedprox = [general("proximal", 2), general("proximal", 3), whole("proximal", (1, 4))]
_symbols = "L sigma2 kappa2 gap gamma h W"
corollary1 = [general("vanilla", 2, uniform=True, more=_symbols), general("vanilla", 3, uniform=True, more=_symbols),
              whole("vanilla", (1, 3, 8), uniform=True, more=_symbols),
              whole("vanilla", (1, 1, 1), uniform=True, more=_symbols)]
relative_variance = [general("proximal", 2, uniform=True), general("proximal", 3, uniform=True),
                     whole("proximal", (1, 4), uniform=True)]


def _speedup(name, taus, p, twice, says):
    """Some clients, and twice as many of them; p and twice: their weights."""
    base = whole("vanilla", taus, uniform=True, more=_symbols)

    def weighted(weights, steps):
        return base.but(name=name, problem=linear_losses(len(steps), weights), algorithm=ft.FedAvg(base.eta, steps),
                        p=[0 * base.eta + v for v in weights], t=[0 * base.eta + t for t in steps],
                        says=says)
    return weighted(p, taus).but(twice=weighted(twice, taus + taus))


_half, _quarter = [Fraction(1, 2)] * 2, [Fraction(1, 4)] * 4
speedup = [_speedup("tau=(2, 2), then twice", (2, 2), _half, _quarter, "uniform p"),
           _speedup("tau=(1, 3), then twice", (1, 3), _half, _quarter, "uniform p"),
           _speedup("one dominant client", (2, 2), [Fraction(9, 10), Fraction(1, 10)],
                    [Fraction(9, 10), *[Fraction(1, 30)] * 3], "A grows with the number of clients")]


# ---- Table 1 and Fig 4 ------------------------------------------------------------------------------------
TABLE1 = Path(__file__).parents[1] / "data" / "table1_printed.csv"


def printed_table():
    """{(epochs, optimiser): (FedAvg, FedNova)} of the printed accuracies in exact percent; None where not defined."""
    with open(TABLE1, newline="", encoding="utf-8") as file:
        return {(r["epochs"], r["optimiser"]): tuple(ft.fraction(r[k]) if r[k] else None for k in ("fedavg", "fednova"))
                for r in csv.DictReader(file)}


table1 = ft.Instance("Table 1 as printed", table=printed_table(), says="accuracies of VGG-11 on CIFAR-10, percent")


def unrounded(draw):
    """Tables whose entries round to the printed ones."""
    error = st.fractions(Fraction(-1, 200), Fraction(1, 200), max_denominator=2000)
    table = {k: tuple(None if v is None else v + draw(error) for v in pair) for k, pair in table1.table.items()}
    return table1.but(name="unrounded table", table=table, says="every entry moved by up to 0.005")


fig4 = [ft.Instance("variance 20", spread=ft.fraction(20), says="N(20, 20) read with 20 as the variance"),
        ft.Instance("standard deviation 20", spread=ft.fraction(400),
                    says="N(20, 20) read with 20 as the standard deviation: a draw is at most 0 with probability 0.159")]
