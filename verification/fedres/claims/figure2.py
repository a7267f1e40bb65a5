"""Experiment E.2 (Figure 2): what its runs show, recorded ones and short live ones."""
from itertools import pairwise

import numpy as np

import fltheory as ft
from verification.fedres import bugs, contests, instances, population
from verification.fedres.contests import above, again, apart, below, losses, within
from verification.fedres.experiments import FEDRES, MIXES, PROX

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

DIFFERENT = MIXES[1:]
mixing = ft.Variable("mixing weight", lambda i: i.mix)


def drawn(*names):
    """Ground truths with 2 to 16 clients and 2 to 10 features, one of the methods to be watched."""
    def build(draw, mix=None, n=None, d=None):
        mix = draw(st.sampled_from(DIFFERENT)) if mix is None else mix
        n, d = (draw(st.integers(2, most)) if v is None else v for v, most in ((n, 16), (d, 10)))
        return contests.live(mix, draw(st.sampled_from(names)), draw(st.integers(0, 10**6)), n, d, "drawn")
    ends = ft.corners(mix=(DIFFERENT[0], 1.0), n=(2, 16), d=(10,))
    return ft.Search((ft.Family("other ground truths", build, corners=ends),), tries=10)


ENDS = {mixing: (DIFFERENT[0], 1.0), "clients": (2, 16)}
differ = ft.Hypothesis("the clients differ", r"best single model $-$ mean of the clients' own optima $\geq0.03$",
                       lambda i: (0.03, contests.gap(i)))


# ---- what the runs show ----------------------------------------------------------------------------------------------
SINGLE = ("FedAvg", "SCAFFOLD")
HOW = ("Recorded: 256 seeds, 60 rounds, K = 50, batches of 10, each method with its best step of 0.1, 0.03, 0.01 and 0.003 "
       "(chosen on 16 other seeds), exact population losses of the last ten rounds with 99.9 % intervals; ground truths drawn as "
       "in the paper with two rows, and a stated one with one vector. The paper's grid goes down to 0.001; FedAvg and SCAFFOLD "
       "choose 0.003 at weight 1, FedProx without penalty 0.1 at every weight. The search runs two seeds of 12 rounds at 0.1 on "
       "other ground truths.")


@ft.claim("fig2-fedavg-scaffold", on=[*contests.all_recorded(MIXES, SINGLE), contests.live(0.5, "FedAvg")],
          rejects=[bugs.one_step_less, bugs.variates_never_updated], search=drawn(*SINGLE), ends=ENDS, reading=HOW)
def fedavg_scaffold(i):
    r"""FedAvg and SCAFFOLD reach the same plateau, the best single model for all clients: recorded losses differ by at most 0.001
    and lie at most 0.005 above its loss (short live runs: 0.005 and 0.04)."""
    seen, best = losses(i, SINGLE), contests.gap(i)
    return [*within(apart(i, seen, *SINGLE), i.alike, "FedAvg - SCAFFOLD"), *again(i),
            *(ft.at_most(contests.level(i, "over the single", name) if not i.live else seen[name] - best, i.near,
                         f"{name} over the best single model") for name in SINGLE)]


@ft.claim("fig2-fedres-equal", on=[*contests.all_recorded(MIXES, FEDRES), contests.live(1.0, FEDRES[0])],
          rejects=[bugs.personal_reset, bugs.personal_averaged, bugs.old_theta_in_step_two], search=drawn(*FEDRES), ends=ENDS,
          reading=HOW)
def fedres_equal(i):
    r"""FedResNaive, FedResSGD and FedResAvg with either option reach about the same loss, near that of the clients' own best
    models: recorded ones at most 0.005 above it and at most 0.001 from each other (short live runs: 0.04 and 0.005)."""
    seen = losses(i, FEDRES)
    return [*(ft.at_most(seen[name], i.near, f"{name} over the clients' own optima") for name in FEDRES), *again(i),
            *(c for a in FEDRES for b in FEDRES if a < b for c in within(apart(i, seen, a, b), i.alike, f"{a} - {b}"))]


@ft.claim("fig2-fedres-best", on=[*contests.all_recorded(DIFFERENT, (*FEDRES, "FedProx 0.05", *SINGLE)),
                                  contests.live(1.0, "FedProx 0.05")], needs=[differ],
          rejects=[bugs.personal_reset, bugs.personal_averaged, bugs.own_copy_goes_on],
          search=drawn(*FEDRES, "FedProx 0.05"), ends=ENDS, reading=HOW + " FedProx with mu = 0.05, as plotted.")
def fedres_best(i):
    r"""Once clients differ (the best single model loses at least 0.03 more than their own), every residual method has a smaller
    loss than FedProx, whose clients predict with their own copies, and FedProx a smaller one than FedAvg and SCAFFOLD."""
    prox, seen = "FedProx 0.05", losses(i, (*FEDRES, "FedProx 0.05", *SINGLE))
    return [*(below(seen[name], seen[prox], f"{name}, {prox}") for name in FEDRES), *again(i),
            *(below(seen[prox], seen[name], f"{prox}, {name}") for name in SINGLE)]


PENALISED = tuple(f"FedProx {mu:g}" for mu in PROX)


@ft.claim("fig2-mu-restricted", on=[*contests.all_recorded(DIFFERENT, PENALISED), contests.live(1.0, PENALISED[1])],
          needs=[differ], rejects=[bugs.local_prox_squared, bugs.local_prox_missing, bugs.own_copy_goes_on],
          search=drawn(*PENALISED), ends=ENDS, reading=HOW)
def mu_restricted(i):
    r"""Once clients differ (the best single model loses at least 0.03 more than their own), the loss of FedProx rises with its
    penalty: $\mu=0$ is better than $0.05$, and $0.05$ better than $0.5$."""
    seen = losses(i, PENALISED)
    return [*again(i), *(above(apart(i, seen, more, less), 0.0, f"{more} - {less}")
                         for less, more in pairwise(PENALISED))]


def _mix0():
    out = []
    for i in contests.all_recorded(MIXES[:1], ("FedAvg",)):
        seen, two = losses(i, (*SINGLE, *FEDRES, *PENALISED)), i.stored == 2
        step = apart(i, seen, "FedProx 0.05", "FedProx 0")
        out += [below(seen[a], seen[b], f"{i.name}: {a}, {b}") for a in SINGLE for b in (*FEDRES, *PENALISED)]
        out += [below(seen[a], seen[b], f"{i.name}: {a}, {b}") for a in FEDRES for b in (PENALISED if two else PENALISED[2:])]
        out += [] if two else [below(seen["FedProx 0"], seen[b], f"{i.name}: FedProx 0, {b}") for b in FEDRES]
        out.append((below if two else above)(step, 0.0, f"{i.name}: FedProx 0.05 - FedProx 0"))
    return out


ft.finding("note-mix0", kind="empirical", check=_mix0, reading=HOW,
           says="Where all clients have one distribution (mixing weight 0) FedAvg and SCAFFOLD are best, since they average the "
                "noise of all clients. Residual methods follow, FedProx is last, and with two rows a penalty of 0.05 helps it.",
           survives="At weights of 0.25 and more every penalty worsens FedProx (fig2-mu-restricted). With one vector and the "
                    "stated ground truth a penalty of 0.05 hurts here too, and FedProx without one is ahead of the residual "
                    "methods by 0.0001; all differences but those of mu = 0.5 are below 0.003.")


def _no_data():
    """What both experiments need can be made from printed laws alone: (11), (12), and draws from N(0, 1) for (13)."""
    w, one, two = map(ft.fraction, (2, 3, 5))
    printed = (ft.fraction("1/10") * (w + one) ** 2 + 10 * w + ft.fraction("1/10") * two**2 - 10 * w) / 2
    again, other = (np.array_equal(population.drawn(1)[0], population.drawn(seed)[0]) for seed in (1, 2))
    return (ft.equal(instances.figure1().joint_value([w], [[one], [two]]), printed, "E.1 is (11) and (12)"),
            ft.equal((int(again), int(other)), (1, 0), "E.2 is drawn: the same for one seed, not for two"))


ft.finding("note-no-real-data", kind="remark", check=_no_data,
           reading="'We confirm the theoretical results on simulated and real-world data' (Section 1) beside 'we test our "
                   "algorithms on two synthetic datasets. The evaluation on real data will be provided in future versions' "
                   "(Appendix E).",
           survives="Both synthetic experiments, which are rebuilt here.")
