"""Faults in `passes/external`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import MATRIX, VECTORS, dataflow

_REGIONS = dataflow(
    """  %0 = annotation.compiler_begin(%x, compiler="ext");
  %1 = annotation.compiler_begin(%y, compiler="ext");
  %2 = subtract(exp(%0), %1);
  %3 = annotation.compiler_end(tanh(%2), compiler="ext");
  %4 = annotation.compiler_end(%2, compiler="ext");
  subtract(nn.relu(%3), %4)""",
    MATRIX,
)

FAULTS = (
    Fault("results of a region in reverse", "operands",
          Mutation("_Partition._outline_region", "replace call", 20, "reversed(it)"), _REGIONS,
          "InferType, PartitionGraph", "PartitionGraph", ""),
    Fault("what enters a region in reverse", "operands",
          Mutation("_Partition._outline_region", "replace name", 59, "it[::-1]"), _REGIONS,
          "InferType, PartitionGraph", "PartitionGraph", ""),
    Fault("constants in reverse", "operands",
          Mutation("LiftConstants.transform_function", "replace call", 18, "zip(list(it.func.value)[::-1], it.func.value.values())"),
          dataflow("let %a = add(%x, 2f);\nmultiply(exp(%a), 3f)", VECTORS), "InferType, LiftConstants",
          "LiftConstants", ""),
)  # fmt: skip
