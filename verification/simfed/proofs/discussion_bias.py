"""Appendix D at the first local step, where every client stands at the mean."""
import fltheory as ft


def first_step():
    """|w~ - m|^2 = (1 - beta)^2 |u - m|^2 >= 0 = |w - m|^2, since w = m."""
    p = ft.Proof("beta", vectors="m u")
    beta, m, u = p("beta m u")
    point = beta * m + (1 - beta) * u
    there = p.follows("perturbed point", (point - m).square - (1 - beta) ** 2 * (u - m).square, equality=True,
                      says="w~ = beta w + (1 - beta) u at w = m, the mean of all local models")
    away = p.square("distance of the neighbours' average", (1 - beta) * (u - m))
    return p.conclude(p.follows("never closer", (point - m).square, there, away, says="against |w - m|^2 = 0"))
