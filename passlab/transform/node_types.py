"""The types of nodes that a pass has just made, before inference has seen them: each from its parts, in one step.

Enough for rewriting operators: it knows constants, operator calls, tuples and projections, and takes the type of all
else from inference. Knows nothing of passes.
"""

from __future__ import annotations

from passlab.errors import PasslabError
from passlab.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.walk import CHILDREN


class _Silent:
    """A reporter for calls that are known to be well-typed: there is nothing left to refine."""

    def assign(self, index: int, ty: Type) -> None:
        return None


_SILENT = _Silent()


class NodeTypes:
    """The types of a program under rewriting. `of(expr)` is the type of a node, None when it cannot be told."""

    def __init__(self) -> None:
        self._known: dict[Expr, Type | None] = {}

    def of(self, expr: Expr) -> Type | None:
        """Return the type of a node, working it out from its parts where inference has not."""
        if expr._checked_type is not None:
            return expr._checked_type
        if expr in self._known:
            return self._known[expr]
        stack = [expr]
        while stack:
            node = stack[-1]
            if node._checked_type is not None or node in self._known:
                stack.pop()
                continue
            parts = [k for k in self._parts(node) if k._checked_type is None and k not in self._known]
            if parts:
                stack += parts
                continue
            self._known[node] = self._step(node)
            stack.pop()
        return self._known[expr]

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of a node if it is a tensor."""
        ty = self.of(expr)
        return ty if type(ty) is TensorType else None

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        if type(node) is Call:
            return node.args if type(node.op) is Op else ()
        return CHILDREN[type(node)](node) if type(node) in (Tuple, TupleGetItem) else ()

    def _step(self, node: Expr) -> Type | None:
        if type(node) is Constant:
            return node.tensor_type
        if type(node) is Var:
            return node.type_annotation
        parts = [k._checked_type or self._known.get(k) for k in self._parts(node)]
        if any(p is None for p in parts):
            return None
        if type(node) is Tuple:
            return TupleType([p for p in parts if p is not None])
        if type(node) is TupleGetItem:
            whole = parts[0]
            return whole.fields[node.index] if type(whole) is TupleType and node.index < len(whole.fields) else None
        if type(node) is Call and type(node.op) is Op:
            try:
                return node.op.spec.relation([p for p in parts if p is not None], node.attrs, _SILENT)
            except PasslabError:
                return None
        return None
