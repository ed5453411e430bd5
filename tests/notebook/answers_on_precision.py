"""Answers to the lessons on layouts, precision and quantisation."""

from __future__ import annotations

OFFSET = "def f(layout, shape, n, c, h, w):\n    N, C, H, W = shape\n    return {}\nf"
NCHW, NHWC = "((n * C + c) * H + h) * W + w", "((n * H + h) * W + w) * C + c"
SCALE = "def f(low, high):\n    scale = {}\n    return scale, {}\nf"
WIDE = """
class M(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op != relay.op.get({!r}):
            return call
        return {}
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    return M().visit(func)
transform.Sequential([{}p])
"""
HALF = "transform.ToMixedPrecision('float16'), "
DENSE32 = "relay.cast(relay.nn.dense(*[relay.cast(a, 'float32') for a in call.args]), 'float16')"

COUNT = "len([n for n in post_order(transform.FoldConstant()(transform.ConvertLayout({'nn.conv2d': ['NHWC', 'default']})(ready))['main']) if isinstance(n, relay.Call) and n.op == relay.op.get('layout_transform')])"
STRIDES = "def f(layout, shape):\n    sizes, step, steps = dict(zip('NCHW', shape)), 1, {}\n    for l in reversed(layout):\n        steps[l] = step\n        step *= sizes[l]\n    return tuple(steps[l] for l in 'NCHW')\nf"
PRODUCT = "def f(x, w, sx, sw, s):\n    p = {}\n    return {}\nf"

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "13-layouts": [
        (
            (
                OFFSET.format(f"{NCHW} if layout == 'NCHW' else {NHWC}"),
                OFFSET.format("n * C * H * W + (c * H * W + h * W + w if layout == 'NCHW' else h * W * C + w * C + c)"),
                "def f(layout, shape, *index):\n    order = ['NCHW'.index(l) for l in layout]\n    return int(np.ravel_multi_index([index[i] for i in order], [shape[i] for i in order]))\nf",
            ),
            (
                OFFSET.format(NCHW),
                OFFSET.format(NHWC),
                OFFSET.format("n + c + h + w"),
                OFFSET.format(f"{NHWC} if layout == 'NCHW' else {NCHW}"),
                "lambda *a: 119",
            ),
        ),
        (
            (
                STRIDES,
                "def f(layout, shape):\n    n = dict(zip('NCHW', shape))\n    return [int(np.prod([n[l] for l in layout[layout.index(x) + 1:]])) for x in 'NCHW']\nf",
                "def f(layout, shape, letters='NCHW'):\n    def stride(x):\n        after = layout[layout.index(x) + 1:]\n        return shape[letters.index(after[0])] * stride(after[0]) if after else 1\n    return tuple(map(stride, letters))\nf",
                "def f(layout, shape):\n    order = ['NCHW'.index(l) for l in layout]\n    a = np.empty([shape[i] for i in order], 'int8')\n    return tuple(a.strides[layout.index(l)] for l in 'NCHW')\nf",
            ),
            (
                STRIDES.replace("reversed(layout)", "layout"),
                STRIDES.replace("for l in 'NCHW')", "for l in layout)"),
                STRIDES.replace("zip('NCHW', shape)", "zip(layout, shape)"),
                "lambda layout, shape: (shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1)",
                "lambda layout, shape: (1, 1, 1, 1)",
                STRIDES.replace("return tuple", "print"),
                STRIDES.replace("shape)), 1, {}", "shape)), 4, {}"),
            ),
        ),
        (
            (
                "sum(isinstance(n, relay.Call) and n.op.name == 'layout_transform' for n in post_order(transform.FoldConstant()(transform.ConvertLayout({'nn.conv2d': ['NHWC', 'default']})(ready))['main']))",
                f"np.int64({COUNT})",
                COUNT,
                f"def f():\n    return {COUNT}\nf()",
            ),
            ("5", "0", "1", "'3'", "[2]", "100", "True"),
        ),
    ],
    "13b-precision": [
        (
            (
                "lambda x: float(np.spacing(np.float16(x)))",
                "lambda x: np.nextafter(np.float16(x), np.float16(np.inf)) - np.float16(x)",
                "def f(x):\n    step = 2.0 ** -10\n    while x >= 2:\n        x, step = x / 2, step * 2\n    return step\nf",
                "lambda x: 2.0 ** (np.floor(np.log2(x)) - 10)",
            ),
            (
                "lambda x: 2.0 ** -10",
                "lambda x: float(np.spacing(np.float32(x)))",
                "lambda x: x * 2.0 ** -10",
                "lambda x: 2.0 ** (np.floor(np.log2(x)) - 11)",
                "lambda x: np.float16(x) + np.spacing(np.float16(x))",
                "lambda x: print(np.spacing(np.float16(x)))",
                "lambda x: 1",
                "def f(x):\n    while x > 0:\n        x = abs(x)\nf",
            ),
        ),
        (
            (
                "lambda a: np.float16(a.sum(dtype='float32'))",
                "lambda a: a.astype('float64').sum().astype('float16')",
                "def f(a):\n    import math\n    return np.float16(math.fsum(a))\nf",
                "def f(a):\n    total = 0.0\n    for x in a:\n        total = total + float(x)\n    return np.array(total, 'float16')\nf",
            ),
            (
                "def f(a):\n    s = np.float16(0)\n    for x in a:\n        s = s + x\n    return s\nf",
                "lambda a: a.sum(dtype='float32')",
                "lambda a: np.cumsum(a)[-1]",
                "lambda a: float(a.astype('float64').sum())",
                "lambda a: np.float16(len(a) / 2)",
                "lambda a: a.mean()",
                "lambda a: print(a.sum())",
                "lambda a: np.float16(a.astype('float32')[:2048].sum())",
            ),
        ),
        (
            (
                WIDE.format("nn.dense", DENSE32, HALF),
                WIDE.format(
                    "nn.dense",
                    "relay.cast(relay.nn.dense(relay.cast(call.args[0], 'float32'), relay.cast(call.args[1], 'float32')), dtype='float16')",
                    HALF,
                ),
                WIDE.format(
                    "nn.dense",
                    "relay.cast(relay.nn.dense(*[relay.cast(a, 'float32') for a in call.args], out_dtype='float32'), 'float16')",
                    HALF,
                ),
            ),
            (
                "transform.ToMixedPrecision('float16')",
                "transform.InferType()",
                WIDE.format("nn.conv2d", "call", HALF),
                WIDE.format(
                    "nn.dense",
                    "relay.cast(relay.nn.dense(*[relay.cast(a, 'float64') for a in call.args]), 'float16')",
                    HALF,
                ),
                WIDE.format(
                    "nn.dense",
                    DENSE32.replace("relay.nn.dense(", "relay.negative(relay.nn.dense(").replace(
                        "), 'float16')", ")), 'float16')", 1
                    ),
                    HALF,
                ),
            ),
        ),
    ],
    "13c-quantisation": [
        (
            (
                SCALE.format("(high - low) / 255", "round(-128 - low / scale)"),
                SCALE.format("(high - low) / 255", "round(127 - high / scale)"),
                SCALE.format("(high + abs(low)) / 255.0", "int(np.rint(-128 - low / scale))"),
            ),
            (
                SCALE.format("(high - low) / 256", "round(-128 - low / scale)"),
                SCALE.format("(high - low) / 255", "0"),
                SCALE.format("(high - low) / 255", "-128 - low / scale"),
                SCALE.format("max(high, -low) / 127", "0"),
                SCALE.format("(high - low) / 255", "round(low / scale)"),
            ),
        ),
        (
            (
                "lambda x, scale, zero: np.clip(np.round(x / scale) + zero, -128, 127).astype('int8')",
                "lambda x, s, z: np.array([[max(-128, min(127, round(float(v) / s + z))) for v in row] for row in np.atleast_2d(x)], 'int8').reshape(x.shape)",
                "lambda x, s, z: np.floor(np.minimum(np.maximum(x.astype('float64') / s + z, -128), 127) + 0.5).clip(-128, 127).astype(np.int8)",
                "lambda x, s, z: np.rint(np.clip(x / s + z, -128, 127)).astype(np.int8)",
            ),
            (
                "lambda x, s, z: (np.round(x / s) + z).astype('int64').astype('int8')",
                "lambda x, s, z: np.clip(np.round(x / s) - z, -128, 127).astype('int8')",
                "lambda x, s, z: np.clip(np.round(x / s) + z, -128, 127)",
                "lambda x, s, z: np.clip(x / s + z, -128, 127).astype('int8')",
                "lambda x, s, z: np.clip(np.round(x * s) + z, -128, 127).astype('int8')",
                "lambda x, s, z: np.clip(np.round(x / s) + z, 0, 255).astype('uint8')",
                "lambda x, s, z: np.clip(np.round(x / s) + z, -128, 127).astype('int8').tolist()",
                "lambda x, s, z: np.clip(np.round((x + z) / s), -128, 127).astype('int8')",
            ),
        ),
        (
            (
                PRODUCT.format(
                    "x.astype('int32') @ w.astype('int32').T",
                    "np.clip(np.round(p * (sx * sw / s)), -128, 127).astype('int8')",
                ),
                PRODUCT.format(
                    "np.einsum('rk,uk->ru', x.astype(float), w.astype(float)) * sx * sw",
                    "np.rint((p / s).clip(-128, 127)).astype('int8')",
                ),
                "lambda x, w, sx, sw, s: np.array([[max(-128, min(127, round(sum(int(a) * int(b) for a, b in zip(r, u)) * sx * sw / s))) for u in w] for r in x], 'int8')",
            ),
            (
                PRODUCT.format("x @ w.T", "np.clip(np.round(p * (sx * sw / s)), -128, 127).astype('int8')"),
                PRODUCT.format(
                    "x.astype('int32') @ w.astype('int32').T",
                    "np.round(p * (sx * sw / s)).astype('int64').astype('int8')",
                ),
                PRODUCT.format("x.astype('int32') @ w.astype('int32').T", "np.clip(p, -128, 127).astype('int8')"),
                PRODUCT.format(
                    "x.astype('int32') @ w.astype('int32').T",
                    "np.clip(np.round(p * sx * sw * s), -128, 127).astype('int8')",
                ),
                PRODUCT.format(
                    "x.astype('int32') @ w.astype('int32')",
                    "np.clip(np.round(p * (sx * sw / s)), -128, 127).astype('int8')",
                ),
                PRODUCT.format("x.astype('int32') @ w.astype('int32').T", "p * (sx * sw / s)"),
                PRODUCT.format(
                    "w.astype('int32') @ x.astype('int32').T",
                    "np.clip(np.round(p * (sx * sw / s)), -128, 127).astype('int8')",
                ),
            ),
        ),
    ],
}
