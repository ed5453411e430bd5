"""The types of Relay. Types are hash-consed: equal types are the same object, but for generic function types.

How are two types compared that are too large to be written out? A tuple of two equal tuples, sixty levels deep, has
2^60 parts when it is written out, and sixty when each is there once; and inference compares types all the time. So a
constructor first asks the table of types (`_intern`). Its keys hold the parts of a composed type by their ids:

    TensorType((2, 3)) --> key --> (no entry) a new object, held by a weak reference
    TensorType((2, 3)) --> key --> the same object

    >>> a = TensorType((2, 3), "float32")
    >>> a is TensorType((2, 3)), TupleType([a, a]) is TupleType([a, a])
    (True, True)
    >>> deep = a
    >>> for _ in range(60):
    ...     deep = TupleType([deep, deep])
    >>> deep is TupleType([deep.fields[0], deep.fields[1]])
    True

Type variables and unknowns are compared by identity: two variables named A are two variables. Two generic function
types that differ only in the names of their parameters are therefore different objects, so each prints as it was
written. But they are equal (`==`) with one hash, and so are types that contain them:

    >>> A, B = TypeVar("A"), TypeVar("B")
    >>> f, g = FuncType([A], A, [A]), FuncType([B], B, [B])
    >>> f is g, f == g, hash(f) == hash(g)
    (False, True, True)

Questions such as "does this type hold an unknown, or an unknown size?" are answered when a type is made (`_inside`),
from its parts. So no question walks a type, and the walks that remain are loops.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from threading import RLock
from typing import Any as PyAny
from typing import ClassVar
from typing import TypeVar as PyTypeVar

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.dimensions import ANY as ANY
from passlab.ir.dimensions import Any as Any
from passlab.ir.dimensions import Dim as Dim
from passlab.ir.dimensions import Shape as Shape
from passlab.ir.dimensions import SizeExpr as SizeExpr
from passlab.ir.dimensions import SizeQuotient as SizeQuotient
from passlab.ir.dimensions import SizeVar as SizeVar
from passlab.ir.dimensions import as_dim
from passlab.ir.dimensions import is_computed as is_computed
from passlab.ir.dtypes import dtype_name
from passlab.ir.immutable import Immutable as Immutable
from passlab.ir.node_errors import not_a_node_error

_set = object.__setattr__


class Kind(IntEnum):
    """The kinds of types, numbered as in Relay."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


# ---------------------------------------------------------------- the table of types
T = PyTypeVar("T", bound="Type")
# Weak references, so that types of programs that are gone do not fill the memory of a notebook that runs for days.
_table: dict[tuple[PyAny, ...], weakref.ref[PyAny]] = {}
_lock = RLock()  # reentrant: a garbage collection while it is held may run code that creates types
_sweep_at = [1024]  # the number of entries at which entries of dead types are swept


def _intern(key: tuple[PyAny, ...], make: Callable[[], T]) -> T:
    """Return the one type for `key`, created on first request. A key contains the ids of types, so it is never deep.

    An entry outlives its type until the next sweep. It does no harm if ids in its key are used again: the reference is
    empty, and the entry is replaced. Weak-reference callbacks could not sweep reliably: an interrupt in one is lost.
    """
    with _lock:
        ref = _table.get(key)
        result: T | None = ref() if ref is not None else None
        if result is None:
            result = make()
            _table[key] = weakref.ref(result)
            if len(_table) >= _sweep_at[0]:
                for dead in [k for k, entry in list(_table.items()) if entry() is None]:
                    del _table[dead]
                _sweep_at[0] = max(1024, 2 * len(_table))
    return result


# The bits of `Type._inside`: one for each class of types (`_bit`), and two for properties.
_DYNAMIC = 1 << 9  # a tensor with a dimension that is not an integer
_GENERIC = 1 << 10  # a function type with type parameters

ENDLESS = 1 << 62  # the largest number of parts that is counted: exact numbers would have as many digits as levels


class Type(Immutable):
    """Base class of all types. The `span` of a type is None: one object represents all its occurrences.

    `parts` is the number of types in the type's text, at most `ENDLESS`: a type is a graph, whose text repeats shared
    parts.

    `_token` and `_form` are caches of `canonical_forms`. `_inside` is the union of the `_bit`s of the classes of types
    in it, so that `holds` takes constant time. A wide tuple may be the type of every `let` before it, and must not be
    searched for each.

    >>> isinstance(relay.TensorType((2,), "float32"), relay.Type)
    True
    """

    __slots__ = ("_token", "_form", "_inside", "parts", "__weakref__")
    _bit: ClassVar[int] = 0
    span: ClassVar[None] = None
    parts: int
    _inside: int
    _token: int
    _form: PyAny

    def __repr__(self) -> str:
        from passlab.ir.type_text import brief_type_text  # that module imports this one

        return brief_type_text(self, 2_000)


class TensorType(Type):
    """A tensor: `shape` (a tuple of int, `Any` or `SizeVar`; `()` is a scalar) and `dtype` (a name such as "float32").

    `dynamic` says whether any dimension is not an integer. Raises `DiagnosticError` for an invalid shape, dimension or
    dtype; 2.0 may pass for 2.

    >>> print(relay.TensorType((2, 3), "float32"), relay.TensorType((relay.Any(), 3), "int8"))
    Tensor[(2, 3), float32] Tensor[(?, 3), int8]
    >>> relay.TensorType((2,), "float32") is relay.TensorType((2,), "float32")
    True
    """

    __slots__ = ("shape", "dtype", "dynamic")
    _bit = 1 << 0
    shape: Shape
    dtype: str
    dynamic: bool

    def __new__(cls, shape: Iterable[PyAny] = (), dtype: PyAny = "float32") -> TensorType:
        shape = shape if type(shape) is tuple else _as_shape(shape)
        # Nearly every tensor type that is asked for exists. So the table is asked before the arguments are checked;
        # what equals a key is accepted, as 2.0 is where 2 was seen.
        try:
            ref = _table.get((cls, shape, dtype))
        except TypeError:  # an unhashable dimension: as_dim reports which
            ref = None
        cached: TensorType | None = ref() if ref is not None else None
        if cached is not None:
            return cached
        dims = tuple(dim if type(dim) is int and dim >= 0 else as_dim(dim) for dim in shape)
        name = "" if dtype is None else dtype_name(dtype)  # NumPy takes None for float64
        if not name:
            raise DiagnosticError(Diagnostic("the dtype of a tensor is missing", hint='"float32" is one'))

        def make() -> TensorType:
            self = object.__new__(cls)
            _set(self, "shape", dims)
            _set(self, "dtype", name)
            _set(self, "dynamic", any(type(dim) is not int for dim in dims))
            _set(self, "_inside", cls._bit | _DYNAMIC if self.dynamic else cls._bit)
            _set(self, "parts", 1)
            return self

        return _intern((cls, dims, name), make)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as integers. Raises `DiagnosticError` if a dimension is dynamic."""
        if self.dynamic:
            raise DiagnosticError(f"{self} has no concrete shape")
        return self.shape  # type: ignore[return-value]


def _as_shape(shape: PyAny) -> tuple[PyAny, ...]:
    try:
        return tuple(shape)
    except TypeError:
        raise DiagnosticError(Diagnostic(f"{shape!r} is not a shape", hint=f"write `({shape!r},)`")) from None


class _PlainValues(type(TensorType)):  # type: ignore[misc]
    """The class of `PrimType`: its instances are the types of 0-d tensors."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorType) and not instance.shape


class PrimType(TensorType, metaclass=_PlainValues):
    """Relay's type of a plain value: here the type of a 0-d tensor, which `PrimType("int32")` returns."""

    __slots__ = ()

    def __new__(cls, dtype: PyAny) -> TensorType:  # type: ignore[misc]
        return TensorType((), dtype)


def scalar_type(dtype: PyAny) -> TensorType:
    """Return the type of a 0-d tensor of `dtype`.

    >>> print(relay.scalar_type("int32"))
    int32
    """
    return TensorType((), dtype)


class StructuredType(Type):
    """Base class of types composed of other types. Equal ones are one object, unless they contain a generic type.

    Types with a generic function type in them are equal (`==`) if they differ only in the names of type parameters;
    `_alpha` is their hash. The constructors raise `NodeTypeError` for a part that is not a type.
    """

    __slots__ = ("_alpha",)
    _alpha: int

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        if type(self) is not type(other) or not self._inside & other._inside & _GENERIC or self._alpha != other._alpha:
            return False
        from passlab.ir.canonical_forms import same_type_form  # that module imports this one

        return same_type_form(self, other)

    def __hash__(self) -> int:
        return self._alpha if self._inside & _GENERIC else object.__hash__(self)


def _alpha_hash(ty: Type) -> int:
    """Return a hash shared by types that are equal up to the names of type parameters. Its parts are hashed already."""
    parts: list[PyAny] = [type(ty).__name__, len(getattr(ty, "type_params", ()))]
    for kid in type_children(ty):
        if kid._inside & _GENERIC or not kid._inside & (_DYNAMIC | TypeVar._bit | IncompleteType._bit):
            parts.append(hash(kid))  # one object, or a generic type with a hash of this kind
        else:  # it may contain a parameter of the function, which is another object in an equal type
            parts.append(type(kid).__name__)
    return hash(tuple(parts))


def _structure(cls: type[T], key: tuple[PyAny, ...], **fields: PyAny) -> T:
    """Return the one type of a class with these fields, identified by the key."""
    ref = _table.get(key)
    cached: T | None = ref() if ref is not None else None
    if cached is not None:
        return cached

    def make() -> T:
        self: T = object.__new__(cls)
        for name, value in fields.items():
            _set(self, name, value)
        inside, parts = cls._bit | (_GENERIC if fields.get("type_params") else 0), 1
        for kid in type_children(self):
            if not isinstance(kid, Type):
                raise not_a_node_error(
                    kid, f"a type inside a {cls.__name__}", 'a type is, say, `TensorType((2, 3), "float32")`'
                )
            inside |= kid._inside
            parts += kid.parts
        _set(self, "_inside", inside)
        _set(self, "parts", min(parts, ENDLESS))
        if inside & _GENERIC:
            _set(self, "_alpha", _alpha_hash(self))
        return self

    return _intern(key, make)


def _ids(types: Iterable[Type]) -> tuple[int, ...]:
    """Return the ids of the parts of a type for its key. The type keeps its parts alive, so the ids stay valid."""
    return tuple(map(id, types))


def _type_list(types: PyAny) -> tuple[PyAny, ...]:
    """Return the parts of a type as a tuple."""
    if type(types) is tuple:
        return types
    try:
        return () if types is None else tuple(types)
    except TypeError:
        raise not_a_node_error(types, "a list of types") from None


class TupleType(StructuredType):
    """A tuple of `fields`.

    >>> print(relay.TupleType([relay.TensorType((2,), "float32"), relay.TensorType((), "bool")]))
    (Tensor[(2), float32], bool)
    """

    __slots__ = ("fields",)
    _bit = 1 << 1
    fields: tuple[Type, ...]

    def __new__(cls, fields: Sequence[Type] = ()) -> TupleType:
        if type(fields) is not tuple:
            fields = _type_list(fields)
        key = (cls, tuple(map(id, fields)))
        ref = _table.get(key)  # as `_structure` does, in a third of its time
        return (ref() if ref is not None else None) or _structure(cls, key, fields=fields)


class FuncType(StructuredType):
    """A function from `arg_types` to `ret_type`, generic in `type_params`, under `type_constraints`.

    A `ret_type` of None is to be inferred.

    >>> print(relay.FuncType([relay.TensorType((2,), "float32")], relay.TensorType((), "bool")))
    fn (Tensor[(2), float32]) -> bool
    """

    __slots__ = ("arg_types", "ret_type", "type_params", "type_constraints")
    _bit = 1 << 2
    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...]
    type_constraints: tuple[TypeRelation, ...]

    def __new__(
        cls,
        arg_types: Sequence[Type],
        ret_type: Type | None,
        type_params: Sequence[TypeVar] | None = None,
        type_constraints: Sequence[TypeRelation] | None = None,
    ) -> FuncType:
        ret_type = IncompleteType() if ret_type is None else ret_type
        args, params = _type_list(arg_types), _type_list(type_params)
        constraints = _type_list(type_constraints)
        key = (cls, _ids(args), id(ret_type), _ids(params), _ids(constraints))
        return _structure(cls, key, arg_types=args, ret_type=ret_type, type_params=params, type_constraints=constraints)


class RefType(StructuredType):
    """A mutable cell holding a `value`.

    >>> print(relay.RefType(relay.TensorType((2,), "float32")))
    ref(Tensor[(2), float32])
    """

    __slots__ = ("value",)
    _bit = 1 << 3
    value: Type

    def __new__(cls, value: Type) -> RefType:
        return _structure(cls, (cls, id(value)), value=value)


class TypeVar(Type):
    """A type parameter, compared by identity; `name_hint` is a hint.

    >>> a = relay.TypeVar("A")
    >>> print(relay.FuncType([a], a, [a]))
    fn [A](A) -> A
    """

    __slots__ = ("name_hint", "kind")
    _bit = 1 << 4
    name_hint: str
    kind: Kind

    @checked
    def __init__(self, name_hint: str, kind: Kind = Kind.Type) -> None:
        _set(self, "name_hint", name_hint)
        _set(self, "_inside", TypeVar._bit)
        _set(self, "parts", 1)
        _set(self, "kind", Kind(kind))

    name = property(lambda self: self.name_hint)


class GlobalTypeVar(Type):
    """The name of an algebraic data type; one object for each name and kind.

    >>> print(relay.TypeCall(relay.GlobalTypeVar("List"), [relay.TensorType((), "int32")]))
    List[int32]
    """

    __slots__ = ("name_hint", "kind")
    _bit = 1 << 5
    name_hint: str
    kind: Kind

    @checked
    def __new__(cls, name_hint: str, kind: Kind = Kind.AdtHandle) -> GlobalTypeVar:
        kind = Kind(kind)
        return _structure(cls, (cls, name_hint, kind), name_hint=name_hint, kind=kind)

    name = property(lambda self: self.name_hint)

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)


class TypeCall(StructuredType):
    """A type function applied: `List[A]` is `TypeCall(List, (A,))`.

    >>> print(relay.TypeCall(relay.GlobalTypeVar("List"), [relay.TensorType((), "int32")]))
    List[int32]
    """

    __slots__ = ("func", "args")
    _bit = 1 << 6
    func: Type
    args: tuple[Type, ...]

    def __new__(cls, func: Type, args: Sequence[Type] = ()) -> TypeCall:
        args = _type_list(args)
        return _structure(cls, (cls, id(func), _ids(args)), func=func, args=args)


class IncompleteType(Type):
    """An unknown to be solved by inference, compared by identity.

    >>> relay.IncompleteType() == relay.IncompleteType()  # each stands for one unknown type
    False
    """

    __slots__ = ("kind",)
    _bit = 1 << 7
    kind: Kind

    @checked
    def __init__(self, kind: Kind = Kind.Type) -> None:
        _set(self, "_inside", IncompleteType._bit)
        _set(self, "parts", 1)
        _set(self, "kind", Kind(kind))


class TypeRelation(StructuredType):
    """A constraint: the relation called `name` holds between `args`, of which `num_inputs` are inputs."""

    __slots__ = ("name", "args", "num_inputs", "attrs")
    _bit = 1 << 8
    name: str
    args: tuple[Type, ...]
    num_inputs: int
    attrs: PyAny

    @checked
    def __new__(cls, name: str, args: Sequence[Type], num_inputs: int, attrs: PyAny = None) -> TypeRelation:
        args = _type_list(args)
        key = (cls, name, _ids(args), num_inputs, attrs)
        return _structure(cls, key, name=name, args=args, num_inputs=num_inputs, attrs=attrs)


# ---------------------------------------------------------------- queries and traversals
def type_children(ty: Type) -> tuple[Type, ...]:
    """Return the types in a type, in the order they are written."""
    if type(ty) is TupleType:
        return ty.fields
    if type(ty) is FuncType:
        return (*ty.type_params, *ty.arg_types, ty.ret_type, *ty.type_constraints)
    if type(ty) is TypeCall:
        return (ty.func, *ty.args)
    if type(ty) is RefType:
        return (ty.value,)
    if type(ty) is TypeRelation:
        return ty.args
    return ()


def holds(ty: Type, kind: type[Type]) -> bool:
    """Whether a type of the class `kind` occurs in `ty`, itself included. Takes constant time.

    `kind` is one of the classes that have a `_bit` of their own.
    """
    return bool(ty._inside & kind._bit)


def type_nodes(root: Type) -> list[Type]:
    """Return every type inside `root` once, children before parents, `root` last."""
    if not type_children(root):  # most types have none
        return [root]
    order: list[Type] = []
    seen: set[int] = set()
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        ty, done = stack.pop()
        if done:
            order.append(ty)
            continue
        if id(ty) in seen:
            continue
        seen.add(id(ty))
        stack.append((ty, True))
        stack.extend((child, False) for child in reversed(type_children(ty)))
    return order


def tensor_types(ty: Type | None) -> list[TensorType]:
    """Return the tensors in a value of this type, left to right through tuples.

    Raises `LimitError` for a type of more than `limits.tuple_fields` parts: a short program can share one tuple 2^60
    times.
    """
    if type(ty) is TensorType:
        return [ty]
    if ty is not None:
        limits.check("tuple_fields", ty.parts, "the number of types in a tuple")
    types: list[TensorType] = []
    stack = [ty]
    while stack:
        part = stack.pop()
        if isinstance(part, TupleType):
            stack.extend(reversed(part.fields))
        elif isinstance(part, TensorType):
            types.append(part)
    return types


def rebuild_type(ty: Type, new: Callable[[Type], Type]) -> Type:
    """Return `ty` with each child replaced by `new(child)`; the same object if nothing changed."""
    kids = type_children(ty)
    if not kids:
        return ty
    result = [new(kid) for kid in kids]
    if all(a is b for a, b in zip(kids, result, strict=True)):
        return ty
    match ty:
        case TupleType():
            return TupleType(result)
        case RefType():
            return RefType(result[0])
        case TypeCall():
            return TypeCall(result[0], result[1:])
        case TypeRelation():
            return TypeRelation(ty.name, result, ty.num_inputs, ty.attrs)
    assert isinstance(ty, FuncType)  # whose parts are in the order of `type_children`
    params, args = len(ty.type_params), len(ty.arg_types)
    type_params = [t for t in result[:params] if isinstance(t, TypeVar)]
    constraints = result[params + args + 1 :]
    return FuncType(result[params : params + args], result[params + args], type_params, constraints)  # type: ignore[arg-type]


def map_type(root: Type, replace: Callable[[Type], Type | None]) -> Type:
    """Return `root` with every type for which `replace` returns another one replaced.

    `replace` is given the types of `root`, children first, and not those that are rebuilt from replaced parts.
    A type parameter replaced by something other than a type variable is removed from its function's parameters.
    """
    memo: dict[int, Type] = {}
    for ty in type_nodes(root):
        replacement = replace(ty)
        memo[id(ty)] = replacement if replacement is not None else rebuild_type(ty, lambda part: memo[id(part)])
    return memo[id(root)]


def fold_tuple(root: Type, leaf: Callable[[Type], PyAny], make: Callable[[list[PyAny]], PyAny]) -> PyAny:
    """Fold a type from the inside out: `make` combines the results of each tuple's fields, `leaf` maps other types.

    Leaves are visited from left to right. Raises `LimitError` for a type of more than `limits.tuple_fields` parts.
    """
    limits.check("tuple_fields", root.parts, "the number of types in a tuple")
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


@checked
def is_dynamic(ty: Type) -> bool:
    """Whether any tensor inside `ty` has a dimension that is not an integer.

    >>> relay.is_dynamic(relay.TensorType((relay.Any(), 3))), relay.is_dynamic(relay.TensorType((2, 3)))
    (True, False)
    """
    return bool(ty._inside & _DYNAMIC)
