"""Faults in `passes/gradient`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault, gradient
from tests.planted.programs import VECTORS, dataflow

FAULTS = (
    Fault("derivatives are replaced, not summed", "gradient",
          Mutation("_Gradient._call.accumulate", "keep argument", 7),
          dataflow("%0 = tanh(%x);\nexp(add(multiply(%0, %y), sin(%0)))", VECTORS), "InferType, FirstOrderGradient",
          "FirstOrderGradient", "multiply|tanh|sin|exp|add"),
    gradient("derivatives of arguments exchanged", Mutation("_Gradient.gradient", "replace name", 49, "it[::-1]"),
          "exp(multiply(%x, multiply(%y, %y)))", VECTORS, ""),
)  # fmt: skip
