"""Wrap each match of a pattern in a function that an external compiler treats as one operator.

before: pattern_table=[("toy.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { exp(nn.relu(add(%x, %y))) }
after:
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
      %0 = fn (%FunctionVar_0_0: Tensor[(2), float32], %FunctionVar_0_1: Tensor[(2), float32],
               PartitionedFromPattern="add_nn.relu_", Composite="toy.add_relu") -> Tensor[(2), float32] {
        nn.relu(add(%FunctionVar_0_0, %FunctionVar_0_1))
      };
      exp(%0(%x, %y))
    }

keep: pattern_table=[("toy.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
      %0 = add(%x, %y);
      multiply(nn.relu(%0), %0)
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, PassTypeError
from passlab.infer import infer_expr
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.pattern.language import DFPattern
from passlab.pattern.partitioner import partition
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT)
class MergeComposite(FunctionPass):
    """Replace each match of each pattern, in the order of the table, by a call of a function that contains the match.

    An entry of `pattern_table` is `(name, pattern)` or `(name, pattern, check)`; a match is used only if `check(match)`
    is true. The function has the attribute `Composite=name`; the inputs of the match are its parameters. Types are
    inferred after each entry, so that patterns can test them. Raises `PassTypeError` for other entries.
    """

    pattern_table: Sequence[Any] = ()

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        for entry in self.pattern_table:
            name, pattern, check = _unpack_entry(entry)
            body = partition(pattern, func.body, {"Composite": name}, check)
            if body is not func.body:
                result: Any = infer_expr(func.with_fields(body=body), mod)
                func = result
        return func


def _unpack_entry(entry: Any) -> tuple[str, DFPattern, Callable[[Expr], bool]]:
    parts = tuple(entry) if isinstance(entry, (tuple, list)) else ()
    check = parts[2] if len(parts) == 3 else lambda expr: True
    if len(parts) in (2, 3) and isinstance(parts[0], str) and isinstance(parts[1], DFPattern) and callable(check):
        return parts[0], parts[1], check
    what = "an entry of the pattern table has the wrong form"
    raise PassTypeError(Diagnostic(what, expected="(name, pattern) or (name, pattern, check)", found=repr(entry)))
