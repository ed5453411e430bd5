"""A quick key for small functions: equal outlines mean equal structure, and most equal kernels have equal outlines.

Fusion makes kernels by the thousand, few of which differ. Hashing and comparing structures answers for every program,
and costs a hundred microseconds a kernel; an outline is made in twenty, and a dictionary does the rest. Functions whose
outlines differ may still be equal (their weights are different objects, say): ask `structural_equal` then, but for
outlines that are complete.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, post_order


class Outline(NamedTuple):
    """The key of a function. `complete`: functions with other keys are not equal, whatever objects they are made of."""

    complete: bool
    records: tuple[Hashable, ...]


def outline(function: Function) -> Outline | None:
    """Return a key such that functions with equal keys are structurally equal, or None for one that has no key.

    It numbers nodes in evaluation order. Calls, tuples and projections are identified by the numbers of their parts,
    parameters by their annotation, scalar constants by their bits; all else by being the same object with parts of the
    same numbers, types and operators among it. There is no key where an attribute has a value that Python cannot hash.
    """
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
    key = Outline(complete, (*records, numbers[function.body]))
    try:
        hash(key)
    except TypeError:
        return None
    return key
