"""A progress bar under a cell for a pipeline or a search, shown after half a second and removed at the end.

Without an interactive front-end, as when nbconvert runs a notebook, no progress is shown, so stored outputs contain no
times.
"""

from __future__ import annotations

import math
import sys
from contextvars import copy_context
from threading import Lock, Timer
from time import monotonic
from typing import Any

from IPython import get_ipython
from IPython.display import display

from passlab.display.html import Markup, tag
from passlab.display.palette import BLUE, MUTED, NUMBER, PROSE
from passlab.errors import visible
from passlab.instrument.progress import ProgressInstrument

PATIENCE = 0.5  # seconds before the first line
PAUSE = 0.2  # seconds between two


class Progress:
    """Shows stages of a search inside a `with` block."""

    def __init__(self) -> None:
        self._started = self._last = monotonic()
        self._handle: Any = None
        self._lock = Lock()  # a timer thread shows passes that take long
        self._ended = not is_watched()
        self._timer: Timer | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._handle is not None:
                self._handle.update(ProgressLine())

    def wait_for(self, stage: str, text: str) -> Progress:
        """Show one stage if it still lasts after `PATIENCE`: for what tells nothing itself, such as a run."""
        if not self._ended:
            context = copy_context()  # in which outputs belong to this cell, for the timer's thread
            self._timer = Timer(PATIENCE, lambda: context.run(self.show, stage, text))
            self._timer.daemon = True
            try:
                self._timer.start()
            except RuntimeError:  # there are no threads on this platform
                self._timer = None
        return self

    def show(self, stage: str, text: str, left: float = math.inf, part: float | None = None) -> None:
        """Show the current stage, the seconds left at most, and the part that is done (None if unknown)."""
        now = monotonic()
        passed = now - self._started
        if part is None and math.isfinite(left):
            part = passed / (passed + left) if passed + left else 1.0
        with self._lock:
            if self._ended or passed < PATIENCE or (self._handle is not None and now - self._last < PAUSE):
                return
            self._last = now
            rest = f"at most {left:.0f} s more" if math.isfinite(left) else ""
            line = ProgressLine(visible(f"{stage} {text}" if stage == "pass" else f"{stage}: {text}"), rest, part)
            if self._handle is None:
                self._handle = display(line, display_id=True)
            else:
                self._handle.update(line)


class ProgressLine:
    """The current stage with a bar; without text, nothing."""

    def __init__(self, text: str = "", rest: str = "", part: float | None = None) -> None:
        self.text, self.rest, self.part = text, rest, part

    def __repr__(self) -> str:
        return ", ".join(filter(None, (self.text, self.rest)))

    def _repr_html_(self) -> str:
        if not self.text:
            return str(tag("div", style="display:none"))
        done = None if self.part is None else round(100 * min(1.0, max(0.0, self.part)))
        track = "flex:0 0 180px;height:6px;border-radius:3px;overflow:hidden;background:rgba(128,128,128,.22)"
        filled = tag("span", style=f"display:block;width:{done}%;height:100%;border-radius:3px;background:{BLUE}")
        bar = Markup("") if done is None else tag("span", filled, style=track)
        words = tag("span", self.text, style="min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap")
        rest = tag("span", self.rest, style=f"color:{MUTED};{NUMBER};white-space:nowrap")
        look = f"{PROSE};display:flex;flex-wrap:wrap;gap:4px 12px;align-items:center;padding:4px 0"
        spoken = {"role": "progressbar", "aria_label": self.text, "aria_valuenow": done}
        return str(tag("div", bar, words, rest, style=look, **spoken))


class PassProgress(ProgressInstrument):
    """Shows on a bar which pass of the outermost pipeline is running."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(after=PATIENCE, bar=False)
        self._progress = progress
        self._context = copy_context()  # in which outputs belong to this cell, for the timer's thread

    def _draw(self) -> None:
        if self._lines:
            number, total, name = self._lines[-1]
            self._context.copy().run(
                self._progress.show, "pass", f"{number} of {total}: {name}", part=(number - 1) / total
            )


def is_watched() -> bool:
    """Whether somebody may be waiting for a cell: the front-end accepts input requests, or there is a terminal."""
    kernel = getattr(get_ipython(), "kernel", None)
    return bool(getattr(kernel, "_allow_stdin", False)) if kernel is not None else sys.stderr.isatty()
