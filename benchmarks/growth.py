"""Does anything grow faster than the program? Every pass, compiler and tool, on programs of many shapes and two sizes.

    python -m benchmarks.growth [--sizes 250,1500] [--shapes calls,lets] [--steps FuseOps,parse] [--patience 30]

Figures are microseconds of processor time for each unit that a shape is made of (`benchmarks.shapes`). The growth is
that of the figure from the last size but one to the last: 1 is linear, 6 (for sizes six times apart) is quadratic.
Figures of small programs are noisy: look again, at that step alone and at larger sizes, before you believe one.
Steps that grow beyond `GROWTH` are marked, and those listed that were given up after `--patience` processor seconds.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

from benchmarks.calibrate import argument_parser, calibrate, write_record
from benchmarks.shapes import SHAPES
from passlab import limits, relay, transform
from passlab.diffing.diff import diff
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.module import IRModule
from passlab.lab.recording import record
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


class GivenUpError(Exception):
    """A step exceeded its time limit."""


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raise `GivenUpError` in the block when it takes longer, in time of this process."""

    def ring(*_: object) -> None:
        raise GivenUpError

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_pass(name: str) -> Job:
    """Return the job of running a pass with what it requires."""

    def job(mod: IRModule, text: str) -> IRModule:
        with transform.PassContext(opt_level=4):
            return transform.Sequential([transform.get_pass(name, **OPTIONS.get(name, {}))])(mod)

    return job


STEPS: dict[str, Job] = {
    "parse": lambda mod, text: parse(text),
    "infer": lambda mod, text: infer_module(parse(text)),
    "print": lambda mod, text: mod.astext(),
    "structural_equal": lambda mod, text: structural_equal(mod, infer_module(parse(text))),
    "structural_hash": lambda mod, text: structural_hash(infer_module(parse(text))),
    "diff": lambda mod, text: diff(mod, infer_module(parse(text.replace("add", "subtract", 1)))),
    "record": lambda mod, text: record(mod, "InferType, FoldConstant, ToANormalForm", opt_level=4),
    "vm": lambda mod, text: relay.vm.compile(mod),
    "graph": lambda mod, text: relay.build(mod),
    "aot": lambda mod, text: relay.build(mod, executor="aot"),
    "debug": lambda mod, text: relay.create_executor("debug", mod).evaluate(),
    **{name: run_pass(name) for name in sorted(PASSES) if name != "PrintIR"},  # as costly as `print`, and as long
}


def measure(programs: dict[int, tuple[IRModule, str]], step: Job, seconds: int) -> list[float] | str:
    """Return microseconds a unit at each size, or the reason for their absence."""
    out: list[float] = []
    try:
        for n, (mod, text) in programs.items():
            gc.collect()
            with patience(seconds):
                start = process_time()
                step(mod, text)
                out.append((process_time() - start) * 1e6 / n)
            if len(out) > 1 and out[-1] > 3000:
                break
    except GivenUpError:
        return f"given up at {n}; before {[round(figure, 1) for figure in out]}"
    except PasslabError as error:
        return "refused: " + str(error).splitlines()[0][:100]
    return out


def growth(figures: list[float]) -> float:
    """Return how much the figure of the last size is above the one before; below a microsecond all is constant."""
    return figures[-1] / max(figures[-2], 1.0) if len(figures) > 1 and figures[-1] > 1 else 1.0


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "growth")
    parser.add_argument("--sizes", default="250,1500")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--patience", type=int, default=30)
    options = parser.parse_args(argv)
    sizes = [int(size) for size in options.sizes.split(",")]
    if len(sizes) < 2:
        parser.error("growth is seen between two sizes: name more than one")
    machine = calibrate()
    results: dict[str, dict[str, list[float] | str]] = {}
    with limits.override(text_bytes=1 << 30):
        for shape in options.shapes.split(","):
            print(f"\n{shape:28}" + "".join(f"{n:>12}" for n in sizes) + "      growth", flush=True)
            figures_of = results[shape] = {}
            texts = {n: SHAPES[shape](n) for n in sizes}
            programs = {n: (infer_module(parse(text)), text) for n, text in texts.items()}
            for step in options.steps.split(","):
                figures = figures_of[step] = measure(programs, STEPS[step], options.patience)
                if isinstance(figures, str):
                    print(f"  {step:26} {figures}", flush=True)
                    continue
                mark = "   GROWS" if growth(figures) > GROWTH else ""
                shown = "".join(f"{figure:12.1f}" for figure in figures)
                print(f"  {step:26}{shown}{growth(figures):12.2f}{mark}", flush=True)
                write_record(options.json, results, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
