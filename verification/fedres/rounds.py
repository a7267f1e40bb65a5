"""One round on Huber sums: instances, what the paper supposes of them, and families for searches."""
from dataclasses import dataclass
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres.one_round import G2, Noise, gamma2, loudest, noise_of, root_above, signed

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


class OneRound(ft.Instance):
    """A problem, an algorithm and a state (x0, theta0); what it states goes by the paper's letters."""

    @property
    def K(self):
        return self.stated.algorithm.steps

    @property
    def lam(self):
        return ft.fraction(self.stated.algorithm.personal_lr)

    @property
    def gamma(self):
        return root_above(gamma2(self.stated.problem))

    @property
    def G2(self):
        return G2(self.stated.problem)

    @property
    def sigma2(self):
        return noise_of(self.stated).sigma2


def clients(U, offsets=0, deltas=1, scales=None, n=None):
    """Personal Huber sums with one shared coordinate. U: rows (u, v, ..) of every client, or of one, for n alike; scales: of any
    sign, rows likewise."""
    U = [U] * n if n else U
    offsets = offsets if isinstance(offsets, list) else [[offsets] * len(u) for u in U]
    huber = ft.HuberLoss(U, [offsets[0]] * n if n else offsets, deltas)
    return ft.Personal(huber if scales is None else signed(huber, [scales] * n if n else scales), 1)


def round_of(name, problem, K, lam, eta, w=0, theta=1, noise=0, kind=ft.FedResSgd, says="", **extra):
    """lam, eta: shares of 1/gamma and 1/(gamma K) where given as texts, else step sizes. theta: a number for all, or lists."""
    gamma = root_above(gamma2(problem))
    lam = ft.fraction(lam) / gamma if isinstance(lam, str) else lam
    eta = ft.fraction(eta) / (gamma * K) if isinstance(eta, str) else eta
    theta = theta if isinstance(theta, list) else [[theta] + [0] * (problem.personal - 1)] * problem.n
    says = says or f"w={w}, theta={[[str(v) for v in t] for t in theta[:4]]}, K={K}, lambda={lam}, eta={eta}"
    return OneRound(name, problem, kind(lr=eta, steps=K, personal_lr=lam), ft.Full(), noise=noise, x0=[w], theta0=theta, says=says,
                    **extra)


@dataclass(frozen=True)
class Beyond:
    """Noise that depends on the state: full where the first personal number is beyond a threshold, `quiet` of it elsewhere."""

    threshold: object
    quiet: object = 0

    def __call__(self, w, theta):
        far = (theta[..., :1] > ft.RATIONAL.scalar(self.threshold)) * 1
        factor = far + (1 - far) * ft.RATIONAL.scalar(self.quiet)
        return factor, factor


# ---- what the paper supposes --------------------------------------------------------------------------------
def listed(sides):
    """Of an instance; a class of functions without noise has it by its declaration."""
    return lambda i: ft.ASSUMED if i.problem is None else sides(i)


personal_cap = ft.Hypothesis("personal step", r"$\lambda\le1/\gamma$", lambda i: (i.lam * i.gamma, 1), cap=1)
server_cap = ft.Hypothesis("step", r"$\eta\le1/(\gamma K)$", lambda i: (i.eta * i.gamma * i.K, 1), cap=1)
convex = ft.Hypothesis("Assumption 1", r"every $L_i$ convex", listed(lambda i: (0, min(i.stated.problem.scale.flat))))
bounded = ft.Hypothesis("Assumption 2", r"$\|\nabla L_i\|\le G<\infty$", listed(lambda i: (0, i.G2)))
variance = ft.Hypothesis("Assumption 3", r"variance of a mini-batch $\le\sigma^2$", listed(lambda i: (loudest(i), i.sigma2)))
independent = ft.Hypothesis("independent noise", r"number of clients that share a draw is at most 1",
                            listed(lambda i: (i.n if noise_of(i.stated).common else 1, 1)))


# ---- families -----------------------------------------------------------------------------------------------
MANY, LONG, TINY = 60, 60, Q(1, 1000)
ENDS = {"clients": (1, MANY), "local steps": (1, LONG)}
SHARES = ("1/1000", "1/8", "1/2", "9/10", "1")


def drawn_noise(draw, K, step1, step2, common=None):
    """Two-point noise in few slots, skewed or not, sometimes of the state. step1, step2: whether a step has any."""
    amplitude = st.sampled_from([Q(0), Q(1, 2), Q(1), Q(4)])
    slots = tuple(draw(st.lists(st.integers(0, 2 * K - 1), min_size=1, max_size=3, unique=True)))
    slots = tuple(k for k in slots if (step1 and k < K) or (step2 and k >= K))
    where = draw(st.sampled_from([None, Beyond(Q(0)), Beyond(Q(1), Q(1, 3))]))
    return Noise((draw(amplitude),) if step2 else (), (draw(amplitude),) if step1 else (),
                 draw(st.sampled_from([Q(1, 3), Q(1), Q(3)])), draw(st.booleans()) if common is None else common, slots, where)


def hubers(draw, n=None, K=None, lam=None, eta=None, bent=False, step1=True, step2=False, common=None):
    """Huber sums with one shared and one personal number, at any state. bent: some scales negative; common: noise."""
    alike, K = n is not None, K or draw(st.integers(1, 3))
    n, size = n or draw(st.integers(1, 2)), draw(st.integers(1, 2))
    parts = st.sampled_from([-1, 0, 1, 2])
    U = [[[draw(parts), draw(parts)] for _ in range(size)] for _ in range(1 if alike else n)]
    if not any(v for rows in U for r in rows for v in r):
        return None
    offsets = [[draw(st.integers(-2, 2)) for _ in rows] for rows in U]
    sign = st.sampled_from([Q(1), Q(-1, 2)] if bent else [Q(1)])
    scales = [[draw(sign) for _ in rows] for rows in U]
    deltas = draw(st.sampled_from([Q(1, 2), Q(1), Q(3)]))
    halves = st.integers(-6, 6)
    thetas = [[Q(draw(halves), 2)] for _ in U]
    if alike:
        U, offsets, scales, thetas = U * n, offsets * n, scales * n, thetas * n
        common = True if common is None else common
    problem, noise = clients(U, offsets, deltas, scales), drawn_noise(draw, K, step1, step2, common)
    says = f"U={U[:4]}, offsets={offsets[:4]}, deltas={deltas}, scales={scales[:4]}, K={K}, noise={noise}"
    return round_of("drawn Huber sums", problem, K, lam or draw(st.sampled_from(SHARES)), eta or draw(st.sampled_from(SHARES)),
                    Q(draw(halves), 2), thetas, noise, says=says)
