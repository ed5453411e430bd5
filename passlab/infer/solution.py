"""The second phase of inference: write the inferred types to the nodes.

An unchanged node keeps its identity and gets its type in place. A node is copied if an annotation, a result type or
type arguments are filled in, if one of its children was replaced, or if it has a type from another module. Nothing is
written before everything is known, so a failure leaves the program unchanged.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic
from passlab.infer import diagnose
from passlab.infer.inference_state import InferenceState
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step
from passlab.infer.type_env import TypeDependency
from passlab.ir.adt import Constructor, PatternConstructor, pattern_nodes, pattern_vars
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Match, Var, set_checked_type, set_reliance
from passlab.ir.types import FuncType, GlobalTypeVar, IncompleteType, TensorType, TupleType, Type, holds, map_type
from passlab.ir.walk import CHILDREN, LEAVES, note_rewrite, rebuild

_UNIT = TupleType(())


class Solution:
    """Turns a solved state into typed nodes. `changed` maps the nodes that were replaced."""

    def __init__(self, state: InferenceState, order: list[Step]) -> None:
        self.state = state
        self.order = order
        self.changed: dict[Expr, Expr] = {}
        self._resolved: dict[Type, Type] = {}
        self._reliance: TypeDependency | None = None
        self._relying: set[Expr] = set()  # the nodes typed here, or used here, that rely on the module

    def problems(self) -> list[Diagnostic]:
        """Return a finding for each expression whose type is not determined, root causes only."""
        state, solver = self.state, self.state.solver
        if not solver.used or state.errors or state.echo:
            return []
        unknown = [node for node in self.state.types if type(self._type(node)) is IncompleteType]
        if not unknown:  # a relation that is still stuck waits for a part of a type
            return [diagnose.stuck(pending.place) for pending in solver.waiting_relations()]
        causes: list[Expr] = [n for n in unknown if isinstance(n, Var)]
        if not causes:
            members = set(unknown)
            causes = [n for n in unknown if not any(kid in members for kid in CHILDREN[type(n)](n))]
        return [diagnose.unresolved_type(node, self._type(node)) for node in causes]

    def _type(self, node: Expr) -> Type:
        ty = self.state.types[node]
        return ty if type(ty) is TensorType else self.state.solver.resolve(ty, self._resolved)

    def final(self, ty: Type) -> Type:
        """Return a type without unknowns: an unconstrained one (the element type of an unused `Nil`) becomes `()`."""
        if type(ty) is TensorType or not self.state.solver.used:
            return ty
        done = self.state.solver.resolve(ty, self._resolved)
        if self.state.solver.is_open(done):
            done = map_type(done, lambda part: _UNIT if type(part) is IncompleteType else None)
        return done

    def write(self) -> None:
        """Type every node."""
        state, changed = self.state, self.changed
        functions, data = state.relies_on()
        if functions or data:
            self._reliance = state.env.reliance(functions, data)
            self._relying |= state.relied_on
        in_place = not state.solver.used and not state.attrs and not state.type_args
        for step in self.order:
            kind = type(step)
            if in_place and not changed and self._in_place(step, kind):
                continue
            if type(step) is BindLet:
                self._node(step.let.var)
            elif type(step) is EnterClause:
                for var in pattern_vars(step.clause.lhs):
                    self._node(var)
            elif type(step) is not EnterFunction:
                self._node(step)  # type: ignore[arg-type]

    def _in_place(self, step: Step, kind: type) -> bool:
        """Set the type of a node that stays as it is otherwise; return False for a node that may need more."""
        node: Any = step.let.var if type(step) is BindLet else step
        if kind in _PLAIN:
            if node._checked_type is not None:
                return False
            set_checked_type(node, self.state.types[node])
            if self._reliance is not None and self._relies(node):
                set_reliance(node, self._reliance)
                self._relying.add(node)
            return True
        if type(node) is not Var or type(ty := node.type_annotation) is not TensorType:
            return False
        if node._checked_type is None and self.state.types[node] is ty:
            set_checked_type(node, ty)
        return node._checked_type is ty

    def _node(self, node: Expr) -> None:
        """Type one node, and replace it if necessary."""
        changed = self.changed
        ty = self.state.types.get(node)
        if ty is None or node in changed:
            return
        if type(ty) is not TensorType:
            ty = self.final(ty)
        post = self._fill(node, ty)
        if post._checked_type is not ty:
            if post._checked_type is not None:
                post = _copy(post)
            set_checked_type(post, ty)
        if post is not node:
            changed[node] = post
            note_rewrite(node, post)
        if self._reliance is not None and self._relies(post):
            set_reliance(post, self._reliance)
            self._relying.add(post)

    def _fill(self, node: Expr, ty: Type) -> Expr:
        """Return a node with its children replaced and missing annotations filled in."""
        kind = type(node)
        if type(node) is Call:
            return self._call(node)
        if type(node) is Var:
            annotation = node.type_annotation
            return node if annotation is ty else Var(node.name_hint, ty, node.span, node.virtual_device)
        if type(node) is GlobalVar:
            return self.state.env.global_var(node, ty)
        if kind in _LEAVES:
            return node
        post = rebuild(node, self._now) if self.changed else node
        if type(post) is Function and type(ty) is FuncType and post.ret_type is not ty.ret_type:
            post = post.with_fields(ret_type=ty.ret_type)
        return post

    def _now(self, part: Expr) -> Expr:
        return self.changed.get(part, part)

    def _call(self, node: Call) -> Call:
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

    def _relies(self, node: Expr) -> bool:
        """Whether the type of a node depends on the module."""
        kind = type(node)
        if type(node) is GlobalVar or type(node) is Constructor:
            return True
        if type(node) is Var:
            annotation = node.type_annotation
            return annotation is not None and holds(annotation, GlobalTypeVar)
        relying = self._relying
        if type(node) is Call:
            return node.op in relying or not relying.isdisjoint(node.args)
        if not relying.isdisjoint(CHILDREN[kind](node)):
            return True
        return isinstance(node, Match) and any(
            isinstance(p, PatternConstructor) for clause in node.clauses for p in pattern_nodes(clause.lhs)
        )


_LEAVES = frozenset(LEAVES)
# Kinds of nodes that only need a type if none of their children changed.
_PLAIN = frozenset(kind for kind in CHILDREN if kind not in (Var, GlobalVar, Function))


def _copy(node: Any) -> Expr:
    """Return an untyped copy of a node."""
    result: Expr = type(node)(**{name: getattr(node, name) for name in node.field_names}, span=node.span)
    return result
