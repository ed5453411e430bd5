"""A quick key for small functions: equal outlines mean equal structure, and most equal kernels have equal outlines.

Fusion makes kernels by the thousand, few of which differ. Hashing and comparing structures answers for every program,
and costs a hundred microseconds a kernel; an outline is made in twenty, and a dictionary does the rest. Functions whose
outlines differ may still be equal (their constants are different objects, say): ask `structural_equal` then.
"""

from __future__ import annotations

from collections.abc import Hashable

from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.walk import CHILDREN, post_order


def outline(function: Function) -> Hashable:
    """Return a key such that functions with equal keys are structurally equal, or None for one that has no key.

    It numbers nodes in evaluation order. Calls, tuples and projections are identified by the numbers of their parts,
    parameters by their annotation; all else by being the same object with parts of the same numbers, types and
    operators among it. There is no key where an attribute has a value that Python cannot hash.
    """
    numbers: dict[Expr, int] = {}
    count = len(function.params)
    records: list[Hashable] = [function.attrs, function.ret_type, function.type_params, count]
    for node in post_order(function):
        kind = type(node)
        number = numbers[node] = len(numbers)
        parts = [numbers[part] for part in CHILDREN[kind](node)]
        if type(node) is Call:
            records.append((node.attrs, node._type_args, *parts))
        elif type(node) is Var and number < count:
            records.append((node.type_annotation, node.virtual_device))
        elif type(node) is TupleGetItem:
            records.append((kind, node.index, *parts))
        elif type(node) is Tuple or node is function:
            records.append(tuple(parts))
        else:
            records.append((node, *parts))
    key = tuple(records)
    try:
        hash(key)
    except TypeError:
        return None
    return key
