"""One round of every algorithm as loops over the cohort, on affine forms.

A vector is a form (d, W): its coefficients in the W unknowns of the round (state coordinates, the constant 1, noise), so
that one pass over the pseudo-code gives the whole affine map; with W = 1 it is a plain vector. A state is a dict of forms
and of lists of forms, one per client.
"""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Draw:
    """members: (client, steps) of every place; steps, ages: of all clients; coin: 1 where all communicate; happens: False
    where the law skips the round."""

    members: tuple
    steps: tuple
    ages: tuple = ()
    coin: int = 1
    happens: bool = True


class Clients:
    """f_i = 1/2 y'H_i y - b_i'y with weights p. one: the form (W,) of the constant 1. noise: (first column) of the noise,
    d fresh columns for every gradient, or None."""

    def __init__(self, H, b, p, one, noise=None):
        self.H, self.b, self.p, self.one, self.noise = H, b, p, one, noise
        self.n, self.d, self.calls = len(p), b.shape[1], 0

    def grad(self, i, y):
        return self.noisy(self.H[i] @ y - self.b[i][:, None] * self.one)

    def noisy(self, g):
        if self.noise is not None:
            g = g.copy()
            for j in range(self.d):
                column = self.noise + self.calls * self.d + j
                g[j, column] = g[j, column] + 1
            self.calls += 1
        return g


class ResidualClients(Clients):
    """L_i = 1/2 w'A_i w + w'B_i t + 1/2 t'C_i t - bw_i'w - bt_i't. A mini-batch draws noise for the d numbers of w and for the
    largest number of t's, of which a client uses its own."""

    def __init__(self, A, B, C, bw, bt, p, one, noise=None):
        super().__init__(A, bw, p, one, noise)
        self.B, self.C, self.bt, self.width = B, C, bt, self.d + max(len(v) for v in bt)

    def batch(self):
        """(first column of a fresh mini-batch's noise,), empty without noise."""
        self.calls += 1
        return () if self.noise is None else (self.noise + (self.calls - 1) * self.width,)

    def pair(self, i, w, t, batch=()):
        """Gradients in w and in t on one mini-batch."""
        g = np.concatenate([self.H[i] @ w + self.B[i] @ t - self.b[i][:, None] * self.one,
                            self.B[i].T @ w + self.C[i] @ t - self.bt[i][:, None] * self.one])
        for first in batch:
            g[np.arange(len(g)), first + np.arange(len(g))] += 1
        return g[:self.d], g[self.d:]


# ---- local work ----------------------------------------------------------------------------------------------------
def step(solver, k, lr, anchor, y, u, g):
    """(y, buffer) after local step k with gradient g."""
    name, *parameter = solver
    if name == "vanilla":
        return y - lr * g, u
    if name == "proximal":
        return y - lr * (g + parameter[0] * (y - anchor)), u
    if name == "momentum":
        u = parameter[0] * u + g
        return y - lr * u, u
    if name == "both":
        u = parameter[0] * u + g
        return y - lr * (u + parameter[1] * (y - anchor)), u
    return y - lr * parameter[0] ** k * g, u  # decay


def own(solver, i):
    """The solver of client i: a decay may be a list."""
    return ("decay", solver[1][i]) if solver[0] == "decay" and isinstance(solver[1], list) else solver


def local(clients, i, x, lr, steps, solver=("vanilla",), shift=None):
    """Client i's model after its steps from x; shift is added to every gradient."""
    y, u = x, 0 * x
    for k in range(steps):
        g = clients.grad(i, y)
        y, u = step(own(solver, i), k, lr, x, y, u, g if shift is None else g + shift)
    return y


def norm(solver, i, lr, steps):
    """|a_i|_1: the k-th gradient is the k-th unit vector, the change is -lr a_i."""
    y = u = anchor = np.array([0 * lr] * steps)
    for k in range(steps):
        y, u = step(own(solver, i), k, lr, anchor, y, u, np.array([0 * lr + int(j == k) for j in range(steps)]))
    return sum(abs(v) for v in y) / lr


def shares(p, members, averaging="weighted"):
    """Aggregation weights of the places."""
    if averaging == "plain":
        return [(0 * p[0] + 1) / len(members) for _ in members]
    if averaging == "unbiased":
        return [p[i] * len(p) / len(members) for i, _ in members]
    total = sum(p[i] for i, _ in members)
    return [p[i] / total for i, _ in members]


def mean(p, vectors):
    return sum(q * v for q, v in zip(p, vectors, strict=True))


def average(p, x, ends):
    """Weighted mean over the places of their models; x if nobody came. ends: [(client, model)]."""
    if not ends:
        return x
    return mean(shares(p, ends), [y for _, y in ends])


# ---- one round of each: (parameters a, clients c, state s, draw) -> state ---------------------------------------------
def fedavg(a, c, s, draw):
    x = new = s["x"]
    for q, (i, tau) in zip(shares(c.p, draw.members, a.averaging), draw.members, strict=True):
        new = new + q * (local(c, i, x, a.lr, tau, a.solver) - x)
    return {"x": new}


def aggregated(a, c, x, draw, p, tau_eff):
    """FedNova's server model (Algorithm 1), tau_eff None for the mean of the norms."""
    direction, effective = 0 * x, 0
    for q, (i, tau) in zip(shares(p, draw.members, a.averaging), draw.members, strict=True):
        size = norm(a.solver, i, a.lr, tau)
        direction = direction + q / size * (local(c, i, x, a.lr, tau, a.solver) - x)
        effective = effective + q * size
    return x + (effective if tau_eff is None else tau_eff) * direction


def fednova(a, c, s, draw):
    return {"x": aggregated(a, c, s["x"], draw, c.p, a.tau_eff)}


def generalrule(a, c, s, draw):
    return {"x": aggregated(a, c, s["x"], draw, c.p if a.w is None else a.w, a.tau_eff)}


def servermomentum(a, c, s, draw):
    v = a.beta * s["v"] + (s["x"] - aggregated(a, c, s["x"], draw, c.p, a.tau_eff)) / a.lr
    return {"x": s["x"] - a.lr * v, "v": v}


def adaptiveserver(a, c, s, draw):
    move = aggregated(a, c, s["x"], draw, c.p, a.tau_eff) - s["x"]
    v = s["v"] + move**2
    return {"x": s["x"] + a.server_lr * move / (v**0.5 + a.epsilon), "v": v}


def fednovavr(a, c, s, draw):
    center, line13, stored, effective = mean(c.p, s["d"]), [], [], 0
    for i, tau in draw.members:
        correction, size = center - s["d"][i], norm(a.solver, i, a.lr, tau)
        y = local(c, i, s["x"], a.lr, tau, a.solver, correction)
        line13.append((s["x"] - y) / (a.lr * size))
        stored.append(line13[i] if a.variant == "printed" else line13[i] - correction)
        effective = effective + c.p[i] * size
    return {"x": s["x"] - a.lr * effective * mean(c.p, line13), "d": stored}


def vrlsgd(a, c, s, draw):
    D, ends = list(s["D"]), [(i, local(c, i, s["x"], a.lr, tau, shift=-s["D"][i])) for i, tau in draw.members]
    new = average(c.p, s["x"], ends)
    for (i, tau), (_, y) in zip(draw.members, ends, strict=True):
        over = a.lr * tau if a.divisor == "own" else a.lr * sum(k for _, k in draw.members) / len(ends)
        D[i] = D[i] + (new - y) / over
    return {"x": new, "D": D}


def scaffold(a, c, s, draw):
    x, control, ci = s["x"], s["c"], list(s["ci"])
    new, drift = x, s["c"]
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        y = local(c, i, x, a.lr, tau, shift=control - s["ci"][i])
        ci[i] = c.grad(i, x) if a.option == 1 else s["ci"][i] - control + (x - y) / (tau * a.lr)
        new = new + a.server_lr * q * (y - x)
        drift = drift + c.p[i] * (ci[i] - s["ci"][i])
    return {"x": new, "c": drift, "ci": ci}


def scaffnew(a, c, s, draw):
    x, h = s["x"], list(s["h"])
    if a.update == "late":
        last = list(s["last"])
        for i, tau in draw.members:
            h[i] = h[i] + (x - last[i]) / (a.lr * tau)
            last[i] = local(c, i, x, a.lr, tau, shift=-h[i])
        return {"x": average(c.p, x, [(i, last[i]) for i, _ in draw.members]), "h": h, "last": last}
    ends = [(i, local(c, i, x, a.lr, tau, shift=-h[i])) for i, tau in draw.members]
    new = average(c.p, x, ends)
    for (i, tau), (_, y) in zip(draw.members, ends, strict=True):
        h[i] = h[i] + (new - y) / (a.lr * tau)
    return {"x": new, "h": h}


def proxskip(a, c, s, draw):
    x, y, h = s["x"], list(s["y"]), list(s["h"])
    if draw.coin:
        x = mean(c.p, y)
        h = [v + a.p / (a.lr * tau) * (x - u) for v, u, tau in zip(h, y, draw.steps, strict=True)]
        y = [x] * c.n
    return {"x": x, "y": [local(c, i, y[i], a.lr, draw.steps[i], shift=-h[i]) for i in range(c.n)], "h": h}


def focus(a, c, s, draw):
    y, g = s["y"], list(s["g"])
    for i, tau in draw.members:
        u, v = s["x"], 0 * s["x"]
        for _ in range(tau):
            current = c.grad(i, u)
            v, g[i] = v + current - g[i], current
            u = u - a.lr * v
        y = y + v
    return {"x": s["x"] - a.lr * y, "y": y, "g": g}


def mifa(a, c, s, draw):
    G = list(s["G"])
    for i, tau in draw.members:
        G[i] = (s["x"] - local(c, i, s["x"], a.lr, tau)) / a.lr
    return {"x": s["x"] - a.lr * mean(c.p, G), "G": G}


def fedvarp(a, c, s, draw):
    kept, move = list(s["y"]), mean(c.p, s["y"])
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        kept[i] = s["x"] - local(c, i, s["x"], a.lr, tau)
        move = move + q * (kept[i] - s["y"][i])
    return {"x": s["x"] - a.server_lr * move, "y": kept}


def localsgd(a, c, s, draw):
    w = [local(c, i, s["w"][i], a.lr, draw.steps[i]) for i in range(c.n)]
    x = average(c.p, s["x"], [(i, w[i]) for i, _ in draw.members])
    for i, _ in draw.members:
        w[i] = x
    return {"x": x, "w": w}


def reweighted(a, c, s, draw, weights=None):
    x = new = s["x"]
    for i, tau in draw.members:
        weight = 1 / a.inclusion[i] if weights is None else weights[i]
        new = new + a.server_lr * c.p[i] * weight * (local(c, i, x, a.lr, tau) - x)
    return {"x": new}


def fedau(a, c, s, draw):
    if a.weights is not None:
        return reweighted(a, c, s, draw, a.weights)
    counts = []
    for i, (weight, seen, waited) in enumerate(s["counts"]):
        waited = waited + 1
        if any(j == i for j, _ in draw.members) or waited == a.cutoff:
            weight, seen, waited = (seen * weight + waited) / (seen + 1), seen + 1, 0
        counts.append((weight, seen, waited))
    return reweighted(a, c, s, draw, [w for w, _, _ in s["counts"]]) | {"counts": counts}


def fedawe(a, c, s, draw):
    """Ages from the law where they are cut, from the state otherwise."""
    w, ages = list(s["w"]), draw.ages if a.cap is not None else s["age"]
    sent = [(i, w[i] + a.server_lr * ages[i] * (local(c, i, w[i], a.lr, tau) - w[i])) for i, tau in draw.members]
    x = average(c.p, s["x"], sent)
    for i, _ in sent:
        w[i] = x
    there = {i for i, _ in sent}
    later = {} if a.cap is not None else {"age": [1 if i in there else k + 1 for i, k in enumerate(ages)]}
    return {"x": x, "w": w} | later


def neighbouraveraging(a, c, s, draw):
    there = {}
    for i, tau in draw.members:
        u, y = sum(a.graph[i][j] * s["w"][j] for j in range(c.n)) / c.p[i], s["x"]
        for _ in range(tau):
            y = y - a.lr * c.grad(i, a.beta * y + (1 - a.beta) * u)
        there[i] = y
    w = [there.get(i, s["w"][i] if a.absent == "stale" else s["x"]) for i in range(c.n)]
    if a.average == "printed":
        return {"x": sum((c.p[i] * y for i, y in there.items()), 0 * s["x"]), "w": w}
    return {"x": average(c.p, s["x"], list(there.items())), "w": w}


def stalesteps(a, c, s, draw):
    base, moves = list(s["base"]), []
    for i, tau in draw.members:
        end = local(c, i, base[i], a.lr, tau)
        moves.append(end - (base[i] if a.mixing == "update" else s["x"]))
    x = s["x"] + a.server_lr * sum(moves) / len(moves) if moves else s["x"]
    for i, _ in draw.members:
        base[i] = x
    return {"x": x, "base": base}


def first_step(a, c, s, i, tau):
    """Client i's personal parameters after their steps."""
    t = s["theta"][i]
    for _ in range(tau):
        t = t - a.personal_lr * c.pair(i, s["x"], t, c.batch())[1]
    return t


def fedresavg(a, c, s, draw):
    theta, ci, new = list(s["theta"]), list(s["ci"]), s["x"]
    weights = shares(c.p, draw.members) if draw.members else []
    for q, (i, tau) in zip(weights, draw.members, strict=True):
        theta[i] = first_step(a, c, s, i, tau)
        w, total = s["x"], 0 * s["x"]
        for _ in range(tau):
            g = c.pair(i, w, theta[i], c.batch())[0]
            w, total = w - a.lr * (g - s["ci"][i] + s["c"]), total + g
        ci[i] = total / tau if a.option == 2 else 0 * total
        new = new + a.alpha * q * (w - s["x"])
    heard = [q * ci[i] for q, (i, _) in zip(weights, draw.members, strict=True)]
    return {"x": new, "theta": theta, "c": mean(c.p, ci) if a.over == "all" else sum(heard) if heard else s["c"], "ci": ci}


def fedressgd(a, c, s, draw):
    theta, new = list(s["theta"]), s["x"]
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        theta[i] = first_step(a, c, s, i, tau)
        for _ in range(tau):
            new = new - a.lr * q * c.pair(i, s["x"], theta[i], c.batch())[0]
    return {"x": new, "theta": theta}


def fedresnaive(a, c, s, draw):
    theta, new = list(s["theta"]), s["x"]
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        w = s["x"]
        for _ in range(tau):
            batch = c.batch()
            moved = w - a.lr * c.pair(i, w, theta[i], batch)[0]
            theta[i] = theta[i] - a.personal_lr * c.pair(i, moved if a.order == "seq" else w, theta[i], batch)[1]
            w = moved
        new = new + q * (w - s["x"])
    return {"x": new, "theta": theta}


def fedsgd(a, c, s, draw):
    x = s["x"]
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        for _ in range(tau):
            x = x - a.lr * q * c.grad(i, s["x"])
    return {"x": x}


def localprox(a, c, s, draw):
    own, x = list(s["own"]), s["x"]
    for q, (i, tau) in zip(shares(c.p, draw.members), draw.members, strict=True):
        own[i] = local(c, i, s["x"], a.lr, tau, ("proximal", a.mu))
        x = x + q * (own[i] - s["x"])
    return {"x": x, "own": own}


ROUNDS = {"FedAvg": fedavg, "FedNova": fednova, "GeneralRule": generalrule, "ServerMomentum": servermomentum,
          "AdaptiveServer": adaptiveserver, "FedNovaVR": fednovavr, "VRLSGD": vrlsgd, "Scaffold": scaffold,
          "Scaffnew": scaffnew, "ProxSkip": proxskip, "Focus": focus, "Mifa": mifa, "FedVarp": fedvarp,
          "LocalSgd": localsgd, "Reweighted": reweighted, "FedAu": fedau, "FedAwe": fedawe,
          "NeighbourAveraging": neighbouraveraging, "FedResAvg": fedresavg, "FedResSgd": fedressgd,
          "FedResNaive": fedresnaive, "FedSgd": fedsgd, "LocalProx": localprox,
          "StaleSteps": stalesteps}


def start(name, a, c, x):
    """The state of a method before its first round, at the server model x."""
    zero, each = [0 * x] * c.n, [x] * c.n
    if name == "Focus" and a.start == "warm":
        g = [c.grad(i, x) for i in range(c.n)]
        return {"x": x, "y": sum(g), "g": g}
    if name == "Scaffnew":
        return {"x": x, "h": zero} | ({"last": each} if a.update == "late" else {})
    if name == "FedAu":
        return {"x": x} | ({} if a.weights is not None else {"counts": [(1, 0, 0)] * c.n})
    if name == "FedAwe":
        return {"x": x, "w": each} | ({} if a.cap is not None else {"age": [1] * c.n})
    if name.startswith("FedRes"):
        theta = [0 * c.B[i].T @ x for i in range(c.n)]
        if name != "FedResAvg":
            return {"x": x, "theta": theta}
        ci = [c.pair(i, x, theta[i])[0] for i in range(c.n)] if a.start == "warm" else zero
        return {"x": x, "theta": theta, "c": mean(c.p, ci), "ci": ci}
    memory = {"ServerMomentum": {"v": 0 * x}, "AdaptiveServer": {"v": 0 * x}, "FedNovaVR": {"d": zero}, "VRLSGD": {"D": zero},
              "Scaffold": {"c": 0 * x, "ci": zero}, "ProxSkip": {"y": each, "h": zero}, "Mifa": {"G": zero},
              "Focus": {"y": 0 * x, "g": zero}, "FedVarp": {"y": zero}, "LocalSgd": {"w": each},
              "NeighbourAveraging": {"w": each}, "LocalProx": {"own": each}, "StaleSteps": {"base": each}}
    return {"x": x} | memory.get(name, {})


def model(name, a, s):
    """The server model that is measured."""
    return sum(s["w"]) / len(s["w"]) if name == "LocalSgd" and a.report == "mean" else s["x"]


def flat(s):
    """A state of forms as one form (D, W)."""
    return np.concatenate([part for leaf in s.values() for part in (leaf if isinstance(leaf, list) else [leaf])])


def unflat(like, rows):
    """The state of the same shapes whose coordinates are these forms (D, W)."""
    out, at = {}, 0
    for key, leaf in like.items():
        parts = []
        for part in leaf if isinstance(leaf, list) else [leaf]:
            parts.append(rows[at:at + len(part)])
            at += len(part)
        out[key] = parts if isinstance(leaf, list) else parts[0]
    return out
