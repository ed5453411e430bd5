"""Checks that functions marked by `relay.reshape_only` contain only reshapes.

`FuseOps` sets the mark; the graph executor and the virtual machine then run no kernel for the function. Comparing
results with the reference evaluator does not reveal a false mark, since the evaluator ignores it.
"""

from __future__ import annotations

from passlab.errors import Diagnostic, WellFormedError
from passlab.ir.expr import Call, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Trait, has_trait, is_op_call
from passlab.ir.walk import post_order

MARK = "relay.reshape_only"


def false_marks(mod: IRModule) -> list[Diagnostic]:
    """Return a diagnostic for each marked function that calls another operator. Linear in the nodes."""
    result: list[Diagnostic] = []
    for name, function in mod.items():
        for node in post_order(function):
            if isinstance(node, Function) and node.attrs.get(MARK):
                call = _other_call(node)
                if call is not None:
                    what = f"a function in @{name} is marked `{MARK}`, and calls `{call.op}`"
                    result.append(Diagnostic(what, call.span, hint="mark only chains of reshapes of one input"))
    return result


def _other_call(function: Function) -> Call | None:
    """Return the first call, from the result back to the input, that is not a reshape."""
    node = function.body
    while is_op_call(node):
        if not has_trait(node, Trait.RESHAPES):
            return node
        node = node.args[0]
    return None


def false_mark_error(mod: IRModule) -> WellFormedError | None:
    """Return the false marks of a module as an error, or None if none exist."""
    marks = false_marks(mod)
    return WellFormedError(*marks) if marks else None
