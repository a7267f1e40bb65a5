"""How large the drift can be under Theorem 1's steps: never its bound, and like k^(1/sqrt 3) without noise, for every k."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.proofs import drift

CLASS = drift.DOMAIN
SHARE = Q(740808, 10**6)   # of the bound of Theorem 1
TABLE = 30                 # local steps up to which weights are listed


def weighted():
    """One step as a linear recursion with any weight s > 0; a = L eta_k is at most A."""
    p = ft.Proof("L s", "eta A G r D Dn sigma2")
    L, s, eta, A, G, r, D = p("L s eta A G r D")
    one = p.lemma("sharper recursion", drift.sharp())
    a = L * eta
    cap = p.given("(T1)", A - a, "A_k = 1/sqrt(6k(2k+1))")
    square = p.square("weight", s * L * r - G)
    mean = p.define("root mean square", D - r**2)
    first, second, third = f.weighted(a, s)
    exact = p.follows("weighted", first * D + second * G**2 / L**2 + third * p("sigma2") / L**2 - p("Dn"), one,
                      ((1 + a) * a / (s * L**2), square), ((1 + a) * a * s, mean))
    up = [n - v for n, v in zip(f.weighted(A, s), (first, second, third), strict=True)]
    parts = [v / (A - a) for v in up]
    factor, slope, loud = f.weighted(A, s)
    bound = factor * D + slope * G**2 / L**2 + loud * p("sigma2") / L**2 - p("Dn")
    return p.conclude(p.follows("weighted, at the cap", bound, exact, (parts[0] * D, cap), (parts[1] * G**2 / L**2, cap),
                                (parts[2] * p("sigma2") / L**2, cap)))


def both():
    """G^2 = |grad f_i(x)|^2 is at most 2 (sigma_g^2 + |grad F(x)|^2)."""
    p = ft.Proof("", "sg2", "", "a h")
    a, h = p("a h")
    near = p.given("near the mean", p("sg2") - (a - h).square, "Assumption 3")
    return p.conclude(p.follows("two parts", 2 * (p("sg2") + h.square) - a.square, p.square("Lemma 1", a - 2 * h), (2, near)))


def table():
    """Numbers al, be that follow the recursion bound the drift by (al G^2 + be sigma_l^2)/L^2, whatever the weights s are."""
    p = ft.Proof("L s s1 sn sK K", "k A A1 An AK G sigma2 al be D Dn DK alK beK F2 sg2 EDK EF2")
    L, s, k, A, G, sigma2, al, be, D = p("L s k A G sigma2 al be D")
    factor, slope, loud = f.weighted(A, s)
    step = p.lemma("local step", weighted())
    held = p.suppose("after k steps", (al * G**2 + be * sigma2) / L**2 - D)
    al2, be2 = factor * al + slope, factor * be + loud
    then = p.follows("after k + 1 steps", (al2 * G**2 + be2 * sigma2) / L**2 - p("Dn"), step, (factor, held))
    end = p.induct("after K steps", held, then, {"k": 0, "A": "A1", "s": "s1", "al": 0, "be": 0, "D": 0},
                   {"k": k + 1, "A": "An", "s": "sn", "al": al2, "be": be2, "D": "Dn"},
                   {"k": "K", "A": "AK", "s": "sK", "al": "alK", "be": "beK", "D": "DK"})
    K, c = p("K"), SHARE
    near = p.lemma("two parts", both(), a_a=G**2, h_h=p("F2"))
    listed = [p.given("first number", c * K / 4 - p("alK"), "listed"),
              p.given("second number", c * (K + 1) / 24 - p("beK"), "listed")]
    bound = sum(f.theorem1(K, L, p("sg2"), p("F2"), sigma2).values())
    share = p.follows("a share of (9), client and x fixed", c * bound - p("DK"), end, (G**2 / L**2, listed[0]),
                      (sigma2 / L**2, listed[1]), (c * K / (4 * L**2), near))
    return p.conclude(p.expect("a share of (9)", share, {"DK": "EDK", "F2": "EF2"}, fixed="sg2 sigma2"))


def tail():
    """From the share of (9) at k = 30 to every later k, with the weight 1/2. M = k + 1 = j + 31; z is what the share leaves."""
    p = ft.Proof("L M J", "j B B1 Bn BJ G sigma2 D D1 Dn DJ z1", "z zn zJ")
    L, M, j, B, sigma2, D = p("L M j B sigma2 D")
    G2 = p("G")**2
    index = p.define("M", M - j - TABLE - 1, "the next step")
    factor, step = f.weighted(B, Q(1, 2))[0], p.lemma("local step", weighted(), s=Q(1, 2), A=B)
    small, linear = below(p, M, B)
    c = SHARE

    def later(name, room, line, square):
        """room - line B - square B^2 >= 0 by both facts, and by M = j + 31 in what is left, a polynomial over M^2."""
        left = (room - line * Q(13, 45) / M - square / (12 * M**2)) * M**2
        at = left.substitute(M=j + TABLE + 1)
        return p.follows(name, room - line * B - square * B**2, (line, linear), (square, small),
                         ((left - at) / ((M - j - TABLE - 1) * M**2), index))
    k = j + TABLE
    first = later("G^2 later", c / 4 + 0 * M, c * k * Q(5, 8) + 2, c * k * Q(3, 8) + 3)
    second = later("noise later", c / 24 + 0 * M, c * M * Q(5, 48), c * M / 16 + 1)

    def share(k):
        return c * (k / 4 * G2 + (k + 1) / 24 * sigma2) / L**2
    left = p.define("left now", p("z") - share(k) + D)
    after = p.define("left after the step", p("zn") - share(k + 1) + p("Dn"))
    held = p.suppose("after k steps", p("z"), "from z1 >= 0 at k = 30, which the list shows")
    then = p.follows("after k + 1 steps", p("zn"), step, (factor, held), (-factor, left), after, (G2 / L**2, first),
                     (sigma2 / L**2, second), (c * sigma2 / (24 * L**2) * (factor - 1), index))
    end = p.induct("from k = 30 on", held, then, {"j": 0, "M": TABLE + 1, "B": "B1", "D": "D1", "z": "z1"},
                   {"j": j + 1, "M": M + 1, "B": "Bn", "D": "Dn", "z": "zn"},
                   {"j": "J", "M": p("J") + TABLE + 1, "B": "BJ", "D": "DJ", "z": "zJ"})
    last = p.define("left in the end", p("zJ") - share(p("J") + TABLE) + p("DJ"))
    return p.conclude(p.follows("a share at every later k", share(p("J") + TABLE) - p("DJ"), end, (-1, last)))


# ---- quotients of concave quadratics -----------------------------------------------------------------------------------------
def concave_later():
    """Without noise, w = P_k - 1 at least 7/5: w^2/k does not grow. a is L eta_(k+1) at the cap."""
    p = ft.Proof("k w", "a")
    k, w, a = p("k w a")
    cap = p.given("(T1)", 1 - 6 * (k + 1) * (2 * k + 3) * a**2, "of step k + 1")
    large = p.given("large enough", w - Q(7, 5), "P_k >= 12/5")
    b = a * (w + 1)
    ratio = p.follows("w + 1 below sqrt(3) w", 3 * w**2 - (w + 1)**2, (2 * w, large), (Q(4, 5), large))
    small = p.follows("b^2 below w^2/(4(k+1)^2)", w**2 / (4 * (k + 1)**2) - b**2, (a**2, ratio), (w**2 / (4 * (k + 1)**2), cap),
                      says="b = a (w + 1)")
    young = p.square("Young", w - 2 * (k + 1) * b)
    return p.conclude(p.follows("the quotient falls", (k + 1) * w**2 - k * (w + b)**2, (k / (2 * (k + 1)), young),
                                (2 * k * (k + 1) + k, small)), p.follows("still large", w + b - Q(7, 5), large))


def noise_later():
    """Noise alone, from k = 2 on: V_k/(k + 1) does not grow, V_(k+1) = (1 + a)^2 V_k + a^2. m = k + 1 = j + 3."""
    p = ft.Proof("m V", "j a")
    m, V, j, a = p("m V j a")
    index = p.define("m", m - j - 3, "the next step")
    large = p.given("large enough", V - Q(2, 25), "V_2 is")
    small, linear = below(p, m, a)
    after = (1 + a)**2 * V + a**2
    return p.conclude(p.follows("the quotient falls", (m + 1) * V - m * after, (2 * m * V, linear), (m * V + m, small),
                                (Q(19, 45) * V / m, index), (Q(71, 60) / m, large)),
                      p.follows("still large", after - Q(2, 25), large))


def below(p, m, a):
    """What (T1) of step m says of a: a^2 <= 1/(12 m^2) and a <= 13/(45 m)."""
    cap = p.given("(T1)", 1 - 6 * m * (2 * m + 1) * a**2, "a_m = 1/sqrt(6m(2m+1)) at most")
    small = p.follows("square of a step", 1 / (12 * m**2) - a**2, (1 / (12 * m**2), cap))
    return small, p.follows("a step", Q(13, 45) / m - a, (5 * m / 3, p.square("Young", a - Q(3, 10) / m)), (5 * m / 3, small))


# ---- growth ----------------------------------------------------------------------------------------------------------------
def growth():
    """c/k - c/(4k^2) <= a_k <= c/k for c = 1/sqrt 12, so that S = ln prod_j (1 + a_j) is c H_k up to (c/4 + 1/24) sum 1/j^2."""
    return [_growth(above) for above in (True, False)]


def _growth(above):
    p = ft.Proof("m K c a a1 an aK", "k la S H R SK HK RK la1 lan laK")
    m, c, a, k, la, S, H, R = p("m c a k la S H R")
    index = None if above else p.define("m", m - k - 1, "the next step, k = 0, 1, ..")
    root = p.given("c", 12 * c**2 - 1, "c = 1/sqrt 12", equality=True)
    cap = p.given("boundary schedule", 1 - 6 * m * (2 * m + 1) * a**2, "a_m = 1/sqrt(6m(2m+1))", equality=True)
    if above:
        log = p.given("logarithm", a - la, "la = ln(1 + a) <= a")
        whole = p.follows("product", (c / m - a) * (c / m + a), (1 / (12 * m**2), root), (1 / (12 * m**2), cap))
        step = p.cancel("step", c / m - a, whole, p.follows("positive", c / m), a)
        held = p.suppose("before step m", c * H - S)
        then = p.follows("after step m", c * (H + 1 / m) - S - la, held, step, log)
    else:
        log = p.given("logarithm", la - a + a**2 / 2, "la = ln(1 + a) >= a - a^2/2")
        small, low = p.follows("square", 1 / (12 * m**2) - a**2, (1 / (12 * m**2), cap)), c / m - c / (4 * m**2)
        whole = p.follows("product", (a - low) * (a + low), (-1 / (6 * m * (2 * m + 1)), cap),
                          (-(4 * m - 1)**2 / (192 * m**4), root), (1 / (192 * m**4 * (2 * m + 1)), index))
        step = p.cancel("step", a - low, whole, p.follows("positive", low, (c / (4 * m**2), index)), a)
        rest = c / 4 + Q(1, 24)
        held = p.suppose("before step m", S - c * H + rest * R)
        then = p.follows("after step m", S + la - c * (H + 1 / m) + rest * (R + 1 / m**2), held, log, step, (Q(1, 2), small))
    sums = {"S": (0, S + la, "SK"), "H": (0, H + 1 / m, "HK"), "R": (0, R + 1 / m**2, "RK"), "k": (0, k + 1, "K"),
            "m": (1, m + 1, p("K") + 1), "a": ("a1", "an", "aK"), "la": ("la1", "lan", "laK")}
    start, onward, end = ({name: values[j] for name, values in sums.items()} for j in range(3))
    return p.conclude(p.induct("at most c H_k" if above else "at least c H_k, less a bounded sum", held, then, start, onward, end))
