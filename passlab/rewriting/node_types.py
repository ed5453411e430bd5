"""The types of nodes that a pass has just created, each computed from the types of its operands in one step.

Enough for rewriting typed programs: operators by their relation, functions by their annotations, other nodes by their
operands. Other types (of generic functions, data types, ...) come from inference or stay unknown. Calls of operators,
tuples and projections on typed operands get their types, so that inference need not visit them.
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.errors import PasslabError
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Match, RefCreate, RefRead, Tuple, TupleGetItem, Var
from passlab.ir.kept_types import set_type
from passlab.ir.op import Op
from passlab.ir.types import FuncType, RefType, TensorType, TupleType, Type
from passlab.ir.walk import CHILDREN
from passlab.op.relations import KNOWN_INPUTS


class _Agreement:
    """A reporter that examines whether a relation derives the types that its inputs have."""

    __slots__ = ("holds", "_types")

    def __init__(self, types: Sequence[Type | None]) -> None:
        self.holds = True
        self._types = types

    def assign(self, index: int, ty: Type) -> None:
        """Compare a derived type with the type of the input."""
        if ty is not self._types[index]:
            self.holds = False


class NodeTypes:
    """The types of a program under rewriting. `of(expr)` is the type of a node, None if it is unknown."""

    def __init__(self) -> None:
        self._computed: dict[Expr, Type | None] = {}

    def of(self, expr: Expr) -> Type | None:
        """Return the type of a node, computed from its operands if inference has not set it."""
        if expr._checked_type is not None:
            return expr._checked_type
        if expr in self._computed:
            return self._computed[expr]
        if type(expr) is Call and type(expr.op) is Op and (ty := self._set_operator_type(expr)) is not None:
            return ty
        stack = [expr]
        while stack:
            node = stack[-1]
            if node._checked_type is not None or node in self._computed:
                stack.pop()
                continue
            pending = [k for k in self._typing_operands(node) if k._checked_type is None and k not in self._computed]
            if pending:
                stack += pending
                continue
            stack.pop()
            if not (type(node) is Call and type(node.op) is Op and self._set_operator_type(node)):
                self._computed[node] = ty = self._compute(node)
                if ty is not None and type(node) in (Tuple, TupleGetItem):
                    set_type(node, ty, CHILDREN[type(node)](node))
        return self._computed.get(expr, expr.checked_type_)

    def _set_operator_type(self, call: Call) -> Type | None:
        """Set the type of an operator's call to what inference would find, and return it; None if that is not known.

        It is not known without the type of an operand, and if the relation would change one.
        """
        types = [arg._checked_type for arg in call.args]
        spec, attrs = call.op.spec, call.attrs  # type: ignore[attr-defined]
        if None in types or (attrs is None and spec.attrs is not None) or len(types) != len(spec.inputs):
            return None
        reporter = _Agreement(types)
        try:
            ty: Type | None = spec.relation(types, attrs, reporter)
        except PasslabError:
            return None
        if ty is not None and reporter.holds:
            set_type(call, ty, call.args)
        return call._checked_type

    def set_type(self, expr: Expr, ty: Type | None) -> None:
        """Set the type of a new node, for callers that know it."""
        self._computed[expr] = ty

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of a node if it is a tensor."""
        ty = self.of(expr)
        return ty if type(ty) is TensorType else None

    def _typing_operands(self, node: Expr) -> tuple[Expr, ...]:
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

    def _compute(self, node: Expr) -> Type | None:
        if type(node) is Constant:
            return node.tensor_type
        if type(node) is Var:
            return node.type_annotation
        operand_types = [k._checked_type or self._computed.get(k) for k in self._typing_operands(node)]
        types = [ty for ty in operand_types if ty is not None]
        return self._type_from(node, types) if len(types) == len(operand_types) else None

    def _type_from(self, node: Expr, types: list[Type]) -> Type | None:
        if type(node) is Tuple:
            return TupleType(types)
        if type(node) is TupleGetItem:
            whole = types[0]
            return whole.fields[node.index] if type(whole) is TupleType and node.index < len(whole.fields) else None
        if type(node) is Call:
            return self._call_type(node, types)
        if type(node) is Function:
            return None if node.type_params else FuncType(types[:-1], node.ret_type or types[-1])
        if type(node) is RefCreate:
            return RefType(types[0])
        if type(node) is RefRead:
            return types[0].value if type(types[0]) is RefType else None
        return types[0] if type(node) in (Let, If, Match) and types else None

    def _call_type(self, node: Call, types: list[Type]) -> Type | None:
        if type(node.op) is not Op:
            callee = types[0]
            return callee.ret_type if type(callee) is FuncType and not callee.type_params else None
        try:
            return node.op.spec.relation(types, node.attrs, KNOWN_INPUTS)
        except PasslabError:
            return None
