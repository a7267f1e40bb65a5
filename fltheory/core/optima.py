"""Minimisers with certificates: exact linear solves, Newton with a gradient certificate, cvxpy as second route."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import CertificateFailed, MissingLibrary, NoMinimiser, TooLarge, refuse
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Numbers, fraction, have, need
from fltheory.core.problems.base import Problem
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.ridge import Ridge
from fltheory.core.problems.rows import RowLoss

LARGEST_SECOND_ROUTE = 1000  # rows: beyond, interior-point accuracy and time get out of hand
CLEAR = 1e-6                 # conditioning of float data beyond which they are solved at their binary values
LARGEST_EXACT = 60           # coordinates up to which that is done, and joint problems are solved whole
FEW_ENTRIES = 2000           # entries of Hessians up to which gradients of float data are taken exactly
GRADIENT_TOLERANCE = 1e-12   # relative to the gradient terms that cancel at the minimiser
GAP_TOLERANCE = 1e-12        # relative to the value there, which is not negative


@dataclass(frozen=True)
class Optimum:
    """A minimiser x (d,), F(x) and why it is one.

    certificate: method; gradient_norm |grad F(x)|; gap (bound on F(x) - F*, None if unknown); exact; unique
    (None if not decided); text.
    """

    x: np.ndarray
    value: Any
    certificate: dict = field(default_factory=dict)


def optimum(problem: Problem) -> Optimum:
    """The minimiser of F = sum p_i f_i, exact if the problem's data are.

    Raises NoMinimiser where F is unbounded below or its infimum is not attained, CertificateFailed where Newton
    does not reach a stationary point, NotImplementedError for problems without a route (networks).
    """
    _check(problem)
    if isinstance(problem, (Quadratic, RowLoss)):
        with np.errstate(all="ignore"):
            try:
                best = _quadratic(problem) if isinstance(problem, Quadratic) else _smooth(problem)
                sure = np.isfinite(best.x).all() if best.x.dtype == np.float64 else True
            except (np.linalg.LinAlgError, OverflowError):  # the second: a value at binary data, as an exact rational
                sure = False
        if not sure:
            raise CertificateFailed("the minimiser or its value leaves the range of float64 (1.8e308): rescale the problem, or "
                                    "give exact numbers")
        return best
    raise NotImplementedError(f"no certified minimiser of a {type(problem).__name__}: quadratics, logistic and Huber "
                              f"problems have one{', such as that of problem.joint()' if problem.personal else ''}")


def float_optimum(problem: Problem):
    """The minimiser (d,) in floats, for what is measured in floats: without flint that of the rounded data. With personal
    parameters its shared part, at the joint optimum."""
    if problem.personal:
        if problem.quadratic and problem.d + problem.n * problem.personal > LARGEST_EXACT:  # in blocks: the joint one is dense
            try:
                blocks = problem if not hasattr(problem, "blocks") else problem.blocks()
                return blocks.stationary(FLOAT, convex=True)[0]
            except NoMinimiser:
                pass
        return problem.split(float_optimum(problem.joint()))[0]
    if isinstance(problem, Quadratic) and not have("flint"):
        return _float_quadratic(problem).x
    return FLOAT.array(optimum(problem).x)


def surrogate_optimum(problem: Problem, w: Numbers) -> Optimum:
    """The minimiser of the surrogate objective sum w_i f_i; w (n,) weights summing to 1."""
    _check(problem)
    return optimum(problem.surrogate(w))


def _check(problem: Problem):
    if not isinstance(problem, Problem):
        refuse("problem", problem, "is no problem", "Give ft.Quadratic(...), ft.Ridge(...), ft.Logistic(...), ...")


# ---- quadratics ------------------------------------------------------------------------------------------
def _quadratic(problem: Problem):
    domain = problem.native
    if domain is FLOAT:
        return _float_quadratic(problem)
    p, H, b = _summed(problem, domain)
    if domain is not RATIONAL:
        return _symbolic_quadratic(p, H, b)
    H, b = linalg.to_fractions(H), linalg.to_fractions(b)
    if not linalg.is_positive_definite(H, strict=False):
        v, curvature = _negative_direction(H)
        raise NoMinimiser(f"F is unbounded below: along v = {_show(v)} it has curvature v'Hv = {curvature} < 0")
    unique = linalg.is_positive_definite(H)
    x = linalg.solve(H, b) if unique else _minimum_norm(H, b)
    text = ("H is positive definite (exact LDL') and Hx = b exactly" if unique else
            "H is positive semidefinite (exact) and singular, Hx = b exactly: not unique, this is the minimum-norm one")
    zero, value = Fraction(0), fraction(p.value(domain.array(x)))
    return Optimum(x, value, _certificate("exact linear solve", zero, zero, unique, text))


def _summed(problem: Problem, domain):
    """(problem in this arithmetic, H (d, d), b (d,)) of F(x) = x'Hx/2 - b'x + ..."""
    p = problem.to(domain)
    return p, (p.p[:, None, None] * p._H).sum(0), (p.p[:, None] * p._b).sum(0)


def _certificate(method, norm, gap, unique, text):
    return {"method": method, "gradient_norm": norm, "gap": gap, "exact": not isinstance(norm, float), "unique": unique,
            "text": text}


def _negative_direction(H):
    """A rational v with v'Hv < 0 and that value, for a symmetric H that is not positive semidefinite."""
    scale = max(abs(v) for v in H.reshape(-1))
    guess = np.linalg.eigh((H / scale).astype(float))[1][:, 0]
    for digits in (10, 10**3, 10**6, 10**15):
        v = linalg.to_fractions([Fraction(float(c)).limit_denominator(digits) for c in guess])
        curvature = (v * linalg.matmul(H, v)).sum()
        if curvature < 0:
            return v, curvature
    raise CertificateFailed("H is not positive semidefinite, but no rational direction of negative curvature was found")


def _minimum_norm(H, b):
    """The solution of Hx = b in the range of a singular positive semidefinite H."""
    kernel, _ = linalg.nullspace(H)
    slopes = linalg.matmul(kernel.T, b)
    if any(slopes != 0):
        k = next(k for k, s in enumerate(slopes) if s != 0)
        raise NoMinimiser(f"F is unbounded below: v = {_show(kernel[:, k])} has Hv = 0, and F falls along it with "
                          f"constant slope {-abs(slopes[k])}")
    # x is orthogonal to the kernel: add K K' to make the system regular without moving the solution
    return linalg.solve(H + linalg.matmul(kernel, kernel.T), b)


def _float_quadratic(problem: Problem):
    """Floats decide by what their entries can know: eigenvalues after scaling to unit diagonal, in which rounding of the
    entries counts alike. diag(1, 1e-20) is definite, (1, 1)(1, 1)' with rounding is singular."""
    p, H, b = _summed(problem, FLOAT)
    diagonal = np.diagonal((p.p[:, None, None] * np.abs(p._H)).sum(0))
    size = np.sqrt(np.where(diagonal <= 0, max(diagonal.max(initial=0.0), 1e-300), diagonal))
    scaled, V = np.linalg.eigh((H + H.T) / 2 / size[:, None] / size)
    rounding = 4 * len(H) * np.finfo(float).eps * max(1.0, np.abs(scaled).max())
    if scaled[0] < -rounding:
        v = V[:, 0] / size / np.abs(V[:, 0] / size).max()
        raise NoMinimiser(f"F is unbounded below: along v = {_show(v)} it has curvature {v @ H @ v:.6g} < 0")
    unique = bool(scaled[0] > rounding)
    hard = unique and scaled[0] < CLEAR * scaled[-1] and len(H) <= LARGEST_EXACT and have("flint")
    if hard:
        x = FLOAT.array(_quadratic(problem.exact()).x)
    elif unique:
        x = np.linalg.solve(H / size[:, None] / size, b / size) / size
    else:
        x = _float_minimum_norm(b, size, scaled, V, scaled > rounding)
    terms = np.linalg.norm(p.p @ np.abs(p._b)) + np.linalg.norm((p.p[:, None, None] * np.abs(p._H)).sum(0) @ np.abs(x))
    value, norm, lost = _measured_at(x, problem, p, hard, terms)
    if not unique and norm > 1e-9 * terms:
        raise NoMinimiser(f"F is unbounded below: H is singular to rounding and |Hx - b| >= {norm:.3g} for every x")
    # least curvature: of the scaled form where the plain one is rounding, but never above what either can say
    plain = np.linalg.eigvalsh((H + H.T) / 2)
    least = max(plain[0] - rounding * plain[-1], (scaled[0] - rounding) * size.min()**2) if unique else 0.0
    gap = (norm + lost)**2 / (2 * float(least)) if least > 0 else None
    text = (f"|grad F(x)| = {norm:.3g} and smallest curvature {least:.6g}, in floats" if unique else
            f"|grad F(x)| = {norm:.3g}; H is singular to rounding: not unique, this is the minimum-norm one")
    method = "exact linear solve at binary values, rounded" if hard else "float linear solve"
    return Optimum(x, value, _certificate(method, norm, gap, unique, text))


def _float_minimum_norm(b, size, scaled, V, keep):
    """The shortest solution of Hx = b from the eigenvectors V, kept or not, of the scaled H."""
    x = V[:, keep] @ ((V[:, keep].T @ (b / size)) / scaled[keep]) / size
    kernel = np.linalg.qr(V[:, ~keep] / size[:, None])[0]
    return x - kernel @ (kernel.T @ x)


def _measured_at(x, problem: Problem, p, hard, terms):
    """(F(x), |grad F(x)|, what rounding may hide of it) at a point of floats, exactly where that is cheap: floats lose what
    cancels."""
    if have("flint") and (hard or problem.n * problem.d**2 <= FEW_ENTRIES):
        exact = problem.exact().to(RATIONAL)
        at = RATIONAL.array(x)
        return float(exact.value(at)), float(np.linalg.norm(FLOAT.array(exact.gradient(at)))), 0.0
    return float(p.value(x)), float(np.linalg.norm(p.gradient(x))), (problem.n + problem.d + 2) * np.finfo(float).eps * terms


def _symbolic_quadratic(p, H, b):
    try:
        x = linalg.solve(H, b)
    except np.linalg.LinAlgError:
        raise NoMinimiser("H is singular identically in the symbols: no unique stationary point") from None
    return Optimum(x, p.value(x), _certificate("symbolic linear solve", 0, None, None,
                                               "Hx = b identically; that H is positive is a hypothesis"))


def _show(v):
    return "(" + ", ".join(f"{c:.6g}" if isinstance(c, float) else str(c) for c in v) + ")"


# ---- logistic and Huber ----------------------------------------------------------------------------------
def _smooth(problem: Problem):
    p = problem.to(FLOAT)
    penalty = (p.p[:, None] * p._ridge).sum(0)   # of each coordinate, or (1,) of them all: clients may lack coordinates
    mu = float(penalty.min())
    if mu == 0 and isinstance(problem, Logistic):
        _refuse_separable(p, np.broadcast_to(penalty == 0, p.d))
    x, steps = _newton(p)
    norm = float(np.linalg.norm(p.gradient(x)))
    (size, lost), value = _gradient_terms(p, x), float(p.value(x))
    gap = (norm + lost)**2 / (2 * mu) if mu > 0 else None
    # what cancels inside predictions may hide more than a part of the terms: then the gap alone decides, and there must be one
    if not (norm <= GRADIENT_TOLERANCE * size or (gap is not None and gap <= GAP_TOLERANCE * value)):
        raise CertificateFailed(f"Newton stopped after {steps} steps at |grad F| = {norm:.3g}, above "
                                f"{GRADIENT_TOLERANCE:g} times the gradient terms ({size:.3g})")
    eigenvalues = np.linalg.eigvalsh(p.mean_hessian(x)) if mu == 0 else [mu, mu]
    unique = True if eigenvalues[0] > 1e-10 * eigenvalues[-1] else None
    text = f"|grad F(x)| = {norm:.3g} after {steps} Newton steps"
    text += f"; F is {mu:.6g}-strongly convex, so F(x) - F* <= {gap:.3g}" if mu > 0 else (
        "; no regularisation, so no bound on the gap" + ("" if unique else "; the minimiser may not be unique"))
    return Optimum(x, value, _certificate("Newton", norm, gap, unique, text))


def _gradient_terms(p, x):
    """(size of the terms that cancel in grad F(x), what rounding may have made of it, by how predictions and sums are rounded)."""
    rows = np.abs(p._rows)

    def summed(r):
        terms = (rows.swapaxes(-1, -2) @ (p._scale[..., None] * r)).swapaxes(-1, -2).reshape(p.n, -1)
        return float(p.p @ np.linalg.norm(terms, axis=1))
    size = summed(np.abs(p._slope(p._predict(x[None, :]), p._targets))) + np.linalg.norm((p.p[:, None] * p._ridge).sum(0) * x)
    inner = summed(rows @ np.abs(x).reshape(p.outputs, -1).T) * float(p.curvature)
    features, longest = rows.shape[-1], rows.shape[-2]
    return float(size), np.finfo(float).eps * float((features + 2) * inner + (longest + p.n + 10) * size)


def _newton(p, limit=200):
    """(x, steps): damped Newton from 0 in numpy, minimum-norm steps unless F is clearly strongly convex, until the gradient
    stops shrinking."""
    x = np.zeros(p.d)
    g = p.gradient(x)
    best, best_norm, stalled = x, np.linalg.norm(g), 0
    L = float(p.constants.L)
    convex = (p.p[:, None] * p._ridge).sum(0).min() > 1e-9 * L
    least = 1e-18 * abs(p.value(x))   # of a value, which is a sum of squares near 0, that floats still tell from what it began with
    for k in range(limit):
        if best_norm == 0 or stalled > 3:
            return best, k
        thin = convex and p.outputs == 1 and 2 * p.sizes.sum() < p.d
        step = -(_by_rows(p, x, g) if thin else np.linalg.solve(p.mean_hessian(x), g) if convex else
                 np.linalg.lstsq(p.mean_hessian(x), g, rcond=1e-13)[0])
        if not g @ step < -1e-8 * np.linalg.norm(g) * np.linalg.norm(step):
            step = -g / max(L, 1e-300)  # flat pieces of Huber losses: Newton has nothing to say
        value, slope, t = p.value(x), g @ step, 1.0
        while t > 1e-8:
            new = p.gradient(x + t * step)
            if p.value(x + t * step) <= value + 1e-4 * t * slope or np.linalg.norm(new) <= 0.5 * np.linalg.norm(g):
                break
            t /= 2
        x, g = x + t * step, p.gradient(x + t * step)
        norm = np.linalg.norm(g)
        stalled = 0 if norm < 0.9 * best_norm or -slope > 1e-12 * (abs(value) + least + 1e-300) else stalled + 1
        if norm < best_norm:
            best, best_norm = x, norm
    return best, limit


def _by_rows(p, x, g):
    """H^-1 g of the Hessian H = D + R'R at x, of fewer rows R than coordinates: D^-1 (g - R'(I + R D^-1 R')^-1 R D^-1 g), by the
    formula of Sherman, Morrison and Woodbury."""
    curve = p._curve(p._predict(x[None, :]), p._targets)[..., 0, 0]
    rows = (np.sqrt(p.p[:, None] * p._scale * curve)[..., None] * p._rows).reshape(-1, p.d)
    rows, D = rows[rows.any(1)], (p.p[:, None] * p._ridge).sum(0)
    inner = np.eye(len(rows)) + (rows / D) @ rows.T
    return (g - rows.T @ np.linalg.solve(inner, rows @ (g / D))) / D


def _refuse_separable(p, free):
    """Raise NoMinimiser if some direction lowers every row's loss for ever, without a penalty: among the coordinates free (d,)
    of one (linear programme over directions)."""
    from scipy.optimize import linprog
    used = [i for i in range(p.n) if p.p[i] > 0]
    rows = np.concatenate([p._rows[i][:p.sizes[i]] for i in used])
    t = np.concatenate([p._targets[i][:p.sizes[i]] for i in used])
    if p.binary:
        margins = t * rows
    else:  # one margin per row and wrong class: a'(V_label - V_c)
        K, f = p.classes, rows.shape[1]
        label = t.argmax(1)
        margins = np.zeros((len(rows), K, K, f))
        j = np.arange(len(rows))
        for c in range(K):
            margins[j, c, label] += rows
            margins[j, c, c] -= rows
        margins = margins.reshape(-1, K * f)
    margins = margins[:, free]
    margins = margins[np.abs(margins).max(1) > 0]
    margins = margins / np.abs(margins).max(1, keepdims=True)
    m, d = margins.shape
    # maximise sum s over margins'v >= s, 0 <= s <= 1: the optimum is 0, or at least 1 since v can be scaled
    cost, block = np.concatenate([np.zeros(d), -np.ones(m)]), np.hstack([-margins, np.eye(m)])
    result = linprog(cost, A_ub=block, b_ub=np.zeros(m), bounds=[(None, None)] * d + [(0, 1)] * m, method="highs")
    if result.status != 0:
        raise CertificateFailed(f"whether the data are separable was not decided: linprog says {result.message!r}")
    if -result.fun > 0.5:
        v = np.zeros(p.d)
        v[free] = result.x[:d] / np.abs(result.x[:d]).max()
        raise NoMinimiser(f"the unregularised logistic loss has no minimiser: the data are separable, along "
                          f"v = {_show(v)} no row's loss grows and some fall for ever. Use reg > 0")


# ---- second route ----------------------------------------------------------------------------------------
def second_route(problem: Problem) -> tuple[np.ndarray, str]:
    """(x, status) of the same minimiser by cvxpy (clarabel), for problems of up to about 1,000 rows.

    Built from the rows where a problem has them, so it shares no formula with `optimum`. Accuracy is that of an
    interior-point solver: about 1e-5 in x. Raises CertificateFailed for every status but "optimal", TooLarge
    beyond 1,000 rows, MissingLibrary without cvxpy, NotImplementedError for networks.
    """
    _check(problem)
    if not isinstance(problem, (Quadratic, RowLoss)):
        raise NotImplementedError(f"no convex programme for a {type(problem).__name__}")
    rows = int(np.sum(problem.sizes)) if hasattr(problem, "sizes") else problem.d
    if rows > LARGEST_SECOND_ROUTE:
        raise TooLarge(f"the second route has {rows} rows, above {LARGEST_SECOND_ROUTE}: use optimum's own certificate")
    cp = need("cvxpy", "the second route to a minimiser")
    p = problem.to(FLOAT)
    x = cp.Variable(p.d)
    programme = cp.Problem(cp.Minimize(_expression(cp, p, x)))
    if "CLARABEL" not in cp.installed_solvers():
        raise MissingLibrary("clarabel is not installed: it is needed for the second route. pip install clarabel")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts of the solver show in the status, which is checked
        try:
            programme.solve(solver=cp.CLARABEL)
        except (cp.error.DCPError, cp.error.SolverError, ValueError) as error:
            raise CertificateFailed(f"cvxpy gave no minimiser: {str(error).splitlines()[0]}") from None
    if programme.status != "optimal":
        raise CertificateFailed(f"cvxpy says {programme.status!r}: only 'optimal' counts as an answer")
    return np.asarray(x.value, dtype=float).reshape(-1), programme.status


def _expression(cp, p, x):
    terms = []
    if isinstance(p, Quadratic) and not isinstance(p, Ridge):
        H = (p.p[:, None, None] * p._H).sum(0)
        return cp.quad_form(x, (H + H.T) / 2) / 2 - ((p.p[:, None] * p._b).sum(0)) @ x
    for i in range(p.n):
        m, w = p.sizes[i], p.p[i]
        A = p._rows[i][:m]
        terms.append(w / 2 * cp.sum_squares(cp.multiply(np.sqrt(np.broadcast_to(p._ridge[i], x.shape)), x)))
        if isinstance(p, Ridge):
            terms.append(w * p._factor[i] / (2 * m) * cp.sum_squares(A @ x - p._answers[i][:m]))
            continue
        s, t = w * p._scale[i][:m], p._targets[i][:m]
        if isinstance(p, HuberLoss):
            r = A @ x - t[:, 0]
            for delta in np.unique(t[:, 1]):
                chosen = np.flatnonzero(t[:, 1] == delta)
                terms.append(s[chosen] @ cp.huber(r[chosen], float(delta)) / 2)
        elif p.binary:
            terms.append(s @ cp.logistic(-cp.multiply(t[:, 0], A @ x)))
        else:
            u = A @ cp.reshape(x, (p.classes, A.shape[1]), order="C").T
            terms.append(s @ (cp.log_sum_exp(u, axis=1) - cp.sum(cp.multiply(t, u), axis=1)))
    return sum(terms)
