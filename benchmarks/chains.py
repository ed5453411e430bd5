"""Cost per operator on long chains: parse, infer, print, transform, evaluate; it must not grow with the length.

    python -m benchmarks.chains [--sizes 1000,10000,100000] [--json FILE]

Two shapes: one expression of N nested calls, and N nested lets. Microseconds an operator, default recursion limit.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import passlab
from benchmarks.calibrate import argument_parser, calibrate, median_ms, write_record
from passlab import relay, transform
from passlab.infer import infer_module
from passlab.text.parser import parse as parse_only

GOALS = {"parse": 20.0, "print": 6.0}  # microseconds an operator on the reference machine; every pass: 10
PASSES = ("FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination", "FuseOps", "ToANormalForm",
          "ToGraphNormalForm", "SimplifyExpr")  # fmt: skip


def calls(n: int) -> str:
    """Return a program of `n` additions, each using the one before."""
    body = "".join(f"  %{i} = add(%{i - 1}, %x);\n" if i else "  %0 = add(%x, %x);\n" for i in range(n))
    return f'#[version = "0.0.5"]\ndef @main(%x: float32) {{\n{body}  %{n - 1}\n}}\n'


def lets(n: int) -> str:
    """Return a program of `n` lets, each using the one before."""
    body = "".join(f"  let %v{i} = add(%v{i - 1}, %x);\n" if i else "  let %v0 = add(%x, %x);\n" for i in range(n))
    return f'#[version = "0.0.5"]\ndef @main(%x: float32) {{\n{body}  %v{n - 1}\n}}\n'


def measure(text: str, n: int) -> dict[str, float]:
    """Return step -> microseconds an operator."""
    per = 1e3 / n
    out = {"parse": median_ms(lambda: parse_only(text), 3) * per}
    held: list[Any] = []

    def fresh() -> None:
        held[:] = [parse_only(text)]

    out["infer"] = median_ms(lambda: infer_module(held[0]), 3, fresh) * per
    mod = passlab.parse(text)
    out["print"] = median_ms(lambda: mod.astext(), 3) * per
    for name in PASSES:
        make = getattr(transform, name, None)
        if make is None:
            continue
        with transform.PassContext(opt_level=4):
            out[name] = median_ms(lambda make=make: make()(mod), 3) * per  # type: ignore[misc]
    one = np.float32(1)
    out["evaluate"] = median_ms(lambda: relay.create_executor("debug", mod).evaluate()(one), 1) * per
    return out


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "chains")
    parser.add_argument("--sizes", default="1000,10000,100000")
    options = parser.parse_args(argv)
    machine = calibrate()
    results: dict[str, dict[str, float]] = {}
    for n in map(int, options.sizes.split(",")):
        for shape in (calls, lets):
            results[f"{n} {shape.__name__}"] = measure(shape(n), n)
    print(f"microseconds an operator; this machine is {machine.slowness:.2f} times slower than the reference machine")
    for name, figures in results.items():
        print(f"\n{name}")
        for step, here in figures.items():
            goal = GOALS.get(step, 10.0) * machine.slowness
            print(f"  {step:24}{here:9.2f}   goal {goal:7.1f}   {'held' if here <= goal else 'MISSED'}")
    write_record(options.json, results, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
