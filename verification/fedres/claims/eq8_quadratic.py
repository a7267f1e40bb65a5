"""Appendix C, Eq 8 on quadratics: without the gradient bound, with half the noise, at every step that Theorem 1 admits."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres import bugs, instances, rounds
from verification.fedres.claims.eq8 import decrease, personal
from verification.fedres.formulas import theorem1 as f
from verification.fedres.moments import steady
from verification.fedres.one_round import Noise, noise_of
from verification.fedres.proofs import eq8 as proofs
from verification.fedres.proofs import eq8_numbers as numbers
from verification.fedres.proofs import theorem1 as rates
from verification.fedres.rounds import Beyond

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def convex_blocks(i):
    """1 where every client's Hessian is positive semi-definite, decided exactly."""
    p = i.stated.problem
    return int(all(ft.linalg.is_positive_definite(ft.linalg.to_fractions(np.block([[A, B], [B.T, C]])), strict=False)
                   for A, B, C in zip(p.A, p.B, p.C, strict=True)))


convex = ft.Hypothesis("Assumption 1", r"every $L_i$ convex (0 if one is not)", lambda i: (1, convex_blocks(i)))
same_noise = ft.Hypothesis("steady noise", r"the noise does not depend on the state (1 if it does)",
                           lambda i: (int(noise_of(i.stated).where is not None), 0))
strongly = ft.Hypothesis("strongly convex", r"$\beta>0$", lambda i: (0, i.beta), strict=True)
ROUND = [convex, rounds.variance, rounds.server_cap, personal, rounds.independent]
STEADY = [*ROUND, same_noise]
WRONG = [bugs.large_step_not_multiplied, bugs.personal_averaged]

COLUMNS = (4, 3, 4)     # a block column of norm 5: gamma is rational, steps at the cap are exact


def alike(n, blocks=COLUMNS):
    return instances.alike(n, *blocks)


def at_cap(name, problem, K, gamma, *more, **extra):
    """eta gamma K = 1."""
    return steady(name, problem, K, 1 / (ft.fraction(gamma) * K), *more, **extra)


WIDE = instances.scalar([4, "1/100000000"], [0, 0], ["1/100000000", 5], [1, 0], [0, 1])
TURNED = ft.Residual([[[4, 0], [0, 1]], [[2, 1], [1, 2]]], [[[1], [0]], [["1/2", 0], ["1/3", 1]]], [[[1]], [[2, 0], [0, 3]]],
                     [[1, 0], [0, 2]], [[1], [-1, 1]])
operators = [at_cap("one client at the cap, K=1", alike(1), 1, 5, noise=1),
             at_cap("three clients at the cap, K=7", alike(3), 7, 5, noise=1),
             at_cap("condition number 5e8", WIDE, 4, 5, noise=1),
             steady("unequal dimensions, K=3", instances.unequal(), 3, "1/10", 1),
             steady("blocks that do not commute", TURNED, 5, "1/100", 2),
             steady("one client, tiny step", alike(1), 2, "1/10000", 1)]
states = [at_cap("300 clients, K=3", alike(300), 3, 5, 0, [1], [[-2]] * 300),
          at_cap("one client, K=300", alike(1), 300, 5, 0, [1], [[2]]),
          at_cap("noise alone, K=1", alike(1, (5, 0, 5)), 1, 5, Noise((1,), (2,))),
          at_cap("noise alone, two clients, K=2", alike(2), 2, 5, Noise((1,), (Q(1, 2),), skew=2)),
          at_cap("two coupled clients, noise", alike(2), 2, 5, Noise((1,), (Q(1, 2),), skew=2), [1], [[-2], [3]]),
          steady("two clients apart", instances.scalar([1, 1], [0, 0], [1, 1], [0, 0], [3, -3]), 2, "1/10", 0, [0], [[2], [-2]]),
          steady("w alone", instances.scalar([1], [0], ["1/1000"], [0], [0]), 8, "1/80", 0, [1], [[0]])]


def round_decrease(i, depends=False):
    """The matrix inequality and the noise of the derived round, or a coded round from one state."""
    gain, noise = f.eq8_gain(i.eta, i.K), f.quadratic_noise(i.gamma, i.eta, i.sigma2, i.n, i.K, depends)
    if i in states or isinstance(i.noise, Noise) or i.extra.get("coded"):
        return [decrease(i, gain, noise)]
    (T, _, covariance), H = i.round_map, i.H
    fall = (H - ft.linalg.matmul(ft.linalg.matmul(T.T, H), T)) / 2 - gain * ft.linalg.matmul(H, H)
    return [ft.equal(int(ft.linalg.is_positive_definite(fall, strict=False)), 1,
                     "(H - T'HT)/2 - eta K/4 H^2 is positive semi-definite"),
            ft.at_most((H * covariance).sum() / 2, ft.Terms(noise=noise), "noise of one round")]


def drawn(draw, n=None, K=None, share=None, definite=False, noise=1):
    """Convex quadratics with one shared and one personal number, sums of squares; many clients are alike and tried from a state."""
    size, parts = n or draw(st.integers(1, 3)), st.integers(-3, 3)
    rows = [[(draw(parts), draw(parts)) for _ in range(draw(st.integers(1, 2)))] for _ in range(1 if n else size)]
    rows = rows * (size if n else 1)
    tiny = Q(1, draw(st.sampled_from([1, 100, 10**8]))) if definite else 0
    blocks = [[sum(r[a] * r[b] for r in own) + (a == b) * tiny for a, b in ((0, 0), (0, 1), (1, 1))] for own in rows]
    if not any(v for one in blocks for v in one):
        return None
    problem = instances.scalar(*zip(*blocks, strict=True), [0] * size, [0] * size)
    K = K or draw(st.integers(1, 6))
    made = steady("drawn", problem, K, 1)
    eta = Q(share or draw(st.sampled_from(rounds.SHARES))) / (made.gamma * K)
    start = [draw(parts)], [[draw(parts)] for _ in range(size)]
    return steady("drawn", problem, K, eta, 0 if n else noise, *start, coded=bool(n),
                  says=f"rows={rows[:4]}, tiny={tiny}, K={K}, eta={eta}")


MANY, LONG = 300, 300
CORNERS = ({"n": MANY, "K": 1}, {"n": 1, "K": LONG}, {"share": "1", "K": 1}, {"share": "1/1000"})
ENDS = {"clients": (1, MANY), "local steps": (1, LONG), "step over its cap": (Q(1, 1000), 1)}
SEARCH = ft.Search((ft.Family("convex quadratics", drawn, CORNERS),), tries=60)


@ft.claim("eq8-quad", on=[*operators, *states], needs=STEADY, rejects=WRONG, ends=ENDS, search=SEARCH, domain=proofs.STEADY,
          proof=lambda: (proofs.quadratic_round(), proofs.direction(), proofs.steps_taken()), meaning=numbers.quadratic,
          reading="Where the noise depends on the state, both blocks can be at their worst: eq8-quad-noise-general.")
def eq8_quad(i):
    r"""On convex quadratics, $\lambda=\eta/N$, $\eta\le1/(\gamma K)$, noise that does not depend on the state:
    $EF(x^{r+1})\le F(x^r)-\frac{\eta K}4\|\nabla F(x^r)\|^2+\frac{\gamma\eta^2\sigma^2K}{2N}$."""
    return round_decrease(i)


def of_state(n):
    """Both blocks at their worst in one round: noise in theta at theta = 0, noise in w where theta has moved."""
    return at_cap(f"loud where it hurts, N={n}", alike(n, (5, 0, 5)), 1, 5, Noise((1,), (1,), where=turned, variance=1))


def turned(w, theta):
    moved = (theta != 0) * 1
    return moved, 1 - moved


@ft.claim("eq8-quad-noise-general", on=[of_state(1), of_state(2), of_state(3), *operators, *states,
                                        at_cap("common noise of the state", alike(2), 2, 5,
                                               Noise((1,), (1,), where=Beyond(0, Q(1, 3))))],
          needs=ROUND, rejects=WRONG, ends=ENDS, search=SEARCH, domain=proofs.QUADRATIC,
          proof=lambda: (proofs.quadratic_round(True), proofs.direction()), meaning=numbers.quadratic,
          reading="Sharp: with A = C = gamma, B = 0 and N = K = 1 both sides are equal.")
def eq8_quad_noise_general(i):
    r"""With noise that may depend on the state, eq8-quad holds with $\frac12\big(1+\frac1N\big)\frac{\gamma\eta^2\sigma^2K}N$."""
    return round_decrease(i, depends=True)


def definite(draw, **at):
    return drawn(draw, definite=True, **at)


DEFINITE = [*operators[:3], operators[4], at_cap("w is slow", instances.scalar(["1/100"], [0], [5], [0], [0]), 8, 5, 1)]
FEW = ({"K": 60, "share": "1"}, {"share": "1", "K": 1}, {"share": "1/1000"})
RATE_ENDS = {"local steps": (1, 60), "step over its cap": (Q(1, 1000), 1)}
RATE_SEARCH = ft.Search((ft.Family("strongly convex quadratics", definite, FEW),), tries=30)


@ft.claim("eq8-quad-rate", on=DEFINITE, needs=[*STEADY, strongly], rejects=WRONG[:1], ends=RATE_ENDS, search=RATE_SEARCH,
          proof=rates.on_quadratics, meaning=numbers.runs,
          domain=proofs.STEADY.replace("convex quadratics", "strongly convex quadratics"))
def eq8_quad_rate(i):
    r"""On quadratics FedResSGD contracts in the norm of $\nabla^2F$: $\rho(T)^2\le1-\frac{\beta\eta K}2$, with
    $\|Tz\|^2_{\nabla^2F}\le(1-\frac{\beta\eta K}2)\|z\|^2_{\nabla^2F}$ for every $z$."""
    (T, _, _), H, rate = i.round_map, i.H, f.contraction(i.eta, i.beta, i.K)
    left = rate * H - ft.linalg.matmul(ft.linalg.matmul(T.T, H), T)
    return (ft.equal(int(ft.linalg.is_positive_definite(left, strict=False)), 1,
                     "(1 - beta eta K/2) H - T'HT is positive semi-definite"),
            ft.at_most(ft.linalg.charpoly_radius(T)[1] ** 2, rate, "squared spectral radius"))


@ft.claim("eq8-quad-floor", on=DEFINITE, needs=[*STEADY, strongly],
          proof=rates.on_quadratics, meaning=numbers.runs,
          domain=proofs.STEADY.replace("convex quadratics", "strongly convex quadratics"))
def eq8_quad_floor(i):
    r"""On strongly convex quadratics with noise that does not depend on the state, the stationary error obeys
    $EF(x)-F^*\le\frac{\gamma\eta\sigma^2}{\beta N}$."""
    return ft.at_most(i.floor, ft.Terms(noise=f.quadratic_floor(i.gamma, i.eta, i.sigma2, i.beta, i.n)))
