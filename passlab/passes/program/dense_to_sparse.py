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

from passlab.analysis.call_graph import named_functions
from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.op import make
from passlab.rewriting.weights import block_sparse_parts, keeps_dtype, with_weights
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), promise=None)
class DenseToSparse(FunctionPass):
    """Replace `nn.dense(x, w)` by `nn.sparse_dense(x, w.data, w.indices, w.indptr)` with three new parameters.

    `weight_name` lists the parameters w, `weight_shape` the five lengths of the block-sparse form of each: three of the
    data, then those of indices and row pointers, as `relay.analysis.sparse_dense.process_params` returns them. The
    parameters of the result are those still used, in order of use, then the new ones: pass its arrays by name.
    Functions that others call stay as they are, and so do layers whose result and data differ in dtype.
    """

    weight_name: Sequence[str] = ()
    weight_shape: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        lengths = [len(shape) for shape in self.weight_shape]
        if len(lengths) != len(self.weight_name) or set(lengths) - {5}:
            actual = f"{len(self.weight_name)} names, shapes of {lengths or 'no'} lengths"
            raise PassValueError(Diagnostic("DenseToSparse: bad shapes", expected="five lengths a name", found=actual))

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        shapes = {str(name): shape for name, shape in zip(self.weight_name, self.weight_shape, strict=True)}
        params = {p: shapes[p.name_hint] for p in func.params if p.name_hint in shapes}
        if not params or func in named_functions(mod):
            return func
        parts: dict[Var, tuple[Var, ...]] = {}
        dense = find_op("nn.dense")

        def replace(pre: Call, post: Call) -> tuple[Expr, Sequence[Var]] | None:
            weight = pre.args[1] if pre.op is dense else None
            if not isinstance(weight, Var) or weight not in params or not keeps_dtype(pre, weight):
                return None
            if weight not in parts:
                parts[weight] = block_sparse_parts(weight, params[weight])
            return make("nn.sparse_dense", post.args[0], *parts[weight]), parts[weight]

        return with_weights(func, replace, "multiply by a sparse weight")
