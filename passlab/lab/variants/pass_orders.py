"""`orders`: the programs that result from running some passes in all orders.

    ways = lab.orders(mod, "FoldConstant, SimplifyExpr, EliminateCommonSubexpr")
    ways.table(), ways.best               # the distinct programs, and the cheapest of them

The programs are the nodes of a graph whose edges are passes; structurally equal programs are one node.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PasslabError, counted
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import record
from passlab.lab.variants.what_if import Cost, passes_of
from passlab.oracle.deadline import check_seconds
from passlab.table import Table, Tabular
from passlab.text.parser import parse
from passlab.transform.base import Pass
from passlab.transform.pipeline_text import Pipeline, as_pass

MOST_PROGRAMS = 200  # that `orders` visits by default
FAILS = "fails: "
Result = IRModule | str  # of a pass: a program, or why it fails


@dataclass
class ReachedProgram:
    """A program that some order of passes results in.

    `shortest` is the shortest such order, and `transitions` has the program that each pass leads to from here.
    """

    number: int
    module: IRModule
    cost: Cost
    shortest: tuple[str, ...]
    transitions: dict[str, int | str] = field(default_factory=dict)


class OrderMap(Tabular):
    """The graph of programs that orders of some passes result in; `transitions` of each program are its edges."""

    def __init__(self, passes: Sequence[str], programs: Sequence[ReachedProgram], complete: bool) -> None:
        self.passes = tuple(passes)
        self.programs = tuple(programs)
        self.complete = complete

    @cached_property
    def best(self) -> ReachedProgram:
        """The program with the fewest nodes, then kernels, then passes."""
        return min(self.programs, key=lambda p: (p.cost.nodes, p.cost.kernels, len(p.shortest), p.number))

    @property
    def fixed_points(self) -> list[ReachedProgram]:
        """The programs that no pass changes."""
        return [p for p in self.programs if all(to == p.number for to in p.transitions.values())]

    def commuting_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of passes that commute: both orders give one program, wherever both were tried."""
        pairs = []
        for n, first in enumerate(self.passes):
            for second in self.passes[n + 1 :]:
                if self._commute(first, second):
                    pairs.append((first, second))
        return pairs

    def _commute(self, first: str, second: str) -> bool:
        tried = False
        for program in self.programs:
            a, b = (self._after_two(program, one, other) for one, other in ((first, second), (second, first)))
            if a is None or b is None:
                continue
            tried = True
            if a != b:
                return False
        return tried

    def _after_two(self, program: ReachedProgram, first: str, second: str) -> int | None:
        middle = program.transitions.get(first)
        end = self.programs[middle].transitions.get(second) if isinstance(middle, int) else None
        return end if isinstance(end, int) else None

    def table(self) -> Table:
        """Return one row for each program: the shortest way to it, its cost, and where each pass leads from it."""
        rows = []
        for p in self.programs:
            leads = [p.transitions.get(name, "") for name in self.passes]
            rows.append((p.number, ", ".join(p.shortest) or "as it is", p.cost.nodes, p.cost.kernels, *leads))
        return Table(("program", "shortest_way", "nodes", "kernels", *self.passes), rows)

    def text(self) -> str:
        """Return the table, the cheapest program and the pairs that commute."""
        best = self.best
        lines = [str(self.table()), f"the cheapest is program {best.number}: {', '.join(best.shortest) or 'as it is'}"]
        lines += [f"{a} and {b} commute here" for a, b in self.commuting_pairs()]
        if not self.complete:
            lines.append(f"the search stopped after {counted(len(self.programs), 'program')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()


@checked
def orders(
    mod: IRModule,
    passes: Pipeline,
    *,
    opt_level: int = 4,
    most: int = MOST_PROGRAMS,
    seconds: float | None = 60.0,
    executor: Executor | None = None,
) -> OrderMap:
    """Run passes in all orders, as long as they change the program, and return the resulting programs.

    Structurally equal programs count once. After `most` programs or `seconds` the map is not complete. An `executor`
    (of `concurrent.futures`: threads, processes, a cluster) runs the passes on all programs at the same distance from
    the first in parallel; the map is the same. Raises `PassError` without passes, or where two have the same text.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> len(lab.orders(mod, ["FoldConstant", "SimplifyExpr"], seconds=5).programs)
    2
    """
    check_seconds(seconds)
    several = passes_of(passes)
    names = [one.as_text() for one in several]
    if not several or len(set(names)) < len(names):
        raise PassError(Diagnostic("`orders` needs two or more different passes", found=", ".join(names)))
    end = None if seconds is None else monotonic() + seconds
    search = _OrderSearch(infer_module(mod), several, opt_level, executor)
    done = 0
    # Breadth first: the programs from `done` to `count` are equally far from the first one.
    while done < (count := len(search.programs)):
        results = search.results(search.programs[done:count])
        for program in search.programs[done:count]:
            if len(search.programs) > most or (end is not None and monotonic() > end):
                results.close()  # cancels the runs that have not begun
                return OrderMap(names, search.programs, False)
            for name in names:
                program.transitions[name] = search.number_of(next(results), program, name)
        done = count
    return OrderMap(names, search.programs, True)


class _OrderSearch:
    """A breadth-first search, with the programs reached so far."""

    def __init__(self, start: IRModule, passes: Sequence[Pass], opt_level: int, executor: Executor | None) -> None:
        self.passes = passes
        self.opt_level = opt_level
        self.executor = executor
        self.programs = [ReachedProgram(0, start, Cost.of(start), ())]
        # For each hash the numbers of its programs: only these are compared.
        self._by_hash: dict[int, list[int]] = {structural_hash(start): [0]}

    def results(self, programs: Sequence[ReachedProgram]) -> Generator[Result, None, None]:
        """Yield the result of each pass on each program, computed in parallel if there is an executor."""
        jobs = [(program.module, one) for program in programs for one in self.passes]
        if self.executor is None:
            yield from (_run(mod, one, self.opt_level) for mod, one in jobs)
            return
        waiting = [self._submit(self.executor, mod, one) for mod, one in jobs]
        try:
            for future in waiting:
                result = future.result()
                yield (
                    result if isinstance(result, IRModule) or result.startswith(FAILS) else infer_module(parse(result))
                )
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, executor: Executor, mod: IRModule, one: Pass) -> Future[Any]:
        if isinstance(executor, ThreadPoolExecutor):
            return executor.submit(_run, mod, one, self.opt_level)
        return executor.submit(_run_text, mod.astext(), one.as_text(), self.opt_level)

    def number_of(self, after: Result, program: ReachedProgram, name: str) -> int | str:
        """Return the number of the program that a pass made, which is added if it is new, or why the pass failed."""
        if isinstance(after, str) or after.same_contents(program.module):
            return after if isinstance(after, str) else program.number
        alike = self._by_hash.setdefault(structural_hash(after), [])
        for other in alike:
            if structural_equal(self.programs[other].module, after):
                return other
        self.programs.append(ReachedProgram(len(self.programs), after, Cost.of(after), (*program.shortest, name)))
        alike.append(len(self.programs) - 1)
        return len(self.programs) - 1


def _run(mod: IRModule, one: Pass, opt_level: int) -> Result:
    """Run a pass on a program."""
    recording = record(mod, one, opt_level)
    if recording.error is not None:
        return f"{FAILS}{type(recording.error).__name__}"
    try:
        return infer_module(recording.last.snapshot())
    except PasslabError:
        return f"{FAILS}no types"


def _run_text(text: str, one: str, opt_level: int) -> str:
    """Run a pass on a program in another process: pass, program and result are texts."""
    result = _run(infer_module(parse(text)), as_pass(one), opt_level)
    return result if isinstance(result, str) else result.astext()
