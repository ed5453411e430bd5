"""One node of an exported PyTorch program during its translation.

    @aten("addmm")
    def addmm(n: Node, bias: Expr, a: Expr, b: Expr, beta: Number = 1, alpha: Number = 1) -> Expr:
        ...

A translation has the parameters of PyTorch's operator. Tensors are expressions; integers known only at run time are
`Symbol`s.

The file begins with PyTorch's rules for the common dtype of operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.frontend.building import CallBuilder
from passlab.frontend.model_node import ModelNode
from passlab.frontend.pytorch.program import NodeSpec, TensorMeta
from passlab.frontend.sizes import Size
from passlab.ir.expr import Expr
from passlab.op.dtypes import array_dtype

BOOL, INTEGER, FLOAT = range(3)
_DEFAULTS = ("bool", "int64", "float32")
Operand = tuple[str, int]  # a dtype, and its weight: 2 for a tensor with dimensions, 1 for one without, 0 for a number


def kind_of(dtype: str) -> int:
    """Return the kind of a dtype: bool, integer or floating-point."""
    return BOOL if dtype == "bool" else FLOAT if "float" in dtype else INTEGER


def number_dtype(value: bool | int | float) -> str:
    """Return the dtype of a Python number."""
    return _DEFAULTS[BOOL if isinstance(value, bool) else INTEGER if isinstance(value, int) else FLOAT]


def common_dtype(operands: Iterable[Operand]) -> str:
    """Return the common dtype of operands by PyTorch's rules."""
    best: dict[int, str] = {}
    for dtype, weight in operands:
        best[weight] = wider(best[weight], dtype) if weight in best else dtype
    dtypes = [best[weight] for weight in sorted(best, reverse=True)]
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = dtype if kind_of(dtype) > kind_of(result) else result
    return result


def wider(a: str, b: str) -> str:
    """Return the common dtype of two operands of the same weight."""
    if a == b:
        return a
    if kind_of(a) != kind_of(b):
        return a if kind_of(a) > kind_of(b) else b
    smaller, larger = sorted((a, b), key=lambda name: array_dtype(name).itemsize)
    sizes = array_dtype(smaller).itemsize, array_dtype(larger).itemsize
    if kind_of(a) == FLOAT:
        return larger if sizes[0] < sizes[1] else "float32"  # float16 and bfloat16
    if smaller.startswith("u") == larger.startswith("u") or (smaller.startswith("u") and sizes[0] < sizes[1]):
        return larger
    return f"int{min(64, 16 * sizes[1])}"  # an unsigned dtype of at least the same size needs another bit


Number = bool | int | float


@dataclass(frozen=True, eq=False)
class Symbol:
    """An integer known only at run time, as an int64 vector of one element."""

    vector: Expr


class TorchNode(ModelNode):
    """A node in translation. `overload` is the overload of its operator, `result` its type in PyTorch.

    `parts` is how many of its results the program reads, where it has several.
    """

    shape_hint = "export the program with this dimension fixed"

    def __init__(self, spec: NodeSpec, overload: str, builder: CallBuilder, parts: int = 1) -> None:
        super().__init__(spec.op, spec.name, builder)
        self.parts = parts
        self.overload = overload
        self.result: TensorMeta | None = spec.type

    @property
    def out_dtype(self) -> str:
        """The dtype of the result. Raises `ModelError` unless the result is one tensor."""
        if self.result is None:
            self.refuse("has no single tensor as its result")
        return self.result.dtype

    # ------------------------------------------------------------ operands
    def tensor(self, value: Any, dtype: str | None = None) -> Expr:
        """Return an operand as a tensor of a dtype, by default its own; a number becomes a scalar constant."""
        if isinstance(value, Expr):
            return value if dtype is None else self.cast(value, dtype)
        if isinstance(value, Symbol):
            scalar = self("reshape", value.vector, newshape=[])
            return scalar if dtype is None else self.cast(scalar, dtype)
        if not isinstance(value, (bool, int, float)):
            self.refuse("needs a tensor or a number here", found=type(value).__name__)
        return self.constant(value, dtype or number_dtype(value))

    def promoted_dtype(self, *values: Any) -> str:
        """Return the common dtype of operands by PyTorch's rules."""
        operands = []
        for value in values:
            if isinstance(value, Expr):
                operands.append((self.dtype(value), 2 if self.rank(value) else 1))  # the weights of `Operand`
            else:
                operands.append(("int64" if isinstance(value, Symbol) else number_dtype(value), 0))
        return common_dtype(operands)

    def promote(self, *values: Any, dtype: str | None = None) -> list[Expr]:
        """Return operands as tensors of one dtype, by default by PyTorch's rules."""
        target = dtype or self.promoted_dtype(*values)
        return [self.tensor(value, target) for value in values]

    def floating(self, x: Expr) -> Expr:
        """Return a tensor of floats; integers are cast to the dtype of the result, or float32."""
        if self.is_float(x):
            return x
        target = self.result.dtype if self.result is not None and "float" in self.result.dtype else "float32"
        return self.cast(x, target)

    # ------------------------------------------------------------ numbers
    def size(self, value: Any) -> Size:
        """Return an integer argument: an int if its value is known, or else an int64 vector of one element."""
        if isinstance(value, Symbol):
            constant = self.value(value.vector)  # folding may have made it a constant
            return value.vector if constant is None else int(constant.reshape(-1)[0])
        if not isinstance(value, int):
            self.refuse("needs a whole number here", found=type(value).__name__)
        return int(value)

    def sizes(self, values: Sequence[Any]) -> list[Size]:
        """Return integer arguments, each as by `size`."""
        return [self.size(value) for value in values]

    def static_int(self, value: Any) -> int:
        """Return an integer argument. Raises `ModelError` for one known only at run time."""
        size = self.size(value)
        if not isinstance(size, int):
            self.refuse("needs a number that is known at import", hint=self.shape_hint)
        return size

    def static_ints(self, values: Any, count: int | None = None) -> list[int]:
        """Return integer arguments known at import; a single one is repeated `count` times."""
        if not isinstance(values, (list, tuple)):
            values = [values]
        numbers = [self.static_int(value) for value in values]
        return numbers * count if count is not None and len(numbers) == 1 else numbers

    def axes(self, values: Any, x: Expr) -> list[int]:
        """Return axes of a tensor counted from 0; None and the empty list stand for all axes."""
        rank = self.rank(x)
        if values is None or values == []:
            return list(range(rank))
        return [self.axis(axis, rank) for axis in self.static_ints(values)]
