"""`relay.data_dep_optimization`: programs and their arrays change together, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from passlab import relay
from passlab.analysis.sparse_dense import process_params, search_dense_op_weight
from passlab.errors import NodeValueError
from passlab.ir import Function
from passlab.relay import data_dep_optimization as ddo

RNG = np.random.default_rng(7)


def run(func: Function, x: Any, params: dict[str, Any]) -> Any:
    mod = relay.transform.InferType()(relay.IRModule.from_expr(func))
    return np.asarray(relay.create_executor("vm", mod).evaluate()(x, **params))


def names(func: Function) -> list[str]:
    return [p.name_hint for p in func.params]


def two_layers() -> Function:
    x, w1, w2 = relay.var("x", shape=(1, 8)), relay.var("w1", shape=(8, 6)), relay.var("w2", shape=(6, 4))
    y = relay.nn.relu(relay.nn.dense(x, relay.transpose(w1, axes=[1, 0])))
    return Function([x, w1, w2], relay.nn.dense(y, relay.transpose(w2, axes=[1, 0])))


def test_weights_are_transposed_once() -> None:
    params = {"w1": RNG.random((8, 6), "float32"), "w2": RNG.random((6, 4), "float32")}
    x = RNG.random((1, 8), "float32")
    func, arrays = ddo.simplify_fc_transpose.convert(two_layers(), params)
    assert names(func) == ["x", "w1.T", "w2.T"]
    assert relay.testing.count_ops(func) == {"nn.dense": 2, "nn.relu": 1}
    assert {name: array.shape for name, array in arrays.items()} == {"w1.T": (6, 8), "w2.T": (4, 6)}
    assert set(params) == {"w1", "w2"}
    np.testing.assert_allclose(run(func, x, arrays), np.maximum(x @ params["w1"], 0) @ params["w2"], rtol=1e-5)


def test_a_weight_with_another_use_is_kept_too() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 3))
    func = Function([x, w], relay.add(relay.nn.dense(x, relay.transpose(w)), relay.nn.dense(x, w)))
    params = {"w": RNG.random((3, 3), "float32")}
    result, arrays = ddo.simplify_fc_transpose.convert(func, params)
    assert names(result) == ["x", "w", "w.T"]
    data = RNG.random((2, 3), "float32")
    np.testing.assert_allclose(run(result, data, arrays), data @ params["w"] + data @ params["w"].T, rtol=1e-5)


def test_a_function_that_others_call_keeps_its_parameters() -> None:
    mod = relay.fromtext("""
        def @layer(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 3), float32]) { nn.dense(%x, transpose(%w)) }
        def @main(%x: Tensor[(1, 2), float32], %v: Tensor[(2, 3), float32]) { @layer(%x, %v) }
    """)
    assert relay.transform.SimplifyFCTranspose(["w"])(mod) is mod
    assert relay.transform.DenseToSparse(["w"], [[1, 1, 1, 1, 4]])(mod) is mod


def mostly_zero(shape: tuple[int, int], block: tuple[int, int]) -> Any:
    mask = np.zeros((shape[0] // block[0], shape[1] // block[1]), bool)
    mask.flat[RNG.permutation(mask.size)[: max(1, mask.size // 5)]] = True
    return RNG.random(shape, "float32") * np.kron(mask, np.ones(block)).astype("float32")


@pytest.mark.parametrize("block", [(1, 1), (2, 1), (4, 2), (16, 1)])
def test_layers_with_many_zeros_become_sparse(block: tuple[int, int]) -> None:
    x, w, v = relay.var("x", shape=(3, 8)), relay.var("w", shape=(16, 8)), relay.var("v", shape=(4, 16))
    func = Function([x, w, v], relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))
    params = {"w": mostly_zero((16, 8), block), "v": RNG.random((4, 16), "float32") + 1}
    result, arrays = ddo.bsr_dense.convert(func, params, block, 0.5)
    assert names(result) == ["x", "v", "w.data", "w.indices", "w.indptr"]
    assert relay.testing.count_ops(result) == {"nn.sparse_dense": 1, "nn.relu": 1, "nn.dense": 1}
    assert arrays["v"] is params["v"]
    data = RNG.random((3, 8), "float32")
    np.testing.assert_allclose(
        run(result, data, arrays), np.maximum(data @ params["w"].T, 0) @ params["v"].T, rtol=1e-5
    )


@pytest.mark.parametrize("block", [(1, 1), (2, 4), (16, 8)])
def test_blocks_are_those_of_scipy(block: tuple[int, int]) -> None:
    x, w = relay.var("x", shape=(3, 8)), relay.var("w", shape=(16, 8))
    func = Function([x, w], relay.nn.dense(x, w))
    weight = mostly_zero((16, 8), block)
    params = {"w": weight, "other": weight}
    result = process_params(func, params, block, 0.0)
    expected = sparse.bsr_matrix(weight, blocksize=block)
    assert list(params) == ["other", "w.data", "w.indices", "w.indptr"]
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(params[f"w.{part}"], getattr(expected, part))
    assert result.weight_name == ["w"]
    assert result.weight_shape == [[*expected.data.shape, *expected.indices.shape, *expected.indptr.shape]]


def test_weights_are_found_in_order_and_misfits_are_told() -> None:
    x, w, v = relay.var("x", shape=(3, 4)), relay.var("w", shape=(4, 4)), relay.var("v", shape=(4, 4))
    body = relay.nn.dense(relay.nn.dense(x, v), w)
    assert search_dense_op_weight(body) == ["v", "w"]
    with pytest.raises(NodeValueError, match="blocks do not cover the weight `w`"):
        process_params(body, {"w": np.zeros((4, 4), "float32")}, (3, 1), 0.5)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("window", "block"), [(1, (1, 1)), (1, (4, 1)), (1, (2, 4)), (3, (4, 1)), (3, (2, 6))])
def test_convolutions_with_many_zeros_become_sparse(layout: str, window: int, block: tuple[int, int]) -> None:
    matrix = mostly_zero((8, window * window * 4), block)
    weight = matrix.reshape(8, window, window, 4).transpose((1, 2, 3, 0) if layout == "NHWC" else (0, 3, 1, 2))
    shape = (2, 5, 6, 4) if layout == "NHWC" else (2, 4, 5, 6)
    x, w, bias = relay.var("x", shape=shape), relay.var("w", shape=weight.shape), relay.var("b", shape=(8,))
    layouts = {"data_layout": layout, "kernel_layout": "HWIO" if layout == "NHWC" else "OIHW"}
    conv = relay.nn.conv2d(x, w, channels=8, kernel_size=(window, window), padding=window // 2, **layouts)
    func = Function([x, w, bias], relay.nn.bias_add(conv, bias, axis=3 if layout == "NHWC" else 1))
    params = {"w": np.ascontiguousarray(weight), "b": RNG.random(8, "float32")}
    result, arrays = ddo.bsr_conv2d.convert(func, params, block, 0.5, layout, window)
    assert names(result) == ["x", "b", "w.data", "w.indices", "w.indptr"]
    assert relay.testing.count_ops(result) == {"nn.sparse_conv2d": 1, "nn.bias_add": 1}
    data = RNG.random(shape, "float32")
    expected = run(func, data, params)
    np.testing.assert_allclose(run(result, data, arrays), expected, rtol=1e-4, atol=1e-5)
    bound = relay.build_module.bind_params_by_name(func, params)
    result, rest = ddo.bsr_conv2d.convert2(bound, {}, block, 0.5, layout, window)
    assert (relay.testing.count_ops(result), rest) == ({"nn.sparse_conv2d": 1, "nn.bias_add": 1}, {})
    np.testing.assert_allclose(run(result, data, {}), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attrs", [{"strides": 2}, {"padding": 1}, {"groups": 2}, {"kernel_layout": "IOHW"}])
def test_convolutions_that_no_sparse_operator_computes_stay(attrs: dict[str, Any]) -> None:
    x, w = relay.var("x", shape=(1, 4, 5, 5)), relay.var("w", shape=(4, 4 // attrs.get("groups", 1), 1, 1))
    mod = relay.transform.InferType()(relay.IRModule.from_expr(Function([x, w], relay.nn.conv2d(x, w, **attrs))))
    assert relay.transform.Conv2dToSparse(["w"], [[1, 1, 1, 1, 5]], "NCHW")(mod) is mod


def test_dense_convolutions_and_other_windows_stay() -> None:
    x, w = relay.var("x", shape=(1, 4, 5, 5)), relay.var("w", shape=(4, 4, 1, 1))
    func = Function([x, w], relay.nn.conv2d(x, w))
    params = {"w": np.ones((4, 4, 1, 1), "float32")}
    for zeros, window in ((0.5, 1), (0.0, 3)):
        result, arrays = ddo.bsr_conv2d.convert(func, params, (1, 1), zeros, "NCHW", window)
        assert (relay.testing.count_ops(result), list(arrays)) == ({"nn.conv2d": 1}, ["w"])
