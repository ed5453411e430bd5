"""More models for `benchmarks.simplify`, as exporters write them: shapes are computed, norms are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from benchmarks.model_writer import Model


def residual() -> Any:
    """Three residual blocks with batch norms, one of them with a projection."""
    m = Model(x=(1, 3, 16, 16))
    y = m("Relu", m.conv_norm("x", 3, 8))
    for channels, stride in ((8, 1), (16, 2), (16, 1)):
        before = m.width
        inner = m("Relu", m.conv_norm(y, before, channels, stride))
        inner = m.conv_norm(inner, channels, channels)
        shortcut = y if stride == 1 else m.conv_norm(y, before, channels, stride, 1)
        y = m("Relu", m("Add", inner, shortcut))
    return m.done(m("Gemm", m("Flatten", m("GlobalAveragePool", y)), m.weight(10, 16), m.weight(10), transB=1))


def mobile() -> Any:
    """Depthwise convolutions, batch norms and bounds that are tensors."""
    m = Model(x=(1, 3, 16, 16))
    y, channels = "x", 3
    for width, stride in ((8, 2), (16, 1)):
        y = m("Clip", m.conv_norm(y, channels, width, stride), m.number(0.0), m.number(6.0))
        y = m("Conv", y, m.weight(width, 1, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=width)
        y, channels = m("Clip", m.norm(y, width), m.number(0.0), m.number(6.0)), width
    shape = m("Concat", m("Slice", m("Shape", y), m.ints(0), m.ints(1)), m.ints(-1), axis=0)
    return m.done(m("MatMul", m("Reshape", m("ReduceMean", y, axes=[2, 3]), shape), m.weight(16, 4)))


def squeeze_and_excite() -> Any:
    """A gate for each channel, hard swish written out."""
    m = Model(x=(1, 8, 8, 8))
    y = m.conv_norm("x", 8, 8)
    swish = m("Mul", y, m("Div", m("Clip", m("Add", y, m.number(3.0)), m.number(0.0), m.number(6.0)), m.number(6.0)))
    pooled = m("GlobalAveragePool", swish)
    small = m("Relu", m("Conv", pooled, m.weight(2, 8, 1, 1), m.weight(2), kernel_shape=[1, 1]))
    gate = m("Sigmoid", m("Conv", small, m.weight(8, 2, 1, 1), m.weight(8), kernel_shape=[1, 1]))
    return m.done(m("Mul", swish, gate))


def inception() -> Any:
    """Branches of one input, joined."""
    m = Model(x=(1, 8, 8, 8))
    first = m("Relu", m.conv_norm("x", 8, 4, kernel=1))
    second = m("Relu", m.conv_norm(m("Relu", m.conv_norm("x", 8, 4, kernel=1)), 4, 6))
    third = m(
        "Relu", m.conv_norm(m("AveragePool", "x", kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]), 8, 4, kernel=1)
    )
    joined = m("Concat", first, m("Identity", second), m("Dropout", third), axis=1)
    return m.done(m("MaxPool", joined, kernel_shape=[2, 2], strides=[2, 2]))


def encoder_decoder() -> Any:
    """An image made smaller and larger again, to the size of a skip connection that is computed."""
    m = Model(x=(1, 4, 16, 16))
    skip = m("Relu", m.conv_norm("x", 4, 8))
    low = m("Relu", m.conv_norm(m("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    size = m("Concat", m.ints(1, 16), m("Slice", m("Shape", skip), m.ints(2), m.ints(4)), axis=0)
    up = m("Resize", low, "", "", size, mode="linear", coordinate_transformation_mode="half_pixel")
    deconvolved = m("ConvTranspose", low, m.weight(16, 8, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    joined = m("Concat", up, skip, deconvolved, axis=1)
    return m.done(m("Conv", joined, m.weight(2, 32, 1, 1), m.weight(2), kernel_shape=[1, 1]))


def gelu_layers() -> Any:
    """GELU written out with `Erf` and with `Tanh`."""
    m = Model(x=(2, 16))
    y = m.gelu(m.linear("x", 16, 32))
    cube = m("Mul", m("Mul", y, y), y)
    inner = m("Mul", m("Add", y, m("Mul", cube, m.number(0.044715))), m.number(0.7978846))
    by_tanh = m("Mul", m("Mul", y, m.number(0.5)), m("Add", m("Tanh", inner), m.number(1.0)))
    return m.done(m.linear(by_tanh, 32, 4))


def decoder_layer() -> Any:
    """A layer of a decoder: a causal mask made of shapes, layer norms and GELU written out."""
    m = Model(x=(1, 6, 16))
    normed = m.layer_norm("x", 16)
    q, k, v = (m.heads(m.linear(normed, 16, 16), 4, 4) for _ in range(3))
    length = m("Gather", m("Shape", "x"), m.weight(value=np.array(1)))
    steps = m("Range", m.weight(value=np.array(0)), length, m.weight(value=np.array(1)))
    later = m("Less", m("Unsqueeze", steps, m.ints(1)), m("Unsqueeze", steps, m.ints(0)))
    mask = m("Where", later, m.number(-1e9), m.number(0.0))
    scores = m("Div", m("MatMul", q, m("Transpose", k, perm=[0, 1, 3, 2])), m("Sqrt", m.number(4.0)))
    weights = m("Softmax", m("Add", scores, mask), axis=-1)
    mixed = m("Reshape", m("Transpose", m("MatMul", weights, v), perm=[0, 2, 1, 3]), m("Shape", "x"))
    y = m("Add", "x", m.linear(mixed, 16, 16))
    return m.done(m("Add", y, m.linear(m.gelu(m.linear(m.layer_norm(y, 16), 16, 32)), 32, 16)))


def cached_attention() -> Any:
    """One step of attention over keys and values of the steps before, which it returns with its own."""
    m = Model(x=(1, 1, 16), past_key=(1, 4, 5, 4), past_value=(1, 4, 5, 4))
    q, k, v = (m.heads(m.linear("x", 16, 16), 4, 4) for _ in range(3))
    key, value = m("Concat", "past_key", k, axis=2), m("Concat", "past_value", v, axis=2)
    scores = m("Mul", m("MatMul", q, m("Transpose", key, perm=[0, 1, 3, 2])), m.number(0.5))
    mixed = m("Transpose", m("MatMul", m("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
    shape = m("Concat", m("Slice", m("Shape", "x"), m.ints(0), m.ints(2)), m.ints(16), axis=0)
    return m.done(m.linear(m("Reshape", mixed, shape), 16, 16), key, value)


def rotary() -> Any:
    """Root mean squares, places turned into a query by sine and cosine, a gate with SiLU."""
    m = Model(x=(1, 4, 8))
    square = m("ReduceMean", m("Pow", "x", m.number(2.0)), axes=[-1])
    normed = m("Mul", m("Mul", "x", m("Reciprocal", m("Sqrt", m("Add", square, m.number(1e-6))))), m.weight(8))
    q = m("MatMul", normed, m.weight(8, 8))
    angles = m("Mul", m("Unsqueeze", m.weight(value=np.arange(4, dtype="float32")), m.ints(1)), m.weight(1, 4))
    both = m("Concat", angles, angles, axis=-1)
    low, high = (m("Slice", q, m.ints(a), m.ints(b), m.ints(2)) for a, b in ((0, 4), (4, 8)))
    turned = m("Add", m("Mul", q, m("Cos", both)), m("Mul", m("Concat", m("Neg", high), low, axis=-1), m("Sin", both)))
    gate = m("MatMul", turned, m.weight(8, 12))
    opened = m("Mul", m("Mul", gate, m("Sigmoid", gate)), m("MatMul", turned, m.weight(8, 12)))
    return m.done(m("Add", "x", m("MatMul", opened, m.weight(12, 8))))


def temporal() -> Any:
    """Convolutions over time: axes added and taken away, padding of its own."""
    m = Model(x=(1, 20, 4))
    y = m("Transpose", "x", perm=[0, 2, 1])
    for dilation in (1, 2):
        padded = m("Pad", y, m.ints(0, 0, 2 * dilation, 0, 0, 0))
        y = m("Conv", padded, m.weight(4, 4, 3), m.weight(4), kernel_shape=[3], dilations=[dilation])
        y = m("Squeeze", m("Relu", m("Unsqueeze", y, m.ints(3))), m.ints(3))
    return m.done(m("Transpose", m("Transpose", m("Transpose", y, perm=[0, 2, 1]), perm=[0, 2, 1]), perm=[0, 2, 1]))


def dynamic_detection() -> Any:
    """Boxes and scores of a batch whose size is not known; sizes are computed from it."""
    m = Model(x=("batch", 8, 6, 6))
    features = m("Relu", m.conv_norm("x", 8, 8))
    shape = m("Shape", features)
    batch = m("Unsqueeze", m("Gather", shape, m.weight(value=np.array(0))), m.ints(0))
    area = m("Mul", m("Gather", shape, m.weight(value=np.array(2))), m("Gather", shape, m.weight(value=np.array(3))))
    count = m("Unsqueeze", m("Mul", area, m.weight(value=np.array(2))), m.ints(0))
    parts = []
    for width in (4, 3):
        grid = m("Conv", features, m.weight(2 * width, 8, 1, 1), m.weight(2 * width), kernel_shape=[1, 1])
        target = m("Concat", batch, count, m.ints(width), axis=0)
        parts.append(m("Reshape", m("Transpose", grid, perm=[0, 2, 3, 1]), target))
    corners = m("Exp", m("Clip", parts[0], m.number(-4.0), m.number(4.0)))
    return m.done(corners, m("Softmax", parts[1], axis=-1))


def quantized() -> Any:
    """Convolutions between QuantizeLinear and DequantizeLinear, weights stored as integers."""
    m = Model(x=(1, 3, 8, 8))
    y, channels = "x", 3
    zero = m.weight(value=np.array(0, "int8"))
    for width in (4, 8):
        codes = np.arange(width * channels * 9).reshape(width, channels, 3, 3) % 11 - 5
        kernel = m("DequantizeLinear", m.weight(value=codes.astype("int8")), m.number(0.05), zero)
        y = m("DequantizeLinear", m("QuantizeLinear", y, m.number(0.02), zero), m.number(0.02), zero)
        y = m("Relu", m("Conv", y, kernel, m.weight(width), kernel_shape=[3, 3]))
        channels = width
    return m.done(m("GlobalAveragePool", y))


def branches() -> Any:
    """A branch that a constant decides, one that a value decides, and a loop of a known length."""
    m = Model(x=(2, 3))
    choice = m.branch(m.weight(value=np.array(True)), "Relu", "Neg", "x", (2, 3))
    total = m("ReduceSum", choice, keepdims=0)
    later = m.branch(m("Greater", total, m.number(0.0)), "Exp", "Tanh", choice, (2, 3))
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["state", later], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["next"]),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT, [2, 3]),
        ],
        [value("go_on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [2, 3])],
    )
    return m.done(m("Loop", m.weight(value=np.array(2)), m.weight(value=np.array(True)), later, body=body))


def embedding() -> Any:
    """Words and places looked up, summed, averaged under a mask, and classified."""
    m = Model(x=(2, 5))
    tokens = m("Cast", m("Clip", m("Abs", "x"), m.number(0.0), m.number(6.0)), to=TensorProto.INT64)
    words = m("Gather", m.weight(7, 8), tokens)
    count = m("Gather", m("Shape", tokens), m.weight(value=np.array(1)))
    places = m("Gather", m.weight(16, 8), m("Range", m.weight(value=np.array(0)), count, m.weight(value=np.array(1))))
    y = m.layer_norm(m("Add", words, m("Expand", m("Unsqueeze", places, m.ints(0)), m.ints(2, 5, 8))), 8)
    mask = m("Unsqueeze", m("Cast", m("Greater", "x", m.number(0.0)), to=TensorProto.FLOAT), m.ints(2))
    pooled = m("Div", m("ReduceSum", m("Mul", y, mask), m.ints(1), keepdims=0), m.number(5.0))
    return m.done(m("Softmax", m.linear(pooled, 8, 3), axis=-1))


def rows() -> Any:
    """Linear layers on rows, as GPT-2 has them: each reshapes its input and its result, around an activation too."""
    m = Model(x=(2, 7, 8))

    def layer(x: str, size: int, width: int) -> str:
        flat = m("Reshape", x, m.ints(-1, size))
        return m("Reshape", m("Gemm", flat, m.weight(size, width), m.weight(width)), m.ints(2, 7, width))

    y = layer("x", 8, 16)
    bend = m("Tanh", m("Mul", m("Add", y, m("Mul", m("Pow", y, m.number(3.0)), m.number(0.044715))), m.number(0.79788)))
    y = m("Mul", m("Mul", y, m.number(0.5)), m("Add", bend, m.number(1.0)))
    return m.done(m("Add", "x", layer(y, 16, 8)))


def neighbours() -> Any:
    """The mean of the values of the nearest points, as scikit-learn is exported: distances by a Scan without types."""
    m = Model(x=("N", 3))
    value = helper.make_empty_tensor_value_info
    nodes = [
        helper.make_node("Identity", ["points"], ["same"]),
        helper.make_node("Sub", ["points", "row"], ["difference"]),
        helper.make_node("Mul", ["difference", "difference"], ["square"]),
        helper.make_node("Cast", ["square"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["real", m.ints(1)], ["distance"], keepdims=0),
    ]
    body = helper.make_graph(nodes, "body", [value("points"), value("row")], [value("same"), value("distance")])
    _, distances = m("Scan", m.weight(9, 3), "x", outputs=2, body=body, num_scan_inputs=1)
    _, places = m("TopK", m("Sqrt", distances), m.ints(1), outputs=2, axis=-1, largest=0)
    flat = m("Flatten", places)
    found = m("Reshape", m("Gather", m.weight(9), flat), m.ints(-1, 1))
    mean = m("ReduceMean", found, axes=[1])
    return m.done(m("Slice", mean, m.ints(0), m.ints(1), m.ints(1)))


def positions() -> Any:
    """Kinds of words looked up as BERT does: cut to an open length, and made as long as the batch."""
    m = Model(x=("batch", "length"))
    shape = m("Shape", "x")
    length = m("Unsqueeze", m("Gather", shape, m.weight(value=np.array(1))), m.ints(0))
    places = m("Slice", m.weight(value=np.arange(40)[None]), m.ints(0), length, m.ints(1))
    first = m("Unsqueeze", m("Gather", m("Shape", places), m.weight(value=np.array(0))), m.ints(0))
    target = m("Concat", first, m.ints(-1), axis=0)
    target = m("Where", m("Equal", target, m.ints(-1, -1)), m.ints(1, 1), target)
    kinds = m("GatherElements", m("Expand", m.weight(value=np.arange(40)[None] % 2), target), places, axis=1)
    words = m("Gather", m.weight(2, 8), m("Expand", kinds, shape))
    absent = m("Not", m("Greater", m("Unsqueeze", "x", m.ints(2)), m.number(0.0)))
    return m.done(m("Where", absent, m.number(0.0), words))


MORE = (
    residual,
    mobile,
    squeeze_and_excite,
    inception,
    encoder_decoder,
    gelu_layers,
    decoder_layer,
    cached_attention,
    rotary,
    temporal,
    dynamic_detection,
    quantized,
    branches,
    embedding,
    rows,
    neighbours,
    positions,
)
