"""Compute in a shorter floating-point type where that is safe.

before: missing_op_mode=2
    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) { nn.softmax(nn.relu(nn.dense(%x, %w))) }
after:
    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) {
      %0 = nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float16");
      nn.softmax(cast(nn.relu(%0), dtype="float32"))
    }

keep: missing_op_mode=2
    def @main(%x: Tensor[(4), float32]) { exp(exp(%x)) }
"""

from __future__ import annotations

import logging
from typing import Any

from passlab.analysis.call_graph import named_functions
from passlab.errors import Diagnostic, PassError, PassValueError
from passlab.infer import infer_expr
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.op.dtypes import is_float_name
from passlab.passes.precision.mixed_precision import MixedPrecision
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass

_log = logging.getLogger("passlab.ToMixedPrecision")


@standard_pass(opt_level=0, contract=None)
class ToMixedPrecision(FunctionPass):
    """Cast to `mixed_precision_type` around operators that benefit, and back around those that need the range.

    Operators are ALWAYS short (convolutions, matrix products), NEVER (exp, softmax, sums), or FOLLOW their arguments.
    `missing_op_mode` chooses how to report operators without a rule, which follow their inputs: 0 an error, 1 a warning
    in the log, 2 nothing. The result types are kept for functions that others call and for functions that are stored or
    passed on; `relay.ToMixedPrecision.keep_orig_output_dtype` keeps them for all functions.

    Where Relay casts to float32, arguments are cast back to their original type, so float64 programs keep their
    precision; branches, references and data keep one type.
    """

    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def __post_init__(self) -> None:
        if self.missing_op_mode not in (0, 1, 2):
            raise PassValueError(
                Diagnostic(
                    "missing_op_mode must be 0, 1 or 2", found=str(self.missing_op_mode), hint="1 warns, 2 is silent"
                )
            )
        if not is_float_name(self.mixed_precision_type):
            raise PassValueError(
                Diagnostic(
                    "the type to compute in must be floating",
                    expected="float16 or bfloat16",
                    found=self.mixed_precision_type,
                )
            )

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive:
            return func
        typed: Any = func if func.checked_type_ is not None else infer_expr(func, mod)
        keep = bool(ctx.get_config("relay.ToMixedPrecision.keep_orig_output_dtype")) or func in named_functions(mod)
        work = MixedPrecision(self.mixed_precision_type)
        result = work.convert(typed, keep)
        if work.missing and self.missing_op_mode < 2:
            listed = ", ".join(f"{name} ({count})" for name, count in work.missing.items())
            if self.missing_op_mode == 0:
                raise PassError(
                    Diagnostic(
                        f"nothing is known about the precision of some operators: {listed}",
                        hint="set missing_op_mode=2, or use `relay.op.register_mixed_precision_conversion`",
                    )
                )
            _log.warning(
                "nothing is known about the precision of these operators, which follow their arguments: %s", listed
            )
        return func if result is typed else result
