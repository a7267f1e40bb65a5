"""Experiment E.2 (Figure 2): the population loss with two classes, and how two rows move."""
import numpy as np

import fltheory as ft
from fltheory.core.numbers.arrays import to_numpy
from fltheory.runs.streams import Stream
from verification.fedres import bugs, population
from verification.fedres.experiments import mean
from verification.fedres.formulas import population as f
from verification.fedres.symbols import symbols


# ---- the model -----------------------------------------------------------------------------------------------------
def noise_of_one_row(problem):
    """The labels have the noise of one row, not of the difference of two."""
    return population.Population(problem.v, problem.rows, problem.noise / 2)


def shared_truth_alone(problem):
    """Every client has the first one's ground truth."""
    return population.Population(0 * problem.v + problem.v[..., :1, :], problem.rows, problem.noise)


noise_of_one_row.of = shared_truth_alone.of = "problem"


def _symbols():
    k, s = symbols("a t g h x y z", u=(3,), v=(3,))
    return ft.Instance("all symbols", domain=k, sampled=False, **s,
                       says="a = |u|, t a place, g = log(1 + exp(a t)), h = Phi(r t); x, y, z exponentials; u, v vectors")


def _sampled(rows):
    v, u = f.difference(*population.stated(3, 4), 0.5), np.array([0.7, -0.4, 1.1, 0.2])
    return ft.Instance(f"256 samples of 400, rows: {rows}", population.Population(v, rows), domain=ft.FLOAT, sampled=True, u=u, v=v,
                       model=u if rows == 1 else np.concatenate([1 - u / 2, 1 + u / 2]), illustrates=True)


@ft.claim("fig2-reduction", on=[_symbols(), *map(_sampled, (1, 2))], rejects=[noise_of_one_row, shared_truth_alone],
          covers={"n": "all", "d": "all", "tau": "none"},
          domain="every u and v in any dimension: u'x and v'x + n are jointly Gaussian, and their three moments enter as symbols; "
                 "the halves of the integral as identities between log(1 + e^s), log(1 + e^-s) = log(1 + e^s) - s, Phi(s) and "
                 "Phi(-s) = 1 - Phi(s) at one place")
def reduction(i):
    r"""With two classes the softmax (3) depends on the difference $u$ of its rows alone, labels (13) are signs of
    $v_i^\top x+N(0,2)$, $v_i=(1-\alpha)\Delta W^*+\alpha\Delta\Theta^*_i$, and the population loss is
    $2E\log(1+e^{-|u|z})\Phi(rz)$ with $z\sim N(0,1)$, $r=\rho/\sqrt{1-\rho^2}$, $\rho=u^\top v_i/(|u|\sqrt{|v_i|^2+2})$.
    """
    if i.sampled:
        return _against_samples(i)
    uu, uv, vv = ((p * q).sum() for p, q in ((i.u, i.u), (i.u, i.v), (i.v, i.v)))
    V, slope = vv + 2, uv / uu      # variance of s = v'x + n; E[s | u'x] = slope * u'x

    def average(a, t, g, h):        # of the loss over the label, where log(1 + e^at) = g and P(label = 1) = h
        return (g - a * t) * h + g * (1 - h)

    def folded(a, t, g, h):
        return 2 * (g - a * t) * h

    there, back = (i.a, i.t, i.g, i.h), (i.a, -i.t, i.g - i.a * i.t, 1 - i.h)
    return (ft.equal(f.two_classes(i.x, i.y), f.two_classes(i.z * i.x, i.z * i.y), "the same added to both rows changes nothing"),
            ft.equal(uv - slope * uu, 0 * uu, "s - slope u'x and u'x are uncorrelated, so independent"),
            ft.equal(slope**2 * uu / (V - 2 * slope * uv + slope**2 * uu), f.slope_squared(uv**2 / (uu * V)), "r^2"),
            ft.equal(average(*there) + average(*back), folded(*there) + folded(*back), "the places t and -t together"))


def _against_samples(i):
    """Mean losses and directional derivatives of the coded samples, against the formula: three clients."""
    import torch
    problem, step = i.problem.to(ft.Torch()), 1e-4
    made = Stream(2, "fedres", "reduction").generator().standard_normal((256, 3, 400, 5))
    batch = problem.sample(*(torch.from_numpy(made[..., k].copy()) for k in (slice(4), 4)))
    y = torch.from_numpy(np.broadcast_to(i.model, (256, 3, i.model.size)).copy())
    margins = to_numpy(batch.sign * (batch.x @ problem.difference(y)[..., None])[..., 0])
    slopes = to_numpy(problem.grad(y, batch))[..., -4:]
    out = []
    for k, v in enumerate(i.v):
        out.append(ft.agrees(mean(np.logaddexp(0, -margins[:, k]).mean(-1)), f.population_loss(i.u, v), f"client {k}: loss"))
        moved = [f.population_loss(i.u + s * step * v, v) for s in (1, -1)]
        out.append(ft.agrees(mean(slopes[:, k] @ v), (moved[0] - moved[1]) / (2 * step), f"client {k}: derivative along v"))
    return out


# ---- two rows --------------------------------------------------------------------------------------------------------
def _stored(name, make):
    """make: (eta, lam, mu, steps) -> algorithm; two clients, two local steps, every state and every gradient a symbol."""
    k, s = symbols("eta lam mu", x=(2,), theta=(2, 2), own=(2, 2), c=(2,), ci=(2, 2), g=(4, 2, 1))
    lr, mu = f.two_rows(s["eta"], s["mu"])
    return ft.Instance(name, population.Given(2, 2), make(s["eta"], s["lam"], s["mu"], 2), ft.Full(), domain=k,
                       single=make(lr, 2 * s["lam"], mu, 2), **s)


stored = [_stored(name, make) for name, make in {
    "FedAvg": lambda lr, lam, mu, K: ft.FedAvg(lr, K), "SCAFFOLD": lambda lr, lam, mu, K: ft.Scaffold(lr, K),
    "FedProx": lambda lr, lam, mu, K: ft.LocalProx(lr, K, mu=mu),
    "FedResNaive, seq": lambda lr, lam, mu, K: ft.FedResNaive(lr, K, personal_lr=lam, order="seq"),
    "FedResNaive, sim": lambda lr, lam, mu, K: ft.FedResNaive(lr, K, personal_lr=lam, order="sim"),
    "FedResSGD": lambda lr, lam, mu, K: ft.FedResSgd(lr, K, personal_lr=lam),
    "FedResAvg I": lambda lr, lam, mu, K: ft.FedResAvg(lr, K, personal_lr=lam, option=1),
    "FedResAvg II": lambda lr, lam, mu, K: ft.FedResAvg(lr, K, personal_lr=lam, option=2)}.items()]


def _reduced(state):
    """Differences of the two rows; of control variates, which are gradients (-g, g), half of them."""
    def one(name, leaf):
        return (leaf[..., 1:] - leaf[..., :1]) / (2 if name in ("c", "ci") else 1)
    return {name: one(name, leaf) for name, leaf in state._asdict().items()}


@ft.claim("fig2-two-rows", on=stored, rejects=[bugs.local_prox_squared, bugs.variates_kept, bugs.personal_reset],
          covers={"n": "all", "d": "all", "tau": "all"},
          domain="one round from every state, gradients being any functions of the difference; two clients, one feature and two "
                 "local steps in symbols: a round treats clients, features and further steps alike")
def two_rows(i):
    r"""Every method of Figure 2 moves the difference of the two rows of (3) at $(\eta,\lambda,\mu)$ exactly as it moves one
    difference vector at $(2\eta,2\lambda,\mu/2)$: the same step size means twice the speed, and half the penalty."""
    two, one = i.algorithm.to(i.domain), i.single.to(i.domain)
    draw = ft.everyone(2, 2)._replace(xi=lambda slot: i.g[slot])
    start = two.init(i.problem.to(i.domain), i.x)
    start = start._replace(**{name: getattr(i, name) for name in start._fields})
    after = _reduced(two.round(i.problem.to(i.domain), start, draw))
    alone = one.round(population.Given(2, 1).to(i.domain), type(start)(**_reduced(start)), draw)._asdict()
    return [ft.equal(after[name], alone[name], name) for name in after]
