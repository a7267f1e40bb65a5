"""Findings about SG-FOCUS: Lemmas 5 and 6, Theorems 4 to 6, and the speed-up remark."""
from fractions import Fraction as Q

from fltheory.core.laws.memoryless import Full, Uniform
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.relations import at_most, equal, nonnegative
from verification.focus.claims.stochastic import errors, noise_sides, stated_moments
from verification.focus.formulas import stochastic as f
from verification.focus.instances import stochastic as I

finding("e11-lem5", kind="counterexample", breaks="lem5", at=("no noise, eta=80",), script="witnesses/e11_lem5.py",
        step="min{1/mu, ..} is replaced by the part that is infinite at tau = 1",
        reading="One round from the literal start at the optimum, no noise, one uniform client; row 0 vanishes, no empty rounds.",
        survives="The extra condition eta <= 1/mu; steps as small as those of Theorem 4.")

finding("e14", kind="counterexample", breaks="lem5", at=("three identical clients, all",), script="witnesses/e14.py",
        step="(139): the noises of N clients add up to variance N sigma^2, not to 2 sigma^2",
        reading="Noises of different clients are independent; one round from the optimum, where all other terms vanish; any eta.",
        survives="One or two clients.")


def _stale_noise():
    """Two clients, one of them a round, from the optimum: the stored noise and the server model are correlated."""
    i = I.noisy("one of two, from the optimum", [1, 1], [0, 0], Q(1, 10), 1, Uniform(1), 1)
    maps = f.round_maps(i.h, i.eta, i.tau, I.participation_list(i))
    first = f.push(maps, f.start(Q(0), [Q(0)] * 2), i.sigma2)
    second = f.push(maps, first, i.sigma2)
    dropped = first.copy()
    for k in (3, 4):  # the cross term of (131) left out: model and stored noise taken as uncorrelated
        dropped[0, k] = dropped[k, 0] = Q(0)
    return (equal([first[0, 3], first[0, 4]], [-i.eta * i.sigma2 / 2] * 2, "E[(x_1 - x*) n_i] = -p eta sigma^2"),
            equal(errors(i, 3), [Q(0), first[0, 0], second[0, 0]], "coded rounds and formula"),
            at_most(f.push(maps, dropped, i.sigma2)[0, 0], second[0, 0], "E|x_2 - x*|^2 without and with the cross term",
                    strict=True))


finding("e14-stale-noise", kind="gap", breaks="lem5", check=_stale_noise,
        step="(131) drops E<x_r - .., sum of all noises>, but noises of absent clients were used by the server before",
        reading="Stored stochastic gradients as in Algorithm 2.", survives="Full participation, where every noise is fresh.")

finding("e15", kind="counterexample", breaks="thm5", at=("N=6, h=1000, one uniform client",), script="witnesses/e15.py",
        step="the true floor is eta sigma^2 (2/p - 1)/4 for small eta; L/2 lacks 1/p, and 8/q has the wrong units",
        reading="Limit of many rounds; every printed step and those that the proof adds.",
        survives="Curvatures of order 1.")

finding("e16", kind="counterexample", breaks="thm6", at=("N=10, h=1, all", "N=4, h=1, all"), script="witnesses/e16.py",
        step="(4/(eta N)) (eta^2 L N/2) is 2 eta L, not 2 L N eta^2",
        reading="Limit of the average over many rounds; every printed step and the one that the proof adds.",
        survives="A floor of first order in eta; near its largest step the printed one lies above (ten clients: eta > 1.25e-4).")

finding("e20", kind="counterexample", breaks="lem6", at=("N=16, three passes",), script="witnesses/e20.py",
        reading="sigma = 0; a past that the law can produce from the literal start; expectation over the last round on both sides; "
                "with and without row 0.",
        survives="Up to four clients nothing is known to fail.")


def _causes():
    k = Field("y x z u L s")
    y, x, z, u, L, s = k.symbols
    q = 1 / (1 + u)
    constant = 12 / (1 - q * q / 4)
    i = I.noisy("from the optimum, tau=2", [1, 1], [0, 0], Q(1, 10), 2, Full(), 1)
    after = f.push(f.round_maps(i.h, i.eta, i.tau, I.participation_list(i)), f.start(Q(0), [Q(0)] * 2), i.sigma2)
    gradients = [L * z + noise for noise in (s, -s)]  # the stored g_i, relative to x = 0's optimum, noise +-s
    measured = sum(((g - L * x) ** 2 for g in gradients[1:]), (gradients[0] - L * x) ** 2) / 2
    return (nonnegative(constant - 12, "12/(1 - q^2/4) is at least 12, so 8 is too small"),
            nonnegative(16 - constant, "and at most 16"),
            equal(sum([y * y] * 3, 0 * y), 3 * y * y, "three rows y: the stacked square has the factor N"),
            equal(after[1, 1], i.eta**2 * i.sigma2, "inner sum at tau = 2 from the optimum: local points move by noise alone"),
            equal(measured, L**2 * (z - x) ** 2 + s**2,
                  "noise measured at the server's model: more than sigma^2 where the client's point differs"))


finding("e20-causes", kind="gap", breaks="lem6", check=_causes,
        step="12 became 8; |1 ybar|_F^2 = N |ybar|^2; a stray L^2; the inner sum's noise; (139) at x_{r tau} of the server",
        reading="Appendix F.2, line by line.", survives="Theorem 4's own floor carries N^2.")


def _constants():
    k = Field("N q mu eta s u t L")
    N, q, mu, eta, s, u, t, L = k.symbols

    def floor(noise):
        return noise * eta**2 * s / (eta * mu * N / 2)
    printed = f.theorem4_floor(eta, mu, N, q, s)
    derived, from_lemma6 = floor(2 + 8 * N**2 / q), floor(2 + 8 * N / q)
    return (equal(derived, 4 * (q + 4 * N**2) / (mu * N * q) * eta * s, "the proof's last line"),
            nonnegative(derived - printed, "lies above the printed floor"),
            equal(from_lemma6, 4 * (q + 4 * N) / (mu * N * q) * eta * s, "with Lemma 6 as printed"),
            equal(f.lemma6_bound(eta, N, q, 0 * s, 0 * s, s), 8 * eta**2 * N / q * s, "noise term of Lemma 6"),
            nonnegative(((eta**2 * L * N - eta**2 * L) * s / 2).substitute(N=1 + u),
                        "Theorem 5: (143) gives eta^2 L N/2, the print has L/2 for every N"),
            equal(32 * eta**3 * t**2 * L**2 * s / (eta * mu), 32 * t**2 * L**2 * eta * s / mu * eta,
                  "and 32 eta^3 (tau-1)^2 L^2 sigma^2 leaves one more eta in the floor"))


finding("e21", kind="gap", breaks="thm4", check=_constants,
        step="last line of the proof of Theorem 4; (143) and (136) in that of Theorem 5",
        reading="The proofs' own lemmas taken as they stand.", survives="No violation of the printed floor of Theorem 4 is known.")


def _no_speedup():
    k = Field("L s u alpha v")
    L, s, u, alpha, v = k.symbols
    N = 8 * L**2 + s                                  # N > 8 L^2
    q = 1 / (N * (1 + u))                             # q_min <= 1/N
    eta = alpha / N
    second = 8 * N**2 / ((N - 8 * L**2) * q) * eta**2
    return (equal(f.theorem6_floor(eta, L, N, q, v) - second * v, 2 * L * N * eta**2 * v, "second term of (28)"),
            nonnegative(second - 8 * alpha**2 * N / s, "at least 8 alpha^2 N/(N - 8L^2)"),
            nonnegative(8 * alpha**2 * N / s - 8 * alpha**2, "which exceeds 8 alpha^2"))


finding("e23-sg", kind="asymptotic", breaks="thm6", check=_no_speedup,
        reading="eta = alpha/N in the printed floor (28) with q_min <= 1/N.",
        survives="The true floor does fall like 1/N at fixed participation probabilities.")


def _gamma():
    k = Field("k")
    share, = k.symbols                                # k = eta L^2 N/mu
    q, N, mu, L = Q(1, 2), 2, Q(1), Q(1)
    eta = 2 * q / (3 * N * (16 * L**2 / mu + mu / 2))  # the largest step that Theorem 4 prints
    weight = eta * L**2 * N / mu
    return (equal(16 * share + (1 - 16 * share), 1 + 0 * share, "Lemma 5's 16k B_r plus the proof's weight 1 - 16k"),
            nonnegative(16 * share + (1 - 8 * share) - 1, "with the printed 1 - 8k more than one B_r is left"),
            at_most((1 - eta * mu * N / 2) * (1 - 16 * weight), 1 - q / 3,
                    "q = 1/2, N = 2: the printed step does not give 1 - q/3 <= (1 - eta mu N/2)(1 - 16k)", strict=True),
            at_most(1 - q / 3, (1 - eta / 2 * mu * N / 2) * (1 - 8 * weight), "half of it does"))


finding("gamma-weight", kind="misprint", breaks="thm4", check=_gamma,
        step="with 16 in place the first step condition is twice too large, as in (110)")


def _coded_and_stated():
    i = I.lemma6_noise[-1]
    (left, right, at), (both, bound, same) = noise_sides(i, 0), noise_sides(i, 1)
    stated = stated_moments(i)
    return (equal([at, same], [39, 39], "worst round, for both readings"),
            equal(left, stated[at][1], "B of the coded round and of the recursion"),
            at_most(right, left, "client rows: right side below B", strict=True),
            at_most(bound, both, "with row 0", strict=True),
            at_most(left, right + 8 * i.eta**2 * i.N * (i.N - 1) / i.q * i.sigma2, "with the factor N restored it holds"))


finding("lem6-noise", kind="counterexample", breaks="lem6-noise-constant",
        at=("N=18, one uniform client", "N=24, one uniform client"), script="witnesses/lem6_noise.py", check=_coded_and_stated,
        step="absent clients' noises stay in y until they return: y has variance of order N sigma^2 for 1/q rounds, so "
        "B reaches N^2 eta^2 sigma^2/q^2, and the printed constant allows 24 N eta^2 sigma^2/q^2",
        reading="Total expectation along the algorithm's own start, with the larger gradient coefficient of lem4-corrected.",
        survives="Up to 17 clients nothing is known to fail; a factor N restored.")
