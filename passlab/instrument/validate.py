"""`Validate`: checks after each pass that the values of the program are within the promise of the pass.

    with PassContext(opt_level=3, instruments=[Validate()]):      # or Validate(inputs=[x, w]), Validate({"x": x, ...})
        pipeline(mod)

`validation` runs and compares the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from passlab.errors import Diagnostic, PassTypeError, ValidationError
from passlab.instrument.base import PassInstrument
from passlab.instrument.events import Rewrites
from passlab.instrument.per_run import PerRun
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.oracle.trial import Inputs, Trial
from passlab.oracle.validation import UNDECLARED, Check, examine, promise_of
from passlab.table import Table, Tabular
from passlab.transform.base import PassRun, current_run
from passlab.transform.numeric_contract import Promise
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential


class Validate(PassInstrument, Tabular):
    """Run the function `entry` before and after every pass that changes the program, and compare the results.

    `inputs` is a list, or a table by name of the parameter; without it they are random, from `seed`. A standard pass is
    held to its promise; one that promises nothing is not checked. A pass of your own that declares no promise is held
    to `undeclared` (None: not checked). The first pass that breaks its promise raises `ValidationError`, which names it
    and the first wrong node; with `stop=False` it is only listed in `failures`.

    Costs a run of the program on the reference evaluator for each pass that changes it.
    """

    def __init__(
        self,
        inputs: Inputs = None,
        *,
        entry: str = "main",
        seed: int = 0,
        stop: bool = True,
        undeclared: Promise | None = UNDECLARED,
    ) -> None:
        super().__init__()
        if inputs is not None and not isinstance(inputs, (Mapping, list, tuple)):
            actual = type(inputs).__name__
            raise PassTypeError(Diagnostic("inputs are a list, or a table by name of the parameter", found=actual))
        self.stop = stop
        self.undeclared = undeclared
        self.checks: list[Check] = []
        self.failures: list[ValidationError] = []
        self._options: tuple[Inputs, str, int] = (inputs, entry, seed)
        self._trial = Trial(*self._options)
        self._running: PerRun[tuple[IRModule, Rewrites]] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self.checks, self.failures = [], []
            self._trial = Trial(*self._options)

    def exit_pass_ctx(self) -> None:
        self._trial.release()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin((mod.snapshot(), Rewrites()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        run, state = current_run(), self._running.end()
        if run is None or state is None or isinstance(run.pass_, Sequential):
            return  # the passes of a pipeline were checked one by one
        before, rewrites = state
        promise, triples = promise_of(run.pass_, self.undeclared), rewrites.with_rules()
        check = examine(info.name, before, mod.snapshot(), promise, self._trial, triples)
        self.checks.append(check)
        if check.outcome == "broken":
            self.failures.append(ValidationError(*check.diagnostics()))
            if self.stop:
                raise self.failures[-1]

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._running.end()

    def rewrite_observer(self, run: PassRun) -> Callable[[Expr, Expr, str], None] | None:
        state = self._running.of(run)
        return state[1].note if state is not None else None

    def table(self) -> Table:
        """Return the passes that ran, in order of ending, with their promises and whether they kept them."""
        rows = [(c.name, "" if c.promise is None else str(c.promise), c.outcome, c.why) for c in self.checks]
        return Table(("pass", "promise", "outcome", "why"), rows)
