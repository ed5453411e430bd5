"""Replace convolutions whose weights are mostly zero by sparse ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.analysis.sparse_conv2d import process_params
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.op import is_call_of
from passlab.ir.types import TensorType
from passlab.ir.variables import all_vars
from passlab.ir.walk import rewrite
from passlab.passes.program.conv2d_to_sparse import Conv2dToSparse
from passlab.rewriting.parameters import bind_params_by_name
from passlab.testing import run_opt_pass


def convert(
    func: Expr,
    params: Mapping[str, Any],
    blocksize: tuple[int, int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Expr, dict[str, Any]]:
    """Return the function with `nn.sparse_conv2d` for weights with at least `sparsity_threshold` zeros, and its arrays
    by name.

    `layout` is the layout of the data, `kernel_size` the window of the weights, 1 or 3. Raises `NodeValueError` if the
    matrix of such a weight is not a multiple of `blocksize`. A weight that other operators also use stays among the
    arrays.
    """
    arrays = dict(params)
    names, shapes = process_params(func, arrays, blocksize, sparsity_threshold, layout, kernel_size)
    result = run_opt_pass(func, Conv2dToSparse(names, shapes, layout, kernel_size))
    used = {var.name_hint for var in all_vars(result)}
    return result, arrays | {name: params[name] for name in names if name in used}


def convert2(
    func: Expr,
    params: Mapping[str, Any],
    blocksize: tuple[int, int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Expr, Mapping[str, Any]]:
    """Return the function with `nn.sparse_conv2d` for constant weights, and `params` unchanged; see `convert`."""
    weights: dict[Constant, Var] = {}

    def lift(pre: Call, post: Call) -> Expr:
        weight = post.args[1] if is_call_of(post, "nn.conv2d") else None
        if not isinstance(weight, Constant):
            return post
        if weight not in weights:
            ty = TensorType(weight.data.shape, str(weight.data.dtype))
            weights[weight] = Var(f"constant weight {len(weights)}", ty)
        return post.with_fields(args=(post.args[0], weights[weight]))

    lifted = rewrite(func, lift, only=(Call,))
    assert isinstance(lifted, Function)
    open_func = lifted.with_fields(params=(*lifted.params, *weights.values()))
    arrays = {var.name_hint: weight.data for weight, var in weights.items()}
    result, arrays = convert(open_func, arrays, blocksize, sparsity_threshold, layout, kernel_size)
    assert isinstance(result, Function)
    return bind_params_by_name(result, arrays), params
