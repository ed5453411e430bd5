"""`Oracle`: evaluates a predicate on programs, here or on a `concurrent.futures` executor for several at once.

Threads get the programs themselves. Other executors (a pool of processes, a Dask or Ray cluster) get them as Relay
text, which parses to the same program; only the predicate must be picklable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from passlab.errors import Diagnostic, PassError, PasslabError
from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.text.parser import parse

Predicate = Callable[[IRModule], Any]
FALSE = "the predicate is false"  # the reason for a bad program for which nothing was raised


class Outcome(NamedTuple):
    """Whether a predicate holds for a program; if not, why, and its exception, where it was raised in this process."""

    holds: bool
    why: str = ""
    error: Exception | None = None


class Oracle:
    """Evaluates one predicate; `ahead` is the number of programs that are worth evaluating at once."""

    def __init__(self, predicate: Predicate, executor: Executor | None = None) -> None:
        self.predicate = predicate
        self.executor = executor
        # Pools of the standard library have `_max_workers`; others count as one worker for each core.
        self.ahead = 1 if executor is None else int(getattr(executor, "_max_workers", 0)) or os.cpu_count() or 1

    def one(self, mod: IRModule) -> Outcome:
        """Evaluate the predicate on one program."""
        return self.all([mod])[0]

    def all(self, mods: Sequence[IRModule]) -> list[Outcome]:
        """Evaluate the predicate on several programs, at once if there is an executor.

        Raises `PassError` when the executor fails, as when the predicate cannot be pickled.
        """
        if self.executor is None:
            return [judge(self.predicate, mod) for mod in mods]
        waiting: list[Future[Outcome]] = []
        try:
            for mod in mods:
                # One by one, so that `finally` cancels these when a later one cannot be sent.
                waiting.append(self._submit(self.executor, mod))
            return [future.result() for future in waiting]
        except (PasslabError, CancelledError):
            raise
        except Exception as error:
            message = f"the executor could not evaluate the predicate: {type(error).__name__}: {error}"
            hint = "processes need a picklable predicate: define it in a file, or use threads"
            raise PassError(Diagnostic(message, hint=hint)) from error
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, executor: Executor, mod: IRModule) -> Future[Outcome]:
        if isinstance(executor, ThreadPoolExecutor):
            return executor.submit(judge, self.predicate, mod)
        return executor.submit(judge_text, self.predicate, mod.astext())


def judge(predicate: Predicate, mod: IRModule) -> Outcome:
    """Evaluate a predicate on a program. A predicate that raises counts as False."""
    try:
        holds = bool(predicate(mod))
    except Exception as error:  # noqa: BLE001 - a predicate may raise anything
        return Outcome(False, raised_error(error), error)
    return Outcome(holds, "" if holds else FALSE)


def judge_text(predicate: Predicate, text: str) -> Outcome:
    """Evaluate a predicate on a program given as text, in another process: an exception may not be picklable."""
    return judge(predicate, infer_module(parse(text)))._replace(error=None)


def raised_error(error: BaseException | None) -> str:
    """Return the class and message of an exception in a line."""
    message = error.diagnostics[0].message if isinstance(error, PasslabError) else str(error)
    return f"{type(error).__name__}: {message}"
