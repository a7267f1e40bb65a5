"""Section 6 in numbers: when heterogeneity outweighs drift, what clipping does, how steep a ReLU's kink is."""


def weight_of_heterogeneity(bracket, E):
    """L Gamma/G^2 from which 3 L Gamma/(2 mu) is at least 2 A E^2 G^2/mu; bracket: A."""
    return 4 * bracket * E**2 / 3


def clipped(value, level):
    """A gradient on the line, clipped in norm."""
    return value * level / max(abs(value), level)


def kink(h, penalty):
    """A lower bound of |f'(h) - f'(-h)| for f(v) = ln(1 + exp(-max(v, 0))) + penalty v^2/2, as 1/(1 + e^h) >= 1/2 - h/4."""
    return (2 - h) / 4 - 2 * penalty * h
