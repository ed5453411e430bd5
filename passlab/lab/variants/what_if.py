"""`what_if`: the results of a pipeline with each pass skipped, repeated, or exchanged with the next.

    table = lab.what_if(mod, "InferType, FoldConstant, SimplifyExpr, FuseOps")
    table.table(), table.laws()           # each pass skipped, repeated, moved: nodes, kernels, bytes, time, correctness

Programs are immutable, so a variant costs only the time of its passes. Structurally equal results count as the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import prod
from time import monotonic
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PasslabError
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Constant, Function
from passlab.ir.module import IRModule
from passlab.ir.types import tensor_types
from passlab.ir.walk import post_order
from passlab.lab.recordings.recording import Recording, record
from passlab.lab.variants.pipeline_variants import WhatIf
from passlab.lazy import notebook_forms
from passlab.oracle.deadline import check_seconds
from passlab.oracle.trial import Trial
from passlab.oracle.validation import examine
from passlab.table import Table
from passlab.text.parser import parse
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract, combine, declared_contract
from passlab.transform.pipeline_text import as_pass
from passlab.transform.sequential import Sequential

CHANGES = ("skipped", "repeated", "moved")  # moved behind the next one


@dataclass(frozen=True)
class Cost:
    """The size of a program: nodes, kernels (fused functions), bytes of constants, elements of all values."""

    nodes: int
    kernels: int
    constant_bytes: int
    elements: int

    @classmethod
    def of(cls, mod: IRModule) -> Cost:
        """Measure a program."""
        order = [n for f in mod.functions.values() for n in post_order(f)]
        kernels = sum(isinstance(n, Function) and n.is_primitive for n in order)
        constants = sum(n.data.nbytes for n in order if isinstance(n, Constant))
        types = [t for n in order if n.checked_type_ is not None for t in _tensor_types_within_limit(n.checked_type_)]
        return cls(count_module(mod)[0], kernels, constants, sum(_element_count(t) for t in types))


def _tensor_types_within_limit(ty: Any) -> Sequence[Any]:
    try:
        return tensor_types(ty)
    except PasslabError:
        return ()  # too many tensors to count: they count as none


def _element_count(ty: Any) -> int:
    return prod(dim for dim in ty.shape if isinstance(dim, int))  # an unknown dimension counts as 1


@dataclass(frozen=True)
class Variant:
    """A changed pipeline: which pass was changed how, the resulting program (None where it fails), and its cost."""

    change: str
    name: str
    number: int
    module: IRModule | None
    cost: Cost | None
    seconds: float
    correct: str
    same: bool


class WhatIfTable:
    """The variants of a pipeline, and the laws of its passes that they show."""

    _repr_mimebundle_ = notebook_forms

    def __init__(
        self,
        program: IRModule,
        passes: Sequence[Pass],
        base: Variant,
        variants: Sequence[Variant],
        *,
        opt_level: int = 4,
        stopped: str = "",
    ) -> None:
        self.program = program
        self.opt_level = opt_level
        self.passes = tuple(passes)
        self.base = base
        self.variants = tuple(variants)
        self.stopped = stopped

    def variant(self, change: str, number: int) -> Variant | None:
        """Return the variant with one change to one pass; None if that change was not tried. Passes count from 1."""
        return next((v for v in self.variants if (v.change, v.number) == (change, number)), None)

    @cached_property
    def recording(self) -> Recording:
        """The recording of the unchanged pipeline."""
        return record(self.program, Sequential(list(self.passes)), self.opt_level)

    def question(self, change: str, number: int) -> WhatIf:
        """Return a variant as a question to `recording`, with a recording and a comparison of its own.

        Raises `PassError` if there is no such variant.
        """
        if self.variant(change, number) is None:
            raise PassError(Diagnostic(f"there is no variant of this pipeline with pass {number} {change}"))
        question = WhatIf(self.recording)
        if change == "moved":
            return question.move(number, number + 1)
        return question.without(number) if change == "skipped" else question.repeat(number)

    def laws(self) -> list[str]:
        """Return the laws of the passes on this program as sentences: no effect, idempotent, commutes, fails, wrong."""
        laws = []
        for number, one in enumerate(self.passes, 1):
            name = f"{number} {one.info.name}"
            skipped, repeated, moved = (self.variant(c, number) for c in ("skipped", "repeated", "moved"))
            if skipped is not None and skipped.same:
                laws.append(f"{name} makes no difference to the result")
            if repeated is not None and repeated.same:
                laws.append(f"{name} is idempotent")
            if moved is not None and moved.same and number < len(self.passes):
                laws.append(f"{name} commutes with {number + 1} {self.passes[number].info.name}")
            for variant in (skipped, repeated, moved):
                if variant is not None and variant.module is None:
                    laws.append(f"the pipeline fails with {name} {variant.change}: {variant.correct}")
                elif variant is not None and not variant.same and _is_wrong(variant):
                    laws.append(f"with {name} {variant.change} the program computes something else: {variant.correct}")
        return laws

    def table(self) -> Table:
        """Return one row for each variant: its cost, and whether the values stay as in the unchanged pipeline."""
        columns = ("pass", "change", "nodes", "kernels", "constant_bytes", "elements", "result", "values")
        return Table(columns, [_variant_row(v) for v in (self.base, *self.variants)])

    def heat_map(self) -> Table:
        """Return a row for each pass and a column for each change: the difference in nodes of the result."""
        rows = []
        for number, one in enumerate(self.passes, 1):
            cells = [_heat_cell(self.variant(change, number), self.base) for change in CHANGES]
            rows.append((f"{number} {one.info.name}", *cells))
        return Table(("pass", *CHANGES), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame, with the seconds that each variant took."""
        frame = self.table().frame()
        frame["seconds"] = [v.seconds for v in (self.base, *self.variants)]
        return frame

    def text(self) -> str:
        """Return the table and the laws."""
        parts = [str(self.table()), *self.laws()]
        return "\n".join([*parts, f"Stopped: {self.stopped}."] if self.stopped else parts)

    def __repr__(self) -> str:
        return self.text()


def _heat_cell(variant: Variant | None, base: Variant) -> str:
    if variant is None:
        return ""
    if variant.cost is None or base.cost is None:
        return "fails"
    if not variant.same and _is_wrong(variant):
        return "wrong"
    return "=" if variant.same else f"{variant.cost.nodes - base.cost.nodes:+,}"


def _is_wrong(variant: Variant) -> bool:
    return variant.correct not in ("kept", "same") and not variant.correct.startswith("not compared")


def _variant_row(variant: Variant) -> tuple[Any, ...]:
    name = f"{variant.number} {variant.name}" if variant.number else "all"
    cost = variant.cost
    numbers = ("", "", "", "") if cost is None else (cost.nodes, cost.kernels, cost.constant_bytes, cost.elements)
    result = "fails" if cost is None else "same" if variant.same else "differs"
    return (name, variant.change, *numbers, result, variant.correct)


@checked
def what_if(
    mod: IRModule,
    pipeline: Any,
    *,
    opt_level: int = 4,
    check: bool = True,
    seed: int = 0,
    seconds: float | None = 60.0,
    executor: Executor | None = None,
    tell: Callable[[str], Any] = lambda text: None,
) -> WhatIfTable:
    """Run a pipeline with each pass skipped, repeated, and exchanged with the next, and compare the results.

    With `check` the values of each variant are compared with the values of the input program. An `executor` (of
    `concurrent.futures`: threads, processes, a cluster) runs variants in parallel. Variants that have not begun after
    `seconds` are left out. Raises `PassError` for passes that do not exist.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> len(lab.what_if(mod, "FoldConstant, FuseOps", seconds=5).variants)
    5
    """
    check_seconds(seconds)
    passes = passes_of(pipeline)
    trial = Trial(seed=seed, without_contract=True) if check else None
    end = None if seconds is None else monotonic() + seconds
    base = _variant(mod, passes, "as it is", "", 0, opt_level, None, trial)
    numbers = range(1, len(passes) + 1)
    jobs = [(change, number, order) for number in numbers for change, order in _changes(passes, number)]
    variants: list[Variant] = []
    stopped = ""

    def run(job: tuple[str, int, list[Pass]]) -> Variant | None:
        if end is not None and monotonic() > end:
            return None
        change, number, order = job
        tell(f"{number} {passes[number - 1].info.name} {change}")
        # A trial caches its runs, so threads must not share one.
        own = Trial(seed=seed, without_contract=True) if check and executor is not None else trial
        return _variant(mod, order, change, passes[number - 1].info.name, number, opt_level, base, own)

    results: Iterable[Variant | None]
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        results = map(run, jobs) if executor is None else executor.map(run, jobs)
    else:
        results = _run_in_processes(mod, passes, jobs, opt_level, seed if check else None, base, executor)
    for result in results:
        if result is None:
            stopped = f"after {seconds:g} s"
        else:
            variants.append(result)
    return WhatIfTable(mod, passes, base, variants, opt_level=opt_level, stopped=stopped)


def _run_in_processes(
    mod: IRModule,
    passes: Sequence[Pass],
    jobs: Sequence[tuple[str, int, list[Pass]]],
    opt_level: int,
    seed: int | None,
    base: Variant,
    executor: Executor,
) -> Iterator[Variant | None]:
    """Run variants in other processes: programs, pipelines and results are sent as text."""
    text = infer_module(mod).astext()
    waiting = [
        executor.submit(_variant_text, text, [p.as_text() for p in order], opt_level, seed) for _, _, order in jobs
    ]
    # In the order of submission, so the table does not depend on which process ends first.
    for (change, number, _), future in zip(jobs, waiting, strict=True):
        after, seconds, correct = future.result()
        name = passes[number - 1].info.name
        if after is None:
            yield Variant(change, name, number, None, None, seconds, correct, False)
            continue
        module = infer_module(parse(after))
        same = base.module is not None and structural_equal(base.module, module)
        yield Variant(change, name, number, module, Cost.of(module), seconds, base.correct if same else correct, same)


def _variant_text(text: str, passes: Sequence[str], opt_level: int, seed: int | None) -> tuple[str | None, float, str]:
    """Run one pipeline given as text; return the text of its result, the seconds, and whether values are kept."""
    trial = None if seed is None else Trial(seed=seed, without_contract=True)
    several = [one for part in passes for one in passes_of(part)]
    variant = _variant(infer_module(parse(text)), several, "", "", 0, opt_level, None, trial)
    return None if variant.module is None else variant.module.astext(), variant.seconds, variant.correct


def passes_of(pipeline: Any) -> list[Pass]:
    """Return the passes of a pipeline. Raises `PassError` for passes that do not exist."""
    whole = as_pass(pipeline)
    return list(whole.passes) if isinstance(whole, Sequential) else [whole]


def _changes(passes: Sequence[Pass], number: int) -> list[tuple[str, list[Pass]]]:
    at = number - 1
    changes = [
        ("skipped", [*passes[:at], *passes[number:]]),
        ("repeated", [*passes[:number], passes[at], *passes[number:]]),
    ]
    if number < len(passes):
        changes.append(("moved", [*passes[:at], passes[number], passes[at], *passes[number + 1 :]]))
    return changes


def _variant(
    mod: IRModule,
    passes: Sequence[Pass],
    change: str,
    name: str,
    number: int,
    opt_level: int,
    base: Variant | None,
    trial: Trial | None,
) -> Variant:
    """Run one pipeline and measure its result."""
    started = monotonic()
    recording = record(mod, Sequential(list(passes)), opt_level)
    seconds = monotonic() - started
    if recording.error is not None:
        first = getattr(recording.error, "diagnostics", None)
        why = first[0].message if first else f"{type(recording.error).__name__}: {recording.error}"
        return Variant(change, name, number, None, None, seconds, why, False)
    try:
        last = infer_module(recording.last.snapshot())
    except PasslabError as error:
        return Variant(change, name, number, None, None, seconds, error.diagnostics[0].message, False)
    same = base is None or (base.module is not None and structural_equal(base.module, last))
    correct = "not compared"
    if base is not None and same:
        correct = base.correct  # equal programs compute the same values
    elif trial is not None:
        correct = _compare_values(mod, last, _combined_contract(passes), trial)
    return Variant(change, name, number, last, Cost.of(last), seconds, correct, same)


def _combined_contract(passes: Sequence[Pass]) -> NumericContract:
    """Return the combined contract of passes; one that has no contract counts as `DEFAULT_CONTRACT`."""
    return combine(declared_contract(one) or DEFAULT_CONTRACT for one in passes) or DEFAULT_CONTRACT


def _compare_values(before: IRModule, after: IRModule, contract: NumericContract, trial: Trial) -> str:
    """Say whether a program computes what it did before any pass: "kept", or how it differs."""
    try:
        check = examine("the pipeline", infer_module(before), after, contract, trial, locate=False)
    except PasslabError as error:
        return f"not compared ({error.diagnostics[0].message})"
    return check.why if check.outcome == "broken" else "kept" if check.compared else "same"
