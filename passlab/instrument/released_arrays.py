"""Arrays that a pass computed and replaced: a recording keeps what they are computed from instead of them.

Scales that are folded into a weight from both sides make `multiply(multiply(w, a), b)`. Constant folding computes the
inner product, which no program contains, only to compute the outer one. Its constant is kept, because a biography shows
it, and its array is computed again if it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from passlab.errors import RunError
from passlab.instrument.events import Event
from passlab.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.released import release_data
from passlab.ir.walk import CHILDREN, post_order
from passlab.op.dtypes import Array
from passlab.rewriting.constant_folding import FOLDED, fold

LEAST_BYTES = 1 << 16  # of an array that is worth the time of computing it again


def release_replaced_arrays(event: Event) -> None:
    """Let the constants that a pass folded drop their arrays, if neither the program before it nor after it has them.

    Each can be computed again from the program before the pass, whose arrays are kept.
    """
    folded = [
        (old, new)
        for old, new, rule in event.rewrites.with_rules()
        if rule == FOLDED and type(new) is Constant and new.data.nbytes >= LEAST_BYTES
    ]
    if not folded:
        return
    functions = [*event.before.functions.values(), *event.after.functions.values()]
    kept = {id(node.data) for node in post_order(*functions) if type(node) is Constant}
    computed = _computed_from(kept, (old for old, _ in folded))
    for old, new in folded:
        if id(new.data) not in kept and old in computed:
            release_data(new, partial(_folded_again, old))


def _computed_from(kept: set[int], roots: Iterable[Expr]) -> set[Expr]:
    """Return the nodes of expressions that are computed by operators alone from constants whose arrays are kept."""
    computed: set[Expr] = set()
    seen: set[Expr] = set()
    for root in roots:
        for node in post_order(root, seen=seen):
            if type(node) is Constant:
                holds = id(node.data) in kept
            elif type(node) is Call or type(node) is Tuple or type(node) is TupleGetItem:
                holds = computed.issuperset(CHILDREN[type(node)](node))
            else:
                holds = type(node) is Op
            if holds:
                computed.add(node)
    return computed


def _folded_again(expr: Expr) -> Array:
    result = fold(expr, fold_qnn=True)
    if type(result) is not Constant:
        raise RunError("an array of a recording cannot be computed again: its operators have changed")
    return result.data
