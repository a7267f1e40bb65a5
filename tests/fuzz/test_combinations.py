"""Random problems, algorithms and laws with one spoiled argument through the whole engine, and what must not matter."""
import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

import fltheory as ft
from tests.fuzz import calls
from tests.fuzz.budget import cases
from tests.fuzz.hostile import made, values

small = st.fractions(0, 3, max_denominator=4)


@st.composite
def problems(draw):
    n, d = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    H = [[[draw(small) + 1 if i == j else 0 for j in range(d)] for i in range(d)] for _ in range(n)]
    c = [[draw(small) for _ in range(d)] for _ in range(n)]
    parts = [draw(st.integers(1, 4)) for _ in range(n)]
    return ft.Quadratic(H, c, [Fraction(v, sum(parts)) for v in parts])


solvers = st.sampled_from([ft.Vanilla(), ft.Proximal(mu=1), ft.Proximal(alpha="1/2"), ft.Momentum("1/2"), ft.Decay("9/10"),
                           ft.MomentumProximal("1/2", "1/4")])
counts = st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.none())
algorithms = st.one_of(
    st.builds(ft.FedAvg, small.map(lambda v: v / 8 + Fraction(1, 50)), counts, solvers,
              st.sampled_from(["weighted", "plain", "unbiased"])),
    st.builds(ft.FedNova, st.just("1/20"), counts, solvers),
    st.builds(ft.Scaffold, st.just("1/20"), counts, st.sampled_from([1, 2])),
    st.builds(ft.Focus, st.just("1/20"), counts, st.sampled_from(["zero", "warm"])),
    st.builds(ft.VRLSGD, st.just("1/20"), counts), st.builds(ft.Mifa, st.just("1/20"), counts),
    st.builds(ft.FedNovaVR, st.just("1/20"), counts), st.builds(ft.ServerMomentum, st.just("1/20"), counts, beta=st.just("1/2")),
    st.builds(ft.AsyncFedED, st.just("1/20"), counts), st.builds(ft.AdaptiveServer, st.just("1/20"), counts),
    st.builds(ft.FedResAvg, st.just("1/20"), counts, st.just("1/20"), option=st.sampled_from([1, 2])),
    st.builds(ft.FedResSgd, st.just("1/20"), counts, st.just("1/20")), st.builds(ft.FedSgd, st.just("1/20"), counts),
    st.builds(ft.FedResNaive, st.just("1/20"), counts, st.just("1/20"), st.sampled_from(["seq", "sim"])),
    st.builds(ft.LocalProx, st.just("1/20"), counts, st.sampled_from([0, "1/2"])),
    st.builds(ft.LocalSgd, st.just("1/20"), counts, st.sampled_from(["average", "mean"])),
    st.builds(ft.FedAu, st.just("1/20"), counts, cutoff=st.sampled_from([None, 1, 3])),
    st.builds(ft.FedAu, st.just("1/20"), counts, weights=st.sampled_from([None, (1,), (1, "3/2"), (2, 1, 1)])),
    st.builds(ft.FedAwe, st.just("1/20"), counts, cap=st.sampled_from([None, 1, 2])),
    st.builds(ft.FedVarp, st.just("1/20"), counts),
    st.builds(ft.Reweighted, st.just("1/20"), counts, st.sampled_from([(1,), ("1/2", 1), ("1/2", "1/3", 1)])))
laws = st.one_of(
    st.builds(ft.Full, counts), st.builds(ft.Uniform, st.integers(1, 4), counts),
    st.builds(ft.Bernoulli, st.sampled_from(["1/2", 1, ("1/2", "1/3"), ("1/4", "1/2", 1)]),
              st.sampled_from(["move", "skip", "redraw"]), counts, st.sampled_from([0, 1])),
    st.builds(ft.WithReplacement, st.integers(1, 2)), st.builds(ft.Cyclic, st.sampled_from([[[0], [1]], [[0, 1], [2]], [[], [0]]])),
    st.builds(ft.EventClock, st.integers(1, 2)), st.builds(ft.Full, batch=st.just(2)),
    st.just(ft.Periodic([ft.Full(), ft.Uniform(1)])), st.builds(ft.Weighted, st.just(1), st.sampled_from([[1], [1, 2], [1, 2, 3]])),
    st.just(ft.Full(ft.RandomSteps([("1/2", 1), ("1/2", 3)]))))


def operator(data, problem, algorithm, law, **options):
    return ft.derive(algorithm, problem, law, **options)


def simulation(data, problem, algorithm, law, **options):
    return ft.run(algorithm, problem, law, 3, 3, **options)


def local(data, problem, algorithm, law, **options):
    return ft.linearise(algorithm, problem, law, limit=20, **options)


def weights(data, problem, algorithm, law, **options):
    return ft.surrogate_weights(algorithm, law, problem.n, problem.weights, **options)


def claim(data, problem, algorithm, law, **options):
    i = ft.Instance("drawn", problem, algorithm, law, **options)
    found = ft.claim("drawn", on=[i])(calls.comparison).check()
    assert found.word in ("CERTIFIED", "FALSE", "OPEN", "SUPPORTED", "PROVED") or found.instances[0].reason, found.word
    return None


def horizon(data, problem, algorithm, law, x0=None, **options):
    op = ft.derive(algorithm, problem, law, **options)
    return np.array([m for m, _ in op.trajectory(3, [0] * problem.d if x0 is None else x0)])


LEGS = {f.__name__: f for f in (operator, simulation, local, weights, claim, horizon)}
OPTIONS = {"operator": ("noise", "start", "domain"), "simulation": ("noise", "x0", "seed", "tail", "chunk"), "local": ("x0",),
           "weights": ("domain",), "claim": ("noise", "x0"), "horizon": ("noise", "x0")}


@cases(fast=20, slow=330, names=tuple(LEGS), data=st.data(), problem=problems(), algorithm=algorithms, law=laws,
       spoiled=st.sampled_from(["nothing", "problem", "algorithm", "law", "option", "option"]), value=values)
def test_one_spoiled_part(name, data, problem, algorithm, law, spoiled, value):
    """Combinations that fit give sound numbers; those that do not, and hostile parts, are refused in words."""
    parts, options = {"problem": problem, "algorithm": algorithm, "law": law}, {}
    if spoiled == "option":
        options = {data.draw(st.sampled_from(OPTIONS[name]), label="option"): made(value)}
    elif spoiled != "nothing":
        parts[spoiled] = made(value)
    if spoiled == "problem" and not hasattr(parts["problem"], "d"):
        name = "operator"
    result = calls.declared(LEGS[name], data, **parts, **options)
    if result is not None:
        calls.check(result)


@cases(fast=20, slow=300, problem=problems(), lr=st.fractions("1/50", "1/4", max_denominator=50), tau=st.integers(1, 3),
       form=st.sampled_from([Fraction, str, float, np.float64, lambda v: np.str_(v), lambda v: f" {v} "]))
def test_the_form_of_a_number_does_not_matter(problem, lr, tau, form):
    """'1/20', Fraction(1, 20) and 0.05 mean one number, to rounding."""
    exact = ft.derive(ft.FedAvg(lr, tau), problem, ft.Full()).fixed_point().x
    other = ft.derive(ft.FedAvg(form(lr), tau), problem, ft.Full()).fixed_point().x
    assert np.allclose(exact, other, rtol=1e-9, atol=1e-12)


@cases(fast=20, slow=300, problem=problems(), data=st.data(), tau=st.integers(1, 3),
       kind=st.sampled_from(["FedAvg", "FedNova", "Scaffold"]))
def test_the_order_of_the_clients_does_not_matter(problem, data, tau, kind):
    """Permuted clients have the same fixed point and rates."""
    order = data.draw(st.permutations(range(problem.n)))
    other = ft.Quadratic(problem.H[order], problem.c[order], problem.weights[order])
    a, b = (ft.derive(getattr(ft, kind)("1/30", tau), p, ft.Uniform(1)) for p in (problem, other))
    assert np.allclose(a.fixed_point().x, b.fixed_point().x, rtol=1e-8, atol=1e-10)
    assert abs(a.rate() - b.rate()) < 1e-6 and abs(a.mean_square_rate() - b.mean_square_rate()) < 1e-6


@cases(fast=20, slow=300, problem=problems(), loss=st.fractions("1/8", 8, max_denominator=8),
       length=st.fractions("1/8", 8, max_denominator=8),
       law=st.sampled_from([ft.Full(), ft.Uniform(1), ft.Bernoulli("1/2")]))
def test_units_do_not_matter(problem, loss, length, law):
    """f(x) -> c f(x/s) with lr -> lr s^2/c multiplies every iterate by s."""
    one = ft.Instance("i", problem, ft.FedAvg("1/20", 2), law)
    two = one.rescaled(loss, length)
    assert [v * length for v in one.op.fixed_point().x] == list(two.op.fixed_point().x)
    assert abs(one.op.rate() - two.op.rate()) < 1e-9
