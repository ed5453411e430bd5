"""Kernels on Numba: a fused group of elementwise operators becomes one loop of machine code. Needs the package numba.

Only groups on floats that hold at least two operators are compiled, when they first run, and convolutions of images of
float32 whose weight cannot change (`numba_convolution`); all other kernels are NumPy's.
The source of such a loop is a Python function of single numbers, which Numba turns into a NumPy ufunc.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passlab.errors import RunError
from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.op import Op, is_op_call, op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.vm.kernels.compiled_kernel import numpy_function
from passlab.vm.kernels.fused_product import FusedProduct, fuse, is_float32, is_frozen, is_product, users_in
from passlab.vm.kernels.numba_convolution import convolution, flat_product, is_convolution, is_flat_product
from passlab.vm.kernels.numba_elementwise import FORMS, compiled_loop, find_compiled_tail
from passlab.vm.kernels.numba_pooling import is_pooling, pooling
from passlab.vm.kernels.numba_products import is_matrix_product, matrix_product
from passlab.vm.kernels.numba_transposed import is_transposed, transposed_convolution
from passlab.vm.kernels.primitive import Kernel
from passlab.vm.kernels.providers import Provider

FLOATS = frozenset(("float32", "float64"))
MOST_INPUTS = 24  # parameters and constants of one loop; a ufunc takes few more
FEWEST_OPERATORS = 2  # a lone operator is a loop of NumPy's already

SLOW = frozenset(("divide", "sqrt"))


class NumbaProvider(Provider):
    """Computes with Numba where that pays, on a CPU; elsewhere with NumPy."""

    name = "numba"

    def kernel(self, function: Function) -> Kernel:
        plain = CompiledWindows(function)
        if plain.shapes or plain.scalar:
            return plain
        product = whole_product(function)
        if product is not None:
            return ProductKernel(function, product)
        return NumbaKernel(function) if is_compiled(function) else plain


def compiled_function(node: Call) -> Callable[..., Any]:
    """Return an operator's function on arrays: machine code for flat products, pooling and convolutions.

    A convolution is NumPy's while its weight may change.
    """
    plain = numpy_function(node)
    if not is_float32(node, *node.args):
        return plain
    if is_pooling(node):
        return pooling(node)
    if op_name(node) == "nn.dense" and is_flat_product(node):
        multiply = flat_product(node)
        return lambda attrs, data, weight, out=None: multiply(data, weight, out)
    if not is_compiled_product(node):
        return plain
    compute = compiled_product(node, relu=False)

    def run(attrs: Any, data: Any, weight: Any, out: Any = None) -> Any:
        return compute(data, weight, out=out) if is_frozen(weight) else plain(attrs, data, weight, out=out)

    return run


# operator -> whether a call on float32 is compiled, with what follows it, and its function (data, weight, bias, other,
# out) of arrays, of which the last three may be None
PRODUCTS: dict[str, tuple[Callable[[Call], bool], Callable[[Call, bool], Callable[..., Any]]]] = {
    "nn.conv2d": (is_convolution, convolution),
    "nn.conv2d_transpose": (is_transposed, transposed_convolution),
    "nn.dense": (is_matrix_product, matrix_product),
}


def is_compiled_product(call: Call) -> bool:
    """Whether a call on float32 is a product that is compiled, with what follows it."""
    return op_name(call) in PRODUCTS and PRODUCTS[op_name(call)][0](call)


def compiled_product(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a product as a function (data, weight, bias, other, out) of arrays."""
    return PRODUCTS[op_name(call)][1](call, relu)


class CompiledWindows(Kernel):
    """NumPy's kernel, with convolutions in machine code."""

    implement = staticmethod(compiled_function)
    find_tail = staticmethod(find_compiled_tail)


class ProductKernel(CompiledWindows):
    """A convolution with what follows it in machine code; NumPy's kernel while its weight may change."""

    def __init__(self, function: Function, product: FusedProduct) -> None:
        super().__init__(function)
        self.product = product

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        """The product as a function (weight, bias, data, other, result) of values that may be None."""
        return compiled_product(self.product.call, self.product.relu)

    def _operands(self) -> list[Callable[[Sequence[Any]], Any]]:
        """What gives the data, weight, bias and tensor to be added, of the values of the parameters."""
        product = self.product
        return [_getter(self.function, node) for node in (*product.call.args, product.bias, product.other)]

    @cached_property
    def value(self) -> Callable[..., Any]:
        plain, compute, (data, weight, bias, other) = super().value, self._compute, self._operands()
        assert plain is not None

        def run(*inputs: Any) -> Any:
            factors = weight(inputs)
            if not is_frozen(factors):
                return plain(*inputs)
            return compute(data(inputs), factors, bias(inputs), other(inputs))

        return run

    @cached_property
    def into(self) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        plain, compute, (data, weight, bias, other) = super().into, self._compute, self._operands()

        def run(inputs: Sequence[Any], results: Sequence[Any]) -> None:
            factors = weight(inputs)
            if not is_frozen(factors):
                plain(inputs, results)
                return
            compute(data(inputs), factors, bias(inputs), other(inputs), results[0])

        return run


def whole_product(function: Function) -> FusedProduct | None:
    """Return the convolution or product, with what follows it, that a function is; None for all other functions."""
    calls = [n for n in post_order(function.body) if isinstance(n, Call)]
    users = users_in(function)
    if (
        not calls
        or op_name(calls[0]) not in PRODUCTS
        or not is_product(calls[0], users)
        or not is_compiled_product(calls[0])
    ):
        return None
    product = fuse(calls[0], users)
    return product if product.last is function.body and len(product.inside) + 1 == len(calls) else None


def _getter(function: Function, node: Expr | None) -> Callable[[Sequence[Any]], Any]:
    """Return what gives a parameter's or constant's value of the values of the parameters."""
    if isinstance(node, Constant):
        held = node.data
        return lambda inputs: held
    return (lambda inputs: None) if node is None else operator.itemgetter(list[Expr](function.params).index(node))


def is_compiled(function: Function) -> bool:
    """Whether a primitive function is elementwise arithmetic on tensors of one kind of float."""
    nodes = [n for n in post_order(function.body) if not isinstance(n, Op)]
    types = [n.checked_type_ for n in (*function.params, *nodes)]
    dtypes = {t.dtype if isinstance(t, TensorType) else "" for t in types}
    calls = [n for n in nodes if isinstance(n, Call)]
    inputs = len(function.params) + sum(isinstance(n, Constant) for n in nodes)
    fits = len(calls) >= FEWEST_OPERATORS and inputs <= MOST_INPUTS and len(dtypes) == 1 and dtypes <= FLOATS
    # What is slow and belongs to a row, such as a root of its variance, would be computed for each of its elements.
    slow = [c for c in calls if op_name(c) in SLOW and c.checked_type_ is not function.body.checked_type_]
    return fits and not slow and all(isinstance(c.op, Op) and c.op.name in FORMS for c in calls)


class NumbaKernel(Kernel):
    """One group of elementwise operators as one loop. `source` is the Python text it is compiled from."""

    @cached_property
    def _constants(self) -> list[Constant]:
        return [n for n in post_order(self.function.body) if isinstance(n, Constant)]

    @cached_property
    def dtype(self) -> str:
        """The dtype of all its tensors."""
        ty = self.function.body.checked_type
        assert isinstance(ty, TensorType)
        return ty.dtype

    @cached_property
    def source(self) -> str:
        """The function of single numbers that is compiled: parameters first, then constants."""
        names: dict[Expr, str] = {n: f"p{i}" for i, n in enumerate((*self.function.params, *self._constants))}
        kind = f"np.{self.dtype}"
        lines = ["import numpy as np", "", f"zero = {kind}(0)", "", "", f"def kernel({', '.join(names.values())}):"]
        for node in post_order(self.function.body):
            if is_op_call(node):
                form = FORMS[node.op.name].format(*[names[a] for a in node.args])
                names[node] = f"v{len(names)}"
                lines.append(f"    {names[node]} = {kind}({form})")
        return "\n".join([*lines, f"    return {names[self.function.body]}", ""])

    @cached_property
    def _loop(self) -> Callable[..., Any]:
        count = len(self.function.params) + len(self._constants)
        return compiled_loop(self.source, self.dtype, count)

    @cached_property
    def value(self) -> Callable[..., Any]:
        held = [c.data for c in self._constants]
        return lambda *inputs: self._loop(*inputs, *held)

    @cached_property
    def into(self) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        held = [c.data for c in self._constants]

        def run(inputs: Sequence[Any], results: Sequence[Any]) -> None:
            (result,) = results
            shape = np.broadcast_shapes(*[np.shape(v) for v in (*inputs, *held)])
            if shape != result.shape:
                raise RunError(f"a kernel gave a result of shape {shape} for {result.shape}")
            self._loop(*inputs, *held, out=result)

        return run
