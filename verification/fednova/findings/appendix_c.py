"""Findings about Appendix C, the steps of Theorem 1's proof."""
import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import appendix_c as I

ft.finding("err-eq69", kind="wrong-formula", breaks="eq69-as-printed",
           at=("proximal, tau=4, free gradients", "momentum, tau=4, free gradients", "prox, alpha=9/10, two steps"),
           script="witnesses/err_eq69.py",
           step="the displacement after k < tau steps is read off the vector a of the whole run",
           reading="The first k entries of a_i; with the last k entries it would be right for the proximal solver and "
                   "momentum, and wrong for step decay.",
           survives="prefix-coefficients: (1-alpha)^(k-1-s), (1-rho^(k-s))/(1-rho); for momentum the printed side is "
                    "larger, so (85) survives.")

ft.finding("err-eq85", kind="counterexample", breaks="eq85-as-printed",
           at=("prox, alpha=9/10, two steps", "the same with noise only", "proximal, alpha=1"),
           script="witnesses/err_eq85.py",
           step="(69) enters (70)-(84): the drift of the first proximal steps is underestimated by (1 - alpha)^2",
           reading="D with the maximum over clients; alpha <= 1, so a is non-negative.",
           survives="eq85-corrected with constants from the largest prefix, and eq85-restricted for vanilla, decay and "
                    "momentum.")


def _one_sample():
    """One sample for a whole local run: unbiased at every fixed point, so Assumption 2 holds, yet (61) fails."""
    i = next(v for v in I.lem2 if v.name == "one sample for the whole run").but(problem=I.scalar([1], [0]), x0=[0],
                                                                                eta=ft.fraction("1/8"))
    r, a = I.one_round(i), f.a_vector("vanilla", 3)
    noise = [g[:, 0] - h[:, 0] for g, h in zip(r.given, r.exact, strict=True)]
    d, h = r.directions([a]), r.directions([a], "exact")
    bound = sum(c.eq61(1, [ft.fraction(1)], [a], r.square(h[:, 0])).values())
    return (ft.equal([abs(r.mean(v)[0]) for v in noise], [0, 0, 0], "each sample is unbiased at every fixed point"),
            ft.equal([r.square(v) for v in noise], [1, 1, 1], "its variance is sigma^2 = 1"),
            ft.at_most(3, r.square(sum(noise)), "lem2 would give E|sum of noise|^2 = 3 along the coded local run",
                       strict=True),
            ft.at_most(bound, r.square(d[:, 0]), "and eq 61 fails", strict=True))


ft.finding("rem-a2-martingale", kind="remark", breaks="lem2", check=_one_sample,
           reading="Assumption 2 as printed speaks of a fixed point x; it does not say that local steps use fresh "
                   "samples.",
           survives="With fresh samples at every local step the noise is a martingale difference and lem2 applies.")
