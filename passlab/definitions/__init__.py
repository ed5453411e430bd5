"""The meaning of each operator, in plain NumPy or loops over elements, independent of all kernels.

`MEANING[name](attrs, *arrays)` is the result of the operator `name`. Floating-point inputs of every width are passed as
float64 (except for operators in `KEEPS_WIDTH`), and the caller rounds the result to the result type; integers and bools
are passed as they are, and wrap. A definition raises `Refused` where the operator must reject its values. The tests of
operators compare kernels with these definitions on every dtype and edge case; the executor `"definition"` runs programs
with them.
"""

from __future__ import annotations

from passlab.definitions import images as images
from passlab.definitions import networks as networks
from passlab.definitions import others as others
from passlab.definitions import random_numbers as random_numbers
from passlab.definitions import reshapes as reshapes
from passlab.definitions import shapes as shapes
from passlab.definitions import transformed_weights as transformed_weights
from passlab.definitions.elements import KEEPS_WIDTH, MEANING, Meaning, Refused

__all__ = [
    "KEEPS_WIDTH",
    "MEANING",
    "Meaning",
    "Refused",
    "images",
    "networks",
    "others",
    "random_numbers",
    "reshapes",
    "shapes",
    "transformed_weights",
]
