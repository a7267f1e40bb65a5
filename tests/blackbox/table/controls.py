"""Codes with memories of clients: SCAFFOLD (both options), MIFA and VRL-SGD in plain torch, each slip a switch."""

from __future__ import annotations

import torch

from tests.blackbox.table.averages import local_steps
from tests.blackbox.table.local import rows, train


class Scaffold:
    """SCAFFOLD. averaging: "size" (p_i in model and variate) or "alike" (1/|S| and 1/n, as published)."""

    def __init__(self, lr, steps, bugs=(), option=2, averaging="size", dtype=torch.float64, single_weights=False,
                 **local):
        self.lr, self.steps, self.bugs, self.option = lr, steps, frozenset(bugs), option
        self.averaging, self.dtype, self.single_weights, self.options = averaging, dtype, single_weights, local
        self.reset()

    def reset(self):
        self.c, self.ci = None, {}

    def weights(self, clients, cohort):
        """(weights of the model's mean, weights of the variate's)."""
        bugs = self.bugs
        sizes = torch.tensor([1.0 if self.averaging == "alike" else float(len(c.y)) for c in clients], dtype=torch.float64)
        variate = (sizes / sizes.sum())[list(cohort)]
        model = variate / variate.sum()
        if "model alike" in bugs:
            model = torch.full((len(cohort),), 1 / len(cohort), dtype=torch.float64)
        if "c alike" in bugs:
            variate = torch.full((len(cohort),), 1 / len(clients), dtype=torch.float64)
        if "c over participants" in bugs:
            variate = variate / variate.sum()
        if "c summed" in bugs:
            variate = torch.ones(len(cohort), dtype=torch.float64)
        if "model not renormalised" in bugs:
            model = (sizes / sizes.sum())[list(cohort)]
        if "server lr 2" in bugs:
            model = 2 * model
        if self.single_weights:
            model, variate = model.float().double(), variate.float().double()
        return model, variate

    def correction(self, c, ci):
        if "never applied" in self.bugs:
            return torch.zeros_like(c)
        if "wrong sign" in self.bugs:
            return ci - c
        if "no c" in self.bugs:
            return -ci
        if "no ci" in self.bugs:
            return c
        return c - ci

    def renewed(self, x, y, c, ci, client, steps):
        bugs = self.bugs
        if (self.option == 1 and "other option" not in bugs) or (self.option == 2 and "other option" in bugs):
            X, target = rows(client, torch.float64)
            at = y if "at the end" in bugs else x
            return X.T @ (X @ at - target) / len(target)
        divisor = steps + ("longer divisor" in bugs)
        if "divisor 1" in bugs:
            divisor = 1
        moved = (x - y) / (divisor * (1 if "no lr" in bugs else self.lr))
        if "update sign" in bugs:       # y - x where the update has x - y
            moved = -moved
        if "c kept" in bugs:
            return ci + moved
        if "c added" in bugs:
            return ci + c + moved
        return ci - c + moved

    def round(self, x, clients, cohort=None):
        cohort = list(range(len(clients))) if cohort is None or "cohort ignored" in self.bugs else list(cohort)
        x = torch.as_tensor(x, dtype=torch.float64)
        if self.c is None:
            start = 1.0 if "start not 0" in self.bugs else 0.0
            self.c = torch.full_like(x, start)
            self.ci = {i: torch.zeros_like(x) for i in range(len(clients))}
        c, new, (model, variate) = self.c.clone(), x.clone(), self.weights(clients, cohort)
        for i, m, v in zip(cohort, model, variate, strict=True):
            sent = self.c if "early" in self.bugs else c
            steps = local_steps(self.steps, i)
            y = train(x, clients[i], steps, self.lr, self.bugs, correction=self.correction(sent, self.ci[i]), **self.options)
            renewed = self.renewed(x, y, c, self.ci[i], clients[i], steps)
            new += m * (y - x)
            if "c frozen" not in self.bugs:
                self.c = self.c + v * (renewed - (0 if "sent whole" in self.bugs else c if "from c" in self.bugs else self.ci[i]))
            if "never stored" not in self.bugs:
                self.ci[i] = renewed
        return new.to(self.dtype)


class Mifa:
    """MIFA: the server keeps every client's last update and averages them all."""

    def __init__(self, lr, steps, bugs=(), dtype=torch.float64):
        self.lr, self.steps, self.bugs, self.dtype = lr, steps, frozenset(bugs), dtype
        self.reset()

    def reset(self):
        self.G = None

    def round(self, x, clients, cohort=None):
        cohort = list(range(len(clients))) if cohort is None else list(cohort)
        x = torch.as_tensor(x, dtype=torch.float64)
        sizes = torch.tensor([float(len(c.y)) for c in clients], dtype=torch.float64)
        if "alike" in self.bugs:
            sizes = torch.ones_like(sizes)
        if self.G is None or "forgets" in self.bugs:
            self.G = torch.zeros(len(clients), len(x), dtype=torch.float64)
        for i in cohort:
            self.G[i] = x - train(x, clients[i], local_steps(self.steps, i), self.lr, self.bugs)
        p = sizes / sizes.sum()
        step = p @ self.G
        if "only participants" in self.bugs:
            step = p[cohort] @ self.G[cohort] / p[cohort].sum()
        if "ascent" in self.bugs:
            step = -step
        return (x - step).to(self.dtype)


class VRLSGD:
    """VRL-SGD: D_i <- D_i + (x_new - y_i)/(tau_i lr), subtracted from each local gradient."""

    def __init__(self, lr, steps, bugs=(), divisor="own", dtype=torch.float64):
        self.lr, self.steps, self.bugs, self.divisor, self.dtype = lr, steps, frozenset(bugs), divisor, dtype
        self.reset()

    def reset(self):
        self.D = {}

    def round(self, x, clients, cohort=None):
        cohort = list(range(len(clients))) if cohort is None else list(cohort)
        x = torch.as_tensor(x, dtype=torch.float64)
        for i in cohort:
            self.D.setdefault(i, torch.zeros_like(x))
        counts = {i: local_steps(self.steps, i) for i in cohort}
        sign = 1 if "wrong sign" in self.bugs else 0 if "never applied" in self.bugs else -1
        models = {i: train(x, clients[i], counts[i], self.lr, self.bugs, correction=sign * self.D[i]) for i in cohort}
        sizes = {i: 1.0 if "alike" in self.bugs else float(len(clients[i].y)) for i in cohort}
        new = sum(sizes[i] * models[i] for i in cohort) / sum(sizes.values())
        for i in cohort:
            tau = sum(counts.values()) / len(counts) if self.divisor == "mean" else counts[i]
            if "never stored" not in self.bugs:
                self.D[i] = self.D[i] + (new - models[i]) / (tau * (1 if "no lr" in self.bugs else self.lr))
        return new.to(self.dtype)
