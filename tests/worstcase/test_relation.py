"""`certified_over`: a printed constant against the smallest one, held only by a certificate."""
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.evidence import HOLDS, INCONCLUSIVE

pytest.importorskip("cvxpy")
pytest.importorskip("flint")

KIND = ft.SmoothConvex(1, "1/10")


def decrease(constant, gain="-1/2", **given):
    """F(next) - F(x) <= -gain lr |grad|^2 + constant distance, for one descent step."""
    return ft.certified_over(ft.FedAvg("1/2", 1), KIND, left=lambda s: s.square(s.next - s.star), tight="distance",
                             terms={"distance": (constant, lambda s: s.square(s.x - s.star)),
                                    "gradient": (gain, lambda s: s.square(s.grad(s.x)) / 2)}, **given)


def test_the_smallest_constant_is_compared_with_the_given_one():
    # |x+ - x*|^2 + |g|^2 / 4: (1 - h/2)^2 + h^2 / 4 is largest at h = 1/10
    found = decrease("19/20")
    assert (found.status, found.evidence) == (HOLDS, "exact")
    assert float(found.lhs) == pytest.approx(0.95**2 + 0.0025, abs=1e-5) and found.rhs - found.lhs == found.margin > 0
    assert "beside gradient" in found.detail and "certified is a constant" in found.detail


def test_a_smaller_constant_is_not_held():
    assert decrease("9/10").status == INCONCLUSIVE
    assert decrease("19/20", gain="-2").status == INCONCLUSIVE


def test_an_unbounded_quotient_is_not_held_and_says_along_what():
    found = ft.certified_over(ft.FedAvg("1/5", 2), KIND, clients=2, left=lambda s: s.square(s.next - s.star), tight="distance",
                              terms={"distance": (100, lambda s: s.square(s.x - s.star))})
    assert found.status == INCONCLUSIVE and "gradient of client" in found.detail


def test_a_term_that_is_missing_is_refused():
    with pytest.raises(BadInput, match="one of the terms"):
        ft.certified_over(ft.FedAvg("1/5", 1), KIND, left=lambda s: s.square(s.x), tight="x", terms={})


# ---- FOCUS at arbitrary stored points -------------------------------------------------------------------------------
def stored(s):
    gradients = s.grads(s.vectors("z"))
    return {"g": gradients, "y": gradients.sum(-2)}


def spread(s):
    """sum_i |x - z_i|^2, FOCUS's consensus error."""
    return sum((s.square(s.x - z) for z in s.vectors("z")[1:]), s.square(s.x - s.vectors("z")[0]))


@pytest.mark.parametrize("law", [ft.Full(), ft.Uniform(1)], ids=["full", "uniform"])
def test_states_with_stored_gradients(law):
    """FOCUS (96): |sum of gradients at x minus those stored after the round|^2 <= 3 L^2 N spread, non-convex clients."""
    found = ft.certified_over(ft.Focus("1/3", 2), ft.Smooth(1), law, clients=2, start=stored, tight="spread",
                              left=lambda s: s.square(2 * s.grad(s.x) - s.after.y), terms={"spread": (6, spread)})
    assert found.status == HOLDS and 0.2 < float(found.lhs) < 1


def test_the_points_of_stored_gradients_are_found_again():
    """After one full round of one local step every stored gradient was taken at x, abstractly and in the float round."""
    def apart(s):
        return sum((s.square(s.x - z) for z in s.points_of(s.after.g)[1:]), s.square(s.next - s.star))
    found = ft.worst_case(ft.Focus("1/20", 1), KIND, clients=2, start=stored, measure=apart,
                          initial=lambda s: s.square(s.x - s.star) + spread(s) <= 1)
    plain = ft.worst_case(ft.Focus("1/20", 1), KIND, clients=2, start=stored, measure=lambda s: s.square(s.next - s.star),
                          initial=lambda s: s.square(s.x - s.star) + spread(s) <= 1)
    assert found.value == pytest.approx(plain.value, abs=1e-7)
    assert found.witness.attained == pytest.approx(found.value, abs=1e-4)
