"""What is derived: algorithm, problem, law and arithmetic, completed and checked before anything is computed; and what is
said where numbers leave the range of float64."""
from __future__ import annotations

import functools
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from fltheory.core.errors import BadInput, CertificateFailed, FLTheoryError, NotAffine, refuse
from fltheory.core.kinds import Algorithm, Draw, Law, Operator, Problem
from fltheory.core.laws.base import noisy
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Domain, Torch, fraction
from fltheory.core.operators.probe import check_affine, layout

MULTIPLE = 4  # of 1 / L: one local step of gradient descent is stable up to 2 / L


def prepare(algorithm: Algorithm, problem: Problem, law: Law, noise):
    """The law with the algorithm's steps and the noise filled in; refuses combinations that have no meaning."""
    check_records(algorithm, problem)
    if not hasattr(law, "cohorts") or isinstance(law, type):
        refuse("law", law, "is no law of participation", "Give ft.Full(), ft.Uniform(m), ft.Bernoulli(p), ...")
    law = law.with_steps(getattr(algorithm, "steps", None))
    if noise is not None:
        if noisy(law.noise) and not _same(law.noise, noise):
            refuse("noise", noise, f"the law already has noise={law.noise}", "Give it once.")
        law = law.with_noise(noise)
    if law.repeats and algorithm.stateful:
        refuse("law", type(law).__name__,
               f"it may draw one client twice, and the clients of {type(algorithm).__name__} keep memories",
               "Use a law without repeats.")
    if law.batch is not None and not hasattr(problem, "sizes"):
        refuse("batch", law.batch, f"{type(problem).__name__} has no rows to draw mini-batches from",
               "Use additive noise, or a problem made of data (ft.Ridge, ft.Logistic, ft.Network).")
    law = getattr(algorithm, "law_for", lambda law, n: law)(law, problem.n)
    for mode in range(law.modes):
        law.steps_of(problem.n, mode)
        law.cohort_count(problem.n, mode)
    return law


def _same(sigma, other):
    symbols = isinstance(sigma, Symbolic) or isinstance(other, Symbolic)
    return sigma == other if symbols else fraction(sigma) == fraction(other)


def check_records(algorithm: Algorithm, problem: Problem, more=()):
    """Refuse what is no method (with the attributes `more`) or no problem."""
    for what, value, has, example in (("algorithm", algorithm, ("round", "init", "to", *more), "ft.FedAvg(lr, steps)"),
                                      ("problem", problem, ("at", "to", "n", "d"), "ft.Quadratic(H, c)")):
        if isinstance(value, type) or not all(hasattr(value, k) for k in has):
            refuse(what, value, f"is no {what}", f"Give a record, for example {example}.")


def end_of_scan(problem: Problem) -> float:
    """The step size 4/L at which a scan ends by default, L being the largest curvature of a client."""
    try:
        L = float(problem.constants.L)
    except (AttributeError, NotImplementedError, BadInput):
        L = 0.0
    if not L > 0:
        refuse("up_to", None, "this problem has no known largest curvature to set the scale", "Give up_to.")
    return MULTIPLE / L


def certain(law: Law, n) -> bool:
    """Whether every round of a prepared law is the same: one cohort, no noise, no random steps."""
    return law.modes == 1 and law.sure(n) and law.batch is None and not noisy(law.noise)


def check_domain(domain):
    if not isinstance(domain, Domain) or isinstance(domain, Torch):
        refuse("domain", domain, "operators live in FLOAT, RATIONAL, Balls, Modular or Field", "Give one of these.")


def confirm_affine(algorithm: Algorithm, problem: Problem, domain, draw: Draw):
    """As `check_affine`; where floats see a curvature, rationals decide: tiny steps that are divided by amplify rounding."""
    def check(domain):
        alg, prob = algorithm.to(domain), problem.to(domain)
        check_affine(alg, prob, layout(alg, prob), draw)
    try:
        check(domain)
    except NotAffine as bend:
        if domain is not FLOAT:
            raise
        try:
            check(RATIONAL)
        except Exception:  # also where the round has no rational form
            raise bend from None


def slopes(surrogate, op: Operator):
    """(H (d, d), b (d,)) of the gradient H x - b of a quadratic surrogate objective, in the arithmetic of an operator."""
    d = op.problem.d
    quadratic = not isinstance(surrogate, type) and getattr(surrogate, "quadratic", False) is True and surrogate.d == d
    s: Any = surrogate.to(op.domain) if quadratic else None
    if not hasattr(s, "_H"):
        refuse("surrogate", surrogate, f"is a problem in {d} dimensions whose clients have Hessians",
               "Give an ft.Quadratic(H, c, weights).")
    return (s.p[:, None, None] * s._H).sum(0), (s.p[:, None] * s._b).sum(0)


def ranged(method):
    """A method that computes in the precision of its own arithmetic, and whose numbers left the range of float64 says so,
    instead of warning and returning NaN."""
    @functools.wraps(method)
    def checked(self, *args, **options):
        try:
            with np.errstate(all="ignore"), self.domain.working():
                value = method(self, *args, **options)
        except FLTheoryError:
            raise
        except (TypeError, np.linalg.LinAlgError, ArithmeticError, ValueError, RuntimeError) as error:
            if self.domain not in (FLOAT, RATIONAL):
                refuse("domain", self.domain, f"{method.__name__} has no value in this arithmetic ({error})",
                       "Ask op.in_domain(ft.FLOAT).")
            raise overflow(self.algorithm, self.domain) from error
        parts = vars(value).values() if is_dataclass(value) else value if isinstance(value, tuple) else [value]
        for v in parts:
            if np.asarray(v).dtype == np.float64 and np.isnan(v).any():
                raise overflow(self.algorithm, self.domain)
        return value
    return checked


def overflow(algorithm: Algorithm, domain=FLOAT):
    remedy = "work exactly (domain=ft.RATIONAL)" if domain is not RATIONAL else "ask op.certify(), which needs no floats"
    return CertificateFailed(f"{type(algorithm).__name__}: numbers left the range of float64 (1.8e308). Use a smaller step "
                             f"size, rescale the problem, or {remedy}")
