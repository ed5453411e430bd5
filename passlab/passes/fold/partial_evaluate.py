"""Evaluate the known parts of a program at compile time.

before:
    def @main(%x: float32) {
      let %double = fn (%d: float32) { add(%d, %d) };
      (%double(4f), %double(%x))
    }
after:
    def @main(%x: float32) {
      let %double = fn (%d: float32) { let %s = add(%d, %d); %s };
      let %four = 4f;
      let %eight = 8f;
      let %y = add(%x, %x);
      let %t = (%eight, %y);
      %t
    }

before:
    def @main(%x: float32) { @power(%x, 2) }
    def @power(%x: float32, %n: int32) -> float32 {
      if (equal(%n, 0)) { 1f } else { multiply(%x, @power(%x, subtract(%n, 1))) }
    }
after:
    def @main(%x: float32) {
      let %a = 2;
      let %b = 0;
      let %c = False;
      let %d = 1;
      let %e = 1;
      let %f = 0;
      let %g = False;
      let %h = 1;
      let %i = 0;
      let %j = 0;
      let %k = True;
      let %l = 1f;
      let %m = multiply(%x, %l);
      let %n = multiply(%x, %m);
      %n
    }
    def @power(%x: float32, %n: int32) -> float32 {
      let %a = 0;
      let %b = equal(%n, %a);
      let %c = if (%b) { let %d = 1f; %d } else {
        let %e = 1;
        let %f = subtract(%n, %e);
        let %g = @power(%x, %f);
        let %h = multiply(%x, %g);
        %h
      };
      %c
    }

before:
    def @main(%x: float32) {
      let %r = ref(%x);
      let %u = ref_write(%r, exp(ref_read(%r)));
      ref_read(%r)
    }
after:
    def @main(%x: float32) {
      let %r = ref(%x);
      let %v = exp(%x);
      let %u = ref_write(%r, %v);
      %v
    }

keep:
    def @main(%f: fn (float32) -> float32, %x: float32) { let %y = %f(%x); %y }
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

from passlab.analysis.call_graph import CallGraph
from passlab.analysis.purity import LocalPurity
from passlab.infer import infer_module
from passlab.ir.adt import Clause, Constructor, pattern_vars
from passlab.ir.equal import structural_equal
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
from passlab.ir.kept_types import keep_type, typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call
from passlab.ir.op import Op
from passlab.ir.types import IncompleteType, Type, TypeVar
from passlab.ir.variables import free_vars
from passlab.ir.walk import make_lets, may_rewrite, note_rewrite, post_order, rebuild, substitute, use_counts
from passlab.passes.fold.partial_values import Bindings, KnownFunction, Store, Value, burn, fits, fuel_of, knowledge
from passlab.rewriting.constant_values import UNKNOWN, operator_value
from passlab.rewriting.fresh_copy import binders, shallow_copy
from passlab.rewriting.let_binding import bind_beside_effects, first_free_number, is_atom
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

# Online partial evaluation: evaluate the known parts of a program now, and emit the rest as lets.

Run = Generator[Any, Any, Value]
Residue = list[tuple[Var, Expr]]

# The budget of emitted bindings for all global functions, and for each node; beyond it calls are not inlined.
_BUDGET = 20_000
_BUDGET_PER_NODE = 20


def partially_evaluated(mod: IRModule) -> dict[str, Function]:
    """Return the global functions of a typed module, partially evaluated; unchanged functions are the same objects.

    Types are needed because an inlined call loses the types of its parameters: calls of generic functions, and
    constructors, must state their type arguments beforehand.
    """
    closures = {n: KnownFunction(_without_sharing(f, mod), Bindings()) for n, f in mod.items() if not _is_opaque(f)}
    residual_calls: dict[Call, int] = {}
    budget = _BUDGET
    for name in CallGraph(mod).topological_order():  # callees first
        if name in closures:
            budget = _PartialEvaluator(mod, closures, residual_calls, budget).function(name)
    result = {}
    for name, closure in closures.items():
        new = closure.residual
        assert new is not None
        result[name] = mod[name] if structural_equal(new, mod[name], exact=True) else new
    return result


def _is_opaque(function: Function) -> bool:
    return function.is_primitive or bool(function.attrs.get("Compiler"))


def _without_sharing(function: Function, mod: IRModule) -> Function:
    """Return a function in which each shared expression is bound by a let."""
    shared = {node for node, count in use_counts(function.body).items() if count > 1 and not is_atom(node)}
    return bind_beside_effects(function, mod, shared.__contains__) if shared else function


def _drive(root: Any) -> Any:
    """Run a generator and those it yields; return its result. Any other value is already a result."""
    stack: list[Run] = [root]
    value: Any = None
    while stack:
        try:
            child = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        else:
            if type(child) is Value:
                value = child
            else:
                stack.append(child)
                value = None
    return value


class _PartialEvaluator:
    """Evaluates one global function."""

    def __init__(
        self, mod: IRModule, closures: Mapping[str, KnownFunction], residual_calls: dict[Call, int], budget: int
    ) -> None:
        self.closures = closures
        self.mod = mod
        self.residual_calls = residual_calls  # with the number of known facts about their operands
        self.globals: dict[str, Value] = {}
        self.atoms = Bindings()  # the values of the variables of the result
        self.store = Store()
        self.fuel: dict[Function, Any] = {}  # of the calls that are being inlined
        self.unused_binders: set[Any] = set()  # binders of the function that are not in the result yet
        self.clock = 0  # the creation number of the last value
        self.count = 0  # of new variables
        self.emitted = 0  # bindings
        self.budget = budget
        self.nodes: set[Expr] = set()  # nodes of the result
        self.purity = LocalPurity()

    def function(self, name: str) -> int:
        """Compute the residual form of a global function; return the remaining budget."""
        function = self.closures[name].function
        nodes = post_order(function)
        self.count = first_free_number(nodes)
        own = _BUDGET_PER_NODE * len(nodes)
        budget, self.budget = self.budget, self.budget + own
        for n in nodes:
            self.unused_binders.update((*binders(n), *(n.type_params if type(n) is Function else ())))
        _drive(self._residual(self._global(self.mod.get_global_var(name))))
        return max(0, budget - max(0, self.emitted - own))

    # ------------------------------------------------------------ values and emitted bindings
    def _value(self, atom: Expr, **facts: Any) -> Value:
        self.clock += 1
        value = Value(atom, self.clock, **facts)
        if type(atom) is Var:
            self.atoms.values[atom] = value
        return value

    def _push(self, out: Residue, expr: Expr, name: Var | None, **facts: Any) -> Value:
        """Emit `let name = expr` and return the value.

        A node that was emitted before is copied: a shared node would be evaluated once.
        """
        var = name or self._fresh(expr._checked_type)
        if expr in self.nodes:
            expr = shallow_copy(expr)
        self.nodes.add(expr)
        out.append((var, expr))
        self.emitted += 1
        return self._value(var, **facts)

    def _fresh(self, ty: Type | None = None) -> Var:
        """Return a new variable, annotated with the type of its value if that is known."""
        self.count += 1
        name = f"x_{self.count - 1}"
        return Var(name) if ty is None else typed_var(name, ty)

    def _binder(self, var: Var, frame: Bindings) -> Var:
        """Return the variable that replaces the binder `var`: `var` itself the first time, then a copy."""
        annotation = frame.replace_type_params(var.type_annotation)
        if var in self.unused_binders and annotation is var.type_annotation:
            self.unused_binders.remove(var)
            return var
        return Var(var.name_hint, annotation, var.span, var.virtual_device)

    def _compute(self, data: Any, out: Residue, name: Var | None) -> Value | None:
        """Emit a computed array or tuple of arrays; return None for other values."""
        if isinstance(data, np.ndarray):
            return self._push(out, Constant(data), name, data=data)
        if not isinstance(data, tuple) or not all(isinstance(d, np.ndarray) for d in data):
            return None
        fields = tuple(self._push(out, Constant(d), None, data=d) for d in data)
        return self._push(out, Tuple([f.atom for f in fields]), name, fields=fields)

    def _replaced_by(self, expr: Expr, value: Value, rule: str) -> Value:
        """Record that a rule replaced an expression by a known value, and return the value."""
        note_rewrite(expr, value.atom, rule)
        return value

    # ------------------------------------------------------------ running
    def _run(self, expr: Expr, frame: Bindings, out: Residue, name: Var | None = None) -> Any:
        """Return the value of an atom, or a generator that computes the value of any other expression."""
        kind = type(expr)
        if type(expr) is Var:
            return frame.find(expr) or self._value(expr)
        if type(expr) is Constant:
            return self._push(out, expr, name, data=expr.data)
        if type(expr) is GlobalVar:
            return self._global(expr)
        if type(expr) is Op or type(expr) is Constructor:
            return self._value(expr)
        return _RUN[kind](self, expr, frame, out, name)

    def _global(self, name: GlobalVar) -> Value:
        facts = self.globals.get(name.name_hint)
        if facts is None:
            closure = self.closures.get(name.name_hint)
            facts = self.globals[name.name_hint] = self._value(name, closure=closure)
        return facts

    def _let(self, expr: Any, frame: Bindings, out: Residue, name: Var | None) -> Run:
        while type(expr) is Let:
            if type(expr.value) is Function:
                yield self._literal(expr.value, frame, out, None, expr.var)
            else:
                frame.values[expr.var] = yield self._run(expr.value, frame, out, self._binder(expr.var, frame))
            expr = expr.body
        value: Value = yield self._run(expr, frame, out, name)
        return value

    def _tuple(self, expr: Tuple, frame: Bindings, out: Residue, name: Var | None) -> Run:
        fields: list[Value] = []
        for field in expr.fields:
            fields.append((yield self._run(field, frame, out)))
        return self._push(out, expr.with_fields(fields=[f.atom for f in fields]), name, fields=tuple(fields))

    def _field(self, expr: TupleGetItem, frame: Bindings, out: Residue, name: Var | None) -> Run:
        whole: Value = yield self._run(expr.tuple_value, frame, out)
        if whole.fields is not None and may_rewrite("field of a known tuple"):
            return self._replaced_by(expr, whole.fields[expr.index], "field of a known tuple")
        return self._push(out, expr.with_fields(tuple_value=whole.atom), name)

    def _new_ref(self, expr: RefCreate, frame: Bindings, out: Residue, name: Var | None) -> Run:
        value: Value = yield self._run(expr.value, frame, out)
        cell = self._push(out, expr.with_fields(value=value.atom), name, is_cell=True)
        self.store.write(cell, value)
        return cell

    def _read(self, expr: RefRead, frame: Bindings, out: Residue, name: Var | None) -> Run:
        cell: Value = yield self._run(expr.ref, frame, out)
        contents = self.store.read(cell)
        if contents is not None and may_rewrite("read of a known reference"):
            return self._replaced_by(expr, contents, "read of a known reference")
        return self._push(out, expr.with_fields(ref=cell.atom), name)

    def _write(self, expr: RefWrite, frame: Bindings, out: Residue, name: Var | None) -> Run:
        cell: Value = yield self._run(expr.ref, frame, out)
        value: Value = yield self._run(expr.value, frame, out)
        if cell.is_cell:
            self.store.write(cell, value)
        else:
            self.store.forget()
        return self._push(out, expr.with_fields(ref=cell.atom, value=value.atom), name, fields=())

    # ------------------------------------------------------------ branches
    def _if(self, expr: If, frame: Bindings, out: Residue, name: Var | None) -> Run:
        cond: Value = yield self._run(expr.cond, frame, out)
        if cond.data is not UNKNOWN and may_rewrite("branch of a known condition"):
            value: Value = yield self._run(expr.true_branch if bool(cond.data) else expr.false_branch, frame, out, name)
            return self._replaced_by(expr, value, "branch of a known condition")
        yes, yes_writes = yield self._branch(expr.true_branch, frame)
        no, no_writes = yield self._branch(expr.false_branch, frame)
        if yes_writes or no_writes:
            self.store.forget()
        return self._push(out, expr.with_fields(cond=cond.atom, true_branch=yes, false_branch=no), name)

    def _branch(self, branch: Expr, frame: Bindings) -> Generator[Any, Any, Any]:
        """Evaluate a branch that may not be taken: return its residual code, and whether it may write references."""
        out: Residue = []
        mark = self.store.mark()
        result: Value = yield self._run(branch, frame, out)
        return make_lets(out, result.atom), self.store.undo(mark)

    def _match(self, expr: Match, frame: Bindings, out: Residue, name: Var | None) -> Run:
        data: Value = yield self._run(expr.data, frame, out)
        for clause in expr.clauses:
            bound: dict[Var, Value] = {}
            fit = fits(clause.lhs, data, bound)
            if fit and not may_rewrite("arm for known data"):
                break
            if fit:
                frame.values.update(bound)
                value: Value = yield self._run(clause.rhs, frame, out, name)
                return self._replaced_by(expr, value, "arm for known data")
            if fit is None:
                break
        result, any_writes = [], False
        for clause in expr.clauses:
            renaming: dict[Expr, Expr] = {v: self._binder(v, frame) for v in pattern_vars(clause.lhs)}
            frame.values.update((v, self._value(binder)) for v, binder in renaming.items())  # type: ignore[misc]
            rhs, writes = yield self._branch(clause.rhs, frame)
            any_writes = any_writes or writes
            result.append(_rename_arm(clause, renaming, rhs))
        if any_writes:
            self.store.forget()
        if not result and expr.checked_type_ is not None:  # a match without arms states its type nowhere else
            name = Var((name or self._fresh()).name_hint, frame.replace_type_params(expr.checked_type_))
        return self._push(out, Match(data.atom, result, expr.complete, expr.span), name)

    # ------------------------------------------------------------ functions
    def _literal(
        self, function: Function, frame: Bindings, out: Residue, name: Var | None, var: Var | None = None
    ) -> Run:
        """Evaluate a function literal; if it is bound to `var`, it may call itself by that name."""
        name = self._binder(var, frame) if var is not None else name or self._fresh()
        self.emitted += 1
        value = self._value(name, closure=None if function.attrs.get("Compiler") else KnownFunction(function, frame))
        if var is not None:
            frame.values[var] = value
        position = len(out)
        out.append((name, function))
        if _is_opaque(function):
            captured: dict[Expr, Expr] = {v: (frame.find(v) or self._value(v)).atom for v in free_vars(function)}
            out[position] = (name, substitute(function, captured))
        else:
            out[position] = (name, (yield self._residual(value)))
        return value

    def _residual(self, value: Value) -> Generator[Any, Any, Any]:
        """Return the residual form of a known function, for unknown callers, and store it in its closure."""
        assert value.closure is not None
        function, outer = value.closure.function, value.closure.frame
        emitted = self.emitted
        type_params = tuple(
            t if t in self.unused_binders else TypeVar(t.name_hint, t.kind) for t in function.type_params
        )
        self.unused_binders.difference_update(type_params)
        types = dict(zip(function.type_params, type_params, strict=True))
        renamed = any(a is not b for a, b in types.items())
        frame = Bindings(outer, {**outer.types, **types} if renamed else None)
        params = tuple(self._binder(p, frame) for p in function.params)
        arguments = [self._value(p) for p in params]
        frame.values.update(zip(function.params, arguments, strict=True))
        fuel = self.fuel.get(function)
        self.fuel[function] = fuel_of((value, *arguments))
        mark = self.store.mark()
        self.store.forget()
        out: Residue = []
        result: Value = yield self._run(function.body, frame, out)
        self.store.undo(mark)
        self._set_fuel(function, fuel)
        body = make_lets(out, result.atom)
        ret = frame.replace_type_params(function.ret_type)
        residual = function.with_fields(params=params, body=body, ret_type=ret, type_params=type_params)
        value.closure.residual, value.closure.size = residual, self.emitted - emitted
        return residual

    def _set_fuel(self, function: Function, fuel: Any) -> None:
        if fuel is None:
            del self.fuel[function]
        else:
            self.fuel[function] = fuel

    def _call(self, call: Call, frame: Bindings, out: Residue, name: Var | None) -> Run:
        # Arguments come before the callee. A pure callee comes first, as in Relay: its order does not matter.
        first = call.op if self.purity.of(call.op) else None
        values: dict[Expr, Value] = {}
        for part in (first, *call.args, call.op):
            if part is not None and part not in values:
                value = self._run(part, frame, out)
                values[part] = value if type(value) is Value else (yield value)
        callee, args = values[call.op], [values[arg] for arg in call.args]
        types = tuple([frame.replace_type_params(t) for t in call._type_args])
        residual = _residual_call(call, (callee.atom, *[a.atom for a in args]), types)
        if type(callee.atom) is Op:
            data = operator_value(callee.atom, call.attrs, [a.data for a in args])
            value = self._compute(data, out, name) if data is not UNKNOWN and may_rewrite("known operator") else None
            return (
                self._push(out, residual, name) if value is None else self._replaced_by(call, value, "known operator")
            )
        if type(callee.atom) is Constructor:
            return self._push(out, residual, name, fields=tuple(args), constructor=callee.atom)
        if callee.closure is not None:
            facts = sum(map(knowledge, args))
            if facts > self.residual_calls.get(call, -1):
                result: Value | None = yield self._inline(callee, args, types, out, name)
                if result is not None:
                    return self._replaced_by(call, result, "call of a known function")
            self.residual_calls[residual] = facts
        self.store.forget()
        return self._push(out, residual, name)

    def _inline(
        self, callee: Value, args: list[Value], types: tuple[Type, ...], out: Residue, name: Var | None
    ) -> Generator[Any, Any, Any]:
        """Inline a known function; return None if the recursion might not end."""
        closure = callee.closure
        assert closure is not None
        function = closure.function
        if len(args) != len(function.params) or self.emitted + closure.size > self.budget:
            return None
        outer_fuel, fuel = self.fuel.get(function), fuel_of((callee, *args))
        if outer_fuel is not None:
            remaining = burn(outer_fuel, fuel)
            if remaining is None:
                return None
            fuel = remaining
        if not may_rewrite("call of a known function"):
            return None
        body, outer = (closure.residual, self.atoms) if closure.residual is not None else (function, closure.frame)
        frame = Bindings(outer, _type_arguments(body, types, outer))
        frame.values.update(zip(body.params, args, strict=True))
        if function.is_primitive:
            if any(a.data is UNKNOWN for a in args):
                return None
            result: Value = yield self._run(function.body, frame, [])
            return self._compute(result.data, out, name)
        self.fuel[function] = fuel
        result = yield self._run(body.body, frame, out, name)
        self._set_fuel(function, outer_fuel)
        return result


def _residual_call(call: Call, parts: tuple[Expr, ...], types: tuple[Type, ...]) -> Call:
    """Return a call of other operands, with its type if all types are the same."""
    result = new_call(parts[0], parts[1:], call.attrs, types, call.span)
    if types == call._type_args:
        keep_type(call, result, (call.op, *call.args), parts)
    return result


def _rename_arm(clause: Clause, renaming: Mapping[Expr, Expr], rhs: Expr) -> Clause:
    """Return an arm with its variables renamed and its residual body."""
    bare = Match(Tuple(()), [Clause(clause.lhs, Tuple(()))])
    result: Any = rebuild(bare, lambda node: renaming.get(node, node))
    return Clause(result.clauses[0].lhs, rhs, clause.span)


def _type_arguments(function: Function, value: tuple[Type, ...], outer: Bindings) -> Mapping[TypeVar, Type] | None:
    """Return the type arguments of a function body; inference determines those that the call does not have."""
    if not function.type_params:
        return None
    if len(value) != len(function.type_params):
        value = tuple(IncompleteType(t.kind) for t in function.type_params)
    return {**outer.types, **dict(zip(function.type_params, value, strict=True))}


_RUN: dict[type, Callable[..., Any]] = {
    Let: _PartialEvaluator._let,
    Call: _PartialEvaluator._call,
    Tuple: _PartialEvaluator._tuple,
    TupleGetItem: _PartialEvaluator._field,
    RefCreate: _PartialEvaluator._new_ref,
    RefRead: _PartialEvaluator._read,
    RefWrite: _PartialEvaluator._write,
    If: _PartialEvaluator._if,
    Match: _PartialEvaluator._match,
    Function: _PartialEvaluator._literal,
}


@standard_pass(opt_level=1, contract=EXACT, name="PartialEval")
class PartialEvaluate(ModulePass):
    """Evaluate operators of known arguments, select known branches and arms, and inline calls of known functions.

    Tuples, ADT values, functions and references are tracked field by field, so one unknown field does not make the rest
    unknown. A write to an unknown reference invalidates the tracked contents of all references. The residual program is
    a chain of lets, many of them unused: run DeadCodeElimination afterwards. Operators with effects stay. A recursive
    call is inlined while an argument is a smaller natural number, or an older value, than in the enclosing call, and
    until the result is about twenty times the size of the program. Functions for other compilers are not changed. The
    result is typed.

    Shared expressions are bound by lets first; Relay rejects such programs.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        typed = infer_module(mod)
        changed = {name: f for name, f in partially_evaluated(typed).items() if f is not typed[name]}
        if not changed:
            return mod
        result = infer_module(typed.with_functions(changed))
        for name in changed:
            note_rewrite(mod[name], result[name])
        return mod.with_functions({name: result[name] for name in changed})
