"""The names of `passlab.relay.memory`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import SupportsIndex

from numpy.typing import DTypeLike

from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.types import Dim
from passlab.op.declare import Operand

def alloc_storage(
    size: Operand,
    shape: Operand,
    alignment: Operand,
    virtual_device: object | Constant | None = None,
    dtype_hint: DTypeLike = "float32",
) -> Call:
    """A block of memory of `size` bytes.

    Attributes:
      dtype: the dtype of the elements (dtype)
      virtual_device: the device of the memory (value)
    Shapes: size (), alignment () -> a storage.
    Source: Relay's memory dialect.
    In Relay text: memory.alloc_storage(%size, %shape, %alignment, virtual_device=None)
    """

def alloc_tensor(
    storage: Operand,
    offset: Operand,
    shape: Operand,
    dtype: DTypeLike = "float32",
    assert_shape: Iterable[SupportsIndex | Dim] | None = None,
    const_shape: Expr | Constant | None = None,
) -> Call:
    """A tensor in a block of memory, `offset` bytes from its start.

    Attributes:
      dtype: the dtype of the tensor (dtype)
      const_shape: its shape, if that is a constant (expression or None)
      assert_shape: its shape as far as it is known (shape or None)
    Shapes: a storage, offset (), shape (rank) -> shape.
    Source: Relay's memory dialect.
    In Relay text: memory.alloc_tensor(%storage, %offset, %shape, const_shape=None, assert_shape=[2, 3])
    """

def kill(to_free: Operand) -> Call:
    """End the lifetime of a value: its memory may be reused.

    Shapes: any value -> ().
    Source: Relay's memory dialect.
    In Relay text: memory.kill(%x)
    """
