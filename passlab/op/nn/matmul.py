"""Matrix products: `nn.matmul`, `nn.batch_matmul`, and `nn.dense` with a weight.

What does a compiler need to know of an operator? Here `nn.matmul` says it all, in one declaration:

    @operator("nn.matmul", ("tensor_a", "tensor_b"),
        attrs=...        the attributes: names, kinds, defaults
        relation=...     the result's type from the arguments' types: it waits, refines, or refuses
        pattern=...      how it fuses with its neighbours
        gradient=...     the derivative, as Relay
        precision=...    what ToMixedPrecision does with it
        silenced=...     NumPy's warnings about overflow and NaN are off in the kernel
        edge_cases=...   calls with which every law and executor is tried
        level=..., shapes=..., source=..., example=...)    what the manual says of it
    def matmul(attrs, tensor_a, tensor_b, *, out):  the kernel, in NumPy; `out` is memory that the result may use

From this the registry derives the Python function `relay.nn.matmul` with its stub, the text, the inference, all
executors, the manual's row and the tests. The file is read from the relation to the declaration that names it.

A relation is called with the types of the arguments as far as they are known. It *waits* (returns None) while what it
needs is unknown, it *refines* what follows (`reporter.assign`), and it *refuses* with an error that names the argument:

    >>> import passlab
    >>> def result(params, call="nn.matmul(%a, %b, units=None)"):
    ...     mod = passlab.parse("def @main(" + params + ") { " + call + " }")
    ...     func = passlab.transform.InferType()(mod)["main"]
    ...     return func.params[1].checked_type, func.ret_type
    >>> for ty in result("%a: Tensor[(2, 3), float32], %b", "nn.matmul(%a, %b, units=4)"):  # %b follows from units
    ...     print(ty)
    Tensor[(3, 4), float32]
    Tensor[(2, 4), float32]
    >>> result("%a: Tensor[(2, 3), float32], %b: Tensor[(5, 4), float32]")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    passlab.errors.TypeInferenceError: error: nn.matmul cannot multiply Tensor[(2, 3), float32] with ...
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Reporter
from passlab.ir.types import Dim, TensorType, Type
from passlab.op.attr_fields import attrs, boolean, dtype, integer
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.nn import gradients
from passlab.op.nn.accumulation import matmul as matrix_product
from passlab.op.nn.accumulation import result_dtype
from passlab.op.relations import broadcast_dim, refuse, tensor


def check_inner(name: str, a: TensorType, b: TensorType, inner: Dim, other: Dim) -> None:
    """Raise `RelationError` if the dimensions that are summed over differ."""
    if inner != other and isinstance(inner, int) and isinstance(other, int):
        raise RelationError(
            Diagnostic(
                f"{name} cannot multiply {a} with {b}",
                expected=f"{inner} in the dimension summed over",
                found=str(other),
            ),
            1,  # the argument that is wrong: the error is shown below it
        )


def check_units(name: str, units: int | None) -> None:
    """Raise `RelationError` if the number of columns of a result is negative."""
    if units is not None and units < 0:
        refuse(f"{name}: units must not be negative", found=units)


def _matmul_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    factors = ("tensor_a", "tensor_b")
    return _layer_type("nn.matmul", factors, types, attrs, reporter, attrs.transpose_a, attrs.transpose_b)


def _layer_type(
    name: str,
    factors: tuple[str, str],
    types: Sequence[Type],
    attrs: Attrs,
    reporter: Reporter,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Type | None:
    """Return the type of a product (..., m, k) by (k, n), whose second factor may follow from `units`."""
    first, second = factors
    a, b = tensor(types, 0, first), tensor(types, 1, second)  # None: the type is not known yet
    if a is None:
        return None  # wait
    check_units(name, attrs.units)
    if not a.shape or (transpose_a and len(a.shape) < 2):
        raise RelationError(Diagnostic(f"{name}: {first} has too few dimensions", found=str(a)), 0)
    shape = list(a.shape)
    if transpose_a:
        shape[-1], shape[-2] = shape[-2], shape[-1]
    if b is None:
        if attrs.units is None:
            return None
        # A layer is written with its units and a weight without a type: the weight's type follows.
        b = TensorType((attrs.units, shape[-1]) if transpose_b else (shape[-1], attrs.units), a.dtype)
        reporter.assign(1, b)
    if len(b.shape) != 2:
        raise RelationError(Diagnostic(f"{name}: {second} must have two dimensions", found=str(b)), 1)
    units, inner = b.shape if transpose_b else (b.shape[1], b.shape[0])
    check_inner(name, a, b, shape[-1], inner)
    if attrs.units is not None and isinstance(units, int) and units != attrs.units:
        raise RelationError(
            Diagnostic(f"{name}: units is {attrs.units}, and by the shape of {second} it is {units}"), 1
        )
    # As in Relay, the dtypes may differ: the result has the first.
    return TensorType((*shape[:-1], units if attrs.units is None else attrs.units), attrs.out_dtype or a.dtype)


def _product(attrs: Attrs, a: Array, b: Array, out: Array | None) -> Array:
    """Return the product of two stacks of matrices, each transposed if the attributes say so."""
    a = a.swapaxes(-1, -2) if attrs.transpose_a else a
    b = b.swapaxes(-1, -2) if attrs.transpose_b else b
    return matrix_product(a, b, result_dtype(attrs.out_dtype, a.dtype), out)


@operator(
    "nn.matmul",
    ("tensor_a", "tensor_b"),
    attrs=attrs(
        "MatmulAttrs",
        integer("units", optional=True, doc="columns of the result, None to read them off"),
        dtype("out_dtype", "", "dtype of the result"),
        boolean("transpose_a", False, "whether tensor_a is transposed"),
        boolean("transpose_b", False, "whether tensor_b is transposed"),
    ),
    relation=_matmul_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=1,
    silenced=True,
    gradient=gradients.matmul,
    shapes="(..., m, k), (k, n) -> (..., m, n)",
    source="a matrix product in BLAS",
    edge_cases=(
        "nn.matmul(%x: (2, 3), %w: (3, 4), units=None)",
        "nn.matmul(%x: (3, 2), %w: (4, 3), units=None, transpose_a=True, transpose_b=True)",
        "nn.matmul(%x: (0, 3), %w: (3, 4), units=None)",
    ),
    example="nn.matmul(%x, %w, units=16)",
)
def matmul(attrs: Attrs, tensor_a: Array, tensor_b: Array, *, out: Array | None = None) -> Array:
    """Multiply (..., m, k) by (k, n), with the result (..., m, n); either factor may be transposed.

    The result has `out_dtype`, or else the dtype of `tensor_a`.
    """
    return _product(attrs, tensor_a, tensor_b, out)


def _batch_matmul_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    a, b = tensor(types, 0, "tensor_a"), tensor(types, 1, "tensor_b")
    if a is None or b is None:
        return None
    for i, ty in enumerate((a, b)):
        if len(ty.shape) != 3:
            raise RelationError(Diagnostic("nn.batch_matmul takes tensors of three dimensions", found=str(ty)), i)
    rows, inner = (a.shape[2], a.shape[1]) if attrs.transpose_a else a.shape[1:]
    columns, other = b.shape[1:] if attrs.transpose_b else (b.shape[2], b.shape[1])
    check_inner("nn.batch_matmul", a, b, inner, other)
    batch = broadcast_dim(a.shape[0], b.shape[0])
    if batch is None:
        raise RelationError(
            Diagnostic(f"nn.batch_matmul cannot multiply {a} with {b}", expected="equal batch sizes, or 1"), 1
        )
    return TensorType((batch, rows, columns), attrs.out_dtype or a.dtype)


@operator(
    "nn.batch_matmul",
    ("tensor_a", "tensor_b"),
    attrs=attrs(
        "BatchMatmulAttrs",
        dtype("out_dtype", "", "dtype of the result"),
        boolean("transpose_a", False, "whether tensor_a is transposed"),
        boolean("transpose_b", False, "whether tensor_b is transposed"),
    ),
    relation=_batch_matmul_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    silenced=True,
    # In Relay the Python function transposes the second factor unless told otherwise; the text does not.
    python=Python("tensor_a, tensor_b, out_dtype='', transpose_a=False, transpose_b=True"),
    gradient=gradients.batch_matmul,
    shapes="(b, m, k), (b, k, n) -> (b, m, n); with transpose_b (b, n, k)",
    source="a matrix product in BLAS for each sample",
    edge_cases=(
        "nn.batch_matmul(%x: (2, 2, 3), %y: (2, 4, 3), transpose_b=True)",
        "nn.batch_matmul(%x: (1, 3, 2), %y: (2, 3, 4), transpose_a=True)",
        "nn.batch_matmul(%x: (0, 2, 3), %y: (0, 3, 4))",
    ),
)
def batch_matmul(attrs: Attrs, tensor_a: Array, tensor_b: Array, *, out: Array | None = None) -> Array:
    """Multiply (b, m, k) by (b, k, n) sample by sample, giving (b, m, n); a batch of 1 is broadcast.

    The result has `out_dtype`, or else the dtype of `tensor_a`.
    """
    return _product(attrs, tensor_a, tensor_b, out)


# ---------------------------------------------------------------- dense
def _dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    return _layer_type("nn.dense", ("data", "weight"), types, attrs, reporter, transpose_b=True)


@operator(
    "nn.dense",
    ("data", "weight"),
    attrs=attrs(
        "DenseAttrs",
        integer("units", optional=True, doc="rows of the weight, None to read them off"),
        dtype("out_dtype", ""),
    ),
    relation=_dense_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=1,
    silenced=True,
    gradient=gradients.dense,
    shapes="data (..., k), weight (units, k) -> (..., units)",
    source="a matrix product in BLAS",
    edge_cases=(
        "nn.dense(%x: (2, 3), %w: (4, 3), units=None)",
        "nn.dense(%x: (2, 2, 3), %w: (4, 3), units=4)",
        "nn.dense(%x: (0, 3), %w: (4, 3), units=None)",
        "nn.dense(%x: (2, 0), %w: (4, 0), units=None)",
        'nn.dense(%x: (2, 3) int8, %w: (4, 3) int8, units=None, out_dtype="int32")',
    ),
    example="nn.dense(%x, %w, units=16)",
)
def dense(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Multiply `data` (..., k) by the transpose of `weight` (units, k), giving (..., units).

    The result has `out_dtype`, or else the dtype of `data`.
    """
    return matrix_product(data, weight.T, result_dtype(attrs.out_dtype, data.dtype), out)
