"""FedNova (NeurIPS 2020), Appendix D.1: F_1, F_2 = (x-a)^2/2, (x+a)^2/2, p = (1/2, 1/2), FedAvg, tau_1, tau_2 steps
Printed: kappa^2 = 2 w_1 w_2 a^2 and chi^2 = (tau_1-tau_2)^2/(2 tau_1 tau_2). Exact fractions throughout."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
for t1, t2, a in ((9, 1, Q(1)), (2, 5, Q(3, 2))):
    p, w = (Q(1, 2), Q(1, 2)), (Q(t1, t1 + t2), Q(t2, t1 + t2))  # (6) with |a_i|_1 = tau_i
    print(f"tau=({t1},{t2}) a={a} w={w[0]},{w[1]}")
    chi2 = sum((p[i] - w[i]) ** 2 / w[i] for i in (0, 1))  # the paper's definition
    def excess(x, w=w, a=a):  # sum w_i |grad F_i|^2 - |grad F~|^2
        return w[0] * (x - a) ** 2 + w[1] * (x + a) ** 2 - (w[0] * (x - a) + w[1] * (x + a)) ** 2
    kappa2 = [excess(x) for x in (Q(0), a, Q(5, 3))]
    for k in kappa2:  # three points decide a quadratic: with beta^2 = 1, A3 is an equality with this kappa^2
        show("sum w_i |grad F_i|^2 - |grad F~|^2", k, "=", 4 * w[0] * w[1] * a * a)
    show("printed kappa^2 is too small for A3 at beta^2 = 1 (stationary point of F~, where beta^2 plays no part)",
         2 * w[0] * w[1] * a * a, "<", kappa2[0])
    show("true chi^2 against the printed one", chi2, "!=", Q((t1 - t2) ** 2, 2 * t1 * t2))
    show("true chi^2 against (tau_1-tau_2)^2/(4 tau_1 tau_2)", chi2, "=", Q((t1 - t2) ** 2, 4 * t1 * t2))
    xw = (w[0] - w[1]) * a  # minimiser of F~; grad F(x) = x
    show("|grad F(x_w)|^2 against chi^2 kappa^2 (Lemma 4 itself)", xw**2, "=", chi2 * kappa2[0])
print("VERDICT:", "kappa^2 is printed half and chi^2 twice its value" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
