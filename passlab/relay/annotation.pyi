"""The names of `passlab.relay.annotation`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from numpy.typing import DTypeLike

from passlab.ir.expr import Call
from passlab.op.declare import Operand
from passlab.relay import on_device as on_device
from passlab.relay.device_annotations import function_on_device as function_on_device

def bitpack_end(data: Operand) -> Call:
    """Mark the end of a region whose tensors are packed into bits.

    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.bitpack_end(%x)
    """

def bitpack_start(data: Operand) -> Call:
    """Mark the start of a region whose tensors are packed into bits.

    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.bitpack_start(%x)
    """

def cast_hint(data: Operand, dtype: DTypeLike) -> Call:
    """Hint that a tensor may be kept in a smaller dtype; its values do not change.

    Attributes:
      dtype: the sufficient dtype (dtype)
    Shapes: S -> S.
    Source: Relay.
    In Relay text: annotation.cast_hint(%x, dtype="int8")
    """

def checkpoint(data: Operand) -> Call:
    """Mark a value to be recomputed in the backward pass instead of being kept.

    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.checkpoint(%x)
    """

def compiler_begin(data: Operand, compiler: str) -> Call:
    """Mark a value that enters a region for another compiler.

    Attributes:
      compiler: the name of the compiler for the region (str)
    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.compiler_begin(%x, compiler="c")
    """

def compiler_end(data: Operand, compiler: str) -> Call:
    """Mark a value that leaves a region for another compiler.

    Attributes:
      compiler: the name of the compiler for the region (str)
    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.compiler_end(%x, compiler="c")
    """

def stop_fusion(data: Operand) -> Call:
    """Separate the operators before and after it: they are not fused together.

    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: annotation.stop_fusion(%x)
    """

def with_funcid(func: Operand) -> Call:
    """Attach an identity to a function, for custom planning.

    Shapes: a function -> the same.
    Source: Relay.
    In Relay text: annotation.with_funcid(%f)
    """
