"""Bind the constants of a function at its top.

before:
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%y: Tensor[(2), float32]) { multiply(%y, 3f) };
      add(%f(%x), 1f)
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      let %const0 = 3f;
      let %const1 = 1f;
      let %f = fn (%y: Tensor[(2), float32]) { multiply(%y, %const0) };
      add(%f(%x), %const1)
    }

keep:
    def @main(%x: Tensor[(2), float32]) { let %one = 1f; let %y = add(%x, %one); exp(%y) }

keep:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { add(%p0, 1f) };
      %0(%x)
    }
"""

from __future__ import annotations

import re

from passlab.ir.expr import Constant, Expr, Function, Let, Var, set_checked_type
from passlab.ir.module import IRModule
from passlab.ir.walk import let_chain, make_lets, note_rewrite, outside_kernels, post_order, rewrite
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

_NUMBERED = re.compile(r"const(\d{1,9})\Z")


@standard_pass(opt_level=0, contract=EXACT, acts_on=(Constant,))
class LiftConstants(FunctionPass):
    """Bind each constant by a `let` at the top of its global function, in the order of first use.

    The variables are called `const0`, `const1`, ... A constant that is used several times is bound once. Constants that
    lets at the top already bind stay bound there. Primitive functions keep their constants.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive:
            return func
        top, rest = _leading_constant_lets(func.body)
        variables: dict[Expr, Var] = {}
        for let in top:
            variables.setdefault(let.value, let.var)
        order = post_order(rest, enter=outside_kernels)
        constants = [n for n in order if type(n) is Constant and n not in variables]
        if not constants and not any(n in variables for n in order):
            return func
        names = (_NUMBERED.match(n.name_hint) for n in post_order(func) if type(n) is Var)
        first = 1 + max((int(m[1]) for m in names if m), default=-1)
        new = {c: _variable(f"const{first + i}", c) for i, c in enumerate(constants)}
        for constant, var in new.items():
            note_rewrite(constant, var)
        body = rewrite(rest, replace=dict[Expr, Expr]([*variables.items(), *new.items()]), enter=outside_kernels)
        bindings = [(let.var, let.value) for let in top] + [(var, c) for c, var in new.items()]
        return func.with_fields(body=make_lets(bindings, body))


def _leading_constant_lets(body: Expr) -> tuple[list[Let], Expr]:
    """Return the leading lets that bind only constants, and the rest of the body."""
    lets, last = let_chain(body)
    count = next((i for i, let in enumerate(lets) if type(let.value) is not Constant), len(lets))
    return lets[:count], lets[count] if count < len(lets) else last


def _variable(name: str, constant: Constant) -> Var:
    var = Var(name, constant.tensor_type, constant.span)
    set_checked_type(var, constant.tensor_type)
    return var
