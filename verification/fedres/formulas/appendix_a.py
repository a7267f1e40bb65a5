"""Appendix A: the right sides of Lemmas 1 to 4, as terms {name: value}."""


def lemma1(gamma, along, distance2):
    """f(a) - f(b), along = (a - b) . grad f(c), distance2 = |a - c|^2."""
    return {"gradient": along, "curvature": gamma / 2 * distance2}


def lemma2(beta, grad2):
    """f(x) - f(x*)."""
    return {"gradient": grad2 / (2 * beta)}


def lemma3(c, root, r):
    """B_r; root = sqrt(d/c)."""
    return {"start": 1 / (c * r), "floor": root}


def lemma3_sharper(c, root, r):
    """B_r where 2 c root <= 1, from the repaired induction: Lemma 3 with 1/(cr) made smaller."""
    return {"start": (1 - 2 * c * root) / (c * (r + 1)), "floor": root}


def lemma4(shrunk, c, d, first):
    """B_r; shrunk = (1 - c)^(r-1), first = B_1."""
    return {"start": shrunk * first, "floor": d / c}


def induction_of_lemma3(c, root, r):
    """The bound on B_{r+1} that the printed induction reaches by putting the bound at r, t, into B - cB^2 + d, d = c root^2."""
    t = 1 / (c * r) + root
    return t - c * t * t + c * root * root


def beta_cap(gamma, N):
    """The largest strong convexity of F."""
    return gamma / N
