"""FedNova (NeurIPS 2020), Theorem 3, eq (147), when tau depends on the gradients of its own round. One client, F = x^2/2,
gradients x + noise, noise +1 or -1 with probability 1/2 each time; tau = 1 if the first noise is +1, else tau = 2;
tau_eff = 1 in every round; T = 15000 and the prescribed eta = sqrt(m/(tau T)) = 1/150, E tau = 3/2; exact fractions throughout."""
from fractions import Fraction as Q

eta, L, sigma2, m, tau_eff, beta2, kappa2, T, x0, checks = Q(1, 150), 1, 1, 1, 1, 1, 0, 15000, Q(-151, 599), []
runs = [(Q(1, 2), (1,)), (Q(1, 4), (-1, 1)), (Q(1, 4), (-1, -1))]  # (probability, noise of the gradients drawn)
def server(x, noise):  # (12), m = 1 and vanilla steps, |a|_1 = tau: x + tau_eff Delta / tau
    y = x
    for v in noise:
        y -= eta * (y + v)
    return x + tau_eff * (y - x) / len(noise)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("probabilities", sum(q for q, _ in runs), "=", 1)
show("A2: mean of the first noise", sum(q * v[0] for q, v in runs), "=", 0)
show("A2: mean of the second noise, given the first", sum(q * v[1] for q, v in runs if len(v) > 1), "=", 0)
show("A2: largest squared noise against sigma^2", max(z * z for _, v in runs for z in v), "<=", sigma2)
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3, one client, x={x}", x**2, "=", beta2 * x**2 + kappa2)
show("eta^2 tau T at the mean number of steps, against m", eta**2 * sum(q * len(v) for q, v in runs) * T, "=", m)
show("(152), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L * 2) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(152), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
def mean(x):  # of one round from x
    return sum(q * server(x, v) for q, v in runs)
show("E x_1 = x_0, hence E x_t = x_0 for every t", mean(x0), "=", x0)
show("the mean round is affine: value at 2 against 2 f(1) - f(0)", mean(Q(2)), "=", 2 * mean(Q(1)) - mean(Q(0)))
A = max(m * tau_eff * Q(t, t**2) for t in (1, 2))  # (143), the larger; |a|_2^2 = tau
B = max(t - 1 for t in (1, 2))  # (144), the larger
rhs = 4 * (x0**2 / 2) / (eta * tau_eff * T) + 4 * eta * L * sigma2 * A / m + 6 * (eta * L) ** 2 * sigma2 * B  # kappa = 0
show("(147): E|grad F(x_t)|^2 >= (E x_t)^2 = x_0^2 in every round, against the right side", x0**2, ">", rhs)
before = sum(Q(1, 4) * (server(Q(0), (v,)) + sum(server(Q(0), (v, u)) for u in (1, -1)) / 2) for v in (1, -1))
show("cause: with tau = 1 or 2 drawn before the gradients the mean round fixes the minimiser", before, "=", 0)
print("VERDICT:", "all hypotheses hold and (147) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
