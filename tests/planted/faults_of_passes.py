"""Faults in passes that rebuild programs: scales, parallel branches, precision, layouts, lets, functions, gradients."""

from __future__ import annotations

from tests.planted.fault import Fault
from tests.planted.programs import (
    BRANCHES,
    CLOSURES,
    LISTS,
    PARALLEL,
    PARALLEL_CONV,
    PARALLEL_MATMUL,
    REFERENCES,
    SCALED,
    dataflow,
)

_PARALLEL = "passes/fuse/parallel.py"
_BACK, _FORTH, _SCALE = (
    "passes/fold/backward_fold_scale_axis.py",
    "passes/fold/forward_fold_scale_axis.py",
    "passes/fold/scale_axis.py",
)
_FOLD = "InferType, FoldScaleAxis, FoldConstant, FuseOps"
_VECTORS = "%x: Tensor[(3), float32], %y: Tensor[(3), float32]"
_INLINED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { exp(@part(tanh(%x), %y)) }
def @part(%a: Tensor[(3), float32], %b: Tensor[(3), float32], Inline=1) -> Tensor[(3), float32] {
  subtract(multiply(%a, 2f), %b)
}
"""

_PAIRS = """
#[version = "0.0.5"]
type P { Pair(Tensor[(3), float32], Tensor[(3), float32]), }
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %f = Pair;
  match (%f(tanh(%x), %y)) { Pair(%a, %b) => subtract(exp(%a), %b) }
}
"""

PASSES = (
    # ------------------------------------------------------------ scales
    Fault("a scale along the inputs of the weight", "axis", _BACK, "conv.weight_out if conv", "conv.weight_in if conv", SCALED,
          "InferType, BackwardFoldScaleAxis, FoldConstant, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("what is added is not scaled", "operands", _BACK, 'other = make("multiply", post.args[1 - index], factor)',
          "other = post.args[1 - index]", SCALED, "InferType, BackwardFoldScaleAxis, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("negative scales through a relu", "guard", _SCALE,
          "bool((not message.positive or (values >= 0).all()) and", "bool(",
          dataflow("tanh(multiply(nn.relu(nn.dense(%x, %w)), -2f))", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, BackwardFoldScaleAxis, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("a scale through a result used twice", "guard", _BACK, "if is_op_call(node) and uses[node] == 1:", "if is_op_call(node):",
          dataflow("%0 = nn.dense(%x, %w);\n(tanh(multiply(%0, 2f)), %0)", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          _FOLD, "BackwardFoldScaleAxis", "scale into"),
    Fault("a scale along the outputs of the next weight", "axis", _FORTH, "conv.weight_in if conv", "conv.weight_out if conv", SCALED,
          "InferType, ForwardFoldScaleAxis, FoldConstant, FuseOps", "ForwardFoldScaleAxis", "scale into"),
    Fault("what is added is multiplied where it is to be divided", "operands", _FORTH, 'other = make("divide",', 'other = make("multiply",',
          dataflow("tanh(nn.dense(add(multiply(%x, 2f), ones(shape=[4], dtype=\"float32\")), %w))",
                   "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, FoldConstant, ForwardFoldScaleAxis, FuseOps", "ForwardFoldScaleAxis", "scale into"),
    # ------------------------------------------------------------ parallel branches
    Fault("slices that begin too late", "off by one", _PARALLEL, "begin[axis], end[axis] = start, size",
          "begin[axis], end[axis] = max(0, start - 1), size", PARALLEL_CONV, "InferType, CombineParallelConv2d, FuseOps",
          "CombineParallelConv2d", "parallel nn.conv2d"),
    Fault("slices of dense in reverse", "operands", "passes/fuse/combine_parallel_dense.py",
          "weight = joined_along([c.args[1] for c in calls], 0)", "weight = joined_along([c.args[1] for c in calls][::-1], 0)",
          PARALLEL, "InferType, CombineParallelDense(to_batch=False), FuseOps", "CombineParallelDense", "parallel nn.dense"),
    Fault("a batch split with the first part twice", "operands", "passes/fuse/combine_parallel_dense.py",
          "TupleGetItem(pieces, i)", "TupleGetItem(pieces, min(i, 1))",
          PARALLEL.replace("(6, 4)", "(5, 4)").replace("(7, 4)", "(5, 4)").replace("(6)", "(5)").replace("(7)", "(5)"),
          "InferType, CombineParallelDense, FuseOps", "CombineParallelDense", "parallel nn.dense"),
    Fault("matrix products joined in the wrong order", "operands", "passes/fuse/combine_parallel_batch_matmul.py",
          "right = joined_along([c.args[1] for c in calls], 1)", "right = joined_along([c.args[1] for c in calls][::-1], 1)",
          PARALLEL_MATMUL, "InferType, CombineParallelBatchMatmul, FuseOps", "CombineParallelBatchMatmul", "parallel nn.batch_matmul"),
    Fault("convolutions combined whatever their strides", "guard", "passes/fuse/combine_parallel_conv2d.py", '"strides", "padding"', '"padding"',
          PARALLEL_CONV.replace("conv2d(%0, %c, kernel_size=[1, 1])", "conv2d(%0, %c, padding=[0, 0], kernel_size=[1, 1], dilation=[1, 1], strides=[1, 1])")
          .replace("concatenate((%1, %2, %3), axis=1)", "(%1, %2, %3)").replace("%a, kernel_size=[1, 1]", "%a, kernel_size=[1, 1], strides=[2, 2]"),
          "InferType, CombineParallelConv2d, FuseOps", "CombineParallelConv2d", "parallel nn.conv2d"),
    # ------------------------------------------------------------ precision and layouts
    Fault("a clip to bounds that half precision does not hold", "cast", "passes/precision/mixed_precision.py",
          "return bool(abs(attrs.a_min) > largest or abs(attrs.a_max) > largest)", "return False",
          dataflow("tanh(multiply(clip(nn.dense(%x, %w), a_min=-1e5f, a_max=-7e4f), 1e-5f))", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, ToMixedPrecision, FuseOps", "ToMixedPrecision", "in float16"),
    Fault("one cast for all dtypes", "cast", "passes/precision/mixed_precision.py", "self._casts[(cached, dtype)] = expr",
          "self._casts[(cached, dtype)] = make(\"multiply\", cached, cached) if dtype == self.short else expr",
          dataflow("nn.dense(exp(nn.dense(%x, %w)), %v)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 4), float32], %v: Tensor[(5, 4), float32]"),
          "InferType, ToMixedPrecision, FuseOps", "ToMixedPrecision", "in float16"),
    Fault("the layout of the data is not brought back", "layout", "passes/layout/layout_rewriting.py",
          "if source == target:\n            return current", "if source == target or target == \"NCHW\":\n            return current",
          dataflow("exp(nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]))",
                   "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(4, 4, 3, 3), float32]"),
          "InferType, ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]}), FoldConstant, FuseOps", "ConvertLayout", ""),
    Fault("the axis of a sum does not follow the layout", "layout", "op/layout_rules.py",
          "positions = sorted(p for a in listed for p in change.positions(a))", "positions = sorted(listed)",
          dataflow("exp(mean(nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]), axis=[1]))",
                   "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(4, 4, 3, 3), float32]"),
          "InferType, ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]}), FoldConstant, FuseOps", "ConvertLayout", ""),
    # ------------------------------------------------------------ lets, effects, functions
    Fault("writes that nobody reads are dropped", "effects", "passes/simplify/dead_code_elimination.py",
          "or not pure(let.value):", ":", REFERENCES, "InferType, DeadCodeElimination", "DeadCodeElimination", "unused let"),
    Fault("a value used twice is put in once, with its effects", "effects", "passes/normal_form/to_graph_normal_form.py",
          "LetAction.INLINE if is_movable(let.value) and may_rewrite(_NAME)", "LetAction.INLINE if may_rewrite(_NAME)", REFERENCES, "InferType, ToGraphNormalForm",
          "ToGraphNormalForm", "let"),
    Fault("a let used once is dropped", "lets", "passes/simplify/dead_code_elimination.py",
          "return LetAction.INLINE if used else LetAction.DROP", "return LetAction.DROP",
          dataflow("let %a = tanh(%x);\nlet %b = exp(%a);\nadd(%b, multiply(%b, %y))", _VECTORS),
          "InferType, DeadCodeElimination(inline_once=True)", "DeadCodeElimination", "unused let|let used once"),
    Fault("arguments in the other order", "operands", "rewriting/fresh_copy.py", "replace = dict(zip(function.params, args, strict=True))",
          "replace = dict(zip(function.params, args[::-1], strict=True))", _INLINED, "InferType, Inline, FuseOps", "InlineGlobals", "inlined call"),
    Fault("effects of arguments come twice", "effects", "rewriting/fresh_copy.py", "if not moves:", "if moves is None:",
          """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %r: ref(Tensor[(3), float32])) {
  let %a = @part({ let %u = ref_write(%r, add(ref_read(%r), %x)); ref_read(%r) }, ref_read(%r));
  exp(%a)
}
def @part(%a: Tensor[(3), float32], %b: Tensor[(3), float32], Inline=1) -> Tensor[(3), float32] { subtract(multiply(%b, 2f), %a) }
""".replace("%r: ref(Tensor[(3), float32])", "%y: Tensor[(3), float32]").replace("let %a = @part", "let %r = ref(%y);\n  let %a = @part"),
          "InferType, Inline", "InlineGlobals", "inlined call"),
    Fault("captured values in the other order", "captures", "passes/functions/lambda_lift.py",
          "return Call(var, captured, span=literal.span) if captured else var",
          "return Call(var, captured[::-1], span=literal.span) if captured else var", CLOSURES, "InferType, LambdaLift",
          "LambdaLift", "lifted function"),
    Fault("parameters in reverse", "operands", "passes/normal_form/to_basic_block_normal_form.py",
          "return bind_beside_effects(function, mod, plan.crossing.__contains__, plan)",
          "return bind_beside_effects(function, mod, plan.crossing.__contains__, plan).with_fields(params=function.params[::-1])",
          BRANCHES.replace("%c: bool", "%y: Tensor[(3, 4), float32], %c: bool").replace("subtract(%a, %0)", "subtract(%a, %y)"),
          "InferType, ToBasicBlockNormalForm", "ToBasicBlockNormalForm", "the parameters of @main"),
    Fault("a constructor as a function with its fields reversed", "captures", "passes/functions/eta_expand.py",
          "body = Call(callee, params, type_args", "body = Call(callee, params[::-1], type_args",
          _PAIRS, "InferType, EtaExpand(expand_constructor=True)", "EtaExpand", "name as function"),
    Fault("the clauses of a match in reverse", "match order", "rewriting/let_binding.py", "return Match(data, clauses, node.complete, node.span)",
          "return Match(data, clauses[::-1], node.complete, node.span)", LISTS, "InferType, ToANormalForm", "ToANormalForm", ""),
    Fault("a cast copied from the other operand", "operands", "passes/normal_form/canonicalize_cast.py",
          "args[i] = Call(args[i].op, args[i].args,", "args[i] = Call(args[i].op, args[0].args,",
          dataflow("%0 = cast(%x, dtype=\"int32\");\n(add(%0, %y), subtract(cast(%z, dtype=\"int32\"), %0))",
                   "%x: Tensor[(3), int8], %y: Tensor[(3), int32], %z: Tensor[(3), int8]"),
          "InferType, CanonicalizeCast, FuseOps", "CanonicalizeCast", "cast of its own"),
    # ------------------------------------------------------------ fusion
    Fault("kernel parameters in the other order", "operands", "passes/fuse/fuse_ops.py",
          "params = tuple(map(kernel.params.__getitem__, args))", "params = tuple(map(kernel.params.__getitem__, args))[::-1]",
          dataflow("tanh(nn.relu(subtract(%x, %y)))", _VECTORS), "InferType, FuseOps", "FuseOps", ""),
    Fault("every argument is one parameter", "captures", "passes/fuse/fuse_ops.py", "cached = self.params.get(value)",
          "cached = self.params.get(value) or next((p for v, p in self.params.items() if v.checked_type_ is value.checked_type_), None)",
          dataflow("tanh(nn.relu(subtract(%x, %y)))", _VECTORS), "InferType, FuseOps", "FuseOps", ""),
    # ------------------------------------------------------------ gradients
    Fault("the gradient of a difference with a wrong sign", "gradient", "op/broadcast.py", "lambda x, y, z, grad: (grad, -grad)",
          "lambda x, y, z, grad: (grad, grad)", dataflow("tanh(subtract(%x, multiply(%y, %y)))", _VECTORS), "InferType, FirstOrderGradient",
          "FirstOrderGradient", "subtract"),
    Fault("the gradient of tanh without its square", "gradient", "op/elementwise.py", "gradient=_unary_gradient(lambda x, y, grad: grad * _one_minus_square(y)),",
          "gradient=_unary_gradient(lambda x, y, grad: grad * (_ones(y) - y)),", dataflow("exp(tanh(multiply(%x, %y)))", _VECTORS),
          "InferType, FirstOrderGradient", "FirstOrderGradient", "tanh", after='"tanh"'),
    Fault("the gradient of relu below zero", "gradient", "op/nn/gradients.py", 'call("where", call("less", x, zeros), zeros, call("ones_like", x) * grad)',
          'call("where", call("less", x, zeros), call("ones_like", x) * grad, zeros)', dataflow("exp(nn.relu(multiply(%x, %y)))", _VECTORS),
          "InferType, FirstOrderGradient", "FirstOrderGradient", "nn.relu"),
    Fault("the gradient of a mean is that of a sum", "gradient", "op/reduce.py", "constant_like(1 / max(_reduced_count(orig), 1), orig.args[0])",
          "constant_like(1, orig.args[0])", dataflow("exp(mean(multiply(%x, %y), axis=[1]))", "%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]"),
          "InferType, FirstOrderGradient", "FirstOrderGradient", "mean"),
    Fault("derivatives are replaced, not summed", "gradient", "passes/gradient/first_order_gradient.py",
          "arg.reverse = self._sum(arg.type, self._derivative(arg), derivative)", "arg.reverse = derivative",
          dataflow("%0 = tanh(%x);\nexp(add(multiply(%0, %y), sin(%0)))", _VECTORS), "InferType, FirstOrderGradient", "FirstOrderGradient", "multiply|tanh|sin|exp|add"),
)  # fmt: skip
