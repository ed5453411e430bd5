"""The fifth of many similar tests that is due at this commit. Five commits in a row run all of them.

- `rotating`: a long law, over a registry or over what users do, while a change rarely touches more than a few subjects.
  The other four fifths wait for `make nightly`. So do most tests of views in a browser. At each commit run the first lesson
  in JupyterLab and a view of each kind; what else is tried in JupyterLab is nightly. `rotating(parts=15)`: a fifteenth is
  due, of what takes a second for each subject; of tests in a browser, a tenth.
- `in_parts`: nightly tests of thousands of generated programs, or of every planted fault. The other four fifths wait for
  the next commits; `--every-part` runs all.

The same commit always runs the same.
"""

from __future__ import annotations

import subprocess
import zlib
from functools import cache
from pathlib import Path

PARTS = 5
ROOT = Path(__file__).resolve().parent.parent


def is_due(name: str, parts: int = PARTS) -> bool:
    """Whether the test of this name is to be run at this commit."""
    return is_turn(zlib.crc32(name.encode()), parts)


def is_turn(number: int, parts: int = PARTS) -> bool:
    """Whether the parts of this number are to be run at this commit."""
    return number % parts == commit_count() % parts


@cache
def commit_count() -> int:
    """How many commits lead to this one; 0 in a copy without history."""
    command = ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"]
    try:
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return 0
