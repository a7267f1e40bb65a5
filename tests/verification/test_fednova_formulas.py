"""Closed forms of the paper that invert one another, at their edges."""
import math
from fractions import Fraction as Q

import pytest

from verification.fednova import formulas as f


def allowed(eta, L, vectors, tau_eff, beta2):
    """Eq 101 as printed, squared: eta L <= 1/2 min{1/(max_i |a_i|_1 sqrt(2 beta^2 + 1)), 1/tau_eff}."""
    eta, longest = Q(eta), max(sum(a) for a in vectors)
    return (2 * eta * L * longest) ** 2 * (2 * beta2 + 1) <= 1 and 2 * eta * L * tau_eff <= 1


CASES = [("vanilla", None), ("proximal", Q(1, 3)), ("momentum", Q(1, 2)), ("decay", Q(4, 5)), ("decay", Q(0))]


@pytest.mark.parametrize("solver, value", CASES)
@pytest.mark.parametrize("beta2", [1, Q(3, 2), 4, Q(17, 3)])
@pytest.mark.parametrize("tau_eff", [Q(1, 2), 3, 40])
def test_the_step_size_cap_holds_at_the_cap_and_not_above(solver, value, beta2, tau_eff):
    L, vectors = Q(7, 3), [f.a_vector(solver, tau, value) for tau in (1, 5, 3)]
    cap = f.lr_cap_eq101(L, vectors, tau_eff, beta2)
    assert allowed(cap, L, vectors, tau_eff, beta2)
    if isinstance(cap, float):
        assert not allowed(math.nextafter(cap, math.inf), L, vectors, tau_eff, beta2)
    else:
        assert not allowed(cap * (1 + Q(1, 10**30)), L, vectors, tau_eff, beta2)


def test_the_cap_is_exact_where_its_root_is_rational_and_the_inverse_of_beta2():
    vectors = [[1] * 2, [1] * 5]
    assert f.lr_cap_eq101(Q(2), vectors, 1, 4) == Q(1, 60)  # 1/(2 L 5 sqrt(9))
    assert f.lr_cap_eq101(Q(2), vectors, 100, 4) == Q(1, 400)  # 1/(2 L tau_eff)
    for beta2 in (1, 4, Q(3, 2), 12):
        eta = f.lr_cap_eq101(Q(2), vectors, 1, beta2)
        assert float(f.beta2_under_cap(Q(eta), Q(2), 5)) == pytest.approx(float(beta2), rel=1e-14)
        assert f.beta2_under_cap(Q(eta), Q(2), 5) >= beta2


def test_the_cap_of_the_paper_s_counter_example():
    """E1: L = 1, FedProx with alpha = 1 and steps (1, 2), so a = (1) and (0, 1), tau_eff = 1, beta^2 = 1: 0.2887."""
    cap = f.lr_cap_eq101(1, [f.a_vector("proximal", tau, Q(1)) for tau in (1, 2)], 1, 1)
    assert cap == pytest.approx(1 / (2 * math.sqrt(3)), rel=1e-15) and cap > 0.25
