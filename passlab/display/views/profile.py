"""The view of a profile: a row for each kernel, with a bar for its time, and memory over time as a curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from passlab.display.html import Markup, tag
from passlab.display.palette import HUES
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Drawing, HtmlOnly, Part, Sentence
from passlab.table import Table
from passlab.vm.report import Report, Row

NAMES = ("kernel", "seconds", "percent", "calls", "shapes", "bytes")
WIDTH, HEIGHT = 640, 48  # of the drawing of memory


class ProfileView(View):
    """The time of each kernel of a run, the longest first."""

    kind = "profile"

    def __init__(self, report: Report) -> None:
        self.report = report

    @cached_property
    def rows(self) -> list[Row]:
        """The kernels of one name and shapes as one row, the longest first."""
        return self.report.rows()

    @property
    def whole_time(self) -> float:
        """Microseconds of all events together."""
        return float(sum(row["Duration (us)"] for row in self.rows))

    @property
    def title(self) -> str:
        """How many kernels ran."""
        return f"{len(self.rows)} kernels"

    def parts(self) -> Iterable[Part]:
        yield HtmlOnly(Sentence(f"{len(self.report.calls):,} events, {self.whole_time / 1000:.2f} ms", "muted"))
        if self.rows:
            table = Table(NAMES, map(_row, self.report.rows(False)))
            yield Rows(table, bars=("seconds",), measured=("seconds", "percent"), longest_first="seconds")
        else:
            yield Sentence("nothing was run", "muted")
        if self.report.memory:
            peak, allocated = self.report.peak_bytes, self.report.allocated_bytes
            yield Sentence(f"at most {peak:,} bytes alive at once, of {allocated:,} allocated", "muted")
            memory, events = self.report.memory, len(self.report.calls)
            yield HtmlOnly(Drawing(lambda: _memory_drawing(memory, events), "memory over time"))

    def data(self) -> dict[str, Any]:
        rows = [
            [row["Name"], round(row["Duration (us)"], 3), row["Count"], row["Argument Shapes"]] for row in self.rows
        ]
        memory = [list(point) for point in self.report.memory]
        return {"kind": self.kind, "title": self.title, "rows": rows, "memory": memory}

    def source(self) -> HasFrame:
        """Return one row per kernel and shapes."""
        return self.report


@checked_view(Report, hint="`profile` of a compiled module returns one")
def profile_view(report: Report) -> ProfileView:
    """Return the view of the report of a profiler.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> report = vm.VirtualMachineProfiler(exe).profile(np.float32(1))
    >>> type(display.profile_view(report)).__name__
    'ProfileView'
    """
    return ProfileView(report)


def _row(row: Row) -> tuple[Any, ...]:
    seconds, percent = row["Duration (us)"] / 1e6, row["Percent"]
    return row["Name"], seconds, percent, row["Count"], row["Argument Shapes"], row.get("Bytes", "")


def _memory_drawing(memory: Sequence[tuple[int, int]], events: int) -> Markup:
    """Return the live bytes after each event as a step curve; of events in one column of pixels, the highest."""
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
