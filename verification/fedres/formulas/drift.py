"""How far parameters drift in a round whose gradients have norm at most 1 (Appendices C and D); exact in rationals."""
from fractions import Fraction


def personal(lam, K):
    """theta_i in Step 1: K steps of length lam (the lam G K of Lemmas 5 to 8)."""
    return lam * K


def printed(eta, K):
    """w_i in Step 2, as the proof of Lemma 8 bounds it: eta G K."""
    return eta * K


def corrected(eta, K, N):
    """w_i in Step 2 of Option II once control variates exist: g_i - c_i + c has norm up to 3 - 2/N."""
    return eta * K * (3 - Fraction(2) / N)
