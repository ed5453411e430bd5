"""The types of Relay. Types are hash-consed: equal types are the same object, so `is` compares them.

Type variables and unknowns are compared by identity, so two generic function types that differ in the names of their
parameters are different objects; `structural_equal` compares those. Nothing here walks a type by recursion.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any as PyAny
from typing import ClassVar
from typing import TypeVar as PyTypeVar

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.dtypes import dtype_name

_set = object.__setattr__


class Kind(IntEnum):
    """The kinds of types, numbered as Relay numbers them."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class Immutable:
    """Base of everything that never changes after it was made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a changed copy instead of setting `{name}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; `{name}` cannot be deleted")

    def same_as(self, other: object) -> bool:
        """Tell whether `other` is this very object."""
        return self is other

    def __copy__(self) -> PyAny:
        return self

    def __deepcopy__(self, memo: object) -> PyAny:
        return self


# ---------------------------------------------------------------- dimensions
class Any(Immutable):
    """The unknown dimension, written `?`. There is one: `Any() is Any()`."""

    __slots__ = ()
    _instance: Any | None = None

    def __new__(cls) -> Any:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "?"


ANY = Any()


class SizeVar(Immutable):
    """A symbolic dimension, compared by identity; `name` is a hint."""

    __slots__ = ("name", "dtype", "__weakref__")
    name: str
    dtype: str

    def __init__(self, name: str, dtype: str = "int64") -> None:
        _set(self, "name", name)
        _set(self, "dtype", dtype)

    def __repr__(self) -> str:
        return self.name


Dim = int | Any | SizeVar
Shape = tuple[Dim, ...]


def _dim(dim: PyAny) -> Dim:
    if isinstance(dim, (Any, SizeVar)):
        return dim
    if isinstance(dim, str) and dim == "?":
        return ANY
    size = dim.__index__() if hasattr(dim, "__index__") else -1
    if size < 0:
        raise DiagnosticError(
            Diagnostic(
                f"{dim!r} is not a dimension",
                hint="a dimension is an integer from 0 on, `relay.Any()` or a symbolic variable",
            )
        )
    return int(size)


def _listed(shape: PyAny) -> tuple[PyAny, ...]:
    try:
        return tuple(shape)
    except TypeError:
        raise DiagnosticError(Diagnostic(f"{shape!r} is not a shape", hint=f"write `({shape!r},)`")) from None


# ---------------------------------------------------------------- the table of types
T = PyTypeVar("T", bound="Type")
_DYNAMIC = 1 << 9  # in `Type._inside`: a tensor with a dimension that is not an integer
_table: dict[tuple[PyAny, ...], weakref.ref[Type]] = {}


def _intern(key: tuple[PyAny, ...], make: Callable[[], T]) -> T:
    """Return the one type for `key`, made on first request. A key holds types by identity, so it is never deep."""

    def forget(ref: weakref.ref[Type]) -> None:
        if _table.get(key) is ref:  # the key may already stand for a younger type
            del _table[key]

    made = make()
    _table[key] = weakref.ref(made, forget)
    return made


class Type(Immutable):
    """Base of all types. A type has no span: one object stands for all its occurrences.

    `_token` and `_form` are caches of `forms`. `_inside` is the union of the `_bit`s of the classes of types in it, so
    that `holds` answers at once: a wide tuple is the type of every `let` before it, and is not to be searched for each.
    """

    __slots__ = ("_token", "_form", "_inside", "__weakref__")
    _bit: ClassVar[int] = 0
    _inside: int
    _token: int
    _form: PyAny

    def __repr__(self) -> str:
        from passlab.ir.type_text import brief_type_text  # the text of types stands on them

        return brief_type_text(self, 2_000)


class TensorType(Type):
    """A tensor: `shape` (a tuple of int, `Any` or `SizeVar`; `()` is a scalar) and `dtype` (a name such as "float32").

    `dynamic` tells whether any dimension is not an integer.
    """

    __slots__ = ("shape", "dtype", "dynamic")
    _bit = 1 << 0
    shape: Shape
    dtype: str
    dynamic: bool

    def __new__(cls, shape: Iterable[PyAny] = (), dtype: PyAny = "float32") -> TensorType:
        shape = shape if type(shape) is tuple else _listed(shape)
        try:
            ref = _table.get((cls, shape, dtype))
        except TypeError:  # an unhashable dimension: let _dim say which
            ref = None
        hit = ref() if ref is not None else None
        if hit is not None:
            return hit  # type: ignore[return-value]
        dims = tuple(dim if type(dim) is int and dim >= 0 else _dim(dim) for dim in shape)
        name = dtype_name(dtype)
        key = (cls, dims, name)
        ref = _table.get(key)
        hit = ref() if ref is not None else None
        if hit is not None:
            return hit  # type: ignore[return-value]

        def make() -> TensorType:
            self = object.__new__(cls)
            _set(self, "shape", dims)
            _set(self, "dtype", name)
            _set(self, "dynamic", any(type(dim) is not int for dim in dims))
            _set(self, "_inside", cls._bit | _DYNAMIC if self.dynamic else cls._bit)
            return self

        return _intern(key, make)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as integers. Raises `DiagnosticError` when a dimension is dynamic."""
        if self.dynamic:
            raise DiagnosticError(f"{self} has no concrete shape")
        return self.shape  # type: ignore[return-value]


def scalar_type(dtype: PyAny) -> TensorType:
    """Return the type of a 0-d tensor of `dtype`."""
    return TensorType((), dtype)


def _structure(cls: type[T], key: tuple[PyAny, ...], **fields: PyAny) -> T:
    ref = _table.get(key)
    hit = ref() if ref is not None else None
    if hit is not None:
        return hit  # type: ignore[return-value]

    def make() -> T:
        self: T = object.__new__(cls)
        for name, value in fields.items():
            _set(self, name, value)
        inside = cls._bit
        for kid in type_children(self):
            inside |= kid._inside
        _set(self, "_inside", inside)
        return self

    return _intern(key, make)


class TupleType(Type):
    """A tuple of `fields`."""

    __slots__ = ("fields",)
    _bit = 1 << 1
    fields: tuple[Type, ...]

    def __new__(cls, fields: Sequence[Type] = ()) -> TupleType:
        fields = tuple(fields)
        return _structure(cls, (cls, fields), fields=fields)


class FuncType(Type):
    """A function from `arg_types` to `ret_type`, generic in `type_params`, under `type_constraints`."""

    __slots__ = ("arg_types", "ret_type", "type_params", "type_constraints")
    _bit = 1 << 2
    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...]
    type_constraints: tuple[TypeRelation, ...]

    def __new__(
        cls,
        arg_types: Sequence[Type],
        ret_type: Type,
        type_params: Sequence[TypeVar] | None = None,
        type_constraints: Sequence[TypeRelation] | None = None,
    ) -> FuncType:
        args, params, limits = tuple(arg_types), tuple(type_params or ()), tuple(type_constraints or ())
        key = (cls, args, ret_type, params, limits)
        return _structure(cls, key, arg_types=args, ret_type=ret_type, type_params=params, type_constraints=limits)


class RefType(Type):
    """A mutable cell holding a `value`."""

    __slots__ = ("value",)
    _bit = 1 << 3
    value: Type

    def __new__(cls, value: Type) -> RefType:
        return _structure(cls, (cls, value), value=value)


class TypeVar(Type):
    """A type parameter, compared by identity; `name_hint` is a hint."""

    __slots__ = ("name_hint", "kind")
    _bit = 1 << 4
    name_hint: str
    kind: Kind

    def __init__(self, name_hint: str, kind: Kind = Kind.Type) -> None:
        _set(self, "name_hint", name_hint)
        _set(self, "_inside", TypeVar._bit)
        _set(self, "kind", Kind(kind))

    name = property(lambda self: self.name_hint)


class GlobalTypeVar(Type):
    """The name of an algebraic data type; one object per name."""

    __slots__ = ("name_hint", "kind")
    _bit = 1 << 5
    name_hint: str
    kind: Kind

    def __new__(cls, name_hint: str, kind: Kind = Kind.AdtHandle) -> GlobalTypeVar:
        kind = Kind(kind)
        return _structure(cls, (cls, name_hint, kind), name_hint=name_hint, kind=kind)

    name = property(lambda self: self.name_hint)

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)


class TypeCall(Type):
    """A type function applied: `List[A]` is `TypeCall(List, (A,))`."""

    __slots__ = ("func", "args")
    _bit = 1 << 6
    func: Type
    args: tuple[Type, ...]

    def __new__(cls, func: Type, args: Sequence[Type] = ()) -> TypeCall:
        args = tuple(args)
        return _structure(cls, (cls, func, args), func=func, args=args)


class IncompleteType(Type):
    """An unknown to be solved by inference, compared by identity."""

    __slots__ = ("kind",)
    _bit = 1 << 7
    kind: Kind

    def __init__(self, kind: Kind = Kind.Type) -> None:
        _set(self, "_inside", IncompleteType._bit)
        _set(self, "kind", Kind(kind))


class TypeRelation(Type):
    """A constraint: the relation called `name` holds between `args`, of which `num_inputs` are inputs."""

    __slots__ = ("name", "args", "num_inputs", "attrs")
    _bit = 1 << 8
    name: str
    args: tuple[Type, ...]
    num_inputs: int
    attrs: PyAny

    def __new__(cls, name: str, args: Sequence[Type], num_inputs: int, attrs: PyAny = None) -> TypeRelation:
        args = tuple(args)
        key = (cls, name, args, num_inputs, attrs)
        return _structure(cls, key, name=name, args=args, num_inputs=num_inputs, attrs=attrs)


# ---------------------------------------------------------------- looking at types
def type_children(ty: Type) -> tuple[Type, ...]:
    """Return the types a type is made of, in the order they are written."""
    kind = type(ty)
    if kind is TupleType:
        return ty.fields  # type: ignore[attr-defined,no-any-return]
    if kind is FuncType:
        return (*ty.type_params, *ty.arg_types, ty.ret_type, *ty.type_constraints)  # type: ignore[attr-defined]
    if kind is TypeCall:
        return (ty.func, *ty.args)  # type: ignore[attr-defined]
    if kind is RefType:
        return (ty.value,)  # type: ignore[attr-defined]
    if kind is TypeRelation:
        return ty.args  # type: ignore[attr-defined,no-any-return]
    return ()


def holds(ty: Type, kind: type[Type]) -> bool:
    """Tell whether a type of the class `kind` occurs in `ty`, itself included. Takes the same time for every type."""
    return bool(ty._inside & kind._bit)


def type_nodes(root: Type) -> list[Type]:
    """Return every type inside `root` once, children before parents, `root` last."""
    order: list[Type] = []
    seen: set[Type] = set()
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        ty, done = stack.pop()
        if done:
            order.append(ty)
            continue
        if ty in seen:
            continue
        seen.add(ty)
        stack.append((ty, True))
        stack.extend((child, False) for child in reversed(type_children(ty)))
    return order


def tensor_types(ty: Type | None) -> list[TensorType]:
    """Return the tensors that a value of this type consists of, left to right through tuples."""
    found: list[TensorType] = []
    stack = [ty]
    while stack:
        at = stack.pop()
        if isinstance(at, TupleType):
            stack.extend(reversed(at.fields))
        elif isinstance(at, TensorType):
            found.append(at)
    return found


def rebuild_type(ty: Type, new: Callable[[Type], Type]) -> Type:
    """Return `ty` with each child replaced by `new(child)`; the same object when nothing changed."""
    kids = type_children(ty)
    if not kids:
        return ty
    made = [new(kid) for kid in kids]
    if all(a is b for a, b in zip(kids, made, strict=True)):
        return ty
    kind = type(ty)
    if kind is TupleType:
        return TupleType(made)
    if kind is RefType:
        return RefType(made[0])
    if kind is TypeCall:
        return TypeCall(made[0], made[1:])
    if kind is TypeRelation:
        return TypeRelation(ty.name, made, ty.num_inputs, ty.attrs)  # type: ignore[attr-defined]
    params, args = len(ty.type_params), len(ty.arg_types)  # type: ignore[attr-defined]
    kept = [t for t in made[:params] if isinstance(t, TypeVar)]
    return FuncType(made[params : params + args], made[params + args], kept, made[params + args + 1 :])  # type: ignore[arg-type]


def map_type(root: Type, leaf: Callable[[Type], Type | None]) -> Type:
    """Return `root` with every type for which `leaf` gives a replacement replaced, children first.

    A type parameter that is replaced by something other than a type variable leaves its function's parameter list.
    """
    memo: dict[Type, Type] = {}
    for ty in type_nodes(root):
        swapped = leaf(ty)
        memo[ty] = swapped if swapped is not None else rebuild_type(ty, memo.__getitem__)
    return memo[root]


def fold_tuple(root: Type, leaf: Callable[[Type], PyAny], make: Callable[[list[PyAny]], PyAny]) -> PyAny:
    """Return `root` folded from the inside out: `make` of the parts of each tuple type, `leaf` of everything else.

    Leaves are asked for from left to right.
    """
    work: list[Type | int] = [root]
    values: list[PyAny] = []
    while work:
        item = work.pop()
        if isinstance(item, int):  # the size of a tuple whose fields are folded
            start = len(values) - item
            values[start:] = [make(values[start:])]
        elif isinstance(item, TupleType):
            work.append(len(item.fields))
            work.extend(reversed(item.fields))
        else:
            values.append(leaf(item))
    return values[0]


def is_dynamic(ty: Type) -> bool:
    """Tell whether any tensor inside `ty` has a dimension that is not an integer."""
    return bool(ty._inside & _DYNAMIC)
