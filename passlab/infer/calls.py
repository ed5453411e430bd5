"""Typing of calls: of operators, whose relation computes the result type, and of functions and constructors.

A call of an operator on inputs of known types costs its relation and little more: no unknown is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from passlab.errors import AttrsError, Diagnostic
from passlab.infer import diagnose
from passlab.infer.inference_state import InferenceState
from passlab.infer.relations import Instance, OperatorRelation, RefusedError
from passlab.infer.solver import MismatchError, brief
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Var
from passlab.ir.op import Op
from passlab.ir.types import FuncType, IncompleteType, Type, TypeRelation, TypeVar, map_type


def default_attrs(op: Op) -> Attrs | None:
    """Return an operator's attributes with their defaults. Raises `AttrsError` if one has no default."""
    return op.spec.attrs() if op.spec.attrs is not None else None


class CallTyper:
    """Assigns types to calls in a state of inference."""

    def __init__(self, state: InferenceState) -> None:
        self.state = state
        self.types = state.types
        self.solver = state.solver
        self.reporter = state.reporter
        self.type_of = state.type_of

    def call(self, node: Call) -> None:
        """Type a call."""
        op = node.op
        if type(op) is not Op:
            self.types[node] = self._function_call(node)
            return
        types, solver, spec = self.types, self.solver, op.spec
        args: list[Type] = [types.get(arg) or arg._checked_type for arg in node.args]  # type: ignore[misc]
        if len(args) != len(spec.inputs) and not (spec.variadic and len(args) >= len(spec.inputs)):
            self.state.error(diagnose.arity(node.span, len(spec.inputs), len(args), spec.variadic, op))
            types[node] = solver.fresh()
            return
        attrs = node.attrs
        try:
            if attrs is None and spec.attrs is not None:
                attrs = self._defaults(node, op)
            result: Type | None = None
            if not solver.used or not any(solver.is_open(ty) for ty in args):
                result = self.reporter.run(op, args, attrs, node)
            elif not solver.exact:
                result = self.reporter.run(op, [solver.resolve(ty) for ty in args], attrs, node)
            if result is None:
                result = solver.fresh()
                solver.add(OperatorRelation(op, args, attrs, result, node, self.reporter))
        except RefusedError:
            result = solver.fresh()
        types[node] = result

    def _defaults(self, node: Call, op: Op) -> Attrs | None:
        """Return the default attributes of a call without any. Raises `RefusedError` if one has no default."""
        try:
            attrs = default_attrs(op)
        except AttrsError as error:
            self.state.errors += [Diagnostic(d.message, node.span, hint=d.hint) for d in error.diagnostics]
            raise RefusedError from None
        if attrs is not None:
            self.state.attrs[node] = attrs
        return attrs

    # ------------------------------------------------------------ functions
    def _function_call(self, node: Call) -> Type:
        """Return the type of a call whose callee is not an operator."""
        solver = self.solver
        callee = self.type_of(node.op)
        head = solver.head(callee)
        if type(head) is IncompleteType:
            solver.solve()
            head = solver.head(callee)
        if type(head) is IncompleteType:
            assumed = self._assume(node, head)
            if assumed is None:
                return solver.fresh()
            head = assumed
        if not isinstance(head, FuncType):
            actual = brief(solver.resolve(head))
            self.state.error(
                Diagnostic(
                    f"only expressions with function types can be called, found {actual}",
                    diagnose.place_in(node.op, node),
                    notes=tuple(self.state.origin_notes(node.op)[:1]),
                )
            )
            return solver.fresh()
        for ty in node.type_args:
            self.state.annotation(ty, node.span)
        if head.type_params or node.type_args or head.type_constraints:
            if len(node.type_args) > len(head.type_params):
                counts = f"expected {len(head.type_params)}, found {len(node.type_args)}"
                message = f"Incorrect number of type args in the call of {diagnose.name_of(node.op)}: {counts}"
                self.state.error(Diagnostic(message, node.span))
                return solver.fresh()
            head, args = self.instantiate(head, 0, node.type_args, node)
            if args:
                self.state.type_args[node] = args
        self._arguments(node, head)
        return head.ret_type

    def _assume(self, node: Call, callee: Type) -> FuncType | None:
        """Assume that a callee of unknown type is a function of the types of these arguments."""
        solver = self.solver
        params = [solver.fresh_as(solver.head(self.type_of(arg))) for arg in node.args]  # a later call may weaken them
        fn = FuncType(params, solver.fresh())
        try:
            solver.bind(callee, fn)
        except MismatchError as mismatch:
            self.state.error(diagnose.mismatch(mismatch, fn, callee, node.span))
            return None
        return fn

    def _arguments(self, node: Call, fn: FuncType) -> None:
        """Check the arguments of a call against the parameters."""
        args, params = node.args, fn.arg_types
        if len(args) != len(params):
            self.state.error(diagnose.arity(node.span, len(params), len(args), False, node.op))
            return
        for i, (arg, param) in enumerate(zip(args, params, strict=True)):
            actual = self.type_of(arg)
            if param is actual:
                continue
            notes = partial(self._argument_notes, node, i, param)
            self.state.unify(param, actual, diagnose.place_in(arg, node), notes, keep_right=True)

    def _argument_notes(self, node: Call, index: int, expected: Type) -> list[diagnose.Note]:
        """Return notes on the parameter that an argument was checked against, and on the origin of the argument."""
        return [
            self._parameter_note(node.op, index, self.solver.resolve(expected)),
            *self.state.origin_notes(node.args[index]),
        ]

    def _parameter_note(self, callee: Expr, index: int, ty: Type) -> diagnose.Note:
        name = diagnose.name_of(callee)
        fn: Expr | None = callee
        if isinstance(callee, Var):
            fn = self.state.values.get(callee)
        elif isinstance(callee, GlobalVar):
            fn = self.state.env.functions.get(callee.name_hint)
        if isinstance(fn, Function) and index < len(fn.params):
            param = fn.params[index]
            return f"parameter `%{param.name_hint}` of {name} is `{brief(ty)}`", param.span
        return f"argument {index} of {name} is `{brief(ty)}`", None

    # ------------------------------------------------------------ generic functions
    def instantiate(
        self, fn: FuncType, num_kept: int, type_args: Sequence[Type], call: Call | None
    ) -> tuple[FuncType, tuple[Type, ...]]:
        """Return a function type with its type parameters after the first `num_kept` replaced, and the replacements.

        The replacements are the types `type_args`, then unknowns. Constraints become relations.
        """
        solver = self.solver
        replacements: dict[Type, Type] = {}
        for i, param in enumerate(fn.type_params[num_kept:]):
            replacements[param] = type_args[i] if i < len(type_args) else solver.fresh()
        args = [map_type(solver.resolve(a), replacements.get) for a in fn.arg_types]
        if solver.free_unknowns((fn.ret_type,)) and replacements:
            result: Type = solver.fresh()  # the body is still being inferred: wait for it
            place = call.span if call is not None else None
            solver.add(Instance(fn.ret_type, replacements, result, place, solver, self.state))
        else:
            result = map_type(solver.resolve(fn.ret_type), replacements.get)
        for constraint in fn.type_constraints:
            self._constrain(map_type(constraint, replacements.get), call)  # type: ignore[arg-type]
        return FuncType(args, result, fn.type_params[:num_kept]), tuple(replacements.values())

    def instantiate_surplus(self, fn: FuncType, num_kept: int) -> FuncType:
        """Return a generic function type with its type parameters after the first `num_kept` unknown."""
        return self.instantiate(fn, num_kept, (), None)[0]

    def _constrain(self, relation: TypeRelation, use: Call | None) -> None:
        """Add the relation of an operator used as a value."""
        call_node = use or Call(Op.get(relation.name), ())
        inputs, out = relation.args[: relation.num_inputs], relation.args[relation.num_inputs]
        self.solver.add(OperatorRelation(Op.get(relation.name), inputs, relation.attrs, out, call_node, self.reporter))

    def operator_type(self, op: Op) -> FuncType:
        """Return the type of an operator as a value: generic in all its inputs and its result, under its relation."""
        names = [TypeVar(name) for name in (*op.spec.inputs, "result")]
        try:
            attrs = default_attrs(op)
        except AttrsError:
            attrs = None  # its call will report the missing attribute
        relation = TypeRelation(op.name, names, len(names) - 1, attrs)
        return FuncType(names[:-1], names[-1], names, [relation])
