"""Lemmas 3 and 4 and (94)-(128): both sides as quadratic forms in (x - x*, z_1 - x*, ..., z_N - x*), and their coefficients.

x is the server model before a round, z_i the point of client i's stored gradient. A form is a symmetric matrix of
(N + 1) d rows. Coefficients are plain numbers or symbols. `q` is the smallest averaging weight.
"""
import numpy as np

from fltheory.core.numbers import linalg


def rows(N, d, k, like):
    """Selector (d, (N + 1) d) of block k: 0 for x - x*, i for z_i - x*."""
    return linalg.identity((N + 1) * d, like)[k * d:(k + 1) * d]


def square(S, W=None):
    """The form |S v|^2, or (S v)'W(S v)."""
    return linalg.matmul(S.T, S if W is None else linalg.matmul(W, S))


def server_error(H):
    """A = |x - x*|^2."""
    return square(rows(len(H), len(H[0]), 0, H[0]))


def consensus(H, weights=None):
    """B = sum_i |x - z_i|^2 on the client rows, or weighted by w_i."""
    N, d = len(H), len(H[0])
    terms = [square(rows(N, d, 0, H[0]) - rows(N, d, i, H[0])) for i in range(1, N + 1)]
    return sum(terms if weights is None else [w * t for w, t in zip(weights, terms, strict=True)])


def gap(H):
    """F(x) - F(x*) = (x - x*)'H(x - x*)/2 with the mean Hessian H; x* need only be stationary."""
    return square(rows(len(H), len(H[0]), 0, H[0]), sum(H) / (2 * len(H)))


def sum_of_gradients(H):
    """The row map v -> sum_i grad f_i(x) = N grad F(x)."""
    return linalg.matmul(sum(H), rows(len(H), len(H[0]), 0, H[0]))


def gradient_square(H):
    """|grad F(x)|^2."""
    return square(sum_of_gradients(H)) / len(H) ** 2


# ---- coefficients -----------------------------------------------------------------------------------------
def lemma3(eta, N, L, mu):
    """(87): factors of A, of F(x) - F* (on the left) and of B."""
    return 1 - eta * mu * N / 2, 2 * eta * N * (1 - 2 * eta * N * L), 8 * eta * L**2 * N / mu


def lemma4(eta, N, q):
    """(97) as printed: factors of B before the round and of |grad F|^2 after it."""
    return 1 - q / 3, 16 * eta**2 * N**2 / (3 * q)


def lemma4_corrected(eta, N, q):
    """The same with the factor N of a stacked norm kept: 9 eta^2 N^3/q."""
    return 1 - q / 3, 9 * eta**2 * N**3 / q


def eq94(L, tau):
    """Factor of the pull distance |x - z_i|^2."""
    return 4 * (tau - 1) * L**2


def eq94_convex(L, tau):
    """The same for a convex client, where gradient steps do not lengthen the change of its gradient: tau - 1 equal terms."""
    return (tau - 1) * L**2


def eq95(eta, N, L, tau):
    """Factors of the absent clients' part and of the present clients' part."""
    return 2 * L**2 * N, 8 * eta**2 * (tau - 1) ** 2 * L**4 * N


def eq96(N, L):
    return 3 * L**2 * N


def eq123(eta, N, L):
    """Factors of the decrease of F and of B."""
    return 4 / (eta * N), 16 * L**2 / N


def eq128(eta, N, q):
    return 16 * eta**2 * N**2 / q**2


def eq128_corrected(eta, N, q):
    """(128) from Lemma 4 as corrected: 9 eta^2 N^3/q times 3/q."""
    return 27 * eta**2 * N**3 / q**2


def eq110_product(eta, N, L, mu):
    """Product of the rate 1 - eta mu N/2 and the weight 1 - 8 eta L^2 N/mu."""
    return (1 - eta * mu * N / 2) * (1 - 8 * eta * L**2 * N / mu)


def eq110_step(N, L, mu, q):
    """The printed step bound under (110)."""
    return 2 * q / (3 * N * (8 * L**2 / mu + mu / 2))


def eq113(eta, N, L):
    """The left coefficient of |grad F|^2 in (113): -(eta N/2 - eta^2 N^2 L)."""
    return -(eta * N / 2 - eta**2 * N**2 * L)


# ---- Theorem 1 --------------------------------------------------------------------------------------------
def strongly_convex_rate(eta, mu, N):
    return 1 - eta * mu * N / 2


def weight_of_the_text(eta, tau, L, N):
    """Weight of the consensus error in Psi, Section 5."""
    return 1 - 8 * eta * tau * L * N


def weight_of_the_appendix(eta, L, N, mu):
    """The same in (110)."""
    return 1 - 8 * eta * L**2 * N / mu


def pl_rate(eta, beta, N):
    return 1 - eta * beta * N


def pl_weight(eta, L):
    return 1 - 4 * eta * L**2


def weight_of_the_rate(eta, L, q):
    """Weight of B beside F - F*, in its units."""
    return 2 * eta * L**2 / q


def nonconvex(eta, N):
    """(25): factor of (F(x_1) - F*)/R."""
    return 8 / (eta * N)


def nonconvex_proved(eta, N):
    """The same with 2 in place of 8."""
    return 2 / (eta * N)


def steps_strongly_convex(N, L, mu, q, tau):
    """Largest eta of Theorem 1 (23), each bound squared (None: no bound)."""
    return [(mu / (9 * N * L**2)) ** 2, None if tau == 1 else (1 / (3 * L * (tau - 1))) ** 2, q**3 / (64 * L**2 * N)]


def steps_pl(N, L, beta, q):
    """The same for (24), as printed: nothing ties the step to tau."""
    return [(3 * q / (32 * N)) ** 2, (q / (12 * beta * N)) ** 2, (q / (16 * L**2)) ** 2, q**3 / (64 * L**2 * N)]


def step_lemma4_tau(L, q, tau):
    """Square of q^1.5/(8 L (tau - 1)), the condition that Lemma 4 adds."""
    return None if tau == 1 else q**3 / (64 * L**2 * (tau - 1) ** 2)


def steps_nonconvex(N, L, q, tau):
    """The same for (25)."""
    return [None if tau == 1 else (1 / (2 * L * (tau - 1))) ** 2, q**3 / (64 * L**2 * N), q**2 / (256 * L**2 * 2 * N),
            (1 / (4 * L * N)) ** 2]


def steps_lemma4(N, L, q, tau):
    """Lemma 4 as printed."""
    return [q**3 / (64 * L**2 * N), step_lemma4_tau(L, q, tau)]


def steps_lemma4_corrected(N, L, q, tau):
    return [q**3 / (64 * L**2 * N**2), None if tau == 1 else q**3 / (128 * L**2 * (tau - 1) ** 2)]


def steps_proved(N, L, mu, q, tau):
    """The steps of Lemmas 3 and 4 and of (110), all as corrected, and q/(18LN^2)."""
    return [None if tau == 1 else (1 / (3 * L * (tau - 1))) ** 2, (1 / mu) ** 2, *steps_lemma4_corrected(N, L, q, tau),
            (eq110_step(N, L, mu, q) / 2) ** 2, (q / (18 * L * N**2)) ** 2]


def steps_of_the_rate(N, L, q, tau):
    """q/(5LN) and 1/(3L(tau-1))."""
    return [(q / (5 * L * N)) ** 2, None if tau == 1 else (1 / (3 * L * (tau - 1))) ** 2]


def admissible(bounds):
    """The smallest of squared bounds, None if there is none."""
    return min((b for b in bounds if b is not None), default=None)


def incremental_gradients(h, eta, tau, distance):
    """sum of |y_k|^2 over the tau - 1 local moves of a quadratic client: y_k = h (1 - eta h)^(k-1) (x - z)."""
    return sum((h * (1 - eta * h) ** k * distance) ** 2 for k in range(tau - 1))


def symmetric(A):
    """(A + A')/2."""
    return (A + np.swapaxes(A, 0, 1)) / 2
