"""The same worst cases as in `pep`, written for PEPit: the rounds there run on its points unchanged."""
import warnings


class Programme:
    """max measure(x, after, star) over n clients with curvature in [mu, L]."""

    def __init__(self, n, mu, L):
        from PEPit import PEP
        from PEPit.functions import SmoothStronglyConvexFunction
        from PEPit.point import null_point
        self.n, self.problem, self.null = n, PEP(), null_point
        self.clients = [self.problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L) for _ in range(n)]
        self.F = sum(self.clients[1:], self.clients[0]) / n

    def zero(self):
        return self.null

    def vector(self):
        return self.problem.set_initial_point()

    def gradient(self, i, x):
        return self.clients[i].gradient(x)

    def dot(self, u, v):
        return u * v

    def value(self, x):
        return self.F(x)

    def minimiser(self):
        return self.F.stationary_point()

    def solve(self, objective, conditions):
        for c in conditions:
            self.problem.set_initial_condition(c)
        self.problem.set_performance_metric(objective)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what PEPit and cvxpy say of each other's versions
            return self.problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
