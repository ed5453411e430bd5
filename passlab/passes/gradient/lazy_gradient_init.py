"""Avoid computing zeros and ones that are only added and multiplied.

before:
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(exp(%x), ones_like(%x)) }
after:
    type GradCell[T] { Raw(T), One(fn () -> T), Zero(fn () -> T), }
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
      let %x1 = Raw(%x);
      let %result = {
        %0 = fn (%l: Tensor[(2), float32], %r: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(%l, %r) };
        %1 = Raw(exp(@FromGradCell(%x1)));
        @MultiplyGradCell(%0, %1, {
          let %like = %x1;
          One(fn () -> Tensor[(2), float32] { ones_like(@FromGradCell(%like)) })
        })
      };
      @FromGradCell(%result)
    }
    def @FromGradCell[T](%g: GradCell[T]) -> T {
      match (%g) { Raw(%v) => { %v }, One(%m) => { %m() }, Zero(%n) => { %n() } }
    }
    def @MultiplyGradCell[T](%f: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
      match ((%l, %r)) {
        (Zero(_), _) => { %l },
        (_, Zero(_)) => { %r },
        (One(_), _) => { %r },
        (_, One(_)) => { %l },
        (Raw(%x), Raw(%y)) => { Raw(%f(%x, %y)) },
      }
    }
    def @AddGradCell[T](%f: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
      match ((%l, %r)) {
        (Zero(_), _) => { %r },
        (_, Zero(_)) => { %l },
        (_, _) => { Raw(%f(@FromGradCell(%l), @FromGradCell(%r))) },
      }
    }

keep:
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(exp(%x), %x) }
"""

from __future__ import annotations

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Match, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.types import FuncType, TensorType, TupleType, Type, map_type, type_nodes
from passlab.ir.walk import children, make_lets, note_rewrite, outside_kernels, post_order, rebuild
from passlab.rewriting.tuple_values import fieldwise
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, standard_pass

# Lazy evaluation of gradients: every tensor is wrapped in a `GradCell` of the standard library.

_FILLS = {"zeros": "Zero", "zeros_like": "Zero", "ones": "One", "ones_like": "One"}
_LAZY = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}
_LIBRARY = ("FromGradCell", "AddGradCell", "MultiplyGradCell")


def wrap_in_cells(function: Function, mod: IRModule) -> Function:
    """Return a typed function in which zeros and ones stay symbolic while they are added and multiplied.

    The types of parameters and results stay. The function itself is returned if it has no zeros or ones, or uses more
    than tensors, tuples, references, closures and branches. The library of cells is added to `mod`. Raises
    `DiagnosticError` if `mod` defines its names differently.
    """
    order = post_order(function.body, enter=outside_kernels)
    has_fills = any(is_op_call(n) and n.op.name in _FILLS for n in order)
    if not has_fills or function.type_params or not _is_supported(function, order):
        return function
    _import_library(mod)
    result = _Cells(mod).wrap(function, order)
    note_rewrite(function, result)
    return result


def _is_plain(ty: Type) -> bool:
    return all(type(t) is TensorType or type(t) is TupleType for t in type_nodes(ty))


def _is_supported(function: Function, order: list[Expr]) -> bool:
    """Return True if all nodes of the program can be applied to cells."""
    called = {n.op for n in order if type(n) is Call}
    values = {kid for n in order for kid in (n.args if type(n) is Call else children(n))}
    for node in order:
        if type(node) is Match or type(node) is Constructor or (type(node) is Function and node.type_params):
            return False
        direct = type(node) is GlobalVar or (type(node) is Function and node.is_primitive)
        if (direct or type(node) is Op) and (node in values or node not in called):
            return False
        if direct and not _is_plain_function(node.checked_type):
            return False
        if is_op_call(node) and not all(_is_plain(e.checked_type) for e in (node, *node.args)):
            return False  # an annotation of a reference
    return all(_is_plain(p.checked_type) for p in function.params) and _is_plain(function.body.checked_type)


def _is_plain_function(ty: Type) -> bool:
    return type(ty) is FuncType and not ty.type_params and all(map(_is_plain, (*ty.arg_types, ty.ret_type)))


def _import_library(mod: IRModule) -> None:
    data = mod.find_type("GradCell")
    existing = [name for name in _LIBRARY if name in mod]
    if data is None and not existing:
        mod.import_from_std("gradient.rly")
        return
    names = [c.name_hint for c in data.constructors] if data is not None else []
    if names != ["Raw", "One", "Zero"] or len(existing) < len(_LIBRARY):
        what = "the module has its own definition of GradCell or of functions of its library"
        raise DiagnosticError(
            Diagnostic(what, hint="rename them: `import_from_std` imports the definitions of gradient.rly")
        )


class _Cells:
    """The rewriting of one function."""

    def __init__(self, mod: IRModule) -> None:
        data = mod.type_data("GradCell")
        self._cell = data.header
        self._make = {c.name_hint: c for c in data.constructors}
        self._library = {name: mod.get_global_var(name) for name in _LIBRARY}
        self._result: dict[Expr, Expr] = {}
        self._unwrapped: dict[Expr, Expr] = {}  # tensors, and tuples of them

    def wrap(self, function: Function, order: list[Expr]) -> Function:
        """Return a function on tensors that calls the one on cells."""
        inputs = [(self._var(p), self._wrap(p, p.checked_type)) for p in function.params]
        for node in order:
            output = self._node(node)
            if output is not node:
                self._result[node] = output
        result = Var("result", self._convert_type(function.body.checked_type))
        body = Let(result, self._new(function.body), self._unwrap(result, function.body.checked_type))
        return function.with_fields(body=make_lets(inputs, body))

    def _convert_type(self, ty: Type | None) -> Type | None:
        return None if ty is None else map_type(ty, lambda t: self._cell(t) if type(t) is TensorType else None)

    def _new(self, node: Expr) -> Expr:
        return self._result.get(node, node)

    def _var(self, var: Var) -> Var:
        result = self._result.get(var)
        if result is None:
            ty = var.type_annotation if var.type_annotation is not None else var.checked_type
            result = self._result[var] = Var(var.name_hint, self._convert_type(ty), var.span, var.virtual_device)
        return result  # type: ignore[return-value]

    # ------------------------------------------------------------ into cells and out of them
    def _wrap(self, value: Expr, ty: Type) -> Expr:
        """Return a value of tensors wrapped in cells."""
        return fieldwise([value], [ty], lambda v, t: Call(self._make["Raw"], v, None, t), part=TupleGetItem)

    def _unwrap(self, value: Expr, ty: Type) -> Expr:
        """Return a value in cells unwrapped to tensors."""
        read = self._library["FromGradCell"]
        return fieldwise([value], [ty], lambda v, t: Call(read, v, None, t), part=TupleGetItem)

    def _tensors(self, node: Expr) -> Expr:
        """Return the unwrapped form of an argument, created once."""
        if node not in self._unwrapped:
            result = node if type(node) is Constant else self._unwrap(self._new(node), node.checked_type)
            self._unwrapped[node] = result
        return self._unwrapped[node]

    # ------------------------------------------------------------ nodes
    def _node(self, node: Expr) -> Expr:
        if type(node) is Var:
            return self._var(node)
        if type(node) is Constant:
            return self._wrap(node, node.checked_type)
        if type(node) is Call:
            return self._call(node)
        if type(node) is If:
            yes, no = self._new(node.true_branch), self._new(node.false_branch)
            return If(self._tensors(node.cond), yes, no, node.span)
        if type(node) is Function:
            return self._function(node)
        return rebuild(node, self._new)

    def _function(self, function: Function) -> Expr:
        if function.is_primitive:
            return function
        params = tuple(map(self._var, function.params))
        result: Expr = function.with_fields(
            params=params, body=self._new(function.body), ret_type=self._convert_type(function.ret_type)
        )
        return result

    def _call(self, call: Call) -> Expr:
        callee, ty = call.op, call.checked_type
        name = callee.name if type(callee) is Op else ""
        if name in _FILLS:
            return self._fill(call, self._make[_FILLS[name]], ty)
        if name in _LAZY and all(a.checked_type is ty for a in call.args):
            params = [Var("l", ty), Var("r", ty)]
            compute = Function(params, call.with_fields(args=tuple(params)), ty)
            return Call(self._library[_LAZY[name]], [compute, *map(self._new, call.args)], None, [ty], call.span)
        if type(callee) in (Op, GlobalVar) or (type(callee) is Function and callee.is_primitive):
            return self._wrap(call.with_fields(args=tuple(map(self._tensors, call.args))), ty)
        return Call(self._new(callee), [*map(self._new, call.args)], call.attrs, call.type_args, call.span)

    def _fill(self, call: Call, constructor: Constructor, ty: Type) -> Expr:
        """Return a cell of zeros or ones. The tensor that has their shape is evaluated once, before the cell."""
        bindings = [(Var("like", self._convert_type(a.checked_type)), a) for a in call.args]
        like = [self._unwrap(var, a.checked_type) for var, a in bindings]
        cell = Call(constructor, [Function((), call.with_fields(args=tuple(like)), ty)], None, [ty], call.span)
        return make_lets([(var, self._new(a)) for var, a in bindings], cell)


@standard_pass(opt_level=2, required=("InferType",), contract=FINITE)
class LazyGradientInit(FunctionPass):
    """Wrap the tensors of a gradient function in `GradCell`s, which represent zeros and ones symbolically.

    Sums and products of cells skip zeros and ones; other operators unwrap their arguments and wrap their result.
    Parameters are wrapped, results unwrapped. Imports `gradient.rly` of the standard library. Zero times infinity or
    NaN becomes zero. Functions without zeros and ones are not changed (Relay wraps them as well), nor are generic
    functions, and those with ADT values, matches, or global functions as values.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return func if func.is_primitive else wrap_in_cells(func, mod)
