"""Python's operators on expressions build calls of Relay's operators: `x + y` is `add(x, y)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from passlab.ir.dtypes import dtype_name
from passlab.ir.immutable import Immutable
from passlab.ir.node_errors import not_a_node_error
from passlab.lazy import OPERATORS, late

if TYPE_CHECKING:
    from passlab.ir.expr import Call


class Arithmetic(Immutable):
    """Base class of expressions. `==` stays identity, so that nodes can be keys."""

    __slots__ = ()
    # NumPy then leaves `array + expr` to the expression's operator, instead of calling it for each element
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Call:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Call:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Call:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Call:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Call:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Call:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Call:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Call:
        return _call("divide", other, self)

    def __neg__(self) -> Call:
        return _call("negative", self)

    def __lt__(self, other: Any) -> Call:
        return _call("less", self, other)

    def __gt__(self, other: Any) -> Call:
        return _call("greater", self, other)

    def __le__(self, other: Any) -> Call:
        return _call("less_equal", self, other)

    def __ge__(self, other: Any) -> Call:
        return _call("greater_equal", self, other)

    def astype(self, dtype: Any) -> Call:
        """Return a cast of this expression to `dtype`."""
        call: Call = late(OPERATORS, "make")("cast", self, dtype=dtype_name(dtype))
        return call


def _call(name: str, *args: Any) -> Call:
    for arg in args:
        if not isinstance(arg, Arithmetic):
            raise not_a_node_error(arg, f"an expression as operand of `{name}`")
    call: Call = late(OPERATORS, "make")(name, *args)
    return call
