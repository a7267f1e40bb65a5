"""Findings about stability: slow chains, one step for all laws, independence between rounds."""
from fractions import Fraction as Q

from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most
from verification.focus.claims.figures import SURE, below
from verification.focus.claims.stability import square_rate
from verification.focus.formulas import stability as f
from verification.focus.instances import stability as I
from verification.focus.instances.figures import MC, Digits

finding("markov-slow-chain", kind="counterexample", breaks="conj-markov-qmin-step",
        at=("keeps its client with probability 999/1000",), script="witnesses/markov_slow_chain.py",
        reading="The belief that exact convergence extends to Markov participation, in mean square and at Theorem 1's steps.",
        survives="The mean and typical runs converge (diverges-in-mean-square). A step that also depends on the mixing time: "
                 "conj-markov-restricted, conj-markov.")


def _typical_runs():
    out = []
    for i, rounds in ((I.damping[0], 500), (I.slow_chain[0], 5000)):
        measured = i.but(simulate=MC | {"rounds": rounds, "metrics": {"digits": Digits(i.problem)}}).run
        start, end = (measured.interval(r, "digits", SURE) for r in (0, -1))
        out += [at_most(Q(1), square_rate(i, 1e-9)[0], f"{i.name}: mean-square rate above 1", strict=True),
                at_most(i.op.rate(), 1.0, f"{i.name}: mean rate", strict=True),
                below(end, start, f"{i.name}: mean of log10(|x - x*|/|x*|) after {rounds} rounds, against the start")]
    return out


finding("diverges-in-mean-square", kind="empirical", check=_typical_runs,
        says="Where we say that FOCUS diverges its mean square grows. In both examples rare long absences carry that growth: the "
             "mean converges, and so does a typical run, by the mean of log10|x - x*| over 256 seeds.",
        reading="Mean-square convergence is what the paper's theorems state; 'exact convergence' in its Limitations names none.",
        survives="Convergence of the mean and of typical runs; almost sure convergence is not proved here.")


def _one_step_for_all():
    """A given step is unstable for all small enough p, and stable at p = 1."""
    eta = Q(1, 10)
    rare = Q(1, 25)
    limit = f.threshold(rare)
    below = I.rare_client(eta, rare)
    return (at_most(limit, eta, "one client, eta h = 1/10: limit 2p/(2-p) at p = 1/25 lies below", strict=True),
            at_most(Q(1), square_rate(below)[0], "its mean-square rate is above 1", strict=True),
            at_most(Bounds(*square_rate(I.rare_client(eta, Q(1)))), Q(1), "while p = 1 converges", strict=True))


finding("e19", kind="remark", breaks="sec5-1-any-participation", check=_one_step_for_all,
        reading="One step size for every participation scheme with non-zero probabilities.",
        survives="Steps that know the smallest weight, as in Theorem 1 (sec5-1-any-participation).")


def _dependent_rounds():
    """At the same step and the same p_i, q_i the rate of Theorem 1 holds for independent rounds and fails for a slow chain."""
    eta, mu, N = Q(1, 2700), Q(1), 3
    rate = 1 - eta * mu * N / 2
    return (at_most(square_rate(I.slow_chain[1], 1e-7)[1], rate, "independent rounds (stay probability 1/3): rate of Theorem 1"),
            at_most(rate, square_rate(I.slow_chain[0], 1e-9)[0], "stay probability .999: above it", strict=True))


finding("ass1-independence", kind="missing-hypothesis", breaks="conj-markov-qmin-step",
        at=("keeps its client with probability 999/1000",), check=_dependent_rounds,
        step="every proof conditions on the past and uses the marginal p_i of the next round",
        reading="Assumption 1 as printed: it fixes p_i and q_i of a round and says nothing about different rounds. Only the "
                "Limitations say that the proofs do not cover Markov participation.",
        survives="Rounds that are independent of each other, any dependence between clients within a round.")
