"""Replace convolutions whose weights are mostly zero by sparse operators.

before: weight_name=["w"], weight_shape=[[2, 1, 4, 2, 5]]
    def @main(%x: Tensor[(1, 5, 5, 8), float32], %w: Tensor[(1, 1, 8, 4), float32]) {
      nn.relu(nn.conv2d(%x, %w, padding=[0, 0, 0, 0], data_layout="NHWC", kernel_layout="HWIO"))
    }
after:
    def @main(%x: Tensor[(1, 5, 5, 8), float32], %"w.data": Tensor[(2, 1, 4), float32],
              %"w.indices": Tensor[(2), int32], %"w.indptr": Tensor[(5), int32]) {
      nn.relu(nn.sparse_conv2d(%x, %"w.data", %"w.indices", %"w.indptr", kernel_size=[1, 1]))
    }

keep: weight_name=["v"], weight_shape=[[2, 1, 4, 2, 5]]
    def @main(%x: Tensor[(1, 5, 5, 8), float32], %w: Tensor[(1, 1, 8, 4), float32]) {
      nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO", padding=[0, 0, 0, 0])
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.op import make
from passlab.rewriting.weights import (
    block_sparse_parts,
    check_block_shapes,
    has_sparse_form,
    weight_of_same_dtype,
    with_weights,
)
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), contract=None, acts_on=("nn.conv2d",))
class Conv2dToSparse(FunctionPass):
    """Replace `nn.conv2d(x, w)` by `nn.sparse_conv2d(x, w.data, w.indices, w.indptr)` with three new parameters.

    `weight_name` lists the parameters w, `weight_shape` the five lengths of the block-sparse form of each: three of the
    data, then the lengths of indices and row pointers, as `relay.analysis.sparse_conv2d.process_params` returns them.
    `layout` is the layout of the data, `kernel_size` the window, 1 or 3. Convolutions that the sparse operator cannot
    compute stay: those with strides, dilation, groups, or another padding than one that keeps the size of the image.
    """

    weight_name: Sequence[str] = ()
    weight_shape: Sequence[Sequence[int]] = ()
    layout: str = "NHWC"
    kernel_size: int = 1

    def __post_init__(self) -> None:
        check_block_shapes("Conv2dToSparse", self.weight_name, self.weight_shape)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        shapes = {str(name): shape for name, shape in zip(self.weight_name, self.weight_shape, strict=True)}
        window = (self.kernel_size, self.kernel_size)

        def weight_of(call: Call) -> Expr | None:
            fits = is_call_of(call, "nn.conv2d") and has_sparse_form(call, self.layout, self.kernel_size)
            return weight_of_same_dtype(call) if fits else None

        def replace(call: Call, parts: tuple[Var, ...]) -> Expr:
            return make("nn.sparse_conv2d", call.args[0], *parts, layout=self.layout, kernel_size=window)

        parts_of = partial(block_sparse_parts, shapes)
        return with_weights(func, mod, shapes, weight_of, parts_of, replace, "convolve with a sparse weight")
