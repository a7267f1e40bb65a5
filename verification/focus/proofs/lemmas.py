"""Lemmas 3 and 4 as corrected, (95), (96), (123), (128)."""
import fltheory as ft
from verification.focus.formulas import lemmas as f
from verification.focus.proofs.drift import CLIENT, ELEVENTH, HALF, THIRD, drift, drift_half, in_the_mean, surely

EVERY = ("every state, all functions with L-Lipschitz gradients under the hypotheses, every law with independent rounds; each step "
         "of the proof but the induction hypotheses is held against coded rounds on listed clients on the line, at most five")


def lemma3():
    """Lemma 3 as corrected: eta <= 1/mu, eta <= 1/(3L(tau-1)), F mu-strongly convex."""
    p = ft.Proof("L eta N q mu", f"{CLIENT} gap A A1 EA1 V", "", "x g e")
    L, eta, N, mu, B, S, V, gap, A, A1, x, g, e = p("L eta N mu B S V gap A A1 x g e")
    below = p.given("step below 1/mu", 1 - eta * mu)
    several = p.given("clients", N - 1)
    near = surely(p, THIRD)
    lipschitz = p.given("stale gradients", L**2 * S - V, "V = sum_i |grad f_i(x) - grad f_i(z_i')|^2, Lipschitz gradients")
    summed = p.standard("mismatch", N * V - e.square, "Cauchy-Schwarz", "e = sum_i (grad f_i(x) - grad f_i(z_i'))")
    mismatch = p.follows("mismatch against B", L**2 * N * B - e.square, summed, (N, lipschitz), (N * L**2, near))
    convex = p.standard("descent direction", g.dot(x) - gap - mu / 2 * x.square, "strong convexity", "x stands for x - x*")
    smooth = p.standard("gradient", 2 * L * gap - g.square, "gradient below the gap")
    before = p.define("error before", A - x.square)
    after = p.define("error after", A1 - (x - eta * N * g + eta * e).square, "x' = x - eta sum_i grad f_i(z_i')")
    s = eta * mu / 7
    young = p.square("Young", s * (x - eta * N * g) - eta * e)
    contraction, drop, consensus = f.lemma3(eta, N, L, mu)
    one = p.follows("one round", contraction * A + consensus * B - drop * gap - A1, (-1, after), (contraction, before), (1 / s,
                                                                                                                         young),
                    ((1 + 1 / s) * eta**2, mismatch), (2 * eta * N * (1 + s), convex), (eta**2 * N**2 * (1 + s), smooth),
                    (eta * mu / 2 * x.square, several), (eta * L**2 * N / mu * B, below), (2 * eta**2 * N**2 * L * gap / 7, below))
    return p.conclude(p.expect("Lemma 3", one, {"A1": "EA1"}, fixed="A B gap"))


def lemma4():
    """Lemma 4 as corrected: eta <= min{q^1.5/(8LN), q^1.5/(8 sqrt 2 L(tau-1))}, N >= 2, Lipschitz gradients alone."""
    p = ft.Proof("L eta N q", f"{CLIENT} B1 EB1 C2 G EG V", "", "a h e")
    L, eta, N, q, T, B, D2, C2, V, B1, EB1, G, EG, a, h, e = p("L eta N q T B D2 C2 V B1 EB1 G EG a h e")
    k, y, s = L * eta, N * h - e, q / 2
    several = p.given("several clients", N - 2)
    share = p.given("smallest weight", 1 - q * N, "the q_i sum to 1")
    half = p.follows("q <= 1/2", 1 - 2 * q, share, (q, several))
    step = p.given("step", q**3 - 64 * k**2 * N**2, "eta <= q^{3/2}/(8LN), squared")
    runs = p.given("step with local steps", q**3 - 128 * k**2 * T**2, "eta <= q^{3/2}/(8 sqrt 2 L (tau - 1)), squared")
    squared = p.follows("local steps, squared", (1 - 11 * k * T) * (1 + 11 * k * T), runs, (half, 1 + q + q**2))
    p.cancel("local steps", 1 - 11 * k * T, squared, p.follows("a factor >= 1", 11 * k * T), 1)
    mean = in_the_mean(p, ELEVENTH)
    near = p.define("squared distance", D2 - a.square, "a = x - z_i'")
    move = p.define("distance from the new model", C2 - (a - eta * y).square, "x' = x - eta y, y = N h - e")
    young = p.square("Young", s * a + eta * y)
    one = p.follows("one client and the server's move", (1 + s) * D2 + (1 + 1 / s) * eta**2 * y.square - C2, (-1, move),
                    (1 + s, near), (1 / s, young))
    total = p.total("all clients", one, {"D2": "S", "C2": "B1"}, N, fixed="h_h e_e e_h")
    lipschitz = p.given("stale gradients", L**2 * B1 - V, "V = sum_i |grad f_i(x') - grad f_i(z_i')|^2, Lipschitz gradients")
    summed = p.standard("mismatch", N * V - e.square, "Cauchy-Schwarz", "e = sum_i (grad f_i(x') - grad f_i(z_i'))")
    gradient = p.define("gradient after", G - h.square)
    both = p.square("two terms", N * h + e)
    X, grow = 2 * (1 + 1 / s) * k**2 * N**2, (1 + 1 / s) * 2 * eta**2 * N**3
    round_ = p.follows("one round", (1 + s) * p("S") + grow * G - (1 - X) * B1, total, ((1 + 1 / s) * eta**2 * N, both),
                       (grow, gradient), (2 * (1 + 1 / s) * eta**2 * N, summed), (2 * (1 + 1 / s) * eta**2 * N**2, lipschitz))
    later = p.expect("one round in the mean", round_, {"S": "ES", "B1": "EB1", "G": "EG"})
    contraction, factor = f.lemma4_corrected(eta, N, q)
    lemma = contraction * B + factor * EG - EB1
    small = p.follows("what the step leaves", (q + 2) * q**2 / 32 - X, ((q + 2) / (32 * q), step))
    whole = p.follows("the same, undivided", (1 - X) * lemma, later, (1 + s, mean), (B, small, half), (B * q * 5 / 3, small),
                      (B * q**2 / 32, half), (eta**2 * N**3 / q * EG * 9, small), (2 * (1 + q + q**2) * eta**2 * N**3 / q * EG,
                                                                                   half))
    least = p.follows("a factor >= 1/2", ft.fraction("1/2") - X, small, ((1 + q + q**2) / 10, half))
    return p.conclude(p.cancel("Lemma 4", lemma, whole, least, ft.fraction("1/2")))


def mismatch(p):
    """|e|^2 <= L^2 N S for e = sum_i (grad f_i(x) - grad f_i(z_i'))."""
    L, N, S, V, e = p("L N S V e")
    lipschitz = p.given("stale gradients", L**2 * S - V, "V = sum_i |grad f_i(x) - grad f_i(z_i')|^2, Lipschitz gradients")
    summed = p.standard("mismatch", N * V - e.square, "Cauchy-Schwarz", "e = sum_i (grad f_i(x) - grad f_i(z_i'))")
    return p.follows("mismatch against S", L**2 * N * S - e.square, summed, (N, lipschitz))


def eq96():
    """(96) with 1 in place of 3."""
    p = ft.Proof("L eta N", f"{CLIENT} V E EE", "", "e")
    L, N, B, E, EE, e = p("L N B E EE e")
    near = surely(p, THIRD)
    size = p.define("size", E - e.square)
    sharp = p.follows("sharper", L**2 * N * B - E, mismatch(p), (L**2 * N, near), (-1, size))
    mean = p.expect("sharper in the mean", sharp, {"E": "EE"}, fixed="B")
    return p.conclude(p.follows("(96)", f.eq96(N, L) * B - EE, mean))


def eq95():
    """(95), with 1 and 9/4 in place of 2 and 8."""
    p = ft.Proof("L eta N", f"{CLIENT} EV E EE V absent present Absent Present", "", "e")
    L, eta, N, T, b, b2, D, D2, J, P, S, E, EE, e = p("L eta N T b b2 D D2 J P S E EE e")
    k = L * eta
    cap = p.given("local steps", 1 - 3 * k * T, "eta <= 1/(3L (tau - 1))")
    run = p.lemma("drift of a participant", drift(3), which=1)
    square = p.define("distance", b2 - b**2)
    after = p.define("point after the round", D2 - J * D**2 - (1 - J) * b2, "z' = u_{tau-1} of a participant, else z' = z")
    short = p.follows("drift by local steps", 3 * k * T * b - 2 * D, (3, run), (D, cap))
    squared = p.follows("the same, squared", 9 * k**2 * T**2 * b**2 - 4 * D**2, (3 * k * T * b + 2 * D, short))
    one = p.follows("one client", (1 - J) * b2 + J * 9 * k**2 * T**2 * b2 / 4 - D2, (-1, after), (J / 4, squared),
                    (9 * k**2 * T**2 * J / 4, square))
    mean = p.expect("one client in the mean", one, {"J": "P", "D2": "ED2"}, fixed="b2 T")
    away = p.define("absent", p("absent") - (1 - P) * b2)
    here = p.define("present", p("present") - P * b2)
    split = p.follows("one client by participation", p("absent") + 9 * k**2 * T**2 / 4 * p("present") - p("ED2"), mean, away,
                      (9 * k**2 * T**2 / 4, here))
    total = p.total("all clients", split, {"absent": "Absent", "present": "Present", "ED2": "ES"}, N, fixed="T")
    size = p.define("size", E - e.square)
    bound = p.expect("mismatch in the mean", p.follows("its size", L**2 * N * S - E, mismatch(p), (-1, size)),
                     {"E": "EE", "S": "ES"})
    stale, moved = f.eq95(eta, N, L, T + 1)
    return p.conclude(p.follows("(95)", stale * p("Absent") + moved * p("Present") - EE, bound, (L**2 * N, total)))


def descent(p):
    """(F(x) - F(x') >= eta N/2 |g|^2 + eta/(2N) (1 - eta L N) |y|^2 - eta L^2/2 S, y = N g - e): Lipschitz gradients alone."""
    L, eta, N, S, F, F1, g, e = p("L eta N S F F1 g e")
    y = N * g - e
    lower = p.standard("one step", F - F1 - eta * g.dot(y) + L * eta**2 / 2 * y.square, "descent lemma", "x' = x - eta y, y = "
                                                                                                         "N g - e")
    near = mismatch(p)
    return p.follows("descent", F - F1 - eta * N / 2 * g.square - eta / (2 * N) * (1 - eta * L * N) * y.square + eta * L**2 / 2 * S,
                     lower, (eta / (2 * N), near)), y


def eq123():
    """(123), with 2 and 1 in place of 4 and 16."""
    p = ft.Proof("L eta N", f"{CLIENT} V G", "F F1 EF1", "g e")
    L, eta, N, B, F, F1, EF1, G, g = p("L eta N B F F1 EF1 G g")
    small = p.given("step", 1 - 4 * L * eta * N)
    near = surely(p, HALF)
    down, y = descent(p)
    gradient = p.define("gradient", G - g.square)
    push = p.square("push", y)
    sharp = p.follows("sharper", 2 / (eta * N) * (F - F1) + L**2 / N * B - G, (2 / (eta * N), down), (L**2 / N, near), (-1,
                                                                                                                        gradient),
                      (1 / N**2, push, small), (3 * L * eta / N, push))
    mean = p.expect("sharper in the mean", sharp, {"F1": "EF1"}, fixed="F B G")
    scale, consensus = f.eq123(eta, N, L)
    return p.conclude(p.follows("(123)", scale * (F - EF1) + consensus * B - G, (2, mean)))


def eq128():
    """(128) with 27 eta^2 N^3/q^2: Lemma 4 added over the rounds, from B_0 = 0."""
    p = ft.Proof("L eta N q", "T B0 B G EB0 EB EG sumB sumG totalB totalG last")
    L, eta, N, q, T, B, EB0, EB, EG, sumB, sumG = p("L eta N q T B EB0 EB EG sumB sumG")
    k = L * eta
    several = p.given("several clients", N - 2)
    share = p.given("smallest weight", 1 - q * N, "the q_i sum to 1")
    p.given("step", q**3 - 64 * k**2 * N**2, "eta <= q^{3/2}/(8LN), squared")
    p.given("step with local steps", q**3 - 128 * k**2 * T**2, "eta <= q^{3/2}/(8 sqrt 2 L (tau - 1)), squared")
    lemma = p.expect("Lemma 4 in the mean", p.lemma("Lemma 4", lemma4(), B=p("B0"), EB1=B, EG=p("G")),
                     {"B0": "EB0", "B": "EB", "G": "EG"}, says="tower property")
    contraction, factor = f.lemma4_corrected(eta, N, q)
    held = p.suppose("after r rounds", factor * sumG - q / 3 * sumB - contraction * EB0, "EB0 the last B of sumB; sums over "
                                                                                         "rounds < r")
    then = p.follows("after r + 1 rounds", factor * (sumG + EG) - q / 3 * (sumB + EB) - contraction * EB, held, lemma)
    end = p.induct("after all rounds", held, then, {"sumG": p("EG"), "sumB": 0, "EB0": 0},
                   {"sumG": sumG + EG, "sumB": sumB + EB, "EB0": "EB"}, {"sumG": "totalG", "sumB": "totalB", "EB0": "last"})
    rest = p.follows("contraction", contraction, (ft.fraction("1/3"), share), (q / 3, several))
    return p.conclude(p.follows("(128)", f.eq128_corrected(eta, N, q) * p("totalG") - p("totalB"), (3 / q, end),
                                (3 / q * p("last"), rest)))


def eq94():
    """(94) without convexity, eta <= 1/(2L(tau-1)): every change is at most 5/3 L b, so tau - 1 of them are summed."""
    p = ft.Proof("L eta", "T k r b y far Y2 Y")
    L, eta, T, k, r, b, y, far, Y2, Y = p("L eta T k r b y far Y2 Y")
    cap = p.given("local steps", 1 - 2 * L * eta * T, "eta <= 1/(2L (tau - 1))")
    inside = p.given("index", T - k, "k <= tau - 1")
    p.follows("local steps so far", 1 - 2 * L * eta * k, cap, (2 * L * eta, inside))
    run = p.lemma("drift of a participant", drift_half(), which=1, T=k, D=r)
    near = p.standard("distance to the stored point", r + b - far, "triangle inequality", "far = |u_k - z|, r = |u_k - x|, b "
                                                                                          "= |x - z|")
    change = p.given("change of the gradient", L * far - y, "y = |grad f(u_k) - grad f(z)|, Lipschitz gradients")
    short = p.follows("length of a change", 5 * L * b - 3 * y, (3, change), (3 * L, near), (L, run))
    square = p.define("its square", Y2 - y**2)
    one = p.follows("one change", 4 * L**2 * b**2 - Y2, (ft.fraction("1/9") * (5 * L * b + 3 * y), short), (-1, square))
    every = p.total("all changes", one, {"Y2": "Y"}, T, fixed="b", says="sum over t < tau - 1")
    return p.conclude(p.follows("(94)", f.eq94(L, T + 1) * b**2 - Y, every))
