"""Convolutions on transformed weights are the convolutions that the weights were transformed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import IRModule, relay
from passlab.errors import DiagnosticError, PasslabError
from passlab.op.nn.winograd import TAPS, TILES, transforms
from passlab.relay.testing import run_infer_type


def value(expr: Any, *args: Any) -> Any:
    function = relay.Function(relay.analysis.free_vars(expr), expr)
    return relay.create_executor("vm", IRModule.from_expr(function)).evaluate()(*args)


@pytest.mark.parametrize("taps", TAPS)
@pytest.mark.parametrize("tile", TILES)
def test_a_tile_of_an_axis_is_what_numpy_correlates(tile: int, taps: int) -> None:
    results, data, weights = transforms(tile, taps)
    rng = np.random.default_rng(tile * 10 + taps)
    d, w = rng.standard_normal(tile + taps - 1), rng.standard_normal(taps)
    result = results.T @ ((weights @ w) * (data @ d))
    np.testing.assert_allclose(result, np.correlate(d, w, "valid"), rtol=1e-7, atol=1e-7)


def test_the_matrices_of_two_results_of_three_taps_are_those_of_the_paper() -> None:
    results, data, weights = transforms(2, 3)
    assert weights.tolist() == [[1, 0, 0], [0.5, -0.5, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]]
    assert data.tolist() == [[1, 0, -1, 0], [0, -1, 1, 0], [0, 1, 1, 0], [0, -1, 0, 1]]
    assert results.tolist() == [[1, 0], [1, -1], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("shape", "kernel", "tile", "padding"),
    [
        ((2, 3, 9, 7), (3, 3), 4, (1, 1)),
        ((1, 2, 12, 10), (5, 3), 2, (0, 2)),
        ((1, 1, 8, 8), (3, 3), 8, (1, 1)),
        ((0, 2, 5, 5), (3, 3), 2, (1, 1)),
        ((1, 2, 5, 6, 7), (3, 3, 3), 2, (1, 0, 1)),
        ((1, 2, 4, 6, 7), (1, 3, 3), 4, (0, 0, 0)),
        ((1, 1, 4, 6, 7), (2, 3, 5), 2, (1, 1, 1)),
        ((1, 1, 9, 5, 5), (8, 3, 3), 2, (0, 0, 0)),
    ],
)
def test_winograds_algorithm_gives_the_convolution(shape: Any, kernel: Any, tile: int, padding: Any) -> None:
    rank, rng = len(kernel), np.random.default_rng(1)
    x = relay.var("x", shape=shape, dtype="float64")
    w = relay.var("w", shape=(4, shape[1], *kernel), dtype="float64")
    args = [rng.standard_normal(v.type_annotation.concrete_shape) for v in (x, w)]
    plain = getattr(relay.nn, f"conv{rank}d")(x, w, padding=padding)
    weight = getattr(relay.nn, f"contrib_conv{rank}d_winograd_weight_transform")(w, tile)
    winograd = getattr(relay.nn, f"contrib_conv{rank}d_winograd_without_weight_transform")(
        x, weight, tile, padding=padding, channels=4, kernel_size=kernel
    )
    assert run_infer_type(winograd).checked_type == run_infer_type(plain).checked_type
    np.testing.assert_allclose(value(winograd, *args), value(plain, *args), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tiles", [(4, 16), (3, 5), (8, 1)])
def test_a_weight_in_tiles_gives_the_convolution_bit_by_bit(tiles: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    x, w = relay.var("x", shape=(1, 6, 5, 2)), relay.var("w", shape=(3, 2, 2, 7))
    args = [rng.standard_normal(v.type_annotation.concrete_shape).astype("float32") for v in (x, w)]
    options = {"padding": (1, 0), "strides": (2, 1), "data_layout": "NHWC", "kernel_layout": "HWIO"}
    plain = relay.nn.conv2d(x, w, **options)
    packed = relay.nn.contrib_conv2d_gemm_weight_transform(w, *tiles)
    tiled = relay.nn.contrib_conv2d_gemm_without_weight_transform(x, packed, channels=7, kernel_size=(3, 2), **options)
    assert run_infer_type(tiled).checked_type == run_infer_type(plain).checked_type
    np.testing.assert_array_equal(value(tiled, *args), value(plain, *args))


def test_an_unknown_weight_gets_the_type_that_its_transform_has() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w")
    call = relay.nn.contrib_conv2d_winograd_without_weight_transform(x, w, 4, channels=8, kernel_size=(3, 3))
    assert run_infer_type(call).args[1].checked_type == relay.TensorType((6, 6, 8, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tile_size": 9}, "tile_size"),
        ({"strides": (2, 2)}, "strides"),
        ({"dilation": (2, 2)}, "dilation"),
        ({"groups": 3}, "groups"),
        ({"channels": None}, "kernel_size and channels"),
        ({"kernel_size": (2, 3)}, "taps"),
        ({"kernel_size": (5, 3)}, "not one transformed for it"),
    ],
)
def test_what_the_algorithm_does_not_compute_is_refused(options: dict[str, Any], message: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(6, 6, 8, 3))
    values = {"tile_size": 4, "channels": 8, "kernel_size": (3, 3), **options}
    with pytest.raises(DiagnosticError, match=message):
        run_infer_type(relay.nn.contrib_conv2d_winograd_without_weight_transform(x, w, **values))


def test_integers_and_gradients_are_refused_with_the_reason() -> None:
    with pytest.raises(PasslabError, match="fractions"):
        run_infer_type(
            relay.nn.contrib_conv2d_winograd_weight_transform(relay.var("w", shape=(1, 1, 3, 3), dtype="int8"), 4)
        )
    w = relay.var("w", shape=(1, 1, 3, 3))
    function = run_infer_type(relay.Function([w], relay.nn.contrib_conv2d_winograd_weight_transform(w, 4)))
    with pytest.raises(PasslabError, match="transformed for one algorithm"):
        relay.transform.gradient(function)
