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
from passlab.relay.quantize import quantizing as realizing
from passlab.relay.quantize.conversions import partition_conversions

X = np.random.default_rng(1).normal(size=(4, 6)).astype("float32")
W = np.random.default_rng(2).normal(size=(5, 6)).astype("float32")


def dense(weight: Any = W) -> passlab.IRModule:
    x, w = relay.var("x", shape=(4, 6)), relay.var("w", shape=(5, 6))
    return passlab.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


def run(mod: passlab.IRModule, *inputs: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*inputs)


def round_half_away(x: Any) -> Any:
    return np.trunc(x + np.copysign(0.5, x))


@pytest.mark.parametrize("simulated", [False, True])
def test_a_dense_layer_is_the_product_of_integers_times_both_scales(simulated: bool) -> None:
    with q.qconfig(skip_dense_layer=False, global_scale=4.0, weight_scale="max", do_simulation=simulated):
        mod = q.quantize(dense(), {"w": W})
    data_step, weight_step = 4.0 / 128, np.abs(W).max() / 128
    codes = [np.clip(round_half_away(part / step), -127, 127) for part, step in ((X, data_step), (W, weight_step))]
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


def weights(*shape: int, seed: int = 0) -> relay.Constant:
    return relay.const(np.random.default_rng(seed).normal(scale=0.1, size=shape).astype("float32"))


def conv(x: Any, channels: int, seed: int, of: int = 3) -> relay.Expr:
    return relay.nn.conv2d(x, weights(channels, of, 3, 3, seed=seed), kernel_size=(3, 3), padding=(1, 1))


def networks() -> dict[str, relay.Expr]:
    x = relay.var("x", shape=(1, 3, 8, 8))
    first = relay.nn.relu(conv(x, 4, 1))
    second = conv(first, 4, 2, of=4)
    flat = relay.nn.batch_flatten(first)
    return {
        "residual": relay.nn.relu(relay.add(first, second)),
        "bias": relay.add(first, weights(4, 1, 1, seed=3)),
        "input": relay.add(x, conv(x, 3, 4)),
        "gate": relay.multiply(first, relay.sigmoid(relay.sum(x, axis=1, keepdims=True))),
        "pools": relay.nn.avg_pool2d(relay.nn.max_pool2d(first, pool_size=(2, 2), strides=(2, 2)), pool_size=(2, 2)),
        "global": relay.nn.softmax(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(second))),
        "joined": relay.concatenate([first, second, relay.tanh(x)], axis=1),
        "clipped": relay.clip(second, -0.5, 0.5),
        "shaped": relay.transpose(relay.reshape(flat, (4, 64)), (1, 0)),
        "product": relay.nn.batch_matmul(
            relay.reshape(flat, (1, 4, 64)), relay.reshape(relay.sigmoid(flat), (1, 4, 64))
        ),
    }


IMAGE = np.random.default_rng(5).uniform(-1, 1, size=(1, 3, 8, 8)).astype("float32")
CHOICES = {
    "shifts": {},
    "factors": {"weight_scale": "max", "calibrate_mode": "percentile"},
    "to nearest": {"weight_scale": "max", "calibrate_mode": "percentile", "rounding": "TONEAREST"},
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", networks())
def test_integers_run_on_between_layers_and_stay_near(name: str, choice: str) -> None:
    body = networks()[name]
    net = passlab.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    results = {}
    for simulated in (False, True):
        with q.qconfig(skip_conv_layers=None, global_scale=2.0, do_simulation=simulated, **CHOICES[choice]):
            results[simulated] = run(q.quantize(net, dataset=[{"x": IMAGE}]), IMAGE)
    exact = run(net, IMAGE)
    limit = 0.05 * np.abs(exact).max()
    assert np.abs(results[False] - exact).max() < limit
    assert np.abs(results[False] - results[True]).max() < limit  # the simulation tells what the integers will give


def test_between_two_layers_there_are_integers_alone() -> None:
    body = networks()["residual"]
    net = passlab.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    with q.qconfig(skip_conv_layers=None, partition_conversions="fully_integral"):
        parts = q.quantize(net)
    assert relay.analysis.all_dtypes(parts["quantized_main"]) == {"int8", "int32"}
    with q.qconfig(skip_conv_layers=None):
        whole = q.quantize(net)
    assert np.array_equal(run(parts, IMAGE), run(whole, IMAGE))
    assert {v.name_hint for v in parts.get_global_vars()} == {
        *("main", "quantize_inputs", "quantized_main", "dequantize_outputs")
    }


@pytest.mark.parametrize("name", ["global", "joined", "gate"])
def test_floats_in_between_are_refused_where_integers_were_asked_for(name: str) -> None:
    body = networks()[name]
    net = passlab.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    with q.qconfig(skip_conv_layers=None, partition_conversions="enabled"):
        parts = q.quantize(net)
    with q.qconfig(skip_conv_layers=None):
        assert np.array_equal(run(parts, IMAGE), run(q.quantize(net), IMAGE))
    with (
        q.qconfig(skip_conv_layers=None, partition_conversions="fully_integral"),
        pytest.raises(q.NotIntegralError),
    ):
        q.quantize(net)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_from_one_scale_to_another_halves_go_where_the_options_say(rounding: str) -> None:
    codes = np.array([-6, -3, -1, 1, 3, 6, 5], "int64")
    x = relay.var("x", shape=codes.shape, dtype="int64")
    with q.qconfig(rounding=rounding):
        halved = realizing._fixed_point_product(x, 0.5)
        thirds = realizing._fixed_point_product(x, 1 / 3)
    mod = passlab.IRModule.from_expr(relay.Function([x], relay.Tuple([halved, thirds])))
    half = np.floor(codes / 2 + 0.5) if rounding == "UPWARD" else round_half_away(codes / 2)
    two, three = run(mod, codes)
    assert two.tolist() == half.tolist()
    assert three.tolist() == np.rint(codes / 3).tolist()


def test_steps_are_passes_of_their_own() -> None:
    body = conv(relay.var("x", shape=(1, 3, 8, 8)), 4, 1)
    net = q.prerequisite_optimize(passlab.IRModule.from_expr(body))
    with q.qconfig(skip_conv_layers=None):
        annotated = q.annotate()(q.partition()(net))
        text = str(annotated)
        result = passlab.transform.InferType()(q.calibrate()(annotated, passlab.transform.PassContext.current()))
        realized = passlab.transform.InferType()(q.realize()(result))
    assert text.count("simulated_quantize") == 3  # data, weight, and what leaves the layer
    assert [q.kind2str(kind) for kind in range(4)] == ["identity", "input", "weight", "activation"]
    assert "simulated_quantize" not in str(realized)
    assert len(result["main"].params) == 1


def test_only_the_operators_that_are_enabled_take_part() -> None:
    body = networks()["residual"]
    net = passlab.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    with q.qconfig(skip_conv_layers=None, debug_enabled_ops=["nn.dense"]):
        assert "int8" not in str(q.quantize(net))


@pytest.mark.parametrize("joined", [relay.add, lambda a, b: relay.concatenate([a, b], 1)])
@pytest.mark.parametrize("small", [1e-12, 2.0**-45])
def test_scales_too_far_apart_for_an_activation_are_joined_in_floats(joined: Any, small: float) -> None:
    x, y = relay.var("x", shape=(4, 6)), relay.var("y", shape=(4, 6))
    layers = [relay.nn.dense(v, relay.const(W * factor)) for v, factor in ((x, 1.0), (y, np.float32(small)))]
    net = passlab.IRModule.from_expr(relay.Function([x, y], joined(*layers)))
    with q.qconfig(skip_dense_layer=False, global_scale=4.0, weight_scale="max"):
        quantized = q.quantize(net)
    np.testing.assert_allclose(run(quantized, X, X), run(net, X, X), atol=0.2)


@pytest.mark.parametrize("second", ["multiply(%0, %1)", "multiply(%1, %1)", "add(%0, %0)"])
def test_parts_with_several_inputs_and_outputs_compute_the_whole(second: str) -> None:
    text = f"""
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {{
      %0 = cast(%x, dtype="int8");
      %1 = cast(%y, dtype="int8");
      (cast(subtract(%0, %1), dtype="float32"), cast({second}, dtype="float32"))
    }}
    """
    x, y = np.array([7, 9], "float32"), np.array([2, 3], "float32")
    parts = partition_conversions(passlab.parse(text), {"int8"}, ensure_fully_integral=False)
    difference, other = relay.create_executor("debug", parts).evaluate()(x, y)
    assert difference.tolist() == [5, 6]
    assert (
        other.tolist() == {"multiply(%0, %1)": x * y, "multiply(%1, %1)": y * y, "add(%0, %0)": x + x}[second].tolist()
    )
