"""Theorem 2's linear rate and error floor on quadratics, without a bound of the gradients: exact operators of Option II."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres import bugs, instances, rounds
from verification.fedres.claims.eq8_quadratic import alike, convex_blocks, strongly
from verification.fedres.formulas import theorem2 as f
from verification.fedres.moments import Affine
from verification.fedres.one_round import root_above

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


class Avg(Affine):
    """FedResAvg II on an `ft.Residual` of scalar clients; its state is (w, theta, c, c_i)."""

    @property
    def root(self):
        return root_above(self.n)

    @property
    def alpha(self):
        return ft.fraction(self.stated.algorithm.alpha)

    @property
    def moments(self):
        """(matrix of the mean round, covariance of the state's noise in one round)."""
        moments, size = self.op_anywhere.exact().moments, self.op_anywhere.exact().moments.size
        pi, m, X = (ft.RATIONAL.array(np.array(v, dtype=object)) for v in ([1], [[0] * size], [[[0] * size] * size]))
        _, t, second = (ft.linalg.to_fractions(v) for v in moments.step(pi, m, X))
        return ft.linalg.to_fractions(moments.mean_matrix()), second[0] - t[0][:, None] * t[0][None, :]

    @property
    def stationary(self):
        """tr(H S)/2 of the (w, theta)-block of S = T S T' + Q, restricted to states with c = the mean of the c_i."""
        T, cov = self.moments
        size, own = len(T), 1 + self.n
        pairs = [(a, b) for a in range(size) for b in range(a, size)]
        rows = np.array([[(T[a, c] * T[b, e] + (T[a, e] * T[b, c] if c != e else 0)) for c, e in pairs] for a, b in pairs],
                        dtype=object)
        unit = np.array([[Q(int(p == q)) for q in pairs] for p in pairs], dtype=object)
        found = ft.linalg.solve(unit - rows, np.array([[cov[p]] for p in pairs], dtype=object))[:, 0]
        return sum(self.H[p] * v * (1 if p[0] == p[1] else 2) for p, v in zip(pairs, found, strict=True) if max(p) < own) / 2


def at_theorem(name, problem, K, share="1", noise=1, option=2, says=""):
    """alpha = sqrt N, lambda = eta/sqrt N and eta at a share of 1/(96 gamma sqrt N K)."""
    def made(eta):
        root = root_above(problem.n)
        algorithm = ft.FedResAvg(lr=eta, steps=K, personal_lr=eta / root, alpha=root, option=option)
        return Avg(name, problem, algorithm, ft.Full(), noise=noise, x0=[0], theta0=[[0]] * problem.n,
                   says=says or f"K={K}, eta={eta}")
    return made(Q(share) / (96 * root_above(made(Q(1)).gamma**2, 3) * root_above(problem.n) * K))


four = instances.scalar([4, 1, 2, 3], [3, 0, 1, -1], [4, 2, 1, 1], [1, 0, 0, -1], [0, 1, 0, 0])
ON = [at_theorem("one client, K=1", alike(1), 1), at_theorem("one client, K=60", alike(1), 60),
      at_theorem("four clients alike, K=3", alike(4), 3), at_theorem("four clients, K=5", four, 5),
      at_theorem("four clients, a thousandth of the cap", four, 2, "1/1000"), at_theorem("noise alone matters",
              alike(1, (5, 0, 5)), 1),
      at_theorem("w is slow", instances.scalar(["1/100"], [0], [5], [0], [0]), 8)]
many = at_theorem("81 clients, w is slow", instances.scalar(["1/100"] * 81, [0] * 81, [5] * 81, [0] * 81, [0] * 81), 1)
convex = ft.Hypothesis("Assumption 1", r"every $L_i$ convex (0 if one is not)", lambda i: (1, convex_blocks(i)))
cap = ft.Hypothesis("cap", r"$\eta\le\frac1{96\gamma\sqrt NK}$", lambda i: (96 * i.eta * i.gamma * i.root * i.K, 1), cap=1)
personal = ft.Hypothesis("parameters", r"$\alpha=\sqrt N$, $\lambda=\eta/\sqrt N$",
                         lambda i: (abs(i.alpha - i.root) + abs(i.lam * i.root - i.eta), 0))
NEEDS = [strongly, convex, cap, personal]


def drawn(draw, n=None, K=None, share=None):
    n, parts = n or draw(st.sampled_from([1, 1, 4])), st.integers(-3, 3)
    rows = [[(draw(parts), draw(parts)) for _ in range(2)] for _ in range(n)]
    tiny = Q(1, draw(st.sampled_from([1, 100, 10**6])))
    blocks = [[sum(r[a] * r[b] for r in own) + (a == b) * tiny for a, b in ((0, 0), (0, 1), (1, 1))] for own in rows]
    problem = instances.scalar(*zip(*blocks, strict=True), [0] * n, [0] * n)
    K = K or draw(st.integers(1, 5))
    return at_theorem("drawn quadratics", problem, K, share or draw(st.sampled_from(rounds.SHARES)),
                      says=f"rows={rows}, tiny={tiny}, K={K}")


ENDS = {"clients": (1, 81), "local steps": (1, 60), "step over its cap": (Q(1, 1000), Q(999, 1000))}
CORNERS = ({"n": 1, "K": 60, "share": "1"}, {"n": 4, "K": 1, "share": "1"}, {"n": 1, "K": 1, "share": "1/1000"})


def search(tries):
    return ft.Search((ft.Family("strongly convex quadratics", drawn, CORNERS),), tries=tries)


@ft.claim("thm2-quad-rate", on=[*ON, many], needs=NEEDS, rejects=[bugs.alpha_dropped], ends=ENDS,
          search=search(20),
          reading="At the theorem's alpha, lambda and cap; the operator acts on (w, theta, c, c_i). Searched, not proved.")
def thm2_quad_rate(i):
    r"""On strongly convex quadratics FedResAvg II contracts: $\rho(T)^2\le1-\frac{\beta\eta\sqrt NK}4$."""
    return ft.at_most(ft.linalg.charpoly_radius(i.moments[0])[1] ** 2, f.quad_rate(i.beta, i.eta, i.root, i.K),
                      "squared spectral radius")


@ft.claim("thm2-quad-floor", on=ON, needs=NEEDS, ends=ENDS | {"clients": (1, 4)}, search=search(12),
          reading="Noise of every mini-batch with a covariance that does not depend on the state. Searched, not proved.")
def thm2_quad_floor(i):
    r"""On strongly convex quadratics the stationary error of FedResAvg II obeys
    $EF-F^*\le\frac{\gamma\eta\sigma^2}{\beta\sqrt N}$."""
    return ft.at_most(i.stationary, ft.Terms(noise=f.quad_floor(i.gamma, i.eta, i.sigma2, i.beta, i.root)), "error floor")
