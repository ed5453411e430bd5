"""`relay.backend.graph_executor_codegen`: creating a graph step by step, as in Relay's own tests.

    codegen = GraphExecutorCodegen(None, target)
    graph_json, lowered, params = codegen.codegen(mod, mod["main"])
    library = relay.backend._backend.build(lowered, target)

`relay.build` does all steps in one call.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import RunTypeError, type_in_words
from passlab.executor.building import build_graph
from passlab.executor.factories import GraphExecutorFactory
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.rewriting.entry import with_entry
from passlab.vm.files.saving import KernelLibrary

Lowered = dict[Any, KernelLibrary]


class GraphExecutorCodegen:
    """Creates graphs from functions. `mod` is accepted and unused, as in Relay; every target means this CPU."""

    def __init__(self, mod: Any = None, target: Any = None) -> None:
        self.target = target
        self._factory: GraphExecutorFactory | None = None

    def codegen(self, ir_module: IRModule, func: Function) -> tuple[str, Lowered, dict[str, Any]]:
        """Return the graph of a function of a module as JSON, its kernels by target, and its parameters.

        Raises the errors of `relay.build` for constructs that a graph does not have.
        """
        if not isinstance(func, Function):
            raise RunTypeError(f"a graph is created from a function, not from {type_in_words(func)}")
        self._factory = build_graph(with_entry(ir_module, func), None, "default", self.target)
        return self._factory.graph_json, {self.target: self._factory.lib}, dict(self._factory.params)
