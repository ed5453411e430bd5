"""Split large `concatenate` calls, for devices whose kernels take a limited number of arguments.

before: max_function_args=4
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8], %c: Tensor[(4), int8], %d: Tensor[(5), int8]) {
      concatenate((%a, %b, %c, %d), axis=0)
    }
after:
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8], %c: Tensor[(4), int8], %d: Tensor[(5), int8]) {
      %0 = (%a, %b, %c);
      %1 = concatenate(annotation.stop_fusion(%0), axis=0);
      %2 = (%1, %d);
      concatenate(annotation.stop_fusion(%2), axis=0)
    }

keep: max_function_args=4
    def @main(%a: Tensor[(2), int8], %b: Tensor[(3), int8]) { concatenate((%a, %b, %a), axis=0) }

keep: max_function_args=0
    def @main(%a: Tensor[(2), int8]) { concatenate((%a, %a, %a, %a), axis=0) }
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.ir.types import TensorType, is_dynamic
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, required=("InferType",), contract=EXACT, acts_on=("concatenate",))
class SplitArgs(FunctionPass):
    """Split each `concatenate` of a tuple into steps, each a kernel of at most `max_function_args` arguments.

    Each field and the result are arguments; a tensor whose shape is not static also passes its sizes and strides, the
    result its strides. The first step joins as many fields as fit, each further step the result so far with the next
    fields. `annotation.stop_fusion` around the tuple of a step keeps FuseOps from joining the steps. 0 turns the pass
    off; with 2 each step joins two tensors; 1 and negative limits raise `PassValueError`. Relay also keeps FuseOps away
    from a tuple that just fits, and copies the attributes of the module to its functions.
    """

    max_function_args: int

    def __post_init__(self) -> None:
        if self.max_function_args < 0 or self.max_function_args == 1:
            what = "a kernel that joins tensors takes at least one and its result"
            raise PassValueError(Diagnostic(what, expected="0, or 2 and more", found=str(self.max_function_args)))

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        concatenate = find_op("concatenate")

        def split(pre: Call, post: Call) -> Expr:
            if post.op is not concatenate or type(pre.args[0]) is not Tuple or type(post.args[0]) is not Tuple:
                return post
            fields = [*zip(post.args[0].fields, map(_arguments, pre.args[0].fields), strict=True)]
            result = pre.checked_type
            assert isinstance(result, TensorType)
            limit = self.max_function_args - (1 + len(result.shape) * is_dynamic(result))
            return post if sum(size for _, size in fields) <= limit else _in_steps(post, fields, limit)

        return rewrite(func, split, only=(Call,), name="concatenate in steps") if self.max_function_args else func


def _arguments(tensor: Expr) -> int:
    """Return how many arguments a tensor is: itself, and if its shape is not static, its unknown sizes and strides."""
    assert isinstance(tensor.checked_type, TensorType)
    shape = tensor.checked_type.shape
    unknown = sum(not isinstance(dim, int) for dim in shape)
    return 1 + (unknown + len(shape) if unknown else 0)


def _in_steps(call: Call, fields: Sequence[tuple[Expr, int]], limit: int) -> Expr:
    """Return the joined fields, computed in steps; the result of a step counts like the field that follows it."""
    group: tuple[Expr, ...] = ()
    start = 0
    while start < len(fields):
        end, used = start + 1, fields[start][1] * (1 + len(group))
        while end < len(fields) and used + fields[end][1] <= limit:
            used += fields[end][1]
            end += 1
        group = (*group, *(field for field, _ in fields[start:end]))
        group = (call.with_fields(args=(make("annotation.stop_fusion", Tuple(group)),)),)
        start = end
    return group[0]
