"""`ProgramWriter`: writes one random typed program, a block of statements at a time.

A block is a list of statements and a result. Each statement adds values to the scope: some bound by a `let`, some as
shared nodes, also of inner blocks. The statements are in `constructs`, `operators` and `effects`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.infer import infer_expr
from passlab.ir.expr import Constant, Expr, Tuple, Var, set_checked_type
from passlab.ir.types import TensorType, Type, fold_tuple
from passlab.ir.walk import make_lets
from passlab.op import make
from passlab.op.dtypes import array_dtype
from passlab.testing.programs.library import BOOL, INT, library


@dataclass(frozen=True)
class Options:
    """What programs may contain. `operators` are the names to draw from, None for all of the registry."""

    effects: bool = True
    smooth: bool = False
    dynamic: bool = True
    data_types: bool = True
    gradients: bool = True
    operators: tuple[str, ...] | None = None


Statement = Callable[["ProgramWriter", int], None]
OperandRule = Callable[["ProgramWriter", Expr], Expr]


class ProgramWriter:
    """Writes one program. `scope` has the values that the next statement may use, `cells` the references among them."""

    def __init__(
        self, seed: int, options: Options, statements: tuple[Statement, ...], disturb: OperandRule | None
    ) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.options = options
        self.library = library(options.effects)
        self.statements = statements
        self.disturb = disturb
        self.scope: list[Expr] = []
        self.lets: list[tuple[Var, Expr]] = []
        self.cells: list[Var] = []
        self.counters: list[Expr] = []
        self.pure = 0  # the number of enclosing constructs that allow no effects

    # ------------------------------------------------------------ values
    def tensor(self, fits: Callable[[TensorType], bool] = lambda ty: True) -> Expr | None:
        """Return a tensor in scope, one of the newer more likely, or None."""
        tensors = [e for e in self.scope if type(e.checked_type) is TensorType]
        tensors = [e for e in tensors if fits(e.checked_type)]  # type: ignore[arg-type]
        if not tensors:
            return None
        newer = max(self.random.randrange(len(tensors)), self.random.randrange(len(tensors)))
        return self.operand(tensors[newer])

    def like(self, ty: TensorType) -> Expr:
        """Return a tensor of a type: one in scope, or a constant. One of dynamic shape must be in scope."""
        tensors = [e for e in self.scope if e.checked_type is ty]
        if ty.dynamic:
            return tensors[-1]
        if tensors and self.random.random() < 0.8:
            return self.operand(self.random.choice(tensors))
        return self.operand(self.array(ty.concrete_shape, ty.dtype))

    def operand(self, expr: Expr) -> Expr:
        """Return an expression, sometimes with an effect around it."""
        if self.disturb is None or self.pure or self.random.random() > 0.2:
            return expr
        return self.infer_type(self.disturb(self, self.infer_type(expr)))

    def array(self, shape: Sequence[Any], dtype: str, positive: bool = False) -> Constant:
        """Return a constant tensor of random numbers."""
        if dtype == "bool":
            return Constant(np.asarray(self.numbers.random(shape) < 0.5))
        if "int" in dtype:
            return Constant(np.asarray(self.numbers.integers(0, 3, shape)).astype(array_dtype(dtype)))
        noise = self.numbers.standard_normal(shape)
        return Constant(np.asarray(np.abs(noise) + 0.5 if positive else noise).astype(array_dtype(dtype)))

    def infer_type(self, expr: Expr) -> Expr:
        """Return an expression with its type inferred."""
        return infer_expr(expr, self.library.mod)

    def static_tensor(self) -> Expr:
        """Return a tensor whose shape is known."""
        return self.tensor(lambda t: not t.dynamic) or self.array((2, 3), "float32")

    def static_type(self) -> TensorType:
        """Return the type of a tensor in scope whose shape is known."""
        types = [e.checked_type for e in self.scope]
        static = [t for t in types if isinstance(t, TensorType) and not t.dynamic]
        return self.random.choice(static) if static else TensorType((2, 3), "float32")

    def condition(self) -> Expr:
        """Return a boolean scalar."""
        flag = self.tensor(lambda t: t is BOOL)
        if flag is None or self.random.random() < 0.3:
            less = make("less", self.number(), Constant(np.int32(2)))
            return self.random.choice((Constant(np.asarray(True)), less))
        return flag

    def number(self) -> Expr:
        """Return an int32 scalar."""
        return self.tensor(lambda t: t is INT) or Constant(np.asarray(self.random.randrange(4), "int32"))

    def new_var(self, ty: Type, name: str = "p") -> Var:
        """Return a new typed variable."""
        var = Var(name, ty)
        set_checked_type(var, ty)
        return var

    # ------------------------------------------------------------ statements and blocks
    def add(self, expr: Expr, bound: float = 0.4) -> Expr:
        """Type a value and put it in scope: bound by a let with probability `bound`, else as a shared node."""
        expr = self.infer_type(expr)
        value = self.let(expr) if self.random.random() < bound else expr
        self.scope.append(value)
        return value

    def let(self, expr: Expr) -> Var:
        """Bind a value by a let of the current block and return its variable."""
        expr = self.infer_type(expr)
        var = self.new_var(expr.checked_type, self.random.choice("abv"))
        self.lets.append((var, expr))
        return var

    def block(self, size: int, params: list[Var] | None = None, result_type: Type | None = None) -> Expr:
        """Return a few statements and a result: of type `result_type`, or the newest values."""
        saved = self.scope, self.lets, self.cells, self.counters
        self.scope, self.lets = [*self.scope, *(params or ())], []
        self.cells, self.counters = [*self.cells], [*self.counters]
        for _ in range(size):
            self.random.choice(self.statements)(self, size)
        if result_type is not None:
            result = next((e for e in self.scope[::-1] if e.checked_type is result_type), None)
            result = self.value(result_type) if result is None else result
        else:
            newest = self.scope[-3:] or [self.array((), "float32")]
            result = newest[-1] if self.random.random() < 0.5 else Tuple(newest)
        body = self.infer_type(make_lets(self.lets, result))
        self.scope, self.lets, self.cells, self.counters = saved
        return body

    def value(self, ty: Type) -> Expr:
        """Return a constant of a type."""
        value: Expr = fold_tuple(ty, self._constant, Tuple)
        return value

    def _constant(self, ty: Type) -> Expr:
        assert isinstance(ty, TensorType)
        return self.array(tuple(d if type(d) is int else 2 for d in ty.shape), ty.dtype)
