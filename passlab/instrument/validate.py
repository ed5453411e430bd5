"""`Validate`: checks after each pass that the values of the program are within the contract of the pass.

    with PassContext(opt_level=3, instruments=[Validate()]):      # or Validate(inputs=[x, w]), Validate({"x": x, ...})
        pipeline(mod)

`validation` runs and compares the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from passlab.errors import Diagnostic, PasslabError, PassTypeError, ValidationError, VerifyError
from passlab.instrument.base import PassInstrument
from passlab.instrument.events import Rewrites
from passlab.instrument.per_run import PerRun
from passlab.instrument.unchanged import Memento, input_problem
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.oracle.trial import Inputs, Trial
from passlab.oracle.validation import Check, examine
from passlab.pickling import OfOneProcess
from passlab.table import Table, Tabular
from passlab.transform.base import PassRun, current_run
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract, declared_contract
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential


class Validate(OfOneProcess, PassInstrument, Tabular):
    """Run the function `entry` before and after every pass that changes the program, and compare the results.

    `inputs` is a list, or a table by name of the parameter; without it they are random, from `seed`. A standard pass is
    held to its contract; one that has no contract is not checked. A pass of your own that declares none is held to
    `default_contract` (None: not checked). The first pass that breaks its contract raises `ValidationError`, which
    names it and the first wrong node; with `stop=False` it is only listed in `failures`. A pass that changed nodes or
    constants of its input raises `VerifyError`; they are put back.

    Costs a run of the program on the reference evaluator for each pass that changes it. Raises `PassTypeError` if
    `inputs` is neither a list nor a table.

    >>> @transform.function_pass(opt_level=0)
    ... def wrong(func, mod, ctx):
    ...     return relay.Function(func.params, func.body + relay.const(1.0))
    >>> with transform.PassContext(instruments=[instrument.Validate({"x": 0.5})]):
    ...     try:
    ...         wrong(passlab.parse("def @main(%x: float32) { exp(%x) }"))
    ...     except passlab.PasslabError as error:
    ...         print(error.diagnostics[0].message)
    the pass `wrong` changed the result beyond its contract
    """

    pickled_instead = "pickle its `failures`, or the options of a new one"

    def __init__(
        self,
        inputs: Inputs = None,
        *,
        entry: str = "main",
        seed: int = 0,
        stop: bool = True,
        default_contract: NumericContract | None = DEFAULT_CONTRACT,
    ) -> None:
        super().__init__()
        if inputs is not None and not isinstance(inputs, (Mapping, list, tuple)):
            actual = type(inputs).__name__
            raise PassTypeError(Diagnostic("inputs are a list, or a table by name of the parameter", found=actual))
        self.stop = stop
        self.default_contract = default_contract
        self.checks: list[Check] = []
        self.failures: list[PasslabError] = []
        self._options: tuple[Inputs, str, int] = (inputs, entry, seed)
        self._trial = Trial(*self._options)
        self._running: PerRun[tuple[IRModule, Rewrites, Memento]] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self.checks, self.failures = [], []
            self._trial = Trial(*self._options)

    def exit_pass_ctx(self) -> None:
        self._trial.release()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin((mod.snapshot(), Rewrites(), Memento(mod)))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        run, state = current_run(), self._running.end()
        if run is None or state is None or isinstance(run.pass_, Sequential):
            return  # the passes of a pipeline were checked one by one
        before, rewrites, memento = state
        if nodes := memento.restore():
            self.failures.append(VerifyError(Diagnostic(f"the pass `{info.name}` {input_problem(nodes)}")))
            if self.stop:
                raise self.failures[-1]
        contract, triples = declared_contract(run.pass_, self.default_contract), rewrites.with_rules()
        check = examine(info.name, before, mod.snapshot(), contract, self._trial, triples)
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
        """Return the passes that ran, in order of ending, with their contracts and whether they kept them."""
        rows = [(c.name, "" if c.contract is None else str(c.contract), c.outcome, c.why) for c in self.checks]
        return Table(("pass", "contract", "outcome", "why"), rows)
