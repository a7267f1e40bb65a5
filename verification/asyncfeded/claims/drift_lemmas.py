"""Lemmas 1 and 2 of Appendix A.1, and what Assumption 2 has to mean for Theorem 1 and (33d)."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.formulas.steps import mean_square, mean_step
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import clients, concave
from verification.asyncfeded.noise_paths import OneBatch, gradients, local, path, skewed, square
from verification.asyncfeded.proofs import drift as proofs
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- Lemma 1 -----------------------------------------------------------------------------------------------------------------
def vectors(name, rows):
    return ft.Instance(name, formula=f.lemma1, rows=[[Q(v) for v in row] for row in rows])


def drawn_vectors(draw, n=None):
    n, d = n or draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rows = [[draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(min(n, 4))]
    return vectors("drawn", [rows[j % len(rows)] for j in range(n)])


NUMBER = ft.Variable("number of vectors", lambda i: len(i.rows))
no_factor = bugs.wrong("factor_dropped", "The factor n is missing.", f.lemma1, lambda n, squares: sum(squares))


@ft.claim("lem1", on=[vectors("equal vectors", [[1, -2]] * 3), vectors("one", [[3]]), vectors("opposite", [[1, 1], [-1, -1]])],
          rejects=[no_factor], proof=proofs.lemma1, domain="every number of vectors, every dimension", ends={NUMBER: (1, 300)},
          covers={"n": "none", "tau": "none"},
          search=ft.Search((ft.Family("vectors", drawn_vectors, ({"n": 1}, {"n": 300})),), tries=20))
def lem1(i):
    r"""$\big\|\sum_{i=1}^nx_i\big\|^2\le n\sum_{i=1}^n\|x_i\|^2$ (13), with equality for equal vectors."""
    return ft.at_most(square(map(sum, zip(*i.rows, strict=True))), i.formula(len(i.rows), [square(row) for row in i.rows]))


# ---- Lemma 2 -----------------------------------------------------------------------------------------------------------------
def same(L):
    return L


def secant(name, problem, x, y):
    return ft.Instance(name, problem, formula=same, x=x, y=y)


def drawn_secant(draw, n=None, L=None):
    n, L = n or draw(st.integers(1, 4)), L or draw(st.sampled_from([1, Q(1, 100), 100]))
    values = st.sampled_from([Q(-1), Q(1), Q(-1, 2), Q(0)])
    slopes = [[draw(values) for _ in range(3)] for _ in range(min(n, 4))]
    problem = clients([slopes[j % len(slopes)] for j in range(n)], [[0, 1]] * n, [0] * n, L)
    at = st.integers(-8, 8)
    return secant("drawn", problem, [Q(draw(at), 2)], [Q(draw(at), 4)])


TURNED = ft.Quadratic([[[1, 2], [2, 1]], [[1, -2], [-2, 1]]], [[0, 0], [1, 1]])
half = bugs.wrong("half_of_it", "The smoothness constant of the average is L/2.", same, lambda L: L / 2)


@ft.claim("lem2-lipschitz", on=[secant("equal clients", concave([0, 1, 2], 3), [0], [5]),
                                secant("in the plane", TURNED, [1, 1], [0, 0]),
                                secant("kinks", clients([[1, -1], [-1, 1]], [[0], [0]], [0, 0], 100), [-1], [2])],
          rejects=[half], proof=proofs.lemma2, domain="every dimension, number of clients, L and L-smooth losses",
          ends={"clients": (1, 300), ft.Variable("smoothness constant L", lambda i: i.L): (Q(1, 100), 100)}, covers={"tau": "none"},
          search=ft.Search((ft.Family("kinks", drawn_secant, ({"n": 300, "L": Q(1, 100)}, {"n": 1, "L": 100})),), tries=20))
def lem2_lipschitz(i):
    r"""If every $f_i$ has an $L$-Lipschitz gradient, so has $F=\frac1m\sum_if_i$:
    $\|\nabla F(x)-\nabla F(y)\|^2\le L^2\|x-y\|^2$."""
    (_, u), (_, v) = (gradients(i.problem, at) for at in (i.x, i.y))
    return ft.at_most(square(u - v), i.formula(i.L) ** 2 * square(np.array(i.x) - np.array(i.y)))


def _convex_average():
    """f_1, f_2 = x^2/2 +- cos 2x, c = cos 2x, |c| <= 1; and the same with coded clients whose gradients have kinks."""
    s, problem = Symbols("x c"), clients([[1, -1, 3, 1], [1, 3, -1, 1]], [[-1, 0, 1]] * 2, [0, 0])
    second = [1 - 4 * s.c, 1 + 4 * s.c]
    mean = [sum(a) / 2 for _, _, a, _ in problem.pieces()]
    return (ft.equal((s.x**2 / 2 + s.c + s.x**2 / 2 - s.c) / 2, s.x**2 / 2, "the average of both losses"),
            ft.equal([v.substitute(c=c) for v, c in zip(second, (1, -1), strict=True)], [-3 + 0 * s.c] * 2,
                     "f_1'' where cos 2x = 1, f_2'' where cos 2x = -1: neither is convex"),
            ft.equal([v.substitute(c=c) for v, c in zip(second, (-1, 1), strict=True)], [5 + 0 * s.c] * 2, "L = 5"),
            ft.equal(mean, [1] * 4, "coded clients with slopes 1, -1, 3, 1 and 1, 3, -1, 1: the slope of grad F on every piece"),
            *(ft.equal(gradients(problem, [x])[1][0] - gradients(problem, [Q(0)])[1][0], x, f"grad F there, x = {x}")
              for x in (Q(-3), Q(1, 2), Q(4))))


ft.finding("e10", kind="remark", breaks="lem2-lipschitz", check=_convex_average,
           reading="'F is non-convex' taken literally. Where non-convex means 'not assumed convex', nothing is claimed.",
           survives="The Lipschitz gradient of F, which is all that is used of Lemma 2.")


# ---- what Assumption 2 has to say ----------------------------------------------------------------------------------------------
def stages(i):
    """(E T2, E T21, M sigma_l^2) of (33) on the coded arrival; F is the client's own loss."""
    run, K = path(i), i.K
    here = mean_step(i.eta) * gradients(i.stated.problem, i.now)[1]
    exact = sum(e * g for e, g in zip(i.eta, run.exact, strict=True)) / K
    given = sum(e * (g + n) for e, g, n in zip(i.eta, run.exact, run.noise, strict=True)) / K
    return run.square(here - given), run.square(here - exact), mean_square(i.eta) * i.sigma2


def shared_by_clients():
    """(E T2 - E T21, M sigma_l^2) at the second of two arrivals from x_1 = 0, K = 1, f_i = x^2/2, whose noise is one sign."""
    eta, problem = Q(1, 5), ft.Quadratic([[[1]], [[1]]], [[0], [0]]).to(ft.RATIONAL)
    algorithm = ft.StaleSteps(eta, 1).to(ft.RATIONAL)
    sign = ft.RATIONAL.array(np.array([[[Q(1)]], [[Q(-1)]]], dtype=object))
    state = algorithm.init(problem, ft.RATIONAL.array(np.zeros((2, 1), dtype=object)))
    one = np.array([1])
    now, base = (ft.linalg.to_fractions(v) for v in (
        algorithm.round(problem, state, ft.everyone(1, 1)._replace(who=np.array([0]), present=one, xi=lambda k: sign)).x, state.x))
    xi = ft.linalg.to_fractions(sign)[:, 0]
    A, B = eta * now - eta * base, -eta * xi
    return sum(((A + B) ** 2)[:, 0]) / 2 - sum((A**2)[:, 0]) / 2, eta**2


def _past():
    """Theorem 1 and (33d) with one mini-batch in all steps of a round; (33d) with one for two clients."""
    bent = local("one batch, concave", concave([0]), [Q(7, 30), Q(1, 8)], law=OneBatch(skewed(1)))
    long = local("one batch, 18 steps", concave([0]), at_cap(18), law=OneBatch(skewed(1)))
    with_noise, exact, allowed = stages(bent)
    bound = sum(f.theorem1(18, Q(1), 0, 0, Q(1)).values())
    shared, M = shared_by_clients()
    met = [int(h.check(bent).holds) for h in paths.NEEDS if h.name != "H*"]
    return (ft.equal(met, [1] * 4, "Assumptions 1 to 3 and (T1) hold; only H* does not"),
            ft.equal([with_noise - exact, allowed], [Q(43, 1152), Q(1009, 28800)], "(33d), K = 2: E T2 - E T21 and M sigma_l^2"),
            ft.at_most(allowed, with_noise - exact, "(33d) fails with one mini-batch in both steps", strict=True),
            ft.at_most(Q(24625, 10**4), path(long).drift[18] / bound, "Theorem 1, 18 concave steps: the quotient, from below"),
            ft.at_most(path(long).drift[18] / bound, Q(24627, 10**4), "and from above"),
            ft.equal(shared / M, Q(7, 5), "(33d), K = 1, one mini-batch for two clients: E T2 - E T21 over M sigma_l^2"))


ft.finding("a2-past", kind="missing-hypothesis", breaks="thm1", check=_past, script="witnesses/a2-past.py",
           at=("steps (7/30, 1/8), one mini-batch for both, f = 0", "concave, 18 steps, one mini-batch for all"),
           step="(18b) = (18c): the noise of step k is taken to have mean zero given x_{t-tau,k-1}, in which earlier noise is",
           reading="Assumption 2 as printed, E[g_i(x)|x] = grad f_i(x) with x fixed: a mini-batch that is drawn once and used in "
                   "all local steps, or by two clients, satisfies it. Algorithm 2 prints a fresh draw in every local step, "
                   "which meets what is missing: it is the assumption that does not say so.",
           survives="Theorem 1 and (33d) where the noise has mean zero given everything earlier, the client, x_t and x_(t-tau), as "
                    "with a fresh mini-batch in every local step of every client.")
