"""Show the program before or after passes: `PrintIRBefore` and `PrintIRAfter`.

    PrintIRAfter(passes=["FuseOps"], functions=["main"], only_changed=True)

The text goes to standard output, or to any object with `write`; in a notebook it is a view that grows pass by pass.
`text()` and `frame()` have the output afterwards.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from passlab.diffing.diff import diff
from passlab.errors import did_you_mean, visible
from passlab.instrument.base import PassInstrument
from passlab.instrument.change import changed_functions, is_changed, only_functions
from passlab.instrument.per_run import PerRun
from passlab.instrument.presenter import Presenter
from passlab.ir.module import IRModule
from passlab.lazy import notebook_forms
from passlab.table import Table
from passlab.transform.pass_info import PassInfo, as_names


@dataclass(frozen=True, eq=False)
class PrintedStep:
    """The output for one pass: the text, and the program after it; for a difference, also the program `before`."""

    _repr_mimebundle_ = notebook_forms

    when: str
    name: str
    note: str
    body: str
    before: IRModule | None = None
    after: IRModule | None = None

    def __str__(self) -> str:
        head = f"{self.when} Running Pass: {visible(self.name)}{f' ({self.note})' if self.note else ''}"
        return f"{head}\n{self.body}" if self.body else head


class Printer(PassInstrument):
    """The base of both printers: selects passes and functions, writes their text, and keeps it."""

    when = ""

    def __init__(
        self,
        passes: Iterable[str] | None = None,
        functions: Iterable[str] | None = None,
        *,
        show_meta_data: bool = False,
        file: Any = None,
    ) -> None:
        super().__init__()
        self.passes = None if passes is None else as_names(passes, "passes")
        self.functions = None if functions is None else list(as_names(functions, "functions"))
        self.show_meta_data = show_meta_data
        self.file = file
        self.steps: list[PrintedStep] = []
        self._names_run: dict[str, None] = {}

    def enter_pass_ctx(self) -> None:
        self.steps = []
        self._names_run = {}

    def exit_pass_ctx(self) -> None:
        """End the output, and name the selected passes that did not run: the name may be misspelt."""
        if Presenter.show is not None and self.file is None and self.steps:
            Presenter.show(self, True)
        for name in self.passes or ():
            if self._names_run and name not in self._names_run:
                near = did_you_mean(name, self._names_run)
                self._write(f"no pass `{name}` ran{': ' + near if near else ''}\n")

    def _is_selected(self, info: PassInfo) -> bool:
        self._names_run[info.name] = None
        return self.passes is None or info.name in self.passes

    def _show(
        self, info: PassInfo, body: str, note: str = "", before: IRModule | None = None, after: IRModule | None = None
    ) -> None:
        step = PrintedStep(self.when, info.name, note, body, before, after)
        self.steps.append(step)
        if Presenter.show is not None and self.file is None:
            Presenter.show(self, False)
        else:
            self._write(f"{step}\n")

    def _write(self, text: str) -> None:
        (sys.stdout if self.file is None else self.file).write(text)

    def _module_text(self, mod: IRModule) -> str:
        return only_functions(mod, self.functions).astext(show_meta_data=self.show_meta_data).rstrip("\n")

    def _selected_part(self, mod: IRModule) -> IRModule:
        return only_functions(mod, self.functions).snapshot()

    def text(self) -> str:
        """Return the output since the context was entered."""
        return "\n".join(map(str, self.steps))

    def frame(self) -> Any:
        """Return the output as a pandas data frame: pass, note, text."""
        return Table(("pass", "note", "text"), [(step.name, step.note, step.body) for step in self.steps]).frame()


class PrintIRBefore(Printer):
    """Print the module before passes: before all, or those named in `passes`; all of it, or some `functions`.

    >>> with transform.PassContext(instruments=[instrument.PrintIRBefore(["FoldConstant"])]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    Before Running Pass: FoldConstant
    #[version = "0.0.5"]
    def @main() -> float32 {
      add(1f /* ty=float32 */, 2f /* ty=float32 */) /* ty=float32 */
    }
    """

    when = "Before"

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self._is_selected(info):
            self._show(info, self._module_text(mod), after=self._selected_part(mod))


class PrintIRAfter(Printer):
    """Print the module after passes: after all, or those named in `passes`; all of it, or some `functions`.

    With `only_changed` a pass that changed nothing is one line. With `diff` the change is shown instead of the module.
    A pass that failed is one line with its error.

    >>> with transform.PassContext(instruments=[instrument.PrintIRAfter(["FoldConstant"])]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    After Running Pass: FoldConstant
    #[version = "0.0.5"]
    def @main() -> float32 {
      3f /* ty=float32 */
    }
    """

    when = "After"

    def __init__(
        self,
        passes: Iterable[str] | None = None,
        functions: Iterable[str] | None = None,
        *,
        only_changed: bool = False,
        diff: bool = False,
        show_meta_data: bool = False,
        file: Any = None,
    ) -> None:
        super().__init__(passes, functions, show_meta_data=show_meta_data, file=file)
        self.only_changed = only_changed
        self.diff = diff
        self._running: PerRun[IRModule] = PerRun()

    def enter_pass_ctx(self) -> None:
        super().enter_pass_ctx()
        self._running.forget()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin(mod.snapshot())

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        before = self._running.end()
        if not self._is_selected(info):
            return
        if (self.only_changed or self.diff) and before is not None and not self._has_change(before, mod):
            self._show(info, "", "no change")
        elif self.diff and before is not None:
            self._show(info, self._diff_text(before, mod), "", self._selected_part(before), self._selected_part(mod))
        else:
            self._show(info, self._module_text(mod), after=self._selected_part(mod))

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._running.end()
        if self._is_selected(info):
            self._show(info, visible(str(error)), f"failed: {type(error).__name__}")

    def _has_change(self, before: IRModule, after: IRModule) -> bool:
        if self.functions is None:
            return is_changed(before, after)
        return any(name in self.functions for name in changed_functions(before, after))

    def _diff_text(self, before: IRModule, after: IRModule) -> str:
        names = self.functions
        sentence = diff(only_functions(before, names), only_functions(after, names))
        return f"{sentence}\n{unified_text(self._module_text(before), self._module_text(after))}"


def unified_text(before: str, after: str) -> str:
    """Return the line differences of two texts, with two lines of context."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=2, lineterm="")
    return "\n".join(lines)
