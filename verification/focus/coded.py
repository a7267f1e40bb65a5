"""Coded rounds, taken apart: one local step, the server on every set of a law, a schedule from a given state."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.laws.draw import Draw


def coded(i, state=None, sets=None):
    """States before the first round and after each round of the instance's schedule, by the algorithm's own code."""
    algorithm, problem = i.algorithm.to(i.domain), i.problem.to(i.domain)
    state = algorithm.init(problem, i.domain.array(np.array(i.x0, dtype=object))) if state is None else state
    out = [state]
    for S in i.sets if sets is None else sets:
        draw = ft.everyone(problem.n, i.tau, np.array([int(k in S) for k in range(1, problem.n + 1)]))
        out.append(algorithm.round(problem, out[-1], draw))
    return out


def exact(vector):
    return ft.linalg.to_fractions(vector)


def gradients(problem):
    """Stacked exact gradients of a quadratic problem, row 0 zero."""
    H, b = problem.H, problem.b

    def grad(X):
        out = 0 * X
        for k in range(problem.n):
            out[k + 1] = ft.linalg.matmul(H[k], X[k + 1][:, None])[:, 0] - b[k]
        return out
    return grad


def stack(rows):
    return np.array([[Q(v) for v in row] for row in rows], dtype=object)


def read(i, numbers):
    """Exact numbers as Fractions, symbols and floats as they are."""
    return ft.linalg.to_fractions(numbers) if i.domain is ft.RATIONAL else numbers


def one_step(i, X):
    """Points (n, d) after one coded local step of every client from its own point X (n, d)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    X = i.domain.array(X)
    after, _ = algorithm.solver.step(X, X, algorithm.solver.start(X), problem.grad(X), algorithm.lr, 1)
    return read(i, after)


def rounds(i, Y, centre):
    """[(probability, server model)]: the coded server at `centre` (d,) for every set of the law; client i ended at Y_i."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    Y, centre, n = i.domain.array(Y), i.domain.array(centre), i.problem.n
    sets = i.extra.get("law_list")
    cohorts = i.law.cohorts(n) if sets is None or "law_of" in i.extra else [
        (chance, slice(None), np.array([int(k in S) for k in range(1, n + 1)])) for chance, S in sets]
    out = []
    for chance, who, present in cohorts:
        change = Y[who] - centre
        draw = Draw(who, present, np.ones(len(change), dtype=np.int64))
        out.append((chance, read(i, algorithm.server(centre, problem.at(who), draw, change, 0 * change[:, :1] + 1))))
    return out


def law_mean(i, Y, centre):
    """The mean over the law of the coded server step: q'Y."""
    return sum(chance * x for chance, x in rounds(i, Y, centre))


def moved(i, X):
    """Mean over the law after one coded local step of every client from its own point."""
    return law_mean(i, one_step(i, X), sum(w * x for w, x in zip(i.q, X, strict=True)))


def local_models(i, x, tau):
    """Stacked points (n, d) of all clients after 0, 1, ..., tau coded local steps from the server model x (d,)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    anchor = i.domain.array(np.stack([x] * problem.n))
    Y, buffer, out = anchor, algorithm.solver.start(anchor), []
    for _ in range(tau):
        out.append(read(i, Y))
        Y, buffer = algorithm.solver.step(Y, anchor, buffer, problem.grad(Y), algorithm.lr, 1)
    return [*out, read(i, Y)]


ALARM = 1e-4  # each statistical comparison's false-alarm level


def one_coded_round(i, algorithm, present, **leaves):
    """One coded round of an algorithm on the instance's problem in its symbols; leaves of the state are given."""
    a, p = algorithm.to(i.domain), i.problem.to(i.domain)
    state = a.init(p, i.domain.array(np.zeros(p.d, dtype=np.int64)))
    given = {k: np.array(v, dtype=object).reshape(getattr(state, k).shape) for k, v in leaves.items()}
    return a.round(p, state._replace(**given), ft.everyone(p.n, algorithm.steps, np.array(present)))


def square(v):
    return sum(x * x for x in v)


def contracts(i):
    return ft.at_most(ft.Bounds(*i.op.certify(width=float(i.eta) / 20).mean_square), 1, "mean-square rate", strict=True)


def rounds_to(certified, text, label):
    """A certified enclosure lies within half a unit of the last printed digit (and the enclosure's own width)."""
    low, high = certified
    half = Q(1, 2 * 10 ** len(text.partition(".")[2]))
    return (ft.at_most(ft.Bounds(low, high), Q(text) + half, f"{label}: not above {text}"),
            ft.at_most(Q(text) - half, low, f"{label}: not below {text}"))


def square_rate(i, width=1e-6):
    return i.op.certify(width=width).mean_square


def coded_round(i, algorithm, S, x, **rows):
    """One coded round with the participants S (clients 1..N) from the server model x; rows: lists with a number per client."""
    a, problem = algorithm.to(i.domain), i.problem.to(i.domain)
    like = a.init(problem, np.array([x], dtype=object))
    state = like._replace(**{name: np.array([[v] for v in values], dtype=object) if isinstance(values, list)
                             else np.array([values], dtype=object) for name, values in rows.items()})
    return a.round(problem, state, ft.everyone(i.n, i.tau, np.array([int(k in S) for k in range(1, i.n + 1)])))


def column(leaf):
    return list(leaf[:, 0])


def x_star(i):
    return ft.linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))


def around_optimum(i, x, k):
    """h_i = grad f_i(0) + k_i/(eta tau), with the data moved so that x* = 0."""
    b = [*i.b[:-1], -sum(i.b[:-1]) if i.n > 1 else 0 * i.x]
    problem = type(i.problem).from_linear([[[a]] for a in i.a], [[v] for v in b])
    return i.but(problem=problem), [v / (i.eta * i.tau) - w for v, w in zip(k, b, strict=True)], [-w for w in b]


def curvatures(i):
    """h_i of clients on the line."""
    return list(i.problem.H[:, 0, 0])


def centres(i):
    """c_i of clients on the line."""
    return list(i.problem.c[:, 0])
