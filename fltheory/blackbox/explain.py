"""From maps and fits to sentences: what the code does, where the reference does something else."""
from __future__ import annotations

import itertools

import numpy as np

from fltheory.blackbox.fits import expected, mass, recover
from fltheory.blackbox.result import Fault, number
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal
from fltheory.core.scalars import FLOAT


def local_work(algorithm):
    """(kind, lr, extra) of a reference as its record declares them, or None for a solver unknown here."""
    record = algorithm.to(FLOAT)
    solver, lr = getattr(record, "solver", None), float(record.lr)
    if isinstance(algorithm, Focus):
        return "last gradient", lr, {}
    if type(solver) is Proximal:
        return "proximal", lr, {"alpha": float(lr * solver.mu if solver.alpha is None else solver.alpha)}
    if type(solver) is Momentum:
        return "momentum", lr, {"rho": float(solver.rho)}
    if type(solver) is MomentumProximal:
        return "momentum and proximal", lr, {"rho": float(solver.rho), "alpha": float(solver.alpha)}
    if type(solver) is Decay:
        return "decay", lr, {"gamma": solver.gamma}
    return "plain", lr, {}


def observe(box, problems, height, tolerance, reference=None):
    """(fits of the code, fits of the reference or None, idle response)."""
    wanted = None
    if reference is not None:
        wanted = expected(reference, problems, *local_work(reference.algorithm))
        if max(f.residual for f in wanted) > 1e-6:   # such as a warm start: one client's response says nothing
            return [None] * problems.n, None, None
    fits, idle = recover(box, problems, height, max(tolerance, 1e-9), wanted)
    return fits, wanted, idle


def parameters(fits, problems):
    """One dict per client for the result."""
    out = []
    for f, p in zip(fits, problems.weights, strict=True):
        row = {"p": float(p)}
        if f is not None:
            kind = ", ".join([f.kind, *(f"{k} = {number(v)}" for k, v in f.extra.items())])
            row |= {"weight": f.share if not f.product else None, "steps": f.steps, "kind": kind, "residual": f.residual,
                    "lr": None if f.product else f.lr, "weight times lr": f.share * f.lr, **f.extra}
        out.append(row)
    return out


def shares(box, problems, height, full, cohorts):
    """{cohort: aggregation weights (n,)}; full: weights with everybody present; None stands for that cohort."""
    out, ones = {None: np.array(full)}, np.ones(problems.d)
    instances = [problems.single(i, np.full(problems.d, height)) for i in range(problems.n)]
    if cohorts:
        whole = [1 - box.first(inst, ones)[0] for inst in instances]
    for cohort in cohorts:
        part = [1 - box.first(inst, ones, cohort)[0] for inst in instances]
        out[cohort] = np.array([f * r / w if w else np.nan for f, r, w in zip(full, part, whole, strict=True)])
    return out


def faults_of_fits(fits, wanted, idle, tolerance):
    """Faults that the fits of single clients show, apart from the aggregation weights."""
    out = []
    if np.abs(idle).max() > max(tolerance, 1e-9):
        known = [(f, w) for f, w in zip(fits, wanted, strict=True) if f is not None]
        decay = next((f.extra["decay"] for f, _ in known if "decay" in f.extra), None)
        if decay is None and known and all(f.steps == 1 and abs(f.share / w.share - 1) <= 1e-6 for f, w in known):
            decay = float(idle[0]) / sum(f.share * f.lr for f, _ in known)
        if decay is None and np.ptp(idle) <= 1e-6:
            text = f"the weights of the averaged models sum to {number(1 - float(idle[0]))}, not to 1"
            out.append(Fault(text, "a model without any gradient is multiplied by it", tolerance))
        else:
            size = "" if decay is None else f" {number(decay)}, each local step takes lr wd = " \
                f"{number(decay * known[0][0].lr)} of the model away"
            does = "shrinks" if idle[0] > 0 else "grows"
            out.append(Fault(f"the model {does} although every gradient vanishes: hidden weight decay{size}",
                             f"model 1 becomes {1 - float(idle[0]):.6g}", tolerance))
    lost = [i for i, f in enumerate(fits) if f is None]
    if lost:
        out.append(Fault(f"the local work of client{'s' if len(lost) > 1 else ''} {_list(lost)} is none of the kinds "
                         "known here", "no fit to the responses to curvature", 1.0))
    pairs = [(i, f, w) for i, (f, w) in enumerate(zip(fits, wanted, strict=True)) if f is not None]
    if not pairs:
        return out
    worst = max(f.residual for _, f, _ in pairs)
    more = {f.steps - w.steps for _, f, w in pairs}
    if more != {0}:
        if len(more) == 1 and len(pairs) > 1:
            k = more.pop()
            text = f"every client makes {abs(k)} local step{'s' if abs(k) > 1 else ''} too {'many' if k > 0 else 'few'}"
            text += f" ({_list([f.steps for _, f, _ in pairs])}, the reference {_list([w.steps for *_, w in pairs])})"
            out.append(Fault(text, "degree of the response to curvature", worst))
        else:
            out += [Fault(f"client {i} makes {f.steps} local steps, the reference {w.steps}",
                          "degree of the response to curvature", f.residual)
                    for i, f, w in pairs if f.steps != w.steps]
    changed = [(f, w) for _, f, w in pairs if (f.kind != w.kind or _far(f.extra, w.extra, tolerance)) and f.steps > 1]
    if changed:
        f, w = max(changed, key=lambda pair: pair[0].steps)
        out.append(Fault(_kind_sentence(f, w), f"{f.kind} local step fits, {w.kind} is stated", worst))
    ratios = [(i, f.lr / w.lr) for i, f, w in pairs if not f.product and (f.steps > 1 or abs(f.lr / w.lr - 1) > 1e-6)]
    off = [(i, v) for i, v in ratios if abs(v - 1) > 30 * max(tolerance, 1e-8)]
    if off:
        values = [v for _, v in off]
        if max(values) - min(values) <= 1e-3 * max(values):
            text = f"the step size is {number(values[0])} times the stated one ({number(values[0] * wanted[0].lr)} " \
                   f"instead of {number(wanted[0].lr)})"
            if abs(values[0] - 2) < 1e-3:
                text += ": a squared-error loss without the factor 1/2, such as MSELoss?"
            if wanted[0].kind == "decay" and abs(values[0] - wanted[0].extra["gamma"]) < 1e-3:
                text += ": the decay is applied before the first local step"
        else:
            text = "the step sizes differ by client: " + _list([f"{number(v)} times the stated one at client {i}"
                                                                 for i, v in off]) + ": a sum over rows, not a mean?"
        out.append(Fault(text, "fit of the responses to curvature", worst))
    return out


def _far(extra, other, tolerance):
    return any(abs(v - other.get(k, np.inf)) > 100 * max(tolerance, 1e-9) for k, v in extra.items()
               if k != "decay")


def _kind_sentence(f, w):
    e = {k: number(v) for k, v in f.extra.items()}
    alpha, lr = f.extra.get("alpha"), f.lr
    if w.kind == "proximal" and f.kind == "plain":
        return "the proximal term is missing: plain local steps"
    if f.kind == "proximal after the step" or (alpha is not None and alpha < 0):
        sign = ", with the wrong sign (it repels)" if alpha < 0 else ""
        return f"the proximal term is applied after the gradient step{sign}: alpha = {e['alpha']}"
    if f.kind == "proximal" and w.kind == "proximal":
        was = w.extra["alpha"]
        text = f"the proximal coefficient alpha = lr mu is {e['alpha']}, stated {number(was)}"
        if abs(alpha - was**2) < 1e-6:
            return text + ": it enters squared"
        if abs(alpha - was / w.lr) < 1e-6:
            return text + ": mu is not multiplied by the step size"
        return text
    if f.kind == "proximal":
        return f"a hidden proximal term (weight decay towards the server model): alpha = {e['alpha']}, " \
               f"mu = {number(alpha / lr)}"
    if f.kind == "decay":
        if w.kind == "decay":
            return f"the step size decays by the factor {e['gamma']} per local step, stated {number(w.extra['gamma'])}"
        return f"the step size decays by the factor {e['gamma']} per local step although it is stated constant"
    if f.kind == "proximal inside the momentum":
        return f"the proximal term leaks into the momentum buffer (rho = {e['rho']}, alpha = {e['alpha']})"
    if f.kind == "momentum dampened after the first step":
        return f"the momentum is dampened, u <- rho u + (1 - rho) g from the second step on (rho = {e['rho']})"
    if f.kind == "dampened momentum":
        return f"the momentum buffer averages gradients, u <- rho u + (1 - rho) g, instead of summing (rho = {e['rho']})"
    if f.kind == "Nesterov momentum":
        return f"Nesterov's look-ahead is used instead of heavy-ball momentum (rho = {e['rho']})"
    if f.kind == "momentum" and w.kind == "momentum":
        return f"the momentum is {e['rho']}, stated {number(w.extra['rho'])}"
    if f.kind == "momentum":
        return f"hidden local momentum rho = {e['rho']}"
    if w.kind in ("momentum", "decay") and f.kind == "plain":
        return f"the local {w.kind} is missing: plain local steps"
    return f"the local step is {f.kind} ({', '.join(f'{k} = {v}' for k, v in e.items())}), the reference's {w.kind}"


def weight_rules(p, n, steps, masses, base, bare=None):
    """(sentence, rule(cohort) -> weights (n,)) of aggregation rules; base: {cohort: the reference's weights}; bare: masses
    (n,) that the clients would have without their proximal term."""
    p, steps, masses = np.array([float(v) for v in p]), np.array(steps), np.array(masses)

    def on(cohort):
        mask = np.ones(n) if cohort is None else np.zeros(n)
        if cohort is not None:
            np.add.at(mask, list(cohort), 1)
        return mask

    def nova(norm, effective=None):
        """FedNova's weights with these normalisers (n,), and with another effective number of steps (of s, cohort)."""
        def rule(cohort):
            s = p * on(cohort) / (p * on(cohort)).sum()
            return ((s * norm).sum() if effective is None else effective(s, on(cohort))) * s / norm
        return rule

    def first_normaliser(cohort):
        s = p * on(cohort) / (p * on(cohort)).sum()
        return (s * masses).sum() * s / masses[min(cohort) if cohort else 0]

    def first_twice(cohort):
        out = base[cohort].copy()
        out[min(cohort) if cohort else 0] *= 2
        return out

    yield "every participant counts alike (1/|S|): the data weights p_i are dropped", lambda S: on(S) / on(S).sum()
    yield "the participants' p_i are renormalised over the cohort (p_i / p_S)", \
        lambda S: p * on(S) / (p * on(S)).sum()
    yield "the participants' p_i are not renormalised over the cohort (the weights are p_i)", lambda S: p * on(S)
    yield "the sum over the participants is divided by the number of all clients (1/n)", lambda S: on(S) / n
    yield "the weights are p_i n/|S|", lambda S: p * n * on(S) / on(S).sum()
    yield "the normaliser counts local steps, whatever the solver (FedNova with |a_i| proportional to the steps)", nova(steps)
    yield "updates are normalised as in FedNova, by |a_i|", nova(masses)
    yield "the effective number of steps tau_eff is the plain mean of the |a_i|, not weighted by p_i", \
        nova(masses, lambda s, there: (there * masses).sum() / there.sum())
    yield "the first participant's normaliser |a_i| is used for everybody", first_normaliser
    if bare is not None:
        yield "the normaliser |a_i| ignores the proximal term", nova(np.array(bare))
        yield "the normaliser |a_i| ignores the proximal term, the effective number of steps does not", \
            nova(np.array(bare), lambda s, there: (s * masses).sum())
    yield "the first participant's change is added twice", first_twice
    yield "the aggregated change is multiplied by n/|S|", lambda S: base[S] * n / on(S).sum()
    yield "the aggregated change is multiplied by |S|/n", lambda S: base[S] * on(S).sum() / n
    yield "the aggregated change is not divided by the weight p_S of the sample", lambda S: base[S] * (p * on(S)).sum()
    yield "the participants' p_i are not renormalised over the cohort, neither in the sum nor in the normaliser (p_S^2)", \
        lambda S: base[S] * (p * on(S)).sum() ** 2
    yield "the changes are added up instead of averaged", lambda S: on(S)
    full = base[None]
    for factor in (2, 0.5, float(n), 1 / n):
        yield f"the server applies the averaged change {number(factor)} times", lambda S, k=factor: base[S] * k
    for i, j in itertools.combinations(range(n), 2) if n <= 12 else ():
        swap = np.arange(n)
        swap[[i, j]] = j, i
        yield f"the weights of clients {i} and {j} are swapped", lambda S, w=swap: full[w] if S is None else np.nan


def faults_of_weights(seen, base, fits, problems, tolerance):
    """Faults of the aggregation: weights per cohort, seen against the reference's."""
    slack = 30 * max(tolerance, 1e-8)
    if all(np.abs(seen[c] - base[c]).max() <= slack for c in seen):
        return []
    c = max(seen, key=lambda k: (np.abs(seen[k] - base[k]).max() > slack, k is None))
    where = "with all clients" if c is None else f"with cohort {list(c)}"
    numbers = f"{where} the weights are {_numbers(seen[c])}, the reference's {_numbers(base[c])}"
    bare = [mass(f.kind, f.steps, f.lr, f.extra | {"alpha": 0.0}) for f in fits] if "alpha" in fits[0].extra else None
    rules = weight_rules(problems.weights, problems.n, [f.steps for f in fits], [f.mass for f in fits], base, bare)
    out = []
    for sentence, rule in rules:
        gap = max(float(np.abs(seen[k] - rule(k)).max()) for k in seen)
        if gap <= slack:
            out.append(Fault(sentence, numbers, gap))
    p = np.array([float(w) for w in problems.weights])
    over = np.concatenate([(v / p)[list(k) if k else slice(None)] for k, v in seen.items()])
    if not out and len({len(k or p) for k in seen}) > 1 and np.ptp(over) <= slack:
        out.append(Fault(f"the sum over the participants is divided by a fixed cohort size, {number(problems.n / over[0])} of "
                         f"{problems.n} clients, however many take part", numbers, float(np.ptp(over))))
    ratio = np.concatenate([(seen[k] / np.where(base[k] == 0, np.nan, base[k])) for k in seen])
    ratio = ratio[np.isfinite(ratio)]
    if not out and len(ratio) and np.ptp(ratio) <= slack:
        sign = ": it has the wrong sign" if ratio[0] < 0 else ""
        out.append(Fault(f"the aggregated change is multiplied by {number(ratio[0])}{sign}", numbers, float(np.ptp(ratio))))
    absent = [k for k in seen if k is not None and any(abs(seen[k][i]) > slack for i in range(problems.n) if i not in k)]
    if absent:
        out.insert(0, Fault(f"clients outside the cohort {list(absent[0])} change the model", numbers, tolerance))
    return out or [Fault("the aggregation weights are wrong", numbers, 1.0)]


def _numbers(values):
    return "(" + ", ".join(number(v) if v else "0" for v in values) + ")"


def _list(values):
    return ", ".join(str(v) for v in values)
