"""The dimensions of tensor types: integers, the unknown dimension `?`, symbolic sizes and expressions of them.

An expression (`n * 2 + m`, `n // 4`) is a polynomial in normal form, so that one size written in two ways is equal.
Compared with a different dimension it counts as unknown, since only the run time can compare them.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from itertools import count
from typing import Any as PyAny

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.immutable import Immutable

_set = object.__setattr__


class Any(Immutable):
    """The unknown dimension, written `?`. There is one: `Any() is Any()`.

    >>> print(relay.TensorType((relay.Any(), 3), "float32"))
    Tensor[(?, 3), float32]
    """

    __slots__ = ()
    _instance: Any | None = None

    def __new__(cls) -> Any:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "?"

    def _unknown(self, other: PyAny) -> Any:
        """Return `?`: arithmetic on an unknown size is unknown."""
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _unknown


ANY = Any()


_serials = count()


class SizeVar(Immutable):
    """A symbolic dimension, compared by identity; `name` is a hint. Arithmetic returns a `SizeExpr` or a number.

    >>> print(relay.TensorType((relay.SizeVar("n"), 3), "float32"))
    Tensor[(n, 3), float32]
    """

    __slots__ = ("name", "dtype", "order", "__weakref__")
    name: str
    dtype: str
    order: str  # the sort key among the factors of a product: by name, then by age

    def __init__(self, name: str, dtype: str = "int64") -> None:
        _set(self, "name", name)
        _set(self, "dtype", dtype)
        _set(self, "order", f"{name}\0{next(_serials):015d}")

    def __repr__(self) -> str:
        return self.name

    def __add__(self, other: PyAny) -> PyAny:
        return _combine(self, other, _sum)

    def __mul__(self, other: PyAny) -> PyAny:
        return _combine(self, other, _product)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: PyAny) -> PyAny:
        return _combine(self, other, lambda a, b: _sum(a, _product(b, {(): -1})))

    def __rsub__(self, other: PyAny) -> PyAny:
        return self * -1 + other

    def __floordiv__(self, other: PyAny) -> PyAny:
        if not isinstance(other, int) or other <= 0:
            return NotImplemented
        terms = _terms(self)
        if all(factor % other == 0 for factor in terms.values()):
            return _as_dim({atoms: factor // other for atoms, factor in terms.items()})
        return SizeQuotient(self, int(other))

    def __mod__(self, other: PyAny) -> PyAny:
        return self - self // other * other

    @property
    def variables(self) -> tuple[SizeVar, ...]:
        """The symbolic sizes in the dimension."""
        return (self,)

    @checked
    def at(self, values: Mapping[SizeVar, int]) -> int:
        """Return the value of the dimension, given the values of its variables."""
        return values[self]


_Terms = dict[tuple[SizeVar, ...], int]  # products of sizes, in order, with their coefficients; () is the number 1


class SizeExpr(SizeVar):
    """A sum of products of sizes, such as `n * 2 + 1`; compared by value."""

    __slots__ = ("terms",)
    terms: tuple[tuple[tuple[SizeVar, ...], int], ...]

    def __init__(self, terms: _Terms) -> None:
        ordered = sorted(terms.items(), key=lambda term: (not term[0], [atom.order for atom in term[0]]))
        dtype = next((atoms[0].dtype for atoms, _ in ordered if atoms), "int64")
        _set(self, "terms", tuple(ordered))
        _set(self, "name", _text(ordered))
        _set(self, "dtype", dtype)
        _set(self, "order", " ".join(f"{'*'.join(atom.order for atom in atoms)}*{factor}" for atoms, factor in ordered))

    def __eq__(self, other: object) -> bool:
        return type(other) is SizeExpr and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def variables(self) -> tuple[SizeVar, ...]:
        """The symbolic sizes in the dimension."""
        return tuple(dict.fromkeys(v for atoms, _ in self.terms for atom in atoms for v in atom.variables))

    def at(self, values: Mapping[SizeVar, int]) -> int:
        """Return the value of the dimension, given the values of its variables."""
        total = 0
        for atoms, factor in self.terms:
            for atom in atoms:
                factor *= atom.at(values)
            total += factor
        return total


class SizeQuotient(SizeVar):
    """A size divided by a number, rounded down, such as `n // 4`."""

    __slots__ = ("dividend", "divisor")
    dividend: SizeVar
    divisor: int

    def __init__(self, dividend: SizeVar, divisor: int) -> None:
        inner = f"({dividend.name})" if type(dividend) is SizeExpr else dividend.name
        _set(self, "dividend", dividend)
        _set(self, "divisor", divisor)
        _set(self, "name", f"{inner} // {divisor}")
        _set(self, "dtype", dividend.dtype)
        _set(self, "order", f"{dividend.order}/{divisor}")

    def __eq__(self, other: object) -> bool:
        return type(other) is SizeQuotient and (self.dividend, self.divisor) == (other.dividend, other.divisor)

    def __hash__(self) -> int:
        return hash((self.dividend, self.divisor))

    @property
    def variables(self) -> tuple[SizeVar, ...]:
        """The symbolic sizes in the dimension."""
        return self.dividend.variables

    def at(self, values: Mapping[SizeVar, int]) -> int:
        """Return the value of the dimension, given the values of its variables."""
        return self.dividend.at(values) // self.divisor


def is_computed(dim: object) -> bool:
    """Whether a dimension is an expression of symbolic sizes: equal expressions are equal, others count as unknown."""
    return isinstance(dim, SizeVar) and type(dim) is not SizeVar


def _text(terms: list[tuple[tuple[SizeVar, ...], int]]) -> str:
    parts = []
    for atoms, factor in terms:
        names = [f"({a.name})" if type(a) is SizeQuotient else a.name for a in atoms]
        parts.append(" * ".join([*names, *([str(factor)] if factor != 1 or not names else [])]))
    return " + ".join(parts)


def _terms(dim: PyAny) -> _Terms:
    if isinstance(dim, SizeExpr):
        return dict(dim.terms)
    return {(dim,): 1} if isinstance(dim, SizeVar) else {(): int(dim)}


def _sum(a: _Terms, b: _Terms) -> _Terms:
    return {atoms: a.get(atoms, 0) + b.get(atoms, 0) for atoms in {**a, **b}}


def _product(a: _Terms, b: _Terms) -> _Terms:
    result: _Terms = {}
    for x, m in a.items():
        for y, n in b.items():
            atoms = tuple(sorted((*x, *y), key=lambda atom: atom.order))
            result[atoms] = result.get(atoms, 0) + m * n
    return result


def _as_dim(terms: _Terms) -> PyAny:
    """Return a sum in its simplest form: a number, a size, or an expression."""
    terms = {atoms: factor for atoms, factor in terms.items() if factor}
    if not any(terms):
        return terms.get((), 0)
    ((atoms, factor), *more) = terms.items()
    return atoms[0] if not more and factor == 1 and len(atoms) == 1 else SizeExpr(terms)


def _combine(dim: SizeVar, other: PyAny, combine: PyAny) -> PyAny:
    if isinstance(other, Any):
        return other
    if isinstance(other, float) and other.is_integer():
        other = int(other)
    if not isinstance(other, (SizeVar, int)) and not hasattr(other, "__index__"):
        return NotImplemented
    return _as_dim(combine(_terms(dim), _terms(other)))


Dim = int | Any | SizeVar
Shape = tuple[Dim, ...]


def as_dim(dim: PyAny) -> Dim:
    """Return a dimension given as a number, `?` or an object. Raises `DiagnosticError` for anything else."""
    if isinstance(dim, (Any, SizeVar)):
        return dim
    if isinstance(dim, str) and dim == "?":
        return ANY
    try:
        size = operator.index(dim)
    except TypeError:  # also for an array, which has the method
        size = -1
    if size < 0:
        raise DiagnosticError(
            Diagnostic(
                f"{dim!r} is not a dimension",
                hint="a dimension is an integer from 0 on, `relay.Any()` or a symbolic variable",
            )
        )
    return int(size)
