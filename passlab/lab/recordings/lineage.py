"""`Lineage`: which node of one recorded program is which node of another, by what the passes noted.

    rec.lineage.pairs(nodes_of(rec[2].after["main"]), nodes_of(rec[7].after["main"])).of

A node keeps its line through all steps: a pass keeps the object, rebuilds it, or replaces it by a node that computes
its value. So two programs of one recording, or of two recordings of one program, correspond wherever their nodes have a
common ancestor; nothing is matched by structure. `diff` of recorded programs says what became of each node; programs
without a common recording are matched by structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from passlab.diffing.diff import Diff
from passlab.diffing.diff import diff as diff_of_strangers
from passlab.diffing.matching import Pairs, nodes_of
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recordings.provenance import Provenance

if TYPE_CHECKING:
    from passlab.lab.recordings.recording import Recording


class Lineage:
    """The lines of all nodes of some recordings.

    It is `complete` for the programs of one recording. Two recordings of one program correspond through its nodes; what
    passes added in both is still to be matched by structure.
    """

    def __init__(self, *provenances: Provenance, complete: bool = True) -> None:
        self._provenances = provenances
        self.complete = complete
        self._links: dict[Expr, tuple[Expr | None, int]] = {}

    def pairs(self, old: Iterable[Expr], new: Iterable[Expr]) -> Pairs:
        """Return for nodes of a new program the node of an old one on their line, nodes that were only rebuilt first.

        Linear in the nodes of the lines.
        """
        index: dict[Expr, tuple[int, Expr, int]] = {}  # of the nodes on old lines: the nearest descendant
        for node in old:
            at: Expr | None = node
            rank = distance = 0
            while at is not None:
                known = index.get(at)
                if known is None or (rank, distance) < (known[2], known[0]):
                    index[at] = (distance, node, rank)
                elif known[0] <= distance:
                    break  # that one is nearer to all further ancestors, too; so a line that returns to itself ends
                at, kind = self._link(at)
                rank, distance = max(rank, kind), distance + 1
        ranked: list[list[tuple[Expr, Expr]]] = [[], [], []]
        for node in new:
            for ancestor, rank in self._line(node):
                if ancestor in index:
                    _, partner, other = index[ancestor]
                    ranked[max(rank, other)].append((node, partner))
                    break
        return Pairs(dict(pair for pairs in ranked for pair in pairs), {node for node, _ in ranked[UNSURE]})

    def first_changes(self, old: Expr, new: Expr) -> list[Expr]:
        """Return the first node of a new function without an old form, and the first old node without a new form.

        Linear in the nodes up to these.
        """
        before = nodes_of(old)
        olds = set(before)
        formed: set[Expr] = set()  # old nodes with a form that was met
        last: Expr | None = None
        changes: list[Expr] = []
        for node in nodes_of(new):
            at, rank = next(
                (link for link in self._line(node) if link[1] != REBUILT or link[0] in olds), (None, REBUILT)
            )
            if at is None or rank != REBUILT:
                changes.append(node)
                break
            formed.add(at)
            last = at
        for node in before:
            if node not in formed:
                return [*changes, node]
            if node is last:
                break
        return changes

    def _line(self, node: Expr) -> Iterator[tuple[Expr, int]]:
        """Yield a node and its predecessors, the newest first, each with the least sure kind of link up to it."""
        rank, seen = REBUILT, set[Expr]()
        at: Expr | None = node
        while at is not None and at not in seen:
            yield at, rank
            seen.add(at)
            at, kind = self._link(at)
            rank = max(rank, kind)

    def _link(self, node: Expr) -> tuple[Expr | None, int]:
        """Return the predecessor of a node, None for none, and the kind of the link."""
        link = self._links.get(node)
        if link is None:
            link = self._links[node] = self._find_link(node)
        return link

    def _find_link(self, node: Expr) -> tuple[Expr | None, int]:
        origin = next((p.origins[node] for p in self._provenances if node in p.origins), None)
        previous = None if origin is None else origin.predecessor
        if origin is not None and previous is not None:
            return previous, UNSURE if not origin.sure else REBUILT if origin.rebuilt else REPLACED
        return next((p.guesses[node] for p in self._provenances if node in p.guesses), None), UNSURE


REBUILT, REPLACED, UNSURE = range(3)  # kinds of links: the same value by its own form, by a rule, by a match


def lineage_of(before: IRModule, after: IRModule) -> Lineage | None:
    """Return the lineage that two programs share; None for strangers."""
    recordings: dict[Recording, None] = {}
    for mod in (before, after):
        reference = mod.recorded
        for recording in (mod.history, None if reference is None else reference()):
            if recording is not None:
                recordings[recording] = None
    for recording in recordings:
        provenance = recording.whole_provenance
        # They share it where it has both programs, or where it has one and the input of the recording of the other.
        inputs = [before, after]
        for other in recordings:
            if other is not recording:
                inputs = [other.input if other.whole_provenance.knows(mod) else mod for mod in inputs]
        if all(map(provenance.knows, inputs)):
            if len(recordings) == 1:
                return recording.lineage
            return Lineage(
                *(r.whole_provenance for r in recordings), complete=inputs[0] is before and inputs[1] is after
            )
    return None


def diff(before: Any, after: Any) -> Diff:
    """Compare two modules, or two expressions; programs of one recording by the lines of their nodes.

    Programs without a common recording are matched by structure. Raises `PassTypeError` for anything else.

    >>> before = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> lab.diff(before, transform.FoldConstant()(before)).summary
    'removed 2 constants and 1 add; added 1 constant; changed an operand of 1 multiply'
    """
    shared = lineage_of(before, after) if isinstance(before, IRModule) and isinstance(after, IRModule) else None
    return diff_of_strangers(before, after, shared)
