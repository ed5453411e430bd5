"""Answers to the lesson on layouts, precision and quantisation."""

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

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "13-layouts-and-precision": [
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
}
