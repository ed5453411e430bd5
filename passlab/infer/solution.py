"""The second phase of inference: write the inferred types to the nodes.

An unchanged node keeps its identity and gets its type in place. A node is copied if an annotation, a result type or
type arguments are filled in, if one of its children was replaced, or if it has a type from another module. Nothing is
written before all types are determined, so a failure leaves the program unchanged.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic
from passlab.infer import diagnose
from passlab.infer.inference_state import InferenceState
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step
from passlab.infer.type_env import TypeDependency
from passlab.ir.adt import Constructor, PatternConstructor, pattern_nodes, pattern_vars
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Match, Var, set_checked_type, set_type_dependency
from passlab.ir.types import FuncType, GlobalTypeVar, IncompleteType, TensorType, TupleType, Type, holds, map_type
from passlab.ir.walk import CHILDREN, LEAVES, note_rewrite, rebuild

_UNIT = TupleType(())


class Solution:
    """Writes the types of a solved state to the nodes. `changed` maps each replaced node to its replacement."""

    def __init__(self, state: InferenceState, order: list[Step]) -> None:
        self.state = state
        self.order = order
        self.changed: dict[Expr, Expr] = {}
        self._resolved: dict[Type, Type] = {}
        self._type_dependency: TypeDependency | None = None
        self._dependent: set[Expr] = set()  # the nodes typed here, or used here, that rely on the module

    def undetermined_types(self) -> list[Diagnostic]:
        """Return a finding for each expression whose type is not determined, root causes only."""
        state, solver = self.state, self.state.solver
        if not solver.used or state.errors or state.depends_on_error:
            return []
        unknown = [node for node in self.state.types if type(self._resolved_type(node)) is IncompleteType]
        if not unknown:  # a relation that is still stuck waits for a part of a type
            return [diagnose.undetermined_relation(pending.place) for pending in solver.waiting_relations()]
        causes: list[Expr] = [n for n in unknown if isinstance(n, Var)]
        if not causes:
            members = set(unknown)
            causes = [n for n in unknown if not any(child in members for child in CHILDREN[type(n)](n))]
        return [diagnose.unresolved_type(node, self._resolved_type(node)) for node in causes]

    def _resolved_type(self, node: Expr) -> Type:
        ty = self.state.types[node]
        return ty if type(ty) is TensorType else self.state.solver.resolve(ty, self._resolved)

    def final(self, ty: Type) -> Type:
        """Return a type without unknowns: an unconstrained one (the element type of an unused `Nil`) becomes `()`."""
        if type(ty) is TensorType or not self.state.solver.used:
            return ty
        result = self.state.solver.resolve(ty, self._resolved)
        if self.state.solver.meets_unknown(result):
            result = map_type(result, lambda part: _UNIT if type(part) is IncompleteType else None)
        return result

    def write(self) -> None:
        """Type every node."""
        state, changed = self.state, self.changed
        functions, data = state.mentioned_names()
        if functions or data:
            self._type_dependency = state.env.dependency(functions, data)
            self._dependent |= state.dependent_nodes
        in_place = not state.solver.used and not state.attrs and not state.type_args
        for step in self.order:
            kind = type(step)
            if in_place and not changed and self._set_type_in_place(step, kind):
                continue
            if type(step) is BindLet:
                self._write_node(step.let.var)
            elif type(step) is EnterClause:
                for var in pattern_vars(step.clause.lhs):
                    self._write_node(var)
            elif type(step) is not EnterFunction:
                self._write_node(step)  # type: ignore[arg-type]

    def _set_type_in_place(self, step: Step, kind: type) -> bool:
        """Set the type of a node that needs no other change; return False if it may need one."""
        node: Any = step.let.var if type(step) is BindLet else step
        if kind in _TYPE_ONLY:
            if node._checked_type is not None:
                return False
            set_checked_type(node, self.state.types[node])
            if self._type_dependency is not None and self._depends_on_module(node):
                set_type_dependency(node, self._type_dependency)
                self._dependent.add(node)
            return True
        if type(node) is not Var or type(ty := node.type_annotation) is not TensorType:
            return False
        if node._checked_type is None and self.state.types[node] is ty:
            set_checked_type(node, ty)
        return node._checked_type is ty

    def _write_node(self, node: Expr) -> None:
        """Type one node, and replace it if necessary."""
        changed = self.changed
        ty = self.state.types.get(node)
        if ty is None or node in changed:
            return
        if type(ty) is not TensorType:
            ty = self.final(ty)
        post = self._complete(node, ty)
        if post._checked_type is not ty:
            if post._checked_type is not None:
                # A node's type never changes: another type needs another node.
                kind: Any = type(post)
                post = kind(**{name: getattr(post, name) for name in post.field_names}, span=post.span)
            set_checked_type(post, ty)
        if post is not node:
            changed[node] = post
            note_rewrite(node, post)
        if self._type_dependency is not None and self._depends_on_module(post):
            set_type_dependency(post, self._type_dependency)
            self._dependent.add(post)

    def _complete(self, node: Expr, ty: Type) -> Expr:
        """Return a node with its children replaced and missing annotations filled in."""
        kind = type(node)
        if type(node) is Call:
            return self._complete_call(node)
        if type(node) is Var:
            annotation = node.type_annotation
            return node if annotation is ty else Var(node.name_hint, ty, node.span, node.virtual_device)
        if type(node) is GlobalVar:
            return self.state.env.global_var(node, ty)
        if kind in _LEAVES:
            return node
        post = rebuild(node, self._current) if self.changed else node
        if type(post) is Function and type(ty) is FuncType and post.ret_type is not ty.ret_type:
            post = post.with_fields(ret_type=ty.ret_type)
        return post

    def _current(self, part: Expr) -> Expr:
        return self.changed.get(part, part)

    def _complete_call(self, node: Call) -> Call:
        """Return a call with its children replaced, and attributes and type arguments filled in."""
        op, args, get = node.op, node.args, self.changed.get
        attrs = self.state.attrs.get(node, node.attrs)
        type_args = node._type_args
        explicit = self.state.type_args.get(node)
        if explicit is not None:
            type_args = tuple(map(self.final, explicit))
        if self.changed:
            op, args = get(op, op), tuple([get(arg, arg) for arg in args])
        # expressions and types are compared by identity, so these comparisons are cheap
        if op is node.op and args == node.args and attrs is node.attrs and type_args == node._type_args:
            return node
        return Call(op, args, attrs, type_args, node.span)

    def _depends_on_module(self, node: Expr) -> bool:
        """Whether the type of a node depends on the module."""
        kind = type(node)
        if type(node) is GlobalVar or type(node) is Constructor:
            return True
        if type(node) is Var:
            annotation = node.type_annotation
            return annotation is not None and holds(annotation, GlobalTypeVar)
        dependent = self._dependent
        if type(node) is Call:
            return node.op in dependent or not dependent.isdisjoint(node.args)
        if not dependent.isdisjoint(CHILDREN[kind](node)):
            return True
        return isinstance(node, Match) and any(
            isinstance(p, PatternConstructor) for clause in node.clauses for p in pattern_nodes(clause.lhs)
        )


_LEAVES = frozenset(LEAVES)
# Kinds of nodes that only need a type if none of their children changed.
_TYPE_ONLY = frozenset(kind for kind in CHILDREN if kind not in (Var, GlobalVar, Function))
