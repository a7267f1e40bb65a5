"""The synthetic model of Experiment E.2: its losses, optima and runs against slow twins."""
import math

import numpy as np
import pytest

from fltheory.core.numbers.scalars import Torch
from fltheory.runs.streams import Stream
from verification.fedres import population
from verification.fedres.experiments import methods
from verification.fedres.formulas import population as f

V = f.difference(*population.stated(3, 4), 0.5)
U = np.array([0.7, -0.4, 1.1, 0.2])


def test_losses_and_gradients_agree_with_the_formula():
    assert population.loss(U, V) == pytest.approx([f.population_loss(U, v) for v in V], rel=1e-12)
    for k, e in enumerate(np.eye(4)):
        slope = [(f.population_loss(U + 1e-5 * e, v) - f.population_loss(U - 1e-5 * e, v)) / 2e-5 for v in V]
        assert population.gradient(U, V)[:, k] == pytest.approx(slope, abs=1e-8)
    assert population.loss(0 * U, V) == pytest.approx([math.log(2)] * 3)


def test_losses_lie_in_certified_enclosures():
    flint = pytest.importorskip("flint")
    a, r = math.sqrt(U @ U), f.slope(U, V[0])

    def inside(z, analytic):
        cut = (-a * z).exp() + 1
        loss = cut.log(analytic=analytic)
        share = (1 + (r * z / flint.arb(2).sqrt()).erf()) / 2
        return 2 * loss * share * (-z * z / 2).exp() / (2 * flint.arb.pi()).sqrt()
    value = flint.acb.integral(inside, -12, 12).real      # what lies beyond is below 1e-29
    assert abs(float(value) - float(population.loss(U, V[0]))) < 1e-12 and float(value.rad()) < 1e-10


def test_the_stated_ground_truth_has_the_known_optima():
    for mix, own, single in ((0, 0.212060, 0.212060), (0.5, 0.314656, 0.547188), (1, 0.219071, 0.689400)):
        v = f.difference(*population.stated(), mix)
        value, u, norm = population.single_optimum(v)
        assert (population.own_optima(v)[0].mean(), value) == (pytest.approx(own, abs=1e-6), pytest.approx(single, abs=1e-6))
        assert norm * (np.linalg.norm(u) + f.largest_norm(v)) < 1e-7      # a bound on what is left, as the loss is convex


def test_the_best_model_of_a_client_points_along_its_difference():
    losses, sizes = population.own_optima(V)
    for v, least, size in zip(V, losses, sizes, strict=True):
        u = size * v / np.linalg.norm(v)
        assert np.abs(population.gradient(u, v)).max() < 1e-9
        assert all(population.loss(u + 0.1 * e, v) > least for e in np.eye(4))


def rounds(name, lr, K, seeds, count, rows=1, mu=0.05):
    """Losses after each round by the paper's pseudo-code, one client and one sample batch at a time."""
    n, d, out = *V.shape, []
    for s in seeds:
        w, c = np.zeros(d), np.zeros(d)
        theta, ci = np.zeros((n, d)), np.zeros((n, d))
        for r in range(count):
            made = {}

            def gradient(i, u, k, s=s, r=r, made=made):
                if k not in made:
                    made[k] = Stream(s, "fedres", "round", r, k).generator().standard_normal(
                        (n, population.BATCH, d + 1))
                x, noise = made[k][i, :, :-1], made[k][i, :, -1]
                sign = np.sign(x @ V[i] + math.sqrt(2) * noise)
                return -(x * (sign / (1 + np.exp(sign * (x @ u))))[:, None]).mean(0)
            own, sums = np.tile(w, (n, 1)), np.zeros((n, d))
            for i in range(n):
                for k in range(K if name == "II" else 0):
                    theta[i] = theta[i] - lr * gradient(i, w + theta[i], k)
                for k in range(K):
                    g = gradient(i, own[i] + theta[i], k + K if name == "II" else k)
                    sums[i] += g
                    own[i] = own[i] - lr * (g - ci[i] + c if name == "II" else g + mu * (own[i] - w))
            w = own.mean(0)
            if name == "II":
                ci, c = sums / K, sums.mean(0) / K
            out.append(population.loss(w + theta if name == "II" else own, V).mean())
    return np.array(out).reshape(len(seeds), count)


@pytest.mark.parametrize(("name", "plain"), [("FedResAvg II", "II"), ("FedProx 0.05", "prox")])
def test_runs_are_those_of_the_pseudo_code(name, plain):
    seen = population.contest({name: (methods(0.1, 3)[name], population.Population(V))}, 3, (5, 6))
    losses = np.stack([values.mean(-1) for _, _, values in seen], -1)
    assert losses == pytest.approx(rounds(plain, 0.1, 3, (5, 6), 3), rel=1e-9)


def test_a_seed_runs_alone_as_beside_others():
    problem, chosen = population.Population(V), {"SCAFFOLD": methods(0.1, 2)["SCAFFOLD"]}
    entries = {name: (a, problem) for name, a in chosen.items()}
    (_, _, both), (_, _, one) = (next(iter(population.contest(entries, 1, seeds))) for seeds in ((3, 4), (4,)))
    assert both[1] == pytest.approx(one[0], rel=1e-12)


def test_two_rows_move_as_one_vector_at_twice_the_step():
    names = ("FedAvg", "SCAFFOLD", "FedResNaive", "FedResSGD", "FedResAvg I", "FedResAvg II", "FedProx 0")
    for name in names:
        (_, _, two), = population.contest({name: (methods(0.05, 2)[name], population.Population(V, 2))}, 1, (1,))
        (_, _, one), = population.contest({name: (methods(0.1, 2)[name], population.Population(V, 1))}, 1, (1,))
        assert two == pytest.approx(one, rel=1e-12)


def test_drawn_truths_differ_from_seed_to_seed_in_one_problem():
    v = np.stack([f.difference(*population.drawn(s, 3, 4), 0.5) for s in range(2)])
    problem = population.Population(v, 2).to(Torch())
    assert (problem.n, problem.d, problem.personal) == (3, 8, 8)
    assert problem.losses(np.zeros((2, 3, 8))) == pytest.approx(np.full((2, 3), math.log(2)))
