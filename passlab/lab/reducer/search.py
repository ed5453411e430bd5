"""`ReductionSearch`: the best candidate of a reduction so far; it checks the cuts that the stages propose.

The file begins with nodes with effects that are used in more than one scope, so that the text does not show when they
run.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from math import prod

from passlab.analysis.purity import module_purity
from passlab.analysis.scopes import Scope, Scopes, scoped_children
from passlab.errors import Diagnostic, PassError, PasslabError
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.adt import TypeData
from passlab.ir.expr import Constant, Expr, Function, Let, RefCreate, Var
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar, RefType, TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES, post_order, rewrite
from passlab.oracle.deadline import Stopwatch
from passlab.oracle.predicate import FALSE, Oracle


def effects_in_several_scopes(mod: IRModule, names: Iterable[str]) -> set[Expr]:
    """Return the nodes with effects that functions of a typed module use in more than one scope."""
    functions = [mod[name] for name in names if name in mod]
    shared = {node for function in functions for node in _used_in_several_scopes(function)}
    if not shared:
        return shared
    purity = module_purity(mod)
    return {node for node in shared if not purity.pure(node) or _makes_references(node)}


def _makes_references(node: Expr) -> bool:
    """Whether computing a node twice would make two references instead of one."""
    inside = post_order(node, enter=lambda n: not isinstance(n, Function))
    return isinstance(node.checked_type_, RefType) or any(isinstance(n, RefCreate) for n in inside)


def _used_in_several_scopes(function: Function) -> set[Expr]:
    scopes = Scopes(function)
    first: dict[Expr, Scope] = {}
    several: set[Expr] = set()
    for node in scopes.order:

        def open_scope(owner: Expr, part: int) -> Scope:
            return scopes.inner[(owner, part)]

        for child, where in scoped_children(node, scopes.of[node], open_scope):
            if first.setdefault(child, where) is not where and not isinstance(child, (*LEAVES, Function)):
                several.add(child)
    return several


SMALL = 60  # nodes up to which the annotated types of a candidate may change
NOT_SHOWN = "the predicate does not hold for the whole program"
Size = tuple[int, int, int]
Changes = dict[str, Function | None]


@dataclass(frozen=True)
class Shrinking:
    """One cut that was kept: what was cut, and how many functions and nodes were left."""

    what: str
    functions: int
    nodes: int


class EndOfSearchError(Exception):
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
        self._watch = Stopwatch()
        self._seconds = seconds

    def check_start(self) -> None:
        """Raise `PassError` unless the predicate holds before anything is cut."""
        outcome = self._oracle.one(self.best)
        if outcome.why == FALSE:
            raise PassError(
                Diagnostic(NOT_SHOWN, hint="`lab.reduce` needs a predicate that is true for the failing program")
            )
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
        Raises `EndOfSearchError` when no tries are left.
        """
        # Lazy: a candidate after the first success is never typed.
        possible = ((typed, what) for changes, what in cuts if (typed := self._candidate(changes)) is not None)
        while some := list(islice(possible, self._oracle.ahead)):
            some = some[: self._remaining_tries()]
            self.tries += len(some)
            # In the order of the cuts, so that an executor does not change the result.
            for (typed, what), outcome in zip(some, self._oracle.all([typed for typed, _ in some]), strict=True):
                if outcome.holds:
                    self.best, self.size = typed, size_of(typed)
                    self.steps.append(Shrinking(what, len(typed), count_module(typed)[0]))
                    return True
        return False

    def drop_types(self) -> None:
        """Drop the types that no function mentions, if the predicate still holds."""
        bare = IRModule(dict(self.best.items()), attrs=self.best.attrs)
        words = set(re.findall(r"\w+", bare.astext(show_meta_data=False)))
        types = dict(self.best.type_definitions)
        used: dict[GlobalTypeVar, TypeData] = {}
        more = True
        while more:  # a type may mention others
            more = False
            for header, data in types.items():
                names = {header.name_hint, *(constructor.name_hint for constructor in data.constructors)}
                if header not in used and words & names:
                    used[header], more = data, True
                    words |= set(re.findall(r"\w+", str(data)))
        if len(used) == len(types) or not self._remaining_tries():
            return
        self.tries += 1
        kept = {header: data for header, data in types.items() if header in used}
        candidate = _infer_candidate(IRModule(dict(self.best.items()), kept, attrs=self.best.attrs))
        if candidate is not None and self._oracle.one(candidate).holds:
            self.best = candidate
            self.steps.append(Shrinking("unused types", len(candidate), count_module(candidate)[0]))

    def _candidate(self, changes: Changes) -> IRModule | None:
        """Return the candidate with some functions replaced, typed; None if it is not smaller or has no types."""
        if any(function is not None and free_vars(function) for function in changes.values()):
            return None
        candidate = self.best.with_functions(changes)
        if not len(candidate) or size_of(candidate) >= self.size:  # the cheap test comes first
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
        """Return the number of remaining tries. Raises `EndOfSearchError` if no tries, or no time, are left."""
        if self.tries >= self._most:
            raise EndOfSearchError(f"after {self.tries:,} tries")
        if self._seconds is not None and self._watch.spent() > self._seconds:
            raise EndOfSearchError(f"after {self._seconds:g} seconds")
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
    return inner, leaves, elements  # compared in this order: fewer operators are worth more than smaller tensors
