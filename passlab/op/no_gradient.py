"""Reasons why operators have no gradient, shared by several declarations as `no_gradient`.

`passlab.transform.gradient` and FirstOrderGradient report the reason for such an operator.
"""

from __future__ import annotations

MACHINE_INSTRUCTION = "it is an instruction of a compiled program; differentiate the program before it is compiled"
QUANTIZED = "its value consists of quantized integers, which change in steps; differentiate the program in floats"
BOX_CHOICE = "it selects and orders boxes by their scores, and its value jumps when the selection changes"
DYNAMIC_SIZE = "its size, and with it the interpolation, is known only at run time; run DynamicToStatic first"
