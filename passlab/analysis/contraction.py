"""Contracting the edges of an acyclic graph so that it stays acyclic: decides which parts of a program may merge.

The groups are kept in a topological order that is repaired locally after each contraction (Pearce and Kelly, "A dynamic
topological sort algorithm for directed acyclic graphs", 2007). Nodes are numbers, not expressions.
"""

from __future__ import annotations

from collections.abc import Sequence

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
