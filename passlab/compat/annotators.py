"""`tvm.relay.testing.byoc`: an annotator of parts for another compiler, which TVM's tests partition by."""

from __future__ import annotations

import itertools
from typing import Any

from passlab.ir.expr import Call, Expr, Var
from passlab.ir.functor import ExprMutator
from passlab.ir.op import is_call_of
from passlab.relay import annotation

COMPILER = "ccompiler"
CHAIN = ("multiply", "subtract", "add")  # from the result to the inputs


class CcompilerAnnotator(ExprMutator):
    """Marks each `multiply(subtract(add(a, b), c), d)` as one part for the compiler "ccompiler"."""

    def visit_call(self, call: Call) -> Expr:
        """Return the call with marks around the part that it ends, or with its arguments visited."""
        part = _chain(call)
        if not part:
            visited: Expr = super().visit_call(call)
            return visited
        result: Expr = annotation.compiler_end(self._inside(part), COMPILER)
        return result

    def _inside(self, part: list[Call]) -> Expr:
        """Return the part with its inputs marked; only inputs of the addition may be computed outside of it."""
        add = part[-1]
        result: Expr = add.with_fields(args=tuple(annotation.compiler_begin(self.visit(a), COMPILER) for a in add.args))
        for above, below in reversed([*itertools.pairwise(part)]):
            args: list[Any] = []
            for arg in above.args:
                outer = annotation.compiler_begin(arg, COMPILER) if isinstance(arg, Var) else None
                args.append(result if arg is below else outer or self.visit(arg))
            result = above.with_fields(args=tuple(args))
        return result


def _chain(call: Call) -> list[Call]:
    """Return the calls of a part that a call ends, from its result on; [] if it ends none."""
    part: list[Call] = []
    at: Expr | None = call
    for name in CHAIN:
        if at is None or not is_call_of(at, name):
            return []
        part.append(at)
        following = CHAIN[min(len(part), len(CHAIN) - 1)]
        at = next((arg for arg in at.args if is_call_of(arg, following)), None)
    return part
