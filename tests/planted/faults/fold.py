"""Faults in `passes/fold`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import CELL, MATRIX, SCALED, VECTORS, dataflow

_FOLD = "InferType, FoldScaleAxis, FoldConstant, FuseOps"
_UNKNOWN_LIST = """
#[version = "0.0.5"]
type L { Cons(Tensor[(2), float32], L), Nil, }
def @main(%x: Tensor[(2), float32], %l: L) {
  let %a = tanh(%x);
  let %b = match (%l) { Cons(%h, Nil) => subtract(%h, %a), Cons(%h, _) => multiply(%h, %a), _ => exp(%a) };
  (%b, %a)
}
"""

FAULTS = (
    Fault("a dynamic reshape with its sides reversed", "axis",
          Mutation("dynamic_to_static:_ints", "replace comprehension", 0, "it[::-1]"),
          dataflow("tanh(dyn.reshape(exp(%x), shape_of(%y, dtype=\"int32\"), newshape=[]))",
                   "%x: Tensor[(3, 4), float32], %y: Tensor[(2, 6), float32]"),
          "InferType, DynamicToStatic", "DynamicToStatic", "dynamic as static"),
    Fault("a scale along the inputs of the weight", "axis",
          Mutation("_scale_call", "other attribute", 9, "weight_in"), SCALED,
          "InferType, BackwardFoldScaleAxis, FoldConstant, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("what is added is not scaled", "operands", Mutation("_scale_call", "keep argument", 17), SCALED,
          "InferType, BackwardFoldScaleAxis, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("negative scales through a relu", "guard", Mutation("accepts", "drop guard", 7),
          dataflow("tanh(multiply(nn.relu(nn.dense(%x, %w)), -2f))", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, BackwardFoldScaleAxis, FuseOps", "BackwardFoldScaleAxis", "scale into"),
    Fault("a scale through a result used twice", "guard",
          Mutation("backward_fold_scale_axis:_offers", "drop guard", 1),
          dataflow("%0 = nn.dense(%x, %w);\n(tanh(multiply(%0, 2f)), %0)", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          _FOLD, "BackwardFoldScaleAxis", "scale into"),
    Fault("a scale along the outputs of the next weight", "axis",
          Mutation("_apply_pending_scale", "other attribute", 5, "weight_out"), SCALED,
          "InferType, ForwardFoldScaleAxis, FoldConstant, FuseOps", "ForwardFoldScaleAxis", "scale into"),
    Fault("the addend is multiplied by the scale instead of divided", "operands",
          Mutation("_pending_scale", "other text", 1, "'multiply'"),
          dataflow("tanh(nn.dense(add(multiply(%x, 2f), ones(shape=[4], dtype=\"float32\")), %w))",
                   "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, FoldConstant, ForwardFoldScaleAxis, FuseOps", "ForwardFoldScaleAxis", "scale into"),
    Fault("a call that is not gone into leaves references as they were", "effects",
          Mutation("_PartialEvaluator._call", "drop statement", 22),
          CELL.replace("@turn(%n, %r);", "%f(%r);").replace("let %v", """let %f = if (%c) { fn (%s: ref(Tensor[(3), float32])) { ref_write(%s, %y) } }
    else { fn (%s: ref(Tensor[(3), float32])) { ref_write(%s, %x) } };
  let %v""").replace("let %u = if", "let %o = ref(%y);\n  let %u = if").replace("%u = if (%c) { let %w = ref_write(%r, multiply(%y, 2f)); ref_read(%r) } else { add(ref_read(%r), 1f) }", "%u = ref_read(%r)"),
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("the branch of a known condition that is not taken", "operands",
          Mutation("_PartialEvaluator._if", "swap branches"),
          dataflow("let %a = tanh(%x);\nif (less(1, 2)) { exp(%a) } else { negative(%a) }", VECTORS),
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("only one of two branches forgets", "guard", Mutation("_PartialEvaluator._if", "and for or", 1), CELL,
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("what a branch wrote is known in the other one", "effects",
          Mutation("Store.undo", "replace statement", 7, "it.targets[0] = it.targets[0]"), CELL,
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("an arm that may fit is passed over", "match order",
          Mutation("_PartialEvaluator._match", "replace statement", 11, "continue"), _UNKNOWN_LIST,
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("a field of a known tuple from its end", "operands",
          Mutation("_PartialEvaluator._field", "replace attribute", 5, "-1 - it"),
          dataflow("let %t = (tanh(%x), exp(%y));\nsubtract(%t.0, %t.1)", VECTORS), "InferType, PartialEvaluate",
          "PartialEval", ""),
    Fault("padding that is known lies across", "axis",
          Mutation("dynamic_to_static:_pad", "replace call", 1, "it.func(2, -1).T"),
          dataflow("let %p = meta[relay.Constant][0];\ntanh(dyn.nn.pad(exp(%x), %p, 0f, pad_width=[]))".replace("meta[relay.Constant][0]", "reshape(arange(0, 4, 1, dtype=\"int32\"), newshape=[2, 2])"), MATRIX),
          "InferType, DynamicToStatic, FuseOps", "DynamicToStatic", "dynamic as static"),
    Fault("a known number of the smallest", "guard",
          Mutation("dynamic_to_static:_topk", "replace call", 3, "it.func(k=it.keywords[0].value, is_ascend=not it.func.value.is_ascend)"),
          dataflow("dyn.topk(tanh(%x), 2, axis=1, ret_type=\"values\")", MATRIX),
          "InferType, DynamicToStatic, FuseOps", "DynamicToStatic", "dynamic as static"),
    Fault("a scale with axes of size 1 comes in reverse", "axis",
          Mutation("as_scale", "replace call", 10, "make('reshape', make('reverse', it.args[1], axis=-1), newshape=[-1])"),
          dataflow("%0 = nn.dense(%x, %w);\ntanh(multiply(%0, %y))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(1, 4), float32]"),
          "InferType, BackwardFoldScaleAxis", "BackwardFoldScaleAxis", ""),
)  # fmt: skip
