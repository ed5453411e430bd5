"""Faults in `passes/lowering`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, MATRIX, MLP, VECTORS, dataflow

_LOWER = "InferType, FuseOps, ToANormalForm, InferType, LambdaLift, InferType, LowerTE, InferType, ManifestAlloc"

FAULTS = (
    Fault("a storage too small by one element", "buffers",
          Mutation("_Arena.__init__", "replace operation", 4, "it - 4"), MLP, f"{_LOWER}, MemoryPlan", "MemoryPlan",
          "allocations as one"),
    Fault("two tensors in one place", "buffers",
          Mutation("_Arena.__init__", "replace operation", 1, "it.operand.left.operand // it.operand.right // 2"),
          MLP, f"{_LOWER}, MemoryPlan", "MemoryPlan", "allocations as one"),
    Fault("what a branch uses dies before it", "lifetimes",
          Mutation("_Lifetimes._binding", "replace statement", 11, "it.targets[0] = let_of_typed(it.value.args[0], it.value.args[1], local[4], it.value.args[3], it.value.args[4])\nfor local[7] in local[3] if local[5] else ():\n    it.targets[0] = let_of_typed(Var('killed', local[0]._unit), Call(local[0]._kill, (local[7],)), it.targets[0])"),
          BRANCHES, f"{_LOWER}, ManifestLifetimes", "ManifestLifetimes", "last use"),
    Fault("a tensor with the bytes of its elements alone", "buffers",
          Mutation("_Allocator._allocate_static", "replace call", 4, "max(1, it // 2)"), MLP, _LOWER, "ManifestAlloc",
          "memory of a kernel"),
    Fault("inputs of a kernel reversed", "operands",
          Mutation("_Allocator._invoke", "replace attribute", 3, "it[::-1]"),
          dataflow("tanh(subtract(exp(%x), %y))", MATRIX), _LOWER, "ManifestAlloc", "memory of a kernel"),
    Fault("the reshaped value is another parameter", "operands",
          Mutation("_Allocator._bind_call", "replace call", 7, "it if len(it.keywords[0].value) > 1 else it.args[1]"),
          dataflow("let %a = tanh(%x);\nlet %b = reshape(%a, newshape=[12]);\n(%b, sum(%a, axis=[0]))", MATRIX),
          _LOWER, "ManifestAlloc", "memory of a kernel"),
    Fault("shapes of the arguments in reverse", "operands",
          Mutation("_Allocator._call_shape_function", "replace attribute", 2, "it[::-1]"),
          dataflow("tanh(nn.dense(exp(%x), %w))", "%x: Tensor[(?, 4), float32], %w: Tensor[(5, 4), float32]"), _LOWER,
          "vm|ManifestAlloc", ""),
    Fault("a shape that depends on data is found from shapes", "guard",
          Mutation("needs_data", "replace call", 0, "False"),
          dataflow("tanh(arange(%a, %b, %c, dtype=\"float32\"))", "%a: float32, %b: float32, %c: float32"), _LOWER,
          "vm|ManifestAlloc", ""),
    Fault("arguments of placed calls in reverse", "operands",
          Mutation("_Placement._call", "replace attribute", 11, "it[::-1]"),
          dataflow('%0 = on_device(subtract(%x, %y), virtual_device=meta[VirtualDevice][0]);\nsubtract(exp(%0), %y)'.replace("on_device(subtract(%x, %y), virtual_device=meta[VirtualDevice][0])", "tanh(%x)"), VECTORS),
          'InferType, PlanDevices(config="cuda"), FuseOps', "PlanDevices", ""),
    Fault("allocations of a branch join those around it", "buffers",
          Mutation("_regions", "replace call", 15, "next(iter(it.func.value), it.args[0])"),
          dataflow("if (%c) { nn.softmax(exp(%x)) } else { nn.softmax(nn.relu(%y)) }", f"{MATRIX}, %c: bool"),
          f"{_LOWER}, MemoryPlan", "MemoryPlan", "allocations as one"),
    Fault("of a tuple only the first field is in use", "lifetimes",
          Mutation("_Lifetimes._atoms_in_tuples", "replace call", 1, "it.func(it.args[0].body[:1]) and it.args[0].body if it.args[0].test else it.func(it.args[0].orelse)"),
          dataflow("%0 = nn.softmax(nn.dense(%x, %w));\n%1 = nn.softmax(nn.dense(%0, %w));\nnn.dense(%1, %0)", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]"),
          f"{_LOWER}, ManifestLifetimes", "ManifestLifetimes", "last use"),
    Fault("a kernel is known by the names of its operators", "cache",
          Mutation("_KernelTable.name", "replace call", 0, "tuple(n.op.name for n in post_order(it.args[0].body) if is_op_call(n))"),
          dataflow("subtract(sum(tanh(%x), axis=[0]), sum(tanh(%x), axis=[1]))", "%x: Tensor[(3, 3), float32]"),
          _LOWER, "LowerTE", ""),
)  # fmt: skip
