"""The numbers that the symbols of a proof stand for, read off coded rounds at exact states of clients on the line."""
from fractions import Fraction as Q

import fltheory as ft
from verification.focus import steps
from verification.focus.one_round import Numbers

STATES = ((Q(3, 2), (Q(1), Q(-2), Q(1, 2))), (Q(-1), (Q(-1), Q(-1), Q(-1))), (Q(1), (Q(23, 20),)))   # x, z_i in turn


def _states(i):
    if "state" in i.extra:
        yield i.state
    for x, z in STATES:
        yield [x], [[z[k % len(z)]] for k in range(i.n)]


def _best(i):
    return ft.linalg.solve(*(ft.linalg.to_fractions(v) for v in (i.problem.H.sum(0), i.problem.b.sum(0)[:, None])))[0, 0]


def _parameters(i):
    return {"L": i.L, "eta": i.eta, "N": Q(i.n), "q": i.q, "mu": i.mu, "T": Q(i.tau - 1)}


def after(i):
    """`rounds` with V, e, G at the model after the round."""
    return rounds(i, "after")


def long_run(i):
    """`rounds` with the state taken as known: the expectations of what it has are what it has."""
    for numbers, points in rounds(i):
        same = {f"E{name}": numbers[name] for name in ("A", "B", "F", "G")}
        yield numbers | same | {"EF2": numbers["EF1"], "EB2": numbers["EB1"], "beta": steps.pl_constant(i)}, points


def two_rounds(i):
    """Expectations over two rounds from known states: B before the first, what stands between them, A after the second."""
    if i.problem.d > 1 or i.n > 3:
        return
    best = _best(i)
    for state in _states(i):
        first, means = Numbers(i.but(best=[best]), state), dict.fromkeys(("EA", "EB", "Egap", "EG", "EA1"), Q(0))
        for chance, after, who in first.rounds:
            z = [first.moved[k] if k in who else first.z[k] for k in range(i.n)]
            second = Numbers(i.but(best=[best]), (after.x, z))
            found = {"EA": second.A, "EB": second.B, "Egap": second.gap, "EG": second.grad2, "EA1": second.A1}
            means = {k: means[k] + chance * ft.fraction(v) for k, v in found.items()}
        yield _parameters(i) | means | {"EB0": first.B}, {}


def rounds(i, around="before"):
    """(numbers, points) of every state, set of the law and client. V, e, G are taken at the model before or after the round."""
    if i.problem.d > 1 or i.n > 5 or not isinstance(i.problem, ft.Quadratic):
        return
    best, fixed = _best(i), _parameters(i)
    P, n = [ft.fraction(v) for v in i.law.inclusion(i.n)], i.n
    for x, z in _states(i):
        s = Numbers(i.but(best=[best]), (x, z))
        x, z = ft.fraction(s.x[0]), [ft.fraction(v) for v in s.z[:, 0]]
        outcomes = [(chance, *_round(s, i, x, z, state, who, around)) for chance, state, who in s.rounds]
        means = {f"E{name}": sum(chance * numbers[name] for chance, numbers, _, _ in outcomes)
                 for name in ("S", "B1", "G", "A1", "F1", "E")}
        mean_D2 = [sum(chance * clients[k]["D2"] for chance, _, _, clients in outcomes) for k in range(n)]
        for _, numbers, points, clients in outcomes:
            for k, own in enumerate(clients):
                parts = {"ED2": mean_D2[k], "P": P[k], "absent": (1 - P[k]) * own["b2"], "present": P[k] * own["b2"]}
                sums = {"Present": sum(p * c["b2"] for p, c in zip(P, clients, strict=True))}
                sums["Absent"] = numbers["B"] - sums["Present"]
                yield fixed | means | numbers | own | parts | sums, points | {"a": [x - own["z"]]}


def _round(s, i, x, z, state, who, around):
    """(numbers, points, numbers of each client) of one outcome."""
    n = s.N
    grad = [lambda v, k=k: ft.fraction(i.problem.H[k][0, 0]) * v - ft.fraction(i.problem.b[k][0]) for k in range(n)]
    moved = [ft.fraction(v) for v in s.moved[:, 0]]
    new, after = [moved[k] if k in who else z[k] for k in range(n)], ft.fraction(state.x[0])
    at = x if around == "before" else after
    misses = [grad[k](at) - grad[k](new[k]) for k in range(n)]
    g, h = (sum(f(v) for f in grad) / n for v in (x, after))
    best = ft.fraction(s.optimum[0])
    half = sum(ft.fraction(v[0, 0]) for v in i.problem.H) / (2 * n)
    numbers = {"A": (x - best) ** 2, "A1": (after - best) ** 2, "F": half * (x - best) ** 2, "F1": half * (after - best) ** 2,
               "gap": half * (x - best) ** 2, "B": sum((x - v) ** 2 for v in z), "S": sum((x - v) ** 2 for v in new),
               "B1": sum((after - v) ** 2 for v in new), "V": sum(v * v for v in misses),
               "G": (g if around == "before" else h) ** 2,
               "E": sum(misses) ** 2}
    clients = [{"z": new[k], "J": Q(k in who), "b": abs(x - z[k]), "D": abs(x - moved[k]), "b2": (x - z[k]) ** 2,
                "D2": (x - new[k]) ** 2, "C2": (after - new[k]) ** 2} for k in range(n)]
    return numbers, {"x": [x - best], "g": [g], "h": [h], "e": [sum(misses)]}, clients
