"""What the text leaves open about the experiments: what can be said is checked, what cannot is named."""
from fractions import Fraction as Q
from itertools import pairwise
from math import erfc, sqrt

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs, synthetic
from verification.asyncfeded import experiments_cells as runs
from verification.asyncfeded.formulas.k_rule import TABLE4, increment
from verification.asyncfeded.formulas.steps import cap2
from verification.asyncfeded.published import CONSTANT, HINGE, OURS, logged


def wrong(name, says, right, changed):
    """A mutant of the formula `right` of an instance."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


# ---- the transmission time ---------------------------------------------------------------------------------------------
def below_zero(ratio):
    """P(N(mu, s^2) < 0) at ratio = mu/s."""
    return erfc(ratio / sqrt(2)) / 2


cut_at_zero = wrong("cut_at_zero", "Draws below 0 are set to 0.", below_zero, lambda ratio: 0.0)
RATIO = 3
SENT = [ft.Instance(f"mean {r} standard deviations", ratio=r, formula=below_zero) for r in (1, 2, 3)]
SENT.append(ft.Instance("mean 6 standard deviations", ratio=6, formula=below_zero))


@ft.claim("s2-negative-time", on=SENT, rejects=[cut_at_zero],
          needs=[ft.Hypothesis("mean at most 3 standard deviations", r"$\mu\le3\sigma$ of the normal coefficient",
                               lambda i: (i.ratio, RATIO))],
          reading="Undecided: mean and variance of the coefficient are not printed, nor whether draws are cut. Whatever they are, "
                  "a normal coefficient is negative with positive probability; with a mean of six standard deviations one of four "
                  "thousand would be so with probability 4e-6. Transmissions are counted as the server iterations of one published "
                  "run, 4138 in 300 s.")
def negative_time(i):
    r"""The normal coefficient of the transmission time, $\mathcal N(\mu,\sigma^2)$ with $\mu\le3\sigma$, turns negative in a run:
    among as many transmissions as one published run has at least one is expected to."""
    sent = int(logged("iterations", "FEMNIST", OURS, Q(0)))
    return ft.at_most(1.0, sent * i.formula(i.ratio), "expected number of negative times")


# ---- the hinge's lag ---------------------------------------------------------------------------------------------------
def _hinged(name):
    """The hinge and the constant weight of Table 2 on the substitute for a task, without hangs."""
    t = runs.task(name)
    return ft.Instance(f"{name}, thirty arrivals", algorithm=runs.hinge(t), domain=ft.FLOAT, task=t, constant=runs.constant(t),
                       changes=runs.hinge(t, unit="arrivals"), formula=None)


LOGGED = [ft.Instance(f"published logs, Synthetic, P = {k / 10}", P=Q(k, 10), task=None, formula=logged) for k in range(1, 6)]


def _hinge_of_femnist(quantity, task, method, P):
    return logged(quantity, "FEMNIST" if method == HINGE else task, method, P)


other_task = wrong("other_task", "The hinge's numbers are those of FEMNIST.", logged, _hinge_of_femnist)


@ft.claim("s3-hinge-lag", on=[*LOGGED, _hinged("Synthetic")], rejects=[bugs.update_added, other_task],
          reading="Undecided: the text speaks of the time of download and of receipt; Table 3 lists (a, b) alone, and no alpha. "
                  "It is an inference from the logs of both weights, which agree: a lag in seconds below b makes them one "
                  "algorithm, while with the lag in changes of the server the hinge weighs the arrivals of ten clients far less.",
          survives="At P = 0 the logged maxima differ, 96.10 against 98.41: the longer the runs the less they need agree. On "
                   "digits and text the table `hinge` shows both readings.")
def hinge_lag(i):
    r"""The hinge's lag is measured in seconds and its base $\alpha$ is that of Table 2: in the logs of Synthetic, $P=0.1$ to
    $0.5$, its mean maximum is within 0.07 points of the constant weight's. On the substitute both give the same loss after thirty
    arrivals, and the hinge with its lag in changes of the server a higher one."""
    if i.task is None:
        both = [i.formula("maximum", "Synthetic", m, i.P) for m in (HINGE, CONSTANT)]
        return ft.at_most(abs(both[0] - both[1]), Q(7, 100), "apart, in points")
    same, hinge, changes = (runs.early(i.task, a, i.task.law(), 2).mean() for a in (i.constant, i.algorithm, i.changes))
    return ft.equal(hinge, same, "loss, the lag in seconds"), ft.at_most(1.1 * same, changes, "the lag in changes")


@ft.claim("s3-fig4-p", powerless="no instance is checked: neither text nor logs tell the runs of Figure 4 apart",
          reading="Undecided: the sentence that introduces Figure 4 is garbled in print and names no P. The folders of AsyncFedED "
                  "at P = 0.1 hold more logs than others, which may be those of Figure 4; runs with fixed K cannot be told apart.")
def figure4_p(i):
    r"""Figure 4 was made at suspension probability $P=0.1$."""
    return []


# ---- local steps -------------------------------------------------------------------------------------------------------
def _recipe(seed):
    """Softmax regression on Synthetic(1, 1), and the largest curvature of its clients at 0, exactly where they are born."""
    gram = max(np.linalg.eigvalsh(x.T @ x / len(x))[-1] for x, _ in synthetic.rows(seed=seed))
    return ft.Instance(f"Synthetic(1, 1), seed {seed}", curvature=float(gram) / synthetic.CLASSES, K=10, step=0.01, formula=cap2)


first_step = wrong("first_step", "The condition is read for the first local step alone, K = 1, and L as its square root.", cap2,
                   lambda k, L: cap2(1, L**0.5))


@ft.claim("s5-local-steps", on=[_recipe(seed) for seed in (3, 5, 9, 11)], rejects=[first_step],
          reading="Undecided: L of the paper's networks is not known, and no ReLU network is smooth. Here L is bounded from below "
                  "by the curvature at 0 of softmax regression on data of the paper's recipe, which is a tenth of the largest "
                  "eigenvalue of a client's second moments.",
          survives="Momentum 0.5 doubles the steps that are made, which only adds to it.")
def local_steps(i):
    r"""The constant local step of the experiments, $\eta=0.01$ with $K=10$, violates (T1) at the last step,
    $6K(2K+1)L^2\eta^2\le1$: on Synthetic(1,1) with softmax regression by at least a factor of four."""
    return ft.at_most(4 * i.formula(i.K, i.curvature), i.step**2, "four times the largest square of a step, against 0.01^2")


# ---- identically distributed clients -----------------------------------------------------------------------------------
def generator(seed):
    """[(W, b, mean of x)] of the clients at alpha = beta = 0."""
    return [(W, b, x.mean(0)) for x, W, b in synthetic.clients(0, 0, seed, [200] * 10)]


def shared(seed):
    """Another generator: W, b and the mean of x are drawn once for all clients."""
    return generator(seed)[:1] * 10


fresh_rule = wrong("fresh_rule", "W, b and the mean are drawn afresh for every client.", shared, generator)
RECIPE = [ft.Instance(f"the recipe, seed {seed}", seed=seed, formula=generator) for seed in (0, 1, 2)]


@ft.claim("s6-synthetic-iid", rejects=[fresh_rule], on=[*RECIPE, ft.Instance("drawn once for all", seed=0, formula=shared)],
          reading="Undecided: the recipe draws W_k, b_k and v_k afresh for each client, also at alpha = beta = 0, and with it the "
                  "sentence fails: two clients disagree on the labels of most inputs. With one W, b and mean for all it is true. "
                  "Which generator the paper uses is not known.")
def synthetic_iid(i):
    r"""As printed: $\alpha=\beta=0$ makes the clients of Synthetic identically distributed; then two clients' models give all
    inputs the same labels, and their inputs have one mean."""
    labels, distance = apart(i)
    return ft.at_most(labels, 0.0, "labels that differ, mean over pairs"), ft.at_most(distance, 0.0, "distance of the means")


def apart(i):
    """(share of labels that differ, distance of the means of x), both on average over pairs of clients."""
    made, pairs = i.formula(i.seed), [(j, k) for j in range(10) for k in range(j)]
    x = np.random.default_rng(i.seed).standard_normal((300, synthetic.FEATURES))
    labels = [(x @ W.T + b).argmax(1) for W, b, _ in made]
    return (float(np.mean([(labels[j] != labels[k]).mean() for j, k in pairs])),
            float(np.mean([np.linalg.norm(made[j][2] - made[k][2]) for j, k in pairs])))


same_rule = wrong("same_rule", "All clients share one W, b and one mean.", generator, shared)


@ft.claim("synthetic-recipe-apart", rejects=[same_rule], on=RECIPE,
          reading="The recipe of the generator that the paper names, three seeds. It says nothing of another generator: "
                  "s6-synthetic-iid.")
def recipe_apart(i):
    r"""By its recipe the ten clients of Synthetic at $\alpha=\beta=0$ are not identically distributed: two of them disagree on the
    labels of at least 80 % of normal inputs, on average over pairs, and their inputs have means at least 5 apart."""
    labels, distance = apart(i)
    return ft.at_most(0.8, labels, "labels that differ"), ft.at_most(5.0, distance, "distance of the means")


# ---- the rule for K on FEMNIST -----------------------------------------------------------------------------------------
WINDOWS = ("150-200", "200-300")
real_valued = wrong("real_valued", "K changes by (gbar - gamma) kappa itself.", increment,
                    lambda gamma, gbar, kappa: (gbar - gamma) * kappa)


@ft.claim("s7-femnist-k-rule", rejects=[real_valued],
          on=[ft.Instance(f"{w} s", window=w, formula=increment) for w in WINDOWS],
          reading="Undecided: an inference. It reads mean round times of the published logs at P = 0 as proportional to K, "
                  "and FedAsync's steady 0.95 s as those of K = 10. The code is not public; other causes of slow rounds are not "
                  "excluded.")
def femnist_k_rule(i):
    r"""The code behind the FEMNIST runs uses another rule than (8): with $\bar\gamma=3$, $\kappa=0.05$ the printed one never raises
    $K$ above 10, while late rounds last longer than those with $K=10$. A real-valued $K$ could have grown as much by then: each
    update adds at most 0.15, and one published run has 4138 updates of ten clients."""
    _, _, gbar, kappa = TABLE4["FEMNIST"]
    K = 10 * logged(f"round {i.window}", "FEMNIST", OURS, Q(0)) / logged("round", "FEMNIST", CONSTANT, Q(0))
    most = max(i.formula(Q(k, 10), gbar, kappa) for k in range(50))
    updates = logged("iterations", "FEMNIST", OURS, Q(0)) / 10 / 2     # of a client, by half of the time
    return (ft.at_most(most, 0, "what the printed rule adds at most"), ft.at_most(10, K, "K by the logged times", strict=True),
            ft.at_most((K - 10) / (gbar * kappa), updates, "updates that a real-valued K needs"))


# ---- equation (1) ------------------------------------------------------------------------------------------------------
def _least():
    problem = ft.Quadratic([[[1]], [["1/4"]]], [[1], [-2]])
    best = ft.optimum(problem)
    high = [problem.value([10**k]) for k in range(3)]
    moved = [best.x[0] + v for v in (Q(-1), Q(1, 100), Q(1))]
    return (*(ft.at_most(best.value, problem.value([v]), f"F at {v} is larger", strict=True) for v in moved),
            *(ft.at_most(10 * a, b, "and grows without bound: no largest value") for a, b in pairwise(high[1:])))


ft.finding("misprint-eq1", kind="misprint", check=_least,
           reading="(1) prints arg max F; the algorithm descends, and F(x_1) - F(x*) in (11) is meant to be positive.",
           survives="Everything: only arg min is used.")
