"""FakeQuantizationToInteger on generated regions: the integer program computes what the original computes, to a level.

A region is a chain of operators on dequantized tensors of shape (1, 2, 4, 4), quantized at its end with a scale and a
zero point that often make the result saturate. All numbers of a region are multiples of one unit, often a tiny one.
"""

from __future__ import annotations

import math
import random

import numpy as np

from passlab import relay, transform
from passlab.infer import infer_module
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from tests.each import each

SHAPE = (1, 2, 4, 4)
SCALES = (0.05, 0.1, 0.5, 1.0, 2.0, 3.7)
SEEDS = range(100)
# The result is rounded once, to the nearest level. Averages of integers and tables of functions are rounded once more.
LEVELS = 2


class Region:
    """A generated region: `program` and its arguments."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.unit = self.rng.choice((1.0, 1.0, 1e-9, 1e6))
        self.params: list[relay.Var] = []
        self.dtype = self.rng.choice(("int8", "uint8"))
        self.values = [self._input(SHAPE), self.rng.choice((self._input, lambda shape: self._slices()))(SHAPE)]
        for _ in range(self.rng.randint(1, 4)):
            self.values.append(self._step())
        real = self.values[-1]
        result = relay.qnn.op.quantize(real, *self._scale(), out_dtype=self.dtype)
        self.program = infer_module(IRModule.from_expr(relay.Function(self.params, result)))

    def arguments(self) -> list[np.ndarray]:
        """Return arrays for the parameters: the ends of their dtype as often as numbers between them."""
        rng = np.random.default_rng(self.rng.randrange(2**32))
        ends = np.iinfo(self.dtype)
        arrays = []
        for param in self.params:
            shape = [int(n) for n in param.checked_type.shape]
            draws = rng.integers(ends.min, ends.max, shape, endpoint=True)
            extremes = rng.choice((ends.min, ends.max), shape)
            arrays.append(np.where(rng.random(shape) < rng.choice((0.1, 0.9)), extremes, draws).astype(self.dtype))
        return arrays

    def _scale(self) -> tuple[Expr, Expr]:
        zero = self.rng.choice((0, 0, 3, 100) if self.dtype == "uint8" else (0, 0, -5, 90))
        return relay.const(self.rng.choice(SCALES) * self.unit, "float32"), relay.const(zero, "int32")

    def _input(self, shape: tuple[int, ...]) -> Expr:
        param = relay.var(f"x{len(self.params)}", shape=shape, dtype=self.dtype)
        self.params.append(param)
        return relay.qnn.op.dequantize(param, *self._scale())

    def _slices(self) -> Expr:
        """Return a parameter that has a scale for each of its two slices."""
        param = relay.var(f"x{len(self.params)}", shape=SHAPE, dtype=self.dtype)
        self.params.append(param)
        return relay.qnn.op.dequantize(param, self._scales(2), relay.const(self.rng.choice((0, 3)), "int32"), axis=1)

    def _scales(self, count: int) -> Expr:
        return relay.const(np.array([self.rng.choice(SCALES) * self.unit for _ in range(count)], "float32"))

    def _weight(self, shape: tuple[int, ...]) -> Expr:
        """Return a parameter with one scale, or one for each slice along one of its first axes."""
        if self.rng.random() < 0.5:
            return self._input(shape)
        param = relay.var(f"x{len(self.params)}", shape=shape, dtype=self.dtype)
        self.params.append(param)
        return relay.qnn.op.dequantize(param, self._scales(shape[0]), relay.const(0), axis=self.rng.choice((0, 1)))

    def _constant(self, shape: tuple[int, ...]) -> Expr:
        numbers = np.random.default_rng(self.rng.randrange(2**32)).uniform(-20, 20, shape)
        return relay.const((numbers * self.unit).astype("float32"))

    def _bounds(self) -> tuple[float, float]:
        low, high = self.rng.choice(((-3.3, 11.1), (0.0, math.inf), (-math.inf, 2.0), (-1e300, 1e300)))
        return low * self.unit, high * self.unit

    def _step(self) -> Expr:
        """Return an operator on what was computed so far; its result has the same shape."""
        x = self.rng.choice(self.values[-2:])
        y = self.rng.choice((*self.values, self._constant(()), self._constant(SHAPE)))
        window = {"pool_size": (3, 3), "padding": (1, 1)}
        return self.rng.choice((
            lambda: relay.add(x, y), lambda: relay.subtract(x, y), lambda: relay.multiply(x, y),
            lambda: relay.maximum(x, y), lambda: relay.minimum(x, y),
            lambda: relay.nn.relu(x), lambda: relay.clip(x, *self._bounds()), lambda: relay.nn.leaky_relu(x, 0.3),
            lambda: relay.nn.bias_add(x, self._constant((2,))),
            lambda: relay.nn.max_pool2d(x, **window), lambda: relay.nn.avg_pool2d(x, count_include_pad=True, **window),
            lambda: relay.broadcast_to(relay.mean(x, axis=[1], keepdims=True), SHAPE),
            lambda: relay.broadcast_to(relay.nn.global_avg_pool2d(x), SHAPE),
            lambda: relay.nn.pad(relay.strided_slice(x, [0, 0, 1, 1], SHAPE), ((0, 0), (0, 0), (1, 0), (1, 0)), 1.7 * self.unit),
            lambda: relay.transpose(x, [0, 1, 3, 2]), lambda: relay.reshape(x, SHAPE),
            lambda: relay.strided_slice(relay.concatenate((x, self.values[0]), 1), [0, 1, 0, 0], [1, 3, 4, 4]),
            lambda: relay.split(relay.concatenate((x, x), 1), 2, 1)[1],
            lambda: relay.nn.conv2d(x, self._weight((2, 2, 3, 3)), padding=(1, 1), kernel_size=(3, 3), channels=2),
            lambda: relay.reshape(relay.nn.dense(relay.reshape(x, (8, 4)), self._weight((4, 4))), SHAPE),
            lambda: relay.image.resize2d(x, (4, 4), method=self.rng.choice(("linear", "nearest_neighbor"))),
            lambda: relay.nn.avg_pool2d(x, **window), lambda: relay.maximum(x, self._slices()),
            lambda: relay.max(relay.expand_dims(x, 0), axis=[0]), lambda: relay.take(x, relay.const([1, 0]), axis=1),
            lambda: relay.tanh(x), lambda: relay.sigmoid(x), lambda: relay.exp(x), lambda: relay.abs(x),
        ))()  # fmt: skip


@each("seed", SEEDS)
def test_the_integer_form_of_a_region_has_its_values(seed: int):
    region = Region(seed)
    result = _on_integers(region.program)
    for _ in range(3):
        _check_values(region.program, result, region.arguments())


# The square weights of products: the axis along which a weight has its scales does not follow from their number.
PRODUCTS = {
    "nn.dense(%0, %1, units=2)": ("(3, 2)", "(2, 2)"),
    "nn.conv2d(%0, %1, kernel_size=[2, 2], channels=2)": ("(1, 2, 4, 4)", "(2, 2, 2, 2)"),
    'nn.conv2d(%0, %1, kernel_size=[2, 2], channels=2, data_layout="NHWC", kernel_layout="HWIO")': (
        "(1, 4, 4, 2)", "(2, 2, 2, 2)"),
    'nn.conv2d_transpose(%0, %1, kernel_size=[2, 2], channels=2, kernel_layout="IOHW")': (
        "(1, 2, 4, 4)", "(2, 2, 2, 2)"),
    "nn.batch_matmul(%0, %1)": ("(2, 3, 2)", "(2, 2, 2)"),
}  # fmt: skip


@each("product", PRODUCTS)
def test_a_weight_has_scales_along_any_axis(product: str):
    x, w = PRODUCTS[product]
    for axis in range(-1, w.count(",") + 1):
        text = f"""def @main(%x: Tensor[{x}, int8], %w: Tensor[{w}, int8], %s: Tensor[(2), float32]) {{
            %0 = qnn.dequantize(%x, 1f, 0, out_dtype="float32");
            %1 = qnn.dequantize(%w, %s, 0, out_dtype="float32", axis={axis});
            qnn.quantize({product}, 1f, 0, out_dtype="int32") }}"""
        program = infer_module(parse(text))
        rng = np.random.default_rng(0)
        arguments = [rng.integers(-9, 9, [int(n) for n in p.checked_type.shape]) for p in program["main"].params[:2]]
        scales = np.array([1.0, 10.0], "float32")
        _check_values(program, _on_integers(program), [*(a.astype("int8") for a in arguments), scales])


def _check_values(program: IRModule, result: IRModule, arguments: list[np.ndarray]) -> None:
    values = [relay.create_executor("debug", mod).evaluate()(*arguments).astype("int64") for mod in (program, result)]
    error = np.abs(values[0] - values[1]).max()
    assert error <= LEVELS, f"{error} levels:\n{program}\nbecame\n{result}"


def test_a_third_of_the_regions_has_an_integer_form():
    assert sum("qnn.dequantize" not in str(_on_integers(Region(seed).program)) for seed in SEEDS) >= len(SEEDS) / 3


def _on_integers(program: IRModule) -> IRModule:
    return infer_module(transform.FakeQuantizationToInteger()(program))
