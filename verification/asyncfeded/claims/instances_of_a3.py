"""Problems on which Assumptions 1 and 3 hold exactly: quadratics with one Hessian, and tilted Griewank functions."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded.formulas import instances_of_a3 as f
from verification.asyncfeded.griewank import Griewank
from verification.asyncfeded.proofs import instances_of_a3 as proofs
from verification.symbols import Symbols

BALL = ft.Balls(128)


# ---- quadratics ------------------------------------------------------------------------------------------------------------
def quadratics(name, H, b, points, domain=ft.RATIONAL, formula=f.common_hessian):
    """Clients x'H_i x/2 - b_i'x and points at which they are looked at; formula: of sigma_g^2, or of the growth."""
    return ft.Instance(name, ft.Quadratic.from_linear(H, b), domain=domain, formula=formula, points=points)


def symbolic(same):
    """Three clients in the plane, every entry a symbol; same: with one Hessian."""
    s = Symbols("p q r", h=9, b=6, x=2)
    H = [[[p, q], [q, r]] for p, q, r in ([[s.p, s.q, s.r]] * 3 if same else [s.h[j:j + 3] for j in (0, 3, 6)])]
    name = "symbols, one Hessian" if same else "symbols, three Hessians"
    return quadratics(name, H, [s.b[:2], s.b[2:4], s.b[4:]], [s.x], s.field, f.apart)


def deviations(i, x):
    """[|grad f_i - grad F|^2] at x, F the plain average, by coded gradients."""
    problem = i.problem.to(i.domain)
    g = problem.grad(i.domain.array(np.array([list(x)] * problem.n, dtype=object)))
    mean = sum(g) / problem.n
    return [sum((u - v) * (u - v) for u, v in zip(row, mean, strict=True)) for row in g]


largest = bugs.wrong("one_entry", "The first entry of H_i - mean H in place of all of them.", f.apart,
                     lambda H: [(h[0][0] - sum(k[0][0] for k in H) / len(H)) ** 2 for h in H])
not_centred = bugs.wrong("not_centred", "b_i is not measured from the mean.", f.common_hessian,
                         lambda b: max(sum(u * u for u in row) for row in b))
PLANE = [[1, "1/2"], ["1/2", 3]]
NUMBERS = [quadratics("one Hessian, indefinite", [[[1, 2], [2, 1]]] * 4, [[1, 0], [0, 3], [2, 2], [-1, 1]], [[0, 0], [7, -2]]),
           quadratics("equal clients", [PLANE] * 2, [[1, 0]] * 2, [[5, 5]]),
           quadratics("300 clients", [[[2]]] * 300, [[j % 3] for j in range(300)], [[0], [100]]),
           quadratics("two curvatures", [[[1]], [["1/2"]]], [[0], [0]], [[3]], formula=f.apart),
           quadratics("the diagonals agree", [[[1, 1], [1, 0]], [[1, -1], [-1, 0]]], [[0, 0], [1, 0]], [[1, 1]], formula=f.apart)]


@ft.claim("a3-quadratic-hessian", on=[symbolic(False), symbolic(True), *ft.illustrate(NUMBERS)], rejects=[largest, not_centred],
          proof=proofs.one_hessian, domain="every number of clients and dimension: a bound on a ray leaves (H_i - mean H) v no "
                                           "length; second differences of coded gradients for n = 3, d = 2 in symbols")
def a3_quadratic_hessian(i):
    r"""Quadratic clients satisfy Assumption 3 with a finite $\sigma_g$ exactly when all have one Hessian: along $x=tv$ the square
    $\|\nabla f_i-\nabla F\|^2$ grows like $t^2\|(H_i-\bar H)v\|^2$. With one Hessian it is $\|b_i-\bar b\|^2$ everywhere, so that
    $\sigma_g=\max_i\|b_i-\bar b\|$."""
    d, (H, b) = i.problem.d, (i.domain.array(v) for v in (i.problem.H, i.problem.b))
    of_sigma = i.formula not in GROWTHS
    axes = [[int(a == j) for a in range(d)] for j in range(d)]
    at = [[deviations(i, [t * v for v in axis]) for axis in axes] for t in (0, 1, 2)]
    second = [sum(at[2][j][c] - 2 * at[1][j][c] + at[0][j][c] for j in range(d)) / 2 for c in range(i.problem.n)]
    out = [ft.equal(second, (f.apart if of_sigma else i.formula)(H), "growth along the axes")]
    if all((h == H[0]).all() for h in H):
        mean = sum(b) / i.problem.n
        out += [ft.equal(deviations(i, x), [sum((u - v) ** 2 for u, v in zip(row, mean, strict=True)) for row in b], f"at {x}")
                for x in i.points]
    return out + ([ft.equal(max(deviations(i, x)), i.formula(b), f"sigma_g^2 at {x}") for x in i.points] if of_sigma else [])


GROWTHS = (f.apart, largest(f.apart))


# ---- Griewank functions ------------------------------------------------------------------------------------------------------
def tilted(name, v, pairs, formula=f.smoothness):
    return ft.Instance(name, Griewank(v), domain=BALL, formula=formula, pairs=pairs)


unit = bugs.wrong("without_the_square", "L = 1: the term |x|^2/4000 is forgotten.", f.smoothness, lambda d: Q(1))
mean_tilt = bugs.wrong("mean_of_tilts", "sigma_g^2 as the mean of |v_i|^2.", f.tilt,
                       lambda v: sum(u * u for row in v for u in row) / len(v))
FAR = [([1, 2], [-3, Q(1, 2)]), ([Q(22, 7), Q(1, 10)], [Q(3), Q(-1, 5)]), ([Q(0), Q(40)], [Q(50), Q(7)])]
V, LINE = [[1, 0], [-1, "1/2"], [0, "-1/2"]], [[2], [-1], [-1]]


def slopes(i, x):
    """Coded gradients at x: [balls (d,)]."""
    problem = i.problem.to(BALL)
    return problem.grad(BALL.array(np.array([list(x)] * problem.n, dtype=object)))


def square(v):
    return sum(u * u for u in v)


def form(i, x, z1, w):
    """z'Hz at x for z = (z_1, sqrt(2) w): (by central differences of coded gradients, by the formula)."""
    h, two = BALL.scalar(Q(1, 10**12)), BALL.scalar(2).sqrt()
    z, x = [BALL.scalar(z1), w * two], [BALL.scalar(v) for v in x]
    up, down = (slopes(i, [u + sign * h * v for u, v in zip(x, z, strict=True)])[0] for sign in (1, -1))
    a, b, c = f.hessian(x[0].cos() * (x[1] / two).cos(), x[0].sin() * (x[1] / two).sin())
    return sum((up - down) * np.array(z, dtype=object)) / (2 * h), a * z1**2 + 2 * b * z1 * w + c * w**2


@ft.claim("griewank-constants", rejects=[unit, mean_tilt], proof=proofs.griewank, covers={"d": "2", "tau": "none"},
          on=[tilted("plane", V, FAR), tilted("line", LINE, [([0], [1]), ([Q(22, 7)], [3])]),
              tilted("plane, sigma_g", V, FAR, f.tilt), tilted("line, sigma_g", LINE, [([5], [0])], f.tilt)],
          domain="d = 2, every number of clients and tilts with sum 0; for d = 1 the second derivative is 1/2000 + cos x")
def griewank_constants(i):
    r"""$f_i(x)=1+\frac{\|x\|^2}{4000}-\prod_j\cos\frac{x_j}{\sqrt j}+\langle v_i,x\rangle$ with $\sum_iv_i=0$: $F$ is the Griewank
    function, $\sigma_g=\max_i\|v_i\|$ exactly, and for $d=2$ the eigenvalues of the Hessian lie between $-(1-\frac1{2000})$ and
    $L=1+\frac1{2000}$, which is attained at $0$; $f_i$ is not convex."""
    d, n = i.problem.d, i.problem.n
    if i.formula in TILTS:
        v = [[ft.fraction(u) for u in row] for row in i.problem.v]
        at = [x for pair in i.pairs for x in pair]
        apart = [[square(g - sum(slopes(i, x)) / n) for g in slopes(i, x)] for x in at]
        return [*(ft.equal(row, [BALL.scalar(square(u)) for u in v], f"|grad f_i - grad F|^2 at {x}") for row, x in
                  zip(apart, at, strict=True)), ft.equal(max(map(square, v)), i.formula(v), "sigma_g^2")]
    L, small, out = BALL.scalar(i.formula(d)), [Q(1, 10**4)] + [Q(0)] * (d - 1), []
    for x, y in i.pairs:
        length = square(BALL.scalar(u) - BALL.scalar(v) for u, v in zip(x, y, strict=True))
        out.append(ft.at_most(square(slopes(i, x)[0] - slopes(i, y)[0]), L**2 * length, f"{x} to {y}"))
        for z in ((1, 0), (0, 1), (1, 1)) if d == 2 else ():
            coded, stated = form(i, x, *z)
            out.append(ft.at_most(abs(coded - stated), BALL.scalar(Q(1, 10**9)), f"Hessian at {x} along {z}"))
    near = square(slopes(i, small)[0] - slopes(i, [Q(0)] * d)[0]) / BALL.scalar(Q(1, 10**8))
    return [*out, ft.at_most(abs(near - L**2), BALL.scalar(Q(1, 10**7)), "close to 0 the quotient is L^2")]


TILTS = (f.tilt, mean_tilt(f.tilt))
