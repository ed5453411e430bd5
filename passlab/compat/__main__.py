"""`python -m passlab.compat script.py ...`: run a program written for TVM unchanged."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from passlab.compat import CompatError, install


def main(argv: list[str]) -> int:
    """Run the script `argv[0]` with the rest as its arguments, or a module with `-m`; return the exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        sys.stderr.write("usage: python -m passlab.compat SCRIPT [ARGUMENT ...]\n       ... -m MODULE [ARGUMENT ...]\n")
        return 0 if argv else 2
    try:
        install()
    except CompatError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if argv[0] == "-m" and len(argv) > 1:
        sys.argv = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    script = Path(argv[0])
    if not script.is_file():
        sys.stderr.write(f"error: there is no file {argv[0]}\n")
        return 2
    sys.argv = argv
    sys.path[0] = str(script.parent.resolve())
    runpy.run_path(argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
