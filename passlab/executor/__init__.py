"""The ways to run a module: `create_executor` for any executor; `build` compiles to a graph of kernels or to Python."""

from passlab.executor.aot import AotModule, PythonSource, python_source
from passlab.executor.building import build, optimize
from passlab.executor.create import Executor, create_executor
from passlab.executor.factories import AOTExecutorFactory, GraphExecutorFactory, create_graph, load_module
from passlab.executor.graph import Graph
from passlab.executor.graph_module import GraphModule, GraphModuleDebug

__all__ = [
    "AOTExecutorFactory",
    "AotModule",
    "Executor",
    "Graph",
    "GraphExecutorFactory",
    "GraphModule",
    "GraphModuleDebug",
    "PythonSource",
    "build",
    "create_executor",
    "create_graph",
    "load_module",
    "optimize",
    "python_source",
]
