"""The stacked round on quadratics at Theorem 3's step: its spectral radius is at most kappa, on every graph."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.simfed import bugs
from verification.simfed.formulas import order as f
from verification.simfed.formulas.theorems import kappa_ours
from verification.simfed.instances import FOUR, SWAP, UNEQUAL, complete, matching, ours, ring, scalar, star
from verification.simfed.proofs import radius as proofs

ISOLATED = ft.SimilarityGraph([[0, Q(1, 10**6), 0, 0], [Q(1, 10**6), 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
BETA = ft.Variable("beta", lambda i: i.stated.beta)
DEGREES = ft.Variable("neighbours of a client", lambda i: [sum(v != 0 for v in row) for row in i.graph.adjacency])
ENDS = {"clients": (2, 100), "dimension": (1, 2), "local steps": (1, 100), BETA: (Q(1, 1000), 1), "condition number": (1, 10**8),
        DEGREES: (1, 99)}
DOMAIN = ("every client number, dimension and E, 0 < beta <= 1, symmetric p_in with p_i > 0, symmetric H_i with curvatures in "
          "[mu, L], gamma = 1/(2LE); eigenvalues of the stacked round, complex ones included")
BUGS = [bugs.one_step_less, bugs.rows_not_normalised, bugs.beta_swapped]


def at_step(name, problem, E, beta, graph, **options):
    """gamma = 1/(2LE)."""
    return ft.Instance(name, problem, ours(1 / (2 * problem.constants.L * E), E, beta, graph), ft.Full(), graph=graph, **options)


def turned(curvatures, graph):
    """Clients in the plane: one curvature 1 and one given, in axes turned by angles of tangent 2t/(1 - t^2), t = k/3."""
    H = []
    for k, h in enumerate(curvatures):
        c, s = Q(9 - k * k, 9 + k * k), Q(6 * k, 9 + k * k)
        H.append([[c * c + s * s * h, c * s * (1 - h)], [c * s * (1 - h), s * s + c * c * h]])
    return ft.Quadratic(H, [[k, 1 - k] for k in range(len(H))], [str(v) for v in graph.weights])


def listed(h, graph):
    return scalar(h, range(len(h)), graph)


alike = [at_step(f"equal curvatures, E={E}, beta={beta}", listed([1] * g.n, g), E, beta, g)
         for E, beta, g in ((1, "1/2", SWAP), (5, "1/10", UNEQUAL), (20, "9/10", FOUR), (5, "1", UNEQUAL))]
mixed = [at_step("two clients", listed([1, Q(1, 5)], SWAP), 5, "1/2", SWAP),
         at_step("three clients", listed([1, Q(1, 3), 3], UNEQUAL), 2, "1/10", UNEQUAL),
         at_step("a light cluster of high curvature", listed([1, 1, Q(1, 1000), Q(1, 1000)], ISOLATED), 3, "1/2", ISOLATED),
         at_step("plane, turned axes", turned([Q(1, 4), Q(1, 20), Q(1, 9)], UNEQUAL), 3, "1/5", UNEQUAL),
         at_step("plane, four clients", turned([Q(1, 2), Q(1, 2), Q(1, 50), Q(1, 3)], FOUR), 1, "4/5", FOUR)]


def kappa(i):
    return kappa_ours(i.stated.beta, i.mu, i.eta, i.tau)


def below(i, bound):
    """The spectral radius of the coded round against a bound: by enclosures of its eigenvalues in rationals, else in floats."""
    M = i.op_anywhere.mean_map()[0]
    if i.domain is ft.FLOAT or not isinstance(bound, Q):
        return ft.at_most(i.op_anywhere.rate(), float(bound), "spectral radius, floats")
    sums = M.sum(1)
    if (sums == sums[0]).all():   # the mean is autonomous: its factor, then all others, with the mean's taken off
        rest = M - np.outer(sums, [1] + [0] * (len(M) - 1))
        return (ft.at_most(sums[0], bound, "factor of the mean, exact"), ft.equal(sums[0], bound, "attained"),
                ft.at_most(ft.Bounds(*ft.linalg.charpoly_radius(rest)), bound, "the other eigenvalues"))
    return ft.at_most(ft.Bounds(*ft.linalg.charpoly_radius(M)), bound, "spectral radius")


# ---- what the pencil proof speaks of, on coded rounds ---------------------------------------------------------
def stacked(i):
    """The stacked round as floats: x is the mean of w before the round."""
    M = np.array(i.op_anywhere.mean_map()[0], dtype=float)
    d, p = i.d, np.array([float(v) for v in i.p])
    return M[d:, d:] + M[d:, :d] @ np.kron(p, np.eye(d)), p


def meaning(i):
    """Eigenvectors of the coded round, turned by a phase; local steps at the ends of the spectrum; one edge."""
    if i.L / i.mu > 10**4 or i.n > 6:   # floats would miss facts by rounding
        return
    (M, p), d, beta, E, L, mu = stacked(i), i.d, float(i.stated.beta), i.tau, float(i.L), float(i.mu)
    H, P = np.array(i.stated.problem.H, dtype=float), np.array(i.graph.neighbours, dtype=float)
    base, V = {"beta": beta, "E": E, "L": L, "mu": mu, "W": (1 - beta * mu / (2 * L * E)) ** E}, np.zeros((i.n * d, i.n * d))
    for k, h in enumerate(H):
        values, vectors = np.linalg.eigh(h)
        q = (1 - beta * values / (2 * L * E)) ** E
        V[k * d:(k + 1) * d, k * d:(k + 1) * d] = (vectors * (beta / (1 - q))) @ vectors.T
        for value, Qh in zip(values, q, strict=True):
            yield base | {"h": value, "Q": Qh, "val": beta / (1 - Qh)}, {}
    top = np.linalg.eigvalsh(np.kron(p, np.eye(d)) @ V @ np.kron(np.ones((i.n, 1)), np.eye(d)))[-1]
    values, vectors = np.linalg.eig(M)
    for value, x in zip(values, vectors.T, strict=True):
        z = np.kron(p, np.eye(d)) @ x
        size = np.linalg.norm(z)
        if abs(value) > 1e-9 and (size > 0.01 or size < 1e-13):
            phase = np.exp(1j) / (size if size > 0.01 else 1)
            yield from _eigenpair(base | {"Lam": top}, value, x * phase, V, np.kron(P, np.eye(d)), p, d)


def _eigenpair(base, value, x, V, P, p, d):
    z = np.tile(np.kron(p, np.eye(d)) @ x, len(p))
    weight = np.sqrt(np.repeat(p, d))

    def form(a, b):
        return np.vdot(weight * a, weight * b)
    y, a, b = x - z, value.real, value.imag
    if np.linalg.norm(z) < 1e-9:
        unit = np.tile(np.eye(d)[0], len(p))
        yield base | {"B": form(unit, V @ unit).real, "a0": a, "b0": b, "m0": abs(value) ** 2, "X0": form(x, V @ x).real,
                      "Y0": form(x, x).real, "T0": form(x, P @ x).real}, {}
        return
    B, Z, Y, T = form(z, V @ z).real, form(z, V @ x), form(y, y).real, form(y, P @ y).real
    part = x - Z / B * z
    numbers = {"B": B, "m": abs(value) ** 2, "a": a, "b": b, "Zr": Z.real, "Zi": Z.imag, "X": form(x, V @ x).real, "Y": Y, "T": T,
               "zz": form(part, part).real, "zVz": form(part, V @ part).real, "Y1": Y, "Y2": Y, "T1": T}
    points = {"u": x.real, "v": x.imag, "s": z.real, "r": z.imag}
    for name, A in (("P", P), ("V", V)):
        points |= {name + n: A @ v for n, v in points.items() if n in ("u", "v") or (name == "V" and n in ("s", "r"))}
    edge = {n: np.concatenate([y[:d].real, y[:d].imag]) if n == "yi" else np.concatenate([y[d:2 * d].real, y[d:2 * d].imag])
            for n in ("yi", "yj")}
    yield base | numbers, {n: weight * v for n, v in points.items()} | edge


# ---- search ---------------------------------------------------------------------------------------------------
SHAPES = {"star": star, "matching": matching, "ring": ring, "complete": complete}


def random_graph(rng, n):
    """Edge weights over six orders of magnitude, along a ring and any other edges."""
    A = np.array([[0 if j == k else int(10 ** rng.uniform(0, 6)) * int((j - k) % n in (1, n - 1) or rng.random() < 0.5)
                   for j in range(n)] for k in range(n)], dtype=object)
    return ft.SimilarityGraph((A + A.T).tolist())


def drawn(draw, n=None, E=None, beta=None, condition=None, shape=None, d=None):
    """Curvatures between 1/condition and 1, both attained; rationals where the state is small, else floats."""
    import hypothesis.strategies as st
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = shape or draw(st.sampled_from([*SHAPES, "random"]))
    n = n or draw(st.integers(3, 6))
    n += n % 2 if shape == "matching" else 0
    E = E or draw(st.sampled_from([1, 2, 3, 10]))
    beta = beta or draw(st.sampled_from(["1/1000", "1/20", "1/2", "4/5", "999/1000"]))
    condition = condition or draw(st.sampled_from([2, 100, 10**4]))
    graph = random_graph(rng, n) if shape == "random" else SHAPES[shape](n)
    h = [Q(1), Q(1, condition), *(Q(int(10**6 * condition ** -rng.random()) + 1, 10**6 + 1) for _ in range(n - 2))]
    h = [max(v, Q(1, condition)) for v in rng.permutation(np.array(h, dtype=object))]
    d = d or draw(st.sampled_from([1, 1, 2]))
    problem = turned(h, graph) if d == 2 else listed(h, graph)
    small = n * d <= 8
    return at_step(f"{shape}, {n} clients, E={E}, beta={beta}", problem, E, beta, graph, domain=ft.RATIONAL if small else ft.FLOAT)


CORNERS = (*({"n": 3, "E": E, "beta": beta, "condition": c, "d": 1} for E in (1, 100) for beta in ("1/1000", "999/1000")
             for c in (2, 10**8)),
           *({"n": 100, "E": 1, "beta": beta, "condition": 100, "shape": shape, "d": 1}
             for shape, beta in (("star", "1/1000"), ("matching", "1/2"), ("ring", "1/1000"), ("complete", "1/2"))),
           {"n": 20, "E": 100, "d": 2, "condition": 100, "shape": "random"})
SEARCH = ft.Search((ft.Family("quadratics on graphs", drawn, CORNERS),), tries=24)


@ft.claim("d10", on=[*alike, *mixed], rejects=BUGS, proof=proofs.every_case, meaning=meaning, domain=DOMAIN, ends=ENDS,
          search=SEARCH)
def d10(i):
    r"""On strongly convex quadratics with symmetric $p_{in}$ and $\gamma=\frac1{2LE}$ the spectral radius of the stacked round is
    at most $\kappa=1-\frac1\beta\big(1-(1-\beta\mu\gamma)^E\big)$, whatever the graph, the dimension and the axes of the $H_i$;
    attained by equal curvatures."""
    return below(i, kappa(i))


def harmonic(i):
    """1 - 1/lambda_max(sum_i p_i beta R_i^-1) as stated: exactly on the line."""
    beta, H = i.stated.beta, i.stated.problem.H
    if i.d == 1:
        return f.kappa_harmonic([ft.fraction(h[0][0]) for h in H], i.p, beta, i.eta, i.tau)
    return f.kappa_harmonic_matrices(np.array(H, dtype=float), [float(v) for v in i.p], float(beta), float(i.eta), i.tau)


@ft.claim("d10-harmonic", on=[*alike, *mixed], rejects=BUGS, proof=lambda: proofs.every_case(harmonic=True), meaning=meaning,
          domain=DOMAIN, ends=ENDS, search=SEARCH)
def d10_harmonic(i):
    r"""The same spectral radius is at most $1-1/\lambda_{\max}\big(\sum_ip_i\beta R_i^{-1}\big)$, $R_i=I-(I-\gamma\beta H_i)^E$:
    a weighted harmonic mean of the clients' own factors stands for the slowest, so that it lies below $\kappa$."""
    bound = harmonic(i)
    found = below(i, bound)
    return (*(found if isinstance(found, tuple) else (found,)), ft.at_most(bound, kappa(i) + (0 if i.d == 1 else Q(1, 10**12)),
                                                                          "against kappa"))
