"""Number the nodes of each function, and store the numbers in their spans.

before:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
after:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
"""

from __future__ import annotations

from passlab.analysis.dominators import PostDominators
from passlab.ir.adt import Constructor
from passlab.ir.expr import Expr, Function, GlobalVar, Match
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.span import Position
from passlab.ir.walk import CHILDREN, post_order, rewrite
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

SHARED = (Op, Constructor, GlobalVar)


@standard_pass(opt_level=0, contract=EXACT)
class CapturePostDfsIndexInSpans(FunctionPass):
    """Give every node the span `index:NUMBER:DOMINATOR`: its number in post-order and the number of its post-dominator.

    The post-dominator is the nearest node through which all uses of a node pass; it is -1 for the function itself.
    Numbers identify nodes in messages, and show nesting. Operators, constructors and global variables are counted but,
    being shared by all functions, keep their spans.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        order = post_order(func)
        numbered = enumerate(zip(order, _post_dominators(order), strict=True))
        spans = {node: Position("index", at, at, dominator, dominator) for at, (node, dominator) in numbered}

        def position(pre: Expr, post: Expr) -> Expr:
            if isinstance(pre, SHARED) or (post is pre and pre.span == spans[pre]):
                return post
            return post.with_fields(span=spans[pre])

        result = rewrite(func, position)
        assert isinstance(result, Function)
        return result


def _post_dominators(order: list[Expr]) -> list[int]:
    """Return the index of the post-dominator of each node, in nearly linear time in nodes and edges."""
    number = {node: i for i, node in enumerate(order)}
    outputs: list[list[tuple[int, int]]] = [[] for _ in order]
    for i, node in enumerate(order):
        for part in _parts(node):
            outputs[number[part]].append((i, 0))
    # A function reads no parameter: it counts for those that nothing else reads.
    for i, node in enumerate(order):
        for param in node.params if isinstance(node, Function) else ():
            users = outputs[number[param]]
            if len(users) > 1:
                users.remove((i, 0))
    outside = [not uses for uses in outputs]
    return PostDominators(outputs, outside, 0).parent


def _parts(node: Expr) -> tuple[Expr, ...]:
    """Return the children of a node; the variables of a pattern belong to the arms that use them."""
    if isinstance(node, Match):
        return (node.data, *(clause.rhs for clause in node.clauses))
    return CHILDREN[type(node)](node)
