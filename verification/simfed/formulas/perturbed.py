"""The perturbed method's drifts (Appendix B, Lemmas 1, 2 and 4) and what Theorem 4 makes of them; G2, sigma2 are squares.

gamma, last: steps of this round and of the one before it, where last = 0 stands for the first round. k local steps of E are done.
"""
from verification.simfed.formulas import theorems


def pair_bound(last, E, G2):
    """(99): E|u_i - u_j|^2."""
    return {"neighbours": 4 * last**2 * E**2 * G2}


def pair(last, E, rows):
    """The largest |u_i - u_j| per unit of G; rows: the one-norm of P_i - P_j."""
    return last * E * rows


def lemma2(gamma, last, beta, E, G2):
    """(107): E|wbar_k - wtilde_k^i|^2."""
    return {"local": 4 * gamma**2 * E**2 * G2 * (4 + (1 - beta) ** 2), "neighbours": 32 * last**2 * (1 - 1 / beta) ** 2 * E**2 * G2}


def distance(gamma, last, beta, k, E, own, away, rows):
    """The largest |wbar_k - wtilde_k^i| per unit of G; own: p_i, away: |beta - p_i|, rows: the one-norm of p - P_i."""
    return gamma * k * (1 - own + away) + (1 - beta) * last * E * rows


def sharp(gamma, last, beta, E):
    """A bound of it for every graph, without a division by beta: (3 - beta) gamma E for a constant step."""
    return (2 * beta * gamma + (1 - beta) * (gamma + 2 * last)) * E


def averaged(gamma, last, beta, k, E, G2):
    """Of sum_i p_i E|wbar_k - wtilde_k^i|^2: gamma^2 G^2 s_k for a constant step."""
    return {"mean": (1 - beta) ** 2 * gamma**2 * k**2 * G2, "points": (beta * gamma * k + (1 - beta) * last * E) ** 2 * G2}


def lemma4(L, gamma, last, beta, S, sigma2, G2, E):
    """(192) beside 2/(gamma E) times the decrease of f."""
    drift = lemma2(gamma, last, beta, E, G2)
    return {"noise": gamma * L * S * sigma2, **{name: L**2 * part for name, part in drift.items()}}


def uniform(beta):
    """A' of the sharp Lemma 2 in place of the bracket of Theorem 4."""
    return (3 - beta) ** 2 / 4


def mean(beta):
    """A'' of the averaged distance."""
    return (1 + (1 - beta) ** 2) / 4


def theorem4(bracket, L, beta, gap, S, sigma2, G2, E, T, root):
    """Theorem 4 with another constant in place of its bracket; bracket: a function of beta, None for the printed one."""
    printed = theorems.theorem4(L, beta, gap, S, sigma2, G2, E, T, root)
    return printed if bracket is None else printed | {"drift": E * G2 / T * bracket(beta)}


def neighbours(edges):
    """P_in = p_in/p_i."""
    return [[v / total for v in row] for row, total in ((row, sum(row)) for row in edges)]


def one_norm(first, second):
    """The one-norm distance of two rows."""
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))
