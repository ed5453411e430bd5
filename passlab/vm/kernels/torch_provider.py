"""Kernels on PyTorch: on a CUDA device where there is one, else on this CPU. Needs the package torch.

On a CPU device, arrays are NumPy's, and PyTorch's tensors share their memory; on other devices arrays are PyTorch's
tensors. An operator without an exact counterpart in PyTorch runs on NumPy inside the kernel, on the host. On a CPU,
convolutions and products run on oneDNN (`onednn`), and kernels of small tensors on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import torch

from passlab.devices import Device
from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, op_name
from passlab.ir.types import fold_tuple, tensor_types
from passlab.ir.walk import post_order
from passlab.vm.kernels.onednn import Product, find_products
from passlab.vm.kernels.primitive import Kernel, flat_values, wrong_shape
from passlab.vm.kernels.providers import Provider
from passlab.vm.kernels.torch_operators import DTYPES, operation
from passlab.vm.objects import Storage

Array = np.ndarray[Any, Any]
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
        has_dtypes = all(t.dtype in DTYPES for t in types)
        runs_on_numpy = not has_dtypes or numpy_kernel.scalar or _is_small(function)
        return numpy_kernel if runs_on_numpy else TorchKernel(function, self)

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
    """A primitive function as a sequence of PyTorch calls. `on_numpy` lists the operators that run on NumPy instead."""

    def __init__(self, function: Function, provider: TorchProvider) -> None:
        super().__init__(function)
        self.provider = provider
        self.native = provider.native
        self.on_numpy: list[str] = []

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
        return lambda *inputs: _map_parts(to_numpy, compute(inputs))

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
            values = [_map_parts(move, v) for move, v in zip(moves, inputs, strict=True)]
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
            raise RunError(Diagnostic(f"a kernel cannot hold a {type(node).__name__}", node.span))
        return self._operator(node, node.op, [slots[a] for a in node.args])

    def _operator(self, node: Call, op: Op, args: list[int]) -> Callable[[list[Any]], Any]:
        # on one thread, NumPy's BLAS is at least as fast
        prefers_numpy = self.native and op.name in ("nn.dense", "nn.batch_matmul") and torch.get_num_threads() == 1
        compute = None if prefers_numpy else operation(node)
        if compute is None:
            self.on_numpy.append(op.name)
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
            result = kernel(attrs, *[_map_parts(to_numpy, v) for v in inputs])
            return _map_parts(lambda a: tensor(a).to(device), result)

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


# recurses: the results of a kernel are nested one or two levels
def _map_parts(move: Callable[[Any], Any], value: Any) -> Any:
    return tuple([_map_parts(move, v) for v in value]) if type(value) is tuple else move(value)
