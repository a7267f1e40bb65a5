"""FOCUS (arXiv 2503.20117v3), App. E.7 and F.5: "C_0 = 0 if clients and server start from the same model".
(75)-(76) from X_0 = 1 x_0', Y_0 = grad f(X_{-1}), X_{-1} = X_0; f_i = h_i (x - c_i)^2/2. Exact fractions."""
from fractions import Fraction as Q

h, c, x0, eta, checks = (1, 2, 4), (0, 0, 0), Q(1), Q(1, 1000), []
N = len(h)
def show(text, left, op, right):
    checks.append({"=": left == right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def grad(X):  # row 0 is the server, f_0 = 0
    return [Q(0)] + [h[i] * (X[i + 1] - c[i]) for i in range(N)]
X = [x0] * (N + 1)
show("same model everywhere: spread of X_0", max(X) - min(X), "=", 0)
Y = grad(X)                                      # Y_0 = grad f(X_{-1}) with X_{-1} = X_0
Y = [a + b - d for a, b, d in zip(Y, grad(X), grad(X))]
Y = [sum(Y)] + [Q(0)] * N                        # (75) at k = 0: C_all sends everything to the server
server = X[0] - eta * Y[0]                       # (76) at k = 0: the server moves, then participants pull
C0 = sum((server - X[i]) ** 2 for i in range(1, N + 1))   # client rows of 1 xbar_1 - X_0; row 0 would only add to it
mean_gradient = sum(grad([x0] * (N + 1))) / N
show("C_0 against the stated 0", C0, ">", 0)
show("C_0 against eta^2 N^3 |grad F(x_0)|^2", C0, "=", eta**2 * N**3 * mean_gradient**2)
print(f"C_0 = {float(C0):.3e}")
print("VERDICT:", "C_0 is not zero at a common start" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
