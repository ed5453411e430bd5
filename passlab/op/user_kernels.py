"""Calls of the kernels that users give to operators of their own: one door for all executors.

A kernel may not write into its inputs, which others read; what it raises, and a result that its type does not allow,
is a `RunError`. A program ahead of time has copies of these functions, so they use NumPy and each other alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.ir.expr import Call
from passlab.ir.types import TensorType
from passlab.op.declare import deliver
from passlab.op.dtypes import map_parts


def kernel_with_out(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a user's kernel, which allocates its results, so that it can write them into `out`."""

    def run(attrs: Any, *arrays: Any, out: Any = None) -> Any:
        result = call_kernel(kernel, attrs, arrays)
        if out is None:
            return np.asarray(result) if isinstance(result, np.generic) else result
        if not isinstance(result, tuple):
            check_shape(np.shape(result), out.shape)  # copying would broadcast
        return deliver(result, out)

    return update_wrapper(run, kernel)


def typed_kernel(call: Call) -> Callable[..., Any] | None:
    """Return the user's kernel of a call with one result, as a function whose result has the type of the call.

    None where its operator is one of passlab's, has no kernel, or has several results.
    """
    spec = call.op.spec  # type: ignore[attr-defined]
    result = call.checked_type_
    own = getattr(spec.kernel, "__wrapped__", None)
    if not spec.registered or own is None or not isinstance(result, TensorType):
        return None
    shape = tuple(size if isinstance(size, int) else None for size in result.shape)
    return partial(typed_result, own, result.dtype, shape)


def typed_result(kernel: Any, dtype: str, shape: Sequence[int | None], attrs: Any, *arrays: Any) -> Any:
    """Call a user's kernel and return an array of a type; None stands for a size that is not known."""
    result = np.asarray(call_kernel(kernel, attrs, arrays), dtype)
    check_shape(result.shape, shape)
    return result


def call_kernel(kernel: Any, attrs: Any, arrays: Sequence[Any]) -> Any:
    """Call a user's kernel on arrays that it may not write. Raises `RunError` for what it raises or does not return."""
    name = f"the kernel `{getattr(kernel, '__name__', type(kernel).__name__)}`"
    try:
        result = kernel(attrs, *[map_parts(unwritable, value) for value in arrays])
    except (PasslabError, MemoryError, TypeError, IndexError, ArithmeticError):
        raise
    except Exception as error:
        if "read-only" in str(error):
            message = f"{name} writes into one of its inputs, which others read"
            raise RunError(Diagnostic(message, hint="let it copy the input first")) from error
        if isinstance(error, ValueError):
            raise
        raise RunError(Diagnostic(f"{name} failed: {type(error).__name__}: {error}")) from error
    if result is None:
        raise RunError(Diagnostic(f"{name} returned nothing", hint="end it with `return` and an array"))
    results = [writable(part) for part in (result if isinstance(result, tuple) else (result,))]
    if any(map(np.iscomplexobj, results)):
        raise RunError(Diagnostic(f"{name} returned complex numbers, which no type has", hint="return their `.real`"))
    return tuple(results) if isinstance(result, tuple) else results[0]


def unwritable(value: Any) -> Any:
    """Return a view of an array that may not be written; other values as they are."""
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def writable(value: Any) -> Any:
    """Return a result, as a copy where it may be an input."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def check_shape(actual: Sequence[int], expected: Sequence[int | None]) -> None:
    """Raise `RunError` where the result of a kernel has another shape than its type; None is a size not known."""
    if len(actual) != len(expected) or any(e not in (None, a) for a, e in zip(actual, expected, strict=True)):
        raise wrong_shape(actual, expected)


def wrong_shape(actual: Sequence[Any], expected: Sequence[Any]) -> RunError:
    """Return the error of a kernel whose result has another shape than its type says; None is a size not known."""
    wanted, found = (
        f"({', '.join(['?' if size is None else str(size) for size in shape])})" for shape in (expected, actual)
    )
    return RunError(Diagnostic("the result of a kernel has an unexpected shape", expected=wanted, found=found))
