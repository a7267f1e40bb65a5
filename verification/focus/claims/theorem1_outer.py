"""The outer inequalities of Theorem 1, (23) and (24): what a reader uses, without the potential between both sides."""
import fltheory as ft
from verification.focus import steps
from verification.focus.bugs import structure as wrong
from verification.focus.bugs import theorem1 as bugs
from verification.focus.crowd import one_round
from verification.focus.formulas import lemmas as f
from verification.focus.instances import line
from verification.focus.one_round import within

steps_sc = steps.squared("steps of Theorem 1 (23)", r"$\eta\le\min\{\mu/(9NL^2),1/(3L(\tau-1)),q^{3/2}/(8L\sqrt N)\}$, squared",
                         lambda i: f.admissible(f.steps_strongly_convex(i.n, i.L, i.mu, i.q, i.tau)))
steps_pl = steps.squared("steps of Theorem 1 (24)",
                         r"$\eta\le\min\{3q/(32N),q/(12\beta N),q/(16L^2),q^{3/2}/(8L\sqrt N),q^{3/2}/(8L(\tau-1))\}$, squared",
                         lambda i: f.admissible([*f.steps_pl(i.n, i.L, steps.pl_constant(i), i.q),
                                                 f.step_lemma4_tau(i.L, i.q, i.tau)]))


def _outer(i, name, rate, weight):
    """E V(x_R) <= rate^{R-1} (E V(x_1) + weight B_0) for R = 2, 3, 5 and the last, whatever the state before round 0."""
    s, last = one_round(i), i.extra.get("rounds", 6)
    V = s.after(getattr(s, name))
    first, out = {"server": V, "consensus": weight * s.B}, []
    for R in range(2, last + 1):
        V = s.after(V)
        if R in (2, 3, 5, last):
            out += within(i, V, f"R = {R},", **{k: rate ** (R - 1) * form for k, form in first.items()})
    return out


def crowd(rule, sizes, rounds, h=1):
    return [steps.largest(rule, f"{n} equal clients, one a round, {rounds} rounds", line((h,) * n, (0,) * n), ft.Uniform(1), 1,
                          units=False, rounds=rounds) for n in sizes]


@ft.claim("thm1-sc-outer", on=[*steps.at_largest("sc", steps.CONVEX[:-2], (1, 4)), *crowd("sc", (12, 64, 256), 40)],
          needs=[steps.convex, steps.participation, steps_sc], bound=True, rejects=[bugs.slow_server, wrong.tracking_reset],
          search=ft.Search((ft.Family("random quadratics, every state", steps.quadratics("sc", (1, 6)),
                                      steps.corners(many=10, spread=(1, 1000))),), tries=60),
          ends=steps.CONVEX_ENDS | {"clients": (1, 256), "rounds": (40, 40)},
          reading="B_0 before round 0, since B_{-1} does not exist; first R rounds for few R. thm1-rate proves the same rate "
                  "for F - F*, "
                  "which costs a factor L/mu for the distance.")
def thm1_sc_outer(i):
    r"""On quadratics at the printed steps of (23), from every state before round 0: $E\|x_R-x^\star\|^2\le(1-\eta\mu
    N/2)^{R-1}\Psi_1$ with
    $\Psi_1=EA_1+(1-8\eta L^2N/\mu)B_0$, the potential at the start alone.
    """
    return _outer(i, "A", f.strongly_convex_rate(i.eta, i.mu, i.n), f.weight_of_the_appendix(i.eta, i.L, i.n, i.mu))


PL = [p for p in steps.CONVEX + steps.CONCAVE if "concave F" not in p[0]]


@ft.claim("thm1-pl-outer", on=[*steps.at_largest("pl-tied", PL[:9], (1, 4), units=False), *crowd("pl-tied", (6, 64, 256), 40,
                                                                                                 "8/9")],
          needs=[steps.smooth, steps.pl_condition, steps.participation, steps_pl], bound=True,
          rejects=[bugs.slow_server, wrong.tracking_reset],
          search=ft.Search((ft.Family("random quadratics, concave clients, every state", steps.quadratics("pl-tied", (-3, 6),
                                                                                                          units=False),
                                      steps.corners(many=10, spread=(1, 1000))),), tries=60),
          ends=steps.CONVEX_ENDS | {"clients": (1, 256), "rounds": (40, 40)},
          reading="As thm1-sc-outer for F - F*, in units with L near 1, with the step tied to the number of local steps (e5).")
def thm1_pl_outer(i):
    r"""On quadratics, concave clients included, at the printed steps of (24) and $\eta\le q^{3/2}/(8L(\tau-1))$:
    $EF(x_R)-F^\star\le
    (1-\eta\beta N)^{R-1}\Phi_1$ with $\Phi_1=EF(x_1)-F^\star+(1-4\eta L^2)B_0$.
    """
    return _outer(i, "gap", f.pl_rate(i.eta, steps.pl_constant(i), i.n), f.pl_weight(i.eta, i.L))
