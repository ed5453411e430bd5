"""xDSL, live: the pipeline's callback, and the rewriter's listener for the exact origin of operations.

    rec = passlab.recorders.xdsl.record(module, "canonicalize,cse,convert-scf-to-cf")

Passes change the module in place, so each state is a copy; states are compared by xDSL's structural equivalence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, DumpError
from passlab.recorders.protocol import HostRecorder, import_host

_import_xdsl = partial(import_host, passes="xDSL's", package="xDSL", fix="pip install xdsl")


def new_recorder(name: str = "xDSL") -> HostRecorder:
    """Return a recorder that copies, prints and compares modules as xDSL does."""
    _import_xdsl("xdsl")
    return HostRecorder(
        name,
        text=str,
        copy=lambda module: module.clone(),
        equal=lambda left, right: bool(left.is_structurally_equivalent(right)),
        language="mlir",
    )


def callback_of(recorder: HostRecorder) -> Callable[[Any, Any, Any], None]:
    """Return a callback for `xdsl.passes.PassPipeline` that reports to a recorder."""

    def callback(previous: Any, module: Any, following: Any) -> None:
        # xDSL calls this once between two passes: it ends one and begins the next.
        if previous is not None:
            recorder.end(module)
        else:
            recorder.start(module)
        if following is not None:
            spec = str(following.pipeline_pass_spec()) if hasattr(following, "pipeline_pass_spec") else ""
            recorder.begin(following.name, unit="builtin.module", options=spec.partition("{")[2].rstrip("}"))

    return callback


def passes_of(text: str) -> tuple[Any, ...]:
    """Return the passes of a pipeline in xDSL's syntax. Raises `DumpError` for an invalid pipeline."""
    pipeline = _import_xdsl("xdsl.passes").PassPipeline
    try:
        return tuple(pipeline.parse_spec(_import_xdsl("xdsl.transforms").get_all_passes(), text).passes)
    except Exception as error:
        raise DumpError(Diagnostic(f"xDSL does not take the pipeline `{text}`: {error}")) from error


def record(module: Any, passes: str | Iterable[Any], context: Any = None, name: str = "xDSL") -> TextRecording:
    """Run passes on a module, in place, and return their recording; a pass that raises is its last step.

    `module` is a `ModuleOp` or its text; `passes` are xDSL passes or names of passes, or a pipeline as text. `context`
    is a `Context`; by default one with all dialects. Raises `DumpError` for what is not a module or not a pass.
    """
    recorder = new_recorder(name)
    chosen: tuple[Any, ...] = ()
    for one in (passes,) if isinstance(passes, str) else tuple(passes):
        chosen += passes_of(one) if isinstance(one, str) else (one,)
    for one in chosen:
        if not callable(getattr(one, "apply", None)) or not isinstance(getattr(one, "name", None), str):
            hint = "give a ModulePass, its name, or a pipeline as text"
            raise DumpError(Diagnostic(f"this is not a pass of xDSL, but of type {type(one).__name__}", hint=hint))
    if context is None:
        context = _import_xdsl("xdsl.context").Context()
        for dialect, load in _import_xdsl("xdsl.dialects").get_all_dialects().items():
            context.register_dialect(dialect, load)
    if isinstance(module, str):
        try:
            module = _import_xdsl("xdsl.parser").Parser(context, module).parse_module()
        except Exception as error:
            raise DumpError(Diagnostic(f"xDSL does not take the program: {error}")) from error
    if not isinstance(module, _import_xdsl("xdsl.dialects.builtin").ModuleOp):
        hint = "pass a ModuleOp, or the text of one"
        raise DumpError(Diagnostic(f"this is not a module of xDSL, but of type {type(module).__name__}", hint=hint))
    pipeline = _import_xdsl("xdsl.passes").PassPipeline(chosen, callback_of(recorder))
    try:
        pipeline.apply(context, module)
    except Exception as error:
        recorder.close(error)
    return recorder.recording()
