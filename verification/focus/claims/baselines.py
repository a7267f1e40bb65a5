"""FedAU, FedAWE and local SGD in Table 1: limits of counted weights, exact fixed points and floors, echoes of absence."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core.laws.draw import everyone
from fltheory.verdicts.claims.claim import claim
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import agrees, at_most, equal, induction, limit
from verification.focus.bugs import at, figures
from verification.focus.bugs import baselines as wrong
from verification.focus.bugs import repository as public
from verification.focus.bugs import structure as other
from verification.focus.formulas import baselines as f
from verification.focus.instances import baselines as I

ALARM = 1e-4  # each statistical comparison's false-alarm level


def _round(i, algorithm, present, **leaves):
    """One coded round of an algorithm on the instance's problem in its symbols; leaves of the state are given."""
    a, p = algorithm.to(i.domain), i.problem.to(i.domain)
    state = a.init(p, i.domain.array(np.zeros(p.d, dtype=np.int64)))
    given = {k: np.array(v, dtype=object).reshape(getattr(state, k).shape) for k, v in leaves.items()}
    return a.round(p, state._replace(**given), everyone(p.n, algorithm.steps, np.array(present)))


def _best(i):
    return f.minimiser(i.problem.H, i.problem.b)


def _square(v):
    return sum(x * x for x in v)


def _contracts(i):
    return at_most(Bounds(*i.op.certify(width=float(i.eta) / 20).mean_square), 1, "mean-square rate", strict=True)


# ---- FedAU's weights --------------------------------------------------------------------------------------
def _counted(i):
    """The coded counters keep seen * weight = the sum of the finished intervals, and intervals end where they should."""
    out = []
    for present in (0, 1):
        new = _round(i, i.algorithm, [present], weight=[i.weight], seen=[i.seen], waited=[i.waited])
        done, seen, waited = f.counted(i.weight, i.seen, i.waited, present)
        out += [equal(new.weight[0] * new.seen[0], done, f"sum of intervals, present={present}"),
                equal([new.seen[0], new.waited[0]], [seen, waited], f"counters, present={present}")]
    if i.cutoff is not None:
        new = _round(i, i.algorithm, [0], weight=[i.weight], seen=[i.seen], waited=[0 * i.waited + i.cutoff - 1])
        done, seen, waited = f.counted(i.weight, i.seen, 0 * i.waited + i.cutoff - 1, True)
        out.append(equal([new.weight[0] * new.seen[0], new.seen[0], new.waited[0]], [done, seen, waited], "at the cut-off"))
    return out


def _moves(i):
    """What the coded counter does from every waiting time below the cut-off."""
    one, out = 1 + 0 * i.p, []
    for s in range(i.cutoff):
        new = [_round(i, i.algorithm, [present], weight=[one], seen=[one], waited=[s * one]) for present in (1, 0)]
        out.append([(next(k for k in range(i.cutoff + 2) if v.waited[0] == k), v.seen[0] - 1) for v in new])
    return out


@claim("fedau-weights", on=I.weights,
       rejects=[wrong.current_interval_counts, wrong.weights_normalised, wrong.counts_one_round_more,
                figures.fedau_counter_stuck, public.shared_storage],
       domain="rounds independent of each other, every p: the coded counters keep the mean of the finished intervals, which "
              "tends to the mean interval (renewal reward); the coded cut-off for K = 1 to 5, every K by induction, no cut-off as "
              "the limit. Weights in use: any state of two and three clients, every set, tau = 1 and 2")
def fedau_weights(i):
    r"""FedAU's weight is the mean of the client's finished intervals, so it tends to $1/p_i$, with cut-off $K$ to
    $(1-(1-p_i)^K)/p_i$, almost surely; the weight that a round uses depends on earlier rounds only.
    """
    if i.part == "counters":
        return _counted(i)
    if i.part == "renewal":
        return equal(f.chain_mean(_moves(i), i.p), f.mean_interval(i.p, i.cutoff), "mean interval of the coded counter")
    if i.part == "every":
        mean, longer = f.mean_interval_of(i.p, i.survived), f.mean_interval_of(i.p, i.survived * (1 - i.p))
        return (induction(base=[(f.chain_mean(_moves(i), i.p), f.mean_interval_of(i.p, 1 - i.p))],
                          step=[(mean + i.survived, longer)], label="E min(T, K + 1) = E min(T, K) + P(T > K)", over="K"),
                equal(limit(mean, "survived"), 1 / i.p, "K -> infinity"))
    if i.part == "earlier":
        n, state = i.problem.n, {"x": [i.x], "weight": i.weight, "seen": i.seen, "waited": i.waited}
        return [equal(_round(i, i.algorithm, [int(k in S) for k in range(1, n + 1)], **state).x[0],
                      f.weighted_move(i.h, i.c, i.eta, i.tau, i.x, S, [Q(1, n)] * n, i.weight),
                      f"weights from before the round, S={S}") for S in i.sets]
    return [agrees(i.run.floor(f"w{k}", level=1 - ALARM), float(1 / p if i.cutoff is None else f.mean_interval(p, i.cutoff)),
                   f"measured weight, p={p}") for k, p in enumerate(i.p)]


# ---- FedAvg = FedAU = MIFA --------------------------------------------------------------------------------
@claim("fedavg-fedau-mifa", on=I.everybody,
       rejects=[other.one_step_only, wrong.server_uses_old_updates, wrong.fedau_half_a_step, at(public.mifa_ascent, "mifa"),
                at(figures.mifa_previous_local_model, "mifa")],
       domain="one coded round from any model, any memories and any number of counted rounds, so every round by induction; any "
              "curvatures, minimisers and eta, equal weights; N = 1, 2, 3 and tau = 1, 2, 3, 5 (coordinate-wise in an eigenbasis)")
def fedavg_fedau_mifa(i):
    r"""With everybody in every round, FedAvg, FedAU and MIFA have the same server trajectory: after any number of such rounds
    FedAU's weights are 1, and MIFA replaces all its memories.
    """
    all_in = [1] * i.problem.n
    fedavg = _round(i, i.algorithm, all_in, x=[i.x])
    fedau = _round(i, i.fedau, all_in, x=[i.x], weight=[1 + 0 * i.x] * i.problem.n, seen=[i.M] * i.problem.n)
    mifa = _round(i, i.mifa, all_in, x=[i.x], G=i.G)
    return (equal(fedavg.x[0], f.average(i.h, i.c, i.eta, i.tau, i.x), "FedAvg"), equal(fedau.x[0], fedavg.x[0], "FedAU"),
            equal(mifa.x[0], fedavg.x[0], "MIFA"), equal(fedau.weight, [1] * i.problem.n, "FedAU's weights stay 1"),
            equal([*fedau.seen, *fedau.waited], [i.M + 1] * i.problem.n + [0] * i.problem.n, "FedAU's counters"))


# ---- Table 1 ----------------------------------------------------------------------------------------------
@claim("table1-localsgd", on=I.localsgd, rejects=[wrong.absent_wait, wrong.everybody_pulls, other.one_step_only],
       domain="the 2-d reference instance and a line of three clients, four laws, tau = 1 and 3, exactly; the last average "
              "and, for tau = 3, the mean of all local models as server model")
def table1_localsgd(i):
    r"""Local SGD with a constant step is not exact under any participation type: with everybody it is FedAvg and stops at the
    drift point ($x^\star$ if and only if $\tau=1$); under partial participation its mean is off as well and its stationary
    variance is positive. With one participant per round nobody ever mixes: each client walks to its own minimiser.
    """
    best, at = _best(i), i.op.fixed_point().x
    stated = f.own_models(i.problem.H, i.problem.b, i.eta, i.tau, i.law_list)[i.report == "mean"]
    out = [equal(at, stated, "stationary mean"), _contracts(i)]
    bias, floor = _square(at - best), i.op.floor(best)
    if i.kind == "full":
        return [*out, equal(at, f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau, [1] * i.problem.n), "drift point"),
                equal(bias, Q(0), "tau = 1: exact") if i.tau == 1 else at_most(0, bias, "bias", strict=True),
                equal(floor, bias, "no variance")]
    if i.kind == "one uniform client":
        n, points = i.problem.n, i.problem.c if i.report == "average" else [sum(i.problem.c) / i.problem.n] * i.problem.n
        return [*out, equal(floor, f.mean_square_distance(points, [Q(1, n)] * n, best), "own minimisers")]
    return [*out, at_most(0, bias, "bias", strict=True), at_most(0, floor - bias, "variance", strict=True)]


@claim("table1-fedau", on=I.fedau,
       rejects=[wrong.weights_normalised, wrong.weights_never_used, wrong.counts_one_round_more, other.one_step_only],
       reading="Weights at their limits by the exact operator; counted weights by runs.")
def table1_fedau(i):
    r"""FedAU with a constant step is not exact: without cut-off its mean goes to FedAvg's drift point of full participation
    under every law, with cut-off $K$ to the one weighted by $1-(1-p_i)^K$, with a variance floor under partial participation.
    """
    limits = [1 if i.cutoff is None else 1 - (1 - p) ** i.cutoff for p in i.p]
    stated = f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau, limits)
    if i.part == "counted":
        frozen = i.but(algorithm=i.frozen, domain=I.FLOAT)
        return [*(agrees(i.run.floor(f"x{k}", level=1 - ALARM), v, f"measured mean x[{k}]") for k, v in enumerate(stated)),
                agrees(i.run.floor(level=1 - ALARM), frozen.op.floor(), "measured error, weights at their limits"),
                at_most(0, float(_square(stated - _best(i))), "bias", strict=True)]
    best, at = _best(i), i.op.fixed_point().x
    bias, floor = _square(at - best), i.op.floor(best)
    same_pace = i.cutoff is None or len(set(limits)) == 1
    return [equal(at, stated, "mean"), _contracts(i),
            equal(bias, Q(0), "tau = 1: unbiased") if i.tau == 1 and same_pace else at_most(0, bias, "bias", strict=True),
            equal(floor, bias, "no variance") if i.kind == "full" else at_most(0, floor - bias, "variance", strict=True)]


@claim("table1-fedawe", on=I.fedawe, rejects=[wrong.no_echo, wrong.starts_from_the_server],
       reading="Ages cut at a cap, with the probability that some age exceeds it as stated; equality with FedAvg, the first "
               "rounds and divergence (paths without a cut age) hold for ages of any length.")
def table1_fedawe(i):
    r"""FedAWE with a constant step is not exact: with everybody it is FedAvg; under partial participation its stationary error is
    positive; and the echo of absence can make the mean square diverge for rare clients where FedAvg is stable: one client of
    probability $p$ diverges if and only if $1-(1-\eta h)^\tau>\frac{2p}{2-p}$.
    """
    return PARTS[i.part](i)


def _same(i):
    """From a common model and ages 1, a round is FedAvg's and ends in a common model and ages 1."""
    n = i.problem.n
    new = _round(i, i.algorithm, [1] * n, x=[i.x], w=[[i.x]] * n)
    stated = f.average(i.h, i.c, i.eta, i.tau, i.x)
    return equal(new.x[0], stated, "FedAvg"), equal(new.w[:, 0], [stated] * n, "own models"), equal(new.age, [1] * n, "ages")


def _full(i):
    best, at = _best(i), i.op.fixed_point().x
    bias = _square(at - best)
    return (equal(at, f.drift_point(i.problem.H, i.problem.b, i.eta, i.tau, [1] * i.problem.n), "drift point"), _contracts(i),
            equal(bias, Q(0), "tau = 1: exact") if i.tau == 1 else at_most(0, bias, "distance to x*", strict=True))


def _unmixed(i):
    """One participant a round averages with nobody: every client walks alone, whatever the ages."""
    n, best = i.problem.n, _best(i)
    steepest = max(float(np.linalg.eigvalsh(np.array(h, dtype=float)).max()) for h in i.problem.H)
    gap = 1 - (1 - float(i.eta) * steepest) ** i.tau
    return (at_most(f.echo(1 / n, gap), 1, "mean-square factor per participation with ages of any length", strict=True),
            equal(i.op.floor(best), f.mean_square_distance(i.problem.c, [Q(1, n)] * n, best), "own minimisers"),
            at_most(i.op.mean_square_rate(), 1, "mean-square rate", strict=True))


def _partial(i):
    rate, tail = i.op.mean_square_rate(), i.op.law.tail()
    return (at_most(rate, 1, f"mean-square rate; some age is cut with probability <= {float(tail):.2g}", strict=True),
            at_most(0, i.op.floor(_best(i)), "stationary error", strict=True), at_most(tail, Q(1, 5), "tail of the ages"))


def _early(i):
    """No age is cut in the first `cap` rounds, so the operator is that of FedAWE itself."""
    *_, (mean, second) = i.op.trajectory(i.cap + 1, i.x0)
    best = float(_best(i)[0])
    exact = second[0, 0] - 2 * best * mean[0] + best**2
    return agrees(i.but(algorithm=i.uncut).run.interval(level=1 - ALARM), exact, f"E|x - x*|^2 after {i.cap} rounds")


def _echo(i):
    """The mean-square rate per round solves E (1 - A Q)^2 rate^-A = 1, so it exceeds 1 where the echo E (1 - A Q)^2 does."""
    low, high = i.op.certify(width=1e-3).mean_square
    gap = 1 - (1 - i.eta * i.h) ** i.tau
    cut, whole = f.cut_echo(i.p, gap, i.cap), f.echo(i.p, gap)
    threshold = 2 * i.p / (2 - i.p)
    out = [at_most(1, f.cut_echo(i.p, gap, i.cap, low), "rate is at least"),
           at_most(f.cut_echo(i.p, gap, i.cap, high), 1, "rate is at most")]
    if gap > threshold:
        return [*out, at_most(1, low, "diverges", strict=True), at_most(1, cut, "echo, ages cut", strict=True),
                at_most(1, i.cap * gap, "so that cutting ages makes the echo smaller"), at_most(cut, whole, "echo, any age")]
    return [*out, at_most(high, 1, "contracts", strict=True), at_most(whole, 1, "echo, any age", strict=True)]


def _diverges(i):
    """From one meeting of the two clients to the next; paths with ages up to the cap alone decide for ages of any length."""
    P, gap = ((1 - i.eta * h[0, 0]) ** i.tau for h in i.problem.H)
    gap, rate = 1 - gap, i.op.mean_square_rate()
    cut = f.cut_met_echo(*(float(v) for v in (i.p, P, gap)), i.cap, rate)
    return (equal(cut, 1.0, "equation of the mean-square rate, ages cut"),
            at_most(1, rate, "mean-square rate, ages cut", strict=True),
            at_most(Q(1), f.met_echo(i.p, P, gap, i.cap), f"growth between meetings, ages up to {i.cap} alone", strict=True),
            at_most(Bounds(*i.but(algorithm=i.fedavg).op.certify().mean_square), 1, "FedAvg's rate", strict=True))


PARTS = {"same": _same, "full": _full, "unmixed": _unmixed, "partial": _partial, "early": _early, "echo": _echo,
         "diverges": _diverges}
