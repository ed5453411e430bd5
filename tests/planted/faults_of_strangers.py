"""Faults as strangers plant them: written from the text of passlab alone, and first tried on a search that knew none.

Of each room some: guards, axes, sides, dtypes, caches that mix up, orders, counts, lives, functions that call themselves.
"""

from __future__ import annotations

from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, CLOSURES, LISTS, QUANTIZED, dataflow

_PAD, _DYNAMIC = "passes/simplify/fold_explicit_padding.py", "passes/fold/dynamic_to_static.py"
_MIXED, _AFFINE = "passes/precision/mixed_precision.py", "passes/precision/integer_rules.py"
_QUANTIZED = "passes/precision/quantized_arithmetic.py"
_LAYOUTS, _FIRST = "op/layout_rules.py", "passes/functions/first_order.py"
_SIMPLIFY, _PLAIN = (
    "InferType, FoldConstant, SimplifyExpr, FuseOps",
    "InferType, SimplifyInference, FoldConstant, FuseOps",
)
_GRAD, _SHORT = "InferType, FirstOrderGradient", "InferType, ToMixedPrecision, FuseOps"
_NHWC = 'InferType, ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]}), FoldConstant, FuseOps'
_FAKE, _QNN = "InferType, FakeQuantizationToInteger", "InferType, QnnCanonicalizeOps, FuseOps"
_MATRIX = "%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]"
_VECTORS = "%x: Tensor[(3), float32], %y: Tensor[(3), float32]"
_IMAGE, _FILTER = "%x: Tensor[(1, 4, 6, 6), float32]", "%w: Tensor[(4, 4, 3, 3), float32]"
_TWO_LOOPS = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %up: fn (int32, Tensor[(3), float32]) -> Tensor[(3), float32] = fn (%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
    if (less(%i, 1)) { %a } else { %up(subtract(%i, 1), add(%a, 1f)) }
  };
  let %down: fn (int32, Tensor[(3), float32]) -> Tensor[(3), float32] = fn (%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
    if (less(%i, 1)) { %a } else { %down(subtract(%i, 1), multiply(%a, 0.5f)) }
  };
  let %b = %up(%n, tanh(%x));
  (%down(%n, %x), %b)
}
"""
_HIGHER = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %c: bool) {
  let %u = exp(%y);
  let %f = if (%c) { fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { subtract(multiply(%a, %u), multiply(%b, %y)) } }
    else { fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { add(%a, %b) } };
  tanh(%f(%x, %y))
}
"""
_CHOICE = """
#[version = "0.0.5"]
type C { Red(Tensor[(2), float32]), Green(Tensor[(2), float32]), Blue(Tensor[(2), float32]), }
def @pick(%c: C, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  match (%c) { Red(%r) => tanh(%r), Green(%g) => multiply(%g, %x), _ => negative(%x), }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %a = exp(%x);
  (@pick(Red(%a), %y), @pick(Green(%y), %x), @pick(Blue(%y), %a))
}
"""
_HELPERS = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32]) { exp(@outer(tanh(%x))) }
def @outer(%a: Tensor[(3), float32]) -> Tensor[(3), float32] { @inner(add(%a, 1f)) }
def @inner(%a: Tensor[(3), float32]) -> Tensor[(3), float32] { multiply(%a, 2f) }
"""
_FAKE_CLIP = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = clip(transpose(%0, axes=[1, 0]), a_min=-1f, a_max=6f);\n'
    'qnn.quantize(%1, 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8]",
)
_FAKE_SUB = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = qnn.dequantize(%y, 0.125f, 2, out_dtype="float32");\n'
    'qnn.quantize(maximum(%0, %1), 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]",
)


def _kernel(
    name: str, file: str, old: str, new: str, body: str, params: str, by: str, kind: str = "kernel", after: str = ""
) -> Fault:
    return Fault(name, kind, file, old, new, dataflow(body, params), _PLAIN, "kernel", by, after)


def _gradient(name: str, file: str, old: str, new: str, body: str, params: str, by: str) -> Fault:
    return Fault(name, "gradient", file, old, new, dataflow(body, params), _GRAD, "FirstOrderGradient", by)


STRANGERS = (
    # ------------------------------------------------------------ simplifying
    Fault("a reciprocal of half precision", "cast", "passes/simplify/div_to_mul.py", "np.asarray(np.reciprocal(divisor), dtype=divisor.dtype)",
          'np.asarray(np.reciprocal(divisor.astype("float16")), dtype=divisor.dtype)', dataflow("(tanh(%y), divide(exp(%x), 3f))", _MATRIX),
          "InferType, FoldConstant, DivToMul, FuseOps", "DivToMul", "divide as multiply"),
    Fault("padding before and behind exchanged", "operands", _PAD, "[*before, *after]", "[*after, *before]",
          dataflow("nn.relu(nn.conv2d(nn.pad(tanh(%x), 0f, pad_width=[[0, 0], [0, 0], [2, 0], [1, 1]]), %w, channels=4, kernel_size=[3, 3]))", f"{_IMAGE}, {_FILTER}"),
          "InferType, FoldExplicitPadding, FuseOps", "FoldExplicitPadding", "pad into operator"),
    Fault("a maximum over zeros that padded it", "guard", _PAD, "bool(value <= float_info(array_dtype(dtype)).min)", "bool(value <= 0)",
          dataflow("tanh(nn.max_pool2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), pool_size=[2, 2]))", _IMAGE),
          "InferType, FoldExplicitPadding, FuseOps", "FoldExplicitPadding", "pad into operator"),
    Fault("top, left, bottom and right in another order", "axis", "passes/simplify/flatten_atrous_conv.py", "return (top, left, bottom, right) if", "return (left, top, right, bottom) if",
          dataflow("%0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [1, 2]]);\n"
                   "%1 = nn.conv2d(%0, %w, groups=4, channels=4, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWOI\");\n"
                   "tanh(nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]]))", "%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 1), float32]"),
          "InferType, FlattenAtrousConv", "FlattenAtrousConv", "atrous as dilated"),
    Fault("steps of a concatenation turned round", "operands", "passes/simplify/split_args.py", "(*group, *(field for field, _ in fields[start:end]))", "(*(field for field, _ in fields[start:end]), *group)",
          dataflow("tanh(concatenate((%x, exp(%x), %y, negative(%y)), axis=0))", _VECTORS), "InferType, SplitArgs(max_function_args=3)", "SplitArgs", "concatenate in steps"),
    Fault("a concatenation that is split without end", "hang", "passes/simplify/split_args.py", "start = end", "start = end - 1",
          dataflow("tanh(concatenate((%x, exp(%x), %y, negative(%y)), axis=0))", _VECTORS), "InferType, SplitArgs(max_function_args=3)", "SplitArgs", ""),
    Fault("subtracting one is subtracting nothing", "guard", "passes/simplify/rules/arithmetic.py", '"subtract(x, n)", "x", _neutral(0)', '"subtract(x, n)", "x", _neutral(1)',
          dataflow("tanh(subtract(exp(%x), ones_like(%x)))", _VECTORS), _SIMPLIFY, "SimplifyExpr", "subtracting zero"),
    Fault("joined constants a little larger", "cast", "passes/simplify/rules/arithmetic.py", 'data = np.abs(result.data.astype("float64"))', "data = np.abs(result.data)\n    return Constant(result.data * result.data.dtype.type(1.01))",
          dataflow("multiply(multiply(tanh(%x), 0.3f), 0.7f)", _VECTORS), _SIMPLIFY, "SimplifyExpr", "product of products"),
    Fault("functions that others call are unused", "guard", "passes/simplify/remove_unused_functions.py", "CallGraph(mod).reachable(*entries)",
          'set(entries) | {n for e in entries for n in CallGraph(mod).callees(e)}', _HELPERS, "InferType, RemoveUnusedFunctions, FuseOps", "RemoveUnusedFunctions", ""),
    Fault("padding that is known lies across", "axis", _DYNAMIC, "np.asarray(values[1]).reshape(-1, 2)", "np.asarray(values[1]).reshape(2, -1).T",
          dataflow("let %p = meta[relay.Constant][0];\ntanh(dyn.nn.pad(exp(%x), %p, 0f, pad_width=[]))".replace("meta[relay.Constant][0]", "reshape(arange(0, 4, 1, dtype=\"int32\"), newshape=[2, 2])"), _MATRIX),
          "InferType, DynamicToStatic, FuseOps", "DynamicToStatic", "dynamic as static"),
    Fault("a known number of the smallest", "guard", _DYNAMIC, "call.attrs.with_fields(k=int(k))", "call.attrs.with_fields(k=int(k), is_ascend=not call.attrs.is_ascend)",
          dataflow("dyn.topk(tanh(%x), 2, axis=1, ret_type=\"values\")", _MATRIX), "InferType, DynamicToStatic, FuseOps", "DynamicToStatic", "dynamic as static"),
    Fault("a known field beside the one asked for", "operands", "rewriting/constant_folding.py", "return whole.fields[post.index] if", "return whole.fields[post.index - 1] if",
          dataflow("%0 = (tanh(%x), exp(%y));\nadd(%0.1, multiply(%0.0, 2f))", _VECTORS), _PLAIN, "FoldConstant", "folded"),
    # ------------------------------------------------------------ functions
    Fault("loops with captures alike are one", "cache", "passes/functions/lambda_lift.py", 'f"lifted_name{structural_hash(literal, map_free_vars=True, exact=True) & (1 << 64) - 1}"', 'f"lifted_name{len(captured)}"',
          _TWO_LOOPS, "InferType, LambdaLift", "LambdaLift", "lifted function"),
    Fault("first-order closures with captures in reverse", "captures", _FIRST, "mapping: dict[Expr, Expr] = {**own_names, **dict(zip(captured, inner, strict=True))}",
          "mapping: dict[Expr, Expr] = {**own_names, **dict(zip(captured, inner[::-1], strict=True))}", _HIGHER, "InferType, Defunctionalization", "Defunctionalization", ""),
    Fault("first-order calls with arguments in reverse", "operands", _FIRST, "[self._new(callee), *args], None, (), call.span)", "[self._new(callee), *args[::-1]], None, (), call.span)",
          _HIGHER, "InferType, Defunctionalization", "Defunctionalization", ""),
    Fault("continuations get arguments in reverse", "operands", "passes/functions/continuations.py", "return Call(callee, [*map(self._new, value.args), k]", "return Call(callee, [*map(self._new, value.args[::-1]), k]",
          CLOSURES, "InferType, ToCPS, UnCPS", "ToCPS", ""),
    Fault("every arm goes on as the first", "match order", "passes/functions/continuations.py", "Clause(c.lhs, self._bodies[value, i], c.span)", "Clause(c.lhs, self._bodies[value, len(again.clauses) - 1], c.span)",
          LISTS, "InferType, ToCPS, UnCPS", "ToCPS", ""),
    # ------------------------------------------------------------ layouts
    Fault("tensors join along the axis of before", "axis", _LAYOUTS, "return _with_data(call, layouts, call.attrs.with_fields(axis=block[0]), data), change", "return _with_data(call, layouts, call.attrs, data), change",
          dataflow("%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);\nexp(concatenate((%0, nn.relu(%0)), axis=1))", f"%x: Tensor[(1, 4, 4, 4), float32], {_FILTER}"), _NHWC, "ConvertLayout", ""),
    Fault("a softmax over the axis of before", "axis", _LAYOUTS, "result = _with_data(call, layouts, call.attrs.with_fields(axis=axis))", "result = _with_data(call, layouts, call.attrs)",
          dataflow("%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);\nexp(nn.softmax(%0, axis=1))", f"%x: Tensor[(1, 4, 4, 4), float32], {_FILTER}"), _NHWC, "ConvertLayout", ""),
    Fault("slices by the place among the axes named", "axis", _LAYOUTS, "order = list(bounds) if attrs.axes is not None else sorted(bounds)", "order = list(bounds)",
          dataflow("%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);\nexp(strided_slice(%0, begin=[0, 1, 0, 2], end=[1, 3, 4, 4], strides=[1], axes=None))", f"%x: Tensor[(1, 4, 4, 4), float32], {_FILTER}"), _NHWC, "ConvertLayout", ""),
    Fault("a transposition that follows the other way", "axis", _LAYOUTS, "current = tuple(change.positions(a)[0] for a in order)", "current = tuple(order.index(a) for a in range(rank))",
          dataflow("%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);\nexp(transpose(%0, axes=[0, 2, 1, 3]))", f"%x: Tensor[(1, 4, 4, 4), float32], {_FILTER}"), _NHWC, "ConvertLayout", ""),
    # ------------------------------------------------------------ precision
    Fault("branches of two dtypes", "types", _MIXED, "equal = len({self.types.of(b) for b in results}) == 1", "equal = True",
          dataflow("%0 = nn.dense(%x, %w);\nif (%c) { nn.relu(%0) } else { exp(%x) }", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %c: bool"), _SHORT, "ToMixedPrecision", ""),
    Fault("what is never short stays short", "cast", _MIXED, "[self._original(a) for a in call.args], call.attrs)\n        if any", "args, call.attrs)\n        if any",
          dataflow("%0 = nn.dense(%x, %w);\nadd(log(exp(multiply(%0, 10f))), %y)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(3, 4), float32]"), _SHORT, "ToMixedPrecision", ""),
    Fault("a cell that is written in short", "types", _MIXED, "ref=self._new(node.ref), value=self._original(node.value))", "ref=self._new(node.ref), value=self._new(node.value))",
          dataflow("let %r = ref(%x);\nlet %a = nn.dense(%x, %w);\nlet %u = ref_write(%r, %a);\ntanh(ref_read(%r))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]"), _SHORT, "ToMixedPrecision", ""),
    Fault("bounds without their zero point", "guard", _AFFINE, "_nearest(b / float(scale.data) + int(zero.data))", "_nearest(b / float(scale.data))", _FAKE_CLIP, _FAKE, "FakeQuantizationToInteger", "clip|quantize|integer"),
    Fault("the larger of two scales", "operands", _AFFINE, "right = right if identical(b, target) else requantize(right, b, target)", "right = right if identical(b, target) else requantize(right, a, target)",
          _FAKE_SUB, _FAKE, "FakeQuantizationToInteger", "maximum|quantize|integer"),
    Fault("a quantized product of one scale", "operands", _AFFINE, 'scale = fold(make("multiply", a.scale, b.scale))\n    zero', 'scale = fold(make("multiply", a.scale, a.scale))\n    zero',
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = qnn.dequantize(%w, 0.5f, 1, out_dtype="float32");\nqnn.quantize(nn.dense(%0, %1), 2f, 100, out_dtype="uint8")',
                   "%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), uint8]"), _FAKE, "FakeQuantizationToInteger", "dense|quantize|integer"),
    # ------------------------------------------------------------ fusion, lowering and devices
    Fault("whatever ends in a reshape is one", "guard", "passes/fuse/fuse_ops.py", "        if kernel.reshapes and not has_trait(call, Trait.RESHAPES):\n            kernel.reshapes = False\n", "        kernel.reshapes = has_trait(call, Trait.RESHAPES)\n",
          dataflow("reshape(tanh(exp(%x)), newshape=[12])", "%x: Tensor[(3, 4), float32]"), "InferType, FuseOps", "vm|FuseOps", ""),
    Fault("arguments of placed calls in reverse", "operands", "passes/lowering/plan_devices.py", "for a, w in zip(node.args, devices, strict=True))", "for a, w in zip(node.args[::-1], devices, strict=True))",
          dataflow('%0 = on_device(subtract(%x, %y), virtual_device=meta[VirtualDevice][0]);\nsubtract(exp(%0), %y)'.replace("on_device(subtract(%x, %y), virtual_device=meta[VirtualDevice][0])", "tanh(%x)"), _VECTORS),
          'InferType, PlanDevices(config="cuda"), FuseOps', "PlanDevices", ""),
    Fault("results of a kernel exchanged", "operands", "vm/compiling/codegen.py", "return (*self._fields(call.args[1]), *self._fields(call.args[2]))", "return (*self._fields(call.args[1]), *self._fields(call.args[2])[::-1])",
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n(tanh(%0.0), nn.dense(%0.1, %w))", "%x: Tensor[(3, 4), float32], %w: Tensor[(2, 2), float32]"), "InferType", "vm", "packed|kernel"),
    Fault("a type with one constructor fewer", "match order", "vm/compiling/codegen.py", "return len(data.constructors) if data is not None else 0", "return len(data.constructors) - 1 if data is not None else 0",
          _CHOICE, "InferType, FuseOps", "vm", "match|if|get_tag|goto|load_consti"),
    Fault("a view does not keep what it views", "lifetimes", "executor/graph.py", "            root[rows[i]] = root[rows[j] + index]\n", "            pass\n",
          dataflow("%0 = reshape(nn.dense(%x, %w), newshape=[6, 8]);\n%1 = nn.dense(nn.dense(nn.dense(%0, %v), %v), %v);\n(nn.dense(%1, %v), nn.dense(%0, %v))",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32], %v: Tensor[(8, 8), float32]"), "InferType", "graph", ""),
    Fault("an arm is taken wherever no constructor stands", "match order", "executor/aot/program_source.py", "            if total:\n                break\n            pattern", "            if total and len(expr.clauses) < 0:\n                break\n            pattern",
          LISTS.replace("Nil => zeros(shape=[2], dtype=\"float32\"),", "_ => zeros(shape=[2], dtype=\"float32\"),\n    Nil => ones(shape=[2], dtype=\"float32\"),"), "InferType, FuseOps", "aot", ""),
    Fault("the reference takes the other branch", "executor", "evaluate/evaluator.py", "node.true_branch if _truth(_value(act, node.cond), node.cond) else node.false_branch", "node.false_branch if _truth(_value(act, node.cond), node.cond) else node.true_branch",
          BRANCHES, "InferType", "debug", "if"),
    Fault("a compiled choice the other way", "compiled kernel", "vm/kernels/numpy_emitter.py", "np.where({', '.join(context.args)})", "np.where({', '.join([context.args[0], *context.args[:0:-1]])})",
          dataflow("tanh(where(less(%x, %y), exp(%x), %y))", _MATRIX), _PLAIN, "vm", "where|less"),
    Fault("a compiled cast to halves", "cast", "vm/kernels/numpy_emitter.py", ".astype(np.{np.dtype(context.result.dtype).type.__name__})\")", ".astype(np.float16).astype(np.{np.dtype(context.result.dtype).type.__name__})\")",
          dataflow('multiply(cast(%n, dtype="float32"), exp(%x))', "%x: Tensor[(3), float32], %n: Tensor[(3), int32]"), _PLAIN, "vm", "cast"),
    Fault("a compiled maximum is a minimum", "compiled kernel", "vm/kernels/numpy_emitter.py", '"maximum": _function("maximum", NATIVE)', '"maximum": _function("minimum", NATIVE)',
          dataflow("tanh(maximum(exp(%x), negative(%y)))", _MATRIX), _PLAIN, "vm", "maximum"),
    # ------------------------------------------------------------ types and shapes
    _kernel("stacked dimensions always come first", "op/join.py", "return TensorType((*shape[:axis], len(fields), *shape[axis:]), fields[0].dtype)", "return TensorType((len(fields), *shape), fields[0].dtype)",
            "tanh(stack((exp(%x), %y), axis=1))", _MATRIX, "stack", "type relation"),
    _kernel("equal parts by the count of the others", "op/join.py", "return [dim // sections] * sections", "return [sections] * sections", "split(exp(%x), indices_or_sections=3, axis=0)",
            "%x: Tensor[(6, 2), float32]", "split", "type relation"),
    # ------------------------------------------------------------ kernels
    _kernel("a batch norm that shifts by its mean alone", "op/nn/normalize.py", "shift = -moving_mean * scale", "shift = -moving_mean", "%0 = nn.batch_norm(exp(%x), %g, %b, %m, %var);\ntanh(%0.0)",
            "%x: Tensor[(2, 4), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), float32], %var: Tensor[(4), float32]", "nn.batch_norm|SimplifyInference"),
    _kernel("one neighbour fewer", "op/nn/normalize.py", "min(attrs.size - half, length)", "min(attrs.size - half - 1, length)", "tanh(nn.lrn(exp(%x), size=3, alpha=1f))", "%x: Tensor[(1, 5, 2, 2), float32]", "nn.lrn", "off by one"),
    _kernel("the largest of length and epsilon is their sum", "op/nn/normalize.py", "np.sqrt(np.maximum(total, data.dtype.type(attrs.eps)))", "np.sqrt(total + data.dtype.type(attrs.eps))",
            "tanh(nn.l2_normalize(exp(%x), eps=0.5f, axis=[1]))", _MATRIX, "nn.l2_normalize"),
    _kernel("a scan that leaves itself out from the second on", "op/scan.py", "np.moveaxis(_accumulate(ufunc, rows, axis), axis, 0)[:-1]", "np.moveaxis(_accumulate(ufunc, rows, axis), axis, 0)[1:]",
            "tanh(cumsum(exp(%x), axis=1, exclusive=True))", _MATRIX, "cumsum", "off by one"),
    _kernel("the end of a slice backwards is its start", "op/slice.py", "return None if stop is None or (step < 0 and stop <= -FOREVER) else stop", "return None if stop is None or step < 0 else stop",
            "tanh(strided_slice(exp(%x), begin=[2], end=[0], strides=[-1], axes=[0]))", _MATRIX, "strided_slice"),
    _kernel("lengths of sequences count from one", "op/order.py", "lengths - 1 - steps, steps)", "np.maximum(lengths - 2 - steps, 0), steps)", "tanh(reverse_sequence(exp(%x), %n, seq_axis=0, batch_axis=1))",
            "%x: Tensor[(3, 4), float32], %n: Tensor[(4), int32]", "reverse_sequence", "off by one"),
    _kernel("a remainder with the sign of the divisor", "op/broadcast.py", "division_kernel(np.fmod, np.fmod),", "division_kernel(np.mod, np.mod),", "add(mod(%x, %y), floor_mod(%x, %y))",
            "%x: Tensor[(4), int32], %y: Tensor[(4), int32]", "mod", after='"mod",'),
    _kernel("integers summed in eight bits", "op/reduce.py", "return as_array(np.add.reduce(data, dtype=data.dtype, **where))", "return as_array(np.add.reduce(data, dtype=np.int8 if data.dtype == np.int32 else data.dtype, **where))",
            "sum(multiply(%x, 3), axis=[1])", "%x: Tensor[(3, 40), int32]", "sum", "cast", "def _sum("),
    # ------------------------------------------------------------ gradients
    _gradient("the gradient of a join along the first axis", "op/join.py", 'pieces = TupleWrapper(call("split", grad, indices_or_sections=ends[:-1], axis=axis), len(parts))\n    return [Tuple(list(pieces))]',
              'pieces = TupleWrapper(call("split", grad, indices_or_sections=ends[:-1], axis=axis), len(parts))\n    return [Tuple(list(pieces)[::-1])]', "exp(concatenate((multiply(%x, %x), %y), axis=0))", _VECTORS, "concatenate"),
    _gradient("the gradient of a border begins behind it", "op/nn/gradients.py", "begin = [max(a, 0) for a, _ in attrs.pad_width]", "begin = [max(b, 0) for _, b in attrs.pad_width]",
              "exp(multiply(nn.pad(multiply(%x, %x), 0f, pad_width=[[0, 1], [1, 1]]), 2f))", "%x: Tensor[(3, 4), float32]", "pad"),
    _gradient("the gradient of a root without its half", "op/elementwise.py", 'grad * constant_like(0.5, x) * call("power", x, constant_like(-0.5, x))', 'grad * call("power", x, constant_like(-0.5, x))',
              "exp(sqrt(add(multiply(%x, %x), 1f)))", _VECTORS, "sqrt"),
    _gradient("the gradient of an exponent by the wrong logarithm", "op/broadcast.py", 'grad * z * call("log", x)', 'grad * z * call("log", y)', "power(add(multiply(%x, %x), 1f), add(multiply(%y, %y), 1f))", _VECTORS, "power"),
    _gradient("the gradient of a batch of products turned", "op/nn/gradients.py", "left, right = (y, x) if transposed else (x, y)", "left, right = (x, y)", "exp(nn.batch_matmul(%x, %y, transpose_a=True, transpose_b=True))",
              "%x: Tensor[(2, 3, 3), float32], %y: Tensor[(2, 3, 3), float32]", "batch_matmul"),
    _gradient("the gradient of what is gathered twice", "op/gather_gradients.py", 'indices, grad, axis=attrs_of(orig)["axis"], reduction="add"', 'indices, grad, axis=attrs_of(orig)["axis"], reduction="update"',
              "exp(gather(multiply(%x, %x), %i, axis=0))", "%x: Tensor[(3), float32], %i: Tensor[(5), int32]", "gather"),
    _gradient("derivatives of arguments exchanged", "passes/gradient/first_order_gradient.py", "Tuple([self._derivative(a) for a in args])", "Tuple([self._derivative(a) for a in args[::-1]])", "exp(multiply(%x, multiply(%y, %y)))", _VECTORS, ""),
    # ------------------------------------------------------------ quantized forms
    Fault("a sum with the zero point of one side", "operands", _QUANTIZED, 'target, zero = rest[4:6], _along(rest[5], "int64", -1, 1)', 'target, zero = rest[4:6], _along(rest[3], "int64", -1, 1)',
          dataflow('qnn.dequantize(qnn.add(%x, %y, 0.5f, 3, 0.25f, 1, 0.5f, 2), 0.5f, 2, out_dtype="float32")', "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]"), _QNN, "QnnCanonicalizeOps", "qnn.add"),
    Fault("rounding by a whole and not by a half", "rounding", _QUANTIZED, "np.left_shift(np.int64(1), total - 1)", "np.left_shift(np.int64(1), total)", QUANTIZED, _QNN, "QnnCanonicalizeOps", "qnn.requantize"),
    Fault("a table that begins at zero", "off by one", _QUANTIZED, "_number(first, \"int32\"))\n", "_number(first + 1, \"int32\"))\n",
          dataflow('qnn.dequantize(qnn.tanh(qnn.quantize(%x, 0.02f, 3, out_dtype="int8"), 0.02f, 3, 0.01f, 0), 0.01f, 0, out_dtype="float32")', _MATRIX), _QNN, "QnnCanonicalizeOps", "qnn.tanh"),
)  # fmt: skip
