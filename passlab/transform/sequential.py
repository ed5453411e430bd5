"""`Sequential` runs passes one after the other, each where the context enables it, after the passes it requires.

What runs when a pipeline meets a pass? Not always the pass: its level may be above the level of the context, and it may
need types that the pass before it did not leave. Each run is a `PassRun`, which knows the run around it, so that
instruments see a tree:

    sequential
      InferType          required by FuseOps: looked up by its name, and run even where the context disables it
      FuseOps            its level is 0
        InferType        types the nodes that it made
      FoldConstant       its level is 2, above that of the context: reported as skipped, with the reason

    >>> import passlab
    >>> from passlab import transform
    >>> class Watch(passlab.instrument.PassInstrument):
    ...     def run_before_pass(self, mod, info):
    ...         print("run", info.name)
    ...     def pass_skipped(self, run, reason):
    ...         print("skip", run.pass_.info.name, "for", reason)
    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> with transform.PassContext(opt_level=0, instruments=[Watch()]):
    ...     mod = transform.Sequential([transform.FuseOps(), transform.FoldConstant()])(mod)
    run sequential
    run InferType
    run FuseOps
    run InferType
    skip FoldConstant for opt_level 0 < 2

As in TVM, what a required pass requires itself is not run. A pass that fails leaves the module that its pipeline had
reached (`PassRun.partial`). Passes that require each other in a cycle are an error, and so is a required name that
nobody has registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PassTypeError
from passlab.ir.module import IRModule
from passlab.lazy import PIPELINE_TEXT, late
from passlab.transform.base import Pass, PassRun
from passlab.transform.numeric_contract import combine
from passlab.transform.pass_info import PassInfo
from passlab.transform.registry import how_to_make_a_pass


class Sequential(Pass):
    """A pipeline. It is a pass itself, so pipelines nest, and instruments see it around its passes.

    Its own level and requirements matter only inside another pipeline. A declared pipeline overrides `make_passes`
    instead of taking `passes`. Raises `PassTypeError` if `passes` is not a list of passes.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> pipeline = transform.Sequential([transform.InferType(), transform.FoldConstant()])
    >>> print(pipeline(mod)["main"].body.args[1])
    2f /* ty=float32 */
    """

    kind: ClassVar[str] = "sequential"

    @checked
    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
        traceable: bool = False,
    ) -> None:
        given: object = passes
        if given is not None and not isinstance(given, (list, tuple)):
            hint = "for text, use `Sequential.from_text`" if isinstance(given, str) else None
            raise PassTypeError(
                Diagnostic(
                    "passes must be a list of Pass objects",
                    expected="list[Pass]",
                    found=type(given).__name__,
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
        """Parse the pipeline language; `passes` adds names to the standard passes.

        Raises `ParseError` or `PassError`, located in the text.
        """
        pipeline: Sequential = late(PIPELINE_TEXT, "parse_pipeline")(text, passes, source_name)
        return pipeline

    def _run(self, run: PassRun) -> IRModule:
        context = run.context
        mod = run.module
        for child in self.passes:
            info = child.info
            reason = context.why_disabled(info)
            if reason is not None:
                if context.instruments:
                    context._report_skipped(PassRun(child, context, mod, run), reason)
                continue
            # Required passes run every time: a pass in between may have undone their work. If there is nothing to do,
            # they return the same module.
            for required in required_passes(child):
                run.requiring = child
                mod = run.partial = required(mod)
            run.requiring = None
            mod = run.partial = child(mod)
        return mod

    def as_text(self) -> str:
        """Return the pipeline, without `traceable`; `Sequential.from_text` reads it back if it knows the passes."""
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
        return (  # TVM's words
            f"Run Sequential pass: {self.info.name} at the optimization level {self.info.opt_level}. "
            f"The passes will be executed are: [{names}]"
        )


def required_passes(child: Pass) -> list[Pass]:
    """Return the passes a pass requires, created from their names. Raises `PassError` for unknown names and cycles."""
    names = child.info.required
    if not names:
        return []

    required = [_required_pass(name, child) for name in names]
    _check_acyclic(child, required)
    return required


def _required_pass(name: str, by: Pass) -> Pass:
    pass_: Pass = late(PIPELINE_TEXT, "pass_from_text")(name, f"the required passes of `{by.info.name}`")
    return pass_


def _check_acyclic(start: Pass, required: list[Pass]) -> None:
    """Raise `PassError` if a pass requires itself, through any chain of required passes and pipelines."""
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
            stack.extend((_required_pass(n, pass_), path) for n in pass_.info.required)


def _check_child(child: Any, number: int, name: str) -> Pass:
    if isinstance(child, Pass):
        return child
    actual = child.__name__ if isinstance(child, type) else repr(child) if child is None else type(child).__name__
    raise PassTypeError(
        Diagnostic(
            f"element {number} of the pipeline `{name}` is not a pass",
            expected="Pass",
            found=actual,
            hint=how_to_make_a_pass(child),
        )
    )
