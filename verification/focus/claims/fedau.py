"""FedAU in Table 1: limits of its counted weights, FedAvg and MIFA beside it, exact fixed points and floors."""
from dataclasses import dataclass
from fractions import Fraction as Q

import fltheory as ft
from verification.focus.bugs import at, figures
from verification.focus.bugs import baselines as wrong
from verification.focus.bugs import repository as public
from verification.focus.bugs import structure as other
from verification.focus.coded import ALARM, contracts, one_coded_round, square, x_star
from verification.focus.formulas import baselines as f
from verification.focus.instances import LAWS, MC, line, names, plane, subsets


def _counted(i):
    """The coded counters keep seen * weight = the sum of the finished intervals, and intervals end where they should."""
    out = []
    for present in (0, 1):
        new = one_coded_round(i, i.algorithm, [present], weight=[i.weight], seen=[i.seen], waited=[i.waited])
        done, seen, waited = f.counted(i.weight, i.seen, i.waited, present)
        out += [ft.equal(new.weight[0] * new.seen[0], done, f"sum of intervals, present={present}"),
                ft.equal([new.seen[0], new.waited[0]], [seen, waited], f"counters, present={present}")]
    if i.cutoff is not None:
        new = one_coded_round(i, i.algorithm, [0], weight=[i.weight], seen=[i.seen], waited=[0 * i.waited + i.cutoff - 1])
        done, seen, waited = f.counted(i.weight, i.seen, 0 * i.waited + i.cutoff - 1, True)
        out.append(ft.equal([new.weight[0] * new.seen[0], new.seen[0], new.waited[0]], [done, seen, waited], "at the cut-off"))
    return out


def _moves(i):
    """What the coded counter does from every waiting time below the cut-off."""
    one, out = 1 + 0 * i.p, []
    for s in range(i.cutoff):
        new = [one_coded_round(i, i.algorithm, [present], weight=[one], seen=[one], waited=[s * one]) for present in (1, 0)]
        out.append([(next(k for k in range(i.cutoff + 2) if v.waited[0] == k), v.seen[0] - 1) for v in new])
    return out


def _counters(cutoff):
    k = ft.Field("w M s")
    w, M, s = k.symbols
    return ft.Instance(f"counters, cut-off {cutoff}", line([1], [0]), ft.FedAu("1/2", 1, cutoff=cutoff), ft.Full(), domain=k,
                       part="counters", cutoff=cutoff, weight=w, seen=M, waited=s,
                       says="weight, number of intervals and waiting time are symbols")


def _renewal(K):
    k = ft.Field("p")
    return ft.Instance(f"renewal, cut-off {K}", line([1], [0]), ft.FedAu("1/2", 1, cutoff=K), ft.Full(), domain=k,
                       part="renewal", p=k.symbols[0], cutoff=K, says="every p; independent rounds")


def _every_cutoff():
    k = ft.Field("p survived")
    p, survived = k.symbols
    return ft.Instance("every cut-off", line([1], [0]), ft.FedAu("1/2", 1, cutoff=1), ft.Full(), domain=k, part="every", p=p,
                       survived=survived, cutoff=1, says="(1 - p)^K is a free symbol")


def _earlier(n, tau):
    k = ft.Field(" ".join(["eta", "x", *names("hcwMs", n)]))
    eta, x, *rest = k.symbols
    h, c, w, M, s = (rest[j * n:(j + 1) * n] for j in range(5))
    return ft.Instance(f"weights in use, N={n}, tau={tau}", line(h, c), ft.FedAu(eta, tau), ft.Full(), domain=k, part="earlier",
                       x=x, h=h, c=c, weight=w, seen=M, waited=s, sets=[(), *subsets(n)],
                       says="everything is a symbol")


@dataclass(frozen=True)
class _Shown(ft.FedAu):
    """FedAU whose model is its weights, for runs that measure them."""

    def model(self, state):
        return state.weight


def _measured(name, law, p, cutoff=None):
    n = len(p)
    problem = ft.Quadratic([[[int(i == j) for j in range(n)] for i in range(n)]] * n, [[0] * n] * n)
    metrics = {f"w{i}": (lambda x, i=i: x[:, i]) for i in range(n)}
    return ft.Instance(name, problem, _Shown("1/2", 1, cutoff=cutoff), law, domain=ft.FLOAT, part="measured", p=p,
                       cutoff=cutoff, simulate=MC | {"rounds": 1500, "replicates": 256, "metrics": metrics})


weights = ft.illustrate([_counters(None), _counters(1), _counters(3), *(_renewal(K) for K in (1, 2, 3, 4, 5)), _every_cutoff(),
                         _earlier(2, 1), _earlier(3, 1), _earlier(2, 2),
                         _measured("measured, Bernoulli", ft.Bernoulli(("1/2", "1/5")), (Q(1, 2), Q(1, 5))),
                         _measured("measured, cut-off 3", ft.Bernoulli(("1/2", "1/5")), (Q(1, 2), Q(1, 5)), 3),
                         _measured("measured, one uniform client", LAWS["one uniform client"], (Q(1, 3),) * 3)])


@ft.claim("fedau-weights", on=weights,
          rejects=[wrong.current_interval_counts, wrong.weights_normalised, wrong.counts_one_round_more,
                   figures.fedau_counter_stuck, public.shared_storage],
          domain="rounds independent of each other, every p: the coded counters keep the mean of the finished intervals, which "
                 "tends to the mean interval (renewal reward); the coded cut-off for K = 1 to 5, every K by induction, no "
                 "cut-off as the limit. Weights in use: any state of two and three clients, every set, tau = 1 and 2")
def fedau_weights(i):
    r"""FedAU's weight is the mean of the client's finished intervals, so it tends to $1/p_i$, with cut-off $K$ to
    $(1-(1-p_i)^K)/p_i$, almost surely; the weight that a round uses depends on earlier rounds only.
    """
    if i.part == "counters":
        return _counted(i)
    if i.part == "renewal":
        return ft.equal(f.chain_mean(_moves(i), i.p), f.mean_interval(i.p, i.cutoff), "mean interval of the coded counter")
    if i.part == "every":
        mean, longer = f.mean_interval_of(i.p, i.survived), f.mean_interval_of(i.p, i.survived * (1 - i.p))
        return (ft.induction(base=[(f.chain_mean(_moves(i), i.p), f.mean_interval_of(i.p, 1 - i.p))],
                             step=[(mean + i.survived, longer)], label="E min(T, K + 1) = E min(T, K) + P(T > K)", over="K"),
                ft.equal(ft.limit(mean, "survived"), 1 / i.p, "K -> infinity"))
    if i.part == "earlier":
        n, state = i.problem.n, {"x": [i.x], "weight": i.weight, "seen": i.seen, "waited": i.waited}
        return [ft.equal(one_coded_round(i, i.algorithm, [int(k in S) for k in range(1, n + 1)], **state).x[0],
                         f.weighted_move(i.h, i.c, i.eta, i.tau, i.x, S, [Q(1, n)] * n, i.weight),
                         f"weights from before the round, S={S}") for S in i.sets]
    return [ft.agrees(i.run.floor(f"w{k}", level=1 - ALARM), float(1 / p if i.cutoff is None else f.mean_interval(p, i.cutoff)),
                      f"measured weight, p={p}") for k, p in enumerate(i.p)]


def _everybody(n, tau, averaging="plain"):
    k = ft.Field(" ".join(["eta", "x", "M", *names("hcG", n)]))
    eta, x, M, *rest = k.symbols
    h, c, G = (rest[j * n:(j + 1) * n] for j in range(3))
    return ft.Instance(f"N={n}, tau={tau}, {averaging}", line(h, c), ft.FedAvg(eta, tau, averaging=averaging), ft.Full(),
                       domain=k, fedau=ft.FedAu(eta, tau), mifa=ft.Mifa(eta, tau), x=x, M=M, h=h, c=c, G=G,
                       says="one round from any model, memory and count")


everybody = [_everybody(1, 2), _everybody(2, 1), _everybody(2, 2), _everybody(2, 3), _everybody(3, 1),
             _everybody(3, 2, "weighted"), _everybody(2, 5, "weighted")]


@ft.claim("fedavg-fedau-mifa", on=everybody,
          rejects=[other.one_step_only, wrong.server_uses_old_updates, wrong.fedau_half_a_step, at(public.mifa_ascent, "mifa"),
                   at(figures.mifa_previous_local_model, "mifa")],
          domain="one coded round from any model, any memories and any number of counted rounds, so every round by induction; "
                 "any curvatures, minimisers and eta, equal weights; N = 1, 2, 3 and tau = 1, 2, 3, 5 (coordinate-wise in an "
                 "eigenbasis)")
def fedavg_fedau_mifa(i):
    r"""With everybody in every round, FedAvg, FedAU and MIFA have the same server trajectory: after any number of such rounds
    FedAU's weights are 1, and MIFA replaces all its memories.
    """
    all_in = [1] * i.problem.n
    fedavg = one_coded_round(i, i.algorithm, all_in, x=[i.x])
    fedau = one_coded_round(i, i.fedau, all_in, x=[i.x], weight=[1 + 0 * i.x] * i.problem.n, seen=[i.M] * i.problem.n)
    mifa = one_coded_round(i, i.mifa, all_in, x=[i.x], G=i.G)
    return (ft.equal(fedavg.x[0], f.average(i.h, i.c, i.eta, i.tau, i.x), "FedAvg"), ft.equal(fedau.x[0], fedavg.x[0], "FedAU"),
            ft.equal(mifa.x[0], fedavg.x[0], "MIFA"), ft.equal(fedau.weight, [1] * i.problem.n, "FedAU's weights stay 1"),
            ft.equal([*fedau.seen, *fedau.waited], [i.M + 1] * i.problem.n + [0] * i.problem.n, "FedAU's counters"))


def _frozen(name, problem, law, tau, cutoff, eta="1/30"):
    p = law.inclusion(problem.n)
    used = [1 / v if cutoff is None else (1 - (1 - v) ** cutoff) / v for v in p]
    return ft.Instance(f"{name}, d={problem.d}, tau={tau}, cut-off {cutoff}", problem, ft.FedAu(eta, tau, weights=used), law,
                       kind=name, part="limit", p=p, cutoff=cutoff)


fedau = [_frozen(name, plane(), law, tau, K) for name, law in LAWS.items() for tau, K in ((1, None), (3, None), (3, 2))]
fedau += [_frozen(name, line((1, 2, 4), (1, -1, 0)), law, 3, None) for name, law in LAWS.items()]


def _with_counts(name, problem, law, tau, cutoff=None, eta="1/10"):
    limit = _frozen(name, problem, law, tau, cutoff, eta)
    metrics = {f"x{k}": (lambda x, k=k: x[:, k]) for k in range(problem.d)}
    return limit.but(name=f"{limit.name}, counted weights", algorithm=ft.FedAu(eta, tau, cutoff=cutoff), domain=ft.FLOAT,
                     part="counted",
                     frozen=limit.algorithm, simulate=MC | {"rounds": 3000, "replicates": 256, "metrics": metrics})


fedau += [_with_counts("arbitrary", line((1, 2), (1, -1)), ft.Bernoulli(("1/2", "1/5")), 3),
          _with_counts("arbitrary", line((1, 2), (1, -1)), ft.Bernoulli(("1/2", "1/5")), 3, 2)]


@ft.claim("table1-fedau", on=fedau,
          rejects=[wrong.weights_normalised, wrong.weights_never_used, wrong.counts_one_round_more, other.one_step_only],
          reading="Weights at their limits by the exact operator; counted weights by runs.")
def table1_fedau(i):
    r"""FedAU with a constant step is not exact: without cut-off its mean goes to FedAvg's drift point of full participation
    under every law, with cut-off $K$ to the one weighted by $1-(1-p_i)^K$, with a variance floor under partial participation.
    """
    limits = [1 if i.cutoff is None else 1 - (1 - p) ** i.cutoff for p in i.p]
    stated = f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau, limits)
    if i.part == "counted":
        frozen = i.but(algorithm=i.frozen, domain=ft.FLOAT)
        return [*(ft.agrees(i.run.floor(f"x{k}", level=1 - ALARM), v, f"measured mean x[{k}]") for k, v in enumerate(stated)),
                ft.agrees(i.run.floor(level=1 - ALARM), frozen.op.floor(), "measured error, weights at their limits"),
                ft.at_most(0, float(square(stated - x_star(i))), "bias", strict=True)]
    best, at = x_star(i), i.op.fixed_point().x
    bias, floor = square(at - best), i.op.floor(best)
    same_pace = i.cutoff is None or len(set(limits)) == 1
    return [ft.equal(at, stated, "mean"), contracts(i),
            ft.equal(bias, Q(0), "tau = 1: unbiased") if i.tau == 1 and same_pace else ft.at_most(0, bias, "bias", strict=True),
            ft.equal(floor, bias, "no variance") if i.kind == "full" else ft.at_most(0, floor - bias, "variance", strict=True)]
