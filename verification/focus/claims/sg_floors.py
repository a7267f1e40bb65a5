"""SG-FOCUS: the floors that are, to first order in the step."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus import sg
from verification.focus.bugs import stability as empty
from verification.focus.bugs import structure as wrong
from verification.focus.formulas import stochastic as f
from verification.focus.instances import at_step, line, noisy

ALARM = 1e-4  # each statistical comparison's false-alarm level
SMALL_BUGS = [wrong.pushes_averaged, empty.skips_empty_rounds]


def _h(i):
    """The one curvature of all clients."""
    return i.problem.H[0, 0, 0]


def _p(i):
    return i.stated.law.inclusion(i.n)


def _first_order(i, exact, leading, label):
    """exact(instance) / leading(eta) tends to 1: as a series in symbols, else at two decreasing steps."""
    if isinstance(i.domain, ft.Field):
        return [ft.equal(np.array(exact(i).series("eta", 1), dtype=object), [0 * i.eta, leading(1 + 0 * i.eta)], label)]
    off = [abs(exact(at_step(i, e)) / leading(e) - 1) for e in (i.eta, i.eta / 10)]
    return [ft.at_most(off[0], Q(1, 100), f"{label}: off by at most 1 % at eta"),
            ft.at_most(off[1], off[0] / 5, f"{label}: and at least five times less at eta/10")]


def _small(name, N, law, names="", tau=1):
    k = ft.Field(f"eta h {names}")
    eta, h, *given = k.symbols
    return ft.Instance(name, line([h] * N, range(N)), ft.Focus(eta, tau), law(given), noise=1, domain=k,
                       says="h, eta" + (" and the probabilities" if given else "") + " are symbols")


small_symbols = [_small("one client, any p", 1, ft.Bernoulli, "p"),
                 _small("one client, any p, tau=2", 1, ft.Bernoulli, "p", 2),
                 _small("two clients, any p", 2, ft.Bernoulli, "p1 p2"),
                 _small("one of two", 2, lambda _: ft.Uniform(1)),
                 _small("all three, tau=2", 3, lambda _: ft.Full(), tau=2)]


def _decreasing(name, h, law, N, tau=1):
    return noisy(name, [h] * N, range(N), Q(1, 1000) / (h * N), tau, law, "1/2")


SMALL = [_decreasing("two of four", Q(1), ft.Uniform(2), 4), _decreasing("one of three, tau=3", Q(2), ft.Uniform(1), 3, 3),
         _decreasing("Bernoulli, redrawn", Q(1, 3), ft.Bernoulli(("9/10", "1/2", "1/5"), "redraw"), 3, 2),
         _decreasing("Bernoulli, empty rounds", Q(5), ft.Bernoulli(("1", "1/3", "1/4")), 3),
         _decreasing("weighted, two of three", Q(1), ft.Weighted(2, ("7/10", "1/5", "1/10")), 3)]
simulated = noisy("simulated", [1] * 3, range(3), "1/20", 2, ft.Uniform(2), "1/2",
                  simulate={"rounds": 160, "replicates": 2048, "seed": 44})


@ft.claim("new-sg-floor", on=[*small_symbols, *SMALL, simulated], rejects=SMALL_BUGS,
          reading="Any law that draws its rounds independently; dependence between the clients of a round does not matter.")
def new_sg_floor(i):
    r"""Equal Hessians $h$, rounds drawn independently by any law, small $\eta$:
    $E\|x-x^\star\|^2\to\frac{\eta\sigma^2}{2h}\cdot\frac1N\sum_i(\frac2{p_i}-1)$.
    """
    if i.simulate:
        exact = i.op.floor()
        return (ft.agrees(i.run.floor(level=1 - ALARM), exact, "measured floor"),
                ft.at_most(abs(exact / f.small_step_error(i.eta, _h(i), _p(i), i.sigma**2) - 1), Q(1, 5),
                           "first order, at a large step"))
    return _first_order(i, lambda j: j.op.floor(), lambda e: f.small_step_error(e, _h(i), _p(i), i.sigma**2), "E|x - x*|^2")


def _full(N):
    k = ft.Field("eta h")
    eta, h = k.symbols
    return ft.Instance(f"N={N}, symbols", line([h] * N, range(N)), ft.Focus(eta, 1), ft.Full(), noise="3/2", domain=k,
                       says="h and eta are symbols")


full_symbols = [_full(N) for N in (1, 2, 3, 4)]


@ft.claim("new-sg-floor-full", on=full_symbols, rejects=[wrong.pushes_averaged, wrong.server_moves_first],
          domain="every h and eta; N = 1, 2, 3, 4 clients with any minimisers (they shift the mean only)")
def new_sg_floor_full(i):
    r"""Full participation, $\tau=1$, equal Hessians $h$, independent noises: the stationary $E\|x-x^\star\|^2$ is exactly
    $\frac{\eta\sigma^2}{h(2-\eta Nh)}$.
    """
    return ft.equal(i.op.floor(), f.full_participation_error(i.eta, _h(i), i.n, i.sigma**2), "stationary error")


@ft.claim("thm5-corrected", on=[*small_symbols, *SMALL], rejects=SMALL_BUGS,
          reading="Any law that draws its rounds independently. Asymptotics for small steps, no corrected theorem.")
def thm5_corrected(i):
    r"""Equal Hessians, small $\eta$: $E\,F(x)-F^\star\to\frac{\eta\sigma^2}4\cdot\frac1N\sum_i(\frac2{p_i}-1)$."""
    return _first_order(i, sg.gap, lambda e: f.small_step_gap(e, _p(i), i.sigma**2), "E F(x) - F*")


@ft.claim("thm6-corrected", on=[*small_symbols, *SMALL], rejects=SMALL_BUGS,
          reading="Any law that draws its rounds independently. Asymptotics for small steps, no corrected theorem.")
def thm6_corrected(i):
    r"""Equal Hessians $h$, small $\eta$: $E\|\nabla F(x)\|^2\to\frac{\eta h\sigma^2}2\cdot\frac1N\sum_i(\frac2{p_i}-1)$: first
    order in $\eta$.
    """
    return _first_order(i, sg.squared_gradient, lambda e: f.small_step_gradient(e, _h(i), _p(i), i.sigma**2), "E|grad F|^2")
