"""Instances for stability: thresholds as symbols and as tables, mean against mean square, Markov participation."""
from fractions import Fraction as Q

from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.modes import Chain, Markov
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.instances import line, plane

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

P = ("9/10", "1/2", "1/20")
SPREAD = (1, 3, 10)


def _one_client():
    k = Field("eta h p s u")
    eta, h, p, s, u = k.symbols
    return Instance("one client, symbols", line([h], [0]), Focus(eta, 1), Bernoulli([p]), domain=k, h=h, p=p, s=s, u=u,
                    says="s >= 0 measures the distance to the limit, p = 1/(1 + u)")


one_client = [_one_client()]
THRESHOLDS = {2: ("2", "1.9604", "1.2", "0.43902", "0.20994"), 4: ("2", "2.1758", "2", "0.85714", "0.41758")}
PROBABILITIES = (Q(1), Q(9, 10), Q(1, 2), Q(1, 5), Q(1, 10))


def _equal(N, p, digits, side):
    """N equal clients of curvature 1 just below or above the printed limit of eta N h."""
    step = (Q(digits) + side * Q(1, 10 ** (len(digits.partition(".")[2]) or 4))) / N
    return Instance(f"N={N}, p={p}, {'below' if side < 0 else 'above'}", line([1] * N, range(N)), Focus(step, 1),
                    Full() if p == 1 else Bernoulli([p] * N), N=N, p=p, digits=digits, side=side)


equal_clients = [_equal(N, p, text, side) for N, row in THRESHOLDS.items()
                 for p, text in zip(PROBABILITIES, row, strict=True) for side in (-1, 1)]


def _equal_symbols(n, tau):
    k = Field("a p N P")
    a, p, N, power = k.symbols
    return Instance(f"{n} clients, tau={tau}", line([1] * n, [0] * n), Focus(a, tau), Bernoulli([p] * n), domain=k, a=a, p=p, n=n,
                    N=N, P=power, says="curvature 1, a = eta h and p are symbols")


equal_symbols = [_equal_symbols(n, tau) for n, tau in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1))]


def spread(name, eta, tau, law=None, algorithm=Focus, **extra):
    """h = (1, 3, 10) on the line."""
    return Instance(name, line(SPREAD, (1, -1, 2)), algorithm(eta, tau), Bernoulli(P) if law is None else law, **extra)


mean_against_square = [spread("eta=1/100, tau=1", "1/100", 1, mean="0.9545", square="1.0063")]
damping = [spread(f"tau={tau}", "1/100", tau, square=text)
           for tau, text in ((1, "1.0063"), (2, "0.9988"), (5, "0.9838"), (20, "0.9674"))]


def _frozen(tau):
    k = Field("h2 h3 p2 p3")
    h2, h3, p2, p3 = k.symbols
    return Instance(f"eta h_1 = 1, tau={tau}", line([1, h2, h3], [0, 0, 0]), Focus(1, tau), Bernoulli([1, p2, p3]), domain=k,
                    client=1, says="the curvatures and probabilities of the other clients are symbols")


frozen = [_frozen(2), _frozen(3),
          spread("(1,3,10), eta=1/10, tau=2", "1/10", 2, Full(), client=3)]
not_frozen = spread("(1,3,10), eta=1/10, tau=1", "1/10", 1, Full())


def _first_order(n, tau):
    k = Field("eta " + " ".join(f"h{i}" for i in range(n)) + " " + " ".join(f"p{i}" for i in range(n)))
    eta, *rest = k.symbols
    return Instance(f"N={n}, tau={tau}", line(rest[:n], [0] * n), Focus(eta, tau), Bernoulli(rest[n:]), domain=k, h=rest[:n], n=n,
                    says="curvatures, probabilities and eta are symbols")


first_order = [_first_order(1, 1), _first_order(1, 3), _first_order(2, 1), _first_order(2, 4), _first_order(3, 2)]

# ---- Markov participation ---------------------------------------------------------------------------------


def keeps_its_client(stay, n=3):
    """Exactly one client a round; the chain keeps its client with probability `stay`, else moves to any other."""
    stay = Q(stay)
    matrix = tuple(tuple(stay if i == j else (1 - stay) / (n - 1) for j in range(n)) for i in range(n))
    return Chain(sets=tuple((i,) for i in range(n)), matrix=matrix)


def _slow(stay, **extra):
    return spread(f"keeps its client with probability {stay}", "1/2700", 1, keeps_its_client(stay), q=Q(1, 3), h=SPREAD, **extra)


sticky = [_slow(s, square=text) for s, text in (("1/3", "0.98955"), ("9/10", "0.98879"), ("99/100", "0.99773"))]
slow_chain = [_slow("999/1000", square="1.0000098"), *sticky]


def _markov(name, h, p, tau, correlation, eta):
    n = len(h)
    return Instance(name, line(h, range(n)), Focus(eta, tau), Markov(p, correlation, n), h=h, correlation=correlation)


def participants(law):
    """Who takes part in each mode."""
    return law.sets


def _chain(name, law, n, tau):
    k = Field("eta " + " ".join(f"h{i}" for i in range(n)))
    eta, *h = k.symbols
    return Instance(name, line(h, [0] * n), Focus(eta, tau), law, domain=k, h=h, seen=participants,
                    says="curvatures and eta are symbols")


def _chain_symbols():
    k = Field("eta p c")
    eta, p, c = k.symbols
    return Instance("one client, any chain of two states", line([1], [0]), Focus(eta, 1), Full(), domain=k, p=p, c=c,
                    transitions=[[1 - p * (1 - c), p * (1 - c)], [1 - p - c * (1 - p), p + c * (1 - p)]], seen=participants,
                    says="h = 1; stationary probability p and correlation c are symbols")


chains = [_chain_symbols(), _chain("one client, sticky", Markov("1/3", "9/10", 1), 1, 1),
          _chain("one client, tau=3", Markov("1/3", "-1/5", 1), 1, 3),
          _chain("two clients, each its own chain", Markov(("1/2", "1/5"), ("3/5", "1/2"), 2), 2, 1),
          _chain("two clients in turn, sticky, tau=2", keeps_its_client("99/100", 2), 2, 2)]


# ---- any participation with a step that knows the smallest weight -----------------------------------------


def _theorem_step(h, q):
    """The largest step of Theorem 1 (strongly convex part) that is surely admissible: q^2 in place of q^1.5/sqrt(N)."""
    mu, L, N = min(h), max(h), len(h)
    return min(Q(mu) / (9 * N * L * L), Q(q) ** 2 / (8 * L * N))


def _any(name, h, law, q, tau=1):
    eta = _theorem_step(h, q)
    return Instance(name, line(h, range(len(h))), Focus(eta, tau), law, h=h, q=q)


def random_participation(draw):
    """Two or three clients, any curvatures, a random law over the non-empty sets, the largest step that is surely admissible."""
    n = draw(st.integers(2, 3))
    h = tuple(draw(st.integers(1, 6)) for _ in range(n))
    p = tuple(draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 4), Q(1, 10)])) for _ in range(n))
    law = Full() if min(p) == 1 else Bernoulli(p, "redraw")
    return _any("random law", h, law, min(law.averaging_weights(n)), draw(st.integers(1, 4)))


any_participation = [_any("one of three", (1, 3, 10), Uniform(1), Q(1, 3)), _any("all", (1, 3, 10), Full(), Q(1, 3), 3),
                     _any("rare client", (1, 2), Bernoulli(("1", "1/20"), "redraw"), Q(1, 40)),
                     _any("rare client, tau=4", (1, 2), Bernoulli(("1", "1/20"), "redraw"), Q(1, 40), 4)]

# ---- reference rates --------------------------------------------------------------------------------------
REFERENCE = {"full": (Full(), (".4422", ".4360", ".4578")), "one uniform client": (Uniform(1), (".8405", ".7757", ".8229")),
             "Bernoulli(.9,.5,.1)": (Bernoulli(("9/10", "1/2", "1/10"), "redraw"), (".9143", ".9309", ".9619")),
             "Bernoulli(.9,.5,.01)": (Bernoulli(("9/10", "1/2", "1/100"), "redraw"), (".9902", ".9942", "1.0004"))}
reference = [Instance(f"{method}, {name}", plane(), make("1/20", 4), law, square=text if text[0] == "1" else "0" + text)
             for name, (law, texts) in REFERENCE.items()
             for (method, make), text in zip((("FOCUS", Focus), ("SCAFFOLD", Scaffold), ("MIFA", Mifa)), texts, strict=True)]


def rare_client(eta, p):
    """One client of curvature 1 that takes part with probability p."""
    return Instance(f"p={p}", line([1], [0]), Focus(eta, 1), Full() if p == 1 else Bernoulli([p]))

# in numbers what the others prove in symbols
illustrate([*frozen])
