"""Speed-up in the number of clients on identical clients, and whether the rates know how far the clients are apart."""
from fractions import Fraction as Q
from functools import cache

import numpy as np

import fltheory as ft
from verification.fedres import bugs, instances
from verification.fedres.formulas import theorem1 as f
from verification.fedres.formulas import theorem2 as t
from verification.fedres.one_round import gamma2, root_above
from verification.symbols import Symbols

BLOCKS, VARIANCE, LOCAL, ROUNDS = (1, 0.3, 1), 0.5, 5, 2000
SIZES = (1, 2, 4, 8, 16, 64, 256, 1000)
SHARED, EQUAL = "lambda = eta/N", "lambda = eta"
CAP = float(1 / (root_above(gamma2(instances.alike(1))) * LOCAL))      # 1/(gamma K), the same for every N
STEPS = np.geomspace(1e-6, 1, 400) * CAP


def personal(rule, eta, n):
    return eta / n if rule == SHARED else eta


@cache
def errors(rule):
    """{n: errors (steps,)} by the formula, all sizes at once."""
    n = np.array(SIZES)[:, None]
    return dict(zip(SIZES, f.alike_error(BLOCKS, VARIANCE, n, LOCAL, ROUNDS, STEPS, personal(rule, STEPS, n)), strict=True))


def best(rule, n):
    """(step, least error) by the formula over the steps tried."""
    seen = errors(rule)[n]
    return STEPS[seen.argmin()], seen.min()


def alike(rule, n):
    """n identical clients at the best step of the rule."""
    eta = float(best(rule, n)[0])
    return ft.Instance(f"{n} clients, {rule}", instances.alike(n), ft.FedResSgd(eta, LOCAL, personal_lr=personal(rule, eta, n)),
                       ft.Full(), domain=ft.FLOAT, rule=rule, says=f"K={LOCAL}, {ROUNDS} rounds, step {eta:.2e}")


def of_coded_rounds(i):
    """E F - F* after the rounds, from coded rounds alone: of unit states and of every unit of noise of one client."""
    p, a, n = i.problem.to(ft.FLOAT), i.algorithm.to(ft.FLOAT), i.n

    def after(w, theta, slot=None, unit=None):
        noise = np.zeros((2 * LOCAL, n, 2))
        if slot is not None:
            noise[slot, 0, unit] = 1
        start = a.init(p, np.zeros(1))._replace(x=np.full(1, float(w)), theta=np.broadcast_to(theta, (n,)).astype(float)[:, None])
        state = a.round(p, start, ft.everyone(n, LOCAL)._replace(xi=noise.__getitem__))
        return np.array([state.x[0], state.theta[:, 0].mean()]), state.theta[0, 0], state.theta[-1, 0]

    T = np.array([after(1, 0)[0], after(0, 1)[0]]).T
    units = [after(0, 0, slot, unit) for slot in range(2 * LOCAL) for unit in (0, 1)]
    noise = n * VARIANCE * sum(np.outer(both, both) for both, *_ in units)     # client by client, independent
    own = VARIANCE * sum((first - last if n > 1 else 0) ** 2 for _, first, last in units)
    first, last = after(0, np.arange(n) == 0)[1:]
    S, apart = np.ones((2, 2)), 0.0
    for _ in range(ROUNDS):
        S, apart = T @ S @ T.T + noise, (first - last) ** 2 * apart + own
    corners = [float(p.joint_value(np.array([w]), np.full((n, 1), float(v)))) for w, v in ((1, 0), (0, 1), (1, 1))]
    rest = float(p.joint_value(np.zeros(1), np.ones((n, 1)))) * (1 - 1 / n) * apart      # sum of squares over n, at w = 0
    return corners[0] * S[0, 0] + corners[1] * S[1, 1] + (corners[2] - corners[0] - corners[1]) * S[0, 1] + rest


on_alike = [alike(rule, n) for rule in (SHARED, EQUAL) for n in SIZES]


@ft.claim("nospeedup-exact", on=on_alike, rejects=[bugs.personal_averaged, bugs.large_step_not_multiplied],
          ends={"clients": (1, SIZES[-1])},
          reading="On one problem: blocks 1, .3, 1 in every client, noise of variance 1/2 on each coordinate, all coordinates 1 at "
                  "the start, 5 local steps, 2,000 rounds, the best of 400 steps up to 1/(gamma K).")
def nospeedup_exact(i):
    r"""On identical clients the best final error does not fall with N where $\lambda=\eta/N$ (1.23e-4 at N = 1, 1.40e-2 at
    N = 1000); where $\lambda=\eta$ it does, down to 6.50e-5, about half."""
    at = SIZES.index(i.n)
    here, before = best(i.rule, i.n)[1], best(i.rule, SIZES[max(at - 1, 0)])[1]
    moves = [] if at == 0 else [ft.at_most(*((before, here) if i.rule == SHARED else (here, before)), "beside fewer clients",
                                           strict=True)]
    shown = {(SHARED, 1): 1.23e-4, (SHARED, 1000): 1.40e-2, (EQUAL, 1000): 6.50e-5}.get((i.rule, i.n))
    return [ft.equal(of_coded_rounds(i), here, "coded rounds"), *moves,
            *([] if shown is None else [ft.equal(float(f"{here:.2e}"), shown, "as stated")])]


# ---- no measure of mismatch -----------------------------------------------------------------------------------
KNOWN = "gamma beta sigma2 G D N K R gap"


def rates(s):
    """Every term that Theorems 1 to 3 print, as radicands."""
    shared = s.gamma, s.beta, s.sigma2, s.N, s.K, s.R, s.gap, s.D**2
    later = [*t.leading(*shared).values(), *t.leading_restated(*shared).values()]
    return [f.leading3(s.gamma, s.sigma2, s.D, s.N, s.K, s.R), f.middle2(s.gamma, s.G, s.D, s.N, s.R, 2), s.D**2 * s.gamma / s.R,
            f.strongly_convex(s.gamma, s.beta, s.sigma2, s.N, s.K, s.R), *(term for term, _ in later)]


def with_mismatch(formula):
    """The distance of two clients' gradients is in a rate."""
    return lambda s: [term * (1 + s.zeta) for term in formula(s)]


with_mismatch.of = "formula"
every = Symbols(f"{KNOWN} zeta")


def apart(distance):
    """|x* - x^1|^2 of two clients whose personal optima are this far from 0, on either side, and started at 0."""
    problem = instances.scalar([1, 1], [0, 0], [1, 1], [0, 0], [distance, -distance])
    return sum(ft.fraction(v) ** 2 for part in problem.joint_optimum() for v in np.asarray(part).reshape(-1))


@ft.claim("remark-mismatch", rejects=[with_mismatch], covers={"n": "all", "d": "all", "tau": "all"},
          on=[ft.Instance("all symbols", formula=rates, s=every, domain=every.field, says=f"{KNOWN} and zeta, a mismatch")],
          domain="every term that the three theorems print",
          reading="Of the printed rates. Mismatch is in them all the same: D is at least the distance of the start from the "
                  "optimum, and grows with it.")
def remark_mismatch(i):
    """No measure of the mismatch of the clients' distributions appears in the rates; it enters through G and D."""
    terms = i.formula(i.s)
    moves = {name: sum(term.substitute(**{name: 2}) != term.substitute(**{name: 3}) for term in terms) for name in "GD"}
    return [*(ft.equal(term, term.substitute(zeta=0), "does not depend on a mismatch") for term in terms),
            ft.equal(moves["G"], 1, "the middle term of Theorem 1 has G"), ft.at_most(1, moves["D"], "D appears"),
            *(ft.equal(apart(m), 2 * Q(m) ** 2, f"D^2 at least, personal optima {m} from 0") for m in (0, 1, 1000))]
