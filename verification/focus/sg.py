"""SG-FOCUS: hypotheses on the step, and stationary and moving moments by the derived operator, for clients on the line."""
import fltheory as ft


def minimiser(i):
    return ft.linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))[0]


def square_root_step(i, factor):
    """(left, right) of eta <= q^1.5/(factor), both squared; factor is given squared."""
    return (i.eta**2 * factor, i.q**3)


local = ft.Hypothesis("local steps", r"$\eta\le q_{\min}^{3/2}/(8\sqrt2L(\tau-1))$, squared",
                      lambda i: square_root_step(i, 128 * i.L ** 2 * (i.tau - 1) ** 2), cap=2)
participation = ft.Hypothesis("participation", r"$\eta\le q_{\min}^{3/2}/(4L\sqrt{6N})$, squared",
                              lambda i: square_root_step(i, 96 * i.L ** 2 * i.n), cap=2)
weights = ft.Hypothesis("smallest averaging weight", r"$q_{\min}$", lambda i: (i.q, min(i.law.averaging_weights(i.n))))
never_empty = ft.Hypothesis("no empty round", r"$\sum_iq_i=1$", lambda i: (1, sum(i.law.averaging_weights(i.n))))
theorem4 = [ft.Hypothesis("strongly convex step", r"$\eta\cdot3N(16L^2/\mu+\mu/2)\le2q_{\min}$",
                                lambda i: (i.eta * 3 * i.n * (16 * i.L ** 2 / i.mu + i.mu / 2), 2 * i.q), cap=1),
                  participation, local,
                  ft.Hypothesis("local drift", r"$\eta\cdot128(\tau-1)^2L^2N\le\mu$",
                                lambda i: (i.eta * 128 * (i.tau - 1) ** 2 * i.L ** 2 * i.n, i.mu), cap=1), weights, never_empty]


def errors(i, rounds):
    """E|x_r - x*|^2 before rounds 0 .. rounds - 1 from the literal start, by the derived operator."""
    best = minimiser(i)
    return [ft.fraction(X[0, 0]) - 2 * best * ft.fraction(m[0]) + best**2 for m, X in i.op.trajectory(rounds, i.x0)]


def gap(i):
    """Stationary E F(x) - F* on the line: half the mean curvature times the squared error."""
    return i.problem.H.sum(0)[0, 0] / i.problem.n / 2 * i.op.floor()


def squared_gradient(i):
    return i.op.mean_gradient_square(i.problem, None, None)
