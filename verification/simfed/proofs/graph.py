"""Pencil proofs about similarity graphs and Lemma 1, and of the second moments of a round with step noise.

Indices: i, n clients. a = p_in, b = p_ni the two weights of an edge; v a coordinate of client n's last local model; sums carry the
doubled letter (aa over i, aaa over i and n). Vectors may have any dimension, models are read coordinate by coordinate.
"""
import fltheory as ft

EVERY = "every number of clients and dimension"
GRAPH = EVERY + "; every symmetric p_in >= 0 with sum 1 and p_i = sum_n p_in > 0, connected or not"


def _unit_messages():
    p = ft.Proof("", vectors="m n")
    m, n = p("m n")
    unit = [p.given(f"unit {name}", v.square - 1, "messages have norm 1", equality=True) for name, v in (("m", m), ("n", n))]
    return p, m, n, unit


def misalignment():
    """The misalignment as a quarter of a squared distance, from which 0 <= mis <= 1."""
    out = []
    for sign, name in ((1, "mis >= 0"), (-1, "mis <= 1")):
        p, m, n, unit = _unit_messages()
        mis = (1 - m.dot(n)) / 2
        side = mis if sign > 0 else 1 - mis
        square = (m - sign * n).square / 4
        same = p.follows("the square", side - square, *((ft.fraction("-1/4"), u) for u in unit), equality=True)
        apart = p.square("a norm", m - sign * n)
        out.append(p.conclude(same, p.follows(name, side, same, (ft.fraction("1/4"), apart))))
    return out


def flipped():
    """mis(-m, n) = 1 - mis(m, n)."""
    p = ft.Proof("", signed="was now", vectors="m n")
    m, n = p("m n")
    before = p.define("misalignment", p("was") - (1 - m.dot(n)) / 2, "Definition 1")
    after = p.define("of the other sign", p("now") - (1 + m.dot(n)) / 2, "Definition 1 at -m")
    return p.conclude(p.follows("flipped", p("now") - (1 - p("was")), before, after, equality=True))


def root_metric():
    """sqrt(mis) is half a Euclidean distance: the triangle inequality of three messages."""
    p = ft.Proof("", "ij jk ik dij djk dik")
    roots = [p.define(f"root {k}", 2 * p(k) - p("d" + k), f"{k} = sqrt(mis), d{k} = |m - n|; def1-id") for k in ("ij", "jk", "ik")]
    far = p.standard("distances", p("dij") + p("djk") - p("dik"), "triangle inequality")
    half = ft.fraction("1/2")
    return p.conclude(p.follows("roots", p("ij") + p("jk") - p("ik"), (half, far), (half, roots[0]), (half, roots[1]),
                                (-half, roots[2])))


def laplacian():
    """x'Lap x >= 0: a pair of clients adds A_in (x_i - x_n)^2."""
    p = ft.Proof("", "A pairs", "x y q qq form")
    A, x, y, q = p("A x y q")
    pair = p.define("a pair", q - A * x * (x - y) - A * y * (y - x),
                    "row i of Lap x is sum_n A_in (x_i - x_n); x = x_i, y = x_n, A = -ln mis >= 0 as mis <= 1")
    apart = p.square("difference", x - y)
    one = p.follows("a pair is not negative", q, pair, (A, apart))
    every = p.total("all pairs", one, {"q": "qq"}, "pairs", over="pairs of clients")
    whole = p.define("quadratic form", p("form") - p("qq"), "x'Lap x")
    return p.conclude(p.follows("positive semidefinite", p("form"), every, whole))


def stationary():
    """sum_i p_i u_i = sum_n p_n v_n for all models v_n: p'P = p'."""
    p = ft.Proof("C", "a b", "v e g ee gg eee ggg Mu Mw")
    a, b, v = p("a b v")
    symmetric = p.given("symmetric weights", a - b, "p_in = p_ni", equality=True)
    there, back = p.define("an edge", p("e") - a * v, "p_in w_n"), p.define("the edge back", p("g") - b * v, "p_ni w_n")
    one = p.follows("either way", p("e") - p("g"), there, (-1, back), (v, symmetric), equality=True)
    column = p.total("over i", one, {"e": "ee", "g": "gg"}, "C")
    every = p.total("over n", column, {"ee": "eee", "gg": "ggg"}, "C")
    left = p.define("means of the neighbours", p("Mu") - p("eee"), "sum_i p_i u_i with p_i u_i = sum_n p_in w_n")
    right = p.define("mean of all", p("Mw") - p("ggg"), "sum_n p_n w_n with p_n = sum_i p_ni")
    return p.conclude(p.follows("stationary", p("Mu") - p("Mw"), left, (-1, right), every, equality=True))


def lemma1():
    """sum_i p_i wtilde_i = beta wbar_k + (1 - beta) wbar_0."""
    p = ft.Proof("C", "p beta", "w u wt pw pu pwt Wk Mu Wt Mw W0")
    beta, weight = p("beta p")
    point = p.define("perturbed point", p("wt") - beta * p("w") - (1 - beta) * p("u"), "(5)")
    shares = [p.define(f"share of {v}", p("p" + v) - weight * p(v), "times p_i") for v in ("w", "u", "wt")]
    one = p.follows("one client", p("pwt") - beta * p("pw") - (1 - beta) * p("pu"), (weight, point), shares[2], (-beta, shares[0]),
                    (beta - 1, shares[1]), equality=True)
    mean = p.total("weighted mean", one, {"pwt": "Wt", "pw": "Wk", "pu": "Mu"}, "C", "beta")
    heard = p.lemma("neighbours in the mean", stationary())
    start = p.given("full participation", p("Mw") - p("W0"),
                    "the round starts at wbar_{t,0} = sum_n p_n w_n over all clients; in round 0 all w_n are wbar_{0,0}",
                    equality=True)
    return p.conclude(p.follows("Lemma 1", p("Wt") - beta * p("Wk") - (1 - beta) * p("W0"), mean, (1 - beta, heard),
                                (1 - beta, start), equality=True))


def noise_of_steps():
    """v'Q_i v = gamma^2 sum_j (B^j'v)' Sigma (B^j'v): what E local steps of noise leave in one local model, in any direction v."""
    p = ft.Proof("gamma E", signed="y Ey Eaa Ean Een s SEy SEaa Ss Q", vectors="a e")
    gamma, s, (a, e) = *p("gamma s"), p("a e")
    after = p.define("one more step", p("y") - (a - gamma * e).square,
                     "w_{k+1} = B w_k + constant - gamma noise, B = I - gamma beta H; with v_k = (B')^{E-k} v: a = <v_k, noise "
                     "left by k steps>, e = <v_{k+1}, noise of the step>, y = the square of <v_{k+1}, noise left by k + 1 steps>")
    mean = p.expect("in the mean", after, {"y": "Ey", "a_a": "Eaa", "a_e": "Ean", "e_e": "Een"})
    past = p.given("mean 0 given the past", p("Ean"), "E a e = 0: the noise of a step has mean 0 given those before", equality=True)
    now = p.given("constant covariance", p("Een") - s, "s = v_{k+1}' Sigma v_{k+1}", equality=True)
    one = p.follows("variance added by a step", p("Ey") - p("Eaa") - gamma**2 * s, mean, (-2 * gamma, past), (gamma**2, now),
                    equality=True)
    every = p.total("all steps", one, {"Ey": "SEy", "Eaa": "SEaa", "s": "Ss"}, "E", over="local steps")
    ends = p.define("telescoping", p("Q") - p("SEy") + p("SEaa"), "no noise at k = 0, all of it at k = E: v'Q_i v")
    return p.conclude(p.follows("noise of one client", p("Q") - gamma**2 * p("Ss"), ends, every, equality=True))


def noise_of_rounds():
    """v'X'v = v'M X M'v + sum_i v_i'Q_i v_i in every direction v: in the stationary law, X = M X M' + blkdiag(Q_i)."""
    p = ft.Proof("C", signed="y Ey Eaa Eaq Eqq Qi Ei SQ SE X MXM", vectors="a q")
    a, q = p("a q")
    after = p.define("one round", p("y") - (a + q).square,
                     "W' - mean = M (W - mean) + noise of the round: a = <M'v, W - mean>, q = <v, noise>")
    mean = p.expect("in the mean", after, {"y": "Ey", "a_a": "Eaa", "a_q": "Eaq", "q_q": "Eqq"})
    past = p.given("mean 0 given the past", p("Eaq"), "E a q = 0", equality=True)
    own = p.given("one client's noise", p("Ei") - p("Qi"), "v_i'Q_i v_i, by the local steps", equality=True)
    every = p.total("all clients", own, {"Ei": "SE", "Qi": "SQ"}, "C")
    apart = p.standard("uncorrelated clients", p("Eqq") - p("SE"), "variance of a sum", "E q^2 = sum_i E<v_i, noise of client i>^2",
                       equality=True)
    before = p.given("stationary, before", p("Eaa") - p("MXM"), "v'M X M'v", equality=True)
    again = p.given("stationary, after", p("Ey") - p("X"), "v'X v", equality=True)
    return p.conclude(p.follows("Lyapunov equation", p("X") - p("MXM") - p("SQ"), mean, (2, past), apart, every, before,
                                (-1, again), equality=True))
