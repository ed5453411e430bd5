"""`relay.graph_executor`: graph executors, created as in programs for TVM.

module = graph_executor.GraphModule(lib["default"](device))     # of the library that relay.build returned
module = graph_executor.create(graph_json, lib, device)         # from saved files
"""

from __future__ import annotations

from typing import Any

from passlab.errors import RunTypeError, type_in_words
from passlab.executor import create_graph
from passlab.executor.outputs import RunsByInputs

create = create_graph


def GraphModule(module: Any) -> RunsByInputs:
    """Return a module created by `lib["default"](device)`. Raises `RunTypeError` for anything else."""
    if not isinstance(module, RunsByInputs):
        raise RunTypeError(f'a graph executor is created by `lib["default"](device)`, not from {type_in_words(module)}')
    return module


__all__ = ["GraphModule", "create"]
