"""Kernels on PyTorch: on a CUDA device if there is one, else on this CPU. Needs the package torch.

On a CPU device, arrays are NumPy's, and PyTorch's tensors share their memory; on other devices arrays are PyTorch's
tensors. An operator without an exact counterpart in PyTorch runs on NumPy inside the kernel, on the host. On a CPU,
convolutions and products run on oneDNN, and kernels of small tensors on NumPy. The file begins with
oneDNN.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as fn

from passlab.devices import Device
from passlab.errors import Diagnostic, PasslabError, RunError, type_in_words
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.op import Op, Trait, op_name
from passlab.ir.types import TensorType, fold_tuple, tensor_types
from passlab.ir.walk import children, post_order
from passlab.op.dtypes import map_parts
from passlab.op.nn.window_sizes import full_padding
from passlab.op.user_kernels import wrong_shape
from passlab.vm.kernels.primitive import Kernel, flat_values
from passlab.vm.kernels.providers import Provider
from passlab.vm.kernels.torch_movement import DTYPES
from passlab.vm.kernels.torch_operators import operation, why_not
from passlab.vm.objects import Storage

# ---------------------------------------------------------------- oneDNN, which is part of PyTorch on CPUs
# oneDNN packs weights into its own layout. A weight that cannot change (a constant of the program) is packed once and
# cached for as long as the array lives. The bias, sum and ReLU after a product are computed while the sums are in
# registers. Images have their channels last in memory, so nothing is transposed between convolutions: NumPy only sees
# other strides. First is what any provider of products needs: the calls that follow a product, and the cache of packed
# weights.
# ---------------------------------------------------------------- products and what follows them
# Convolutions and matrix products fused with the bias, sum and ReLU that follow, and a cache of packed weights.
# Providers that compute products themselves apply these while the sums are in registers. They pack a weight that cannot
# change into their own layout once.
Array = np.ndarray[Any, Any]
Users = dict[Expr, list[Expr]]
CHANNELS = 1  # the axis of the channels, of images and of rows of numbers


@dataclass(frozen=True)
class FusedProduct:
    """A product with its bias, summand (`other`) and ReLU. `last` has its value; `inside` are the other calls."""

    call: Call
    bias: Expr | None
    other: Expr | None
    relu: bool
    last: Call
    inside: frozenset[Expr]

    @property
    def weights(self) -> tuple[Expr, ...]:
        """The weight and the bias: inputs of the kernel that a provider may pack."""
        return (self.call.args[1], *([self.bias] if self.bias is not None else []))


def users_in(function: Function) -> Users:
    """Return the users of each node of a function."""
    users: Users = {}
    for node in post_order(function.body):
        for child in children(node):
            users.setdefault(child, []).append(node)
    return users


def is_product(call: Call, users: Users) -> bool:
    """Whether a call computes on non-empty static float32 tensors, and its weight is an input of the kernel."""
    return is_float32(call, *call.args) and _is_input(call.args[1], users)


def fuse(call: Call, users: Users, *, adds: bool = True, relu_after_sum: bool = True) -> FusedProduct:
    """Return a product fused with the calls that follow, as far as its provider supports them.

    `adds`: it adds a tensor to a product; `relu_after_sum`: it applies a ReLU after that.
    """
    bias: Expr | None = None
    other: Expr | None = None
    last, inside = call, set[Expr]()
    for user in _following(call, users):
        operands = [a for a in user.args if a is not last]
        relu = is_relu(user)
        # A ReLU ends the chain: nothing is fused behind it.
        if relu and (other is None or relu_after_sum):
            return FusedProduct(call, bias, other, True, user, frozenset((*inside, last)))
        if not relu and bias is None and _is_bias(user, operands, users):
            (bias,) = operands
        elif not relu and other is None and adds and _is_other(user, operands):
            (other,) = operands
        else:
            break
        inside.add(last)
        last = user
    return FusedProduct(call, bias, other, False, last, frozenset(inside))


def _following(call: Call, users: Users) -> Iterator[Call]:
    """Yield the chain of elementwise calls after a call, each the only user of the one before."""
    while len(users.get(call, ())) == 1:
        (user,) = users[call]
        if not isinstance(user, Call) or not (is_relu(user) or op_name(user) in ("add", "nn.bias_add")):
            return
        # Equal types are the same object, so `is` compares them.
        if user.checked_type_ is not call.checked_type_:
            return
        yield user
        call = user


def is_relu(call: Call) -> bool:
    """Whether a call is a ReLU: the operator that clamps at 0 and commutes with positive factors."""
    return isinstance(call.op, Op) and Trait.HOMOGENEOUS | Trait.CLAMPS in call.op.spec.traits


def is_float32(*nodes: Expr) -> bool:
    """Whether nodes are non-empty float32 tensors of static shape."""
    types = [node.checked_type_ for node in nodes]
    return all(isinstance(t, TensorType) and t.dtype == "float32" and not t.dynamic and 0 not in t.shape for t in types)


def _is_input(node: Expr, users: Users) -> bool:
    """Whether a node is a parameter or constant of the kernel with one user."""
    return isinstance(node, (Var, Constant)) and len(users[node]) == 1


def _is_bias(user: Call, operands: Sequence[Expr], users: Users) -> bool:
    """Whether a call adds a bias per channel."""
    if len(operands) != 1 or not _is_input(operands[0], users) or not is_float32(operands[0]):
        return False
    whole, part = user.checked_type_, operands[0].checked_type_
    assert isinstance(whole, TensorType)
    assert isinstance(part, TensorType)
    rank = len(whole.shape)
    if op_name(user) == "nn.bias_add":
        attrs: Any = user.attrs
        return operands[0] is user.args[1] and attrs.axis % rank == CHANNELS
    expected = tuple(n if axis == CHANNELS else 1 for axis, n in enumerate(whole.shape))
    # For images (1, C, 1, 1), or the same without its first axis.
    return part.shape in (expected, expected[CHANNELS:])


def _is_other(user: Call, operands: Sequence[Expr]) -> bool:
    """Whether a call adds a tensor of the same type."""
    return op_name(user) == "add" and len(operands) == 1 and operands[0].checked_type_ is user.checked_type_


def shape_of(node: Expr) -> tuple[int, ...]:
    """Return the static shape of a tensor."""
    ty = node.checked_type
    assert isinstance(ty, TensorType)
    return ty.concrete_shape


def is_frozen(array: Array) -> bool:
    """Whether an array cannot change: it is read-only and owns its memory."""
    # A view may change through its base, even if it is read-only itself.
    return not array.flags.writeable and array.base is None


class FrozenCache:
    """A function of arrays that is computed once for each frozen array; the result is dropped with the array.

    The result must not refer to the array, which would then never be freed.
    """

    def __init__(self, compute: Callable[[Array], Any]) -> None:
        self.compute = compute
        self.entries: dict[int, tuple[weakref.ref[Array], Any]] = {}

    def __call__(self, array: Array) -> Any:
        entry = self.entries.get(id(array))
        # Python reuses the id of an array that was freed, so the entry must still refer to this one.
        if entry is not None and entry[0]() is array:
            return entry[1]
        result = self.compute(array)
        if is_frozen(array):
            key, entries = id(array), self.entries
            entries[key] = (weakref.ref(array, lambda _: entries.pop(key, None)), result)
        return result


Compute = Callable[[torch.Tensor, Array, Array | None, torch.Tensor | None], torch.Tensor]
ops: Any = torch.ops.mkldnn
NEEDED = (
    "_convolution_pointwise",
    "_convolution_transpose_pointwise",
    "_reorder_convolution_transpose_weight",
    "_linear_pointwise",
    "_reorder_linear_weight",
)
AVAILABLE = torch.backends.mkldnn.is_available() and all(hasattr(ops, name) for name in NEEDED)


@dataclass(frozen=True)
class Product:
    """A fused convolution or product.

    `compute` takes the data and the summand as tensors, the weight and the bias as NumPy arrays.
    """

    fused: FusedProduct
    compute: Compute


def find_products(function: Function) -> dict[Expr, Product]:
    """Return the products of a primitive function that oneDNN computes, by their last calls."""
    if not AVAILABLE:
        return {}
    users = users_in(function)
    calls = [
        n for n in post_order(function.body) if isinstance(n, Call) and op_name(n) in MAKERS and is_product(n, users)
    ]
    products: dict[Expr, Product] = {}
    for call in calls:
        maker = MAKERS[op_name(call)](call)
        if maker is not None:
            fused = fuse(call, users, adds=maker.adds, relu_after_sum=maker.adds_and_ends)
            products[fused.last] = Product(fused, maker.finish(fused.relu))
    return products


# ---------------------------------------------------------------- what oneDNN computes
@dataclass(frozen=True)
class ProductMaker:
    """A kind of product: `finish` makes its function; `adds` a tensor, then `adds_and_ends` in a ReLU."""

    finish: Callable[[bool], Compute]
    adds: bool = False
    adds_and_ends: bool = False


def _flat(array: Array) -> torch.Tensor:
    return torch.from_numpy(array.reshape(-1).copy())  # a copy: a `FrozenCache` must not refer to the array


def _copy(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def _images(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _sizes(value: Any) -> list[int]:
    return [int(v) for v in value]


def _convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "OIHW", "NCHW"):
        return None
    data, weight, result = map(shape_of, (*call.args, call))
    groups = int(attrs.groups)
    if weight[:2] != (result[1], data[1] // groups):
        return None  # depthwise, with the weight's axes channel and multiplier
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    # oneDNN pads both sides of an axis alike, so other padding is computed before.
    even = top == bottom and left == right
    pads, size = (
        ([top, left], list(data)) if even else ([0, 0], [*data[:2], data[2] + top + bottom, data[3] + left + right])
    )
    where = (pads, _sizes(attrs.strides), _sizes(attrs.dilation), groups)
    convolve = ops._convolution_pointwise
    reorder: Any = torch._C._nn.mkldnn_reorder_conv2d_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w).to_mkldnn(), *where, size)), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            x = _images(x if even else fn.pad(x, (left, right, top, bottom)))
            b = None if bias is None else biases(bias)
            if other is None:
                return convolve(x, weights(w), b, *where, "relu" if relu else "none", [], "")
            end: Any = ("relu", [], "") if relu else (None, [], None)
            return convolve.binary(x, _images(other), weights(w), b, *where, "add", 1.0, *end)

        return compute

    return ProductMaker(finish, adds=True, adds_and_ends=True)


def _transposed_convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "IOHW", "NCHW"):
        return None
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    data, groups, strides = shape_of(call.args[0]), int(attrs.groups), _sizes(attrs.strides)
    extra = _sizes(attrs.output_padding)[:2]
    # PyTorch requires an output padding below the stride.
    if (top, left) != (bottom, right) or groups != 1 or any(e >= s for e, s in zip(extra, strides, strict=True)):
        return None
    where = ([top, left], extra, strides, _sizes(attrs.dilation), groups)
    convolve, reorder = ops._convolution_transpose_pointwise, ops._reorder_convolution_transpose_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), *where, list(data))), FrozenCache(_flat)
        end = "relu" if relu else "none"

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            return convolve(_images(x), weights(w), None if bias is None else biases(bias), *where, end, [], "")

        return compute

    return ProductMaker(finish)


def _dense(call: Call) -> ProductMaker | None:
    rows = shape_of(call.args[0])
    if len(rows) != 2 or len(call.args) != 2 or rows[0] < FEWEST_ROWS:
        return None
    multiply, reorder = ops._linear_pointwise, ops._reorder_linear_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), rows[0])), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            b = None if bias is None else biases(bias)
            if other is None:
                return multiply(x, weights(w), b, "relu" if relu else "none", [], "")
            return multiply.binary(x, other, weights(w), b, "add")

        return compute

    return ProductMaker(finish, adds=True)


FEWEST_ROWS = 4  # a product of fewer rows reads its weight once, so packing does not pay
MAKERS: dict[str, Callable[[Call], ProductMaker | None]] = {
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _transposed_convolution,
    "nn.dense": _dense,
}


# ---------------------------------------------------------------- the provider
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SMALL = 1 << 13  # elements: up to here NumPy takes less time than a call of PyTorch
# Products that oneDNN does not compute run on NumPy's BLAS: PyTorch's has half its speed on some processors. But the
# threads of NumPy's BLAS spin for a tenth of a second after a product, on processors that PyTorch's threads need.
PRODUCTS = frozenset(("nn.dense", "nn.batch_matmul", "nn.matmul", "nn.conv2d", "nn.conv2d_transpose"))
SMALL_PRODUCT = 1 << 15  # elements of an operand: below, NumPy's BLAS uses one thread, or hardly more


class TorchProvider(Provider):
    """Kernels, arrays and storages on PyTorch."""

    name = "torch"

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.native = device.kind == "cpu"
        self.array_type = np.ndarray if self.native else torch.Tensor
        has_cuda = device.kind == "cuda" and torch.cuda.is_available() and device.device_id < torch.cuda.device_count()
        self.torch_device = torch.device("cuda", device.device_id) if has_cuda else torch.device("cpu")

    def kernel(self, function: Function) -> Kernel:
        """Return the kernel of a primitive function; on a CPU that is NumPy's for small tensors and missing dtypes."""
        if not self.native:
            return TorchKernel(function, self)
        types = [t for n in post_order(function) for t in tensor_types(n.checked_type_)]
        numpy_kernel = Kernel(function)
        rare = next((t.dtype for t in types if t.dtype not in DTYPES), None)
        if rare is not None:
            numpy_kernel.reason = f"PyTorch has no tensors of {rare}"
        elif numpy_kernel.scalar or _is_small(function):
            numpy_kernel.reason = "its tensors are small: a call of PyTorch takes longer"
        return numpy_kernel if numpy_kernel.reason else TorchKernel(function, self)

    def to_device(self, array: Array) -> Any:
        return array if self.native else self.tensor(array).to(self.torch_device, copy=True)

    def to_host(self, value: Any) -> Any:
        return value if self.native or not isinstance(value, torch.Tensor) else to_numpy(value)

    def storage(self, size: int, number: int) -> Storage:
        return Storage(size, number) if self.native else TorchStorage(size, number, self.torch_device)

    def tensor(self, value: Any) -> torch.Tensor:
        """Return a NumPy array as a tensor over the same memory, on this CPU. Raises `RunError` for other dtypes."""
        array = _writable(np.asarray(value))
        if array.dtype == BFLOAT16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        if array.dtype.name not in DTYPES:
            message = f"PyTorch has no tensors of {array.dtype.name}"
            raise RunError(Diagnostic(message, hint="the provider `numpy` computes with them"))
        return torch.from_numpy(array)


class _Writable:
    """The memory of a read-only NumPy array, declared writable so that PyTorch does not warn; it is never written."""

    def __init__(self, array: Array) -> None:
        self.array = array  # keeps the memory alive
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def _writable(array: Array) -> Array:
    """Return an array that PyTorch accepts: writable and without negative strides, copied where needed."""
    if array.ndim and min(array.strides) < 0:
        return array.copy()
    if array.flags.writeable or array.dtype == BFLOAT16:
        return array if array.flags.writeable else array.copy()
    return np.asarray(_Writable(array))


def to_numpy(value: torch.Tensor) -> Array:
    """Return a tensor as a NumPy array."""
    host = value.cpu()
    if host.dtype is torch.bfloat16:
        return np.asarray(host.contiguous().view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.asarray(host.numpy())


class TorchStorage(Storage):
    """A storage in the memory of a device."""

    __slots__ = ("memory",)

    def __init__(self, size: int, number: int, torch_device: torch.device) -> None:
        super().__init__(size, number, np.empty(0, np.uint8))
        self.memory = torch.empty(size, dtype=torch.uint8, device=torch_device)

    @property
    def size(self) -> int:
        return int(self.memory.numel())

    @property
    def held(self) -> Any:
        return self.memory.untyped_storage()

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a tensor inside the storage. Raises `RunError` when it does not fit."""
        end = offset + prod(shape) * dtype.itemsize
        if offset < 0 or (shape and min(shape) < 0) or end > self.memory.numel():
            raise RunError(
                f"a tensor {shape} of {dtype} does not fit a storage of {self.memory.numel()} bytes at {offset}"
            )
        return self.memory[offset:end].view(DTYPES[dtype.name]).reshape(shape)


class TorchKernel(Kernel):
    """A primitive function as a sequence of PyTorch calls. `on_numpy` has the operators that run on NumPy, and why."""

    def __init__(self, function: Function, provider: TorchProvider) -> None:
        super().__init__(function)
        self.provider = provider
        self.native = provider.native
        self.on_numpy: dict[str, str] = {}

    @property
    def placement(self) -> tuple[str, str]:
        """Where it runs: on the device, or in part on NumPy, on the host, with the operators and reasons."""
        _ = self._compute  # making it fills `on_numpy`
        names = {op_name(n) for n in post_order(self.function.body) if isinstance(n, Call)}
        place = str(self.provider.torch_device)
        if not self.on_numpy:
            return f"torch on {place}", ""
        where = "numpy" if names == set(self.on_numpy) else f"torch on {place}, numpy"
        return where, "; ".join(dict.fromkeys(self.on_numpy.values()))

    @cached_property
    def into(self) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        compute, params = self._compute, self.function.params

        def run(inputs: Sequence[Any], results: Sequence[Any]) -> None:
            flat = iter(inputs)
            values = compute([fold_tuple(p.checked_type, lambda _: next(flat), tuple) for p in params])
            for value, result in zip(flat_values([values]), results, strict=True):
                if tuple(value.shape) != tuple(result.shape):
                    raise wrong_shape(tuple(value.shape), tuple(result.shape))
                (self.provider.tensor(result) if self.native else result).copy_(value)

        return run

    @cached_property
    def value(self) -> Callable[..., Any]:
        compute = self._compute
        if not self.native:
            return lambda *inputs: compute(inputs)
        return lambda *inputs: map_parts(to_numpy, compute(inputs))

    @cached_property
    def scalar(self) -> Callable[..., Any] | None:
        return None

    def explain(self, inputs: Sequence[Any]) -> None:
        """Do nothing: the errors of the steps are located already."""

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any]], Any]:
        """The function from the parameters' values to the result, as tensors."""
        slots: dict[Expr, int] = {p: i for i, p in enumerate(self.function.params)}
        products = find_products(self.function) if self.native else {}
        skipped = {node for product in products.values() for node in product.fused.inside}
        packed = {node for product in products.values() for node in product.fused.weights}  # stay NumPy's arrays
        steps: list[Callable[[list[Any]], Any]] = []
        for node in post_order(self.function.body):
            if node not in slots and node not in skipped and not isinstance(node, (Op, Function)):
                slots[node] = len(slots)
                product = products.get(node)
                if isinstance(node, Constant) and node in packed:
                    steps.append(partial(_constant_array, node))
                else:
                    steps.append(self._step(node, slots) if product is None else self._product(product, slots))
        last, tensor = slots[self.function.body], self.provider.tensor
        moves = [_identity if not self.native or p in packed else tensor for p in self.function.params]

        def run(inputs: Sequence[Any]) -> Any:
            values = [map_parts(move, v) for move, v in zip(moves, inputs, strict=True)]
            for step in steps:
                values.append(step(values))
            return values[last]

        return run

    def _product(self, product: Product, slots: dict[Expr, int]) -> Callable[[list[Any]], Any]:
        fused = product.fused
        data, weight = (slots[a] for a in fused.call.args)
        bias = None if fused.bias is None else slots[fused.bias]
        other = None if fused.other is None else slots[fused.other]

        def compute(values: list[Any]) -> Any:
            addends = None if bias is None else values[bias], None if other is None else values[other]
            return product.compute(values[data], values[weight], *addends)

        return self._locate_errors(compute, fused.call)

    def _step(self, node: Expr, slots: dict[Expr, int]) -> Callable[[list[Any]], Any]:
        if isinstance(node, Constant):
            constant = self.provider.tensor(node.data).to(self.provider.torch_device)
            return lambda values: constant
        if isinstance(node, TupleGetItem):
            source, index = slots[node.tuple_value], node.index
            return lambda values: values[source][index]
        if isinstance(node, Tuple):
            fields = [slots[f] for f in node.fields]
            return lambda values: tuple([values[f] for f in fields])
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            raise RunError(Diagnostic(f"a kernel cannot hold {type_in_words(node)}", node.span))
        return self._operator(node, node.op, [slots[a] for a in node.args])

    def _operator(self, node: Call, op: Op, args: list[int]) -> Callable[[list[Any]], Any]:
        # on one thread, NumPy's BLAS is at least as fast
        prefers_numpy = self.native and op.name in ("nn.dense", "nn.batch_matmul") and torch.get_num_threads() == 1
        compute = None if prefers_numpy else operation(node)
        if compute is None:
            faster = "one thread: NumPy's BLAS is at least as fast"
            self.on_numpy[op.name] = faster if prefers_numpy else why_not(node)
            compute = self._numpy_operation(node, op)
        return self._locate_errors(lambda values: compute(*[values[a] for a in args]), node)

    def _locate_errors(self, compute: Callable[[list[Any]], Any], node: Call) -> Callable[[list[Any]], Any]:
        """Return a step whose errors have the name and the location of the operator."""

        def step(values: list[Any]) -> Any:
            try:
                return compute(values)
            except PasslabError:
                raise
            except Exception as error:
                raise RunError(Diagnostic(f"`{op_name(node)}` failed on PyTorch: {error}", node.span)) from error

        return step

    def _numpy_operation(self, node: Call, op: Op) -> Callable[..., Any]:
        """Return an operator's NumPy kernel as a function of tensors."""
        kernel = op.spec.raw or op.spec.kernel
        if kernel is None:
            raise RunError(Diagnostic(f"`{op.name}` cannot be run: it only has a meaning to the compiler", node.span))
        tensor, device, attrs = self.provider.tensor, self.provider.torch_device, node.attrs

        def run(*inputs: Any) -> Any:
            result = kernel(attrs, *[map_parts(to_numpy, v) for v in inputs])
            return map_parts(lambda a: tensor(a).to(device), result)

        return run


def _constant_array(constant: Constant, values: list[Any]) -> Array:
    return constant.data


def _identity(value: Any) -> Any:
    return value


def _is_small(function: Function) -> bool:
    """Whether a kernel's results are so small that calling PyTorch takes longer than computing them.

    With several threads, products that NumPy would compute on several threads are not small.
    """
    calls = [n for n in post_order(function.body) if isinstance(n, Call)]
    types = [t for n in calls for t in tensor_types(n.checked_type_)]
    if torch.get_num_threads() > 1:
        operands = [a for n in calls if isinstance(n.op, Op) and n.op.name in PRODUCTS for a in n.args]
        if any(
            t.dynamic or prod(t.concrete_shape) > SMALL_PRODUCT for a in operands for t in tensor_types(a.checked_type_)
        ):
            return False
    return all(not t.dynamic and prod(t.concrete_shape) <= SMALL for t in types)
