"""`reduce`: the smallest program for which something still holds.

    small = lab.reduce(mod, lambda mod: crashes(mod))
    small.module, small.text()

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over functions and
nodes: large parts are cut off first, then ever smaller ones, then nodes one by one; shapes shrink last. Every candidate
that the predicate is asked about has types, has no free variables, and is smaller than the best one so far.
`reduction_stages` proposes the cuts; this module keeps the best candidate and counts the tries.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PassError, PasslabError, PassTypeError, counted
from passlab.infer import infer_module
from passlab.instrument.deadline import Deadline, check_seconds
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Constant, Function, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES, post_order, rewrite
from passlab.lab.oracle import FALSE, Oracle, Predicate
from passlab.lab.reduction_stages import STAGES
from passlab.lab.shared_effects import effects_in_several_scopes
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    from passlab.lab.bisection import Bisection

SMALL = 60  # nodes up to which the annotated types of a candidate may change
Size = tuple[int, int, int]
Changes = dict[str, Function | None]


@dataclass(frozen=True)
class Shrinking:
    """One cut that was kept: what was cut, and how many functions and nodes were left."""

    what: str
    functions: int
    nodes: int


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
        from passlab.lab.reproducer import write_bisection, write_reduction

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
            for search.sharing in (False, True):
                size = None
                while size != search.size:
                    size = search.size
                    for stage in STAGES:
                        stage(search)
    except _EndOfSearchError as enough:
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
        raise PassTypeError(Diagnostic("what is reduced is a module", expected="IRModule", found=type(mod).__name__))
    if not callable(predicate):
        hint = "as in `lambda mod: crashes(mod)`"
        raise PassTypeError(Diagnostic("a predicate is a function of a module", found=repr(predicate), hint=hint))
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise PassTypeError(Diagnostic("`tries` is a number of questions, from 0 on", found=repr(tries)))
    check_seconds(seconds)


class _EndOfSearchError(Exception):
    """Ends a reduction: no tries or no time are left."""


class ReductionSearch:
    """The smallest program so far, and the remaining tries."""

    def __init__(self, mod: IRModule, oracle: Oracle, tries: int, seconds: float | None) -> None:
        self.best = mod
        self.size = size_of(mod)
        self.steps: list[Shrinking] = []
        self.tries = 0
        self.sharing = (
            False  # whether a value may replace others of its type: last, since the equal operands may hide the cause
        )
        self._oracle = oracle
        self._most = tries
        self._end = None if seconds is None else monotonic() + seconds
        self._seconds = seconds

    def check_start(self) -> None:
        """Raise `PassError` unless the predicate holds before anything is cut."""
        outcome = self._oracle.one(self.best)
        if outcome.why == FALSE:
            what = "the predicate does not hold for the whole program"
            raise PassError(Diagnostic(what, hint="it is true of programs that show what is looked for"))
        if not outcome.holds:
            name, _, reason = outcome.why.partition(": ")
            raise PassError(
                Diagnostic(f"the predicate raised {name} for the whole program: {reason}")
            ) from outcome.error

    def attempt(self, changes: Changes, what: str) -> bool:
        """Replace functions, or remove them (None), if the predicate still holds; return whether it does."""
        return self.first([(changes, what)])

    def first(self, cuts: Iterable[tuple[Changes, str]]) -> bool:
        """Make the first of some cuts for which the predicate still holds; return whether there is one.

        Candidates that are not smaller, have no types, have free variables, or share effects across scopes are skipped.
        Raises `_EndOfSearchError` when no tries are left.
        """
        possible = ((typed, what) for changes, what in cuts if (typed := self._candidate(changes)) is not None)
        while some := list(islice(possible, self._oracle.ahead)):
            some = some[: self._remaining_tries()]
            self.tries += len(some)
            for (typed, what), outcome in zip(some, self._oracle.all([typed for typed, _ in some]), strict=True):
                if outcome.holds:
                    self.best, self.size = typed, size_of(typed)
                    self.steps.append(Shrinking(what, len(typed), count_module(typed)[0]))
                    return True
        return False

    def _candidate(self, changes: Changes) -> IRModule | None:
        """Return the candidate with some functions replaced, typed; None where it is not smaller or has no types."""
        if any(function is not None and free_vars(function) for function in changes.values()):
            return None
        candidate = self.best.with_functions(changes)
        if not len(candidate) or size_of(candidate) >= self.size:
            return None
        typed = _infer_candidate(candidate)
        if typed is None:
            return None
        if size_of(typed) >= self.size or self._moves_effects(typed, changes):
            return None
        return typed

    def _moves_effects(self, typed: IRModule, changes: Changes) -> bool:
        """Whether a cut made two scopes share a node with effects, whose order is then hard to read."""
        return bool(effects_in_several_scopes(typed, changes)) and not effects_in_several_scopes(self.best, changes)

    def _remaining_tries(self) -> int:
        """Return the number of remaining tries. Raises `_EndOfSearchError` when there are none, or no time."""
        if self.tries >= self._most:
            raise _EndOfSearchError(f"after {self.tries:,} tries")
        if self._end is not None and monotonic() > self._end:
            raise _EndOfSearchError(f"after {self._seconds:g} seconds")
        return self._most - self.tries


def _infer_candidate(mod: IRModule) -> IRModule | None:
    """Return a typed program, without its annotations where they do not fit any more; None where it has no types."""
    for candidate in (mod, _without_annotations(mod)):
        with contextlib.suppress(PasslabError):
            return infer_module(candidate)
    return None


def _without_annotations(mod: IRModule) -> IRModule:
    """Return a small program without annotations of lets and results, which a cut may have made wrong."""
    if count_module(mod)[0] > SMALL:
        return mod
    changes: Changes = {}
    for name, function in mod.items():
        bound = {n.var for n in post_order(function) if isinstance(n, Let) and n.var.type_annotation is not None}
        plain = rewrite(function, replace={var: Var(var.name_hint) for var in bound})
        changes[name] = plain.with_fields(ret_type=None)
    return mod.with_functions(dict(changes))


def size_of(mod: IRModule) -> Size:
    """Return the size by which candidates are ordered: inner nodes, then leaves, then elements of tensors."""
    inner = leaves = elements = 0
    for function in mod.functions.values():
        types = [param.type_annotation for param in function.params]
        elements += sum(prod(d for d in ty.shape if isinstance(d, int)) for ty in types if isinstance(ty, TensorType))
        for node in post_order(function):
            if isinstance(node, LEAVES):
                leaves += 1
                elements += node.data.size if isinstance(node, Constant) else 0
            else:
                inner += 1
    return inner, leaves, elements


def _size_text(mod: IRModule) -> str:
    nodes, functions = count_module(mod)[0], len(mod)
    return f"{nodes:,} nodes in {counted(functions, 'function')}"
