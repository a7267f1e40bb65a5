"""Appendix C, Eq 8: one round of FedResSGD, as printed and without its gradient bound."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import bugs, over, paths, rounds
from verification.fedres.formulas import theorem1 as f
from verification.fedres.one_round import Noise, noise_of, one_round, square
from verification.fedres.proofs import eq8 as proofs
from verification.fedres.proofs import eq8_numbers as numbers
from verification.fedres.rounds import Beyond, clients, round_of

personal = ft.Hypothesis("personal step", r"$\lambda=\eta/N$: $|\lambda-\eta/N|\le0$", lambda i: (abs(i.lam - i.eta / i.n), 0))
half_cap = ft.Hypothesis("step", r"$\eta\le1/(2\gamma K)$", lambda i: (2 * i.eta * i.gamma * i.K, 1), cap=1)
FREE = [rounds.variance, half_cap, personal, rounds.independent]
PRINTED = [rounds.convex, rounds.bounded, rounds.variance, rounds.server_cap, personal, rounds.independent]
WRONG = [bugs.large_step_not_multiplied, bugs.personal_averaged]


def with_shared_step(i):
    """lambda = eta/N."""
    own = i.stated.algorithm
    return i.but(algorithm=ft.FedResSgd(lr=own.lr, steps=own.steps, personal_lr=ft.fraction(own.lr) / i.n))


def one(name, problem, K, share, *state, **more):
    """A round at this share of 1/(gamma K), lambda = eta/N."""
    return with_shared_step(round_of(name, problem, K, "1", share, *state, **more))


def decrease(i, gain, noise=None, drift=0):
    """E F(x') - F(x) + gain |grad F(x)|^2 of the coded round, against the noise term, if any; a term that nothing needs stands on
    the left."""
    r = one_round(i)
    grad2 = f.squared_gradient(square(r.shared(r.w, r.theta))[0, 0], i.n * r.own2(r.w, r.theta)[0, 0], i.n)
    left = r.mean(r.F(r.w1, r.theta1)) - r.F(r.w, r.theta)[0, 0] + gain * grad2
    return ft.at_most(left - drift, 0 if noise is None else ft.Terms(noise=noise))


LINE, PAIR = clients([[[1, 0], [0, 1]]], deltas=9), clients([[[3, 4], [0, 2]], [[4, -3]]], [[0, 1], [2]], [[1, "1/2"], [2]])
SUM = clients([[[3, 4]]], deltas=100)


def loud(n, K=1):
    return one(f"noise alone, N={n}, K={K}", clients([[1, 0]], n=n), K, "1/8", 0, 0, Noise((1,), slots=tuple(range(K, 2 * K))))


def at_share(share):
    """Rounds at this share of the cap 1/(gamma K) that both forms of eq 8 admit."""
    return [loud(1), loud(5, 2), loud(60), one("many steps", SUM, 60, share, 1, 1),
            one("many clients", clients([[3, 4]], n=60), 3, share, 1, 1),
            one("two clients, both blocks", PAIR, 2, share, 1, [[2], [-1]], Noise((1,), (Q(1, 2),), skew=2)),
            one("noise of the state", LINE, 3, share, 0, 1, Noise((1,), (1,), where=Beyond(0, Q(1, 3)))),
            one("w alone, short steps", clients([[[1, 0]]]), 8, "1/10", 1, 0),
            one("clients apart, short steps", clients([[[0, 1]], [[0, 1]]], [[3], [-3]]), 2, "1/10", 0, [[2], [-2]])]


def drawn(cap, quiet=False, **fixed):
    """Huber sums with noise in both blocks; many clients have it in w alone, where its sum is all that matters."""
    def build(draw, n=None, share=None, **at):
        made = rounds.hubers(draw, n, step1=n is None and not quiet, step2=not quiet, common=False,
                             eta=share and str(Q(share) * Q(cap)), **fixed, **at)
        if made is None:
            return None
        made = made if share else made.but(algorithm=ft.FedResSgd(ft.fraction(made.eta) * Q(cap), made.K, made.lam))
        return with_shared_step(made)
    return build


CORNERS = ({"n": rounds.MANY, "K": 1}, {"n": 1, "K": rounds.LONG}, {"n": 1, "K": 1, "share": "1"},
           {"n": 2, "K": 2, "share": "1/1000"})
ENDS = rounds.ENDS | {"step over its cap": (rounds.TINY, 1)}


@ft.claim("eq8", on=at_share("1"), needs=PRINTED, rejects=WRONG, ends=ENDS,
          search=ft.Search((ft.Family("Huber with noise", drawn("1"), CORNERS),), tries=60),
          reading="With its noise, in full expectation over the round. Its proof bounds the drift of Step 1 without the noise "
                  "that is in it, so this is no proof; nothing that was run needs the term with G (eq8-gfree).")
def eq8(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(\gamma K)$: $\Delta^{(r+1)}-\Delta^{(r)}\le-\frac{\eta K}4E\|\nabla F(x^r)\|^2
    +\frac{\gamma\eta^2\sigma^2K}N+\frac{\gamma^2\eta^3G^2K^3}{N^2}$."""
    drift = f.eq8_drift(i.gamma, i.eta, i.G2, i.n, i.K)
    return decrease(i, f.eq8_gain(i.eta, i.K), f.eq8_noise(i.gamma, i.eta, i.sigma2, i.n, i.K), drift)


still = [i for i in at_share("1") if not noise_of(i).w]


@ft.claim("eq8-noiseless", on=still, needs=[paths.quiet, rounds.server_cap, personal], rejects=WRONG, ends=ENDS, over=over.ROUNDS,
          certify=lambda i: over.decrease(i, f.eq8_gain(i.eta, i.K)),
          search=ft.Search((ft.Family("Huber sums", drawn("1", quiet=True), CORNERS),
                            ft.Family("non-convex Huber sums", drawn("1", quiet=True, bent=True))), tries=40),
          domain="smooth functions of both parts, convex or not, in every dimension, at the listed numbers of clients and steps")
def eq8_noiseless(i):
    r"""Without noise (8) holds without its term with $G$, convex or not, at its full step: for $\lambda=\eta/N$,
    $\eta\le1/(\gamma K)$, $F(x^{r+1})\le F(x^r)-\frac{\eta K}4\|\nabla F(x^r)\|^2$."""
    return decrease(i, f.eq8_gain(i.eta, i.K))


BENT = clients([[[1, 1], [0, 1]], [[1, 1], [1, -1]]], [[0, 0], [1, 0]], scales=[[1, Q(-1, 2)], [Q(-1, 2), 1]])
SADDLE = ft.Personal(ft.Quadratic.from_linear([[[2, 1], [1, -1]], [[-1, 0], [0, 1]]], [[1, 0], [0, 2]]), 1)
on_free = [*at_share("1/2"), one("not convex", BENT, 2, "1/2", 0, [[2], [Q(1, 2)]], Noise((1,), (1,), skew=3)),
           one("indefinite quadratics, unbounded gradients", SADDLE, 2, "1/2", 1, [[1], [2]], Noise((1,), (1,))),
           one("one draw for all clients", clients([[1, 0]], deltas=9, n=5), 1, "1/2", 0, 0, Noise((1,), common=True, slots=(1,)))]


@ft.claim("eq8-gfree", on=on_free, needs=FREE, rejects=WRONG, ends=ENDS, domain=proofs.SMOOTH, meaning=numbers.smooth,
          over=over.HALF_ROUNDS, certify=lambda i: over.decrease(i, f.free_gain(i.eta, i.K)),
          proof=lambda: (proofs.one_round(), proofs.personal_steps(), proofs.displacement()),
          search=ft.Search((ft.Family("Huber with noise", drawn("1/2"), CORNERS),
                            ft.Family("non-convex Huber sums", drawn("1/2", bent=True))), tries=40))
def eq8_gfree(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(2\gamma K)$, without Assumption 2 and without convexity:
    $EF(x^{r+1})\le EF(x^r)-\frac{\eta K}5E\|\nabla F(x^r)\|^2+\frac{3\gamma\eta^2\sigma^2K}{2N}$."""
    return decrease(i, f.free_gain(i.eta, i.K), f.free_noise(i.gamma, i.eta, i.sigma2, i.n, i.K))
