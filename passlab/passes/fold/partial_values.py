"""The abstract values of partial evaluation: known values, contents of references, and the fuel of recursions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.types import Type, TypeVar, map_type
from passlab.rewriting.constant_values import UNKNOWN


class Value:
    """An abstract value: the `atom` that holds it at run time, and the parts that are known now.

    `data` is the array, or the tuple of data, if all of it is known; `fields` are the fields of a tuple or of a
    `constructor`. `closure` is a function that can be inlined, and `is_cell` marks a reference created here. `born` is
    the creation number of the value.
    """

    __slots__ = ("atom", "born", "closure", "constructor", "data", "fields", "is_cell")
    data: Any

    def __init__(
        self,
        atom: Expr,
        born: int,
        *,
        data: Any = UNKNOWN,
        fields: tuple[Value, ...] | None = None,
        constructor: Constructor | None = None,
        closure: KnownFunction | None = None,
        is_cell: bool = False,
    ) -> None:
        self.atom = atom
        self.born = born
        self.fields = fields
        self.constructor = constructor
        self.closure = closure
        self.is_cell = is_cell
        if fields is not None and constructor is None and all(f.data is not UNKNOWN for f in fields):
            data = tuple(f.data for f in fields)
        self.data = data


class Bindings:
    """The variables and type parameters of one run of a function body, inside the frame that the function closes over.

    A variable found in an outer frame is cached here.
    """

    __slots__ = ("_parent", "types", "values")

    def __init__(self, parent: Bindings | None = None, types: Mapping[TypeVar, Type] | None = None) -> None:
        self._parent = parent
        self.types: Mapping[TypeVar, Type] = types if types is not None else parent.types if parent is not None else {}
        self.values: dict[Var, Value] = {}

    def find(self, var: Var) -> Value | None:
        """Return the value of a variable, or None if no frame has it."""
        frame: Bindings | None = self
        while frame is not None:
            value = frame.values.get(var)
            if value is not None:
                self.values[var] = value
                return value
            frame = frame._parent
        return None

    def replace_type_params(self, ty: Any) -> Any:
        """Return a type (or None) with the type parameters of this run replaced."""
        types: Mapping[Any, Type] = self.types
        return map_type(ty, types.get) if types and ty is not None else ty


class KnownFunction:
    """A function literal or global function, with the frame in which it is defined.

    `residual` is its form for unknown callers, None until that is computed; `size` is the number of bindings emitted
    for it.
    """

    __slots__ = ("frame", "function", "residual", "size")

    def __init__(self, function: Function, frame: Bindings) -> None:
        self.function = function
        self.frame = frame
        self.residual: Function | None = None
        self.size = 0


class Store:
    """The known contents of references; writes after a `mark` can be undone."""

    def __init__(self) -> None:
        self._contents: dict[Value, Value] = {}
        self._log: list[tuple[Any, Value | None]] = []

    def write(self, cell: Value, value: Value) -> None:
        """Set the contents of a reference created here."""
        self._log.append((cell, self._contents.get(cell)))
        self._contents[cell] = value

    def read(self, cell: Value) -> Value | None:
        """Return the contents of a reference, or None if they are unknown."""
        return self._contents.get(cell)

    def forget(self) -> None:
        """Invalidate all contents: any reference may have been written."""
        if self._contents:
            self._log.append((self._contents, None))
            self._contents = {}

    def mark(self) -> int:
        """Return a mark to `undo` to."""
        return len(self._log)

    def undo(self, mark: int) -> bool:
        """Restore the contents at a mark; return whether they had changed since."""
        changed = len(self._log) > mark
        while len(self._log) > mark:
            what, before = self._log.pop()
            if type(what) is dict:
                self._contents = what
            elif before is None:
                del self._contents[what]
            else:
                self._contents[what] = before
        return changed


def knowledge(value: Value) -> int:
    """Return the number of known facts about a value and its fields: with more facts, more of a call is evaluated."""
    return sum(
        (v.data is not UNKNOWN) + (v.fields is not None) + (v.closure is not None) + v.is_cell
        for v in (value, *(value.fields or ()))
    )


Fuel = dict[tuple[int, int], tuple[str, int]]


def fuel_of(values: Sequence[Value]) -> Fuel:
    """Return the measures of a call that must decrease for a recursion to end, each under a key.

    The measure of a natural number is the number itself; the measure of any other value is its creation number, since
    recursion over data goes from a value to its parts, which are older. Fields of tuples are measured as well.
    """
    fuel = {(i, -1): _measure(v) for i, v in enumerate(values)}
    for i, value in enumerate(values):
        if value.fields is not None and value.constructor is None:
            fuel.update(((i, j), _measure(f)) for j, f in enumerate(value.fields))
    return fuel


def _measure(value: Value) -> tuple[str, int]:
    data = value.data
    if isinstance(data, np.ndarray) and data.shape == () and data.dtype.kind in "iu" and data >= 0:
        return ("number", int(data))
    return ("born", value.born)


def burn(before: Fuel, now: Fuel) -> Fuel | None:
    """Return the fuel of a recursive call, or None if no measure has decreased.

    A measure can only decrease, and one that changes its kind is dropped; so every recursion ends.
    """
    both = [(key, a, now[key]) for key, a in before.items() if key in now and now[key][0] == a[0]]
    if not any(b[1] < a[1] for _, a, b in both):
        return None
    return {key: min(a, b) for key, a, b in both}


def fits(pattern: Pattern, value: Value, bound: dict[Var, Value]) -> bool | None:
    """Return whether a pattern matches a value, None if unknown; add the values of its variables to `bound`."""
    stack: list[tuple[Pattern, Value]] = [(pattern, value)]
    result: bool | None = True
    while stack:
        at, current = stack.pop()
        if type(at) is PatternVar:
            bound[at.var] = current
        elif type(at) is PatternWildcard:
            continue
        elif current.fields is None:
            result = None
        elif type(at) is PatternConstructor and at.constructor is not current.constructor:
            return False
        elif isinstance(at, (PatternConstructor, PatternTuple)):
            stack += zip(at.patterns, current.fields, strict=True)
    return result
