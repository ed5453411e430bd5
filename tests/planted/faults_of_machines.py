"""Faults in kernels, in the passes and instructions of the virtual machine, and in the other executors."""

from __future__ import annotations

from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, CLOSURES, DYNAMIC, LISTS, LOOP, MLP, dataflow

_PLAIN = "InferType, SimplifyInference, FoldConstant, FuseOps"
_LOWER = "InferType, FuseOps, ToANormalForm, InferType, LambdaLift, InferType, LowerTE, InferType, ManifestAlloc"
_IMAGE = "%x: Tensor[(1, 2, 6, 6), float32]"
_MATRIX = "%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]"
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

MACHINES = (
    # ------------------------------------------------------------ kernels
    Fault("softmax without the maximum", "kernel", "op/nn/activation.py",
          "np.subtract(sample, np.maximum.reduce(sample, axis=axis, keepdims=True), out=target)", "np.copyto(target, sample)", MLP, _PLAIN,
          "kernel", "nn.softmax"),
    Fault("log_softmax over all axes", "kernel", "op/nn/activation.py", "np.exp(shifted).sum(axis=attrs.axis, keepdims=True)",
          "np.exp(shifted).sum(keepdims=True)", dataflow("tanh(nn.log_softmax(exp(%x)))", _MATRIX), _PLAIN, "kernel", "nn.log_softmax"),
    Fault("leaky_relu at zero and above", "kernel", "op/nn/activation.py", "np.copyto(result, data, where=data > 0)",
          "np.copyto(result, data, where=data > 1)", dataflow("tanh(nn.leaky_relu(exp(%x) - %y, alpha=2f))", _MATRIX), _PLAIN, "kernel",
          "nn.leaky_relu"),
    Fault("bias along the last axis always", "kernel", "op/nn/activation.py",
          "return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])",
          "return vector.reshape([-1 if i == rank - 1 else 1 for i in range(rank)])",
          dataflow("tanh(nn.prelu(exp(%x) - %y, %a))", "%x: Tensor[(3, 4, 4), float32], %y: Tensor[(3, 4, 4), float32], %a: Tensor[(4), float32]"),
          _PLAIN, "kernel", "nn.prelu"),
    Fault("integer division rounds down", "integer division", "op/broadcast.py", "return result\n    inexact", "return result\n    return result\n    inexact",
          dataflow("add(divide(multiply(%x, 3), %y), %x)", "%x: Tensor[(4), int32], %y: Tensor[(4), int32]"), _PLAIN, "kernel", "divide"),
    Fault("the mean of integers in their own dtype", "cast", "op/reduce.py", "return truncated_quotient(sums, np.asarray(count, wide))",
          "return np.floor_divide(sums, np.asarray(count, wide))", dataflow("add(mean(multiply(%x, 3), axis=[1]), 1)", "%x: Tensor[(3, 4), int32]"),
          _PLAIN, "kernel", "mean"),
    Fault("the last of equal maxima wins", "tie", "op/reduce.py", "if attrs.select_last_index else find(rows, axis=-1)",
          "if not attrs.select_last_index else find(rows, axis=-1)", dataflow("(tanh(%x), argmax(nn.relu(%y), axis=[1]))", _MATRIX), _PLAIN, "kernel",
          "argmax"),
    Fault("sigmoid without its one", "kernel", "op/elementwise.py", "np.add(result, result.dtype.type(1), out=result)", "np.add(result, result.dtype.type(2), out=result)",
          dataflow("exp(sigmoid(%x) + %y)", _MATRIX), _PLAIN, "kernel", "sigmoid"),
    Fault("transpose forgets its axes", "axis", "op/order.py", "return np.transpose(data, attrs.axes)",
          "return np.transpose(data, attrs.axes if len(attrs.axes or ()) < 3 else [attrs.axes[i] for i in (1, 0, *range(2, len(attrs.axes)))])",
          dataflow("tanh(transpose(exp(%x), axes=[2, 0, 1]))", "%x: Tensor[(3, 3, 3), float32]"), _PLAIN, "kernel", "transpose"),
    Fault("reverse along the first axis", "axis", "op/order.py", "return np.flip(data, _axis_or_zero(attrs))", "return np.flip(data, 0)",
          dataflow("tanh(reverse(exp(%x), axis=1))", _MATRIX), _PLAIN, "kernel", "reverse"),
    Fault("where the condition is false", "operands", "op/compare.py", "condition != 0, x, y)", "condition != 0, y, x)",
          dataflow("tanh(where(less(%x, %y), exp(%x), %y))", _MATRIX), _PLAIN, "kernel", "where"),
    Fault("less or equal", "tie", "op/compare.py", 'less = _comparison("less", np.less,', 'less = _comparison("less", np.less_equal,',
          dataflow("where(less(%x, %y), exp(%x), tanh(%y))", _MATRIX), _PLAIN, "kernel", "less"),
    Fault("pooling leaves the last element of a window out", "off by one", "op/nn/pooling.py", "for tap in range(2, size):", "for tap in range(2, size - 1):",
          dataflow("tanh(nn.max_pool2d(exp(%x), pool_size=[3, 3], padding=[1, 1]))", _IMAGE), _PLAIN, "kernel", "nn.max_pool2d"),
    Fault("variance divided by n - 1", "off by one", "op/reduce.py", "return count - 1 if attrs.unbiased else count", "return count - 1",
          dataflow("sqrt(variance(exp(%x), mean(exp(%x), axis=[1], keepdims=True), axis=[1]))", _MATRIX), _PLAIN, "kernel", "variance"),
    # ------------------------------------------------------------ memory and the passes of the machine
    Fault("a storage too small by one element", "buffers", "passes/lowering/memory_plan.py", "self.size = start + _number(let.value, 0)",
          "self.size = start + _number(let.value, 0) - 4", MLP, f"{_LOWER}, MemoryPlan", "MemoryPlan", "allocations as one"),
    Fault("two tensors in one place", "buffers", "passes/lowering/memory_plan.py", "start = -(-self.size // self.alignment) * self.alignment",
          "start = (self.size // self.alignment // 2) * self.alignment", MLP, f"{_LOWER}, MemoryPlan", "MemoryPlan", "allocations as one"),
    Fault("what a branch uses dies before it", "lifetimes", "passes/lowering/manifest_lifetimes.py",
          "        result = let_of_typed(let.var, value, after, let.span, let._type_dependency)\n",
          "        result = let_of_typed(let.var, value, body, let.span, let._type_dependency)\n        for var in dying if name else ():\n"
          "            result = let_of_typed(Var(\"killed\", self._unit), Call(self._kill, (var,)), result)\n",
          BRANCHES, f"{_LOWER}, ManifestLifetimes", "ManifestLifetimes", "last use"),
    Fault("a tensor with the bytes of its elements alone", "buffers", "passes/lowering/manifest_alloc.py",
          "size = self._int64(prod(ty.concrete_shape) * itemsize(ty.dtype))", "size = self._int64(prod(ty.concrete_shape) * max(1, itemsize(ty.dtype) // 2))",
          MLP, _LOWER, "ManifestAlloc", "memory of a kernel"),
    Fault("inputs of a kernel reversed", "operands", "passes/lowering/manifest_alloc.py",
          'self._tuple(call.args), self._tuple(outs)', 'self._tuple(call.args[::-1]), self._tuple(outs)',
          dataflow("tanh(subtract(exp(%x), %y))", _MATRIX), _LOWER, "ManifestAlloc", "memory of a kernel"),
    Fault("the reshaped value is another parameter", "operands", "passes/lowering/manifest_alloc.py",
          "return make(\"vm.reshape_tensor\", call.args[source], shape, newshape=ty.shape)",
          "return make(\"vm.reshape_tensor\", call.args[source], shape, newshape=ty.shape) if len(ty.shape) > 1 else call.args[source]",
          dataflow("let %a = tanh(%x);\nlet %b = reshape(%a, newshape=[12]);\n(%b, sum(%a, axis=[0]))", _MATRIX), _LOWER, "ManifestAlloc", "memory of a kernel"),
    # ------------------------------------------------------------ instructions and code of the machine
    Fault("if jumps the other way", "instruction", "vm/compiling/codegen.py", "Instruction(Opcode.IF, cond, one, 1, len(self.code) - test, node=expr)",
          "Instruction(Opcode.IF, cond, one, len(self.code) - test, 1, node=expr)", BRANCHES, _PLAIN, "vm", "if"),
    Fault("a field beside the one asked for", "instruction", "vm/compiling/codegen.py", "return self.into(Opcode.GET_FIELD, operands[0], expr.index, ..., node=expr)",
          "return self.into(Opcode.GET_FIELD, operands[0], max(0, expr.index - 1), ..., node=expr)", _TUPLES, _PLAIN, "vm", "get_field"),
    Fault("constants of one shape are one", "instruction", "vm/compiling/codegen.py",
          "same_key = self._by_key.setdefault((device, data.shape, data.dtype, flat[:SAMPLE].tobytes()), [])",
          "same_key = self._by_key.setdefault((device, data.shape, data.dtype), [])",
          dataflow("%0 = nn.dense(%x, ones(shape=[4, 4], dtype=\"float32\"));\nnn.dense(%0, full(0.5f, shape=[4, 4], dtype=\"float32\"))", "%x: Tensor[(3, 4), float32]"), "InferType", "vm", "load_const"),
    Fault("captured values come last", "captures", "vm/semantics.py", "all_args = (*closure.captured, *args)", "all_args = (*args, *closure.captured)",
          CLOSURES.replace("subtract(multiply(%a, %u), multiply(%b, %y))", "subtract(%a, multiply(%u, subtract(%b, %y)))"),
          "InferType, FuseOps", "vm", "invoke_closure"),
    Fault("the tag of the first constructor", "match order", "vm/compiling/match_code.py",
          "expected = code.into(Opcode.LOAD_CONSTI, constructor.tag, ..., node=expr)",
          "expected = code.into(Opcode.LOAD_CONSTI, constructor.tag ^ (case > 0), ..., node=expr)",
          LISTS.replace("Nil, }", "Nil, One(Tensor[(2), float32]), }").replace("Nil => zeros", "One(%o) => exp(%o),\n    Nil => zeros")
          .replace("@total(Nil)", "@total(Cons(%a, One(%x))), @total(Nil)"), "InferType, FuseOps", "vm", "load_consti|if|get_tag|match"),
    Fault("fields of data in reverse", "instruction", "vm/isa.py", "ADTValue({constructor}, ({fields:array}))",
          "ADTValue({constructor}, ({fields:array})[::-1])",
          LISTS.replace("type L { Cons(Tensor[(2), float32], L), Nil, }", "type L { Cons(Tensor[(2), float32], Tensor[(2), float32]), Nil, }")
          .replace("Cons(%h, Nil) => multiply(%h, 2f),\n    ", "").replace("add(%h, multiply(@total(%t), 0.5f))", "subtract(%h, %t)")
          .replace("Cons(%a, Cons(%y, Cons(%x, Nil)))", "Cons(%a, %y)").replace("Cons(%y, Nil)", "Cons(%y, %x)"),
          "InferType, FuseOps", "vm", "alloc_data"),
    Fault("the shape of a tensor reversed", "instruction", "vm/isa.py", "{dst} = shape_of({tensor})",
          "{dst} = shape_of({tensor})[::-1]", DYNAMIC, "InferType, FuseOps", "vm", "shape_of"),
    Fault("a reshape in the order of columns", "instruction", "vm/isa.py", "{tensor:tensor}.reshape({shape:shape})",
          "{tensor:tensor}.T.reshape({shape:shape})", _RESHAPED, "InferType, FuseOps", "vm", "reshape_tensor"),
    Fault("a loop with its arguments of the turn before", "executor", "vm/running/function_source.py",
          "{', '.join(p for p, _ in pairs)} = {', '.join(a for _, a in pairs)}", "{' = '.join([pairs[0][0], pairs[0][1]])}",
          LOOP, "InferType", "vm", "invoke"),
    # ------------------------------------------------------------ kernels as they are compiled
    Fault("a compiled division of the wrong way", "compiled kernel", "vm/kernels/numpy_emitter.py", '"divide": _infix("/", FLOATS)',
          '"divide": _infix("*", FLOATS)', dataflow("tanh(divide(exp(%x), %y))", _MATRIX), _PLAIN, "vm", "divide"),
    Fault("a compiled bias of the last axis", "compiled kernel", "vm/kernels/numpy_emitter.py", "after = rank - axis - 1", "after = 0",
          dataflow("tanh(nn.bias_add(exp(%x), %b))", "%x: Tensor[(3, 4, 4), float32], %b: Tensor[(4), float32]"), _PLAIN, "vm", "nn.bias_add"),
    Fault("a compiled split with a first part too long", "compiled kernel", "vm/kernels/numpy_emitter.py", "{start}:{start + size}]", "{max(0, start - 1)}:{max(0, start - 1) + size}]",
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\nsubtract(tanh(%0.0), %0.1)", _MATRIX), _PLAIN, "vm", "split"),
    # ------------------------------------------------------------ the graph executor and programs ahead of time
    Fault("results share memory with what is still read", "buffers", "executor/arena.py",
          "while ends and ends[0][0] < lives[number][0]:", "while ends and ends[0][0] < lives[number][0] + 2:",
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %w);\n%2 = nn.dense(%1, %w);\n%3 = nn.dense(add(%2, %0), %w);\n(tanh(%3), %1)",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32]"), "InferType", "graph", "memory"),
    Fault("a field of another place in the graph", "executor", "executor/graph_codegen.py",
          "self._entries(node.tuple_value)[starts[node.index] : starts[node.index + 1]]", "self._entries(node.tuple_value)[: starts[1]]",
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n%1 = nn.dense(%0.1, %w);\n(tanh(%1), %0.0)",
                   "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 2), float32]"), "InferType", "graph", "projection"),
    Fault("reshaped in the graph, but not", "executor", "executor/graph_module.py", "values[first] = values[sources[0]].reshape(shape)",
          "values[first] = values[sources[0]].reshape(shape[::-1]).T", dataflow("%0 = nn.dense(%x, %v);\n%1 = reshape(%0, newshape=[2, 6]);\nnn.dense(%1, %w)",
          "%x: Tensor[(3, 4), float32], %v: Tensor[(4, 4), float32], %w: Tensor[(5, 6), float32]"), "InferType", "graph", "reshape"),
    Fault("branches swapped ahead of time", "executor", "executor/aot/program_source.py", 'self._line(depth, f"if {cond}:")', 'self._line(depth, f"if not {cond}:")',
          BRANCHES, "InferType", "aot", "if"),
    Fault("loop arguments in another order", "executor", "executor/aot/program_source.py",
          "{', '.join(p for p, _ in changed)} = {', '.join(a for _, a in changed)}", "{', '.join(p for p, _ in changed)} = {', '.join(a for _, a in changed[::-1])}",
          LOOP.replace("%n: int32)", "%y: Tensor[(3), float32], %n: int32)").replace("@loop(%n, %start)", "@loop(%n, %start, %y)")
          .replace("%a: Tensor[(3), float32]) ->", "%a: Tensor[(3), float32], %b: Tensor[(3), float32]) ->")
          .replace("{ %a } else { @loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f)) }", "{ subtract(%a, %b) } else { @loop(subtract(%i, 1), add(%a, %b), multiply(%a, 0.5f)) }"),
          "InferType", "aot", "loop|call"),
    Fault("the arms of a match in the other order", "match order", "executor/aot/program_source.py", "for clause in expr.clauses:", "for clause in (*expr.clauses[1::-1], *expr.clauses[2:]):",
          LISTS, "InferType", "aot", "match"),
)  # fmt: skip
