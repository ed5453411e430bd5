"""Replacing calls by the results of functions (hooks) that are registered for their operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from passlab.errors import Diagnostic, PassError
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.op import Op
from passlab.ir.types import Type
from passlab.ir.walk import outside_kernels, rewrite
from passlab.rewriting.node_types import NodeTypes

# (attributes, arguments, types of the arguments and of the call) -> replacement or None
Hook = Callable[[Any, Any, Any], Any]


def legalize_call(function: Function, attr: str, standard: Mapping[str, Hook] | None = None) -> Function:
    """Return a typed function with calls replaced by the hooks of their operators; itself if none is.

    The hook of an operator is its attribute `attr`, or else its entry in the table `standard`. Raises `PassError` for a
    replacement that is not an expression, or has another type.
    """
    types = NodeTypes()

    def legal(pre: Expr, post: Expr) -> Expr:
        if type(pre) is not Call or type(pre.op) is not Op or not isinstance(post, Call):
            return post
        hook = pre.op.spec.extra.get(attr) or (standard or {}).get(pre.op.name)
        if hook is None:
            return post
        expected = pre.checked_type
        result = hook(post.attrs, list(post.args), [*(a.checked_type for a in pre.args), expected])
        return post if result is None or result is post else check(result, pre, expected, types)

    return rewrite(function, legal, only=(Call,), enter=outside_kernels, name="legal form")


def check(result: Any, call: Call, expected: Type, types: NodeTypes) -> Expr:
    """Return the result of a hook. Raises `PassError` if it is not an expression of the expected type."""
    result = result.astuple() if hasattr(result, "astuple") else result
    if not isinstance(result, Expr):
        raise PassError(
            Diagnostic(
                f"the function registered for `{call.op}` did not return an expression",
                call.span,
                expected="an expression, or None for no change",
                found=type(result).__name__,
            )
        )
    actual = types.of(result)
    if actual is not None and actual is not expected:
        raise PassError(
            Diagnostic(
                f"the function registered for `{call.op}` changes its type",
                call.span,
                expected=str(expected),
                found=str(actual),
            )
        )
    return result
