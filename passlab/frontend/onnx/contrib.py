"""Operators of onnxruntime (`com.microsoft`) as functions of ONNX's own, in ONNX's text.

What the optimizers and quantizers of onnxruntime write: fused products and convolutions, activations, layer norms with
a residual, attention, products of weights of 4 and 8 bits. Integer products are computed in floats from the same
weights.

    "BiasGelu"  ->  { S = Add(x0, x1)  ...  y0 = Mul(...) }

A definition gets the call and says its nodes; inputs are named x0, x1, ... and results y0, y1, ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.package import onnx

DOMAIN = "com.microsoft"
OPSET = 21
OWN = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})  # that it adds to ONNX's domain
NEVER = 1 << 10  # the number of an input that an operator does not have


class Call:
    """A node of the domain: its attributes by name, which of its inputs are given, and their ranks."""

    def __init__(self, proto: Any, ranks: Sequence[int | None]) -> None:
        self.op_type: str = proto.op_type
        self.ranks = ranks
        self._given = list(proto.input)
        self.results = len(proto.output)
        self._attributes = {a.name: onnx().helper.get_attribute_value(a) for a in proto.attribute}

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self._given) and bool(self._given[index])

    def value(self, name: str, default: Any) -> Any:
        """Return an attribute; texts are decoded. Raises `ModelError` if it is needed (default None) and missing."""
        value = self._attributes.get(name, default)
        if value is None:
            self.refuse(f"needs the attribute `{name}`")
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def only(self, count: int) -> None:
        """Raise `ModelError` where an input from `count` on is given."""
        if any(self._given[count:]):
            self.refuse(f"is supported with its first {count} inputs only")

    def refuse(self, why: str) -> NoReturn:
        """Raise the `ModelError` that explains why this call cannot be translated."""
        raise ModelError(Diagnostic(f"the operator `{self.op_type}` ({DOMAIN}) {why}"))


def _float(name: str, value: float, like: str) -> str:
    """Return nodes that define a scalar of the dtype of another tensor."""
    return f"{name}_f = Constant <value_float = {float(value)!r}> () {name} = CastLike({name}_f, {like})\n"


def _ints(name: str, *values: int) -> str:
    return f"{name} = Constant <value_ints = [{', '.join(map(str, values))}]> ()\n"


# ---------------------------------------------------------------- activations
def _gelu_of(source: str, target: str) -> str:
    return f"{target} = Gelu({source})\n"


def _activation(call: Call, source: str) -> str:
    """Return the node of the activation that a fused operator ends with."""
    name, params = call.value("activation", ""), list(call.value("activation_params", []))
    alpha = call.value("activation_alpha", params[0] if params else 0.01)
    if name in ("", "Relu", "Tanh", "Sigmoid", "Softplus"):
        return f"y0 = {name or 'Identity'}({source})\n"
    if name == "LeakyRelu":
        return f"y0 = LeakyRelu <alpha = {float(alpha)!r}> ({source})\n"
    if name == "HardSigmoid":
        beta = params[1] if len(params) > 1 else call.value("activation_beta", 0.5)
        return f"y0 = HardSigmoid <alpha = {float(alpha)!r}, beta = {float(beta)!r}> ({source})\n"
    if name == "Clip" and len(params) == 2:
        return (
            _float("low", params[0], source) + _float("high", params[1], source) + f"y0 = Clip({source}, low, high)\n"
        )
    return call.refuse(f"has the activation `{name}`, which is not supported")


def _fast_gelu(call: Call) -> str:
    text = "s = Add(x0, x1)\n" if call.has(1) else "s = Identity(x0)\n"
    return text + 'y0 = Gelu <approximate = "tanh"> (s)\n'


def _quick_gelu(call: Call) -> str:
    text = _float("alpha", call.value("alpha", 1.702), "x0")
    return text + "s = Mul(x0, alpha) g = Sigmoid(s) y0 = Mul(x0, g)\n"


# ---------------------------------------------------------------- products and convolutions
def _fused_matmul(call: Call) -> str:
    if call.value("transBatchA", 0) or call.value("transBatchB", 0):
        call.refuse("is not supported with transposed batch axes")
    text = ""
    for name, flag in (("x0", "transA"), ("x1", "transB")):
        if call.value(flag, 0):
            # The last two axes are swapped, whatever the rank: by a product with nothing else to say.
            text += f"t_{name} = {DOMAIN}.SwapLast({name})\n"
        else:
            text += f"t_{name} = Identity({name})\n"
    return text + _float("alpha", call.value("alpha", 1.0), "x0") + "p = MatMul(t_x0, t_x1) y0 = Mul(p, alpha)\n"


def _fused_gemm(call: Call) -> str:
    named = ", ".join(
        f"{name} = {value!r}"
        for name, value in (
            ("alpha", float(call.value("alpha", 1.0))),
            ("beta", float(call.value("beta", 1.0))),
            ("transA", int(call.value("transA", 0))),
            ("transB", int(call.value("transB", 0))),
        )
    )
    inputs = "x0, x1, x2" if call.has(2) else "x0, x1"
    return f"g = Gemm <{named}> ({inputs})\n" + _activation(call, "g")


def _fused_conv(call: Call) -> str:
    texts = []
    for name in ("dilations", "kernel_shape", "pads", "strides"):
        if values := list(call.value(name, [])):
            texts.append(f"{name} = [{', '.join(map(str, values))}]")
    texts.append(f"group = {call.value('group', 1)}")
    texts.append(f'auto_pad = "{call.value("auto_pad", "NOTSET")}"')
    inputs = "x0, x1, x2" if call.has(2) else "x0, x1"
    text = f"c = Conv <{', '.join(texts)}> ({inputs})\n"
    if call.has(3):
        return text + "a = Add(c, x3)\n" + _activation(call, "a")
    return text + _activation(call, "c")


# ---------------------------------------------------------------- layer norms with a residual
def _early_layer_norm(call: Call) -> str:
    if call.results > 1:
        call.refuse("is supported with one result only")
    options = f"axis = {int(call.value('axis', -1))}, epsilon = {float(call.value('epsilon', 1e-5))!r}"
    return f"y0 = LayerNormalization <{options}> ({'x0, x1, x2' if call.has(2) else 'x0, x1'})\n"


def _skip_layer_norm(call: Call) -> str:
    epsilon = float(call.value("epsilon", 1e-12))
    text = "s0 = Add(x0, x1)\n" + ("s = Add(s0, x4)\n" if call.has(4) else "s = Identity(s0)\n")
    inputs = "s, x2, x3" if call.has(3) else "s, x2"
    return text + f"y0 = LayerNormalization <axis = -1, epsilon = {epsilon!r}> ({inputs})\n" + _sum_of_skip(call)


def _skip_rms_norm(call: Call) -> str:
    text = "s0 = Add(x0, x1)\n" + ("s = Add(s0, x3)\n" if call.has(3) else "s = Identity(s0)\n")
    text += _ints("last", -1) + _float("e", call.value("epsilon", 1e-12), "x0")
    text += "q = Mul(s, s) m = ReduceMean(q, last) v = Add(m, e) r = Sqrt(v) n = Div(s, r) y0 = Mul(n, x2)\n"
    return text + _sum_of_skip(call)


def _sum_of_skip(call: Call) -> str:
    return "y3 = Identity(s)\n" if call.results > 3 else ""


def _root_mean_square_norm(call: Call) -> str:
    """Onnxruntime computes in the type of the scale, and has the mean of squares over the axes from `axis` on."""
    if int(call.value("axis", -1)) != -1 or call.results > 1:
        call.refuse("is supported over the last axis, with one result, only")
    text = _ints("last", -1) + _float("e", call.value("epsilon", 1e-5), "x0")
    return text + "q = Mul(x0, x0) m = ReduceMean(q, last) v = Add(m, e) r = Sqrt(v) n = Div(x0, r) y0 = Mul(n, x1)\n"


def _embedding(call: Call) -> str:
    """Words, positions and segments are looked up, added, and normalized; the mask is counted for each sequence."""
    text = "word = Gather(x2, x0)\n" + _ints("zero", 0) + _ints("one", 1)
    if call.has(8):
        text += "position = Gather(x3, x8)\n"
    else:
        text += "count = Shape <start = 1, end = 2> (x0) position = Slice(x3, zero, count, zero)\n"
    text += "s0 = Add(word, position)\n"
    text += "segment = Gather(x4, x1) s = Add(s0, segment)\n" if call.has(4) else "s = Identity(s0)\n"
    epsilon = float(call.value("epsilon", 1e-12))
    text += f"y0 = LayerNormalization <axis = -1, epsilon = {epsilon!r}> (s, x5, x6)\n"
    if call.results > 1:
        text += "mask = Identity(x7)\n" if call.has(7) else "mask = Sub(x0, x0)\n"
        text += "y1 = ReduceSum <keepdims = 0> (mask, one)\n"
    return text + ("y2 = Identity(s)\n" if call.results > 2 else "")


# ---------------------------------------------------------------- attention
def _attended(call: Call, mask: int, past: tuple[int, ...], bias: int) -> str:
    """Return the nodes of an attention over q, k and v of (batch, length, hidden), whose heads are split here.

    `mask`, `past` and `bias` are numbers of inputs: what takes part, the keys and values before these, and what is
    added to the scores.
    """
    heads, outputs = int(call.value("num_heads", None)), call.results
    text = _ints("by_head", 0, 0, heads, -1) + _ints("merge", 0, 0, -1) + _ints("zero", 0) + _ints("one", 1)
    for name in "qkv":
        text += f"{name}_r = Reshape({name}, by_head) {name}_t = Transpose <perm = [0, 2, 1, 3]> ({name}_r)\n"
    if call.has(past[0]):
        if len(past) == 1:  # keys and values in one tensor
            text += f"k_p, v_p = Split <axis = 0, num_outputs = 2> (x{past[0]})\n"
            text += "k_b = Squeeze(k_p, zero) v_b = Squeeze(v_p, zero)\n"
        else:
            text += f"k_b = Identity(x{past[0]}) v_b = Identity(x{past[1]})\n"
        text += "k_h = Concat <axis = 2> (k_b, k_t) v_h = Concat <axis = 2> (v_b, v_t)\n"
    else:
        text += "k_h = Identity(k_t) v_h = Identity(v_t)\n"
    text += "kt = Transpose <perm = [0, 1, 3, 2]> (k_h) raw = MatMul(q_t, kt)\n"
    if scale := float(call.value("scale", 0.0)):
        text += _float("scale", scale, "raw")
    else:
        text += "width = Shape <start = 3, end = 4> (q_t) wide = CastLike(width, raw) root = Sqrt(wide)\n"
        text += "scale = Reciprocal(root)\n"
    text += "s0 = Mul(raw, scale)\n" + (f"s1 = Add(s0, x{bias})\n" if call.has(bias) else "s1 = Identity(s0)\n")
    text += _float("off", float(call.value("mask_filter_value", -10000.0)), "raw")
    text += _masked(call, mask) if call.has(mask) else "s2 = Identity(s1)\n"
    if call.value("unidirectional", 0):  # position i sees the ones up to i, and all before this sequence
        text += "rows = Shape <start = 2, end = 3> (raw) columns = Shape <start = 3, end = 4> (raw)\n"
        text += "ahead0 = Sub(columns, rows) ahead1 = Add(ahead0, one) ahead = Squeeze(ahead1)\n"
        text += _float("low", -3e38, "raw") + "plane = Shape <start = 2, end = 4> (raw) full0 = Expand(low, plane)\n"
        text += "later = Trilu <upper = 1> (full0, ahead) s3 = Add(s2, later)\n"
    else:
        text += "s3 = Identity(s2)\n"
    text += "w = Softmax <axis = -1> (s3) c = MatMul(w, v_h) ct = Transpose <perm = [0, 2, 1, 3]> (c)\n"
    text += "y0 = Reshape(ct, merge)\n"
    if outputs > 1 and len(past) == 1:
        text += "k_u = Unsqueeze(k_h, zero) v_u = Unsqueeze(v_h, zero) y1 = Concat <axis = 0> (k_u, v_u)\n"
    elif outputs > 1:
        text += "y1 = Identity(k_h)\n" + ("y2 = Identity(v_h)\n" if outputs > 2 else "")
    return text


def _masked(call: Call, mask: int) -> str:
    """Return nodes that switch scores off: by 0 for each position, or by the length of each sequence."""
    rank, name = call.ranks[mask], f"x{mask}"
    text = _ints("m_axes", *{2: (1, 2), 3: (1,)}.get(rank or 0, (1,)))
    if rank == 1:
        text += "m_n0 = Shape <start = 3, end = 4> (raw) m_n = Squeeze(m_n0) m_0 = Sub(m_n, m_n) m_1 = Squeeze(one)\n"
        text += f"m_r0 = Range(m_0, m_n, m_1) m_r = CastLike(m_r0, {name}) m_e = Unsqueeze({name}, one)\n"
        text += (
            "m_l = Less(m_r, m_e) m_f = CastLike(m_l, raw)\n" + _ints("m_mid", 1, 2) + "m_u = Unsqueeze(m_f, m_mid)\n"
        )
    elif rank in (2, 3):
        text += f"m_f = CastLike({name}, raw) m_u = Unsqueeze(m_f, m_axes)\n"
    else:
        call.refuse("is supported with a mask of one to three dimensions only")
    text += _float("unit", 1.0, "raw")
    return text + "m_i = Sub(unit, m_u) m_a = Mul(m_i, off) s2 = Add(s1, m_a)\n"


def _projected(call: Call, x: str, weight: str) -> str:
    """Return nodes that compute q, k and v as parts of one product."""
    if call.value("do_rotary", 0) or call.value("past_present_share_buffer", 0):
        call.refuse("is not supported with rotary positions or a shared buffer")
    text = f"p = MatMul({x}, {weight})\n" + ("b = Add(p, x2)\n" if call.has(2) else "b = Identity(p)\n")
    if sizes := list(call.value("qkv_hidden_sizes", [])):
        return text + _ints("parts", *sizes) + "q, k, v = Split <axis = -1> (b, parts)\n"
    return text + "q, k, v = Split <axis = -1, num_outputs = 3> (b)\n"


def _attention(call: Call) -> str:
    call.only(6)
    return _projected(call, "x0", "x1") + _attended(call, 3, (4,), 5)


def _quantized_attention(call: Call) -> str:
    text = _integers("xf", "x0", "x3", _given(call, 6)) + _integers("wf", "x1", "x4", _given(call, 7))
    return text + _projected(call, "xf", "wf") + _attended(call, 5, (8,), NEVER)


def _multi_head_attention(call: Call) -> str:
    call.only(8)
    if not call.has(1) or not call.has(2) or call.ranks[1] != 3 or call.ranks[2] != 3:
        call.refuse("is supported for queries, keys and values in tensors of their own")
    if call.has(3):
        text = "".join(f"w{at} = Shape <start = 2, end = 3> (x{at})\n" for at in range(3))
        text += "parts = Concat <axis = 0> (w0, w1, w2) bq, bk, bv = Split <axis = 0> (x3, parts)\n"
        text += "".join(f"{name} = Add(x{at}, b{name})\n" for at, name in enumerate("qkv"))
    else:
        text = "".join(f"{name} = Identity(x{at})\n" for at, name in enumerate("qkv"))
    return text + _attended(call, 4, (6, 7), 5)


# ---------------------------------------------------------------- integers
def _dequantized(target: str, value: str, scale: str, zero: str | None) -> str:
    return f"{target} = DequantizeLinear({value}, {scale}{'' if zero is None else f', {zero}'})\n"


def _given(call: Call, index: int) -> str | None:
    return f"x{index}" if call.has(index) else None


def _quantized_pair(operator: str) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        text = _dequantized("a", "x0", "x1", _given(call, 2)) + _dequantized("b", "x3", "x4", _given(call, 5))
        zero = ", x7" if call.has(7) else ""
        return text + f"c = {operator}(a, b) y0 = QuantizeLinear(c, x6{zero})\n"

    return write


def _quantized_one(operator: Callable[[Call], str]) -> Callable[[Call], str]:
    def write(call: Call) -> str:
        text = _dequantized("a", "x0", "x1", _given(call, 2))
        zero = ", x4" if call.has(4) else ""
        return text + f"b = {operator(call)}(a) y0 = QuantizeLinear(b, x3{zero})\n"

    return write


def _quantized_softmax(call: Call) -> str:
    axis = int(call.value("axis", -1))
    text = _dequantized("a", "x0", "x1", _given(call, 2))
    if int(call.value("opset", None)) >= 13:
        text += f"b = Softmax <axis = {axis}> (a)\n"
    else:  # over all axes from this one on
        text += f"s = Shape(a) f = Flatten <axis = {axis}> (a) g = Softmax <axis = -1> (f) b = Reshape(g, s)\n"
    return text + f"y0 = QuantizeLinear(b, x3{', x4' if call.has(4) else ''})\n"


def _quantized_gemm(call: Call) -> str:
    """The scale of the bias is the product of the other two, as integers are summed before they are scaled."""
    text = _integers("a", "x0", "x1", _given(call, 2))
    transposed = int(call.value("transB", 0))
    text += _ints("form", *((-1, 1) if transposed else (1, -1))) + "b_s = Reshape(x4, form)\n"
    if call.has(5):
        text += "b_o = Reshape(x5, form)\n"
    text += _integers("b", "x3", "b_s", "b_o" if call.has(5) else None)
    options = (
        f"alpha = {float(call.value('alpha', 1.0))!r}, transA = {int(call.value('transA', 0))}, transB = {transposed}"
    )
    if call.has(6):
        text += _ints("flat", -1) + "b_f = Reshape(x4, flat) c_s = Mul(x1, b_f)\n" + _integers("c", "x6", "c_s", None)
        text += f"g = Gemm <{options}, beta = {float(call.value('alpha', 1.0))!r}> (a, b, c)\n"
    else:
        text += f"g = Gemm <{options}> (a, b)\n"
    if not call.has(7):
        return text + "y0 = Identity(g)\n"
    return text + f"y0 = QuantizeLinear(g, x7{', x8' if call.has(8) else ''})\n"


def _average_pool(call: Call) -> str:
    if call.value("channels_last", 0):
        call.refuse("is not supported with the channels last")
    texts = [f"kernel_shape = [{', '.join(map(str, call.value('kernel_shape', None)))}]"]
    for name in ("pads", "strides"):
        if values := list(call.value(name, [])):
            texts.append(f"{name} = [{', '.join(map(str, values))}]")
    texts += [f"{name} = {call.value(name, 0)}" for name in ("ceil_mode", "count_include_pad")]
    texts.append(f'auto_pad = "{call.value("auto_pad", "NOTSET")}"')
    return f"AveragePool <{', '.join(texts)}> "


def _global_pool(call: Call) -> str:
    if call.value("channels_last", 0):
        call.refuse("is not supported with the channels last")
    return "GlobalAveragePool"


def _quantized_concat(call: Call) -> str:
    text, parts, at = "", [], 2
    while call.has(at):
        text += _dequantized(f"p{at}", f"x{at}", f"x{at + 1}", _given(call, at + 2))
        parts.append(f"p{at}")
        at += 3
    zero = ", x1" if call.has(1) else ""
    return (
        text + f"c = Concat <axis = {call.value('axis', None)}> ({', '.join(parts)}) y0 = QuantizeLinear(c, x0{zero})\n"
    )


def _integers(name: str, source: str, scale: str, zero: str | None) -> str:
    """Return nodes for `(source - zero) * scale` in floats, where scale and zero are for the last axis or for all."""
    text = f"{name}_i = Cast <to = 1> ({source})\n"
    if zero is not None:
        text += f"{name}_z = Cast <to = 1> ({zero}) {name}_d = Sub({name}_i, {name}_z)\n"
    else:
        text += f"{name}_d = Identity({name}_i)\n"
    return text + f"{name} = Mul({name}_d, {scale})\n"


def _dynamic_matmul(call: Call) -> str:
    text = "q, s, z = DynamicQuantizeLinear(x0) a = DequantizeLinear(q, s, z)\n"
    text += _integers("b", "x1", "x2", _given(call, 3)) + "p = MatMul(a, b)\n"
    return text + ("y0 = Add(p, x4)\n" if call.has(4) else "y0 = Identity(p)\n")


def _integer_matmul(call: Call) -> str:
    text = _integers("a", "x0", "x2", _given(call, 4)) + _integers("b", "x1", "x3", _given(call, 5))
    return text + "p = MatMul(a, b)\n" + ("y0 = Add(p, x6)\n" if call.has(6) else "y0 = Identity(p)\n")


def _unpacked(name: str, source: str, count: int, *shape: int) -> str:
    """Return nodes that unpack two numbers of 4 bits a byte, the lower one first, and reshape them."""
    text = _ints(f"{name}_last", -1) + _ints(f"{name}_wide", shape[0], -1) + _ints(f"{name}_shape", *shape)
    text += f"{name}_i = Cast <to = 6> ({source}) {name}_sixteen = Constant <value_int = 16> ()\n"
    text += f"{name}_16 = CastLike({name}_sixteen, {name}_i) {name}_hi = Div({name}_i, {name}_16)\n"
    text += f"{name}_up = Mul({name}_hi, {name}_16) {name}_lo = Sub({name}_i, {name}_up)\n"
    text += f"{name}_l = Unsqueeze({name}_lo, {name}_last) {name}_h = Unsqueeze({name}_hi, {name}_last)\n"
    text += f"{name}_c = Concat <axis = -1> ({name}_l, {name}_h) {name}_w = Reshape({name}_c, {name}_wide)\n"
    text += _ints(f"{name}_zero", 0) + _ints(f"{name}_count", count) + _ints(f"{name}_one", 1)
    text += f"{name}_cut = Slice({name}_w, {name}_zero, {name}_count, {name}_one)\n"
    text += f"{name}_r = Reshape({name}_cut, {name}_shape)\n"
    return text + f"{name} = CastLike({name}_r, x2)\n"


def _matmul_bits(call: Call) -> str:
    bits, block = int(call.value("bits", 4)), int(call.value("block_size", None))
    rows, columns = int(call.value("K", None)), int(call.value("N", None))
    if bits not in (4, 8) or call.has(4) or block < 1:
        call.refuse("is supported for weights of 4 or 8 bits without an order of groups")
    blocks = -(-rows // block)
    text = _ints("scales_shape", columns, blocks, 1) + "scale = Reshape(x2, scales_shape)\n"
    if bits == 4:
        text += _unpacked("q", "x1", blocks * block, columns, blocks, block)
    else:
        text += _ints("q_shape", columns, blocks, block) + "q_r = Reshape(x1, q_shape) q = CastLike(q_r, x2)\n"
    if not call.has(3):
        text += _float("zero", 8.0 if bits == 4 else 128.0, "x2")
    elif bits == 4:
        # Packed like the weights, each row padded to whole bytes.
        text += (
            _ints("z_rows", columns, -1)
            + "z_p = Reshape(x3, z_rows)\n"
            + _unpacked("zero", "z_p", blocks, columns, blocks, 1)
        )
    else:
        text += "z_r = Reshape(x3, scales_shape) zero = CastLike(z_r, x2)\n"
    text += _ints("flat", columns, -1) + _ints("start", 0) + _ints("end", rows) + _ints("axis", 1)
    text += "d = Sub(q, zero) w = Mul(d, scale) f = Reshape(w, flat) cut = Slice(f, start, end, axis)\n"
    text += "t = Transpose <perm = [1, 0]> (cut) p = MatMul(x0, t)\n"
    return text + ("y0 = Add(p, x5)\n" if call.has(5) else "y0 = Identity(p)\n")


def _quantized_lstm(call: Call) -> str:
    text = _ints("form", 0, 1, -1)
    # Weights (direction, input, gate) with a scale for each direction, or for each gate.
    for name, source, scale, zero in (("w", "x1", "x8", 9), ("r", "x2", "x10", 11)):
        text += f"{name}_s = Reshape({scale}, form)\n"
        if call.has(zero):
            text += f"{name}_zr = Reshape(x{zero}, form)\n"
        text += _integers(f"{name}_f", source, f"{name}_s", f"{name}_zr" if call.has(zero) else None)
        text += f"{name} = Transpose <perm = [0, 2, 1]> ({name}_f)\n"
    texts = [
        f"hidden_size = {int(call.value('hidden_size', None))}",
        f'direction = "{call.value("direction", "forward")}"',
    ]
    texts.append(f"input_forget = {int(call.value('input_forget', 0))}")
    if names := [name.decode() for name in call.value("activations", [])]:
        texts.append("activations = [" + ", ".join(f'"{name}"' for name in names) + "]")
    others = ", ".join(f"x{at}" if call.has(at) else "" for at in range(3, 8))
    results = ", ".join(f"y{at}" for at in range(call.results))
    # onnxruntime quantizes the whole sequence, and the state at each step.
    texts.append("quantized_state = 1")
    text += "q, q_s, q_z = DynamicQuantizeLinear(x0)\nx = DequantizeLinear(q, q_s, q_z)\n"
    return text + f"{results} = LSTM <{', '.join(texts)}> (x, w, r, {others})\n"


DEFINITIONS: dict[str, Callable[[Call], str]] = {
    "Attention": _attention,
    "BiasGelu": lambda call: "s = Add(x0, x1)\n" + _gelu_of("s", "y0"),
    "DequantizeLinear": lambda call: _dequantized("y0", "x0", "x1", _given(call, 2)),
    "DynamicQuantizeLSTM": _quantized_lstm,
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "EmbedLayerNormalization": _embedding,
    "FastGelu": _fast_gelu,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_matmul,
    "Gelu": lambda call: _gelu_of("x0", "y0"),
    "LayerNormalization": _early_layer_norm,
    "MatMulIntegerToFloat": _integer_matmul,
    "MatMulNBits": _matmul_bits,
    "MultiHeadAttention": _multi_head_attention,
    "QAttention": _quantized_attention,
    "QGemm": _quantized_gemm,
    "QLinearAdd": _quantized_pair("Add"),
    "QLinearAveragePool": _quantized_one(_average_pool),
    "QLinearConcat": _quantized_concat,
    "QLinearGlobalAveragePool": _quantized_one(_global_pool),
    "QLinearLeakyRelu": _quantized_one(lambda call: f"LeakyRelu <alpha = {float(call.value('alpha', 0.01))!r}> "),
    "QLinearMul": _quantized_pair("Mul"),
    "QLinearSigmoid": _quantized_one(lambda call: "Sigmoid"),
    "QLinearSoftmax": _quantized_softmax,
    "QuantizeLinear": lambda call: f"y0 = QuantizeLinear(x0, x1{', x2' if call.has(2) else ''})\n",
    "QuickGelu": _quick_gelu,
    "SimplifiedLayerNormalization": _root_mean_square_norm,
    "SkipLayerNormalization": _skip_layer_norm,
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
}


def contrib_function(proto: Any, ranks: list[int | None]) -> Any:
    """Return the FunctionProto that defines a node of onnxruntime's domain, whose inputs have these ranks.

    Raises `ModelError` for an operator, an attribute or an input that is not supported.
    """
    call = Call(proto, ranks)
    body = DEFINITIONS[proto.op_type](call)
    for at, rank in enumerate(ranks):
        swap = f"{DOMAIN}.SwapLast(x{at})"
        if swap in body and rank is not None and rank >= 2:
            perm = [*range(rank - 2), rank - 1, rank - 2]
            body = body.replace(swap, f"Transpose <perm = [{', '.join(map(str, perm))}]> (x{at})")
    if f"{DOMAIN}.SwapLast" in body:
        call.refuse("transposes an input that is not known to be a matrix")
    inputs = ", ".join(f"x{at}" for at in range(len(proto.input)))
    outputs = ", ".join(f"y{at}" for at in range(len(proto.output)))
    made = "".join(f"y{at} = Identity(x0)\n" for at, name in enumerate(proto.output) if name and f"y{at}" not in body)
    if made:
        call.refuse("has results that are not supported")
    text = f'<opset_import: ["" : {OPSET}], domain: "{DOMAIN}"> {proto.op_type} ({inputs}) => ({outputs}) {{ {body} }}'
    try:
        return onnx().parser.parse_function(text)
    except (onnx().parser.ParseError, UnicodeError):
        call.refuse("has an attribute that makes no sense")
