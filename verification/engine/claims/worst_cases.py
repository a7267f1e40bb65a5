"""Worst cases over function classes, against closed forms of gradient descent and against each other."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.numbers.scalars import RATIONAL, fraction
from fltheory.worstcase.gram import Point
from fltheory.worstcase.quadratic_forms import Form
from verification.engine.faults import these

FAR = ("distance", lambda s: s.mean_square(s.grads(s.star)) <= 1)
CONVEX, STRONGLY = ft.SmoothConvex(1), ft.SmoothConvex(1, "1/10")
DESCENT = [ft.Instance("convex, three local steps, value (Drori and Teboulle 2014)", method=ft.FedAvg(1, 3), classes=CONVEX,
                       measure="gap", value=Q(1, 14)),
           ft.Instance("strongly convex, distance (Taylor, Hendrickx and Glineur 2017)", method=ft.FedAvg("1/5", 2),
                       classes=STRONGLY, measure="distance", value=Q(49, 50) ** 4)]
GAMMAS = [ft.Instance(f"gamma w^2 / 2, gamma = {g}", gamma=Q(g)) for g in ("1/3", "1", "3")]
CLIENTS = [ft.Instance(f"{n} clients, two local steps", method=ft.FedAvg("1/5", 2), n=n) for n in (2, 3)]


@ft.claim("worst-descent", on=DESCENT, domain="gradient descent on one client",
          rejects=these("convexity-mistaken", "bound-unchecked"))
def worst_descent(i):
    """The certified worst case of gradient descent is the known one; a smaller bound with the same multipliers is rejected."""
    found = ft.worst_case(i.method, i.classes, measure=i.measure)
    low = ft.WorstCase(found.value, found.status, found.certificate.at(i.value - Q(1, 1000)), found.size, found.setting)
    return [ft.at_most(i.value, found.bound, "not below"), ft.at_most(found.bound, i.value + Q(1, 10**5), "not above"),
            ft.equal([int(found.recheck()), int(low.recheck())], [1, 0], "certificates")]


@ft.claim("worst-counted", on=CLIENTS, domain="two and three identical clients, full participation",
          rejects=these("counted-clients-alone", "minimiser-unweighted"))
def worst_counted(i):
    """Identical clients that are counted have the worst case of clients that are listed, and functions attain it."""
    listed = ft.worst_case(i.method, [STRONGLY] * i.n, initial=FAR)
    counted = ft.worst_case(i.method, STRONGLY, initial=FAR, counts=[i.n])
    return [ft.at_most(abs(listed.bound - counted.bound), Q(1, 10**5), "same"),
            ft.at_most(listed.bound - Q(listed.witness.attained), Q(1, 10**4), "attained")]


@ft.claim("members-meet-conditions", on=GAMMAS, domain="three parabolas of one block, two points",
          rejects=these("constant-for-its-square"))
def members_meet_conditions(i):
    """gamma w^2 / 2 meets every condition of the functions with constant gamma in blocks, whatever gamma."""
    points = [Point(RATIONAL.array([w, 0]), RATIONAL.array([i.gamma * w, 0]), Form(constant=i.gamma * w * w / 2), set(), None)
              for w in (Q(0), Q(1))]
    found = ft.SmoothBlocks(i.gamma).in_blocks(points, lambda u: (u * np.array([1, 0]), u * np.array([0, 1])))
    return [ft.at_most(fraction(c.form.constant + sum(k * (u * v).sum() for k, u, v in c.form.terms)), 0) for c in found]
