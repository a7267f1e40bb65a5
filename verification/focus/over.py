"""FOCUS and FedAvg over whole classes of functions with L = 1: settings at the largest steps, and quantities of a round."""
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.focus import steps

CONVEX, SMOOTH = ft.SmoothConvex(1, "1/10"), ft.Smooth(1)
SIZES = ((1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (2, 3))  # clients, local steps
SEVERAL, SEVERAL_STEPS = [v for v in SIZES if v[0] > 1], [v for v in SIZES if v[1] > 1]


def setting(rule, kind, n, tau, law, share=1, init="zero"):
    """The setting with `share` of the largest step that a rule admits."""
    k = SimpleNamespace(N=n, L=ft.fraction(1), mu=ft.fraction(kind.mu), q=steps.smallest_weight(law, n), tau=tau)
    bound = steps.f.admissible(steps.RULES[rule](k))
    eta = (ft.fraction(1) if bound is None else steps.root_below(bound)) * ft.fraction(share)
    who = "all take part" if isinstance(law, ft.Full) else "one client a round"
    return ft.Instance(f"N={n}, tau={tau}, {who}, eta={eta}", algorithm=ft.Focus(eta, tau, init), law=law, classes=kind,
                       n=n, L=k.L, mu=k.mu, q=k.q)


def settings(rule, *kinds, sizes=SIZES, share=1, init="zero"):
    """Everybody takes part, and one client a round, for every size."""
    return [setting(rule, kind, n, tau, law, share, init) for kind in kinds for n, tau in sizes
            for law in (ft.Full(), *([ft.Uniform(1)] if n > 1 else ()))]


def tracked(s):
    """Any points z_i with their stored gradients, and the y that FOCUS keeps: the sum of these gradients."""
    g = s.grads(s.vectors("z"))
    return {"g": g, "y": g.sum(-2)}


def spread(x, points, s):
    """sum_i |x - z_i|^2."""
    return sum((s.square(x - z) for z in points[1:]), s.square(x - points[0]))


def B(s):
    """Consensus error before the round."""
    return spread(s.x, s.vectors("z"), s)


def B_next(s):
    """Consensus error after the round."""
    return spread(s.next, s.points_of(s.after.g), s)


def certified(i, left, tight, **terms):
    """left <= sum of coefficient * form, from every state that FOCUS can be in. terms: name=(coefficient, function)."""
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=i.n, start=tracked, left=left, terms=terms, tight=tight)


# ---- FedAvg of Appendix B: everybody takes part, so that q_i = 1/N and delta_q = 0
def averages(kind, *pairs, share):
    """(clients, local steps) of FedAvg at `share(tau)` of 1/L."""
    return [ft.Instance(f"FedAvg, N={n}, tau={tau}, all take part, eta={share(tau)}", algorithm=ft.FedAvg(share(tau), tau),
                        law=ft.Full(), classes=kind, n=n, problem=None, L=ft.fraction(1), mu=ft.fraction(kind.mu), q=[ft.fraction(1) / n] * n,
                        constants=SimpleNamespace(mu=ft.fraction(kind.mu), L=ft.fraction(1)), delta2=ft.fraction(0),
                        sigma2=ft.fraction(1)) for n, tau in pairs]


def local_run(s, i, start):
    """Stacked points (n, d) after 1, ..., tau coded local steps of every client from its own row of `start`."""
    each, Y = i.algorithm.to(ft.RATIONAL), start
    buffer, out = each.solver.start(start), []
    for _ in range(i.tau):
        Y, buffer = each.solver.step(Y, start, buffer, s.grads(Y), each.lr, 1)
        out.append(Y)
    return out


def together(s, i):
    """Every client at the server model (n, d)."""
    return np.stack([s.x] * i.n)


def mean(rows):
    """The plain mean of rows (n, d)."""
    return rows.sum(-2) * ft.RATIONAL.scalar(ft.fraction(1) / len(rows))


def variation(s, rows):
    """(1/n) sum_i |mean - row_i|^2."""
    return spread(mean(rows), rows, s) / len(rows)


def heterogeneity(s, x=None):
    """(1/n) sum_i |grad f_i(x) - grad F(x)|^2 at the server model or another point: at most sigma_G^2, the largest of them."""
    return variation(s, s.grads(s.x if x is None else x))


def everywhere(s, i):
    """The same is at most 1 at the mean of the local models after each local step: as many multiples of it as one likes."""
    return [heterogeneity(s, mean(Y)) <= 1 for Y in local_run(s, i, together(s, i))[:-1]]
