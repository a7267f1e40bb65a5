"""Instances for Section 3, Appendix C and the equivalences: sets as symbols, laws listed, schedules replayed."""
import itertools
from fractions import Fraction as Q

import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.formulas import matrices as m
from verification.focus.instances import line, plane

BUILDERS = {"assign": m.assign, "average": m.average, "mixing": m.mixing, "transpose": lambda R: R.T}


def _any_set(N):
    k = Field(" ".join(f"I{i}" for i in range(1, N + 1)))
    return Instance(f"any set, N={N}", domain=k, sets=[list(k.symbols)], N=N, **BUILDERS,
                    says="indicators are symbols; only I_i itself is used, never I_i^2 = I_i")


def subsets(N):
    """All non-empty subsets of 1..N."""
    return [S for size in range(1, N + 1) for S in itertools.combinations(range(1, N + 1), size)]


every_set = [*(_any_set(N) for N in range(1, 6)),
             *(Instance(f"all subsets, N={N}", sets=[m.indicators(S, N) for S in subsets(N)], N=N, **BUILDERS,
                        says=f"the {2**N - 1} non-empty sets one by one") for N in (1, 2, 3, 5))]


def law_of(law, n):
    """[(probability, participants 1..n)] of a memoryless law."""
    return [(q, tuple(int(i) + 1 for i in (np.arange(n)[who] if isinstance(who, slice) else who)[present > 0]))
            for q, who, present in law.cohorts(n)]


def _any_law(N, empty=False):
    """A law whose probabilities are symbols: it says nothing about independence between clients."""
    sets = ([()] if empty else []) + subsets(N)
    k = Field(" ".join(f"c{j}" for j in range(len(sets) - 1)))
    chances = [*k.symbols, 1 - sum(k.symbols[1:], k.symbols[0])]
    return Instance(f"any law, N={N}", domain=k, law_list=list(zip(chances, sets, strict=True)), N=N, weights="p",
                    says="the probability of every non-empty set is a symbol"
                    + (", so is that of the empty one" if empty else ""))


def _law(name, law, n, **extra):
    return Instance(name, line([1] * n, range(n)), Focus("1/10", 1), law, law_list=law_of(law, n), N=n, weights="p", **extra)


LAWS = [_law("full, N=2", Full(), 2), _law("one of three", Uniform(1), 3), _law("two of three", Uniform(2), 3),
        _law("weighted, two of three", Weighted(2, ("7/10", "1/5", "1/10")), 3),
        _law("Bernoulli, redrawn", Bernoulli(("9/10", "1/2", "1/20"), "redraw"), 3)]
mean_matrices = [*(_any_law(N) for N in (2, 3)), *LAWS]
empty_rounds = [_law("Bernoulli", Bernoulli(("9/10", "1/2", "1/20")), 3)]
mean_matrices_or_empty = [_any_law(2, empty=True), *LAWS, *empty_rounds]
uniform_laws = [_law(f"{size} of {n}", Uniform(size), n, size=size) for n in (2, 3, 5) for size in range(1, n + 1)]


def _bernoulli(N):
    k = Field(" ".join(f"p{i}" for i in range(1, N + 1)))
    chances, law_list = k.symbols, []
    for bits in itertools.product((0, 1), repeat=N):
        terms = [v if b else 1 - v for b, v in zip(bits, chances, strict=True)]
        weight = terms[0]
        for v in terms[1:]:
            weight = weight * v
        law_list.append((weight, tuple(i + 1 for i, b in enumerate(bits) if b)))
    return Instance(f"N={N}, any p", domain=k, law_list=law_list, p=chances, N=N, weights="p", says="p_i are symbols")


bernoulli = [_bernoulli(N) for N in (1, 2, 3, 4)]

# ---- schedules --------------------------------------------------------------------------------------------
SCHEDULE = [(1, 3), (2,), (1, 2, 3), (3,), (3,), (1, 2)]


def _schedule(name, problem, algorithm, x0, sets=SCHEDULE, **extra):
    return Instance(name, problem, algorithm, Full(), x0=x0, sets=sets, **extra)


focus_schedules = [
    _schedule("plane, tau=3", plane(), Focus("1/50", 3), [2, -1]),
    _schedule("plane, tau=1", plane(), Focus("1/50", 1), [2, -1]),
    _schedule("line, with an empty round", line([1, 3, 10], [2, -1, 1]), Focus("1/60", 2), [5], [*SCHEDULE, (), (2,)]),
    _schedule("a concave client", line([2, -1, 4], [1, 3, 0]), Focus("1/40", 4), [1]),
]
first_round_only = [_schedule("plane, first round only", plane(), Focus("1/50", 3), [2, -1], SCHEDULE[:1])]
warm_schedules = [i.but(algorithm=Focus(i.algorithm.lr, i.algorithm.steps, init="warm")) for i in focus_schedules]
fedavg_schedules = [
    _schedule("plane, tau=3", plane(), FedAvg("1/50", 3, averaging="plain"), [2, -1]),
    _schedule("line, tau=1", line([1, 3, 10], [2, -1, 1]), FedAvg("1/30", 1, averaging="plain"), [5]),
    *(_schedule(f"N=2, {first} then {then}", line([1, 3], [2, -1]), FedAvg("1/10", 2, averaging="plain"), [1], [first, then])
      for first in subsets(2) for then in subsets(2)),
]

# ---- symbols ----------------------------------------------------------------------------------------------


def symbolic_round(n, sets, tau=2, power=False):
    """A round of FOCUS from a state of symbols: x, y, g_i, curvatures, minimisers and eta are all free."""
    names = ["eta", "x", "y", "P", *(f"{v}{i}" for v in "hcg" for i in range(1, n + 1))]
    k = Field(" ".join(names))
    eta, x, y, P, *rest = k.symbols
    h, c, g = rest[:n], rest[n:2 * n], rest[2 * n:]
    problem = Quadratic([[[v]] for v in h], [[v] for v in c])
    return Instance(f"N={n}, tau={tau}", problem, Focus(eta, tau), Full(), domain=k, x=x, y=y, h=h, c=c, g=g, N=n,
                    sets=sets, P=P if power else None, says="every number of the state and of the problem is a symbol")


symbolic_rounds = [symbolic_round(1, [(), (1,)], tau) for tau in (1, 2, 5)] + \
    [symbolic_round(2, [(), (1,), (2,), (1, 2)], tau) for tau in (1, 3)] + [symbolic_round(3, [(1, 3), (1, 2, 3)], 2)]
local_steps = [symbolic_round(1, [(1,)], 1, power=True).but(name="local step, any tau", says="P = (1 - eta h)^(t - 1)")]
frozen = symbolic_rounds


def _column_sums(N):
    k = Field(" ".join(f"{v}{i}" for v in ("I", "Y", "new", "old") for i in range(N + 1)))
    s = np.array(k.symbols, dtype=object).reshape(4, N + 1)
    return Instance(f"matrix form, any set, N={N}", domain=k, present=list(s[0, 1:]), Y=s[1], now=s[2], before=s[3], N=N)


column_sums = [_column_sums(N) for N in (1, 2, 4)]


# ---- small tables -----------------------------------------------------------------------------------------
examples = [Instance("printed examples", **BUILDERS)]


def _uniform_symbol():
    k = Field("N m B")
    N, size, count = k.symbols
    return Instance("any m and N", domain=k, N=N, size=size, count=count, says="B stands for C(N-1, m-1)")


uniform_symbols = [_uniform_symbol()]


def union(sets):
    """Clients that occur in some set."""
    return {i for S in sets for i in S}


def _fixed_space(N):
    k = Field(" ".join(f"{v}{i}" for v in "Ix" for i in range(N + 1)))
    symbols = k.symbols
    return Instance(f"any set, N={N}", domain=k, N=N, present=list(symbols[1:N + 1]), X=list(symbols[N + 1:]), cover=None)


fixed_spaces = [_fixed_space(N) for N in (1, 2, 4)]
coverings = [Instance(f"N={n}, sets {', '.join(str(set(S)) for S in sets)}", N=n, cover=sets, covered=union) for n, sets in (
    (1, [(1,)]), (2, [(1,), (2,)]), (2, [(1,)]), (3, [(1, 2), (2, 3)]), (3, [(1, 3)]), (3, [(1,), (2,), (1, 2)]),
    (4, [(1, 2), (3, 4)]), (4, [(1, 2), (2, 4)]), (4, [(1, 2, 3, 4)]))]


# ---- Appendix E -------------------------------------------------------------------------------------------
delays = [i.but(algorithm=Focus(i.eta, 1), mifa=Mifa(i.eta * i.problem.n, 1)) for i in focus_schedules]


def _every_start(N):
    i = _column_sums(N)
    return i.but(name=f"collect-all, N={N}")


every_start = [_every_start(N) for N in (1, 2, 4)]


def first_step(X, eta, grad):
    """Row 0 after the step k = 0 of (75)-(76)."""
    return m.push_pull([()], 1, eta, X, grad, collect_all=True)[1][0]


common_starts = [Instance("h=(1,2,4)", line([1, 2, 4], [0, 0, 0]), x0=[Q(1)], eta=Q(1, 1000), first_step=first_step),
                 Instance("plane", plane(), x0=[Q(1), Q(2)], eta=Q(1, 100), first_step=first_step)]


def _common_symbols(n):
    i = symbolic_round(n, [])
    return i.but(name=f"N={n}, any start", x0=[i.x], first_step=first_step)


common_symbols = [_common_symbols(n) for n in (1, 2, 3)]
pulls = [i.but(x=Q(2), z=[Q(k * k) for k in range(i.N)]) for i in LAWS if i.name != "one of three"]


def _pull_symbols(N, empty):
    sets = ([()] if empty else []) + subsets(N)
    k = Field(" ".join([*(f"c{j}" for j in range(len(sets) - 1)), "x", *(f"z{j}" for j in range(N))]))
    c, (x, *z) = k.symbols[:len(sets) - 1], k.symbols[len(sets) - 1:]
    chances = [*c, 1 - sum(c[1:], c[0])]
    return Instance(f"any law, N={N}", domain=k, law_list=list(zip(chances, sets, strict=True)), N=N, x=x, z=z, weights="p",
                    says="probabilities and points are symbols")


pull_symbols = [_pull_symbols(2, True), _pull_symbols(3, False)]


def _displacement(n, tau):
    i = symbolic_round(n, [], tau)
    return i.but(name=f"N={n}, tau={tau}", z=list(i.g), moves=lambda tau: tau, says="all points and curvatures are symbols")


displacements = [_displacement(1, 2), _displacement(1, 4), _displacement(2, 3)]

# in numbers what the others prove in symbols
illustrate([
    *common_starts, *coverings, *empty_rounds, *every_set, *first_round_only, *focus_schedules, *mean_matrices,
    *mean_matrices_or_empty, *pulls, *uniform_laws,
])
