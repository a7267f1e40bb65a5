"""Algorithm 1 with M of C clients sums p_i w_i over them without dividing: the model shrinks by M/C a round, and Lemma 1 fails.
Three clients with f = (w - 1)^2/2, equal weights, one of them at a time, beta = 1, two steps of 1/10; exact fractions throughout."""
from fractions import Fraction as Q

C, M, E, gamma, p, checks = 3, 1, 2, Q(1, 10), Q(1, 3), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<": left < right, "!=": left != right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def local(w, u=None, beta=1):
    for _ in range(E):
        at = w if beta == 1 else beta * w + (1 - beta) * u
        w = w - gamma * (at - 1)
    return w
fixed = Q(19, 219)
show("one client's weight times its model, at the fixed point", p * local(fixed), "=", fixed)
show("which is far from the optimum 1", fixed, "<", Q(9, 100))
w = Q(1)
for _ in range(5):
    w = p * local(w)
show("from the optimum, after five rounds", w, "<", Q(1, 10))
show("divided by p the optimum rests", p * local(Q(1)) / p, "=", 1)
beta, wbar, last = Q(1, 2), Q(1, 2), [Q(1, 2)] * C          # Lemma 1 in the second round, absent models stale, complete graph
here = local(wbar, wbar, beta)
last[0], wbar = here, p * here                              # client 0 alone took part
u = [(sum(last) - last[k]) / (C - 1) for k in range(C)]
mean = sum(p * (beta * wbar + (1 - beta) * v) for v in u)   # weighted mean of the perturbed points at k = 0
show("Lemma 1 at k = 0 of the second round", mean, "!=", beta * wbar + (1 - beta) * wbar)
print("VERDICT:", "the printed sum shrinks the model and breaks Lemma 1" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
