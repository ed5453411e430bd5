"""`relay.debug_executor`: graph executors that keep every node's value, created as in programs for TVM.

module = debug_executor.GraphModuleDebug(lib["debug_create"]("default", device), [device], lib.get_graph_json(), None)
module = debug_executor.create(graph_json, lib, device)         # from saved files
print(module.profile(x=x))
"""

from __future__ import annotations

from typing import Any

from passlab.errors import RunTypeError, type_in_words
from passlab.executor import GraphModuleDebug as DebugModule
from passlab.executor import create_graph
from passlab.vm.files.saving import KernelLibrary


def create(graph_json: str, lib: KernelLibrary | str, device: Any = None, dump_root: Any = None) -> DebugModule:
    """Return an executor for a graph and its kernels. Nothing is written to `dump_root`: query the executor for values.

    Raises `VerifyError` for a malformed graph or library.
    """
    return GraphModuleDebug(create_graph(graph_json, lib, device, debug=True))


def GraphModuleDebug(module: Any, device: Any = None, graph_json: Any = None, dump_root: Any = None) -> DebugModule:
    """Return a module created by `lib["debug_create"]("default", device)`. Raises `RunTypeError` for anything else.

    The other arguments are accepted and ignored: the module has its graph.
    """
    if not isinstance(module, DebugModule):
        result = 'lib["debug_create"]("default", device)'
        raise RunTypeError(f"a debug executor is created by `{result}`, not from {type_in_words(module)}")
    return module


__all__ = ["GraphModuleDebug", "create"]
