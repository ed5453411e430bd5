"""Every operator of the registry on three sizes: its own edge cases, made large, beside onnxruntime and a copy.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.all_operators [--only WORD] [--elements 10000,100000,1000000]

An edge case of a declaration is a legal call on small tensors. The first dimension of its tensors is made larger, or
the last one, or all of them, whichever the operator's type relation allows first; a case that none of them fits is not
measured, and is named in the end. `times` is our time over onnxruntime's where ONNX has the operator, `copies` our time
over that of copying inputs and results: how far from memory's speed it is. Both add what a call costs at all.
`benchmarks.operators` compares the operators that loop over more than elements, with NumPy written by hand, too.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import passlab
from benchmarks.calibrate import argument_parser, in_turns, write_record
from benchmarks.operators import CALL_MS, GOAL, session
from passlab import transform
from passlab.errors import PasslabError
from passlab.ir.op import Op, OpSpec
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import EdgeProgram, Variable, program, varies_dtype
from passlab.vm import VirtualMachine, compile

DTYPES = ("float32", "int32", "bool", "uint8", "int64")
FAR = 100.0  # copies of inputs and results: an operator that takes longer computes more than elements, or is slow
Shape = tuple[int, ...]
Growth = Callable[[Shape, int], Shape]


def _along_all(shape: Shape, factor: int) -> Shape:
    each = max(1, round(factor ** (1 / max(1, len(shape)))))
    return tuple(n * each for n in shape)


def _along_first(shape: Shape, factor: int) -> Shape:
    return (shape[0] * factor, *shape[1:]) if shape else shape


def _along_last(shape: Shape, factor: int) -> Shape:
    return (*shape[:-1], shape[-1] * factor) if shape else shape


def _along_second(shape: Shape, factor: int) -> Shape:
    return (shape[0], shape[1] * factor, *shape[2:]) if len(shape) > 1 else shape


def _along_image(shape: Shape, factor: int) -> Shape:
    return (*shape[:2], *(n * max(1, round(math.sqrt(factor))) for n in shape[2:]))


# How tensors grow, and whether all of them do, or the first one alone.
GROWTHS: tuple[tuple[Growth, bool], ...] = (
    (_along_first, True), (_along_first, False), (_along_last, True), (_along_image, False), (_along_last, False),
    (_along_second, True), (_along_second, False), (_along_all, True), (_along_all, False),
)  # fmt: skip


def larger(spec: OpSpec, elements: int) -> tuple[Any, tuple[Variable, ...]] | None:
    """Return the module and the parameters of the first edge case that can be made so large, None without one."""
    for small in _small_programs(spec):
        factor = elements // max(1, sum(math.prod(v.shape) for v in small.variables))
        for growth, every in GROWTHS:
            variables = tuple(
                Variable(v.name, growth(v.shape, factor), v.dtype, None) if v.value is None and (every or not i) else v
                for i, v in enumerate(small.variables)
            )
            if all(v.shape == w.shape for v, w in zip(variables, small.variables, strict=True)):
                continue
            params = ", ".join(f"%{v.name}: Tensor[({', '.join(map(str, v.shape))}), {v.dtype}]" for v in variables)
            body = small.source[small.source.index(") {\n") :]
            try:
                mod = transform.InferType()(passlab.parse(f"def @main({params}{body}"))
                VirtualMachine(compile(mod)).run(*arrays(variables))
            except PasslabError:
                continue
            return mod, variables
    return None


def _small_programs(spec: OpSpec) -> Iterator[EdgeProgram]:
    for edge in spec.edge_cases:
        for dtype in DTYPES if varies_dtype(edge) else DTYPES[:1]:
            small = program(edge, dtype)
            if small.variables and all(0 not in v.shape for v in small.variables):
                yield small


def arrays(variables: tuple[Variable, ...]) -> list[Any]:
    """Return random values of parameters: positive, and small where they are whole numbers."""
    rng = np.random.default_rng(0)
    values = []
    for v in variables:
        dtype = array_dtype(v.dtype)
        if v.value is not None:
            values.append(np.broadcast_to(np.array(v.value, dtype), v.shape).copy())
        elif dtype.kind in "iub":
            values.append(np.asarray(rng.integers(0, 2, v.shape), dtype))
        else:
            values.append(np.asarray(rng.random(v.shape) + 0.1, dtype))
    return values


def measure(mod: Any, variables: tuple[Variable, ...]) -> dict[str, float]:
    """Return the milliseconds of one operator, and how many times those of onnxruntime and of a copy they are."""
    values = arrays(variables)
    vm = VirtualMachine(compile(mod))
    results = vm.run(*values)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    source = np.zeros(sum(a.nbytes for a in values) + sum(np.asarray(r).nbytes for r in results), "int8")
    target = np.empty_like(source)
    jobs: dict[str, Callable[[], Any]] = {
        "ms": lambda: vm.run(*values), "copy": lambda: np.copyto(target, source)
    }  # fmt: skip
    other = session(mod, dict(zip([v.name for v in variables], values, strict=True)))
    if other is not None:
        jobs["onnxruntime"] = other
    row = dict(zip(jobs, in_turns([*jobs.values()], 3), strict=True))
    row["copies"] = (row["ms"] + CALL_MS) / (row["copy"] + CALL_MS)
    if other is not None:
        row["times"] = (row["ms"] + CALL_MS) / (row["onnxruntime"] + CALL_MS)
    return row


def summary(results: dict[str, list[dict[str, float]]], missing: list[str]) -> str:
    """Return the counts, and the slowest operators."""
    worst = {name: max(row.get("times", 0) for row in rows) for name, rows in results.items()}
    beside = [name for name, times in worst.items() if times]
    slow = [f"{name} {worst[name]:.1f}" for name in beside if worst[name] > GOAL]
    far = [f"{name} {rows[-1]['copies']:.0f}" for name, rows in results.items() if rows[-1]["copies"] > FAR]
    middle = statistics.median([worst[name] for name in beside] or [math.nan])
    lines = [
        f"{len(results)} operators, {len(beside)} beside onnxruntime, the median {middle:.1f} times its time",
        f"over {GOAL:.0f} times onnxruntime: {', '.join(slow) or 'none'}",
        f"over {FAR:.0f} copies at the largest size: {', '.join(far) or 'none'}",
        f"median copies at the largest size: {statistics.median(rows[-1]['copies'] for rows in results.values()):.1f}",
        f"not measured: {', '.join(missing) or 'none'}",
    ]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "all_operators")
    parser.add_argument("--only", default="", help="measure the operators with this word in their name")
    parser.add_argument("--elements", default="10000,100000,1000000")
    options = parser.parse_args(argv)
    sizes = [int(size) for size in options.elements.split(",")]
    print("operator".ljust(40) + "".join(f"ms at {n}".rjust(16) + "times" + "copies".rjust(8) for n in sizes))
    results: dict[str, list[dict[str, float]]] = {}
    missing: list[str] = []
    for name in Op.list_op_names():
        op = Op.get(name)
        if options.only not in name or op.spec.kernel is None or op.spec.non_computational:
            continue
        cases = [larger(op.spec, size) for size in sizes]
        rows = [measure(*case) for case in cases if case is not None]
        if len(rows) < len(sizes):
            missing.append(name)
            continue
        results[name] = rows
        cells = [
            f"{r['ms']:16.3f}{r.get('times', math.nan):5.1f}{r['copies']:8.0f}".replace("nan", "   ") for r in rows
        ]
        print(name.ljust(40) + "".join(cells), flush=True)
    print(summary(results, missing))
    write_record(options.json, results, **{"not measured": missing})
    return 0


if __name__ == "__main__":
    sys.exit(main())
