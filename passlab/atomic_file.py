"""Files that are complete or not there: no reader, and no error in between, leaves half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path for the block to write; it is renamed to `path` at the end, or removed after an error.

    An older file at `path` stays as it was until then. Raises `OSError` where the folder cannot be written.
    """
    # In the same folder, since a file can be renamed in one step only within a file system.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
