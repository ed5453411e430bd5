"""Arrays that constants release, to be computed again when they are next read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from passlab.ir.types import TensorType

if TYPE_CHECKING:
    from passlab.ir.expr import Constant

Array = np.ndarray[Any, Any]


class Released(NamedTuple):
    """What a constant has instead of an array that it released: its type, and what computes it again."""

    type: TensorType
    compute: Callable[[], Array]


def release_data(constant: Constant, compute: Callable[[], Array]) -> None:
    """Release the array of a constant; `compute` restores it bit for bit when it is next read."""
    object.__setattr__(constant, "_data", Released(constant.tensor_type, compute))
