"""Compute in a shorter floating-point type where that is safe.

before: missing_op_mode=2
    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) { nn.softmax(nn.relu(nn.dense(%x, %w))) }
after:
    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) {
      %0 = nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float16");
      nn.softmax(cast(nn.relu(%0), dtype="float32"))
    }

keep: missing_op_mode=2
    def @main(%x: Tensor[(4), float32]) { exp(exp(%x)) }
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from passlab.analysis.call_graph import named_functions
from passlab.errors import Diagnostic, PassError, PassValueError
from passlab.infer import infer_expr
from passlab.ir.adt import Clause
from passlab.ir.attrs import Attrs
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    set_span,
)
from passlab.ir.kept_types import typed_let, typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call
from passlab.ir.op import Op, Precision
from passlab.ir.types import TensorType, TupleType, Type, map_type
from passlab.ir.walk import LEAVES, may_rewrite, note_rewrite, post_order, rebuild, result_of
from passlab.op import make
from passlab.op.dtypes import array_dtype, float_info, is_float_name
from passlab.rewriting.node_types import NodeTypes
from passlab.rewriting.tuple_values import fieldwise
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass

# Rewriting a typed function to compute in a shorter floating-point type where its operators allow it.

_INPUTS = (Var, Constant)  # which may be cast
_LEAVES = frozenset(LEAVES)
_WITH_OUT_DTYPE = ("Conv", "DeformableConv", "Dense", "BatchMatmul")


class MixedPrecision:
    """Converts one function. `missing` counts the calls of operators without a precision rule."""

    def __init__(self, short: str) -> None:
        self.short = short
        self.types = NodeTypes()
        self.missing: dict[str, int] = {}
        self._name = ""  # the name of the rewrite of the current node
        self._casts: dict[tuple[Expr, str], Expr] = {}
        self._changed_types: dict[Type, bool] = {}
        self._cast_types: dict[tuple[Type, str], Type] = {}
        self._result: dict[Expr, Expr] = {}

    def convert(self, function: Function, keep_result: bool) -> Function:
        """Return the converted function; `keep_result` casts its result back to the original type."""
        order = post_order(function)
        binders: dict[Expr, list[Let]] = {}
        for node in order:
            if type(node) is Let:
                binders.setdefault(node.var if type(node.value) is Var else node.value, []).append(node)
        called = {n.op for n in order if type(n) is Call and type(n.op) is Function and not n.op.type_params}
        self._closed = {n for n in order if type(n) is Function and n not in called and n is not function}
        if keep_result:
            self._closed.add(function)
        for node in order:
            if type(node) not in _LEAVES:
                self._name = ""
                result = self._node(node)
                if result is not node:
                    set_span(result, node.span)
                    note_rewrite(node, result, self._name)
                    self._result[node] = result
            for let in binders.get(node, ()):
                ty = self.types.of(self._new(let.value))
                if ty is not None and ty is not let.value.checked_type_:
                    self._result[let.var] = typed_var(let.var.name_hint, ty, let.var.span, let.var.virtual_device)
        return result_of(function, self._result)

    def _new(self, node: Expr) -> Expr:
        return self._result.get(node, node)

    # ------------------------------------------------------------ nodes
    def _node(self, node: Expr) -> Expr:
        if type(node) is Call:
            return self._op_call(node) if type(node.op) is Op else self._call(node)
        if type(node) is Function:
            return self._function(node)
        if type(node) is If:
            true_branch, false_branch = self._with_one_type([node.true_branch, node.false_branch])
            return node.with_fields(cond=self._new(node.cond), true_branch=true_branch, false_branch=false_branch)
        if type(node) is Match:
            return self._match(node)
        if type(node) is RefCreate:
            return node.with_fields(value=self._original(node.value))
        if type(node) is RefWrite:
            return node.with_fields(ref=self._new(node.ref), value=self._original(node.value))
        if type(node) is Let:
            return self._let(node)
        return rebuild(node, self._new)

    def _let(self, let: Let) -> Expr:
        get = self._result.get
        var, value, body = get(let.var, let.var), get(let.value, let.value), get(let.body, let.body)
        if value is let.value and body is let.body and var is let.var:
            return let
        assert isinstance(var, Var)
        return typed_let(var, value, body, let.span)

    def _call(self, call: Call) -> Expr:
        """Call a function, constructor or variable with arguments of its original parameter types.

        The result keeps its type, unless the callee is a function literal, which may be converted.
        """
        args = tuple(self._original(a) for a in call.args)
        same = all(a is b for a, b in zip(args, call.args, strict=True))
        result: Expr = call.with_fields(op=self._new(call.op), args=call.args if same else args)
        if result is not call and (type(call.op) is not Function or call.op in self._closed):
            self.types.set_type(result, call.checked_type_)
        return result

    def _function(self, function: Function) -> Expr:
        if function.is_primitive:
            return function
        body = self._original(function.body) if function in self._closed else self._new(function.body)
        if body is function.body:
            return function
        keeps = function in self._closed
        return function.with_fields(body=body, ret_type=function.ret_type if keeps else None)

    def _match(self, match: Match) -> Expr:
        arms = self._with_one_type([c.rhs for c in match.clauses])
        data = self._new(match.data)
        if data is match.data and all(a is c.rhs for a, c in zip(arms, match.clauses, strict=True)):
            return match
        clauses = [Clause(c.lhs, arm, c.span) for c, arm in zip(match.clauses, arms, strict=True)]
        return Match(data, clauses, match.complete, match.span)

    def _with_one_type(self, branches: Sequence[Expr]) -> list[Expr]:
        """Return branches of one type: the results if their types are equal, else each cast to its original type."""
        results = [self._new(b) for b in branches]
        equal = len({self.types.of(b) for b in results}) == 1
        return results if equal else [self._original(b) for b in branches]

    def _original(self, pre: Expr) -> Expr:
        """Return the new form of a node, cast to its original type."""
        ty, result = pre.checked_type_, self._new(pre)
        return result if ty is None or result is pre else self._to_type(result, ty)

    # ------------------------------------------------------------ operators
    def _op_call(self, call: Call) -> Expr:
        category, accumulate, result = self._category(call)
        get = self._result.get
        args = [get(a, a) for a in call.args]
        changes = [self._changes(self.types.of(a)) for a in args]
        if category is Precision.FOLLOW and not self._can_follow(args, changes):
            category = Precision.NEVER
        attrs = self._short_attrs(call, accumulate)
        self._name = f"{call.op.name} in {self.short}"  # type: ignore[attr-defined]
        is_changed = any(changes) or attrs is not call.attrs  # by itself, not only in its arguments
        if category is Precision.NEVER or (is_changed and not may_rewrite(self._name)):
            self._name = ""
            return self._with_args(call, [self._original(a) for a in call.args], call.attrs)
        if any(changes):
            args = [self._to_dtype(a, self.short) if change else a for a, change in zip(args, changes, strict=True)]
        output = self._with_args(call, args, attrs)
        return output if accumulate == result else self._to_dtype(output, result)

    def _can_follow(self, args: list[Expr], changes: list[bool | None]) -> bool:
        """Return whether all arguments are short already, or may be cast."""
        return all(change is False or type(a) in _INPUTS for a, change in zip(args, changes, strict=True))

    def _with_args(self, call: Call, args: list[Expr], attrs: Any) -> Expr:
        operands = tuple(args)
        if attrs is call.attrs and operands == call.args:  # expressions are compared by identity
            return call
        return new_call(call.op, operands, attrs, (), call.span)

    def _category(self, call: Call) -> tuple[Precision, str, str]:
        """Return the category of a call, the dtype it accumulates in and the dtype of its result."""
        op: Any = call.op
        registered = op.spec.extra.get("FTVMMixedPrecisionConversionType")
        if registered is not None:
            kind, accumulate, result = registered(call, self.short)
            return Precision(int(kind)), str(accumulate), str(result)
        kind = op.spec.precision
        if kind is None:  # an unknown operator counts as FOLLOW
            self.missing[op.name] = self.missing.get(op.name, 0) + 1
            kind = Precision.FOLLOW
        if op.name == "clip" and self._bounds_overflow(call):
            kind = Precision.NEVER
        return kind, self.short, self.short

    def _bounds_overflow(self, call: Call) -> bool:
        dtype = array_dtype(self.short)
        largest = float(float_info(dtype).max)
        attrs: Any = call.attrs
        return bool(abs(attrs.a_min) > largest or abs(attrs.a_max) > largest)

    def _short_attrs(self, call: Call, dtype: str) -> Attrs | None:
        attrs: Attrs | None = call.attrs
        ty = call.checked_type_
        if attrs is None or (ty is not None and not any(map(is_float_name, _dtypes(ty)))):
            return attrs  # an integer operator stays integer: an empty dtype is that of the arguments
        kind = attrs.type_key.rpartition(".")[2]
        name = "dtype" if kind == "InitOpAttrs" else "out_dtype" if kind.startswith(_WITH_OUT_DTYPE) else ""
        if not name or name not in attrs or not (attrs[name] == "" or is_float_name(attrs[name])):
            return attrs
        return attrs if attrs[name] == dtype else attrs.with_fields(**{name: dtype})

    def _changes(self, ty: Type | None) -> bool | None:
        """Return whether a cast to the short dtype changes values of a type, None for an unknown type."""
        if ty is None:
            return None
        changes = self._changed_types.get(ty)
        if changes is None:
            changes = self._changed_types[ty] = self._with_dtype(ty, self.short) is not ty
        return changes

    # ------------------------------------------------------------ casts
    def _cast(self, expr: Expr, dtype: str, name: str) -> Expr:
        if dtype == name or not is_float_name(dtype):
            return expr
        cached = self._casts.get((expr, name))
        if cached is None:
            cached = make("cast", expr, dtype=name)
            self._casts[(expr, name)] = cached
            self._casts[(cached, dtype)] = expr
        return cached

    def _to_dtype(self, expr: Expr, name: str) -> Expr:
        """Return a tensor, or tuple of tensors, with its floating parts cast to a dtype."""
        ty = self.types.of(expr)
        return expr if ty is None else self._to_type(expr, self._with_dtype(ty, name))

    def _to_type(self, expr: Expr, target: Type) -> Expr:
        """Return an expression cast to a type that differs in floating dtypes."""
        ty = self.types.of(expr)
        if ty is target or ty is None:
            return expr
        return fieldwise([expr], [ty, target], self._cast_leaf, _rejoin)

    def _with_dtype(self, ty: Type, dtype: str) -> Type:
        """Return a type with another dtype for its floating tensors."""
        cached = self._cast_types.get((ty, dtype))
        if cached is not None:
            return cached

        def leaf(part: Type) -> Type | None:
            floating = type(part) is TensorType and is_float_name(part.dtype)
            return TensorType(part.shape, dtype) if floating else None  # type: ignore[attr-defined]

        result = self._cast_types[ty, dtype] = map_type(ty, leaf)
        return result

    def _cast_leaf(self, values: tuple[Expr, ...], types: tuple[Type, ...]) -> Expr:
        ty, target = types
        if type(ty) is TensorType and type(target) is TensorType:
            return self._cast(values[0], ty.dtype, target.dtype)
        return values[0]


def _rejoin(fields: list[Expr], values: tuple[Expr, ...]) -> Expr:
    """Return a tuple of fields, or the tuple whose projections they are."""
    whole = values[0]
    for i, field in enumerate(fields):
        unchanged = field is whole.fields[i] if type(whole) is Tuple else _is_field(field, whole, i)
        if not unchanged:
            return Tuple(fields)
    return whole


def _is_field(field: Expr, whole: Expr, index: int) -> bool:
    return type(field) is TupleGetItem and field.tuple_value is whole and field.index == index


def _dtypes(ty: Type) -> set[str]:
    """Return the dtypes of the tensors in a type."""
    result, stack = set(), [ty]
    while stack:
        part = stack.pop()
        if type(part) is TensorType:
            result.add(part.dtype)
        elif type(part) is TupleType:
            stack += part.fields
    return result


_log = logging.getLogger("passlab.ToMixedPrecision")


@standard_pass(opt_level=0, contract=None)
class ToMixedPrecision(FunctionPass):
    """Cast to `mixed_precision_type` around operators that benefit, and back around those that need the range.

    Operators are ALWAYS short (convolutions, matrix products), NEVER (exp, softmax, sums), or FOLLOW their arguments.
    `missing_op_mode` chooses how to report operators without a rule, which follow their inputs: 0 an error, 1 a warning
    in the log, 2 nothing. The result types are kept for functions that others call and for functions that are stored or
    passed on; `relay.ToMixedPrecision.keep_orig_output_dtype` keeps them for all functions.

    Where Relay casts to float32, arguments are cast back to their original type, so float64 programs keep their
    precision; branches, references and data keep one type.
    """

    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def __post_init__(self) -> None:
        if self.missing_op_mode not in (0, 1, 2):
            raise PassValueError(
                Diagnostic(
                    "missing_op_mode must be 0, 1 or 2", found=str(self.missing_op_mode), hint="1 warns, 2 is silent"
                )
            )
        if not is_float_name(self.mixed_precision_type):
            raise PassValueError(
                Diagnostic(
                    "the type to compute in must be floating",
                    expected="float16 or bfloat16",
                    found=self.mixed_precision_type,
                )
            )

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive:
            return func
        typed: Any = func if func.checked_type_ is not None else infer_expr(func, mod)
        keep = bool(ctx.get_config("relay.ToMixedPrecision.keep_orig_output_dtype")) or func in named_functions(mod)
        work = MixedPrecision(self.mixed_precision_type)
        result = work.convert(typed, keep)
        if work.missing and self.missing_op_mode < 2:
            listed = ", ".join(f"{name} ({count})" for name, count in work.missing.items())
            if self.missing_op_mode == 0:
                raise PassError(
                    Diagnostic(
                        f"nothing is known about the precision of some operators: {listed}",
                        hint="set missing_op_mode=2, or use `relay.op.register_mixed_precision_conversion`",
                    )
                )
            _log.warning(
                "nothing is known about the precision of these operators, which follow their arguments: %s", listed
            )
        return func if result is typed else result
