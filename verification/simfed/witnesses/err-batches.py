"""Mini-batches drawn as a partition are not unbiased given the past: the cross term that the proofs erase is -gamma.
Samples 1 and -1, f(w) = mean of (w - x)^2/2 = w^2/2 + 1/2, batches of one sample, w_0 = 0; exact fractions throughout."""
from fractions import Fraction as Q
from itertools import permutations, product

gamma, samples, checks = Q(1, 10), (1, -1), []
def show(text, left, right):
    checks.append(left == right)
    print(f"{text}:  {left} = {right}  [{checks[-1]}]")
def second(order):
    w1 = -gamma * (0 - order[0])
    return w1, w1, w1 - order[1]          # w_1, the gradient of f there, the stochastic gradient of the second step
def mean(values):
    return sum(values, Q(0)) / len(values)
split, free = ([second(o) for o in orders] for orders in (list(permutations(samples)), list(product(samples, repeat=2))))
show("partition: E[w_1 (grad f - g)]", mean([w * (f - g) for w, f, g in split]), -gamma)
show("partition: E[grad f - g], in total", mean([f - g for _, f, g in split]), 0)
show("partition: grad f - g given w_1 = gamma", mean([f - g for w, f, g in split if w == gamma]), -1)
show("independent batches: E[w_1 (grad f - g)]", mean([w * (f - g) for w, f, g in free]), 0)
show("independent batches: grad f - g given w_1 = gamma", mean([f - g for w, f, g in free if w == gamma]), 0)
print("VERDICT:", "a partition is biased given the past" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
