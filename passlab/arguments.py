"""Numbers that a user gives: as options of commands and magics, and as seeds of functions."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, PassTypeError

SEED_IS = "a seed is a whole number from 0 on"


def _from(kind: type[int] | type[float], least: float, what: str) -> Callable[[str], Any]:
    """Return the type of an option that takes numbers from a least one on."""

    def read(text: str) -> int | float:
        try:
            number = kind(text)
        except ValueError:
            number = kind(-1)
        if not number >= least:  # NaN is not either
            raise ArgumentTypeError(f"{what}; found {text!r}")
        return number

    return read


seed = _from(int, 0, SEED_IS)
count = _from(int, 1, "expected a whole number from 1 on")
count_or_none = _from(int, 0, "expected a whole number from 0 on")
seconds = _from(float, 0, "expected a time from 0 on")


def check_seed(value: Any) -> None:
    """Raise `PassTypeError` for a seed that is not a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise PassTypeError(Diagnostic(SEED_IS, found=repr(value)))
