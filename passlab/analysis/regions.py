"""Regions: the parts of a program for other compilers, delimited by `compiler_begin` and `compiler_end`.

The marks are on edges: a value enters through a begin and leaves through an end, and the nodes between form one region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from passlab.arguments import checked
from passlab.errors import Diagnostic, NodeValueError, PassError
from passlab.ir.expr import Call, Expr, Function, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, post_order

BEGIN, END = "annotation.compiler_begin", "annotation.compiler_end"
DEFAULT = "default"  # the compiler of nodes that no other compiler supports
_MARKED = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)  # nodes that can be in a region


def is_begin(expr: Expr) -> TypeGuard[Call]:
    """Return True for a mark at which a value enters a region."""
    return type(expr) is Call and type(expr.op) is Op and expr.op.name == BEGIN


def is_end(expr: Expr) -> TypeGuard[Call]:
    """Return True for a mark at which a value leaves a region."""
    return type(expr) is Call and type(expr.op) is Op and expr.op.name == END


def compiler_of(mark: Call) -> str:
    """Return the compiler of a mark."""
    return str(mark.attrs["compiler"]) if mark.attrs is not None else DEFAULT


def is_closed(expr: Expr) -> bool:
    """Return True for a function that counts as one operator: a composite, a kernel or an external function."""
    return type(expr) is Function and ("Composite" in expr.attrs or expr.is_primitive or expr.attrs.get("Compiler"))


def enter(expr: Expr) -> bool:
    """Return True for an expression that may contain regions; for `post_order`."""
    return not is_closed(expr)


class Region:
    """One region: its compiler, its number, its nodes in post-order with the begins among them, and its ends.

    As in Relay its number is the position of its first begin among all begins of the function, in post-order.
    """

    __slots__ = ("compiler", "number", "nodes", "ends")

    def __init__(self, compiler: str, number: int) -> None:
        self.compiler = compiler
        self.number = number
        self.nodes: list[Expr] = []
        self.ends: list[Call] = []

    @property
    def begins(self) -> list[Call]:
        """The begin marks, in order of evaluation."""
        return [n for n in self.nodes if is_begin(n)]


class Regions:
    """The regions of a function: `of[node]` is the region of a node, marks included; `order` lists all its nodes.

    Raises `PassError` if marks of different compilers meet in one region.
    """

    def __init__(self, root: Expr) -> None:
        self.order = post_order(root, enter=enter)
        self._number = {node: i for i, node in enumerate(self.order)}
        self.of: dict[Expr, Region] = {}
        self._begin_number: dict[Expr, int] = {}
        for node in self.order:
            if is_begin(node):
                self._begin_number[node] = len(self._begin_number)
            elif is_end(node):
                self._visit_end(node)
            elif type(node) in _MARKED:
                self._visit_node(node)
        # Regions that were merged into others have no nodes any more.
        self.all = list(dict.fromkeys(self.of[n] for n in self.order if n in self.of))

    def _visit_node(self, node: Expr) -> None:
        """Put a node into the region of its arguments, if any of them is in one."""
        region: Region | None = None
        for child in CHILDREN[type(node)](node):
            if is_begin(child) and child not in self.of:
                self._add(child, Region(compiler_of(child), self._begin_number[child]))
            if child not in self.of or is_end(child):
                continue
            region = self.of[child] if region is None else self._merge(region, self.of[child], node)
        if region is not None:
            self._add(node, region)

    def _visit_end(self, mark: Call) -> None:
        inner = mark.args[0]
        if inner not in self.of and type(inner) in _MARKED:  # an operator without arguments, which has no begin
            self._begin_number[mark] = len(self._begin_number)
            self._add(inner, Region(compiler_of(mark), self._begin_number[mark]))
        region = self.of.get(inner)
        if region is None:
            what = f"a region for `{compiler_of(mark)}` ends at a value that is in no region"
            raise PassError(Diagnostic(what, mark.span or inner.span, hint="mark the arguments with compiler_begin"))
        if region.compiler != compiler_of(mark):
            raise _mixed_regions_error(region.compiler, compiler_of(mark), mark)
        self.of[mark] = region
        region.ends.append(mark)

    def _add(self, node: Expr, region: Region) -> None:
        self.of[node] = region
        region.nodes.append(node)

    def _merge(self, a: Region, b: Region, at: Expr) -> Region:
        """Merge two regions under the number of `a`; the smaller is moved into the larger."""
        if a is b:
            return a
        if a.compiler != b.compiler:
            raise _mixed_regions_error(a.compiler, b.compiler, at)
        large, small = (a, b) if len(a.nodes) >= len(b.nodes) else (b, a)
        for node in (*small.nodes, *small.ends):
            self.of[node] = large
        large.number = a.number
        large.nodes += small.nodes
        large.ends += small.ends
        return large

    def items_in_order(self, root: Expr) -> list[Expr | Region]:
        """Return the nodes of a function, operands first, with each region as one item.

        Nodes of regions are omitted, except their ends. Raises `PassError` if a region depends on its own result, or a
        value leaves a region without a mark.
        """
        order: list[Expr | Region] = []
        open_: set[Expr | Region] = set()
        done: set[Expr | Region] = set()
        stack: list[Expr | Region] = [root]
        while stack:
            item = stack[-1]
            if item in done:
                stack.pop()
            elif item in open_:
                stack.pop()
                done.add(item)
                order.append(item)
            else:
                open_.add(item)
                for operand in self.operands(item):
                    if operand in open_ and operand not in done:
                        raise _circular_region_error(operand)
                    if operand not in done:
                        stack.append(operand)
        return order

    def operands(self, item: Expr | Region) -> Sequence[Expr | Region]:
        """Return the operands of an item, last first."""
        if isinstance(item, Region):
            return [*self.inputs(item)][::-1]
        region = self.of.get(item)
        if region is not None:
            if is_end(item):
                return [region]
            what = f"a value leaves a region for `{region.compiler}` without a mark"
            raise PassError(Diagnostic(what, item.span, hint="mark it with compiler_end"))
        return [] if is_closed(item) else [*CHILDREN[type(item)](item)[::-1]]

    def inputs(self, region: Region) -> Iterator[Expr]:
        """Yield the inputs of a region, each once, in order."""
        seen: set[Expr] = set()
        for node in sorted(region.nodes, key=self._number.__getitem__):
            operands = node.args if is_begin(node) else CHILDREN[type(node)](node)
            for operand in operands:
                outside = self.of.get(operand) is not region or is_end(operand)
                if outside and operand not in seen and type(operand) is not Op and not is_closed(operand):
                    seen.add(operand)
                    yield operand


def _mixed_regions_error(a: str, b: str, at: Expr) -> PassError:
    what = f"regions for `{a}` and `{b}` meet"
    return PassError(Diagnostic(what, at.span, hint="end the one with compiler_end where the other begins"))


def _circular_region_error(item: Expr | Region) -> PassError:
    compiler = item.compiler if isinstance(item, Region) else "?"
    span = item.nodes[0].span if isinstance(item, Region) else item.span
    what = f"a region for `{compiler}` depends on its own result"
    return PassError(Diagnostic(what, span, hint="split it into two regions"))


# ---------------------------------------------------------------- Relay's Python API
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


@checked
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
