"""Checks that functions marked as doing nothing but reshape contain only reshapes.

`FuseOps` marks them by `relay.reshape_only`; memory planning then copies nothing, and compilers run no kernel. A false
mark is visible nowhere else: the reference evaluator ignores it.
"""

from __future__ import annotations

from passlab.errors import Diagnostic, WellFormedError
from passlab.ir.expr import Call, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op, Trait, has_trait
from passlab.ir.walk import post_order

MARK = "relay.reshape_only"


def false_marks(mod: IRModule) -> list[Diagnostic]:
    """Return a diagnostic for each marked function that calls another operator. Linear in the nodes."""
    result: list[Diagnostic] = []
    for name, function in mod.items():
        for node in post_order(function):
            if isinstance(node, Function) and node.attrs.get(MARK):
                culprit = _more_than_reshapes(node)
                if culprit is not None:
                    what = f"a function in @{name} is marked `{MARK}`, and calls `{culprit.op}`"
                    result.append(Diagnostic(what, culprit.span, hint="mark only chains of reshapes of one input"))
    return result


def _more_than_reshapes(function: Function) -> Call | None:
    """Return the first call on the way from the result to the input that is not a reshape."""
    node = function.body
    while isinstance(node, Call) and isinstance(node.op, Op):
        if not has_trait(node, Trait.RESHAPES):
            return node
        node = node.args[0]
    return None


def false_mark_error(mod: IRModule) -> WellFormedError | None:
    """Return the false marks of a module as an error, or None if there are none."""
    marks = false_marks(mod)
    return WellFormedError(*marks) if marks else None
