"""Instances for SG-FOCUS: noise floors, one-step statements with noise, steps of Theorems 4 to 6."""
from fractions import Fraction as Q
from math import isqrt

from fltheory.core.algorithms.focus import Focus
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.scalars import Field, fraction
from fltheory.verdicts.claims.claim import Instance
from verification.focus.instances import line
from verification.focus.instances.structure import law_of

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def root(v, digits=6):
    """A rational just below the square root of v."""
    return Q(isqrt(int(Q(v) * 100**digits)), 10**digits)


def theorem4_step(h, q, tau):
    """The largest step of Theorem 4, up to rounding roots down."""
    mu, L, N = Q(min(h)), Q(max(h)), len(h)
    bounds = [2 * q / (3 * N * (16 * L**2 / mu + mu / 2)), q * root(q / (6 * N)) / (4 * L)]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), mu / (128 * (tau - 1) ** 2 * L**2 * N)]
    return min(bounds)


def theorem5_step(h, q, tau):
    """The largest step that Theorem 5 and its proof allow, with beta = mu, up to rounding roots down."""
    beta, L, N = Q(min(h)), Q(max(h)), len(h)
    bounds = [q / (3 * beta * N * (4 - q)), q / (16 * L**2), q * root(q / (6 * N)) / (4 * L), 3 * q / (32 * N), 1 / (4 * L * N)]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), 1 / (2 * (tau - 1) * L * N)]
    return min(bounds)


def theorem6_step(h, q, tau):
    """The largest step that Theorem 6 and its proof allow, up to rounding roots down."""
    L, N = Q(max(h)), len(h)
    bounds = [q * root(q / (6 * N)) / (4 * L), 1 / (4 * L * N), 3 * root(Q(1, 32)) / N]
    if tau > 1:
        bounds += [q * root(q / 2) / (8 * L * (tau - 1)), 1 / (4 * L * (tau - 1))]
    return min(bounds)


def noisy(name, h, c, eta, tau=1, law=None, sigma=1, x0=0, **extra):
    """Clients h_i (x - c_i)^2/2 with stochastic gradients; x0 the literal start, q the smallest averaging weight."""
    law = Full() if law is None else law
    h, N = tuple(Q(v) for v in h), len(h)
    q = extra.pop("q", None) or min(law.averaging_weights(N))
    return Instance(name, line(h, c), Focus(eta, tau), law, noise=sigma, x0=[x0], h=h, c=tuple(Q(v) for v in c), N=N, q=q,
                    sigma2=fraction(sigma) ** 2, start=Q(x0),
                    **extra)


# ---- floors in symbols ------------------------------------------------------------------------------------
def _full(N):
    k = Field("eta h")
    eta, h = k.symbols
    return Instance(f"N={N}, symbols", line([h] * N, range(N)), Focus(eta, 1), Full(), noise="3/2", domain=k, h=h, N=N,
                    sigma2=Q(9, 4), says="h and eta are symbols")


full_symbols = [_full(N) for N in (1, 2, 3, 4)]


def _from_optimum(N):
    k = Field("eta " + " ".join(f"h{i}" for i in range(N)) + " " + " ".join(f"c{i}" for i in range(N - 1)))
    eta, *rest = k.symbols
    h, c = rest[:N], rest[N:]
    last = -sum((a * b for a, b in zip(h, c, strict=False)), 0 * eta) / h[-1]
    return Instance(f"N={N}, symbols", line(h, [*c, last]), Focus(eta, 1), Full(), noise="3/2", domain=k, x0=[0], N=N,
                    sigma2=Q(9, 4), says="curvatures, minimisers and eta are symbols; x* = 0")


from_optimum = [_from_optimum(N) for N in (1, 2, 3, 4)]


def _small(name, N, law, names, p, tau=1):
    k = Field(("eta h " + names).strip())
    eta, h, *given = k.symbols
    p = given if p is None else p
    return Instance(name, line([h] * N, range(N)), Focus(eta, tau), law(given), noise=1, domain=k, h=h, p=p, sigma2=1,
                    says="h, eta" + (" and the probabilities" if given else "") + " are symbols")


small_symbols = [_small("one client, any p", 1, Bernoulli, "p", None),
                 _small("one client, any p, tau=2", 1, Bernoulli, "p", None, 2),
                 _small("two clients, any p", 2, Bernoulli, "p1 p2", None),
                 _small("one of two", 2, lambda _: Uniform(1), "", [Q(1, 2)] * 2),
                 _small("all three, tau=2", 3, lambda _: Full(), "", [Q(1)] * 3, 2)]


def _decreasing(name, h, law, N, tau=1, **extra):
    return noisy(name, [h] * N, range(N), Q(1, 1000) / (h * N), tau, law, "1/2", p=law.inclusion(N), **extra)


SMALL = [_decreasing("two of four", Q(1), Uniform(2), 4), _decreasing("one of three, tau=3", Q(2), Uniform(1), 3, 3),
         _decreasing("Bernoulli, redrawn", Q(1, 3), Bernoulli(("9/10", "1/2", "1/5"), "redraw"), 3, 2),
         _decreasing("Bernoulli, empty rounds", Q(5), Bernoulli(("1", "1/3", "1/4")), 3),
         _decreasing("weighted, two of three", Q(1), Weighted(2, ("7/10", "1/5", "1/10")), 3)]
simulated = noisy("simulated", [1] * 3, range(3), "1/20", 2, Uniform(2), "1/2", p=[Q(2, 3)] * 3,
                  simulate={"rounds": 160, "replicates": 2048, "seed": 44})

# ---- Theorems 4, 5, 6 -------------------------------------------------------------------------------------
SPREAD = ("1", "3/2", "2")


def fourth(name, h, c, tau, law, share=1, sigma="1/2", **extra):
    """A step of Theorem 4: `share` of the largest admissible one."""
    h = tuple(Q(v) for v in h)
    return noisy(name, h, c, share * theorem4_step(h, min(law.averaging_weights(len(h))), tau), tau, law, sigma, **extra)


_REDRAWN = Bernoulli(("9/10", "1/2", "1/5"), "redraw")
reference = noisy("reference, eta=1/6144", SPREAD, (1, -1, 2), Q(1, 6144), 3, _REDRAWN, sigma=1,
                  digits="2.2766e-4", bound="2.105e-2")
theorem4 = [fourth("one of two", (1, 2), (1, -2), 1, Uniform(1), x0=1),
            fourth("all of two, tau=2", (1, 1), (3, -1), 2, Full(), x0=2),
            fourth("three clients, tau=3", SPREAD, (10, -10, 5), 3, _REDRAWN, sigma="1/10", x0=1)]
theorem4_floors = [reference, *theorem4, fourth("five clients", [1] * 5, range(5), 1, Uniform(2), sigma=1),
                   fourth("four clients, tau=2", (1, 2, 2, 3), (1, 0, -1, 2), 2, Uniform(1), sigma=1)]
from_every_state = [
    fourth(f"from every state, {name}", (1, 2), (1, -2), 1, law, every_state=True,
           says="one step of Gamma as a quadratic form over all models, points and stored noises")
    for name, law in (("all of two", Full()), ("one of two", Uniform(1)))]


def random_noisy(draw):
    """Two or three clients, random curvatures, minimisers, law and start, the largest step of Theorem 4 or a fraction of it."""
    n = draw(st.integers(1, 3))
    h = tuple(draw(st.integers(1, 5)) for _ in range(n))
    c = tuple(draw(st.integers(-3, 3)) for _ in range(n))
    law = Bernoulli(tuple(draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 5)])) for _ in range(n)), "redraw")
    return fourth("random", h, c, draw(st.integers(1, 3)), law, draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 7)])),
                  draw(st.sampled_from([Q(0), Q(1, 3), Q(5)])), x0=draw(st.integers(-3, 3)))


theorem5_few = noisy("N=6, h=1000, one uniform client", [1000] * 6, [0] * 6, Q(9, 10) * Q(1, 6) / (16 * 1000**2), 1, Uniform(1), 1)
theorem6_ten = noisy("N=10, h=1, all", [1] * 10, [0] * 10, Q(1, 10**5), 1, Full(), 1)
theorem6_four = noisy("N=4, h=1, all", [1] * 4, [0] * 4, Q(1, 1000), 1, Full(), 1)

# ---- lemmas 5 and 6 ---------------------------------------------------------------------------------------
lemma5 = [noisy("three identical clients, all", [1] * 3, [0] * 3, Q(1, 10), 1, Full(), 1),
          noisy("no noise, eta=80", [1, 1], [1, -1], 80, 1, Uniform(1), 0)]
_SIXTEEN = Q(1, 16) * root(Q(1, 16 * 6 * 16), 9) / 4
lemma6 = [noisy("N=16, three passes", [1] * 16, [0] * 16, _SIXTEEN, 1, Uniform(1), 0, 1,
                passes=[(k,) for _ in range(3) for k in range(1, 17)])]
lemma6_noise = [noisy(f"N={N}, one uniform client", [1] * N, [0] * N, Q(1, 2**k), 1, Uniform(1), 1, rounds=40)
                for N, k in ((18, 18), (24, 15))]
recorded_rounds = [noisy("one of two", (1, 2), (1, -2), "1/10", 1, Uniform(1), "1/2", x0=1, rounds=6),
                   noisy("three clients, tau=2", SPREAD, (1, -1, 2), "1/12", 2, _REDRAWN, "1/3", x0=1, rounds=5),
                   noisy("empty rounds, tau=2", (1, 3), (2, -1), "1/10", 2, Bernoulli(("1/2", "1/4")), 1, rounds=5)]

# ---- speed-up ---------------------------------------------------------------------------------------------
ALPHA = Q(1, 500)


def _growing(name, law, tau=1, **extra):
    """eta = alpha/N with the law of N clients given by a function; the claim compares N and 2N clients."""
    return Instance(name, line([1] * 2, range(2)), Focus(ALPHA / 2, tau), law(2), noise=1, alpha=ALPHA, laws=law, h=Q(1), sigma2=1,
                    sizes=(2, 4, 8), **extra)


fixed_probability = [_growing("half of the clients", lambda N: Uniform(N // 2)), _growing("everybody, tau=2", lambda N: Full(), 2),
                     _growing("Bernoulli(1/3)", lambda N: Bernoulli([Q(1, 3)] * N))]
few = [_growing("one of N", lambda N: Uniform(1), m=1), _growing("two of N", lambda N: Uniform(2), m=2, tau=2)]


def clients(i, N):
    """The same situation with N clients and eta = alpha/N, in whatever variant the instance's algorithm is."""
    from dataclasses import replace
    return i.but(problem=line([1] * N, range(N)), law=i.laws(N), algorithm=replace(i.algorithm, lr=i.alpha / N))


def at_step(i, eta):
    """The same situation with another step."""
    from dataclasses import replace
    return i.but(algorithm=replace(i.algorithm, lr=eta))


def participation_list(i):
    """[(probability, set)] of the instance's law."""
    return law_of(i.law, i.N)
