"""Split large `concatenate` calls, for devices whose kernels take a limited number of arguments.

before: max_function_args=4
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8], %c: Tensor[(4), int8], %d: Tensor[(5), int8]) {
      concatenate((%a, %b, %c, %d), axis=0)
    }
after:
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8], %c: Tensor[(4), int8], %d: Tensor[(5), int8]) {
      %0 = annotation.stop_fusion(concatenate((%a, %b, %c), axis=0));
      %1 = annotation.stop_fusion(concatenate((%d,), axis=0));
      concatenate((%0, %1), axis=0)
    }

keep: max_function_args=4
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8]) { concatenate((%a, %b, %a), axis=0) }

keep: max_function_args=0
    def @main(%a: Tensor[(2), int8]) { concatenate((%a, %a, %a, %a), axis=0) }
"""

from __future__ import annotations

from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, required=("InferType",), promise=EXACT)
class SplitArgs(FunctionPass):
    """Split each `concatenate` of a tuple with more than `max_function_args` - 1 fields (one is for the result).

    Groups of the largest allowed size are joined first, each followed by `annotation.stop_fusion` so that FuseOps keeps
    it apart; then the groups themselves, in as many rounds as necessary (Relay makes one round, whatever the result). 0
    turns the pass off; with 2 each field is a group, in one round; 1 and negative limits raise `PassValueError`. Relay
    also copies the attributes of the module to its functions; here they stay with the module.
    """

    max_function_args: int

    def __post_init__(self) -> None:
        if self.max_function_args < 0 or self.max_function_args == 1:
            what = "a kernel that joins tensors takes at least one and its result"
            raise PassValueError(Diagnostic(what, expected="0, or 2 and more", found=str(self.max_function_args)))

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        limit = self.max_function_args - 1
        concatenate = find_op("concatenate")

        def split(pre: Call, post: Call) -> Expr:
            if post.op is not concatenate or type(post.args[0]) is not Tuple or len(post.args[0].fields) <= limit:
                return post
            fields = post.args[0].fields
            while len(fields) > limit:
                groups = (Tuple(fields[i : i + limit]) for i in range(0, len(fields), limit))
                fields = tuple(make("annotation.stop_fusion", post.with_fields(args=(g,))) for g in groups)
                if limit == 1:  # groups of one never become fewer
                    break
            return post.with_fields(args=(Tuple(fields),))

        return func if limit < 0 else rewrite(func, split, only=(Call,), name="concatenate in steps")
