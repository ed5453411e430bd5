"""Models of one operator of onnxruntime's own domain each, and values of their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.random(shape) - 0.5).astype("float32")


def small(dtype: str, *shape: int) -> Any:
    # On processors without VNNI, onnxruntime adds two products of 8 bits in 16 bits: weights of 7 bits do not overflow.
    low, high = (0, 255) if dtype == "uint8" else (-63, 63)
    return RNG.integers(low, high, shape).astype(dtype)


S, Z = np.float32(0.02), np.uint8(120)
WORDS = RNG.integers(0, 9, (2, 3)).astype("int32")
LSTM = (small("int8", 2, 3, 16), small("int8", 2, 4, 16), floats(2, 32), None, None, None, None)
# The state of DynamicQuantizeLSTM is quantized for all sequences at once, as onnxruntime does in one thread; in several it
# does so for some of them at a time. One sequence shows no difference.
# operator -> inputs (an array that is a weight is in a tuple of one), attributes, number of results, tolerance
Case = tuple[list[Any], dict[str, Any], int, float]
CASES: dict[str, Case] = {
    "Attention": ([floats(2, 3, 8), (floats(8, 24),), (floats(24),)], {"num_heads": 2}, 1, 1e-5),
    "Attention/mask": (
        [floats(2, 3, 8), (floats(8, 24),), (floats(24),), np.array([[1, 1, 0], [1, 1, 1]], "int32")], {"num_heads": 2}, 1, 1e-5),
    "Attention/past": (
        [floats(1, 2, 8), (floats(8, 24),), (floats(24),), np.ones((1, 5), "int32"), floats(2, 1, 2, 3, 4)],
        {"num_heads": 2, "unidirectional": 1}, 2, 1e-5),
    "Attention/causal": ([floats(2, 3, 8), (floats(8, 24),), (floats(24),)], {"num_heads": 2, "unidirectional": 1}, 1, 1e-5),
    "Attention/sizes": (
        [floats(2, 3, 8), (floats(8, 20),), (floats(20),)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4], "scale": 0.3}, 1, 1e-5),
    "Attention/lengths": ([floats(2, 3, 8), (floats(8, 24),), (floats(24),), np.array([2, 3], "int32")], {"num_heads": 2}, 1, 1e-5),
    "Attention/rows": (
        [floats(2, 3, 8), (floats(8, 24),), (floats(24),), np.tril(np.ones((2, 3, 3), "int32"))], {"num_heads": 2}, 1, 1e-5),
    "Attention/bias": (
        [floats(2, 3, 8), (floats(8, 24),), (floats(24),), None, None, floats(2, 2, 3, 3)], {"num_heads": 2}, 1, 1e-5),
    "BiasGelu": ([floats(2, 8), floats(8)], {}, 1, 1e-5),
    "DequantizeLinear": ([small("uint8", 2, 3), (S,), (Z,)], {}, 1, 1e-6),
    "DynamicQuantizeLSTM": (
        [floats(5, 1, 3), *[(w,) if w is not None else None for w in LSTM], (np.full(2, 0.01, "float32"),), (np.zeros(2, "int8"),),
         (np.full(2, 0.01, "float32"),), (np.zeros(2, "int8"),)], {"hidden_size": 4, "direction": "bidirectional"}, 3, 1e-5),
    "DynamicQuantizeMatMul": (
        [floats(2, 8), (small("int8", 8, 4),), (np.array([0.01], "float32"),), (np.array([0], "int8"),), (floats(4),)], {}, 1, 1e-2),
    "EmbedLayerNormalization": (
        [WORDS, WORDS % 2, (floats(9, 8),), (floats(5, 8),), (floats(2, 8),), (floats(8),), (floats(8),), np.array([[1, 1, 0], [1, 0, 0]], "int32")],
        {"epsilon": 1e-5}, 2, 1e-5),
    "EmbedLayerNormalization/words": (
        [WORDS, None, (floats(9, 8),), (floats(5, 8),), None, (floats(8),), (floats(8),), None, WORDS % 5], {}, 2, 1e-5),
    "FastGelu": ([floats(2, 8), floats(8)], {}, 1, 1e-4),
    "FusedConv": ([floats(1, 2, 5, 5), (floats(3, 2, 3, 3),), (floats(3),)], {"activation": "LeakyRelu", "activation_params": [0.2]}, 1, 1e-5),
    "FusedGemm": ([floats(2, 4), (floats(3, 4),), (floats(3),)], {"transB": 1, "activation": "Relu", "alpha": 0.5}, 1, 1e-5),
    "FusedMatMul": ([floats(2, 3, 4), floats(2, 5, 4)], {"transB": 1, "alpha": 0.5}, 1, 1e-5),
    "Gelu": ([floats(2, 8)], {}, 1, 1e-5),
    "LayerNormalization": ([floats(2, 3, 8), (floats(8),), (floats(8),)], {"epsilon": 1e-4, "domain": ""}, 1, 1e-5),
    "MatMulIntegerToFloat": (
        [small("uint8", 2, 8), (small("int8", 8, 4),), (np.float32(0.01),), (np.full(4, 0.01, "float32"),), (np.uint8(3),), (np.zeros(4, "int8"),)], {}, 1, 1e-4),
    "MatMulNBits": ([floats(2, 40), (small("uint8", 3, 2, 16),), (floats(6),)], {"K": 40, "N": 3, "bits": 4, "block_size": 32}, 1, 1e-4),
    "MatMulNBits/zeros": (
        [floats(2, 40), (small("uint8", 3, 2, 16),), (floats(6),), (small("uint8", 3),)], {"K": 40, "N": 3, "bits": 4, "block_size": 32}, 1, 1e-4),
    "MultiHeadAttention": (
        [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), (floats(24),), np.array([[1, 1, 1, 0, 0], [1] * 5], "int32")], {"num_heads": 2}, 1, 1e-5),
    "MultiHeadAttention/past": (
        [floats(2, 3, 8), floats(2, 3, 8), floats(2, 3, 8), None, None, None, floats(2, 2, 4, 4), floats(2, 2, 4, 4)],
        {"num_heads": 2, "unidirectional": 1}, 3, 1e-5),
    "QAttention": (
        [small("uint8", 2, 3, 8), (small("int8", 8, 24),), (floats(24),), (S,), (np.float32(0.01),),
         np.array([[1, 1, 0], [1, 1, 1]], "int32"), (Z,), (np.int8(3),)], {"num_heads": 2}, 1, 1e-4),
    "QGemm": (
        [small("uint8", 2, 5), (S,), (Z,), (small("uint8", 3, 5),), (np.array([0.01, 0.02, 0.03], "float32"),), (np.array([3, 4, 5], "uint8"),),
         (np.array([100, 2, 3], "int32"),), (S,), (Z,)], {"transB": 1, "alpha": 0.5}, 1, 1),
    "QLinearAdd": ([small("uint8", 2, 3), (S,), (Z,), small("uint8", 3), (S,), (Z,), (S,), (Z,)], {}, 1, 1),
    "QLinearAveragePool": ([small("uint8", 1, 2, 6, 6), (S,), (Z,), (S,), (Z,)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 1, 1),
    "QLinearAveragePool/same": (
        [small("uint8", 1, 2, 7, 6), (S,), (Z,), (S,), (Z,)], {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}, 1, 1),
    "QLinearConcat": ([(S,), (Z,), small("uint8", 2, 3), (S,), (Z,), small("uint8", 2, 2), (S,), (Z,)], {"axis": 1}, 1, 1),
    "QLinearGlobalAveragePool": ([small("uint8", 1, 2, 6, 6), (S,), (Z,), (S,), (Z,)], {}, 1, 1),
    "QLinearLeakyRelu": ([small("uint8", 2, 3), (S,), (Z,), (S,), (Z,)], {"alpha": 0.1}, 1, 1),
    "QLinearMul": ([small("uint8", 2, 3), (S,), (Z,), small("uint8", 3), (S,), (Z,), (S,), (Z,)], {}, 1, 1),
    "QLinearSigmoid": ([small("uint8", 2, 3), (S,), (Z,), (np.float32(0.004),), (np.uint8(0),)], {}, 1, 1),
    "QLinearSoftmax": ([small("uint8", 2, 3), (S,), (Z,), (np.float32(0.004),), (np.uint8(0),)], {"opset": 13}, 1, 1),
    "QLinearSoftmax/flat": (
        [small("uint8", 2, 3, 4), (S,), (Z,), (np.float32(0.004),), (np.uint8(0),)], {"opset": 11, "axis": 1}, 1, 1),
    "QuantizeLinear": ([floats(2, 3), (S,), (Z,)], {}, 1, 1),
    "QuickGelu": ([floats(2, 8)], {"alpha": 1.5}, 1, 1e-5),
    "SimplifiedLayerNormalization": ([floats(2, 3, 8), (floats(8),)], {"epsilon": 1e-4, "domain": ""}, 1, 1e-5),
    "SkipLayerNormalization": ([floats(2, 3, 8), floats(2, 3, 8), (floats(8),), (floats(8),), (floats(8),)], {"epsilon": 1e-5}, 4, 1e-4),
    "SkipSimplifiedLayerNormalization": ([floats(2, 3, 8), floats(2, 3, 8), (floats(8),)], {"epsilon": 1e-5}, 1, 1e-4),
}  # fmt: skip


def model(name: str, is_open: bool) -> tuple[Any, list[Any]]:
    inputs, attributes, results, _ = CASES[name]
    names, values, weights, arguments = [], [], [], []
    for at, value in enumerate(inputs):
        names.append("" if value is None else f"i{at}")
        if isinstance(value, tuple):
            weights.append(numpy_helper.from_array(np.asarray(value[0]), f"i{at}"))
        elif value is not None:
            element = helper.np_dtype_to_tensor_dtype(value.dtype)
            shape = [f"d{at}{axis}" for axis in range(value.ndim)] if is_open else value.shape
            values.append(helper.make_tensor_value_info(f"i{at}", element, shape))
            arguments.append(value)
    used = [0, 3] if name.startswith("SkipLayer") else list(range(results))
    outputs = [f"o{at}" if at in used else "" for at in range(results)]
    is_integer = name.startswith(("QLinear", "QGemm", "QuantizeLinear"))
    node = helper.make_node(name.partition("/")[0], names, outputs, **{"domain": "com.microsoft", **attributes})
    out = [helper.make_empty_tensor_value_info(o) for o in outputs if o]
    for at, value in enumerate(out):
        value.type.tensor_type.elem_type = TensorProto.UINT8 if is_integer else TensorProto.FLOAT
        if at and name.startswith("Embed"):
            value.type.tensor_type.elem_type = TensorProto.INT32
    graph = helper.make_graph([node], "g", values, out, weights)
    # Layer norms of ONNX's own domain are onnxruntime's where ONNX does not have them yet.
    opsets = [helper.make_opsetid("", 16 if "domain" in attributes else 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), arguments
