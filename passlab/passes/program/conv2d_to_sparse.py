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

from passlab.analysis.call_graph import named_functions
from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.op import make
from passlab.rewriting.weights import block_sparse_parts, has_sparse_form, keeps_dtype, with_weights
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), promise=None)
class Conv2dToSparse(FunctionPass):
    """Replace `nn.conv2d(x, w)` by `nn.sparse_conv2d(x, w.data, w.indices, w.indptr)` with three new parameters.

    `weight_name` lists the parameters w, `weight_shape` the five lengths of the block-sparse form of each: three of the
    data, then those of indices and row pointers, as `relay.analysis.sparse_conv2d.process_params` returns them.
    `layout` is that of the data, `kernel_size` the window, 1 or 3. Convolutions that the sparse operator cannot compute
    stay: those with strides, dilation, groups, or another padding than one that keeps the size of the image.
    """

    weight_name: Sequence[str] = ()
    weight_shape: Sequence[Sequence[int]] = ()
    layout: str = "NHWC"
    kernel_size: int = 1

    def __post_init__(self) -> None:
        lengths = [len(shape) for shape in self.weight_shape]
        if len(lengths) != len(self.weight_name) or set(lengths) - {5}:
            actual = f"{len(self.weight_name)} names, shapes of {lengths or 'no'} lengths"
            what = "Conv2dToSparse: bad shapes"
            raise PassValueError(Diagnostic(what, expected="five lengths a name", found=actual))

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        shapes = {str(name): shape for name, shape in zip(self.weight_name, self.weight_shape, strict=True)}
        params = {p: shapes[p.name_hint] for p in func.params if p.name_hint in shapes}
        if not params or func in named_functions(mod):
            return func
        parts: dict[Var, tuple[Var, ...]] = {}
        conv2d = find_op("nn.conv2d")

        def replace(pre: Call, post: Call) -> tuple[Expr, Sequence[Var]] | None:
            weight = pre.args[1] if pre.op is conv2d else None
            if not isinstance(weight, Var) or weight not in params or not keeps_dtype(pre, weight):
                return None
            if not has_sparse_form(pre, self.layout, self.kernel_size):
                return None
            if weight not in parts:
                parts[weight] = block_sparse_parts(weight, params[weight])
            window = (self.kernel_size, self.kernel_size)
            data = post.args[0]
            return make("nn.sparse_conv2d", data, *parts[weight], layout=self.layout, kernel_size=window), parts[weight]

        return with_weights(func, replace, "convolve with a sparse weight")
