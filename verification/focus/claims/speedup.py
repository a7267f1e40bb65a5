"""Speed-up with the number of clients, in Theorem 1 and with noise."""
from fractions import Fraction as Q
from itertools import pairwise

import fltheory as ft
from verification.focus import sg
from verification.focus.bugs import structure as wrong
from verification.focus.bugs import theorem1 as bugs
from verification.focus.formulas import lemmas as f
from verification.focus.formulas import stochastic as fs
from verification.focus.instances import line


def largest_step(L, N, q):
    """Square of q^1.5/(8 L sqrt N)."""
    return q**3 / (64 * L**2 * N)


def _orders():
    k = ft.Field("N L alpha s u")
    N, L, alpha, s, u = k.symbols
    return ft.Instance("any N, L, alpha", domain=k, N=N, L=L, alpha=alpha, s=s, u=u, factor=f.nonconvex, largest=largest_step,
                       says="s, u >= 0: q_min = 1/(N(1+s)), eta = the largest step/(1+u)")


def _order(N, L, alpha):
    return ft.Instance(f"N={N}, L={L}, alpha={alpha}", N=Q(N), L=Q(L), alpha=Q(alpha), s=Q(0), u=Q(0), factor=f.nonconvex,
                       largest=largest_step)


orders = ft.illustrate([_orders(), _order(10, 1, "1/10"), _order(100, 3, 1)])


@ft.claim("rem-no-linear-speedup", covers={"n": "all"}, on=orders, rejects=[bugs.forgets_clients],
          domain="all alpha, N > 0: an identity")
def rem_no_linear_speedup(i):
    r"""With $\eta=\alpha/N$ the right side of (25) is $8(F(x_1)-F^\star)/(\alpha R)$: $N$ drops out."""
    return ft.equal(i.factor(i.alpha / i.N, i.N), 8 / i.alpha, "factor of (F(x_1) - F*)/R")


def _e23():
    """eta = alpha/N leaves the printed range for N > 1/(8 L alpha)."""
    i = orders[0]
    N = (1 + i.s) / (8 * i.L * i.alpha)
    return (ft.nonnegative(i.alpha / N - 1 / (8 * i.L * N**2), "alpha/N - 1/(8 L N^2) for N >= 1/(8 L alpha)"),
            ft.equal(f.nonconvex(1 / (8 * i.L * i.N**2), i.N), 64 * i.L * i.N,
                     "factor of (25) at the largest step that q_min <= 1/N leaves"))


ft.finding("e23", kind="asymptotic", breaks="rem-no-linear-speedup", check=_e23,
           step="q_min <= 1/N makes eta <= q_min^1.5/(8 L sqrt N) at most 1/(8 L N^2)",
           reading="The remark takes eta of order 1/N; Theorem 1 (25) as printed does not admit it for large N.",
           survives="The formula itself (rem-no-linear-speedup); with the admissible order it grows like N (step-order-n2).")


@ft.claim("step-order-n2", covers={"n": "all"}, on=orders, rejects=[bugs.square_root_forgotten],
          domain="all L, N > 0, q_min <= 1/N and admissible steps; signs of all coefficients")
def step_order_n2(i):
    r"""$q_{\min}\le1/N$ turns $\eta\le q_{\min}^{3/2}/(8L\sqrt N)$ into $\eta\le1/(8LN^2)$, so the right side of (25) is at least
    $64LN(F(x_1)-F^\star)/R$.
    """
    q, eta = 1 / (i.N * (1 + i.s)), 1 / (8 * i.L * i.N**2 * (1 + i.u))
    return (ft.nonnegative(1 / (64 * i.L**2 * i.N**4) - i.largest(i.L, i.N, q), "1/(8LN^2)^2 - eta^2"),
            ft.nonnegative(i.factor(eta, i.N) - 64 * i.L * i.N, "8/(eta N) - 64 L N"))


def clients(i, N):
    """The same situation with N clients and eta = alpha/N, in whatever variant the instance's algorithm is."""
    from dataclasses import replace
    return i.but(problem=line([1] * N, range(N)), law=i.laws(N), algorithm=replace(i.algorithm, lr=i.alpha / N))


def _levels(i):
    """[(N, stationary E|grad F|^2 at eta = alpha/N, its first order)]."""
    out = []  # all curvatures are 1
    for N in i.sizes:
        j = clients(i, N)
        stated = fs.small_step_gradient(i.alpha / N, 1, j.law.inclusion(N), i.sigma**2)
        out.append((N, sg.squared_gradient(j), stated))
    return out


def _near(levels):
    return [ft.at_most(abs(exact / stated - 1), Q(1, 100), f"N={N}: first order within 1 %") for N, exact, stated in levels]


ALPHA = Q(1, 500)


def _growing(name, law, tau=1, **extra):
    """eta = alpha/N with the law of N clients given by a function; the claim compares N and 2N clients."""
    return ft.Instance(name, line([1] * 2, range(2)), ft.Focus(ALPHA / 2, tau), law(2), noise=1, alpha=ALPHA, laws=law,
                       sizes=(2, 4, 8), **extra)


fixed_probability = [_growing("half of the clients", lambda N: ft.Uniform(N // 2)),
                     _growing("everybody, tau=2", lambda N: ft.Full(), 2),
                     _growing("Bernoulli(1/3)", lambda N: ft.Bernoulli([Q(1, 3)] * N))]


@ft.claim("rem-linear-speedup-sg-restricted", on=fixed_probability, rejects=[wrong.pushes_averaged],
          reading="$\\eta=\\alpha/N$ with $\\alpha$ small and $p_i$ independent of $N$; equal Hessians; $N=2,4,8$.")
def rem_linear_speedup(i):
    r"""With $\eta=\alpha/N$ and fixed participation probabilities the noise floor of $E\|\nabla F\|^2$ falls like $1/N$."""
    levels = _levels(i)
    halves = [ft.at_most(abs(2 * b / a - 1), Q(1, 100), f"N={n} to {m}: halved within 1 %")
              for (n, a, _), (m, b, _) in pairwise(levels)]
    return [*_near(levels), *halves]


few = [_growing("one of N", lambda N: ft.Uniform(1), m=1), _growing("two of N", lambda N: ft.Uniform(2), m=2, tau=2)]


@ft.claim("speedup-sg-few", on=few, rejects=[wrong.pushes_averaged])
def speedup_sg_few(i):
    r"""With $\eta=\alpha/N$ and only $m$ of $N$ clients a round ($p_i=m/N$) the noise floor of $E\|\nabla F\|^2$ is
    $\alpha h\sigma^2(\frac1m-\frac1{2N})$ to first order: it does not fall with $N$.
    """
    levels = _levels(i)
    closed = [ft.equal(stated, i.alpha * i.sigma**2 * (Q(1, i.m) - Q(1, 2 * N)), f"N={N}: closed form")
              for N, _, stated in levels]
    rises = [ft.at_most(a, b, f"N={n} to {m}") for (n, a, _), (m, b, _) in pairwise(levels)]
    return [*_near(levels), *closed, *rises]
