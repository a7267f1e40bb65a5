"""Instances for Table 1: the reference instance and random ones, under full, uniform and arbitrary participation."""
from fractions import Fraction as Q

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.problems.quadratic import Quadratic
from fltheory.verdicts.claims.claim import Instance
from verification.focus.instances import line, plane

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

LAWS = {"full": Full(), "one uniform client": Uniform(1), "weighted, two of three": Weighted(2, (7, 2, 1)),
        "arbitrary": Bernoulli(("9/10", "1/2", "1/10"), "redraw")}


def _at(problem, make, name, law, tau, eta, **extra):
    return Instance(name, problem, make(eta, tau), law, **extra)


def grid(make, eta, taus, **options):
    """The reference instance under every law, and a line with a rare client."""
    out = [_at(plane(), make, f"plane, {name}, tau={tau}", law, tau, eta, kind=name) for name, law in LAWS.items() for tau in taus]
    return out + [_at(line((1, 2, 4), (1, -1, 0)), make, f"line, {name}, tau={taus[-1]}", law, taus[-1], eta, kind=name)
                  for name, law in LAWS.items()]


fedavg = grid(lambda eta, tau: FedAvg(eta, tau, averaging="plain"), "1/20", (1, 3))
scaffold, focus, mifa = (grid(make, "1/50", (1, 3)) for make in (Scaffold, Focus, Mifa))


def drawn(make):
    """Random heterogeneous quadratics, a law of each type, a step that is small for the rarest client."""
    def family(draw):
        n, d = draw(st.integers(2, 3)), draw(st.integers(1, 2))
        H = []
        for _ in range(n):
            diagonal, off = [draw(st.integers(1, 4)) for _ in range(d)], draw(st.sampled_from([0, Q(1, 2)]))
            H.append([diagonal] if d == 1 else [[diagonal[0], off], [off, diagonal[1]]])
        c = [[draw(st.integers(-2, 2)) for _ in range(d)] for _ in range(n)]
        p = tuple(draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 5)])) for _ in range(n))
        law = draw(st.sampled_from([Full(), Uniform(1), Bernoulli(p, "redraw") if min(p) < 1 else Full()]))
        tau = draw(st.integers(1, 4))
        problem = Quadratic(H, c)
        return _at(problem, make, "random quadratic", law, tau, min(p) / (20 * n * tau * 5), kind="random")
    return family
