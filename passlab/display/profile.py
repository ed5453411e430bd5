"""The view of where the time of a run went: a row for each kernel, with a bar, and memory over time as a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.display.html import Markup, picture, tag
from passlab.display.palette import BOX, CELL, HEAD, HUES, MUTED, NUMBER, PROSE, TABLE
from passlab.display.timing import bar
from passlab.display.view import View, cap
from passlab.table import text_table
from passlab.vm.report import Report, Row

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("kernel", "time ms", "share", "count", "shapes", "bytes")
WIDTH, HEIGHT = 640, 48  # of the drawing of memory


class ProfileView(View):
    """What each kernel of a run took, the longest first."""

    kind = "profile"

    def __init__(self, report: Report) -> None:
        self.report = report

    @cached_property
    def rows(self) -> list[Row]:
        """The kernels of one name and shapes as one row, the longest first."""
        return self.report.rows()

    @property
    def whole(self) -> float:
        """Microseconds of all events together."""
        return float(sum(row["Duration (us)"] for row in self.rows))

    def text(self) -> str:
        rows = [
            (row["Name"], row["Count"], row["Argument Shapes"], row.get("Bytes", "")) for row in self.report.rows(False)
        ]
        table = text_table(("kernel", "count", "shapes", "bytes"), rows).split("\n") if rows else ["nothing was run"]
        if self.report.memory:
            table.append(self._memory_said())
        return cap(table, "frame() has a row for each")

    def _memory_said(self) -> str:
        return f"at most {self.report.peak_bytes:,} bytes alive at once, of {self.report.allocated_bytes:,} allocated"

    def html(self) -> Markup:
        longest = max((float(row["Duration (us)"]) for row in self.rows), default=0.0)
        looks = [HEAD, *[f"{HEAD};{NUMBER}"] * 3, HEAD, f"{HEAD};{NUMBER}"]
        head = tag("thead", tag("tr", *[tag("th", name, style=look) for name, look in zip(NAMES, looks, strict=True)]))
        body = tag("tbody", *[_html_row(row, longest) for row in self.rows])
        title = f"{len(self.report.calls):,} events, {self.whole / 1000:.2f} ms"
        table = tag("table", head, body, style=f"{TABLE};width:100%")
        parts = [tag("div", title, style=f"{PROSE};color:{MUTED}"), tag("div", table, style=BOX)]
        if self.report.memory:
            parts.append(tag("div", self._memory_said(), style=f"{PROSE};color:{MUTED}"))
            parts.append(picture(_memory_drawing(self.report.memory, len(self.report.calls)), alt="memory over time"))
        return tag("div", *parts)

    def data(self) -> dict[str, Any]:
        rows = [
            [row["Name"], round(row["Duration (us)"], 3), row["Count"], row["Argument Shapes"]] for row in self.rows
        ]
        memory = [list(point) for point in self.report.memory]
        return {"kind": self.kind, "title": f"{len(rows)} kernels", "rows": rows, "memory": memory}

    def frame(self) -> pd.DataFrame:
        """Return one row per kernel and shapes."""
        return self.report.frame()


def profile_view(report: Report) -> ProfileView:
    """Return the view of the report of a profiler."""
    return ProfileView(report)


def _html_row(row: Row, longest: float) -> Markup:
    size = row.get("Bytes", "")
    return tag(
        "tr",
        tag("td", row["Name"], style=CELL),
        tag("td", bar(row["Duration (us)"] / 1e6, longest / 1e6), style=f"{CELL};width:160px"),
        tag("td", f"{row['Percent']:.1f}%", style=f"{CELL};{NUMBER}"),
        tag("td", f"{row['Count']:,}", style=f"{CELL};{NUMBER}"),
        tag("td", row["Argument Shapes"], style=CELL),
        tag("td", f"{size:,}" if isinstance(size, int) else str(size), style=f"{CELL};{NUMBER}"),
        style="background:transparent",
    )


def _memory_drawing(memory: Sequence[tuple[int, int]], events: int) -> Markup:
    """Return the bytes alive after each event as a staircase; of many events beside each other the highest."""
    most = max(live for _, live in memory) or 1
    highest: dict[int, int] = {}
    for event, live in memory:
        column = WIDTH * event // max(events, 1)
        highest[column] = max(live, highest.get(column, 0))
    points: list[tuple[float, float]] = [(0.0, float(HEIGHT))]
    for at, live in highest.items():
        points += ((at, points[-1][1]), (at, HEIGHT - (HEIGHT - 2) * live / most))
    points += ((float(WIDTH), points[-1][1]), (float(WIDTH), float(HEIGHT)))
    path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points) + " Z"
    shape = tag("path", d=path, fill=HUES["blue"])
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", shape, xmlns="http://www.w3.org/2000/svg", viewBox=box, width=WIDTH, height=HEIGHT)


__all__ = ["ProfileView", "profile_view"]
