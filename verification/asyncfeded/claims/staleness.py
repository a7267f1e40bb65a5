"""Sections 1 and 4, (6): what the staleness keeps under rescaling, what the server has to store, late updates, discarding."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs, gmis
from verification.asyncfeded.line_runs import coded
from verification.asyncfeded.proofs import scale as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def pair(name, h, b, K, arrivals, eta="1/10", lam=1, eps=1, x0=0, paces=None, on=ft.RATIONAL, options=None, **extra):
    """Clients on the line, h_i (x - b_i)^2/2."""
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in b])
    algorithm = ft.AsyncFedED(eta, lam=lam, eps=eps, **(options or {}))
    law = ft.EventClock(paces or 1, steps=K)
    return ft.Instance(name, problem, algorithm, law, x0=[x0], h=h, b=b, K=K, arrivals=arrivals, on=on,
                       paces=paces or (1,) * len(h), **extra)


def told(values):
    """gamma or eta of arrivals, -1 where there is none."""
    return [-1 if v is None else v for v in values]


def seen(i, algorithm=None, count=None):
    return list(coded(algorithm or i.algorithm, i.problem, i.law, i.x0, count or i.arrivals, i.on))


# ---- other units ------------------------------------------------------------------------------------------------------
def scaled(name, scale, *args, **options):
    return pair(name, *args, scale=Q(scale), **options)


def moved(i, rescale):
    """The coded run in parameters scale x, with the local step rescaled by the square of it or left as it is."""
    other = i.rescaled(1, i.scale)
    return seen(other if rescale else other.but(algorithm=i.algorithm))


def numbers_of(i):
    """|x - base|^2 and |Delta|^2 of both runs, on the line."""
    for a, b in zip(seen(i), moved(i, True), strict=True):
        if a.eta and i.on is ft.RATIONAL:
            v = (a.after[0] - a.x[0]) / a.eta
            yield {"a": i.scale, "g": a.gamma, "G": b.gamma, "least": v * v / 2}, {"u": [a.gamma * v], "v": [v]}


def drawn_scale(draw, scale=None, K=None, n=None):
    n = n or draw(st.integers(1, 3))
    h, b = ([draw(st.sampled_from(values)) for _ in range(min(n, 3))] * (n // min(n, 3) + 1) for values in (
        [1, "1/2", "1/100"] if (K or 1) < 9 else ["1/100", "1/200"], [-2, 0, 1, 5]))
    return scaled("drawn", scale or draw(st.sampled_from(["2", "1/3", "10"])), h[:n], b[:n], K or draw(st.integers(1, 4)),
                  min(n + 2, 5) if n < 9 else n, x0=7, on=ft.RATIONAL if n < 9 and (K or 1) < 9 else ft.FLOAT)


plane = ft.Quadratic([[[1, "1/3"], ["1/3", "1/2"]], [[1, 0], [0, "1/5"]]], [[1, 0], [-2, 3]])
on_scale = [scaled("twice as long", 2, (1, "1/2"), (1, -2), (3, 2), 6, x0=3, same_step=True),
            scaled("a hundredth", Q(1, 100), (1, 1, "1/3"), (0, 1, 5), 2, 6, x0=-1, same_step=True),
            scaled("one client", 3, (1,), (2,), 4, 4),
            scaled("40 clients", 100, (1, "1/2") * 20, (0, 1, -3, 5) * 10, 3, 80, on=ft.FLOAT, x0=8),
            scaled("K = 200", 5, ("1/100", "1/200"), (1, -1), 200, 30, on=ft.FLOAT, x0=2, same_step=True),
            ft.Instance("in the plane, K by the rule", plane, ft.AsyncFedED("1/10", gbar=2, kappa=1),
                        ft.EventClock((1, 2), steps=4), x0=[3, 1], K=4, arrivals=60, on=ft.FLOAT, scale=Q(7, 2))]


length, unit = ft.Variable("steps of a run", lambda i: i.K), ft.Variable("scale", lambda i: i.scale)


@ft.claim("gamma-scale-invariance", on=on_scale, proof=proofs.invariant, meaning=numbers_of, rejects=[bugs.distance_not_divided],
          domain=proofs.DOMAIN, ends={"clients": (1, 40), length: (1, 200), unit: (Q(1, 100), 100)},
          search=ft.Search((ft.Family("clients on the line", drawn_scale, (
              {"scale": "1/100", "K": 1, "n": 1}, {"scale": "100", "n": 40, "K": 1}, {"K": 200, "n": 2})),), tries=25))
def scale_invariance(i):
    r"""$\gamma=\|x_t-x_{t-\tau}\|/\|\Delta\|$ as a formula does not change if parameters are multiplied by $a>0$. A run keeps its
    $\gamma$, $\eta_g$ and $K$ if the local step is multiplied by $a^2$ (losses $f(x/a)$); with the local step as it was it is
    another run."""
    a, b = seen(i), moved(i, True)
    out = [*(ft.equal(told(getattr(s, k) for s in a), told(getattr(s, k) for s in b), k) for k in ("gamma", "eta", "next")),
           ft.equal([v * i.scale if i.on is ft.RATIONAL else v * float(i.scale) for s in a for v in s.after],
                    [v for s in b for v in s.after], "models")]
    if "same_step" in i.extra:
        apart = max(abs(s.gamma - t.gamma) for s, t in zip(a, moved(i, False), strict=True) if None not in (s.gamma, t.gamma))
        out.append(ft.at_most(Q(1, 100) if i.on is ft.RATIONAL else 0.01, apart, "with the same local step gamma changes"))
    return out


# ---- what the server stores -------------------------------------------------------------------------------------------
def by_store(i, prune):
    number = ft.fraction if i.on is ft.RATIONAL else lambda v: float(ft.fraction(v))
    a = i.stated.algorithm
    server = gmis.Server(number(i.x0[0]), *(number(v) for v in (a.lam, a.eps, a.gbar, a.kappa)), prune)
    shrink, b = [1 - number(a.lr) * number(v) for v in i.h], [number(v) for v in i.b]
    return server, gmis.run(server, lambda j, y, K: (1 - shrink[j]**K) * (b[j] - y), i.paces, i.K, i.arrivals)


on_store = [
    pair("three clients, exact", (1, "1/2", 1), (1, -2, 3), (2, 3, 1), 7, x0=5, paces=(1, 2, 3), options={"kappa": 1, "gbar": 2}),
    pair("two clients, 300 arrivals", (1, "1/4"), (1, -2), (4, 7), 300, x0=3, paces=(2, 3), on=ft.FLOAT, options={"kappa": "1/2"}),
    pair("one client", (1,), (1,), (3,), 6, x0=4),
    pair("60 clients", (1, "1/2", "1/3") * 20, (0, 1, 4, -2) * 15, (2, 1, 3) * 20, 240, paces=(1, 2, 3, 4) * 15, x0=9, on=ft.FLOAT)]


@ft.claim("gmis-pruning", on=on_store,
          rejects=[bugs.model_before_update_sent, bugs.base_not_refreshed, bugs.lag_for_distance])
def pruning(i):
    r"""Of the stored sequence of global models only those are needed that some client still holds: with all others dropped every
    model, $K$ and arrival is the same, and at most $m$ models are stored."""
    (full, all_kept), (small, pruned), run = by_store(i, False), by_store(i, True), seen(i)
    return [ft.equal([s[:2] for s in pruned], [s[:2] for s in all_kept], "arrivals"),
            ft.equal([s[2] for s in pruned], [s[2] for s in all_kept], "models"), ft.at_most(small.largest, i.n, "stored at most"),
            ft.equal(len(full.store), i.arrivals + 1, "stored otherwise"),
            ft.equal([(s.client, s.K) for s in run], [s[:2] for s in pruned], "coded arrivals"),
            ft.equal([s.after[0] for s in run], [s[2] for s in pruned], "coded models")]


# ---- late and useful --------------------------------------------------------------------------------------------------
def late(i, algorithm=None):
    """(lag, the first arrival of the last client, F' at the server's model then)."""
    run = seen(i, algorithm)
    t = next(k for k, s in enumerate(run) if s.client == i.n - 1)
    x, problem = run[t].x[0], i.problem.to(i.on)
    here = i.on.array(np.array([[x]] * i.n, dtype=object))
    return t, run[t], sum(ft.fraction(v) for v in problem.grad(here).reshape(-1)) / i.n


def value(i, x):
    return sum(ft.fraction(h) * (x - ft.fraction(b)) ** 2 for h, b in zip(i.h, i.b, strict=True)) / 2 / i.n


def hinge(i, lag):
    """The share of alpha that FedAsync's hinge function leaves, coded."""
    rule = ft.FedAsync("1/10", staleness="hinge", a=i.a, b=i.hinge_b).to(ft.RATIONAL)
    return ft.fraction(rule.weight(np.array([lag], dtype=object))[0])


useful = ft.Hypothesis("a useful direction", r"$\langle\nabla F(x_t),\Delta\rangle<0$", lambda i: (
    (lambda lag, s, slope: slope * (s.after[0] - s.x[0]))(*late(i, i.stated.algorithm)), 0), strict=True)
behind = ft.Hypothesis("late", r"lag above $b$", lambda i: (i.hinge_b, late(i, i.stated.algorithm)[0]), strict=True)
near = ft.Hypothesis("the server has moved little", r"$\gamma\le\varepsilon$", lambda i: (
    late(i, i.stated.algorithm)[1].gamma, ft.fraction(i.stated.algorithm.eps)))


def slow(name, b, K, a, hinge_b, x0=0, h=None, **options):
    return pair(name, h or (1,) * len(b), b, K, sum(max(K) // k for k in K[:-1]) + 1, x0=x0, a=ft.fraction(a),
                hinge_b=ft.fraction(hinge_b), **options)


def drawn_slow(draw):
    far = draw(st.integers(1, 4))
    a, b = draw(st.sampled_from(["5", "1/2", "15"])), draw(st.sampled_from(["1", "1/2", "3"]))
    return slow("drawn", (-far, far, draw(st.integers(2, 9))), (1, 1, draw(st.integers(2, 4))), a, b)


@ft.claim("claim-fig1", on=[slow("hinge (5, 5) of Table 3", (-2, 2, 5), (1, 1, 3), 5, 5),
                            slow("hinge (1/2, 1/2) of Table 3", (-1, 1, 3), (1, 1, 2), "1/2", "1/2"),
                            slow("another curvature", (-2, 2, 6), (1, 1, 3), 5, 5, h=(1, 1, "1/2"))],
          needs=[useful, behind, near], rejects=[bugs.lag_for_distance],
          search=ft.Search((ft.Family("a slow third client", drawn_slow),), tries=30),
          reading="An example as Figure 1 draws it: fast clients pull to and fro, a slow one comes last. No start, K or "
                  "step is printed there. That such updates are frequent is not claimed.")
def figure1(i):
    r"""A late update can point in a useful direction, $\langle\nabla F(x_t),\Delta\rangle<0$, and get a larger share of the full
    step by $\gamma$, $\frac\varepsilon{\gamma+\varepsilon}$, than by its lag; the larger share lowers $F$ more."""
    lag, s, _ = late(i)
    a = i.stated.algorithm
    full, delta = ft.fraction(a.lam) / ft.fraction(a.eps), (s.after[0] - s.x[0]) / s.eta
    before, by_lag, by_gamma = (value(i, x) for x in (s.x[0], s.x[0] + hinge(i, lag) * full * delta, s.after[0]))
    return [ft.at_most(hinge(i, lag), s.eta / full, "share by lag and by gamma", strict=True),
            ft.at_most(Q(1, 2), s.eta / full, "share by gamma"), ft.at_most(by_gamma, by_lag, "F after either", strict=True),
            ft.at_most(by_gamma, before, "F falls", strict=True)]


# ---- A4 by discarding -------------------------------------------------------------------------------------------------
def kept_shares(i):
    """Kept over arrived updates of each client, from the coded moves of the server."""
    run, out = seen(i), []
    for j in range(i.n):
        own = [s for s in run if s.client == j]
        out.append(Q(sum(bool(s.eta is not None and s.eta != 0) for s in own), len(own)))
    return out


def kept_noise(i):
    """The mean of the noise of the updates that a coded arrival keeps, over its equally likely values."""
    problem, algorithm = i.problem.to(ft.RATIONAL), i.algorithm.to(ft.RATIONAL)
    draw, kept = i.law.support(i.n)[0][1], []
    for value_ in i.noise_values:
        s = algorithm.init(problem, ft.RATIONAL.array(i.x0), draw)
        s = s._replace(x=ft.RATIONAL.array([i.now]))
        noise = ft.RATIONAL.array(np.array([[value_]] * i.n, dtype=object))
        if algorithm.round(problem, s, draw._replace(xi=lambda k, noise=noise: noise)).x[0] != s.x[0]:
            kept.append(ft.fraction(value_))
    return sum(kept) / len(kept) if kept else None


def dropping(name, h, b, K, arrivals, limit, **options):
    return pair(name, h, b, K, arrivals, options={"discard": limit}, noise_values=None, **options)


def one_arrival(name, noise_values, now, limit=1, h=1, base=1):
    return pair(name, (h,), (0,), 1, 1, x0=base, options={"discard": limit}, noise_values=[ft.fraction(v) for v in noise_values],
                now=ft.fraction(now))


def drawn_discard(draw):
    size = draw(st.sampled_from([Q(1, 2), Q(1), Q(2), Q(5)]))
    now, limit = 1 - draw(st.sampled_from([Q(1, 20), Q(1, 10), Q(1, 5)])), draw(st.sampled_from([Q(1, 2), 1]))
    return one_arrival("drawn", (size, -size), now, limit)


def fresh(i):
    """How many of the outcomes of one arrival have gamma <= Gamma, from (6)."""
    limit, step = ft.fraction(i.stated.algorithm.discard), ft.fraction(i.stated.eta)
    return sum(bool(abs(i.now - i.x0[0]) <= limit * step * abs(ft.fraction(i.h[0]) * i.x0[0] + v)) for v in i.noise_values)


some = ft.Hypothesis("some outcomes are discarded and some kept", "0 if so, else 1: at most 0", lambda i: (
    0 if i.noise_values is None else int(fresh(i) in (0, len(i.noise_values))), 0))


on_discard = [dropping("a slow client", (1, 1), (0, 5), (1, 6), 60, 1, x0=10, on=ft.FLOAT),
              dropping("exact", (1, 1), (0, 2), (1, 3), 8, "1/2", x0=1), one_arrival("two outcomes", (1, -1), "9/10"),
              one_arrival("three outcomes", (2, 0, -2), "9/10", "3/4")]


@ft.claim("s1-discarding", on=on_discard, needs=[some],
          rejects=[bugs.discard_missing], search=ft.Search((ft.Family("one arrival", drawn_discard),), tries=20),
          reading="Existence: runs and arrivals in which it does so. The lemmas for kept updates are a4-discard.")
def discarding(i):
    r"""Enforcing A4 by discarding updates with $\gamma>\Gamma$ can bias participation: of a slow client's updates a smaller share
    is kept than of a fast one's. It makes the noise of kept updates conditional: its mean is not $0$."""
    if i.noise_values is None:
        fast, late_ = kept_shares(i)
        return [ft.at_most(late_, fast, "kept share of the slow and of the fast client", strict=True)]
    mean = kept_noise(i)
    return [ft.equal(sum(i.noise_values), 0, "mean of all outcomes"), ft.at_most(Q(1, 100), abs(mean), "mean of the kept ones")]


# ---- the index after (5) ----------------------------------------------------------------------------------------------
def _index():
    """The base whose distance the coded step uses is that of the client i that arrives, not another client's."""
    i = pair("three", (1, "1/2", 1), (1, -2, 3), (2, 3, 4), 5, x0=5)
    bases, out = [Q(5)] * 3, []
    for t, s in enumerate(seen(i), 1):
        delta = (s.after[0] - s.x[0]) / s.eta
        own, other = (1 / (abs(s.x[0] - bases[j]) / abs(delta) + 1) for j in (s.client, (s.client + 1) % 3))
        out.append(ft.equal(s.eta, own, f"arrival {t}: the base of client i"))
        if bases[s.client] != bases[(s.client + 1) % 3]:
            out.append(ft.at_most(Q(1, 10**6), abs(s.eta - other), f"arrival {t}: that of another client"))
        bases[s.client] = s.after[0]
    return out


ft.finding("misprint-eq5", kind="misprint", check=_index, reading="The sentence after (5) has x_{t-tau_{i_l}} at client "
                                                                  "i_l.",
           step="No index l is introduced: the update of client i is compared with the model that client i started from, "
                "as (6) does.")
