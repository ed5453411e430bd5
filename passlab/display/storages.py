"""The view of the memory of a run: a bar for each storage, from the instant of its allocation to its end.

Storages that would share memory in a pool stand in one lane.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, MUTED, PROSE
from passlab.display.view import View, cap

if TYPE_CHECKING:
    import pandas as pd

    from passlab.debugger.storage_map import Allocation, StorageMap

_COLUMNS = 60  # characters that the bars of the text form have
_ROW = 20  # pixels of a lane
_MOST = 200  # lanes drawn
_SHADES = ("rgba(56,139,253,.30)", "rgba(63,185,80,.30)", "rgba(210,153,34,.30)", "rgba(163,113,247,.30)")


class StoragesView(View):
    """When each storage of a run was alive."""

    kind = "storages"

    def __init__(self, storage: StorageMap) -> None:
        self.storage = storage

    @property
    def title(self) -> str:
        """How many storages there were, and the most bytes alive at once."""
        peak, instant = self.storage.peak
        count = len(self.storage)
        return (
            f"{count:,} {'storage' if count == 1 else 'storages'}, at most {peak:,} bytes alive (instant {instant:,})"
        )

    @cached_property
    def lanes(self) -> list[list[Allocation]]:
        """The storages by the piece of memory that they would share in a pool."""
        lanes: dict[int, list[Allocation]] = {}
        for allocation in self.storage.allocations:
            lanes.setdefault(allocation.lane, []).append(allocation)
        return [lanes[lane] for lane in sorted(lanes)]

    def _part(self, instant: int, whole: float) -> float:
        return whole * instant / max(1, self.storage.length)

    def text(self) -> str:
        lines = [self.title, ""]
        for number, lane in enumerate(self.lanes):
            row = [" "] * _COLUMNS
            for allocation in lane:
                start = min(_COLUMNS - 1, int(self._part(allocation.born, _COLUMNS)))
                end = max(start + 1, int(self._part(allocation.died, _COLUMNS)))
                row[start:end] = list("█" * (min(end, _COLUMNS) - start))
            sizes = ", ".join(f"{allocation.bytes:,}" for allocation in lane)
            lines.append(f"{number:>3} |{''.join(row)}| {sizes}")
        return cap(lines, "frame() has a row for each storage")

    def html(self) -> Markup:
        bars = [self._bar(allocation, row) for row, lane in enumerate(self.lanes[:_MOST]) for allocation in lane]
        height = max(1, min(len(self.lanes), _MOST)) * _ROW
        chart = tag("div", *bars, style=f"position:relative;height:{height}px;min-width:480px")
        note = f"{self.title}; time runs to the right, bars in one row share memory"
        return tag(
            "div", tag("div", note, style=f"{PROSE};color:{MUTED}"), tag("div", chart, style=f"{BOX};padding:6px")
        )

    def _bar(self, allocation: Allocation, row: int) -> Markup:
        left = self._part(allocation.born, 100.0)
        width = max(0.6, self._part(allocation.died, 100.0) - left)
        look = (
            f"position:absolute;left:{left:.2f}%;width:{width:.2f}%;top:{row * _ROW}px;height:{_ROW - 3}px;"
            f"background:{_SHADES[allocation.number % len(_SHADES)]};border:1px solid rgba(128,128,128,.45);"
            f"border-radius:3px;box-sizing:border-box;overflow:hidden;white-space:nowrap;padding:0 4px;{PROSE};"
            f"font-size:11px;line-height:{_ROW - 5}px"
        )
        return tag("div", f"{allocation.bytes:,}", style=look, title=str(allocation))

    def data(self) -> dict[str, Any]:
        rows = [[a.number, a.born, a.died, a.bytes, a.lane] for a in self.storage.allocations]
        return {"kind": self.kind, "title": self.title, "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return one row per storage."""
        import pandas as pd

        return pd.DataFrame(self.data()["rows"], columns=["storage", "born", "died", "bytes", "lane"])


def storages_view(storage: StorageMap) -> StoragesView:
    """Return the view of the memory of a run over time: `storages_view(trace.storage)`."""
    return StoragesView(storage)


__all__ = ["StoragesView", "storages_view"]
