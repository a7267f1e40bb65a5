"""Section 3: 'it is straightforward to extend our algorithms to the case with client sampling', in the two ways it can be meant.

A round with a cohort S: w moves by the mean over S, absent clients keep theta_i and c_i; the server's c is the mean of all c_i
("all"), or of those of S ("present").
"""
from dataclasses import replace

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.instances import scalar
from verification.fedres.symbols import symbols

THREE = scalar([2, 1, 1], ["1/2", 1, 0], [1, 2, 1], [1, -1, 3], [0, 1, 2])
ETA, LAM = "1/20", "1/10"


def said(law):
    return f"{law.m} at a time" if isinstance(law, ft.Uniform) else "each with probability 1/2"


def free(n, law, kind=ft.FedResAvg, **options):
    """n clients with free blocks whose joint optimum is 0: grad_w L_i = h_i there, with sum 0, and grad_theta L_i = 0."""
    field, s = symbols("eta lam alpha", a=(n,), b=(n,), c=(n,), h=(n - 1,))
    h = [*s["h"], -s["h"].sum()]
    if kind is ft.FedResAvg:
        options["alpha"] = s["alpha"]
    algorithm = kind(s["eta"], 2, personal_lr=s["lam"], **options)
    problem = scalar(s["a"], s["b"], s["c"], [-v for v in h], [0] * n)
    return ft.Instance(f"n={n}, {said(law)}", problem, algorithm, law, domain=field, h=h, move=s["eta"] * 2,
                       says="blocks, eta, lambda and alpha are symbols, two local steps; any quadratics, moved to their optimum")


def listed(law, kind=ft.FedResAvg, **options):
    """Three clients in numbers, whose stationary error is exact."""
    return ft.Instance(f"three clients, {said(law)}", THREE, kind(ETA, 2, personal_lr=LAM, **options), law, illustrates=True)


def outcomes(i):
    """(probability, cohort (n,) of 0/1, state before, state after) of every cohort, at the joint optimum with c_i = grad_w L_i."""
    algorithm, problem, n = i.algorithm.to(i.domain), i.problem.to(i.domain), i.problem.n
    state = algorithm.init(problem, i.domain.array(np.array([0], dtype=object)))
    if hasattr(state, "ci"):
        state = state._replace(ci=i.domain.array(np.array(i.h, dtype=object)[:, None]))
    for chance, draw in replace(i.law, steps=i.algorithm.steps).support(n, 0):
        there = np.zeros(n, dtype=int)
        there[np.arange(n)[draw.who]] += np.asarray(draw.present)
        yield ft.fraction(chance), there, state, algorithm.round(problem, state, draw)


def mean_of_cohort(i, there):
    """The mean of the h_i over the cohort, 0 over nobody."""
    return sum(h * int(t) for h, t in zip(i.h, there, strict=True)) * ft.fraction(1) / max(int(there.sum()), 1)


def error(i):
    """The exact stationary E|w - w*|^2 around the joint optimum."""
    return i.op.floor(ft.linalg.to_fractions(i.problem.joint_optimum()[0]))


LAWS = (ft.Uniform(1), ft.Uniform(2), ft.Bernoulli("1/2"))
everybody_counts = [*(free(3, law) for law in LAWS), free(2, ft.Uniform(1))]
COVERS = {"n": "all", "d": "all", "tau": "all"}


def stays(i):
    """At the joint optimum nothing moves, whoever takes part."""
    return [ft.equal(np.concatenate([np.ravel(v) for v in after]), np.concatenate([np.ravel(v) for v in state]), f"cohort {there}")
            for _, there, state, after in outcomes(i)]


@ft.claim("remark-sampling", on=everybody_counts, rejects=[bugs.mean_not_divided])
def remark_sampling(i):
    r"""As printed, without a definition: the algorithms extend to client sampling straightforwardly. Read here as: FedResAvg whose
    absent clients keep $\theta_i$ and $c_i$, with $c$ over all of them, still has the joint optimum as fixed point. FedResSGD has
    it in the mean alone (remark-sampling-sgd), and so has FedResAvg with $c$ over the cohort (remark-sampling-present); rates are
    not stated, so there is no more to decide."""
    return stays(i)


@ft.claim("remark-sampling-all", on=[*everybody_counts, listed(ft.Uniform(1)), listed(ft.Uniform(2))], covers=COVERS,
          rejects=[bugs.mean_not_divided, bugs.variates_dropped],
          domain="fixed point: at the optimum a present client's local steps are eta (g_i - c_i + c) = 0 and 0, for all losses, "
                 "cohorts, local steps; in all symbols for quadratics with two local steps under three laws. Error 0: exactly on "
                 "three listed clients")
def remark_sampling_all(i):
    r"""FedResAvg (II) under client sampling, absent clients keeping $\theta_i$ and $c_i$ and $c=\frac1N\sum_ic_i$ over all: the
    joint optimum with $c_i=\nabla_wL_i$, $c=0$ is a fixed point of every round, whichever cohort it has; on quadratics whose rounds
    contract in the mean square the stationary error without gradient noise is 0."""
    if isinstance(i.domain, ft.Field):
        return stays(i)
    return ft.equal(error(i), 0, "stationary E|w - w*|^2")


on_present = [*(free(3, law, over="present") for law in LAWS[:2]), listed(ft.Uniform(1), over="present")]


@ft.claim("remark-sampling-present", on=on_present,
          rejects=[bugs.mean_is_late, bugs.variates_dropped], covers=COVERS,
          domain="all losses at their joint optimum, cohorts and local steps; in all symbols for quadratics with two local steps, "
                 "two laws; the error exactly on three listed clients")
def remark_sampling_present(i):
    r"""The same with $c$ over the present clients alone: at the joint optimum a round moves $c$ to the mean of
    $\nabla_wL_i$ over $S$, which later rounds add to $w$. Over uniform cohorts of fewer than $N$ the optimum is a fixed point of
    the mean round, but unless all $\nabla_wL_i$ vanish there the stationary error is positive without any gradient noise."""
    if not isinstance(i.domain, ft.Field):
        return ft.at_most(ft.fraction("1/10"), error(i), "stationary E|w - w*|^2")
    found = list(outcomes(i))
    mean = sum(chance * np.concatenate([np.ravel(v) for v in after]) for chance, _, _, after in found)
    return (ft.equal(mean, np.concatenate([np.ravel(v) for v in found[0][2]]), "the mean round has it as fixed point"),
            *(ft.equal([*after.c, *after.x], [mean_of_cohort(i, there), 0], f"c and w after cohort {there}")
              for _, there, _, after in found))


on_sgd = [*(free(3, law, ft.FedResSgd) for law in LAWS[:2]), listed(ft.Uniform(1), ft.FedResSgd)]


@ft.claim("remark-sampling-sgd", on=on_sgd, rejects=[bugs.large_step_not_multiplied], covers=COVERS,
          domain="all losses at their joint optimum, cohorts and local steps; in all symbols for quadratics with two local steps, "
                 "two laws; the error exactly on three listed clients")
def remark_sampling_sgd(i):
    r"""FedResSGD under client sampling moves $w$ off the joint optimum by $-\eta K\frac1{|S|}\sum_{i\in S}\nabla_wL_i$: unless all
    $\nabla_wL_i$ vanish there, it is a fixed point of the mean over uniform cohorts of fewer than $N$ alone, and the
    stationary error is positive."""
    if not isinstance(i.domain, ft.Field):
        return ft.at_most(ft.fraction("1/10"), error(i), "stationary E|w - w*|^2")
    found = list(outcomes(i))
    return (ft.equal(sum(chance * after.x for chance, _, _, after in found), [0], "the mean round has it as fixed point"),
            *(ft.equal([*after.x, *after.theta[:, 0]], [-i.move * mean_of_cohort(i, there), 0, 0, 0], f"after cohort {there}")
              for _, there, _, after in found))
