"""The contract's refusals, the checks before any comparison, and the search without a named algorithm."""
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fltheory as ft
from fltheory.blackbox.fits import _steepest
from fltheory.core.errors import BadInput
from tests.blackbox.adapters import hidden, plain

AVG = ft.FedAvg("1/20", (3, 2, 5))


def descent(x, clients, lr=0.1, change=lambda g: g):
    return x - lr * sum(c.weight * change(c.grad(x)) for c in clients)


@pytest.mark.parametrize("arguments,words", [
    ({"n": 0}, "n = 0"), ({"d": 0}, "d = 0"), ({"n": True}, "n = True"), ({"round_fn": 3}, "callable"),
    ({"weights": ("1/2", "1/3", "1/3")}, "sum to 1"), ({"weights": ("1", "0", "0")}, "positive"),
    ({"algorithm": "FedAvg"}, "algorithm"), ({"algorithm": ft.AdaptiveServer("1/20", 2)}, "affine"), ({"law": 2}, "law"),
    ({"rounds": 0}, "rounds"), ({"tolerance": 2}, "tolerance"), ({"state": {"c": np.zeros(2)}}, 'under "x"'),
    ({"state": {"x": np.zeros(3)}}, 'under "x"'), ({"reset": 1}, "reset"), ({"algorithm": ft.FedAvg("1/20")}, "local steps"),
    ({"algorithm": ft.FedAvg("1/20", (1, 2))}, "one per client"),
    ({"law": ft.Uniform(2), "algorithm": None}, "testing the code's own draws"),
    ({"law": ft.Cyclic([[0], [1, 2]])}, "one coordinate per client"),
    ({"law": ft.Cyclic([[0], [1, 2]]), "d": 3, "algorithm": ft.Mifa("1/20", 3)}, "has no memory where the law has one"),
    ({"algorithm": ft.FedAwe("1/20", 3), "state": {"x": np.zeros(2), "w": np.zeros((3, 2)), "age": np.ones(3)},
      "round_fn": lambda state, clients: state}, "starts more than x at the model"),
])
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        ft.identify(**({"round_fn": descent, "n": 3, "d": 2, "algorithm": AVG} | arguments))


@pytest.mark.parametrize("wrong", [lambda x: x, lambda x, clients, m, k: x, lambda x, clients, cohort, k: x])
def test_a_round_that_cannot_be_called_is_refused_before_it_is(wrong):
    with pytest.raises(BadInput, match=r"round\(x, clients, cohort=\[0, 2\]\).*participants cohort.*call=.*a default"):
        ft.identify(wrong, 3, 2, AVG)


def test_further_parameters_with_a_default_are_left_alone():
    assert ft.identify(lambda x, clients, k=3: descent(x, clients), 3, 2, ft.FedAvg("1/10", 1)).matches


@pytest.mark.parametrize("wrong,words", [
    (lambda x, clients: x[:1], "shape"), (lambda x, clients: x * np.nan, "not finite"), (lambda x, clients: None, "numbers"),
    (lambda x, clients: 1 / 0, r"call 1\) raised ZeroDivisionError"), (lambda x, clients: clients[7], "IndexError"),
])
def test_bad_outputs_are_refused(wrong, words):
    with pytest.raises(BadInput, match=words):
        ft.identify(wrong, 3, 2, AVG)


def test_the_state_must_come_back_whole():
    with pytest.raises(BadInput, match="whole state"):
        ft.identify(lambda state, clients: {"x": state["x"]}, 3, 2, AVG, state={"x": np.zeros(2), "c": np.zeros(2)})


def test_plain_descent_is_one_local_step():
    found = ft.identify(descent, 3, 2, ft.FedAvg("1/10", 1))
    assert found.matches and found.assert_matches() is found and found.deviation <= 1e-12
    assert "MATCHES" in str(found) and found.calls < 60


def test_a_model_that_comes_back_as_it_was_is_named():
    for algorithm in (AVG, ft.Scaffold("1/20", 3), None):
        found = ft.identify(lambda x, clients: x, 3, 2, algorithm)
        assert found.faults[0].sentence.startswith("the round does nothing"), str(found)


@pytest.mark.parametrize("left_out", [(2,), (0, 1)])
def test_clients_without_effect_are_named(left_out):
    found = ft.identify(lambda x, clients: descent(x, [c for i, c in enumerate(clients) if i not in left_out]), 3, 2,
                        ft.FedAvg("1/10", 1))
    who = f"client{'s' if len(left_out) > 1 else ''} {', '.join(map(str, left_out))}"
    assert f"the data of {who} have no effect" in found.faults[0].sentence, str(found)


def test_dropped_weights_of_a_memoryless_round_are_named_once():
    plain_average = plain(ft.FedAvg("1/20", (3, 2, 5), averaging="plain"))
    found = ft.identify(plain_average, 3, 2, AVG)
    assert [f.sentence for f in found.faults] == ["every participant counts alike (1/|S|): the data weights p_i are dropped"]


def adam(x, clients):
    """One round of local Adam: steps of about the same length whatever the gradient."""
    def trained(client):
        y, m, v = np.array(x), 0, 0
        for k in range(1, 4):
            g = client.grad(y)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            y = y - 0.05 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
        return y
    return sum(c.weight * trained(c) for c in clients)


def test_adaptive_steps_are_named():
    found = ft.identify(adam, 3, 2, AVG)
    assert found.verdict == "not affine" and "Adam (0.9, 0.999) fits" in found.faults[0].sentence, str(found)
    found = ft.identify(lambda x, clients: descent(x, clients, change=np.arctan), 3, 2, AVG)
    assert found.verdict == "not affine" and "not squared" not in str(found) and "Ada" not in str(found), str(found)
    found = ft.identify(lambda x, clients: descent(x, clients, change=lambda g: g * np.sqrt(abs(g))), 3, 2, ft.FedAvg("1/10", 1))
    assert found.verdict == "not affine" and "at any scale" in found.reason and "not squared" not in str(found), str(found)


def test_a_round_that_draws_numbers_is_not_deterministic():
    found = ft.identify(lambda x, clients: descent(x, clients) + np.random.standard_normal(2), 3, 2, AVG)
    assert found.verdict == "not deterministic" and "law=" in found.reason
    generator = np.random.default_rng(0)
    found = ft.identify(lambda x, clients: descent(x, clients) + generator.standard_normal(2), 3, 2, AVG)
    assert found.verdict == "inconclusive" and not found.matches


def test_hidden_memory_asks_for_reset():
    run, reset = hidden(ft.Scaffold("1/20", 3))
    found = ft.identify(run, 3, 2, ft.Scaffold("1/20", 3))
    assert found.verdict == "inconclusive" and "reset=" in found.reason
    reset()
    assert ft.identify(run, 3, 2, ft.Scaffold("1/20", 3), reset=reset).matches
    assert ft.identify(run, 3, 2, ft.Scaffold("1/20", 3), reset=lambda: None).verdict == "inconclusive"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("what,words", [("g", "every gradient is clipped to norm"), ("gv", "each coordinate of every gradient"),
                                        ("u", "a client's update is clipped to norm"),
                                        ("uv", "each coordinate of a client's update")])
def test_clipping_is_measured_and_told_apart(what, words, C, dtype):
    def clip(v):
        return np.clip(v, -C, C) if what.endswith("v") else v * min(1, C / max(np.linalg.norm(v), 1e-30))

    def run(x, clients):
        x, change = x.astype(dtype), 0
        for c in clients:
            y = x
            for _ in range(3):
                g = c.grad(y)
                y = (y - 0.1 * (clip(g) if what[0] == "g" else g)).astype(dtype)
            change = change + c.weight * (clip(y - x) if what[0] == "u" else y - x)
        return (x + change).astype(dtype)
    found = ft.identify(run, 3, 2, ft.FedAvg("1/10", 3))
    assert found.verdict == "not affine" and "below the threshold the maps agree" in found.reason
    assert found.faults[0].sentence.startswith(words) and found.faults[0].sentence.endswith(f" {C:g}"), str(found)
    assert found.faults[0].residual < (1e-6 if dtype is np.float64 else 1e-3)


def test_sign_steps_are_recognised():
    found = ft.identify(lambda x, clients: descent(x, clients, change=np.sign), 3, 2, AVG)
    assert found.verdict == "not affine" and "adaptive" in found.reason


def test_code_that_writes_into_its_input_is_told_so():
    def run(x, clients):
        new = descent(x, clients)
        x += 1
        clients[0].X[:] = 0
        return new
    found = ft.identify(run, 3, 2, ft.FedAvg("1/10", 1))
    assert any("argument" in v for v in found.notes) and any("data" in v for v in found.notes)


def test_hidden_weight_decay_and_mse():
    def run(x, clients, factor=1, decay=0.0):
        change = 0
        for c in clients:
            y = x
            for _ in range(4):
                y = y - 0.05 * (factor * c.grad(y) + decay * y)
            change = change + c.weight * (y - x)
        return x + change
    found = ft.identify(lambda x, clients: run(x, clients, 2), 3, 2, ft.FedAvg("1/20", 4))
    assert "MSELoss" in found.faults[0].sentence
    found = ft.identify(lambda x, clients: run(x, clients, 1, 0.03), 3, 2, ft.FedAvg("1/20", 4))
    assert "weight decay 0.03, each local step takes lr wd = 0.0015" in found.faults[0].sentence, str(found)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_size_and_sign_of_a_weight_decay(steps):
    for decay in (0.5, -0.02):
        def run(x, clients, decay=decay):
            change = 0
            for c in clients:
                y = x
                for _ in range(steps):
                    y = y - 0.05 * (c.grad(y) + decay * y)
                change = change + c.weight * (y - x)
            return x + change
        sentence = ft.identify(run, 3, 2, ft.FedAvg("1/20", steps)).faults[0].sentence
        assert f"hidden weight decay {decay:g}, each local step takes lr wd = {0.05 * decay:g} of" in sentence
        assert ("shrinks" if decay > 0 else "grows") in sentence


def test_the_table_escapes_what_it_shows():
    found = ft.identify(descent, 3, 2, ft.FedAvg("1/20", 2))
    found.faults.append(type(found.faults[0])("<script>", "&", 0.0))
    assert "<script>" not in found._repr_html_() and "&lt;script&gt;" in found._repr_html_()
    assert "<table>" in found._repr_html_() and "client" in str(found)


@settings(max_examples=12, deadline=None)
@example(100, [1, 1, 6], 1)
@example(200, [1, 4, 1], 2)   # at the first curvature tried its even steps come back to where they began, and the next is too steep
@example(400, [1, 8, 2], 1)   # the first curvature is too steep, and at the next its even steps come back to where they began
@given(st.integers(1, 400), st.lists(st.integers(1, 12), min_size=3, max_size=3), st.integers(1, 3))
def test_the_family_is_recovered_without_a_name(lr, steps, d):
    lr = lr / 400
    found = ft.identify(plain(ft.FedAvg(lr, tuple(steps))), 3, d)
    assert found.matches, str(found)
    if max(steps) > 1:
        assert [p["steps"] for p in found.parameters] == steps
        assert all(abs(p["lr"] / lr - 1) < 1e-6 for p in found.parameters)
        assert np.allclose([p["weight"] for p in found.parameters], [1 / 2, 1 / 3, 1 / 6], rtol=1e-6)


@pytest.mark.parametrize("algorithm", [ft.FedNova("1/20", (3, 2, 5)), ft.FedAvg("1/20", (3, 4, 5), averaging="plain"),
                                       ft.FedProx("1/20", (3, 4, 6), mu="1/5"), ft.FedAvg("1/20", (3, 4, 6), ft.Decay("1/2"))])
def test_the_catalogue_is_searched(algorithm):
    found = ft.identify(plain(algorithm), 3, 2)
    assert found.matches and type(found.found) is type(algorithm), str(found)


@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/20", (3, 2, 5)), ft.VRLSGD("1/20", (3, 2, 5)), ft.Mifa("1/20", (3, 2, 5))])
def test_codes_with_memories_are_found(algorithm):
    run, reset = hidden(algorithm)
    found = ft.identify(run, 3, 2, reset=reset)
    assert found.matches and type(found.found) is type(algorithm), str(found)


def test_the_steepest_curvature_that_shows_a_response():
    """The last of a ladder up to 20, or one further down that moves the client at all."""
    assert _steepest({1: 5, 2: 4}.get, np.array([1, 2]), 0) == (2, 4)
    assert _steepest({4: 30, 2: 0, 1: 3}.get, np.array([1, 2, 4]), 2) == (1, 3)
    assert _steepest({1: 1, 2: 2, 4: 1e-17, 8: 80}.get, np.array([1, 2, 4, 8]), 2) == (2, 2)
    assert _steepest({1: 1, 2: 1e-17, 4: 80}.get, np.array([1, 2, 4]), 2) == (1, 1)
    assert _steepest({1: 30, 2: 30, 4: 80}.get, np.array([1, 2, 4]), 2) == (None, 0)
    assert _steepest({1: 1, 2: 30}.get, np.array([1, 2, 4]), 0) == (1, 1)     # beyond the first that is too large none is asked


def test_a_decay_that_grows_is_read_as_one_that_falls():
    """The same steps backwards: the response stays, and so does what it says of the mass at its own step size."""
    from fltheory.blackbox import fits
    h = np.array([0.1, 0.5, 1.0])
    up = fits.Fit("decay", 3, 0.1, 0.5, {"gamma": 2.0}, 0.0, fits.mass("decay", 3, 0.1, {"gamma": 2.0}))
    down = fits.canonical(up)
    assert (down.kind, down.steps, down.extra) == ("decay", 3, {"gamma": 0.5}) and down.lr == pytest.approx(0.4)
    assert fits.response("decay", 3, h, down.lr, down.extra) == pytest.approx(fits.response("decay", 3, h, up.lr, up.extra))
    assert (up.mass, down.mass) == pytest.approx((7, 7 / 4)) and down.mass * down.lr == pytest.approx(up.mass * up.lr)
