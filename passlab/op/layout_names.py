"""Data layouts by name: "NCHW", "NHWC", "OIHW", packed ones such as "NCHW4c", and conversions between them.

A capital letter is an axis; a number and a small letter is a part split off that axis (`C` and `4c`: channel `C * 4 +
c`). The functions here take shapes and arrays, not operators.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from passlab.errors import Diagnostic, RelationError
from passlab.ir.types import ANY, Dim, Shape
from passlab.op.dtypes import Array

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
DATA_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_PART = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")


class LayoutName(str):
    """The name of a layout, passed to users' functions: a string, but false if no layout is known."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)

    def __bool__(self) -> bool:
        return str(self) not in ("", "__undef__")


@dataclass(frozen=True)
class DataLayout:
    """A parsed layout: `parts` in order, each an axis letter and, for a split-off part, its factor (0 for an axis)."""

    name: str
    parts: tuple[tuple[str, int], ...]

    @property
    def axes(self) -> str:
        """The axis letters in order, without the split-off parts."""
        return "".join(letter for letter, factor in self.parts if not factor)

    def factor(self, letter: str) -> int:
        """The product of the parts split off axis `letter` (1 if it is whole)."""
        return math.prod(f for part, f in self.parts if f and part == letter)


@cache
def parse_layout(name: str) -> DataLayout | None:
    """Return the layout called `name`, or None for an invalid name (unknown characters, an axis twice or missing)."""
    parts: list[tuple[str, int]] = []
    end = 0
    for match in _PART.finditer(name):
        if match.start() != end:
            return None
        end = match.end()
        parts.append((match[1], 0) if match[1] else (match[3].upper(), int(match[2])))
    axes = [letter for letter, factor in parts if not factor]
    valid = end == len(name) and len(set(axes)) == len(axes) and all(letter in axes for letter, _ in parts)
    return DataLayout(name, tuple(parts)) if parts and valid else None


@dataclass(frozen=True)
class Conversion:
    """The conversion from layout `source` to `target`, which has the same axes, all whole.

    `order[i]` is the index in `source` of axis `i` of `target`; `same` says that nothing moves, `packed` that `source`
    has split axes.
    """

    source: DataLayout
    target: str
    order: tuple[int, ...]
    same: bool
    packed: bool

    def forward_shape(self, shape: Sequence[Dim]) -> Shape:
        """Return the shape in `target` of a tensor whose shape in `source` is `shape`."""
        if self.same:
            return tuple(shape)
        if not self.packed:
            return tuple(shape[i] for i in self.order)
        sizes: dict[str, Any] = {}
        for (letter, _), dim in zip(self.source.parts, shape, strict=True):
            sizes[letter] = _multiply(sizes.get(letter, 1), dim)
        return tuple(sizes[letter] for letter in self.target)

    def backward_shape(self, shape: Sequence[Dim]) -> Shape:
        """Return the shape in `source` of a tensor whose shape in `target` is `shape`.

        Raises `RelationError` if a split axis is not a multiple of its factor.
        """
        if self.same:
            return tuple(shape)
        sizes: dict[str, Any] = dict(zip(self.target, shape, strict=True))
        out: list[Any] = []
        for letter, factor in self.source.parts:
            out.append(factor or self._whole_size(sizes[letter], letter))
        return tuple(out)

    def _whole_size(self, dim: Dim, letter: str) -> Dim:
        factor = self.source.factor(letter)
        if factor == 1:
            return dim
        if not isinstance(dim, int):
            return ANY
        if dim % factor:
            raise RelationError(
                Diagnostic(
                    f"axis {letter} of size {dim} cannot be split for the layout {self.source.name}",
                    expected=f"a multiple of {factor}",
                )
            )
        return dim // factor

    def forward(self, array: Array) -> Array:
        """Return `array` (in `source`) in the layout `target`: a view unless axes are packed."""
        if self.same:
            return array
        if not self.packed:
            return array.transpose(self.order)
        order: list[int] = []
        for letter in self.target:
            order += [i for i, (part, factor) in enumerate(self.source.parts) if part == letter and not factor]
            order += [i for i, (part, factor) in enumerate(self.source.parts) if part == letter and factor]
        shape: Any = self.forward_shape(array.shape)
        return array.transpose(order).reshape(shape)

    def backward(self, array: Array) -> Array:
        """Return `array` (in `target`) in the layout `source`: a view."""
        if self.same:
            return array
        split: list[int] = []  # the shape with every split axis as (whole blocks, parts of a block)
        position: dict[tuple[str, int], list[int]] = {}
        for letter, dim in zip(self.target, array.shape, strict=True):
            whole = dim // self.source.factor(letter)
            for part, factor in [(letter, 0), *((p, f) for p, f in self.source.parts if p == letter and f)]:
                position.setdefault((part, factor), []).append(len(split))
                split.append(factor or whole)
        return array.reshape(split).transpose([position[part].pop(0) for part in self.source.parts])


def _multiply(a: Dim, b: Dim) -> Dim:
    return a * b if isinstance(a, int) and isinstance(b, int) else b if a == 1 else a if b == 1 else ANY


@cache
def find_conversion(source: str, target: str) -> Conversion | None:
    """Return the conversion from layout `source` to the whole layout `target`, or None if their axes differ."""
    layout = parse_layout(source)
    if layout is None or sorted(layout.axes) != sorted(target):
        return None
    packed = any(factor for _, factor in layout.parts)
    letters = [letter for letter, _ in layout.parts]
    return Conversion(layout, target, tuple(letters.index(a) for a in target), source == target, packed)


def conversion(source: str, target: str, what: str) -> Conversion:
    """Return the conversion from layout `source` to `target`.

    Raises `RelationError` naming `what` if the layouts do not match.
    """
    result = find_conversion(source, target)
    if result is None:
        raise RelationError(
            Diagnostic(
                f"{what} cannot be `{source}`",
                expected=f"a layout with the axes of {target}",
                found=f'"{source}"',
                hint=f'such as "{target}"',
            )
        )
    return result


def forward_shape(conversion: Conversion, shape: Sequence[Dim], what: str, argument: int) -> Shape:
    """Return `conversion.forward_shape(shape)`. Raises `RelationError` if the rank or a split part does not fit."""
    parts = conversion.source.parts
    if len(shape) != len(parts):
        raise RelationError(
            Diagnostic(
                f"{what} has {len(shape)} dimensions and its layout {conversion.source.name} has {len(parts)}",
                found=f"shape ({', '.join(map(str, shape))})",
            ),
            argument,
        )
    if conversion.packed:
        for (letter, factor), dim in zip(parts, shape, strict=True):
            if factor and isinstance(dim, int) and dim != factor:
                raise RelationError(
                    Diagnostic(
                        f"the part of axis {letter} in {what} has size {dim}",
                        expected=f"{factor}, from the layout {conversion.source.name}",
                    ),
                    argument,
                )
    return conversion.forward_shape(shape)


@cache
def spatial_axes(layout: str, rank: int, name: str) -> tuple[int, ...]:
    """Return the indices of the spatial axes in a layout. Raises `RelationError` if one is missing or split."""
    parsed = parse_layout(layout)
    letters = SPATIAL[rank]
    if parsed is None or any(parsed.axes.count(a) != 1 or parsed.factor(a) != 1 for a in letters):
        raise RelationError(
            Diagnostic(
                f"{name}: the layout must have the whole axes {', '.join(letters)}",
                found=f'"{layout}"',
                hint=f'such as "{DATA_LAYOUTS[rank]}"',
            )
        )
    positions = [letter for letter, factor in parsed.parts]
    return tuple(positions.index(a) for a in letters)


def layout_axes(layout: str, shape: Sequence[Any], rank: int, name: str) -> tuple[int, ...]:
    """Return the spatial axes of data of `shape`. Raises `RelationError` if its rank differs from the rank of the
    layout.
    """
    axes = spatial_axes(layout, rank, name)
    parsed = parse_layout(layout)
    if parsed is not None and len(parsed.parts) != len(shape):
        raise RelationError(
            Diagnostic(f"{name}: data has {len(shape)} dimensions and its layout {layout} has {len(parsed.parts)}"), 0
        )
    return axes
