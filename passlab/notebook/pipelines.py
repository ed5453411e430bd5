"""The work of the magics after their arguments are read: parse a program, run a pipeline. No IPython here."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from passlab.display.protocol.recordings import PassOption
from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.infer import infer_expr, infer_module
from passlab.instrument.recorder import EventRecorder
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording, record
from passlab.notebook.instruments import instrument_of
from passlab.passes import PASSES
from passlab.rewriting.parameters import bind_params
from passlab.text.parser import parse_cell
from passlab.transform.base import Pass
from passlab.transform.pipeline_text import as_pass, context_names
from passlab.transform.registry import find_factory
from passlab.transform.sequential import Sequential


def read(
    text: str, source_name: str, infer: bool = True, constants: Mapping[str, Any] | None = None
) -> IRModule | Expr:
    """Return the module, or the one expression, that a cell holds; `constants` are bound to parameters of `main`.

    The text begins in the second line of its source, below the magic, so that errors count lines as the cell does.
    """
    mod = parse_cell(f"\n{text}", source_name)
    if isinstance(mod, Expr):
        return infer_expr(mod) if infer else mod
    names = [param.name_hint for param in mod["main"].params] if "main" in mod else []
    for name in constants or ():
        if name not in names:
            hint = did_you_mean(name, names) or (f"its parameters are {', '.join(names)}" if names else None)
            raise RunError(Diagnostic(f"@main has no parameter `{name}` that could become a constant", hint=hint))
    mod = bind_params(mod, constants)
    return infer_module(mod) if infer else mod


class PipelineOptions(NamedTuple):
    """The settings that a magic adds to the current PassContext: the level (or None), passes, and options."""

    opt_level: int | None
    required: list[str]
    disabled: list[str]
    config: dict[str, Any]


def run(
    mod: IRModule,
    pipeline: str,
    context: PipelineOptions,
    namespace: Mapping[str, Any],
    instruments: list[str],
    progress: Sequence[Any] = (),
) -> tuple[Recording, list[Any]]:
    """Record a pipeline, given as text, over a module. Passes bound to names of the notebook may be used by name.

    It runs under the current PassContext, its instruments included, with the settings of `context`. Returns the
    recording, and the instruments of `instruments` that have something to show; `progress` are further instruments.
    """
    used = [instrument_of(name, namespace) for name in instruments]
    passes = pass_of(pipeline, namespace)
    recording = record(
        mod,
        passes,
        context.opt_level,
        required_pass=context_names(context.required, passes),
        disabled_pass=context_names(context.disabled, passes),
        config=context.config,
        instruments=[*used, *progress],
    )
    return recording, [one for one in used if has_report(one)]


def pass_of(text: str, namespace: Mapping[str, Any]) -> Pass:
    """Return the pass that a text names, or the pipeline; passes of the notebook by their names."""
    return as_pass(text, passes_of(namespace))


def passes_of(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the passes of a notebook by name, and the classes and functions that could become passes.

    A list of passes is the pipeline of them. Those of a module that it has imported are there as `MODULE.NAME`.
    """
    own = {name: value for name, value in namespace.items() if isinstance(value, Pass) or _could_be_pass(value)}
    lists = {name: Sequential(value, name=name) for name, value in namespace.items() if _is_list_of_passes(value)}
    inner = {
        f"{name}.{attribute}": value
        for name, module in namespace.items()
        if type(module) is ModuleType and not module.__name__.startswith("passlab")
        for attribute, value in vars(module).items()
        if issubclass(type(value), Pass) or (type(value) is type(Pass) and issubclass(value, Pass))
    }
    return own | lists | inner


def pass_names(namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of all passes: the notebook's, then passlab's."""
    return [*(n for n, value in namespace.items() if isinstance(value, Pass) or _is_list_of_passes(value)), *PASSES]


def pass_options(name: str, namespace: Mapping[str, Any]) -> list[PassOption]:
    """Return the options that a pass of the notebook or of passlab declares; none for a pass that takes none."""
    factory = namespace.get(name, find_factory(name))
    if not callable(factory) or isinstance(factory, Pass):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        parameters = [one for one in inspect.signature(factory).parameters.values() if one.kind in kinds]
    except (TypeError, ValueError):
        return []
    docs = inspect.getdoc(factory) or ""
    options = []
    for one in parameters:
        type_ = "" if one.annotation is one.empty else getattr(one.annotation, "__name__", str(one.annotation))
        preset = "" if one.default is one.empty else repr(one.default)
        said = next((line.strip() for line in docs.splitlines() if f"`{one.name}`" in line), "")
        options.append(PassOption(one.name, type_, preset, said))
    return options


def has_report(used: Any) -> bool:
    """Whether an instrument is shown after a run: all but a recorder, since the run is recorded anyway."""
    return not isinstance(used, EventRecorder)


def _is_list_of_passes(value: Any) -> bool:
    """Whether a value is a list of passes that are made already."""
    return type(value) is list and bool(value) and all(isinstance(one, Pass) for one in value)


def _could_be_pass(value: Any) -> bool:
    """Whether a value is a class or function of the notebook that could become a pass: the error says how."""
    own = getattr(value, "__module__", None) == "__main__"
    return own and (isinstance(value, FunctionType) or (isinstance(value, type) and issubclass(value, Pass)))
