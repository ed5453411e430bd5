"""Kernels that allocate their results, for calls whose planned storages have no other use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.vm.kernels.primitive import Kernel, fit, flat_values, wrong_shape

Maker = Callable[..., Any]  # from the inputs of a kernel to its result
Kinds = list[tuple[tuple[int, ...], np.dtype[Any]]]
Array = np.ndarray


def result_maker(kernel: Kernel, kinds: Kinds) -> Maker | None:
    """Return a function of a kernel's inputs that allocates its results instead of writing into tensors.

    `kinds` are the shapes and dtypes of the results. It returns one result, or a list of several. None where the kernel
    can only write into tensors.
    """
    compute = kernel.value
    if compute is None:
        return None
    if not kernel.native:
        return _foreign_results(compute, [shape for shape, _ in kinds])
    if len(kinds) == 1 and 0 in kinds[0][0]:
        return lambda *inputs: np.empty(*kinds[0])  # nothing to compute
    if len(kinds) == 1:
        return _one_result(kernel, compute, *kinds[0])
    return _several_results(kernel, compute, kinds)


def _foreign_results(compute: Callable[..., Any], shapes: list[tuple[int, ...]]) -> Maker:
    """Return the maker of a kernel whose arrays are not NumPy's."""

    def make(*inputs: Any) -> Any:
        values = flat_values([compute(*inputs)])
        for value, shape in zip(values, shapes, strict=True):
            if tuple(value.shape) != shape:
                raise wrong_shape(tuple(value.shape), shape)
        return values[0] if len(values) == 1 else values

    return make


def _several_results(kernel: Kernel, compute: Callable[..., Any], kinds: Kinds) -> Maker:
    def several(*inputs: Any) -> list[Any]:
        try:
            values = compute(*inputs)
        except Exception:
            kernel.explain(inputs)
            raise
        if type(values) is not tuple or tuple in map(type, values):
            values = flat_values([values])
        return [fit(value, shape, dtype) for value, (shape, dtype) in zip(values, kinds, strict=True)]

    return several


def _one_result(kernel: Kernel, compute: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Maker:
    def one(*inputs: Any) -> Any:
        try:
            value = compute(*inputs)
        except Exception:
            kernel.explain(inputs)
            raise
        if type(value) is tuple:
            (value,) = flat_values(value)
        if type(value) is not Array or value.dtype is not dtype or value.shape != shape:
            value = fit(value, shape, dtype)
        return value

    return one
