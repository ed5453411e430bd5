"""What a function contains: operators and kinds of nodes, found in one walk and kept as long as the function.

Most passes of a pipeline act on a few operators, and most functions contain none of them: one walk tells all of these
passes that they have nothing to do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from passlab.ir.expr import Call, Constant, Expr, Function, Let, Var
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN


class Contents(NamedTuple):
    """The operators in a function, and the classes of its nodes: inner functions count, the function itself does not.

    `is_placed` says whether a variable, the function or an inner one names its device; `has_operator_values` whether an
    operator is used other than as the callee of a call.
    """

    operators: frozenset[Op]
    kinds: frozenset[type[Expr]]
    is_placed: bool
    has_operator_values: bool

    def has_operator(self, *names: str) -> bool:
        """Whether an operator of one of these names is in the function."""
        return any(op.name in names for op in self.operators)


_CONTENTS: WeakKeyDictionary[Function, Contents] = WeakKeyDictionary()


def contents_of(function: Function) -> Contents:
    """Return what a function contains. Linear in its nodes the first time; functions never change."""
    contents = _CONTENTS.get(function)
    if contents is None:
        contents = _CONTENTS[function] = _find_contents(function)
    return contents


def _find_contents(function: Function) -> Contents:
    kinds: set[type[Expr]] = set()
    operators: set[Op] = set()
    seen: set[Expr] = {function}
    see = seen.add
    is_placed = function.virtual_device is not None
    stack: list[Any] = [*CHILDREN[Function](function)]
    push, pop = stack.append, stack.pop
    while stack:
        node = pop()
        if node in seen:
            continue
        see(node)
        kind = type(node)
        kinds.add(kind)
        if kind is Call:  # most nodes are calls, lets and their leaves
            if type(node.op) is Op:
                operators.add(node.op)
            else:
                push(node.op)
            stack += node.args
        elif kind is Let:
            push(node.body)
            push(node.value)
            push(node.var)
        elif kind is Var:
            is_placed = is_placed or node.virtual_device is not None
        elif kind is not Op and kind is not Constant:
            stack += CHILDREN[kind](node)
            is_placed = is_placed or (kind is Function and node.virtual_device is not None)
    has_operator_values = Op in kinds
    if has_operator_values:
        operators.update([node for node in seen if type(node) is Op])
    if operators:
        kinds.add(Op)
    return _shared(frozenset(operators), frozenset(kinds), is_placed, has_operator_values)


@lru_cache(maxsize=1024)
def _shared(
    operators: frozenset[Op], kinds: frozenset[type[Expr]], is_placed: bool, has_operator_values: bool
) -> Contents:
    """Return contents, the same object for equal ones: of the thousands of kernels of a program few differ in them."""
    return Contents(operators, kinds, is_placed, has_operator_values)
