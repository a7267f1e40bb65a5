"""The server's step (5) to (7): how it falls with the staleness, how far the server moves, and what eps is for."""
from fractions import Fraction as Q
from itertools import pairwise

import fltheory as ft
from verification.asyncfeded import arrivals_run as runs
from verification.asyncfeded import bugs
from verification.asyncfeded import updates as up
from verification.asyncfeded.claims.corollary1 import TASKS, line
from verification.asyncfeded.formulas import server as f
from verification.asyncfeded.formulas.steps import mean_step
from verification.piecewise import st
from verification.symbols import Symbols

METHOD = "every lambda, eps > 0, gamma >= 0; on the line the coded arrivals have these numbers exactly"
ARRIVALS = ft.Variable("arrivals", lambda i: len(up.arrivals(up.right(i))))
STALENESS = ft.Variable("largest staleness", lambda i: max((a.gamma for a in stepped(up.right(i))), default=None))
ENDS = {"clients": (1, 100), ARRIVALS: (1, 300), STALENESS: (0, 20)}


def run(name, problem, K, pace, lam, eps, rounds, x0=3, kappa=0, **extra):
    """AsyncFedED with local step 1/10 on clients on the line."""
    method = ft.AsyncFedED("1/10", K, lam=lam, eps=eps, kappa=kappa)
    return up.run_of(name, problem, method, ft.EventClock(pace), (x0,), rounds, **extra)


def stepped(i):
    """The arrivals at which Delta is not 0."""
    return [a for a in up.arrivals(i) if a.eta is not None]


def most(values):
    return max(values, default=Q(0))


def numbers(i):
    """(lambda, eps) as stated."""
    a = i.stated.algorithm
    return ft.fraction(a.lam), ft.fraction(a.eps)


coded = [run("one client: never stale", line(1, 0), 3, 1, 2, "1/2", 4),
         run("three clients", line(1, (-2, 0, 5)), 2, (1, 2, 3), 1, 1, 9, digits=None),
         run("100 clients", line(1, range(-4, 6), 10), 1, tuple(1 + k % 4 for k in range(100)), "1/10", 1, 300, x0=30),
         *(run(f"Table 4, {task}", line("1/2", (-4, 4, 5)), 10, (1, 2, 5), lam, eps, 40, 2, kappa)
           for task, (lam, eps, kappa) in TASKS.items())]
ft.illustrate(coded)


def drawn(draw):
    n = draw(st.integers(1, 4))
    b = [Q(draw(st.integers(-6, 6)), 2) for _ in range(n)]
    pace = tuple(draw(st.integers(1, 3)) for _ in range(n))
    lam, eps = (draw(st.sampled_from([Q(1, 10), Q(1), Q(5)])) for _ in range(2))
    return run("drawn", line(draw(st.sampled_from([Q(1), Q(-1, 2), Q(1, 100)])), b), draw(st.integers(1, 4)), pace, lam, eps,
               draw(st.integers(1, 12)), draw(st.integers(-5, 5)), draw(st.sampled_from([0, 1])))


SEARCH = ft.Search((ft.Family("runs on the line", drawn),), tries=20)
KINDS = {"domain": METHOD, "covers": {"n": "all", "d": "all", "tau": "all"}, "search": SEARCH, "ends": ENDS}


def symbols(names):
    s = Symbols(names)
    return ft.Instance("all symbols", domain=s.field, s=s, says=f"{names}: symbols > 0")


@ft.claim("eta-decreasing-gamma", on=[symbols("lam eps gamma more"), *coded], rejects=[
    bugs.gamma_inverted, bugs.gamma_squared, bugs.lag_for_distance, bugs.distance_not_divided, bugs.eps_dropped], **KINDS)
def eta_decreasing_gamma(i):
    r"""$\eta_g=\frac\lambda{\gamma+\varepsilon}$ decreases strictly in $\gamma\ge0$, is at most $\frac\lambda\varepsilon$, which
    it is at $\gamma=0$, and at least $\frac\lambda{\Gamma+\varepsilon}$ where $\gamma\le\Gamma$."""
    if isinstance(i.domain, ft.Field):
        lam, eps, gamma, more = i.s.lam, i.s.eps, i.s.gamma, i.s.more
        fall = f.step(lam, eps, gamma) - f.step(lam, eps, gamma + more)
        return (ft.equal(fall, lam * more / ((gamma + eps) * (gamma + more + eps)), "the fall, > 0 where more > 0"),
                ft.nonnegative(fall, "at least lambda/(Gamma + eps) for Gamma = gamma + more"),
                ft.nonnegative(lam / eps - f.step(lam, eps, gamma), "at most lambda/eps"),
                ft.equal(f.step(lam, eps, 0 * gamma), lam / eps, "at gamma = 0"))
    (lam, eps), found = numbers(i), stepped(i)
    right = stepped(up.right(i))
    Gamma = most(a.gamma for a in right)
    ordered = [a.eta for a in sorted(found, key=lambda a: a.gamma)]
    return (ft.at_most(most(abs(a.eta - f.step(lam, eps, a.gamma)) for a in found), 0, f"(7) at each of {len(found)} arrivals"),
            ft.at_most(most(ordered), lam / eps, "lambda/eps"),
            ft.at_most(f.step(lam, eps, Gamma), min(ordered, default=lam / eps), "lambda/(Gamma + eps)"),
            ft.at_most(most(b - a for a, b in pairwise(ordered)), 0, "larger gamma, no larger step"))


@ft.claim("step-length-identity", on=[symbols("lam eps D delta"), *coded], rejects=[
    bugs.update_on_stale_model, bugs.model_mixed, bugs.distance_of_client_model, bugs.eps_as_floor], **KINDS)
def step_length_identity(i):
    r"""With $D=\|x_t-x_{t-\tau}\|$ the server moves by
    $\|x_{t+1}-x_t\|=\frac{\lambda\|\Delta\|^2}{D+\varepsilon\|\Delta\|}$, hence by at most $\frac\lambda\varepsilon\|\Delta\|$ and
    $\frac{\lambda\|\Delta\|^2}D$."""
    if isinstance(i.domain, ft.Field):
        lam, eps, D, delta = i.s.lam, i.s.eps, i.s.D, i.s.delta
        move = f.move(lam, eps, D, delta)
        return (ft.equal(f.step(lam, eps, f.staleness(D, delta)) * delta, move, "eta_g |Delta|"),
                ft.nonnegative(lam / eps * delta - move, "(lambda/eps) |Delta|"), ft.nonnegative(lam * delta**2 / D - move, "by D"))
    (lam, eps), out = numbers(i), []
    for a in up.arrivals(i):
        D, delta, move = (runs.root(runs.square(v)) for v in (a.x - a.base, a.delta, a.after - a.x))
        out.append((move, f.move(lam, eps, D, delta) if D + delta else Q(0), lam / eps * delta))
    return (ft.at_most(most(abs(move - said) for move, said, _ in out), 0, f"the coded move at each of {len(out)} arrivals"),
            ft.at_most(most(move - cap for move, _, cap in out), 0, "(lambda/eps) |Delta|"))


@ft.claim("claim-eps-safeguard", on=[symbols("lam eps gamma"), *coded], rejects=[bugs.eps_dropped], **KINDS)
def claim_eps_safeguard(i):
    r"""With $\varepsilon>0$ the denominator $\gamma+\varepsilon$ of (7) is at least $\varepsilon$, also at $\gamma=0$, which every
    update has whose base is the server's model."""
    if isinstance(i.domain, ft.Field):
        lam, eps, gamma = i.s.lam, i.s.eps, i.s.gamma
        return (ft.nonnegative(lam / f.step(lam, eps, gamma) - eps, "gamma + eps - eps"),
                ft.equal(lam / f.step(lam, eps, 0 * gamma), eps, "at gamma = 0"))
    (lam, eps), found = numbers(i), stepped(i)
    return (ft.at_most(eps, min((lam / a.eta for a in found), default=eps), "the smallest denominator of the run"),
            ft.at_most(most(abs(lam / a.eta - eps) for a in found if a.gamma == 0), 0, "eps where gamma = 0"))


# ---- findings -----------------------------------------------------------------------------------------------------------------
def _common_K():
    """A run whose K changes; what one K and one N leave out of the sum of the descent inequalities."""
    i = run("Synthetic of Table 4", line(1, (-7, 7, 8)), 10, (1, 2, 3), 5, 5, 40, 0, 1)
    Ks = [a.K for a in up.arrivals(i)]
    s = Symbols("g", S=2, G=2)      # eta_g, K_t N_t and E|grad F(x_t)|^2 at two arrivals
    own = sum(a * b for a, b in zip(s.S, s.G, strict=True)) * s.g / 2
    common = s.g / 2 * (s.S[0] + s.S[1]) / 2 * (s.G[0] + s.G[1])
    per_step = [k * mean_step([Q(1, 10)] * k) for k in sorted({*Ks})]
    return (ft.at_most(3, len({*Ks}), f"numbers of local steps in a coded run: {sorted({*Ks})}"),
            ft.at_most(2, max(per_step) / min(per_step), "K N at constant local steps: the largest over the smallest"),
            ft.equal(own - common, s.g * (s.S[0] - s.S[1]) * (s.G[0] - s.G[1]) / 4,
                     "what a common K N adds to the sum of two descents: of either sign"))


ft.finding("hyp-common-k", kind="remark", breaks="thm2", check=_common_K,
           reading="Theorem 2 has one K and one N, hence one K_{i,n} for all clients and rounds; (8) changes it at each arrival "
                   "(kappa = 0 does not). Summing (36) with K_t N_t of each arrival bounds a mean of the squared gradients with "
                   "weights K_t N_t, not the plain mean.",
           survives="Theorem 1, Lemma 3 and Corollary 1, which speak of one update and its own K.")


def _momentum():
    """Delta of two local steps with momentum 1/2 on a linear loss, by a coded arrival, beside (4)."""
    slope, eta = Q(1), Q(1, 10)
    line_ = ft.Quadratic.from_linear([[[0]]], [[-slope]])
    found = {}
    for name, solver in (("plain", ft.Vanilla()), ("momentum", ft.Momentum("1/2"))):
        found[name] = runs.record(ft.AsyncFedED(eta, 2, solver=solver), line_, ft.EventClock(1), [0], 1)[0].delta[0]
    said = -2 * eta * slope
    return (ft.equal(found["plain"], said, "plain steps: (4)"),
            ft.equal(found["momentum"], -(1 + Q(3, 2)) * eta * slope, "momentum 1/2: the second step is 3/2 as long"),
            ft.at_most(found["momentum"], said, "another Delta than (4)", strict=True))


ft.finding("any-optimizer", kind="remark", breaks="eq4-delta-sum", check=_momentum,
           reading="Sec. 4 leaves the optimiser to the client, Sec. 6 and App. B use momentum 0.5; (4) and the theorems have plain "
                   "steps.",
           survives="With momentum rho (4) holds for other step sizes: gradient k gets the sum of eta_j rho^(j-k) over j >= k, "
                    "which (T1) would have to bound.")
