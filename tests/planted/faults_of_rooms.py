"""Faults in rooms that the others leave out: partial evaluation, quantized forms, regions, kernels of data movement,
shapes, match code, scalar code, memory of graphs, gradients of networks.
"""

from __future__ import annotations

from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, CLOSURES, LOOP, QUANTIZED, dataflow

_PARTIAL, _CASTS = "passes/fold/partial_evaluation.py", "passes/simplify/rules/casts.py"
_CONCRETE, _QUANTIZED = "passes/simplify/rules/concrete.py", "passes/precision/quantized_arithmetic.py"
_AFFINE, _ALLOC = "passes/precision/integer_rules.py", "passes/lowering/manifest_alloc.py"
_SIMPLIFY, _PLAIN = (
    "InferType, FoldConstant, SimplifyExpr, FuseOps",
    "InferType, SimplifyInference, FoldConstant, FuseOps",
)
_GRAD, _QNN = "InferType, FirstOrderGradient", "InferType, QnnCanonicalizeOps, FuseOps"
_LOWER = "InferType, FuseOps, ToANormalForm, InferType, LambdaLift, InferType, LowerTE, InferType, ManifestAlloc"
_MATRIX = "%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]"
_VECTORS = "%x: Tensor[(3), float32], %y: Tensor[(3), float32]"
_CELL = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %c: bool, %n: int32) {
  let %r = ref(%x);
  let %u = if (%c) { let %w = ref_write(%r, multiply(%y, 2f)); ref_read(%r) } else { add(ref_read(%r), 1f) };
  let %v = @turn(%n, %r);
  let %after = ref_read(%r);
  (exp(%u), %v, multiply(%after, %y))
}
def @turn(%n: int32, %r: ref(Tensor[(3), float32])) -> () {
  if (less(%n, 1)) { () } else { let %w = ref_write(%r, tanh(ref_read(%r))); @turn(subtract(%n, 1), %r) }
}
"""
_PAIRS = """
#[version = "0.0.5"]
type L { Cons(Tensor[(2), float32], L), Nil, }
def @both(%a: L, %b: L) -> Tensor[(2), float32] {
  match ((%a, %b)) {
    (Nil, _) => ones(shape=[2], dtype="float32"),
    (_, Nil) => zeros(shape=[2], dtype="float32"),
    (Cons(%h, _), Cons(%k, _)) => subtract(%h, %k),
  }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %one = Cons(tanh(%x), Nil);
  let %two = Cons(%y, %one);
  (@both(%one, %two), @both(%two, Nil), @both(Nil, %one))
}
"""
_UNKNOWN_LIST = """
#[version = "0.0.5"]
type L { Cons(Tensor[(2), float32], L), Nil, }
def @main(%x: Tensor[(2), float32], %l: L) {
  let %a = tanh(%x);
  let %b = match (%l) { Cons(%h, Nil) => subtract(%h, %a), Cons(%h, _) => multiply(%h, %a), _ => exp(%a) };
  (%b, %a)
}
"""
_READ_FIRST = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %r = ref(tanh(%x));
  let %a = ref_read(%r);
  let %w = ref_write(%r, %y);
  subtract(exp(%a), ref_read(%r))
}
"""
_QNN_MUL = dataflow(
    'qnn.dequantize(qnn.mul(%x, %y, 0.5f, 3, 0.25f, 1, 0.125f, 2), 0.125f, 2, out_dtype="float32")',
    "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]",
)
_FAKE = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = nn.relu(reshape(%0, newshape=[4, 3]));\nqnn.quantize(%1, 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8]",
)
_REGIONS = dataflow(
    """  %0 = annotation.compiler_begin(%x, compiler="ext");
  %1 = annotation.compiler_begin(%y, compiler="ext");
  %2 = subtract(exp(%0), %1);
  %3 = annotation.compiler_end(tanh(%2), compiler="ext");
  %4 = annotation.compiler_end(%2, compiler="ext");
  subtract(nn.relu(%3), %4)""",
    _MATRIX,
)


def _kernel(
    name: str, file: str, old: str, new: str, body: str, params: str, by: str, kind: str = "kernel", after: str = ""
) -> Fault:
    return Fault(name, kind, file, old, new, dataflow(body, params), _PLAIN, "kernel", by, after)


def _gradient(name: str, file: str, old: str, new: str, body: str, params: str, by: str, after: str = "") -> Fault:
    return Fault(name, "gradient", file, old, new, dataflow(body, params), _GRAD, "FirstOrderGradient", by, after)


MODULES = (
    # ------------------------------------------------------------ partial evaluation
    Fault("a call that is not gone into leaves references as they were", "effects", _PARTIAL,
          "        self.store.forget()\n        return self._push(out, residual, name)", "        return self._push(out, residual, name)",
          _CELL.replace("@turn(%n, %r);", "%f(%r);").replace("let %v", """let %f = if (%c) { fn (%s: ref(Tensor[(3), float32])) { ref_write(%s, %y) } }
    else { fn (%s: ref(Tensor[(3), float32])) { ref_write(%s, %x) } };
  let %v""").replace("let %u = if", "let %o = ref(%y);\n  let %u = if").replace("%u = if (%c) { let %w = ref_write(%r, multiply(%y, 2f)); ref_read(%r) } else { add(ref_read(%r), 1f) }", "%u = ref_read(%r)"),
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("the branch of a known condition that is not taken", "operands", _PARTIAL,
          "expr.true_branch if bool(cond.data) else expr.false_branch", "expr.false_branch if bool(cond.data) else expr.true_branch",
          dataflow("let %a = tanh(%x);\nif (less(1, 2)) { exp(%a) } else { negative(%a) }", _VECTORS), "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("only one of two branches forgets", "guard", _PARTIAL, "if yes_writes or no_writes:", "if yes_writes and no_writes:", _CELL,
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("what a branch wrote is known in the other one", "effects", "passes/fold/partial_values.py",
          "                self._contents[what] = before", "                self._contents[what] = self._contents[what]", _CELL,
          "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("an arm that may fit is passed over", "match order", _PARTIAL, "            if fit is None:\n                break",
          "            if fit is None:\n                continue", _UNKNOWN_LIST, "InferType, PartialEvaluate", "PartialEval", ""),
    Fault("a field of a known tuple from its end", "operands", _PARTIAL, "self._replaced_by(expr, whole.fields[expr.index],", "self._replaced_by(expr, whole.fields[-1 - expr.index],",
          dataflow("let %t = (tanh(%x), exp(%y));\nsubtract(%t.0, %t.1)", _VECTORS), "InferType, PartialEvaluate", "PartialEval", ""),
    # ------------------------------------------------------------ rules
    Fault("integers that floats do not hold count as narrower", "guard", _CASTS, '- (a.kind == "i") <= digits', '- (a.kind == "i") <= digits + 8',
          dataflow('(negative(%x), cast(cast(%x, dtype="float32"), dtype="int32"))', "%x: Tensor[(8), int32]"), _SIMPLIFY, "SimplifyExpr", "cast through"),
    Fault("a cast to any type is one to its own", "guard", _CASTS, 'return ty is not None and ty.dtype == match.attrs("root").dtype', "return ty is not None",
          dataflow('(tanh(%x), multiply(cast(%x, dtype="int32"), 2))', _VECTORS), _SIMPLIFY, "SimplifyExpr", "cast to its own"),
    Fault("a shape with a zero is a code of reshape", "guard", _CONCRETE, "return ty is not None and 0 not in ty.shape and _static(match)", "return _static(match)",
          dataflow("(tanh(%y), reshape_like(%x, %y))", "%x: Tensor[(0, 3), float32], %y: Tensor[(3, 0), float32]"), _SIMPLIFY, "SimplifyExpr", "reshape to a known"),
    Fault("ones where zeros stood", "operands", _CONCRETE, '_call_with_shape("zeros", dtype="")', '_call_with_shape("ones", dtype="")',
          dataflow("(tanh(%x), subtract(exp(%x), zeros_like(%x)))", _VECTORS), _SIMPLIFY, "SimplifyExpr", "zeros of a known"),
    # ------------------------------------------------------------ quantized forms
    Fault("a quantized product over the wrong scale", "operands", _QUANTIZED, "left * right / _known(args[6]).reshape(())", "left * right * _known(args[6]).reshape(())",
          _QNN_MUL, _QNN, "QnnCanonicalizeOps", "qnn.mul"),
    Fault("quantizing rounds down", "rounding", _QUANTIZED, 'make("round", moved)', 'make("floor", moved)',
          dataflow('qnn.dequantize(qnn.quantize(tanh(%x), 0.1f, 3, out_dtype="uint8"), 0.1f, 3, out_dtype="float32")', _MATRIX), _QNN, "QnnCanonicalizeOps", "qnn.quantize"),
    Fault("saturation is left out", "guard", _QUANTIZED, 'make("cast", make("clip", data, a_min=float(info.min), a_max=float(info.max)), dtype=dtype)',
          'make("cast", data, dtype=dtype)', QUANTIZED, _QNN, "QnnCanonicalizeOps", "qnn.requantize"),
    Fault("the zero point of the weight is that of the data", "operands", _QUANTIZED, "zero = _along(zeros[i], \"int32\"", "zero = _along(zeros[0], \"int32\"",
          QUANTIZED, _QNN, "QnnCanonicalizeOps", "qnn.dense"),
    Fault("halves go up whatever is asked", "rounding", _QUANTIZED, '    if rounding != "UPWARD":\n        below', '    if rounding == "":\n        below',
          dataflow('qnn.requantize(%x, 0.5f, 0, 1f, 0, rounding="TONEAREST", out_dtype="int8")', "%x: Tensor[(4, 4), int32]"), _QNN, "QnnCanonicalizeOps", "qnn.requantize"),
    Fault("relu at zero and not at the zero point", "guard", _AFFINE, 'return make("maximum", arg, fold(lowest)), source', 'return make("maximum", arg, fold(make("zeros_like", lowest))), source',
          _FAKE, "InferType, FakeQuantizationToInteger", "FakeQuantizationToInteger", "nn.relu|maximum|quantize|integer"),
    # ------------------------------------------------------------ regions, functions
    Fault("results of a region in reverse", "operands", "passes/external/partition_graph.py", "projections = iter([TupleGetItem(call, i) for i in range(len(flat))])",
          "projections = iter([TupleGetItem(call, i) for i in reversed(range(len(flat)))])", _REGIONS, "InferType, PartitionGraph", "PartitionGraph", ""),
    Fault("what enters a region in reverse", "operands", "passes/external/partition_graph.py", "call = Call(var, [self._new(e) for e in outside])",
          "call = Call(var, [self._new(e) for e in outside[::-1]])", _REGIONS, "InferType, PartitionGraph", "PartitionGraph", ""),
    Fault("constants in reverse", "operands", "passes/external/lift_constants.py", "[(var, c) for c, var in new.items()]", "[(var, c) for c, var in zip(list(new)[::-1], new.values())]",
          dataflow("let %a = add(%x, 2f);\nmultiply(exp(%a), 3f)", _VECTORS), "InferType, LiftConstants", "LiftConstants", ""),
    Fault("the condition of a branch in the new style is turned", "operands", "passes/functions/continuations.py",
          "return If(self._new(value.cond), self._bodies[value, 0], self._bodies[value, 1], value.span)",
          "return If(self._new(value.cond), self._bodies[value, 1], self._bodies[value, 0], value.span)", BRANCHES, "InferType, ToCPS, UnCPS", "ToCPS", ""),
    Fault("a let used once in a function that runs often", "effects", "passes/simplify/dead_code_elimination.py", "or not pure(let.value):", "or (used and not pure(let.value)):",
          _CELL, "InferType, DeadCodeElimination", "DeadCodeElimination", "unused let"),
    # ------------------------------------------------------------ lowering
    Fault("shapes of the arguments in reverse", "operands", _ALLOC, "        for argument in call.args:\n            if not by_data:", "        for argument in call.args[::-1]:\n            if not by_data:",
          dataflow("tanh(nn.dense(exp(%x), %w))", "%x: Tensor[(?, 4), float32], %w: Tensor[(5, 4), float32]"), _LOWER, "vm|ManifestAlloc", ""),
    Fault("a shape that depends on data is found from shapes", "guard", _ALLOC, "return any(is_op_call(n) and n.op.spec.shape_function is not None for n in post_order(primitive.body))", "return False",
          dataflow("tanh(arange(%a, %b, %c, dtype=\"float32\"))", "%a: float32, %b: float32, %c: float32"), _LOWER, "vm|ManifestAlloc", ""),
    # ------------------------------------------------------------ the machine's compiler and engine
    Fault("an earlier arm is lost behind a constructor", "match order", "vm/compiling/decision_tree.py", "cases[tag] = constructor, list(rest)", "cases[tag] = constructor, []",
          _PAIRS, "InferType, FuseOps", "vm", "match|if|get_tag|goto|load_consti"),
    Fault("a condition that a kernel made is turned", "instruction", "vm/running/function_source.py", 'return f"r{i.test}"\n', 'return f"not r{i.test}"\n', LOOP, "InferType", "vm", "if"),
    Fault("scalars subtracted the other way", "compiled kernel", "vm/kernels/scalars.py", 'f"({parts[0]} {symbol} {parts[1]})"', 'f"({parts[1]} {symbol} {parts[0]})"',
          LOOP, "InferType", "vm", "subtract|less|kernel"),
    Fault("closures hold what they captured in reverse", "captures", "vm/isa.py", "VMClosure({func}, ({captured:array}))", "VMClosure({func}, ({captured:array})[::-1])",
          CLOSURES, "InferType, FuseOps", "vm", "closure"),
    # ------------------------------------------------------------ graphs and modules ahead of time
    Fault("an output does not live to the end", "buffers", "executor/graph.py", "last[root[rows[i] + index]][0], len(self.nodes)", "last[root[rows[i] + index]]",
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %w);\n%2 = nn.dense(%1, %w);\n(%0, nn.dense(nn.dense(%2, %w), %w))",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32]"), "InferType", "graph", "memory"),
    Fault("a condition ahead of time of numbers that differ", "compiled kernel", "vm/kernels/numpy_emitter.py", '"less": _infix("<", NATIVE)', '"less": _infix("<=", NATIVE)',
          dataflow("where(less(%x, %y), exp(%x), tanh(%y))", _MATRIX), _PLAIN, "vm", "less|where"),
    Fault("a compiled transpose the other way", "compiled kernel", "vm/kernels/numpy_emitter.py", ".transpose({', '.join(map(str, order))})", ".transpose({', '.join(str(order.index(i)) for i in range(rank))})",
          dataflow("tanh(transpose(exp(%x), axes=[2, 0, 1]))", "%x: Tensor[(3, 3, 3), float32]"), _PLAIN, "vm", "transpose"),
    Fault("tables of one shape are one ahead of time", "executor", "executor/aot/constants.py", "value.tobytes() if value.size <= INLINE_ELEMENTS else id(value))", "value.size)",
          dataflow("add(multiply(%x, 2f), multiply(tanh(%x), 3f))", "%x: Tensor[(3), float32]"), "InferType", "aot", "add|multiply"),
    Fault("a read may wait until after a write", "effects", "executor/aot/program_source.py", 'return f"{wrap(self._atom(expr.ref))}.value", False', 'return f"{wrap(self._atom(expr.ref))}.value", True',
          _READ_FIRST, "InferType", "aot", "ref"),
    Fault("fields of a pattern in reverse", "match order", "executor/aot/program_source.py", "inner = [part for p in at.patterns for part", "inner = [part for p in at.patterns[::-1] for part",
          _PAIRS.replace("Cons(Tensor[(2), float32], L), Nil, }", "Cons(Tensor[(2), float32], Tensor[(2), float32]), Nil, }").replace("(Cons(%h, _), Cons(%k, _))", "(Cons(%h, %i), Cons(%k, _))")
          .replace("subtract(%h, %k)", "subtract(%i, %k)").replace("Cons(tanh(%x), Nil)", "Cons(tanh(%x), %y)").replace("Cons(%y, %one)", "Cons(%y, %x)"), "InferType", "aot", "match"),
    Fault("a field of a tuple beside the one that is asked for", "executor", "executor/aot/program_source.py", "[{expr.index}]\", True", "[{max(0, expr.index - 1)}]\", True",
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n%1 = nn.dense(%0.1, %w);\n(tanh(%1), %0.0)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 2), float32]"), "InferType", "aot", "projection|split"),
    # ------------------------------------------------------------ kernels
    _kernel("take clips to one beyond the end", "op/gather.py", "wide + extent, wide)", "wide + extent - 1, wide)", "tanh(gather(exp(%x), %i, axis=1))",
            "%x: Tensor[(3, 4), float32], %i: Tensor[(3, 2), int32]", "gather", "off by one"),
    _kernel("a sort downwards is not turned", "op/sort.py", "return np.asarray(data.shape[axis] - 1 - reversed_order)", "return np.asarray(reversed_order)",
            "tanh(sort(exp(%x), axis=1, is_ascend=False))", _MATRIX, "sort"),
    _kernel("a mirror that shows the far end", "op/nn/pad.py", "return copy_result(np.pad(cropped, border, mode=mode), out)", "return copy_result(np.pad(cropped[::-1], border, mode=mode), out)",
            "tanh(nn.mirror_pad(exp(%x), mode=\"REFLECT\", pad_width=[[1, 1], [0, 2]]))", _MATRIX, "nn.mirror_pad"),
    _kernel("the mask of sequences one step longer", "op/scatter.py", "return np.where(steps < lengths,", "return np.where(steps <= lengths,",
            "tanh(sequence_mask(exp(%x), %n, axis=0))", "%x: Tensor[(3, 4), float32], %n: Tensor[(4), int32]", "sequence_mask", "off by one"),
    _kernel("blocks cut in another order", "op/nn/rearrange.py", "result = blocked.transpose(*inner, 0, *outer,", "result = blocked.transpose(*tuple(inner)[::-1], 0, *outer,",
            "tanh(nn.space_to_batch_nd(exp(%x), block_shape=[2, 2], paddings=[[0, 0], [0, 0]]))", "%x: Tensor[(1, 4, 4, 2), float32]", "nn.space_to_batch_nd", "axis"),
    _kernel("new dimensions at another place", "op/reshape.py", "position = axis if axis >= 0 else axis + rank + 1", "position = axis if axis >= 0 else axis + rank",
            "tanh(expand_dims(exp(%x), axis=-1))", _MATRIX, "expand_dims", "type relation"),
    _kernel("a one-hot vector along another axis", "op/gather.py", "return np.where(np.expand_dims(indices, position) == positions, on_value", "return np.where(np.expand_dims(indices, position) != positions, on_value",
            "tanh(one_hot(%i, 1f, 0f, depth=3, axis=-1, dtype=\"float32\"))", "%i: Tensor[(4), int32]", "one_hot"),
    _kernel("a scan that leaves its first element out", "op/scan.py", "return _accumulate(ufunc, rows, axis)", "return _accumulate(ufunc, rows[..., ::-1], axis)",
            "tanh(cumsum(exp(%x), axis=1))", _MATRIX, "cumsum"),
    _kernel("broadcasting from the left", "op/relations.py", "offset = len(long) - len(short)", "offset = 0",
            "tanh(add(exp(%x), %b))", "%x: Tensor[(3, 3, 1), float32], %b: Tensor[(3), float32]", "add", "type relation"),
    # ------------------------------------------------------------ gradients
    _gradient("the gradient of softmax without its sum", "op/nn/gradients.py", "return [(grad - total) * orig]", "return [grad * orig]", "exp(nn.softmax(multiply(%x, %y)))", _MATRIX, "softmax"),
    _gradient("the gradient of log_softmax with its logarithm", "op/nn/gradients.py", 'keepdims=True) * call("exp", orig)]', "keepdims=True) * orig]", "exp(nn.log_softmax(multiply(%x, %y)))", _MATRIX, "log_softmax"),
    _gradient("the gradient of layer_norm without its variance", "op/nn/gradients.py", "(normalized_grad - mean(normalized_grad) - normalized * mean(normalized_grad * normalized)) * inverse", "(normalized_grad - mean(normalized_grad)) * inverse",
              "exp(nn.layer_norm(%x, %g, %b))", "%x: Tensor[(3, 4), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32]", "layer_norm"),
    _gradient("the gradient of a bias over its own axis", "op/nn/gradients.py", "[_sum_to_shape(grad, orig.args[0]), _sum_except(grad, attrs_of(orig).axis)]", "[_sum_to_shape(grad, orig.args[0]), _sum_except(grad, 0)]",
              "exp(nn.bias_add(tanh(%x), %b))", "%x: Tensor[(4, 4), float32], %b: Tensor[(4), float32]", "bias_add"),
    _gradient("the gradient of take in the place of others", "op/gather_gradients.py", 'mode="add")\n    result', 'mode="update")\n    result', "exp(take(multiply(%x, %x), %i, axis=0))",
              "%x: Tensor[(3), float32], %i: Tensor[(5), int32]", "take"),
    _gradient("the gradient of a convolution with its strides as dilation", "op/nn/conv_gradients.py", 'sliding = {"strides": form.dilation, "dilation": form.strides,', 'sliding = {"strides": form.strides, "dilation": form.dilation,',
              "exp(nn.conv3d(%x, %w, strides=[2, 2, 2], channels=1, kernel_size=[2, 2, 2]))", "%x: Tensor[(1, 1, 4, 4, 4), float32], %w: Tensor[(1, 1, 2, 2, 2), float32]", "conv3d"),
    _gradient("the gradient of group_norm over fewer axes", "op/nn/gradients.py", "shape[axis] // attrs.num_groups, *shape[axis + 1 :])\n    axes = list(range(axis + 1, rank + 1))",
              "shape[axis] // attrs.num_groups, *shape[axis + 1 :])\n    axes = list(range(axis + 2, rank + 1))", "exp(nn.group_norm(%x, %g, %b, num_groups=2))",
              "%x: Tensor[(2, 4, 3), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32]", "group_norm"),
)  # fmt: skip
