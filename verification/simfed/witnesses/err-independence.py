"""Similarity-perturbed FedAvg: S sigma^2 in Lemmas 4, Theorems 2 and 4 needs noise that is uncorrelated across clients.
Equal clients f_i = w^2/2, p_i = 1/C, E = 1, w_0 = 0, and one draw of +-1 for all clients; exact fractions throughout."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
def step(w, u, noise, gamma, beta):  # (3), (5) for every client; beta = 1 is FedAvg
    return [v - gamma * (beta * v + (1 - beta) * q + n) for v, q, n in zip(w, u, noise, strict=True)]
for signs in ([1, 1], [-1, -1]):
    w = step([Q(3)] * 2, [Q(3)] * 2, signs, Q(1, 10), Q(9, 10))
    show("equal clients stay equal: local models", w[0], "=", w[1])
    show("and the perturbation changes nothing", w[0], "=", step([Q(3)], [Q(3)], signs[:1], Q(1, 10), Q(1))[0])
show("mean of each client's noise", Q(1 - 1, 2), "=", 0)
def second(gamma, rounds):  # E w_t^2: w' = (1 - gamma) w - gamma n
    v = [Q(0)]
    for _ in range(rounds):
        v.append((1 - gamma) ** 2 * v[-1] + gamma**2)
    return v
S, beta, g, v = Q(1, 2), Q(9, 10), Q(1, 10), second(Q(1, 10), 1)[1]  # C = 2
show("Lemma 4 of App. A at w_0 = 0, right side", 4 / g * (-v / 2) + 2 * g * S + 8 * g**2 * (1 + v), "<", 0)
show("sharper form lema4s", 2 / g * (-v / 2) + g * S + 2 * g**2 * (1 + v) / 3, "<", 0)
g, v = Q(1, 100), second(Q(1, 100), 1)[1]
show("Lemma 4 of App. B at t = 0", 2 / g * (-v / 2) + g * S + 4 * g**2 * (1 + v) * (4 + (1 - beta) ** 2), "<", 0)
T, root, S = 1024, 32, Q(1, 100)  # C = 100, gamma = 1/(2 sqrt(T E))
v = second(Q(1, 64), T)
left, G2 = sum(v[:T]) / T, 1 + v[T]
show("Theorem 2 (alpha = 0) against the average of E|grad f|^2", S / root + 2 * G2 / T, "<", left)
show("Theorem 4", S / (2 * root) + G2 / T * (4 + (1 - beta) ** 2 + 8 * (1 - 1 / beta) ** 2), "<", left)
show("thm2s", S / (2 * root) + G2 / (6 * T), "<", left)
show("thm4s", S / (2 * root) + G2 / T * (1 + (1 - beta) ** 2) / 4, "<", left)
S, rest = Q(1, 2), Q(1, 4) / (1 - Q(1, 4))  # C = 2, gamma = 1/2: the limit of E w_t^2
show("stationary", Q(1, 4) * rest + Q(1, 4), "=", rest)
show("thm1s against E f - f_*", S / 4, "<", rest / 2)
show("thm3s", S / 4 + (1 - beta) ** 2 * (1 + rest) / 2, "<", rest / 2)
show("Theorem 1 survives", rest / 2, "<=", S / 4 + 2 * (1 + rest))
print("VERDICT:", "with one draw for all clients S sigma^2 is too small" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
