"""Findings about Algorithm 2 and the variance-reduced baselines."""
import fltheory as ft
from verification.fednova.claims import variance_reduction as claims
from verification.fednova.formulas import variance_reduction as v
from verification.fednova.instances import variance_reduction as I

ft.finding("e6", kind="wrong-formula", breaks="alg2-line13-as-printed", at=("listed, second round",),
           script="witnesses/e6.py",
           step="line 13 takes d_i from the model difference, which was made with gradients that contain c_i",
           reading="d_i = 0 before the first round; Section 5's text defines d_i by raw gradients.",
           survives="With c_i subtracted again (alg2-raw-fixed-point) the true minimiser is fixed. The printed form "
                    "still converges on the listed instance, alternating, with a bias of the order of eta. If d_i is "
                    "meant to stack the corrected gradients, line 13 fits the text, and what is off is the text.")


def _exact_or_no_reduction():
    """Three unit Hessians, unequal p and steps: SCAFFOLD's limit is x*, VRL-SGD's is FedAvg's surrogate minimiser."""
    control = next(i for i in I.control if i.name == "unit Hessians")
    own = control.but(algorithm=I.vrlsgd(control.eta, control.taus, None))
    exact, biased = (claims.read(i.op.fixed_point().x) for i in (control, own))
    H, e, p = control.problem.H, control.problem.b, control.p
    return [ft.equal(v.gradient(H, e, p, exact), 0 * exact, "SCAFFOLD's coded limit minimises F: eliminated"),
            ft.equal(v.gradient(H, e, I.by_steps(p, control.taus), biased), 0 * biased,
                     "VRL-SGD's coded limit has weights p_i tau_i: not reduced"),
            ft.at_most(exact, biased, "the two limits differ", strict=True),
            ft.at_most(claims.radius(control)[1], 1, "SCAFFOLD converges", strict=True),
            ft.at_most(claims.radius(own)[1], 1, "VRL-SGD converges", strict=True)]


ft.finding("e11", kind="remark", breaks="sec1-vr-scaffold", check=_exact_or_no_reduction,
           reading="The paper does not define SCAFFOLD and VRL-SGD for unequal steps; each client's own tau_i is used. "
                   "Deterministic quadratics, full participation.",
           survives="As an informal remark about other versions (a common divisor, partial participation, FedProx at "
                    "fixed alpha < 1).")
