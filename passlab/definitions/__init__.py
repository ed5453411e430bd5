"""The definition of each operator, in plain NumPy or loops over elements, independent of all kernels.

`MEANING[name](attrs, *arrays)` is the result of the operator `name`. Floating-point inputs of every width are passed as
float64 (except for operators in `KEEPS_WIDTH`), and the caller rounds the result to the result type; integers and bools
are passed unchanged, and wrap. A definition raises `InvalidInput` where the operator must reject its values. The tests
of operators compare kernels with these definitions on every dtype and edge case; the executor `"definition"` runs
programs with them.
"""

from __future__ import annotations

from passlab.definitions import images as images
from passlab.definitions import networks as networks
from passlab.definitions import quantized as quantized
from passlab.definitions import random_numbers as random_numbers
from passlab.definitions import shapes as shapes
from passlab.definitions import vision as vision
from passlab.definitions.elements import KEEPS_WIDTH, MEANING, InvalidInput, Meaning

__all__ = [
    "KEEPS_WIDTH",
    "MEANING",
    "Meaning",
    "InvalidInput",
    "images",
    "networks",
    "quantized",
    "random_numbers",
    "shapes",
    "vision",
]
