"""The regions of an annotated expression, in the form of Relay's Python API: `AnnotatedRegionSet(expr, begin, end)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from passlab.analysis.regions import BEGIN, END, Region, Regions
from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Call, Expr
from passlab.ir.op import Op


@dataclass(frozen=True, eq=False)
class AnnotatedRegion:
    """One region: its number, its compiler, its nodes including the marks at its borders, and those marks."""

    id: int
    target: str
    nodes: tuple[Expr, ...]
    ins: tuple[Call, ...]
    outs: tuple[Call, ...]

    @property
    def args(self) -> tuple[Call, ...]:
        """The marks at which values enter, under Relay's name."""
        return self.ins

    @property
    def rets(self) -> tuple[Call, ...]:
        """The marks at which values leave, under Relay's name."""
        return self.outs


class AnnotatedRegionSet:
    """The regions between `annotation.compiler_begin` and `annotation.compiler_end` in an expression.

    `regions` lists them in the order of their first marks. Raises `NodeValueError` for marks other than those two, and
    `PassError` if the marks do not form regions.
    """

    def __init__(self, expr: Expr, region_begin_op: Op | str = BEGIN, region_end_op: Op | str = END) -> None:
        marks = tuple(op.name if isinstance(op, Op) else op for op in (region_begin_op, region_end_op))
        if marks != (BEGIN, END):
            what = "regions are marked by compiler_begin and compiler_end"
            raise NodeValueError(Diagnostic(what, expected=f"{BEGIN}, {END}", found=", ".join(marks)))
        regions = Regions(expr)
        result: dict[Region, AnnotatedRegion] = {
            r: AnnotatedRegion(r.number, r.compiler, (*r.nodes, *r.ends), tuple(r.begins), tuple(r.ends))
            for r in sorted(regions.all, key=lambda region: region.number)
        }
        self.regions: list[AnnotatedRegion] = list(result.values())
        self._of = {node: result[region] for node, region in regions.of.items()}

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self.regions)

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """Return the region of an expression or mark, or None if it is in none."""
        return self._of.get(expr)
