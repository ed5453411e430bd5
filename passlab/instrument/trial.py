"""`Trial` runs programs with the reference evaluator on the inputs given, or on draws of many kinds: it keeps runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from passlab.errors import Diagnostic, PasslabError, PassTypeError, RunError, did_you_mean
from passlab.evaluate.values import Value
from passlab.instrument.deadline import run_within
from passlab.instrument.draws import Draw, draws
from passlab.instrument.known_results import MOST_BYTES, KnownResults
from passlab.instrument.watched import Branch, Watched, branches_of, noisy_runs
from passlab.ir.expr import Function
from passlab.ir.module import IRModule

T = TypeVar("T")
Inputs = Sequence[Any] | Mapping[str, Any] | None
GIVEN = "the inputs given"
DRAW_SECONDS = 0.5  # that a program may take at least on unusual inputs, before any pass
EXPLORE_SECONDS = 0.3  # for which draws are looked for that reach more branches
TURNS = 40  # of all kinds of draws
MOST_DRAWS = 28
SECONDS = 1.0  # for which one program is run on draws, the first in any case


@dataclass(frozen=True)
class Run:
    """One run of a program: its value, or its error; whether all floats were finite; which branches were taken."""

    value: Value = None
    error: PasslabError | None = None
    finite: bool = True
    branches: frozenset[Branch] = frozenset()
    endless: bool = False


def attempt(work: Callable[[], T]) -> tuple[T | None, PasslabError | None]:
    """Return what some work gives, or what it raised: of the code of an operator or executor that is anything."""
    try:
        return work(), None
    except PasslabError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - a fault of user code must not end the search
        return None, RunError(f"{type(error).__name__}: {error}")


def _check_options(inputs: Any, seed: Any) -> None:
    """Raise `PassTypeError` for inputs and seeds that are none."""
    if isinstance(inputs, (str, bytes)) or not (inputs is None or isinstance(inputs, (Mapping, Sequence))):
        message = "inputs are a list, or a table by name of the parameter"
        raise PassTypeError(Diagnostic(message, found=type(inputs).__name__))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PassTypeError(Diagnostic("a seed is a whole number from 0 on", found=repr(seed)))


class Trial:
    """Runs one function of programs on the same inputs: a list, a table by parameter, or None for draws of all kinds.

    The runs of the last two programs are remembered: what one pass leaves, the next one is given. `seconds` is how long
    one program is run on draws; the first one is run in any case. With `unpromised` passes that promise nothing are
    compared, too. With `patience` a program that takes so many seconds, and twenty times as long as any before, counts
    as one that does not end.
    """

    def __init__(
        self,
        inputs: Inputs = None,
        entry: str = "main",
        seed: int = 0,
        seconds: float = SECONDS,
        unpromised: bool = False,
        patience: float | None = None,
        kinds: Sequence[str] = (),
        first: str = "",
        limit: float | None = None,
    ) -> None:
        _check_options(inputs, seed)
        self.inputs = inputs
        self.entry = entry
        self.seed = seed
        self.seconds = seconds
        self.unpromised = unpromised
        self.patience = patience
        self.kinds = tuple(kinds)  # of draws; all without any
        self.first = first
        self.limit = limit
        self._endless: dict[int, Run] = {}  # draws on which the first program does not end: later ones are not run
        self._slowest = 0.0
        self._usual = 0.0  # seconds on typical inputs
        self.taken: set[Branch] = set()  # of the branches of the first program
        self._first: IRModule | None = None
        self._draws: tuple[Draw, ...] | None = None
        self._known: list[tuple[IRModule, dict[int, Run]]] = []
        self._results: dict[int, KnownResults] = {}  # of operators on each of the draws
        self._noisy: list[tuple[IRModule, dict[tuple[int, float, int], list[Value]]]] = []

    def draws(self, mod: IRModule) -> tuple[Draw, ...]:
        """Return the arguments, which are those for the first program asked about. Raises `RunError`."""
        if self._draws is None:
            if self.entry not in mod:
                names = [name for name, _ in mod.items()]
                hint = did_you_mean(self.entry, names) or f"it has {', '.join(f'@{name}' for name in names)}"
                raise RunError(Diagnostic(f"the program has no function @{self.entry}", hint=hint))
            if self.inputs is None:
                all_draws = draws(mod, self.entry, self.seed)
                chosen = [draw for draw in all_draws if not self.kinds or draw.kind in self.kinds]
                self._draws = tuple(sorted(chosen, key=lambda draw: draw.kind != self.first))
            else:
                self._draws = (Draw(GIVEN, tuple(self._given(mod[self.entry]))),)
            self._first = mod
        return self._draws

    def run(self, mod: IRModule, number: int) -> Run:
        """Run a program on one of the draws."""
        runs = self._runs_of(mod)
        if number in self._endless:
            return self._endless[number]
        if number not in runs:
            runs[number] = self._run(mod, self.draws(mod)[number], self._results_of(number))
            if self._is_first(mod):
                self.taken |= runs[number].branches
                if runs[number].endless:
                    self._endless[number] = runs[number]
        return runs[number]

    def _runs_of(self, mod: IRModule) -> dict[int, Run]:
        """Return the runs of a program that are remembered, by the number of the draw: it is now the last program."""
        runs: dict[int, Run] = next((stored for program, stored in self._known if program.same_contents(mod)), {})
        others = [pair for pair in self._known if pair[1] is not runs]
        self._known = [*(pair for pair in others[:-1] if self._is_first(pair[0])), *others[-1:], (mod, runs)]
        return runs

    def noisy(self, mod: IRModule, number: int, noise: float, count: int) -> list[Value]:
        """Return results of a program on one of the draws under noise. Raises `PasslabError` where it fails then."""
        key = (number, noise, count)
        results = next((noise for program, noise in self._noisy if program.same_contents(mod)), {})
        others = [pair for pair in self._noisy if pair[1] is not results]
        self._noisy = [*(pair for pair in others if self._is_first(pair[0])), (mod, results)]
        if key not in results:
            fewer = max((c for n, x, c in results if (n, x) == (number, noise) and c < count), default=0)
            earlier = results.get((number, noise, fewer), [])
            arguments = self.draws(mod)[number].arguments
            results[key] = [*earlier, *noisy_runs(mod, self.entry, arguments, noise, count, fewer)]
        return results[key]

    def _is_first(self, mod: IRModule) -> bool:
        """Whether a program is the first one asked about: its runs are cached, since it may be compared again."""
        return self._first is not None and mod.same_contents(self._first)

    def about(self, kind: str, mod: IRModule) -> Trial | None:
        """Return a trial on one kind of draws with what is known of a program; None where that is nothing."""
        if self._draws is None or not any(program.same_contents(mod) for program, _ in self._known):
            return None
        number = next((n for n, draw in enumerate(self._draws) if draw.kind == kind), None)
        if number is None:
            return None
        trial = Trial(self.inputs, self.entry, self.seed, self.seconds, self.unpromised, self.patience, (kind,))
        trial._draws, trial._first, trial._slowest = (self._draws[number],), mod, self._slowest
        trial._known = [(p, {0: runs[number]}) for p, runs in self._known if number in runs and p.same_contents(mod)]
        trial._noisy = [
            (p, {(0, noise, count): values for (n, noise, count), values in names.items() if n == number})
            for p, names in self._noisy
        ]
        return trial

    def _results_of(self, number: int) -> KnownResults:
        """Return the results that the program before gave on one of the draws."""
        results = self._results.setdefault(number, KnownResults(MOST_BYTES // (1 + number)))
        results.begin_run()
        return results

    def release(self) -> None:
        """Give back the memory of results that a next run would find again."""
        self._results.clear()

    def _run(self, mod: IRModule, draw: Draw, results: KnownResults) -> Run:
        evaluators: list[Watched] = []  # one for each time that the work is tried
        started = perf_counter()
        first = self._first is None or mod.same_contents(self._first)
        seconds = None if self.patience is None else max(self.patience, 20 * self._slowest)
        if first:  # a loop may go on as long as a number that was drawn says
            seconds = None if draw.typical or draw.kind == GIVEN else max(DRAW_SECONDS, 4 * self._usual)
        if self.limit is not None:
            seconds = self.limit if seconds is None else min(seconds, self.limit)

        def work() -> tuple[Value | None, PasslabError | None]:
            evaluators.append(Watched(mod, results=results))
            return attempt(lambda: evaluators[-1].run(self.entry, draw.arguments))

        outcome, late = run_within(seconds, work)
        branches = frozenset(evaluators[-1].branches) if evaluators else frozenset()
        if outcome is None:
            slow = f"{late}; programs before it took {self._slowest:.2g} s at most"
            return Run(error=RunError(slow), branches=branches, endless=True)
        value, error = outcome
        if error is not None:
            return Run(error=error, branches=branches)
        self._slowest = max(self._slowest, perf_counter() - started)
        if draw.typical:
            self._usual = max(self._usual, perf_counter() - started)
        return Run(value, None, evaluators[-1].finite, branches)

    def missing(self) -> set[Branch]:
        """Return the branches of the first program, and sides of its comparisons and clips, that no run has taken."""
        return branches_of(self._first, self.entry) - self.taken if self._first is not None else set()

    def explore(self, mod: IRModule, seconds: float = EXPLORE_SECONDS) -> None:
        """Draw again where a branch, or a side of a comparison, is not reached, and keep the draws that reach one.

        Nothing is drawn again for programs without any, nor after so many seconds.
        """
        if self.inputs is not None or self.entry not in mod or not branches_of(mod, self.entry):
            return
        end = perf_counter() + seconds
        for number, _ in enumerate(self.draws(mod)):
            if perf_counter() > end:
                return
            self.run(mod, number)
        for turn in range(1, TURNS + 1):
            for draw in draws(mod, self.entry, self.seed + 1000 * turn):
                number = len(self.draws(mod))
                if perf_counter() > end or not self.missing() or number >= MOST_DRAWS:
                    return
                run = self._run(mod, draw, self._results_of(number))
                if run.error is not None or not run.branches - self.taken:
                    self._results.pop(number)
                    continue
                draw.kind = f"{draw.kind}, drawn again to reach a branch"
                self._draws = (*self.draws(mod), draw)
                self._runs_of(mod)[number] = run
                self.taken |= run.branches

    def _given(self, function: Function) -> list[Any]:
        if not isinstance(self.inputs, Mapping):
            return list(self.inputs or ())
        names = [param.name_hint for param in function.params]
        for name in self.inputs:
            if name not in names:
                what = f"@{self.entry} has no parameter `{name}`"
                raise RunError(Diagnostic(what, hint=did_you_mean(name, names) or f"it has {', '.join(names)}"))
        missing = [name for name in names if name not in self.inputs]
        if missing:
            raise RunError(Diagnostic(f"there is no input for %{missing[0]} of @{self.entry}"))
        return [self.inputs[name] for name in names]

    def check_inputs(self, mod: IRModule) -> None:
        """Begin with a program. Raises `RunError` where the inputs given do not fit it, or it has no such function."""
        if self.inputs is None and self.entry in mod:
            with contextlib.suppress(RunError):  # reported where programs are compared
                self.draws(mod)
        if self.inputs is not None or self.entry not in mod:
            for number, _ in enumerate(self.draws(mod)):
                if (error := self.run(mod, number).error) is not None:
                    raise error
