"""Local rates of smooth non-quadratic problems: Newton on the coded round, then its Jacobian at the fixed point."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import CertificateFailed, refuse, shortened
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers, Torch, declare, fraction, is_count, need
from fltheory.core.operators.probe import Layout
from fltheory.core.operators.setting import certain, prepare


@dataclass(frozen=True)
class Linearisation:
    """x (d,): server model at the fixed point; state (D,); jacobian (D, D) of the round there; residual of the fixed
    point; rate: local contraction factor, the spectral radius where conserved quantities keep their value."""

    x: np.ndarray
    state: np.ndarray
    jacobian: np.ndarray
    residual: float
    rate: float


def linearise(algorithm: Algorithm, problem: Problem, law: Law, x0: Numbers | None = None, tolerance: Number = 1e-12,
              limit: int = 50) -> Linearisation:
    """Fixed point and local rate of a deterministic round on a smooth problem, by `torch.func.jacrev` and Newton.

    law: full participation, or any law with one cohort (its only round is used). x0 (d,): where Newton starts,
    default 0. Raises BadInput for a law with randomness of any kind and for rounds that torch cannot differentiate
    (such as that of AsyncFedED, which rounds its step counts), CertificateFailed if Newton does not reach the tolerance
    (relative to the state's size).
    """
    torch = need("torch", "local linearisation")
    if not is_count(limit):
        refuse("limit", limit, "Newton makes at least one step", "Give an int >= 1.")
    tolerance = fraction(tolerance)
    if not 0 < tolerance < 1:
        refuse("tolerance", tolerance, "a relative accuracy in (0, 1)", "For example 1e-12.")
    tolerance = float(tolerance)
    law = prepare(algorithm, problem, law, None)
    if not certain(law, problem.n):
        refuse("law", law, "local linearisation needs one round map", "Use ft.Full(); random laws have no single map.")
    domain = Torch("cpu")
    alg, prob = algorithm.to(domain), problem.to(domain)
    ((_, draw),) = law.support(problem.n)
    draw = draw.map(lambda a: torch.as_tensor(np.array(a)))
    start = domain.array(FLOAT.array(declare([0] * problem.d if x0 is None else x0, "x0")))
    if tuple(start.shape) != (problem.d,):
        refuse("x0.shape", tuple(start.shape), f"one server model of shape ({problem.d},)", "Give d numbers.")
    state = alg.init(prob, start)
    lay = Layout.of(state)

    def step(z):
        return lay.flatten(alg.round(prob, lay.unflatten(z), draw))

    def jacobian(z):
        try:
            return torch.func.jacrev(step)(z)
        except (RuntimeError, NotImplementedError) as error:  # the round itself ran: torch cannot differentiate it
            refuse("algorithm", algorithm, f"has a round without derivative ({shortened(error)})",
                   "Measure its rate with ft.run, or write the round with differentiable operations.")
    z = lay.flatten(state)
    for _ in range(limit):
        residual = step(z) - z
        size = float(residual.abs().max())
        if size <= tolerance * max(1.0, float(z.abs().max())):
            break
        J = jacobian(z)
        if not bool(torch.isfinite(J).all() and torch.isfinite(residual).all()):
            raise CertificateFailed("Newton on the round left the range of float64; start closer (x0) or reduce the step size")
        shift = J - torch.eye(len(z), dtype=z.dtype)
        invariants, _ = _conserved(shift)
        system, rhs = torch.cat([shift, invariants]), torch.cat([residual, residual.new_zeros(len(invariants))])
        z = z - torch.linalg.lstsq(system, rhs[:, None], driver="gelsd").solution[:, 0]
    else:
        raise CertificateFailed(f"Newton on the round stopped at residual {size:.2e} after {limit} steps; "
                                "start closer (x0) or check that the round has a fixed point")
    J = jacobian(z).detach()
    _, free = _conserved(J - torch.eye(len(z), dtype=z.dtype))
    rate = float(np.abs(np.linalg.eigvals((free @ J @ free.T).numpy())).max(initial=0.0))
    return Linearisation(alg.model(lay.unflatten(z)).detach().numpy(), z.detach().numpy(), J.numpy(), size, rate)


def _conserved(shift):
    """Orthonormal rows (W, N): W (J - I) = 0 are the quantities W z that rounds conserve, N spans the rest.

    Newton and the rate live on the start's level set of W z: the left kernel, which least squares alone ignores.
    """
    import torch
    U, sizes, _ = torch.linalg.svd(shift)
    dead = sizes <= 1e-10 * max(1.0, float(sizes.max()))
    return U[:, dead].T, U[:, ~dead].T
