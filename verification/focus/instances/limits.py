"""Instances for Appendix A and C: powers of stochastic matrices, decentralised gradient descent, traffic."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffnew import Scaffnew
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.memoryless import Full
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance
from verification.focus.formulas import matrices as m
from verification.focus.instances import line, plane


def _array(rows):
    return np.array([[Q(v) for v in row] for row in rows], dtype=object)


def weights_of(R):
    """The vector whose weighted average the powers tend to."""
    return m.perron(R)


def _powers(name, R, x0, **extra):
    return Instance(name, R=_array(R), x0=_array([[v] for v in x0]), weights_of=weights_of, **extra)


row_stochastic = [
    _powers("three rows", [["1/2", "1/4", "1/4"], ["1/3", "2/3", 0], [0, "1/5", "4/5"]], [1, -2, 5]),
    _powers("two rows", [["9/10", "1/10"], ["3/10", "7/10"]], [1, 0]),
    _powers("four rows, sparse", [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], ["1/2", "1/2", 0, 0]], [3, 0, -1, 2]),
]
example_34 = [_powers("the printed example", [["1/2", 0, "1/2", 0], ["1/2", "1/2", 0, 0], ["1/2", 0, "1/2", 0],
                                              ["1/2", 0, 0, "1/2"]], [4, 1, -2, 7])]
doubly_stochastic = [
    _powers("three rows", [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]], [1, -2, 6]),
    _powers("four rows, a ring", [["1/3", "1/3", 0, "1/3"], ["1/3", "1/3", "1/3", 0], [0, "1/3", "1/3", "1/3"],
                                  ["1/3", 0, "1/3", "1/3"]], [3, 0, -1, 2]),
    _powers("circulant, not symmetric", [["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/2", 0, "1/2"]], [1, 0, 5]),
]


def _columns(n):
    """Two column-stochastic matrices in a row, all entries symbols (the last row fills up the columns)."""
    names = [f"{s}{i}{j}" for s in "ab" for i in range(n - 1) for j in range(n)] + [f"x{j}" for j in range(n)]
    k = Field(" ".join(names))
    s = list(k.symbols)
    out = []
    for _ in range(2):
        top = np.array([[s.pop(0) for _ in range(n)] for _ in range(n - 1)], dtype=object)
        out.append(np.concatenate([top, (1 - top.sum(0))[None]]))
    return Instance(f"n={n}", domain=k, matrices=out, x=np.array(s, dtype=object), transpose=lambda C: C,
                    says="entries are symbols; by induction over the factors, any sequence")


column_stochastic = [_columns(2), _columns(3)]


def metropolis(n):
    """The ring's doubly stochastic matrix with weights 1/3."""
    W = [[Q(0)] * n for _ in range(n)]
    for i in range(n):
        for j in (i - 1, i, i + 1):
            W[i][j % n] += Q(1, 3)
    return W


LAZY = [[Q(1 + (i == j), 4) for j in range(3)] for i in range(3)]
descents = [Instance("ring of four, line", line([1, 2, 3, 4], [1, -1, 2, 0]), W=metropolis(4),
                     steps=(Q(1, 20), Q(1, 200), Q(1, 2000)),
                     mixing=lambda W: W),
            Instance("lazy triangle, plane", plane(), W=LAZY, steps=(Q(1, 30), Q(1, 300), Q(1, 3000)),
                     mixing=lambda W: W)]

traffic = [Instance(name, plane(), algorithm, Full(), sent=sent, least=least) for name, algorithm, sent, least in (
    ("FOCUS", Focus("1/50", 3), (1, 1), (1, 1)), ("FedAvg", FedAvg("1/50", 3), (1, 1), (1, 1)),
    ("MIFA", Mifa("1/50", 3), (1, 1), (1, 1)), ("SCAFFOLD", Scaffold("1/50", 3), (2, 2), (1, 2)))]
proxskip_traffic = [Instance(f"ProxSkip, {update}", plane(), Scaffnew("1/50", 3, update=update), Full())
                    for update in ("immediate", "late")]
