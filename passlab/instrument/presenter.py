"""`Presenter`: a hook by which a front-end, such as a notebook, shows the output of printers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Presenter:
    """Shows the output of printers without a file.

    `show(printer, whole)` is called after each step with False, and when the context ends with True.
    """

    show: Callable[[Any, bool], None] | None = None
