"""`reduce`: the smallest program for which something still holds.

    small = lab.reduce(mod, lambda mod: crashes(mod))
    small.module, small.text()

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over functions and
nodes: large parts are cut off first, then ever smaller ones, then nodes one by one; shapes shrink last. Every program
that the predicate is asked about has types, has no free variables, and is smaller than the one before. What may be cut
is in `reduction_stages`; this module keeps the best so far and counts the tries.
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
from passlab.table import Table

if TYPE_CHECKING:
    from passlab.lab.bisection import Bisection

SMALL = 60  # nodes of a program that may lose what its types were
Size = tuple[int, int, int]
Changes = dict[str, Function | None]


@dataclass(frozen=True)
class Shrinking:
    """One part that could be cut: what was done, and how many functions and nodes were left."""

    what: str
    functions: int
    nodes: int


@dataclass(frozen=True)
class Reduction:
    """The smallest program that was found. `stopped` says why no smaller one was looked for, "" when there was none."""

    original: IRModule
    module: IRModule
    steps: tuple[Shrinking, ...]
    tries: int
    stopped: str = ""
    predicate: Predicate | None = field(default=None, repr=False)
    of: Bisection | None = field(default=None, repr=False)  # whose guilty pass breaks it

    def summary(self) -> str:
        """Return how much smaller it is, in a sentence."""
        tries = f"{self.tries:,} {'try' if self.tries == 1 else 'tries'}"
        end = f"; stopped: {self.stopped}" if self.stopped else ""
        return f"from {_told(self.original)} to {_told(self.module)} in {tries}{end}"

    def table(self) -> Table:
        """Return one row for each part that was cut."""
        rows = [(number, s.what, s.functions, s.nodes) for number, s in enumerate(self.steps, 1)]
        return Table(("step", "what was cut", "functions", "nodes"), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return the summary and the program as Relay text."""
        return f"{self.summary()}\n{self.module.astext()}"

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a reproducer notebook of the smallest program, and return its path.

        It says what holds for the program, or which pass breaks it, in a cell that fails once that is mended. Raises
        `PasslabError` where nbformat is not installed.
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
    """Return the smallest program found for which a predicate over modules holds, as it does for `mod`.

    No single cut makes the result smaller. A predicate that raises does not hold. After `tries` questions, or
    `seconds`, and after an interrupt from the keyboard, the smallest program so far is returned; `of` is the bisection
    that it is about, for its notebook. An `executor` (of `concurrent.futures`) is asked about several cuts at once, of
    which the first that holds is made: the result is the same, after more tries in less time. Raises `PassError`
    when the predicate does not hold for `mod`, and `DiagnosticError` when that has no types. Each try costs, besides
    the predicate, time linear in the functions it changes.
    """
    _check_options(mod, predicate, tries, seconds)
    search = Search(infer_module(mod.snapshot()), Oracle(predicate, executor), tries, seconds)
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
    except _EnoughError as enough:
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


class _EnoughError(Exception):
    """No more tries are left."""


class Search:
    """The smallest program so far, and the questions that are left."""

    def __init__(self, mod: IRModule, oracle: Oracle, tries: int, seconds: float | None) -> None:
        self.best = mod
        self.size = size_of(mod)
        self.steps: list[Shrinking] = []
        self.tries = 0
        self.sharing = False  # whether one value may replace others of its type: tried last, since it hides differences
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
        """Replace some functions, or take them away (None); keep that if the predicate still holds."""
        return self.first([(changes, what)])

    def first(self, cuts: Iterable[tuple[Changes, str]]) -> bool:
        """Make the first of some cuts for which the predicate still holds; return whether there is one.

        What is not smaller, has no types, has free variables, or shares effects across scopes is not asked about.
        Raises when no tries are left.
        """
        possible = ((typed, what) for changes, what in cuts if (typed := self._cut(changes)) is not None)
        while some := list(islice(possible, self._oracle.ahead)):
            some = some[: self._room()]
            self.tries += len(some)
            for (typed, what), outcome in zip(some, self._oracle.all([typed for typed, _ in some]), strict=True):
                if outcome.holds:
                    self.best, self.size = typed, size_of(typed)
                    self.steps.append(Shrinking(what, len(typed), count_module(typed)[0]))
                    return True
        return False

    def _cut(self, changes: Changes) -> IRModule | None:
        """Return the program with some functions replaced; None where that is no smaller program with types."""
        if any(function is not None and free_vars(function) for function in changes.values()):
            return None
        candidate = self.best.with_functions(changes)
        if not len(candidate) or size_of(candidate) >= self.size:
            return None
        typed = _infer_types(candidate)
        if typed is None:
            return None
        if size_of(typed) >= self.size or self._moves_effects(typed, changes):
            return None
        return typed

    def _moves_effects(self, typed: IRModule, changes: Changes) -> bool:
        """Whether a cut left a node with effects in two scopes, the first of which computes it."""
        return bool(effects_in_several_scopes(typed, changes)) and not effects_in_several_scopes(self.best, changes)

    def _room(self) -> int:
        """How many programs may still be asked about. Raises when there is no more time."""
        if self.tries >= self._most:
            raise _EnoughError(f"after {self.tries:,} tries")
        if self._end is not None and monotonic() > self._end:
            raise _EnoughError(f"after {self._seconds:g} seconds")
        return self._most - self.tries


def _infer_types(mod: IRModule) -> IRModule | None:
    """Return a program with types: those that were written down, else those that follow; None where it has none."""
    for candidate in (mod, _without_annotations(mod)):
        with contextlib.suppress(PasslabError):
            return infer_module(candidate)
    return None


def _without_annotations(mod: IRModule) -> IRModule:
    """Return a small program without the types that lets and functions were given, which may have become others."""
    if count_module(mod)[0] > SMALL:
        return mod
    changes: Changes = {}
    for name, function in mod.items():
        bound = {n.var for n in post_order(function) if isinstance(n, Let) and n.var.type_annotation is not None}
        plain = rewrite(function, replace={var: Var(var.name_hint) for var in bound})
        changes[name] = plain.with_fields(ret_type=None)
    return mod.with_functions(dict(changes))


def size_of(mod: IRModule) -> Size:
    """Return what a smaller program has less of: nodes made of others, then leaves, then elements of its tensors."""
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


def _told(mod: IRModule) -> str:
    nodes, functions = count_module(mod)[0], len(mod)
    return f"{nodes:,} nodes in {counted(functions, 'function')}"
