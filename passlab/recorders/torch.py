"""torch.compile, live: the FX passes of Inductor (pre-grad, joint, post-grad), each with the graph before and after it.

rec = passlab.recorders.torch.record(function, *args)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, MissingPackageError
from passlab.recorders.protocol import GraphNode, HostRecorder

_METHODS = ("apply_gm_pass", "apply_graph_pass")


def _observer() -> Any:
    try:
        return import_module("torch.fx.passes.graph_transform_observer").GraphTransformObserver
    except (ImportError, AttributeError) as error:
        hint = "pip install torch (2.4 or newer)"
        raise MissingPackageError(Diagnostic(f"recording torch's passes needs torch: {error}", hint=hint)) from error


class Snapshot(str):
    """The text of an FX graph, with its nodes: passes change graphs in place."""

    nodes: tuple[GraphNode, ...]


def snapshot_of(graph: Any) -> Snapshot:
    """Return the current text and nodes of an FX graph."""
    snapshot = Snapshot(graph)
    snapshot.nodes = tuple(
        GraphNode(
            str(node.name),
            getattr(node.target, "__name__", str(node.target)) if node.op.startswith("call") else str(node.op),
            str(node.format_node() or node),
            tuple([str(operand.name) for operand in node.all_input_nodes]),
        )
        for node in graph.nodes
    )
    return snapshot


def new_recorder(name: str = "torch.compile") -> HostRecorder:
    """Return a recorder of FX graphs, which it copies as text, since passes change them in place."""
    return HostRecorder(name, text=str, copy=snapshot_of, language="fx", nodes=lambda one: one.nodes)


@contextmanager
def recording(name: str = "torch.compile") -> Iterator[HostRecorder]:
    """Record the FX passes of Inductor that run inside the block."""
    observer = _observer()
    recorder = new_recorder(name)
    # PyTorch has no hook for these passes, so the methods that run them are replaced; older versions have one of them.
    originals = {method: getattr(observer, method) for method in _METHODS if hasattr(observer, method)}

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(self: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
            graph = self.gm.graph
            unit = str(getattr(self, "subsystem", "") or "graph")
            recorder.begin(str(self.passname), graph, unit=unit)
            try:
                result = original(self, function, *args, **options)
            except Exception as error:
                recorder.fail(error)
                raise
            recorder.end(self.gm.graph)
            return result

        return apply

    for method, original in originals.items():
        setattr(observer, method, wrap(original))
    try:
        yield recorder
    finally:
        for method, original in originals.items():
            setattr(observer, method, original)
        recorder.close()


def record(function: Callable[..., Any], *args: Any, name: str = "torch.compile", **options: Any) -> TextRecording:
    """Compile a function, call it on arguments, and return the recording of Inductor's passes.

    Caches are off, so that the passes run. Raises the errors of the compiled function.
    """
    torch = import_module("torch") if _observer() is not None else None
    assert torch is not None
    config = import_module("torch._inductor.config")
    with recording(name) as recorder, config.patch(fx_graph_cache=False):
        torch._dynamo.reset()  # else a function that was compiled before would not be compiled again
        torch.compile(function, **options)(*args)
    return recorder.recording()
