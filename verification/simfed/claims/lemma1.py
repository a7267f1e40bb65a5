"""Section 3.3: the perturbed point, Lemma 1, the special cases beta = 1 and alpha = 0, on rounds whose every number is known."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.simfed import bugs
from verification.simfed.formulas import graph
from verification.simfed.instances import FOUR, SWAP, UNEQUAL, complete, matching, ours, prox, scalar, star
from verification.simfed.proofs import graph as proofs
from verification.symbols import Symbols

ALL = {"n": "all", "d": "all", "tau": "all"}
FREE = "every gradient is a free symbol, so any loss and any noise; step, beta and models are symbols, too"


# ---- rounds whose every number is known -----------------------------------------------------------------------------------
class Noted:
    """A problem that notes where the round asks its clients for gradients, and what they answer."""

    def __init__(self, problem):
        self.problem, self.asked = problem, []

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def at(self, who):
        cohort = self.problem.at(who)

        def grad(y, sample=None):
            self.asked.append((y, cohort.grad(y, sample)))
            return self.asked[-1][1]
        return SimpleNamespace(p=cohort.p, n=cohort.n, grad=grad)


def one_round(name, n, steps, adjacency, method=ours, lone=None, **lists):
    """A round from free last models w with free answers: losses |w|^2/2 and a free noise e in every gradient, for one step more.

    adjacency: function of the symbols; lists: further symbols {name: number}, or extras; lone: the round starts at the free model
    x, not at the mean of w."""
    extra = {k: lists.pop(k) for k in list(lists) if not isinstance(lists[k], int)}
    s = Symbols("gamma beta x", w=n, e=n * (steps + 1), **lists)
    A = adjacency(s)
    problem = ft.Quadratic([[[1]]] * n, [[0]] * n, graph.weights(A))
    algorithm = method(s.gamma, steps, s.beta, SimpleNamespace(edges=graph.edges(A)))
    noise = [[[v] for v in s.e[k * n:(k + 1) * n]] for k in range(steps + 1)]
    x = s.x if lone else graph.dot(graph.weights(A), s.w)
    return ft.Instance(name, problem, algorithm, ft.Full(), domain=s.field, adjacency=A, w=s.w, x=x, v=s.x, e=noise,
                       **({"says": FREE} | extra))


def read(values):
    """Numbers of a round as arrays: Fractions, symbols or floats."""
    values = np.asarray(values.detach()) if hasattr(values, "detach") else np.asarray(values)
    return ft.linalg.to_fractions(values) if values.dtype == object and not hasattr(values.reshape(-1)[0], "terms") else values


def rounds(i, algorithm=None):
    """Per coded round: weights of those that take part, start, points and answers (steps, n, d), last local models, next start."""
    problem = Noted(i.network() if "network" in i.extra else i.problem.to(i.domain))
    algorithm, move = (algorithm or i.algorithm).to(problem.domain), problem.domain.array
    if "e" in i.extra:
        state = algorithm.init(problem, move([i.x]))
        state = state._replace(w=move(np.array(i.w, dtype=object)[:, None])) if hasattr(state, "w") else state
    else:
        state = algorithm.init(problem, move(np.array(i.x0, dtype=object)))
    for t in range(i.extra.get("T", 1)):
        there = np.array([int(k not in i.extra.get("absent", {}).get(t, ())) for k in range(problem.n)])
        draw = ft.everyone(problem.n, algorithm.steps, there)
        draw = draw.map(i.move) if "network" in i.extra else draw
        if "e" in i.extra:
            draw = draw._replace(xi=lambda k: move(np.array(i.e[k], dtype=object)))
        elif "network" in i.extra:
            draw = draw._replace(xi=i.noises(t, problem))
        x, problem.asked[:] = state.x, []
        state = algorithm.round(problem, state, draw)
        y, g = (np.stack([np.broadcast_to(read(v[k]), (problem.n, problem.d)) for v in problem.asked]) for k in (0, 1))
        yield read(problem.p) * there, read(x), y, g, read(getattr(state, "w", state.x)), read(state.x)


def lemma1(i):
    """Lemma 1 at every step of the coded rounds, and that their local models are those of (3)."""
    out, beta = [], i.stated.algorithm.beta
    beta, lr = (v if hasattr(v, "terms") else ft.fraction(v) for v in (beta, i.stated.algorithm.lr))
    beta, lr = (float(v) if "network" in i.extra else v for v in (beta, lr))
    for t, (p, x, points, answers, last, _) in enumerate(rounds(i)):
        w = x + 0 * answers[0]
        for k, (y, g) in enumerate(zip(points, answers, strict=True)):
            mean, stated = ((p[:, None] * v).sum(0) for v in (y, beta * w + (1 - beta) * x))
            out.append(_same(mean, stated, w, f"t = {t}, k = {k}"))
            w = w - lr * g
        out.append(_same(last[p != 0], w[p != 0], w, f"t = {t}: local models by (3)"))
    return out


def _same(left, right, scale, label):
    """Equal; in floats to 1e-12 of the largest iterate."""
    if left.dtype == object:
        return ft.equal(left, right, label)
    return ft.at_most(np.abs(left - right).max(), 1e-12 * np.abs(scale).max(), label)


# ---- the perturbed point ----------------------------------------------------------------------------------------------------
def triangle(s):
    return [[0, s.a[0], s.a[1]], [s.a[0], 0, s.a[2]], [s.a[1], s.a[2], 0]]


def of(pattern):
    return lambda s: [[ft.fraction(v) for v in row] for row in pattern.adjacency]


free3 = one_round("three clients, free edge weights", 3, 3, triangle, a=3)
frees = [one_round("two clients", 2, 4, of(SWAP)), free3, one_round("four clients", 4, 2, of(FOUR)),
         one_round("two pairs", 4, 2, of(matching(4)))]
POINT = [bugs.beta_swapped, bugs.rows_not_normalised, bugs.neighbours_counted_alike, bugs.own_model_included]


@ft.claim("eq5", on=frees, rejects=[*POINT, bugs.own_for_neighbours, bugs.server_for_neighbours], covers=ALL,
          domain="every coordinate by itself: the objective at w less that at the coded point is |w - wtilde|^2/2 as the weights "
                 "beta and (1-beta) p_in/p_i sum to 1, for free w, models and edge weights; any number of clients and steps, of "
                 "which the listed ones are run")
def eq5(i):
    r"""The point at which the coded round takes its gradient, $\tilde w=\beta w_{t,k}^i+(1-\beta)u_t^i$, is the only minimiser of
    $\Phi(w)=\frac\beta2\|w-w_{t,k}^i\|^2+\frac{1-\beta}{2p_i}\sum_np_{in}\|w-w_{t-1,E}^n\|^2$: $\Phi(w)-\Phi(\tilde
    w)=\frac12\|w-\tilde w\|^2$."""
    (_, x, points, answers, _, _), = rounds(i)
    p, edges, beta, out = graph.weights(i.adjacency), graph.edges(i.adjacency), i.stated.algorithm.beta, []
    w = x[0] + 0 * answers[0][:, 0]
    for k, (y, g) in enumerate(zip(points[:, :, 0], answers[:, :, 0], strict=True)):
        for j, at in enumerate(w):
            def phi(v, j=j, at=at):
                return beta / 2 * (v - at) ** 2 + (1 - beta) / (2 * p[j]) * graph.dot(edges[j], [(v - m) ** 2 for m in i.w])
            out.append(ft.equal(phi(i.v) - phi(y[j]), (i.v - y[j]) ** 2 / 2, f"client {j}, k = {k}: against any w"))
        w = w - i.stated.algorithm.lr * g
    return out


def run_of(name, graph_, E, beta, T, h=None, lr="1/10", **extra):
    n = graph_.n
    problem = scalar(h or [ft.fraction(k % 3 + 1) / 2 for k in range(n)], [(-1) ** k * k for k in range(n)], graph_)
    return ft.Instance(name, problem, ours(lr, E, beta, graph_, **extra.pop("method", {})), ft.Full(), x0=[3], T=T,
                       says="exact rationals", **extra)


def network():
    import torch

    def module():
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    rng = np.random.default_rng(1)
    rows = [rng.standard_normal((6, 3)) for _ in range(3)]
    return ft.Network(module, rows, [rng.integers(0, 2, 6) for _ in rows], weights=UNEQUAL.weights).to(ft.Torch())


def noises(t, problem):
    import torch
    return lambda k: torch.as_tensor(np.random.default_rng([t, k]).standard_normal((problem.n, problem.d)))


def tensor(a):
    import torch
    return torch.as_tensor(np.array(a))


nets = ft.Instance("a network with noise, in floats", None, ours("1/5", 4, "1/2", UNEQUAL), network=network, noises=noises,
                   move=tensor, x0=np.linspace(-1, 1, 26), T=5, says="26 parameters, cross-entropy, Gaussian gradient noise")
runs = [run_of("two clients, 100 steps", SWAP, 100, "1/2", 2), run_of("three clients", UNEQUAL, 3, "999/1000", 5),
        run_of("star of 200", star(200), 1, "1/1000", 2), run_of("curvatures 1e4 and 1e-4", FOUR, 4, "1/2", 3, lr="1/20000",
                                                                 h=[10**4, 1, ft.fraction("1/10000"), 2])]
everyone = ft.Hypothesis("Assumption 1", "no client is absent from a round",
                         lambda i: (max(map(len, i.extra.get("absent", {0: ()}).values())), 0))
away = {0: (1, 2), 1: (0, 2), 2: (0, 1)}
partial = [run_of(f"one of three at a time, {average}, absent models {absent}", complete(3), 2, "1/2", 3, absent=away,
                  method={"average": average, "absent": absent})
           for average in ("printed", "renormalised") for absent in ("stale", "reset")]
first = one_round("from equal models, as in round 0", 3, 3, triangle, a=3)
first = first.but(w=[first.x] * 3)
BETA = ft.Variable("beta", lambda i: i.stated.beta)


@ft.claim("lem1", on=[*frees, first, *ft.illustrate([*runs, nets, *partial])], needs=[everyone], covers=ALL, proof=proofs.lemma1,
          rejects=[bugs.rows_not_normalised, bugs.neighbours_counted_alike, bugs.neighbours_of_this_round, bugs.iterate_perturbed,
                   bugs.beta_swapped, bugs.degrees_not_used],
          ends={"clients": (2, 200), "local steps": (1, 100), BETA: (ft.fraction("1/1000"), ft.fraction("999/1000"))},
          domain=proofs.GRAPH + "; all losses, noise, steps and rounds, with everybody present; to 1e-12 of the largest iterate on "
                 "a network in floats")
def lem1(i):
    r"""With full participation and symmetric $p_{in}$, $p_i=\sum_np_{in}$: $\sum_ip_i\tilde w_{t,k}^i=\beta\bar w_{t,k}
    +(1-\beta)\bar w_{t,0}$ at every step of every round, whatever losses and noise."""
    return lemma1(i)


# ---- special cases ------------------------------------------------------------------------------------------------------------
def against(i):
    """The server models of the coded rounds, against those of FedAvg from the same starts with the same noise."""
    own, other = (np.array([after for *_, after in rounds(i, a)]) for a in (None, i.other))
    if i.domain is ft.FLOAT:
        return ft.equal(int(own.tobytes() == other.tobytes()), 1, f"all bits of {own.size} floats")
    return ft.equal(own, other, "server models")


def beside_fedavg(method, absent=None):
    """Free answers in symbols; runs in rationals and in floats; FedAvg with the same steps as `other`."""
    free = [one_round(f"{n} clients, {E} steps", n, E, of(g), lambda lr, k, _, graph_: method(lr, k, graph_), lone=True)
            for n, E, g in ((2, 4, SWAP), (3, 1, UNEQUAL), (4, 3, FOUR))]
    made = [run_of(name, g, E, 1, T, lr="1/7").but(algorithm=method("1/7", E, g), domain=domain) for name, g, E, T, domain in (
        ("star of 50, rationals", star(50), 2, 3, ft.RATIONAL), ("floats", UNEQUAL, 5, 200, ft.FLOAT),
        ("100 steps in floats", FOUR, 100, 20, ft.FLOAT))]
    return [i.but(other=ft.FedAvg(i.algorithm.lr, i.algorithm.steps)) for i in [*free, *ft.illustrate(made)]]


def alpha_left(algorithm):
    """A proximal weight of 1/5 is left where 0 was asked for."""
    return ft.FedProx(algorithm.lr, algorithm.steps, mu="1/5")


def half_beta(algorithm):
    """Half of the perturbation stays: beta = 1/2."""
    return replace(algorithm, beta="1/2")


@ft.claim("beta1", on=beside_fedavg(lambda lr, E, g: ours(lr, E, 1, g)), rejects=[half_beta, bugs.one_step_more], covers=ALL,
          domain=FREE + ". At beta = 1 the coded step from any model is w - gamma g(w) for either, and so is every further one: "
                 "two to four clients with up to four steps are run; bits of 200 rounds in floats")
def beta1(i):
    r"""At $\beta=1$ the method is FedAvg with the weights $p_i$: exactly in rationals, and bit for bit in floats."""
    return against(i)


@ft.claim("alpha0", on=beside_fedavg(lambda lr, E, g: prox(lr, E, 0)), rejects=[alpha_left, bugs.one_step_more],
          covers=ALL,
          domain=FREE + ". At alpha = 0 the coded step (10) from any model is w - gamma g(w); two to four clients with up to four "
                 "steps are run; bits of 200 rounds in floats")
def alpha0(i):
    r"""At $\alpha=0$ FedProx in the form of (10) to (12) is FedAvg: exactly in rationals, and bit for bit in floats."""
    return against(i)
