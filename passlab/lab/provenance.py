"""`Provenance`: which pass made each node of a recorded program, and from which node.

A recorder notes the pairs (old, new) of every rewrite. This module turns them into one table: for each node its maker.
A node that was only rebuilt, because something below it changed, is still the work of whoever made the original; so is
followed back until a rewrite that changed the node itself. Nodes a pass built without noting them are found by walking
the module it left, each node once over the whole recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.instrument.events import Event
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Match, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import children, post_order
from passlab.lab.diffing import node_name
from passlab.transform.table import Table

_BLAMED: tuple[type, ...] = (Call, Constant, Function, If, Let, Match, Tuple)


@dataclass(frozen=True, eq=False)
class Origin:
    """How a node came to be: the pass, the node it took the place of (or None), only rebuilt or not, by which rule."""

    event: Event
    old: Expr | None
    rebuilt: bool = False
    rule: str = ""


@dataclass(frozen=True, eq=False)
class Chapter:
    """One stage in the life of a node: what it was, and since which pass (None: since the input)."""

    event: Event | None
    node: Expr
    rebuilt: bool = False
    rule: str = ""

    def __str__(self) -> str:
        since = "input" if self.event is None else f"{self.event.id} {self.event.name}"
        since += f" [{self.rule}]" if self.rule else ""
        place = f" at {self.node.span}" if self.event is None and self.node.span is not None else ""
        return f"{since}: {node_name(self.node)}{place}{' (rebuilt)' if self.rebuilt else ''}"


@dataclass(frozen=True, eq=False)
class Biography:
    """The life of a node: its chapters in order of time, `at` the one it was asked for in, and whether it lived on.

    `alive` tells whether the node of the last chapter is in the last program of the recording.
    """

    chapters: tuple[Chapter, ...]
    at: int
    alive: bool

    def __len__(self) -> int:
        return len(self.chapters)

    def __getitem__(self, index: int) -> Chapter:
        return self.chapters[index]

    def __str__(self) -> str:
        lines = [f"{'>' if number == self.at else ' '} {chapter}" for number, chapter in enumerate(self.chapters)]
        return "\n".join([*lines, "  in the last program" if self.alive else "  not in the last program"])

    __repr__ = __str__


class Provenance:
    """The origins of all nodes of the recorded events. Built in one pass over rewrites and new nodes."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.origins: dict[Expr, Origin] = {}
        self.became: dict[Expr, tuple[Event, Expr]] = {}
        self._known: set[Expr] = set()
        self._living: set[Expr] | None = None  # the nodes of the last program, when first asked for
        self._by_place: dict[tuple[int, type], Expr] = {}  # the newest node of a class with a span (by identity)
        top = [event for event in events if event.depth == 0]
        self._last = top[-1].after if top else IRModule()
        if top:
            self._sweep(top[0].before, None)
        stack: list[tuple[Event, str]] = [(event, "begin") for event in reversed(top)]
        while stack:
            event, stage = stack.pop()
            if stage == "begin":
                required = [child for child in event.children if child.role == "required"]
                inside = [child for child in event.children if child.role != "required"]
                if event.parent is not None and event.role != "required":
                    self._sweep(required[0].before if required else event.before, event.parent)
                stack.append((event, "end"))
                stack.extend((child, "begin") for child in reversed(inside))
                stack.append((event, "work"))
                stack.extend((child, "begin") for child in reversed(required))
            elif stage == "work":
                self._pairs(event)
            else:
                self._sweep(event.after, event)

    # ------------------------------------------------------------ building
    def _pairs(self, event: Event) -> None:
        """Enter the rewrites of one pass: the new nodes, and those made along with them."""
        here: set[Expr] = set()
        for number, (old, new) in enumerate(event.rewrites):
            if new is old:
                continue
            self.became[old] = (event, new)
            if new in self._known:
                continue  # an existing node took the place, or one this pass made before
            made = post_order(new, seen=self._known)
            here.update(made)
            rebuilt = self._is_rebuilt(old, new, here)
            for node in made:
                self.origins[node] = self._along(event, node, old)
            self._place(made)
            self.origins[new] = Origin(event, old, rebuilt, event.rewrites.rule(number))

    def _along(self, event: Event, node: Expr, old: Expr | None) -> Origin:
        """Return the origin of a node that was made in the place of `old`, or along with what was.

        A node with the place in the source of an older one, and alike but for its children, was rebuilt from that one;
        without a place, one that is like `old` was rebuilt from that.
        """
        older = self._by_place.get((id(node.span), type(node))) if node.span is not None else old
        if older is None or not _like(older, node):
            return Origin(event, old)
        self.became.setdefault(older, (event, node))
        return Origin(event, older, True)

    def _is_rebuilt(self, old: Expr, new: Expr, here: set[Expr]) -> bool:
        """Whether a node differs from the old one only by children that were themselves replaced in the same pass.

        Nobody notes that a variable gave way to its value or a value to its variable, so these count as replaced too,
        unless the operands only changed places.
        """
        if not same_but_children(old, new):
            return False
        before = children(old)
        for a, b in zip(before, children(new), strict=True):
            bound = (type(a) is Var or type(b) is Var) and b not in before
            if not (b is a or bound or (b in here and self._descends(b, a)) or self._replaced(a, b)):
                return False
        return True

    def _replaced(self, old: Expr, new: Expr) -> bool:
        known = self.became.get(old)
        return known is not None and known[1] is new

    def _descends(self, new: Expr, old: Expr) -> bool:
        for _ in range(64):  # as often as one pass may rewrite one node before its parent is looked at
            origin = self.origins.get(new)
            if origin is None or origin.old is None or origin.old is new:
                return False
            new = origin.old
            if new is old:
                return True
        return False

    def _sweep(self, mod: IRModule, event: Event | None) -> None:
        """Enter the nodes of a module that nobody noted as the work of a pass (None: as those of the input)."""
        for function in mod.functions.values():
            if function not in self._known:
                found = post_order(function, seen=self._known)
                if event is not None:
                    self.origins.update(
                        (node, self._along(event, node, None)) for node in found if node not in self.origins
                    )
                self._place(found)

    def _place(self, nodes: list[Expr]) -> None:
        for node in nodes:
            if node.span is not None:
                self._by_place[id(node.span), type(node)] = node

    # ------------------------------------------------------------ asking
    def origin(self, node: Expr) -> Origin | None:
        """Return how a node was really made, looking through rebuilding; None for what stems from the input."""
        seen: set[Expr] = set()
        while node not in seen:
            seen.add(node)
            origin = self.origins.get(node)
            if origin is None or not origin.rebuilt or origin.old is None:
                return origin
            node = origin.old
        return None

    def maker(self, node: Expr) -> Event | None:
        """Return the pass that made a node; None for what stems from the input."""
        origin = self.origin(node)
        return None if origin is None else origin.event

    def biography(self, node: Expr) -> Biography:
        """Return the life of a node, from the input or the pass that made it from nothing, to its last form."""
        back: list[Chapter] = []
        at: Expr | None = node
        seen: set[Expr] = set()
        while at is not None and at not in seen:
            seen.add(at)
            back.append(self._chapter(at))
            origin = self.origins.get(at)
            at = origin.old if origin else None
        back.reverse()
        forth: list[Chapter] = []
        at = node
        while at in self.became and self.became[at][1] not in seen:
            event, at = self.became[at]
            seen.add(at)
            made = self._chapter(at)
            forth.append(made if made.event is event else Chapter(event, at))  # else an older node took the place
        last = forth[-1].node if forth else node
        return Biography((*back, *forth), len(back) - 1, self._is_alive(last))

    def _chapter(self, node: Expr) -> Chapter:
        origin = self.origins.get(node)
        return Chapter(None, node) if origin is None else Chapter(origin.event, node, origin.rebuilt, origin.rule)

    def _is_alive(self, node: Expr) -> bool:
        if self._living is None:
            self._living = {n for function in self._last.functions.values() for n in post_order(function)}
        return node in self._living

    def blame(self, mod: IRModule, kinds: tuple[type, ...] = _BLAMED) -> Table:
        """Return for the nodes of some classes in a module: function, node, the pass that made it, and from what."""
        rows = []
        for name, function in mod.items():
            for node in post_order(function):
                if isinstance(node, kinds):
                    origin = self.origin(node)
                    maker = "input" if origin is None else f"{origin.event.id} {origin.event.name}"
                    old = "" if origin is None or origin.old is None else node_name(origin.old)
                    rows.append((f"@{name}", node_name(node), maker, old))
        return Table(("function", "node", "made by", "from"), rows)


def same_but_children(old: Expr, new: Expr) -> bool:
    """Whether two nodes are alike in everything but their children."""
    return len(children(old)) == len(children(new)) and _like(old, new)


def _like(old: Expr, new: Expr) -> bool:
    test = _ALIKE.get(type(old))
    return type(old) is type(new) and (test is None or bool(test(old, new)))


def _alike_calls(a: Call, b: Call) -> bool:
    same_op = a.op is b.op or not (isinstance(a.op, Op) or isinstance(b.op, Op))
    return same_op and (a.attrs is b.attrs or a.attrs == b.attrs)


_ALIKE: dict[type, Any] = {
    Call: _alike_calls,
    TupleGetItem: lambda a, b: a.index == b.index,
    Constant: lambda a, b: a.data is b.data,
    Var: lambda a, b: a.name_hint == b.name_hint,
    Function: lambda a, b: a.attrs == b.attrs,
    Match: lambda a, b: len(a.clauses) == len(b.clauses),
}


def makers(provenance: Provenance, nodes: Iterable[Expr]) -> dict[Expr, Event | None]:
    """Return the maker of each node: what a gutter beside a printed program shows."""
    return {node: provenance.maker(node) for node in nodes}
