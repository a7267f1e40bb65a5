"""Instances for Theorem 1 of FOCUS: strongly convex, PL and non-convex quadratics, Huber states, the printed start."""

import random
from fractions import Fraction as Q

from fltheory.core.algorithms.focus import Focus
from fltheory.core.laws.memoryless import Full, Uniform
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.formulas import lemmas as f
from verification.focus.instances import lemmas as I
from verification.focus.instances import line

# ---- strongly convex --------------------------------------------------------------------------------------
e4 = I.make(
    "N=2, L=mu=1, full, tau=6, eta=1/32, start at x*",
    line((1, 1), (1, -1)),
    Full(),
    6,
    "1/32",
    state=([0], [[1], [-1]]),
)
strongly_convex = [*I.spread("sc", I.CONVEX[:-1], (1, 4)), *I.spread("sc", I.CONVEX[1:3], (1, 20), ("1/10",))]
text_weights = I.spread("sc", I.CONVEX[:2], (1,), ("1/2",))


def _random_hubers(rule, count, seed):
    """Huber clients on the line at random states, drawn once and for all."""
    draw, out = random.Random(seed), []
    while len(out) < count:
        n = draw.choice([1, 2, 2, 3])
        U = [[draw.choice([1, 2, -1]) for _ in range(draw.randint(1, 3))] for _ in range(n)]
        offsets = [[draw.randint(-3, 3) for _ in u] for u in U]
        law = I.LAWS[draw.choice(sorted(I.LAWS))](n)
        tau, reg, delta = draw.choice([1, 2, 3]), Q(1, draw.choice([1, 4, 10])), draw.choice([Q(1, 2), Q(1), Q(2)])
        x, z = Q(draw.randint(-16, 16), 2), [Q(draw.randint(-16, 16), 2) for _ in range(n)]
        made = I.huber(f"random Huber state {len(out) + 1}", U, offsets, delta, reg, law, tau, rule, 1, x, z)
        out.append(made)
    return out


hubers_convex = _random_hubers("sc", 30, 1)
hubers_pl = _random_hubers("pl-tied", 30, 2)

# ---- PL ---------------------------------------------------------------------------------------------------
CONCAVE_CLIENT = line((1, "-1/2"), (0, 0))


def scaled(problem, factor):
    """f -> factor f."""
    return Quadratic.from_linear(problem.H * Q(factor), problem.b * Q(factor))


PL = [p for p in I.CONVEX + I.CONCAVE if "concave F" not in p[0]]
e5 = [
    I.make(
        f"f=(x^2/2, -x^2/4), full, tau={tau}", CONCAVE_CLIENT, Full(), tau, "3/128", x0=[1], rounds=rounds, units=False
    )
    for tau, rounds in ((1, 8), (60, 4), (61, 4), (100, 16))
]
pl = [
    *I.spread("pl-tied", PL, (1, 4), units=False),
    *I.spread(
        "pl-tied",
        [(f"{name}, f times {c}", scaled(problem, c), law) for name, problem, law in PL[7:9] for c in ("1/100", "100")],
        (1, 6),
        units=False,
    ),
    *I.spread("pl-tied", [("f=(x^2/2, -x^2/4), full", CONCAVE_CLIENT, Full())], (100,), units=False),
]

# ---- non-convex -------------------------------------------------------------------------------------------
SMALL = [*I.CONVEX[:1], *I.CONVEX[2:6], *I.CONCAVE[:2], I.CONCAVE[3]]


def warm(problems, taus, shares=(1,)):
    """A start with one full gradient pass from x_0 = (1, ..., 1)."""
    return [i.but(x0=[1] * i.problem.d) for i in I.spread("nc", problems, taus, shares, init="warm")]


nonconvex = [
    *warm(SMALL, (1, 5)),
    *warm(SMALL[5:7], (40,)),
    *warm([("two equal clients", line((1, 1), (0, 1)), Full())], (2,), ("1/10",)),
]
e22 = I.make(
    "N=8, c=(1,-1,..), one at a time, eta=1/512, literal start at x*",
    line((1,) * 8, (1, -1) * 4),
    Uniform(1),
    1,
    "1/512",
    x0=[0],
)


def huber_paths(draw):
    """Random Huber clients that all take part, from a start with one full gradient pass."""
    made = I.hubers("nc", reg=("1/4", "1"))(draw)
    if made.state[0] == made.best:
        return None
    law = Full()
    eta = I.root_below(f.admissible(I.RULES["nc"](I.numbers(made.problem, law, made.tau))))
    return made.but(
        law=law, algorithm=Focus(eta, made.tau, "warm"), q=Q(1, made.N), x0=made.state[0], rounds=100
    )


CONSTANT = [p for p in SMALL if p[1].d == 1][:4]
small_steps = [
    i.but(smaller=i.but(algorithm=Focus(i.eta / 100, i.tau, "warm")))
    for i in warm(CONSTANT, (3,), ("1/10",))
]


# ---- symbols ----------------------------------------------------------------------------------------------


def _orders():
    k = Field("N L alpha s u")
    N, L, alpha, s, u = k.symbols
    return Instance(
        "any N, L, alpha",
        domain=k,
        N=N,
        L=L,
        alpha=alpha,
        s=s,
        u=u,
        factor=f.nonconvex,
        largest=largest_step,
        says="s, u >= 0: q_min = 1/(N(1+s)), eta = the largest step/(1+u)",
    )


def largest_step(L, N, q):
    """Square of q^1.5/(8 L sqrt N)."""
    return q**3 / (64 * L**2 * N)


def _order(N, L, alpha):
    return Instance(
        f"N={N}, L={L}, alpha={alpha}",
        N=Q(N),
        L=Q(L),
        alpha=Q(alpha),
        s=Q(0),
        u=Q(0),
        factor=f.nonconvex,
        largest=largest_step,
    )


orders = [_orders(), _order(10, 1, "1/10"), _order(100, 3, 1)]

# in numbers what the others prove in symbols
illustrate([*orders])
