"""Kernels on PyTorch: on a CUDA device where there is one, else on this CPU. Needs the package torch.

On a CPU device arrays stay NumPy's and are seen by PyTorch without copying; on others they are PyTorch's tensors. An
operator that PyTorch has no exact counterpart of runs on NumPy inside the kernel, on the host. On a CPU convolutions
and products are oneDNN's (`onednn`), and kernels of small tensors are NumPy's.
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
from passlab.vm.kernels.primitive import Kernel, flat_values
from passlab.vm.kernels.providers import Provider
from passlab.vm.kernels.torch_operators import DTYPES, operation
from passlab.vm.objects import Storage

Array = np.ndarray[Any, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SMALL = 1 << 13  # elements
# Products that are not oneDNN's: PyTorch's BLAS runs at half the speed of NumPy's on some processors. But NumPy's
# threads go round in circles for a tenth of a second after a product, on the processors that PyTorch's threads need.
PRODUCTS = frozenset(("nn.dense", "nn.batch_matmul", "nn.matmul", "nn.conv2d", "nn.conv2d_transpose"))
SMALL_PRODUCT = 1 << 15  # elements of an operand: NumPy uses one thread where all are smaller, or hardly more


class TorchProvider(Provider):
    """Computes with PyTorch."""

    name = "torch"

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.native = device.kind == "cpu"
        self.array_type = np.ndarray if self.native else torch.Tensor
        has_cuda = device.kind == "cuda" and torch.cuda.is_available() and device.device_id < torch.cuda.device_count()
        self.place = torch.device("cuda", device.device_id) if has_cuda else torch.device("cpu")

    def kernel(self, function: Function) -> Kernel:
        """Return the kernel of a primitive function on PyTorch; on NumPy where it has dtypes that PyTorch lacks."""
        if not self.native:
            return TorchKernel(function, self)
        types = [t for n in post_order(function) for t in tensor_types(n.checked_type_)]
        numpy_kernel = Kernel(function)
        has_dtypes = all(t.dtype in DTYPES for t in types)
        plain = not has_dtypes or numpy_kernel.scalar or _is_small(function)
        return numpy_kernel if plain else TorchKernel(function, self)

    def to_device(self, array: Array) -> Any:
        return array if self.native else self.tensor(array).to(self.place, copy=True)

    def to_host(self, value: Any) -> Any:
        return value if self.native or not isinstance(value, torch.Tensor) else to_numpy(value)

    def storage(self, size: int, number: int) -> Storage:
        return Storage(size, number) if self.native else TorchStorage(size, number, self.place)

    def tensor(self, value: Any) -> torch.Tensor:
        """Return a NumPy array as a tensor over the same memory, on this CPU."""
        array = _writable(np.asarray(value))
        if array.dtype == BFLOAT16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        if array.dtype.name not in DTYPES:
            raise RunError(
                Diagnostic(
                    f"PyTorch has no tensors of {array.dtype.name}", hint="the provider `numpy` computes with them"
                )
            )
        return torch.from_numpy(array)


class _Writable:
    """Memory of a NumPy array under an interface that says it may be written to; nothing here does."""

    def __init__(self, array: Array) -> None:
        self.held = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def _writable(array: Array) -> Array:
    """Return an array that PyTorch takes without complaint: not read-only, no steps backwards."""
    if array.ndim and min(array.strides) < 0:
        return array.copy()
    if array.flags.writeable or array.dtype == BFLOAT16:
        return array if array.flags.writeable else array.copy()
    return np.asarray(_Writable(array))


def to_numpy(value: torch.Tensor) -> Array:
    """Return a tensor as a NumPy array."""
    here = value.cpu()
    if here.dtype is torch.bfloat16:
        return np.asarray(here.contiguous().view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.asarray(here.numpy())


class TorchStorage(Storage):
    """A piece of a device's memory."""

    __slots__ = ("memory",)

    def __init__(self, size: int, number: int, place: torch.device) -> None:
        super().__init__(size, number, np.empty(0, np.uint8))
        self.memory = torch.empty(size, dtype=torch.uint8, device=place)

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
    """One primitive function as a line of PyTorch calls. `on_numpy` names the operators that run on NumPy instead."""

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
                    raise RunError(f"a kernel gave a result of shape {tuple(value.shape)} for {tuple(result.shape)}")
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
        """Errors say where they happened already."""

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any]], Any]:
        """The steps as a function from the parameters' values to the result, in tensors."""
        slots: dict[Expr, int] = {p: i for i, p in enumerate(self.function.params)}
        products = find_products(self.function) if self.native else {}
        skipped = {node for product in products.values() for node in product.fused.inside}
        arrays = {node for product in products.values() for node in product.fused.weights}
        steps: list[Callable[[list[Any]], Any]] = []
        for node in post_order(self.function.body):
            if node not in slots and node not in skipped and not isinstance(node, (Op, Function)):
                slots[node] = len(slots)
                product = products.get(node)
                if isinstance(node, Constant) and node in arrays:
                    steps.append(partial(_array_of, node))
                else:
                    steps.append(self._step(node, slots) if product is None else self._product(product, slots))
        last, tensor = slots[self.function.body], self.provider.tensor
        moves = [_nothing if not self.native or p in arrays else tensor for p in self.function.params]

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
            adds = None if bias is None else values[bias], None if other is None else values[other]
            return product.compute(values[data], values[weight], *adds)

        return self._guarded(compute, fused.call)

    def _step(self, node: Expr, slots: dict[Expr, int]) -> Callable[[list[Any]], Any]:
        if isinstance(node, Constant):
            held = self.provider.tensor(node.data).to(self.provider.place)
            return lambda values: held
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
        alone = self.native and op.name in ("nn.dense", "nn.batch_matmul") and torch.get_num_threads() == 1
        compute = None if alone else operation(node)
        if compute is None:
            self.on_numpy.append(op.name)
            compute = self._numpy(node, op)

        return self._guarded(lambda values: compute(*[values[a] for a in args]), node)

    def _guarded(self, compute: Callable[[list[Any]], Any], node: Call) -> Callable[[list[Any]], Any]:
        """Return a step whose errors say which operator failed, and where it stands."""

        def step(values: list[Any]) -> Any:
            try:
                return compute(values)
            except PasslabError:
                raise
            except Exception as error:
                raise RunError(Diagnostic(f"`{op_name(node)}` failed on PyTorch: {error}", node.span)) from error

        return step

    def _numpy(self, node: Call, op: Op) -> Callable[..., Any]:
        """Return an operator's NumPy kernel as a function of tensors."""
        kernel = op.spec.raw or op.spec.kernel
        if kernel is None:
            raise RunError(Diagnostic(f"`{op.name}` cannot be run: it only has a meaning to the compiler", node.span))
        tensor, place, attrs = self.provider.tensor, self.provider.place, node.attrs

        def run(*inputs: Any) -> Any:
            result = kernel(attrs, *[_map_parts(to_numpy, v) for v in inputs])
            return _map_parts(lambda a: tensor(a).to(place), result)

        return run


def _array_of(constant: Constant, values: list[Any]) -> Array:
    return constant.data


def _nothing(value: Any) -> Any:
    return value


def _is_small(function: Function) -> bool:
    """Whether a kernel's results are so small that calling PyTorch takes longer than computing.

    Where PyTorch has several threads, products that several threads of NumPy would compute are not small.
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


# recurses: the results of one kernel, a level or two
def _map_parts(move: Callable[[Any], Any], value: Any) -> Any:
    return tuple([_map_parts(move, v) for v in value]) if type(value) is tuple else move(value)
