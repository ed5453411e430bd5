"""Numbers for the nodes that views show, and links from a node of a recording to the node that it replaced.

A node has one number for the whole process, so that a selection in one view is highlighted in all others. A page is a
document of its own and has `own_numbers`, so that it does not depend on what was shown before. A line of a program
selects its subject. A node that replaced another is linked to it by `lab.recordings.provenance`, also
through nodes without a line; without a recorded rewrite, two lines that are side by side in the diff are linked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from passlab.display.text.listing import Line, ProgramLines
from passlab.ir.expr import Expr, TupleGetItem, Var

if TYPE_CHECKING:
    from passlab.display.text.alignment import Row
    from passlab.lab.recordings.recording import Recording

NO_NODE = -1


class _Numbering:
    """The numbers that nodes have got so far, and their nodes."""

    def __init__(self) -> None:
        self.numbers: WeakKeyDictionary[Expr, int] = WeakKeyDictionary()  # weak, so that numbers keep no program alive
        self.nodes: WeakValueDictionary[int, Expr] = WeakValueDictionary()
        self.unused = count()

    def of(self, node: Expr) -> int:
        number = self.numbers.get(node)
        if number is None:
            number = self.numbers[node] = next(self.unused)
            self.nodes[number] = node
        return number


_of_process = _Numbering()
_numbering: ContextVar[_Numbering] = ContextVar("numbering", default=_of_process)


@contextmanager
def own_numbers() -> Iterator[None]:
    """Number nodes from 0 within the block, for a page whose views are all made there."""
    token = _numbering.set(_Numbering())
    try:
        yield
    finally:
        _numbering.reset(token)


def number_of(node: Expr) -> int:
    """Return the number of a node, which is the same in every view of this process, or of this page."""
    return _numbering.get().of(node)


def node_of(number: int) -> Expr | None:
    """Return the node of a number, None if no view has shown it or it is no longer alive."""
    return _of_process.nodes.get(number)


def line_node(line: Line) -> Expr | None:
    """Return the node that a line selects: the node that it defines, or the only parameter in it."""
    if line.result is not None:
        return line.result
    binders = [token.node for token in line.tokens if token.kind == "binder"]
    return binders[0] if len(binders) == 1 and isinstance(binders[0], Var) else None


def line_numbers(lines: ProgramLines) -> list[int]:
    """Return the number of the node that each line selects, `NO_NODE` for none. They are looked up once."""
    if lines.numbers is None:
        lines.numbers = [NO_NODE if node is None else number_of(node) for node in map(line_node, lines)]
    return lines.numbers


class Links:
    """The replacements of nodes as data: for each link child, parent, event, rule and whether it was only rebuilt.

    Every child has one parent, so the earlier forms of a node are a chain.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._origins = recording.provenance.origins
        self._events = {event: at for at, event in enumerate(recording.events)}
        self._links: dict[int, tuple[int, int, str, bool]] = {}

    def add_program(self, lines: Sequence[Line]) -> None:
        """Add the origins of the nodes of a program's lines, back to the input."""
        for line in lines:
            self.add_node(line_node(line))

    def add_node(self, node: Expr | None) -> None:
        """Add the origins of a node, back to the input."""
        while node is not None and number_of(node) not in self._links:
            origin = self._origins.get(node)
            if origin is None:
                if isinstance(node, TupleGetItem):  # a part of a value was that value before
                    self._links[number_of(node)] = (number_of(node.tuple_value), 0, "", True)
                break
            parent = NO_NODE if origin.old is None or origin.old is node else number_of(origin.old)
            self._links[number_of(node)] = (parent, self._events.get(origin.event, 0), origin.rule, origin.rebuilt)
            node = origin.old

    def add_diff(self, before: ProgramLines, after: ProgramLines, rows: Iterable[Row], event: int) -> None:
        """Link the nodes of lines that are side by side in a diff, if no rewrite links them."""
        olds, news = line_numbers(before), line_numbers(after)
        old_nodes = set(olds)
        for row in rows:
            if row.left is None or row.right is None:
                continue
            parent, child = olds[row.left], news[row.right]
            if NO_NODE in (parent, child) or child in old_nodes:
                continue
            link = self._links.get(child)
            unlinked = link is None or link[0] == NO_NODE
            if unlinked and type(line_node(before[row.left])) is type(line_node(after[row.right])):
                self._links[child] = (parent, event, link[2] if link else "", link is None)

    def data(self, text: Callable[[str], int]) -> list[int]:
        """Return the links as five numbers each; `text` numbers the names of rules."""
        flat: list[int] = []
        for child, (parent, event, rule, rebuilt) in self._links.items():
            flat += (child, parent, event, text(rule) if rule else -1, int(rebuilt))
        return flat
