"""Several rounds of FedResAvg from any state, over every outcome of their noise, in exact rationals; what Appendix D supposes.

An instance holds the state before the first round as x0, theta0 and ci0 (default zeros), and `rounds`, how many are run.
"""
import itertools
from dataclasses import dataclass
from fractions import Fraction as Q
from functools import lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.errors import refuse
from verification.fedres import rounds as _rounds
from verification.fedres.formulas import appendix_d as d
from verification.fedres.one_round import Noise, Noisy, gamma2, noise_of, root_above, square
from verification.fedres.rounds import st

MOST = 2**12   # outcomes of all rounds together


class Rounds(_rounds.OneRound):
    """Rounds of FedResAvg; what they state goes by the paper's letters. sigma2: that of the noise, or `largest`."""

    @property
    def alpha(self):
        return ft.fraction(self.stated.algorithm.alpha)

    @property
    def s(self):
        """sqrt N, of a square number of clients."""
        return root_above(self.n)

    @property
    def sigma2(self):
        return ft.fraction(self.extra["largest"]) if "largest" in self.extra else super().sigma2


def run_of(name, problem, K=1, eta="1", lam=None, alpha=None, w=0, theta=0, ci=None, noise=0, rounds=1, option=2, **extra):
    """eta: a text is a share of the cap 1/(96 gamma alpha K). alpha, lam: default sqrt N and eta/sqrt N; theta: a number for all
    clients, or lists; ci: numbers of the clients, of mean c."""
    root = root_above(problem.n)
    alpha = root if alpha is None else ft.fraction(alpha)
    eta = ft.fraction(eta) / (96 * root_above(gamma2(problem), 3) * alpha * K) if isinstance(eta, str) else ft.fraction(eta)
    lam = eta / root if lam is None else ft.fraction(lam)
    theta = theta if isinstance(theta, list) else [[theta] + [0] * (problem.personal - 1)] * problem.n
    algorithm = ft.FedResAvg(lr=eta, steps=K, personal_lr=lam, alpha=alpha, option=option)
    words = f"N={problem.n}, K={K}, alpha={alpha}, eta={eta}, lambda={lam}, w={w}, theta={[str(t[0]) for t in theta[:3]]}"
    words += f", c_i={[str(v) for v in ci[:3]]}" if ci else ""
    said = extra.pop("says", "")
    return Rounds(name, problem, algorithm, ft.Full(), noise=noise, x0=[ft.fraction(w)],
                  theta0=[[ft.fraction(v) for v in t] for t in theta], ci0=[[ft.fraction(v)] for v in ci or [0] * problem.n],
                  rounds=rounds, says=f"{said}; {words}" if said else words, **extra)


@dataclass(frozen=True)
class Run:
    """A path of coded rounds. chances (m,) of the outcomes; states [(w (m, d), theta (m, n, k), ci (m, n, d))] before each round
    and after the last; points, exact, given: per round one pair (w (m, n, d), theta (m, n, k)) for every gradient slot."""

    problem: object
    chances: np.ndarray
    states: list
    points: list
    exact: list
    given: list

    def mean(self, v):
        """E of (m, ...)."""
        v = np.asarray(v, dtype=object)
        return (self.chances.reshape(-1, *(1,) * (v.ndim - 1)) * np.broadcast_to(v, (len(self.chances), *v.shape[1:]))).sum(0)

    def F(self, w, theta):
        """The objective (m,)."""
        return _fractions(self.problem.joint_value(_rational(w), _rational(theta)))

    def gradients(self, w, theta):
        """(grad_w L_i (m, n, d), grad_theta L_i (m, n, k)); w (m, d)."""
        return tuple(_fractions(g) for g in self.problem.at().grad_pair(_rational(w)[..., None, :], _rational(theta), None))

    def squares(self, w, theta):
        """(|grad_w F|^2, sum_i |grad_theta L_i|^2), (m,) each."""
        g, h = self.gradients(w, theta)
        return square(g.mean(-2)), square(h).sum(-1)

    def grad2(self, r):
        """E|grad F|^2 at the state before round r = 0, 1, .."""
        shared, own = self.squares(*self.states[r][:2])
        return self.mean(shared + own / Q(self.problem.n) ** 2)

    def value(self, r):
        """E F at the state before round r."""
        return self.mean(self.F(*self.states[r][:2]))

    def drifts(self, r, K):
        """E|w_i^[k] - w|^2 of round r, (K, n): before local step k."""
        w = self.states[r][0][:, None]
        return np.array([self.mean(square(self.points[r][K + k][0] - w)) for k in range(K)], dtype=object)


def _rational(v):
    return ft.RATIONAL.array(np.asarray(v, dtype=object))


def _fractions(v):
    return ft.linalg.to_fractions(v)


def start(i):
    return np.array(i.x0, dtype=object), np.array(i.theta0, dtype=object), np.array(i.ci0, dtype=object)


@lru_cache(16)   # hypotheses and both sides of a claim look at the same rounds
def path(i) -> Run:
    """The instance's coded rounds. Raises BadInput on too many outcomes."""
    problem, algorithm, noise = i.problem.to(ft.RATIONAL), i.algorithm.to(ft.RATIONAL), noise_of(i)
    K, n, quiet = algorithm.steps, problem.n, not (noise.w or noise.theta)
    first, second = (noise.outcomes(range(at, at + K), n, amplitude) for at, amplitude in ((0, noise.theta), (K, noise.w)))
    both = list(itertools.product(zip(*first, strict=True), zip(*second, strict=True)))
    draws, chances = [np.concatenate([a, b]) for (a, _), (b, _) in both], [p * q for (_, p), (_, q) in both]
    if len(chances) ** i.rounds > MOST:
        refuse("noise", len(chances) ** i.rounds, f"more than {MOST} outcomes", "Give fewer slots noise.")
    picks = np.array(list(itertools.product(range(len(chances)), repeat=i.rounds)))
    total = np.array([np.prod([chances[k] for k in row]) for row in picks], dtype=object)
    w, theta, ci = (_rational(np.broadcast_to(v, (len(picks), *v.shape))) for v in start(i))
    state = algorithm.init(problem, w)._replace(x=w, theta=theta, ci=ci, c=ci.sum(-2) / n)
    states, records = [], []
    for r in range(i.rounds):
        watched = Noisy(problem, noise)
        slots = [_rational(np.array([draws[pick][k] for pick in picks[:, r]], dtype=object)[..., None]) for k in range(2 * K)]
        states.append(state)
        state = algorithm.round(watched, state, ft.everyone(n, K)._replace(xi=None if quiet else slots.__getitem__))
        records.append([[tuple(np.broadcast_to(_fractions(v), (len(picks), n, v.shape[-1])) for v in pair) for pair in pairs]
                        for pairs in (watched.points, watched.exact, watched.given)])
    told = [tuple(_fractions(v) for v in (s.x, s.theta, s.ci)) for s in (*states, state)]
    return Run(problem, total, told, *(list(v) for v in zip(*records, strict=True)))


def as_printed(i):
    """The first coded round without noise is Algorithm 4 as printed, with 1/K in Option II's mean."""
    r = path(i.but(noise=0, rounds=1))
    w, theta, ci = (_fractions(v) for v in start(i))
    problem = i.stated.problem.to(ft.RATIONAL)

    def gradients(w, theta):
        return tuple(_fractions(g) for g in problem.at().grad_pair(_rational(w), _rational(theta), None))
    option = i.stated.algorithm.option
    after = d.algorithm4(gradients, w, theta, ci, i.eta, i.lam, i.alpha, i.K, option)
    return [ft.equal(got[0], wanted, f"{name} after the coded round") for name, got, wanted in
            zip(("w", "theta", "c_i"), r.states[1], after, strict=True)]


# ---- what Appendix D supposes -----------------------------------------------------------------------------------
cap = ft.Hypothesis("cap", r"$\eta\le\frac1{96\gamma\alpha K}$", lambda i: (96 * i.eta * i.gamma * i.alpha * i.K, 1), cap=1)
root_alpha = ft.Hypothesis("server step", r"$\alpha=\sqrt N$", lambda i: (i.alpha**2, i.n) if i.alpha**2 >= i.n else (None, None))
root_lambda = ft.Hypothesis("personal step", r"$\lambda=\eta/\sqrt N$",
                            lambda i: (abs(i.lam**2 * i.n - i.eta**2), 0))
small_alpha = ft.Hypothesis("server step", r"$\alpha\le N$", lambda i: (i.alpha, i.n))
large_alpha = ft.Hypothesis("no small server step", r"$1\le\alpha$", lambda i: (1, i.alpha))
small_lambda = ft.Hypothesis("personal step", r"$\lambda\le\eta$", lambda i: (i.lam, i.eta))
start_bounded = ft.Hypothesis("first variates", r"$\|c_i^1\|\le G$", lambda i: (max(square(start(i)[2])), i.G2))
quiet = ft.Hypothesis("no noise", r"$\sigma=0$", _rounds.listed(lambda i: (i.sigma2, 0)))
second_round = ft.Hypothesis("round", r"$r\ge2$", lambda i: (2, i.rounds))
QUIET = [_rounds.bounded, quiet]
NOISY = [_rounds.bounded, _rounds.variance]


# ---- families ---------------------------------------------------------------------------------------------------
MANY, LONG = 64, 40
LAMBDA = ft.Variable("gamma lambda", lambda i: i.gamma * i.lam)
ALPHA = ft.Variable("alpha", lambda i: i.alpha)
ENDS = {"clients": (1, MANY), "local steps": (1, LONG), ALPHA: (1, 5 * MANY), LAMBDA: (Q(1, 1000), Q(99, 100)),
        "step over its cap": (Q(1, 1000), Q(999, 1000))}
CORNERS = ({"n": MANY, "K": 1, "alpha": 1}, {"n": MANY, "K": 1, "alpha": 5 * MANY, "lam": Q(1)}, {"n": 1, "K": LONG, "eta": "1"},
           {"n": 1, "K": 1, "eta": "1/1000", "lam": Q(1)}, {"n": 1, "K": 1, "lam": Q(1, 1000)})


def drawn(draw, n=None, K=None, alpha=None, lam=None, eta=None, noise=True, short=False, roots=False, small=False, rounds=1,
          bent=True,
          option=None):
    """Huber sums from any state with any variates. lam: gamma lambda; short: lambda <= sqrt 2 eta; roots: alpha = sqrt N and
    lambda = eta/sqrt N; small: alpha <= N, lambda <= eta, Option II and first variates of norm at most G;
    rounds: how many are run."""
    base = _rounds.hubers(draw, n=n or (draw(st.sampled_from([1, 4])) if roots else None), K=K, bent=bent, step1=False)
    if base is None:
        return None
    problem, K, n = base.problem, base.K, base.n
    alike = len({str(v) for v in problem.rows}) == 1
    alpha = alpha or draw(st.sampled_from([Q(1), root_above(n, 3), Q(n), *([] if small else [Q(5 * n)])]))
    eta = eta or draw(st.sampled_from(["1/1000", "1/4", "1"]))
    made = run_of("drawn Huber sums", problem, K, eta, None, None if roots else alpha)
    lam = draw(st.sampled_from([Q(1, 1000), Q(1, 8), Q(1)])) if lam is None else lam
    lam = made.eta * draw(st.sampled_from([Q(1, 100), Q(1), *([] if small else [Q(7, 5)])])) if short or small else lam / made.gamma
    slots = tuple(draw(st.lists(st.integers(0, 2 * K - 1), min_size=1, max_size=(3 if rounds == 1 else 2) if n < 4 else 1,
                                unique=True)))
    loud = st.sampled_from([Q(0), Q(1, 2), Q(4)])
    made_noise = Noise((draw(loud),), (draw(loud),), draw(st.sampled_from([Q(1, 3), Q(1), Q(3)])), False, slots,
                       draw(st.sampled_from([None, _rounds.Beyond(Q(0))]))) if noise and n < 5 else 0
    ci = [Q(draw(st.integers(-4, 4)), 5) * root_above(base.G2, 3) if rounds > 1 or small else Q(draw(st.integers(-6, 6)), 2)
          for _ in range(1 if alike and n > 2 else n)]
    ci = ci * n if len(ci) < n else ci
    return run_of("drawn Huber sums", problem, K, eta, None if roots else lam, None if roots else alpha, base.x0[0], base.theta0,
                  ci, made_noise, rounds, option or (2 if small else draw(st.sampled_from([1, 2]))), says=base.says)


__all__ = ["ALPHA", "CORNERS", "ENDS", "LAMBDA", "Noise", "Rounds", "Run", "as_printed", "drawn", "path", "run_of", "square"]
