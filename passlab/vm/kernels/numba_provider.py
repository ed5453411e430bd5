"""Kernels compiled by Numba: elementwise groups, convolutions, products, pooling, softmax and means. Needs numba.

Compiled are groups of at least two elementwise operators on floats (`numba_elementwise`), and, on float32, pooling,
convolutions and products with a constant weight (`numba_pooling`, `numba_convolution`, `numba_products`). Other kernels
run on NumPy. A kernel is compiled when it first runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.op import Op, is_op_call, op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.vm.kernels.compiled_kernel import numpy_function
from passlab.vm.kernels.fused_product import (
    CHANNELS,
    FusedProduct,
    fuse,
    is_float32,
    is_frozen,
    is_product,
    shape_of,
    users_in,
)
from passlab.vm.kernels.numba_convolution import NARROW, convolution, flat_product, is_convolution, is_flat_product
from passlab.vm.kernels.numba_elementwise import EXPRESSIONS, compiled_loop, find_compiled_tail
from passlab.vm.kernels.numba_joined import IMAGE, Joined, are_last, joined_images, joiner, scaled_after
from passlab.vm.kernels.numba_pooling import POOLS, fused_pooling, is_plain_pooling, is_pooling, pooling
from passlab.vm.kernels.numba_products import (
    changing_product,
    is_changing_product,
    is_matrix_product,
    matrix_product,
)
from passlab.vm.kernels.numba_reductions import REDUCTIONS, is_reduction
from passlab.vm.kernels.numba_transposed import is_transposed, transposed_convolution
from passlab.vm.kernels.primitive import Kernel, wrong_shape
from passlab.vm.kernels.providers import Provider

FLOATS = frozenset(("float32", "float64"))
MOST_INPUTS = 24  # parameters and constants of one loop: a ufunc has at most 32 operands
FEWEST_OPERATORS = 2  # NumPy runs a single operator in one loop already
SLOW = frozenset(("divide", "sqrt"))


class NumbaProvider(Provider):
    """Kernels compiled by Numba where these are faster, NumPy's elsewhere; CPU only."""

    name = "numba"

    def kernel(self, function: Function) -> Kernel:
        kernel = CompiledOperatorsKernel(function)
        if kernel.shapes or kernel.scalar:
            return kernel
        product = first_product(function)
        if product is not None and product.last is function.body:
            return ProductKernel(function, product)
        scaled = scaled_after(product, function) if product is not None else None
        if product is not None and scaled is not None and shape_of(function.body)[CHANNELS] >= NARROW:
            return ScaledKernel(function, product, scaled)
        joined = joined_images(function)
        if joined is not None:
            return JoinKernel(function, joined)
        return NumbaKernel(function) if is_elementwise_group(function) else kernel


def compiled_function(node: Call) -> Callable[..., Any]:
    """Return an operator's function on arrays, compiled for products, pooling and convolutions on float32.

    A convolution calls NumPy when its weight is not frozen, since it would pack the weight on each call.
    """
    numpy_compute = numpy_function(node)
    if not is_float32(node, *node.args):
        return numpy_compute
    if is_pooling(node):
        pool = pooling(node)
        return lambda attrs, data, out=None: pool(data, out=out)
    if is_reduction(node):
        return REDUCTIONS[op_name(node)](node)
    if op_name(node) == "nn.dense" and is_flat_product(node):
        return without_attrs(flat_product(node))
    changing = without_attrs(changing_product(node)) if is_changing_product(node) else numpy_compute
    if not is_compiled_product(node):
        return changing
    compute = compiled_product(node, relu=False)

    def run(attrs: Any, data: Any, weight: Any, out: Any = None) -> Any:
        return compute(data, weight, out=out) if is_frozen(weight) else changing(attrs, data, weight, out=out)

    return run


def without_attrs(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function (data, weight, out) of arrays as one that also takes attributes, which it leaves unread."""
    return lambda attrs, data, weight, out=None: compute(data, weight, out)


# operator -> whether a float32 call of it is compiled, and the factory of its function (data, weight, bias, other, out)
# of arrays, of which the last three may be None
PRODUCTS: dict[str, tuple[Callable[[Call], bool], Callable[[Call, bool], Callable[..., Any]]]] = {
    "nn.conv2d": (is_convolution, convolution),
    "nn.conv2d_transpose": (is_transposed, transposed_convolution),
    "nn.dense": (is_matrix_product, matrix_product),
    **dict.fromkeys(POOLS, (is_plain_pooling, fused_pooling)),
}


def is_compiled_product(call: Call) -> bool:
    """Whether a float32 call is compiled as a product or convolution."""
    return op_name(call) in PRODUCTS and PRODUCTS[op_name(call)][0](call)


def compiled_product(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function (data, weight, bias, other, out) of a product; `relu` is applied to its result."""
    return PRODUCTS[op_name(call)][1](call, relu)


class CompiledOperatorsKernel(Kernel):
    """A kernel of NumPy calls in which single operators and the elementwise tail may be compiled."""

    implement = staticmethod(compiled_function)
    find_tail = staticmethod(find_compiled_tail)


class WholeKernel(CompiledOperatorsKernel):
    """A kernel compiled as a whole where `_compute` can; it runs as the base class elsewhere."""

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any], Any], Any]:
        """The function of the parameters' values and an array for the result, or None; it returns None to decline."""
        raise NotImplementedError

    @cached_property
    def value(self) -> Callable[..., Any]:
        plain, compute = super().value, self._compute
        assert plain is not None

        def run(*inputs: Any) -> Any:
            result = compute(inputs, None)
            return plain(*inputs) if result is None else result

        return run

    @cached_property
    def into(self) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        plain, compute = super().into, self._compute

        def run(inputs: Sequence[Any], results: Sequence[Any]) -> None:
            if compute(inputs, results[0]) is None:
                plain(inputs, results)

        return run

    def _getters(self, *nodes: Expr | None) -> list[Callable[[Sequence[Any]], Any]]:
        """Return the functions from the parameters' values to those of parameters and constants."""
        return [_getter(self.function, node) for node in nodes]


class ProductKernel(WholeKernel):
    """A product or convolution compiled with its epilogue, where its weight is frozen."""

    def __init__(self, function: Function, product: FusedProduct) -> None:
        super().__init__(function)
        self.product = product

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any], Any], Any]:
        """The function of the parameters' values and of a result that may be None."""
        product, (data_node, *weights) = self.product, self.product.call.args
        compute = compiled_product(product.call, product.relu)
        data, weight, bias, other = self._getters(
            data_node, weights[0] if weights else None, product.bias, product.other
        )

        def run(inputs: Sequence[Any], out: Any) -> Any:
            w = weight(inputs)
            if w is not None and not is_frozen(w):
                return None
            return compute(data(inputs), w, bias(inputs), other(inputs), out)

        return run


class ScaledKernel(ProductKernel):
    """A convolution or pooling with its epilogue, whose channels are scaled afterwards, in place."""

    def __init__(self, function: Function, product: FusedProduct, scaled: Joined) -> None:
        super().__init__(function, product)
        self.scaled = scaled

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any], Any], Any]:
        """The function of the parameters' values and of a result that may be None."""
        compute, scale = super()._compute, joiner(self.scaled, shape_of(self.function.body))
        factor, offset = self._getters(self.scaled.factor, self.scaled.offset)

        def run(inputs: Sequence[Any], out: Any) -> Any:
            image = compute(inputs, None)
            if image is None:
                return None
            return scale([image], factor(inputs), offset(inputs), image if out is None else out)

        return run


class JoinKernel(WholeKernel):
    """Images joined along channels that are last in memory, with what follows."""

    def __init__(self, function: Function, joined: Joined) -> None:
        super().__init__(function)
        self.joined = joined

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any], Any], Any]:
        """The function of the parameters' values and of a result that may be None."""
        joined, compute = self.joined, joiner(self.joined, shape_of(self.function.body))
        factor, offset, *images = self._getters(joined.factor, joined.offset, *joined.parts)

        def run(inputs: Sequence[Any], out: Any) -> Any:
            parts = [image(inputs) for image in images]
            return compute(parts, factor(inputs), offset(inputs), out) if are_last(parts) else None

        return run


def first_product(function: Function) -> FusedProduct | None:
    """Return the fused product that a function of images begins with, or is; None if it has calls besides it."""
    calls = [n for n in post_order(function.body) if isinstance(n, Call)]
    users = users_in(function)
    if (
        not calls
        or op_name(calls[0]) not in PRODUCTS
        or not (op_name(calls[0]) in POOLS or is_product(calls[0], users))
        or not is_float32(calls[0], *calls[0].args)
        or not is_compiled_product(calls[0])
    ):
        return None
    product = fuse(calls[0], users)
    is_whole = product.last is function.body and len(product.inside) + 1 == len(calls)
    return product if is_whole or (product.last is not function.body and _is_image(function.body)) else None


def _is_image(node: Expr) -> bool:
    """Whether a node is a static image of float32."""
    return is_float32(node) and len(shape_of(node)) == IMAGE


def _getter(function: Function, node: Expr | None) -> Callable[[Sequence[Any]], Any]:
    """Return the function from the parameters' values to that of a parameter or constant; None gives None."""
    if isinstance(node, Constant):
        array = node.data
        return lambda inputs: array
    return (lambda inputs: None) if node is None else operator.itemgetter(list[Expr](function.params).index(node))


def is_elementwise_group(function: Function) -> bool:
    """Whether a primitive function is elementwise arithmetic on tensors of one kind of float."""
    nodes = [n for n in post_order(function.body) if not isinstance(n, Op)]
    types = [n.checked_type_ for n in (*function.params, *nodes)]
    dtypes = {t.dtype if isinstance(t, TensorType) else "" for t in types}
    calls = [n for n in nodes if isinstance(n, Call)]
    inputs = len(function.params) + sum(isinstance(n, Constant) for n in nodes)
    fits = len(calls) >= FEWEST_OPERATORS and inputs <= MOST_INPUTS and len(dtypes) == 1 and dtypes <= FLOATS
    # One loop would compute a slow operator on a smaller shape, such as a root of a row's variance, for every element.
    slow = [c for c in calls if op_name(c) in SLOW and c.checked_type_ is not function.body.checked_type_]
    return fits and not slow and all(isinstance(c.op, Op) and c.op.name in EXPRESSIONS for c in calls)


class NumbaKernel(Kernel):
    """A group of elementwise operators as one compiled loop. `source` is the Python source of its scalar function."""

    @cached_property
    def _constants(self) -> list[Constant]:
        return [n for n in post_order(self.function.body) if isinstance(n, Constant)]

    @cached_property
    def dtype(self) -> str:
        """The dtype of all tensors of the group."""
        ty = self.function.body.checked_type
        assert isinstance(ty, TensorType)
        return ty.dtype

    @cached_property
    def source(self) -> str:
        """The source of the scalar function: its parameters are those of the group, then its constants."""
        names: dict[Expr, str] = {n: f"p{i}" for i, n in enumerate((*self.function.params, *self._constants))}
        scalar_type = f"np.{self.dtype}"
        lines = ["import numpy as np", "", f"zero = {scalar_type}(0)", "", ""]
        lines.append(f"def kernel({', '.join(names.values())}):")
        for node in post_order(self.function.body):
            if is_op_call(node):
                expression = EXPRESSIONS[node.op.name].format(*[names[a] for a in node.args])
                names[node] = f"v{len(names)}"
                lines.append(f"    {names[node]} = {scalar_type}({expression})")
        return "\n".join([*lines, f"    return {names[self.function.body]}", ""])

    @cached_property
    def _loop(self) -> Callable[..., Any]:
        count = len(self.function.params) + len(self._constants)
        return compiled_loop(self.source, self.dtype, count)

    @cached_property
    def value(self) -> Callable[..., Any]:
        constants = [c.data for c in self._constants]
        return lambda *inputs: self._loop(*inputs, *constants)

    @cached_property
    def into(self) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        constants = [c.data for c in self._constants]

        def run(inputs: Sequence[Any], results: Sequence[Any]) -> None:
            (result,) = results
            shape = np.broadcast_shapes(*[np.shape(v) for v in (*inputs, *constants)])
            if shape != result.shape:
                raise wrong_shape(shape, result.shape)
            self._loop(*inputs, *constants, out=result)

        return run
