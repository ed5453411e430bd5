"""Today's TVM, live: a pass instrument for Relax and TIR pipelines of apache-tvm, and for TileLang's.

    rec = passlab.recorders.tvm.record(mod, relax.get_pipeline("zero"))
    with passlab.recorders.tvm.recording() as live:      # around any code that runs passes
        tvm.compile(mod, "llvm")
    live.recording()

Modules are kept by reference, since TVM copies on write. They are compared by TVM's structural equality, since their
texts leave constants out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from passlab.dumps.recording import TextRecording
from passlab.recorders.protocol import GraphNode, HostRecorder, import_host

_import_tvm = partial(import_host, passes="TVM's", package="TVM", fix="pip install apache-tvm")


def _equality() -> Callable[[Any, Any], bool]:
    """Return TVM's structural equality: of `tvm_ffi` in newer versions, of `tvm.ir` in older ones."""
    tvm = _import_tvm("tvm")
    equal = getattr(getattr(tvm, "ir", None), "structural_equal", None)
    if equal is None:
        equal = _import_tvm("tvm_ffi").structural_equal
    return lambda left, right: left.same_as(right) or bool(equal(left, right))


def script_of(mod: Any) -> str:
    """Return the text of a module. Constants are left out: printing them crashes some versions."""
    script = getattr(mod, "script", None)
    return str(script()) if script is not None else str(mod)


def nodes_of(mod: Any) -> Iterator[GraphNode]:
    """Yield the nodes of a module: bindings of its Relax functions, and other functions as wholes."""
    relax = getattr(_import_tvm("tvm"), "relax", None)
    for symbol, function in mod.functions.items():
        name = str(symbol.name_hint)
        if relax is None or not isinstance(function, relax.Function):
            yield GraphNode(f"@{name}", type(function).__name__, name)
            continue
        keys = {param: f"{name}.{_variable_name(param)}" for param in function.params}
        yield from (GraphNode(key, "parameter", str(param)) for param, key in keys.items())
        for block in getattr(function.body, "blocks", ()):
            for binding in block.bindings:
                key = f"{name}.{_variable_name(binding.var)}"
                key += f"#{len(keys)}" if key in keys.values() else ""  # names are only hints, and may be equal
                keys[binding.var] = key
                yield _binding_node(relax, binding, key, keys)


def _variable_name(variable: Any) -> str:
    return str(getattr(variable, "name_hint", None) or variable.name)  # older versions, newer ones


def _binding_node(relax: Any, binding: Any, key: str, keys: dict[Any, str]) -> GraphNode:
    value = getattr(binding, "value", None)
    if value is None:
        return GraphNode(key, type(binding).__name__, str(binding.var))
    called = [f"@{symbol.name_hint}" for symbol in relax.analysis.all_global_vars(value)]
    operands = [keys[var] for var in relax.analysis.free_vars(value) if var in keys]
    operation = getattr(getattr(value, "op", None), "name", None) or (called[0] if called else type(value).__name__)
    text = " ".join(str(value).split())
    return GraphNode(key, str(operation), f"{_variable_name(binding.var)} = {text[:200]}", (*operands, *called))


def new_recorder(name: str = "TVM") -> HostRecorder:
    """Return a recorder that prints and compares modules as TVM does. Raises `MissingPackageError` without TVM."""
    return HostRecorder(name, text=script_of, equal=_equality(), language="python", nodes=nodes_of)


def instrument_of(recorder: HostRecorder) -> Any:
    """Return a TVM pass instrument that reports to a recorder."""
    pass_instrument = _import_tvm("tvm.ir.instrument").pass_instrument

    class RecordingInstrument:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            recorder.begin(str(info.name), mod, unit="IRModule", options=f"opt_level={info.opt_level}")

        def run_after_pass(self, mod: Any, info: Any) -> None:
            recorder.end(mod)

        # TVM reports no failure: a pass that is open when its context ends has raised.
        def exit_pass_ctx(self) -> None:
            recorder.close("the pass raised an error")

    return pass_instrument(RecordingInstrument)()


@contextmanager
def recording(name: str = "TVM") -> Iterator[HostRecorder]:
    """Record all passes that run inside the block, under the pass context in force and its instruments."""
    recorder = new_recorder(name)
    context = _import_tvm("tvm").transform.PassContext.current()
    before = list(context.instruments or ())
    context.override_instruments([*before, instrument_of(recorder)])
    try:
        yield recorder
    finally:
        recorder.close("the pass raised an error")
        context.override_instruments(before)


def record(mod: Any, pipeline: Callable[[Any], Any], name: str = "TVM") -> TextRecording:
    """Run a pass or pipeline on a module and return its recording; a pass that raises is its last step."""
    with recording(name) as recorder:
        recorder.start(mod)
        try:
            pipeline(mod)
        except Exception as error:
            if not recorder.is_open:
                recorder.begin("pipeline", mod)
            recorder.close(error)
    return recorder.recording()
