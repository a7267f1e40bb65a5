"""The baselines of Appendix B.4: FedAvg as printed in (38), and FedAsync's mixing (40) as a step of the server."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs
from verification.asyncfeded.formulas import baselines as f
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- FedAvg (38) -----------------------------------------------------------------------------------------------------
def averaged(name, h, b, sizes, lr, K, printed=False, **extra):
    """Clients on the line with numbers of rows. printed: the coded round has the additional 1/m."""
    algorithm = ft.FedAvg(lr, K)
    if printed:
        algorithm = bugs.mean_divided_again(algorithm)
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in b], f.shares(sizes))
    return ft.Instance(name, problem, algorithm, ft.Full(), h=h, b=b, sizes=sizes, lr=lr, K=K,
                       formula=f.printed if printed else f.corrected, **extra)


def everything(n, K):
    s = Symbols("eta x y", h=n, b=n, k=n)
    return averaged(f"{n} clients, {K} local steps, all symbols", s.h, s.b, s.k, s.eta, K, domain=s.field, x=s.x, y=s.y)


def round_of(i, x):
    """The coded round at a server model."""
    A, c = i.op_anywhere.mean_map()
    return A[0, 0] * x + c[0]


def trained(i, x):
    """The clients' models after their local steps from x, in closed form."""
    return [b + (1 - i.lr * h) ** i.K * (x - b) for h, b in zip(i.h, i.b, strict=True)]


def agreed(i):
    """Clients that agree on y keep it: the formula on their models, and the coded round where y is everybody's minimiser."""
    out = [ft.equal(i.formula(i.sizes, [i.y] * len(i.sizes)), i.y, "clients that agree")]
    if len(set(map(str, i.b))) == 1:
        out.append(ft.equal(round_of(i, i.b[0]), i.b[0], "coded round from a common minimiser"))
    return out


THREE = ((1, Q(1, 2), 2), (-2, 1, 3), (Q(1), Q(2), Q(5)), Q(1, 10), 4)
TWO = averaged("two clients that agree", (1, 1), (5, 5), (Q(1), Q(3)), Q(1, 2), 1, printed=True, y=Q(5))


@ft.claim("eq38-as-printed", on=[TWO, averaged("one client", (1,), (5,), (Q(7),), Q(1, 2), 1, printed=True, y=Q(5))],
          instead="eq38-corrected", finding="e9", at=("two clients that agree",), script="witnesses/e9.py",
          step="Appendix B.4: the weights |xi_i|/sum |xi_j| sum to 1 already; 1/m divides a second time",
          reading="The weights as printed, |xi_i| over the sum of all, times the printed 1/m. A misprint, as it reads.",
          survives="eq38-corrected, the rule without 1/m; with 1/m and the unnormalised |xi_i| m/sum it would be the same.")
def eq38_as_printed(i):
    r"""As printed: FedAvg's server takes $x_{t+1}=\frac1m\sum_i\frac{|\xi_i|}{\sum_j|\xi_j|}x^i_{t,K}$, a weighted average of the
    clients' models: where all of them agree on $y$ it is $y$."""
    return agreed(i)


def drawn(draw, n=None, K=None, heavy=None):
    n, K = n or draw(st.integers(1, 4)), K or draw(st.sampled_from([1, 3]))
    h = [Q(draw(st.integers(1, 6)), 3) for _ in range(n)]
    sizes = [Q(draw(st.integers(1, 9))) for _ in range(n)]
    sizes[0] = Q(heavy) if heavy else sizes[0]
    b = [draw(st.integers(-4, 4)) for _ in range(n)]
    return averaged("drawn", h, b, sizes, Q(1, 10), K, x=Q(draw(st.integers(-5, 5))), y=Q(3))


LISTED = ft.illustrate([averaged("three clients", *THREE, x=Q(7), y=Q(2)), averaged("one client", (3,), (2,), (Q(4),), Q(1, 10), 9,
                                                                                  x=Q(0), y=Q(1)),
                        averaged("200 clients, one with nearly all rows", [1] * 200, [i % 3 for i in range(200)],
                                 [Q(10**6)] + [Q(1)] * 199, Q(1, 4), 2, x=Q(1), y=Q(-1))])


@ft.claim("eq38-corrected", on=[everything(2, 1), everything(3, 2), *LISTED],
          rejects=[bugs.mean_divided_again, bugs.uniform_weights, bugs.one_step_more],
          covers={"n": "2, 3", "d": "1", "tau": "1, 2"}, ends={"clients": (1, 200), "local steps": (1, 50)},
          search=ft.Search((ft.Family("clients on the line", drawn, ({"n": 1, "K": 1}, {"n": 200, "K": 1, "heavy": 10**6},
                                                                   {"n": 2, "K": 50})),), tries=8),
          domain="two and three clients on the line, everything a symbol; listed and drawn ones in numbers")
def eq38_corrected(i):
    r"""Without the additional $\frac1m$ the weights $|\xi_i|/\sum_j|\xi_j|$ sum to 1, clients that agree on a model keep it, and
    the coded round is the weighted average of the clients' models."""
    one = sum(f.shares(i.sizes))
    return (*agreed(i), ft.equal(one, one / one, "sum of the weights"),
            ft.equal(round_of(i, i.x), i.formula(i.sizes, trained(i, i.x)), "coded round"))


# ---- FedAsync (40) ---------------------------------------------------------------------------------------------------
def mixing(n, K):
    s = Symbols("eta a x", h=n, b=n, y=n)
    return ft.Instance(f"{n} clients, {K} local steps, all symbols", ft.Quadratic([[[v]] for v in s.h], [[v] for v in s.b]),
                       ft.StaleSteps(s.eta, K, server_lr=s.a, mixing="model"), domain=s.field, x=s.x, bases=s.y, h=s.h, b=s.b,
                       lr=s.eta, alpha=s.a, K=K)


def arrival(i):
    """The server's model after the coded arrival of client 0."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, np.array([i.x], dtype=object))._replace(base=np.array([[v] for v in i.bases], dtype=object))
    present = np.array([1] + [0] * (problem.n - 1))
    return algorithm.round(problem, state, ft.everyone(problem.n, algorithm.steps, present)).x[0]


@ft.claim("eq40-rewrite", on=[mixing(1, 1), mixing(2, 1), mixing(2, 3)], rejects=[bugs.stale_updates_added, bugs.never_stale,
                                                                                bugs.one_step_more],
          covers={"n": "1, 2", "d": "1", "tau": "1, 3"},
          domain="any base model, server model, weight and client, in symbols; the coded arrival of one client, and of one of two")
def eq40_rewrite(i):
    r"""FedAsync's mixing $(1-\alpha)x_t+\alpha x^i_{t-\tau,K}$ is the step $x_t+\alpha\Delta_i+\alpha(x_{t-\tau}-x_t)$: the
    update, and a pull back to the model that the client started from."""
    base, y = i.bases[0], i.b[0] + (1 - i.lr * i.h[0]) ** i.K * (i.bases[0] - i.b[0])
    return (ft.equal(f.mixed(i.alpha, i.x, y), f.moved(i.alpha, i.x, base, y - base), "the two forms"),
            ft.equal(arrival(i), f.moved(i.alpha, i.x, base, y - base), "coded arrival"))
