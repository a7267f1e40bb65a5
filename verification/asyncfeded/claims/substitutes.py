"""What the event-driven runs on generated data show: recorded runs of five event seeds, the first arrivals of which run again."""
import fltheory as ft
from verification.asyncfeded import bugs
from verification.asyncfeded import experiments_cells as runs
from verification.asyncfeded.experiments_read import interval, roughness, values
from verification.asyncfeded.published import CONSTANT, HINGE, OURS, RIVALS

HOW = ("Recorded: one data set, ten clients, five seeds of events and batches; sizes, models, clock and horizon are ours, the "
       "settings those that Tables 1 to 4 select for the task. A time that is never reached counts as the horizon. The first "
       "thirty arrivals run again.")
WRONG = [bugs.distance_not_divided, bugs.steps_wrong_sign, bugs.base_not_refreshed, bugs.update_on_stale_model]


def recorded(name, tenths, **more):
    """A cell whose runs are recorded, and its algorithm."""
    t = runs.task(name)
    return ft.Instance(f"{name}, P = {tenths / 10}", algorithm=runs.ours(t), domain=ft.FLOAT, task=t, P=tenths / 10, **more)


def again(i):
    """The recorded loss after thirty arrivals, by seed, against the same arrivals run now."""
    seen = values("fig3", "early", task=i.task.name, P=i.P, method=OURS)
    return ft.equal(runs.early(i.task, i.algorithm, i.task.law(str(i.P))), seen, "loss after thirty arrivals, run again")


def mean(i, quantity, method):
    """Of the seeds: seconds to the common accuracy, or maximum accuracy within the horizon."""
    longest = i.task.seconds if quantity == "common" else 100
    return float(values("fig3", quantity, longest, task=i.task.name, P=i.P, method=method).mean())


def seconds(name, steps, longest):
    """To the common accuracy, by seed, in the runs of Figure 4's substitute."""
    return values("fig4", "common", longest, task=name, steps=steps)


@ft.claim("sim-substitute", kind="empirical", on=[recorded("Synthetic", k) for k in (1, 6)], rejects=WRONG, reading=HOW,
          survives="Not general. The weight 0.1 of FedAsync, selected by the paper, is a poor one here: with 0.5 it comes nearer "
                   "(table2). On text at P = 0 the four others have higher maxima, and at P = 0.9 "
                   "AsyncFedED falls to 70 % here, unlike in the published logs.")
def substitute(i):
    r"""On generated Synthetic(1,1) with softmax regression, at $P=0.1$ and $0.6$: AsyncFedED needs less time to 75 % accuracy than
    both forms of FedAsync, and has a higher maximum than all four other methods, in the mean over five event seeds; at $P=0.1$ the
    same with $K=10$ kept is no slower. With the best of five weights $\alpha$ FedAsync stays below it within twelve seconds."""
    ours = mean(i, "common", OURS)
    out = [again(i), *(ft.at_most(ours, mean(i, "common", m), f"seconds, {m}", strict=True) for m in (CONSTANT, HINGE)),
           *(ft.at_most(mean(i, "maximum", m), mean(i, "maximum", OURS), f"maximum, {m}", strict=True) for m in RIVALS)]
    if i.P == 0.1:
        kept, adaptive = (seconds("Synthetic", steps, i.task.seconds).mean() for steps in ("K = 10", "adaptive"))
        swept = max(values("table2", "maximum", task="Synthetic", alpha=float(a)).mean() for a in runs.ALPHAS)
        selected = values("table4", "maximum", panel="steps", gbar=3, kappa=1).mean()
        out += [ft.at_most(float(kept), float(adaptive), "seconds, K = 10 kept against adaptive"),
                ft.at_most(float(swept), float(selected), "maximum in twelve seconds, FedAsync at its best weight", strict=True)]
    return out


# ---- Figure 4 ----------------------------------------------------------------------------------------------------------
FIXED = ("K = 5", "K = 10", "K = 15", "K = 20")
CONTESTS = [recorded("Synthetic", 1, steps=None), *(
    ft.Instance(f"{name}, {steps}", task=None, data=name, steps=steps, horizon=horizon)
    for name, horizon in (("Synthetic", runs.synthetic.SECONDS), ("digits", runs.digits.SECONDS), ("text", runs.text.SECONDS))
    for steps in FIXED)]


@ft.claim("fig4-adaptive-k", on=CONTESTS, rejects=WRONG,
          reading=HOW + " Undecided: P, seeds and numbers are not printed, and the published logs do not tell the runs apart. Five "
                  "seeds decide nothing at the level of this project.",
          survives="In the mean K = 5 is faster and smoother than adaptive K on all three substitutes. Against K = 10, 15 and 20 "
                   "adaptive K is smoother on digits, and faster than K = 15 and 20 on Synthetic and text.")
def adaptive_k(i):
    r"""As printed: AsyncFedED with adaptive $K$ is faster and smoother than with $K$ fixed at 5, 10, 15 or 20: its time to the
    common accuracy and the points that its accuracy falls along the way are smaller. Compared are differences by seed on the
    substitutes."""
    if i.steps is None:
        return again(i)
    adaptive, fixed = ({"task": i.data, "steps": s} for s in ("adaptive", i.steps))
    faster = seconds(i.data, "adaptive", i.horizon) - seconds(i.data, i.steps, i.horizon)
    return (ft.at_most(interval(faster), 0, "seconds, adaptive less fixed"),
            ft.at_most(interval(roughness(**adaptive) - roughness(**fixed)), 0, "points lost on the way, adaptive less fixed"))
