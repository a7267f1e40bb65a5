"""FOCUS and FedAvg over whole classes of functions with L = 1: settings at the largest steps, and quantities of a round."""
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.focus import steps

CONVEX, SMOOTH = ft.SmoothConvex(1, "1/10"), ft.Smooth(1)
SIZES = [(n, tau) for n in (1, 2, 3) for tau in (1, 2, 3)]  # clients, local steps
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


# ---- FedAvg of Appendix B under uniform laws, so that q_i = 1/N and delta_q = 0; sigma_G^2 = 1
def averages(kind, eta, n=None, tau=1, law=None):
    """One setting of FedAvg; without n, of any number of clients that all take part."""
    law = ft.Full() if law is None else law
    constants = SimpleNamespace(mu=ft.fraction(kind.mu), L=ft.fraction(1))
    size = {} if n is None else {"n": n}
    who = "all take part" if isinstance(law, ft.Full) else "one client a round"
    return ft.Instance(f"N={n or 'any'}, tau={tau}, {who}, eta={eta}", algorithm=ft.FedAvg(eta, tau), law=law, classes=kind,
                       constants=constants, q=[ft.fraction(1) / (n or 1)] * (n or 1), delta2=ft.fraction(0), sigma2=ft.fraction(1),
                       **size)


def local_run(s, i, start):
    """Stacked models (n, d) after 0, 1, ..., tau coded local steps of every client from its own row of `start`."""
    each, Y = i.algorithm.to(ft.RATIONAL), start
    buffer, out = each.solver.start(start), [start]
    for _ in range(i.tau):
        Y, buffer = each.solver.step(Y, start, buffer, s.grads(Y), each.lr, 1)
        out.append(Y)
    return out


def round_of(s, i):
    """The same from the server model."""
    return local_run(s, i, np.stack([s.x] * i.n))


def mean(s, rows):
    """sum_i p_i row_i."""
    return (s.problem.p[..., None] * rows).sum(-2)


def variation(s, rows):
    """sum_i p_i |row_i - mean|^2."""
    return s.mean_square(rows - mean(s, rows))


def heterogeneity(s):
    """sum_i p_i |grad f_i(x) - grad F(x)|^2 at the server model: at most sigma_G^2, the largest of them."""
    return variation(s, s.grads(s.x))


def everywhere(s, i):
    """The same at the means of the local models is at most 1 too."""
    return [variation(s, s.grads(mean(s, Y))) <= 1 for Y in round_of(s, i)[1:-1]]
