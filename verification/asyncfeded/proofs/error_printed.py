"""Pencil proof that (35) holds as printed, for every L, where (C1) holds; what its constants need is decided in balls at the claim.

Norms are root mean squares: d of Delta, cc of (1/K) sum_k eta_k (grad f_i(x_{t-tau}) - grad f_i(y_{k-1})), r of y_k - x_{t-tau}
or any larger number; r_1 is e1 G/L + z_1 sigma_l, and the bound of r_{k+1} increases with r_k. z: the root of the sum of eta_j^2
so far; G >= |grad f_i(x_{t-tau})| any number > 0; e = 1/sqrt(6k(2k + 1)) the cap of L eta_k, e1 that of step 1;
1 + e1 + g = P_k = prod_{j<=k} (1 + e_j), s = e_2 + .. + e_k.
"""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import error_term as f
from verification.asyncfeded.proofs import drift, error_term

CLASS = error_term.CLASS + "; (T1) and (C1)"


def length():
    """r_k <= (P_k - 1) G/L + P_k/P_1 z_k sigma_l for k = 1, 2, .."""
    p = ft.Proof("L e1 G", "eta eta2 etan etak e e2 en ek g gk z z1 zn zk r rn rk sl")
    L, e1, G, eta, e, g, z, zn, r, rn, sl = p("L e1 G eta e g z zn r rn sl")
    cap = p.given("(T1)", e - L * eta, "of step k, its own e and eta")
    roots = [p.given("next root", zn**2 - z**2 - eta**2, "z_k^2 = z_{k-1}^2 + eta_k^2"), p.given("roots grow", zn - z)]
    one = p.lemma("sharper recursion", drift.sharp(), D=r**2, Dn=rn**2, sigma2=sl**2)
    new, first = g + e * (1 + e1 + g), 1 + e1

    def at(h):
        return (e1 + h) * G / L
    loud, wide = (first + g) / first * z * sl, (first + new) / first * sl
    held = p.suppose("after step k", at(g) + loud - r)
    own, reach = (1 + L * eta) * r + eta * G, at(new) + (1 + e) * loud
    moved = p.follows("without the noise of the next step", reach - own, (1 + e, held), (r + G / L, cap))
    whole = p.follows("squared", (at(new) + wide * zn + rn) * (at(new) + wide * zn - rn), one, (moved, reach + own),
                      (2 * at(new) * wide, roots[1]), (wide**2, roots[0]))
    least = p.follows("not zero", at(new) + wide * zn + rn - e1 * G / L)
    then = p.cancel("after step k + 1", at(new) + wide * zn - rn, whole, least, e1 * G / L)
    return p.conclude(p.induct("length", held, then, {"g": 0, "z": "z1", "r": e1 * G / L + p("z1") * sl, "eta": "eta2", "e": "e2"},
                               {"g": new, "z": "zn", "r": "rn", "eta": "etan", "e": "en"},
                               {"g": "gk", "z": "zk", "r": "rk", "eta": "etak", "e": "ek"}))


def change():
    """R = sum_{k=2}^K eta_k L r_{k-1} is at most (P_K - 1 - (e_1 + .. + e_K)) G/L + (P_K/P_1 - 1) Z sigma_l, Z = z_K."""
    p = ft.Proof("L e1 G", "eta eta2 etan etaK e e2 en eK g gK z Z r R Rn RK s sK sl")
    L, e1, G, eta, e, g, z, Z, r, R, s, sl = p("L e1 G eta e g z Z r R s sl")
    cap, roots = p.given("(T1)", e - L * eta, "of step k, its own e and eta"), p.given("roots at the end", Z - z)
    far = p.lemma("length", length(), gk=g, zk=z, rk=r)
    added = p.define("next sum", p("Rn") - R - L * eta * r)
    new, first = g + e * (1 + e1 + g), 1 + e1

    def bound(g, s):
        return (g - s) * G / L + g / first * Z * sl
    held = p.suppose("up to step k", bound(g, s) - R)
    then = p.follows("up to step k + 1", bound(new, s + e) - p("Rn"), held, (-1, added), (e, far), (r, cap),
                     (e * (first + g) / first * sl, roots))
    return p.conclude(p.induct("change of gradients", held, then,
                               {"g": 0, "s": 0, "R": 0, "eta": "eta2", "e": "e2"},
                               {"g": new, "s": s + e, "R": "Rn", "eta": "etan", "e": "en"},
                               {"g": "gK", "s": "sK", "R": "RK", "eta": "etaK", "e": "eK"}))


def squares():
    """L^2 times the sum of eta_k^2 is at most 1/9 under (T1)."""
    p = ft.Proof("L k K", "q qK e2 b S2")
    L, k, K, q = p("L k K q")
    cap = 1 / (6 * (k + 1) * (2 * k + 3))
    held = p.suppose("after step k", Q(1, 9) - 1 / (3 * (4 * k + 3)) - q, "q = the sum of 1/(6j(2j + 1)) over j <= k")
    then = p.follows("after step k + 1", Q(1, 9) - 1 / (3 * (4 * k + 7)) - q - cap, held)
    end = p.induct("caps", held, then, {"k": 1, "q": Q(1, 18)}, {"k": k + 1, "q": q + cap}, {"k": K, "q": "qK"})
    step = p.given("(T1) squared", p("b") - L**2 * p("e2"), "b = 1/(6k(2k + 1)) and e2 = eta_k^2 of step k = 1, .., K")
    total = p.total("(T1) summed", step, {"b": "qK", "e2": "S2"}, K, over="local steps")
    return p.conclude(p.follows("squares", Q(1, 9) - L**2 * p("S2"), total, end))


def printed():
    """(35) as printed, where 72 a^2 <= K ln(K + 1) and 6 w^2 <= 3 K ln(K + 1)/32 + 5(K - 1)/12 for the a, w of `growth`."""
    p = ft.Proof("L K N e1 G sg log Gc", "Gt Gb Dl d cc R g s a w Z sl M Gamma ET ET1")
    L, K, N, e1, G, sg, log, Gc = p("L K N e1 G sg log Gc")
    Gt, Gb, Dl, d, cc, R, g, s, a, w, Z, sl, M, Gamma = p("Gt Gb Dl d cc R g s a w Z sl M Gamma")
    first = 1 + e1
    spread = (first + g) / first * Z * sl
    near = p.standard("own gradient", Gb + sg - G, "triangle inequality", "A3; if both are 0, a sigma_g > 0 that tends to 0")
    moved = p.standard("moved gradient", Gt + L * Dl - Gb, "triangle inequality",
                       "A1 for F; Gt, Gb = |grad F| at x_t and x_{t-tau}, Dl = |x_t - x_{t-tau}|")
    stale = p.given("A4", Gamma * d - Dl, "in the root mean square")
    far = p.lemma("length of the update", length(), gk=g, zk=Z, rk=d)
    c1 = p.given("(C1)", 3 - Gamma**2 * (12 * K**2 * L**2 * M + K * log))
    most = p.given("Gc", K * log * Gc**2 - 3, "Gc = sqrt(3/(K ln(K + 1)))", equality=True)
    both = p.follows("squares of Gamma", (Gc + Gamma) * (Gc - Gamma), (1 / (K * log), c1), (1 / (K * log), most))
    small = p.cancel("Gamma at most Gc", Gc - Gamma, both, p.follows("Gc is not 0", Gc + Gamma - Gc), Gc)
    growth = p.given("a", a * (1 - Gc * (e1 + g)) - (g - s), "a of `growth`, at the caps", equality=True)
    loud = p.given("w", first * w - a * Gc * (first + g) - g, "w of `growth`, at the caps", equality=True)
    own = p.follows("G", Gt + sg + L * Gamma * ((e1 + g) * G / L + spread) - G, near, moved, (L, stale), (L * Gamma, far))
    round_ = p.lemma("change of gradients", change(), gK=g, sK=s, RK=R)
    whole = a * (Gt + sg) / L + w * Z * sl
    change_ = p.follows("R", whole - R, round_, (a / L, own), (a * (e1 + g) * G / L, small), (a * spread, small), (G / L, growth),
                        (Z * sl / first, loud))
    mean = p.standard("mean of the round", R - K * cc, "triangle inequality", "A1; y_0 = x_{t-tau}")
    bounded = p.follows("cc", whole - K * cc, change_, mean)
    noise = p.lemma("(33d)", error_term.noise(), sigma2=sl**2)
    exact = p.lemma("(34d)", error_term.exact(), D2=Dl**2, sigma_g2=sg**2, Ecc=cc**2)
    wide, loose = f.room(K, log, a, w)
    rooms = [p.given(f"room for {name}", high - low, "a number of K alone, decided at the claim")
             for name, (low, high) in (("gradients", wide), ("noise", loose))]
    size = p.define("M", K * M - Z**2, "z_K^2 = the sum of eta_k^2 = K M")
    ninth = p.lemma("squares", squares(), S2=Z**2)
    young = p.square("Young", a * (Gt + sg) / L - w * Z * sl), p.square("Young, gradients", 2 * Gt - sg)
    bound = f.printed35(N, M, L, K, log, Gamma**2, Gt**2, d**2, sg**2, sl**2)
    end = p.follows("(35) as printed", sum(bound.values()) - p("ET"), noise, exact, (3 * N**2 * L**2 * (Gamma * d + Dl), stale),
                    (3 / K**2 * (whole + K * cc), bounded), (3 / K**2, young[0]), (3 * a**2 / (K**2 * L**2), young[1]),
                    ((Gt**2 / 4 + sg**2 / 8) / (K**2 * L**2), rooms[0]), (Z**2 * sl**2 / K**2, rooms[1]),
                    (3 * log * sl**2 / (32 * K * L**2), ninth), (5 * (K - 1) * sl**2 / (12 * K**2), size))
    return p.conclude(end)
