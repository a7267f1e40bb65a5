"""Local drift: Theorem 1 with the steps of its proof, sharper recursions, the usual bound, and exact moments of quadratics.

D is E|y - x|^2 for the local model y and the model x that the client started from; sigma2, sigma_g2, F2, G2 are the squares of
sigma_l, sigma_g, |grad F(x)| and |grad f_i(x)|; a = L eta_k.
"""


# ---- Appendix A.2 ------------------------------------------------------------------------------------------------------
def lemma1(n, squares):
    """(13): of the squared norms of n vectors, what bounds that of their sum."""
    return n * sum(squares)


def one_step(q, eta2, L, D, sigma_g2, F2, sigma2):
    """(22) with q for the square of the auxiliary number; eta2 = eta_k^2."""
    pull = 3 * (q + 1) * eta2
    return {"drift": (1 + 1 / q + pull * L**2) * D, "heterogeneity": pull * sigma_g2, "gradient": pull * F2,
            "noise": eta2 * sigma2}


def one_step_at_cap(k, eta2, L, D, sigma_g2, F2, sigma2):
    """(23b): (22) with q = 2k and a step within (T1)."""
    return {"drift": (1 + 1 / k) * D, "heterogeneity": sigma_g2 / (2 * k * L**2), "gradient": F2 / (2 * k * L**2),
            "noise": eta2 * sigma2}


def first_sum(k):
    """sum_{j <= k} 1/(j (j + 1))."""
    return k / (k + 1)


def second_sum(k):
    """sum_{j <= k} 1/(j (j + 1) (j + 2))."""
    return k * (k + 3) / (4 * (k + 1) * (k + 2))


def noise23g(k):
    """(23g), in units of sigma_l^2/L^2."""
    return (k**2 + 3 * k) / (24 * (k + 2))


def noise23h(k):
    """(23h), in units of sigma_l^2/L^2."""
    return (k + 1) / 24


def theorem1(k, L, sigma_g2, F2, sigma2):
    """(9)."""
    return {"heterogeneity": k * sigma_g2 / (2 * L**2), "gradient": k * F2 / (2 * L**2), "noise": (k + 1) * sigma2 / (24 * L**2)}


# ---- sharper -------------------------------------------------------------------------------------------------------------
def sharp(a, eta, r, D, G, sigma2):
    """((1 + a) r + eta G)^2 + eta^2 sigma_l^2 with r^2 = D."""
    return {"previous": (1 + a) ** 2 * D, "both": 2 * (1 + a) * eta * r * G, "gradient": eta**2 * G**2, "noise": eta**2 * sigma2}


def noise_free(steps, L, G):
    """(prod_j (1 + L eta_j) - 1) G/L."""
    product = 1
    for eta in steps:
        product = product * (1 + L * eta)
    return (product - 1) * G / L


def weighted(a, s):
    """(factor of D, of G^2/L^2, of sigma_l^2/L^2): what `sharp` is at most for any s > 0, by 2 r G L <= s L^2 r^2 + G^2/s."""
    return (1 + a) * (1 + a + a * s), a**2 + a * (1 + a) / s, a**2


# ---- the usual bound, quadratic in the number of steps -------------------------------------------------------------------
def usual(K, eta, sigma_g2, F2, sigma2):
    """For constant steps eta <= 1/(8 L K), as Adaptive Federated Optimization states it."""
    return {"heterogeneity": 30 * K**2 * eta**2 * sigma_g2, "gradient": 30 * K**2 * eta**2 * F2, "noise": 5 * K * eta**2 * sigma2}


# ---- quadratics ------------------------------------------------------------------------------------------------------------
def moments(H, b, x, steps, C):
    """[E|y_k - x|^2], k = 0..K, for grad f(y) = H y - b and additive noise of covariance C, independent over steps."""
    d = range(len(x))
    mean, V, out = list(x), [[0 * b[0] for _ in d] for _ in d], [0 * b[0]]
    for eta in steps:
        mean = [mean[i] - eta * (sum(H[i][j] * mean[j] for j in d) - b[i]) for i in d]
        A = [[(1 if i == j else 0) - eta * H[i][j] for j in d] for i in d]
        AV = [[sum(A[i][m] * V[m][j] for m in d) for j in d] for i in d]
        V = [[sum(AV[i][m] * A[j][m] for m in d) + eta**2 * C[i][j] for j in d] for i in d]
        out.append(sum((u - v) ** 2 for u, v in zip(mean, x, strict=True)) + sum(V[i][i] for i in d))
    return out
