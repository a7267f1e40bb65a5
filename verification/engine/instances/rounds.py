"""Methods on small rational problems, with the numbers that the twins need beside them."""
from fractions import Fraction as Q

import fltheory as ft
from verification.engine.twins import laws, rounds

H, C, P = (Q(1), Q(3), Q(2)), (Q(0), Q(1), Q(-2)), (Q(1, 2), Q(1, 3), Q(1, 6))
LR, X0, ROUNDS = Q(1, 10), Q(3), 4


def quadratic(h=H, c=C, p=P):
    return ft.Quadratic([[[v]] for v in h], [[v] for v in c], list(p))


def made(name, algorithm, twin, law=None, problem=None, rounds=ROUNDS, noise=0, **more):
    return ft.Instance(name, problem or quadratic(), algorithm, law or ft.Full(), noise=noise, domain=ft.RATIONAL,
                       twin=twin, rounds=rounds, x0=[X0], **more)


def sure(path):
    """(mean, mean square) of a path without randomness."""
    return [(v, v * v) for v in path]


SOLVERS = [
    made(f"{method.__name__}, {name}", method("1/10", (1, 2, 3), solver),
         lambda method=method, how=how: sure(rounds.normalised(H, C, P, LR, (1, 2, 3), ROUNDS, X0, method is ft.FedNova, **how)))
    for name, solver, how in (("heavy ball", ft.Momentum("1/2"), {"rho": Q(1, 2)}), ("decay", ft.Decay("1/2"), {"gamma": Q(1, 2)}),
                              ("proximal", ft.Proximal(alpha="1/3"), {"alpha": Q(1, 3)}))
    for method in (ft.FedAvg, ft.FedNova)
]
GRAPH = ((Q(1, 4), Q(1, 4)), (Q(1, 4), Q(1, 4)))
BENT = ((Q(1, 3), Q(1, 6)), (Q(1, 6), Q(1, 3)))
PERSONAL = [(Q(2), Q(1, 2), Q(1), Q(1), Q(-1)), (Q(1), Q(-1, 3), Q(2), Q(0), Q(1)), (Q(3), Q(1), Q(1), Q(-1), Q(2))]


def residual():
    a, b, c, bw, bt = zip(*PERSONAL, strict=True)
    return ft.Residual([[[v]] for v in a], [[[v]] for v in b], [[[v]] for v in c], [[v] for v in bw],
                       [[v] for v in bt], list(P))


MEMORIES = [
    made("server momentum", ft.ServerMomentum("1/10", (1, 2, 3), beta="1/2"),
         lambda: sure(rounds.server_momentum(H, C, P, LR, (1, 2, 3), Q(1, 2), ROUNDS, X0))),
    made("SCAFFOLD, option I", ft.Scaffold("1/10", 2, option=1),
         lambda: sure(rounds.scaffold(H, C, P, LR, 2, 1, ROUNDS, X0))),
    made("SCAFFOLD, option II", ft.Scaffold("1/10", 2), lambda: sure(rounds.scaffold(H, C, P, LR, 2, 2, ROUNDS, X0))),
    made("FOCUS, zero start", ft.Focus("1/20", 2), lambda: sure(rounds.focus(H, C, Q(1, 20), 2, [(0, 1, 2)] * 4, X0))),
    made("FOCUS, warm start", ft.Focus("1/20", 2, init="warm"),
         lambda: sure(rounds.focus(H, C, Q(1, 20), 2, [(0, 1, 2)] * 4, X0, warm=True))),
]
NEIGHBOURS = [
    made(name, ft.NeighbourAveraging("1/10", 2, beta="1/3", graph=[[str(v) for v in row] for row in graph]),
         lambda graph=graph: sure(rounds.neighbours(H[:2], C[:2], graph, LR, 2, Q(1, 3), ROUNDS, X0)),
         problem=quadratic(H[:2], C[:2], (Q(1, 2), Q(1, 2))))
    for name, graph in (("neighbours alike", GRAPH), ("neighbours unlike", BENT))
]
RESIDUALS = [
    made("FedResAvg", ft.FedResAvg("1/10", 2, personal_lr="1/5", alpha="2/3"),
         lambda: sure(rounds.residual_averaging(PERSONAL, P, LR, Q(1, 5), Q(2, 3), 2, ROUNDS, X0)), problem=residual()),
]
COINS = [
    made("ProxSkip", ft.ProxSkip("1/10", p="1/3"),
         lambda: rounds.expected(lambda coins: rounds.proxskip(H, C, P, LR, Q(1, 3), coins, X0),
                                 rounds.sequences([(Q(1, 3), 1), (Q(2, 3), 0)], 4)), law=ft.Coin("1/3")),
]
_PERIOD = [laws.bernoulli((Q(1, 2),) * 3), laws.uniform(3, 1)]


def _periodic():
    paths = [(q * r * s, [a, b, c]) for q, a in _PERIOD[0] for r, b in _PERIOD[1] for s, c in _PERIOD[0]]
    return rounds.expected(lambda cohorts: rounds.fedavg(H, C, P, LR, (1, 2, 3), cohorts, X0), paths)


AVERAGES = [
    made("period of two laws", ft.FedAvg("1/10", (1, 2, 3)), _periodic, rounds=3,
         law=ft.Periodic([ft.Bernoulli("1/2"), ft.Uniform(1)])),
    made("groups in turn", ft.FedAvg("1/10", (1, 2, 3)), law=ft.Cyclic([[0, 1], [2]]),
         twin=lambda: sure(rounds.fedavg(H, C, P, LR, (1, 2, 3), [(0, 1), (2,), (0, 1), (2,)], X0))),
    made("replayed", ft.FedAvg("1/10", (1, 2, 3)), law=ft.Replay([([1], None), ([], None), ([0, 2], None)], empty="skip"),
         twin=lambda: sure(rounds.fedavg(H, C, P, LR, (1, 2, 3), [(1,), (), (0, 2), (1,)], X0))),
    *[made(f"independent, {empty}", ft.FedAvg("1/10", (1, 2, 3)), rounds=2, law=ft.Bernoulli(("1/2", "1/3", "3/4"), empty),
           twin=lambda empty=empty: rounds.expected(
               lambda cohorts: rounds.fedavg(H, C, P, LR, (1, 2, 3), cohorts, X0),
               rounds.sequences(laws.bernoulli((Q(1, 2), Q(1, 3), Q(3, 4)), empty), 2)))
      for empty in ("move", "skip", "redraw")],
]
EIGHT = (tuple(Q(v) for v in (1, 2, 3, 1, 2, 3, 1, 2)), tuple(Q(v) for v in (5, 4, 3, 6, 7, 2, 8, 4)))
WARM = [
    made("FOCUS, warm, 4 of 8", ft.Focus("1/40", 2, init="warm"), law=ft.Uniform(4), rounds=1, optimum=Q(64, 15),
         problem=quadratic(*EIGHT, [Q(1, 8)] * 8),
         twin=lambda: rounds.expected(lambda cohorts: rounds.focus(*EIGHT, Q(1, 40), 2, cohorts, X0, warm=True),
                                      rounds.sequences(laws.uniform(8, 4), 1))),
    made("FOCUS, zero, 4 of 8", ft.Focus("1/40", 1), law=ft.Uniform(4), rounds=1, optimum=Q(64, 15),
         problem=quadratic(*EIGHT, [Q(1, 8)] * 8),
         twin=lambda: rounds.expected(lambda cohorts: rounds.focus(*EIGHT, Q(1, 40), 1, cohorts, X0),
                                      rounds.sequences(laws.uniform(8, 4), 1))),
]
EVERY = [(t, k, i) for t in range(3) for k in range(3) for i in range(3)]
NOISY = [
    made("SCAFFOLD, option I, noise", ft.Scaffold("1/10", 2, option=1), rounds=3, noise="1/2",
         twin=lambda: rounds.with_noise(lambda noise: rounds.scaffold(H, C, P, LR, 2, 1, 3, X0, noise), EVERY, Q(1, 4))),
    made("SCAFFOLD, option II, noise", ft.Scaffold("1/10", 2), rounds=3, noise="1/2",
         twin=lambda: rounds.with_noise(lambda noise: rounds.scaffold(H, C, P, LR, 2, 2, 3, X0, noise), EVERY, Q(1, 4))),
    made("FedAvg, noise", ft.FedAvg("1/10", (1, 2, 3)), rounds=3, noise="1/2",
         twin=lambda: rounds.with_noise(lambda noise: rounds.fedavg(H, C, P, LR, (1, 2, 3), [(0, 1, 2)] * 3, X0, noise),
                                        EVERY, Q(1, 4))),
]
ALIKE = ((Q(1), Q(1)), (Q(0), Q(0)), (Q(1, 2), Q(1, 2)))
OPENED = [  # equal clients stay equal without noise: what tells their variates apart is the noise alone
    made("equal clients", ft.Scaffold("1/10", 2), rounds=3, noise="1/2", problem=quadratic(*ALIKE), quiet=2,
         twin=lambda: rounds.with_noise(lambda noise: rounds.scaffold(*ALIKE, LR, 2, 2, 3, X0, noise),
                                        [s for s in EVERY if s[2] < 2], Q(1, 4))),
]
RUNS = [
    made("adaptive server", ft.AdaptiveServer("1/10", (1, 2, 3), server_lr="1/2", epsilon="1/3"), rounds=6,
         twin=lambda: rounds.adaptive_server([1., 3., 2.], [0., 1., -2.], [1 / 2, 1 / 3, 1 / 6], .1, (1, 2, 3), .5, 1 / 3, 6, 3.)),
    made("asynchronous arrivals", ft.AsyncFedED("1/10", 2, lam="1/2", eps="1/3", gbar=2, kappa=1), rounds=8,
         law=ft.EventClock((1, 3, 2)),
         twin=lambda: rounds.asynchronous([1., 3., 2.], [0., 1., -2.], .1, .5, 1 / 3, 2., 1., (2, 2, 2), (1, 3, 2), 8, 3.)),
    made("arrivals that lag", ft.FedAsync("1/10", 2, alpha="1/2", staleness="hinge", a=2, b=1), rounds=8,
         law=ft.EventClock((1, 5, 2)),
         twin=lambda: rounds.hinged([1., 3., 2.], [0., 1., -2.], .1, .5, 2., 1., 2, (1, 5, 2), 8, 3.)),
]

CHANCES = (Q(1, 2), Q(1, 3), Q(3, 4))
SLOTS = [(t, k, i) for t in range(2) for k in range(3) for i in range(3)]
SEEN = {"mean": lambda x: x[:, 0], "square": lambda x: (x * x).sum(-1)}


def drawn(name, law, cohorts, coordinates=((H, C),), **simulate):
    """A run of FedAvg with noise under drawn cohorts, on diagonal problems, a scalar one (h, c) in each coordinate."""
    d, steps = len(coordinates), (1, 2, 3)

    def twin():
        paths = [rounds.drawn(lambda chosen, noise, h=h, c=c: rounds.fedavg(h, c, P, LR, steps, chosen, X0, noise),
                              cohorts, 2, SLOTS, Q(16, d)) for h, c in coordinates]
        return [{"mean": at[0][0], "square": sum(square for _, square in at)} for at in zip(*paths, strict=True)]
    diagonal = [[[coordinates[a][0][i] if a == b else 0 for b in range(d)] for a in range(d)] for i in range(3)]
    problem = ft.Quadratic(diagonal, [[c[i] for _, c in coordinates] for i in range(3)], list(P))
    return ft.Instance(name, problem, ft.FedAvg("1/10", steps), law, noise=4, x0=[X0] * d, twin=twin,
                       simulate={"rounds": 2, "replicates": 2**15, "metrics": SEEN, **simulate})


def _focus():
    path = rounds.expected(lambda cohorts: rounds.focus(H, C, Q(1, 20), 2, cohorts, X0), rounds.sequences(laws.uniform(3, 2), 2))
    return [{"mean": mean, "square": square} for mean, square in path]


DRAWN = [
    drawn("two of three, two coordinates", ft.Uniform(2), laws.uniform(3, 2), ((H, C), (H[::-1], C))),
    drawn("independent, skipped where empty", ft.Bernoulli(CHANCES, "skip"), laws.bernoulli(CHANCES)),
    drawn("one Gaussian for all local steps", ft.Bernoulli(CHANCES, "skip"), laws.bernoulli(CHANCES), collapsed=True),
    ft.Instance("FOCUS, two of three", quadratic(), ft.Focus("1/20", 2), ft.Uniform(2), x0=[X0], twin=_focus,
                simulate={"rounds": 2, "replicates": 2**15, "metrics": SEEN}),
]
