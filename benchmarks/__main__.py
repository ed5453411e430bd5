"""Run the benchmarks: `python -m benchmarks [NAME ...]`, all of them without names. Records go to benchmarks/out."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "compile_time",
    "chains",
    "linear",
    "growth",
    "recording",
    "kernels",
    "vm_time",
    "memory_plan",
    "time_travel",
    "operators",
    "all_operators",
    "memory",
    "searches",
    "start",
    "explorer",
    "first_paint",
    "lab_paint",
    "saved_notebook",
    "dumps",
    "dump_noise",
    "culprit",
    "simplify",
)


def main() -> int:
    """Run the named benchmarks one after the other."""
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            print(f"there is no benchmark `{name}`; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
            return 2
        print(f"\n==== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main([])
    return 0


if __name__ == "__main__":
    sys.exit(main())
