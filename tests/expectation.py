"""Expectation files: an input, a line of dashes, and what passlab makes of it, all as text.

    def @main(%x: int32) { add(%x, 0) }
    ---
    def @main(%x: int32) -> int32 {
      %x
    }

`make bless` rewrites the expected part of every file whose test calls `expect`; the diff is then read by a person.
"""

from __future__ import annotations

from pathlib import Path

SEPARATOR = "---"


def split_expectation(text: str) -> tuple[str, str]:
    """The input and the expected output of one file's text. A file without a line of dashes expects nothing yet."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if line.strip() == SEPARATOR:
            return "".join(lines[:index]), "".join(lines[index + 1 :])
    return text, ""


def read_input(path: Path) -> str:
    """The part of an expectation file above the line of dashes."""
    return split_expectation(path.read_text(encoding="utf-8"))[0]


def check_expectation(path: Path, actual: str, *, bless: bool = False) -> None:
    """Compare `actual` with the expected part of `path`, or write it there when `bless` is true.

    Trailing blank lines do not count. Raises AssertionError with the difference.
    """
    inputs, expected = split_expectation(path.read_text(encoding="utf-8"))
    if bless:
        new = f"{inputs.rstrip()}\n{SEPARATOR}\n{actual.rstrip()}\n"
        path.write_text(new, encoding="utf-8")
        return
    assert actual.rstrip() == expected.rstrip(), f"{path.name}: not what is expected; if it is right, `make bless`"
