"""Why operators have no gradient: the reasons that more than one declaration gives as its `no_gradient`.

`passlab.transform.gradient` and FirstOrderGradient give the reason when they meet such an operator.
"""

from __future__ import annotations

MACHINE_INSTRUCTION = "it is an instruction of a compiled program; differentiate the program before it is compiled"
QUANTIZED = "its value is made of quantized integers, which move in steps; differentiate the program in floats"
BOX_CHOICE = "it chooses and orders boxes by their scores, and its value jumps where the choice changes"
DYNAMIC_SIZE = "its size is known only when it runs, and with it how elements mix; run DynamicToStatic first"
