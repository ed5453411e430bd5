"""What each operator means, as plainly as NumPy or loops over elements can say it; nothing here uses a kernel.

`MEANING[name](attrs, *arrays)` is the result of the operator `name`. Floating-point inputs of every width arrive as
float64 (but for operators in `KEEPS_WIDTH`), and the caller rounds the result to the type that the operator gives;
integers and bools arrive as they are, and wrap. `Refused` is raised where the operator must refuse its values. The
tests of operators hold kernels to these definitions on every dtype and edge; the executor `"definition"` runs programs
by them.
"""

from __future__ import annotations

from passlab.definitions import images as images
from passlab.definitions import networks as networks
from passlab.definitions import others as others
from passlab.definitions import reshapes as reshapes
from passlab.definitions import shapes as shapes
from passlab.definitions.elements import KEEPS_WIDTH, MEANING, Meaning, Refused

__all__ = ["KEEPS_WIDTH", "MEANING", "Meaning", "Refused", "images", "networks", "others", "reshapes", "shapes"]
