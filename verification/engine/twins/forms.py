"""Closed forms and small computations by hand, in plain Python."""
import math
from fractions import Fraction as Q


def floor(h, p, lr, sigma2):
    """Stationary E|x - x*|^2 of x <- x - lr (h (x - x*) + sum p_i noise_i), per coordinate of curvature h, common to all
    clients; E|noise|^2 = sigma2 is shared evenly by the coordinates."""
    share = sigma2 / len(h)
    return sum(lr * lr * share * sum(v * v for v in p) / (1 - (1 - lr * v) ** 2) for v in h)


def alternating_floor(h, p, r, lr, sigma2):
    """Stationary E x^2 of one client that is there with probability p, correlated by r: x <- (1 - lr h) x + lr noise when
    it is. Two unknowns, E x^2 1{there} and E x^2 1{away}, by Cramer's rule."""
    both = p * p + r * p * (1 - p)
    stay, join = both / p, (p - both) / (1 - p)
    a = (1 - lr * h) ** 2
    # here = a (stay here + join away) + lr^2 sigma2 p;  away = (1 - stay) here + (1 - join) away
    (a11, a12, b1), (a21, a22, b2) = (1 - a * stay, -a * join, lr * lr * sigma2 * p), (stay - 1, join, Q(0))
    determinant = a11 * a22 - a12 * a21
    return ((b1 * a22 - a12 * b2) + (a11 * b2 - a21 * b1)) / determinant


def surrogate(p_there, r, p, steps):
    """Weights of small steps of two clients under Markov participation, weighted average over those present: the mean
    step of client i is its share times its steps, averaged over the four sets in the long run."""
    out = [Q(0), Q(0)]
    for here in ((0,), (1,), (0, 1)):
        chance = math.prod((p_there[i] if i in here else 1 - p_there[i] for i in (0, 1)), start=Q(1))
        for i in here:
            out[i] += chance * p[i] / sum(p[j] for j in here) * steps[i]
    return [v / sum(out) for v in out]


def ridge(A, y, reg, convention):
    """(H, b, offset) of one client from its rows, the three conventions as printed: entry by entry."""
    m, d = len(A), len(A[0])
    scale, own = {"half-mean": (Q(1, m), reg), "half-sum": (Q(1), reg), "sum": (Q(2), 2 * reg)}[convention]
    H = [[scale * sum(A[k][i] * A[k][j] for k in range(m)) + (own if i == j else 0) for j in range(d)] for i in range(d)]
    b = [scale * sum(A[k][i] * y[k] for k in range(m)) for i in range(d)]
    return H, b, scale * sum(v * v for v in y) / 2


def softmax(A, labels, classes, reg, x):
    """Mean softmax loss of one client with its regularisation at x (class by class), by the definition."""
    f, total = len(A[0]), 0.0
    for row, label in zip(A, labels, strict=True):
        scores = [sum(row[j] * x[k * f + j] for j in range(f)) for k in range(classes)]
        total += math.log(sum(math.exp(s) for s in scores)) - scores[label]
    return total / len(A) + reg / 2 * sum(v * v for v in x)


def logistic_point(a, s, reg, lr, steps):
    """(fixed point, derivative of the round) of one client with rows a and signs s in one dimension, by bisection."""
    def slope(x):
        return sum(-t * v / (1 + math.exp(t * v * x)) for v, t in zip(a, s, strict=True)) / len(a) + reg * x

    def bend(x):
        return sum(v * v / (2 + math.exp(v * x) + math.exp(-v * x)) for v in a) / len(a) + reg
    low, high = -100.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low, (1 - lr * bend(low)) ** steps


def gap(h, b, x):
    """F(x) - F* of F = h x^2/2 - b x in one dimension, exactly, for floats h, b, x taken at their values."""
    h, b, x = Q(h), Q(b), Q(x)
    return h / 2 * (x - b / h) ** 2


def short_fractions(modulus):
    """{residue: fraction} of all n/m with 2 n^2, 2 m^2 < modulus, m prime to the modulus and n/m in lowest terms."""
    out, top = {}, math.isqrt((modulus - 1) // 2)
    for m in range(1, top + 1):
        for n in range(-top, top + 1):
            if math.gcd(n, m) == 1 and math.gcd(m, modulus) == 1:
                out[n * pow(m, -1, modulus) % modulus] = Q(n, m)
    return out


def semidefinite(M):
    """Whether all principal minors of a symmetric matrix are >= 0."""
    def minor(rows):
        if not rows:
            return Q(1)
        k, rest = rows[0], rows[1:]
        return sum((-1) ** j * M[k][c] * _minor(M, rest, [r for r in rows if r != c]) for j, c in enumerate(rows))
    n = len(M)
    return all(minor([i for i in range(n) if mask >> i & 1]) >= 0 for mask in range(1, 2 ** n))


def _minor(M, rows, columns):
    if not rows:
        return Q(1)
    return sum((-1) ** j * M[rows[0]][c] * _minor(M, rows[1:], [v for v in columns if v != c]) for j, c in enumerate(columns))


def mean_and_half_width(values, quantile):
    """Mean of a sample and Student's half width, from the definition (no skewness in a symmetric sample)."""
    n, mean = len(values), sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, quantile * spread / math.sqrt(n)


def schedules(clients, length, rounds):
    """All schedules of this many rounds, repeated for ever, in which nobody misses `length` consecutive rounds."""
    return [s for s in sequences(clients, rounds) if all(any(i in s[(t + k) % rounds] for k in range(length))
                                                         for t in range(rounds) for i in range(clients))]


def sequences(clients, rounds):
    """All sequences of sets of clients, empty ones too."""
    sets = [tuple(i for i in range(clients) if mask >> i & 1) for mask in range(2 ** clients)]
    out = [()]
    for _ in range(rounds):
        out = [s + (here,) for s in out for here in sets]
    return out


def in_blocks(schedule, length, clients):
    """Whether every client appears in each whole block of `length` rounds, the first of which starts at once."""
    blocks = [schedule[k:k + length] for k in range(0, len(schedule) - length + 1, length)]
    return all(any(i in here for here in block) for block in blocks for i in range(clients))


def in_windows(schedule, length, clients):
    """Whether nobody misses `length` consecutive rounds."""
    return all(any(i in here for here in schedule[k:k + length])
               for k in range(len(schedule) - length + 1) for i in range(clients))


def stationary_square(maps, slope, base):
    """E (slope x - base)^2 in the long run of x <- a x + b, (probability, a, b) listed."""
    a, b, aa, ab, bb = (sum(q * v for q, v in zip([m[0] for m in maps], values, strict=True)) for values in (
        [m[1] for m in maps], [m[2] for m in maps], [m[1] ** 2 for m in maps], [m[1] * m[2] for m in maps],
        [m[2] ** 2 for m in maps]))
    mean = b / (1 - a)
    square = (2 * ab * mean + bb) / (1 - aa)
    return slope ** 2 * square - 2 * slope * base * mean + base ** 2

def local_variance(h, p, members, lr, steps, sigma):
    """Of the average of a cohort's models on the line: each local step adds variance sigma^2, which later steps shrink."""
    whole = sum((p[i] for i in members), Q(0))
    return sum(((p[i] / whole) ** 2 * lr**2 * sigma**2 * sum((1 - lr * h[i]) ** (2 * k) for k in range(steps[i])) for i in members),
               Q(0))


def from_cohorts(rows, best):
    """(fixed point, mean rate, mean-square rate, E(x - best)^2) of x <- m x + c + noise; rows: (chance, m + c, c, variance)."""
    m = sum(q * (a - c) for q, a, c, _ in rows)
    mean = sum(q * c for q, _, c, _ in rows) / (1 - m)
    square = sum(q * (a - c) ** 2 for q, a, c, _ in rows)
    added = sum(q * (2 * (a - c) * c * mean + c * c + v) for q, a, c, v in rows)
    return mean, m, square, added / (1 - square) - 2 * best * mean + best**2
