"""What is no hyper-parameter is refused in words that say where it belongs."""
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput


@pytest.mark.parametrize("algorithm", [ft.FedAvg, ft.FedNova, ft.Scaffold, ft.Focus])
def test_random_steps_belong_to_the_law(algorithm):
    random = ft.RandomSteps((("1/2", 1), ("1/2", 4)))
    with pytest.raises(BadInput, match=r"law of participation.*ft\.Full\(steps=ft\.RandomSteps"):
        algorithm("1/20", random)
    assert ft.derive(algorithm("1/20"), ft.Quadratic([[[1]]], [[1]]), ft.Full(steps=random)).rate() < 1
