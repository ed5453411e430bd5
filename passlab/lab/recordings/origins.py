"""The origins of the nodes of a recording as numbers, in its files: what a loaded recording says is what it said.

Rewrites in files lack the nodes that a pass replaced again, so provenance cannot be derived from them a second time.
A node is written as a number: its place among the nodes of all programs, counted one program after the other, or a
negative number for a node of no program. A row says `NODE:EVENT:OLD:FLAGS:RULE:LENGTH`; it stands for as many nodes as
its length, whose numbers, and the numbers of older nodes, rise by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from passlab.instrument.events import Event
from passlab.ir.attrs import DictAttrs
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.op import find_op
from passlab.lab.recordings.provenance import Origin, Provenance
from passlab.lab.recordings.shared_nodes import valid_index

Row = tuple[int, int, int | None, int, int]  # a node, an event, an older node, flags, a rule
LOST = "(not in the program)"
_REBUILT, _PART, _SURE = 1, 2, 4


class NodeNumbers:
    """The numbers of nodes: places in the programs, and numbers below zero for `lost` nodes, which are added here."""

    def __init__(self, programs: Iterable[Sequence[Expr]], lost: dict[Expr, int]) -> None:
        self.lost = lost
        self._numbers: dict[Expr, int] = {}
        at = 0
        for nodes in programs:
            for node in nodes:
                self._numbers.setdefault(node, at)
                at += 1

    def of(self, node: Expr) -> int:
        """Return the number of a node."""
        number = self._numbers.get(node)
        return number if number is not None else -1 - self.lost.setdefault(node, len(self.lost))


def origin_data(provenance: Provenance, events: dict[int, int], numbers: NodeNumbers) -> dict[str, Any]:
    """Return the JSON of a provenance; `events` maps events, by identity, to their numbers."""
    rules: dict[str, int] = {"": 0}

    def origin_row(node: Expr, origin: Origin) -> Row:
        flags = _REBUILT * origin.rebuilt + _PART * origin.part + _SURE * origin.sure
        old = None if origin.old is None else numbers.of(origin.old)
        return numbers.of(node), events[id(origin.event)], old, flags, rules.setdefault(origin.rule, len(rules))

    origins = _runs(origin_row(node, origin) for node, origin in provenance.origins.items())
    after = _runs(
        (numbers.of(old), events[id(event)], numbers.of(new), 0, 0)
        for old, (event, new) in provenance.successors.items()
    )
    guesses = _runs((numbers.of(node), 0, numbers.of(old), 0, 0) for node, old in provenance.guesses.items())
    return {"origins": origins, "successors": after, "guesses": guesses, "rules": list(rules)}


def read_provenance(
    data: dict[str, Any],
    programs: Sequence[Sequence[Expr]],
    events: Sequence[Event],
    lost: dict[int, Expr],
    copies: dict[Expr, Expr],
) -> Provenance:
    """Return the provenance of a file; `copies` are nodes that were one with an older node, which text did not keep.

    Raises `ValueError`, `IndexError` or `KeyError` for numbers of nodes, events or rules that do not exist.
    """
    nodes = [node for program in programs for node in program]

    def node_at(number: int) -> Expr:
        return nodes[number] if number >= 0 else lost[-1 - number]

    def event_at(number: int) -> Event:
        return events[valid_index(number)]

    rules = [*map(str, data["rules"])]
    origins: dict[Expr, Origin] = {}
    for node, event, old, flags, rule in _rows(data["origins"]):
        older = None if old is None else node_at(old)
        rebuilt, part, sure = (bool(flags & flag) for flag in (_REBUILT, _PART, _SURE))
        origins[node_at(node)] = Origin(event_at(event), older, rebuilt, rules[valid_index(rule)], part, sure)
    successors = {
        node_at(node): (event_at(event), node_at(new))
        for node, event, new, _, _ in _rows(data["successors"])
        if new is not None
    }
    guesses = {node_at(node): node_at(old) for node, _, old, _, _ in _rows(data["guesses"]) if old is not None}
    origins |= {node: origins[older] for node, older in copies.items() if older in origins and node not in origins}
    last = [event for event in events if event.depth == 0][-1].after
    return Provenance.restored(origins, successors, guesses, {*nodes, *lost.values()}, last)


def _runs(rows: Iterable[Row]) -> str:
    """Return rows as text, where those that follow each other are one."""
    runs: list[list[Any]] = []
    for row in sorted(rows, key=lambda row: row[0]):
        node, event, old, flags, rule = row
        if runs:
            first, same_event, older, same_flags, same_rule, length = runs[-1]
            next_old = None if older is None else older + length
            if (first + length, same_event, next_old, same_flags, same_rule) == row:
                runs[-1][-1] += 1
                continue
        runs.append([node, event, old, flags, rule, 1])
    return " ".join(":".join("" if part is None else str(part) for part in run) for run in runs)


def _rows(text: str) -> Iterator[Row]:
    for run in text.split():
        node, event, old, flags, rule, length = run.split(":")
        for step in range(int(length)):
            older = int(old) + step if old else None
            yield int(node) + step, int(event), older, int(flags), int(rule)


def lost_node(kind: str) -> Expr:
    """Return a node that stands for one that is in no program, of the operator or kind that `node_name` has."""
    var = Var(LOST, None)
    if kind == "fused function":
        return Function([], var, attrs=DictAttrs({"Primitive": 1}))
    if (make := _KINDS.get(kind)) is not None:
        return make(var)
    op = find_op(kind)
    return var if op is None else Call(op, ())


_KINDS: dict[str, Callable[[Var], Expr]] = {
    "call": lambda var: Call(var, ()),
    "constant": lambda var: Constant(0.0),
    "function": lambda var: Function([], var),
    "globalvar": lambda var: GlobalVar(LOST),
    "if": lambda var: If(var, var, var),
    "let": lambda var: Let(var, var, var),
    "match": lambda var: Match(var, ()),
    "projection": lambda var: TupleGetItem(var, 0),
    "ref": RefCreate,
    "ref_read": RefRead,
    "ref_write": lambda var: RefWrite(var, var),
    "tuple": lambda var: Tuple(()),
}
