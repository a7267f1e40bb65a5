"""What noise does to Lemma 6's proof, what noise that clients share does to (6), and the random distance D of Theorem 1."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import paths
from verification.fedres.claims import steps
from verification.fedres.claims.eq8 import one
from verification.fedres.claims.eq9 import change
from verification.fedres.formulas import appendix_d, theorem1
from verification.fedres.formulas import steps as f
from verification.fedres.one_round import Noise, one_round, square
from verification.fedres.rounds import clients, round_of

conditional = round_of("Huber(w + theta), noise 9 in theta", steps.SUM, 1, Q(1, 10), Q(1, 1000), 0, 1, Noise(theta=(9,)))


def last_display():
    """The last display of Lemma 6's proof (gradient at the old theta), given each outcome of Step 1 and in the mean."""
    i, r = conditional, one_round(conditional)
    change = r.given_step1(r.F(r.w1, r.theta1)) - r.F(r.w, r.theta1)[:, 0]
    right = sum(steps.lemma6_bound(i).values()) - f.lemma6_descent(i.eta, i.K, square(r.shared(r.w, r.theta))[0, 0])
    lucky = next(k for k, theta in enumerate(r.theta1[:, 0, 0, 0]) if theta == 0)
    moved = max(square(r.theta1[:, 0, 0] - r.theta[:, 0, 0]))
    return (ft.at_most(i.lam * i.gamma, 1, "lambda <= 1/gamma"), ft.at_most(i.eta * i.gamma * i.K, 1, "eta <= 1/(gamma K)"),
            ft.at_most((i.lam * i.K) ** 2 * i.G2, moved, "(lambda G K)^2 < |theta' - theta|^2", strict=True),
            ft.at_most(right, change[lucky], "given theta' = 0 the right side is below the left one", strict=True),
            ft.at_most((r.chances[0] * change).sum(), right, "in the mean over both outcomes it is not"))


ft.finding("err-3", kind="gap", breaks="lem6", check=last_display, script="witnesses/err-3.py",
           reading="The lemma conditions on the past before Step 2, which fixes theta'; its last display needs |theta' - theta| <= "
                   "lambda G K, but the steps of Step 1 carry noise. Lemmas 5, 8 and 9 use the same bound.",
           survives="Without noise in Step 1 for every lambda (lem6-old-theta-noiseless); at lambda = eta/N in full expectation up "
                    "to constants, which is all that Theorem 1 needs (eq8-gfree).")

def _one_draw_for_all():
    """Rounds at the optimum whose noise is one draw for all clients, against the noise and drift that (8) and (9) allow."""
    noise = Noise((1,), common=True, slots=(1,))
    i = one("three clients", clients([[1, 0]], deltas=9, n=3), 1, "1/1000", 0, 0, noise)
    r = one_round(i)
    allowed = (theorem1.eq8_noise(i.gamma, i.eta, i.sigma2, i.n, 1) + theorem1.eq8_drift(i.gamma, i.eta, i.G2, i.n, 1))
    two = paths.run_of("49 clients", clients([[1, 0]], deltas=9, n=49), 1, "1/1000", noise=noise, rounds=2)
    before = paths.path(two).squares(*paths.path(two).states[0][:2])[0][0]
    nine = appendix_d.eq9(two.gamma, two.eta, two.lam, two.sigma2, two.G2, two.n, two.s, 1, before)
    return (ft.at_most(allowed, r.mean(r.F(r.w1, r.theta1)), "(8), three clients", strict=True),
            ft.at_most(sum(nine.values()), change(two, 1), "(9), 49 clients, round 2", strict=True))


ft.finding("hyp-independence", kind="missing-hypothesis", breaks="eq6", at=("noise alone, N=2, K=1, one draw for all",),
           check=_one_draw_for_all,
           reading="Assumption 3 bounds the variance of each client's mini-batch. That the clients sample independently is said in "
                   "passing, in the proof of Lemma 6 after (6).",
           survives="With noise that is uncorrelated across clients, as the proof says: (6) is proved (eq6). Without it the "
                    "variance over N goes, in (8), (9) and so in the theorems' rates.")


# ---- the distance D -----------------------------------------------------------------------------------------
def distances():
    """One round at Huber(w) with noise; and log(1 + E), E standing for e^-(w + t): Eq 3 for one sample and two classes."""
    i = round_of("Huber(w), noise 1", steps.SHARED, 1, "1", "1/2", 1, 0, Noise(w=(1,)))
    r, (E,) = one_round(i), ft.Field("E").symbols
    distance2, gap = square(r.w1)[0], r.F(r.w1, r.theta1)[0]
    slope2, chance = square(r.shared(r.w1, r.theta1))[0], r.chances[1]
    return (ft.at_most(min(distance2), max(distance2), "the distance after one round is random", strict=True),
            ft.at_most((chance * gap).sum() ** 2, (chance * slope2).sum() * (chance * distance2).sum(),
                       "(E gap)^2 <= E|grad F|^2 E distance^2: root mean squares are enough"),
            ft.nonnegative(E / (1 + E), "log(1 + E) falls along w + t with slope E/(1 + E), which is 0 for no E > 0"))


ft.finding("note-d-random", kind="remark", breaks="thm1-convex", check=distances,
           reading="D is a supremum over random iterates and so random itself, and it presumes a minimiser, which the softmax "
                   "losses of Eq 3 need not have.",
           survives="Read as the largest root mean square distance to a minimiser that exists: by Cauchy-Schwarz the proof uses no "
                    "more.")
