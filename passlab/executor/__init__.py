"""The ways to run a module, behind one door: `create_executor`; and `build`, which makes graphs of kernels."""

from passlab.executor.building import GraphExecutorFactory, build, create_graph
from passlab.executor.create import Executor, create_executor
from passlab.executor.graph import Graph
from passlab.executor.graph_module import GraphModule, GraphModuleDebug

__all__ = [
    "Executor", "Graph", "GraphExecutorFactory", "GraphModule", "GraphModuleDebug", "build", "create_executor",
    "create_graph",
]  # fmt: skip
