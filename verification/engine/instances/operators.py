"""Operators, problems and minimisers beside closed forms."""
from fractions import Fraction as Q

import fltheory as ft
from verification.engine.instances.rounds import C, H, P, quadratic
from verification.engine.twins import chains, forms, laws

H2 = (Q(1), Q(4))
EVENLY = ft.Quadratic([[[1, 0], [0, 4]]] * 2, [[1, 2]] * 2, ["1/3", "2/3"])
FLOORS = [
    ft.Instance("d = 2", EVENLY, ft.FedAvg("1/10", 1), ft.Full(), noise="3/2", domain=ft.RATIONAL,
                floor=forms.floor(H2, (Q(1, 3), Q(2, 3)), Q(1, 10), Q(9, 4)), x0=[1, 2],
                simulate={"rounds": 60, "replicates": 512, "seed": 3}),
]
ONE = ft.Quadratic([[[2]]], [[0]])
AWAY = [
    ft.Instance(f"correlation {r}", ONE, ft.FedAvg("1/5", 1), ft.Markov("1/3", r, 1, empty="skip"), noise="1/2",
                domain=ft.RATIONAL, floor=forms.alternating_floor(Q(2), Q(1, 3), Q(r), Q(1, 5), Q(1, 4)))
    for r in ("1/4", "0", "-1/3")
]
WEIGHTS = [
    ft.Instance("two sticky clients", algorithm=ft.FedAvg("1/10", (1, 4)), law=ft.Markov(("1/2", "1/5"), "1/3", 2),
                p=("1/4", "3/4"), weights=forms.surrogate((Q(1, 2), Q(1, 5)), Q(1, 3), (Q(1, 4), Q(3, 4)), (1, 4))),
]
LAW = ft.Bernoulli(("1/2", "1/3", "3/4"), "move")
GRADIENTS = [
    ft.Instance("three clients, two rounds", quadratic(), ft.FedAvg("1/10", (1, 2, 3)), LAW, domain=ft.RATIONAL, x0=[3],
                w=(Q(1, 6), Q(1, 2), Q(1, 3))),
]
STABLE = [
    ft.Instance("one client, one step", ONE, ft.FedAvg("1/10", 1), ft.Full(), first=1.0),
    ft.Instance("FOCUS, one client, p = 1/3", ft.Quadratic([[[1]]], [[0]]), ft.Focus("1/10", 1), ft.Bernoulli("1/3"),
                first=2 / 3 / (2 - 1 / 3)),
]
A1, S1 = [[1.0], [2.0], [-1.5]], [1, 0, 1]
SMOOTH = [
    ft.Instance("logistic, one client", ft.Logistic([A1], [S1], 0.1), ft.FedAvg("1/2", 3), ft.Full(),
                point=forms.logistic_point([1.0, 2.0, -1.5], [1, -1, 1], 0.1, 0.5, 3)),
    ft.Instance("SCAFFOLD, one client", ft.Logistic([A1], [S1], 0.1), ft.Scaffold("1/2", 3), ft.Full(),
                point=forms.logistic_point([1.0, 2.0, -1.5], [1, -1, 1], 0.1, 0.5, 3)),
]
ROWS = [([[1, 2], [0, 1], [3, -1]], [1, 0, 2]), ([[2, 0], [1, 1]], [Q(1, 2), -1])]
RIDGES = [
    ft.Instance(convention, convention=convention, reg=Q(1, 3),
                clients=[forms.ridge([[Q(v) for v in row] for row in A], [Q(v) for v in y], Q(1, 3), convention)
                         for A, y in ROWS])
    for convention in ("half-mean", "half-sum", "sum")
]
SCORES = ([[1.0, 2.0], [0.5, -1.0], [-1.0, 0.3]], [0, 2, 1])
LOSSES = [ft.Instance("softmax, three classes", x=(0.1, -0.4, 0.7, 0.2, -0.3, 0.5))]
GAPS = [ft.Instance(f"two clients, {h[0]} and {h[1]}", h=h, b=b) for h, b in (
    ((4.0, 4.51), (-4.8, -4.84)), ((3.43, 4.01), (0.15, 5.01)), ((0.6, 7.84), (1.26, -5.4)))]
SURROGATES = [ft.Instance("three clients", quadratic(), w=(Q(1, 6), Q(1, 2), Q(1, 3)))]


def chained(name, sets, chain, start=None):
    """FedAvg with noise on three clients, the sets of participants drawn by a chain of modes."""
    law = ft.Chain(sets=sets, matrix=chain, initial=start)
    kinds = chains.kinds(H, C, P, Q(1, 10), sets, Q(1, 4))
    return ft.Instance(name, quadratic(), ft.FedAvg("1/10", 1), law, noise="1/2", domain=ft.RATIONAL, x0=[3], kinds=kinds,
                       chain=chain, start=start)


_BIASED = ((Q(1, 5), Q(7, 10), Q(1, 10)), (Q(1, 10), Q(1, 5), Q(7, 10)), (Q(3, 5), Q(1, 5), Q(1, 5)))
_ROUND = ((Q(0), Q(1), Q(0)), (Q(0), Q(0), Q(1)), (Q(1), Q(0), Q(0)))
_TWO = ((Q(0), Q(1), Q(0), Q(0)), (Q(1), Q(0), Q(0), Q(0)), (Q(0), Q(0), Q(0), Q(1)), (Q(0), Q(0), Q(1), Q(0)))
CHAINS = [chained("in one direction", ((0,), (1, 2), (2,)), _BIASED), chained("in turn", ((0, 1), (2,), (1,)), _ROUND)]
STARTED = [chained("in turn, from the first set", ((0, 1), (2,), (1,)), _ROUND, (Q(1), Q(0), Q(0))),
           chained("in one direction, from a corner", ((0,), (1, 2), (2,)), _BIASED, (Q(0), Q(1), Q(0))),
           chained("two cycles", ((0,), (1, 2), (2,), (0, 1)), _TWO, (Q(1, 3), Q(0), Q(2, 3), Q(0)))]


EQUAL = [ft.Instance(f"{n} clients, {name}, tau = {tau}", ft.Quadratic([[[2]]] * n, [[1]] * n), ft.Focus("1/9", tau), law, n=n,
                     tau=tau, cohorts=listed, x0=[3])
         for n, tau, name, law, listed in (
             (3, 1, "one a round", ft.Uniform(1), laws.uniform(3, 1)),
             (4, 2, "two a round", ft.Uniform(2), laws.uniform(4, 2)),
             (3, 2, "half of the time, redrawn", ft.Bernoulli("1/2", "redraw"), laws.bernoulli((Q(1, 2),) * 3, "redraw")))]

LARGE = [
    ft.Instance(name, quadratic(p=p), ft.FedAvg("1/10", (1, 2, 3)), law, noise=sigma, cohorts=listed, weights=p, sigma=Q(sigma))
    for name, p, law, listed, sigma in (
        ("two of three, alike", (Q(1, 3),) * 3, ft.Uniform(2), laws.uniform(3, 2), "0"),
        ("two of three, by weight", P, ft.Uniform(2), laws.uniform(3, 2), "3/2"),
        ("independent, nobody is skipped", P, ft.Bernoulli(("1/2", "1/3", "3/4"), "skip"),
         laws.bernoulli((Q(1, 2), Q(1, 3), Q(3, 4))), "1/2"))
]
