"""The view of the memory of a run: a bar for each storage, from the instant of its allocation to its end.

Storages that would share memory in a pool stand in one lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from passlab.debugger.storage_map import Allocation, StorageMap
from passlab.display.lanes import Bar, Lanes
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Gap, Part, Sentence
from passlab.errors import counted
from passlab.table import Table

_SHADES = ("rgba(56,139,253,.30)", "rgba(63,185,80,.30)", "rgba(210,153,34,.30)", "rgba(163,113,247,.30)")


class StoragesView(View):
    """When each storage of a run was alive."""

    kind = "storages"
    whole = "frame() has a row for each storage"

    def __init__(self, storage: StorageMap) -> None:
        self.storage = storage

    @property
    def title(self) -> str:
        """How many storages there were, and the most bytes alive at once."""
        peak, instant = self.storage.peak
        return f"{counted(len(self.storage), 'storage')}, at most {peak:,} bytes alive (instant {instant:,})"

    @cached_property
    def lanes(self) -> list[list[Allocation]]:
        """The storages by the piece of memory that they would share in a pool."""
        lanes: dict[int, list[Allocation]] = {}
        for allocation in self.storage.allocations:
            lanes.setdefault(allocation.lane, []).append(allocation)
        return [lanes[lane] for lane in sorted(lanes)]

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        yield Gap()
        yield Lanes(list(self._bars()), "time runs to the right, bars in one row share memory")

    def _bars(self) -> Iterator[Bar]:
        whole = max(1, self.storage.length)
        for row, lane in enumerate(self.lanes):
            for one in lane:
                left, width = 100 * one.born / whole, 100 * (one.died - one.born) / whole
                yield Bar(row, left, max(0.6, width), f"{one.bytes:,}", str(one), _SHADES[one.number % len(_SHADES)])

    def data(self) -> dict[str, Any]:
        rows = [[a.number, a.born, a.died, a.bytes, a.lane] for a in self.storage.allocations]
        return {"kind": self.kind, "title": self.title, "rows": rows}

    def source(self) -> HasFrame:
        """Return one row per storage."""
        return Table(("storage", "born", "died", "bytes", "lane"), self.data()["rows"])


@checked_view(StorageMap, hint="`storage` of a trace is one")
def storages_view(storage: StorageMap) -> StoragesView:
    """Return the view of the memory of a run over time: `storages_view(trace.storage)`.

    >>> dbg = passlab.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(2))
    >>> print(display.storages_view(dbg.trace.storage).text().splitlines()[0])
    1 storage, at most 4 bytes alive (instant 2)
    """
    return StoragesView(storage)
