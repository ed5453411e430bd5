"""`Trial` runs programs on the reference evaluator, on given inputs or on draws of many kinds, and caches the runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from passlab.arguments import check_seed
from passlab.errors import Diagnostic, PasslabError, PassTypeError, RunError, did_you_mean
from passlab.evaluate.evaluator import Schedules
from passlab.evaluate.values import Value
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.oracle.coverage_evaluator import Branch, CoverageEvaluator, branches_of, noisy_runs
from passlab.oracle.deadline import run_within
from passlab.oracle.drawn_inputs import Draw, draws, introduced_numbers
from passlab.oracle.known_results import MOST_BYTES, KnownResults

T = TypeVar("T")
Inputs = Sequence[Any] | Mapping[str, Any] | None
GIVEN = "the inputs given"
DRAW_SECONDS = 0.5  # the least time limit of the input program on unusual inputs
EXPLORE_SECONDS = 0.3  # of the search for draws that reach more branches
ROUNDS = 40  # rounds of that search, each over all kinds of draws
MOST_DRAWS = 40
SECONDS = 1.0  # after which a program is not run on further draws; the first draw always counts


@dataclass(frozen=True)
class Run:
    """One run of a program: its value, or its error; whether all floats were finite; which branches were taken."""

    value: Value = None
    error: PasslabError | None = None
    finite: bool = True
    branches: frozenset[Branch] = frozenset()
    endless: bool = False


def attempt(work: Callable[[], T]) -> tuple[T | None, PasslabError | None]:
    """Return the result of a function or its error; other exceptions of operators and executors become `RunError`."""
    try:
        return work(), None
    except PasslabError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - a fault of user code must not end the search
        return None, RunError(f"{type(error).__name__}: {error}")


def _check_options(inputs: Any, seed: Any) -> None:
    """Raise `PassTypeError` for invalid inputs and seeds."""
    if isinstance(inputs, (str, bytes)) or not (inputs is None or isinstance(inputs, (Mapping, Sequence))):
        message = "inputs are a list, or a table by name of the parameter"
        raise PassTypeError(Diagnostic(message, found=type(inputs).__name__))
    check_seed(seed)


class Trial:
    """Runs a function of several programs on the same inputs: a list, a table by parameter, or None for draws.

    The runs of the first and of the last two programs are cached: the output of one pass is the input of the next.
    After `seconds` a program is not run on further draws. With `without_contract` passes that have none are compared as
    well. `patience`: seconds after which a run 20 times slower than the slowest so far counts as an endless loop.
    `kinds` restricts the draws, `first` is the kind to begin with, and `limit` is the time of one run.
    """

    def __init__(
        self,
        inputs: Inputs = None,
        entry: str = "main",
        seed: int = 0,
        seconds: float = SECONDS,
        without_contract: bool = False,
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
        self.without_contract = without_contract
        self.patience = patience
        self.kinds = tuple(kinds)  # of draws; all without any
        self.first = first
        self.limit = limit
        self._endless: dict[int, Run] = {}  # draws on which the first program hangs: no later one is run
        self.slowest = 0.0
        self._usual = 0.0  # seconds on typical inputs
        self.taken: set[Branch] = set()  # branches of the first program
        self._first: IRModule | None = None
        self._draws: tuple[Draw, ...] | None = None
        self._met: set[tuple[str, tuple[float, ...]]] = set()  # numbers that passes introduced
        self._runs: list[tuple[IRModule, dict[int, Run]]] = []
        self._schedules: WeakKeyDictionary[IRModule, Schedules] = WeakKeyDictionary()  # of programs that run often
        self._results: dict[int, KnownResults] = {}  # of operators on each of the draws
        self._noisy: list[tuple[IRModule, dict[tuple[int, float, int], list[Value]]]] = []

    def draws(self, mod: IRModule) -> tuple[Draw, ...]:
        """Return the draws, which are made for the first program. Raises `RunError` if none exist."""
        if self._draws is None:
            if self.entry not in mod:
                names = [name for name, _ in mod.items()]
                hint = did_you_mean(self.entry, names) or f"it has {', '.join(f'@{name}' for name in names)}"
                raise RunError(Diagnostic(f"the program has no function @{self.entry}", hint=hint))
            if self.inputs is None:
                all_draws = draws(mod, self.entry, self.seed)
                chosen = [draw for draw in all_draws if not self.kinds or draw.kind in self.kinds]
                # False sorts before True, so the first kind comes first.
                self._draws = tuple(sorted(chosen, key=lambda draw: draw.kind != self.first))
            else:
                self._draws = (Draw(GIVEN, tuple(self._input_list(mod[self.entry]))),)
            self._first = mod
        return self._draws

    def run(self, mod: IRModule, number: int) -> Run:
        """Run a program on one of the draws."""
        runs = self._runs_of(mod)
        if number in self._endless:
            return self._endless[number]
        if number not in runs:
            draw, results = self.draws(mod)[number], self._results_of(number)
            runs[number] = self._run_draw(mod, draw, results)
            if self._is_first(mod):
                while runs[number].error is not None and not runs[number].endless and draw.use_other_sizes():
                    runs[number] = self._run_draw(mod, draw, results)
                self.taken |= runs[number].branches
                if runs[number].endless:
                    self._endless[number] = runs[number]
        return runs[number]

    def meet(self, before: IRModule, after: IRModule) -> None:
        """Add draws of the numbers that a pass introduced, which its rules may compare with; none for given inputs."""
        if self.inputs is not None or self.entry not in before:
            return
        earlier = self.draws(before)
        new = [
            draw
            for draw in introduced_numbers(before, after, self.entry, self.seed)
            if (not self.kinds or draw.kind in self.kinds) and (draw.kind, draw.numbers) not in self._met
        ]
        self._met |= {(draw.kind, draw.numbers) for draw in new}
        if len(earlier) + len(new) > MOST_DRAWS:
            return
        # Runs are cached by the number of the draw, so that draws come first only while nothing ran.
        at_front = any(draw.kind == self.first for draw in new) and not self._runs
        self._draws = (*new, *earlier) if at_front else (*earlier, *new)

    def _runs_of(self, mod: IRModule) -> dict[int, Run]:
        """Return the cached runs of a program by the number of the draw, and make it the last program."""
        runs: dict[int, Run] = next((stored for program, stored in self._runs if program.same_contents(mod)), {})
        others = [pair for pair in self._runs if pair[1] is not runs]
        # The first program and the last two.
        self._runs = [*(pair for pair in others[:-1] if self._is_first(pair[0])), *others[-1:], (mod, runs)]
        return runs

    def noisy(self, mod: IRModule, number: int, noise: float, count: int) -> list[Value]:
        """Return results of a program on one of the draws under noise. Raises `PasslabError` where it fails then."""
        key = (number, noise, count)
        results = next((values for program, values in self._noisy if program.same_contents(mod)), {})
        others = [pair for pair in self._noisy if pair[1] is not results]
        self._noisy = [*(pair for pair in others if self._is_first(pair[0])), (mod, results)]
        if key not in results:
            # Runs with fewer seeds are the beginning of those with more, so only the others run.
            fewer = max((c for n, x, c in results if (n, x) == (number, noise) and c < count), default=0)
            earlier = results.get((number, noise, fewer), [])
            arguments = self.draws(mod)[number].arguments
            results[key] = [*earlier, *noisy_runs(mod, self.entry, arguments, noise, count, fewer)]
        return results[key]

    def _is_first(self, mod: IRModule) -> bool:
        """Whether a program is the first one, whose runs stay cached, since it may be compared again."""
        return self._first is not None and mod.same_contents(self._first)

    def of_kind(self, kind: str, mod: IRModule) -> Trial | None:
        """Return a trial on one kind of draws with the cached runs of a program; None if none exist."""
        if self._draws is None or not any(program.same_contents(mod) for program, _ in self._runs):
            return None
        number = next((n for n, draw in enumerate(self._draws) if draw.kind == kind), None)
        if number is None:
            return None
        trial = Trial(self.inputs, self.entry, self.seed, self.seconds, self.without_contract, self.patience, (kind,))
        trial._draws, trial._first, trial.slowest = (self._draws[number],), mod, self.slowest
        trial._runs = [(p, {0: runs[number]}) for p, runs in self._runs if number in runs and p.same_contents(mod)]
        trial._noisy = [
            (p, {(0, noise, count): values for (n, noise, count), values in results.items() if n == number})
            for p, results in self._noisy
        ]
        return trial

    def _results_of(self, number: int) -> KnownResults:
        """Return the cache of operator results on one of the draws."""
        results = self._results.setdefault(number, KnownResults())
        results.begin_run()
        # Later draws get less memory, and together they get no more than the first two of them.
        left = 2 * MOST_BYTES - sum(other.bytes for other in self._results.values())
        results.most = min(MOST_BYTES // (1 + number), left)
        return results

    def release(self) -> None:
        """Release the memory of cached operator results."""
        self._results.clear()
        self._schedules.clear()

    def _run_draw(self, mod: IRModule, draw: Draw, results: KnownResults) -> Run:
        evaluators: list[CoverageEvaluator] = []  # one for each attempt
        started = perf_counter()
        first = self._first is None or mod.same_contents(self._first)
        seconds = None if self.patience is None else max(self.patience, 20 * self.slowest)
        if first:  # the number of iterations of a loop may be drawn as well
            seconds = None if draw.typical or draw.kind == GIVEN else max(DRAW_SECONDS, 4 * self._usual)
        if self.limit is not None:
            seconds = self.limit if seconds is None else min(seconds, self.limit)

        schedules = self._schedules.setdefault(mod, WeakKeyDictionary())

        def work() -> tuple[Value | None, PasslabError | None]:
            evaluators.append(CoverageEvaluator(mod, results=results, schedules=schedules))
            return attempt(lambda: evaluators[-1].run(self.entry, draw.arguments))

        outcome, late = run_within(seconds, work)
        branches = frozenset(evaluators[-1].branches) if evaluators else frozenset()
        if outcome is None:
            slow = f"{late}; programs before it took {self.slowest:.2g} s at most"
            return Run(error=RunError(slow), branches=branches, endless=True)
        value, error = outcome
        if error is not None:
            return Run(error=error, branches=branches)
        self.slowest = max(self.slowest, perf_counter() - started)
        if draw.typical:
            self._usual = max(self._usual, perf_counter() - started)
        return Run(value, None, evaluators[-1].finite, branches)

    def missing(self) -> set[Branch]:
        """Return the branches of the first program, and sides of its comparisons and clips, that no run has taken."""
        return branches_of(self._first, self.entry) - self.taken if self._first is not None else set()

    def explore(self, mod: IRModule, seconds: float = EXPLORE_SECONDS) -> None:
        """Add draws that reach further branches or sides of comparisons, for at most `seconds`.

        Does nothing for given inputs, and for programs without branches and comparisons.
        """
        if self.inputs is not None or self.entry not in mod or not branches_of(mod, self.entry):
            return
        end = perf_counter() + seconds
        for number, _ in enumerate(self.draws(mod)):
            if perf_counter() > end:
                return
            self.run(mod, number)
        for search_round in range(1, ROUNDS + 1):
            for draw in draws(mod, self.entry, self.seed + 1000 * search_round):
                number = len(self.draws(mod))
                if perf_counter() > end or not self.missing() or number >= MOST_DRAWS:
                    return
                run = self._run_draw(mod, draw, self._results_of(number))
                if run.error is not None or not run.branches - self.taken:
                    # The draw reaches nothing new, so its results are dropped.
                    self._results.pop(number)
                    continue
                draw.kind = f"{draw.kind}, drawn again to reach a branch"
                self._draws = (*self.draws(mod), draw)
                self._runs_of(mod)[number] = run
                self.taken |= run.branches

    def _input_list(self, function: Function) -> list[Any]:
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
        """Make a program the first one. Raises `RunError` where it has no function `entry` or the inputs do not fit."""
        if self.inputs is None and self.entry in mod:
            with contextlib.suppress(RunError):  # reported where programs are compared
                self.draws(mod)
        if self.inputs is not None or self.entry not in mod:
            for number, _ in enumerate(self.draws(mod)):
                if (error := self.run(mod, number).error) is not None:
                    raise error
