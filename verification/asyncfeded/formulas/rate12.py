"""(12), what inserting its server step into (11) gives, and Section 5.3. log = ln(K + 1); roots are given."""


def printed(rootK, rootN, rootT, theta, gap, sigma2):
    """The two terms of (12) without their hidden constants; sigma2 = sigma_l^2 + sigma_g^2."""
    return {"start": gap / (rootK * rootN * rootT), "noise": sigma2 / (rootK**3 * rootN**3 * rootT * theta)}


def server_step(rootK, rootN, rootT):
    """eta_g = 1/sqrt(K N T)."""
    return 1 / (rootK * rootN * rootT)


def substituted(rootK, rootN, rootT, L, theta, gap, sigma2):
    """The orders that (11) gives at that step."""
    return {"start": gap / (rootK * rootN * rootT), "noise": sigma2 * rootK / (rootN**3 * rootT * L * theta)}


def coefficients(share):
    """(of sigma_l^2, of sigma_g^2) before the corrected order; share = ln(K + 1)/K, in (0, 1)."""
    return (4 + share) / 72, (4 + 3 * share) / 18


def quotient(K, share, L):
    """The noise term of sigma_l^2 that (11) gives, over the printed order."""
    return K**2 * (4 + share) / (72 * L)


def span(K, L, M, log):
    """X with Theta = 1 - Gamma^2 X."""
    return K * log / 3 + 4 * K**2 * L**2 * M
