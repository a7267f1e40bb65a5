"""Section 3: random local steps on unit Hessians."""
import itertools

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova.claims.appendix_a import digits, dot, inside, powers_inside
from verification.fednova.claims.quadratics import unit_change, unit_run
from verification.fednova.formulas import appendix_a as fa
from verification.fednova.instances import appendix_a as I

ALARM = 1e-4  # each statistical comparison's false-alarm level


def coded_outcomes(i):
    """[(probability, slope, offset)] of the coded server step over all independent choices of two step counts."""
    out = []
    for picks in itertools.product(((i.q, i.z[0]), (1 - i.q, i.z[1])), repeat=i.n):
        probability, z = picks[0][0], np.array([v for _, v in picks])
        for q, _ in picks[1:]:
            probability = probability * q
        at, beyond = (ft.server_step(i, [x], unit_change(i, [x])(z))[0] for x in (0 * i.y, 0 * i.y + 1))
        out.append((probability, beyond - at, at))
    return out


def random_parts(i):
    """(x*, deviations, E kappa, var kappa) of an instance, from its declared numbers."""
    xi = [e[0] for e in i.e] if i.general else i.xi
    target = dot(i.p, xi)
    if i.general:
        mean = 1 - i.q * i.z[0] - (1 - i.q) * i.z[1]
        return target, [v - target for v in xi], mean, i.q * (1 - i.q) * (i.z[0] - i.z[1]) ** 2
    return target, [v - target for v in xi], *fa.moments(i.choices, lambda t: 1 - (1 - i.eta) ** t)


def coded_moments(i, target):
    """(E slope, E move at x*, E slope^2, E (move at x*)^2) of the coded server step around x*."""
    out = [0, 0, 0, 0]
    for probability, slope, offset in coded_outcomes(i):
        move = offset + slope * target - target
        out = [a + probability * b for a, b in zip(out, (slope, move, slope * slope, move * move), strict=True)]
    return out


def _matters(i):
    """(0, numerator of the floor): positive if some step counts and some minimisers differ and eta is not 1."""
    if i.general:
        return ft.ASSUMED
    _, deviations, mean, variance = random_parts(i)
    return 0, fa.random_floor(i.p, deviations, mean, variance)[0]


_spread = ft.Hypothesis("random steps matter", r"$\mathrm{var}\,\kappa>0$ and some $p_i(\xi_i-x^\star)\ne0$", _matters,
                        strict=True)


@ft.claim("sec3-random-fixed-eta", covers={"tau": "all"},
          on=I.random_floors, needs=[_spread],
          rejects=[bugs.hidden_proximal, bugs.decayed_step, bugs.uniform_weights, bugs.shared_steps],
          reading="Non-vanishing gap: the stationary mean square of the distance to x* at a fixed eta, which is what "
                  "the figure shows.",
          domain="n = 2 and 3 clients with unit Hessians, every p and xi_i, any two step counts with any "
                 "probabilities, 0 < eta < 2; listed instances with up to three step counts")
def sec3_random_fixed_eta(i):
    r"""Unit Hessians, $\tau_i^{(t)}$ IID over clients and rounds, fixed $0<\eta<2$, $\eta\ne1$: FedAvg's stationary
    $E\|x-x^\star\|^2=\dfrac{\mathrm{var}(\kappa)\sum_ip_i^2\|\xi_i-x^\star\|^2}
    {1-(1-E\kappa)^2-\mathrm{var}(\kappa)\sum_ip_i^2}>0$, $\kappa=1-(1-\eta)^{\tau}$."""
    target, deviations, mean, variance = random_parts(i)
    top, bottom = fa.random_floor(i.p, deviations, mean, variance)
    if i.general:
        _, move, slope2, move2 = coded_moments(i, target)
        contraction = [c for k, (_, m, _) in enumerate(coded_outcomes(i))
                       for c in inside(m, i, f"slope of outcome {k}")]
        return (ft.equal(move, 0, "no mean move at x*"),
                ft.equal(move2, top, "mean square of the move at x*: a sum of squares"),
                ft.equal(1 - slope2, bottom, "1 - E slope^2"), unit_run(i.but(z=[i.z[0]] * i.n), [i.y]),
                *powers_inside(),
                *contraction)
    legs = [ft.equal(i.op.floor(), top / bottom, "stationary mean square of the coded round"),
            ft.at_most(0, i.op.floor(), "it does not vanish", strict=True)]
    if i.digits:
        legs.append(digits(i.op.floor(), i.digits, "E3"))
    if i.simulate:
        legs.append(ft.agrees(i.run.floor(level=1 - ALARM), top / bottom, "measured floor"))
    return legs


@ft.claim("sec3-random-corrected", covers={"tau": "all"},
          on=I.random_floors,
          rejects=[bugs.hidden_proximal, bugs.decayed_step, bugs.uniform_weights, bugs.shared_steps],
          domain="n = 2 and 3 clients with unit Hessians, every p and xi_i, any two step counts with any probabilities, 0 "
                 "< eta < 2; the order in eta from powers as jets; listed instances with up to three step counts")
def sec3_random_corrected(i):
    r"""Unit Hessians, $\tau_i^{(t)}$ IID, $0<\eta<2$: FedAvg's mean converges exactly to $x^\star$,
    $E[x^+]-x^\star=(1-E\kappa)(x-x^\star)$, and the mean-square gap is
    $\eta\,\dfrac{\mathrm{var}(\tau)\sum_ip_i^2\|\xi_i-x^\star\|^2}{2E\tau}+O(\eta^2)$."""
    target, deviations, mean, variance = random_parts(i)
    top, bottom = fa.random_floor(i.p, deviations, mean, variance)
    if i.general:
        slope, move, slope2, move2 = coded_moments(i, target)
        # (1 - eta)^t = 1 - t eta + eta^2 r with r finite as eta -> 0
        jets = {f"z{k}": 1 - t * i.eta + i.eta * i.eta * r for k, (t, r) in enumerate(zip(i.t, i.g, strict=True))}
        orders = (move2 / (1 - slope2)).substitute(**jets).series("eta", 1)
        t_mean, t_var = i.q * i.t[0] + (1 - i.q) * i.t[1], i.q * (1 - i.q) * (i.t[0] - i.t[1]) ** 2
        contraction = [c for k, (_, m, _) in enumerate(coded_outcomes(i))
                       for c in inside(m, i, f"slope of outcome {k}")]
        return (ft.equal(move, 0, "x* is the fixed point of the mean"),
                ft.equal(slope, 1 - mean, "the mean contracts by 1 - E kappa"),
                ft.equal(orders, [0, fa.random_slope(i.p, deviations, t_mean, t_var)],
                         "mean-square gap, orders 0 and 1 in eta"),
                unit_run(i.but(z=[i.z[0]] * i.n), [i.y]), *powers_inside(), *contraction)
    return (ft.equal(i.op.fixed_point().x, [target], "fixed point of the coded mean round"),
            ft.equal(i.op.mean_map()[0][0, 0], 1 - mean, "its factor"),
            ft.equal(i.op.floor(), top / bottom, "mean-square gap"))


@ft.claim("random-fednova-mean-bias", on=I.random_means,
          rejects=[bugs.normaliser_missing, bugs.uniform_weights, bugs.decayed_step],
          reading="tau_eff(t) = sum p_i tau_i(t), the default of rule (12), redrawn every round.")
def random_fednova_mean_bias(i):
    r"""IID random steps, unit Hessians, $\tau_{\rm eff}^{(t)}=\sum_ip_i\tau_i^{(t)}$: the mean of FedNova converges to
    the point with weights $\propto p_i\big(p_iE\kappa+(1-p_i)E\tau\,E[\kappa/\tau]\big)$, off by
    $-\eta\frac{\mathrm{var}\,\tau}{2E\tau}\sum_ip_i^2(\xi_i-x^\star)+O(\eta^2)$; FedAvg's mean converges to $x^\star$.
    """
    target, deviations, *_ = random_parts(i)
    stated = fa.random_fednova_mean(i.p, i.xi, i.choices, i.eta) if i.fednova else target
    bias = i.op.fixed_point().x[0]
    bias = (ft.fraction(bias) if i.domain is ft.RATIONAL else bias) - target
    legs = [ft.equal(bias, stated - target, "mean error of the coded round")]
    if i.domain is not ft.RATIONAL:  # eta is a symbol
        slope = fa.random_fednova_slope(i.p, deviations, *fa.moments(i.choices, lambda t: t)) if i.fednova else 0
        legs.append(ft.equal(bias.series("eta", 1), [0, slope], "orders 0 and 1 in eta"))
    return legs + ([digits(abs(ft.fraction(bias)), i.digits, "mean error")] if i.digits else [])
