"""Adversarial gradients: the exact supremum of the drifts that the proofs bound, attained by coded rounds."""
import fltheory as ft
from verification.fedres import bugs
from verification.fedres.formulas import drift as f

SIZES = [(1, 1), (1, 6), (2, 1), (2, 5), (3, 4), (9, 2), (40, 1)]


def rounds_of(make, **options):
    return [ft.Instance(f"N={N}, K={K}", None, make(K), N=N, K=K, **options) for N, K in SIZES]


def residual(option=2):
    return lambda K: ft.FedResAvg("1/10", K, personal_lr="1/7", alpha="3/2", option=option)


def everybody(i):
    return dict.fromkeys(range(i.N), i.K)


def alone(i, rounds=1):
    """The displacement of client 0 in the last round, over all gradients of norm at most 1 in all rounds. Alone in its round it
    moves the server by alpha times its own displacement."""
    found = ft.adversarial(i.algorithm, i.N, [*[everybody(i)] * (rounds - 1), {0: i.K}])
    return found, getattr(i.stated.algorithm, "alpha", 1)


@ft.claim("adv-step1", on=[ft.Instance(f"{type(a).__name__}, N={N}, K={K}", None, a, N=N, K=K)
                           for N, K in SIZES for a in (residual()(K), ft.FedResSgd("1/10", K, personal_lr="1/7"))],
          rejects=[bugs.personal_step_fewer, bugs.personal_step_with_lr],
          domain="one round of FedResSGD and FedResAvg, all gradient sequences of norm at most G in any dimension, at the listed "
                 "numbers of clients and steps")
def adv_step1(i):
    r"""Over all gradients of norm at most $G$ the largest $\|\theta_i'-\theta_i\|$ of Step 1 is $\lambda GK$, attained."""
    found = ft.adversarial(i.algorithm, i.N, [everybody(i)], leaf="theta", client=i.N - 1)
    return found.compared(f.personal(ft.fraction("1/7"), i.K), "drift of theta, in units of G")


@ft.claim("adv-step2", on=rounds_of(residual()), rejects=[bugs.variates_not_averaged, bugs.mean_not_divided, bugs.variates_dropped],
          domain="the second round of FedResAvg, Option II, all gradient sequences of norm at most G in any dimension, at the "
                 "listed numbers of clients and steps")
def adv_step2(i):
    r"""From round 2 on the largest $\|w_i-w\|$ after the $K$ local steps of Option II, over all gradients of norm at most $G$, is
    $(3-2/N)\,\eta GK$, attained: the local step is $g_i-c_i+c$, whose parts may all push the same way."""
    found, alpha = alone(i, rounds=2)
    return found.compared(ft.fraction(alpha) * f.corrected(ft.fraction("1/10"), i.K, i.N), "alpha times the drift, in units of G")


@ft.claim("adv-step2-plain", on=rounds_of(residual(option=1)), rejects=[bugs.variates_kept],
          domain="one round of FedResAvg, Option I, all gradient sequences of norm at most G in any dimension, at the listed "
                 "numbers of clients and steps")
def adv_step2_plain(i):
    r"""With Option I the largest $\|w_i-w\|$ after the $K$ local steps, over all gradients of norm at most $G$, is $\eta GK$,
    attained."""
    found, alpha = alone(i, rounds=2)
    return found.compared(ft.fraction(alpha) * f.printed(ft.fraction("1/10"), i.K), "alpha times the drift, in units of G")


def _longer_than_printed():
    found = ft.adversarial(residual()(5), 2, [{0: 5, 1: 5}, {0: 5}])
    drift, printed = found.value / ft.fraction("3/2"), f.printed(ft.fraction("1/10"), 5)
    return (ft.at_most(printed, drift, "eta G K lies below the largest drift for N = 2, K = 5", strict=True),
            ft.equal(found.reached, found.value, "which the coded rounds attain"))


ft.finding("gap-lem8-drift", kind="gap", breaks="adv-step2", check=_longer_than_printed,
           reading="The proof of Lemma 8 bounds the displacement of a local model by eta G K, as if the local step were g_i.",
           survives="The term that rests on it is not needed: lem8-corrected has none.")
