"""`VerifyInstrument`: checks after each pass that the program is valid, its input unchanged, the pass deterministic."""

from __future__ import annotations

from passlab.analysis.reshape_marks import false_marks
from passlab.analysis.well_formed import findings
from passlab.errors import Diagnostic, PasslabError, VerifyError
from passlab.infer import infer_module
from passlab.instrument.base import PassInstrument
from passlab.instrument.change import is_changed
from passlab.instrument.per_run import PerRun
from passlab.instrument.unchanged import Memento, input_problem
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.base import PassRun, current_run
from passlab.transform.context import PassContext
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential

Problem = tuple[str, list[Diagnostic]]  # what is wrong, in words, and its diagnostics


class VerifyInstrument(PassInstrument, Tabular):
    """Checks every pass that changes the program, and that no pass changes its input: module, nodes and constants.

    A pass that fails the check raises `VerifyError` with its name and all findings, or, with `stop=False`, is only
    listed in `failures`. Well-formedness costs about one traversal, types only the inference of new nodes. A pass that
    changed the program runs a second time on the same input, without instruments, to see whether it is deterministic;
    `deterministic=False` saves that time.

    >>> with transform.PassContext(instruments=[instrument.VerifyInstrument()]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    """

    def __init__(self, stop: bool = True, deterministic: bool = True) -> None:
        super().__init__()
        self.stop = stop
        self.deterministic = deterministic
        self.failures: list[VerifyError] = []
        self._rows: list[tuple[str, str, str]] = []
        self._running: PerRun[tuple[IRModule, IRModule, Memento]] = PerRun()  # the input, its snapshot, its nodes

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self.failures, self._rows = [], []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin((mod, mod.snapshot(), Memento(mod)))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        run, state = current_run(), self._running.end()
        if state is None or (run is not None and isinstance(run.pass_, Sequential)):
            return  # the passes of a pipeline were checked one by one
        module, before, memento = state
        problems: list[Problem] = []
        if not before.same_contents(module):
            problems.append(("changed the module it was given", []))
        if nodes := memento.restore():  # other programs may share them: literals of one value are one object
            problems.append((input_problem(nodes), []))
        if not before.same_contents(mod):
            problems += self._program_problems(mod) or self._determinism_problems(run, before, mod)
        self._report(info.name, problems)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._running.end()

    def _program_problems(self, mod: IRModule) -> list[Problem]:
        """Return what is wrong with the result of a pass."""
        malformed = findings(mod)
        if malformed:
            return [("left a program that is not well-formed", malformed)]  # such a program has no meaningful types
        try:
            infer_module(mod)
        except PasslabError as error:
            return [("left a program without a type", list(error.diagnostics))]
        marks = false_marks(mod)
        return [("left a function that is falsely marked as a reshape", marks)] if marks else []

    def _determinism_problems(self, run: PassRun | None, before: IRModule, after: IRModule) -> list[Problem]:
        """Run the pass once more and return how the second result differs."""
        if run is None or not self.deterministic:
            return []
        context = run.context
        try:
            # Without instruments, which would record or check the second run as well.
            with PassContext(context.opt_level, context.required_pass, context.disabled_pass, (), context.config):
                second = run.pass_(before.snapshot())
        except PasslabError as error:
            return [("raised when it ran a second time on the same input", list(error.diagnostics))]
        if is_changed(after, second):
            return [("gave another result when it ran a second time on the same input", [])]
        return []

    def _report(self, name: str, problems: list[Problem]) -> None:
        self._rows.append((name, "failed" if problems else "verified", "; ".join(what for what, _ in problems)))
        if not problems:
            return
        parts = [d for what, findings in problems for d in (Diagnostic(f"the pass `{name}` {what}"), *findings)]
        self.failures.append(VerifyError(*parts))
        if self.stop:
            raise self.failures[-1]

    def table(self) -> Table:
        """Return the passes that ran, in order of ending, and whether each was verified."""
        return Table(("pass", "outcome", "why"), self._rows)
