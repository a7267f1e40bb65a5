"""FedAWE in Table 1: exact with everybody, a floor otherwise, and echoes of absence."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import baselines as wrong
from verification.focus.coded import ALARM, contracts, one_coded_round, square, x_star
from verification.focus.formulas import baselines as f
from verification.focus.instances import LAWS, MC, line, names, plane


def _same(i):
    """From a common model and ages 1, a round is FedAvg's and ends in a common model and ages 1."""
    n = i.problem.n
    new = one_coded_round(i, i.algorithm, [1] * n, x=[i.x], w=[[i.x]] * n)
    stated = f.average(i.h, i.c, i.eta, i.tau, i.x)
    return ft.equal(new.x[0], stated, "FedAvg"), ft.equal(new.w[:, 0], [stated] * n, "own models"), ft.equal(new.age, [1] * n,
                                                                                                             "ages")


def _full(i):
    best, at = x_star(i), i.op.fixed_point().x
    bias = square(at - best)
    return (ft.equal(at, f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau, [1] * i.problem.n), "drift point"), contracts(i),
            ft.equal(bias, Q(0), "tau = 1: exact") if i.tau == 1 else ft.at_most(0, bias, "distance to x*", strict=True))


def _unmixed(i):
    """One participant a round averages with nobody: every client walks alone, whatever the ages."""
    n, best = i.problem.n, x_star(i)
    steepest = max(float(np.linalg.eigvalsh(np.array(h, dtype=float)).max()) for h in i.problem.H)
    gap = 1 - (1 - float(i.eta) * steepest) ** i.tau
    return (ft.at_most(f.echo(1 / n, gap), 1, "mean-square factor per participation with ages of any length", strict=True),
            ft.equal(i.op.floor(best), f.mean_square_distance(i.problem.c, [Q(1, n)] * n, best), "own minimisers"),
            ft.at_most(i.op.mean_square_rate(), 1, "mean-square rate", strict=True))


def _partial(i):
    rate, tail = i.op.mean_square_rate(), i.op.law.tail()
    return (ft.at_most(rate, 1, f"mean-square rate; some age is cut with probability <= {float(tail):.2g}", strict=True),
            ft.at_most(0, i.op.floor(x_star(i)), "stationary error", strict=True),
            ft.at_most(tail, Q(1, 5), "tail of the ages"))


def _early(i):
    """No age is cut in the first `cap` rounds, so the operator is that of FedAWE itself."""
    *_, (mean, second) = i.op.trajectory(i.cap + 1, i.x0)
    best = float(x_star(i)[0])
    exact = second[0, 0] - 2 * best * mean[0] + best**2
    return ft.agrees(i.but(algorithm=i.uncut).run.interval(level=1 - ALARM), exact, f"E|x - x*|^2 after {i.cap} rounds")


def _echo(i):
    """The mean-square rate per round solves E (1 - A Q)^2 rate^-A = 1, so it exceeds 1 where the echo E (1 - A Q)^2 does."""
    low, high = i.op.certify(width=1e-3).mean_square
    gap = 1 - (1 - i.eta * i.h) ** i.tau
    cut, whole = f.cut_echo(i.p, gap, i.cap), f.echo(i.p, gap)
    threshold = 2 * i.p / (2 - i.p)
    out = [ft.at_most(1, f.cut_echo(i.p, gap, i.cap, low), "rate is at least"),
           ft.at_most(f.cut_echo(i.p, gap, i.cap, high), 1, "rate is at most")]
    if gap > threshold:
        return [*out, ft.at_most(1, low, "diverges", strict=True), ft.at_most(1, cut, "echo, ages cut", strict=True),
                ft.at_most(1, i.cap * gap, "so that cutting ages makes the echo smaller"),
                ft.at_most(cut, whole, "echo, any age")]
    return [*out, ft.at_most(high, 1, "contracts", strict=True), ft.at_most(whole, 1, "echo, any age", strict=True)]


def _diverges(i):
    """From one meeting of the two clients to the next; paths with ages up to the cap alone decide for ages of any length."""
    P, gap = ((1 - i.eta * h[0, 0]) ** i.tau for h in i.problem.H)
    gap, rate = 1 - gap, i.op.mean_square_rate()
    cut = f.cut_met_echo(*(float(v) for v in (i.p, P, gap)), i.cap, rate)
    return (ft.equal(cut, 1.0, "equation of the mean-square rate, ages cut"),
            ft.at_most(1, rate, "mean-square rate, ages cut", strict=True),
            ft.at_most(Q(1), f.met_echo(i.p, P, gap, i.cap), f"growth between meetings, ages up to {i.cap} alone", strict=True),
            ft.at_most(ft.Bounds(*i.but(algorithm=i.fedavg).op.certify().mean_square), 1, "FedAvg's rate", strict=True))


PARTS = {"same": _same, "full": _full, "unmixed": _unmixed, "partial": _partial, "early": _early, "echo": _echo,
         "diverges": _diverges}


def _awe(name, problem, law, tau, eta, cap, part, domain=ft.RATIONAL, **extra):
    return ft.Instance(f"{name}, tau={tau}, eta={eta}, ages up to {cap}", problem, ft.FedAwe(eta, tau, cap=cap), law,
                       cap=cap, part=part, domain=domain, kind=name, **extra)


def _common_model(n, tau):
    k = ft.Field(" ".join(["eta", "x", *names("hc", n)]))
    eta, x, *rest = k.symbols
    return ft.Instance(f"everybody, N={n}, tau={tau}", line(rest[:n], rest[n:]), ft.FedAwe(eta, tau), ft.Full(), domain=k,
                       part="same", x=x, h=rest[:n], c=rest[n:],
                       says="one round from any model that everybody holds")


def _alone(p, h, tau, eta, cap):
    return _awe(f"one client, p={p}, h={h}", line([h], [1]), ft.Bernoulli(p), tau, eta, cap, "echo", p=Q(p), h=Q(h))


RARE = ft.Bernoulli((1, "1/10"))
PAIR = line((1, 2), (1, -1))
fedawe = [_common_model(1, 2), _common_model(2, 1), _common_model(2, 3), _common_model(3, 2),
          *(_awe("full", plane(), ft.Full(), tau, "1/20", 1, "full") for tau in (1, 3)),
          *(_awe("one uniform client", problem, LAWS["one uniform client"], 3, "1/50", 2, "unmixed")
            for problem in (plane(), line((1, 2, 4), (1, -1, 0), name="line"))),
          _awe("weighted, two of three", plane(), LAWS["weighted, two of three"], 3, "1/20", 4, "partial", ft.FLOAT),
          _awe("rare client", PAIR, RARE, 3, "1/50", 60, "partial", ft.FLOAT),
          _awe("pair", PAIR, ft.Bernoulli(("9/10", "4/5"), "redraw"), 3, "1/20", 5, "partial", ft.FLOAT),
          _awe("rare client, first rounds", PAIR, RARE, 3, "1/50", 40, "early", ft.FLOAT, uncut=ft.FedAwe("1/50", 3), x0=[4],
               simulate=MC | {"rounds": 40, "replicates": 20_000}),
          _alone("1/2", 1, 2, "1/5", 12), _alone("1/10", 1, 1, "1/20", 60), _alone("1/10", 1, 3, "1/10", 60),
          _awe("rare client", PAIR, RARE, 3, "1/10", 30, "diverges", p=Q(1, 10), fedavg=ft.FedAvg("1/10", 3)),
          _awe("rarer client", PAIR, ft.Bernoulli((1, "1/20")), 3, "1/20", 60, "diverges", p=Q(1, 20),
               fedavg=ft.FedAvg("1/20", 3))]
names_seen = [i.name for i in fedawe]
fedawe = [i.but(name=f"{i.name}, d={i.problem.d}") if names_seen.count(i.name) > 1 else i for i in fedawe]


@ft.claim("table1-fedawe", on=fedawe, rejects=[wrong.no_echo, wrong.starts_from_the_server],
          reading="Ages cut at a cap, with the probability that some age exceeds it as stated; equality with FedAvg, the first "
                  "rounds and divergence (paths without a cut age) hold for ages of any length.")
def table1_fedawe(i):
    r"""FedAWE with a constant step is not exact: with everybody it is FedAvg; under partial participation its stationary error is
    positive; and the echo of absence can make the mean square diverge for rare clients where FedAvg is stable: one client of
    probability $p$ diverges if and only if $1-(1-\eta h)^\tau>\frac{2p}{2-p}$.
    """
    return PARTS[i.part](i)
