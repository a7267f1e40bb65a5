"""Closed forms behind the figures (derived from Section 3 with unit Hessians)."""
import math


def clipped_gaussian(mean, deviation, low, high):
    """(values, probabilities) of a Gaussian rounded to integers and clipped to [low, high]."""
    def below(v):
        return (1 + math.erf((v - mean) / (deviation * math.sqrt(2)))) / 2
    values = list(range(low, high + 1))
    edges = [0.0] + [below(v + 0.5) for v in values[:-1]] + [1.0]
    return values, [edges[k + 1] - edges[k] for k in range(len(values))]


def random_steps_floor(moved, chances, spread, m):
    """Stationary E|x - x*|^2 of plain averaging on m unit quadratics, uniform p, i.i.d. random steps.

    moved: k of each step count, a client at x moving by k (xi_i - x): 1 - (1 - eta)^tau for plain steps, with a proximal
    term [1 - (1 - eta (1 + mu))^tau]/(1 + mu). spread = sum_i |xi_i - x*|^2.
    x+ - x* = (1 - mean k_i)(x - x*) + mean k_i (xi_i - x*) with independent k_i.
    """
    first = sum(k * q for k, q in zip(moved, chances, strict=True))
    variance = sum(k * k * q for k, q in zip(moved, chances, strict=True)) - first**2
    shrink = (1 - first) ** 2 + variance / m
    return variance * spread / m**2 / (1 - shrink)
