"""What bounded gradients and strong convexity give without any algorithm, and Theorems 1 and 3, which say no more than that."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.simfed import instances as made
from verification.simfed.formulas import theorems as th
from verification.simfed.formulas import trivial as f
from verification.simfed.proofs import vacuous as proofs
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


# ---- coded rounds with enumerated noise ------------------------------------------------------------------------------
class Runs(ft.Instance):
    """Coded rounds along every listed run of the noise. `runs`: [(chance, push)], push(t, x) the noise (n, d) that the first local
    step of round t adds at the start x, or None; start: wbar_0; rounds: how many starts are looked at."""

    def histories(self):
        """[(chance, [(x, noise, gradients + noise at x)] of the starts of rounds 0..rounds - 1)], exact."""
        problem, algorithm = (v.to(ft.RATIONAL) for v in (self.problem, self.algorithm))
        for chance, push in self.runs:
            state, seen = algorithm.init(problem, ft.RATIONAL.array(np.array(self.start, dtype=object))), []
            for t in range(self.rounds):
                x, noise = state.x, push(t, state.x)
                noise = problem.grad(state.x + 0 * problem.p[:, None]) * 0 if noise is None else noise
                seen.append((read(x), read(noise), read(problem.grad(x + 0 * problem.p[:, None]) + noise)))
                state = algorithm.round(problem, state, ft.everyone(problem.n, algorithm.steps)._replace(
                    xi=lambda k, noise=noise: noise if k == 0 else 0 * noise))
            yield ft.fraction(chance), seen

    def measured(self):
        """([E f - f_* at the starts of the rounds], G^2 and sigma^2 there)."""
        problem, least = self.stated.problem.to(ft.RATIONAL), ft.optimum(self.stated.problem).value
        gaps, lengths, spread = 0, 0, 0
        for chance, seen in self.histories():
            gaps = gaps + chance * np.array([ft.fraction(problem.value(list(x))) - least for x, *_ in seen])
            lengths = lengths + chance * np.array([(g**2).sum(1) for *_, g in seen])
            spread = spread + chance * np.array([(noise**2).sum(1) for _, noise, _ in seen])
        return gaps, lengths.max(), spread.max()

    def bias(self):
        """The largest |E[noise | past]|^2 of a client, over rounds and pasts (the starts up to now)."""
        pasts = {}
        for chance, seen in self.histories():
            for t, (_, noise, _) in enumerate(seen):
                key = tuple(tuple(x) for x, *_ in seen[:t + 1])
                pasts[key] = pasts.get(key, 0) + chance * noise
        return max((mean**2).sum(1).max() for mean in pasts.values())


def read(values):
    """The engine's exact numbers as Fractions."""
    return np.array([ft.fraction(v) for v in values.reshape(-1)], dtype=object).reshape(values.shape)


def quiet(t, x):
    """No noise."""


def signs(size, bits, n):
    """Every run of independent signs: client j's noise in round t is +-size."""
    return [(Q(1, 2 ** bits), lambda t, x, word=word: ft.RATIONAL.array(np.array(
        [[size * (1 - 2 * (word >> (t * n + j) & 1))] for j in range(n)], dtype=object))) for word in range(2 ** bits)]


def undone(n):
    """Noise s - w with one sign s for the whole run: the stochastic gradient of w^2/2 is s wherever w is. Its mean is 0."""
    return [(Q(1, 2), lambda t, x, s=s: ft.RATIONAL.array(np.array([[s - v for v in map(ft.fraction, x)]] * n, dtype=object)))
            for s in (1, -1)]


def single(h, c):
    return ft.Quadratic([[[h]]], [[c]], ["1"])


ONE = single(1, 0)
ALIKE = made.scalar([1, 1], [0, 0], made.SWAP)


def alone(name, problem, algorithm, start, rounds, runs=((1, quiet),), **extra):
    return Runs(name, problem, algorithm, start=start, rounds=rounds, runs=runs, **extra)


conditional = ft.Hypothesis("unbiased given the past", r"$\max|E[g_i-\nabla f_i\mid\text{past}]|^2\le0$", lambda i: (i.bias(), 0))
on_level = [
    alone("one client, mu = L", ONE, made.prox("1/2", 1, 0), [3], 3, formula=f.level),
    alone("two clients on a graph", made.PAIR, made.ours("1/8", 4, "1/2", made.SWAP), [4], 6, formula=f.level),
    alone("a step that diverges", ONE, made.prox(3, 2, 0), [1], 4, formula=f.level),
    alone("FedProx", made.PAIR, made.prox("1/20", 5, 1), [-2], 4, formula=f.level),
    alone("independent signs", ALIKE, made.ours("1/2", 1, "1/2", made.SWAP), [0], 3, signs(1, 6, 2), formula=f.level),
    alone("noise that undoes the iterate", ONE, made.prox("1/2", 1, 0), [0], 21, undone(1), formula=f.level)]


def drawn(draw, n=None, beta=None, condition=None, steps=None):
    """Quadratics on the line, one client or a star, under the method or FedProx at any step."""
    n, E = n or draw(st.integers(1, 5)), steps or draw(st.sampled_from([1, 2, 7]))
    h = [Q(1)] + [draw(st.sampled_from([Q(1), Q(1, 3), Q(1, 50)])) for _ in range(n - 1)]
    h[-1] = Q(1, condition) if condition else h[-1]
    c = [draw(st.integers(-3, 3)) for _ in range(n)]
    graph = made.star(n) if n > 1 else None
    beta = beta or draw(st.sampled_from([Q(1, 10), Q(1, 2), Q(9, 10)]))
    lr = draw(st.sampled_from([Q(1, 2 * E), Q(1, 100), Q(2)]))
    perturbed = graph is not None and draw(st.booleans())
    method = made.ours(lr, E, beta, graph) if perturbed else made.prox(lr, E, draw(st.sampled_from([0, 1, 40])))
    problem = made.scalar(h, c, graph) if graph else single(h[0], c[0])
    return alone("drawn", problem, method, [draw(st.integers(-5, 5))], 3, formula=f.level)


CORNERS = ({"n": 1}, {"n": 100, "beta": Q(1, 1000), "steps": 1}, {"n": 2, "condition": 10**8}, {"n": 3, "steps": 200})
ENDS = {"clients": (1, 100), "local steps": (1, 200), "condition number": (1, 10**8)}


def level_meaning(i):
    """The numbers of the proof at every start of a round, where the noise is none."""
    if len(i.runs) > 1:
        return
    least, p = ft.optimum(i.problem).value, [ft.fraction(str(v)) for v in i.problem.weights]
    for _, seen in i.histories():
        for x, _, g in seen:
            squares, f1 = list((g**2).sum(1)), ft.fraction(i.problem.value(list(x)))
            mean = (sum(w * v for w, v in zip(p, g, strict=True)) ** 2).sum()
            for one in squares:
                yield {"mu": i.mu, "G2": max(squares), "Gi": one, "Mi": one, "q": mean, "Q": mean, "f1": f1, "Ef": f1, "fs": least,
                       "SM": sum(w * v for w, v in zip(p, squares, strict=True))}, {}


half = wrong("half_of_it", "G^2/(4 mu): a factor 2 is lost.", f.level, lambda G2, mu: G2 / (4 * mu))


@ft.claim("pl-trivial", on=on_level, needs=[conditional], rejects=[half], proof=proofs.pl, meaning=level_meaning, domain=proofs.ANY,
          ends=ENDS, search=ft.Search((ft.Family("quadratics on the line", drawn, CORNERS),), tries=20),
          reading="Assumption 3 is used at k = 0, where local models, their mean and the start of the round agree; for the method "
                  "at that point too, not only at the perturbed one (else with (2 - beta)^2 G^2, at Theorem 3's step: thm3).")
def pl_trivial(i):
    r"""If every $f_i$ is $\mu$-strongly convex and $E\|g_i(\bar w_{t,0})\|^2\le G^2$ for gradients unbiased given the past, then
    $E f(\bar w_{t,0})-f_*\le\frac{G^2}{2\mu}$, whatever method made $\bar w_{t,0}$, with whatever step."""
    gaps, G2, _ = i.measured()
    return ft.at_most(max(gaps), ft.Terms(level=i.formula(G2, i.mu)))


# ---- Theorems 1 and 3 ------------------------------------------------------------------------------------------------
def share(i):
    return sum(ft.fraction(str(v)) ** 2 for v in i.problem.weights)


def bound1(i, G2, sigma2, gap, t):
    """Theorem 1 before round t; Gamma is the minimum, as every quadratic client has minimum 0."""
    return th.theorem1(i.L, i.mu, i.alpha, gap, share(i), sigma2, ft.optimum(i.stated.problem).value, G2, i.E, t)


def bound3(i, G2, sigma2, gap, t):
    return th.theorem3(i.L, i.mu, i.beta, gap, share(i), sigma2, ft.optimum(i.stated.problem).value, G2, i.E, t)


def run1(name, problem, E, alpha, start, rounds=4, runs=((1, quiet),)):
    """FedProx at Theorem 1's step."""
    alpha = Q(alpha)
    method = made.prox(1 / (2 * E * (problem.constants.L + alpha)), E, alpha)
    return alone(name, problem, method, start, rounds, runs, alpha=alpha, E=E, bound=bound1)


def run3(name, problem, E, beta, graph, start, rounds=4, runs=((1, quiet),)):
    """The method at Theorem 3's step."""
    beta = Q(beta)
    method = made.ours(1 / (2 * problem.constants.L * E), E, beta, graph)
    return alone(name, problem, method, start, rounds, runs, beta=beta, E=E, bound=bound3)


def room(i):
    """(the right side at the last round looked at, the level that the hypotheses alone give)."""
    gaps, G2, sigma2 = i.measured()
    return sum(i.bound(i, G2, sigma2, gaps[0], i.rounds - 1).values()), f.level(G2, i.mu)


small_alpha = ft.Hypothesis("proximal weight of this row", r"$\alpha\le(4E^2-1)L$", lambda i: (i.alpha, f.largest_alpha(i.E, i.L)))
informative = ft.Hypothesis("more than the hypotheses", r"the right side is below $G^2/(2\mu)$ (pl-trivial)", room, strict=True)
on_thm1 = [run1("one client, E = 1", ONE, 1, 1, [3]), run1("two clients, E = 5", made.PAIR, 5, Q(1, 2), [4], 8),
           run1("alpha = (4 E^2 - 1) L", made.PAIR, 2, 15, [-3], 40), run1("signs", ALIKE, 1, 1, [0], 3, signs(1, 6, 2))]
on_thm3 = [run3("two clients, E = 1", made.PAIR, 1, "9/10", made.SWAP, [3]), run3("E = 5", made.PAIR, 5, "1/2", made.SWAP, [4], 8),
           run3("beta = 1/100", made.PAIR, 2, "1/100", made.SWAP, [-3], 20),
           run3("signs", ALIKE, 1, "1/2", made.SWAP, [0], 3, signs(1, 6, 2))]


def every_step_holds(*proved):
    """Each proof stands, as comparisons."""
    return [ft.equal(int(proof.status == "HOLDS"), 1, f"{proof.conclusions[0].name}: {len(proof.steps)} steps, checked or cited")
            for proof in proved]


def no_algorithm1():
    """Theorem 1 from pl-trivial: its last term alone is at least the level."""
    s = Symbols("L E G2 mu x")
    last = th.theorem1(s.L, s.mu, f.largest_alpha(s.E, s.L), 0, 0, 0, 0, s.G2, s.E, 0)["drift"]
    return (*every_step_holds(proofs.theorem1()),
            ft.equal(last, f.level(s.G2, s.mu), "at alpha = (4 E^2 - 1) L the last term is the level"))


def no_algorithm3():
    """Theorem 3 from pl-trivial, in both readings of Assumption 3."""
    s = Symbols("L E G2 mu x")
    beta = 1 / (1 + s.x)
    last = th.theorem3(s.L, s.mu, beta, 0, 0, 0, 0, s.G2, s.E, 0)["drift"]
    return (*every_step_holds(proofs.theorem3(), proofs.theorem3_perturbed()),
            ft.nonnegative(last - 16 * s.E**2 * f.level(s.G2, s.mu), "the term with A is at least 16 E^2 times the level"))


@ft.claim("thm1", on=on_thm1, needs=[small_alpha, conditional, informative], vacuous=no_algorithm1, instead="thm1s",
          powerless="no run can contradict it: whatever the method does, the hypotheses alone give a smaller right side",
          reading="Constants measured at the starts of the rounds. For alpha above (4 E^2 - 1) L: thm1-large-alpha. t = T, which "
                  "is printed too, is beyond Assumption 3; there lema3 and thm1-derivation give it.")
def thm1(i):
    r"""FedProx at $\gamma=\frac1{2E(L+\alpha)}$, $\alpha\le(4E^2-1)L$, Assumptions 1 to 5, for $t\le T-1$:
    $E f(\bar w_{t,0})-f_*\le\frac{L\Delta}\mu\big[1-\frac\mu{3L_\alpha}\big]^t
    +\frac L{L_\alpha}\big[\frac{S\sigma^2}{4\mu}+\frac{3L\Gamma}{2\mu}+\frac{2E^2G^2}\mu\big]$.
    The last term alone is at least $G^2/(2\mu)$, which Assumption 3 and strong convexity give without an algorithm."""
    return held(i)


@ft.claim("thm3", on=on_thm3, needs=[conditional, informative], vacuous=no_algorithm3, instead="thm3s",
          powerless="no run can contradict it: whatever the method does, the hypotheses alone give a smaller right side",
          reading="Constants measured at the starts of the rounds. With Assumption 3 at perturbed points only, the hypotheses give "
                  "(2 - beta)^2 G^2/(2 mu), still at most a quarter of the term with A. t = T, which is printed too, is beyond "
                  "Assumption 3; there lemb3 and thm3-derivation give it.")
def thm3(i):
    r"""The method at $\gamma=\frac1{2LE}$, $\beta\in(0,1)$, Assumptions 1 to 5, for $t\le T-1$: $E f(\bar w_{t,0})-f_*\le
    \frac{L\Delta}\mu\big[1-\frac\mu{(\beta+2)L}\big]^t+\frac{S\sigma^2}{4\mu}+\frac{3L\Gamma}{2\mu}+\frac{2AE^2G^2}\mu
    +\frac{\beta(1-\beta)EG^2}{8L}$, $A=4+(1-\beta)^2+8(1-1/\beta)^2$. The term with $A$ alone is at least $16E^2$ times the
    $G^2/(2\mu)$ that Assumption 3 and strong convexity give without an algorithm."""
    return held(i)


def held(i):
    gaps, G2, sigma2 = i.measured()
    return [ft.at_most(gap, ft.Terms(**i.bound(i, G2, sigma2, gaps[0], t))) for t, gap in enumerate(gaps)]


def _without_algorithm():
    """Both, and how far the term with A is above the level at E = 1."""
    ratio = [th.theorem3(1, 1, b, 0, 0, 0, 0, 1, 1, 0)["drift"] / f.level(Q(1), 1) for b in (Q(9, 10), Q(1, 2), Q(1, 10))]
    return (*no_algorithm1(), *no_algorithm3(),
            *(ft.at_most(abs(v - Q(w)), Q(half), f"term with A over the level, E = 1, beta = {b}: {w}")
              for v, w, half, b in zip(ratio, ("16.4", "49", "2611"), ("1/20", "0", "1/2"), (".9", ".5", ".1"), strict=True)))


ft.finding("err-vacuous", kind="remark", breaks="thm3", check=_without_algorithm,
           reading="Both theorems are true. Assumption 3 covers the rounds t <= T - 1, and gradients are unbiased given the past; "
                   "then no decay factor is needed for them, so that none can be read off them.",
           survives="The one-round lemmas and their recursions (lema3-recursion, lemb3-recursion), Theorem 1 above (4 E^2 - 1) L, "
                    "and the bounds with averaged drifts, below the level for thm1s at E <= 2 and thm3s at E = 1.")


# ---- where the hypotheses end, and where the non-convex bounds begin to say something ------------------------------------
def ray(name, problem, G, direction=(1,), least=(0,)):
    """A strongly convex client, a bound of its gradient and a direction of length 1 in which to leave its minimiser `least`."""
    return ft.Instance(name, problem, G=Q(G), direction=[Q(v) for v in direction], least=least, formula=f.radius)


BENT = ft.PiecewiseQuadratic([["1/3", 2, "1/5"]], [[1, 2]], [0])
PLANE = ft.Quadratic([[[1, 0], [0, "1/100"]]], [[3, -4]])
on_rays = [ray("flat direction", PLANE, 1, (0, 1), (3, -4)), ray("slanted", PLANE, 5, ("3/5", "-4/5"), (3, -4)),
           ray("one client", ONE, "1/1000"), ray("slopes 1/3, 2 and 1/5", BENT, 7)]


def drawn_ray(draw, bent=False, condition=None):
    G, way = draw(st.sampled_from([Q(1, 100), Q(1), Q(50)])), draw(st.sampled_from([1, -1]))
    small = st.integers(1, 6)
    if bent:
        slopes = [[Q(draw(small), 3) for _ in range(3)]]
        return ray("drawn", ft.PiecewiseQuadratic(slopes, [[0, draw(small)]], [0]), G, [way])
    H, least = [[1, 0], [0, Q(1, condition) if condition else Q(1, draw(small))]], (draw(st.integers(-3, 3)), 1)
    return ray("drawn", ft.Quadratic([H], [least]), G, draw(st.sampled_from([(0, way), (Q(3, 5), Q(4 * way, 5))])), least)


by_smoothness = wrong("by_smoothness", "G/L in place of G/mu: within it gradients may still be short.", f.radius,
                      lambda G, mu: f.radius(G, 1))


@ft.claim("susp-a3-a5", on=on_rays, rejects=[by_smoothness], proof=proofs.bounded_gradient, ends={"condition number": (1, 10**8)},
          domain="every dimension, G and strongly convex client: a gradient of length at most G everywhere would give "
                 "mu |w - w*| <= G for every w",
          search=ft.Search((ft.Family("quadratics in the plane", drawn_ray, ({"condition": 1}, {"condition": 10**8})),
                            ft.Family("slopes with kinks", lambda draw: drawn_ray(draw, bent=True))), tries=20),
          reading="Along the points of a run, as Assumption 3 is printed, both can hold.")
def susp_a3_a5(i):
    r"""A $\mu$-strongly convex $f_i$ has $\|\nabla f_i(w)\|>G$ wherever $\|w-w_*^i\|>G/\mu$: no bound of gradients holds on the
    whole space together with Assumption 5."""
    far = i.formula(i.G, i.mu) * Q(1001, 1000)
    w = [v + far * u for v, u in zip(i.least, i.direction, strict=True)]
    slope = read(i.problem.to(ft.RATIONAL).gradient(w))
    return ft.at_most(i.G**2, (slope**2).sum(), "G^2 against the squared gradient", strict=True)


def horizons(E, L, alpha, A):
    """All of them: {term: T}."""
    return f.horizon2(E, L, alpha) | {"theorem 4": f.horizon4(E, A)}


def on_symbols(formula, names):
    s = Symbols(names)
    return [ft.Instance("all symbols", formula=formula, domain=s.field, s=s, says=f"{names}: symbols > 0")]


no_square = wrong("no_square", "alpha E^3/L_alpha for the horizon of Theorem 2's proximal term.", horizons,
                  lambda E, L, alpha, A: horizons(E, L, alpha, A) | {"proximal": alpha * E**3 / (L + alpha)})


@ft.claim("informative-horizon", on=on_symbols(horizons, "L E G2 alpha root x"), rejects=[no_square],
          covers={"n": "all", "d": "all", "tau": "all"},
          domain="all positive constants, beta = 1/(1 + x) in (0, 1), T = root^2/E: each term over G^2 is its horizon over T, or "
                 "the root of that",
          reading="The trivial level is G^2, what a gradient bounded by G has; where that holds at local models only, gradients "
                  "at their mean are at most (1 + gamma L E) G, another constant of the same order.")
def informative_horizon(i):
    r"""The $G$ term of Theorem 4 is below $G^2$ only for $T>EA\ge4E$, that with $A''=\frac{1+(1-\beta)^2}4$ already for
    $T>EA''$, $EA''\le E/2$; the two leading ones of Theorem 2 only for $T>\alpha^2E^3/L_\alpha^2$ and $T>2L^2E/L_\alpha^2$."""
    s = i.s
    T, beta = s.root**2 / s.E, 1 / (1 + s.x)
    A, sharper = th.drift_constant(beta), f.sharper_bracket(beta)
    at = i.formula(s.E, s.L, s.alpha, A)
    two = th.theorem2(s.L, s.alpha, 0, 0, 0, s.G2, s.E, T, s.root)
    four = th.theorem4(s.L, beta, 0, 0, 0, s.G2, s.E, T, s.root)["drift"]
    return (ft.equal(four * T, s.G2 * at["theorem 4"], "Theorem 4"),
            ft.equal(two["drift"] * T, s.G2 * at["drift"], "Theorem 2, 1/T"),
            ft.equal(two["proximal"]**2 * T, s.G2**2 * at["proximal"], "Theorem 2, its square root"),
            ft.nonnegative(A - 4, "A is at least 4"), ft.nonnegative(Q(1, 2) - sharper, "the sharper bracket is at most 1/2"))
