"""Small rational instances and a translation between schedules of the twins and draws of the package."""
from fractions import Fraction as Q

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.numbers.arrays import EVERYONE, to_numpy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Balls, Field, Modular, Torch, fraction, have
from fltheory.core.problems.quadratic import Quadratic
from tests.naive.fedresavg import ResidualClients
from tests.naive.vectors import QuadraticClients, exact

# edge weights; their row sums are the weights of every instance here
GRAPH = exact([[0, "1/4", "1/8"], ["1/4", 0, "1/12"], ["1/8", "1/12", "1/12"]])
P = [sum(row) for row in GRAPH]

DOMAINS = [FLOAT]
DOMAINS += [Torch()] if have("torch") else []
DOMAINS += [RATIONAL, Modular(), Field("s"), Balls(128)] if have("flint") else []


def named(domain):
    return str(domain)[:14]


def quadratic_data():
    H = exact([[[2, 1], [1, 2]], [[1, 0], [0, "1/2"]], [["3/5", "1/5"], ["1/5", "4/5"]]])
    b = exact([[1, 0], [0, 2], [-1, "-2/3"]])
    return H, b


def quadratic():
    """(Quadratic, its twin): three clients, two dimensions, unequal weights."""
    H, b = quadratic_data()
    return Quadratic.from_linear(H, b, P), QuadraticClients(H, b, P)


def residual_data():
    A = exact([[[2, "1/2"], ["1/2", 1]], [[1, 0], [0, 3]], [[1, "1/3"], ["1/3", 1]]])
    B = exact([[["1/2"], [0]], [["1/4", 0], ["1/3", "1/2"]], [[0], ["2/5"]]])
    C = exact([[[1]], [[1, "1/4"], ["1/4", 2]], [["3/2"]]])
    return A, B, C, exact([[1, 2], [0, -1], [3, 1]]), exact([[3], [1, -2], [-1]])


def residual(weights=None):
    """(Residual, its twin): personal dimensions 1, 2 and 1; the twin has equal weights."""
    data = residual_data()
    return Residual(*data, weights), ResidualClients(*data)


def draw(cohort, n, form, slots=None):
    """The draw of a twin's cohort [(client, steps), ...], as a mask of all clients or as an index array."""
    if form == "mask":
        present, steps = np.zeros(n, dtype=np.int64), np.full(n, 2)
        for i, k in cohort:
            assert not present[i], "a mask cannot repeat a client"
            present[i], steps[i] = 1, k
        return Draw(EVERYONE, present, steps, slots)
    who, steps = np.array([i for i, _ in cohort] + [0]), np.array([k for _, k in cohort] + [4])
    present = np.array([1] * len(cohort) + [0])                      # one place stays empty
    return Draw(who, present, steps, slots)


def on(domain, d):
    """The draw for an arithmetic."""
    if not isinstance(domain, Torch):
        return d
    import torch
    return d.map(torch.as_tensor)


def noise_slots(domain, noise, r, cohort, n, form, d):
    """The twin's noise(round, place, k) as slots; nobody's noise is nonzero too and must not matter."""
    def make(k):
        places = n if form == "mask" else len(cohort) + 1
        table = np.full((places, d), Q(7, 3), dtype=object)
        for place, (i, _) in enumerate(cohort):
            table[i if form == "mask" else place] = noise(r, place, k)
        return domain.array(table)
    return Slots(make)


def same(domain, ours, expected, what=""):
    """Assert equality with exact numbers: exactly, as residues, as members of balls, or to 1e-12 in floats."""
    ours, expected = to_numpy(ours), np.array(expected, dtype=object)
    assert ours.shape == expected.shape, (what, ours.shape, expected.shape)
    ours, expected = ours.reshape(-1), expected.reshape(-1)
    if isinstance(domain, Balls):
        import flint
        numbers = [flint.fmpq(e.numerator, e.denominator) for e in expected]
        assert all(a.contains(e) for a, e in zip(ours, numbers, strict=True)), what
        assert all(a.rad() < 1e-25 for a in ours), what
    elif domain is RATIONAL:
        assert [fraction(a) for a in ours] == list(expected), what
    elif domain.exact:
        assert all(a == domain.scalar(e) for a, e in zip(ours, expected, strict=True)), what
    else:
        scale = max(1.0, *(abs(float(e)) for e in expected))
        gap = max(abs(float(a) - float(e)) for a, e in zip(ours, expected, strict=True))
        assert gap <= 1e-12 * scale, (what, gap)
