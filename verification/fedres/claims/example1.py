"""Example 1 (Section 2, Appendix B): two users, x ~ N(0, I), ratings with means mu_A, mu_B and variance sigma^2.

E(r - r_i(x))^2 = |u - mu_i|^2 + sigma^2 for a linear model u, so every formulation is a quadratic problem; the coded problems are
built from E x x' = I and E x mu_i(x) = mu_i. The variance is added by hand: it belongs to no parameter.
"""
import numpy as np
import sympy

import fltheory as ft
from verification.fedres.formulas import formulations as f
from verification.fedres.symbols import symbols

MU = np.array([[1, -1, 1, -1], [1, -1, -1, 1]])
PRINTED, CORRECTED = [1, 1, 0, 0], [1, -1, 0, 0]
SECOND = 2 * np.eye(4, dtype=int)   # twice E x x': the loss (2) has no factor 1/2
HALF, CONSTANT = ft.fraction("1/2"), 4   # the mean of |mu_i|^2
USERS = ft.Residual([SECOND] * 2, [SECOND] * 2, [SECOND] * 2, 2 * MU, 2 * MU)


def loss_halved(problem):
    """The squared loss gets a factor 1/2, which the penalty does not have."""
    return ft.Residual(*(HALF * getattr(problem, k) for k in ("A", "B", "C", "bw", "btheta")))


def second_rating_flipped(problem):
    """The second entry of both means has the sign that Appendix B prints."""
    flip = np.array([1, -1, 1, 1])
    return ft.Residual(problem.A, problem.B, problem.C, problem.bw * flip, problem.btheta * flip)


loss_halved.of = second_rating_flipped.of = "problem"


def loss(problem, models):
    """The coded mean loss of models u_i (2, 4), without sigma^2."""
    models = np.array(models, dtype=object)
    return problem.joint_value(0 * models[0], models) + CONSTANT


FIELD, S = symbols("lam", v=(4,), s=(4,))
COVERS = {"n": "2", "d": "4", "tau": "none"}
every = ft.Instance("all symbols", USERS, domain=FIELD, **S,
                    says="the two users; lambda and the moves v of w, s of theta_A are symbols")
cases = [ft.Instance(f"lambda={v}", USERS, lam=ft.fraction(v), illustrates=True, says="by a convex solver")
         for v in ("1/10", 1, 50)]


# ---- second routes ----------------------------------------------------------------------------------------
def by_sympy(formulation, at):
    """(models u_A, u_B, prediction loss) of (4) or (5) by sympy, at lambda = at."""
    lam, w = sympy.Symbol("lam"), sympy.symbols("w0:4")
    t = sympy.symbols("t0:4") if formulation == 5 else [sympy.Integer(0)] * 4
    models = [[a + sign * b for a, b in zip(w, t, strict=True)] for sign in (1, -1)]
    value = sum((a - int(m)) ** 2 for u, mu in zip(models, MU, strict=True) for a, m in zip(u, mu, strict=True)) / 2
    free = [*w, *t] if formulation == 5 else list(w)
    target = value + lam / 2 * sum(c**2 for c in t)
    found = sympy.solve([sympy.diff(target, c) for c in free], free, dict=True)[0]
    told = [sympy.lambdify(lam, sympy.cancel(sympy.sympify(c).subs(found)), "math") for c in (*models[0], *models[1], value)]
    numbers = [f(at) for f in told]
    return np.array(numbers[:8], dtype=object).reshape(2, 4), numbers[8]


def by_cvxpy(lam):
    """The prediction loss under (5), its constraint handed to the solver."""
    import cvxpy
    w, theta = cvxpy.Variable(4), [cvxpy.Variable(4), cvxpy.Variable(4)]
    errors = [cvxpy.sum_squares(w + t - m) for t, m in zip(theta, MU, strict=True)]
    penalties = [float(lam) / 2 * cvxpy.sum_squares(t) for t in theta]
    cvxpy.Problem(cvxpy.Minimize(sum(errors + penalties) / 2), [theta[0] + theta[1] == 0]).solve(solver="CLARABEL")
    return ft.fraction(float(sum(e.value for e in errors)) / 2)


# ---- (1), (4), (5) ----------------------------------------------------------------------------------------
@ft.claim("ex1-eq1", on=[every], rejects=[loss_halved], covers=COVERS,
          domain="the two users, every sigma^2; the loss is a sum of squares, at every w and theta_i")
def ex1_eq1(i):
    r"""Two users: the joint problem (1) reaches the prediction loss $\sigma^2$, at every $w$ with $\theta_i=\mu_i-w$."""
    models = [i.v + i.s, i.v - 2 * i.s]
    squares = sum(((u - mu) ** 2).sum() for u, mu in zip(models, MU, strict=True)) * HALF
    return (ft.equal(loss(i.problem, models), squares, "loss - sigma^2 = mean of |w + theta_i - mu_i|^2, at any two models"),
            ft.equal(i.problem.joint_value(i.v, MU - i.v) + CONSTANT, f.example1_loss(1, i.lam), "sigma^2 at w, mu_i - w"))


@ft.claim("ex1-eq4", on=[every], rejects=[loss_halved], covers=COVERS, domain="the two users, every sigma^2")
def ex1_eq4(i):
    r"""Two users: the single-model problem (4) reaches at best $\sigma^2+2$."""
    best = ft.optimum(i.problem.shared()).x
    around = loss(i.problem, [best + i.v, best + i.v])
    return (ft.equal(around, f.example1_loss(4, i.lam) + (i.v * i.v).sum(), "at the optimum moved by v: sigma^2 + 2 + |v|^2"),
            ft.equal(by_sympy(4, i.lam)[1], f.example1_loss(4, i.lam), "by sympy"))


@ft.claim("ex1-eq5", on=[every, *cases], rejects=[loss_halved], covers=COVERS,
          domain="the two users, every sigma^2 and every lambda > 0: the objective of (5) is a square around its solution")
def ex1_eq5(i):
    r"""Two users: (5) is solved by $\theta_A=(0,0,t,-t)=-\theta_B$, $t=2/(2+\lambda)$, with the prediction loss
    $\sigma^2+2\big(\frac\lambda{2+\lambda}\big)^2$."""
    t, paper = f.example1_theta(i.lam), f.example1_loss(5, i.lam)
    w, theta = np.array(CORRECTED, dtype=object), np.array([0 * t, 0 * t, t, -t])
    solved = ft.equal(loss(i.problem, [w + theta, w - theta]), paper, "prediction loss")
    if i.domain is ft.RATIONAL:
        return solved, ft.at_most(abs(by_cvxpy(i.lam) - paper), ft.fraction("1/1000000"), "against a convex solver")
    moved = loss(i.problem, [w + i.v + theta + i.s, w + i.v - theta - i.s]) + f.penalty([theta + i.s] * 2, i.lam)
    least = paper + f.penalty([theta] * 2, i.lam) + (i.v * i.v).sum() + (1 + i.lam / 2) * (i.s * i.s).sum()
    models, value = by_sympy(5, i.lam)
    return (solved, ft.equal(moved, least, "objective, w moved by v, theta_A = -theta_B by s"),
            ft.equal([*models[0], *models[1], value], [*(w + theta), *(w - theta), paper], "by sympy"))


@ft.claim("ex1-limits", on=[every], rejects=[loss_halved], covers=COVERS, domain="the two users, every sigma^2")
def ex1_limits(i):
    r"""Two users: the prediction loss of (5) tends to that of (1) as $\lambda\to0$ and to that of (4) as $\lambda\to\infty$."""
    t = f.example1_theta(i.lam)
    theta = np.array([0 * t, 0 * t, t, -t])
    value = loss(i.problem, [CORRECTED + theta, CORRECTED - theta])
    return (ft.equal(value, f.example1_loss(5, i.lam), "prediction loss of (5)"),
            ft.equal(ft.limit(value, "lam"), f.example1_loss(1), "lambda to 0"),
            ft.equal(ft.limit(value.substitute(lam=1 / i.lam), "lam"), f.example1_loss(4), "lambda to infinity"))


# ---- the printed optimum ----------------------------------------------------------------------------------
def single_models(printed):
    name = "w=({}, {}, {}, {})".format(*printed)
    return ft.Instance(name, USERS, domain=FIELD, w=printed, **S, says="the two users, and w moved by v")


def optimal(i):
    """The gradient of (4) vanishes at the stated model, and every other one costs the square of its distance more."""
    moved = i.w + i.v
    return (ft.equal(i.problem.shared().gradient(i.w), [0] * 4, "grad of (4) vanishes"),
            ft.equal(loss(i.problem, [i.w, i.w]), f.example1_loss(4), "excess loss 2"),
            ft.equal(loss(i.problem, [moved, moved]), f.example1_loss(4) + (i.v * i.v).sum(), "at w + v: |v|^2 more"))


@ft.claim("ex1-printed-w", on=[single_models(PRINTED)], instead="ex1-w-corrected", finding="err-11",
          at=("w=(1, 1, 0, 0)",), script="witnesses/err-11.py", step="Appendix B, optimal solutions under (1) and (4)",
          reading="Ratings as printed in Example 1, mu_A = (1, -1, 1, -1) and mu_B = (1, -1, -1, 1). Appendix B has (1, 1, 0, 0) "
                  "as optimum of (4) and inside that of (1), and mu_A as (1, 1, 1, -1): a sign is lost three times, a misprint.",
          survives="The losses of Example 1: ex1-eq1, ex1-eq4, ex1-eq5. With the sign restored Appendix B's models are optimal.")
def ex1_printed_w(i):
    r"""As printed: the optimum of the single-model problem (4) for the two users is $w=(1,1,0,0)$."""
    return optimal(i)


@ft.claim("ex1-w-corrected", on=[single_models(CORRECTED)], rejects=[second_rating_flipped], covers=COVERS,
          domain="the two users, every sigma^2")
def ex1_w_corrected(i):
    r"""The optimum of the single-model problem (4) for the two users is $w=(1,-1,0,0)$, with excess loss 2."""
    return optimal(i)
