"""Instances for FedAvg: fixed points, the bias (3), heterogeneity (37), the variance split (48), exact floors."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import RATIONAL, Field, declare
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.formulas import matrices as m
from verification.focus.instances import line, plane
from verification.focus.instances import structure as S


def plain(eta, tau):
    """FedAvg of the paper: participants count alike."""
    return FedAvg(eta, tau, averaging="plain")


def weights(law, n):
    """Averaging weights q_i by listing the sets of a law."""
    return m.participation(S.law_of(law, n), n)[1]


def make(name, problem, law, eta, tau, domain=RATIONAL, **extra):
    """FedAvg under a law, with what the statements speak of: eta, tau and the declared averaging weights q."""
    eta = declare(eta)[()]
    return Instance(name, problem, plain(eta, tau), law, domain=domain, q=weights(law, problem.n), **extra)


def names(letters, n):
    return [f"{v}{i}" for v in letters for i in range(n)]


# ---- fixed points -----------------------------------------------------------------------------------------
def _local_step(d):
    """One client, one coded step from c + P (x - c): P stands for (I - eta H)^t."""
    entries = [f"{v}{i}{j}" for v in "HP" for i in range(d) for j in range(d) if v == "P" or j >= i]
    k = Field(" ".join(["eta", *names("xc", d), *entries]))
    s = dict(zip(["eta", *names("xc", d), *entries], k.symbols, strict=True))
    H = [[s[f"H{min(i, j)}{max(i, j)}"] for j in range(d)] for i in range(d)]
    P = np.array([[s[f"P{i}{j}"] for j in range(d)] for i in range(d)], dtype=object)
    x, c = (np.array([s[f"{v}{i}"] for i in range(d)], dtype=object) for v in "xc")
    return make(f"local step, any tau, d={d}", Quadratic([H], [c]), Full(), s["eta"], 1, k, part="local", H=np.array(H), P=P, x=x,
                c=c, says="P = (I - eta H)^t is a free matrix")


def _server(N):
    """The coded server under any law over the non-empty sets, fed with -G_i (x - c_i)."""
    sets = S.subsets(N)
    k = Field(" ".join([*names("s", len(sets) - 1), "eta", "x", *names("cG", N)]))
    chances, (eta, x, *rest) = k.symbols[:len(sets) - 1], k.symbols[len(sets) - 1:]
    c, G = rest[:N], rest[N:]
    law = list(zip([*chances, 1 - sum(chances[1:], chances[0])], sets, strict=True))
    return Instance(f"server, any law, N={N}", line([1] * N, c), plain(eta, 1), Full(), domain=k, law_list=law, part="server",
                    x=x, c=c, G=G, says="probabilities, start, minimisers and G_i = 1 - (1 - eta h_i)^tau are symbols")


def _whole(name, n, tau, law=None, data=None):
    k = Field("eta" if data else " ".join(["eta", *names("hc", n)]))
    eta, *rest = k.symbols
    problem = data if data else line(rest[:n], rest[n:])
    return make(name, problem, Full() if law is None else law, eta, tau, k, part="round", H=problem.H, c=problem.c,
                says="eta a symbol" if data else "curvatures, minimisers and eta are symbols")


RARE = Bernoulli(("9/10", "1/2", "1/20"), "redraw")
fixed_points = [_local_step(1), _local_step(2), _server(2), _server(3), _whole("full, tau=1", 2, 1), _whole("full, tau=2", 2, 2),
                _whole("full, tau=3", 2, 3), _whole("non-empty Bernoulli, tau=2", 3, 2, RARE),
                _whole("two of three, weighted, tau=2", 3, 2, Weighted(2, ("7/10", "1/5", "1/10"))),
                _whole("plane, full, tau=4", 3, 4, data=plane()), _whole("plane, non-empty Bernoulli", 3, 3, RARE, plane())]


# ---- the bias (3) -----------------------------------------------------------------------------------------
def _bias(name, problem, eta, tau):
    return make(name, problem, Full(), eta, tau, constant=Q(1, 10**9),
                says="any constant > 0 will do; the comparison uses 1e-9")


equal_hessians = _bias("equal Hessians", line([2, 2], [3, 1]), "1/10", 3)
biases = [_bias("h=(1,3), tau=3", line([1, 3], [2, -1]), "1/100", 3), equal_hessians,
          _bias("equal Hessians in the plane", Quadratic([[[1, 0], [0, 4]]] * 2, [[3, 1], [1, 1]]), "1/10", 2)]
ratio = _whole("h=(1,3), c=(2,-1), tau=3", 2, 3, data=line([1, 3], [2, -1]))


def _any_tau(n):
    k = Field(" ".join(["eta", "t", *names("hcr", n)]))
    eta, t, *rest = k.symbols
    h, c, r = rest[:n], rest[n:2 * n], rest[2 * n:]
    return Instance(f"any tau, N={n}", line(h, c), plain(eta, 1), Full(), domain=k, t=t, r=r, part="jet",
                    says="(1 - eta h)^tau = its second-order part + eta^3 r with r free")


first_order = [_any_tau(1), _any_tau(2), _any_tau(3),
               *(_whole(f"N={n}, tau={tau}", n, tau) for n, tau in ((2, 1), (2, 2), (2, 4), (3, 2))),
               _whole("plane, tau=2", 3, 2, data=plane()), _whole("plane, tau=5", 3, 5, data=plane())]


# ---- heterogeneity (37) -----------------------------------------------------------------------------------
def linear(gradients, eta, law, domain, **extra):
    """Clients f_i = g_i'x."""
    n, d = len(gradients), len(gradients[0])
    zero = [[[0] * d] * d] * n
    return make(extra.pop("name"), Quadratic.from_linear(zero, [[-v for v in g] for g in gradients]), law, eta, 1, domain,
                rows=np.array(gradients, dtype=object), **extra)


def _free_gradients(n, law=None):
    k = Field(" ".join([*names("gu", n)]))
    g, u = k.symbols[:n], k.symbols[n:]
    any_law = Bernoulli([1 / (1 + v) for v in u], "redraw")
    return linear([[v] for v in g], 1, any_law if law is None else law, k, even=law is not None,
                  name=f"free gradients, N={n}" + ("" if law is None else f", {type(law).__name__}"),
                  says="gradients are symbols" + (", p_i = 1/(1 + u_i), u_i >= 0" if law is None else ", q is uniform"))


def _point(name, H, c, law, eta, X, **extra):
    """Quadratic clients at stacked points X (n, d) or at one consensus point."""
    problem = Quadratic(H, c)
    rows = [X] * problem.n if np.ndim(X[0]) == 0 else X
    return make(name, problem, law, eta, 1, x0=rows, even=False, rows=None, **extra)


free_state = _point("free stacked state", [[[1]]] * 2, [[1], [-1]], Weighted(1, ("9/10", "1/10")), "1/10", [[10], [0]])
consensus = [
    _point("equal Hessians, weighted", [[[1]]] * 2, [[1], [-1]], Weighted(1, ("9/10", "1/10")), "1/10", [5]),
    _point("plane, rare client", [[[2, "1/2"], ["1/2", 1]]] * 3, [[1, 0], [-1, 2], [0, -3]], RARE, "1/20", [1, -2]), free_state]
gradients = [_free_gradients(2), _free_gradients(3), _free_gradients(3, Full()), _free_gradients(3, Uniform(2)), *consensus]


# ---- the variance split (48) ------------------------------------------------------------------------------
def _stacked(N):
    """Any law over the non-empty sets and any stacked state Y, coordinate by coordinate."""
    base = _server(N)
    return base.but(name=f"any law, N={N}", Y=base.c, best=base.x, says="probabilities, the stacked state and x* are symbols")


def _stacked_law(name, law, Y, best):
    n = len(Y)
    return Instance(name, line([1] * n, [0] * n), plain("1/10", 1), law, law_list=S.law_of(law, n), Y=[Q(v) for v in Y],
                    best=Q(best), law_of=S.law_of)


stacked = [_stacked(2), _stacked(3), _stacked_law("full", Full(), (1, -2, 4), 1),
           _stacked_law("two of four", Uniform(2), (1, -2, 4, 0), 3),
           _stacked_law("rare client", RARE, (1, -2, 4), 1),
           _stacked_law("weighted, two of three", Weighted(2, ("7/10", "1/5", "1/10")), (3, 0, -1), 0)]


# ---- exact floors -----------------------------------------------------------------------------------------
def _equal_curvature(n):
    k = Field(" ".join(["eta", "h", *names("b", n)]))
    eta, h, *b = k.symbols
    return make(f"N={n}, any h, b, eta", line([h] * n, b), Uniform(1), eta, 1, k, h=h, b=b, says="everything is a symbol")


exact_floors = [_equal_curvature(n) for n in (1, 2, 3, 4)]
equal_curvature = [make("b=(1,-1), by numbers", line([2, 2], [1, -1]), Uniform(1), "1/8", 1, h=Q(2), b=[Q(1), Q(-1)])]


def _homogeneous(n, d):
    """n times one client, fed through the coded local step and the coded server."""
    base = _local_step(d)
    return base.but(name=f"homogeneous, N={n}, d={d}", problem=Quadratic([base.H] * n, [base.c] * n), n=n, d=d)


def _contraction():
    k = Field("h s c")
    h, s, c = k.symbols
    eta = 1 / (h * (3 + s))
    return make("steps up to 1/(3L)", line([h, h], [c, c]), Uniform(1), eta, 1, k, h=h, s=s, c=c, part="rate",
                says="eta = 1/(h (3 + s)), s >= 0")


homogeneous = [_homogeneous(2, 1), _homogeneous(3, 1), _homogeneous(2, 2), _contraction()]


def _at_optimum(n, size):
    """Any curvatures, gradients at x* = 0 that sum to zero, `size` of n clients a round, one local step."""
    k = Field(" ".join(["eta", *names("hg", n)]))
    eta, *rest = k.symbols
    h, g = rest[:n], rest[n:2 * n - 1]
    g = [*g, -sum(g[1:], g[0])]
    problem = Quadratic.from_linear([[[v]] for v in h], [[-v] for v in g])
    return make(f"{size} of {n}, at x*", problem, Uniform(size), eta, 1, k, size=size, g=g,
                says="curvatures, eta and the gradients at x* = 0 are symbols; coordinates add up")


def _positive(name, problem, size, eta):
    return make(name, problem, Uniform(size), eta, 1, size=size, g=None)


partial = [_at_optimum(2, 1), _at_optimum(3, 1), _at_optimum(3, 2), _at_optimum(4, 2), _at_optimum(5, 3),
           _positive("plane, one of three", plane(), 1, "1/20"), _positive("plane, two of three", plane(), 2, "1/20"),
           _positive("h=(1,3), one of two", line([1, 3], [2, -1]), 1, "1/10")]
descent = make("full participation", line([2, 5, 1], [1, -1, 3]), Full(), "1/20", 1)

# in numbers what the others prove in symbols
illustrate([*equal_curvature, *gradients, *partial, *stacked])
