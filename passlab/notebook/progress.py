"""One line under a cell that says how far a search has come, from half a second on; it goes when the search ends."""

from __future__ import annotations

import math
from time import monotonic
from typing import Any

from IPython.display import display

from passlab.errors import visible

PATIENCE = 0.5  # seconds before the first line
PAUSE = 0.2  # seconds between two


class Progress:
    """Shows stages of a search inside a `with` block."""

    def __init__(self) -> None:
        self._started = self._last = monotonic()
        self._handle: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.update(_Line(""))

    def show(self, stage: str, text: str, left: float) -> None:
        """Say what is being done, and how many seconds are left at most."""
        now = monotonic()
        if now - self._started < PATIENCE or (self._handle is not None and now - self._last < PAUSE):
            return
        self._last = now
        rest = f", at most {left:.0f} s more" if math.isfinite(left) else ""
        line = _Line(visible(f"{stage}: {text}{rest}"))
        if self._handle is None:
            self._handle = display(line, display_id=True)
        else:
            self._handle.update(line)


class _Line:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


__all__ = ["Progress"]
