"""Exact linear algebra, series, streams, intervals and runs, with what a reader computes by hand."""
import math

import fltheory as ft
from fltheory.core.numbers.arrays import is_torch
from verification.engine.instances.rounds import LR, X0, C, H, P, quadratic
from verification.engine.twins import rounds

MATRICES = [
    ft.Instance(name, M=M) for name, M in (("a zero beside a one", ((0, 1), (1, 0))), ("all ones", ((1, 1), (1, 1))),
                                           ("a zero row", ((0, 0), (0, 2))), ("negative", ((1, 2), (2, 1))),
                                           ("rank two of three", ((2, 1, 1), (1, 2, -1), (1, -1, 2))),
                                           ("a zero first", ((0, 0, 1), (0, 1, 0), (1, 0, 3))))
]
RADII = [  # relation: coefficients, constant first, of a polynomial whose only root between the two numbers is the radius
    ft.Instance("golden ratio", M=((1, 1), (1, 0)), relation=(-1, -1, 1), between=(1, 2)),
    ft.Instance("a pair of modulus 2", M=((0, -4, 0), (1, 0, 0), (0, 0, 1)), relation=(-4, 0, 1), between=(1, 3)),
    ft.Instance("x^3 + x + 1, a pair", M=((0, 0, -1), (1, 0, -1), (0, 1, 0)), relation=(-1, 0, 0, 0, -1, 0, 1), between=(1, 2)),
]
PARABOLA = [ft.Instance("h (1 - h) on [0, 1]", h=ft.Field("h").symbols[0])]
RESIDUES = [ft.Instance(f"modulo {m}", modulus=m) for m in (101, 257)]
SYSTEMS = [ft.Instance("3 x 3 of rank 2", M=((1, 2, 3), (2, 4, 6), (1, 0, 1)), kernel=(-1, -1, 1))]
SERIES = [ft.Instance("1/(1 - s - s^2)", numbers=(1, 1, 2, 3, 5, 8))]
# Student's quantile in closed form: tan(pi level/2) for two values, level sqrt(2/(1 - level^2)) for three
SAMPLES = [
    ft.Instance("two values", values=(1.0, 4.0), level=0.9, quantile=math.tan(math.pi * 0.45)),
    ft.Instance("three values", values=(-1.0, 2.0, 5.0), level=0.99, quantile=0.99 * math.sqrt(2 / (1 - 0.99 ** 2))),
]
PARTS = [ft.Instance("four and three", parts=((1.0, 2.0, 4.0, 8.0), (-3.0, 0.0, 10.0)))]
PATH = rounds.fedavg(H, C, P, LR, (1, 2, 3), [(0, 1, 2)] * 8, X0)
BEST = sum(p * h * c for p, h, c in zip(P, H, C, strict=True)) / sum(p * h for p, h in zip(P, H, strict=True))
RUNS = [ft.Instance("eight rounds", quadratic(), ft.FedAvg("1/10", (1, 2, 3)), ft.Full(), x0=[X0], best=BEST, path=PATH,
                    simulate={"rounds": 8, "replicates": 3})]


class Drifting(ft.FedAvg):
    """A method whose runs do something else than its operator: an eighth is added in torch alone."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=new.x + 1 / 8) if is_torch(s.x) else new


AUDITS = [
    ft.Instance("as derived", quadratic(), ft.FedAvg("1/10", 2), ft.Full(), drifts=0, simulate={"rounds": 8, "replicates": 2}),
    ft.Instance("memories written over", quadratic(), ft.Scaffold("1/10", 2), ft.Uniform(2), noise=1, drifts=0,
                simulate={"rounds": 24, "replicates": 2}),
    ft.Instance("drifting", quadratic(), Drifting("1/10", 2), ft.Full(), drifts=1, simulate={"rounds": 8, "replicates": 2}),
]
