"""Does anything grow faster than the program? Every pass, compiler and tool, on programs of many shapes and two sizes.

    python -m benchmarks.growth [--sizes 250,1500] [--shapes calls,lets] [--steps FuseOps,parse] [--patience 30]
                                [--memory GB] [--add]

Figures are microseconds of processor time for each unit that a shape is made of (`benchmarks.shapes`), and the bytes by
which the memory in use grows at most. The growth is that of the time from the last size but one to the last: 1 is
linear, 6 (for sizes six times apart) is quadratic. Figures of small programs are noisy: look again, at that step alone
and at larger sizes, before you believe one. Steps that grow beyond `GROWTH` are marked. A size is left out where the
figure of the one before says that it would take more than `--patience` processor seconds, and the reason stands beside
a step that exceeds them, or `--memory`. The record is written after each step; `--add` keeps what it has of others.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.calibrate import Machine, argument_parser, calibrate, write_record
from benchmarks.measured_apart import Cost, measured_apart
from benchmarks.shapes import SHAPES
from passlab import limits, relay, transform
from passlab.diffing.diff import diff
from passlab.evaluate.samples import random_arguments
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import record
from passlab.passes import PASSES
from passlab.text.parser import parse

GROWTH = 1.7  # caches of the processor and the garbage collector account for as much
OPTIONS: dict[str, dict[str, Any]] = {
    "AnnotateTarget": {"targets": ["toy"]},
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "EtaExpand": {"expand_constructor": True, "expand_global_var": True},
    "DeadCodeElimination": {"inline_once": True},
    "ToMixedPrecision": {"missing_op_mode": 2},
    "SplitArgs": {"max_function_args": 30},
}
Job = Callable[[IRModule, str], Any]
Prepare = Callable[[IRModule, str], Callable[[], Any]]  # does what is not measured, and returns the rest


def run_pass(name: str) -> Job:
    """Return the job of running a pass with what it requires."""

    def job(mod: IRModule, text: str) -> IRModule:
        with transform.PassContext(opt_level=4):
            return transform.Sequential([transform.get_pass(name, **OPTIONS.get(name, {}))])(mod)

    return job


def compiled(kind: str) -> Prepare:
    """Return what compiles a program for an executor and runs it once, and returns the job of running it again."""

    def prepare(mod: IRModule, text: str) -> Callable[[], Any]:
        run = relay.create_executor(kind, mod).evaluate()
        args = random_arguments(mod["main"], 0)
        run(*args)
        return partial(run, *args)

    return prepare


def changed(text: str) -> IRModule:
    """Return a program that differs in one place."""
    return infer_module(parse(re.sub(r"\badd\b", "subtract", text, count=1)))


def whole(prepare: Prepare) -> Job:
    """Return the job of preparing a step and running it."""
    return lambda mod, text: prepare(mod, text)()


def summary(before: IRModule, after: IRModule) -> str:
    """Return a difference in one sentence: nodes are only compared when they are asked for."""
    return diff(before, after).summary


PREPARED: dict[str, Prepare] = {
    "infer": lambda mod, text: partial(infer_module, parse(text)),
    "structural_equal": lambda mod, text: partial(structural_equal, mod, infer_module(parse(text))),
    "structural_hash": lambda mod, text: partial(structural_hash, infer_module(parse(text))),
    "diff": lambda mod, text: partial(summary, mod, changed(text)),
    **{f"run {kind}": compiled(kind) for kind in ("debug", "vm", "graph", "aot")},
}
STEPS: dict[str, Job] = {
    "parse": lambda mod, text: parse(text),
    **{name: whole(prepare) for name, prepare in PREPARED.items()},
    "print": lambda mod, text: mod.astext(),
    "record": lambda mod, text: record(mod, "InferType, FoldConstant, ToANormalForm", opt_level=4),
    "vm": lambda mod, text: relay.vm.compile(mod),
    "graph": lambda mod, text: relay.build(mod),
    "aot": lambda mod, text: relay.build(mod, executor="aot"),
    **{name: run_pass(name) for name in sorted(PASSES) if name != "PrintIR"},  # as costly as `print`, and as long
}


def measure(programs: dict[int, tuple[IRModule, str]], step: str, options: Namespace) -> dict[str, Any]:
    """Return microseconds and bytes a unit at each size, and the reason for the absence of others."""
    times: list[float] = []
    peaks: list[float] = []
    out: dict[str, Any] = {"microseconds": times, "bytes": peaks}
    for n, (mod, text) in programs.items():
        if times and times[-1] * n / 1e6 > options.patience:
            out["reason"] = f"{n} takes too long"
            break
        prepare = partial(PREPARED[step] if step in PREPARED else partial(partial, STEPS[step]), mod, text)
        cost = measured_apart(prepare, options.patience, int(options.memory * 1e9))
        if not isinstance(cost, Cost):
            out["reason"] = f"{n}: {cost}"
            break
        times.append(round(cost.seconds * 1e6 / n, 2))
        peaks.append(round(cost.peak_bytes / n))
    return out


def growth(figures: list[float]) -> float:
    """Return how much the figure of the last size is above the one before; below a microsecond all is constant."""
    return figures[-1] / max(figures[-2], 1.0) if len(figures) > 1 and figures[-1] > 1 else 1.0


def line(step: str, figures: dict[str, Any], sizes: int) -> str:
    """Return the line of a table for a step."""
    times, peaks = figures["microseconds"], figures["bytes"]
    shown = "".join(f"{figure:12.1f}" for figure in times) + " " * 12 * (sizes - len(times))
    growing = f"{growth(times):12.2f}" if len(times) > 1 else " " * 12
    mark = "   GROWS" if growth(times) > GROWTH else ""
    return f"  {step:26}{shown}{growing}{peaks[-1] if peaks else '':>12}{mark}   {figures.get('reason', '')}".rstrip()


def run(options: Namespace, sizes: list[int], machine: Machine) -> None:
    """Measure, print the table, write the record."""
    old = (
        json.loads(options.json.read_text(encoding="utf-8"))["results"] if options.add and options.json.exists() else {}
    )
    results: dict[str, dict[str, Any]] = old
    for shape in options.shapes.split(","):
        print(f"\n{shape:28}" + "".join(f"{n:>12}" for n in sizes) + "      growth  peak bytes", flush=True)
        texts = {n: SHAPES[shape](n) for n in sizes}
        programs = {n: (infer_module(parse(text)), text) for n, text in texts.items()}
        for step in options.steps.split(","):
            figures = measure(programs, step, options)
            results.setdefault(shape, {})[step] = {"sizes": sizes[: len(figures["bytes"])], **figures}
            print(line(step, figures, len(sizes)), flush=True)
            write_record(options.json, results, machine)


def main(argv: list[str] | None = None) -> int:
    """Read the options and run."""
    parser = argument_parser(__doc__, "growth")
    parser.add_argument("--sizes", default="250,1500")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--patience", type=int, default=30)
    parser.add_argument("--memory", type=float, default=0.0)
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args(argv)
    sizes = [int(size) for size in options.sizes.split(",")]
    if len(sizes) < 2:
        parser.error("growth is seen between two sizes: name more than one")
    with limits.override(text_bytes=1 << 30):
        run(options, sizes, calibrate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
