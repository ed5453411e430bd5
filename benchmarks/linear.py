"""Is it linear? Parse, infer, print, compare and hash programs of 10,000 to 1,000,000 operators.

    python -m benchmarks.linear [--sizes 10000,100000,1000000] [--shapes calls,lets] [--json FILE]

Two shapes, of nested calls and of nested lets. Figures are microseconds of processor time an operator; linear means
that the figure of the largest program is no more than half as much again as that of the one before it. (The smallest
ones fit into the caches of the processor, which says nothing of the algorithm.)
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

from benchmarks.calibrate import argument_parser, calibrate, write_record
from benchmarks.chains import calls, lets
from passlab import limits
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal, structural_hash
from passlab.text.parser import parse

GROWTH = 1.5
SHAPES = {"calls": calls, "lets": lets}


def timed(job: Callable[[], Any], per: float) -> tuple[float, Any]:
    """Return microseconds an operator, and what the job returned."""
    gc.collect()
    start = process_time()
    result = job()
    return (process_time() - start) * per, result


def measure(text: str, n: int) -> dict[str, float]:
    """Return step -> microseconds an operator."""
    per, out = 1e6 / n, {}
    out["parse"], mod = timed(lambda: parse(text), per)
    out["infer"], mod = timed(lambda: infer_module(mod), per)
    out["infer again"], mod = timed(lambda: infer_module(mod), per)
    out["print"], printed = timed(mod.astext, per)
    del printed
    other = infer_module(parse(text))
    out["structural_equal"], equal = timed(lambda: structural_equal(mod, other), per)
    assert equal
    out["structural_hash"], _ = timed(lambda: structural_hash(mod), per)
    return out


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "linear")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--shapes", default="calls,lets")
    options = parser.parse_args(argv)
    sizes = [int(size) for size in options.sizes.split(",")]
    shapes = [SHAPES[name] for name in options.shapes.split(",")]
    if len(sizes) < 2:
        parser.error("growth is seen between two sizes: name more than one")
    machine = calibrate()
    results: dict[str, dict[str, float]] = {}
    with limits.override(text_bytes=1 << 30):
        for shape in shapes:
            for n in sizes:
                results[f"{shape.__name__} {n}"] = measure(shape(n), n)
                gc.collect()
    print(f"microseconds an operator; this machine is {machine.slowness:.2f} times slower than the reference machine")
    for shape in shapes:
        print(f"\n{shape.__name__:20}" + "".join(f"{n:>12}" for n in sizes) + "      growth")
        for step in results[f"{shape.__name__} {sizes[0]}"]:
            figures = [results[f"{shape.__name__} {n}"][step] for n in sizes]
            growth = figures[-1] / figures[-2] if figures[0] > 0.05 else 1.0  # below that it is constant time
            held = "linear" if growth <= GROWTH else "MISSED"
            print(f"  {step:18}" + "".join(f"{figure:12.2f}" for figure in figures) + f"{growth:12.2f}   {held}")
    write_record(options.json, results, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
