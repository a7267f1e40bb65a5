"""Rule (7) with noise: its step depends on the noisy update, so that the mean server step is no step along the mean update.

Each instance is two arrivals of AsyncFedED from x_1 = 0: the first client moves the server by D, the second one has noise.
"""
import itertools
from fractions import Fraction as Q
from functools import lru_cache
from math import prod

import fltheory as ft
from verification.asyncfeded import arrivals_run, bugs
from verification.asyncfeded.claims.error_term import near
from verification.asyncfeded.formulas import adaptive as f
from verification.asyncfeded.local_families import clients
from verification.symbols import Symbols

SKEWED = ((Q(1, 3), 2), (Q(2, 3), -1))
SIGNS = ((Q(1, 2), 1), (Q(1, 2), -1))
EVEN = ((Q(1, 4), 1), (Q(1, 4), -1), (Q(1, 6), 3), (Q(1, 6), -3), (Q(1, 6), 0))
LENGTH, APART = Q(1, 10), Q(1, 20)
ZERO = Q("-0.0969817")


def law_without_bias():
    """Noise -3, -1, 1/2, 2, the first with chance 1/50; the other chances from total 1, mean 0 and mean server step 0."""
    points, first = [Q(-3), Q(-1), Q(1, 2), Q(2)], Q(1, 50)
    rows = [[Q(1)] * 4, points, [f.line(1, 1, APART, -LENGTH * v) for v in points]]
    left = [[*row[1:], goal - first * row[0]] for row, goal in zip(rows, (1, 0, 0), strict=True)]
    for k in range(3):
        left[k] = [v / left[k][k] for v in left[k]]
        left = [row if j == k else [a - row[k] * b for a, b in zip(row, left[k], strict=True)] for j, row in enumerate(left)]
    return tuple(zip([first, *(row[3] for row in left)], points, strict=True))


def noisy(name, outcomes, D=APART, steps=(LENGTH,), slope=0, lam=1, eps=1, bend=1, plane=False, **extra):
    """outcomes: of the noise of one local step, drawn anew at each; slope: the second client's gradient at 0, where it has the
    curvature bend, 1 beyond."""
    D, lam, eps, slope = Q(D), Q(lam), Q(eps), Q(slope)
    push = -D * eps / (lam * steps[0])
    if plane:
        problem = ft.Quadratic([[[1, 0], [0, 1]]] * 2, [[-push, 0], [0, 0]])
    else:
        problem = clients([[1, 1], [bend, 1]], [[0], [0]], [push, slope])
    method = ft.AsyncFedED(1, len(steps), lam=lam, eps=eps, solver=ft.Listed(list(steps)))
    return ft.Instance(name, problem, method, ft.EventClock((2, 3)), outcomes=outcomes, D=D, steps=steps, slope=slope, lam=lam,
                       eps=eps, **extra)


@lru_cache(64)
def arrived(i):
    """[(chance, the second client's arrival)] over all outcomes of its noise."""
    d, out = i.problem.d, []
    for path in itertools.product(i.outcomes, repeat=len(i.steps)):
        noise = [list(v) if isinstance(v, tuple) else [v] + [0] * (d - 1) for _, v in path]
        run = arrivals_run.record(i.algorithm, i.problem, i.law, [0] * d, 2, noise=lambda t, k, own=noise: [[0] * d, own[k]])
        out.append((prod(p for p, _ in path), run[1]))
    return out


def mean(i, of):
    """E of (d,)."""
    return sum(p * of(a) for p, a in arrived(i))


def moved(a):
    return a.after - a.x


# ---- biased -----------------------------------------------------------------------------------------------------------------
bias = [noisy("gradient 0", SKEWED), noisy("gradient just above the zero", SKEWED, slope=ZERO + Q(1, 2 * 10**7)),
        noisy("gradient just below the zero", SKEWED, slope=ZERO - Q(1, 2 * 10**7))]


@ft.claim("adaptive-noise-bias", on=bias,
          rejects=[bugs.gamma_squared, bugs.eps_dropped, bugs.distance_not_divided, bugs.gamma_inverted],
          domain="K = 1, eta = 1/10, D = 1/20, lambda = eps = 1, noise 2 with chance 1/3 and -1 with chance 2/3",
          reading="Two arrivals of Algorithm 1 itself; D is what the first client's update moved the server. As lambda |v| v/(D + "
                  "eps |v|) increases with v, the mean step has one zero.")
def adaptive_noise_bias(i):
    r"""With one local step $\frac1{10}$, $\|x_t-x_{t-\tau}\|=\frac1{20}$, $\lambda=\varepsilon=1$ and noise $2$ (chance
    $\frac13$) or $-1$ (chance $\frac23$), of mean $0$: where $\nabla f_i=0$ the mean server step is $-\frac2{225}$. It vanishes
    where the gradient is $-0.0969817$."""
    step = mean(i, moved)[0]
    own = [(p, -LENGTH * (i.slope + v)) for p, v in i.outcomes]
    out = [ft.equal(step, f.mean(i.lam, i.eps, i.D, own), "(6) and (7)"), ft.equal(arrived(i)[0][1].x[0], i.D, "x_t")]
    if i.slope == 0:
        return [*out, ft.equal(step, Q(-2, 225), "at gradient 0"), ft.equal(mean(i, lambda a: a.delta)[0], 0, "E Delta")]
    return [*out, ft.at_most(step, 0, "above", strict=True) if i.slope > ZERO else ft.at_most(0, step, "below", strict=True)]


def _product_of_means():
    """E eta_g Delta against E eta_g E Delta, and against the bound of the next step with eta_g taken out."""
    i = bias[0]
    step, rate, update = mean(i, moved)[0], sum(p * a.eta for p, a in arrived(i)), mean(i, lambda a: a.delta)[0]
    inner = APART * step   # <grad F(x_t), x_{t+1} - x_t> for F with gradient D at x_t
    return (ft.equal([rate * update, step], [0, Q(-2, 225)], "E eta_g E Delta and E eta_g Delta"),
            ft.equal(sorted({a.eta for _, a in arrived(i)}), [Q(2, 3), Q(4, 5)], "eta_g takes two values"),
            ft.at_most(inner, rate * APART * update, "the inner product of (31), in the mean, is another one", strict=True))


ft.finding("e16", kind="remark", breaks="thm2", check=_product_of_means,
           step="(32): eta_g stands before the mean over the mini-batches; by (6) and (7) it depends on the same mini-batches",
           reading="Theorem 2 states a constant eta_g, for which nothing is wrong; rule (7), to which it is applied, has none.",
           survives="A constant eta_g; rule (7) without noise, or at D = 0 (adaptive-noise-unbiased).")


# ---- unbiased -----------------------------------------------------------------------------------------------------------------
S = Symbols("lam eps D size", v=3)
pairs = [ft.Instance("symmetric noise", formula=f.move, domain=S.field, s=S, sure=False, says="every coordinate of Delta"),
         ft.Instance("D = 0", formula=f.move, domain=S.field, s=S, sure=True, says="any noise of mean 0")]
shown = ft.illustrate([
    noisy("signs", SIGNS), noisy("five values, even", EVEN, lam=3, eps="1/2"), noisy("skewed, D = 0", SKEWED, D=0),
    noisy("even, in the plane", ((Q(1, 2), (3, 4)), (Q(1, 2), (-3, -4))), plane=True),
    noisy("far from the base", EVEN, D=30), noisy("asymmetric, without bias", law_without_bias(), asymmetric=True),
    noisy("K = 2, steps 1/5 and 1/8, f' = max(x, 0)", SIGNS, D=0, steps=(Q(1, 5), Q(1, 8)), bend=0, kink=True)])


@ft.claim("adaptive-noise-unbiased", on=[*pairs, *shown], rejects=[bugs.gamma_squared, bugs.distance_not_divided],
          covers={"n": "all", "d": "all", "tau": "1"},
          domain="K = 1, every dimension, lambda, eps > 0 and D; symmetric noise, by pairs of outcomes, or mean 0 at D = 0")
def adaptive_noise_unbiased(i):
    r"""Where $\nabla f_i(x_{t-\tau})=0$ and $K=1$, the mean of $\eta_g\Delta_i=\frac{\lambda\|\Delta_i\|\Delta_i}{D+\varepsilon
    \|\Delta_i\|}$, $D=\|x_t-x_{t-\tau}\|$, is $0$ if $D=0$ or the noise is symmetric. Neither is necessary: noise $-3,-1,\frac12,2$
    with chances $.02,.44637363,.37391941,.15970696$ has none in the setting of adaptive-noise-bias. With $K=2$ symmetry is not
    enough even for $D=0$: $f_i'=\max(x,0)$, steps $\frac15$ and $\frac18$ and signs give $-\frac1{80}$."""
    if i.problem is None:
        return in_symbols(i)
    step, zero = mean(i, moved), [0] * i.problem.d
    out = [ft.equal(moved(a), [f.move(i.lam, i.eps, i.D, size, v) if size else v for v in a.delta], "(6) and (7)")
           for _, a in arrived(i) for size in [arrivals_run.root((a.delta * a.delta).sum())]]
    if i.extra.get("kink"):
        return [*out, ft.equal(step, [Q(-1, 80)], "K = 2"), ft.equal(step, [f.kink(i.lam, i.eps, *i.steps)], "the kink")]
    if i.extra.get("asymmetric"):
        out += [near(p, digits, f"chance of {v}") for (p, v), digits in zip(i.outcomes, (".02", *CHANCES), strict=True)]
    return [*out, ft.equal(step, zero, "the mean server step"), ft.equal(mean(i, lambda a: a.delta), zero, "the mean update")]


CHANCES = ".44637363", ".37391941", ".15970696"


def in_symbols(i):
    s = i.s
    if i.sure:
        return ft.equal([i.formula(s.lam, s.eps, 0, s.size, v) for v in s.v], [s.lam / s.eps * v for v in s.v],
                        "at D = 0 every outcome's step is lambda/eps Delta, and the mean of Delta is 0")
    return ft.equal(i.formula(s.lam, s.eps, s.D, s.size, s.v[0]) + i.formula(s.lam, s.eps, s.D, s.size, -s.v[0]), 0 * s.lam,
                    "two outcomes Delta and -Delta")
