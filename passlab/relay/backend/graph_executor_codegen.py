"""`relay.backend.graph_executor_codegen`: a graph made step by step, as Relay's own tests make it.

    codegen = GraphExecutorCodegen(None, target)
    graph_json, lowered, params = codegen.codegen(mod, mod["main"])
    library = relay.backend._backend.build(lowered, target)

`relay.build` makes all of it in one call.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import RunTypeError
from passlab.executor.building import build_graph
from passlab.executor.factories import GraphExecutorFactory
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.vm.files.saving import KernelLibrary

Lowered = dict[Any, KernelLibrary]


class GraphExecutorCodegen:
    """Makes graphs of functions. `mod` is accepted and unused, as in Relay; the target stands for this CPU."""

    def __init__(self, mod: Any = None, target: Any = None) -> None:
        self.target = target
        self._factory: GraphExecutorFactory | None = None

    def codegen(self, ir_module: IRModule, func: Function) -> tuple[str, Lowered, dict[str, Any]]:
        """Return the graph of a function of a module as JSON, its kernels by target, and its parameters.

        Raises as `relay.build` does for what a graph does not have.
        """
        if not isinstance(func, Function):
            raise RunTypeError(f"a graph is made of a function, not of a {type(func).__name__}")
        self._factory = build_graph(ir_module.with_functions({"main": func}), None, "default", self.target)
        return self._factory.graph_json, {self.target: self._factory.lib}, dict(self._factory.params)
