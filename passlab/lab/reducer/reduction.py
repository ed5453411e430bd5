"""`reduce`: the smallest program for which something still holds.

    small = lab.reduce(mod, lambda mod: crashes(mod))
    small.module, small.text()

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over functions and
nodes: large parts are cut off first, then ever smaller ones, then nodes one by one; shapes shrink last. Every candidate
that the predicate is asked about has types, has no free variables, and is smaller than the best one so far.
`reduction_stages` proposes the cuts, `reduction_search` keeps the best candidate.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PassTypeError, counted
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.lab.reducer.search import EndOfSearchError, ReductionSearch, Shrinking
from passlab.lab.reducer.stages import STAGES
from passlab.oracle.deadline import Deadline, check_seconds
from passlab.oracle.predicate import Oracle, Predicate
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    from passlab.lab.culprits.bisection import Bisection


@dataclass(frozen=True)
class Reduction(Tabular):
    """The smallest program of a search. `stopped` says why the search ended early, "" when no cut was left."""

    original: IRModule
    module: IRModule
    steps: tuple[Shrinking, ...]
    tries: int
    stopped: str = ""
    predicate: Predicate | None = field(default=None, repr=False)
    of: Bisection | None = field(default=None, repr=False)  # has the guilty pass, for the notebook

    def summary(self) -> str:
        """Return the sizes before and after in a sentence."""
        tries = f"{self.tries:,} {'try' if self.tries == 1 else 'tries'}"
        end = f"; stopped: {self.stopped}" if self.stopped else ""
        return f"from {_size_text(self.original)} to {_size_text(self.module)} in {tries}{end}"

    def table(self) -> Table:
        """Return one row for each cut."""
        rows = [(number, s.what, s.functions, s.nodes) for number, s in enumerate(self.steps, 1)]
        return Table(("step", "what was cut", "functions", "nodes"), rows)

    def text(self) -> str:
        """Return the summary and the program as Relay text."""
        return f"{self.summary()}\n{self.module.astext()}"

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a reproducer notebook of the smallest program, and return its path.

        Its last cell asserts that the fault is there, so it fails once the fault is fixed. Raises `PasslabError` where
        nbformat is not installed.
        """
        from passlab.lab.reducer.reproducer import write_bisection, write_reduction

        if self.of is not None:
            return write_bisection(self.of, path, self.module)
        return write_reduction(self, self.predicate, path)

    def __repr__(self) -> str:
        return self.text()


def reduce(
    mod: IRModule,
    predicate: Predicate,
    *,
    tries: int = 2000,
    seconds: float | None = None,
    of: Bisection | None = None,
    executor: Executor | None = None,
) -> Reduction:
    """Search for the smallest program for which a predicate over modules holds, as it does for `mod`.

    No single cut makes the result smaller. A predicate that raises does not hold. After `tries` evaluations of the
    predicate, after `seconds`, or after a keyboard interrupt, the smallest program so far is returned; `of` is the
    bisection whose notebook the result writes. An `executor` (of `concurrent.futures`) evaluates several cuts at once
    and the first that holds is made: the result is the same, after more tries in less time. Raises `PassError` when the
    predicate does not hold for `mod`, and `DiagnosticError` when `mod` has no types. Each try costs, besides the
    predicate, time linear in the functions it changes.
    """
    _check_options(mod, predicate, tries, seconds)
    search = ReductionSearch(infer_module(mod.snapshot()), Oracle(predicate, executor), tries, seconds)
    search.check_start()
    stopped, deadline = "", Deadline(seconds)
    try:
        with deadline:
            # The loop sets the attribute: all stages run without sharing first, then with it.
            for search.sharing in (False, True):
                size = None
                while size != search.size:  # until no stage makes a cut
                    size = search.size
                    for stage in STAGES:
                        stage(search)
    except EndOfSearchError as enough:
        stopped = str(enough)
    except deadline.error:
        deadline.close()
        stopped = f"after {seconds:g} seconds"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return Reduction(mod, search.best, tuple(search.steps), search.tries, stopped, predicate, of)


def _check_options(mod: Any, predicate: Any, tries: Any, seconds: Any) -> None:
    """Raise `PassTypeError` for arguments of a wrong kind."""
    if not isinstance(mod, IRModule):
        raise PassTypeError(Diagnostic("only a module can be reduced", expected="IRModule", found=type(mod).__name__))
    if not callable(predicate):
        hint = "as in `lambda mod: crashes(mod)`"
        raise PassTypeError(Diagnostic("a predicate is a function of a module", found=repr(predicate), hint=hint))
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise PassTypeError(Diagnostic("`tries` is a number of questions, from 0 on", found=repr(tries)))
    check_seconds(seconds)


def _size_text(mod: IRModule) -> str:
    nodes, functions = count_module(mod)[0], len(mod)
    return f"{nodes:,} nodes in {counted(functions, 'function')}"
