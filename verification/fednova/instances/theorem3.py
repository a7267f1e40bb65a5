"""Instances for Section 5 and Theorem 3: FedNova with steps and effective steps that vary over rounds."""
import itertools
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, framework, plane, scalar, two_clients
from verification.fednova.instances import surrogate as S

LONGEST_LAW = 20  # rounds of a period that are worth a law of their own; longer periods go block by block


# ---- Section 5: the rule ----------------------------------------------------------------------------------
def _rule(n):
    names = ["eta", "x", "t", "k", *(f"p{i}" for i in range(n - 1)), *(f"t{i}" for i in range(n)),
             *(f"c{i}" for i in range(n))]
    field = ft.Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p = [d[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    problem = ft.Quadratic.from_linear([[[1]]] * n, [[0]] * n, p)
    plain = ft.Instance("FedAvg", problem, ft.FedAvg(d["eta"], 1), ft.Full(), domain=field)
    return ft.Instance(f"n={n}", problem, ft.FedNova(d["eta"], 1), ft.Full(), domain=field, x=d["x"], k=d["k"],
                       same=d["t"],
                       t=[d[f"t{i}"] for i in range(n)], changes=[d[f"c{i}"] for i in range(n)], plain=plain,
                       general=True,
                       says="any changes, p, server model and integers tau_i")


def _rule_exact(name, problem, taus):
    eta = Fraction(1, 10)
    own = [ft.Instance(f"client {k} alone", problem.surrogate([int(j == k) for j in range(problem.n)]),
                       ft.FedAvg(eta, t),
                       ft.Full())
           for k, t in enumerate(taus)]
    return ft.Instance(name, problem, ft.FedNova(eta, taus), ft.Full(), general=False, own=own,
                       says="the whole coded round against each client's own FedAvg change")


rule = [_rule(2), _rule(3), _rule(4), _rule_exact("plane, tau=(1,3,8)", plane(), (1, 3, 8)),
        _rule_exact("plane, tau=(4,4,4)", plane(), (4, 4, 4))]


def _consistent(n):
    """Unit Hessians, any p and e_i: z_i = (1 - eta)^tau_i, and jets of z_i for the limit."""
    names = ["eta", "y", "k", *(f"p{i}" for i in range(n - 1)), *(f"{a}{i}" for a in "eztr" for i in range(n))]
    field = ft.Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p = [d[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    e, z, t, r = ([d[f"{a}{i}"] for i in range(n)] for a in "eztr")
    e = [[v] for v in e]
    problem = ft.Quadratic.from_linear([[[1]]] * n, e, p)
    return ft.Instance(f"unit Hessians, n={n}, general tau", problem, ft.FedNova(d["eta"], 1), ft.Full(), domain=field,
                       e=e, z=z,
                       t=t, r=r, y=d["y"], k=d["k"], general=True, says="any p and e_i, any integers tau_i")


consistency = [_consistent(2), _consistent(3), *(i.but(general=False) for i in framework.bias if i.fednova),
               framework.momentum_proximal.but(general=False)]


# ---- Theorem 3 --------------------------------------------------------------------------------------------
def schedule(name, problem, blocks, eta, solver="vanilla", value=None, sigma=0, rounds=None, x0=None, tau_eff=None,
             beta2=None,
             domain=ft.RATIONAL, says="", kind=ft.Instance, **extra):
    """FedNova under a periodic schedule: blocks ((count, steps), ...) repeated; tau_eff a constant, or None for the
    round-wise default."""
    eta, value = ft.fraction(eta), None if value is None else ft.fraction(value)
    blocks = tuple((count, tuple(taus)) for count, taus in blocks)
    short = sum(c for c, _ in blocks) <= LONGEST_LAW
    period = [taus for count, taus in blocks for _ in range(count)] if short else None
    law = None if period is None else ft.Replay([(range(problem.n), taus) for taus in period])
    tau_eff = None if tau_eff is None else ft.fraction(tau_eff)
    declared = {} if beta2 is None else {"beta2": ft.fraction(beta2)}
    return kind(name, problem, ft.FedNova(eta, None, SOLVERS[solver](value), tau_eff=tau_eff), law,
                noise=ft.fraction(sigma),
                domain=domain,
                x0=[0] * problem.d if x0 is None else x0, solver=solver, value=value, rounds=rounds,
                blocks=blocks,
                tau_eff=tau_eff, says=says, **declared, **extra)


def rounds_of(i):
    """[(count, steps, tau_eff)]: how often each kind of round occurs among the T rounds (per period if T is
    infinite)."""
    counted = [c for c, _ in i.blocks]
    if i.rounds is not None:
        period = [k for k, c in enumerate(counted) for _ in range(c)]
        counted = [sum(k == period[t % len(period)] for t in range(i.rounds)) for k in range(len(counted))]
    p = [ft.fraction(v) for v in i.problem.weights]
    return [(c, taus, i.tau_eff or sum(q * f.norm1(f.a_vector(i.solver, t, i.value)) for q,
                                       t in zip(p, taus, strict=True)))
            for c, (_, taus) in zip(counted, i.blocks, strict=True) if c]


def gap(i):
    """F(x0) - F_inf, exact; None where F is unbounded below."""
    if "gap" in i.extra:
        return i.gap
    try:
        start = i.problem.to(ft.RATIONAL).value(ft.RATIONAL.array(np.array(i.x0, dtype=object)))
        return ft.fraction(start) - ft.fraction(ft.optimum(i.problem).value)
    except ft.NoMinimiser:
        return None


def gradient_squares(i):
    """Yield (E|grad F(x_t)|^2, steps of round t): over T rounds, or over one period of the periodic orbit if T is
    infinite."""
    if not isinstance(i.problem, ft.Quadratic):
        yield from _coded(i)
    elif i.rounds is None:
        yield from _orbit(i)
    else:
        H, b = _objective(i.problem.to(i.domain))
        period = itertools.cycle([taus for c, taus in i.blocks for _ in range(c)])
        for (mean, second), taus in zip(i.op.trajectory(i.rounds, i.x0), period, strict=False):
            yield ((H.T @ H) * second).sum() - 2 * (b * (H * mean).sum(-1)).sum() + (b * b).sum(), taus


def _objective(p):
    return (p.p[:, None, None] * p._H).sum(0), (p.p[:, None] * p._b).sum(0)


def _coded(i):
    """The coded rounds of a smooth problem without noise."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, i.domain.array(np.array(i.x0, dtype=object)))
    period = itertools.cycle([taus for c, taus in i.blocks for _ in range(c)])
    for taus in itertools.islice(period, i.rounds):
        g = problem.gradient(state.x)
        yield (g * g).sum(), taus
        state = algorithm.round(problem, state, ft.everyone(problem.n, np.array(taus)))


def _orbit(i):
    """The periodic orbit without noise, from the coded affine round of each block."""
    H, b = _objective(i.problem.to(i.domain))
    maps = [(c, taus, *map(i.domain.array,
                           ft.derive(i.algorithm, i.problem, ft.Full(taus), domain=i.domain).mean_map()))
            for c, taus in i.blocks]
    total = None
    for count, _, M, c in maps:  # affine maps as matrices [[M, c], [0, 1]]
        one = np.concatenate([np.concatenate([M, c[:, None]], axis=1), np.append(0 * c, [c[0] * 0 + 1])[None]])
        power = ft.linalg.power(one, count)
        total = power if total is None else power @ total
    d = i.problem.d
    x = ft.linalg.solve(ft.linalg.identity(d, total) - total[:d, :d], total[:d, d])
    for count, taus, M, c in maps:
        for _ in range(count):
            g = (H * x).sum(-1) - b
            yield (g * g).sum(), taus
            x = (M * x).sum(-1) + c


def _kinked(tau_eff):
    algorithm = ft.FedNova(Fraction(1, 8), (2,), tau_eff=tau_eff)
    return S.many_kinked.but(algorithm=algorithm, blocks=((1, (2,)),), tau_eff=tau_eff, beta2=Fraction(1),
                             general=False)


THREE = ((1, (1, 2, 4)), (1, (3, 1, 1)), (1, (2, 2, 2)))
constant = [
    schedule("vanilla, period 3", plane(), THREE, "1/50", sigma="1/2", rounds=18, x0=[2, 2], tau_eff=2, beta2=4),
    schedule("momentum, period 3", plane(), THREE, "1/100", "momentum", "1/2", "1/2", 18, [2, 2], 2, 4),
    schedule("decay, period 3", plane(), THREE, "1/50", "decay", "9/10", "1/2", 18, [2, 2], 2, 4),
    schedule("start dominates", scalar([1, 2], [0, 0]), ((1, (1, 2)), (1, (2, 1))), "1/20", rounds=4, x0=[5],
             tau_eff=1, beta2=2),
    schedule("noise dominates", scalar([1, 1], [0, 0]), ((1, (1, 1)),), "1/10", sigma=1, rounds=200, tau_eff=1, beta2=1,
             domain=ft.Balls(256), says="one local step, started at the optimum"),
    schedule("drift dominates", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)), (1, (6, 2))), "1/2000",
             tau_eff=3, beta2=3),
    schedule("drift dominates, momentum", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)),), "1/4000",
             "momentum", "1/2", tau_eff=3,
             beta2=3),
    _kinked(Fraction(2)),
]
too_large = schedule("step above the cap", plane(), THREE, "1/2", rounds=6, x0=[2, 2], tau_eff=2, beta2=4)
varying = [
    schedule("vanilla, default tau_eff", plane(), THREE, "1/50", sigma="1/2", rounds=18, x0=[2, 2], beta2=4),
    schedule("momentum, default tau_eff", plane(), THREE, "1/100", "momentum", "1/2", "1/2", 18, [2, 2], beta2=4),
    schedule("proximal, default tau_eff", plane(), THREE, "1/50", "proximal", "1/2", "1/2", 18, [2, 2], beta2=4),
    schedule("drift, default tau_eff", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)), (2, (3, 1))), "1/2000",
             beta2=3),
    schedule("drift, default tau_eff, momentum", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)), (2, (3, 1))),
             "1/4000", "momentum",
             "1/2", beta2=3),
]
prox_alpha1 = schedule("FedNova, prox-alpha1", two_clients(), ((1, (1, 2)),), "1/4", "proximal", 1, tau_eff=1, beta2=1,
                       says="alpha = 1: |a_i|_1 = 1, so FedNova with tau_eff = 1 is FedAvg")
prox_alpha1_finite = schedule("FedNova, prox-alpha1, T=100", two_clients(), ((1, (1, 2)),), "1/4", "proximal", 1,
                              rounds=100, x0=["1/7"],
                              tau_eff=1, beta2=1, says="started at its fixed point 1/7")


def long_period(M, period, eta, tau_eff=None, name=""):
    """E4: one round with steps (1, M), then rounds with steps (1, 1)."""
    return schedule(name or f"one long round of {M} in {period}", two_clients(), ((1, (1, M)), (period - 1, (1, 1))),
                    eta, tau_eff=tau_eff,
                    beta2=1, domain=ft.Balls(256), says="tau_eff is the round-wise default" if tau_eff is None
                    else "constant tau_eff")


e4 = long_period(2000, 952, "1/40000")
e4_own_step = long_period(2001, 1000, "1/40000", name="one long round of 2001 in 1000, the theorem's own step")
e4_constant = [long_period(2000, 952, "1/40000", t, f"the same with tau_eff = {t}") for t in (1, 2, 500)]


def growing(M):
    """Period equal to the long step count, eta = 1/(4 M)."""
    return long_period(M, M, Fraction(1, 4 * M))


# ---- the headline rate ------------------------------------------------------------------------------------
def headline(name, problem, blocks, k, R, A0, sigma=0, x0=None, tau_eff=None, says=""):
    """The prescribed eta = sqrt(m/(tau T)) = m/root at T = m tau k^2, where root = sqrt(m tau T) = m tau k is rational.

    R and A0 are the bounds of tau/tau_eff and of the averaged A that the rate is stated with."""
    total = sum(c * sum(taus) for c, taus in blocks) / Fraction(sum(c for c, _ in blocks))  # m tau
    root, T = total * k, total * k * k
    if T.denominator > 1:
        raise ValueError(f"{name}: T = {T} is no integer")
    return schedule(name, problem, blocks, problem.n / root, sigma=sigma, rounds=int(T), x0=x0, tau_eff=tau_eff,
                    beta2=1,
                    domain=ft.Balls(256), says=says or f"T = {T}", root=root, R=ft.fraction(R), A0=ft.fraction(A0),
                    mean_steps=total / problem.n)



headlines = [
    headline(f"T={3 * k * k}", scalar([1, 1], [1, -1]), ((1, (1, 2)),), k, 1, 2, "1/2", [3]) for k in (16, 32)
] + [
    headline("period 2", scalar([1, 1, 1], [1, -1, 2]), ((1, (1, 2, 1)), (1, (2, 1, 1))), 12, 1, 2, "1/2", [5], "4/3"),
    headline("no noise", scalar([1, 1], [0, 0]), ((1, (1, 2)),), 8, 1, 2, 0, [3], says="the start dominates"),
    headline("far start", scalar([1, 1], [1, -1]), ((1, (1, 5)),), 12, 1, 2, 0, ["27/10"],
             says="plain averaging would stall above the bound"),
    headline("started at the optimum", scalar([1, 1], [0, 0]), ((1, (1, 1)),), 8, 1, 1, 1, says="the noise dominates"),
]
# what the short sentence leaves out: tau/tau_eff and A may not grow
slow_server = headline("tau_eff = 1/1000", scalar([1, 1], [0, 0]), ((1, (1, 1)),), 10, 1, 1, 0, [1], Fraction(1, 1000),
                       "tau/tau_eff = 1000: the server hardly moves")
one_dominant = headline("one dominant client of 64", scalar([1] * 64, [0] * 64,
                                                            [Fraction(937, 1000), *[Fraction(1, 1000)] * 63]),
                        ((1, (1,) * 64),), 4, 1, 1, 1, says="A = m sum p_i^2 is about 56: no speed-up of the noise "
                                                            "term")

# in numbers what the others prove in symbols
ft.illustrate([*rule])
