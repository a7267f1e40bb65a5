"""What Theorem 2 is about: the algorithm as run is another one, a minimiser is supposed in silence; a misprinted index."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded.formulas import theorem2 as f
from verification.asyncfeded.instances import at_cap

APART = ft.Quadratic([[[1]], [[1]], [[1]]], [[-7], [7], [8]])


def run_as_printed(noise):
    """[Arrival]: rules (7) and (8) in the setting of Synthetic in Table 4, local step 1/10; noise: its size, signs alternate."""
    made = ft.AsyncFedED(Q(1, 10), 10, lam=5, eps=5, kappa=1, gbar=3)
    return arrivals.record(made, APART, ft.EventClock((1, 2, 3)), [0], 40, digits=30,
                           noise=lambda t, k: [[noise * (-1) ** (t * t + k)]] * 3)


def _as_run():
    """One coded run without and one with noise: K and eta_g are neither constant nor independent of the noise."""
    calm, noisy = run_as_printed(0), run_as_printed(2)
    etas = sorted(a.eta for a in noisy if a.eta is not None)
    first = next(j for j in range(40) if calm[j].eta != noisy[j].eta)
    return (ft.at_most(3, len({a.K for a in noisy}), "numbers of local steps"),
            ft.at_most(Q(5, 4) * etas[0], etas[-1], "largest over smallest server step"),
            ft.at_most(0, abs(calm[first].eta - noisy[first].eta), f"arrival {first + 1}: other noise, another step",
                       strict=True),
            ft.at_most(1, sum(a.K != b.K for a, b in zip(calm, noisy, strict=True)), "arrivals with another K"))


ft.finding("thm2-as-run", kind="remark", breaks="thm2", check=_as_run,
           reading="The algorithm as run has server steps by (7) and numbers of local steps by (8), which both depend on "
                   "the noise of the update itself. Theorem 2 and thm2-repaired have one eta_g and one K; "
                   "thm2-repaired-varying has (7), but one K and no noise. No theorem here, printed or repaired, covers "
                   "AsyncFedED as run.",
           survives="Theorem 1, Lemma 3 and Corollary 1, which speak of one update; thm2-repaired-varying without noise "
                    "at kappa = 0.")


def _no_minimiser():
    """F' = -1: Assumptions 1 to 4 hold, F has no minimum, and each arrival lowers it by eta_g S."""
    slope = ft.PiecewiseQuadratic([[0, 0]], [[0]], [1])
    steps = at_cap(2)
    i = runs.stale("F = -x", slope, steps, Q(1, 2), (0,) * 60, 0)
    fall = runs.value(slope, i.x0) - runs.ended(i)
    start = f.bound(i.L or 1, 2, i.N, 1, 0, i.eta_g, i.T, 1, 0, 0)["start"]
    return (ft.equal(runs.average(i), 1, "the left side of (11), at every T"),
            ft.equal(fall, i.eta_g * i.S * i.T, "F(x_1) - F(x_{T+1}) of the coded run, without bound"),
            ft.equal(start * fall, 2, "2 (F(x_1) - F(x_{T+1}))/(eta_g K N T), as in thm2-repaired: above the left side"),
            ft.at_most(start, Q(1, 4), "2/(eta_g K N T), which tends to 0: no number in place of F(x_1) - F(x_*) would do"))


ft.finding("hyp-minimiser", kind="remark", breaks="thm2", check=_no_minimiser,
           reading="(11), (12) and the last step of the proof write F(x_*), of which no assumption says that it exists: "
                   "that F is bounded below, and that a minimiser is attained. Every counter-example here has one.",
           survives="Everything, with inf F for F(x_*) where it is not attained; nothing is stated where F is not bounded "
                    "below. thm2-repaired has F(x_1) - E F(x_{T+1}) and needs neither.")


def _largest_lag():
    """Lags of coded arrivals: the client that arrives for the first time, at t, started from x_1."""
    late = arrivals.record_stale(ft.StaleSteps(1, 1, solver=ft.Listed([Q(1, 5)])), APART, (0, 0, 1, 0, 0, 2), [0])
    clock = run_as_printed(0)
    return (ft.equal([a.lag for a in late], [0, 0, 2, 1, 0, 5], "in a given order"),
            ft.equal(late[-1].base[0], late[0].x[0], "t = 6, tau = 5 = t - 1: the base is x_1"),
            ft.at_most(max(a.lag - a.t + 1 for a in clock), 0, "tau <= t - 1 at each arrival of the clock"))


ft.finding("misprint-a4-tau", kind="misprint", check=_largest_lag,
           reading="Assumption 4 and Table 5 print tau <= t. Models are counted from x_1, so that tau = t would "
                   "speak of x_0, which does not exist: tau <= t - 1.",
           survives="Everything: nothing uses the end of the range.")
