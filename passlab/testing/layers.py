"""Layers that make their own parameters: calls of operators on new variables, named after the layer.

The variables have no types, which inference computes. `var` and `op` come from Relay's Python interface, so that the
network modules need no higher package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.op import Op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars


def var(name: str, shape: Sequence[Any] | None = None, dtype: str = "float32") -> Var:
    """Return a new variable: a tensor of `shape` and `dtype`, or of any type when no shape is given."""
    return Var(name, None if shape is None else TensorType(tuple(shape), dtype))


def op(name: str, *args: Any, **attrs: Any) -> Expr:
    """Return a call of the operator `name`, made by its Python builder."""
    call: Expr = _builder(name)(*args, **attrs)
    return call


def fields_of(name: str, *args: Any, **attrs: Any) -> TupleWrapper:
    """Return a call of the operator `name`, whose result is a tuple, as a sequence of its fields."""
    fields: TupleWrapper = _builder(name)(*args, **attrs)
    return fields


def _builder(name: str) -> Callable[..., Any]:
    builder = Op.get(name).spec.builder
    assert builder is not None  # every declaration has one
    return builder


def close_over(body: Expr) -> Function:
    """Return the function of the free variables of `body`, in the order in which they first occur."""
    return Function(free_vars(body), body)


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str,
    **attrs: Any,
) -> Expr:
    """Return the normalised data of `nn.batch_norm` on new parameters `{name}_gamma`, `{name}_beta`, ..."""
    params = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    vectors = [value if value is not None else var(f"{name}_{part}") for part, value in params.items()]
    return fields_of("nn.batch_norm", data, *vectors, **attrs)[0]


def conv1d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """Return `nn.conv1d` on a new weight `{name}_weight`."""
    return op("nn.conv1d", data, weight if weight is not None else var(f"{name}_weight"), **attrs)


def conv2d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """Return `nn.conv2d` on a new weight `{name}_weight`."""
    return op("nn.conv2d", data, weight if weight is not None else var(f"{name}_weight"), **attrs)


def conv3d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """Return `nn.conv3d` on a new weight `{name}_weight`."""
    return op("nn.conv3d", data, weight if weight is not None else var(f"{name}_weight"), **attrs)


def conv2d_transpose(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """Return `nn.conv2d_transpose` on a new weight `{name}_weight`."""
    return op("nn.conv2d_transpose", data, weight if weight is not None else var(f"{name}_weight"), **attrs)


def dense_add_bias(
    data: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    units: int | None = None,
    *,
    name: str,
    **attrs: Any,
) -> Expr:
    """Return `nn.dense` and `nn.bias_add` on new parameters `{name}_weight` and `{name}_bias`."""
    product = dense_without_bias(data, weight, units, name=name, **attrs)
    return op("nn.bias_add", product, bias if bias is not None else var(f"{name}_bias"), axis=-1)


def dense_without_bias(
    data: Expr, weight: Expr | None = None, units: int | None = None, *, name: str, **attrs: Any
) -> Expr:
    """Return `nn.dense` on a new weight `{name}_weight`."""
    return op("nn.dense", data, weight if weight is not None else var(f"{name}_weight"), units, **attrs)


_KERNEL_LAYOUTS = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI"), "NCDHW": ("OIDHW", "OIDHW")}
_KERNEL_LAYOUTS["NDHWC"] = ("DHWIO", "DHWOI")


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """Return the layout of weights that goes with a layout of data. Raises `PasslabError` for an unknown one."""
    if data_layout not in _KERNEL_LAYOUTS:
        raise PasslabError(
            Diagnostic(f"networks are not built in the layout {data_layout}", expected=", ".join(_KERNEL_LAYOUTS))
        )
    return _KERNEL_LAYOUTS[data_layout][is_depthwise]
