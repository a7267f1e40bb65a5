"""The numbers that the symbols of a proof stand for, read off coded rounds at exact states of clients on the line."""
from fractions import Fraction as Q
from itertools import pairwise

import fltheory as ft
from verification.focus import steps
from verification.focus.formulas import lemmas as f
from verification.focus.one_round import Forms, Numbers, state_vector

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


def local_runs(i):
    """Each client's local run move by move, on the line: what the proofs of its drift and of (94) speak of."""
    if i.problem.d > 1 or i.n > 5:
        return
    eta, T = ft.fraction(i.eta), i.tau - 1
    for x, z in _states(i):
        s = Numbers(i, (x, z))
        changes, x = [[ft.fraction(v) for v in row[:, 0]] for row in s.changes()], ft.fraction(s.x[0])
        for k, z_k in enumerate(ft.fraction(v) for v in s.z[:, 0]):
            own = [row[k] for row in changes]
            u = [x - eta * sum(own[:t]) for t in range(T + 1)]   # the points of its gradients
            run = {"L": i.L, "eta": eta, "T": Q(T), "b": abs(x - z_k), "D": abs(x - u[T]), "Y": sum((v * v for v in own[:T]), Q(0))}
            for t in range(T):
                yield run | {"t": Q(t), "k": Q(t), "d": abs(u[t] - x), "d1": abs(u[t + 1] - x), "w": abs(u[t] - z_k),
                             "v": abs(own[t]), "r": abs(u[t] - x), "far": abs(u[t] - z_k), "y": abs(own[t]),
                             "Y2": own[t] ** 2}, {}


def before_and_runs(i):
    """`rounds` and, for the drift of a participant, `local_runs`."""
    yield from rounds(i)
    yield from local_runs(i)


def after_and_runs(i):
    """`after` and, for the drift of a participant, `local_runs`."""
    yield from after(i)
    yield from local_runs(i)


def _paths(i, warm=False):
    """For every start, the expectations of A, B, gap and |grad F|^2 before rounds 0 to 3, exactly; warm: every z_i = x."""
    if i.problem.d > 1 or i.n > 5 or not isinstance(i.problem, ft.Quadratic):
        return
    s = Forms(i)
    starts = [s.warm[:, 0]] if warm else [state_vector(i.but(state=state)) for state in _states(i)]
    for v in starts:
        path = s.along(v, 3, A=s.A, B=s.B, gap=s.gap, grad2=s.grad2)
        yield [before for before, _ in path] + [path[-1][1]]


def _sums(path, r):
    """Sums over rounds < r, and over rounds <= r."""
    def total(name, rounds):
        return sum((now[name] for now in path[:rounds]), Q(0))
    return {"sumB": total("B", r), "sumG": total("grad2", r), "totalB": total("B", r + 1), "totalG": total("grad2", r + 1)}


def from_a_full_pass(i):
    """Lemma 4 from known states, and (128) over three rounds from B_0 = 0."""
    for path in _paths(i):
        yield _parameters(i) | {"B0": path[0]["B"], "B": path[1]["B"], "G": path[1]["grad2"]}, {}
    for path in _paths(i, warm=True):
        for r in (1, 2, 3):
            yield _parameters(i) | _sums(path, r) | {"EB0": path[r - 1]["B"], "EB": path[r]["B"], "EG": path[r]["grad2"],
                                                     "last": path[r]["B"]}, {}


def two_rounds(i):
    """Lemmas 3 and 4 from known states; then Psi_r = E A_r + w E B_{r-1} along three rounds."""
    rate, weight = f.strongly_convex_rate(i.eta, i.mu, i.n), f.weight_of_the_appendix(i.eta, i.L, i.n, i.mu)
    for path in _paths(i):
        fixed, (zero, one) = _parameters(i), path[:2]
        yield fixed | {"A": zero["A"], "B": zero["B"], "gap": zero["gap"], "A1": one["A"]}, {}
        yield fixed | {"B0": zero["B"], "B": one["B"], "G": one["grad2"]}, {}
        psi = [now["A"] + weight * before["B"] for before, now in pairwise(path)]
        for r in (1, 2):
            now = path[r]
            means = {"EA": now["A"], "EB0": path[r - 1]["B"], "EB": now["B"], "Egap": now["gap"], "EG": now["grad2"],
                     "EA1": path[r + 1]["A"], "V_R": path[r + 1]["A"], "B_R": now["B"]}
            yield fixed | means | _potential(psi, r - 1, rate), {}


def _potential(psi, r, rate):
    return {"Psi": psi[r], "Psi_next": psi[r + 1], "Psi_R": psi[r + 1], "Psi_1": psi[0], "z": rate**r, "Z": rate ** (r + 1)}


def rate_along(i):
    """`long_run`, then Phi_r = E (F - F*) + w E B along three rounds."""
    yield from long_run(i)
    beta = steps.pl_constant(i)
    rate, weight = f.pl_rate(i.eta, beta, i.n), f.weight_of_the_rate(i.eta, i.L, i.q)
    for path in _paths(i):
        psi = [now["gap"] + weight * now["B"] for now in path]
        for r in (0, 1, 2):
            ends = {"V_R": path[r + 1]["gap"], "B_R": path[r + 1]["B"]}
            yield _parameters(i) | {"beta": beta} | _means(path, r) | _potential(psi, r, rate) | ends, {}


def descent_along(i):
    """`long_run`, then the sums of (25) over three rounds from B_0 = 0."""
    yield from long_run(i)
    for path in _paths(i, warm=True):
        for r in (0, 1, 2):
            ends = {"F0": path[0]["gap"], "EG": path[r]["grad2"], "endF": path[r + 1]["gap"], "endB": path[r + 1]["B"]}
            yield _parameters(i) | _sums(path, r) | _means(path, r) | ends, {}


def _means(path, r):
    return {"EF": path[r]["gap"], "EB": path[r]["B"], "EF2": path[r + 1]["gap"], "EB2": path[r + 1]["B"]}


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
    g, h = (sum(slope(v) for slope in grad) / n for v in (x, after))
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
