"""`orders`: the programs that orders of some passes lead to.

    ways = lab.orders(mod, "FoldConstant, SimplifyExpr, EliminateCommonSubexpr")
    ways.table(), ways.best               # the programs that orders lead to, equal ones merged, and the cheapest way

Programs never change, so each step costs what its pass costs; programs that are structurally equal are one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any

from passlab.errors import Diagnostic, PassError, PasslabError, counted
from passlab.infer import infer_module
from passlab.instrument.deadline import check_seconds
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.module import IRModule
from passlab.lab.counterfactuals import Cost, passes_of
from passlab.lab.recording import record
from passlab.table import Table
from passlab.text.parser import parse
from passlab.transform.base import Pass
from passlab.transform.pipeline import as_pass

MOST_PROGRAMS = 200  # that `orders` goes through
FAILS = "fails: "
Result = IRModule | str  # what a pass leaves, or why it fails


@dataclass
class Place:
    """A program that some order of passes leads to: the shortest way there, and where each pass leads from here."""

    number: int
    module: IRModule
    cost: Cost
    way: tuple[str, ...]
    leads_to: dict[str, int | str] = field(default_factory=dict)


class OrderMap:
    """The programs that orders of some passes lead to. Equal programs are one place; `leads_to` are the edges."""

    def __init__(self, passes: Sequence[str], places: Sequence[Place], complete: bool) -> None:
        self.passes = tuple(passes)
        self.places = tuple(places)
        self.complete = complete

    @cached_property
    def best(self) -> Place:
        """The place with the fewest kernels and nodes, by the shortest way."""
        return min(self.places, key=lambda p: (p.cost.nodes, p.cost.kernels, len(p.way), p.number))

    @property
    def ends(self) -> list[Place]:
        """The places where no pass changes anything any more."""
        return [p for p in self.places if all(to == p.number for to in p.leads_to.values())]

    def meets(self) -> list[tuple[str, str]]:
        """Return the pairs of passes that lead to one program in either order, wherever both orders were tried."""
        pairs = []
        for n, first in enumerate(self.passes):
            for second in self.passes[n + 1 :]:
                if self._commute(first, second):
                    pairs.append((first, second))
        return pairs

    def _commute(self, first: str, second: str) -> bool:
        tried = False
        for place in self.places:
            a, b = (self._then(place, one, other) for one, other in ((first, second), (second, first)))
            if a is None or b is None:
                continue
            tried = True
            if a != b:
                return False
        return tried

    def _then(self, place: Place, first: str, second: str) -> int | None:
        middle = place.leads_to.get(first)
        end = self.places[middle].leads_to.get(second) if isinstance(middle, int) else None
        return end if isinstance(end, int) else None

    def table(self) -> Table:
        """Return one row for each program: the shortest way to it, its cost, and where each pass leads from it."""
        rows = []
        for p in self.places:
            leads = [p.leads_to.get(name, "") for name in self.passes]
            rows.append((p.number, ", ".join(p.way) or "as it is", p.cost.nodes, p.cost.kernels, *leads))
        return Table(("program", "shortest way", "nodes", "kernels", *self.passes), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return the table, the cheapest program and where orders meet."""
        best = self.best
        lines = [str(self.table()), f"the cheapest is program {best.number}: {', '.join(best.way) or 'as it is'}"]
        lines += [f"{a} and {b} commute here" for a, b in self.meets()]
        if not self.complete:
            lines.append(f"not all: {counted(len(self.places), 'program')} were looked at")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()


def orders(
    mod: IRModule,
    passes: Any,
    *,
    opt_level: int = 4,
    most: int = MOST_PROGRAMS,
    seconds: float | None = 60.0,
    executor: Executor | None = None,
) -> OrderMap:
    """Run passes in all orders, as often as they change anything, and return the programs that they lead to.

    Programs are compared by structure, so that orders with equal results count once. After `most` programs or `seconds`
    the map is not complete. An `executor` (of `concurrent.futures`: threads, processes, a cluster) runs the passes on
    all programs that are equally far from the first at once; the map is the same. Raises `PassError` where passes are
    missing, or two have one text.
    """
    check_seconds(seconds)
    several = passes_of(passes)
    names = [one.as_text() for one in several]
    if not several or len(set(names)) < len(names):
        raise PassError(Diagnostic("orders are of several passes, each once", found=", ".join(names)))
    end = None if seconds is None else monotonic() + seconds
    search = _Search(infer_module(mod), several, opt_level, executor)
    done = 0
    while done < (count := len(search.places)):
        results = search.results(search.places[done:count])
        for place in search.places[done:count]:
            if len(search.places) > most or (end is not None and monotonic() > end):
                results.close()
                return OrderMap(names, search.places, False)
            for name in names:
                place.leads_to[name] = search.number_of(next(results), place, name)
        done = count
    return OrderMap(names, search.places, True)


class _Search:
    """The programs found so far."""

    def __init__(self, start: IRModule, passes: Sequence[Pass], opt_level: int, executor: Executor | None) -> None:
        self.passes = passes
        self.opt_level = opt_level
        self.executor = executor
        self.places = [Place(0, start, Cost.of(start), ())]
        self._by_hash: dict[int, list[int]] = {structural_hash(start): [0]}

    def results(self, places: Sequence[Place]) -> Generator[Result, None, None]:
        """Yield what each pass leaves of each program, or why it fails; with an executor, all at once."""
        jobs = [(place.module, one) for place in places for one in self.passes]
        if self.executor is None:
            yield from (_run(mod, one, self.opt_level) for mod, one in jobs)
            return
        waiting = [self._sent(self.executor, mod, one) for mod, one in jobs]
        try:
            for future in waiting:
                result = future.result()
                yield (
                    result if isinstance(result, IRModule) or result.startswith(FAILS) else infer_module(parse(result))
                )
        finally:
            for future in waiting:
                future.cancel()

    def _sent(self, executor: Executor, mod: IRModule, one: Pass) -> Future[Any]:
        if isinstance(executor, ThreadPoolExecutor):
            return executor.submit(_run, mod, one, self.opt_level)
        return executor.submit(_run_text, mod.astext(), one.as_text(), self.opt_level)

    def number_of(self, after: Result, place: Place, name: str) -> int | str:
        """Return the number of the program that a pass leads to from a place, new or known, or why it fails."""
        if isinstance(after, str) or after.same_contents(place.module):
            return after if isinstance(after, str) else place.number
        alike = self._by_hash.setdefault(structural_hash(after), [])
        for other in alike:
            if structural_equal(self.places[other].module, after):
                return other
        self.places.append(Place(len(self.places), after, Cost.of(after), (*place.way, name)))
        alike.append(len(self.places) - 1)
        return len(self.places) - 1


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
    """Run a pass on a program in another process: both are given as text, and what is left is text again."""
    result = _run(infer_module(parse(text)), as_pass(one), opt_level)
    return result if isinstance(result, str) else result.astext()
