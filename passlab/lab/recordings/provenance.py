"""`Provenance`: which pass made each node of a recorded program, and from which node.

A recorder notes the pairs (old, new) of every rewrite. This module turns them into one table: the origin of each node.
A node that was only moved, or rebuilt because a child changed, keeps the maker of the original node. Nodes that a pass
built without noting them are collected from the module after the pass, each once over the whole recording. Nodes
without a span are matched with the nodes before the pass, as in a diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from passlab.arguments import checked
from passlab.diffing.diff import diff, node_name
from passlab.diffing.matching import nodes_of
from passlab.instrument.events import Event
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Match, Tuple, TupleGetItem, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import children, post_order
from passlab.table import Table

_BLAMED: tuple[type, ...] = (Call, Constant, Function, If, Let, Match, Tuple)


class Origin(NamedTuple):
    """The origin of a node: the pass, the node it replaced (or None), whether it was only rebuilt, and the rule.

    A `part` was built together with the replacement of `old`, whose value it need not have. An origin that is not
    `sure` was found by matching the programs before and after a pass that noted nothing.
    """

    event: Event
    old: Expr | None
    rebuilt: bool = False
    rule: str = ""
    part: bool = False
    sure: bool = True

    @property
    def predecessor(self) -> Expr | None:
        """The node in whose place this one computes a value; None for a node that computes something new."""
        return None if self.part and not self.rebuilt else self.old


@dataclass(frozen=True, eq=False)
class Chapter:
    """One stage in the history of a node: the node, and the pass that made it (None: the input)."""

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
    """The history of a node: its chapters in order of time; `at` is the index of the chapter of the node in question.

    `alive` says whether the node of the last chapter is in the last program of the recording.
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


class _StepMatches(NamedTuple):
    """Nodes after a step with those before it: kept or moved ones, changed ones, and which kept ones are surely so."""

    kept: dict[Expr, Expr]
    changed: dict[Expr, Expr]
    sure: set[Expr]


@checked
class Provenance:
    """The origins of all nodes of the recorded events. Built in one pass over rewrites and new nodes.

    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> rec = passlab.record(mod, "FoldConstant")
    >>> print(rec.provenance.maker(rec.output["main"].body.args[1]))
    <1 FoldConstant: ran, changed>
    """

    @building()
    def __init__(self, events: Sequence[Event]) -> None:
        self.origins: dict[Expr, Origin] = {}
        self.successors: dict[Expr, tuple[Event, Expr]] = {}
        self._seen: set[Expr] = set()
        self._living: set[Expr] | None = None  # the nodes of the last program, computed on first use
        self._matches: tuple[Event, _StepMatches] | None = None  # of one event
        self._operations: tuple[Event, set[Any]] | None = None  # of the program before one event
        self._by_span: dict[int, Expr | list[Expr]] = {}  # by identity of the span, which most nodes have alone
        self.guesses: dict[Expr, Expr] = {}  # changed nodes that no pass noted, by the match of one step
        top = [event for event in events if event.depth == 0]
        self._last = top[-1].after if top else IRModule()
        if top:
            self._sweep(top[0].before, None)
        # An event begins, its required passes run, it works, the passes inside it run, it ends.
        stack: list[tuple[Event, str]] = [(event, "begin") for event in reversed(top)]
        while stack:
            event, stage = stack.pop()
            if stage == "begin":
                required = [child for child in event.children if child.role == "required"]
                inside = [child for child in event.children if child.role != "required"]
                if event.parent is not None and event.role != "required":
                    self._sweep(required[0].before if required else event.before, event.parent)  # what it built so far
                stack.append((event, "end"))
                stack.extend((child, "begin") for child in reversed(inside))
                stack.append((event, "work"))
                stack.extend((child, "begin") for child in reversed(required))
            elif stage == "work":
                self._add_rewrites(event)
            else:
                self._sweep(event.after, event)
        self._matches = self._operations = None  # these tables are as large as the program, and only needed above
        self._by_span = {}

    @classmethod
    def restored(
        cls,
        origins: dict[Expr, Origin],
        successors: dict[Expr, tuple[Event, Expr]],
        guesses: dict[Expr, Expr],
        nodes: set[Expr],
        last: IRModule,
    ) -> Provenance:
        """Return a provenance from its tables, which a file has; `nodes` are all nodes of the recording."""
        self = cls(())
        self.origins, self.successors, self.guesses = origins, successors, guesses
        self._seen, self._last = nodes, last
        return self

    # ------------------------------------------------------------ building
    def _add_rewrites(self, event: Event) -> None:
        """Add the rewrites of one pass: the replacements, and the nodes built with them."""
        here: set[Expr] = set()
        for old, new, rule in event.rewrites.with_rules():
            if new is old:
                continue
            self.successors[old] = (event, new)
            if new in self._seen:
                continue  # the replacement is a node that existed before
            new_nodes = [new] if self._seen.issuperset(children(new)) else post_order(new, seen=self._seen)
            self._seen.add(new)
            here.update(new_nodes)  # `seen` leaves out nodes that an earlier rewrite built
            if old not in self._seen and not rule:  # the pass built it and then typed or rebuilt it: nobody saw it
                self.origins.update((node, self._origin_of_built(event, node, None)) for node in new_nodes)
                self._index_spans(new_nodes)
                continue
            rebuilt = self._is_rebuilt(old, new, here)
            for node in new_nodes:
                if node is not new or not rebuilt:
                    self.origins[node] = self._origin_of_built(event, node, old)
            self._index_spans(new_nodes)
            matches = None if rebuilt else self._matches_before(event, new)
            same = None if matches is None else matches.kept.get(new)
            if matches is not None and same is not None and same is not new and _differs_only_below(same, new):
                self.origins[new] = Origin(event, same, True, sure=same is old or new in matches.sure)
            else:
                self.origins[new] = Origin(event, old, rebuilt, rule)

    def _origin_of_built(self, event: Event, node: Expr, old: Expr | None) -> Origin:
        """Return the origin of a node that was built with the replacement of `old`.

        A node that has the span of an older one and differs only by its children was rebuilt from that one. Without a
        span, or where several nodes have one span, a node was rebuilt from `old` if it is like `old`, or if a diff
        matches the two. A match that is certain counts whatever the nodes are; others where they differ by children
        only.
        """
        older, sure, matched = self._by_its_span(node), True, False
        if older is None:
            matches = self._matches_before(event, node)
            older, sure = matches.kept.get(node), node in matches.sure
            matched = sure and older is not None
            if older is None and node.span is None:
                older, sure = old, False
        if older is None or older is node or not (matched or _differs_only_below(older, node)):
            # A pass that notes no rewrites has replaced whole functions: nodes inside are paired as those of strangers.
            if old is None or type(old) is Function:
                matches = self._matches_before(event, node)
                partner = matches.kept.get(node) or matches.changed.get(node)
                if partner is not None and partner is not node:
                    self.guesses[node] = partner
            return Origin(event, old, part=True)
        self.successors.setdefault(older, (event, node))  # a recorded rewrite of `older` is the better successor
        return Origin(event, older, True, part=True, sure=sure)

    def _by_its_span(self, node: Expr) -> Expr | None:
        """Return the latest form of the only older node that has the span of a node and differs by its children."""
        found: Expr | None = None
        others = [] if node.span is None else self._by_span.get(id(node.span), [])
        for other in others if isinstance(others, list) else (others,):
            if other is node or type(other) is not type(node) or not _differs_only_below(other, node):
                continue
            origin = self.origins.get(other)
            if found is not None and (origin is None or origin.predecessor is not found):
                return None  # several nodes have the span
            found = other
        return found

    def _matches_before(self, event: Event, node: Expr) -> _StepMatches:
        """Return what a diff of the programs before and after an event says about a node after it.

        A diff matches a node only with one of the same operation, so a new operation asks for none.
        """
        if self._matches is None or self._matches[0] is not event:
            if self._operations is None or self._operations[0] is not event:
                self._operations = (event, set(map(_operation, nodes_of(*_changed_functions(event)))))
            if type(node) is not Function and _operation(node) not in self._operations[1]:
                return _NO_MATCHES
            matches = _StepMatches({}, {}, set())
            for function in diff(event.before, event.after).functions if event.replaced else ():
                if function.before is function.after:
                    continue
                function = replace(function, crossings=None)  # no circle: its tables are freed when the next one begins
                kept, changed = function.partners()
                matches.kept.update(kept)
                matches.changed.update(changed)
                matches.sure.update(function.matching.certain)
                if function.before is not None and function.after is not None:
                    matches.kept[function.after] = function.before
                    matches.sure.add(function.after)
            self._matches = (event, matches)
        return self._matches[1]

    def _is_rebuilt(self, old: Expr, new: Expr, here: set[Expr]) -> bool:
        """Whether a node differs from the old one only by children that the same pass replaced.

        Replacing a variable by its value, or a value by its variable, is not noted as a rewrite, so it counts as well,
        unless the operands were only exchanged.
        """
        if not same_but_children(old, new):
            return False
        before = children(old)
        for a, b in zip(before, children(new), strict=True):
            if b is a or (b in here and self._descends(b, a)) or self._was_replaced_by(a, b):
                continue
            if not (type(a) is Var or type(b) is Var) or b in before:
                return False
        return True

    def _was_replaced_by(self, old: Expr, new: Expr) -> bool:
        successor = self.successors.get(old)
        return successor is not None and successor[1] is new

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
        """Attribute the nodes of a module that no rewrite made to a pass (None: to the input)."""
        for function in mod.functions.values():
            if function not in self._seen:  # passes share the functions that they do not change
                nodes = post_order(function, seen=self._seen)
                if event is not None:
                    self.origins.update(
                        (node, self._origin_of_built(event, node, None)) for node in nodes if node not in self.origins
                    )
                self._index_spans(nodes)

    def _index_spans(self, nodes: list[Expr]) -> None:
        for node in nodes:
            if node.span is not None:
                others = self._by_span.setdefault(id(node.span), node)
                if isinstance(others, list):
                    others.append(node)
                elif others is not node:
                    self._by_span[id(node.span)] = [others, node]

    # ------------------------------------------------------------ asking
    def origin(self, node: Expr) -> Origin | None:
        """Return the origin of a node, looking through rebuilt nodes; None for a node of the input."""
        seen: set[Expr] = set()  # a pass may put back a node that an earlier one replaced: a cycle
        while node not in seen:
            seen.add(node)
            origin = self.origins.get(node)
            if origin is None or not origin.rebuilt or origin.old is None:
                return origin
            node = origin.old
        return None

    def maker(self, node: Expr) -> Event | None:
        """Return the pass that made a node; None for a node of the input."""
        origin = self.origin(node)
        return None if origin is None else origin.event

    def biography(self, node: Expr) -> Biography:
        """Return the history of a node, from the input or the pass that introduced it, to its last form."""
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
        while at in self.successors and self.successors[at][1] not in seen:
            event, at = self.successors[at]
            seen.add(at)
            chapter = self._chapter(at)
            forth.append(chapter if chapter.event is event else Chapter(event, at))  # an older node was the replacement
        last = forth[-1].node if forth else node
        return Biography((*back, *forth), len(back) - 1, self._is_alive(last))

    def follow(self, node: Expr, steps: Sequence[Event]) -> list[tuple[Event, list[Expr]]]:
        """Return for each step the nodes of its program that are a node, its ancestors, or its descendants."""
        older = set(self.ancestors(node))
        related: dict[Expr, bool] = {}
        followed: list[tuple[Event, list[Expr]]] = []
        for step in steps:
            nodes = []
            for function in step.after.functions.values():
                for other in post_order(function):
                    if other not in related:
                        related[other] = other in older or node in self.ancestors(other)
                    if related[other]:
                        nodes.append(other)
            followed.append((step, nodes))
        return followed

    def ancestors(self, node: Expr) -> list[Expr]:
        """Return a node and its ancestors, the newest first."""
        chain: dict[Expr, None] = {}  # in order, with a fast test for cycles
        at: Expr | None = node
        while at is not None and at not in chain:
            chain[at] = None
            origin = self.origins.get(at)
            part_of = at.tuple_value if isinstance(at, TupleGetItem) else None
            at = origin.old if origin else part_of  # a projection descends from its tuple
        return list(chain)

    def knows(self, mod: IRModule) -> bool:
        """Whether a program is one of those that were recorded."""
        return all(function in self._seen for function in mod.functions.values())

    def _chapter(self, node: Expr) -> Chapter:
        origin = self.origins.get(node)
        return Chapter(None, node) if origin is None else Chapter(origin.event, node, origin.rebuilt, origin.rule)

    def _is_alive(self, node: Expr) -> bool:
        if self._living is None:
            self._living = {n for function in self._last.functions.values() for n in post_order(function)}
        return node in self._living

    def blame(self, mod: IRModule, kinds: tuple[type, ...] = _BLAMED) -> Table:
        """Return a row for each node of some classes: function, node, its maker, and the node it replaced."""
        rows = []
        for name, function in mod.items():
            for node in post_order(function):
                if isinstance(node, kinds):
                    origin = self.origin(node)
                    maker = "input" if origin is None else f"{origin.event.id} {origin.event.name}"
                    old = "" if origin is None or origin.old is None else node_name(origin.old)
                    rows.append((f"@{name}", node_name(node), maker, old))
        return Table(("function", "node", "made_by", "came_from"), rows)


_NO_MATCHES = _StepMatches({}, {}, set())


def _changed_functions(event: Event) -> list[Function]:
    """Return the functions of the program before an event that it replaced or removed."""
    if not event.replaced:
        return []
    after = dict(event.after.items())
    return [function for name, function in event.before.items() if after.get(name) is not function]


def _operation(node: Expr) -> Any:
    """Return what two nodes share where a diff matches them: the operator, the kind of constant or of expression."""
    if type(node) is Call and type(node.op) is Op:
        return node.op
    if type(node) is Constant:
        return node.tensor_type  # without the array, which may be released
    return type(node)


def same_but_children(old: Expr, new: Expr) -> bool:
    """Whether two nodes differ at most by their children."""
    if type(old) is Call and type(new) is Call:
        return len(old.args) == len(new.args) and _same_call(old, new)
    return len(children(old)) == len(children(new)) and _differs_only_below(old, new)


def _differs_only_below(old: Expr, new: Expr) -> bool:
    test = _OWN_FIELDS_EQUAL.get(type(old))
    return type(old) is type(new) and (test is None or bool(test(old, new)))


def _same_call(a: Call, b: Call) -> bool:
    # Other callees are children, which are compared as such.
    same_op = a.op is b.op or not (isinstance(a.op, Op) or isinstance(b.op, Op))
    return same_op and (a.attrs is b.attrs or a.attrs == b.attrs)


_OWN_FIELDS_EQUAL: dict[type, Any] = {
    Call: _same_call,
    TupleGetItem: lambda a, b: a.index == b.index,
    Constant: lambda a, b: a.data is b.data or structural_equal(a, b, exact=True),
    Var: lambda a, b: a.name_hint == b.name_hint,
    Function: lambda a, b: a.attrs == b.attrs,
    Match: lambda a, b: len(a.clauses) == len(b.clauses),
}


def makers(provenance: Provenance, nodes: Iterable[Expr]) -> dict[Expr, Event | None]:
    """Return the maker of each node, for the gutter next to a printed program."""
    return {node: provenance.maker(node) for node in nodes}
