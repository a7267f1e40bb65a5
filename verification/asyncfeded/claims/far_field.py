"""Section 4 far from any minimiser: on linear losses the staleness does not depend on K, and where it goes."""
from fractions import Fraction as Q
from math import sqrt

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs
from verification.asyncfeded.formulas import far_field as f
from verification.asyncfeded.formulas.k_rule import TABLE4
from verification.asyncfeded.line_runs import agree, closed, coded, linear, with_steps
from verification.asyncfeded.proofs import far_field as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def losses(slopes):
    """f_i = <g_i, x>, whatever L is."""
    slopes = [[*g] if isinstance(g, (list, tuple)) else [g] for g in slopes]
    d = len(slopes[0])
    return ft.Quadratic.from_linear([[[0] * d] * d] * len(slopes), [[-ft.fraction(v) for v in g] for g in slopes])


# ---- all K times one number -------------------------------------------------------------------------------------------
def times(name, factor, slopes, paces, K, arrivals, domain=ft.RATIONAL, lam=1, eps=1, lr="1/10", transmission=0, **options):
    law = ft.EventClock(tuple(paces), transmission=transmission)
    algorithm = ft.AsyncFedED(lr, tuple(K), lam=lam, eps=eps, **options)
    return ft.Instance(name, losses(slopes), algorithm, law, factor=factor, arrivals=arrivals, on=domain, x0=[0] * len(losses(
        slopes).b[0]))


def both(i):
    """The arrivals with K and with factor K."""
    more = with_steps(i.algorithm, [i.factor * k for k in i.algorithm.steps])
    return [list(coded(a, i.problem, i.law, i.x0, i.arrivals, i.on)) for a in (i.algorithm, more)]


no_delay = ft.Hypothesis("no transmission time", "the largest transmission time is 0", lambda i: (
    max(np.atleast_1d(i.stated.law.transmission).tolist()), 0))
fixed_k = ft.Hypothesis("K is kept", r"$\kappa=0$", lambda i: (i.stated.algorithm.kappa, 0))
plain = ft.Hypothesis("constant local step, no momentum", "solvers other than plain SGD: at most 0",
                      lambda i: (int(type(i.stated.algorithm.solver) is not ft.Vanilla), 0))
CAPS = ["1", "1/2", "1/4", "1/8", "1/16", "1/32", "1/64", "1/128", "1/256", "1/512"] * 3
on_times = [times("two clients, K doubled", 2, [1, 1], [1, 1], [4, 3], 8),
            times("other slopes and paces", 3, [1, "-1/2", 2], [2, 3, 5], [5, 1, 2], 8),
            times("a hundred times", 100, [1, -1], [1, 1], [1, 2], 6), times("one client", 7, [3], [2], [2], 4),
            times("in the plane", 5, [[1, 0], ["3/5", 1], [-1, "1/3"]], [1, 2, 2], [3, 2, 4], 200, ft.FLOAT),
            times("40 clients, 40 arrivals", 2, *([1 + j % r for j in range(40)] for r in (5, 3, 4)), 40, ft.FLOAT),
            times("Synthetic's lambda and eps", 10, [1, 2, -1], [1, 1, 2], [10, 10, 10], 90, ft.FLOAT, 5, 5),
            times("with transmission times", 2, [1, 1], [1, 1], [4, 3], 8, transmission=(1, 2)),
            times("falling local steps", 10, [1, 1], [1, 1], [1, 3], 8, ft.FLOAT, solver=ft.Listed(CAPS))]


def drawn_times(draw, n=None, K=None, factor=None):
    n = n or draw(st.integers(1, 3))
    pick = lambda values: [draw(st.sampled_from(values)) for _ in range(min(n, 3))] * (n // min(n, 3) + 1)   # noqa: E731
    return times("drawn", factor or draw(st.sampled_from([2, 3, 10])), pick(["1", "-1", "1/3", "2"])[:n], pick([1, 2, 3])[:n],
                 [K] * n if K else pick([1, 2, 3, 5])[:n], min(n + 3, 7) if n < 9 else n, ft.RATIONAL if n < 9 else ft.FLOAT,
                 draw(st.sampled_from(["1", "5", "1/7"])), draw(st.sampled_from(["1", "5", "1/3"])))


def scaled_numbers(i):
    """Positions, steps and staleness of both runs on the line, from x_1 = 0."""
    first, second = both(i)
    slope = [ft.fraction(-v) for v in i.stated.problem.b[:, 0]]
    for a, b in zip(first, second, strict=True):
        if i.on is not ft.RATIONAL or not a.eta:
            return
        c, lr, eta = i.factor, ft.fraction(i.algorithm.lr), a.eta
        P, Pn, P2, P2n = (ft.fraction(v[0]) for v in (a.x, a.after, b.x, b.after))
        D, D2 = ((n - p) / eta for p, n in ((P, Pn), (P2, P2n)))
        yield {"c": c, "lr": lr, "K": a.K, "s": slope[a.client], "eta": eta, "P": P, "Pn": Pn, "P2": P2, "P2n": P2n, "D": D,
               "D2": D2, "G": a.gamma**2, "G2": b.gamma**2, "least": D * D / 2}, {"u": [a.gamma * D], "v": [D]}


factor = ft.Variable("factor of K", lambda i: i.factor)


@ft.claim("far-field-k-invariance", on=on_times, needs=[no_delay, fixed_k, plain], proof=proofs.scaled, meaning=scaled_numbers,
          rejects=[bugs.distance_not_divided], domain=proofs.SCALED,
          ends={"clients": (1, 100), "local steps": (1, 300), factor: (2, 100)}, search=ft.Search((ft.Family(
              "linear losses", drawn_times, ({"n": 100}, {"n": 1, "K": 300}, {"factor": 100, "K": 1})),), tries=25))
def k_invariance(i):
    r"""On linear losses, with constant local steps, no noise and round times proportional to $K_i$: multiplying all $K_i$ by one
    constant leaves the order of arrivals, the sequence of $\gamma$ and that of $\eta_g$ unchanged and multiplies all moves by it.
    Falling local steps or transmission times break this."""
    first, second = both(i)
    return [ft.equal([a.client for a in first], [b.client for b in second], "order"),
            ft.equal([a.gamma for a in first], [b.gamma for b in second], "gamma"),
            ft.equal([a.eta for a in first], [b.eta for b in second], "eta"),
            ft.equal([i.factor * v for a in first for v in a.after], [v for b in second for v in b.after], "moves")]


# ---- where the staleness goes -----------------------------------------------------------------------------------------
def turns(name, m, K, arrivals, lam=1, eps=1, lr="1/10", slope=1, domain=ft.FLOAT, **extra):
    problem = losses([slope] * m)
    return ft.Instance(name, problem, ft.AsyncFedED(lr, lam=lam, eps=eps), ft.EventClock(1, steps=K), x0=[1] * problem.d, K=K,
                       arrivals=arrivals, on=domain, lam=lam, epsilon=eps, slope=slope, **extra)


def seen(i, most=10**9):
    return list(coded(i.algorithm, i.problem, i.law, i.x0, min(i.arrivals, most), i.on))


def limits(i):
    m, lam, eps = i.n, float(ft.fraction(i.lam)), float(ft.fraction(i.epsilon))
    return m, f.step_star(m, lam, eps, sqrt), f.gamma_star(m, lam, eps, sqrt), f.shrinking(m, lam, eps, sqrt), lam / eps


def passes(i):
    """Sums of steps of two coded arrivals behind the first ones: what the proof speaks of, from c = lambda/eps - e."""
    m, e, _, _, most = limits(i)
    run = seen(i, m + 3)
    for t in range(m, len(run)):
        a, b = run[t - 1], run[t]
        yield {"e": e, "eps": float(ft.fraction(i.epsilon)), "N": m - 1, "c": most - e, "g": float(a.gamma), "h": float(a.eta),
               "g2": float(b.gamma), "h2": float(b.eta)}, {}


def drawn_turns(draw, m=None, K=None, eps=None, lam=None):
    m = m or draw(st.integers(2, 6))
    return turns("drawn", m, K or draw(st.sampled_from([1, 2, 7])), 6 * m if m < 50 else 2 * m,
                 lam or draw(st.sampled_from(["1", "5", "1/3", "10"])), eps or draw(st.sampled_from(["1", "5", "1/3", "10"])),
                 draw(st.sampled_from(["1/10", "1", "1/100"])), draw(st.sampled_from(["1", "-2", "1/5"])))


server, offset = ft.Variable("lambda", lambda i: ft.fraction(i.lam)), ft.Variable("eps", lambda i: ft.fraction(i.epsilon))
on_turns = [*(turns(f"{name}, ten clients", 10, 10, 300, *TABLE4[name][:2]) for name in TABLE4),
            turns("Synthetic, another K and step", 10, 1, 200, 5, 5, "1"),
            turns("two clients, exact", 2, 3, 24, 2, 1, domain=ft.RATIONAL),
            turns("two clients, exact, small eps", 2, 1, 16, 1, "1/100", domain=ft.RATIONAL), turns("300 clients", 300, 1, 600),
            turns("K = 500", 3, 500, 12), turns("in the plane", 4, 2, 120, slope=(1, -2)),
            turns("two clients, 60 arrivals", 2, 1, 60), turns("lambda 1/10", 5, 2, 200, "1/10", "1/10")]


@ft.claim("far-field-gamma-star", on=on_turns, proof=proofs.convergence, meaning=passes, domain=proofs.DOMAIN,
          rejects=[bugs.lag_for_distance, bugs.gamma_inverted, bugs.gamma_squared, bugs.step_not_decayed, bugs.eps_dropped,
                   bugs.model_before_update_sent, bugs.model_mixed, bugs.distance_of_client_model],
          ends={"clients": (2, 300), "local steps": (1, 500), server: (Q(1, 10), 10), offset: (Q(1, 100), 10)},
          search=ft.Search((ft.Family("clients in turn", drawn_turns, (
              {"m": 300, "K": 1}, {"m": 2, "K": 500}, {"eps": "1/100", "K": 1, "m": 3}, {"lam": "1/10", "eps": "10"})),), tries=20))
def gamma_star(i):
    r"""$m\ge2$ clients of equal speed and equal $K$, one common linear loss, $\varepsilon>0$: the staleness converges to
    $\gamma^*=\frac{-\varepsilon+\sqrt{\varepsilon^2+4(m-1)\lambda}}2$ for every $K$ and local step. With $\eta^*=
    \frac{\gamma^*}{m-1}$ and $\theta=\frac{\gamma^*}{\gamma^*+\varepsilon}$: $|\eta_g-\eta^*|\le\theta^{2n}
    \big(\frac\lambda\varepsilon-\eta^*\big)$ from arrival $1+2n(m-1)$ on. Table 4, ten clients: $4.6589$, $2.5414$, $3.3666$."""
    (m, e, gamma, theta, most), run, out = limits(i), seen(i), []
    for t in (t for t in sorted({1, m, 2 * m, 3 * m, len(run) // 2, len(run)}) if t <= len(run)):
        n = (t - 1) // (m - 1) // 2
        bound = (most - e) * theta ** (2 * n)
        out.append(ft.at_most(abs(float(run[t - 1].eta) - e), bound * (1 + 1e-9) + 1e-12, f"arrival {t}, {n} double passes"))
        if t > 2 * m:
            bound = (m - 1) * (most - e) * theta ** (2 * ((t - m) // (m - 1) // 2))   # each of m - 1 steps
            out.append(ft.at_most(abs(float(run[t - 1].gamma) - gamma), bound * (1 + 1e-9) + 1e-12, f"gamma, arrival {t}"))
    digits = {v: k for k, v in {"4.6589": (10, 5, 5), "2.5414": (10, 1, 1), "3.3666": (10, 5, 10)}.items()}
    if (told := digits.get((m, i.lam, i.epsilon))) is not None:
        out.append(ft.equal(round(float(run[-1].gamma), 4), float(told), "to its digits"))
    return out


# ---- unequal speeds ---------------------------------------------------------------------------------------------------
def speeds(name, paces, lam=1, eps=1, within="3/100", beyond=0, K=10, count=12000):
    problem = losses([1] * len(paces))
    return ft.Instance(name, problem, ft.AsyncFedED("1/10", lam=lam, eps=eps), ft.EventClock(tuple(paces), steps=K), x0=[0],
                       lam=lam, epsilon=eps, paces=paces, within=ft.fraction(within), beyond=ft.fraction(beyond), K=K, count=count)


TEN = tuple(range(1, 11))
on_speeds = [speeds("paces 2, 5, 11", (2, 5, 11), within="2/100"), speeds("paces 1, 2", (1, 2), beyond="2/100"),
             speeds("paces 1, 30", (1, 30)), speeds("paces 3, 4", (3, 4), within="4/100"),
             speeds("equal paces", (1, 1), within="1/1000"), speeds("Synthetic, ten paces", TEN, 5, 5, "1/100"),
             speeds("Shakespeare, ten paces", TEN, 5, 10, "1/100"), speeds("small eps", (1, 2), 1, "1/3", "7/100", "6/100"),
             speeds("small eps, nearly equal paces", (3, 4), 1, "1/3", "13/100", "12/100"),
             speeds("unequal K", (1, 1), within="16/100", beyond="15/100", K=(1, 2)),
             speeds("unequal K, Synthetic", (1, 1), 5, 5, "3/100", "2/100", K=(1, 2))]


@ft.claim("far-field-fluid", on=on_speeds,
          rejects=[bugs.step_not_decayed, bugs.lag_for_distance, bugs.model_mixed, bugs.gamma_squared],
          reading="Averages over the last two thirds of 12,000 arrivals of the closed form, which 60 coded arrivals "
                  "confirm. At eps = 1/3 and near paces it is 6 to 13 percent off. For equal paces and K it is exact: "
                  "far-field-gamma-star.")
def fluid(i):
    r"""Linear losses, round times $c_iK_i$: the averages of $\gamma$ per client are approximated by
    $\gamma_i=\sum_{j\ne i}\frac{c_i}{c_j}\frac\lambda{\gamma_j+\varepsilon}$, in which $K$ does not occur. For equal $K$ within 3
    percent at $\lambda=\varepsilon=1$ for $c=(1,2),(1,30),(2,5,11)$, and 1 percent in the settings of Table 4 with
    $\varepsilon=5,10$ for $c=(1,\dots,10)$. The error grows as $\varepsilon$ falls, and for unequal $K$: 16 percent at
    $c=(1,1)$, $K=(1,2)$."""
    line = linear([1] * i.n, "1/10", i.paces)
    run = list(closed(line, 0, i.K, i.count, i.lam, i.epsilon, 3, 0))
    late, told = run[i.count // 3:], f.fluid(i.paces, ft.fraction(i.lam), ft.fraction(i.epsilon))
    means = [np.mean([s.gamma for s in late if s.client == j]) for j in range(i.n)]
    errors = [abs(a / b - 1) for a, b in zip(told, means, strict=True)]
    out = [ft.at_most(max(errors), float(i.within), "largest relative error"),
           *agree(coded(i.algorithm, i.problem, i.law, i.x0, 60), run[:60], "60 coded arrivals, ")]
    return out + ([ft.at_most(float(i.beyond), max(errors), "no better than")] if i.beyond else [])
