"""Faults as a newcomer makes them, of every kind that is asked for; written before the search was tried on any of them.

What is left of a rule when one word of it is forgotten: a condition, an axis, a step, a side, a place, a turn.
"""

from __future__ import annotations

from tests.planted.fault import Fault
from tests.planted.programs import LISTS, LOOP, dataflow

_INFERENCE, _ALONG = "passes/simplify/simplify_inference.py", "op/layout_rules.py"
_LOWER = "InferType, FuseOps, ToANormalForm, InferType, LambdaLift, InferType, LowerTE, InferType, ManifestAlloc"
_PLAIN = "InferType, SimplifyInference, FoldConstant, FuseOps"
_SIMPLIFY = "InferType, FoldConstant, SimplifyExpr, FuseOps"
_GRAD, _SHORT = "InferType, FirstOrderGradient", "InferType, ToMixedPrecision, FuseOps"
_NHWC = 'InferType, ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]}), FoldConstant, FuseOps'
_FAKE = "InferType, FakeQuantizationToInteger"
_MATRIX = "%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]"
_VECTORS = "%x: Tensor[(3), float32], %y: Tensor[(3), float32]"
_FILTER = "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(4, 4, 3, 3), float32]"
_CONV = "%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);\n"
_LARGE = "%x: Tensor[(700, 128), float32], %y: Tensor[(700, 128), float32]"
_ORDERED = """
let %r = ref(%x);
let %v = subtract((let %u = ref_write(%r, %y); tanh(%y)), exp(ref_read(%r)));
(%v, ref_read(%r))
"""
_TWO_SPLITS = """
%0 = random.threefry_split(%k);
(random.uniform(%0.0, 0f, 1f, out_shape=[3], out_dtype="float32").1, random.uniform(%0.1, 0f, 1f, out_shape=[3], out_dtype="float32").1)
"""
_PAIRS = """
#[version = "0.0.5"]
type S { Full(Tensor[(2), float32]), Empty, }
def @both(%a: S, %b: S) -> Tensor[(2), float32] {
  match ((%a, %b)) {
    (Full(%l), Full(%r)) => subtract(%l, %r),
    (Full(%l), _) => tanh(%l),
    (_, Full(%r)) => exp(%r),
    (_, _) => zeros(shape=[2], dtype="float32"),
  }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %s = Full(tanh(%x));
  (@both(%s, Full(%y)), @both(Empty, %s), @both(%s, Empty), @both(Empty, Empty))
}
"""
_SHAPES = """
#[version = "0.0.5"]
type Shape { Dot, Line(Tensor[(2), float32]), Box(Tensor[(2), float32], Tensor[(2), float32]), }
def @size(%s: Shape) -> Tensor[(2), float32] {
  match (%s) { Dot => zeros(shape=[2], dtype="float32"), Line(%l) => abs(%l), Box(%a, %b) => subtract(%b, %a), }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %a = exp(%x);
  (@size(Box(%a, %y)), @size(Line(%y)), @size(Dot))
}
"""
_COUNTDOWN = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %y = tanh(%x);
  (multiply(@sum(%n, %y), 2f), %y)
}
def @sum(%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (less(%i, 1)) { %a } else { let %rest = @sum(subtract(%i, 1), add(%a, 1f)); if (less(%i, 3)) { %rest } else { exp(%rest) } }
}
"""
_TWO_STATES = (
    LOOP.replace("@loop(%n, %start)", "@loop(%n, %start, %x)")
    .replace("%a: Tensor[(3), float32]) ->", "%a: Tensor[(3), float32], %b: Tensor[(3), float32]) ->")
    .replace("@loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f))", "@loop(subtract(%i, 1), %b, add(%a, %b))")
)


def _kernel(
    name: str, kind: str, file: str, old: str, new: str, body: str, params: str, by: str, after: str = ""
) -> Fault:
    return Fault(name, kind, file, old, new, dataflow(body, params), _PLAIN, "kernel|debug", by, after)


def _gradient(name: str, file: str, old: str, new: str, body: str, params: str, by: str, after: str = "") -> Fault:
    return Fault(name, "gradient", file, old, new, dataflow(body, params), _GRAD, "FirstOrderGradient", by, after)


NEWCOMERS = (
    # ------------------------------------------------------------ guards
    Fault("effects of what is not needed any more are lost", "effects", _INFERENCE, "not all(map(is_movable, call.args[1:]))", "False",
          dataflow("let %r = ref(%x);\nlet %v = nn.layer_norm(tanh(%x), (let %u = ref_write(%r, %y); %g), %b, scale=False);\n(%v, ref_read(%r))",
                   f"{_MATRIX}, %g: Tensor[(4), float32], %b: Tensor[(4), float32]"), "InferType, SimplifyInference", "SimplifyInference", "inference form"),
    Fault("quantized data of a scale of nothing keep their order", "guard", "passes/simplify/rules/ordering.py", "float(limits.tiny) <= float(scale.data) and ", "0 <= float(scale.data) and ",
          dataflow("argmax(qnn.dequantize(abs(%x), 0f, 0, out_dtype=\"float32\"), axis=[1])", "%x: Tensor[(3, 4), int8]"), "InferType, SimplifyExpr", "SimplifyExpr", "order of quantized"),
    Fault("a scale with axes of size 1 comes in reverse", "axis", "passes/fold/scale_axis.py", "return make(\"squeeze\", scale, axis=ones) if ones else scale", "return make(\"reshape\", make(\"reverse\", scale, axis=-1), newshape=[-1]) if ones else scale",
          dataflow("%0 = nn.dense(%x, %w);\ntanh(multiply(%0, %y))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(1, 4), float32]"),
          "InferType, BackwardFoldScaleAxis", "BackwardFoldScaleAxis", ""),
    Fault("every dimension may be a block", "guard", _ALONG, "if size > 1 and any(not isinstance(n, int) or n % size for n in lengths):\n        return None", "pass",
          dataflow("%0 = nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=8, kernel_size=[3, 3]);\n%1 = split(%0, indices_or_sections=[2], axis=1);\n(exp(%1.0), %1.1)",
                   "%x: Tensor[(1, 8, 4, 4), float32], %w: Tensor[(8, 8, 3, 3), float32]"),
          'InferType, ConvertLayout(desired_layouts={"nn.conv2d": ["NCHW4c", "OIHW4i4o"]}), FuseOps', "ConvertLayout", ""),
    Fault("a node of two callers is put into the kernel of one", "guard", "vm/kernels/kernel_text.py", "first in self.owned and self.uses[first] == 1 and", "first in self.owned and",
          dataflow("%0 = exp(%x);\nadd(multiply(%0, %y), %0)", _MATRIX), _PLAIN, "vm", "multiply|exp|add"),
    # ------------------------------------------------------------ axes
    Fault("gamma and beta along the last axis", "axis", _INFERENCE, "[axis], attrs.epsilon), call, rank, axis)", "[axis], attrs.epsilon), call, rank, rank - 1)",
          dataflow("tanh(nn.layer_norm(exp(%x), %g, %b, axis=1))", "%x: Tensor[(2, 3, 3), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32]"),
          "InferType, SimplifyInference, FuseOps", "SimplifyInference", "layer_norm"),
    Fault("a layout that is transposed the other way", "axis", "passes/simplify/rules/movement.py", '"".join(target[a] for a in two)', '"".join(target[two.index(a)] for a in range(len(two)))',
          dataflow('exp(transpose(layout_transform(tanh(%x), src_layout="NCHW", dst_layout="NCHW2c"), axes=[0, 2, 3, 1, 4]))', "%x: Tensor[(1, 6, 3, 3), float32]"),
          _SIMPLIFY, "SimplifyExpr", "two moves"),
    Fault("the border of a layout stays where it was", "axis", _ALONG, "tuple(entry[letter] for letter, _ in layout.parts)}", "tuple(entry.values())}",
          dataflow(_CONV + "exp(nn.pad(%0, 0f, pad_width=[[0, 0], [0, 0], [1, 0], [0, 1]]))", _FILTER), _NHWC, "ConvertLayout", ""),
    Fault("dimensions of size 1 go from where they were", "axis", _ALONG, "positions = sorted(p for a in removed for p in change.positions(a))\n    result_change = _without_axes", "positions = sorted(removed)\n    result_change = _without_axes",
          dataflow(_CONV + "exp(squeeze(nn.max_pool2d(%0, pool_size=[1, 4]), axis=[3]))", _FILTER.replace("4, 4, 4)", "4, 4, 4)")), _NHWC, "ConvertLayout", ""),
    # ------------------------------------------------------------ off by one
    Fault("the last row of a block is left out", "off by one", "vm/kernels/elementwise_tail.py", "slice(start, min(start + step, shape[axis]))", "slice(start, min(start + step, shape[axis] - 1))",
          dataflow("add(tanh(multiply(exp(%x), %y)), %y)", _LARGE), _PLAIN, "vm|graph", "tanh|multiply|exp|add"),
    _kernel("the k largest without the very largest", "off by one", "op/sort.py", "first = np.take(order, np.arange(count), axis=attrs.axis)",
            "first = np.take(order, np.minimum(np.arange(count) + 1, data.shape[attrs.axis] - 1), axis=attrs.axis)", 'topk(exp(%x), k=2, axis=1, ret_type="values")', _MATRIX, "topk"),
    _kernel("a window that ends before its last element", "off by one", "op/nn/pooling.py", "-(-(i + 1) * length // count)) for", "(i + 1) * length // count) for",
            "tanh(nn.adaptive_max_pool2d(exp(%x), output_size=[2, 2]))", "%x: Tensor[(1, 2, 5, 5), float32]", "adaptive_max_pool2d"),
    _kernel("what is cut off at the end is cut off at the start", "operands", "op/nn/convolve.py", "cropped = tuple(slice(a, a + s) for a, s in zip(window.before, shape, strict=True))",
            "cropped = tuple(slice(a, a + s) for a, s in zip(window.after, shape, strict=True))", "tanh(nn.conv1d_transpose(exp(%x), %w, padding=[0, 2]))",
            "%x: Tensor[(1, 2, 5), float32], %w: Tensor[(2, 3, 3), float32]", "conv1d_transpose"),
    # ------------------------------------------------------------ ties and rounding
    _kernel("halves of positions go down", "tie", "op/nn/resample.py", "index = np.floor(position + np.float32(0.5))", "index = np.ceil(position - np.float32(0.5))",
            'exp(image.resize2d(%x, size=[2, 2], roi=[0f, 0f, 0f, 0f], method="nearest_neighbor", coordinate_transformation_mode="half_pixel", rounding_method="round_prefer_ceil"))',
            "%x: Tensor[(1, 1, 4, 4), float32]", "resize2d"),
    _kernel("of equal elements the last comes first", "tie", "op/sort.py", "reversed_order = np.flip(np.argsort(np.flip(data, axis), axis=axis, kind=\"stable\"), axis)\n    return np.asarray(data.shape[axis] - 1 - reversed_order)",
            "return np.flip(np.argsort(data, axis=axis, kind=\"stable\"), axis)", 'argsort(floor(%x), axis=1, is_ascend=False, dtype="int32")', _MATRIX, "argsort"),
    _kernel("a place before equal elements", "tie", "op/sort.py", 'side: Any = "right" if attrs.right else "left"', 'side: Any = "left"', "searchsorted(sort(floor(%x)), floor(%y), right=True)", _VECTORS, "searchsorted"),
    _kernel("minus one to any negative power is itself", "integer division", "op/broadcast.py", "np.where(rhs % 2 == 0, lhs * lhs, lhs)", "np.where(rhs % 2 == 0, lhs, lhs)",
            "add(power(%x, %y), 3)", "%x: Tensor[(6), int32], %y: Tensor[(6), int32]", "power"),
    _kernel("rounding down is cutting off", "integer division", "op/broadcast.py", "division_kernel(np.floor_divide, _float_floor_divide)", "division_kernel(truncated_quotient, _float_floor_divide)",
            "add(floor_divide(%x, %y), %x)", "%x: Tensor[(4), int32], %y: Tensor[(4), int32]", "floor_divide"),
    # ------------------------------------------------------------ random numbers
    _kernel("both halves of a key are one", "random", "op/threefry.py", "right = [*new_key, _PATH_START, 0, 0, 0, 1 << 62, 0]", "right = list(left)", _TWO_SPLITS, "%k: Tensor[(10), uint64]", "threefry_split"),
    Fault("calls of random numbers are one call", "random", "passes/simplify/eliminate_common_subexpr.py", "return (op, node.attrs, *[number[a] for a in node.args])",
          'return (op, node.attrs, *[number[a] for a in node.args[op.name == "random.uniform" :]])',
          dataflow('%0 = random.threefry_split(%k);\nadd(random.uniform(%0.0, 0f, 1f, out_shape=[3], out_dtype="float32").1, random.uniform(%0.1, 0f, 1f, out_shape=[3], out_dtype="float32").1)',
                   "%k: Tensor[(10), uint64]"), "InferType, EliminateCommonSubexpr", "EliminateCommonSubexpr", "common subexpression"),
    # ------------------------------------------------------------ effects
    Fault("arguments are bound from the last to the first", "effects", "rewriting/let_binding.py", "return (*expr.args, expr.op)", "return (*expr.args[::-1], expr.op)",
          dataflow(_ORDERED, _VECTORS), "InferType, ToANormalForm", "ToANormalForm", ""),
    Fault("what only an effect needs is not needed", "effects", "passes/simplify/dead_code_elimination.py", "stack += writes.pop(node, ())", "writes.pop(node, ())",
          dataflow("let %r = ref(%x);\nlet %a = add(%x, %y);\nlet %u = ref_write(%r, %a);\ntanh(ref_read(%r))", _VECTORS), "InferType, DeadCodeElimination", "DeadCodeElimination", "unused let"),
    # ------------------------------------------------------------ casts and precision
    Fault("squares of halves stay halves", "cast", _INFERENCE, "if array_dtype(ty.dtype).itemsize >= _WIDE:\n        return data, ty", "if True:\n        return data, ty",
          dataflow("tanh(nn.l2_normalize(multiply(%x, 200f16), eps=0.001f, axis=[1]))", "%x: Tensor[(3, 4), float16]"), "InferType, SimplifyInference", "SimplifyInference", "l2_normalize"),
    Fault("whatever can be short makes all short", "cast", "passes/precision/mixed_precision.py", "return all(change is False", "return any(change is False",
          dataflow("multiply(nn.dense(%x, %w), exp(multiply(%y, 10f)))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32]"), _SHORT, "ToMixedPrecision", "add|float16"),
    Fault("a padding of any scale", "cast", "passes/precision/integer_rules.py", "value = quantized(value, target)\n    else:",
          "value = make(\"cast\", value, dtype=target.dtype)\n    else:",
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\nqnn.quantize(nn.pad(%0, 0f, pad_width=[[0, 0], [1, 1]]), 0.5f, 3, out_dtype="uint8")', "%x: Tensor[(2, 4), uint8]"), _FAKE, "FakeQuantizationToInteger", "pad|quantize|integer"),
    Fault("an average of bytes wraps", "cast", "passes/precision/integer_rules.py", 'make("cast", call.args[0], dtype="int32") if same else', "call.args[0] if same else",
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\nqnn.quantize(mean(%0, axis=[1]), 0.25f, 7, out_dtype="uint8")', "%x: Tensor[(2, 8), uint8]"), _FAKE, "FakeQuantizationToInteger", "mean|quantize|integer"),
    # ------------------------------------------------------------ buffers and lifetimes
    Fault("sizes are rounded down", "buffers", "executor/arena.py", "rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]", "rounded = [size // ALIGNMENT * ALIGNMENT for size in sizes]",
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %v);\n(tanh(%1), nn.dense(%1, %w))", "%x: Tensor[(3, 7), float32], %w: Tensor[(7, 7), float32], %v: Tensor[(7, 7), float32]"), "InferType", "graph", "memory"),
    Fault("what a kernel only looks at may be written over", "buffers", "vm/kernels/kernel_text.py", "return PyExpr(text, fresh=False)", "return PyExpr(text)",
          dataflow("%0 = strided_slice(%x, begin=[0, 1], end=[3, 4]);\n(exp(add(%0, %b)), sum(%x))", "%x: Tensor[(3, 4), float32], %b: Tensor[(3, 3), float32]"), "InferType, FuseOps", "vm", "add|slice|exp"),
    Fault("allocations of a branch join those around it", "buffers", "passes/lowering/memory_plan.py", "head = chain.setdefault(node, node)", "head = next(iter(chain), node)",
          dataflow("if (%c) { nn.softmax(exp(%x)) } else { nn.softmax(nn.relu(%y)) }", f"{_MATRIX}, %c: bool"), f"{_LOWER}, MemoryPlan", "MemoryPlan", "allocations as one"),
    Fault("of a tuple only the first field is in use", "lifetimes", "passes/lowering/manifest_lifetimes.py", "self._atoms(part.fields if type(part) is Tuple else (part,))", "(self._atoms(part.fields[:1]) and part.fields) if type(part) is Tuple else self._atoms((part,))",
          dataflow("%0 = nn.softmax(nn.dense(%x, %w));\n%1 = nn.softmax(nn.dense(%0, %w));\nnn.dense(%1, %0)", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]"), f"{_LOWER}, ManifestLifetimes", "ManifestLifetimes", "last use"),
    Fault("a buffer is free before its second use", "lifetimes", "vm/kernels/elementwise_tail.py", "if not self.left[argument] and argument in self.buffers:", "if argument in self.buffers:",
          dataflow("%0 = exp(%x);\n%1 = tanh(multiply(%0, %y));\nadd(%1, multiply(%0, %1))", _LARGE), _PLAIN, "vm|graph", "exp|tanh|multiply|add"),
    # ------------------------------------------------------------ match order, captures, calls
    Fault("fields are compared from the last to the first", "match order", "evaluate/evaluator.py", "stack.extend(zip(at.patterns, val.fields, strict=True))", "stack.extend(zip(at.patterns, val.fields[::-1], strict=True))",
          LISTS.replace("Cons(Tensor[(2), float32], L), Nil", "Cons(Tensor[(2), float32], Tensor[(2), float32], L), Nil").replace("Cons(%h, Nil) => multiply(%h, 2f)", "Cons(%h, %g, Nil) => subtract(%h, %g)")
          .replace("Cons(%h, %t) => add(%h, ", "Cons(%h, %g, %t) => add(%g, ").replace("Cons(%a, Cons(%y, Cons(%x, Nil)))", "Cons(%a, %x, Cons(%y, %a, Nil))").replace("Cons(%y, Nil)", "Cons(%y, %a, Nil)"),
          "InferType, FuseOps", "debug", "match"),
    Fault("a tuple of patterns always fits", "match order", "executor/aot/program_source.py", "total = not isinstance(clause.lhs, (PatternConstructor, PatternTuple))", "total = not isinstance(clause.lhs, PatternConstructor)",
          _PAIRS, "InferType, FuseOps", "aot", "match"),
    Fault("a later constructor is an earlier one", "match order", "vm/running/function_source.py", 'return f"r{i.test} == {number}"', 'return f"r{i.test} >= {number}"', _SHAPES, "InferType, FuseOps", "vm", "get_tag|if|match"),
    Fault("an arm before is passed over for its neighbour", "match order", "vm/compiling/decision_tree.py", "unfinished[tag].append((number, (*pending[:index], *inner, *pending[index + 1 :])))", "unfinished[tag].insert(0, (number, (*pending[:index], *inner, *pending[index + 1 :])))",
          LISTS, "InferType, FuseOps", "vm", "match|fatal|if|get_tag|get_field|goto"),
    Fault("what is captured stands behind the parameters", "captures", "vm/compiling/codegen.py", "params += body.params\n", "params = [*body.params, *params]\n",
          dataflow("let %u = tanh(%x);\nlet %f = fn (%a: Tensor[(3), float32]) { subtract(%a, %u) };\n(exp(%f(%y)), %f(%u))", _VECTORS), "InferType, FuseOps", "vm", "closure|invoke"),
    Fault("every call ends its function", "executor", "vm/control.py", "return bool(function.returned_register[index + 1] == function.instructions[index].dst)", "return bool(function.returned_register[index + 1] >= 0)", _COUNTDOWN, "InferType, FuseOps", "vm", ""),
    Fault("variables of a loop change one after the other", "executor", "executor/aot/program_source.py", "{', '.join(p for p, _ in changed)} = {', '.join(a for _, a in changed)}", "{'; '.join(f'{p} = {a}' for p, a in changed)}",
          _TWO_STATES, "InferType", "aot", "loop|call|if"),
    Fault("a kernel is known by the names of its operators", "cache", "passes/lowering/lower_te.py", "key = outline(primitive)", "key: Hashable = tuple(n.op.name for n in post_order(primitive.body) if is_op_call(n))",
          dataflow("subtract(sum(tanh(%x), axis=[0]), sum(tanh(%x), axis=[1]))", "%x: Tensor[(3, 3), float32]"), _LOWER, "LowerTE", ""),
    # ------------------------------------------------------------ compiled kernels
    Fault("a compiled sigmoid of the other sign", "compiled kernel", "vm/kernels/numpy_emitter.py", "np.reciprocal(np.exp(-{wrap(context.args[0])}) + ", "np.reciprocal(np.exp({wrap(context.args[0])}) + ",
          dataflow("tanh(sigmoid(add(%x, %y)))", _MATRIX), _PLAIN, "vm", "sigmoid"),
    Fault("a compiled or is an and", "compiled kernel", "vm/kernels/numpy_emitter.py", '_function("logical_or", frozenset({"bool"}))', '_function("logical_and", frozenset({"bool"}))',
          dataflow("where(logical_or(less(%x, %y), greater(%x, 0.5f)), exp(%x), tanh(%y))", _MATRIX), _PLAIN, "vm", "logical_or"),
    # ------------------------------------------------------------ kernels
    _kernel("a cubic curve with a wrong coefficient", "kernel", "op/nn/resample.py", "(2 * a + 3) * t2", "(2 * a + 2) * t2",
            'exp(image.resize2d(%x, size=[6, 6], roi=[0f, 0f, 0f, 0f], method="cubic", coordinate_transformation_mode="half_pixel"))', "%x: Tensor[(1, 1, 4, 4), float32]", "resize2d"),
    _kernel("holes of a window are forgotten on short rows", "kernel", "op/nn/convolve.py", "part = x[:, first:end, ..., tap * dilation : tap * dilation +", "part = x[:, first:end, ..., tap : tap +",
            "tanh(nn.conv2d(exp(%x), %w, dilation=[2, 2], padding=[2, 2], strides=[2, 2]))", "%x: Tensor[(1, 3, 6, 6), float32], %w: Tensor[(2, 3, 3, 3), float32]", "nn.conv2d"),
    _kernel("groups of channels that come last are turned", "kernel", "op/nn/convolve.py", "flat.transpose(1, 0, 2)\n\n", "flat.transpose(1, 0, 2)[::-1]\n\n",
            'tanh(nn.conv2d(exp(%x), %w, groups=2, data_layout="NHWC", kernel_layout="HWIO"))', "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(3, 3, 2, 4), float32]", "nn.conv2d", "def _weight_matrix"),
    # ------------------------------------------------------------ gradients
    _gradient("the gradient of a maximum of equals is theirs all", "op/reduce.py", "return [_expand(grad, orig) * equal / ties]", "return [_expand(grad, orig) * equal * ties]", "exp(max(concatenate((%x, %x), axis=0), axis=[0]))", "%x: Tensor[(3, 4), float32]", "max"),
    _gradient("the gradient of a reciprocal root goes up", "op/elementwise.py", 'grad * constant_like(-0.5, x) * call("power", x, constant_like(-1.5, x))', 'grad * constant_like(0.5, x) * call("power", x, constant_like(-1.5, x))',
              "exp(rsqrt(add(multiply(%x, %x), 1f)))", _VECTORS, "rsqrt"),
    _gradient("the gradient of the larger goes to the smaller", "op/broadcast.py", 'gradient=_selection_gradient("greater_equal")', 'gradient=_selection_gradient("less_equal")', "exp(maximum(multiply(%x, 2f), %y))", _VECTORS, "maximum"),
    _gradient("the gradient of a divisor is a product", "op/broadcast.py", "(grad / y, -(grad * z / y))", "(grad / y, -(grad * z * y))", "exp(divide(%x, add(multiply(%y, %y), 1f)))", _VECTORS, "divide"),
    _gradient("the gradient of a variance is half of it", "op/reduce.py", "constant_like(2 / max(_variance_divisor", "constant_like(1 / max(_variance_divisor", "exp(variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1]))", "%x: Tensor[(3, 4), float32]", "variance"),
    _gradient("the gradient of a product is the product", "op/reduce.py", "[_expand(grad * orig, orig) / orig.args[0]]", "[_expand(grad * orig, orig)]", "exp(prod(%x, axis=[1]))", "%x: Tensor[(3, 4), float32]", "prod"),
)  # fmt: skip
