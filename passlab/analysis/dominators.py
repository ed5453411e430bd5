"""Post-dominators of a dataflow graph: the nearest node on every path from a node to the outside.

Nodes are numbers, in topological order (uses after definitions). Each edge has a number (in operator fusion a pattern),
and each node gets the largest one on any path to its post-dominator. One pass goes over the graph from the last node
back; a common ancestor in the tree costs log(depth), by skip pointers (Myers, "An applicative random-access stack",
1983).
"""

from __future__ import annotations

from collections.abc import Sequence

NONE = -1


class PostDominators:
    """The post-dominator tree. `parent[n]` is the immediate post-dominator of node n, or `NONE`.

    `outputs[n]` are the edges of node n as (user, number). `relation[n]` is the largest edge number on the paths from n
    to `parent[n]`. A node that is `outside` (it has a user that is not in the graph) has no post-dominator, and the
    relation `worst`.
    """

    def __init__(self, outputs: Sequence[Sequence[tuple[int, int]]], outside: Sequence[bool], worst: int) -> None:
        size = len(outputs)
        self.parent = [NONE] * size
        self.relation = [worst] * size
        self._depth = [1] * size
        self._jump = list(range(size))
        self._jump_relation = [0] * size  # the largest relation from a node, inclusive, up to its jump, exclusive
        for node in range(size - 1, -1, -1):
            if not outside[node]:
                self._add_node(node, outputs[node])

    def _add_node(self, node: int, edges: Sequence[tuple[int, int]]) -> None:
        """Set the parent and the skip pointer of a node, whose users have been added."""
        if not edges:
            self.relation[node] = 0
            return
        ancestor, relation = edges[0]
        for target, number in edges[1:]:
            if ancestor != NONE:
                ancestor, relation = self._common(ancestor, target, relation)
            relation = max(relation, number)
        self.relation[node] = relation
        if ancestor == NONE:
            return
        self.parent[node] = ancestor
        depth, jump = self._depth, self._jump
        depth[node] = depth[ancestor] + 1
        skip = jump[ancestor]
        if depth[ancestor] - depth[skip] == depth[skip] - depth[jump[skip]]:
            jump[node] = jump[skip]
            self._jump_relation[node] = max(relation, self._jump_relation[ancestor], self._jump_relation[skip])
        else:
            jump[node] = ancestor
            self._jump_relation[node] = relation

    def _common(self, a: int, b: int, relation: int) -> tuple[int, int]:
        """Return the nearest common ancestor of two nodes, or NONE, and the largest relation on the way to it."""
        depth, jump, parent = self._depth, self._jump, self.parent
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            if depth[jump[a]] >= depth[b]:
                relation, a = max(relation, self._jump_relation[a]), jump[a]
            else:
                relation, a = max(relation, self.relation[a]), parent[a]
        while a != b:
            if jump[a] != jump[b] and jump[a] != a:
                relation = max(relation, self._jump_relation[a], self._jump_relation[b])
                a, b = jump[a], jump[b]
            else:
                relation = max(relation, self.relation[a], self.relation[b])
                a, b = parent[a], parent[b]
        return a, relation
