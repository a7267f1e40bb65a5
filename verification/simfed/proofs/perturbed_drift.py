"""Pencil proofs of Lemmas 1 and 2 of Appendix B and of their sharp forms, from bounded gradients alone.

Lengths are roots of mean squares, (E|v|^2)^(1/2), for which the triangle inequality holds as well. last: the step of the round
before, 0 in the first round, where u_i = wbar_{0,0}; b = 1 - beta. g, d: lengths of a gradient and of w_k^i - wbar_{t,0}; D, SD:
of w_{t-1,E}^n - wbar_{t-1,0} and its sum over n with some weights; U: of a difference of neighbour averages; Z: of
wbar_k - wtilde_k^i.
"""
import itertools

import numpy as np

import fltheory as ft
from verification.simfed.formulas import perturbed as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import graph

FEW, MANY = 4, 100   # clients that are looked at; clients above which steps are not tried
ANY = ("every number of clients, dimension, pair of steps, k <= E and graph of symmetric weights; losses and noise of any kind "
       "with E|g|^2 <= G^2 at the perturbed points")


def path(p, step, steps, moved, name):
    """Local steps of one client: its displacement is at most step * steps * G."""
    one = p.facts.get("bounded gradient") or p.given("bounded gradient", p("G") - p("g"), "Assumption 3, at the perturbed points")
    total = p.total(f"{name}: gradients", one, {"g": f"Sg{moved}"}, steps, "G k", over="local steps")
    along = p.standard(f"{name}: displacement", step * p(f"Sg{moved}") - p(moved), "triangle inequality")
    return p.follows(name, step * steps * p("G") - p(moved), along, (step, total))


def before(p):
    """The neighbours' last models around wbar_{t-1,0}."""
    return path(p, p("last"), p("E"), "D", "round before")


def pair_sup():
    """|u_i - u_j| against the one-norm of P_i - P_j."""
    p = ft.Proof("E", "last G g SgD D SD rows U")
    every = p.total("neighbours", before(p), {"D": "SD"}, "rows", "last G", "weights |P_in - P_jn|")
    apart = p.standard("two averages", p("SD") - p("U"), "triangle inequality",
                       "u_i - u_j = sum_n (P_in - P_jn)(w_n - wbar_{t-1,0}), as rows of P have sum 1")
    return p.conclude(p.follows("pair", f.pair(p("last"), p("E"), p("rows")) * p("G") - p("U"), apart, every))


def squared(p, name, bound, fact, what):
    """what^2 <= bound^2 from what <= bound."""
    return p.follows(name, bound**2 - p(what) ** 2, (fact, bound + p(what)))


def pair():
    """(99)."""
    p = ft.Proof("E", "last G rows U")
    last, E, G = p("last E G")
    near = p.lemma("pair", pair_sup())
    stochastic = p.standard("rows", 2 - p("rows"), "triangle inequality", "two rows of non-negative entries with sum 1")
    far = p.follows("any pair", 2 * last * E * G - p("U"), near, (last * E * G, stochastic))
    whole = squared(p, "squares", 2 * last * E * G, far, "U")
    return p.conclude(p.follows("(99)", sum(f.pair_bound(last, E, G**2).values()) - p("U") ** 2, whole))


def distance():
    """wbar_k - wtilde_k^i as a sum over all clients of this round's and of the last round's displacements."""
    p = ft.Proof("E beta", "gamma last k b G g Sgd SgD d Sd D SD rest own away rows Z")
    gamma, last, k, E, b, beta, G = p("gamma last k E b beta G")
    mixed = p.define("beta", 1 - beta - b)
    others = p.define("weight of the others", 1 - p("own") - p("rest"), "own = p_i")
    here = path(p, gamma, k, "d", "this round")
    rest = p.total("other clients", here, {"d": "Sd"}, "rest", "gamma k G", "weights p_j, j other than i")
    heard = p.total("neighbours", before(p), {"D": "SD"}, "rows", "last G", "weights |p_n - P_in|")
    apart = p.standard("distance", p("Sd") + p("away") * p("d") + b * p("SD") - p("Z"), "triangle inequality",
                       "wbar_k - wtilde_k^i = sum_j p_j (w_k^j - wbar_0) - beta (w_k^i - wbar_0) + (1 - beta)(wbar_0 - u_i); "
                       "away = |p_i - beta|")
    bound = f.distance(gamma, last, beta, k, E, p("own"), p("away"), p("rows"))
    return p.conclude(p.follows("one client", bound * G - p("Z"), apart, rest, (p("away"), here), (b, heard),
                                (gamma * k * G, others), (last * E * p("rows") * G, mixed)))


def uniform(p):
    """Z <= (2 beta gamma + (1 - beta)(gamma + 2 last)) E G, from the exact supremum."""
    gamma, last, k, E, b, beta, G, own = p("gamma last k E b beta G own")
    mixed = p.define("beta", 1 - beta - b)
    p.define("weight of the others", 1 - own - p("rest"), "own = p_i")
    near = p.lemma("one client", distance())
    away = p.standard("own weight", beta + own - p("away"), "triangle inequality", "|beta - p_i| <= beta + p_i")
    rows = p.standard("rows", 2 - p("rows"), "triangle inequality", "p and P_i are non-negative with sum 1")
    steps = p.given("local steps", E - k, "k <= E")
    sure = p.follows("weight of the last round", (1 - beta) * (2 - p("rows")), (rows, b), ((2 - p("rows")), mixed))
    return p.follows("for every graph", f.sharp(gamma, last, beta, E) * G - p("Z"), near, (gamma * k * G, away),
                     (last * E * G, sure), (gamma * G * (1 + beta), steps)), mixed


def new_uniform():
    return ft.Proof("E beta gamma", "last k b G rest own away rows Z")


def sharp():
    """Lemma 2 without a division by beta."""
    p = new_uniform()
    near, mixed = uniform(p)
    gamma, last, E, b, beta, G, Z = p("gamma last E b beta G Z")
    bound = (2 * beta * gamma + b * (gamma + 2 * last)) * E * G
    shown = p.follows("with b", bound - Z, near, (-(gamma + 2 * last) * E * G, mixed))
    whole = squared(p, "squares with b", bound, shown, "Z")
    final = f.sharp(gamma, last, beta, E) * G
    return p.conclude(p.follows("sharp Lemma 2", final**2 - Z**2, whole, ((final + bound) * (gamma + 2 * last) * E * G, mixed)))


def lemma2():
    """(107), by Young from the sharp form."""
    p = new_uniform()
    near, mixed = uniform(p)
    gamma, last, E, b, beta, G, Z = p("gamma last E b beta G Z")
    bound = 2 * (gamma + b * last) * E * G
    shown = p.follows("with b", bound - Z, near, ((2 * last - gamma) * E * G * -1, mixed))
    whole = squared(p, "squares", bound, shown, "Z")
    young = p.square("Young", gamma - b * last)
    inner = 8 * (gamma**2 + b**2 * last**2) * E**2 * G**2
    split = p.follows("split", inner - Z**2, whole, (4 * E**2 * G**2, young))
    weak = p.follows("1/beta is at least 1", b**2 / beta**2 - b**2, (b**2 * (1 + beta) / beta**2, mixed))
    extra = p.square("the printed (1 - beta)^2", 1 - beta)
    printed = sum(f.lemma2(gamma, last, beta, E, G**2).values())
    return p.conclude(p.follows("(107)", printed - Z**2, split, (8 * last**2 * E**2 * G**2, weak),
                                (4 * gamma**2 * E**2 * G**2, extra),
                                (32 * last**2 * E**2 * G**2 * (1 - beta + b) / beta**2, mixed)))


def averaged():
    """Lemma 1 makes beta wbar_k + (1 - beta) wbar_0 the mean of the wtilde_k^i; the rest is at most the second moment about
    beta wbar_{t,0} + (1 - beta) wbar_{t-1,0}.

    Origin wbar_{t,0}; a = wbar_k, v = wtilde_k^i, e = wbar_{t-1,0}; X = |a - v|^2, Y = |v - b e|^2; sums with the p_i.
    """
    p = ft.Proof("E C beta", "last gamma k b G g Sgd SgD d D SD U Sd A Ea r EY X Y SX SY ESX ESY", "Sav Sev Mw", "a v e")
    gamma, last, k, E, b, beta, G = p("gamma last k E b beta G")
    a, v, e = p("a v e")
    mixed = p.define("beta", 1 - beta - b)
    far, near = p.define("distance", p("X") - (a - v).square), p.define("about another point", p("Y") - (v - b * e).square)
    one = p.follows("one client", p("Y") - p("X") + a.square - b**2 * e.square - 2 * a.dot(v) + 2 * b * e.dot(v), near, (-1, far),
                    equality=True)
    every = p.total("weighted mean", one, {"X": "SX", "Y": "SY", "a_v": "Sav", "e_v": "Sev"}, 1, "a_a e_e b", "weights p_i")
    p.given("full participation", p("Mw"), "the round starts at wbar_{t,0} = sum_n p_n w_n over all clients; in round 0 all w_n "
            "are wbar_{0,0}", equality=True)
    lemma1 = p.lemma("Lemma 1", graph.lemma1(), Wt=p("Sav") - b * p("Sev"), Wk=(a - b * e).dot(a), W0=0)
    apart = p.square("the two centres", beta * a - b * e)
    split = p.follows("distances and centres", p("SY") + (1 - beta) ** 2 * a.square - p("SX"), every, (2, lemma1), apart)
    mean = p.expect("in the mean", split, {"SX": "ESX", "SY": "ESY", "a_a": "Ea"})
    here, heard = path(p, gamma, k, "d", "this round"), before(p)
    start = p.total("start of the mean", here, {"d": "Sd"}, 1, "gamma k G", "weights p_i")
    length = p.define("length of the mean", p("Ea") - p("A") ** 2)
    jensen = p.standard("mean displacement", p("Sd") - p("A"), "triangle inequality",
                        "wbar_k - wbar_0 = sum_i p_i (w_k^i - wbar_0)")
    moved = p.follows("displacement of the mean", gamma * k * G - p("A"), jensen, start)
    moved2 = squared(p, "its square", gamma * k * G, moved, "A")
    others = p.total("neighbours", heard, {"D": "SD"}, 1, "last G", "weights P_in")
    average = p.standard("neighbour average", p("SD") - p("U"), "triangle inequality", "u_i - wbar_{t-1,0} = sum_n P_in (w_n - ..)")
    point = p.standard("perturbed point", beta * p("d") + b * p("U") - p("r"), "triangle inequality", "r = (E Y)^(1/2)")
    radius = (beta * gamma * k + b * last * E) * G
    client = p.follows("one perturbed point", radius - p("r"), point, (beta, here), (b, others), (b, average))
    client2 = squared(p, "one point squared", radius, client, "r")
    root = p.define("square of r", p("EY") - p("r") ** 2)
    point2 = p.follows("one point in the mean square", radius**2 - p("EY"), client2, (-1, root))
    points = p.total("all points", point2, {"EY": "ESY"}, 1, "gamma last b k G", "weights p_i")
    bound = sum(f.averaged(gamma, last, beta, k, E, G**2).values())
    return p.conclude(p.follows("averaged Lemma 2", bound - p("ESX"), mean, points, (b**2, moved2),
                                (-((1 - beta) ** 2), length), ((1 - beta + b) * (gamma**2 * k**2 * G**2 - p("A") ** 2), mixed),
                                (((beta * gamma * k + (1 - beta) * last * E) * G + radius) * last * E * G, mixed)))


# ---- for a constant step, as Theorem 4 uses them --------------------------------------------------------------------
def _constant(lemma):
    p = ft.Proof("E beta gamma", "last k b G rest own away rows Z ESX")
    mixed = p.define("beta", 1 - p("beta") - p("b"))
    if lemma is not averaged:
        p.define("weight of the others", 1 - p("own") - p("rest"), "own = p_i")
    steps = p.given("local steps", p("E") - p("k"), "k <= E")
    same = p.given("constant step", p("gamma") - p("last"), "gamma_{t-1} = gamma_t; the first round is last = 0")
    return p, mixed, steps, same, p.lemma("Lemma 2", lemma())


def constant_printed():
    """(107) with gamma_{t-1} at most gamma_t: 4 A gamma^2 E^2 G^2."""
    p, mixed, _, same, near = _constant(lemma2)
    gamma, last, E, b, beta, G = p("gamma last E b beta G")
    half = 32 * E**2 * G**2 / beta**2
    return p.conclude(p.follows("printed constant", 4 * gamma**2 * E**2 * G**2 * theorems.drift_constant(beta) - p("Z") ** 2, near,
                                (half * b**2 * (gamma + last), same), (half * (gamma**2 - last**2) * (1 - beta + b), mixed)))


def constant_sharp():
    """(3 - beta)^2 gamma^2 E^2 G^2."""
    p, mixed, _, same, near = _constant(sharp)
    gamma, last, E, b, beta, G = p("gamma last E b beta G")
    whole = 4 * gamma**2 * E**2 * G**2 * f.uniform(beta)
    return p.conclude(p.follows("uniform constant", whole - p("Z") ** 2, near,
                                (4 * b * (2 * gamma + b * last) * E**2 * G**2, same),
                                (4 * (gamma - last) * (2 * gamma + last * (1 - beta + b)) * E**2 * G**2, mixed)))


def constant_averaged():
    """(1 + (1 - beta)^2) gamma^2 E^2 G^2 for the average over clients."""
    p, mixed, steps, same, near = _constant(averaged)
    gamma, last, k, E, b, beta, G = p("gamma last k E b beta G")
    point, printed = beta * gamma * k + b * last * E, beta * gamma * k + (1 - beta) * last * E
    short = p.follows("points", gamma * E - point, (beta * gamma, steps), (b * E, same), (gamma * E, mixed))
    points = p.follows("points squared", gamma**2 * E**2 - point**2, (gamma * E + point, short))
    centre = p.follows("steps squared", E**2 - k**2, (E + k, steps))
    rest = gamma**2 * (E**2 - k**2) * (1 - beta + b) - last * E * (point + printed)
    whole = 4 * gamma**2 * E**2 * G**2 * f.mean(beta)
    return p.conclude(p.follows("averaged constant", whole - p("ESX"), near, (G**2, points), (b**2 * gamma**2 * G**2, centre),
                                (G**2 * rest, mixed)))

# ---- what the symbols of the proofs are on coded rounds -------------------------------------------------------------
def _known(i, r):
    """The numbers of an instance, empty where lengths are no moduli (several outcomes) or clients are many."""
    shared = {"gamma": i.gamma, "last": i.last, "E": i.E, "beta": i.beta, "b": 1 - i.beta, "G": 1}
    return shared if len(r.chances) == 1 and i.n <= MANY else {}


def _summed(i, r, k, j):
    """Sums of |g| over the local steps of the round before, and over the first k of the last round."""
    first = (i.rounds - 2) * i.E
    old = r.given[first:first + i.E] if i.rounds > 1 else []
    now = r.given[len(r.given) - max(i.ks) - 1:][:k]
    return {"SgD": sum(abs(g[0, j]) for g in old), "Sgd": sum(abs(g[0, j]) for g in now)}


def pair_meaning(i, r):
    """Lemma 1: some pairs of clients."""
    at = _known(i, r)
    if not at:
        return
    back = abs(r.ends[0] - r.before[0, 0])
    for a, b in itertools.combinations(range(min(i.n, FEW)), 2):
        weights = [abs(u - v) for u, v in zip(i.P[a], i.P[b], strict=True)]
        yield at | _summed(i, r, 0, a) | {
            "g": abs(r.given[0][0, a]), "D": back[a], "SD": sum(w * v for w, v in zip(weights, back, strict=True)),
            "rows": sum(weights), "U": abs(r.u[0, a] - r.u[0, b])}, {}


def point_meaning(i, r):
    """Lemma 2 and its sharp forms: some clients at every k."""
    at = _known(i, r)
    if not at:
        return
    back = abs(r.ends[0] - r.before[0, 0])
    for j, k in itertools.product(range(min(i.n, FEW)), i.ks):
        here = abs(r.w[k][0] - r.start[0, 0])
        weights = [abs(u - v) for u, v in zip(i.p, i.P[j], strict=True)]
        yield at | _summed(i, r, k, j) | {
            "k": k, "g": abs(r.given[0][0, j]), "d": here[j], "D": back[j], "own": i.p[j], "rest": 1 - i.p[j],
            "Sd": sum(p * v for p, v in zip(i.p, here, strict=True)) - i.p[j] * here[j],
            "SD": sum(w * v for w, v in zip(weights, back, strict=True)), "rows": sum(weights),
            "away": abs(i.p[j] - i.beta), "Z": abs(r.wbar[k][0, 0] - r.wtilde[k][0, j])}, {}


def mean_meaning(i, r):
    """The averaged distance: some clients at every k; origin wbar_{t,0}."""
    at = _known(i, r)
    if not at:
        return
    back, zero = abs(r.ends[0] - r.before[0, 0]), r.start[0, 0]
    p = np.array(i.p, dtype=object)
    for k in i.ks:
        here, v = abs(r.w[k][0] - zero), r.wtilde[k][0] - zero
        a, e = r.wbar[k][0, 0] - zero, r.before[0, 0] - zero
        X, Y = (a - v) ** 2, (v - (1 - i.beta) * e) ** 2
        sums = {"SX": (p * X).sum(), "SY": (p * Y).sum(), "Sav": (p * a * v).sum(), "Sev": (p * e * v).sum(),
                "Mw": (a - (1 - i.beta) * e) * ((p * r.ends[0]).sum() - zero), "Sd": (p * here).sum(), "A": abs(a), "Ea": a * a}
        for j in range(min(i.n, FEW)):
            heard_j = abs(r.u[0, j] - r.before[0, 0])
            own = {"k": k, "g": abs(r.given[0][0, j]), "d": here[j], "D": back[j], "U": heard_j, "X": X[j], "Y": Y[j], "EY": Y[j],
                   "SD": sum(w * v for w, v in zip(i.P[j], back, strict=True)), "r": abs(v[j] - (1 - i.beta) * e)}
            yield at | _summed(i, r, k, j) | sums | own | {"ESX": sums["SX"], "ESY": sums["SY"]}, {"a": [a], "v": [v[j]], "e": [e]}
