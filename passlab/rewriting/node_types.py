"""The types of nodes that a pass has just created, each computed from the types of its operands in one step.

Enough for rewriting typed programs: operators by their relation, functions by their annotations, other nodes by their
operands. Types that this cannot determine (of generic functions, data types, ...) come from inference or stay unknown.
Knows nothing of passes.
"""

from __future__ import annotations

from passlab.errors import PasslabError
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Match, RefCreate, RefRead, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.types import FuncType, RefType, TensorType, TupleType, Type
from passlab.ir.walk import CHILDREN
from passlab.op.relations import KNOWN_INPUTS


class NodeTypes:
    """The types of a program under rewriting. `of(expr)` is the type of a node, None if it is unknown."""

    def __init__(self) -> None:
        self._known: dict[Expr, Type | None] = {}

    def of(self, expr: Expr) -> Type | None:
        """Return the type of a node, computed from its operands if inference has not set it."""
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

    def know(self, expr: Expr, ty: Type | None) -> None:
        """Record the type of a new node that its creator knows."""
        self._known[expr] = ty

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of a node if it is a tensor."""
        ty = self.of(expr)
        return ty if type(ty) is TensorType else None

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        """Return the operands whose types determine the type of `node`."""
        kind = type(node)
        if type(node) is Call:
            return node.args if type(node.op) is Op else (node.op,)
        if type(node) is Let:
            return (node.body,)
        if type(node) is If:
            return (node.true_branch,)
        if type(node) is Match:
            return (node.clauses[0].rhs,) if node.clauses else ()
        if type(node) is Function:
            return CHILDREN[kind](node)
        return CHILDREN[kind](node) if kind in (Tuple, TupleGetItem, RefCreate, RefRead) else ()

    def _step(self, node: Expr) -> Type | None:
        if type(node) is Constant:
            return node.tensor_type
        if type(node) is Var:
            return node.type_annotation
        parts = [k._checked_type or self._known.get(k) for k in self._parts(node)]
        types = [p for p in parts if p is not None]
        return self._from(node, types) if len(types) == len(parts) else None

    def _from(self, node: Expr, parts: list[Type]) -> Type | None:
        if type(node) is Tuple:
            return TupleType(parts)
        if type(node) is TupleGetItem:
            whole = parts[0]
            return whole.fields[node.index] if type(whole) is TupleType and node.index < len(whole.fields) else None
        if type(node) is Call:
            return self._enter_call(node, parts)
        if type(node) is Function:
            return None if node.type_params else FuncType(parts[:-1], node.ret_type or parts[-1])
        if type(node) is RefCreate:
            return RefType(parts[0])
        if type(node) is RefRead:
            return parts[0].value if type(parts[0]) is RefType else None
        return parts[0] if type(node) in (Let, If, Match) and parts else None

    def _enter_call(self, node: Call, parts: list[Type]) -> Type | None:
        if type(node.op) is not Op:
            callee = parts[0]
            return callee.ret_type if type(callee) is FuncType and not callee.type_params else None
        try:
            return node.op.spec.relation(parts, node.attrs, KNOWN_INPUTS)
        except PasslabError:
            return None
