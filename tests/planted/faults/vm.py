"""Faults in `vm/compiling`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, CLOSURES, DYNAMIC, LISTS, LOOP, MATRIX, PLAIN, TWO_LISTS, VECTORS, dataflow

_TUPLES = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %c: bool) {
  let %t = if (%c) { ((tanh(%x), %y), %x) } else { ((%y, exp(%x)), %y) };
  let %u = %t.0;
  subtract(exp(%u.0), multiply(%u.1, %t.1))
}
"""
_RESHAPED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) {
  let %a = tanh(concatenate((%x, %y), axis=0));
  let %b = reshape(%a, newshape=[4, -1]);
  (exp(%b), nn.relu(%a))
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
_LARGE = "%x: Tensor[(700, 128), float32], %y: Tensor[(700, 128), float32]"
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

FAULTS = (
    Fault("if jumps the other way", "instruction", Mutation("FunctionCode._if", "swap arguments", 3, "3 4"), BRANCHES,
          PLAIN, "vm", "if"),
    Fault("a field next to the one asked for", "instruction",
          Mutation("FunctionCode._instruction", "replace name", 41, "max(0, it - 1)"), _TUPLES, PLAIN, "vm",
          "get_field"),
    Fault("constants of one shape are one", "instruction", Mutation("CodePool._array_number", "drop element", 5),
          dataflow("%0 = nn.dense(%x, ones(shape=[4, 4], dtype=\"float32\"));\nnn.dense(%0, full(0.5f, shape=[4, 4], dtype=\"float32\"))", "%x: Tensor[(3, 4), float32]"),
          "InferType", "vm", "load_const"),
    Fault("captured values come last", "captures",
          Mutation("callee", "replace sequence", 0, "(it.elts[1], it.elts[0])"),
          CLOSURES.replace("subtract(multiply(%a, %u), multiply(%b, %y))", "subtract(%a, multiply(%u, subtract(%b, %y)))"),
          "InferType, FuseOps", "vm", "invoke_closure"),
    Fault("the tag of the first constructor", "match order",
          Mutation("MatchCode._test", "replace attribute", 16, "it ^ (local[2] > 0)"),
          LISTS.replace("Nil, }", "Nil, One(Tensor[(2), float32]), }").replace("Nil => zeros", "One(%o) => exp(%o),\n    Nil => zeros")
          .replace("@total(Nil)", "@total(Cons(%a, One(%x))), @total(Nil)"),
          "InferType, FuseOps", "vm", "load_consti|if|get_tag|match"),
    Fault("fields of data in reverse", "instruction",
          Mutation("ISA[alloc_data]", "other text", 4, "'{dst} = ADTValue({constructor}, ({fields:array})[::-1])'"),
          LISTS.replace("type L { Cons(Tensor[(2), float32], L), Nil, }", "type L { Cons(Tensor[(2), float32], Tensor[(2), float32]), Nil, }")
          .replace("Cons(%h, Nil) => multiply(%h, 2f),\n    ", "").replace("add(%h, multiply(@total(%t), 0.5f))", "subtract(%h, %t)")
          .replace("Cons(%a, Cons(%y, Cons(%x, Nil)))", "Cons(%a, %y)").replace("Cons(%y, Nil)", "Cons(%y, %x)"),
          "InferType, FuseOps", "vm", "alloc_data"),
    Fault("the shape of a tensor reversed", "instruction",
          Mutation("ISA[shape_of]", "other text", 4, "'{dst} = shape_of({tensor})[::-1]'"), DYNAMIC,
          "InferType, FuseOps", "vm", "shape_of"),
    Fault("a reshape in the order of columns", "instruction",
          Mutation("ISA[reshape_tensor]", "other text", 4, "'try: {dst} = {tensor:tensor}.T.reshape({shape:shape})\\nexcept RunError: raise\\nexcept (ValueError, RuntimeError): raise no_shape({tensor}, {shape:shape}) from None'"),
          _RESHAPED, "InferType, FuseOps", "vm", "reshape_tensor"),
    Fault("a loop with its arguments of the turn before", "executor",
          Mutation("FunctionSource._begin_again", "replace f-string", 2, 'f"{\' = \'.join([it.values[0].value.args[0].generators[0].iter[0][0], it.values[0].value.args[0].generators[0].iter[0][1]])}"'),
          LOOP, "InferType", "vm", "invoke"),
    Fault("a compiled division of the wrong way", "compiled kernel",
          Mutation("EMITTERS[divide]", "other text", 0, "'*'"), dataflow("tanh(divide(exp(%x), %y))", MATRIX), PLAIN,
          "vm", "divide"),
    Fault("a compiled bias of the last axis", "compiled kernel",
          Mutation("kernel_text:_bias_add", "replace operation", 1, "0"),
          dataflow("tanh(nn.bias_add(exp(%x), %b))", "%x: Tensor[(3, 4, 4), float32], %b: Tensor[(4), float32]"),
          PLAIN, "vm", "nn.bias_add"),
    Fault("a compiled split with a first part too long", "compiled kernel",
          Mutation("kernel_text:_split", "replace f-string", 0, "f'{it.values[0].value}[{it.values[2].value}{max(0, it.values[3].value - 1)}:{max(0, it.values[3].value - 1) + it.values[5].value.right}]'"),
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\nsubtract(tanh(%0.0), %0.1)", MATRIX), PLAIN,
          "vm", "split"),
    Fault("an earlier arm is lost behind a constructor", "match order",
          Mutation("_Matrix._split", "replace call", 6, "[]"), TWO_LISTS, "InferType, FuseOps", "vm",
          "match|if|get_tag|goto|load_consti"),
    Fault("a condition that a kernel made is turned", "instruction",
          Mutation("FunctionSource._test", "other text", 2, "'not r'"), LOOP, "InferType", "vm", "if"),
    Fault("scalars subtracted the other way", "compiled kernel",
          Mutation("scalars:scalar_text", "replace f-string", 1, "f'({it.values[5].value} {it.values[3].value} {it.values[1].value})'"),
          LOOP, "InferType", "vm", "subtract|less|kernel"),
    Fault("closures hold what they captured in reverse", "captures",
          Mutation("ISA[alloc_closure]", "other text", 4, "'{dst} = VMClosure({func}, ({captured:array})[::-1])'"),
          CLOSURES, "InferType, FuseOps", "vm", "closure"),
    Fault("a condition ahead of time of numbers that differ", "compiled kernel",
          Mutation("EMITTERS[less]", "other text", 0, "'<='"),
          dataflow("where(less(%x, %y), exp(%x), tanh(%y))", MATRIX), PLAIN, "vm", "less|where"),
    Fault("a compiled transpose the other way", "compiled kernel",
          Mutation("kernel_text:_transpose", "replace call", 13, "(str(it.args[1].index(i)) for i in range(local[1]))"),
          dataflow("tanh(transpose(exp(%x), axes=[2, 0, 1]))", "%x: Tensor[(3, 3, 3), float32]"), PLAIN, "vm",
          "transpose"),
    Fault("results of a kernel exchanged", "operands",
          Mutation("FunctionCode._kernel_operands", "replace call", 1, "it[::-1]"),
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n(tanh(%0.0), nn.dense(%0.1, %w))", "%x: Tensor[(3, 4), float32], %w: Tensor[(2, 2), float32]"),
          "InferType", "vm", "packed|kernel"),
    Fault("a type with one constructor fewer", "match order", Mutation("CodePool.siblings", "off by one", 0, "-1"),
          _CHOICE, "InferType, FuseOps", "vm", "match|if|get_tag|goto|load_consti"),
    Fault("a compiled choice the other way", "compiled kernel",
          Mutation("kernel_text:_where", "replace attribute", 2, "[it[0], *it[:0:-1]]"),
          dataflow("tanh(where(less(%x, %y), exp(%x), %y))", MATRIX), PLAIN, "vm", "where|less"),
    Fault("a compiled cast to halves", "cast",
          Mutation("kernel_text:_cast", "other text", 2, "'.astype(np.float16).astype(np.'"),
          dataflow('multiply(cast(%n, dtype="float32"), exp(%x))', "%x: Tensor[(3), float32], %n: Tensor[(3), int32]"),
          PLAIN, "vm", "cast"),
    Fault("a compiled maximum is a minimum", "compiled kernel", Mutation("EMITTERS", "other text", 41, "'minimum'"),
          dataflow("tanh(maximum(exp(%x), negative(%y)))", MATRIX), PLAIN, "vm", "maximum"),
    Fault("a node of two callers is put into the kernel of one", "guard",
          Mutation("KernelText._call", "drop guard", 2), dataflow("%0 = exp(%x);\nadd(multiply(%0, %y), %0)", MATRIX),
          PLAIN, "vm", "multiply|exp|add"),
    Fault("the last row of a block is left out", "off by one",
          Mutation("primitive:_blocks", "replace subscript", 5, "it - 1"),
          dataflow("add(tanh(multiply(exp(%x), %y)), %y)", _LARGE), PLAIN, "vm|graph", "tanh|multiply|exp|add"),
    Fault("what a kernel only looks at may be written over", "buffers",
          Mutation("operator_text", "drop argument", 26),
          dataflow("%0 = strided_slice(%x, begin=[0, 1], end=[3, 4]);\n(exp(add(%0, %b)), sum(%x))", "%x: Tensor[(3, 4), float32], %b: Tensor[(3, 3), float32]"),
          "InferType, FuseOps", "vm", "add|slice|exp"),
    Fault("a buffer is free before its second use", "lifetimes", Mutation("_BufferPlan.operation", "drop guard"),
          dataflow("%0 = exp(%x);\n%1 = tanh(multiply(%0, %y));\nadd(%1, multiply(%0, %1))", _LARGE), PLAIN,
          "vm|graph", "exp|tanh|multiply|add"),
    Fault("a later constructor is an earlier one", "match order",
          Mutation("FunctionSource._test", "other text", 1, "' >= '"), _SHAPES, "InferType, FuseOps", "vm",
          "get_tag|if|match"),
    Fault("an arm before is passed over for its neighbour", "match order",
          Mutation("_Matrix._split", "replace call", 10, "it.func.value.insert(0, it.args[0])"), LISTS,
          "InferType, FuseOps", "vm", "match|fatal|if|get_tag|get_field|goto"),
    Fault("what is captured stands behind the parameters", "captures",
          Mutation("FunctionCode.generate", "replace statement", 4, "it.target = [*it.value, *it.target]"),
          dataflow("let %u = tanh(%x);\nlet %f = fn (%a: Tensor[(3), float32]) { subtract(%a, %u) };\n(exp(%f(%y)), %f(%u))", VECTORS),
          "InferType, FuseOps", "vm", "closure|invoke"),
    Fault("every call ends its function", "executor", Mutation("is_tail", "replace comparison", 0, "it.left >= 0"),
          _COUNTDOWN, "InferType, FuseOps", "vm", ""),
    Fault("a compiled sigmoid of the other sign", "compiled kernel",
          Mutation("kernel_text:_sigmoid", "other text", 0, "'np.reciprocal(np.exp('"),
          dataflow("tanh(sigmoid(add(%x, %y)))", MATRIX), PLAIN, "vm", "sigmoid"),
    Fault("a compiled or is an and", "compiled kernel", Mutation("EMITTERS", "other text", 47, "'logical_and'"),
          dataflow("where(logical_or(less(%x, %y), greater(%x, 0.5f)), exp(%x), tanh(%y))", MATRIX), PLAIN, "vm",
          "logical_or"),
)  # fmt: skip
