"""Make memory allocation explicit.

before:
    def @main(%x: Tensor[(2), float32]) {
      let %y = @fused_exp(%x);
      %y
    }
    def @fused_exp(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }
after:
    extern type Storage
    def @main(%x: Tensor[(2), float32]) {
      let %storage_0: Storage = memory.alloc_storage(8i64, meta[relay.Constant][0], 64i64, virtual_device=None);
      let %tensor_0 = memory.alloc_tensor(%storage_0, 0i64, meta[relay.Constant][0],
        const_shape=meta[relay.Constant][0], assert_shape=[2]);
      let %called_0: () = vm.invoke_tvm_op(@fused_exp, (%x,), (%tensor_0,));
      let %y = %tensor_0;
      %y
    }
    def @fused_exp(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
     {"type_key": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0",
     "span": "0", "virtual_device_": "0"}}],
     "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAABAAQABAAAAAAAAAAgAAAAAAAAAAgAAAAAAAAA="],
     "attrs": {"tvm_version": "0.14.0"}}

keep:
    def @main(%x: Tensor[(2), float32]) { %x }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from passlab.devices import VirtualDevice
from passlab.errors import Diagnostic, LimitError, VerifyError
from passlab.infer.type_env import TypeDependency, type_dependency_of
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    set_span,
)
from passlab.ir.kept_types import let_of_typed, set_type
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call, new_let, new_tuple, new_var
from passlab.ir.op import is_call_of, is_op_call
from passlab.ir.types import ANY, TensorType, TupleType, Type, fold_tuple, tensor_types
from passlab.ir.walk import (
    CHILDREN,
    LEAVES,
    may_rewrite,
    post_order,
    result_of,
    rewrite,
    rewrite_observer,
    with_children,
)
from passlab.op import make
from passlab.op.memory import STORAGE
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

ALIGNMENT = 64  # bytes
_NAME = "memory of a kernel"  # the name of the rewrite of each call
_LEAVES = frozenset(LEAVES)
Binding = tuple[Var, Expr]
_UNIT = TupleType(())


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class ManifestAlloc(ModulePass):
    """Replace each call of a named primitive function by allocations of its results and a call that writes into them.

    The input is in A-normal form with named primitives (ToANormalForm, then LowerTE). Before a call whose result has an
    unknown shape, the shape function is called; it returns the shape of each result and its size in bytes. A function
    that only reshapes becomes `vm.reshape_tensor`. Allocations of known size and the calls that use them are typed; run
    InferType for the rest.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        primitives = {name: f for name, f in mod.items() if f.is_primitive}
        with_storage = mod.snapshot().import_from_std("core.rly")
        allocator = _Allocator(primitives, with_storage)
        others = ((name, f) for name, f in mod.items() if name not in primitives)
        changes: dict[Any, Function] = {name: allocator.manifest(f) for name, f in others}
        if all(mod[name] is f for name, f in changes.items()):
            return mod
        return with_storage.with_functions({**changes, **allocator.shape_functions})


class _Allocator:
    """Rewrites the calls of the primitive functions of one module."""

    def __init__(self, primitives: dict[str, Function], mod: IRModule) -> None:
        self.primitives = primitives
        self.reshapes = {name for name, f in primitives.items() if f.attrs.get("relay.reshape_only")}
        self.mod = mod
        self.shape_functions: dict[GlobalVar, Function] = {}
        self.shape_names: dict[str, GlobalVar] = {}  # the name of the shape function of each primitive
        self.count: Counter[str] = Counter()
        # Caches, as few sizes, shapes and sets of attributes occur thousands of times in a program.
        self._constants: dict[Any, Constant] = {}  # of the current function, by number or shape
        self._first_calls: dict[tuple[Any, ...], Call] = {}  # by operator and attributes
        self._static: dict[tuple[TensorType, Any], tuple[Any, Any]] = {}  # allocations, by type and device
        self._tuple_types: dict[tuple[Type | None, ...], TupleType] = {}  # by the types of the fields
        self._dependencies: dict[TypeDependency | None, TypeDependency] = {}  # of kernel calls: without, with storages

    def manifest(self, function: Function) -> Function:
        """Return a function with explicit allocations."""
        self._constants, self._static = {}, {}
        order = post_order(function)
        inlined = _inline_tuples(function, order)
        order = order if inlined is function else post_order(inlined)
        return self._with_memory(inlined, order)

    def _with_memory(self, function: Function, order: list[Expr]) -> Function:
        """Rewrite the bindings of kernel calls as `rewrite` does; each creates five nested lets, not one."""
        changed: dict[Expr, Expr] = {}
        observer, replaced, get = rewrite_observer(), changed.keys(), changed.get
        for pre in order:
            kind = type(pre)
            if kind in _LEAVES:
                continue
            post: Expr | None = None
            if type(pre) is Let and self._is_kernel_call(pre.value) and may_rewrite(_NAME):
                post = self._rewrite_let(pre, get(pre.value, pre.value), get(pre.body, pre.body))
                set_span(post, pre.span)
                if observer is not None:
                    observer(pre, post, _NAME)
            elif changed and not replaced.isdisjoint(parts := CHILDREN[kind](pre)):
                results = tuple(map(get, parts, parts))
                if type(pre) is Let:
                    post = let_of_typed(pre.var, results[1], results[2], pre.span, pre._type_dependency)
                else:
                    post = with_children(pre, parts, results)
                if observer is not None:
                    observer(pre, post, "")
            if post is not None:
                changed[pre] = post
        return result_of(function, changed)

    def _is_kernel_call(self, value: Expr) -> bool:
        return type(value) is Call and type(value.op) is GlobalVar and value.op.name_hint in self.primitives

    def _rewrite_let(self, let: Let, call: Expr, body: Expr) -> Let:
        """Return a let of a kernel's call, given the rewritten call and body, with the allocations around it."""
        assert type(call) is Call
        assert isinstance(call.op, GlobalVar)
        ty, dependency = let.value.checked_type, self._dependency(let.value)
        if type(ty) is TensorType:
            like = self._static.get((ty, self.primitives[call.op.name_hint].virtual_device))
            if like is not None and call.op.name_hint not in self.reshapes:
                return self._like_before(let, call, body, ty, dependency, *like)
        bindings: list[Binding] = []
        result = self._bind_call(call, ty, dependency, bindings)
        for _, value in bindings if call.span is not None else ():  # a failed allocation is reported at the call
            if value.span is None and type(value) is Call:
                set_span(value, call.span)
        lets = let_of_typed(let.var, result, body, let.span, dependency)
        for var, value in reversed(bindings):
            lets = let_of_typed(var, value, lets, value.span, dependency)
        return lets

    def _like_before(
        self, let: Let, call: Call, body: Expr, ty: TensorType, dependency: TypeDependency, first: Call, second: Call
    ) -> Let:
        """Do the same for a result of which there was one of the same type and device, allocated by two calls."""
        span = call.span
        storage = new_var(self._name("storage"), STORAGE, None, None, STORAGE, dependency)
        tensor = new_var(self._name("tensor"), ty, ty=ty)
        size = new_call(first.op, first.args, first.attrs, (), span, STORAGE, dependency)
        view = new_call(second.op, (storage, *second.args[1:]), second.attrs, (), span, ty, dependency)
        invoke = self._invoke(call, (tensor,), dependency)
        called = new_var(self._name("called"), _UNIT, ty=_UNIT)
        if invoke.span is None:
            set_span(invoke, span)
        lets = let_of_typed(let.var, tensor, body, let.span, dependency)
        lets = let_of_typed(called, invoke, lets, span, dependency)
        # These two have the type of the third: all their other parts depend on `dependency`, as it does.
        result_type, widest = lets._checked_type, lets._type_dependency
        lets = new_let(tensor, view, lets, span, result_type, widest)
        return new_let(storage, size, lets, span, result_type, widest)

    def _invoke(self, call: Call, outs: tuple[Expr, ...], dependency: TypeDependency) -> Call:
        """Return the call of a kernel that writes into tensors."""
        invoke = self._call("vm.invoke_tvm_op", (call.op, self._tuple(call.args), self._tuple(outs)))
        set_type(invoke, _UNIT, invoke.args, dependency)
        return invoke

    def _dependency(self, call: Expr) -> TypeDependency:
        """Return what the types of a kernel's call and of the storages of its results depend on."""
        before = type_dependency_of(call)
        result = self._dependencies.get(before)
        if result is None:
            signatures, data = (before.signatures, before.data) if before is not None else ({}, {})
            storage = {"Storage": self.mod.find_type("Storage")}
            result = self._dependencies[before] = TypeDependency(signatures, {**data, **storage})
        return result

    def _bind_call(self, call: Call, ty: Type, dependency: TypeDependency, bindings: list[Binding]) -> Expr:
        """Bind the allocations and the call; return its result."""
        assert isinstance(call.op, GlobalVar)
        primitive = self.primitives[call.op.name_hint]
        types = [ty] if type(ty) is TensorType else tensor_types(ty)
        if call.op.name_hint in self.reshapes and len(types) == 1:
            source = reshaped_parameter(primitive)
            if source is not None:
                ty = types[0]
                static = not ty.dynamic
                shape = self._shape(ty) if static else self._call_shape_function(call, primitive, types, bindings)[0][0]
                return make("vm.reshape_tensor", call.args[source], shape, newshape=ty.shape)
        if any(t.dynamic for t in types):
            shapes, sizes = self._call_shape_function(call, primitive, types, bindings)
            device = primitive.virtual_device
            results = zip(types, shapes, sizes, strict=True)
            outs = [self._allocate(t, size, shape, None, bindings, device) for t, shape, size in results]
        else:
            outs = [self._allocate_static(t, bindings, primitive.virtual_device, dependency) for t in types]
        invoke = self._invoke(call, tuple(outs), dependency)
        bindings.append((new_var(self._name("called"), _UNIT, ty=_UNIT), invoke))
        return outs[0] if type(ty) is TensorType else self._packed(ty, outs, call)

    def _packed(self, ty: Type, outs: Sequence[Expr], call: Call) -> Expr:
        """Return the results of a call in the tuples of its type."""
        leaves = iter(outs)

        def leaf(part: Type) -> Expr:
            if isinstance(part, TensorType):
                return next(leaves)
            raise VerifyError(
                Diagnostic(f"a primitive function returns tensors, but this one returns a {part}", call.span)
            )

        result: Expr = fold_tuple(ty, leaf, lambda fields: self._tuple(tuple(fields)))
        return result

    def _allocate_static(
        self,
        ty: TensorType,
        bindings: list[Binding],
        device: Any = None,
        dependency: TypeDependency | None = None,
    ) -> Var:
        """Bind an allocation of known size; its nodes are typed if `dependency` tells what that depends on."""
        like = self._static.get((ty, device))
        if like is None:
            shape = self._shape(ty)
            size = self._int64(prod(ty.concrete_shape) * itemsize(ty.dtype))
            tensor = self._allocate(ty, size, shape, shape, bindings, device)
            self._static[ty, device] = bindings[-2][1], bindings[-1][1]
            if dependency is not None:
                for var, call in bindings[-2:]:
                    assert var.type_annotation is not None
                    set_type(var, var.type_annotation, (), None if var is tensor else dependency)
                    set_type(call, var.type_annotation, (), dependency)
            return tensor
        stored, ty_known = (STORAGE, ty) if dependency is not None else (None, None)
        storage = new_var(self._name("storage"), STORAGE, None, None, stored, dependency)
        tensor = new_var(self._name("tensor"), ty, ty=ty_known)
        first, second = like
        bindings.append((storage, new_call(first.op, first.args, first.attrs, (), None, stored, dependency)))
        args = (storage, *second.args[1:])
        bindings.append((tensor, new_call(second.op, args, second.attrs, (), None, ty_known, dependency)))
        return tensor

    def _allocate(
        self, ty: TensorType, size: Expr, shape: Expr, constant: Expr | None, bindings: list[Binding], device: Any
    ) -> Var:
        storage, tensor = self._var("storage", STORAGE), self._var("tensor", ty)
        sizes = (size, shape, self._int64(ALIGNMENT))
        bindings.append((storage, self._call("memory.alloc_storage", sizes, dtype=ty.dtype, virtual_device=device)))
        attrs = {"dtype": ty.dtype, "const_shape": constant, "assert_shape": ty.shape}
        bindings.append((tensor, self._call("memory.alloc_tensor", (storage, self._int64(0), shape), **attrs)))
        return tensor

    def _call(self, name: str, args: tuple[Expr, ...], **attrs: Any) -> Call:
        """Return the call of an operator; calls with equal attributes share them."""
        key = (name, *attrs.values())
        first = self._first_calls.get(key)
        if first is None:
            first = self._first_calls[key] = make(name, *args, **attrs)
            return first
        return new_call(first.op, args, first.attrs)

    def _call_shape_function(
        self, call: Call, primitive: Function, types: list[TensorType], bindings: list[Binding]
    ) -> tuple[list[Var], list[Var]]:
        """Call the shape function; return the shape of each result and its size in bytes."""
        assert isinstance(call.op, GlobalVar)
        by_data = needs_data(primitive)
        device = primitive.virtual_device
        inputs: list[Expr] = []
        for argument in call.args:
            if not by_data:
                tensors = self._tensors(argument, bindings)
                inputs += [self._bind("shape", make("vm.shape_of", t, dtype="int64"), bindings) for t in tensors]
            else:
                inputs += [argument] if device is None else self._on_host(argument, device, bindings)
        shapes = [self._allocate_static(TensorType((len(t.shape),), "int64"), bindings) for t in types]
        sizes = [self._allocate_static(TensorType((), "int64"), bindings) for _ in types]
        function = self._shape_function(call.op, primitive, by_data)
        invoke = make("vm.invoke_tvm_op", function, Tuple(inputs), Tuple([*shapes, *sizes]))
        set_span(invoke, call.span)
        bindings.append((self._var("shaped", TupleType(())), invoke))
        return shapes, sizes

    def _on_host(self, argument: Expr, device: Any, bindings: list[Binding]) -> list[Expr]:
        """Bind copies of the tensors of an argument on the host, where shape functions run."""
        attrs = {"src_virtual_device": device, "dst_virtual_device": VirtualDevice()}
        tensors = self._tensors(argument, bindings)
        return [self._bind("copied", make("device_copy", t, **attrs), bindings) for t in tensors]

    def _bind(self, stem: str, value: Expr, bindings: list[Binding]) -> Var:
        var = self._var(stem)
        bindings.append((var, value))
        return var

    def _tensors(self, argument: Expr, bindings: list[Binding]) -> list[Expr]:
        """Return the tensors of an argument as variables; bind the fields of a tuple."""
        stack: list[tuple[Expr, Type]] = [(argument, argument.checked_type)]
        out: list[Expr] = []
        while stack:
            expr, ty = stack.pop()
            if isinstance(ty, TupleType):
                stack.extend((TupleGetItem(expr, i), t) for i, t in reversed(list(enumerate(ty.fields))))
            elif isinstance(expr, Var):
                out.append(expr)
            else:
                var = self._var("field", ty)
                bindings.append((var, expr))
                out.append(var)
        return out

    def _shape_function(self, var: GlobalVar, primitive: Function, by_data: bool) -> GlobalVar:
        cached = self.shape_names.get(var.name_hint)
        if cached is not None:
            return cached
        result = self.shape_names[var.name_hint] = GlobalVar(f"shape_func_{var.name_hint}")
        copy = fresh_copy(primitive)  # two functions that bind the same variables would not be well-formed
        assert isinstance(copy, Function)
        on_host: Function = copy if copy.virtual_device is None else copy.with_fields(virtual_device=None)
        self.shape_functions[result] = on_host.with_attr("ShapeFunction", "data" if by_data else "shape")
        return result

    def _int64(self, value: int) -> Constant:
        number = self._constants.get(value)
        if number is None:
            number = self._constants[value] = _constant(np.int64(_addressable(value)))
        return number

    def _shape(self, ty: TensorType) -> Constant:
        shape = self._constants.get(ty.shape)
        if shape is None:
            shape = self._constants[ty.shape] = _integers(ty.shape)
        return shape

    def _name(self, stem: str) -> str:
        number = self.count[stem]
        self.count[stem] = number + 1
        return f"{stem}_{number}"

    def _var(self, stem: str, ty: Type | None = None) -> Var:
        return Var(self._name(stem), ty)

    def _tuple(self, fields: tuple[Expr, ...]) -> Tuple:
        """Return a tuple, typed if all its fields are."""
        result = new_tuple(fields)
        types = tuple([field._checked_type for field in fields])
        ty = self._tuple_types.get(types)
        if ty is None and None not in types:
            ty = self._tuple_types[types] = TupleType([ty for ty in types if ty is not None])
        if ty is not None:
            set_type(result, ty, fields)
        return result


def _inline_tuples(function: Function, order: list[Expr]) -> Function:
    """Return a function whose `vm.invoke_tvm_op` calls contain their tuples instead of variables bound to them.

    So each tensor is read at the call of its kernel, and is alive until then. `order` is the function's post-order.
    """
    invokes = [n for n in order if is_call_of(n, "vm.invoke_tvm_op")]
    if all(isinstance(a, Tuple) for n in invokes for a in n.args[1:]):
        return function
    tuples = {n.var: n.value for n in order if isinstance(n, Let) and isinstance(n.value, Tuple)}
    calls: dict[Expr, Expr] = {}
    for n in invokes:
        kernel, *lists = n.args
        args = [kernel, *(tuples.get(a, a) if isinstance(a, Var) else a for a in lists)]
        calls[n] = Call(n.op, args, n.attrs, n.type_args, n.span)
    return rewrite(function, replace=calls)


# ---------------------------------------------------------------- facts about types and primitives
def reshaped_parameter(primitive: Function) -> int | None:
    """Return the index of the parameter that a reshape-only function reshapes, or None."""
    value = primitive.body
    while isinstance(value, Call) and value.args:
        value = value.args[0]
    return primitive.params.index(value) if isinstance(value, Var) and value in primitive.params else None


def needs_data(primitive: Function) -> bool:
    """Return whether the shape of a result depends on the values of the inputs."""
    return any(is_op_call(n) and n.op.spec.shape_function is not None for n in post_order(primitive.body))


@cache
def itemsize(dtype: str) -> int:
    """Return the size of an element of a dtype in bytes."""
    if dtype == "bool":
        return 1
    digits = "".join(c for c in dtype.removeprefix("b") if c.isdigit())
    return max(1, int(digits or 8) // 8)


def _constant(value: Any) -> Constant:
    """Return a typed constant."""
    constant = Constant(value)
    set_type(constant, constant.tensor_type)
    return constant


def _integers(shape: Any) -> Constant:
    return _constant(np.array([0 if d is ANY else _addressable(d) for d in shape], "int64"))


def _addressable(value: int) -> int:
    """Return a size that fits in 64 bits. Raises `LimitError` for a larger one, which no memory holds."""
    if value >= 1 << 63:
        raise LimitError(f"a tensor needs {value:,} bytes or elements, more than any memory has")
    return value
