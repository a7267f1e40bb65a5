"""Pencil proofs of the spectral radius on quadratics at gamma = 1/(2LE), for every client number, dimension, E and beta <= 1.

x = u + iv is an eigenvector of the stacked round M = (I - R)(1 p' x I) - (1 - beta)/beta R (P x I) for lambda = a + ib, R_i = I -
(I - gamma beta H_i)^E, V_i = beta R_i^-1. Multiplied by V: lambda V x = (V - beta) 1z - (1 - beta) P x, z = sum_i p_i x_i = s + ir.
Inner products of stacks are sum_i p_i <x_i, y_i>, so that P is symmetric; 1z is written as the stacks s, r, and y = x - 1z.
"""
import fltheory as ft

DIRECTIONS = "eigenvectors of the H_i"
HALF = ft.fraction("1/2")


def _local(p):
    """(x, L - h >= 0, 1 - x >= 0) for x = gamma beta h, h an eigenvalue of one H_i."""
    beta, E, L, h = p("beta E L h")
    most = p.given("curvature at most L", L - h)
    many, small = p.given("local steps", E - 1), p.given("beta at most 1", 1 - beta)
    x = beta * h / (2 * L * E)
    keep = p.follows("a local step keeps the sign", 1 - x, (beta / (2 * L * E), most), (1 / (2 * E), small), (1 / E, many),
                     says="gamma beta h <= 1 at gamma = 1/(2LE)")
    return x, most, keep


def _eigenvalue(p):
    return p.given("eigenvalue of V", p("val") * (1 - p("Q")) - p("beta"), "val = beta/(1 - (1 - gamma beta h)^E)", equality=True)


def curvature():
    """Eigenvalues of V_i are at least 2: Bernoulli."""
    p = ft.Proof("beta E L h", "k q Q val")
    beta, E, L, k, q, val = p("beta E L k q val")
    x, most, keep = _local(p)
    held = p.suppose("Bernoulli, k steps", q - 1 + k * x, "q = (1 - gamma beta h)^k")
    then = p.follows("Bernoulli, k + 1 steps", q * (1 - x) - 1 + (k + 1) * x, (held, keep))
    end = p.induct("Bernoulli", held, then, {"k": 0, "q": 1}, {"k": k + 1, "q": q * (1 - x)}, {"k": E, "q": "Q"},
                   keeps={"q": (keep, q)})
    return p.conclude(p.follows("V at least 2", val - 2, (2 * val / beta, end), (val / L, most), (2 / beta, _eigenvalue(p))))


def slowest():
    """(1 - kappa) val <= 1: the eigenvalues of V_i are largest at curvature mu."""
    p = ft.Proof("beta E L h mu", "k q n Q W val")
    beta, E, L, mu, k, q, n, val = p("beta E L mu k q n val")
    x, _, keep = _local(p)
    least, y = p.given("curvature at least mu", p("h") - mu), beta * mu / (2 * L * E)
    slow = p.follows("so it does at mu", 1 - y, keep, (beta / (2 * L * E), least))
    held = p.suppose("powers, k steps", n - q, "n = (1 - gamma beta mu)^k, q = (1 - gamma beta h)^k")
    then = p.follows("powers, k + 1 steps", n * (1 - y) - q * (1 - x), (held, slow), (beta * q / (2 * L * E), least))
    end = p.induct("powers", held, then, {"k": 0, "q": 1, "n": 1}, {"k": k + 1, "q": q * (1 - x), "n": n * (1 - y)},
                   {"k": E, "q": "Q", "n": "W"}, keeps={"q": (keep, q), "n": (slow, n)})
    return p.conclude(p.follows("V at most 1/(1 - kappa)", 1 - (1 - p("W")) * val / beta, (val / beta, end),
                                (-1 / beta, _eigenvalue(p)), says="kappa = 1 - (1 - W)/beta, W = (1 - gamma beta mu)^E"))


def neighbours():
    """-|y|^2 <= <y, P y> <= |y|^2 for real and complex stacks y: squares along the edges."""
    p = ft.Proof("", "Y Y1 Y2", "T T1", "yi yj")
    yi, yj, Y = p("yi yj Y")
    sums = {"yi_yi": "Y1", "yj_yj": "Y2", "yi_yj": "T1"}
    rows = p.given("weights", p("Y1") - Y, "sum_j p_ij = p_i; Y = |y|^2 = sum_i p_i |y_i|^2", equality=True)
    columns = p.given("symmetric weights", p("Y2") - Y, "sum_i p_ij = p_j", equality=True)
    form = p.given("form", p("T1") - p("T"), "T = <y, P y> = sum_ij p_ij Re<y_i, y_j>: p_i P_ij = p_ij", equality=True)
    out = []
    for sign, word in ((1, "sums"), (-1, "differences")):
        one = p.square(f"{word} of two clients", yi + sign * yj)
        every = p.total(f"{word} along the edges", one, sums, 1, over="edges, weights p_ij")
        out.append(p.follows(f"|y|^2 {'+-'[sign < 0]} <y, P y>", Y + sign * p("T"), (HALF, every), (-HALF, rows), (-HALF, columns),
                             (-sign, form)))
    return p.conclude(*out)


def eigenvector():
    """What the eigenvalue equation says of a, b and two numbers of the eigenvector: T = <y, P y> and Y = |y|^2.

    B = <1z, V 1z>, |z| = 1; Zr + i Zi = <1z, V x>, X = <x, V x>; the part x - c 1z with c = (Zr + i Zi)/B is V-orthogonal to 1z.
    """
    p = ft.Proof("beta B m", "Y zz val zVz", "a b Zr Zi X T", "u v s r Pu Pv Vu Vv Vs Vr")
    beta, B, m, Y, zz, zVz, a, b, Zr, Zi, X, T = p("beta B m Y zz zVz a b Zr Zi X T")
    u, v, s, r, Pu, Pv, Vu, Vv, Vs, Vr = p("u v s r Pu Pv Vu Vv Vs Vr")

    def zero(name, expression, says=""):
        return p.given(name, expression, says, equality=True)
    p.given("beta at most 1", 1 - beta)
    one = zero("length", s.square + r.square - 1, "|z| = 1, z not 0")
    mean = zero("mean", s.dot(u) + r.dot(v) - s.square - r.square, "z is the weighted mean of x: <1z, x> = |z|^2, real part")
    mean_i = zero("mean, imaginary", s.dot(v) - r.dot(u))
    kept = zero("p'P = p'", s.dot(Pu) + r.dot(Pv) - s.dot(u) - r.dot(v), "<1z, P x> = <1z, x>: symmetric weights")
    kept_i = zero("p'P = p', imaginary", s.dot(Pv) - r.dot(Pu) - s.dot(v) + r.dot(u))
    P_uv = zero("P symmetric", u.dot(Pv) - v.dot(Pu), "p_i P_ij = p_ij = p_ji")
    V = zero("V symmetric", s.dot(Vu) + r.dot(Vv) - u.dot(Vs) - v.dot(Vr), "each V_i is")
    V_i = zero("V symmetric, imaginary", s.dot(Vv) - r.dot(Vu) - v.dot(Vs) + u.dot(Vr))
    V_uv, V_sr = zero("V symmetric at x", u.dot(Vv) - v.dot(Vu)), zero("V symmetric at z", s.dot(Vr) - r.dot(Vs))
    re = a * Vu - b * Vv - Vs + beta * s + (1 - beta) * Pu
    im = b * Vu + a * Vv - Vr + beta * r + (1 - beta) * Pv
    says = "lambda V x - (V - beta) 1z + (1 - beta) P x = 0"
    eq_z = zero("equation times z", s.dot(re) + r.dot(im), says), zero("equation times z, imaginary", s.dot(im) - r.dot(re), says)
    eq_x = zero("equation times x", u.dot(re) + v.dot(im), says), zero("equation times x, imaginary", u.dot(im) - v.dot(re), says)
    B_is = p.define("B", B - s.dot(Vs) - r.dot(Vr), "<1z, V 1z> = z* (sum p_i V_i) z")
    Zr_is, Zi_is = p.define("Zr", Zr - s.dot(Vu) - r.dot(Vv)), p.define("Zi", Zi - s.dot(Vv) + r.dot(Vu))
    X_is, m_is = p.define("X", X - u.dot(Vu) - v.dot(Vv)), p.define("m", m - a**2 - b**2, "|lambda|^2 > 0")
    T_is = p.define("T", T - (u - s).dot(Pu - s) - (v - r).dot(Pv - r), "P 1z = 1z: rows of sum 1")
    Y_is = p.define("Y", Y - (u - s).square - (v - r).square)
    same = {"equality": True}
    by_z = p.follows("lambda Z = B - 1", a * Zr - b * Zi - B + 1, eq_z[0], (a, Zr_is), (-b, Zi_is), (-1, B_is), (-1, one),
                     (beta - 1, mean), (beta - 1, kept), **same)
    by_z_i = p.follows("lambda Z is real", a * Zi + b * Zr, eq_z[1], (a, Zi_is), (b, Zr_is), V_sr, (beta - 1, mean_i),
                       (beta - 1, kept_i), **same)
    by_x = p.follows("real part", a * X - Zr + 1 + (1 - beta) * T, eq_x[0], (a, X_is), (-1, Zr_is), (1 - beta, T_is), (b, V_uv),
                     (-1, V), (beta - 2, mean), (beta - 1, kept), (-1, one), **same)
    by_x_i = p.follows("imaginary part", b * X + Zi, eq_x[1], (b, X_is), Zi_is, V_i, (-a, V_uv), (beta, mean_i), (beta - 1, P_uv),
                       **same)
    tau, k = 1 + (1 - beta) * T, 1 - 1 / B
    size = p.follows("|lambda|^2 X", m * X - B + 1 + a * tau, (X, m_is), (a, by_x), (b, by_x_i), by_z, **same)
    real = p.follows("lambda real or tau = 0", b * tau, (b, by_x), (-a, by_x_i), by_z_i, **same)
    Z_abs = p.follows("|lambda Z|^2", m * (Zr**2 + Zi**2) - (B - 1) ** 2, (Zr**2 + Zi**2, m_is), (a * Zr - b * Zi + B - 1, by_z),
                      (a * Zi + b * Zr, by_z_i), **same)
    Z_re = p.follows("|lambda|^2 Zr", m * Zr - a * (B - 1), (Zr, m_is), (a, by_z), (b, by_z_i), **same)
    zu, zv = u - (Zr * s - Zi * r) * (1 / B), v - (Zr * r + Zi * s) * (1 / B)
    Vzu, Vzv = Vu - (Zr * Vs - Zi * Vr) * (1 / B), Vv - (Zr * Vr + Zi * Vs) * (1 / B)
    zz_is = p.define("zz", zz - zu.square - zv.square, "|x - c 1z|^2, c = (Zr + i Zi)/B")
    zVz_is = p.define("zVz", zVz - zu.dot(Vzu) - zv.dot(Vzv))
    each = p.lemma("V at least 2", curvature())
    part = p.total("V on the part", each, {"val": "zVz"}, "zz", over=DIRECTIONS)
    mean_V = p.total("V on the mean", each, {"val": "B"}, 1, over=DIRECTIONS)
    Z2, minus = Zr**2 + Zi**2, -4 / B
    energy = p.follows("energy of the part", zVz - X + Z2 / B, zVz_is, (-1, X_is), (2 * Zr / B, Zr_is), (Zr / B, V),
                       (2 * Zi / B, Zi_is), (Zi / B, V_i), (-Z2 / B**2, B_is), **same)
    length = p.follows("length of the part", zz - Y - (1 - Zr / B) ** 2 - (Zi / B) ** 2, zz_is, (-1, Y_is), (2 - 2 * Zr / B, mean),
                       (-2 * Zi / B, mean_i), ((1 - Zr / B) ** 2 + (Zi / B) ** 2, one), **same)
    main = p.follows("main", k - a * tau - 2 * m * Y - 2 * (a - k) ** 2 - 2 * b**2, (m, part), (-m, energy), (-1, size),
                     (1 / B + 2 / B**2, Z_abs), (2 * m, length), (2, m_is), (minus, Z_re),
                     says="|lambda|^2 <part, V part> >= 2 |lambda|^2 |part|^2")
    return p.conclude(main, real, mean_V)


def _top(p, harmonic):
    """(the bound, bound - (1 - 1/B) >= 0): 1 - 1/Lam, or kappa."""
    beta, B = p("beta B")
    if harmonic:
        Lam = p("Lam")
        below = p.given("quadratic form", Lam - B, "Lam = lambda_max(sum p_i V_i), B its form at a unit vector")
        return 1 - 1 / Lam, p.follows("against 1 - 1/B", 1 / B - 1 / Lam, (1 / (B * Lam), below))
    W = p("W")
    every = p.total("V on the mean, above", p.lemma("V at most 1/(1 - kappa)", slowest()), {"val": "B"}, 1, "W", over=DIRECTIONS)
    return 1 - (1 - W) / beta, p.follows("against 1 - 1/B", 1 / B - (1 - W) / beta, (1 / B, every))


def _case(harmonic, positive, signed="", names="m Y T"):
    """A proof of one case. Its own names for lambda, m, Y and T keep rounds that are no such case from being held against it."""
    m, Y, T = names.split()
    p = ft.Proof(f"beta B {m} {positive}" + " Lam" * harmonic, Y + " val W" * (not harmonic), f"{T} {signed}")
    return p, *p(f"beta B {names}"), p.given("beta at most 1", 1 - p("beta"))


def positive(harmonic=False):
    """lambda = a > 0: where a >= k = 1 - 1/B, the two sides leave no room beyond a = k."""
    p, _, B, m, Y, _, small = _case(harmonic, "pos")
    a, k = p("pos"), 1 - 1 / B
    size = p.define("m", m - a**2)
    main, two = p.lemma("main", eigenvector(), a=a, b=0), p.lemma("B at least 2", eigenvector(), 2)
    case = p.given("case", a - k, "else there is nothing to show")
    apart = p.square("beyond", a - k)
    end = p.follows("a at most 1 - 1/B", k - a, main, (2, apart), (2 * Y, size), (a, small, p.lemma("neighbours", neighbours())),
                    (2 * a * Y, case), (a * Y / B, two))
    top, above = _top(p, harmonic)
    return p.conclude(p.follows("positive eigenvalue", top - a, above, end))


def negative(harmonic=False):
    """lambda = -c < 0, likewise."""
    p, _, B, m, Y, _, small = _case(harmonic, "neg")
    c, k = p("neg"), 1 - 1 / B
    size = p.define("m", m - c**2)
    main, two = p.lemma("main", eigenvector(), a=-c, b=0), p.lemma("B at least 2", eigenvector(), 2)
    case = p.given("case", c - k, "else there is nothing to show")
    own = p.square("bound", k)
    end = p.follows("c at most 1 - 1/B", k - c, main, (2 * Y, size), (c, small, p.lemma("neighbours", neighbours(), 1)),
                    (2 * c * Y, case), (c * Y / B, two), (2, own), (2 * c / B, two))
    top, above = _top(p, harmonic)
    return p.conclude(p.follows("negative eigenvalue", top - c, above, end))


def _squared(p, harmonic, two, end, m):
    """top^2 - |lambda|^2 >= 0 from (1 - 1/B)^2 - |lambda|^2 >= 0."""
    B, (top, above) = p("B"), _top(p, harmonic)
    k = 1 - 1 / B
    apart = p.square("room", top - k)
    return p.follows("modulus", top**2 - m, end, apart, (2 / B, above, two), (2 / B, above))


def turning(harmonic=False):
    """lambda = a + ib, b > 0 (or its conjugate): tau = 0 makes y long."""
    p, beta, B, m, Y, T, small = _case(harmonic, "im", "re", "mc Yc Tc")
    a, b, k = *p("re im"), 1 - 1 / B
    at = {"a": a, "b": b, "m": m, "Y": Y, "T": T}
    p.define("m", m - a**2 - b**2)
    main, real, two = (p.lemma(name, eigenvector(), j, **at) for j, name in enumerate(("main", "tau", "B at least 2")))
    tau = p.follows("tau = 0", 1 + (1 - beta) * T, (1 / b, real), equality=True)
    far = p.follows("y is long", Y - 1, (small, p.lemma("neighbours", neighbours(), Y=Y, T=T)), (-1, tau))
    apart = p.square("real part", a - k)
    half = p.follows("|lambda|^2 at most half", k - 2 * m, main, (a, tau), (2, apart), (2 * m, far))
    end = p.follows("|lambda| at most 1 - 1/B", k**2 - m, (HALF, half), (HALF / B**2, two, two), (HALF / B**2, two))
    return p.conclude(_squared(p, harmonic, two, end, m))


def no_mean(harmonic=False):
    """z = 0: lambda V x = -(1 - beta) P x. X0 = <x, V x>, Y0 = |x|^2, T0 = <x, P x>, lambda = a0 + i b0, m0 = |lambda|^2; B is the
    form of sum p_i V_i at any unit vector."""
    p = ft.Proof("beta B m0 X0 " + "Lam" * harmonic, "Y0 val" + " W" * (not harmonic), "a0 b0 T0")
    beta, B, m, X, Y, T, a, b = p("beta B m0 X0 Y0 T0 a0 b0")
    small = p.given("beta at most 1", 1 - beta)
    size = p.define("m", m - a**2 - b**2)
    re = p.given("equation times x", a * X + (1 - beta) * T, "lambda X = -(1 - beta) T", equality=True)
    im = p.given("equation times x, imaginary", b * X, equality=True)
    each = p.lemma("V at least 2", curvature())
    two = p.total("V on a constant", each, {"val": "B"}, 1, over=DIRECTIONS)
    long = p.total("V on x", each, {"val": "X0"}, "Y0", over=DIRECTIONS)
    within = [p.lemma(f"neighbours, {word}", neighbours(), j, Y=Y, T=T) for j, word in enumerate(("from below", "from above"))]
    whole = p.follows("sizes", X**2 * (HALF / 2 - m), (-X**2, size), (-a * X + (1 - beta) * T, re), (-b * X, im),
                      (X / 4, long), (Y / 2, long), tuple(within), (beta * T**2, small))
    quarter = p.follows("|lambda| at most 1/2", HALF / 2 - m, (1 / X**2, whole))
    end = p.follows("|lambda| at most 1 - 1/B", (1 - 1 / B) ** 2 - m, quarter, (3 * HALF / 2 / B**2, two, two), (1 / B**2, two))
    return p.conclude(_squared(p, harmonic, two, end, m))


def every_case(harmonic=False):
    """What the four cases rest on, then the cases; an eigenvalue 0 needs no word."""
    parts = [curvature(), neighbours(), eigenvector()] if harmonic else [curvature(), slowest(), neighbours(), eigenvector()]
    return [*parts, *(case(harmonic) for case in (positive, negative, turning, no_mean))]
