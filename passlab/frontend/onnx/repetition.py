"""Loops, which Relay lacks: translated to a recursive function, or unrolled.

A loop carries states from iteration to iteration, and collects values of each. If the number of iterations is known and
small, the loop is unrolled and shapes stay known. Otherwise states whose shape changes get a type with unknown
dimensions, and collected values are concatenated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from passlab.frontend.building import CallBuilder, tensor_type
from passlab.frontend.modules import plain
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, Var
from passlab.ir.types import ANY, TensorType, TupleType

UNROLLED = 32  # iterations that are unrolled


@dataclass
class Round:
    """The results of one iteration: the condition for another (None: no condition), states, and collected values."""

    again: Expr | None
    states: list[Expr]
    collected: list[Expr]


Body = Callable[[Expr, Expr, list[Expr], Capture], Round]  # of the number of the iteration, the condition, the states


@dataclass
class Loop:
    """A loop that runs while `condition` holds (None: always), at most `limit` times (None: without limit)."""

    n: OnnxNode
    body: Body
    limit: Expr | None
    condition: Expr | None
    states: list[Expr]

    def results(self) -> list[Expr]:
        """Return the last states, then all collected values, joined along a new first axis."""
        return self._written_out() or self._recursive()

    # ------------------------------------------------------------ round by round
    def _written_out(self) -> list[Expr] | None:
        """Return the results of the unrolled loop; None if the number of iterations is unknown."""
        limit = None if self.limit is None else self.n.value(self.limit)
        condition = True if self.condition is None else self._truth(self.condition)
        if limit is None or limit.size != 1 or not limit.reshape(-1)[0] <= UNROLLED or condition is None:
            return None
        states, collected = list(self.states), list[list[Expr]]()
        for number in range(int(limit.reshape(-1)[0])):
            if not condition:
                break
            result = self.body(self.n.constant(number, "int64"), self.n.constant(True, "bool"), states, lambda e: e)
            states = result.states
            collected.append(result.collected)
            condition = True if result.again is None else self._truth(result.again)
            if condition is None:
                return None
        if not collected:
            return None
        return [*states, *(self._stack_parts(parts) for parts in zip(*collected, strict=True))]

    def _truth(self, condition: Expr) -> bool | None:
        value = self.n.value(condition)
        return None if value is None else bool(value.any())

    def _stack_parts(self, parts: Sequence[Expr]) -> Expr:
        return self.n("stack", self.n.builder.tuple(parts), axis=0)

    # ------------------------------------------------------------ by recursion
    def _recursive(self) -> list[Expr]:
        """Return the results of a recursive function, with state types that every iteration keeps."""
        types = [self._type(state) for state in self.states]
        while True:
            outer = _Outer(self.n.builder)
            number, condition = Var("i", TensorType((), "int64")), Var("cond", TensorType((), "bool"))
            variables = [Var(f"state{at}", ty) for at, ty in enumerate(types)]
            for var in (number, condition, *variables):
                self.n.builder.finish(var)
            result = self.body(number, condition, list(variables), outer.capture)
            if len(result.states) != len(types):
                self.n.refuse("has a body that gives another number of states than it takes")
            wider = [self._join(ty, self._type(state)) for ty, state in zip(types, result.states, strict=True)]
            if wider == types:
                return self._enter_call(number, condition, variables, result, outer)
            types = wider

    def _type(self, x: Expr) -> TensorType:
        ty = x.checked_type
        if not isinstance(ty, TensorType):
            self.n.refuse("carries something that is no tensor", found=str(ty))
        return plain(ty)

    def _join(self, a: TensorType, b: TensorType) -> TensorType:
        return join(self.n, a, b)

    def _enter_call(
        self, number: Var, condition: Var, variables: list[Var], round_: Round, outer: _Outer
    ) -> list[Expr]:
        """Return the results of the loop as a function: defined, called, and its result projected."""
        n = self.n
        kept = [Var(f"out{at}", self._kept_type(part)) for at, part in enumerate(round_.collected)]
        for var in kept:
            n.builder.finish(var)
        grown = [self._grown(number, var, part) for var, part in zip(kept, round_.collected, strict=True)]
        loop = Var("loop")
        go = (
            condition
            if self.limit is None
            else n("logical_and", n("less", number, outer.capture(self.limit)), condition)
        )
        again = condition if round_.again is None else round_.again
        last = Tuple([*variables, *kept])
        step = Call(loop, [n("add", number, 1), again, *round_.states, *grown])
        result = TupleType([self._type(var) for var in (*variables, *kept)])
        function = Function([number, condition, *variables, *kept], If(go, step, last), result)
        first = n.constant(True, "bool") if self.condition is None else self.condition
        start = Call(loop, [n.constant(0, "int64"), first, *self.states, *(self._nothing(var) for var in kept)])
        program: Expr = Let(loop, function, start)
        for captured, value in reversed(outer.bindings):
            program = Let(captured, value, program)
        return n.fields(n.builder.finish(program), len(variables) + len(kept))

    def _kept_type(self, part: Expr) -> TensorType:
        ty = self._type(part)
        return TensorType((ANY, *ty.shape), ty.dtype)

    def _grown(self, number: Var, kept: Var, part: Expr) -> Expr:
        """Return the collected values with the value of this iteration appended.

        If the shape of the value is unknown, so is that of the empty collection before the first iteration.
        """
        n = self.n
        row = n("expand_dims", part, axis=0)
        joined_rows = n.concat([kept, row])
        if all(isinstance(dim, int) for dim in n.shape(part)):
            return joined_rows
        return n.builder.finish(If(n("equal", number, 0), weaken(n, row, self._type(kept)), joined_rows))

    def _nothing(self, kept: Var) -> Expr:
        ty = kept.type_annotation
        assert isinstance(ty, TensorType)
        return self.n("zeros", shape=[dim if isinstance(dim, int) else 0 for dim in ty.shape], dtype=ty.dtype)


class _Outer:
    """Values from outside a loop, bound to variables so that no iteration recomputes them."""

    def __init__(self, builder: CallBuilder) -> None:
        self._builder = builder
        self._known: dict[Expr, Var] = {}

    @property
    def bindings(self) -> list[tuple[Var, Expr]]:
        """The variables and their values, in the order of first use."""
        return [(var, value) for value, var in self._known.items()]

    def capture(self, value: Expr) -> Expr:
        """Return the variable of a value inside the loop."""
        if isinstance(value, (Constant, Var)):
            return value
        if value not in self._known:
            var = Var("outer", plain(tensor_type(value)))
            self._builder.finish(var)
            self._known[value] = var
        return self._known[value]


def join(n: OnnxNode, a: TensorType, b: TensorType) -> TensorType:
    """Return the common type of both tensors, with `?` where their sizes differ."""
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        n.refuse("has tensors of different dtypes or ranks for one value", str(a), str(b))
    dims = [p if p == q else ANY for p, q in zip(a.shape, b.shape, strict=True)]
    return a if a == b else plain(TensorType(dims, a.dtype))


def weaken(n: OnnxNode, value: Expr, ty: TensorType) -> Expr:
    """Return a tensor as one of a type with fewer known dimensions."""
    if value.checked_type == ty:
        return value
    var = Var("weak", ty)
    return n.builder.finish(Let(var, value, var))
