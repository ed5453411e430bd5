"""Contracting the edges of an acyclic graph so that it stays acyclic: decides which parts of a program may merge.

The groups are kept in a topological order that is repaired locally after each contraction (Pearce and Kelly, "A dynamic
topological sort algorithm for directed acyclic graphs", 2007). Knows numbers only, no programs.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_EDGES = 1000  # examined before a contraction is given up; keeps the whole linear


class Contraction:
    """Groups of nodes 0..n-1, which come in topological order; at first each node is a group.

    `inputs[i]` are the nodes that node i depends on, all of them less than i.
    """

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        size = len(inputs)
        self._leader = list(range(size))
        self._place = list(range(size))
        self._inputs = [list(dict.fromkeys(row)) for row in inputs]
        self._users: list[list[int]] = [[] for _ in range(size)]
        for node, row in enumerate(self._inputs):
            for needed in row:
                self._users[needed].append(node)

    def find(self, node: int) -> int:
        """Return the group of a node, as the number of one of its nodes."""
        leader = self._leader
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    def place(self, node: int) -> int:
        """Return the position of a node's group in the topological order."""
        return self._place[self.find(node)]

    def inputs(self, node: int) -> list[int]:
        """Return the groups that the group of a node depends on."""
        return self._neighbours(self.find(node), self._inputs)

    def contract(self, first: int, second: int) -> bool:
        """Merge the groups of two nodes, the second of which depends on the first; return whether that was possible.

        It is refused if it would create a cycle through another group, and if finding that out takes too long.
        """
        a, b = self.find(first), self.find(second)
        if a == b:
            return True
        users = self._between(a, b, self._users, 1)
        needed = None if users is None else self._between(b, a, self._inputs, -1)
        if users is None or needed is None:
            return False
        place = self._place
        slots = sorted(place[g] for g in (*needed, a, b, *users))
        for slot, group in zip(slots, sorted(needed, key=place.__getitem__), strict=False):
            place[group] = slot
        for slot, group in zip(slots[len(needed) + 2 :], sorted(users, key=place.__getitem__), strict=True):
            place[group] = slot
        self._join(a, b, slots[len(needed)])
        return True

    def _join(self, a: int, b: int, slot: int) -> None:
        size = [len(self._inputs[g]) + len(self._users[g]) for g in (a, b)]
        leader, other = (a, b) if size[0] >= size[1] else (b, a)
        self._leader[other] = leader
        self._place[leader] = slot
        for table in (self._inputs, self._users):
            table[leader] += table[other]
            table[other] = []

    def _neighbours(self, group: int, table: list[list[int]]) -> list[int]:
        neighbours = table[group] = [g for g in dict.fromkeys(map(self.find, table[group])) if g != group]
        return neighbours

    def _between(self, start: int, goal: int, table: list[list[int]], sign: int) -> list[int] | None:
        """Return the groups between `start` and `goal` in the order; None if one of them leads to `goal`."""
        limit = sign * self._place[goal]
        met: dict[int, None] = {}
        stack = [start]
        edges = 0
        while stack:
            group = stack.pop()
            neighbours = self._neighbours(group, table)
            edges += len(neighbours)
            if edges > MOST_EDGES:
                return None
            for near in neighbours:
                if near == goal:
                    if group != start:
                        return None
                elif near not in met and sign * self._place[near] < limit:
                    met[near] = None
                    stack.append(near)
        return list(met)
