"""Merge neighbouring regions of the same compiler.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="toy")), compiler="toy");
      %1 = annotation.compiler_begin(%0, compiler="toy");
      annotation.compiler_end(nn.relu(%1), compiler="toy")
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
      annotation.compiler_end(nn.relu(%0), compiler="toy")
    }

keep:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
      %1 = tanh(annotation.compiler_end(%0, compiler="toy"));
      %2 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="toy");
      %3 = annotation.compiler_begin(%1, compiler="toy");
      annotation.compiler_end(add(%2, %3), compiler="toy")
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.analysis.regions import BEGIN, END, Region, Regions, compiler_of, is_begin, is_end
from passlab.analysis.scopes import Scope, Scopes
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.walk import rewrite
from passlab.rewriting.region_lets import without_region_lets
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT, acts_on=(BEGIN, END))
class MergeCompilerRegions(FunctionPass):
    """Merge a region with the regions that produce its inputs, where they have the same compiler, and drop the marks
    between.

    Two regions stay apart if a path between them leaves both, since the merged region would then depend on itself. They
    also stay apart if they are in different scopes, so that nothing is computed earlier or more often. Raises
    `PassError` if the marks do not form regions.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        func = without_region_lets(func, mod)
        regions = Regions(func)
        if len(regions.all) < 2:
            return func
        group = _merge(func, regions)

        def rule(pre: Expr, post: Expr) -> Expr:
            assert type(post) is Call
            if not (is_begin(pre) and is_end(source := pre.args[0])):
                return post
            region = regions.of.get(pre)
            inner = post.args[0]
            same = region is not None and group(region) == group(regions.of[source])
            return inner.args[0] if same and type(inner) is Call else post

        return rewrite(func, rule, only=(Call,))


class _MergedRegions:
    """The groups of merged regions: `merged(region)` is the number of its group."""

    def __init__(self, func: Function, regions: Regions) -> None:
        order = regions.items_in_order(func)
        self.items = [item for item in order if not (isinstance(item, Expr) and item in regions.of)]
        self.number = {item: i for i, item in enumerate(self.items)}
        self.regions = regions
        self.graph = Contraction([[self.of(p) for p in regions.operands(item)] for item in self.items])

    def of(self, part: Expr | Region) -> int:
        """Return the number of an item: a node, or for a value that leaves a region the region."""
        region = self.regions.of.get(part) if isinstance(part, Expr) else None
        return self.number[part if region is None else region]

    def __call__(self, region: Region) -> int:
        return self.graph.find(self.number[region])


def _merge(func: Function, regions: Regions) -> _MergedRegions:
    groups = _MergedRegions(func, regions)
    scopes = Scopes(func)
    scope = {region: _scope(region, scopes) for region in regions.all}
    for region in groups.items:
        if not isinstance(region, Region) or scope[region] is None:
            continue
        producers: dict[Region, None] = {}
        for begin in region.begins:
            source = begin.args[0]
            if is_end(source) and compiler_of(source) == region.compiler:
                producers[regions.of[source]] = None
        # The nearest first: a region between a farther one and this one may still be merged with it.
        for other in sorted(producers, key=lambda r: groups.graph.position(groups.number[r]), reverse=True):
            if scope[other] is scope[region]:
                groups.graph.contract(groups.number[other], groups.number[region])
    return groups


def _scope(region: Region, scopes: Scopes) -> Scope | None:
    """Return the scope that contains all nodes of a region, or None if they are in several."""
    scopes_of = {scopes.of[node] for node in region.nodes}
    return scopes_of.pop() if len(scopes_of) == 1 else None


# ---------------------------------------------------------------- which parts may merge
# Contracting the edges of an acyclic graph so that it stays acyclic: decides which parts of a program may merge. The
# groups are kept in a topological order that is repaired locally after each contraction (Pearce and Kelly, "A dynamic
# topological sort algorithm for directed acyclic graphs", 2007). Nodes are numbers, not expressions.
MOST_EDGES = 1000  # visited before a contraction is refused, so that all contractions together take linear time


class Contraction:
    """Groups of nodes 0..n-1 in topological order; at first each node is a group of its own.

    `inputs[i]` are the nodes that node i depends on, all of them less than i.
    """

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        size = len(inputs)
        self._leader = list(range(size))
        self._position = list(range(size))
        self._inputs = [list(dict.fromkeys(row)) for row in inputs]
        self._users: list[list[int]] = [[] for _ in range(size)]
        for node, row in enumerate(self._inputs):
            for operand in row:
                self._users[operand].append(node)

    def find(self, node: int) -> int:
        """Return the group of a node, as the number of one of its nodes (union-find with path halving)."""
        leader = self._leader
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    def position(self, node: int) -> int:
        """Return the position of the group of a node in the topological order."""
        return self._position[self.find(node)]

    def inputs(self, node: int) -> list[int]:
        """Return the groups that the group of a node depends on."""
        return self._neighbours(self.find(node), self._inputs)

    def contract(self, first: int, second: int) -> bool:
        """Merge the groups of two nodes, the second of which depends on the first; return False if that is refused.

        It is refused if it would create a cycle through another group, or if the search for one visits too many edges.
        """
        a, b = self.find(first), self.find(second)
        if a == b:
            return True
        users = self._between(a, b, self._users, 1)
        operands = None if users is None else self._between(b, a, self._inputs, -1)
        if users is None or operands is None:
            return False
        # In the positions of all these groups: first the operands of b, then the merged group, then the users of a.
        position = self._position
        slots = sorted(position[g] for g in (*operands, a, b, *users))
        for slot, group in zip(slots, sorted(operands, key=position.__getitem__), strict=False):
            position[group] = slot
        for slot, group in zip(slots[len(operands) + 2 :], sorted(users, key=position.__getitem__), strict=True):
            position[group] = slot
        self._join(a, b, slots[len(operands)])
        return True

    def _join(self, a: int, b: int, slot: int) -> None:
        size = [len(self._inputs[g]) + len(self._users[g]) for g in (a, b)]
        leader, other = (a, b) if size[0] >= size[1] else (b, a)
        self._leader[other] = leader
        self._position[leader] = slot
        for table in (self._inputs, self._users):
            table[leader] += table[other]
            table[other] = []

    def _neighbours(self, group: int, table: list[list[int]]) -> list[int]:
        neighbours = table[group] = [g for g in dict.fromkeys(map(self.find, table[group])) if g != group]
        return neighbours

    def _between(self, start: int, goal: int, table: list[list[int]], sign: int) -> list[int] | None:
        """Return the groups between `start` and `goal` in the order that `start` reaches by the edges in `table`.

        Return None if one of them reaches `goal`, or after `MOST_EDGES` edges. `sign` is -1 to go backwards.
        """
        limit = sign * self._position[goal]
        reached: dict[int, None] = {}
        stack = [start]
        edges = 0
        while stack:
            group = stack.pop()
            neighbours = self._neighbours(group, table)
            edges += len(neighbours)
            if edges > MOST_EDGES:
                return None
            for neighbour in neighbours:
                if neighbour == goal:
                    if group != start:
                        return None
                elif neighbour not in reached and sign * self._position[neighbour] < limit:
                    reached[neighbour] = None
                    stack.append(neighbour)
        return list(reached)
