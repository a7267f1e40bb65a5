"""Classes of schedules and the worst contraction over them, against enumeration."""
from fractions import Fraction as Q

import fltheory as ft
from verification.engine.faults import these
from verification.engine.twins import forms

CLASSES = [ft.Instance(f"{made}, {rounds} rounds", windows=made, rounds=rounds, member=member)
           for made, rounds, member in ((ft.Sliding(2), 4, forms.in_windows), (ft.Blocks(2), 4, forms.in_blocks))]
COMMON = ft.Quadratic([[[1]], [[3]]], [[2], [2]])
WORST = [ft.Instance("two clients, windows of two", COMMON, ft.FedAvg("1/5", 1), windows=ft.Sliding(2),
                     factor={(0,): Q(4, 5), (1,): Q(2, 5), (0, 1): Q(3, 5), (): Q(1)})]


@ft.claim("schedule-classes", on=CLASSES, domain="two clients, all 256 schedules of four rounds",
          rejects=these("empty-rounds-exchanged", "blocks-start-late"))
def schedule_classes(i):
    """The automaton of a class admits, from its start, exactly the schedules that its definition admits."""
    every, automaton = forms.sequences(2, i.rounds), i.windows.automaton(2)
    return ft.equal([int(automaton.walk(s) is not None) for s in every],
                    [int(i.member(s, i.windows.length, 2)) for s in every])


@ft.claim("worst-schedules", on=WORST, domain="periods of up to four rounds, factors by hand",
          rejects=these("symmetric-refused", "common-point-mirrored"))
def worst_schedules(i):
    """The worst contraction factor over all schedules lies between its bounds, where rounds multiply the distance by
    factors known by hand; the common minimiser is found."""
    found, products = i.worst_schedule, []
    for length in (1, 2, 4):
        for schedule in forms.schedules(2, 2, length):
            product = Q(1)
            for here in schedule:
                product *= i.factor[here]
            products.append(product ** (4 // length))
    worst = max(products)
    upper = Q(2) if found.upper is None else found.upper
    return [ft.at_most(found.lower ** 4, worst, "below"), ft.at_most(worst, upper ** 4, "above"),
            ft.at_most(upper - found.lower, Q(1, 100), "between"), ft.equal(found.fixed_point, [2], "common minimiser")]
