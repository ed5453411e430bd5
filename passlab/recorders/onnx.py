"""ONNX, live: any sequence of functions from model to model.

rec = passlab.recorders.onnx.record(model, [("fuse", fuse), simplify])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from passlab.dumps.onnx_text import model_nodes, model_text
from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, DumpError
from passlab.recorders.protocol import HostRecorder

Function = Callable[[Any], Any]


def text_of(model: Any) -> str:
    """Return the main graph of a model, an `onnx.ModelProto` or its bytes, one line per node."""
    return model_text(_bytes_of(model))


def record(model: Any, passes: Iterable[Function | tuple[str, Function]], name: str = "ONNX") -> TextRecording:
    """Call functions on a model in order and return the recording; a function that raises is the last step.

    A function takes a model and returns one, or changes it in place and returns None.
    """
    recorder = HostRecorder(name, text=text_of, copy=_bytes_of, language="onnx", nodes=model_nodes)
    recorder.start(model)
    for number, one in enumerate(passes, 1):
        title, function = one if isinstance(one, tuple) else (getattr(one, "__name__", f"pass {number}"), one)
        if not callable(function):
            raise DumpError(Diagnostic(f"pass {number} is not a function", hint="a function, or (name, function)"))
        recorder.begin(title, model, unit="graph")
        try:
            result = function(model)
        except Exception as error:
            recorder.fail(error)
            break
        model = model if result is None else result
        recorder.end(model)
    return recorder.recording()


def _bytes_of(model: Any) -> bytes:
    return model if isinstance(model, bytes) else bytes(model.SerializeToString())
