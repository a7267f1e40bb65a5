"""Laws of participation by counting: every outcome of a round with its probability, and the chain of modes behind them.

A law is a tuple of its name and parameters, see `outcomes` and `chain`; local steps are an int, one per client, a list per
mode ("modes", [...]), or ("random", [(probability, steps)], independent).
"""
import itertools
import math

from tests.fuzz.oracle.rounds import Draw


def outcomes(law, n):
    """[(probability, clients of the places)] of a memoryless law; they sum to 1."""
    name, *parts = law
    one = 0 * parts[0] + 1 if name == "uniform" else 1
    if name in ("full", "coin"):
        return [(one, tuple(range(n)))]
    if name == "uniform":
        sets = list(itertools.combinations(range(n), parts[1]))
        return [(one / len(sets), s) for s in sets]
    if name == "replacement":
        return [(math.prod(parts[1][i] for i in places), places)
                for places in itertools.product(range(n), repeat=parts[0])]
    if name == "weighted":
        found, total = {}, sum(parts[1])
        for order in itertools.permutations(range(n), parts[0]):
            q, left = 1, total
            for i in order:
                q, left = q * parts[1][i] / left, left - parts[1][i]
            found[tuple(sorted(order))] = found.get(tuple(sorted(order)), 0) + q
        return [(q, s) for s, q in found.items()]
    out = []                                          # Bernoulli: p of each client, what an empty round does
    for bits in itertools.product((0, 1), repeat=n):
        out.append((math.prod(p if b else 1 - p for b, p in zip(bits, parts[0], strict=True)),
                    tuple(i for i, b in enumerate(bits) if b)))
    if parts[1] == "redraw":
        some = sum(q for q, s in out if s)
        out = [(q / some, s) for q, s in out if s]
    return [(q, s) for q, s in out if q]


def timed(steps, n, mode=0):
    """[(probability, steps of all clients)]."""
    if isinstance(steps, tuple) and steps[0] == "modes":
        return timed(steps[1][mode], n)
    if isinstance(steps, tuple) and steps[0] == "random":
        if steps[2]:
            return [(math.prod(q for q, _ in c), tuple(s for _, s in c)) for c in itertools.product(steps[1], repeat=n)]
        return [(q, each) for q, s in steps[1] for _, each in timed(s, n)]
    return [(1, (steps,) * n if isinstance(steps, int) else tuple(steps))]


def rounds(law, steps, n, mode=0):
    """[(probability, Draw)] of a memoryless law."""
    skips = law[0] == "bernoulli" and law[2] == "skip"
    sides = [(law[1], 1), (1 - law[1], 0)] if law[0] == "coin" else [(1, 1)]
    return [(q * r * chance, Draw(tuple((i, each[i]) for i in places), each, (), coin, bool(places) or not skips))
            for q, places in outcomes(law, n) for r, each in timed(steps, n, mode) for chance, coin in sides if chance]


def chain(law, steps, n):
    """(before: probabilities of the modes before the first round, moves: [(from, to, probability, Draw)])."""
    name, *parts = law
    if name == "turns":                               # laws, each with its own steps or None
        k = len(parts[0])
        return [int(j == k - 1) for j in range(k)], [
            ((j - 1) % k, j, q, draw) for j, (one, own) in enumerate(parts[0])
            for q, draw in rounds(one, steps if own is None else own, n, j)]
    if name == "sets":                                # sets, matrix (None: in turn), initial (None: stationary), skips
        sets, matrix, initial, skips = parts
        k = len(sets)
        if matrix is None:
            before = [int(j == k - 1) for j in range(k)] if initial is None else initial
            matrix = [[int(j == (i + 1) % k) for j in range(k)] for i in range(k)]
        else:
            before = initial
        acts = [[(q, Draw(tuple((i, each[i]) for i in sets[j]), each, (), 1, bool(sets[j]) or not skips))
                 for q, each in timed(steps, n, j)] for j in range(k)]
        return before, [(i, j, matrix[i][j] * q, draw)
                        for i in range(k) for j in range(k) if matrix[i][j] for q, draw in acts[j]]
    if name == "markov":                              # each client its own two-state chain
        p, rho = parts
        states = list(itertools.product((0, 1), repeat=n))

        def move(a, b, i):
            there = p[i] + rho[i] * (1 - p[i]) if a else p[i] * (1 - rho[i])
            return there if b else 1 - there
        before = [math.prod(p[i] if s[i] else 1 - p[i] for i in range(n)) for s in states]
        return before, [(j, k, math.prod(move(s[i], t[i], i) for i in range(n)) * q,
                         Draw(tuple((i, each[i]) for i in range(n) if t[i]), each))
                        for j, s in enumerate(states) for k, t in enumerate(states) for q, each in timed(steps, n)]
    return [1], [(0, 0, q, draw) for q, draw in rounds(law, steps, n)]


def aged(before, moves, n, cap):
    """The same chain with min(rounds since a client was there, cap) in every draw; skipped rounds age nobody."""
    after = {}
    for j, k, q, draw in moves:
        after.setdefault(j, []).append((k, q, draw))
    modes = {(j, (1,) * n): j for j in range(len(before))}
    found, todo = [], list(modes)
    while todo:
        mode, ages = todo.pop()
        for k, q, draw in after.get(mode, []):
            there = {i for i, _ in draw.members}
            later = ages if not draw.happens else tuple(1 if i in there else min(a + 1, cap) for i, a in enumerate(ages))
            if (k, later) not in modes:
                modes[k, later] = len(modes)
                todo.append((k, later))
            found.append((modes[mode, ages], modes[k, later], q, Draw(draw.members, draw.steps, ages, draw.coin, draw.happens)))
    return list(before) + [0] * (len(modes) - len(before)), found
