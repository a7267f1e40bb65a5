"""Rule (8): where the rounded change of K is positive, zero or negative, and how it depends on the target.

A number z and the integer n that it is rounded to satisfy n <= z <= n + 1 - s for some s > 0 (rounded down), or
n + s <= z <= n + 1 (the largest integer smaller than z); both are hypotheses below, and so is that n is an integer.
"""
import fltheory as ft

DOMAIN = "every gamma >= 0, gbar > 0, kappa > 0 and integer K"


def where(strict=False):
    """[growth needs gamma at or below the band, no growth needs it above, shrinking and not shrinking likewise]: four proofs."""
    out = []
    for name, sign in (("K grows", 1), ("K does not grow", -1), ("K shrinks", -1), ("K does not shrink", 1)):
        p = ft.Proof("kappa gbar s", "gamma", "n")
        n, s, kappa, gap = p("n"), p("s"), p("kappa"), p("gbar") - p("gamma")
        edge = {"K grows": 1, "K does not grow": 1, "K shrinks": 0, "K does not shrink": 0}[name]
        least = {"K grows": n - 1, "K does not grow": -n, "K shrinks": -n - 1, "K does not shrink": n}[name]
        side = p.given(name, least, "n is an integer")
        if sign > 0:
            round_ = p.given("rounded", gap * kappa - n - (s if strict else 0), "n <= z, or n + s <= z in the strict reading")
            said = gap - edge / kappa - (s / kappa if strict else 0)
        else:
            round_ = p.given("rounded", n + 1 - gap * kappa - (0 if strict else s), "z <= n + 1, or z <= n + 1 - s")
            said = edge / kappa - gap - (0 if strict else s / kappa)
        out.append(p.conclude(p.follows("where gamma is", said, (1 / kappa, round_), (1 / kappa, side),
                                        says="gamma against gbar - 1/kappa, or against gbar")))
    return out


def no_growth(strict=False):
    """Growth at some gamma >= 0 needs gbar kappa >= 1 (> 1), and gamma = 0 shows that this is enough."""
    p = ft.Proof("kappa gbar s", "gamma", "n")
    n, kappa, gbar = p("n"), p("kappa"), p("gbar")
    up = p.given("K grows", n - 1, "n is an integer")
    low = p.given("rounded", (gbar - p("gamma")) * kappa - n - (p("s") if strict else 0))
    needs = p.conclude(p.follows("enough room", gbar * kappa - 1 - (p("s") if strict else 0), low, up))
    p = ft.Proof("kappa gbar s", "", "n")
    n, z = p("n"), p("gbar") * p("kappa")
    room = p.given("enough room", z - 1 - (p("s") if strict else 0))
    high = p.given("rounded, gamma = 0", n + 1 - z - (0 if strict else p("s")))
    return [needs, p.conclude(p.follows("K grows by more than 0", n - p("s"), room, high, says="an integer above 0 is at least 1"))]


def clamped():
    """max(1, K + n) is at least 1; th is 1 where the clamp acts and 0 elsewhere."""
    p = ft.Proof("", "th", "K n Kn")
    th, new = p("th"), p("K") + p("n")
    kept = p.define("clamp", p("Kn") - th - (1 - th) * new, "Kn = 1 or Kn = K + n")
    free = p.given("where it does not act", (1 - th) * (new - 1), "K + n >= 1 there")
    return p.conclude(p.follows("at least one step", p("Kn") - 1, free, kept))


def monotone(strict=False):
    """For one sequence of staleness and targets gbar <= gbar + more: K <= J at every arrival, through the clamp at 1."""
    p = ft.Proof("kappa s", "gamma gbar more th", "K0 K J n k Kn Jn KT JT")
    K, J, n, k, th, z = *p("K J n k th"), (p("gbar") - p("gamma")) * p("kappa")
    low = p.given("rounded, smaller target", z - n - (p("s") if strict else 0), "n <= z, or n + s <= z")
    high = p.given("rounded, larger target", k + 1 - (0 if strict else p("s")) - z - p("more") * p("kappa"), "z + more kappa")
    apart = p.follows("changes of K", k + 1 - p("s") - n, low, high, says="k - n > -1")
    whole = p.given("integers", k - n, "k - n is an integer above -1")
    share = p.given("th", 1 - th, "th is 1 where the clamp acts on K, else 0")
    kept = p.define("clamp, smaller target", p("Kn") - th - (1 - th) * (K + n), "Kn = max(1, K + n)")
    one, other = p.given("Jn at least 1", p("Jn") - 1, "Jn = max(1, J + k)"), p.given("Jn at least J + k", p("Jn") - J - k)
    held = p.suppose("up to now", J - K)
    then = p.follows("next", p("Jn") - p("Kn"), (th, one), (share, other), (share, held), (share, whole), (-1, kept))
    end = p.induct("at every arrival", held, then, {"K": "K0", "J": "K0"}, {"K": "Kn", "J": "Jn"}, {"K": "KT", "J": "JT"})
    return p.conclude(apart, end)


def sooner():
    """Time of the n-th arrival, c times the sum of the numbers of steps: no later at the smaller target."""
    p = ft.Proof("c", "K J", "t u tn un tT uT")
    c, t, u = p("c t u")
    one = p.define("tn", p("tn") - t - c * p("K"), "a run lasts c K")
    other = p.define("un", p("un") - u - c * p("J"), "and c J")
    fewer = p.given("no more steps", p("J") - p("K"), "monotone, at every arrival")
    held = p.suppose("up to now", u - t)
    then = p.follows("next", p("un") - p("tn"), held, (c, fewer), other, (-1, one))
    end = p.induct("at every arrival", held, then, {"t": 0, "u": 0}, {"t": "tn", "u": "un"}, {"t": "tT", "u": "uT"})
    return p.conclude(end)
