"""The conversion of data types that contain function types, such as `GradCell[T] { One(fn () -> T), ... }`.

Defunctionalization replaces each instance of such a type by a new type whose constructors take ADT values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, TypeData
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, GlobalTypeVar, TupleType, Type, TypeCall, holds, map_type, type_nodes


def types_of_functions(mod: IRModule) -> frozenset[GlobalTypeVar]:
    """Return the data types of a module that contain function types, directly or through other types."""
    direct: list[GlobalTypeVar] = []
    users: dict[GlobalTypeVar, list[GlobalTypeVar]] = {}
    for header, data in mod.type_definitions.items():
        inputs = [ty for c in data.constructors for ty in c.inputs]
        if any(holds(ty, FuncType) for ty in inputs):
            direct.append(header)
        for node in _type_nodes(inputs):
            if isinstance(node, GlobalTypeVar):
                users.setdefault(node, []).append(header)
    reached = set(direct)
    while direct:
        new = [user for user in users.get(direct.pop(), ()) if user not in reached]
        reached.update(new)
        direct += new
    return frozenset(reached)


def _type_nodes(types: Iterable[Type]) -> list[Type]:
    """Return all parts of types, with the headers of type calls."""
    return [part for ty in types for node in type_nodes(ty) for part in (node, getattr(node, "func", node))]


class DataInstances:
    """The instances of such types that a program uses, each converted to a type of its own.

    `data(ty)` returns a type with functions replaced by data; it converts the inputs of constructors.
    """

    def __init__(self, mod: IRModule, data: Callable[[Type], Type], name: Callable[[str], str]) -> None:
        self.kinds = types_of_functions(mod)
        self.instances: dict[TypeCall, TypeData] = {}
        self._definitions = mod.type_definitions
        self._data = data
        self._name = name
        self._headers: dict[TypeCall, GlobalTypeVar] = {}

    def names(self, ty: Type) -> bool:
        """Return whether a type contains one of these types."""
        return (
            bool(self.kinds)
            and holds(ty, TypeCall)
            and any(isinstance(t, TypeCall) and t.func in self.kinds for t in type_nodes(ty))
        )

    def instance(self, ty: TypeCall) -> TypeCall:
        """Return the type that replaces an instance."""
        header = self._headers.get(ty)
        if header is None:
            source = self._source(ty)
            header = self._headers[ty] = GlobalTypeVar(self._name(source.header.name_hint))
            results = [
                Constructor(self._name(c.name_hint), [*map(self._data, self.inputs(ty, c))], header)
                for c in source.constructors
            ]
            self.instances[ty] = TypeData(header, (), results)
        return TypeCall(header, ())

    def inputs(self, ty: TypeCall, constructor: Constructor) -> list[Type]:
        """Return the input types of a constructor in an instance of its type."""
        types: Mapping[Type, Type] = dict(zip(self._source(ty).type_vars, ty.args, strict=True))
        return [map_type(part, types.get) for part in constructor.inputs]

    def constructor(self, ty: TypeCall, constructor: Constructor) -> Constructor:
        """Return the constructor that replaces one of an instance; other constructors are returned unchanged."""
        if constructor.belong_to not in self.kinds:
            return constructor
        self.instance(ty)
        return self.instances[ty].constructors[self._source(ty).constructors.index(constructor)]

    def _source(self, ty: TypeCall) -> TypeData:
        assert isinstance(ty.func, GlobalTypeVar)
        return self._definitions[ty.func]

    def pattern(self, root: Pattern, ty: Type) -> Pattern:
        """Return a pattern on a value of a type, with its constructors replaced."""
        done: dict[Pattern, Pattern] = {}
        stack: list[tuple[Pattern, Type, bool]] = [(root, ty, False)]
        while stack:
            at, of, ready = stack.pop()
            if not isinstance(at, (PatternConstructor, PatternTuple)):
                done[at] = at
            elif not ready:
                stack.append((at, of, True))
                stack += [(part, t, False) for part, t in zip(at.patterns, self._fields(at, of), strict=True)]
            elif isinstance(at, PatternTuple):
                done[at] = PatternTuple([done[p] for p in at.patterns], at.span)
            else:
                assert isinstance(of, TypeCall)
                constructor = self.constructor(of, at.constructor)
                done[at] = PatternConstructor(constructor, [done[p] for p in at.patterns], at.span)
        return done[root]

    def _fields(self, pattern: PatternConstructor | PatternTuple, ty: Type) -> Iterable[Type]:
        if isinstance(pattern, PatternTuple):
            assert isinstance(ty, TupleType)
            return ty.fields
        assert isinstance(ty, TypeCall)
        return self.inputs(ty, pattern.constructor)
