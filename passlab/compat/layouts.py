"""`tvm.tir.bijective_layout`: the conversion of shapes and indices between two layouts with the same axes."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.ir.types import Dim, Shape
from passlab.op.layout_names import Conversion, LayoutName, conversion, forward_shape, parse_layout


class BijectiveLayout:
    """A conversion between two layouts: `BijectiveLayout("NCHW", "NCHW4c").forward_shape((1, 8, 2, 2))`.

    Raises `RelationError` if the layouts have different axes.
    """

    def __init__(self, src_layout: str, dst_layout: str) -> None:
        self.src_layout = LayoutName(src_layout)
        self.dst_layout = LayoutName(dst_layout)
        layout = parse_layout(src_layout)
        plain = "".join(sorted(layout.axes)) if layout is not None else ""
        self._source = conversion(src_layout, plain, "the source layout")
        self._target = conversion(dst_layout, plain, "the target layout")

    def forward_shape(self, shape: Sequence[Dim]) -> Shape:
        """Return the shape in the target layout of a tensor with this shape in the source layout."""
        return self._target.backward_shape(forward_shape(self._source, shape, "the tensor", 0))

    def backward_shape(self, shape: Sequence[Dim]) -> Shape:
        """Return the shape in the source layout of a tensor with this shape in the target layout."""
        return self._source.backward_shape(forward_shape(self._target, shape, "the tensor", 0))

    def forward_index(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the index in the target layout of the element at this index in the source layout."""
        return _split_index(self._target, _joined_index(self._source, index))

    def backward_index(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the index in the source layout of the element at this index in the target layout."""
        return _split_index(self._source, _joined_index(self._target, index))


def _joined_index(layout: Conversion, index: Sequence[int]) -> dict[str, int]:
    """Return the index along each whole axis: the parts of an axis count from the slowest to the fastest."""
    parts = list(zip(layout.source.parts, index, strict=True))
    joined = {letter: at for (letter, factor), at in parts if not factor}
    for (letter, factor), at in parts:
        if factor:
            joined[letter] = joined[letter] * factor + at
    return joined


def _split_index(layout: Conversion, joined: dict[str, int]) -> tuple[int, ...]:
    """Return the index in a layout, from the index along each whole axis; the last part of an axis is the fastest."""
    rest = dict(joined)
    parts = layout.source.parts
    index = [0] * len(parts)
    for position in sorted(range(len(parts)), key=lambda at: (parts[at][1] == 0, -at)):  # whole axes last
        letter, factor = parts[position]
        index[position] = rest[letter] % factor if factor else rest[letter]
        rest[letter] //= factor or 1
    return tuple(index)
