"""Replace dense layers whose weights are mostly zero by sparse operators.

before: weight_name=["w"], weight_shape=[[2, 1, 4, 2, 5]]
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w)) }
after:
    def @main(%x: Tensor[(1, 8), float32], %"w.data": Tensor[(2, 1, 4), float32], %"w.indices": Tensor[(2), int32],
              %"w.indptr": Tensor[(5), int32]) {
      nn.relu(nn.sparse_dense(%x, %"w.data", %"w.indices", %"w.indptr"))
    }

keep: weight_name=["v"], weight_shape=[[2, 1, 4, 2, 5]]
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.op import make
from passlab.rewriting.weights import block_sparse_parts, check_block_shapes, weight_of_same_dtype, with_weights
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), contract=None, acts_on=("nn.dense",))
class DenseToSparse(FunctionPass):
    """Replace `nn.dense(x, w)` by `nn.sparse_dense(x, w.data, w.indices, w.indptr)` with three new parameters.

    `weight_name` lists the parameters w, `weight_shape` the five lengths of the block-sparse form of each: three of the
    data, then the lengths of indices and row pointers, as `relay.analysis.sparse_dense.process_params` returns them.
    The parameters of the result are those still used, in order of use, then the new ones: pass its arrays by name.
    Functions that others call stay as they are, and so do layers whose result and data differ in dtype.
    """

    weight_name: Sequence[str] = ()
    weight_shape: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        check_block_shapes("DenseToSparse", self.weight_name, self.weight_shape)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        shapes = {str(name): shape for name, shape in zip(self.weight_name, self.weight_shape, strict=True)}

        def weight_of(call: Call) -> Expr | None:
            return weight_of_same_dtype(call) if is_call_of(call, "nn.dense") else None

        def replace(call: Call, parts: tuple[Var, ...]) -> Expr:
            return make("nn.sparse_dense", call.args[0], *parts)

        parts_of = partial(block_sparse_parts, shapes)
        return with_weights(func, mod, shapes, weight_of, parts_of, replace, "multiply by a sparse weight")
