"""Stability of FOCUS: thresholds, mean against mean square, damping by local steps, Markov participation."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.core.scalars import fraction
from fltheory.verdicts.claims.claim import Hypothesis, claim
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most, equal, nonnegative
from fltheory.verdicts.claims.search import Family, Search
from verification.focus.bugs import repository as public
from verification.focus.bugs import stability as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.claims.trajectories import coded
from verification.focus.formulas import stability as f
from verification.focus.instances import stability as I


def rounds_to(certified, text, label):
    """A certified enclosure lies within half a unit of the last printed digit (and the enclosure's own width)."""
    low, high = certified
    half = Q(1, 2 * 10 ** len(text.partition(".")[2]))
    return (at_most(Bounds(low, high), Q(text) + half, f"{label}: not above {text}"),
            at_most(Q(text) - half, low, f"{label}: not below {text}"))


def square_rate(i, width=1e-6):
    return i.op.certify(width=width).mean_square


def _lyapunov(i):
    """X with X - T(X) = 1 for the derived second-moment map T: positive if and only if T is stable."""
    T = i.op.moments.second_matrix()
    eye = linalg.identity(len(T), T)
    v = linalg.solve(eye - T, i.op.moments._pack(linalg.identity(i.op.reachable, T)[None]))
    return i.op.moments._unpack(v)[0], linalg.determinant(eye - T)


@claim("new-threshold", covers={"n": "none", "d": "none", "tau": "none"},
       on=I.one_client, rejects=[bugs.skips_empty_rounds, wrong.server_moves_first],
       domain="every h > 0, p in (0, 1], eta > 0: below the limit X - T(X) = 1 has a positive definite solution, above it a "
              "negative entry on the diagonal, at it T has the eigenvalue 1")
def new_threshold(i):
    r"""One client, $\tau=1$, Bernoulli $p$, the server also moving in empty rounds: mean-square stable if and only if
    $\eta h<\dfrac{2p}{2-p}$.
    """
    X, gap = _lyapunov(i)
    p = 1 / (1 + i.u)

    def at(value, share):
        return value.substitute(p=p, eta=f.threshold(p) * share / i.h)
    below, above = 1 / (1 + i.s), 1 + i.s
    minor = X[0, 0] * X[1, 1] - X[0, 1] * X[1, 0]
    return (nonnegative(at(X[0, 0], below), "below: X_11 > 0"), nonnegative(at(minor, below), "below: det X > 0"),
            nonnegative(-at(X[0, 0], above), "above: X_11 < 0"),
            equal(at(gap, 1 + 0 * i.s), 0 * i.s, "at the limit: det(1 - T) = 0"))


@claim("new-threshold-mean", covers={"n": "none", "d": "none", "tau": "none"},
       on=I.one_client, rejects=[bugs.skips_empty_rounds, wrong.server_moves_first],
       domain="every h > 0, p in (0, 1], eta > 0, by the three conditions of Jury for 2 x 2 matrices")
def new_threshold_mean(i):
    r"""Same case: the mean map is stable for all $\eta h<(4-2p)/p$."""
    M, _ = i.op.mean_map()
    p = 1 / (1 + i.u)
    trace, det = M[0, 0] + M[1, 1], M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]

    def below(value):
        return value.substitute(p=p, eta=f.mean_threshold(p) / (1 + i.s) / i.h)
    return (nonnegative(below(1 - det), "1 - det > 0"), nonnegative(below(1 - trace + det), "1 - tr + det > 0"),
            nonnegative(below(1 + trace + det), "1 + tr + det > 0"),
            equal((1 + trace + det).substitute(p=p, eta=f.mean_threshold(p) / i.h), 0 * i.s, "an eigenvalue -1 at the limit"))


@claim("new-threshold-equal", on=[*I.equal_symbols, *I.equal_clients], rejects=[bugs.skips_empty_rounds],
       domain="tables: N = 2, 4 and five p, stable one unit of the last digit below and unstable one above, exactly; "
              "formula: every p, a, tau and N (second moments are polynomials of degree 2 in N, compared with the coded "
              "round at N = 1, 2, 3)")
def new_threshold_equal(i):
    r"""$N$ equal clients, Bernoulli $p$: the mean-square limit solves $a(4-4p+NPp^2(2-P))=2p(2-P)(2-Pp)$ with $a=\eta h$,
    $P=(1-a)^{\tau-1}$; for $\tau=1$, $N=2,4$ the limits of $\eta Nh$ at $p=1,.9,.5,.2,.1$ are those tabulated.
    """
    if "n" in i.extra:
        return _limit_of_equal_clients(i)
    stable = i.op.certify(width=1e-6).mean_square
    limit = f.limit_one_step(i.N, i.p)
    shown = Q(i.digits)
    return (at_most(stable[1], Q(1), "stable", strict=True) if i.side < 0 else at_most(Q(1), stable[0], "unstable"),
            at_most(abs(limit - shown), Q(1, 2 * 10 ** (len(i.digits.partition(".")[2]) or 4)), "formula against the table"))


def _limit_of_equal_clients(i):
    derived = np.stack([_coordinates(_push(i, S), i.n) for S in _symmetric(i)], axis=1)
    stated = f.equal_clients(i.n, i.a, i.p, (1 - i.a) ** (i.tau - 1))
    general = f.equal_clients(i.N, i.a, i.p, i.P)
    det = linalg.determinant(linalg.identity(4, general) - general)
    return (equal(derived, stated[:len(derived), :len(derived)], "second moments of the coded round"),
            equal(det, -i.N * i.P**3 * i.a * i.p**2 * f.limit_equation(i.N, i.a, i.p, i.P), "det(1 - T), N a symbol"))


def _symmetric(i):
    """Second moments of (x, g_1, .., g_n) that do not change when clients change places, one per kind of product."""
    n, one = i.n, 1 + 0 * i.a

    def matrix(pairs):
        S = np.full((n + 1, n + 1), 0 * i.a, dtype=object)
        for j, k in pairs:
            S[j, k] = S[k, j] = one
        return S
    g = range(1, n + 1)
    kinds = [[(0, 0)], [(0, k) for k in g], [(k, k) for k in g], [(j, k) for j in g for k in g if j < k]]
    return [matrix(pairs) for pairs in kinds if pairs]


def _push(i, S):
    """One coded round on second moments of (x, g), with y = sum g_i."""
    n = i.n
    embed = np.full((n + 2, n + 1), 0 * i.a, dtype=object)
    embed[0, 0] = embed[0, 0] + 1
    for k in range(1, n + 1):
        embed[1, k] = embed[k + 1, k] = 1 + 0 * i.a
    after = i.op_anywhere.moments.second((embed @ S @ embed.T)[None])[0]
    keep = [0, *range(2, n + 2)]
    return after[np.ix_(keep, keep)]


def _coordinates(S, n):
    return [S[0, 0], S[0, 1], S[1, 1]] + ([S[1, 2]] if n > 1 else [])


@claim("new-mean-vs-ms", on=I.mean_against_square, rejects=[bugs.skips_empty_rounds, wrong.pushes_averaged],
       domain="h = (1,3,10), p = (.9,.5,.05), eta = .01, tau = 1: enclosures of both rates")
def new_mean_vs_ms(i):
    r"""$h=(1,3,10)$, $p=(.9,.5,.05)$, $\eta=.01$, $\tau=1$: mean rate $.9545$ but mean-square rate $1.0063$."""
    certificate = i.op.certify(width=1e-6)
    return (*rounds_to(certificate.mean, i.mean, "mean rate"), *rounds_to(certificate.mean_square, i.square, "mean-square rate"),
            at_most(certificate.mean[1], Q(1), "stable in mean", strict=True),
            at_most(Q(1), certificate.mean_square[0], "not in mean square", strict=True))


@claim("new-tau-damping", on=I.damping, rejects=[bugs.skips_empty_rounds, wrong.pushes_averaged],
       domain="h = (1,3,10), p = (.9,.5,.05), eta = .01, tau = 1, 2, 5, 20: enclosures")
def new_tau_damping(i):
    r"""More local steps damp: on $h=(1,3,10)$, $p=(.9,.5,.05)$, $\eta=.01$ the mean-square rate is $1.0063$, $.9988$, $.9838$,
    $.9674$ for $\tau=1,2,5,20$.
    """
    return rounds_to(square_rate(i, 1e-8), i.square, "mean-square rate")


@claim("new-tau-no-rate-gain", on=I.first_order, rejects=[wrong.tracking_reset],
       domain="N = 1, 2, 3 clients with any curvatures and probabilities, tau = 1 to 4; first-order perturbation of the simple "
              "eigenvalue 1 of the mean map and of the second-moment map at eta = 0")
def new_tau_no_rate_gain(i):
    r"""To first order the mean rate of FOCUS is $1-\eta\sum_ih_i$ and its mean-square rate $1-2\eta\sum_ih_i$, whatever $\tau$ and
    the $p_i$: local steps never speed it up for small $\eta$.
    """
    op, total = i.op_anywhere, sum(i.h[1:], i.h[0])
    M, _ = op.mean_map()
    consensus = np.array([1 + 0 * total, total, *i.h], dtype=object)  # (x, y, g) with every stored point at x = 1
    moved = op.moments.second(np.outer(consensus, consensus)[None])[0]
    mean = linalg.matmul(M, consensus[:, None])[:, 0]
    still = [v.series("eta", 0)[0] for v in mean]
    # x alone is the left vector: at eta = 0 the server does not move
    return (equal([v.series("eta", 0)[0] for v in M[0]], [int(k == 0) for k in range(len(M))], "left vector at eta = 0"),
            equal(still, consensus, "right vector at eta = 0"),
            equal(mean[0].series("eta", 1)[1], -total, "slope of the mean rate"),
            equal(moved[0, 0].series("eta", 1)[1], -2 * total, "slope of the mean-square rate"))


@claim("new-tau-freeze", on=I.frozen, rejects=[bugs.one_step_only],
       domain="three clients, the frozen one with eta h = 1, all other curvatures and probabilities, tau = 2, 3; exactly on the "
              "ledger's instance")
def new_tau_freeze(i):
    r"""If $\eta h_i=1$ and $\tau\ge2$, client $i$ never refreshes its stored point: its row of every round is the identity, so
    the mean-square rate is at least 1.
    """
    op = i.op_anywhere
    row = list(op.reach.names).index(f"g[{i.client - 1}][0]")
    unit = [int(k == row) for k in range(op.dimension)]
    M, c = op.mean_map()
    T = op.moments.second(op.domain.array(np.diag(unit))[None])[0]
    return (equal(M[row], unit, "the stored gradient stays, in mean"), equal(c[row], 0 * c[row], "and is not pushed"),
            equal(T[row, row], 1 + 0 * T[row, row], "and in mean square"))


@claim("conj-markov-qmin-step", on=I.slow_chain, needs=[], finding="markov-slow-chain", instead="conj-markov-restricted",
       rejects=[], reading="The belief read as convergence in mean square, as in Theorem 1, with its steps, which know the "
                           "smallest averaging weight only. The paper names no step.",
       survives="On the same chain the mean and typical runs converge (diverges-in-mean-square). A step that also depends on the "
                "mixing time of the chain (conj-markov-restricted; existence for every chain on the page of conj-markov).")
def conj_markov_qmin_step(i):
    r"""Strong reading of the belief in Limitations: exact convergence in mean square under Markov participation at every step
    that Theorem 1 admits.
    """
    low, high = square_rate(i, 1e-9)
    return at_most(Bounds(low, high), Q(1), "mean-square rate", strict=True)


@claim("conj-markov-restricted", on=I.sticky, rejects=[bugs.forgets_the_chain, public.equal_rows],
       domain="h = (1,3,10), one client a round, eta = 1/2700, stay probability 1/3, .9, .99: enclosures")
def conj_markov_restricted(i):
    r"""On the three-client sticky chain FOCUS at $\eta=1/2700$ contracts in mean square for stay probability $1/3$, $.9$, $.99$:
    rates $.98955$, $.98879$, $.99773$.
    """
    found = square_rate(i, 1e-7)
    return (*rounds_to(found, i.square, "mean-square rate"), at_most(found[1], Q(1), "contracts", strict=True))


@claim("table1-reference-rates", on=I.reference, kind="stability",
       rejects=[wrong.pushes_averaged, wrong.stores_first_gradient, public.fixed_divisor, public.variate_drifts],
       domain="the 2-d reference instance, eta = .05, tau = 4, twelve enclosures")
def table1_reference_rates(i):
    r"""On the reference instance ($\eta=.05$, $\tau=4$) the mean-square rates of FOCUS, SCAFFOLD and MIFA are those tabulated, for
    full participation, one uniform client, and two non-empty Bernoulli laws.
    """
    return rounds_to(square_rate(i, 1e-8), i.square, "mean-square rate")


@claim("conj-markov", on=I.chains, rejects=[bugs.forgets_one_client],
       reading="Existence: for every finite irreducible chain in which each client appears there is a step below which FOCUS "
               "contracts in mean square.",
       survives="Proved here for one and two clients with the listed chains, all curvatures as symbols; for a given step the exact "
                "certificate decides (conj-markov-restricted).")
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
    chain = np.array([[fraction(v) for v in row] for row in i.law.chain()], dtype=object)
    survival = []
    for client in range(n):
        away = [k for k in range(i.law.modes) if client not in i.seen(i.law)[k]]
        kept = linalg.power(chain[np.ix_(away, away)], 60) if away else np.zeros((1, 1), dtype=object)
        survival.append(at_most(max(sum(row) for row in kept), Q(1), f"client {client + 1} stays away 60 rounds", strict=True))
    return (equal(still, X.reshape(-1), "right vector at eta = 0"), equal(moved, -2 * total, "slope of the unit eigenvalue"),
            *survival)


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
    return (equal(linalg.determinant(linalg.identity(6, T) - T), a * p * (1 - c)**2 * (2 * p * (1 - c) - a * (2 - p * (1 + c))),
                  "det(1 - T)"),
            equal(f.markov_threshold(p, c) * (2 - p * (1 + c)), 2 * p * (1 - c), "limit of eta h: 2p(1-c)/(2-p(1+c))"))


def _start(i):
    return i.algorithm.to(i.domain).init(i.problem.to(i.domain), i.domain.array(np.zeros(1, dtype=np.int64)))


@claim("sec5-1-any-participation", on=I.any_participation, rejects=[wrong.tracking_reset],
       needs=[Hypothesis("strongly convex step", r"$\eta\le\mu/(9NL^2)$",
                         lambda i: (i.eta, Q(min(i.h)) / (9 * len(i.h) * Q(max(i.h)) ** 2))),
              Hypothesis("step of Theorem 1", r"$\eta^2\le q_{\min}^3/(64L^2N)$",
                         lambda i: (i.eta**2, i.q**3 / (64 * Q(max(i.h)) ** 2 * len(i.h)))),
              Hypothesis("local steps", r"$\eta\le1/(3L(\tau-1))$",
                         lambda i: (3 * Q(max(i.h)) * (i.algorithm.steps - 1) * i.eta, 1)),
              Hypothesis("smallest averaging weight", r"$q_{\min}$", lambda i: (i.q, min(i.law.averaging_weights(len(i.h)))))],
       search=Search((Family("random laws and curvatures", I.random_participation),), tries=25))
def sec5_1_any_participation(i):
    r"""Any participation scheme with non-zero probabilities still gives exact convergence, at the steps of Theorem 1: $x^\star$ is
    the fixed point and the mean-square rate is below 1.
    """
    best = linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))
    return (equal(i.op.fixed_point().x, best, "fixed point"),
            at_most(Bounds(*square_rate(i, float(i.eta * min(i.h)) / 4)), Q(1), "mean-square rate", strict=True))
