"""The first phase of inference: assign a type, possibly with unknowns, to every node of some functions.

There is one method per kind of node; each uses only the types of the node's children and leaves the unknowns to the
solver.

An annotation decides the type: the value must agree with it, and where one of them has `?` and the other a number, the
type has the annotation's.

The file begins with typing of calls: of operators, whose relation computes the result type, and of functions and
constructors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from passlab.errors import AttrsError, Diagnostic, LimitError, PasslabError, SourceLocation, did_you_mean
from passlab.infer import diagnose
from passlab.infer.exhaustive import pattern_text, unmatched_cases
from passlab.infer.inference_state import InferenceState
from passlab.infer.kinds import undefined_type
from passlab.infer.relations import Instance, OperatorRelation, Projection, RefusedError, project
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step, schedule
from passlab.infer.solver import MismatchError, brief
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar
from passlab.ir.attrs import Attrs
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.op import Op
from passlab.ir.types import (
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
    map_type,
    scalar_type,
)


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
            if not solver.used or not any(solver.meets_unknown(ty) for ty in args):
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
        if solver.unknowns_in((fn.ret_type,)) and replacements:
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


# Typing of patterns: the type of the scrutinee determines the types of the variables that a pattern binds.


class PatternTyper:
    """Assigns types to patterns and constructors in a state of inference."""

    def __init__(self, state: InferenceState) -> None:
        self.state = state
        self.solver = state.solver

    def constructor_type(self, constructor: Constructor, place: SourceLocation | None) -> FuncType | None:
        """Return the polymorphic type of a constructor under the module's definitions; if it has none, report that."""
        definition = self._definition(constructor, place)
        if definition is None:
            return None
        defined, type_vars = definition
        return FuncType(defined.inputs, TypeCall(defined.belong_to, type_vars), type_vars)

    def _definition(
        self, constructor: Constructor, place: SourceLocation | None
    ) -> tuple[Constructor, tuple[TypeVar, ...]] | None:
        head = constructor.belong_to
        mod = self.state.env.mod
        data = self.state.env.data(head.name_hint)
        if data is None:
            if mod is not None:
                self.state.error(undefined_type(head, mod, place))
            else:
                self.state.error(
                    Diagnostic(
                        f"the type variable : `{head.name_hint}` is undefined", place, hint="infer it within its module"
                    )
                )
            return None
        defined = mod.find_constructor(constructor.name_hint) if mod is not None else None
        if defined is not None and defined.belong_to is head:
            return defined, data.type_vars
        constructors = ", ".join(f"`{c.name_hint}`" for c in data.constructors) or "none"
        self.state.error(
            Diagnostic(
                f"the type `{head.name_hint}` has no constructor `{constructor.name_hint}`",
                place,
                hint=f"it has {constructors}",
            )
        )
        return None

    def pattern(self, root: Pattern, scrutinee: Type, match: Match) -> None:
        """Check a pattern against the type of the value it matches, and assign types to the variables it binds."""
        stack: list[tuple[Pattern, Type]] = [(root, scrutinee)]
        while stack:
            pattern, ty = stack.pop()
            if isinstance(pattern, PatternVar):
                self._pattern_var(pattern.var, ty, pattern, match)
            elif isinstance(pattern, PatternConstructor):
                fields = self._constructor_fields(pattern, ty, match)
                stack += reversed(list(zip(pattern.patterns, fields, strict=True)))
            elif isinstance(pattern, PatternTuple):
                parts = self._tuple_fields(pattern, ty, match)
                stack += reversed(list(zip(pattern.patterns, parts, strict=True)))

    def _pattern_var(self, var: Var, ty: Type, pattern: Pattern, match: Match) -> None:
        place = pattern.span or var.span or match.span
        if var.type_annotation is not None:
            self.state.annotation(var.type_annotation, place)
            self.state.types[var] = var.type_annotation
            self.state.unify(
                var.type_annotation,
                ty,
                place,
                lambda: [*self.state.origin_notes(var), *self.state.origin_notes(match.data)],
            )
        elif var in self.state.types:
            self.state.unify(
                self.state.types[var],
                ty,
                place,
                lambda: [*self.state.origin_notes(var), *self.state.origin_notes(match.data)],
            )
        else:
            self.state.types[var] = ty

    def _unknowns(self, count: int) -> list[Type]:
        return [self.solver.fresh() for _ in range(count)]

    def _constructor_fields(self, pattern: PatternConstructor, ty: Type, match: Match) -> Sequence[Type]:
        """Return the types of the fields of a constructor pattern; unknowns after an error."""
        place = pattern.span or match.span
        constructor = pattern.constructor
        self.state.data.add(constructor.belong_to.name_hint)
        definition = self._definition(constructor, place)
        if definition is None:
            return self._unknowns(len(pattern.patterns))
        defined, type_vars = definition
        head = self._head(ty)
        if isinstance(head, TypeCall) and head.func is defined.belong_to and len(head.args) == len(type_vars):
            args: Sequence[Type] = head.args
        else:
            args = self._unknowns(len(type_vars))
            self.state.unify(
                TypeCall(defined.belong_to, args),
                ty,
                place,
                lambda: [
                    (f"`{defined.name_hint}` makes values of type `{defined.belong_to.name_hint}`", defined.span),
                    *self.state.origin_notes(match.data),
                ],
            )
        if len(pattern.patterns) != len(defined.inputs):
            few = "Not enough" if len(pattern.patterns) < len(defined.inputs) else "Too many"
            self.state.error(
                Diagnostic(
                    f"{few} inputs for the constructor; expected {len(defined.inputs)}, got {len(pattern.patterns)}",
                    place,
                    notes=((f"`{defined.name_hint}` is defined here", defined.span),) if defined.span else (),
                )
            )
            return self._unknowns(len(pattern.patterns))
        if not type_vars:
            return defined.inputs
        names: dict[Type, Type] = dict(zip(type_vars, args, strict=True))
        return [map_type(t, names.get) for t in defined.inputs]

    def _tuple_fields(self, pattern: PatternTuple, ty: Type, match: Match) -> Sequence[Type]:
        """Return the types of the fields of a tuple pattern; unknowns after an error."""
        head = self._head(ty)
        size = len(pattern.patterns)
        if isinstance(head, TupleType) and len(head.fields) == size:
            return head.fields
        fields = self._unknowns(size)
        self.state.unify(TupleType(fields), ty, pattern.span or match.span, lambda: self.state.origin_notes(match.data))
        return fields

    def _head(self, ty: Type) -> Type:
        head = self.solver.head(ty)
        if type(head) is IncompleteType:
            self.solver.solve()
            head = self.solver.head(ty)
        return head


BOOL = scalar_type("bool")
UNIT = TupleType(())


class ConstraintGenerator:
    """Assigns types in a state of inference. `order` lists the steps taken; the second phase repeats them."""

    def __init__(self, state: InferenceState) -> None:
        self.state = state
        self.types = state.types
        self.type_of = state.type_of
        self.solver = state.solver
        self.order: list[Step] = []
        self.calls = CallTyper(state)
        self.patterns = PatternTyper(state)
        state.instantiate = self.calls.instantiate_surplus
        self._seen: set[Expr] = set()
        self._steps: dict[type, Callable[[Any], object]] = {
            Var: state.var, Constant: self._constant, GlobalVar: self._global, Op: self._op,
            Constructor: self._constructor, Call: self.calls.call, Tuple: self._tuple, TupleGetItem: self._projection,
            Let: self._let, Function: self._function, If: self._if, Match: self._match,
            RefCreate: self._ref_create, RefRead: self._ref_read, RefWrite: self._ref_write,
            BindLet: self._bind_let, EnterFunction: self._enter_function, EnterClause: self._enter_clause,
        }  # fmt: skip

    def declare(self, name: str, fn: Function) -> None:
        """Give a global function of this group a provisional type, so that the others can refer to it."""
        self.state.signatures[name] = self._provisional(fn)

    def run(self, root: Expr) -> None:
        """Assign types to all nodes of `root`. Errors are added to the state."""
        order = schedule(root, self.state.has_type, self._seen)
        self.order += order
        steps = self._steps
        for step in order:
            steps[type(step)](step)

    def close(self) -> None:
        """Break the cycles of references through the state.

        They would keep the whole program before inference until the next search of the garbage collector.
        """
        self._steps.clear()
        self.state.close()

    def _origins(self, *exprs: Expr) -> list[diagnose.Note]:
        return [note for expr in exprs for note in self.state.origin_notes(expr)]

    # ------------------------------------------------------------ leaves
    def _constant(self, node: Constant) -> None:
        self.types[node] = node.tensor_type

    def _op(self, node: Op) -> None:
        self.types[node] = self.calls.operator_type(node)

    def _global(self, node: GlobalVar) -> None:
        name = node.name_hint
        self.state.globals.add(name)
        env = self.state.env
        ty: Type | None = self.state.signatures.get(name) or env.signature(name)
        if ty is None and env.mod is None:
            ty = node._checked_type
        if ty is None:
            if name not in env.failed:
                hint = (
                    did_you_mean(name, env.functions)
                    or f"the module has {', '.join(sorted(env.functions)[:8]) or 'no functions'}"
                )
                self.state.error(Diagnostic(f"there is no function `@{name}` in the module", node.span, hint=hint))
            ty = self.state.unknown_after_error()
        self.types[node] = ty

    def _constructor(self, node: Constructor) -> None:
        self.state.data.add(node.belong_to.name_hint)
        ty = self.patterns.constructor_type(node, node.span)
        self.types[node] = self.state.unknown_after_error() if ty is None else ty

    # ------------------------------------------------------------ tuples, references
    def _tuple(self, node: Tuple) -> None:
        type_of = self.type_of
        self.types[node] = TupleType(tuple(type_of(f) for f in node.fields))

    def _projection(self, node: TupleGetItem) -> None:
        solver = self.solver
        whole = self.type_of(node.tuple_value)
        head = solver.head(whole)
        if type(head) is IncompleteType:
            solver.solve()
            head = solver.head(whole)
        if type(head) is IncompleteType or (solver.exact and head is not whole):
            out = self.types[node] = solver.fresh()
            solver.add(Projection(node, whole, out, solver, self.state))
            return
        try:
            self.types[node] = project(node, head)
        except PasslabError as error:
            self.state.errors += error.diagnostics
            self.types[node] = solver.fresh()

    def _ref_create(self, node: RefCreate) -> None:
        content = self.solver.fresh_as(self.type_of(node.value))  # a later write may weaken it
        self.types[node] = RefType(content)

    def _content(self, ref: Expr) -> Type:
        """Return the type of the content of a reference."""
        ty = self.type_of(ref)
        head = self.solver.head(ty)
        if isinstance(head, RefType):
            return head.value
        content = self.solver.fresh()
        self.state.unify(RefType(content), ty, ref.span, lambda: self.state.origin_notes(ref))
        return content

    def _ref_read(self, node: RefRead) -> None:
        self.types[node] = self._content(node.ref)

    def _ref_write(self, node: RefWrite) -> None:
        content = self._content(node.ref)
        notes = partial(self._origins, node.ref, node.value)
        self.state.unify(content, self.type_of(node.value), diagnose.place_in(node.value, node), notes)
        self.types[node] = UNIT

    # ------------------------------------------------------------ binding
    def _let(self, node: Let) -> None:
        self.types[node] = self.type_of(node.body)

    def _enter_function(self, step: EnterFunction) -> None:
        """Assign a type to the variable of a `let` whose value is a function, which may refer to it."""
        var, fn = step.let.var, step.let.value
        assert isinstance(fn, Function)
        if var in self.types or var._checked_type is not None:
            return
        if var.type_annotation is not None:
            self.state.var(var)
        elif fn in self.types or (fn._checked_type is not None and self.state.has_type(fn)):
            self.types[var] = self.type_of(fn)
        else:
            self.types[var] = self._provisional(fn)

    def _bind_let(self, step: BindLet) -> None:
        let = step.let
        var, value = let.var, let.value
        value_type = self.type_of(value)
        self.state.values[var] = value
        annotation = var.type_annotation
        if annotation is value_type and type(annotation) is TensorType:
            self.types[var] = annotation
            return
        if annotation is None and var not in self.types:
            self.types[var] = value_type
            return
        place = diagnose.place_in(value, let)
        self.state.unify(
            self.state.var(var), value_type, place, lambda: [*self.state.origin_notes(var)[:1], *self._origins(value)]
        )

    def _provisional(self, fn: Function) -> FuncType:
        """Return the type of a function from its annotations, with unknowns for missing parts."""
        declared = self.state.declared.get(fn)
        if declared is None:
            for param in fn.params:
                self.state.var(param)
            ret = fn.ret_type if fn.ret_type is not None else self.solver.fresh()
            declared = FuncType([self.type_of(p) for p in fn.params], ret, fn.type_params)
            self.state.declared[fn] = declared
        return declared

    def _function(self, node: Function) -> None:
        body = self.type_of(node.body)
        if node.ret_type is not None:
            self.state.annotation(node.ret_type, node.span)
        declared = self.state.declared.get(node)
        ret = declared.ret_type if declared is not None else node.ret_type
        if ret is not None:
            place = diagnose.place_in(node.body, node)
            self.state.unify(
                ret,
                body,
                place,
                lambda: [
                    ("the function is declared to return the expected type", node.span),
                    *self._origins(node.body),
                ],
            )
        self.types[node] = declared or FuncType(
            [self.type_of(p) for p in node.params], body if ret is None else ret, node.type_params
        )

    # ------------------------------------------------------------ if, match
    def _if(self, node: If) -> None:
        type_of = self.type_of
        self.state.unify(
            BOOL,
            type_of(node.cond),
            diagnose.place_in(node.cond, node),
            lambda: [("a condition is a scalar bool", None), *self.state.origin_notes(node.cond)],
        )
        place = diagnose.place_in(node.false_branch, node)
        notes = partial(self._origins, node.true_branch, node.false_branch)
        self.types[node] = self.state.unify(type_of(node.true_branch), type_of(node.false_branch), place, notes)

    def _match(self, node: Match) -> None:
        result: Type | None = None
        for clause in node.clauses:
            arm = self.type_of(clause.rhs)
            if result is None:
                result, first = arm, clause.rhs
                continue
            place = diagnose.place_in(clause.rhs, node)
            result = self.state.unify(result, arm, place, partial(self._origins, first, clause.rhs))
        self.types[node] = self.solver.fresh() if result is None else result
        if node.complete and not self.state.errors:
            self._check_complete(node)

    def _check_complete(self, node: Match) -> None:
        try:
            missing = unmatched_cases(node, self.state.env.mod)
        except LimitError:
            raise
        except PasslabError as error:
            self.state.errors += error.diagnostics
            return
        if missing:
            self.state.error(diagnose.inexhaustive([pattern_text(p) for p in missing], node.span))

    def _enter_clause(self, step: EnterClause) -> None:
        self.patterns.pattern(step.clause.lhs, self.type_of(step.match.data), step.match)
