"""Dictionary keys for small functions: functions with equal outlines are structurally equal.

Fusion creates thousands of kernels, and few of them differ. Hashing and comparing the structure of a kernel takes a
hundred microseconds, computing its outline twenty. Two functions with different outlines may still be equal, for
example if their weights are different arrays with the same elements. Unless both outlines are `complete`,
`structural_equal` must decide.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, post_order


class FunctionOutline(NamedTuple):
    """The key of a function. If `complete`, a function with another complete key is not equal to this one."""

    complete: bool
    records: tuple[Hashable, ...]


def outline(function: Function) -> FunctionOutline | None:
    """Return a key such that functions with equal keys are structurally equal.

    Nodes are numbered in evaluation order. A key holds calls, tuples and projections as the numbers of their parts,
    parameters as their annotations, and scalar constants as their bits. Types, operators and all other nodes are in
    the key as objects, which are compared by identity. Returns None if the value of an attribute cannot be hashed.
    """
    return _outline_of_call(function) or _outline_of_graph(function)


def _outline_of_call(function: Function) -> FunctionOutline | None:
    """Return the key of a function of one call of parameters and at most one scalar constant; None for any other.

    Most kernels of a program in A-normal form are such functions, and their key takes a third of the time.
    """
    params, body = function.params, function.body
    if type(body) is not Call or type(body.op) is not Op:
        return None
    parts: list[Hashable] = []
    constants = 0
    for arg in body.args:
        if type(arg) is Constant and arg.data.ndim == 0 and not constants:
            parts.append((arg.data.dtype, arg.data.tobytes()))
            constants = 1
        elif type(arg) is Var and arg in params:
            parts.append(params.index(arg))
        else:
            return None
    own = (function.attrs, function.ret_type, function.type_params, function.virtual_device)
    of_params = [(param.type_annotation, param.virtual_device) for param in params]
    try:
        hash((function.attrs, body.attrs))
    except TypeError:
        return None
    return FunctionOutline(True, ("call", *own, body.op, body.attrs, *of_params, *parts))


def _outline_of_graph(function: Function) -> FunctionOutline | None:
    params = function.params
    numbers: dict[Expr, int] = {param: number for number, param in enumerate(params)}
    records: list[Hashable] = [function.attrs, function.ret_type, function.type_params, function.virtual_device]
    complete = True
    records.append(tuple([(param.type_annotation, param.virtual_device) for param in params]))
    for node in post_order(function.body, seen=set(params)):
        kind = type(node)
        parts = [numbers[part] for part in CHILDREN[kind](node)]
        numbers[node] = len(numbers)
        if type(node) is Call:
            records.append((node.attrs, () if type(node.op) is Op else node._type_args, *parts))
        elif type(node) is TupleGetItem:
            records.append((kind, node.index, *parts))
        elif type(node) is Tuple:
            records.append(tuple(parts))
        elif type(node) is Constant and node.data.ndim == 0:
            records.append((node.data.dtype, node.data.tobytes()))
        else:
            records.append((node, *parts))
            complete = complete and kind is Op
    key = FunctionOutline(complete, (*records, numbers[function.body]))
    try:
        hash(key)
    except TypeError:
        return None
    return key
