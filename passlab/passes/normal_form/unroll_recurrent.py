"""Write recurrent layers out, step by step.

before:
    def @main(%x: Tensor[(1, 1, 2), float32], %w: Tensor[(1, 2, 2), float32], %r: Tensor[(1, 2, 2), float32]) {
      %0 = ();
      %1 = contrib.recurrent(%x, %w, %r, %0, mode="rnn_tanh");
      %1.1
    }
after:
    def @main(%x: Tensor[(1, 1, 2), float32], %w: Tensor[(1, 2, 2), float32], %r: Tensor[(1, 2, 2), float32]) {
      %0 = nn.dense(%x, take(%w, 0, axis=0), units=None);
      %1 = nn.dense(zeros(shape=[1, 2], dtype="float32"), take(%r, 0, axis=0), units=None);
      %2 = (tanh(add(take(%0, 0, axis=0), %1)),);
      stack(%2)
    }

keep:
    def @main(%x: Tensor[(?, 1, 2), float32], %w: Tensor[(1, 2, 2), float32], %r: Tensor[(1, 2, 2), float32]) {
      contrib.recurrent(%x, %w, %r, (), mode="rnn_tanh")
    }
"""

from __future__ import annotations

from functools import partial

from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite
from passlab.op.nn.recurrent import unrolled
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=Rounds(4096), acts_on=("contrib.recurrent",))
class UnrollRecurrent(FunctionPass):
    """Replace each recurrent layer by the products, additions and activations of its steps.

    So other passes see the operators inside. A layer stays one call where the sizes of its data are open, or where its
    arguments have effects. The number of calls grows with the length of the sequence: up to `limits.model_nodes` steps.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(
            func, partial(_unroll, Movability(mod)), only=(Call, TupleGetItem), name="recurrent layer unrolled"
        )


def _unroll(is_movable: Movability, pre: Expr, post: Expr) -> Expr:
    if type(pre) is TupleGetItem and type(post) is TupleGetItem:
        is_unrolled = is_call_of(pre.tuple_value, "contrib.recurrent") and type(post.tuple_value) is Tuple
        return post.tuple_value.fields[post.index] if is_unrolled else post  # type: ignore[attr-defined]
    if not is_call_of(pre, "contrib.recurrent") or not is_call_of(post, "contrib.recurrent"):
        return post
    types = [arg.checked_type for arg in pre.args]
    if any(isinstance(ty, TensorType) and ty.dynamic for ty in types) or not all(map(is_movable, pre.args)):
        return post
    return unrolled(post.attrs, types, *post.args)
