"""Messages, misalignment, weights and Laplacian as printed (Definitions 1 and 2, App. C.6), on lists of rationals or symbols."""


def dot(x, y):
    """Inner product."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def misalignment(m, n):
    """Definition 1, of two unit messages."""
    return (1 - dot(m, n)) / 2


def quarter(x):
    """|x|^2/4."""
    return dot(x, x) / 4


def minors(x, y):
    """|x|^2 |y|^2 - <x, y>^2 as Lagrange's sum of squares: four times the squared area of the triangle with these sides."""
    return sum((x[j] * y[k] - x[k] * y[j]) ** 2 for j in range(len(x)) for k in range(j))


def edges(A):
    """p_in = A_in/(1'A 1)."""
    total = sum(map(sum, A))
    return [[v / total for v in row] for row in A]


def weights(A):
    """p_i = sum_n p_in."""
    return [sum(row) for row in edges(A)]


def averages(A, w):
    """u_i = (1/p_i) sum_n p_in w_n of scalar models."""
    return [dot(row, w) / p for row, p in zip(edges(A), weights(A), strict=True)]


def energy(A, x):
    """sum over pairs of A_in (x_i - x_n)^2."""
    return sum(A[i][n] * (x[i] - x[n]) ** 2 for i in range(len(x)) for n in range(i))
