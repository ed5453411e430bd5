"""`relay.quantize`: networks of floats in, integers inside, nearly the same numbers out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import ConfigError, RunError
from passlab.relay import quantize as q
from passlab.relay.quantize import kl_divergence

X = np.random.default_rng(1).normal(size=(4, 6)).astype("float32")
W = np.random.default_rng(2).normal(size=(5, 6)).astype("float32")


def dense(weight: Any = W) -> passlab.IRModule:
    x, w = relay.var("x", shape=(4, 6)), relay.var("w", shape=(5, 6))
    return passlab.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


def run(mod: passlab.IRModule, *inputs: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*inputs)


def half_away(x: Any) -> Any:
    return np.trunc(x + np.copysign(0.5, x))


@pytest.mark.parametrize("simulated", [False, True])
def test_a_dense_layer_is_the_product_of_integers_times_both_scales(simulated: bool) -> None:
    with q.qconfig(skip_dense_layer=False, global_scale=4.0, weight_scale="max", do_simulation=simulated):
        mod = q.quantize(dense(), {"w": W})
    data_step, weight_step = 4.0 / 128, np.abs(W).max() / 128
    codes = [np.clip(half_away(part / step), -127, 127) for part, step in ((X, data_step), (W, weight_step))]
    expected = codes[0] @ codes[1].T * data_step * weight_step
    np.testing.assert_allclose(run(mod, X), expected, rtol=1e-5, atol=1e-5)
    assert ('dtype="int8"' in str(mod)) is not simulated


def test_scales_of_weights_are_powers_of_two_by_default() -> None:
    assert kl_divergence.power_of_two_scale(np.array([0.3, -0.6])) == 1.0
    assert kl_divergence.power_of_two_scale(np.array([0.25])) == 0.25
    assert kl_divergence.max_scale(np.array([0.3, -0.6])) == 0.6


def test_layers_are_skipped_as_the_options_say() -> None:
    x, w = relay.var("x", shape=(1, 2, 6, 6)), relay.const(np.ones((2, 2, 3, 3), "float32"))
    y = relay.nn.conv2d(relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=2), w, kernel_size=(3, 3), channels=2)
    net = passlab.IRModule.from_expr(relay.Function([x], y))
    counts = {}
    for skipped in ((0,), (0, 1), ()):
        with q.qconfig(skip_conv_layers=skipped):
            counts[skipped] = str(q.quantize(net)).count('out_dtype="int32"')
    assert counts == {(0,): 1, (0, 1): 0, (): 2}
    assert "int8" not in str(q.quantize(dense(), {"w": W}))  # dense layers stay by default


@pytest.mark.parametrize("mode", ["kl_divergence", "percentile"])
def test_calibration_looks_at_data(mode: str) -> None:
    with q.qconfig(calibrate_mode=mode, weight_scale="max", skip_dense_layer=False):
        mod = q.quantize(dense(), {"w": W}, dataset=[{"x": X}])
        with pytest.raises(RunError, match="needs data"):
            q.quantize(dense(), {"w": W})
        with pytest.raises(RunError, match="has no %x"):
            q.quantize(dense(), {"w": W}, dataset=[{"y": X}])
    expected = X @ W.T
    assert np.abs(run(mod, X) - expected).max() < 0.05 * np.abs(expected).max()


def test_a_bound_by_divergence_cuts_what_is_rare() -> None:
    draw = np.random.default_rng(3)
    common = draw.normal(size=100_000)
    rare = np.concatenate([common, [60.0]])
    assert 2.5 < kl_divergence.find_scale_by_kl(rare) < 20
    assert abs(kl_divergence.find_scale_by_percentile(rare, 0.999) - 3.29) < 0.2
    assert kl_divergence.find_scale_by_kl(np.zeros(5)) == 1.0


def test_a_network_keeps_its_answer() -> None:
    mod, params = relay.testing.mlp.get_workload(2, 10, (1, 8, 8))
    image = np.random.default_rng(0).normal(size=(2, 1, 8, 8)).astype("float32")
    exact = relay.create_executor("debug", mod, params=params).evaluate()(image)
    with q.qconfig(calibrate_mode="percentile", weight_scale="max", skip_dense_layer=False):
        small = q.quantize(mod, params, dataset=[{"data": image}])
    assert np.abs(np.asarray(run(small, image)) - np.asarray(exact)).max() < 0.02


def test_options_end_with_their_block_and_are_checked() -> None:
    with q.qconfig(nbit_input=4) as config:
        assert q.current_qconfig() is config
        with q.qconfig(global_scale=2.0):
            assert q.current_qconfig().nbit_input == 8
        assert q.current_qconfig().nbit_input == 4
    assert q.current_qconfig().nbit_input == 8
    with pytest.raises(ConfigError, match="did you mean `global_scale`"):
        q.qconfig(global_scal=1)
    with pytest.raises(ConfigError, match="kl_divergence"):
        q.qconfig(calibrate_mode="kl")
