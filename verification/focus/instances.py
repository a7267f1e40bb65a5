"""What instances of several claim files share, declared in rationals; floats are derived from them, never the reverse."""
import itertools
from fractions import Fraction as Q
from math import isqrt

import numpy as np

import fltheory as ft
from verification.focus.formulas import matrices as m

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None



def line(h, c, name=""):
    """Clients f_i = h_i (x - c_i)^2 / 2 on the line, equal weights."""
    return ft.Quadratic([[[v]] for v in h], [[v] for v in c], name=name)


def plane():
    """The ledger's reference instance: three clients in the plane, curvatures that do not commute."""
    return ft.Quadratic([[[1, 0], [0, 4]], [[2, "1/2"], ["1/2", 1]], [[3, -1], [-1, 2]]], [[1, 0], [-1, 2], [0, -3]])


def subsets(N):
    """All non-empty subsets of 1..N."""
    return [S for size in range(1, N + 1) for S in itertools.combinations(range(1, N + 1), size)]


def law_of(law, n):
    """[(probability, participants 1..n)] of a memoryless law."""
    return [(q, tuple(int(i) + 1 for i in (np.arange(n)[who] if isinstance(who, slice) else who)[present > 0]))
            for q, who, present in law.cohorts(n)]


def _law(name, law, n, **extra):
    return ft.Instance(name, line([1] * n, range(n)), ft.Focus("1/10", 1), law, law_list=law_of(law, n), N=n, weights="p",
                       **extra)


SAMPLED = [_law("full, N=2", ft.Full(), 2), _law("one of three", ft.Uniform(1), 3), _law("two of three", ft.Uniform(2), 3),
           _law("weighted, two of three", ft.Weighted(2, ("7/10", "1/5", "1/10")), 3),
           _law("Bernoulli, redrawn", ft.Bernoulli(("9/10", "1/2", "1/20"), "redraw"), 3)]
SCHEDULE = [(1, 3), (2,), (1, 2, 3), (3,), (3,), (1, 2)]


def _schedule(name, problem, algorithm, x0, sets=SCHEDULE, **extra):
    return ft.Instance(name, problem, algorithm, ft.Full(), x0=x0, sets=sets, **extra)


focus_schedules = ft.illustrate([
    _schedule("plane, tau=3", plane(), ft.Focus("1/50", 3), [2, -1]),
    _schedule("plane, tau=1", plane(), ft.Focus("1/50", 1), [2, -1]),
    _schedule("line, with an empty round", line([1, 3, 10], [2, -1, 1]), ft.Focus("1/60", 2), [5], [*SCHEDULE, (), (2,)]),
    _schedule("a concave client", line([2, -1, 4], [1, 3, 0]), ft.Focus("1/40", 4), [1]),
])


def symbolic_round(n, sets, tau=2, power=False):
    """A round of FOCUS from a state of symbols: x, y, g_i, curvatures, minimisers and eta are all free."""
    names = ["eta", "x", "y", "P", *(f"{v}{i}" for v in "hcg" for i in range(1, n + 1))]
    k = ft.Field(" ".join(names))
    eta, x, y, P, *rest = k.symbols
    h, c, g = rest[:n], rest[n:2 * n], rest[2 * n:]
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in c])
    return ft.Instance(f"N={n}, tau={tau}", problem, ft.Focus(eta, tau), ft.Full(), domain=k, x=x, y=y, h=h, c=c, g=g, N=n,
                       sets=sets, P=P if power else None, says="every number of the state and of the problem is a symbol")


def _column_sums(N):
    k = ft.Field(" ".join(f"{v}{i}" for v in ("I", "Y", "new", "old") for i in range(N + 1)))
    s = np.array(k.symbols, dtype=object).reshape(4, N + 1)
    return ft.Instance(f"matrix form, any set, N={N}", domain=k, present=list(s[0, 1:]), Y=s[1], now=s[2], before=s[3], N=N)


traffic = [ft.Instance(name, plane(), algorithm, ft.Full(), sent=sent, least=least) for name, algorithm, sent, least in (
    ("FOCUS", ft.Focus("1/50", 3), (1, 1), (1, 1)), ("FedAvg", ft.FedAvg("1/50", 3), (1, 1), (1, 1)),
    ("MIFA", ft.Mifa("1/50", 3), (1, 1), (1, 1)), ("SCAFFOLD", ft.Scaffold("1/50", 3), (2, 2), (1, 2)))]


def plain(eta, tau):
    """FedAvg of the paper: participants count alike."""
    return ft.FedAvg(eta, tau, averaging="plain")


def weights(law, n):
    """Averaging weights q_i by listing the sets of a law."""
    return m.participation(law_of(law, n), n)[1]


def make(name, problem, law, eta, tau, domain=ft.RATIONAL, **extra):
    """FedAvg under a law, with what the statements speak of: eta, tau and the declared averaging weights q."""
    eta = ft.declare(eta)[()]
    return ft.Instance(name, problem, plain(eta, tau), law, domain=domain, q=weights(law, problem.n), **extra)


def names(letters, n):
    return [f"{v}{i}" for v in letters for i in range(n)]


def _server(N):
    """The coded server under any law over the non-empty sets, fed with -G_i (x - c_i)."""
    sets = subsets(N)
    k = ft.Field(" ".join([*names("s", len(sets) - 1), "eta", "x", *names("cG", N)]))
    chances, (eta, x, *rest) = k.symbols[:len(sets) - 1], k.symbols[len(sets) - 1:]
    c, G = rest[:N], rest[N:]
    law = list(zip([*chances, 1 - sum(chances)], sets, strict=True))
    return ft.Instance(f"server, any law, N={N}", line([1] * N, c), plain(eta, 1), ft.Full(), domain=k, law_list=law,
                       part="server",
                       x=x, c=c, G=G, says="probabilities, start, minimisers and G_i = 1 - (1 - eta h_i)^tau are symbols")


RARE = ft.Bernoulli(("9/10", "1/2", "1/20"), "redraw")
MC = {"seed": 5, "tail": "1/2"}
LAWS = {"full": ft.Full(), "one uniform client": ft.Uniform(1), "weighted, two of three": ft.Weighted(2, (7, 2, 1)),
        "arbitrary": ft.Bernoulli(("9/10", "1/2", "1/10"), "redraw")}
P = ("9/10", "1/2", "1/20")
SPREAD = (1, 3, 10)


def spread(name, eta, tau, law=None, algorithm=ft.Focus, **extra):
    """h = (1, 3, 10) on the line."""
    return ft.Instance(name, line(SPREAD, (1, -1, 2)), algorithm(eta, tau), ft.Bernoulli(P) if law is None else law, **extra)


damping = [spread(f"tau={tau}", "1/100", tau, square=text)
           for tau, text in ((1, "1.0063"), (2, "0.9988"), (5, "0.9838"), (20, "0.9674"))]


def symbols(make, n, tau, part, linear=False, law=False):
    """n clients on the line, everything a symbol: curvatures a (0 if linear), b_i, eta, x, and per client u, v.

    law: the probability of every set with members is a symbol too; otherwise every set is tried.
    """
    sets = subsets(n)
    names = ["eta", "x", "mu", *(f"{v}{i}" for v in "abuv" for i in range(1, n + 1)),
             *(f"c{j}" for j in range(len(sets)) if law)]
    k = ft.Field(" ".join(names))
    eta, x, mu, *rest = k.symbols
    a, b, u, v = (list(rest[j * n:(j + 1) * n]) for j in range(4))
    a = [0 * eta] * n if linear else a
    problem = ft.Quadratic.from_linear([[[w]] for w in a], [[w] for w in b])
    chances = rest[4 * n:] if law else ()
    says = "linear clients: b_i stands for any mean gradient of a local phase, eta for eta tau" if linear else \
        "every number of the state and of the problem is a symbol"
    return ft.Instance(f"{part}, N={n}, {'any tau' if linear else f'tau={tau}'}", problem, make(eta, tau), ft.Full(),
                       domain=k, part=part, x=x, mu=mu, a=a, b=b, u=u, v=v, sets=[(), *sets],
                       law_list=list(zip(chances, sets, strict=False)), says=says)


def root(v, digits=6):
    """A rational just below the square root of v."""
    return Q(isqrt(int(Q(v) * 100**digits)), 10**digits)


def theorem4_step(h, q, tau):
    """The largest step of Theorem 4, up to rounding roots down."""
    mu, L, N = Q(min(h)), Q(max(h)), len(h)
    bounds = [2 * q / (3 * N * (16 * L**2 / mu + mu / 2)), q * root(q / (6 * N)) / (4 * L)]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), mu / (128 * (tau - 1) ** 2 * L**2 * N)]
    return min(bounds)


def theorem5_step(h, q, tau):
    """The largest step that Theorem 5 and its proof allow, with beta = mu, up to rounding roots down."""
    beta, L, N = Q(min(h)), Q(max(h)), len(h)
    bounds = [q / (3 * beta * N * (4 - q)), q / (16 * L**2), q * root(q / (6 * N)) / (4 * L), 3 * q / (32 * N), 1 / (4 * L * N)]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), 1 / (2 * (tau - 1) * L * N)]
    return min(bounds)


def theorem6_step(h, q, tau):
    """The largest step that Theorem 6 and its proof allow, up to rounding roots down."""
    L, N = Q(max(h)), len(h)
    bounds = [q * root(q / (6 * N)) / (4 * L), 1 / (4 * L * N), 3 * root(Q(1, 32)) / N]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), 1 / (4 * L * (tau - 1))]
    return min(bounds)


def noisy(name, h, c, eta, tau=1, law=None, sigma=1, x0=0, **extra):
    """Clients h_i (x - c_i)^2/2 with stochastic gradients; x0 the literal start, q the smallest averaging weight."""
    law = ft.Full() if law is None else law
    return ft.Instance(name, line(h, c), ft.Focus(eta, tau), law, noise=sigma, x0=[x0], q=min(law.averaging_weights(len(h))),
                       **extra)


THREE = ("1", "3/2", "2")
_REDRAWN = ft.Bernoulli(("9/10", "1/2", "1/5"), "redraw")


def at_step(i, eta):
    """The same situation with another step."""
    from dataclasses import replace
    return i.but(algorithm=replace(i.algorithm, lr=eta))


def participation_list(i):
    """[(probability, set)] of the instance's law."""
    return law_of(i.law, i.n)
