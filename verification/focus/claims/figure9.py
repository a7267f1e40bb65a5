"""Figure 9: live runs on substitute data. What stands in public logs and code was read there; what follows is computed."""
import itertools
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import structure as other
from verification.focus.bugs.figures import StuckFedAu, fedau_counter_runs
from verification.focus.instances import line
from verification.focus.setups import FIG9_CLIENTS, FIG9_TAU, SURE, below, chances, clusters, contest, first_move, leads


def _contest(name, panel, seed, n=FIG9_CLIENTS, rounds=20, rivals=("FedAU", "SCAFFOLD", "FedAvg"), lr=0.003):
    (problem, accuracy), made = clusters(seed, n), contest(lr, n=n)
    return ft.Instance(name, problem, made["SG-FOCUS"], chances(seed, n, 1)[panel], domain=ft.FLOAT, rounds=rounds, lr=lr,
                       rivals={k: (made[k], rounds) for k in rivals}, counted=made["FedAU"], fedavg=made["FedAvg"],
                       stuck=StuckFedAu(lr, FIG9_TAU),
                       simulate={"seed": 9, "replicates": 256, "rounds": rounds,
                                 "metrics": {"accuracy": accuracy, "error": None}})


best_accuracy = [_contest(f"clusters, {panel}", panel, 9) for panel in ("active", "passive")]


@ft.claim("fig9-sgfocus-best", on=best_accuracy, rejects=[other.pushes_averaged],
          reading="Substitute data: softmax regression on Gaussian clusters, Dirichlet(.05), 32 clients, tau = 3, eta = .003, "
                  "single samples, after 20 rounds, 256 seeds; digits in `reproduce`. The same eta for all, no method retuned.",
          survives="With eta N of FOCUS matched by eta tau of the others the lead is gone (fig9-step-scale). It is a matter of "
                   "the setting: of eight other draws with 16 clients, after 16 rounds, FOCUS led in three, four were undecided "
                   "and FedAvg led in one. So no word beyond the instances, and none on CIFAR-10.")
def fig9_best(i):
    r"""SG-FOCUS has the best mean test accuracy when all methods use the same $\eta$, under both participation laws."""
    return leads(i, "accuracy", -1)


counters = [i.but(name=i.name, algorithm=i.stuck) for i in (_contest(f"8 clients, {panel}", panel, 9, 8, lr=0.01)
                                                            for panel in ("active", "passive"))]


@ft.claim("fig9-fedau-curve", on=counters, rejects=[fedau_counter_runs],
          reading="The public torch code was read and emulated, not run on CIFAR-10; which code drew the printed curve is not "
                  "known.")
def fig9_fedau_curve(i):
    r"""The printed FedAU curve may be plain FedAvg: FedAU as in the public code has FedAvg's accuracy on the substitute, and
    FedAU itself another one. Whether the printed curve came from that code cannot be decided here.
    """
    own, stuck, plain = (i.but(algorithm=a).run.interval(-1, "accuracy", SURE) for a in (i.counted, i.algorithm, i.fedavg))
    return [ft.equal(stuck.value, plain.value, "accuracy, FedAU as in the public code against FedAvg"),
            ft.at_most(1e-3, abs(own.value - plain.value), "FedAU itself differs by at least")]


LOGGED = {"active": {"SG-FOCUS": Q("0.784"), "FedAU": Q("0.738"), "SCAFFOLD": Q("0.500")},
          "passive": {"SG-FOCUS": Q("0.787"), "FedAU": Q("0.753"), "SCAFFOLD": Q("0.510")}}  # quoted: last 40 evaluations


def _fig9_logs():
    out = []
    for panel, logged in LOGGED.items():
        i = next(i for i in best_accuracy if i.name.endswith(panel))
        own = i.run.interval(-1, "accuracy", SURE)
        for name in ("FedAU", "SCAFFOLD"):
            seen = i.but(algorithm=i.rivals[name][0]).run.interval(-1, "accuracy", SURE)
            out += [ft.at_most(logged[name], logged["SG-FOCUS"], f"{panel}, logs as quoted: {name}, SG-FOCUS", strict=True),
                    below(seen, own, f"{panel}, substitute: {name}, SG-FOCUS")]
    return out


ft.finding("fig9-logs", kind="empirical", check=_fig9_logs,
           says="The public logs behind Figure 9 give late test accuracies .784/.787 (active/passive) for FOCUS, .738/.753 for "
                "FedAU, .500/.510 for SCAFFOLD. Read there, not computed here; the substitute data put FOCUS first as well.",
           reading="Mean of the last 40 logged evaluations, batch 128.",
           survives="Nothing here checks the logged numbers themselves. On the clusters SCAFFOLD is not behind FedAU "
                    "everywhere.")

passive = ft.Instance("two clients", line((1, 3), (1, -1)), ft.Focus("1/10", 3), ft.Bernoulli(["1/5"] * 2))


def _fig9_passive_law():
    rows = ((Q(4, 5), Q(1, 5)), (Q(4, 5), Q(1, 5)))  # quoted from the public code: (out, in) after out, after in
    sets = [(), (0,), (1,), (0, 1)]
    matrix = [[rows[0 in S][0 in T] * rows[1 in S][1 in T] for T in sets] for S in sets]
    i = passive
    chain, independent = i.but(law=ft.Chain(sets=sets, matrix=matrix)), i.but(law=ft.Bernoulli(["1/5"] * 2))
    out = [ft.equal(rows[1][1] - rows[0][1], Q(0), "correlation between rounds"),
           ft.equal(chain.law.inclusion(2), independent.law.inclusion(2), "probabilities: all alike")]
    for r, (a, b) in enumerate(zip(*(v.op.trajectory(5, [3]) for v in (chain, independent)), strict=True)):
        out += [ft.equal(a[0], b[0], f"mean before round {r}, chain and Bernoulli(1/5)"),
                ft.equal(a[1], b[1], f"E xx' before round {r}")]
    return out


ft.finding("fig9-passive-law", kind="empirical", check=_fig9_passive_law,
           says="The 'passive' panel's two-state chain has two equal rows (.8, .2): no memory, and the same Bernoulli(.2) for "
                "all clients, so participation is homogeneous.",
           reading="The rows were read in the public code; that they amount to Bernoulli(.2) is computed, exactly.",
           survives="The 'active' panel has unequal probabilities.")


def subsets(clients):
    """All non-empty sets of clients."""
    return [S for m in range(1, len(clients) + 1) for S in itertools.combinations(clients, m)]


def _stuck(n, tau):
    k = ft.Field(" ".join(["eta", "x", "t", *(f"{v}{i}" for v in "hc" for i in range(n))]))
    eta, x, t, *rest = k.symbols
    return ft.Instance(f"N={n}", line(rest[:n], rest[n:]), StuckFedAu(eta, tau), ft.Full(), domain=k,
                       fedavg=ft.FedAvg(eta, tau), x=x, t=t, sets=subsets(range(n)))


stuck = [_stuck(2, 2), _stuck(3, 1)]


def _fig9_fedau_counter():
    out = []
    for i in stuck:
        a, plain, p = i.algorithm.to(i.domain), i.fedavg.to(i.domain), i.problem.to(i.domain)
        n, at = i.problem.n, np.array([i.x], dtype=object)
        state = a.init(p, at)
        state = state._replace(waited=0 * state.waited + i.t)
        for S in i.sets:
            draw = ft.everyone(n, i.tau, np.array([int(k in S) for k in range(n)]))
            new = a.round(p, state, draw)
            out += [ft.equal(new.x, plain.round(p, plain.init(p, at), draw).x, f"N={n}, S={S}: FedAvg's round"),
                    ft.equal(new.waited, [i.t + 1] * n, f"N={n}, S={S}: the same count for all, again")]
        out.append(ft.equal(a.init(p, at).waited, [0 * i.t] * n, f"N={n}: as at the start"))
    return out


ft.finding("fig9-fedau-counter", kind="empirical", check=_fig9_fedau_counter,
           says="FedAU in the public torch code never advances its counter of finished intervals: every participant carries the "
                "number of rounds so far as weight, the weights are equal and normalised, and the method is FedAvg.",
           reading="The code was read and emulated: any number of rounds so far, any model, every set of 2 and 3 clients, in "
                   "symbols.",
           survives="The notebook's version of FedAU advances its counter.")


def _fig9_step_scale():
    eta, tau, n = Q(1, 500), 3, 32
    focus, fedavg, scaffold = (first_move(a, n) for a in (ft.Focus(eta, tau), ft.FedAvg(eta, tau), ft.Scaffold(eta, tau)))
    out = [ft.equal(focus, Q("0.064"), "FOCUS's server moves by"), ft.equal(fedavg, Q("0.006"), "FedAvg's by"),
           ft.equal(scaffold, fedavg, "SCAFFOLD's by as much"), ft.equal(focus / fedavg, Q(32, 3), "ratio")]
    for i in best_accuracy:
        own, level = i.run.interval(-1, "accuracy", SURE), {}
        for name in ("SCAFFOLD", "SCAFFOLD, matched step"):
            level[name] = i.but(algorithm=contest(i.lr)[name]).run.interval(-1, "accuracy", SURE)
        out += [below(level["SCAFFOLD"], own, f"{i.name}: SCAFFOLD at the same eta, FOCUS"),
                ft.at_most((own.value - level["SCAFFOLD, matched step"].value), (own.value - level["SCAFFOLD"].value) / 2,
                           f"{i.name}: with SCAFFOLD's server step matched at least half of the lead is gone")]
    return out


ft.finding("fig9-step-scale", kind="empirical", check=_fig9_step_scale,
           says="At equal eta = .002 FOCUS's server moves by eta N = .064 times the mean gradient, that of FedAvg-type methods "
                "by eta tau = .006: 10.7 times less. The baselines were not retuned.",
           reading="First round on equal linear losses, everybody there, for the coded methods; runs on the clusters with eta = "
                   ".003.",
           survives="One step size for all methods is what the figure says it uses.")
