"""Stability of FOCUS: thresholds, mean against mean square, damping by local steps."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import stability as bugs
from verification.focus.bugs import structure as wrong
from verification.focus.coded import rounds_to, square_rate
from verification.focus.formulas import stability as f
from verification.focus.instances import damping, line, spread


def _lyapunov(i):
    """X with X - T(X) = 1 for the derived second-moment map T: positive if and only if T is stable."""
    T = i.op.moments.second_matrix()
    eye = ft.linalg.identity(len(T), T)
    v = ft.linalg.solve(eye - T, i.op.moments._pack(ft.linalg.identity(i.op.reachable, T)[None]))
    return i.op.moments._unpack(v)[0], ft.linalg.determinant(eye - T)


def _one_client():
    k = ft.Field("eta h p s u")
    eta, h, p, s, u = k.symbols
    return ft.Instance("one client, symbols", line([h], [0]), ft.Focus(eta, 1), ft.Bernoulli([p]), domain=k, h=h, p=p, s=s, u=u,
                       says="s >= 0 measures the distance to the limit, p = 1/(1 + u)")


one_client = [_one_client()]


@ft.claim("new-threshold", covers={"n": "none", "d": "none", "tau": "none"},
          on=one_client, rejects=[bugs.skips_empty_rounds, wrong.server_moves_first],
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
    return (ft.nonnegative(at(X[0, 0], below), "below: X_11 > 0"), ft.nonnegative(at(minor, below), "below: det X > 0"),
            ft.nonnegative(-at(X[0, 0], above), "above: X_11 < 0"),
            ft.equal(at(gap, 1 + 0 * i.s), 0 * i.s, "at the limit: det(1 - T) = 0"))


@ft.claim("new-threshold-mean", covers={"n": "none", "d": "none", "tau": "none"},
          on=one_client, rejects=[bugs.skips_empty_rounds, wrong.server_moves_first],
          domain="every h > 0, p in (0, 1], eta > 0, by the three conditions of Jury for 2 x 2 matrices")
def new_threshold_mean(i):
    r"""Same case: the mean map is stable for all $\eta h<(4-2p)/p$."""
    M, _ = i.op.mean_map()
    p = 1 / (1 + i.u)
    trace, det = M[0, 0] + M[1, 1], M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]

    def below(value):
        return value.substitute(p=p, eta=f.mean_threshold(p) / (1 + i.s) / i.h)
    return (ft.nonnegative(below(1 - det), "1 - det > 0"), ft.nonnegative(below(1 - trace + det), "1 - tr + det > 0"),
            ft.nonnegative(below(1 + trace + det), "1 + tr + det > 0"),
            ft.equal((1 + trace + det).substitute(p=p, eta=f.mean_threshold(p) / i.h), 0 * i.s,
                     "an eigenvalue -1 at the limit"))


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


def _limit_of_equal_clients(i):
    derived = np.stack([_coordinates(_push(i, S), i.n) for S in _symmetric(i)], axis=1)
    stated = f.equal_clients(i.n, i.a, i.p, (1 - i.a) ** (i.tau - 1))
    general = f.equal_clients(i.N, i.a, i.p, i.P)
    det = ft.linalg.determinant(ft.linalg.identity(4, general) - general)
    return (ft.equal(derived, stated[:len(derived), :len(derived)], "second moments of the coded round"),
            ft.equal(det, -i.N * i.P**3 * i.a * i.p**2 * f.limit_equation(i.N, i.a, i.p, i.P), "det(1 - T), N a symbol"))


THRESHOLDS = {2: ("2", "1.9604", "1.2", "0.43902", "0.20994"), 4: ("2", "2.1758", "2", "0.85714", "0.41758")}
PROBABILITIES = (Q(1), Q(9, 10), Q(1, 2), Q(1, 5), Q(1, 10))


def _equal(N, p, digits, side):
    """N equal clients of curvature 1 just below or above the printed limit of eta N h."""
    step = (Q(digits) + side * Q(1, 10 ** (len(digits.partition(".")[2]) or 4))) / N
    return ft.Instance(f"N={N}, p={p}, {'below' if side < 0 else 'above'}", line([1] * N, range(N)), ft.Focus(step, 1),
                       ft.Full() if p == 1 else ft.Bernoulli([p] * N), p=p, digits=digits, side=side)


equal_clients = [_equal(N, p, text, side) for N, row in THRESHOLDS.items()
                 for p, text in zip(PROBABILITIES, row, strict=True) for side in (-1, 1)]


def _equal_symbols(n, tau):
    k = ft.Field("a p N P")
    a, p, N, power = k.symbols
    return ft.Instance(f"{n} clients, tau={tau}", line([1] * n, [0] * n), ft.Focus(a, tau), ft.Bernoulli([p] * n), domain=k,
                       a=a, p=p, N=N, P=power, says="curvature 1, a = eta h and p are symbols")


equal_symbols = [_equal_symbols(n, tau) for n, tau in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1))]


@ft.claim("new-threshold-equal", on=[*equal_symbols, *equal_clients], rejects=[bugs.skips_empty_rounds],
          domain="tables: N = 2, 4 and five p, stable one unit of the last digit below and unstable one above, exactly; "
                 "formula: every p, a, tau and N (second moments are polynomials of degree 2 in N, compared with the coded "
                 "round at N = 1, 2, 3)")
def new_threshold_equal(i):
    r"""$N$ equal clients, Bernoulli $p$: the mean-square limit solves $a(4-4p+NPp^2(2-P))=2p(2-P)(2-Pp)$ with $a=\eta h$,
    $P=(1-a)^{\tau-1}$; for $\tau=1$, $N=2,4$ the limits of $\eta Nh$ at $p=1,.9,.5,.2,.1$ are those tabulated.
    """
    if "P" in i.extra:
        return _limit_of_equal_clients(i)
    stable = i.op.certify(width=1e-6).mean_square
    limit = f.limit_one_step(i.n, i.p)
    shown = Q(i.digits)
    return (ft.at_most(stable[1], Q(1), "stable", strict=True) if i.side < 0 else ft.at_most(Q(1), stable[0], "unstable"),
            ft.at_most(abs(limit - shown), Q(1, 2 * 10 ** (len(i.digits.partition(".")[2]) or 4)), "formula against the table"))


mean_against_square = [spread("eta=1/100, tau=1", "1/100", 1, mean="0.9545", square="1.0063")]


@ft.claim("new-mean-vs-ms", on=mean_against_square, rejects=[bugs.skips_empty_rounds, wrong.pushes_averaged],
          domain="h = (1,3,10), p = (.9,.5,.05), eta = .01, tau = 1: enclosures of both rates")
def new_mean_vs_ms(i):
    r"""$h=(1,3,10)$, $p=(.9,.5,.05)$, $\eta=.01$, $\tau=1$: mean rate $.9545$ but mean-square rate $1.0063$."""
    certificate = i.op.certify(width=1e-6)
    return (*rounds_to(certificate.mean, i.mean, "mean rate"),
            *rounds_to(certificate.mean_square, i.square, "mean-square rate"),
            ft.at_most(certificate.mean[1], Q(1), "stable in mean", strict=True),
            ft.at_most(Q(1), certificate.mean_square[0], "not in mean square", strict=True))


@ft.claim("new-tau-damping", on=damping, rejects=[bugs.skips_empty_rounds, wrong.pushes_averaged],
          domain="h = (1,3,10), p = (.9,.5,.05), eta = .01, tau = 1, 2, 5, 20: enclosures")
def new_tau_damping(i):
    r"""More local steps damp: on $h=(1,3,10)$, $p=(.9,.5,.05)$, $\eta=.01$ the mean-square rate is $1.0063$, $.9988$, $.9838$,
    $.9674$ for $\tau=1,2,5,20$.
    """
    return rounds_to(square_rate(i, 1e-8), i.square, "mean-square rate")


def _first_order(n, tau):
    k = ft.Field("eta " + " ".join(f"h{i}" for i in range(n)) + " " + " ".join(f"p{i}" for i in range(n)))
    eta, *rest = k.symbols
    return ft.Instance(f"N={n}, tau={tau}", line(rest[:n], [0] * n), ft.Focus(eta, tau), ft.Bernoulli(rest[n:]), domain=k,
                       h=rest[:n], says="curvatures, probabilities and eta are symbols")


first_order = [_first_order(1, 1), _first_order(1, 3), _first_order(2, 1), _first_order(2, 4), _first_order(3, 2)]


@ft.claim("new-tau-no-rate-gain", on=first_order, rejects=[wrong.tracking_reset],
          domain="N = 1, 2, 3 clients with any curvatures and probabilities, tau = 1 to 4; first-order perturbation of the "
                 "simple eigenvalue 1 of the mean map and of the second-moment map at eta = 0")
def new_tau_no_rate_gain(i):
    r"""To first order the mean rate of FOCUS is $1-\eta\sum_ih_i$ and its mean-square rate $1-2\eta\sum_ih_i$, whatever $\tau$ and
    the $p_i$: local steps never speed it up for small $\eta$.
    """
    op, total = i.op_anywhere, sum(i.h[1:], i.h[0])
    M, _ = op.mean_map()
    consensus = np.array([1 + 0 * total, total, *i.h], dtype=object)  # (x, y, g) with every stored point at x = 1
    moved = op.moments.second(np.outer(consensus, consensus)[None])[0]
    mean = ft.linalg.matmul(M, consensus[:, None])[:, 0]
    still = [v.series("eta", 0)[0] for v in mean]
    # x alone is the left vector: at eta = 0 the server does not move
    return (ft.equal([v.series("eta", 0)[0] for v in M[0]], [int(k == 0) for k in range(len(M))], "left vector at eta = 0"),
            ft.equal(still, consensus, "right vector at eta = 0"),
            ft.equal(mean[0].series("eta", 1)[1], -total, "slope of the mean rate"),
            ft.equal(moved[0, 0].series("eta", 1)[1], -2 * total, "slope of the mean-square rate"))


def _frozen(tau):
    k = ft.Field("h2 h3 p2 p3")
    h2, h3, p2, p3 = k.symbols
    return ft.Instance(f"eta h_1 = 1, tau={tau}", line([1, h2, h3], [0, 0, 0]), ft.Focus(1, tau), ft.Bernoulli([1, p2, p3]),
                       domain=k, client=1, says="the curvatures and probabilities of the other clients are symbols")


frozen = ft.illustrate([_frozen(2), _frozen(3),
                        spread("(1,3,10), eta=1/10, tau=2", "1/10", 2, ft.Full(), client=3)])


@ft.claim("new-tau-freeze", on=frozen, rejects=[bugs.one_step_only],
          domain="three clients, the frozen one with eta h = 1, all other curvatures and probabilities, tau = 2, 3; exactly on "
                 "the ledger's instance")
def new_tau_freeze(i):
    r"""If $\eta h_i=1$ and $\tau\ge2$, client $i$ never refreshes its stored point: its row of every round is the identity, so
    the mean-square rate is at least 1.
    """
    op = i.op_anywhere
    row = list(op.reach.names).index(f"g[{i.client - 1}][0]")
    unit = [int(k == row) for k in range(op.dimension)]
    M, c = op.mean_map()
    T = op.moments.second(op.domain.array(np.diag(unit))[None])[0]
    return (ft.equal(M[row], unit, "the stored gradient stays, in mean"), ft.equal(c[row], 0 * c[row], "and is not pushed"),
            ft.equal(T[row, row], 1 + 0 * T[row, row], "and in mean square"))
