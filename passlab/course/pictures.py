"""Pictures of the lessons: SVG that moves where time is the point, with a text that says the same.

    layouts((1, 2, 2, 2))        memory in two layouts, and the places of one pixel after the other
    tiles(8, 4)                  a tile that walks over a matrix

Each function returns a `Picture`. It needs no kernel and no script; where motion is switched off, everything is shown
at once, with the numbers of the steps.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from passlab.display.html import escape
from passlab.errors import Diagnostic, PassValueError
from passlab.ir.types import FuncType, IncompleteType, TupleType

_COLOURS = ("#4c78a8", "#b5651d", "#3a7d44", "#8e5ea2", "#a03a4a", "#56707a")
_SECONDS = 0.9  # of one step
_STYLE = (
    "svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#222}path{stroke:#777;fill:none}"
    "@media(prefers-color-scheme:dark){svg{background:#1c1c1e}text{fill:#eee}path{stroke:#aaa}}"
    "@media(prefers-reduced-motion:reduce){*{animation:none!important}}"
)


@dataclass(frozen=True)
class Picture:
    """A picture: its title, the text that says what it shows, and the SVG."""

    title: str
    text: str
    svg: str

    def __repr__(self) -> str:
        return f"{self.title}\n{self.text}"

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        style = "max-width:100%;height:auto"
        return f'<img style="{style}" alt="{escape(self)}" src="data:image/svg+xml;base64,{source}">'


@dataclass
class _Sheet:
    """An SVG in the making. What has a step appears at that time: for good, or for this step alone (`flash`)."""

    width: int
    height: int
    steps: int
    parts: list[str] = field(default_factory=list)
    moves: dict[str, str] = field(default_factory=dict)

    def box(
        self, x: float, y: float, width: float, height: float, text: str = "", colour: int = 0, **when: Any
    ) -> None:
        """Draw a box with a word in its middle."""
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"'
        paint = _COLOURS[colour % len(_COLOURS)]
        self.parts.append(f'{shape} fill="{paint}" fill-opacity=".28" stroke="{paint}"{self._moving(**when)}/>')
        if text:
            self.word(x + width / 2, y + height / 2 + 4.5, text, **when)

    def word(self, x: float, y: float, text: str, anchor: str = "middle", **when: Any) -> None:
        """Write a word."""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{self._moving(**when)}>{escape(text)}</text>'
        )

    def line(self, x: float, y: float, to_x: float, to_y: float, **when: Any) -> None:
        """Draw an arrow."""
        angle = math.atan2(to_y - y, to_x - x)
        wings = [(to_x - 7 * math.cos(angle + turn), to_y - 7 * math.sin(angle + turn)) for turn in (0.45, -0.45)]
        path = f"M{x:g} {y:g}L{to_x:g} {to_y:g}" + "".join(f"M{a:.1f} {b:.1f}L{to_x:g} {to_y:g}" for a, b in wings)
        self.parts.append(f'<path d="{path}"{self._moving(**when)}/>')

    def _moving(self, step: int | None = None, flash: bool = False) -> str:
        if step is None:
            return ""
        name = f"{'f' if flash else 's'}{step}"
        start, end = 100 * step / self.steps, 100 * (step + 1) / self.steps
        dim, shown = "opacity:.3", "opacity:1"
        frames = f"0%{{{dim}}}" if start else ""
        frames += f"{start:.2f}%{{{shown}}}"
        if flash and step < self.steps - 1:
            frames += f"{end:.2f}%,100%{{{dim}}}"
        self.moves[name] = (
            f"@keyframes {name}{{{frames}}}.{name}{{animation:{name} {self.steps * _SECONDS:g}s step-end infinite}}"
        )
        return f' class="{name}"'

    def picture(self, title: str, text: str) -> Picture:
        """Return what was drawn."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        style = f"<style>{_STYLE}{''.join(self.moves.values())}</style>"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape(title)}</title>{style}'
        return Picture(title, text, f"{head}{''.join(self.parts)}</svg>")


# --------------------------------------------------------------------------------------------------------- unification
def unification(left: Any, right: Any) -> Picture:
    """Two types that become one: equal parts meet, an unknown takes what stands in its place."""
    rows: list[tuple[int, str, str, str]] = []
    stack = [(left, right, 0)]
    while stack:
        one, other, depth = stack.pop()
        parts, others = _parts_of(one), _parts_of(other)
        names, result = (_type_name(one), _type_name(other)), "agree"
        if isinstance(one, IncompleteType) or isinstance(other, IncompleteType):
            result = f"= {other if isinstance(one, IncompleteType) else one}"
        elif parts and len(parts) == len(others) and type(one) is type(other):
            stack += [(part, opposite, depth + 1) for part, opposite in zip(parts, others, strict=True)][::-1]
        else:
            names, result = (str(one), str(other)), "agree" if one is other else "differ"
        rows.append((depth, *names, result))
    sheet = _Sheet(760, 50 + 42 * len(rows), len(rows) + 1)
    for x, heading in ((90, "one type"), (320, "the other"), (600, "together")):
        sheet.word(x, 22, heading)
    above: dict[int, float] = {}  # the lower edge of the last box of each depth
    for number, (depth, one, other, result) in enumerate(rows):
        y, x = 36 + 42 * number, 24 * depth
        above[depth] = y + 30
        colour = {"agree": 2, "differ": 4}.get(result, 3)
        sheet.box(10 + x, y, 170, 30, one)
        sheet.box(240 + x, y, 170, 30, other, 1)
        sheet.box(500 + x, y, 200, 30, one if result == "agree" else result, colour, step=number)
        if depth:
            for at in (10, 240, 500):
                sheet.line(at + x - 12, above[depth - 1], at + x - 2, y + 15)
    lines = [f"{'  ' * depth}{one}  |  {other}  ->  {result}" for depth, one, other, result in rows]
    return sheet.picture("Two types become one", "\n".join(lines))


def _parts_of(type_: Any) -> list[Any]:
    if isinstance(type_, TupleType):
        return list(type_.fields)
    return [*type_.arg_types, type_.ret_type] if isinstance(type_, FuncType) else []


def _type_name(type_: Any) -> str:
    if isinstance(type_, IncompleteType):
        return "unknown"
    if not _parts_of(type_):
        return str(type_)
    return f"a tuple of {len(type_.fields)}" if isinstance(type_, TupleType) else "a function"


# ---------------------------------------------------------------------------------------------------------------- tape
def tape(operations: Sequence[tuple[str, str]]) -> Picture:
    """The tape of reverse mode: each operation writes down what to do backwards; then the tape runs from its end."""
    count = len(operations)
    sheet = _Sheet(700, 60 + 40 * count, 2 * count)
    sheet.word(150, 22, "forwards: compute, and write on the tape")
    sheet.word(520, 22, "backwards: the tape from its end")
    for number, (forwards, backwards) in enumerate(operations):
        y = 36 + 40 * number
        sheet.box(20, y, 260, 30, forwards, step=number)
        sheet.line(285, y + 15, 372, y + 15, step=number)
        sheet.box(380, y, 280, 30, backwards, 1, step=2 * count - 1 - number)
        if number:
            sheet.line(520, y - 1, 520, y - 9, step=2 * count - 1 - number)
    lines = [f"{number}. {forwards}" for number, (forwards, _) in enumerate(operations, 1)]
    lines += [f"{count + number}. {backwards}" for number, (_, backwards) in enumerate(operations[::-1], 1)]
    return sheet.picture("The tape of reverse mode", "\n".join(lines))


# ------------------------------------------------------------------------------------------------------------- layouts
def layouts(shape: tuple[int, int, int, int] = (1, 2, 2, 2), names: Sequence[str] = ("NCHW", "NHWC")) -> Picture:
    """Memory in several layouts, and in each of them the places of one pixel after the other.

    `shape` is (N, C, H, W), of at most 32 elements. Raises `PasslabError` unless it is a layout of these dimensions.
    """
    sizes = dict(zip("NCHW", shape, strict=True))
    for name in names:
        if sorted(name) != sorted(sizes):
            raise PassValueError(
                Diagnostic("there is no such layout", expected="an order of N, C, H, W", found=repr(name))
            )
    if math.prod(shape) > 32:
        raise PassValueError(Diagnostic("the picture has no room", expected="32 elements or fewer", found=str(shape)))
    pixels = list(product(range(sizes["N"]), range(sizes["H"]), range(sizes["W"])))
    sheet = _Sheet(max(330, 90 + 30 * math.prod(shape)), 30 + 62 * len(names), len(pixels))
    lines = []
    for row, name in enumerate(names):
        y = 26 + 62 * row
        sheet.word(10, y + 20, name, "start")
        walk = list(product(*(range(sizes[letter]) for letter in name)))
        for place, index in enumerate(walk):
            at = dict(zip(name, index, strict=True))
            pixel, channel = pixels.index((at["N"], at["H"], at["W"])), "abcdefgh"[at["C"] % 8]
            sheet.box(70 + 30 * place, y, 27, 28, f"{channel}{pixel}", at["C"], step=pixel, flash=True)
            sheet.word(83 + 30 * place, y + 42, str(place))
        places = [[place for place, index in enumerate(walk) if _pixel(name, index) == pixel] for pixel in pixels]
        lines.append(
            f"{name}: " + "; ".join(f"pixel {number} at {', '.join(map(str, at))}" for number, at in enumerate(places))
        )
    return sheet.picture("Where the numbers of a pixel are in memory (a letter for each channel)", "\n".join(lines))


def _pixel(name: str, index: Sequence[int]) -> tuple[int, int, int]:
    at = dict(zip(name, index, strict=True))
    return at["N"], at["H"], at["W"]


# ------------------------------------------------------------------------------------------------------ shape function
def shape_function(operator: str, shapes: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> Picture:
    """What happens when a size is known at run time only: first the shapes are computed with, and then the data."""
    size = f"{4 * math.prod(result)} bytes"
    given = ", ".join(map(str, shapes))
    stages = (
        ("read the shapes", given, 0),
        ("shape function", f"gives {result}", 1),
        ("allocate the result", size, 2),
        ("kernel", f"fills {result}", 3),
    )
    sheet = _Sheet(720, 110, len(stages) + 1)
    for number, (what, value, colour) in enumerate(stages):
        x = 10 + 178 * number
        sheet.box(x, 20, 150, 34, what, colour, step=number)
        sheet.word(x + 75, 80, value, step=number)
        if number:
            sheet.line(x - 26, 37, x - 2, 37, step=number)
    lines = [f"{number}. {what}: {value}" for number, (what, value, _) in enumerate(stages, 1)]
    return sheet.picture(f"The shape function of {operator} runs before its kernel", "\n".join(lines))


# ------------------------------------------------------------------------------------------------------------- lattice
def lattice(names: Sequence[str], walks: Mapping[str, Sequence[Iterable[str]]]) -> Picture:
    """All sets of some names, the smaller below the larger, and the sets that each walk takes one after the other.

    Raises `PasslabError` for more than four names.
    """
    if len(names) > 4:
        raise PassValueError(
            Diagnostic("the picture has no room", expected="four names or fewer", found=str(len(names)))
        )
    levels = [list(combinations(names, count)) for count in range(len(names) + 1)]
    widest = max(map(len, levels))
    taken = {
        walk: [tuple(name for name in names if name in set(some)) for some in sets] for walk, sets in walks.items()
    }
    sheet = _Sheet(
        max(360, 110 * widest + 20), 70 * len(levels) + 10, max((len(some) for some in taken.values()), default=1)
    )
    places: dict[tuple[str, ...], tuple[float, float]] = {}
    for height, level in enumerate(levels):
        for number, some in enumerate(level):
            places[some] = (sheet.width / 2 + 110 * (number - (len(level) - 1) / 2), sheet.height - 50 - 70 * height)
    for some, (x, y) in places.items():
        for other in places:
            if len(other) == len(some) + 1 and set(some) < set(other):
                sheet.line(x, y, places[other][0], places[other][1] + 30)
    for some, (x, y) in places.items():
        for colour, sets in enumerate(taken.values(), 1):
            for step, one in enumerate(sets):
                if one == some and sets.index(one) == step:
                    sheet.box(
                        x - 48 - 3 * colour, y - 3 * colour, 96 + 6 * colour, 30 + 6 * colour, "", colour, step=step
                    )
        sheet.box(x - 45, y, 90, 30, _set(some))
    lines = [f"{walk}: {' -> '.join(map(_set, sets))}" for walk, sets in taken.items()]
    return sheet.picture(f"The lattice of the sets of {', '.join(names)}", "\n".join(lines))


def _set(names: Iterable[str]) -> str:
    return f"{{{', '.join(names)}}}"


# --------------------------------------------------------------------------------------------------------------- tiles
def tiles(size: int, tile: int) -> Picture:
    """A tile that walks over a matrix: each element has the number of its tile.

    Raises `PasslabError` for a matrix of more than 16 rows, and for a tile without elements.
    """
    if not 0 < size <= 16 or tile < 1:
        found = f"size {size}, tile {tile}"
        raise PassValueError(Diagnostic("the picture has no room", expected="a size from 1 to 16", found=found))
    across = -(-size // tile)
    sheet = _Sheet(max(240, 28 * size + 20), 28 * size + 20, across * across)
    number = {(row, column): row // tile * across + column // tile for row in range(size) for column in range(size)}
    for (row, column), step in number.items():
        sheet.box(10 + 28 * column, 10 + 28 * row, 26, 26, str(step), step, step=step, flash=True)
    lines = [" ".join(f"{number[row, column]:2}" for column in range(size)) for row in range(size)]
    return sheet.picture(f"A tile of {tile} by {tile} walks over a matrix of {size} by {size}", "\n".join(lines))
