"""`Memento`: the nodes of a program and what they contained, to see whether a pass changed them, and to undo it.

`UnchangedInput` is the instrument of the searches in `lab` that does so around every pass.

Nodes are immutable, and the arrays of constants read-only. A pass that goes around that (`object.__setattr__`,
`setflags`) changes every program that shares the node: snapshots, recordings, and the program of the user.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, VerifyError
from passlab.instrument.base import PassInstrument
from passlab.instrument.per_run import PerRun
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Constant, Expr, Match
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order
from passlab.op.dtypes import Array
from passlab.transform.pass_info import PassInfo

MOST_COPIED = 1 << 16  # bytes up to which the array of a constant is copied, so that it can be put back
_DIGESTED = 1 << 18  # bytes at the beginning, in the middle and at the end of a larger array, of which the checksum is


Slots = tuple[Any, tuple[str, ...], tuple[Any, ...]]  # an object, the names of its fields, and their values


class Memento:
    """Keeps the fields of all nodes, clauses and attributes of a program, and checksums of its constants.

    Making and comparing it is linear in the nodes.
    """

    def __init__(self, mod: IRModule) -> None:
        self._nodes: list[tuple[Expr, list[Slots]]] = []
        self._arrays: list[tuple[Constant, int, Array | None]] = []
        for node in post_order(*mod.functions.values()):
            if type(node) is Constant:
                small = node.data.nbytes <= MOST_COPIED
                self._arrays.append((node, _checksum(node.data), node.data.copy() if small else None))
            elif node.field_names:
                self._nodes.append((node, [_slots(part, names) for part, names in _parts(node)]))

    def changed(self) -> list[Expr]:
        """Return the nodes whose fields or numbers are no longer what they were."""
        nodes: list[Expr] = [node for node, slots in self._nodes if any(map(_is_changed, slots))]
        return nodes + [node for node, checksum, _ in self._arrays if _checksum(node.data) != checksum]

    def restore(self) -> list[Expr]:
        """Put everything back and return the nodes that had changed; large arrays stay as they are now."""
        changed = self.changed()
        if not changed:
            return changed
        for _, slots in self._nodes:
            for part, names, values in filter(_is_changed, slots):
                for name, value in zip(names, values, strict=True):
                    object.__setattr__(part, name, dict(value) if isinstance(value, dict) else value)
        for constant, _, copy in self._arrays:
            if copy is not None and _checksum(constant.data) != _checksum(copy):
                constant.data.flags.writeable = True
                constant.data[...] = copy
                constant.data.flags.writeable = False
        return changed


def _parts(node: Expr) -> list[tuple[Any, Sequence[str]]]:
    """Return a node, its attributes and its clauses, which may all be changed, with the names of their fields."""
    parts: list[tuple[Any, Sequence[str]]] = [(node, [slot_of(node, name) for name in node.field_names])]
    attrs = getattr(node, "attrs", None)
    if isinstance(attrs, DictAttrs):
        parts.append((attrs, ("_dict",)))
    elif isinstance(attrs, Attrs):
        parts.append((attrs, attrs.keys()))
    if isinstance(node, Match):
        parts += [(clause, ("lhs", "rhs")) for clause in node.clauses]
    return parts


def slot_of(node: Expr, name: str) -> str:
    """Return the name of the slot that holds a field of a node: another one where the field is a property."""
    return f"_{name}" if isinstance(getattr(type(node), name), property) else name


def _slots(part: Any, names: Sequence[str]) -> Slots:
    values = (getattr(part, name) for name in names)
    return part, tuple(names), tuple([dict(v) if isinstance(v, dict) else v for v in values])


def _is_changed(slots: Slots) -> bool:
    part, names, values = slots
    return any((now := getattr(part, name)) is not v and now != v for name, v in zip(names, values, strict=True))


def _checksum(array: Array) -> int:
    # As bytes: a view is not a copy, and every dtype has one.
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if len(data) <= 3 * _DIGESTED:
        return zlib.crc32(data.data)
    starts = (0, len(data) // 2, len(data) - _DIGESTED)
    return zlib.crc32(np.concatenate([data[start : start + _DIGESTED] for start in starts]).data)


def changed_text(nodes: Sequence[Expr]) -> str:
    """Name the nodes that a pass changed, as in `subtract`, a constant."""
    names = dict.fromkeys("a constant" if isinstance(n, Constant) else f"`{node_name(n)}`" for n in nodes)
    return ", ".join(list(names)[:3]) + (", ..." if len(names) > 3 else "")


def input_problem(nodes: Sequence[Expr]) -> str:
    """Return the end of a sentence about a pass that changed nodes of its input."""
    return f"changed the program that it was given: {changed_text(nodes)}"


class UnchangedInput(PassInstrument):
    """Raises `VerifyError` after a pass that changed nodes of its input, and puts them back."""

    def __init__(self) -> None:
        super().__init__()
        self._running: PerRun[Memento] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin(Memento(mod))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        memento = self._running.end()
        if memento is not None and (nodes := memento.restore()):
            raise VerifyError(Diagnostic(f"the pass `{info.name}` {input_problem(nodes)}"))

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        memento = self._running.end()
        if memento is not None:
            memento.restore()
