"""Participation with memory: slow chains, one step for all laws, independence between rounds."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import repository as public
from verification.focus.bugs import stability as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.coded import coded, rounds_to, square_rate
from verification.focus.formulas import stability as f
from verification.focus.instances import SPREAD, damping, line, spread, st
from verification.focus.setups import MC, SURE, Digits, below


def keeps_its_client(stay, n=3):
    """Exactly one client a round; the chain keeps its client with probability `stay`, else moves to any other."""
    stay = Q(stay)
    matrix = tuple(tuple(stay if i == j else (1 - stay) / (n - 1) for j in range(n)) for i in range(n))
    return ft.Chain(sets=tuple((i,) for i in range(n)), matrix=matrix)


def _slow(stay, **extra):
    return spread(f"keeps its client with probability {stay}", "1/2700", 1, keeps_its_client(stay), q=Q(1, 3), h=SPREAD,
                  **extra)


sticky = [_slow(s, square=text) for s, text in (("1/3", "0.98955"), ("9/10", "0.98879"), ("99/100", "0.99773"))]
slow_chain = [_slow("999/1000", square="1.0000098"), *sticky]


@ft.claim("conj-markov-qmin-step", on=slow_chain, needs=[], finding="markov-slow-chain", instead="conj-markov-restricted",
          rejects=[], reading="The belief read as convergence in mean square, as in Theorem 1, with its steps, which know the "
                              "smallest averaging weight only. The paper names no step.",
          survives="On the same chain the mean and typical runs converge (diverges-in-mean-square). A step that also depends on "
                   "the mixing time of the chain (conj-markov-restricted; existence for every chain on the page of "
                   "conj-markov).",
          at=("keeps its client with probability 999/1000",), script="witnesses/markov_slow_chain.py")
def conj_markov_qmin_step(i):
    r"""Strong reading of the belief in Limitations: exact convergence in mean square under Markov participation at every step
    that Theorem 1 admits.
    """
    low, high = square_rate(i, 1e-9)
    return ft.at_most(ft.Bounds(low, high), Q(1), "mean-square rate", strict=True)


def _ass1_independence():
    """At the same step and the same p_i, q_i the rate of Theorem 1 holds for independent rounds and fails for a slow chain."""
    eta, mu, N = Q(1, 2700), Q(1), 3
    rate = 1 - eta * mu * N / 2
    return (ft.at_most(square_rate(slow_chain[1], 1e-7)[1], rate,
                       "independent rounds (stay probability 1/3): rate of Theorem 1"),
            ft.at_most(rate, square_rate(slow_chain[0], 1e-9)[0], "stay probability .999: above it", strict=True))


ft.finding("ass1-independence", kind="missing-hypothesis", breaks="conj-markov-qmin-step",
           at=("keeps its client with probability 999/1000",), check=_ass1_independence,
           step="every proof conditions on the past and uses the marginal p_i of the next round",
           reading="Assumption 1 as printed: it fixes p_i and q_i of a round and says nothing about different rounds. Only the "
                   "Limitations say that the proofs do not cover Markov participation.",
           survives="Rounds that are independent of each other, any dependence between clients within a round.")


@ft.claim("conj-markov-restricted", on=sticky, rejects=[bugs.forgets_the_chain, public.equal_rows],
          domain="h = (1,3,10), one client a round, eta = 1/2700, stay probability 1/3, .9, .99: enclosures")
def conj_markov_restricted(i):
    r"""On the three-client sticky chain FOCUS at $\eta=1/2700$ contracts in mean square for stay probability $1/3$, $.9$, $.99$:
    rates $.98955$, $.98879$, $.99773$.
    """
    found = square_rate(i, 1e-7)
    return (*rounds_to(found, i.square, "mean-square rate"), ft.at_most(found[1], Q(1), "contracts", strict=True))


def _start(i):
    return i.algorithm.to(i.domain).init(i.problem.to(i.domain), i.domain.array(np.zeros(1, dtype=np.int64)))


def _two_states(i):
    """det(1 - T) over the modes absent and present is a p (1-c)^2 (2p(1-c) - a(2-p(1+c))): positive below one limit of
    a = eta h, negative above it, where an odd number of eigenvalues exceeds 1."""
    kind = type(_start(i))
    maps = []
    for S in ((), (1,)):
        columns = [coded(i, kind(*(np.array(v, dtype=object) + 0 * i.eta for v in unit)), [S])[1]
                   for unit in (([1], [0], [[0]]), ([0], [1], [[1]]))]  # x = 1; and g = y = 1
        maps.append(np.array([[s.x[0] for s in columns], [s.g[0, 0] for s in columns]], dtype=object))
    places = [(m, j, k) for m in (0, 1) for j, k in ((0, 0), (0, 1), (1, 1))]

    def image(m, j, k):
        X = np.full((2, 2), 0 * i.eta, dtype=object)
        X[j, k] = X[k, j] = 1 + 0 * i.eta
        after = [i.transitions[m][to] * (maps[to] @ X @ maps[to].T) for to in (0, 1)]
        return [after[to][a, b] for to, a, b in places]
    T = np.array([image(*place) for place in places], dtype=object).T
    a, p, c = i.eta, i.p, i.c
    return (ft.equal(ft.linalg.determinant(ft.linalg.identity(6, T) - T),
                     a * p * (1 - c)**2 * (2 * p * (1 - c) - a * (2 - p * (1 + c))),
                     "det(1 - T)"),
            ft.equal(f.markov_threshold(p, c) * (2 - p * (1 + c)), 2 * p * (1 - c), "limit of eta h: 2p(1-c)/(2-p(1+c))"))


def participants(law):
    """Who takes part in each mode."""
    return law.sets


def _chain(name, law, n, tau):
    k = ft.Field("eta " + " ".join(f"h{i}" for i in range(n)))
    eta, *h = k.symbols
    return ft.Instance(name, line(h, [0] * n), ft.Focus(eta, tau), law, domain=k, h=h, seen=participants,
                       says="curvatures and eta are symbols")


def _chain_symbols():
    k = ft.Field("eta p c")
    eta, p, c = k.symbols
    return ft.Instance("one client, any chain of two states", line([1], [0]), ft.Focus(eta, 1), ft.Full(), domain=k, p=p, c=c,
                       transitions=[[1 - p * (1 - c), p * (1 - c)], [1 - p - c * (1 - p), p + c * (1 - p)]], seen=participants,
                       says="h = 1; stationary probability p and correlation c are symbols")


chains = [_chain_symbols(), _chain("one client, sticky", ft.Markov("1/3", "9/10", 1), 1, 1),
          _chain("one client, tau=3", ft.Markov("1/3", "-1/5", 1), 1, 3),
          _chain("two clients, each its own chain", ft.Markov(("1/2", "1/5"), ("3/5", "1/2"), 2), 2, 1),
          _chain("two clients in turn, sticky, tau=2", keeps_its_client("99/100", 2), 2, 2)]


@ft.claim("conj-markov", on=chains, rejects=[bugs.forgets_one_client],
          reading="Existence: for every finite irreducible chain in which each client appears there is a step below which FOCUS "
                  "contracts in mean square.",
          survives="Proved here for one and two clients with the listed chains, all curvatures as symbols; for a given step the "
                   "exact certificate decides (conj-markov-restricted).")
def conj_markov(i):
    r"""Exact convergence also for Markov participation, with some step that may depend on the chain. On quadratics: (i) at $\eta=0$
    consensus times the stationary law is the right vector and the server block the left vector of the eigenvalue 1, (ii) all other
    eigenvalues have modulus below 1, (iii) the eigenvalue moves with slope $-2\sum_ih_i$.
    """
    if "transitions" in i.extra:
        return _two_states(i)
    op, total = i.op_anywhere, sum(i.h[1:], i.h[0])
    moments, n = op.moments, len(i.h)
    pi = moments.stationary_modes()
    consensus = np.array([1 + 0 * total, total, *i.h], dtype=object)
    X = np.stack([q * np.outer(consensus, consensus) for q in pi])
    after = moments.second(X)
    still = np.array([v.series("eta", 0)[0] for v in after.reshape(-1)], dtype=object)
    moved = sum(block[0, 0].series("eta", 1)[1] for block in after)
    # (ii) x stays, and x - z_i is kept only while client i is away: powers of the chain restricted to its absence vanish
    chain = np.array([[ft.fraction(v) for v in row] for row in i.law.chain()], dtype=object)
    survival = []
    for client in range(n):
        away = [k for k in range(i.law.modes) if client not in i.seen(i.law)[k]]
        kept = ft.linalg.power(chain[np.ix_(away, away)], 60) if away else np.zeros((1, 1), dtype=object)
        survival.append(ft.at_most(max(sum(row) for row in kept), Q(1), f"client {client + 1} stays away 60 rounds",
                                   strict=True))
    return (ft.equal(still, X.reshape(-1), "right vector at eta = 0"),
            ft.equal(moved, -2 * total, "slope of the unit eigenvalue"), *survival)


def _theorem_step(h, q):
    """The largest step of Theorem 1 (strongly convex part) that is surely admissible: q^2 in place of q^1.5/sqrt(N)."""
    mu, L, N = min(h), max(h), len(h)
    return min(Q(mu) / (9 * N * L * L), Q(q) ** 2 / (8 * L * N))


def _any(name, h, law, q, tau=1):
    eta = _theorem_step(h, q)
    return ft.Instance(name, line(h, range(len(h))), ft.Focus(eta, tau), law, h=h, q=q)


def random_participation(draw, n=None, tau=None, law=None, top=None):
    """Two or three clients, any curvatures, a random law over the non-empty sets, the largest step that is surely admissible."""
    n = n or draw(st.integers(2, 3))
    h = tuple(draw(st.integers(1, 6)) for _ in range(n)) if top is None else (1,) * (n - 1) + (top,)
    p = tuple(draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 4), Q(1, 10)])) for _ in range(n))
    law = law or (ft.Full() if min(p) == 1 else ft.Bernoulli(p, "redraw"))
    return _any("random law", h, law, min(law.averaging_weights(n)), tau or draw(st.integers(1, 4)))


any_participation = [_any("one of three", (1, 3, 10), ft.Uniform(1), Q(1, 3)), _any("all", (1, 3, 10), ft.Full(), Q(1, 3), 3),
                     _any("rare client", (1, 2), ft.Bernoulli(("1", "1/20"), "redraw"), Q(1, 40)),
                     _any("rare client, tau=4", (1, 2), ft.Bernoulli(("1", "1/20"), "redraw"), Q(1, 40), 4)]


@ft.claim("sec5-1-any-participation", on=any_participation, rejects=[wrong.tracking_reset],
          needs=[ft.Hypothesis("strongly convex step", r"$\eta\le\mu/(9NL^2)$",
                               lambda i: (i.eta, Q(min(i.h)) / (9 * len(i.h) * Q(max(i.h)) ** 2))),
                 ft.Hypothesis("step of Theorem 1", r"$\eta^2\le q_{\min}^3/(64L^2N)$",
                               lambda i: (i.eta**2, i.q**3 / (64 * Q(max(i.h)) ** 2 * len(i.h)))),
                 ft.Hypothesis("local steps", r"$\eta\le1/(3L(\tau-1))$",
                               lambda i: (3 * Q(max(i.h)) * (i.algorithm.steps - 1) * i.eta, 1)),
                 ft.Hypothesis("smallest averaging weight", r"$q_{\min}$",
                               lambda i: (i.q, min(i.law.averaging_weights(len(i.h)))))],
          search=ft.Search((ft.Family("random laws and curvatures", random_participation,
                                      ({"n": 8, "law": ft.Uniform(1), "top": 2}, {"n": 2, "tau": 50}, {"n": 2, "top": 1000},
                                       {"n": 2, "law": ft.Weighted(1, (99, 1))}, {"n": 2, "top": 1})),), tries=25),
          ends={"clients": (2, 8), "local steps": (1, 50), "condition number": (1, 1000), "averaging weight": (Q(1, 100), Q(1, 2))})
def sec5_1_any_participation(i):
    r"""Any participation scheme with non-zero probabilities still gives exact convergence, at the steps of Theorem 1: $x^\star$ is
    the fixed point and the mean-square rate is below 1.
    """
    best = ft.linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))
    return (ft.equal(i.op.fixed_point().x, best, "fixed point"),
            ft.at_most(ft.Bounds(*square_rate(i, float(i.eta * min(i.h)) / 4)), Q(1), "mean-square rate", strict=True))


def rare_client(eta, p):
    """One client of curvature 1 that takes part with probability p."""
    return ft.Instance(f"p={p}", line([1], [0]), ft.Focus(eta, 1), ft.Full() if p == 1 else ft.Bernoulli([p]))


def _e19():
    """A given step is unstable for all small enough p, and stable at p = 1."""
    eta = Q(1, 10)
    rare = Q(1, 25)
    limit = f.threshold(rare)
    below = rare_client(eta, rare)
    return (ft.at_most(limit, eta, "one client, eta h = 1/10: limit 2p/(2-p) at p = 1/25 lies below", strict=True),
            ft.at_most(Q(1), square_rate(below)[0], "its mean-square rate is above 1", strict=True),
            ft.at_most(ft.Bounds(*square_rate(rare_client(eta, Q(1)))), Q(1), "while p = 1 converges", strict=True))


ft.finding("e19", kind="remark", breaks="sec5-1-any-participation", check=_e19,
           reading="One step size for every participation scheme with non-zero probabilities.",
           survives="Steps that know the smallest weight, as in Theorem 1 (sec5-1-any-participation).")


def _diverges_in_mean_square():
    out = []
    for i, rounds in ((damping[0], 500), (slow_chain[0], 5000)):
        measured = i.but(simulate=MC | {"rounds": rounds, "metrics": {"digits": Digits(i.problem)}}).run
        start, end = (measured.interval(r, "digits", SURE) for r in (0, -1))
        out += [ft.at_most(Q(1), square_rate(i, 1e-9)[0], f"{i.name}: mean-square rate above 1", strict=True),
                ft.at_most(i.op.rate(), 1.0, f"{i.name}: mean rate", strict=True),
                below(end, start, f"{i.name}: mean of log10(|x - x*|/|x*|) after {rounds} rounds, against the start")]
    return out


ft.finding("diverges-in-mean-square", kind="empirical", check=_diverges_in_mean_square,
           says="Where we say that FOCUS diverges its mean square grows. In both examples rare long absences carry that growth: "
                "the mean converges, and so does a typical run, by the mean of log10|x - x*| over 256 seeds.",
           reading="Mean-square convergence is what the paper's theorems state; 'exact convergence' in its Limitations names "
                   "none.",
           survives="Convergence of the mean and of typical runs; almost sure convergence is not proved here.")
