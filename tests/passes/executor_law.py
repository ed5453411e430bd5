"""The law of executors: what a pass leaves of a program runs on every executor that can run the program, to the same value.

`findings(seed, effects)` holds the program of a seed to the law: each pass alone, and random pipelines. In full:

    python -m tests.passes.executor_law --programs 20000 --seed 0 --effects both --journal law.jsonl

prints each kind of finding when it first comes, a line of progress each minute, and at its end the count of each
kind. A run with a journal goes on where an earlier one with the same journal stopped. Nearly all of the time goes into
compiling what the passes leave, by the size of the program, which is why results that are equal are compiled once, and
most programs are small: a fault needs two constructs that meet, more often than many.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from passlab import transform
from passlab.errors import LimitError, PasslabError
from passlab.evaluate.agreement import disagreement
from passlab.executor import create_executor
from passlab.infer import infer_module
from passlab.ir import Constant, Expr, IRModule
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.walk import post_order, rewrite
from passlab.op.dtypes import float_info, is_float
from passlab.testing import programs
from passlab.testing.programs import Program
from passlab.transform.numeric_contract import FINITE, NumericContract, Rounds, combine
from passlab.transform.registering import register_op_attr, unregister_op_attr
from passlab.vm.compiling.compiler import reachable
from tests.passes.test_laws import CHANGES_TYPES, EVERY_PASS, NEEDS_DATAFLOW, REORDERS_EFFECTS, make_pass

EFFECTS = {"with": (True,), "without": (False,), "both": (True, False)}
EXECUTORS = ("debug", "vm", "aot", "graph")
LOWERED = {
    "ManifestAlloc",
    "ManifestLifetimes",
    "MemoryPlan",
    "PlaceKernels",
    "LowerTE",
}  # they are passes of one executor
EXTERNAL = ("AnnotateTarget", "MergeCompilerRegions", "PartitionGraph")  # they make one thing, in this order
TOY = ("add", "multiply", "nn.relu", "nn.dense", "nn.conv2d", "tanh", "concatenate", "split")
ROUNDING = Rounds(64) + FINITE  # what executors may add, which have kernels and passes of their own
# Passes that bring functions or data types in, which graphs of kernels have no form for.
BRINGS_FUNCTIONS = {"Defunctionalization", "LambdaLift", "LazyGradientInit", "LowerTE", "SplitArgs", "EtaExpand"}
PROGRESS_S = 60.0  # between two lines of progress
NEEDS_ETA = "is used as a value"  # ToCPS and Defunctionalization of constructors; as in Relay, EtaExpand comes first
CANNOT_RUN = "cannot run a reference"  # what the virtual machine says: it has none, as Relay's has none


@contextmanager
def toy_compiler() -> Iterator[None]:
    """A compiler that takes a few operators."""
    for name in TOY:
        register_op_attr(name, "target.toy", lambda call: True)
    try:
        yield
    finally:
        for name in TOY:
            unregister_op_attr(name, "target.toy")


@dataclass(frozen=True)
class Finding:
    """A pipeline that breaks the law on the program of a seed, and how."""

    seed: int
    effects: bool
    pipeline: tuple[str, ...]
    executor: str
    problem: str

    @property
    def kind(self) -> str:
        """The finding without numbers and names, to count those that are alike."""
        text = re.sub(r"[%@][\w.]+|\d[\d.e+-]*", "#", self.problem.splitlines()[0])
        return f"{' then '.join(self.pipeline)} | {self.executor} | {text[:110]}"

    def __str__(self) -> str:
        return f"{' then '.join(self.pipeline)} on {self.executor}, program({self.seed}, effects={self.effects}): {self.problem}"


def run_on(kind: str, mod: IRModule, args: Sequence[Any]) -> Any:
    """Return the value of `main` on one executor."""
    return create_executor(kind, mod).evaluate()(*args)


def nudged(case: Program, ulps: float) -> Any:
    """Return what a program gives when all its numbers are a little different: what rounding may do to it."""
    signs = np.random.default_rng(1)

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if not is_float(value.dtype):
            return value
        by = 1 + ulps * float(float_info(value.dtype).eps) * signs.choice((-1.0, 1.0), value.shape)
        return np.asarray(value * by).astype(value.dtype)

    changes: dict[Expr, Expr] = {
        node: Constant(moved(node.data))
        for _, f in case.mod.items()
        for node in post_order(f)
        if type(node) is Constant and is_float(node.data.dtype)
    }
    mod = case.mod.with_functions({name: rewrite(f, replace=dict(changes)) for name, f in case.mod.items()})
    return run_on("debug", infer_module(mod), [moved(arg) for arg in case.args])


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@dataclass
class Subject:
    """A program, and the results of the modules that passes made of it."""

    seed: int
    case: Program
    smooth: bool
    results: dict[tuple[int, str], list[tuple[IRModule, Any]]] = field(default_factory=dict)

    def value(self, kind: str, mod: IRModule) -> Any:
        """Return the value of a module on an executor, or the error that it raised there."""
        seen = self.results.setdefault((structural_hash(mod), kind), [])
        for other, value in seen:
            if structural_equal(other, mod):
                return value
        try:
            value = run_on(kind, mod, self.case.args)
        except Exception as error:  # noqa: BLE001 - what it is decides the law
            value = error
        seen.append((mod, value))
        return value

    @property
    def near(self) -> Any:
        if not hasattr(self, "_near"):
            self._near = nudged(self.case, 8.0)
        return self._near

    def differs(self, expected: Any, value: Any, contract: NumericContract) -> str:
        """Say where a value is further from the expected one than a contract allows; "" where it is not.

        What comes after a rewrite may enlarge a rounding error: by as much as it enlarges a change of the inputs.
        """
        difference = disagreement(expected, value, contract.ulps, contract.finite_only)
        if difference is None:
            return ""
        if not contract.ulps or len(leaves(expected)) != len(leaves(value)):
            return str(difference)
        for a, b, near in zip(leaves(expected), leaves(value), leaves(self.near), strict=True):
            difference = disagreement(a, b, contract.ulps, contract.finite_only)
            if difference is None:
                continue
            spread = disagreement(a, near, 0, contract.finite_only)
            chaotic = spread is not None and (np.isinf(spread.ulps) or difference.ulps <= contract.ulps * spread.ulps)
            if not chaotic:
                return str(difference)
        return ""


def runnable(subject: Subject) -> list[str]:
    """Return the executors that can run a program as it is."""
    return [kind for kind in EXECUTORS if not isinstance(subject.value(kind, subject.case.mod), PasslabError)]


def pipelines(seed: int, count: int = 5) -> list[tuple[str, ...]]:
    """Return each pass alone, those that cut a program up for another compiler, and random ones of two to five."""
    choice = random.Random(seed)
    names = [name for name in EVERY_PASS if name not in LOWERED | CHANGES_TYPES | NEEDS_DATAFLOW]
    return [*((name,) for name in EVERY_PASS), EXTERNAL, (*EXTERNAL, "MarkCompilerFunctionsAsExtern")] + [
        tuple(choice.sample(names, choice.randrange(2, 6))) for _ in range(count)
    ]


def subject_of(seed: int, effects: bool) -> Subject:
    """Return the program of a seed.

    One in 32 is of any size, the others are small; one in three has functions that nothing calls.
    """
    smooth = seed % 2 == 0
    size = 1 + seed // 32 % 3 if seed % 32 else None
    case = programs.program(seed, effects=effects, smooth=smooth, size=size)
    if seed % 3:
        case = replace(case, mod=infer_module(reachable(case.mod)))
    return Subject(seed, case, smooth)


def findings(seed: int, effects: bool, count: int = 5) -> list[Finding]:
    """Return how the passes break the law on the program of a seed."""
    subject = subject_of(seed, effects)
    results: list[Finding] = []
    kinds = runnable(subject)
    for kind in EXECUTORS:
        problem = executor_problem(subject, kind, subject.case.mod, subject.case.value)
        if problem:
            results.append(Finding(seed, effects, (), kind, problem))
            kinds = [k for k in kinds if k != kind]
    for pipeline in pipelines(seed, count):
        results += [Finding(seed, effects, pipeline, *problem) for problem in problems(subject, pipeline, kinds)]
    return results


def executor_problem(subject: Subject, kind: str, mod: IRModule, expected: Any) -> str:
    """Say what is wrong with an executor on a program itself; refusing it kindly is not, for `graph` alone."""
    value = subject.value(kind, mod)
    if isinstance(value, Exception):
        kindly = isinstance(value, PasslabError) and (kind == "graph" or CANNOT_RUN in str(value))
        return "" if kindly else f"{type(value).__name__}: {value}"
    return subject.differs(expected, value, ROUNDING)


def problems(subject: Subject, pipeline: tuple[str, ...], kinds: list[str]) -> list[tuple[str, str]]:
    """Return (executor, problem) for what a pipeline leaves of a program."""
    mod = subject.case.mod
    try:
        with transform.PassContext(opt_level=4):
            result = infer_module(transform.Sequential([make_pass(name) for name in pipeline])(mod))
    except Exception as error:  # noqa: BLE001 - what it is decides the law
        kindly = isinstance(error, PasslabError) and (set(pipeline) & NEEDS_DATAFLOW or NEEDS_ETA in str(error))
        return [] if kindly else [("the pass", f"{type(error).__name__}: {error}")]
    if result is mod or set(pipeline) & CHANGES_TYPES or (subject.case.effects and set(pipeline) & REORDERS_EFFECTS):
        return []
    own = subject.value("debug", result)
    if isinstance(own, Exception):
        return [("debug", f"{type(own).__name__}: {own}")]
    contract = combine([make_pass(name).contract for name in pipeline])
    if contract is not None and (contract.exact or subject.smooth):
        problem = subject.differs(subject.case.value, own, contract)
        if problem:
            return [("debug", problem)]
    kinds = [k for k in kinds if k != "debug" and not (k == "graph" and set(pipeline) & BRINGS_FUNCTIONS)]
    return [(kind, why) for kind in kinds if (why := _executed(subject, kind, result, own))]


def _executed(subject: Subject, kind: str, mod: IRModule, expected: Any) -> str:
    value = subject.value(kind, mod)
    if isinstance(value, LimitError):
        return ""
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    return subject.differs(expected, value, ROUNDING)


def held(seed: int, effects: bool) -> list[Finding]:
    """Return the findings of one program, by itself: with the compiler that it needs, and nothing printed."""
    with toy_compiler(), redirect_stdout(StringIO()):
        return findings(seed, effects)


@dataclass
class Tally:
    """What a run has seen so far; `journal` is the file that remembers it, if there is one."""

    journal: Path | None
    done: set[tuple[int, bool]] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    start: float = field(default_factory=time.monotonic)
    reported: float = 0.0

    def __post_init__(self) -> None:
        for line in self.journal.read_text().splitlines() if self.journal and self.journal.exists() else ():
            entry = json.loads(line)
            self.done.add((entry["seed"], entry["effects"]))
            self.kinds.update(entry["kinds"])

    def add(self, case: tuple[int, bool], result: list[Finding]) -> None:
        """Count the findings of a program, print those of a new kind, and tell the progress once a minute."""
        self.done.add(case)
        for finding in result:
            self.kinds[finding.kind] += 1
            if self.kinds[finding.kind] == 1:
                print(str(finding)[:1000], flush=True)
        if self.journal:
            entry = {"seed": case[0], "effects": case[1], "kinds": [finding.kind for finding in result]}
            with self.journal.open("a") as out:
                out.write(json.dumps(entry) + "\n")
        if self.seconds - self.reported >= PROGRESS_S:
            self.reported = self.seconds
            print(f"# {self}", flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def __str__(self) -> str:
        total = sum(self.kinds.values())
        return f"{len(self.done)} programs, {total} findings of {len(self.kinds)} kinds, {self.seconds:.0f} s"


def main() -> int:
    """Hold many programs to the law and print each kind of finding once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="how many seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--effects", choices=EFFECTS, default="both", help="which program of each seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new program after that time")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--journal", type=Path, help="a file of what is done; what it holds is not done again")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # passes that only print say so there
    tally = Tally(options.journal)
    seeds = range(options.seed, options.seed + options.programs)
    cases = [(seed, effects) for seed in seeds for effects in EFFECTS[options.effects]]
    with ProcessPoolExecutor(options.workers) as pool:
        waiting = {pool.submit(held, *case): case for case in cases if case not in tally.done}
        for future in as_completed(waiting):
            if not future.cancelled():
                tally.add(waiting[future], future.result())
            if tally.seconds > options.seconds:
                pool.shutdown(wait=False, cancel_futures=True)
    print(tally)
    for kind, count in tally.kinds.most_common():
        print(f"{count:6} {kind}")
    return 1 if tally.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
