"""Assumptions 1 to 3: their constants on quadratics, on sums of Huber losses and on softmax losses; the joint optimum."""
from fractions import Fraction as Q
from itertools import combinations
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.fedres.formulas import constants as f
from verification.fedres.proofs import constants as proofs
from verification.fedres.symbols import symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

NONE = {"tau": "none", "n": "all"}


def blocks(problem, k):
    """(A_k, B_k, C_k) of one client, without the padding."""
    size = problem.dims[k]
    return problem.A[k], problem.B[k][:, :size], problem.C[k][:size, :size]


def square(v):
    return (v * v).sum()


def wrong(name, says, change, of="constant"):
    """A mutant of a formula that an instance carries."""
    def mutant(value):
        return change(value)
    mutant.__name__, mutant.__doc__, mutant.of = name, says, of
    return mutant


# ---- quadratics: Assumption 1 -----------------------------------------------------------------------------
def rotated(diagonal, other=None):
    """R diag R' or, with the cosines of two rotations apart, R diag S', for the rotations by (3, 4) and (5, 12)."""
    R = np.array([[Q(3, 5), Q(-4, 5)], [Q(4, 5), Q(3, 5)]], dtype=object)
    S = np.array([[Q(5, 13), Q(-12, 13)], [Q(12, 13), Q(5, 13)]], dtype=object)
    left, right = {None: (R, R), "mixed": (R, S), "second": (S, S)}[other]
    return left @ np.diag([Q(v) for v in diagonal]) @ right.T


def quadratic(name, A, B, C, worst, says):
    """worst: (client, u, v) at which the constant is met, one of u, v being 0."""
    n = len(A)
    problem = ft.Residual(A, B, C, [[0] * len(A[0])] * n, [[0] * len(c) for c in C])
    return ft.Instance(name, problem, constant=f.gamma2, worst=worst, says=says)


on_gamma = [
    quadratic("coupled", [[[2]]], [[[1]]], [[[1]]], (0, [1], [0]), "N=1, A=2, B=1, C=1: gamma^2 = 5"),
    quadratic("personal block", [[[1]], [[1]]], [[[-1]], [[2]]], [[[1]], [[5]]], (1, [0], [1]), "two clients, gamma^2 = 29"),
    quadratic("plane", [rotated([12, 1])], [rotated([5, 0], "mixed")], [rotated([3, 1], "second")], (0, [3, 4], [0, 0]),
              "blocks that do not commute, gamma = 13"),
    quadratic("unequal sizes", [[[1]], [[9]]], [[[0]], [[4, 4]]], [[[1]], [[8, 1], [1, 8]]], (1, [0], [3, 3]),
              "theta_1 on the line, theta_2 in the plane, gamma^2 = 9^2 + 2 4^2"),
    quadratic("not convex", [[[-3]]], [[[4]]], [[[1]]], (0, [1], [0]), "the constant does not need convexity: gamma = 5"),
]
LENGTHS = {1: [([s], abs(s)) for s in (0, 1, -2, 3)], 2: [([0, 0], 0), ([3, 4], 5), ([-12, 5], 13), ([8, -6], 10), ([0, -1], 1)]}


def moves(problem, k):
    """(u, |u|, v, |v|, |grad L_k(u, v) - grad L_k(0, 0)|^2 of the coded gradients)."""
    coded, n = problem.to(ft.RATIONAL), problem.n
    for u, a in LENGTHS[problem.d]:
        for v, b in LENGTHS[problem.dims[k]]:
            yield u, a, v, b, moved(coded, k, u, v, n)


def moved(coded, k, u, v, n):
    """|grad L_k(u, v) - grad L_k(0, 0)|^2."""
    theta = [list(v) + [0] * (coded.personal - len(v))] * n
    pairs = [coded.at().grad_pair(*(ft.RATIONAL.array(np.array(p, dtype=object) * s) for p in ([u], theta))) for s in (1, 0)]
    return ft.fraction(sum(square(a[k] - b[k]) for a, b in zip(*pairs, strict=True)))


def gamma_meaning(i):
    """Lengths and norms of the proof, in floats."""
    for k in range(i.problem.n):
        A, B, C = (np.array(v, dtype=float) for v in blocks(i.problem, k))
        first, second, gamma2 = np.vstack([A, B.T]), np.vstack([B, C]), float(f.gamma2(*blocks(i.problem, k)))
        norms = {"gamma": gamma2**0.5, "M_w": np.linalg.norm(first, 2), "M_t": np.linalg.norm(second, 2)}
        for u, a, v, b, change in moves(i.problem, k):
            one, two = first @ np.array(u, dtype=float), second @ np.array(v, dtype=float)
            yield norms | {"U": float(a), "V": float(b), "a": np.linalg.norm(one), "b": np.linalg.norm(two),
                           "n": float(change) ** 0.5}, {}


diagonal_blocks = wrong("diagonal_blocks", "The coupling B_i is left out: max(|A_i|, |C_i|).",
                        lambda right: lambda A, B, C: right(A, 0 * B, C))
whole_hessian = wrong("whole_hessian", "The spectral norm of the whole Hessian: valid, but not the smallest.",
                      lambda right: lambda A, B, C: f.gamma2(np.block([[A, B], [B.T, C]]), 0 * np.vstack([B, C]), C))


@ft.claim("gamma-block", on=on_gamma, rejects=[diagonal_blocks, whole_hessian], covers=NONE, meaning=gamma_meaning,
          proof=lambda: (proofs.gamma_block(), proofs.gamma_smallest()),
          domain="quadratic clients with blocks of any size: both directions are proofs of a few lines; on listed blocks the coded "
                 "gradients obey the constant and meet it")
def gamma_block(i):
    r"""For a quadratic with Hessian $\begin{bmatrix}A&B\\B^\top&C\end{bmatrix}$ the smallest $\gamma$ of Assumption 1 is
    $\max\big(\big\|\begin{bmatrix}A\\B^\top\end{bmatrix}\big\|_2,\big\|\begin{bmatrix}B\\C\end{bmatrix}\big\|_2\big)$."""
    gamma2 = max(i.constant(*blocks(i.problem, k)) for k in range(i.problem.n))
    below = [ft.at_most(change, gamma2 * (a + b) ** 2, f"client {k}, u={u}, v={v}")
             for k in range(i.problem.n) for u, a, v, b, change in moves(i.problem, k)]
    k, u, v = i.worst
    met = moved(i.problem.to(ft.RATIONAL), k, u, v, i.problem.n)
    return *below, ft.equal(met, gamma2 * sum(Q(c) ** 2 for c in (*u, *v)), "met")


def _square_of_the_sum():
    field, s = symbols("k")
    twice = [[[2 * s["k"]]]]
    return ft.Instance("k(w + theta)^2", ft.Residual(twice, twice, twice, [[0]], [[0]]), domain=field, z=([1], [[1]]),
                       largest=4 * s["k"], says="one client, k a symbol")


def _any_blocks(d, k):
    shapes = {"A": (d, d), "B": (d, k), "C": (k, k), "u": (d,), "v": (k,)}
    field, s = symbols("", **shapes)
    A, C = (np.array([[M[min(a, b), max(a, b)] for b in range(len(M))] for a in range(len(M))]) for M in (s["A"], s["C"]))
    return ft.Instance(f"any blocks, d={d}, k={k}", ft.Residual([A], [s["B"]], [C], [[0] * d], [[0] * k]), domain=field,
                       z=(s["u"], [s["v"]]), says="every entry of A, B, C, u, v a symbol")


def gradient(i, w, theta):
    """The coded gradient of the only client at (w, theta), of a quadratic without linear part: (H (w, theta))."""
    problem, domain = i.problem.to(i.domain), i.domain
    return np.concatenate([g[0] for g in problem.at().grad_pair(*(domain.array(np.array(v, dtype=object)) for v in ([w], theta)))])


def sqrt2_meaning(i):
    """The one-dimensional case at k = 1: H = 2 [[1, 1], [1, 1]], z = (1, 1) and its orthogonal eigenvector (1, -1)."""
    for lam, a, b in ((4, [2, 2], [2, 2]), (0, [2, 2], [-2, -2])):
        yield {"gamma": 8**0.5, "U2": 1, "V2": 1, "lam2": lam**2, "n2": sum((x + y) ** 2 for x, y in zip(a, b, strict=True)),
               "a2": 8, "b2": 8}, {"a": a, "b": b}


cross_term_single = wrong("cross_term_single", "The square of w + theta is expanded without doubling the product.", of="problem",
                          change=lambda p: ft.Residual(p.A, p.B * Q(1, 2), p.C, p.bw, p.btheta))


@ft.claim("gamma-sqrt2", on=[_square_of_the_sum(), _any_blocks(1, 1), _any_blocks(2, 2)], rejects=[cross_term_single], covers=NONE,
          proof=proofs.gamma_sqrt2, meaning=sqrt2_meaning,
          domain="blocks of any size: |H z|^2 = 2 |H_w u|^2 + 2 |H_theta v|^2 - |H_w u - H_theta v|^2, in all symbols for blocks "
                 "of size 1 and 2; equality for k(w + theta)^2 and every k > 0")
def gamma_sqrt2(i):
    r"""$\lambda_{\max}(\nabla^2L_i)\le\sqrt2\,\gamma$ with the $\gamma$ of Assumption 1, and equality for $\kappa(w+\theta)^2$."""
    u, v = (np.array(part, dtype=object) for part in (i.z[0], i.z[1][0]))
    whole, first, second = gradient(i, u, [v]), gradient(i, u, [0 * v]), gradient(i, 0 * u, [v])
    split = ft.equal(square(whole), 2 * square(first) + 2 * square(second) - square(first - second),
                     "|Hz|^2 <= 2|H_w u|^2 + 2|H_theta v|^2 <= 2 gamma^2 |z|^2")
    if not hasattr(i, "largest"):
        return split, ft.equal(whole, first + second, "a linear gradient")
    return (split, ft.equal(whole, i.largest * np.concatenate([u, v]), "z is an eigenvector of the largest eigenvalue 4k"),
            ft.equal([i.largest**2] * 2, [2 * square(first), 2 * square(second)], "which is sqrt 2 gamma"))


# ---- sums of Huber losses ---------------------------------------------------------------------------------
RIGHT = SimpleNamespace(gamma2=f.huber_gamma2, G2=f.huber_G2)
full_set_alone = wrong("full_set_alone", "gamma is taken with all rows in their quadratic zones.", lambda right: SimpleNamespace(
    gamma2=lambda rows, scales, shared: f.gamma2(*_hessian(rows, scales, shared)), G2=right.G2))
signs_alike = wrong("signs_alike", "G is taken with all residuals of one sign.", lambda right: SimpleNamespace(
    gamma2=right.gamma2, G2=lambda rows, *sizes: square(sum(s * d * a for a, s, d in zip(rows, *sizes, strict=True)))))


def _hessian(rows, scales, shared):
    H = sum(s * np.multiply.outer(a, a) for a, s in zip(rows, scales, strict=True))
    return H[:shared, :shared], H[:shared, shared:], H[shared:, shared:]


def huber(name, rows, offsets, deltas, scales, points, shared=1, says=""):
    """One client on the line: rows (u, v) of w and theta; points (w, theta), of which all pairs are compared."""
    numbers = [[Q(v) for v in part] for part in (offsets, deltas, scales)]
    rows = [[Q(v) for v in row] for row in rows]
    problem = ft.HuberLoss([rows], [numbers[0]], [numbers[1]], [numbers[2]])
    return ft.Instance(name, problem, constant=RIGHT, rows=[np.array(r, dtype=object) for r in rows], deltas=numbers[1],
                       scales=numbers[2], points=[[Q(v) for v in z] for z in points], shared=shared, says=says)


AROUND = [(0, 0), (1, 0), (0, 1), ("1/2", "-1/4"), (30, -20), (-30, 40), (100, 100)]
on_huber = [
    huber("one row", [(1, 1)], [0], [1], [1], AROUND, says="(1/2)(w + theta)^2 up to slope 1"),
    huber("a subset is worst", [(1, "1/2"), ("1/10", "-1/2")], [0, 100], [1, 1], [1, 1], AROUND,
          says="near 0 the second row has slope -1: its curvature would make gamma smaller"),
    huber("rows against each other", [(2, 1), (-1, 1)], [0, 0], [1, 3], [1, "1/2"], AROUND,
          says="the largest gradient has residuals of opposite signs"),
    huber("nine rows", [(k % 4 - 1, k % 3 - 1) for k in range(9)], range(-4, 5), [1 + k % 2 for k in range(9)],
          ["1/2"] * 9, AROUND, says="kinks all over the plane"),
]


def hubers(draw, m=None):
    """Random sums of Huber losses of (w, theta), in exact rationals, at random points."""
    m, small = m or draw(st.integers(1, 4)), st.integers(-3, 3)
    rows = [(draw(small), draw(small)) for _ in range(m)]
    offsets, deltas = [draw(small) for _ in range(m)], [draw(st.sampled_from(["1/4", 1, 3])) for _ in range(m)]
    scales = [draw(st.sampled_from(["1/3", 1, 2])) for _ in range(m)]
    points = [(draw(st.integers(-9, 9)), draw(st.integers(-9, 9))) for _ in range(4)]
    return huber("random Huber", rows, offsets, deltas, scales, points,
                 says=f"rows={rows}, offsets={offsets}, deltas={deltas}, scales={scales}, points={points}")


def slopes(i):
    """[(point, coded gradient)] as Fractions."""
    coded = i.problem.to(ft.RATIONAL)
    return [(z, ft.linalg.to_fractions(coded.gradient(ft.RATIONAL.array(np.array(z, dtype=object))))) for z in i.points]


def huber_meaning(i):
    """The clipped residuals of one row after the other driven to an end: shares and norms, in floats."""
    for z in i.points:
        parts = [(r, s * d) for r, s, d in zip(i.rows, i.scales, i.deltas, strict=True)]
        clipped = [max(min(sum(r * np.array(z)) - o[0], d), -d) / d for (r, d), o in zip(
            ((r, d) for r, d in zip(i.rows, i.deltas, strict=True)), i.problem.targets[0], strict=True)]
        for j, (row, size) in enumerate(parts):
            rest = sum(c * r * s for k, (c, (r, s)) in enumerate(zip(clipped, parts, strict=True)) if k != j) + 0 * row
            ends = [float(square(rest + sign * size * row)) ** 0.5 for sign in (-1, 1)]
            t = (1 + clipped[j]) / 2
            yield {"t": t, "rest": 1 - t, "M": max(ends), "low": ends[0], "high": ends[1],
                   "n": float(square(rest + clipped[j] * size * row)) ** 0.5}, {}


@ft.claim("huber-constants", on=on_huber, rejects=[full_set_alone, signs_alike], covers=NONE, proof=proofs.huber_ends,
          meaning=huber_meaning, search=ft.Search((ft.Family("Huber", hubers, ({"m": 1}, {"m": 6})),), tries=40),
          domain="sums of any number of Huber losses in every dimension, s_j > 0: a gradient is sum c_j s_j d_j a_j with c_j in "
                 "[-1, 1], and a difference of two sum t_j s_j a_j a_j' with t_j in [0, 1] times the move; norms are largest at "
                 "the ends of c_j, t_j, one row after the other")
def huber_constants(i):
    r"""$L_i=\sum_js_j\,\mathrm{Huber}_{d_j}(a_j^\top(w,\theta)-o_j)$, $s_j>0$, satisfies Assumptions 1 and 2 everywhere with
    $\gamma=\max_J\gamma\big(\sum_{j\in J}s_ja_ja_j^\top\big)$ over subsets (block columns, as for quadratics) and
    $G=\max_\pm\big\|\sum_j\pm s_jd_ja_j\big\|$."""
    gamma2, G2 = i.constant.gamma2(i.rows, i.scales, i.shared), i.constant.G2(i.rows, i.scales, i.deltas)
    found = slopes(i)
    lengths = [(ft.at_most(square(g), G2, f"|grad| at {z}")) for z, g in found]
    for (z, g), (y, h) in combinations(found, 2):
        span = sum(abs(a - b) for a, b in zip(z, y, strict=True))   # one coordinate each: |w - w'| + |theta - theta'|
        lengths.append(ft.at_most(square(g - h), gamma2 * span**2, f"from {z} to {y}"))
    return lengths


# ---- softmax losses ---------------------------------------------------------------------------------------
SOFTMAX = SimpleNamespace(gamma=f.softmax_gamma, G=f.softmax_G, variance=f.softmax_variance)
binary_curvature = wrong("binary_curvature", "The curvature 1/4 of the binary loss is taken for the softmax.", lambda right:
                         SimpleNamespace(**vars(right) | {"gamma": lambda X: right.gamma(X) / 2}))
slope_of_length_one = wrong("slope_of_length_one", "|p - e_y| is taken to be at most 1.", lambda right: SimpleNamespace(
    **vars(right) | {"G": lambda X: right.G(X) / 2**0.5}))
variance_of_length_one = wrong("variance_of_length_one", "|p - e_y|^2 is taken to be at most 1.", lambda right: SimpleNamespace(
    **vars(right) | {"variance": lambda X, batch: right.variance(X, batch) / 2}))


def softmax(name, X, labels, points, shared=1, classes=3, says=""):
    """One client with features x = (x_g, x_l), the rows of X; points: matrices (classes, features) as lists."""
    return ft.Instance(name, ft.Logistic([X], [labels], 0, classes=classes), constant=SOFTMAX, X=np.array(X, dtype=float),
                       points=[np.array(z, dtype=float) for z in points], shared=shared, domain=ft.FLOAT, says=says)


FAR = [[1, 0], [0, 0], [-1, 0]]
EYE = [[10 * (a == b) for b in range(4)] for a in range(4)]
on_softmax = [
    softmax("two classes alike", [[1, 0]], [0], [[[0, 0], [0, 0], [-30, 0]], [[0.01, 0], [-0.01, 0], [-30, 0]]],
            says="p = (1/2, 1/2, 0): the curvature is 1/2"),
    softmax("a wrong class for certain", [[3, 4]], [2], [FAR, [[0, 1], [1, 1], [0, -1]]], says="|p - e_y| near sqrt 2"),
    softmax("features in turn", EYE, [1, 2, 3, 0], [np.array(EYE) * 3, np.zeros((4, 4))], 2, 4, "gradients of rows are orthogonal"),
]


def softmaxes(draw, m=None):
    """Random features, labels and points."""
    m, classes, small = m or draw(st.integers(1, 4)), draw(st.sampled_from([3, 4])), st.integers(-3, 3)
    X = [[draw(small) for _ in range(3)] for _ in range(m)]
    labels = [draw(st.integers(0, classes - 1)) for _ in range(m)]
    points = [[[draw(small) for _ in range(3)] for _ in range(classes)] for _ in range(3)]
    return softmax("random softmax", X, labels, points, draw(st.sampled_from([1, 2])), classes, f"X={X}, labels={labels}")


def softmax_gradient(i, z, rows=None):
    """The coded gradient (classes, features) at z, of all rows or of a mini-batch."""
    cohort = i.problem.to(ft.FLOAT).at()
    sample = None if rows is None else ft_rows(rows)
    return cohort.grad(z.reshape(1, -1), sample)[0].reshape(z.shape)


def ft_rows(rows):
    from fltheory.core.problems.plain import Rows
    return Rows(np.array([list(rows)]))


def softmax_meaning(i):
    """Slope and curvature of the first row's loss at its logits."""
    for z in i.points:
        u = z @ i.X[0]
        p = np.exp(u - u.max()) / np.exp(u - u.max()).sum()
        y = int(np.argmax(i.problem.targets[0][0]))
        v = np.arange(len(p)) - 1.0
        yield {"r": 1 - p[y], "others2": float((p**2).sum() - p[y] ** 2), "s2": float((p**2).sum() - p[y] ** 2 + (1 - p[y]) ** 2),
               "E2": float(p @ v**2), "V2": float(v @ v), "var": float(p @ v**2 - (p @ v) ** 2), "m": float(p @ v),
               "low": v.min(), "high": v.max(), "rest": float(v @ v - v.min() ** 2 - v.max() ** 2)}, {}


@ft.claim("softmax-constants", on=on_softmax, rejects=[binary_curvature, slope_of_length_one, variance_of_length_one], covers=NONE,
          proof=lambda: (proofs.softmax_slope(), proofs.softmax_curvature()), meaning=softmax_meaning,
          search=ft.Search((ft.Family("softmax", softmaxes, ({"m": 1},)),), tries=40),
          domain="any number of classes, features and samples: a sample's gradient is (p - e_y) x' with |p - e_y|^2 <= 2, its "
                 "Hessian (diag p - p p') x x' with eigenvalues of the first factor at most 1/2; its largest one bounds gamma")
def softmax_constants(i):
    r"""The softmax loss (3) with $\mathbb E\|x\|^2<\infty$, $x=(x_g,x_l)$, satisfies Assumptions 1 to 3 with
    $\gamma=\frac12\lambda_{\max}(\mathbb Exx^\top)$, $G=\sqrt2\,\mathbb E\|x\|$ and $\sigma^2=2\,\mathbb E\|x\|^2/b$ for
    mini-batches of size $b$."""
    gamma, G, found = i.constant.gamma(i.X), i.constant.G(i.X), [(z, softmax_gradient(i, z)) for z in i.points]
    out = [ft.at_most(np.linalg.norm(g), G, "|grad L_i|") for _, g in found]
    for (z, g), (y, h) in combinations(found, 2):
        span = sum(np.linalg.norm((z - y)[:, part]) for part in (slice(None, i.shared), slice(i.shared, None)))
        out.append(ft.at_most(np.linalg.norm(g - h), gamma * span, "Assumption 1"))
    for b in (1, 2):
        for z, g in found:
            batches = [softmax_gradient(i, z, rows) for rows in np.ndindex(*[len(i.X)] * b)]
            out.append(ft.at_most(np.mean([square(v - g) for v in batches]), i.constant.variance(i.X, b), f"variance, batch {b}"))
    return out
