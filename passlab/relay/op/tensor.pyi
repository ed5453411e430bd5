"""The names of `passlab.relay.op.tensor`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, SupportsFloat, SupportsIndex, overload

from numpy.typing import DTypeLike

from passlab.ir.expr import Call, Constant, Expr, Tuple
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import Dim
from passlab.op.declare import Operand
from passlab.relay.operators import Axis

def abs(data: Operand) -> Call:
    """The absolute value of each element; the smallest integer wraps to itself.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: abs(%x)
    """

def acos(data: Operand) -> Call:
    """The inverse cosine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: acos(%x)
    """

def acosh(data: Operand) -> Call:
    """The inverse hyperbolic cosine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: acosh(%x)
    """

def add(lhs: Operand, rhs: Operand) -> Call:
    """The sums of elements; integers wrap.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: add(%x, %y)
    """

def adv_index(inputs: Operand) -> Call:
    """NumPy's advanced indexing: the first field of `inputs`, indexed along its first dimensions by the others.

    Shapes: data (d0, ...), n index tensors, which broadcast to I -> (I, d[n], ...).
    Source: NumPy's advanced indexing.
    In Relay text: adv_index((%x, %i, %j))
    """

def all(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """Whether all elements are true, in their dtype.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.all.
    In Relay text: all(%x, axis=[-1])
    """

def any(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """Whether any element is true, in their dtype.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.any.
    In Relay text: any(%x, axis=[-1])
    """

def arange(
    start: Operand, stop: Operand | None = None, step: Operand | None = None, dtype: DTypeLike = "float32"
) -> Call:
    """The numbers `start + i * step` below `end` (above, for a negative step).

    Attributes:
      start: the first argument again: if it is a constant the size is known (expression or None)
      stop: the second argument again (expression or None)
      step: the third argument again (expression or None)
      dtype: the dtype of the result (dtype)
    Shapes: start, stop, step () -> (ceil((stop - start) / step)).
    Source: np.arange.
    In Relay text: arange(0f, 6f, 2f, start=None, stop=None, step=None, dtype="float32")
    """

def argmax(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    select_last_index: bool = False,
) -> Call:
    """The indices of the largest elements, counted along all reduced dimensions together.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      select_last_index: whether the last of equal elements wins (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.argmax.
    In Relay text: argmax(%x, axis=[-1])
    """

def argmin(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    select_last_index: bool = False,
) -> Call:
    """The indices of the smallest elements, counted along all reduced dimensions together.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      select_last_index: whether the last of equal elements wins (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.argmin.
    In Relay text: argmin(%x, axis=[-1])
    """

def argsort(
    data: Operand, axis: SupportsIndex = -1, is_ascend: bool | Constant = True, dtype: DTypeLike = "int32"
) -> Call:
    """The indices of the elements in sorted order along one dimension.

    Attributes:
      axis: the dimension to sort along (int)
      is_ascend: whether the smallest comes first (bool)
      dtype: the dtype of indices, by default int32 (dtype)
    Shapes: S -> S.
    Source: np.argsort, stable.
    In Relay text: argsort(%x, axis=-1, dtype="int32")
    """

def argwhere(condition: Operand) -> Call:
    """The indices of the nonzero elements, one row for each, in order.

    Shapes: S of rank r -> (count, r).
    Source: np.argwhere.
    In Relay text: argwhere(%c)
    """

def asin(data: Operand) -> Call:
    """The inverse sine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: asin(%x)
    """

def asinh(data: Operand) -> Call:
    """The inverse hyperbolic sine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: asinh(%x)
    """

def atan(data: Operand) -> Call:
    """The inverse tangent of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: atan(%x)
    """

def atanh(data: Operand) -> Call:
    """The inverse hyperbolic tangent of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: atanh(%x)
    """

def bitwise_and(lhs: Operand, rhs: Operand) -> Call:
    """The bitwise AND of two integers.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: bitwise_and(%x, %y)
    """

def bitwise_not(data: Operand) -> Call:
    """The bitwise complement of each integer.

    Shapes: S -> S.
    Source: np.invert.
    In Relay text: bitwise_not(%x)
    """

def bitwise_or(lhs: Operand, rhs: Operand) -> Call:
    """The bitwise OR of two integers.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: bitwise_or(%x, %y)
    """

def bitwise_xor(lhs: Operand, rhs: Operand) -> Call:
    """The bitwise XOR of two integers.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: bitwise_xor(%x, %y)
    """

def broadcast_to(data: Operand, shape: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr | None) -> Call:
    """Repeat the elements along dimensions of size 1, and along new leading ones, up to the given shape.

    Attributes:
      shape: the shape of the result (shape or None)
      dtype: the dtype of the result (dtype)
    Shapes: (...) -> shape.
    Source: np.broadcast_to.
    In Relay text: broadcast_to(%x, shape=[2, 3, 4])
    """

def broadcast_to_like(data: Operand, broadcast_type: Operand) -> Call:
    """Repeat the elements of `data` up to the shape of `broadcast_type`.

    Shapes: data (...), broadcast_type S -> S.
    Source: np.broadcast_to.
    In Relay text: broadcast_to_like(%x, %y)
    """

def call_lowered(func: Operand, call_args: Operand, metadata: object | Constant = {}) -> Call:
    """Call a compiled function on a tuple of arguments.

    Attributes:
      metadata: facts of the compiler (value)
    Shapes: a compiled function and a tuple of its arguments -> its result.
    Source: Relay.
    In Relay text: call_lowered(%f, (%x,))
    """

def cast(data: Operand, dtype: DTypeLike) -> Call:
    """Convert each element to another dtype: floats are truncated, integers wrap, and bools are true unless zero.

    A float that the integer type cannot hold wraps around as well; NaN and floats that do not fit 64 bits become 0.

    Attributes:
      dtype: the dtype to convert to (dtype)
    Shapes: S -> S.
    Source: NumPy's casts; integers that do not fit wrap, NaN becomes 0.
    In Relay text: cast(%x, dtype="int32")
    """

def cast_like(data: Operand, dtype_like: Operand) -> Call:
    """Convert each element of `data` to the dtype of `dtype_like`.

    Shapes: data S, dtype_like any shape -> S.
    Source: NumPy's casts; integers that do not fit wrap, NaN becomes 0.
    In Relay text: cast_like(%x, %y)
    """

def ceil(data: Operand) -> Call:
    """The smallest integer not below each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: ceil(%x)
    """

def clip(a: Operand, a_min: SupportsFloat, a_max: SupportsFloat) -> Call:
    """Clip each element to [a_min, a_max]; NaN stays NaN, and if the bounds cross, a_max wins.

    Attributes:
      a_min: the lower bound (float)
      a_max: the upper bound (float)
    Shapes: S -> S.
    Source: np.clip.
    In Relay text: clip(%x, a_min=-1f, a_max=2f)
    """

def collapse_sum_like(data: Operand, collapse_type: Operand) -> Call:
    """Sum `data` down to the shape of `collapse_type`, which broadcasts to it.

    Shapes: data (...), collapse_type S -> S.
    Source: the transpose of np.broadcast_to.
    In Relay text: collapse_sum_like(%x, %y)
    """

def collapse_sum_to(data: Operand, shape: Operand) -> Call:
    """Sum `data` to `shape`, which broadcasts to its shape; if the attributes state it too, the type is static.

    Attributes:
      shape: the shape of the result (shape or None)
      dtype: the dtype of the result (dtype)
    Shapes: data (...), shape (rank) -> shape.
    Source: the transpose of np.broadcast_to.
    In Relay text: collapse_sum_to(%x, %row, shape=[1, 3])
    """

def concatenate(data: Operand, axis: SupportsIndex) -> Call:
    """Join the tensors of a tuple along one dimension; the other dimensions must agree.

    Attributes:
      axis: the dimension along which to join (int)
    Shapes: ((..., a, ...), (..., b, ...)) -> (..., a + b, ...).
    Source: np.concatenate.
    In Relay text: concatenate((%x, %y), axis=-1)
    """

def contrib_reverse_reshape(data: Operand, newshape: SupportsIndex | Iterable[SupportsIndex]) -> Call:
    """The elements in a new shape whose codes are read from the right.

    Attributes:
      newshape: the new shape; 0 copies a dimension, -1 is inferred, -2 copies the rest, -3 joins two, -4 splits one into the next two (list of int)
      allowzero: whether 0 means a dimension of no elements (bool)
    Shapes: (...) -> newshape.
    Source: np.reshape, its codes read from the right.
    In Relay text: contrib_reverse_reshape(%x, newshape=[-1, 0])
    """

def copy(data: Operand) -> Call:
    """A copy of the tensor.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: copy(%x)
    """

def cos(data: Operand) -> Call:
    """The cosine of each element (radians).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: cos(%x)
    """

def cosh(data: Operand) -> Call:
    """The hyperbolic cosine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: cosh(%x)
    """

def cumprod(
    data: Operand,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    exclusive: bool | Constant | None = None,
) -> Call:
    """The running products along one dimension; integers wrap.

    Attributes:
      axis: the dimension to scan, None for all elements in order (int or None)
      dtype: the dtype of the result, by default the dtype of the data (dtype)
      exclusive: whether each result excludes its own element (bool)
    Shapes: S -> S, or (size of S) without axis.
    Source: np.cumprod.
    In Relay text: cumprod(%x, axis=-1)
    """

def cumsum(
    data: Operand,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    exclusive: bool | Constant | None = None,
) -> Call:
    """The running sums along one dimension; integers wrap.

    Attributes:
      axis: the dimension to scan, None for all elements in order (int or None)
      dtype: the dtype of the result, by default the dtype of the data (dtype)
      exclusive: whether each result excludes its own element (bool)
    Shapes: S -> S, or (size of S) without axis.
    Source: np.cumsum.
    In Relay text: cumsum(%x, axis=-1)
    """

def debug(expr: Operand, debug_func: str | Constant | None = None) -> Call:
    """Pass a value to a Python function, and return it. A name without a function in this process is ignored.

    Attributes:
      debug_func: the name of the function that receives the value (str)
    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: debug(%x)
    """

def device_copy(data: Operand, src_device: object | Constant, dst_device: object | Constant) -> Call:
    """Copy a tensor from one device to another.

    Attributes:
      src_virtual_device: the device of the tensor (value)
      dst_virtual_device: the device of the copy (value)
    Shapes: S -> S.
    Source: Relay.
    In Relay text: device_copy(%x, src_virtual_device=None, dst_virtual_device=None)
    """

def dft(re_data: Operand, im_data: Operand, inverse: bool = False) -> TupleWrapper:
    """The discrete Fourier transform along the last dimension, as real and imaginary parts.

    Attributes:
      inverse: whether to transform back (bool)
    Shapes: real and imaginary parts (..., n) -> (..., n), twice.
    Source: np.fft.fft, np.fft.ifft; Cooley and Tukey (1965).
    In Relay text: dft(%x, %y)
    """

def divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotients of elements; for integers they are truncated.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: divide(%x, %y)
    """

def einsum(data: Operand, equation: str) -> Call:
    """Sums of products of tensors along named dimensions.

    Attributes:
      equation: subscripts, such as "ij,jk->ik" (str)
    Shapes: tensors by the left of the equation -> its right.
    Source: np.einsum.
    In Relay text: einsum((%x, %y), equation="ij,jk->ik")
    """

def equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether elements are equal; NaN equals nothing.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: equal(%x, %y)
    """

def erf(data: Operand) -> Call:
    """The error function of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: erf(%x)
    """

def exp(data: Operand) -> Call:
    """The exponential of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: exp(%x)
    """

def expand_dims(data: Operand, axis: SupportsIndex | Expr, num_newaxis: SupportsIndex = 1) -> Call:
    """Insert dimensions of size 1.

    Attributes:
      axis: index of the new dimensions; negative counts from the end of the result (int)
      num_newaxis: how many (int)
    Shapes: (...) -> (..., 1 * num_newaxis, ...).
    Source: np.expand_dims.
    In Relay text: expand_dims(%x, axis=-1)
    """

def fast_erf(data: Operand) -> Call:
    """The error function, where accuracy may be traded for speed (here it is exact).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: fast_erf(%x)
    """

def fast_exp(data: Operand) -> Call:
    """The exponential, where accuracy may be traded for speed (here it is exact).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: fast_exp(%x)
    """

def fast_tanh(data: Operand) -> Call:
    """The hyperbolic tangent, where accuracy may be traded for speed (here it is exact).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: fast_tanh(%x)
    """

def fixed_point_multiply(data: Operand, multiplier: SupportsIndex, shift: SupportsIndex) -> Call:
    """`data * multiplier * 2^(shift - 31)`, rounded with halves up.

    Attributes:
      multiplier: in units of 2^-31 (int)
      shift: the power of two (int)
    Shapes: S -> S.
    Source: gemmlowp's fixed-point multiplication, halves rounded up.
    In Relay text: fixed_point_multiply(%x, multiplier=1073741824, shift=1)
    """

def fixed_point_multiply_per_axis(
    data: Operand,
    fp_multiplier: Operand,
    left_shift: Operand,
    right_shift: Operand,
    axes: Iterable[SupportsIndex],
    is_lshift_required: bool = False,
    is_rshift_required: bool = False,
) -> Call:
    """`data * 2^left_shift * fp_multiplier * 2^-31 * 2^-right_shift`, halves rounded up, with factors along `axes`.

    Attributes:
      is_lshift_required: whether any left shift is nonzero (bool)
      is_rshift_required: whether any right shift is nonzero (bool)
      axes: the dimensions of data along which multiplier and shifts vary (list of int)
    Shapes: data S, vectors of S[axes] -> S.
    Source: gemmlowp's fixed-point multiplication, halves rounded up.
    In Relay text: fixed_point_multiply_per_axis(%x, %m, %l, %r, is_lshift_required=True, is_rshift_required=True, axes=[0])
    """

def floor(data: Operand) -> Call:
    """The largest integer not above each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: floor(%x)
    """

def floor_divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotients of elements, rounded down.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: floor_divide(%x, %y)
    """

def floor_mod(lhs: Operand, rhs: Operand) -> Call:
    """The remainders of elements, with the sign of the divisor.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: floor_mod(%x, %y)
    """

def full(
    fill_value: Operand, shape: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr | None = (), dtype: DTypeLike = ""
) -> Call:
    """A tensor of the given shape filled with one value.

    Attributes:
      shape: the shape of the result (shape or None)
      dtype: the dtype of the result (dtype)
    Shapes: fill_value () -> shape.
    Source: np.full.
    In Relay text: full(%v, shape=[2, 3])
    """

def full_like(data: Operand, fill_value: Operand) -> Call:
    """A tensor with the shape and dtype of `data`, filled with one value.

    Shapes: data S, fill_value () -> S.
    Source: np.full_like.
    In Relay text: full_like(%x, %v)
    """

def gather(data: Operand, axis: SupportsIndex | None, indices: Operand) -> Call:
    """For each position in `indices`, the element of `data` at that position with the index along `axis` replaced.

    Attributes:
      axis: the dimension that indices index (int or None)
    Shapes: data, indices I of the same rank -> I.
    Source: PyTorch's gather.
    In Relay text: gather(%x, %i, axis=-1)
    """

def gather_nd(
    data: Operand, indices: Operand, batch_dims: SupportsIndex = 0, index_rank: SupportsIndex | None = None
) -> Call:
    """Select elements or slices by multi-dimensional indices: `indices[:, ...]` is one index into `data`.

    Attributes:
      batch_dims: leading dimensions that data and indices share (int)
      index_rank: the first dimension of indices, if it is not known (int or None)
    Shapes: data (d0, ...), indices (m, I) -> (I, d[m], ...).
    Source: TensorFlow's gather_nd, its index dimension first.
    In Relay text: gather_nd(%x, %i)
    """

def greater(lhs: Operand, rhs: Operand) -> Call:
    """Whether each element of `lhs` is greater than the element of `rhs`.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: greater(%x, %y)
    """

def greater_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether each element of `lhs` is greater than the element of `rhs` or equal to it.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: greater_equal(%x, %y)
    """

def hardswish(data: Operand) -> Call:
    """x * min(max(x + 3, 0), 6) / 6 for each element.

    Shapes: S -> S.
    Source: Howard et al., Searching for MobileNetV3 (2019).
    In Relay text: hardswish(%x)
    """

def invert_permutation(data: Operand) -> Call:
    """The inverse of a permutation of 0..n-1. Raises `RunError` if `data` is not a permutation.

    Shapes: (n) -> (n).
    Source: the inverse of a permutation.
    In Relay text: invert_permutation(%p)
    """

def isfinite(data: Operand) -> Call:
    """Whether each element is neither infinite nor NaN.

    Shapes: S -> S of bool.
    Source: np.isfinite.
    In Relay text: isfinite(%x)
    """

def isinf(data: Operand) -> Call:
    """Whether each element is an infinity.

    Shapes: S -> S of bool.
    Source: np.isinf.
    In Relay text: isinf(%x)
    """

def isnan(data: Operand) -> Call:
    """Whether each element is NaN.

    Shapes: S -> S of bool.
    Source: np.isnan.
    In Relay text: isnan(%x)
    """

def layout_transform(data: Operand, src_layout: str, dst_layout: str) -> Call:
    """Convert a tensor from one data layout to another.

    Attributes:
      src_layout: the layout of the data, a letter for each axis (str)
      dst_layout: the new layout; "4c" is a part of 4 split off axis C (str)
    Shapes: src_layout -> dst_layout.
    Source: Relay's layouts: a capital for an axis, 4c for a part of 4 split off it.
    In Relay text: layout_transform(%x, src_layout="NCHW", dst_layout="NHWC")
    """

def left_shift(lhs: Operand, rhs: Operand) -> Call:
    """`lhs` shifted left by `rhs` bits; bits shifted out are lost.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: left_shift(%x, %y)
    """

def less(lhs: Operand, rhs: Operand) -> Call:
    """Whether each element of `lhs` is less than the element of `rhs`.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: less(%x, %y)
    """

def less_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether each element of `lhs` is less than the element of `rhs` or equal to it.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: less_equal(%x, %y)
    """

def log(data: Operand) -> Call:
    """The natural logarithm of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: log(%x)
    """

def log10(data: Operand) -> Call:
    """The logarithm to base 10 of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: log10(%x)
    """

def log2(data: Operand) -> Call:
    """The logarithm to base 2 of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: log2(%x)
    """

def logical_and(lhs: Operand, rhs: Operand) -> Call:
    """Whether both elements are true, in their dtype.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: logical_and(%x, %y)
    """

def logical_not(data: Operand) -> Call:
    """Whether each element is zero (false), in its own dtype.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: logical_not(%x)
    """

def logical_or(lhs: Operand, rhs: Operand) -> Call:
    """Whether at least one of two elements is true, in their dtype.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: logical_or(%x, %y)
    """

def logical_xor(lhs: Operand, rhs: Operand) -> Call:
    """Whether exactly one of two elements is true, in their dtype.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: logical_xor(%x, %y)
    """

def logsumexp(data: Expr, axis: Axis = None, keepdims: bool = False) -> Expr:
    """Return log(sum(exp(data))) over `axis`, without overflow: the maximum is subtracted first."""

def matrix_set_diag(data: Operand, diagonal: Operand, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Call:
    """Replace diagonals of the matrices in the last two dimensions; a band holds its highest diagonal first.

    Attributes:
      k1: the lowest diagonal, negative below the main one (int)
      k2: the highest diagonal (int)
      super_diag_right_align: whether short diagonals above the main one are aligned right (bool)
      sub_diag_right_align: whether short diagonals below the main one are aligned right (bool)
    Shapes: input (..., m, n), diagonal (..., [k2 - k1 + 1,] length) -> (..., m, n).
    Source: TensorFlow's matrix_set_diag, version 3.
    In Relay text: matrix_set_diag(%x, %d)
    """

def max(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """The largest elements; NaN if one is NaN.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.max.
    In Relay text: max(%x, axis=[-1])
    """

def maximum(lhs: Operand, rhs: Operand) -> Call:
    """The larger element of each pair; NaN if either is NaN.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: maximum(%x, %y)
    """

def mean(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """The means of elements; for integers they are truncated.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.mean.
    In Relay text: mean(%x, axis=[-1])
    """

def mean_std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """Return the mean and the standard deviation of `data` over `axis`."""

def mean_variance(
    data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Return the mean and the variance of `data` over `axis`."""

def meshgrid(data: Operand, indexing: Literal["ij", "xy"] = "ij") -> TupleWrapper:
    """Coordinate grids: one tensor for each vector of the tuple, each varying along its own dimension.

    Attributes:
      indexing: the order of the dimensions: matrix or Cartesian ('ij' | 'xy')
    Shapes: vectors (a), (b), ... -> as many tensors (a, b, ...).
    Source: np.meshgrid.
    In Relay text: meshgrid((%x, %y), indexing="ij")
    """

def min(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """The smallest elements; NaN if one is NaN.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.min.
    In Relay text: min(%x, axis=[-1])
    """

def minimum(lhs: Operand, rhs: Operand) -> Call:
    """The smaller element of each pair; NaN if either is NaN.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: minimum(%x, %y)
    """

def mod(lhs: Operand, rhs: Operand) -> Call:
    """The remainders of elements, with the sign of the dividend.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: mod(%x, %y)
    """

def multiply(lhs: Operand, rhs: Operand) -> Call:
    """The products of elements; integers wrap.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: multiply(%x, %y)
    """

def ndarray_size(data: Operand, dtype: DTypeLike = "int32") -> Call:
    """The number of elements of a tensor.

    Attributes:
      dtype: the dtype of the result (dtype)
    Shapes: S -> ().
    Source: ndarray.size.
    In Relay text: ndarray_size(%x, dtype="int32")
    """

def negative(data: Operand) -> Call:
    """Each element negated; the smallest integer wraps to itself.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: negative(%x)
    """

def not_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether elements differ; NaN differs from everything.

    Shapes: two tensors, which broadcast to S -> S of bool.
    Source: NumPy.
    In Relay text: not_equal(%x, %y)
    """

def on_device(
    body: Operand, device: object | Constant, constrain_result: bool = False, constrain_body: bool = True
) -> Call:
    """Constrain the device on which the body is computed, or on which its result is stored.

    Attributes:
      virtual_device: the device, None for no constraint (value)
      constrain_result: whether the result is stored there (bool)
      constrain_body: whether the body is computed there (bool)
    Shapes: any value -> the same.
    Source: Relay.
    In Relay text: on_device(%x)
    """

def one_hot(
    indices: Operand,
    on_value: Operand,
    off_value: Operand,
    depth: SupportsIndex | Expr,
    axis: SupportsIndex,
    dtype: DTypeLike,
) -> Call:
    """A vector for each index, with `on_value` at the index and `off_value` elsewhere; an index may be out of range.

    Attributes:
      depth: the size of the new dimension (int)
      axis: the index of the new dimension, -1 for the end (int)
      dtype: the dtype of the result (dtype)
    Shapes: indices S, on_value, off_value () -> S with depth inserted at axis.
    Source: a row of the identity matrix for each index.
    In Relay text: one_hot(%i, %v, %w, depth=3, dtype="float32")
    """

def ones(shape: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr | None, dtype: DTypeLike) -> Call:
    """A tensor of ones of the given shape and dtype.

    Attributes:
      shape: the shape of the result (shape or None)
      dtype: the dtype of the result (dtype)
    Shapes: -> shape.
    Source: np.ones.
    In Relay text: ones(shape=[2, 3], dtype="float32")
    """

def ones_like(data: Operand) -> Call:
    """Ones with the shape and dtype of a tensor.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: ones_like(%x)
    """

def power(lhs: Operand, rhs: Operand) -> Call:
    """`lhs` raised to the power `rhs`; integers wrap, and 1 / n is truncated to an integer.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: power(%x, %y)
    """

def prod(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """The products of elements; integers wrap.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.prod.
    In Relay text: prod(%x, axis=[-1])
    """

def reinterpret(data: Operand, dtype: DTypeLike) -> Call:
    """Read the bits of each element as another dtype of the same size.

    Attributes:
      dtype: the dtype to convert to (dtype)
    Shapes: S -> S.
    Source: ndarray.view.
    In Relay text: reinterpret(%x, dtype="int32")
    """

def repeat(data: Operand, repeats: SupportsIndex, axis: SupportsIndex | None) -> Call:
    """Repeat each element in place along one dimension.

    Attributes:
      repeats: how often (int)
      axis: the dimension, None for all elements in order (int or None)
    Shapes: (..., n, ...) -> (..., n * repeats, ...).
    Source: np.repeat.
    In Relay text: repeat(%x, repeats=2, axis=-1)
    """

def reshape(data: Operand, newshape: SupportsIndex | Iterable[SupportsIndex] | Expr, allowzero: bool = False) -> Call:
    """The elements in a new shape; see `newshape` for its codes.

    Attributes:
      newshape: the new shape; 0 copies a dimension, -1 is inferred, -2 copies the rest, -3 joins two, -4 splits one into the next two (list of int)
      allowzero: whether 0 means a dimension of no elements (bool)
    Shapes: (...) -> newshape.
    Source: np.reshape, with Relay's codes.
    In Relay text: reshape(%x, newshape=[-1])
    """

def reshape_like(
    data: Operand,
    shape_like: Operand,
    lhs_begin: SupportsIndex = 0,
    lhs_end: SupportsIndex | None = None,
    rhs_begin: SupportsIndex = 0,
    rhs_end: SupportsIndex | None = None,
) -> Call:
    """`data` with the dimensions [lhs_begin, lhs_end) replaced by those [rhs_begin, rhs_end) of `shape_like`.

    Attributes:
      lhs_begin: first dimension of `data` to replace (int)
      lhs_end: dimension of `data` to stop before (int or None)
      rhs_begin: first dimension of `shape_like` to insert (int)
      rhs_end: dimension of `shape_like` to stop before (int or None)
    Shapes: data (...), shape_like S -> S.
    Source: np.reshape.
    In Relay text: reshape_like(%x, %y)
    """

def reverse(data: Operand, axis: SupportsIndex | None) -> Call:
    """Reverse the elements along one dimension.

    Attributes:
      axis: the dimension to reverse (0 if None) (int or None)
    Shapes: S -> S.
    Source: np.flip.
    In Relay text: reverse(%x, axis=-1)
    """

def reverse_reshape(data: Expr, newshape: int | Sequence[int]) -> Expr:
    """Return `data` in a new shape whose special values (0, -1, ...) are read from the last axis to the first."""

def reverse_sequence(
    data: Operand, seq_lengths: Operand, seq_axis: SupportsIndex = 1, batch_axis: SupportsIndex = 0
) -> Call:
    """Reverse the first `seq_lengths[b]` elements of each batch b along one dimension; longer lengths mean all.

    Attributes:
      seq_axis: the dimension to reverse (int)
      batch_axis: the dimension of batches (int)
    Shapes: data S, seq_lengths (S[batch_axis]) -> S.
    Source: TensorFlow's reverse_sequence.
    In Relay text: reverse_sequence(%x, %lengths, seq_axis=1, batch_axis=0)
    """

def right_shift(lhs: Operand, rhs: Operand) -> Call:
    """`lhs` shifted right by `rhs` bits, keeping the sign.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: right_shift(%x, %y)
    """

def round(data: Operand) -> Call:
    """The integer nearest to each element; halves are rounded away from zero.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: round(%x)
    """

def rsqrt(data: Operand) -> Call:
    """One over the square root of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: rsqrt(%x)
    """

def scatter(data: Operand, indices: Operand, updates: Operand, axis: SupportsIndex) -> Call:
    """Write each update at its index along `axis`: the name of `scatter_elements` before TVM 0.9.

    Attributes:
      axis: the dimension that indices index (int)
    Shapes: data S, indices and updates I -> S.
    Source: ONNX's ScatterElements.
    In Relay text: scatter(%x, %i, %u, axis=0)
    """

def scatter_elements(
    data: Operand,
    indices: Operand,
    updates: Operand,
    axis: SupportsIndex = 0,
    reduction: Literal["update", "add", "mul", "mean", "min", "max"] = "update",
) -> Call:
    """Write each update at its index along `axis`; of several at one position the last wins, or they are combined.

    Updates outside the shape of `indices` have no index and are ignored. Raises `RunError` if there are too few.

    Attributes:
      axis: the dimension that indices index (int)
      reduction: the combination of an update with the old value ('update' | 'add' | 'mul' | 'mean' | 'min' | 'max')
    Shapes: data S, indices and updates I -> S.
    Source: ONNX's ScatterElements.
    In Relay text: scatter_elements(%x, %i, %u, axis=0)
    """

def scatter_nd(
    data: Operand, indices: Operand, updates: Operand, mode: Literal["update", "add", "mul", "min", "max"] = "update"
) -> Call:
    """Write elements or slices at multi-dimensional indices: `indices[:, ...]` is one index into `data`.

    Attributes:
      mode: the combination of an update with the old value ('update' | 'add' | 'mul' | 'min' | 'max')
    Shapes: data S, indices (m, I), updates (I, S[m:]) -> S.
    Source: ONNX's ScatterND, its index dimension first.
    In Relay text: scatter_nd(%x, %i, %u)
    """

def searchsorted(sorted_sequence: Operand, values: Operand, right: bool = False, dtype: DTypeLike = "int32") -> Call:
    """The indices at which values would be inserted into the sorted rows of the last dimension to keep them sorted.

    Attributes:
      right: whether to return the index after equal elements (bool)
      dtype: the dtype of the result (dtype)
    Shapes: sorted_sequence (..., n), values (..., m) -> (..., m).
    Source: np.searchsorted.
    In Relay text: searchsorted(%s, %v)
    """

def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | Expr | None = None) -> Expr:
    """Return, for each segment, the sum of its slices of `data` along the first axis.

    `segment_ids` (as long as `data`, or shorter) is the segment of each slice. There are `num_segments` segments (a
    number, or an expression whose value is a vector of one); by default, one more than the largest of `segment_ids`.
    Raises `NodeValueError` for a negative number.
    """

def sequence_mask(
    data: Operand, valid_length: Operand, mask_value: SupportsFloat = 0.0, axis: SupportsIndex = 0
) -> Call:
    """Replace the elements of each sequence beyond its valid length by `mask_value`.

    Attributes:
      mask_value: the value beyond the end (float)
      axis: the dimension of time (int)
    Shapes: data S, valid_length (batch) -> S.
    Source: MXNet's SequenceMask.
    In Relay text: sequence_mask(%x, %lengths, mask_value=-1f)
    """

def shape_of(data: Operand, dtype: DTypeLike = "int32") -> Call:
    """The shape of a tensor as a vector.

    Attributes:
      dtype: the dtype of the sizes, by default int32 (dtype)
    Shapes: (d0, ..., dn) -> (n + 1).
    Source: ndarray.shape.
    In Relay text: shape_of(%x, dtype="int32")
    """

def sigmoid(data: Operand) -> Call:
    """The logistic function 1 / (1 + exp(-x)) of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: sigmoid(%x)
    """

def sign(data: Operand) -> Call:
    """-1, 0 or 1 by the sign of each element; NaN stays NaN.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: sign(%x)
    """

def sin(data: Operand) -> Call:
    """The sine of each element (radians).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: sin(%x)
    """

def sinh(data: Operand) -> Call:
    """The hyperbolic sine of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: sinh(%x)
    """

def slice_like(data: Operand, shape_like: Operand, axes: Iterable[SupportsIndex] | None = None) -> Call:
    """The leading elements of `data` along each dimension, as many as `shape_like` has.

    Attributes:
      axes: the dimensions to cut, None for all (list of int or None)
    Shapes: data (d0, ...), shape_like (s0, ...) -> (s0, ...).
    Source: NumPy's basic slicing.
    In Relay text: slice_like(%x, %y, axes=None)
    """

def sliding_window(
    data: Operand, axis: SupportsIndex, window_shape: Iterable[SupportsIndex], strides: Iterable[SupportsIndex]
) -> Call:
    """All positions of a window on a tensor: first the positions, then the elements of the window.

    Attributes:
      axis: the first dimension along which the window moves (int)
      window_shape: the sizes of the window (list of int)
      strides: the distance between the starts of windows (list of int)
    Shapes: (..., S) -> (..., windows, window_shape).
    Source: np.lib.stride_tricks.sliding_window_view.
    In Relay text: sliding_window(%x, axis=-1, window_shape=[3], strides=[2])
    """

def sort(data: Operand, axis: SupportsIndex = -1, is_ascend: bool | Constant = True) -> Call:
    """The elements in sorted order along one dimension.

    Attributes:
      axis: the dimension to sort along (int)
      is_ascend: whether the smallest comes first (bool)
      dtype: the dtype of indices, by default int32 (dtype)
    Shapes: S -> S.
    Source: np.sort.
    In Relay text: sort(%x, axis=-1)
    """

def sparse_fill_empty_rows(
    sparse_indices: Operand, sparse_values: Operand, dense_shape: Operand, default_value: Operand
) -> Tuple:
    """Insert an element at column 0 of each empty row of a sparse tensor; also returns which rows were empty.

    Shapes: sparse_indices (n, 2), sparse_values (n), dense_shape (2), default_value (1) -> (m, 2), (m), (rows).
    Source: TensorFlow's sparse_fill_empty_rows.
    In Relay text: sparse_fill_empty_rows(%i, %v, %shape, %d)
    """

def sparse_reshape(sparse_indices: Operand, prev_shape: Operand, new_shape: Operand) -> TupleWrapper:
    """The indices of a sparse tensor in another shape, and that shape with its -1 filled in.

    Shapes: sparse_indices (n, r), prev_shape (r), new_shape (q) -> (n, q), (q).
    Source: TensorFlow's sparse_reshape.
    In Relay text: sparse_reshape(%i, %p, %n)
    """

def sparse_to_dense(
    sparse_indices: Operand,
    output_shape: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr,
    sparse_values: Operand,
    default_value: Operand | SupportsFloat | Iterable[SupportsFloat] = 0,
) -> Call:
    """A tensor with `default_value` everywhere except at the sparse indices.

    Attributes:
      output_shape: the shape of the result (shape)
    Shapes: sparse_indices (n, r) or (n) or (), sparse_values (n) or (), default_value () -> output_shape.
    Source: TensorFlow's sparse_to_dense.
    In Relay text: sparse_to_dense(%i, %v, %d, output_shape=[2, 3])
    """

def split(
    data: Operand, indices_or_sections: SupportsIndex | Iterable[SupportsIndex], axis: SupportsIndex = 0
) -> TupleWrapper:
    """Split a tensor along one dimension; the result is a tuple.

    Attributes:
      indices_or_sections: a number of equal sections, or the indices before which to cut (int or list of int)
      axis: the dimension to split (int)
    Shapes: (..., n, ...) -> a tuple of (..., part, ...).
    Source: np.split.
    In Relay text: split(%x, indices_or_sections=3, axis=-1)
    """

def sqrt(data: Operand) -> Call:
    """The square root of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: sqrt(%x)
    """

def squeeze(data: Operand, axis: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None) -> Call:
    """Drop dimensions of size 1.

    Attributes:
      axis: the dimensions to drop, None for all of size 1 (list of int or None)
    Shapes: (..., 1, ...) -> (..., ...).
    Source: np.squeeze.
    In Relay text: squeeze(%x)
    """

def stack(data: Operand, axis: SupportsIndex) -> Call:
    """Join tensors of one shape along a new dimension.

    Attributes:
      axis: the new dimension (int)
    Shapes: n tensors S -> S with n inserted at axis.
    Source: np.stack.
    In Relay text: stack((%x, %y), axis=-1)
    """

def std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """Return the standard deviation of `data` over `axis`; `unbiased` divides by one less than the count."""

def stft(
    data: Operand,
    n_fft: SupportsIndex,
    hop_length: SupportsIndex | None = None,
    win_length: SupportsIndex | None = None,
    window: Operand | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Call:
    """The Fourier transforms of short overlapping windows of a signal: (batch, frequencies, frames, 2).

    Attributes:
      n_fft: the size of a transform (int)
      hop_length: the distance between the starts of windows (int)
      win_length: the size of the window (int)
      normalized: whether to divide by the square root of n_fft (bool)
      onesided: whether to omit the mirrored half (bool)
    Shapes: data (batch, n) or (n), window (win_length) -> (batch, n_fft // 2 + 1, frames, 2).
    Source: np.fft.rfft of windows; PyTorch's stft without centring.
    In Relay text: stft(%x, %w, n_fft=4, hop_length=2, win_length=4)
    """

def strided_set(
    data: Operand,
    v: Operand,
    begin: Operand | SupportsFloat | Iterable[SupportsFloat],
    end: Operand | SupportsFloat | Iterable[SupportsFloat],
    strides: Operand | SupportsFloat | Iterable[SupportsFloat] | None = None,
) -> Call:
    """A copy of `data` with the box [begin, end), in steps of `strides`, replaced by `v`.

    Raises `RunError` if `v` does not fit the box.

    Shapes: data S, v box, begin, end, strides (rank) -> S.
    Source: NumPy's basic slicing.
    In Relay text: strided_set(%x, %v, %begin, %end, %strides)
    """

def strided_slice(
    data: Operand,
    begin: Iterable[SupportsIndex] | Expr | None,
    end: Iterable[SupportsIndex] | Expr | None,
    strides: Iterable[SupportsIndex] | Expr | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    slice_mode: Literal["end", "size"] = "end",
) -> Call:
    """Cut a box out of a tensor, as Python's slices do; indices beyond a dimension are clipped.

    Attributes:
      begin: first index of each dimension; negative counts from its end (list of int or None)
      end: index to stop before; negative counts from the end (list of int or None)
      strides: steps; negative for reverse order; 1 by default (list of int or None)
      slice_mode: "size": `end` holds sizes instead, -1 for all remaining elements ('end' | 'size')
      axes: the dimensions to slice, None for the first ones in order (list of int or None)
    Shapes: (d0, ...) -> (ceil((end - begin) / strides), ...).
    Source: NumPy's basic slicing.
    In Relay text: strided_slice(%x, begin=[0, 1], end=[2, 3], strides=[1, 1], axes=None)
    """

def subtract(lhs: Operand, rhs: Operand) -> Call:
    """The differences of elements; integers wrap.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: subtract(%x, %y)
    """

def sum(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """The sums of elements; integers wrap.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
    Shapes: (..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims.
    Source: np.sum.
    In Relay text: sum(%x, axis=[-1])
    """

def take(
    data: Operand,
    indices: Operand,
    axis: SupportsIndex | None = None,
    batch_dims: SupportsIndex = 0,
    mode: Literal["clip", "wrap", "fast"] = "clip",
) -> Call:
    """Select elements or slices along one dimension. In mode "clip" negative indices mean 0.

    Attributes:
      batch_dims: leading dimensions that data and indices share (int)
      axis: the dimension to select along, None for all elements in order (int or None)
      mode: indices out of range: "clip" them, "wrap" them, or "fast": the caller guarantees that none is ('clip' | 'wrap' | 'fast')
    Shapes: data (..., n, ...), indices I -> (..., I, ...).
    Source: np.take.
    In Relay text: take(%x, %i, axis=-1)
    """

def tan(data: Operand) -> Call:
    """The tangent of each element (radians).

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: tan(%x)
    """

def tanh(data: Operand) -> Call:
    """The hyperbolic tangent of each element.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: tanh(%x)
    """

def tile(data: Operand, reps: SupportsIndex | Iterable[SupportsIndex] | Expr) -> Call:
    """Repeat a tensor as a whole along its dimensions.

    Attributes:
      reps: number of copies for each dimension; missing leading ones are 1 (list of int)
    Shapes: (d0, ...) -> (d0 * reps[0], ...).
    Source: np.tile.
    In Relay text: tile(%x, reps=[2])
    """

@overload
def topk(
    data: Operand,
    k: SupportsIndex | Expr | None = 1,
    axis: SupportsIndex = -1,
    ret_type: Literal["both"] = "both",
    is_ascend: bool = False,
    dtype: DTypeLike = "int32",
) -> TupleWrapper: ...
@overload
def topk(
    data: Operand,
    k: SupportsIndex | Expr | None = 1,
    axis: SupportsIndex = -1,
    *,
    ret_type: Literal["values", "indices"],
    is_ascend: bool = False,
    dtype: DTypeLike = "int32",
) -> Call:
    """The k largest elements along one dimension in sorted order, with their indices.

    Attributes:
      k: the number of elements; less than 1 means all (int or None)
      axis: the dimension to sort along (int)
      ret_type: what to return ('both' | 'values' | 'indices')
      is_ascend: whether to return the smallest (bool)
      dtype: the dtype of indices, by default int32 (dtype)
    Shapes: (..., n, ...) -> (..., k, ...), values and positions.
    Source: np.argsort, stable.
    In Relay text: topk(%x, k=2, dtype="int32")
    """

def transpose(data: Operand, axes: Iterable[SupportsIndex] | None = None) -> Call:
    """Permute the dimensions.

    Attributes:
      axes: the new order of the dimensions, None to reverse them (list of int or None)
    Shapes: (d0, ..., dn) -> (d[axes[0]], ..., d[axes[n]]).
    Source: np.transpose.
    In Relay text: transpose(%x, axes=[-1, 0, 1])
    """

def trilu(data: Operand, k: Operand | SupportsFloat | Iterable[SupportsFloat], upper: bool = True) -> Call:
    """The upper or lower triangle of the matrices in the last two dimensions, up to diagonal `k`; zero elsewhere.

    Attributes:
      upper: whether to keep the upper triangle (bool)
    Shapes: (..., m, n), k () -> (..., m, n).
    Source: np.triu, np.tril.
    In Relay text: trilu(%x, %k)
    """

def trunc(data: Operand) -> Call:
    """Each element truncated to an integer.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: trunc(%x)
    """

def trunc_divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotients of elements, truncated.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: trunc_divide(%x, %y)
    """

def trunc_mod(lhs: Operand, rhs: Operand) -> Call:
    """The remainders of elements, with the sign of the dividend.

    Shapes: two tensors, which broadcast to S -> S.
    Source: NumPy.
    In Relay text: trunc_mod(%x, %y)
    """

def unique(data: Operand, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The distinct elements, their first indices, for each element its index among them, and their number.

    The size of the results does not depend on the values: the distinct elements are followed by zeros.

    Attributes:
      sorted: whether to sort the elements, or keep the order of first occurrence (bool)
      return_counts: whether to count the elements (bool)
    Shapes: (n) -> (n), whose first `count` elements are set, and positions.
    Source: np.unique.
    In Relay text: unique(%x)
    """

def unravel_index(indices: Operand, shape: Operand) -> Call:
    """The multi-dimensional indices, in a tensor of `shape`, of the elements with the flat indices `data`.

    Shapes: indices I, shape (r) -> (r, I).
    Source: np.unravel_index.
    In Relay text: unravel_index(%i, %shape)
    """

def variance(
    data: Operand,
    axis: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Operand | None = None,
) -> Call:
    """The mean squared distances of elements from `mean`, which broadcasts against `data`.

    Attributes:
      axis: the dimensions to reduce, None for all (list of int or None)
      keepdims: whether reduced dimensions are kept, with size 1 (bool)
      exclude: whether `axis` lists the dimensions to keep instead (bool)
      unbiased: whether to divide by n - 1 (bool)
    Shapes: data S, mean broadcastable to S -> S without axis.
    Source: np.var about a given mean.
    In Relay text: variance(%x, %m, axis=[-1])
    """

def where(condition: Operand, x: Operand, y: Operand) -> Call:
    """Select the element of `x` where `condition` is true (not zero), else the element of `y`; all three broadcast.

    Shapes: condition, x, y, which broadcast to S -> S.
    Source: np.where.
    In Relay text: where(%c, %x, %y)
    """

def zeros(shape: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr | None, dtype: DTypeLike) -> Call:
    """A tensor of zeros of the given shape and dtype.

    Attributes:
      shape: the shape of the result (shape or None)
      dtype: the dtype of the result (dtype)
    Shapes: -> shape.
    Source: np.zeros.
    In Relay text: zeros(shape=[2, 3], dtype="float32")
    """

def zeros_like(data: Operand) -> Call:
    """Zeros with the shape and dtype of a tensor.

    Shapes: S -> S.
    Source: NumPy.
    In Relay text: zeros_like(%x)
    """

class dyn:
    @staticmethod
    def broadcast_to(data: Operand, shape: Operand, dtype: DTypeLike = "") -> Call:
        """Repeat the elements up to the shape that a vector holds.

        Attributes:
          shape: the shape of the result (shape or None)
          dtype: the dtype of the result (dtype)
        Shapes: data (...), shape (rank) -> shape.
        Source: np.broadcast_to.
        In Relay text: dyn.broadcast_to(%x, %s, shape=None)
        """
    @staticmethod
    def expand_dims(data: Operand, axis: Operand, num_newaxis: SupportsIndex = 1) -> Call:
        """Insert dimensions of size 1 at the index that a scalar holds.

        Attributes:
          num_newaxis: the number of new dimensions (int)
        Shapes: data (...), axis () -> (..., 1, ...).
        Source: np.expand_dims.
        In Relay text: dyn.expand_dims(%x, %axis)
        """
    @staticmethod
    def full(fill_value: Operand, shape: Operand, dtype: DTypeLike = "") -> Call:
        """A tensor filled with one value, with the shape that a vector holds.

        Attributes:
          shape: the shape of the result (shape or None)
          dtype: the dtype of the result (dtype)
        Shapes: fill_value (), shape (rank) -> shape.
        Source: np.full.
        In Relay text: dyn.full(%v, %shape, shape=None, dtype="float32")
        """
    @staticmethod
    def one_hot(
        indices: Operand,
        on_value: Operand,
        off_value: Operand,
        depth: Operand,
        axis: SupportsIndex = -1,
        dtype: DTypeLike = "",
    ) -> Call:
        """A vector of length `depth` for each index, with `on_value` at the index and `off_value` elsewhere.

        Attributes:
          depth: the size of the new dimension (int)
          axis: the index of the new dimension, -1 for the end (int)
          dtype: the dtype of the result (dtype)
        Shapes: indices S, on_value, off_value, depth () -> S with depth inserted at axis.
        Source: a row of the identity matrix for each index.
        In Relay text: dyn.one_hot(%i, %v, %w, %d, depth=0, dtype="float32")
        """
    @staticmethod
    def ones(shape: Operand, dtype: DTypeLike = "") -> Call:
        """A tensor of ones with the shape that a vector holds.

        Attributes:
          shape: the shape of the result (shape or None)
          dtype: the dtype of the result (dtype)
        Shapes: shape (rank) -> shape.
        Source: np.full.
        In Relay text: dyn.ones(%s, shape=None, dtype="float32")
        """
    @staticmethod
    def reshape(data: Operand, newshape: Operand, allowzero: bool = False) -> Call:
        """The elements in the shape that a vector holds, with the codes of `reshape`.

        Attributes:
          newshape: the new shape; 0 copies a dimension, -1 is inferred, -2 copies the rest, -3 joins two, -4 splits one into the next two (list of int)
          allowzero: whether 0 means a dimension of no elements (bool)
        Shapes: data (...), newshape (rank) -> newshape.
        Source: np.reshape, with Relay's codes.
        In Relay text: dyn.reshape(%x, %shape, newshape=[])
        """
    @staticmethod
    def sparse_to_dense(
        sparse_indices: Operand, sparse_values: Operand, default_value: Operand, output_shape: Operand
    ) -> Call:
        """A tensor with the shape that a vector holds, with `default_value` everywhere except at the sparse indices.

        Shapes: sparse_indices (n, r) or (n) or (), sparse_values (n) or (), default_value (), output_shape (r) -> output_shape.
        Source: TensorFlow's sparse_to_dense.
        In Relay text: dyn.sparse_to_dense(%i, %v, %d, %s)
        """
    @staticmethod
    def squeeze(data: Operand, axes: Operand, axis: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Call:
        """Drop the dimensions of size 1 that a vector names.

        Attributes:
          axis: the dimensions to drop, None for all of size 1 (list of int or None)
        Shapes: data (..., 1, ...), axes (k) -> (..., ...).
        Source: np.squeeze.
        In Relay text: dyn.squeeze(%x, %axes, axis=[])
        """
    @staticmethod
    def strided_slice(
        data: Operand,
        begin: Operand,
        end: Operand,
        strides: Operand,
        slice_mode: Literal["end", "size"] = "end",
        axes: Iterable[SupportsIndex] | None = None,
    ) -> Call:
        """Cut a box out of a tensor, as Python's slices do, at bounds that vectors hold.

        Attributes:
          begin: first index of each dimension; negative counts from its end (list of int or None)
          end: index to stop before; negative counts from the end (list of int or None)
          strides: steps; negative for reverse order; 1 by default (list of int or None)
          slice_mode: "size": `end` holds sizes instead, -1 for all remaining elements ('end' | 'size')
          axes: the dimensions to slice, None for the first ones in order (list of int or None)
        Shapes: data (d0, ...), begin, end, strides (rank) -> (ceil((end - begin) / strides), ...).
        Source: NumPy's basic slicing.
        In Relay text: dyn.strided_slice(%x, %begin, %end, %strides, begin=None, end=None, strides=None, axes=None)
        """
    @staticmethod
    def tile(data: Operand, reps: Operand) -> Call:
        """Repeat a tensor as a whole, as often as a vector says.

        Attributes:
          reps: number of copies for each dimension; missing leading ones are 1 (list of int)
        Shapes: data (d0, ...), reps (rank) -> (d0 * reps[0], ...).
        Source: np.tile.
        In Relay text: dyn.tile(%x, %reps, reps=[])
        """
    @staticmethod
    @overload
    def topk(
        data: Operand,
        k: Operand,
        axis: SupportsIndex = -1,
        ret_type: Literal["both"] = "both",
        is_ascend: bool = False,
        dtype: DTypeLike = "",
    ) -> TupleWrapper: ...
    @staticmethod
    @overload
    def topk(
        data: Operand,
        k: Operand,
        axis: SupportsIndex = -1,
        *,
        ret_type: Literal["values", "indices"],
        is_ascend: bool = False,
        dtype: DTypeLike = "",
    ) -> Call:
        """The k largest elements along one dimension in sorted order, with their indices; k is a scalar tensor.

        Attributes:
          k: the number of elements; less than 1 means all (int or None)
          axis: the dimension to sort along (int)
          ret_type: what to return ('both' | 'values' | 'indices')
          is_ascend: whether to return the smallest (bool)
          dtype: the dtype of indices, by default int32 (dtype)
        Shapes: (..., n, ...), k () -> (..., k, ...), values and positions.
        Source: np.argsort, stable.
        In Relay text: dyn.topk(%x, %k, k=None, dtype="int32")
        """
    @staticmethod
    def zeros(shape: Operand, dtype: DTypeLike = "") -> Call:
        """A tensor of zeros with the shape that a vector holds.

        Attributes:
          shape: the shape of the result (shape or None)
          dtype: the dtype of the result (dtype)
        Shapes: shape (rank) -> shape.
        Source: np.full.
        In Relay text: dyn.zeros(%s, shape=None, dtype="float32")
        """
    class image:
        @staticmethod
        def resize2d(
            data: Operand,
            size: Operand,
            roi: Operand,
            layout: str = "NCHW",
            method: Literal["nearest_neighbor", "linear", "cubic"] = "linear",
            coordinate_transformation_mode: Literal[
                "half_pixel",
                "align_corners",
                "asymmetric",
                "pytorch_half_pixel",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ] = "half_pixel",
            rounding_method: Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "round",
            cubic_alpha: SupportsFloat = -0.5,
            cubic_exclude: SupportsIndex = 0,
            extrapolation_value: SupportsFloat = 0.0,
            out_dtype: DTypeLike = "",
        ) -> Call:
            """`image.resize2d` with size and region as inputs.

            Attributes:
              size: size of the result along the spatial axes (shape or None)
              roi: region to resize (all starts, then all ends), for tf_crop_and_resize (list of float or None)
              layout: layout of data and result (str)
              method: how elements are mixed ('nearest_neighbor' | 'linear' | 'cubic')
              coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
              rounding_method: which element is nearest ('' | 'round' | 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil')
              cubic_alpha: coefficient of the cubic (float)
              cubic_exclude: whether cubic interpolation ignores pixels beyond the border (int)
              extrapolation_value: the value of elements outside the data, for tf_crop_and_resize (float)
              out_dtype: dtype of the result (dtype)
            Shapes: data (N, C, H, W), size (2), roi (4) -> (N, C, size).
            Source: ONNX's Resize; Keys (1981) for cubic.
            In Relay text: dyn.image.resize2d(%x, %s, %r, size=None, roi=None)
            """

    class nn:
        @staticmethod
        def pad(
            data: Operand,
            pad_width: Operand,
            pad_val: Operand,
            pad_mode: Literal["constant", "edge", "reflect"] = "constant",
        ) -> Call:
            """`nn.pad` with the widths of the border as an input.

            Attributes:
              pad_width: for each dimension the width before and after (list of lists of int)
              pad_mode: what the border holds ('constant' | 'edge' | 'reflect')
            Shapes: data (d0, ...), pad_width (rank, 2), pad_val () -> (before + d0 + after, ...).
            Source: np.pad.
            In Relay text: dyn.nn.pad(%x, %w, %v, pad_width=[])
            """
        @staticmethod
        def upsampling(
            data: Operand,
            scale_h: Operand,
            scale_w: Operand,
            layout: str = "NCHW",
            method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor",
            align_corners: bool = False,
        ) -> Call:
            """`nn.upsampling` with the scales as inputs.

            Attributes:
              scale_h: factor of the height (float)
              scale_w: factor of the width (float)
              layout: layout of data and result (str)
              method: the interpolation of new elements ('nearest_neighbor' | 'bilinear' | 'bicubic')
              align_corners: whether the corners of data and result coincide (bool)
            Shapes: data (N, C, H, W), scale_h, scale_w () -> (N, C, H scale_h, W scale_w).
            Source: image.resize2d.
            In Relay text: dyn.nn.upsampling(%x, %h, %w, scale_h=0f, scale_w=0f)
            """
        @staticmethod
        def upsampling3d(
            data: Operand,
            scale_d: Operand,
            scale_h: Operand,
            scale_w: Operand,
            layout: str = "NCDHW",
            method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor",
            coordinate_transformation_mode: Literal[
                "half_pixel",
                "align_corners",
                "asymmetric",
                "pytorch_half_pixel",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ] = "half_pixel",
        ) -> Call:
            """`nn.upsampling3d` with the scales as inputs.

            Attributes:
              scale_d: factor of the depth (float)
              scale_h: factor of the height (float)
              scale_w: factor of the width (float)
              layout: layout of data and result (str)
              method: the interpolation of new elements ('nearest_neighbor' | 'trilinear')
              coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
            Shapes: data (N, C, D, H, W), three scales () -> (N, C, D scale_d, H scale_h, W scale_w).
            Source: image.resize3d.
            In Relay text: dyn.nn.upsampling3d(%x, %d, %h, %w, scale_d=0f, scale_h=0f, scale_w=0f)
            """

class parser:
    @staticmethod
    def MetaRef(node_type_key: str, node_index: SupportsIndex) -> Call:
        """A placeholder for a node of the metadata section, which the parser replaces; programs contain none.

        Attributes:
          node_type_key: the kind of the node, for example relay.Constant (str)
          node_index: its number in the metadata section (int)
        Shapes: -> whatever it stands for.
        Source: Relay's parser.
        In Relay text: parser.MetaRef(node_type_key="relay.Constant", node_index=0)
        """
