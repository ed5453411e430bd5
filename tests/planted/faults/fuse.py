"""Faults in `passes/fuse`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import PARALLEL, PARALLEL_CONV, PARALLEL_MATMUL, VECTORS, dataflow

FAULTS = (
    Fault("slices that begin too late", "off by one", Mutation("slices", "replace name", 14, "max(0, it - 1)"),
          PARALLEL_CONV, "InferType, CombineParallelConv2d, FuseOps", "CombineParallelConv2d", "parallel nn.conv2d"),
    Fault("slices of dense in reverse", "operands",
          Mutation("_ToDense.combine", "replace comprehension", 0, "it[::-1]"), PARALLEL,
          "InferType, CombineParallelDense(to_batch=False), FuseOps", "CombineParallelDense", "parallel nn.dense"),
    Fault("a batch split with the first part twice", "operands",
          Mutation("_ToBatch.parts", "replace name", 10, "min(it, 1)"),
          PARALLEL.replace("(6, 4)", "(5, 4)").replace("(7, 4)", "(5, 4)").replace("(6)", "(5)").replace("(7)", "(5)"),
          "InferType, CombineParallelDense, FuseOps", "CombineParallelDense", "parallel nn.dense"),
    Fault("matrix products joined in the wrong order", "operands",
          Mutation("_BatchMatmul.combine", "replace comprehension", 0, "it[::-1]"), PARALLEL_MATMUL,
          "InferType, CombineParallelBatchMatmul, FuseOps", "CombineParallelBatchMatmul", "parallel nn.batch_matmul"),
    Fault("convolutions combined whatever their strides", "guard", Mutation("_SAME", "drop element"),
          PARALLEL_CONV.replace("conv2d(%0, %c, kernel_size=[1, 1])", "conv2d(%0, %c, padding=[0, 0], kernel_size=[1, 1], dilation=[1, 1], strides=[1, 1])")
          .replace("concatenate((%1, %2, %3), axis=1)", "(%1, %2, %3)").replace("%a, kernel_size=[1, 1]", "%a, kernel_size=[1, 1], strides=[2, 2]"),
          "InferType, CombineParallelConv2d, FuseOps", "CombineParallelConv2d", "parallel nn.conv2d"),
    Fault("kernel parameters in the other order", "operands",
          Mutation("_Fuser._call_of_kernel", "replace call", 1, "it[::-1]"),
          dataflow("tanh(nn.relu(subtract(%x, %y)))", VECTORS), "InferType, FuseOps", "FuseOps", ""),
    Fault("every argument is one parameter", "captures",
          Mutation("_KernelBuilder.param", "replace call", 0, "it or next((p for v, p in it.func.value.items() if v.checked_type_ is it.args[0].checked_type_), None)"),
          dataflow("tanh(nn.relu(subtract(%x, %y)))", VECTORS), "InferType, FuseOps", "FuseOps", ""),
    Fault("whatever ends in a reshape is one", "guard",
          Mutation("_Fuser._call", "replace statement", 4, "it.test.values[0] = it.test.values[1].operand"),
          dataflow("reshape(tanh(exp(%x)), newshape=[12])", "%x: Tensor[(3, 4), float32]"), "InferType, FuseOps",
          "vm|FuseOps", ""),
)  # fmt: skip
