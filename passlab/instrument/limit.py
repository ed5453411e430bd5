"""`PassLimit`: run only the first passes, or make only the first rewrites, to find what breaks a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassTypeError
from passlab.instrument.base import PassInstrument
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.base import PassRun, current_run
from passlab.transform.pass_info import PassInfo, as_names
from passlab.transform.sequential import Sequential


class PassLimit(PassInstrument, Tabular):
    """Number the runs of passes from 1 and skip those above `limit` (None: only number them).

    Pipelines have no number, and neither have the passes in `always` (by default `InferType`, which every program
    needs). A pass that another instrument skips keeps its number.

    `rewrites` limits the rewrites by named rules, such as the rules of `SimplifyExpr`, in the same way. Passes that
    change a program as a whole, such as normal forms, have no such rewrites. Raises `PassTypeError` for limits that are
    not whole numbers from 0 on.

    >>> limit = instrument.PassLimit(1)
    >>> with transform.PassContext(instruments=[limit]):
    ...     _ = transform.parse_pipeline("FoldConstant, FuseOps")(passlab.parse("def @main() { 1f + 2f }"))
    >>> limit.ran, limit.skipped
    (['FoldConstant'], ['FuseOps'])
    """

    @checked
    def __init__(
        self, limit: int | None = None, always: Iterable[str] = ("InferType",), *, rewrites: int | None = None
    ) -> None:
        super().__init__()
        given: tuple[tuple[str, Any], ...] = ("limit", limit), ("rewrites", rewrites)
        for name, value in given:
            if value is not None and not (isinstance(value, int) and value >= 0):
                raise PassTypeError(
                    Diagnostic(f"{name} is a number of passes or rewrites, from 0 on", found=repr(value))
                )
        self.limit = limit
        self.rewrites = rewrites
        self.always = frozenset(as_names(tuple(always), "always"))
        self._rows: list[tuple[int, str, bool]] = []
        self._rewrites: list[tuple[int, str, str, bool]] = []

    def enter_pass_ctx(self) -> None:
        self._rows, self._rewrites = [], []

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        run = current_run()
        if info.name in self.always or (run is not None and isinstance(run.pass_, Sequential)):
            return True
        number = len(self._rows) + 1
        runs = self.limit is None or number <= self.limit
        self._rows.append((number, info.name, runs))
        return runs

    def rewrite_permit(self, run: PassRun) -> Callable[[str], bool]:
        name = run.pass_.info.name

        def permit(rule: str) -> bool:
            number = len(self._rewrites) + 1  # counted over all passes
            allowed = self.rewrites is None or number <= self.rewrites
            self._rewrites.append((number, name, rule, allowed))
            return allowed

        return permit

    @property
    def ran(self) -> list[str]:
        """The names of the numbered passes that ran."""
        return [name for _, name, ran in self._rows if ran]

    @property
    def skipped(self) -> list[str]:
        """The names of the passes above the limit."""
        return [name for _, name, ran in self._rows if not ran]

    def table(self) -> Table:
        """Return the numbered passes and whether each ran."""
        return Table(("step", "pass", "ran"), self._rows)

    def rewrite_table(self) -> Table:
        """Return the numbered rewrites: the pass, the rule, and whether it was made."""
        return Table(("number", "pass", "rule", "made"), self._rewrites)
