"""torch.compile, live: its log, and in it the FX passes of Inductor, each with the graph before and after it.

    rec = passlab.recorders.torch.record(function, *args)
    with passlab.recorders.torch.recording() as live:      # around any code that compiles
        model(x).sum().backward()
    live.recording().tree()

The recording has the form of a `TORCH_TRACE` log (`passlab.dumps.torch`): a tree by compile id, with tables of graph
breaks, recompilations and guards. `live.save(path)` writes the log.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from passlab.atomic_file import write_text
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.source import BytesSource
from passlab.dumps.torch import TorchRecording, read_log
from passlab.errors import Diagnostic, MissingPackageError

_METHODS = ("apply_gm_pass", "apply_graph_pass")
_OLD = "pip install torch (2.4 or newer)"


def _import(name: str, attribute: str) -> Any:
    try:
        return getattr(import_module(name), attribute)
    except (ImportError, AttributeError) as error:
        raise MissingPackageError(Diagnostic(f"recording torch's passes needs torch: {error}", hint=_OLD)) from error


class Snapshot(str):
    """The text of an FX graph, with its nodes: passes change graphs in place."""

    nodes: tuple[GraphNode, ...]


def snapshot_of(module: Any) -> Snapshot:
    """Return the current text and nodes of a module with an FX graph, as torch's own log prints it."""
    snapshot = Snapshot(_readable(module))
    snapshot.nodes = tuple(
        GraphNode(
            str(node.name),
            getattr(node.target, "__name__", str(node.target)) if node.op.startswith("call") else str(node.op),
            str(node.format_node() or node),
            tuple([str(operand.name) for operand in node.all_input_nodes]),
        )
        for node in module.graph.nodes
    )
    return snapshot


def _readable(module: Any) -> str:
    """Return the text of a graph; one that torch cannot print as code is printed as a list of nodes."""
    try:
        return str(module.print_readable(print_output=False, include_stride=True, include_device=True))
    except Exception:  # of torch, whose passes may leave a graph for a while that is not a code
        return str(module.graph)


class TorchRecorder:
    """Collects the log of torch while a block runs. Threads may compile at the same time."""

    def __init__(self, name: str = "torch.compile") -> None:
        self.name = name
        self._log = io.StringIO()
        self._lock = threading.RLock()
        self._snapshots: dict[str, Snapshot] = {}
        self._count = 0
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._last: dict[int, tuple[str, Snapshot]] = {}  # of each module: its nodes as text, and its snapshot

    def begin(self, name: str, module: Any, subsystem: str = "") -> None:
        """Note that a pass begins on a module."""
        self._write(f"before_{name}", self._snapshot(module), subsystem, module)

    def end(self, name: str, module: Any, subsystem: str = "") -> None:
        """Note that a pass ended, with the module as it is now."""
        self._write(f"after_{name}", self._snapshot(module), subsystem, module)

    def fail(self, name: str, error: BaseException, module: Any, subsystem: str = "") -> None:
        """Note that a pass raised an error."""
        self._write(f"failed_{name}", f"{type(error).__name__}: {error}", subsystem, module)

    def recording(self) -> TorchRecording:
        """Return the recording so far."""
        data = self.log.encode("utf-8", "surrogateescape")
        recording = read_log(BytesSource(data, self.name))
        recording.nodes_of = lambda one: one.nodes
        for stage, step in zip(recording.stages, recording.steps, strict=True):
            if stage.after is not None and stage.kind == "graph":
                step.live = self._snapshots.get(stage.after.text)
            if stage.before is not None and stage.kind == "graph":
                step.live_before = self._snapshots.get(stage.before.text)
        return recording

    @property
    def log(self) -> str:
        """The log so far: the log of `TORCH_TRACE`, and two records for each pass."""
        with self._lock:
            return self._log.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the log to a file, which `passlab.dumps.read` and tlparse read."""
        write_text(path, self.log)

    def _snapshot(self, module: Any) -> Snapshot:
        """Return the snapshot of a module: the last one if its graph is as it was then."""
        nodes = str(module.graph)
        last = self._last.get(id(module))
        if last is None or last[0] != nodes:
            snapshot = snapshot_of(module)
            self._last[id(module)] = last = (nodes, snapshot)
            self._snapshots[snapshot.strip("\n")] = snapshot
        return last[1]

    def _write(self, name: str, payload: str, subsystem: str, module: Any) -> None:
        """Write a record in the form of torch's log; a number says which module it is about."""
        about = {"name": name, "encoding": "string", "subsystem": subsystem}
        if module not in self._numbers:
            self._count += 1  # not the number of the living ones, which may become fewer
            self._numbers[module] = self._count
        record: dict[str, Any] = {"artifact": about | {"graph": self._numbers[module]}}
        trace = _import("torch._guards", "CompileContext").current_trace_id()
        if trace is not None:
            for key in ("compiled_autograd_id", "frame_id", "frame_compile_id"):
                value = getattr(trace.compile_id, key, None)
                if value is not None:
                    record[key] = value
            record["attempt"] = trace.attempt
        data = payload.encode("utf-8", "surrogateescape")
        record["has_payload"] = hashlib.md5(data, usedforsecurity=False).hexdigest()
        now = time.strftime("%m%d %H:%M:%S.000000")
        lines = "".join(f"\n\t{line}" for line in payload.split("\n"))
        with self._lock:
            self._log.write(f"V{now} {os.getpid()} passlab/recorders/torch.py:1] {json.dumps(record)}{lines}\n")

    def handler(self) -> logging.Handler:
        """Return a handler that writes torch's structured log here."""
        handler = logging.StreamHandler(self._log)
        handler.setFormatter(_import("torch._logging._internal", "TorchLogsFormatter")(trace=True))
        handler.lock = self._lock  # of one stream
        return handler


@contextmanager
def recording(name: str = "torch.compile") -> Iterator[TorchRecorder]:
    """Record what torch.compile does inside the block: its log, and each FX pass of Inductor."""
    observer = _import("torch.fx.passes.graph_transform_observer", "GraphTransformObserver")
    trace_log = _import("torch._logging._internal", "trace_log")
    recorder = TorchRecorder(name)
    # PyTorch has no hook for these passes, so the methods that run them are replaced; older versions have one of them.
    originals = {method: getattr(observer, method) for method in _METHODS if hasattr(observer, method)}

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(self: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
            title, subsystem = str(self.passname), str(getattr(self, "subsystem", "") or "")
            recorder.begin(title, self.gm, subsystem)
            try:
                result = original(self, function, *args, **options)
            except Exception as error:
                recorder.fail(title, error, self.gm, subsystem)
                raise
            recorder.end(title, self.gm, subsystem)
            return result

        return apply

    handler, level = recorder.handler(), trace_log.level
    trace_log.addHandler(handler)
    trace_log.setLevel(logging.DEBUG)
    for method, original in originals.items():
        setattr(observer, method, wrap(original))
    try:
        yield recorder
    finally:
        for method, original in originals.items():
            setattr(observer, method, original)
        trace_log.removeHandler(handler)
        trace_log.setLevel(level)


def record(function: Callable[..., Any], *args: Any, name: str = "torch.compile", **options: Any) -> TorchRecording:
    """Compile a function, call it on arguments, and return the recording of torch's work on it.

    Caches are off, so that the passes run. Raises the errors of the compiled function.
    """
    compiler = _import("torch", "compile")
    config = import_module("torch._inductor.config")
    with recording(name) as recorder, config.patch(fx_graph_cache=False):
        import_module("torch._dynamo").reset()  # else a function that was compiled before would not be compiled again
        compiler(function, **options)(*args)
    return recorder.recording()
