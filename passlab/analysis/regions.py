"""Regions: the parts of a program for other compilers, delimited by `compiler_begin` and `compiler_end`.

The marks are on edges: a value enters through a begin and leaves through an end, and the nodes between form one region.
This module reads the marks; it knows no pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from passlab.errors import Diagnostic, PassError
from passlab.ir.expr import Call, Expr, Function, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from passlab.ir.op import Op, is_call_of
from passlab.ir.walk import CHILDREN, post_order

BEGIN, END = "annotation.compiler_begin", "annotation.compiler_end"
DEFAULT = "default"  # the compiler of nodes that no other compiler supports
_MARKED = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)  # nodes that can be in a region


def is_begin(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression marks where a value enters a region."""
    return is_call_of(expr, BEGIN)


def is_end(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression marks where a value leaves a region."""
    return is_call_of(expr, END)


def compiler_of(mark: Call) -> str:
    """Return the compiler that a mark names."""
    return str(mark.attrs["compiler"]) if mark.attrs is not None else DEFAULT


def is_closed(expr: Expr) -> bool:
    """Whether an expression is a function that counts as one operator: a composite or a kernel."""
    return type(expr) is Function and ("Composite" in expr.attrs or expr.is_primitive or expr.attrs.get("Compiler"))


def enter(expr: Expr) -> bool:
    """Whether an expression may contain regions; for `post_order`."""
    return not is_closed(expr)


class Region:
    """One region: its compiler, its number, its nodes in post-order with the begins among them, and its ends.

    As in Relay its number is that of its first begin among all begins of the function, in post-order.
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
        self._opened: dict[Expr, int] = {}
        for node in self.order:
            if is_begin(node):
                self._opened[node] = len(self._opened)
            elif is_end(node):
                self._leave(node)
            elif type(node) in _MARKED:
                self._gather(node)
        # Regions that were merged into others own no nodes any more.
        self.all = list(dict.fromkeys(self.of[n] for n in self.order if n in self.of))

    def _gather(self, node: Expr) -> None:
        """Put a node into the region of its arguments, if any of them is in one."""
        region: Region | None = None
        for child in CHILDREN[type(node)](node):
            if is_begin(child) and child not in self.of:
                self._add(child, Region(compiler_of(child), self._opened[child]))
            if child not in self.of or is_end(child):
                continue
            region = self.of[child] if region is None else self._merge(region, self.of[child], node)
        if region is not None:
            self._add(node, region)

    def _leave(self, mark: Call) -> None:
        inner = mark.args[0]
        if inner not in self.of and type(inner) in _MARKED:  # an operator without arguments
            self._opened[mark] = len(self._opened)
            self._add(inner, Region(compiler_of(mark), self._opened[mark]))
        region = self.of.get(inner)
        if region is None:
            what = f"a value that is in no region leaves one for `{compiler_of(mark)}`"
            raise PassError(Diagnostic(what, mark.span or inner.span, hint="mark the arguments with compiler_begin"))
        if region.compiler != compiler_of(mark):
            raise _mix(region.compiler, compiler_of(mark), mark)
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
            raise _mix(a.compiler, b.compiler, at)
        large, small = (a, b) if len(a.nodes) >= len(b.nodes) else (b, a)
        for node in (*small.nodes, *small.ends):
            self.of[node] = large
        large.number = a.number
        large.nodes += small.nodes
        large.ends += small.ends
        return large

    def parts_in_order(self, root: Expr) -> list[Expr | Region]:
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
                for part in self.parts(item):
                    if part in open_ and part not in done:
                        raise _circular(part)
                    if part not in done:
                        stack.append(part)
        return order

    def parts(self, item: Expr | Region) -> Sequence[Expr | Region]:
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
        """Return the inputs of a region, each once, in order."""
        met: set[Expr] = set()
        for node in sorted(region.nodes, key=self._number.__getitem__):
            parts = node.args if is_begin(node) else CHILDREN[type(node)](node)
            for part in parts:
                outside = self.of.get(part) is not region or is_end(part)
                if outside and part not in met and type(part) is not Op and not is_closed(part):
                    met.add(part)
                    yield part


def _mix(a: str, b: str, at: Expr) -> PassError:
    what = f"regions for `{a}` and `{b}` meet"
    return PassError(Diagnostic(what, at.span, hint="end the one with compiler_end where the other begins"))


def _circular(part: Expr | Region) -> PassError:
    compiler = part.compiler if isinstance(part, Region) else "?"
    where = part.nodes[0].span if isinstance(part, Region) else part.span
    what = f"a region for `{compiler}` depends on its own result"
    return PassError(Diagnostic(what, where, hint="make two regions of it"))
