"""Faults in `passes/layout`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import dataflow

FAULTS = (
    Fault("the layout of the data is not brought back", "layout",
          Mutation("_Rewriting._transform", "replace comparison", 0, "it or it.comparators[0] == 'NCHW'"),
          dataflow("exp(nn.conv2d(tanh(%x), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]))",
                   "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(4, 4, 3, 3), float32]"),
          "InferType, ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]}), FoldConstant, FuseOps",
          "ConvertLayout", ""),
)  # fmt: skip
