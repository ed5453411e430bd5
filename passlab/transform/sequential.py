"""`Sequential` runs passes one after the other, each where the context enables it, after the passes it requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from passlab.errors import Diagnostic, PassError, PassTypeError
from passlab.ir.module import IRModule
from passlab.transform.base import Pass, PassRun
from passlab.transform.context import PassContext
from passlab.transform.numeric_contract import combine
from passlab.transform.pass_info import PassInfo


class Sequential(Pass):
    """A pipeline. It is a pass itself, so pipelines nest, and instruments see it around its passes.

    Its own level and requirements matter only inside another pipeline. A declared pipeline overrides `make_passes`
    instead of taking `passes`. Raises `PassTypeError` if `passes` is not a list of passes.
    """

    kind: ClassVar[str] = "sequential"

    def __init__(
        self,
        passes: Any = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
        traceable: bool = False,
    ) -> None:
        if passes is not None and not isinstance(passes, (list, tuple)):
            hint = "for text, use `Sequential.from_text`" if isinstance(passes, str) else None
            raise PassTypeError(
                Diagnostic(
                    "passes must be a list of Pass objects",
                    expected="list[Pass]",
                    found=type(passes).__name__,
                    hint=hint,
                )
            )
        self._passes = [_check_child(child, number, name) for number, child in enumerate(passes or (), 1)]
        self.info = PassInfo(opt_level, name, required, traceable)
        if type(self) is Sequential:  # a class derived from it declares its own
            self.contract = combine(child.contract for child in self._passes)

    def make_passes(self) -> list[Pass]:
        """Return the passes to run, in order."""
        return list(self._passes)

    @property
    def passes(self) -> list[Pass]:
        """The passes of the pipeline, in order."""
        return self.make_passes()

    @staticmethod
    def from_text(text: str, passes: Mapping[str, Any] | None = None, source_name: str = "pipeline") -> Sequential:
        """Parse the pipeline language; `passes` adds names to those of the standard passes.

        Raises `ParseError` or `PassError`, located in the text.
        """
        from passlab.transform.pipeline import parse_pipeline  # that module imports Sequential

        return parse_pipeline(text, passes, source_name)

    def _run(self, run: PassRun) -> IRModule:
        context = run.context
        mod = run.module
        for child in self.passes:
            info = child.info
            reason = context.why_disabled(info)
            if reason is not None:
                _report_skipped(child, context, mod, run, reason)
                continue
            for required in required_passes(child):
                run.requiring = child
                mod = run.partial = required(mod)
            run.requiring = None
            mod = run.partial = child(mod)
        return mod

    def as_text(self) -> str:
        """Return the pipeline in the pipeline language; `Sequential.from_text` reads it back."""
        if type(self) is not Sequential:
            return super().as_text()
        inner = ", ".join(child.as_text() for child in self.passes)
        options = []
        if self.info.name != "sequential":
            options.append(f"name={self.info.name!r}")
        if self.info.opt_level:
            options.append(f"opt_level={self.info.opt_level}")
        if self.info.required:
            options.append(f"required={self.info.required!r}")
        return f"Sequential([{inner}], {', '.join(options)})" if options else f"Sequential({inner})"

    def __str__(self) -> str:
        names = "".join(f"{child.info.name} " for child in self.passes)
        return (
            f"Run Sequential pass: {self.info.name} at the optimization level {self.info.opt_level}. "
            f"The passes will be executed are: [{names}]"
        )


def _check_child(child: Any, number: int, name: str) -> Pass:
    if isinstance(child, Pass):
        return child
    hint = None
    if isinstance(child, type) and issubclass(child, Pass):
        hint = f"write `{child.__name__}()`"
    elif callable(child):
        hint = "make it a pass with `transform.module_pass` or `transform.function_pass`"
    actual = child.__name__ if isinstance(child, type) else repr(child) if child is None else type(child).__name__
    raise PassTypeError(
        Diagnostic(f"element {number} of the pipeline `{name}` is not a pass", expected="Pass", found=actual, hint=hint)
    )


def _report_skipped(child: Pass, context: PassContext, mod: IRModule, parent: PassRun, reason: str) -> None:
    if context.instruments:
        context._report_skipped(PassRun(child, context, mod, parent), reason)


def required_passes(child: Pass) -> list[Pass]:
    """Return the passes a pass requires, created from their names. Raises `PassError` for unknown names and cycles."""
    names = child.info.required
    if not names:
        return []
    from passlab.transform.pipeline import pass_from_text  # that module imports Sequential

    required = [pass_from_text(name, f"the required passes of `{child.info.name}`") for name in names]
    _check_acyclic(child, required)
    return required


def _check_acyclic(start: Pass, required: list[Pass]) -> None:
    """Raise `PassError` if a pass requires itself, through any chain of required passes and pipelines."""
    from passlab.transform.pipeline import pass_from_text

    seen: set[str] = set()
    stack: list[tuple[Pass, tuple[str, ...]]] = [(pass_, (start.info.name,)) for pass_ in required]
    while stack:
        pass_, path = stack.pop()
        name = pass_.info.name
        path = (*path, name)
        if name == start.info.name:
            raise PassError(Diagnostic(f"passes require each other in a cycle: {' -> '.join(path)}"))
        if isinstance(pass_, Sequential):
            stack.extend((child, path) for child in pass_.passes)
        if name not in seen:
            seen.add(name)
            stack.extend((pass_from_text(n, f"the required passes of `{name}`"), path) for n in pass_.info.required)
