"""Appendix B, Lemmas 1 and 2: how far neighbour averages and perturbed points drift apart, and the exact suprema."""
import itertools
from dataclasses import dataclass, replace
from fractions import Fraction as Q
from functools import cached_property, lru_cache

import numpy as np

import fltheory as ft
from verification.simfed import bugs
from verification.simfed.formulas import perturbed as f
from verification.simfed.instances import FOUR, SWAP, UNEQUAL, complete, matching, ours, prox, star
from verification.simfed.proofs import perturbed_drift as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- coded rounds and the points at which they take gradients -------------------------------------------------------
class Watched:
    """The problem as a round sees it; notes the points of all gradients, and the gradients given."""

    def __init__(self, problem):
        self.problem, self.points, self.given = problem, [], []

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def at(self, who):
        return _Cohort(self, self.problem.at(who))


class _Cohort:
    def __init__(self, watched, cohort):
        self.watched, self.cohort, self.p, self.n = watched, cohort, cohort.p, cohort.n

    def grad(self, y, sample=None):
        given = self.cohort.grad(y, sample)
        self.watched.points.append(y)
        self.watched.given.append(given)
        return given


@dataclass(frozen=True)
class Last:
    """The last of some coded rounds, m outcomes of chances (m,). start (m, 1): wbar_0 of it, before: of the one before it; u
    (m, n), w and wtilde {k: (m, n)}, wbar {k: (m, 1)}; ends (m, n): last models of the round before; given: gradients (m, n)."""

    chances: np.ndarray
    start: np.ndarray
    before: np.ndarray
    u: np.ndarray
    w: dict
    wtilde: dict
    wbar: dict
    ends: np.ndarray
    given: list

    def mean(self, v):
        """E of (m, ...)."""
        return (self.chances.reshape(-1, *(1,) * (v.ndim - 1)) * v).sum(0)

    def G2(self):
        """The largest E|g|^2 of a client at a perturbed point."""
        return max(max(self.mean(g**2)) for g in self.given)


class Rounds(ft.Instance):
    """Coded rounds on the line. rounds: the last one is looked at, before its local steps ks; ratio: the step of the rounds before
    over its own; slots(t, k): what gradient slot k of round t adds to the gradients, (m, n); x0."""

    @property
    def gamma(self):
        return ft.fraction(self.stated.algorithm.lr)

    @property
    def last(self):
        """The step of the round before, 0 in the first one."""
        return self.ratio * self.gamma if self.rounds > 1 else Q(0)

    @property
    def beta(self):
        return ft.fraction(self.stated.algorithm.beta)

    @property
    def E(self):
        return self.stated.algorithm.steps

    @cached_property
    def p(self):
        return [ft.fraction(v) for v in self.stated.problem.weights]

    @cached_property
    def P(self):
        return f.neighbours(ft.linalg.to_fractions(self.stated.algorithm.graph).tolist())


def numbers(v):
    """The engine's exact numbers as Fractions."""
    return ft.linalg.to_fractions(v)


@lru_cache(8)
def coded(i, slots=None, chances=(Q(1),)) -> Last:
    """The instance's coded rounds, with what `slots` adds to gradients instead of its own."""
    slots = slots or i.slots
    n, m = i.problem.n, len(slots(0, 0))
    problem, chances = i.problem.to(ft.RATIONAL), np.array(i.extra.get("chances", chances), dtype=object)
    x = ft.RATIONAL.array(np.full((m, 1), ft.fraction(i.x0), dtype=object))
    earlier = i.algorithm if i.ratio == 1 else replace(i.algorithm, lr=i.ratio * ft.fraction(i.algorithm.lr))
    method, watched = [a.to(ft.RATIONAL) for a in [earlier] * (i.rounds - 1) + [i.algorithm]], Watched(problem)
    state = old = method[0].init(problem, x)

    def draw(t, steps):
        return ft.everyone(n, steps)._replace(xi=lambda k: ft.RATIONAL.array(slots(t, k)[..., None]))
    for t in range(i.rounds - 1):
        old, state = state, method[t].round(watched, state, draw(t, i.algorithm.steps))
    now, t, w, wtilde = method[-1], i.rounds - 1, {}, {}
    for k in i.ks:
        seen = Watched(problem)
        now.local(seen, state, draw(t, k + 1))
        start = state.x[:, None] + 0 * state.w
        w[k] = numbers(now.local(problem, state, draw(t, k)) if k else start)[..., 0]
        wtilde[k] = numbers(seen.points[k] + 0 * start)[..., 0]
        watched.given += seen.given
    p = np.array(i.p, dtype=object)
    wbar = {k: (p * v).sum(-1, keepdims=True) for k, v in w.items()}
    if len(chances) != m:
        chances = np.array([Q(1)] * m, dtype=object)   # lanes that are no outcomes
    return Last(chances, numbers(state.x), numbers(old.x), numbers(now.averages(problem, state))[..., 0], w, wtilde, wbar,
                numbers(state.w)[..., 0], [numbers(g)[..., 0] for g in watched.given])


def apart(i, k, j):
    """(m,): wbar_k - wtilde_k^j."""
    return lambda r: r.wbar[k][:, 0] - r.wtilde[k][:, j]


def heard(a, b):
    """(m,): u_a - u_b."""
    return lambda r: r.u[:, a] - r.u[:, b]


def supremum(i, functional):
    """(the largest modulus of a linear functional over gradients of modulus at most 1, what the coded rounds make of those that
    attain it); no losses, x0 = 0."""
    n, E, T = i.problem.n, i.E, i.rounds
    size = T * E * n

    def unit(t, k):
        block = np.zeros((size, n), dtype=int)
        if k < E:
            at = (t * E + k) * n
            block[at:at + n] = np.eye(n, dtype=int)
        return block
    coefficients = functional(coded(i, unit)).reshape(T, E, n)
    signs = np.sign(coefficients.astype(float)).astype(int)
    worst = coded(i, lambda t, k: signs[t, min(k, E - 1)][None])
    return abs(coefficients).sum(), abs(functional(worst)[0])


def flat(graph):
    """Clients without losses, whose gradients are what is handed in."""
    n = graph.n
    return ft.Quadratic.from_linear([[[0]]] * n, [[0]] * n, [str(v) for v in graph.weights])


def free(name, graph, E, beta, rounds=2, ratio=1, ks=None, lr="1/10", **extra):
    """No losses: gradients are handed in. ks: default before the first, a middle and after the last local step."""
    return Rounds(f"{name}, E={E}, beta={beta}" + f", {rounds} rounds" * (rounds != 2) + f", ratio {ratio}" * (ratio != 1),
                  flat(graph), ours(lr, E, beta, graph), rounds=rounds, ratio=ft.fraction(ratio),
                  ks=tuple(ks or sorted({0, E // 2, E})), x0=extra.pop("x0", 0), **extra)


def pushed(i, signs):
    """The instance with gradients of one sign per client and round: signs (rounds, n)."""
    signs = np.array(signs, dtype=object)
    return i.but(slots=lambda t, k: signs[t][None])


def worst_pair(i, a, b):
    """Against each other: a's neighbours and b's in every round."""
    return pushed(i, [[1 if u >= v else -1 for u, v in zip(i.P[a], i.P[b], strict=True)]] * i.rounds)


def worst_point(i, j):
    """All against client j's perturbed point."""
    now = [1 if c != j or i.p[j] >= i.beta else -1 for c in range(i.n)]
    then = [1 if u >= v else -1 for u, v in zip(i.p, i.P[j], strict=True)]
    return pushed(i, [then] * (i.rounds - 1) + [now])


def of_coded(meaning, i):
    """What the symbols of a proof are on the instance's coded rounds."""
    return meaning(i, coded(i))


def few(i):
    """Clients that are looked at."""
    return range(min(i.n, 4))


# ---- instances and draws --------------------------------------------------------------------------------------------
HUBER = ft.HuberLoss([[[1]], [[2]], [[1]]], [[0], [3], [-1]], 1, weights=[str(v) for v in UNEQUAL.weights])
SIGNS = np.array(list(itertools.product((1, -1), repeat=3)), dtype=object)


def noisy(name, E, beta, lr="1/5", rounds=2):
    """Huber clients on a graph of three; in the first local step of the last two rounds each has its own noise of +-1/2."""
    draws = np.array([(*a, *b) for a in SIGNS for b in SIGNS], dtype=object) / Q(2)

    def slots(t, k):
        at = t - rounds + 2
        return draws[:, 3 * at:3 * at + 3] if k == 0 and at >= 0 else 0 * draws[:, :3]
    return Rounds(f"{name}, E={E}, beta={beta}, {rounds} rounds", HUBER, ours(lr, E, beta, UNEQUAL), rounds=rounds, ratio=Q(1),
                  ks=(0, E // 2, E), x0=4, slots=slots, chances=(Q(1, 64),) * 64)


HUBERS = [noisy("Huber clients, noise", 2, "1/2"), noisy("Huber clients, noise", 3, "1/10", rounds=4)]
GRAPHS = {"pair": lambda n: SWAP, "star": star, "matching": lambda n: matching(n + n % 2), "complete": complete}
BETA = ft.Variable("beta", lambda i: i.beta)
RATIO = ft.Variable("step of the round before", lambda i: i.last / i.gamma)
ENDS = {"clients": (2, 300), "local steps": (1, 300), BETA: (Q(1, 100), 1), RATIO: (0, 100)}
CORNERS = ({"shape": "pair", "E": 300, "beta": Q(1)}, {"shape": "star", "n": 40, "E": 1, "beta": Q(1, 100)},
           {"shape": "complete", "n": 7, "E": 2, "ratio": 100, "beta": Q(1, 2)}, {"shape": "pair", "rounds": 1, "E": 3})


def drawn(draw, shape=None, n=None, E=None, beta=None, ratio=None, rounds=2):
    """Gradients of one sign per client and round, or of any size below 1, on a graph of one of four shapes."""
    shape, n = shape or draw(st.sampled_from(list(GRAPHS))), n or draw(st.integers(2, 6))
    E = E or draw(st.sampled_from([1, 2, 5]))
    beta = beta or draw(st.sampled_from([Q(1, 100), Q(1, 3), Q(1, 2), Q(9, 10), Q(1)]))
    ratio = ratio or draw(st.sampled_from([1, 1, Q(1, 10), 10]))
    i = free("drawn", GRAPHS[shape](max(n, 2)), E, str(beta), rounds, ratio, ks=(0, E), x0=draw(st.integers(-3, 3)))
    sizes = st.sampled_from([Q(1), Q(-1), Q(1), Q(-1), Q(1, 2), Q(0)])
    return pushed(i, [[draw(sizes) for _ in range(i.n)] for _ in range(rounds)]).but(G2=Q(1))


SEARCH = ft.Search((ft.Family("bounded gradients", drawn, CORNERS),), tries=16)


def of_pair(*options, **extra):
    return worst_pair(free(*options, **extra), 0, 1)


def of_point(*options, **extra):
    return worst_point(free(*options, **extra), 0)


def G2(i):
    """G^2 of what was run; drawn gradients are at most 1."""
    return i.extra.get("G2") or coded(i).G2()


big = free("300 clients in pairs", matching(300), 1, "9/10", x0=5, ks=(1,))
big_pair, big_point = worst_pair(big, 0, 1), worst_point(big, 0)
on_lemb1 = [of_pair("two clients", SWAP, 5, "1/2", x0=5), of_pair("unequal weights", UNEQUAL, 3, "1/3", x0=5),
            of_pair("star of six", star(6), 2, "9/10", x0=5), of_pair("complete graph", complete(5), 2, "1/2", x0=5),
            of_pair("first round", FOUR, 2, "1/2", 1, x0=5), of_pair("300 local steps", SWAP, 300, "1/2", x0=5, ks=(0,)),
            of_pair("four rounds", FOUR, 2, "1/100", 4, x0=5), of_pair("longer steps before", SWAP, 1, "1", ratio=100), *HUBERS,
            big_pair]


# ---- Lemma 1 of Appendix B ------------------------------------------------------------------------------------------
@ft.claim("lemb1", on=on_lemb1, rejects=[bugs.rows_not_normalised, bugs.degrees_not_used], proof=proofs.pair,
          meaning=lambda i: of_coded(proofs.pair_meaning, i), domain=proofs.ANY, ends=ENDS, search=SEARCH)
def lemb1(i):
    r"""For all clients $i,j$: $E\|u_t^i-u_t^j\|^2\le4\gamma_{t-1}^2E^2G^2$ from the second round on, and $u_t^i=u_t^j$ in the
    first."""
    r = coded(i)
    most = max(r.mean(heard(a, b)(r) ** 2) for a, b in itertools.combinations(few(i), 2))
    return ft.at_most(most, ft.Terms(**f.pair_bound(i.last, i.E, G2(i))), "the largest of some pairs")


on_sup = [free("two clients", SWAP, 5, "1/2"), free("unequal weights", UNEQUAL, 3, "1/3"), free("four clients", FOUR, 2, "9/10"),
          free("star of seven", star(7), 2, "1/10"), free("eight in pairs", matching(8), 2, "1/10"),
          free("longer steps before", UNEQUAL, 2, "1/2", ratio=3), free("complete graph", complete(5), 3, "1"),
          free("40 clients, star", star(40), 1, "1/2", ks=(1,)), free("30 local steps", SWAP, 30, "1/100", ks=(30,)),
          free("first round", FOUR, 2, "1/2", 1), free("three rounds", UNEQUAL, 2, "1/4", 3)]


@ft.claim("lemb1-sup", on=on_sup, proof=proofs.pair_sup, search=SEARCH,
          meaning=lambda i: of_coded(proofs.pair_meaning, worst_pair(i, 0, 1)),
          rejects=[bugs.server_for_neighbours, bugs.own_model_included, bugs.neighbours_counted_alike, bugs.rows_not_normalised],
          domain=proofs.ANY + "; attained by the coded rounds of the listed settings, whose coefficients are exact")
def lemb1_sup(i):
    r"""Over all gradients with $E\|g\|^2\le G^2$ the largest $(E\|u_t^i-u_t^j\|^2)^{1/2}$, $t\ge1$, is
    $\gamma_{t-1}EG\,\|P_i-P_j\|_1$, with rows of the neighbour matrix; at most $2\gamma_{t-1}EG$, which two clients attain."""
    if "slots" in i.extra:   # a draw
        r = coded(i)
        return [ft.at_most(r.mean(heard(a, b)(r) ** 2), f.pair(i.last, i.E, f.one_norm(i.P[a], i.P[b])) ** 2 * G2(i),
                           f"clients {a} and {b}") for a, b in itertools.combinations(few(i), 2)]
    pairs = [(0, 1), (0, i.n - 1)]
    stated = [f.pair(i.last, i.E, f.one_norm(i.P[a], i.P[b])) for a, b in pairs]
    return [ft.equal(supremum(i, heard(a, b)), [value] * 2, f"largest and attained, clients {a} and {b}, in units of G")
            for (a, b), value in zip(pairs, stated, strict=True)]


# ---- Lemma 2 of Appendix B ------------------------------------------------------------------------------------------
on_lemb2 = [of_point("two clients", SWAP, 5, "1/2", x0=5), of_point("unequal weights", UNEQUAL, 3, "1/3", x0=5),
            of_point("star of six", star(6), 2, "9/10", x0=5), of_point("complete graph", complete(5), 2, "1/2", x0=5),
            of_point("first round", FOUR, 2, "1/2", 1, x0=5), of_point("300 local steps", SWAP, 300, "1", x0=5, ks=(300,)),
            of_point("four rounds", FOUR, 2, "1/100", 4, x0=5), of_point("longer steps before", SWAP, 1, "9/10", ratio=100),
            *HUBERS, big_point]


def distances(i):
    """The largest E|wbar_k - wtilde_k^j|^2 of some clients, per k."""
    r = coded(i)
    return {k: max(r.mean(apart(i, k, j)(r) ** 2) for j in few(i)) for k in i.ks}


@ft.claim("lemb2", on=on_lemb2, rejects=[bugs.rows_not_normalised, bugs.degrees_not_used], proof=proofs.lemma2,
          meaning=lambda i: of_coded(proofs.point_meaning, i), domain=proofs.ANY, ends=ENDS, search=SEARCH)
def lemb2(i):
    r"""For every client and $k\le E$: $E\|\bar w_{t,k}-\tilde w_{t,k}^i\|^2\le4\gamma_t^2E^2G^2\big[4+(1-\beta)^2\big]
    +32\gamma_{t-1}^2(1-\frac1\beta)^2E^2G^2$, the last term from the second round on. $(1-\beta)^2$ is checked together with the
    4 beside it, which alone covers both."""
    return ft.at_most(max(distances(i).values()), ft.Terms(**f.lemma2(i.gamma, i.last, i.beta, i.E, G2(i))))


@ft.claim("lemb2-sharp", on=on_lemb2, rejects=[bugs.beta_swapped, bugs.rows_not_normalised, bugs.degrees_not_used],
          proof=proofs.sharp, meaning=lambda i: of_coded(proofs.point_meaning, i), domain=proofs.ANY, ends=ENDS, search=SEARCH)
def lemb2_sharp(i):
    r"""$E\|\bar w_{t,k}-\tilde w_{t,k}^i\|^2\le(3-\beta)^2\gamma^2E^2G^2$ for a constant step, and
    $\big(2\beta\gamma_t+(1-\beta)(\gamma_t+2\gamma_{t-1})\big)^2E^2G^2$ for others: bounded for all $\beta$, and nearly attained
    by 300 clients in pairs."""
    return ft.at_most(max(distances(i).values()), ft.Terms(sharp=f.sharp(i.gamma, i.last, i.beta, i.E) ** 2 * G2(i)))


def stated_distance(i, k, j):
    """Of client j before local step k."""
    return f.distance(i.gamma, i.last, i.beta, k, i.E, i.p[j], abs(i.p[j] - i.beta), f.one_norm(i.p, i.P[j]))


@ft.claim("lemb2-sup", on=on_sup, proof=proofs.distance, meaning=lambda i: of_coded(proofs.point_meaning, worst_point(i, 0)),
          rejects=[bugs.beta_swapped, bugs.server_for_neighbours, bugs.own_for_neighbours, bugs.own_model_included,
                   bugs.neighbours_counted_alike, bugs.iterate_perturbed, bugs.neighbours_of_this_round],
          domain=proofs.ANY + "; attained by the coded rounds of the listed settings, whose coefficients are exact; gradient "
                              "sequences, not losses: an L-smooth client cannot turn its gradient over at Theorem 3's step")
def lemb2_sup(i):
    r"""Over all gradient sequences with $E\|g\|^2\le G^2$ the largest $(E\|\bar w_{t,E}-\tilde w_{t,E}^i\|^2)^{1/2}$ is
    $\gamma EG\big[1-p_i+|\beta-p_i|+(1-\beta)\|p-P_i\|_1\big]$; before local step $k$ the first two have $k$ for $E$, and in the
    first round the last is absent."""
    return [ft.equal(supremum(i, apart(i, k, j)), [stated_distance(i, k, j)] * 2, f"largest and attained, k={k}, client {j}")
            for k in i.ks for j in (0, i.n - 1)]


# ---- averaged over clients ------------------------------------------------------------------------------------------
def together(name, graph, E, beta, **options):
    """Apart in the round before, all one way in this one."""
    i = free(name, graph, E, beta, **options)
    return pushed(i, [[1 if j % 2 else -1 for j in range(i.n)], [1] * i.n])


on_lemb2s = [*on_lemb2, together("two clients, then together", SWAP, 4, "1/100", x0=5),
             pushed(free("two clients against each other", SWAP, 6, "1", x0=5), [[1, -1]] * 2)]


@ft.claim("lemb2s", on=on_lemb2s, rejects=[bugs.beta_swapped, bugs.rows_not_normalised, bugs.degrees_not_used],
          proof=proofs.averaged, meaning=lambda i: of_coded(proofs.mean_meaning, i), domain=proofs.ANY, ends=ENDS, search=SEARCH)
def lemb2s(i):
    r"""$\sum_ip_iE\|\bar w_{t,k}-\tilde w_{t,k}^i\|^2\le(1-\beta)^2\gamma_t^2k^2G^2
    +\big(\beta\gamma_tk+(1-\beta)\gamma_{t-1}E\big)^2G^2$, without $\gamma_{t-1}$ in the first round. For a constant step this
    is at most $E^2(1+(1-\beta)^2)\gamma^2G^2$: all that Theorems 3 and 4 use of Lemma 2."""
    r, out = coded(i), []
    for k in i.ks:
        average = sum(p * r.mean(apart(i, k, j)(r) ** 2) for j, p in enumerate(i.p))
        out.append(ft.at_most(average, ft.Terms(**f.averaged(i.gamma, i.last, i.beta, k, i.E, G2(i))), f"k={k}"))
    return out


def _round_of_gradients():
    """(106) on coded rounds whose gradients are 0 in round t, and the third line of a_3 (App. A) after one noisy FedProx step."""
    i = pushed(free("quiet round t", SWAP, 2, "1/2"), [[1, -1], [0, 0]])
    r = coded(i)
    earlier = sum(g[0] for g in r.given[:i.E])
    found = r.u[0, 0] - r.u[0, 1]
    method, problem = prox("1/4", 1, 1).to(ft.RATIONAL), ft.Quadratic([[[1]]], [[0]], ["1"]).to(ft.RATIONAL)
    xi = ft.RATIONAL.array(np.array([[[4]], [[-4]]]))
    w = numbers(method.round(problem, method.init(problem, ft.RATIONAL.array(np.array([[1], [1]]))),
                             ft.everyone(1, 1)._replace(xi=lambda k: xi)).x)
    a3, rest = -2 * Q(1, 16) * w.mean(), Q(1, 16) * (Q(1, 4) - 2) * (w**2).mean()   # w_* = 0, L = mu = alpha = 1, gamma = 1/4
    return (ft.equal([r.u[0, j] - r.before[0, 0] for j in (0, 1)], [-i.last * earlier[1], -i.last * earlier[0]],
                     "averages of round t are made of the gradients of round t - 1"),
            ft.at_most(0, found**2, "with those of round t, all 0, the right side of (106) is 0", strict=True),
            ft.at_most(found**2, 4 * i.last**2 * i.E * i.E, "with those of round t - 1 it holds"),
            ft.at_most(rest, a3, "a_3 with the running mean, that is w_{t,k} of one client: fails", strict=True),
            ft.at_most(a3, Q(1, 4) * ((1 - w) ** 2).mean() + rest, "with the mean at the start of the round it holds"))


ft.finding("typo-round-index", kind="misprint", breaks="lemb1", check=_round_of_gradients,
           reading="(105) and (106) say t where the models of round t - 1 are unrolled; the third line of the bound of a_3 in "
                   "Lemma 3 of App. A prints the running mean where the line before has the mean at the start of the round.",
           survives="Both lemmas: what follows uses the right index (lemb1).")
