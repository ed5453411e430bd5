"""Who shows what printers print: a front-end that can do better than text on standard output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Presenter:
    """Shows what printers without a file print.

    `show` is given the printer after each step, and once more, with `whole`, when its context has ended.
    """

    show: Callable[[Any, bool], None] | None = None
