"""The fifth of a law over a registry that is due: the tests of the other four wait for `make nightly`.

A law that holds for every operator or every pass takes long, and a change rarely touches more than a few of them. Which
fifth is due changes with each commit, so that five commits in a row have run all; the same commit always runs the same.
"""

from __future__ import annotations

import subprocess
import zlib
from functools import cache
from pathlib import Path

PARTS = 5
ROOT = Path(__file__).resolve().parent.parent


def is_due(name: str) -> bool:
    """Whether the law is to be run for this subject at this commit."""
    return zlib.crc32(name.encode()) % PARTS == commit_count() % PARTS


@cache
def commit_count() -> int:
    """How many commits lead to this one; 0 in a copy without history."""
    command = ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"]
    try:
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return 0
