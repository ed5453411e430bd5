"""Operators that change the shape of a tensor, but not the order of its elements."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Trait
from passlab.ir.types import ANY, Dim, Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integer, integers
from passlab.op.autodiff import gradient_by
from passlab.op.declare import Dynamic, Python, constant_integer, constant_list, operator
from passlab.op.dtypes import Array
from passlab.op.nn.window_sizes import on_axes
from passlab.op.relations import concrete, normal_axes, on_tensors, product, refuse

RESHAPE = attrs(
    "ReshapeAttrs",
    integers(
        "newshape",
        doc="the new shape; 0 copies a dimension, -1 is inferred, -2 copies the rest, -3 joins two, "
        "-4 splits one into the next two",
    ),
    boolean("allowzero", False, doc="whether 0 means a dimension of no elements"),
)


class _ShapeCodes:
    """The computation of a shape from the codes of `newshape`, in one walk along the old and the new shape."""

    def __init__(self, shape: Shape, newshape: Sequence[Dim], allowzero: bool) -> None:
        self.shape = shape
        self.newshape = newshape
        self.allowzero = allowzero
        self.out: list[Dim] = []  # the new shape so far, with at most one dimension to infer
        self.used = 0  # dimensions of the old shape that codes have consumed
        self.unknown: int | None = None  # the index of -1 in `out`
        self.rest: list[Dim] = []  # the old dimensions whose elements `unknown` and the plain sizes contain
        self.sizes: list[Dim] = []  # those plain sizes

    def consume(self, code: int) -> Dim:
        """Consume one dimension of the old shape."""
        if self.used >= len(self.shape):
            refuse(
                f"the code {code} of newshape needs a dimension that the data does not have",
                0,
                found=f"{len(self.shape)} dimensions",
            )
        self.used += 1
        return self.shape[self.used - 1]

    def append_unknown(self) -> None:
        """Append the dimension to infer. Raises `RelationError` for a second one."""
        if self.unknown is not None:
            refuse("newshape may have one -1", 0, found=list(self.newshape))
        self.unknown = len(self.out)
        self.out.append(ANY)

    def append_size(self, dim: Dim) -> None:
        """Append a size, or -1."""
        if self.used < len(self.shape):
            self.rest.append(self.consume(0))
        if dim == -1:
            self.append_unknown()
        else:
            self.out.append(dim)
            self.sizes.append(dim)

    def split(self, position: int) -> None:
        """Handle the code -4: one old dimension is split into the next two of newshape; one may be -1."""
        if position + 2 >= len(self.newshape):
            refuse("the code -4 of newshape needs two dimensions after it", 0, found=list(self.newshape))
        old, first, second = self.consume(-4), self.newshape[position + 1], self.newshape[position + 2]
        if first == -1 and second == -1:
            refuse("only one of the two dimensions after -4 can be -1", 0, found=list(self.newshape))
        if first == -1:
            first = _quotient(old, second)
        elif second == -1:
            second = _quotient(old, first)
        elif type(old) is int and type(product((first, second))) is int and product((first, second)) != old:
            refuse(f"a dimension of {old} cannot be split into {first} and {second}", 0)
        self.out += [first, second]

    def run(self) -> Shape:
        """Return the new shape. Raises `RelationError` if the codes do not fit the old one."""
        position = 0
        while position < len(self.newshape):
            code = self.newshape[position]
            if code == 0 and not self.allowzero:
                self.out.append(self.consume(0))
            elif code == -2:
                self.out += self.shape[self.used :]
                self.used = len(self.shape)
            elif code == -3:
                self.out.append(product((self.consume(-3), self.consume(-3))))
            elif code == -4:
                self.split(position)
                position += 2
            elif type(code) is int and code < -4:
                refuse(f"{code} means nothing in newshape", 0, hint="the codes are 0, -1, -2, -3 and -4")
            else:
                self.append_size(code)
            position += 1
        self.infer()
        return tuple(self.out)

    def infer(self) -> None:
        """Infer the dimension of -1 from the dimensions that no code has consumed."""
        if self.unknown is None:
            return
        elements = product([*self.rest, *self.shape[self.used :]])
        total = product(self.sizes)
        if type(elements) is int and type(total) is int:
            if total == 0 or elements % total:
                refuse(
                    f"the dimension -1 cannot be inferred: {elements} elements in rows of {total}",
                    0,
                    found=list(self.newshape),
                )
            self.out[self.unknown] = elements // total
        elif len(self.rest) == 1 and not self.sizes and self.used == len(self.shape):
            self.out[self.unknown] = self.rest[0]


def _quotient(whole: Dim, part: Dim) -> Dim:
    if type(whole) is not int or type(part) is not int:
        return ANY
    if part == 0 or whole % part:
        refuse(f"a dimension of {whole} cannot be split by {part}", 0)
    return whole // part


def infer_newshape(shape: Shape, newshape: Sequence[Dim], allowzero: bool = False, *, reverse: bool = False) -> Shape:
    """Return the shape of data of `shape` reshaped by the codes `newshape`; `reverse` reads both from the right.

    Raises `RelationError` if the codes do not fit or the number of elements would change.
    """
    if reverse:
        shape, newshape = shape[::-1], newshape[::-1]
    out = _ShapeCodes(shape, newshape, allowzero).run()
    check_element_count(shape, out)
    return out[::-1] if reverse else out


def check_element_count(shape: Shape, newshape: Shape) -> None:
    """Raise `RelationError` if the two shapes have different numbers of elements, as far as these are known."""
    before, after = product(shape), product(newshape)
    if type(before) is int and type(after) is int and before != after:
        refuse(
            f"{before} elements cannot be reshaped into {after}",
            0,
            expected=f"{before} elements",
            found=f"the shape {list(newshape)}",
        )


@on_tensors
def _reshape_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(infer_newshape(data.shape, attrs.newshape, attrs.allowzero), data.dtype)


reshape_gradient = gradient_by("reshape_like")


@operator(
    "reshape",
    ("data",),
    attrs=RESHAPE,
    relation=_reshape_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python(dynamic=Dynamic("dyn.reshape"), newshape=constant_list),
    gradient=reshape_gradient,
    shapes="(...) -> newshape",
    source="np.reshape, with Relay's codes",
    edge_cases=(
        "reshape(%x: (2, 3), newshape=[-1])",
        "reshape(%x: (), newshape=[1, 1])",
        "reshape(%x: (1), newshape=[])",
        "reshape(%x: (0, 3), newshape=[3, 0], allowzero=True)",
        "reshape(%x: (2, 3, 4), newshape=[0, -3])",
        "reshape(%x: (2, 3, 4), newshape=[-4, 1, -1, -2])",
    ),
    precision=Precision.FOLLOW,
    traits=Trait.RESHAPES | Trait.MOVES,
)
def reshape(attrs: Attrs, data: Array) -> Array:
    """The elements in a new shape; see `newshape` for its codes."""
    return data.reshape(concrete(infer_newshape(data.shape, attrs.newshape, attrs.allowzero)))


@on_tensors
def _reverse_reshape_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(infer_newshape(data.shape, attrs.newshape, attrs.allowzero, reverse=True), data.dtype)


@operator(
    "contrib_reverse_reshape",
    ("data",),
    attrs=RESHAPE,
    relation=_reverse_reshape_type,
    pattern=OpPattern.INJECTIVE,
    python=Python("data, newshape", newshape=on_axes(1)),
    gradient=reshape_gradient,
    shapes="(...) -> newshape",
    source="np.reshape, its codes read from the right",
    edge_cases=(
        "contrib_reverse_reshape(%x: (2, 3, 4), newshape=[-1, 0])",
        "contrib_reverse_reshape(%x: (0, 3), newshape=[-1, 0])",
        "contrib_reverse_reshape(%x: (1), newshape=[1, 1])",
    ),
    traits=Trait.RESHAPES | Trait.MOVES,
)
def reverse_reshape(attrs: Attrs, data: Array) -> Array:
    """The elements in a new shape whose codes are read from the right."""
    return data.reshape(concrete(infer_newshape(data.shape, attrs.newshape, attrs.allowzero, reverse=True)))


# ---------------------------------------------------------------- reshape_like
def _reshape_like_shape(shape: Shape, like: Shape, attrs: Attrs) -> Shape:
    def dim_range(rank: int, begin: int, end: int | None, side: str) -> tuple[int, int]:
        first = begin + rank if begin < 0 else begin
        last = rank if end is None else end + rank if end < 0 else end
        if not 0 <= first <= rank or not 0 <= last <= rank:
            refuse(f"{side}_begin and {side}_end must lie in the rank {rank}", 0, found=f"{begin} and {end}")
        return first, max(first, last)

    left, right = dim_range(len(shape), attrs.lhs_begin, attrs.lhs_end, "lhs")
    first, last = dim_range(len(like), attrs.rhs_begin, attrs.rhs_end, "rhs")
    return shape[:left] + like[first:last] + shape[right:]


@on_tensors
def _reshape_like_type(attrs: Attrs, data: TensorType, shape_like: TensorType) -> Type:
    out = _reshape_like_shape(data.shape, shape_like.shape, attrs)
    check_element_count(data.shape, out)
    return TensorType(out, data.dtype)


@operator(
    "reshape_like",
    ("data", "shape_like"),
    attrs=attrs(
        "ReshapeLikeAttrs",
        integer("lhs_begin", 0, doc="first dimension of `data` to replace"),
        integer("lhs_end", None, doc="dimension of `data` to stop before"),
        integer("rhs_begin", 0, doc="first dimension of `shape_like` to insert"),
        integer("rhs_end", None, doc="dimension of `shape_like` to stop before"),
    ),
    relation=_reshape_like_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=reshape_gradient,
    shapes="data (...), shape_like S -> S",
    source="np.reshape",
    edge_cases=(
        "reshape_like(%x: (2, 3), %y: (3, 2))",
        "reshape_like(%x: (), %y: (1, 1))",
        "reshape_like(%x: (0, 3), %y: (3, 0))",
        "reshape_like(%x: (6, 4), %y: (2, 3), lhs_begin=0, lhs_end=-1)",
    ),
)
def reshape_like(attrs: Attrs, data: Array, shape_like: Array) -> Array:
    """`data` with the dimensions [lhs_begin, lhs_end) replaced by those [rhs_begin, rhs_end) of `shape_like`."""
    return data.reshape(concrete(_reshape_like_shape(data.shape, shape_like.shape, attrs)))


# ---------------------------------------------------------------- dimensions of size 1
@on_tensors
def _expand_dims_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(_expand(data.shape, attrs), data.dtype)


MOST_DIMENSIONS = 64  # NumPy's limit


def _expand(shape: Shape, attrs: Attrs) -> Shape:
    rank, axis, count = len(shape), attrs.axis, attrs.num_newaxis
    if not -rank - 1 <= axis <= rank:
        refuse(
            f"axis {axis} is outside the rank {rank} of the data and its end", 0, hint=f"allowed: {-rank - 1}..{rank}"
        )
    if not 0 <= count <= MOST_DIMENSIONS - rank:
        refuse(f"num_newaxis is {count}", 0, expected=f"a number of new dimensions, {MOST_DIMENSIONS} in all at most")
    position = axis if axis >= 0 else axis + rank + 1
    return (*shape[:position], *([1] * count), *shape[position:])


@operator(
    "expand_dims",
    ("data",),
    attrs=attrs(
        "ExpandDimsAttrs",
        integer("axis", doc="index of the new dimensions; negative counts from the end of the result"),
        integer("num_newaxis", 1, doc="how many"),
    ),
    relation=_expand_dims_type,
    pattern=OpPattern.BROADCAST,
    level=1,
    python=Python(dynamic=Dynamic("dyn.expand_dims"), axis=constant_integer),
    gradient=reshape_gradient,
    shapes="(...) -> (..., 1 * num_newaxis, ...)",
    source="np.expand_dims",
    edge_cases=(
        "expand_dims(%x: (2, 3), axis=-1)",
        "expand_dims(%x: (), axis=0, num_newaxis=2)",
        "expand_dims(%x: (0, 3), axis=1)",
        "expand_dims(%x: (2, 3), axis=1, num_newaxis=0)",
    ),
    precision=Precision.FOLLOW,
    traits=Trait.RESHAPES | Trait.MOVES,
)
def expand_dims(attrs: Attrs, data: Array) -> Array:
    """Insert dimensions of size 1."""
    return data.reshape(concrete(_expand(data.shape, attrs)))


def squeeze_axes(shape: Shape, axis: Sequence[int] | None) -> Shape:
    """Return `shape` without the dimensions of size 1 in `axis`, by default all. Raises `RelationError`."""
    if axis is None:
        if any(type(dim) is not int for dim in shape):
            refuse("which dimensions are 1 is not known", 0, found=list(shape), hint="name them in `axis`")
        return tuple([dim for dim in shape if dim != 1])
    removed = normal_axes(axis, len(shape))
    for dim_axis in removed:
        if shape[dim_axis] != 1 and shape[dim_axis] is not ANY:
            refuse(
                f"dimension {dim_axis} cannot be squeezed away: its size is {shape[dim_axis]}",
                0,
                expected="a dimension of size 1",
                found=list(shape),
            )
    return tuple([dim for dim_axis, dim in enumerate(shape) if dim_axis not in removed])


@on_tensors
def _squeeze_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(squeeze_axes(data.shape, attrs.axis), data.dtype)


SQUEEZE = attrs(
    "SqueezeAttrs", integers("axis", None, doc="the dimensions to drop, None for all of size 1", scalar_ok=True)
)


@operator(
    "squeeze",
    ("data",),
    attrs=SQUEEZE,
    relation=_squeeze_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python(dynamic=Dynamic("dyn.squeeze", {"axes": "axis"}), axis=constant_list),
    gradient=reshape_gradient,
    shapes="(..., 1, ...) -> (..., ...)",
    source="np.squeeze",
    edge_cases=(
        "squeeze(%x: (1, 3, 1))",
        "squeeze(%x: (1, 3, 1), axis=[-1])",
        "squeeze(%x: (1, 0), axis=[0])",
        "squeeze(%x: (1))",
    ),
    layout=layout_rules.squeeze_axes,
    precision=Precision.FOLLOW,
    traits=Trait.RESHAPES | Trait.MOVES,
)
def squeeze(attrs: Attrs, data: Array) -> Array:
    """Drop dimensions of size 1."""
    return data.reshape(concrete(squeeze_axes(data.shape, attrs.axis)))
