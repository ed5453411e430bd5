"""The first phase of inference: assign a type, possibly with unknowns, to every node of some functions.

There is one method per kind of node; each uses only the types of the node's children and leaves the unknowns to the
solver.

An annotation decides the type: the value must agree with it, and where one of them has `?` and the other a number, the
type has that of the annotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from passlab.errors import Diagnostic, LimitError, PasslabError, did_you_mean
from passlab.infer import diagnose
from passlab.infer.calls import CallTyper
from passlab.infer.exhaustive import pattern_text, unmatched_cases
from passlab.infer.inference_state import InferenceState
from passlab.infer.patterns import PatternTyper
from passlab.infer.relations import Projection, project
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step, schedule
from passlab.ir.adt import Constructor
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
from passlab.ir.types import FuncType, IncompleteType, RefType, TensorType, TupleType, Type, scalar_type

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
