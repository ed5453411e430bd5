"""The names of `passlab.relay.random`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import SupportsFloat, SupportsIndex

from numpy.typing import DTypeLike

from passlab.ir.expr import Constant
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import Dim
from passlab.op.declare import Operand

def multinomial(key: Operand, probs: Operand, num_samples: SupportsIndex = 1) -> TupleWrapper:
    """The next key, and indices drawn with the given probabilities (negative ones count as 0).

    Attributes:
      num_samples: number of samples from each row (int)
    Shapes: key (10), probs (..., n) -> key (10), (..., num_samples).
    Source: inversion of the cumulative sums.
    In Relay text: random.multinomial(%key, %p, num_samples=4)
    """

def normal(
    key: Operand,
    shape: Iterable[SupportsIndex | Dim],
    dtype: DTypeLike = "float32",
    mean: Operand | SupportsFloat = 0.0,
    scale: Operand | SupportsFloat = 1.0,
) -> TupleWrapper:
    """The next key, and numbers from a normal distribution, by the method of Box and Muller (1958).

    Attributes:
      out_shape: the shape of the numbers (shape)
      out_dtype: their dtype (dtype)
    Shapes: key (10), mean, scale broadcastable to out_shape -> key (10), out_shape.
    Source: Box and Muller (1958).
    In Relay text: random.normal(%key, %m, %s, out_shape=[2, 3], out_dtype="float32")
    """

def threefry_generate(key: Operand, shape: Iterable[SupportsIndex | Dim]) -> TupleWrapper:
    """The next key, and random 64-bit words.

    Attributes:
      out_shape: the shape of the numbers (shape)
    Shapes: key (10) -> key (10), out_shape.
    Source: Threefry-4x64-20: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011).
    In Relay text: random.threefry_generate(%key, out_shape=[2, 3])
    """

def threefry_key(seed: int) -> Constant:
    """Return a new key of the random generator: a constant of ten uint64 with the words of `seed`."""

def threefry_split(key: Operand) -> TupleWrapper:
    """Two keys whose random numbers are independent.

    Shapes: key (10) -> two keys (10).
    Source: Claessen and Palka, Splittable pseudorandom number generators (2013).
    In Relay text: random.threefry_split(%key)
    """

def uniform(
    key: Operand,
    shape: Iterable[SupportsIndex | Dim],
    dtype: DTypeLike = "float32",
    low: Operand | SupportsFloat = 0.0,
    high: Operand | SupportsFloat = 1.0,
) -> TupleWrapper:
    """The next key, and numbers drawn uniformly from [low, high).

    Attributes:
      out_shape: the shape of the numbers (shape)
      out_dtype: their dtype (dtype)
    Shapes: key (10), low, high broadcastable to out_shape -> key (10), out_shape.
    Source: the upper bits of threefry words as a mantissa.
    In Relay text: random.uniform(%key, %l, %h, out_shape=[2, 3], out_dtype="float32")
    """
