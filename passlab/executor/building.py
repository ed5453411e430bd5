"""`relay.build`: from a module to a graph, its kernels and its parameters.

graph_json, lib, params = relay.build(mod, params=params)
module = relay.build(mod).module()          # or GraphModule of what was saved
relay.build(mod, executor="aot").save("net.py")     # a Python module that needs only NumPy
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from passlab.errors import Diagnostic, RunError, RunTypeError, VerifyError, did_you_mean
from passlab.executor.aot import AotModule, CompiledFunction, python_source
from passlab.executor.graph import Graph
from passlab.executor.graph_codegen import GraphCode
from passlab.executor.graph_module import GraphModule, GraphModuleDebug
from passlab.executor.outputs import CallableByName, RunsByInputs
from passlab.infer import infer_module
from passlab.ir.collector import building
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.types import is_dynamic
from passlab.ir.walk import post_order
from passlab.transform import PassContext, Sequential, parse_pipeline
from passlab.transform.beta_reduction import beta_reduced
from passlab.transform.parameters import bind_params
from passlab.transform.passes.infer_type import InferType
from passlab.transform.passes.inline import Inline
from passlab.transform.passes.plan_devices import PlanDevices
from passlab.transform.passes.to_graph_normal_form import ToGraphNormalForm
from passlab.vm.compiling.compiler import OPTIMISE, as_module, default_device, reachable
from passlab.vm.files.loading import kernel_functions
from passlab.vm.files.saving import KernelLibrary

# Shapes that are computed from constants and from known shapes become known; only where some shape is not.
STATIC = """
    FoldConstant
    DynamicToStatic
    InferType
"""
FLATTEN = """
    ToGraphNormalForm
    InferType
"""
LOWER = """
    FuseOps
    PlaceKernels
    InferType
    LowerTE
    InferType
"""


class _Factory(CallableByName):
    """What `build` makes: `factory[name](device)` is an executor, by the name that the module was built under."""

    functions: tuple[str, ...] = ()
    libmod_name: str

    @property
    def offered(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the functions that the factory has."""
        return self.libmod_name, *self.functions

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name == self.libmod_name:
            return lambda *devices: self.module()
        return super().__getitem__(name)

    def module(self) -> RunsByInputs:
        """Return an executor."""
        raise NotImplementedError


class GraphExecutorFactory(_Factory):
    """What `build` makes: unpacks to (graph as JSON, library of kernels, parameters).

    `factory["default"](device)` is an executor, as in Relay, `factory["debug_create"]("default", device)` one that
    keeps every node's value. The name is that of the module (`mod_name`).
    """

    functions = ("debug_create", "get_graph_json", "get_lib", "get_params")

    def __init__(self, graph: Graph, kernels: Mapping[str, Function], params: Mapping[str, Any], name: str) -> None:
        self.graph = graph
        self.kernels = dict(kernels)
        self.params = dict(params)
        self.libmod_name = name

    def debug_create(self, name: str = "default", *devices: Any) -> GraphModuleDebug:
        """Return an executor that keeps every node's value. Raises `RunError` for another module's name."""
        self[name]
        return GraphModuleDebug(self.graph, self.kernels, self.params)

    def get_executor_config(self) -> str:
        """Return Relay's JSON of the graph."""
        return self.graph_json

    def __repr__(self) -> str:
        return f"GraphExecutorFactory({len(self.graph.nodes)} nodes, {len(self.kernels)} kernels)"

    @property
    def graph_json(self) -> str:
        """Relay's JSON of the graph."""
        return self.graph.to_json()

    @cached_property
    def lib(self) -> KernelLibrary:
        """The kernels as Relay text."""
        return KernelLibrary.of(self.kernels)

    def get_graph_json(self) -> str:
        """Return Relay's JSON of the graph."""
        return self.graph_json

    def get_lib(self) -> KernelLibrary:
        """Return the kernels as Relay text."""
        return self.lib

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by the names of their inputs."""
        return self.params

    def module(self, debug: bool = False) -> GraphModule:
        """Return an executor with the parameters set; with `debug` one that keeps every node's value."""
        return (GraphModuleDebug if debug else GraphModule)(self.graph, self.kernels, self.params)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.graph_json, self.lib, self.params))


class AOTExecutorFactory(_Factory):
    """What `build` makes for the executor "aot": the program as a Python module. `factory["default"](device)` is it,
    imported, behind the interface of executors.
    """

    functions = ("get_lib", "get_params", "save")

    def __init__(self, mod: IRModule, params: Mapping[str, Any] | None, name: str) -> None:
        self.ir_mod = infer_module(bind_params(mod, params))
        self.source = python_source(self.ir_mod)
        self.libmod_name = name

    def get_lib(self) -> str:
        """Return the text of the module."""
        return self.source.text

    def get_params(self) -> dict[str, Any]:
        """Return the arrays of the file beside the module."""
        return dict(self.source.constants)

    def save(self, path: str | Path) -> Path:
        """Write the module, and its constants beside it."""
        return self.source.save(path)

    def module(self) -> AotModule:
        """Return the module, imported, behind the interface of executors."""
        return AotModule(CompiledFunction(self.source, self.ir_mod["main"], self.ir_mod))


def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactory | AOTExecutorFactory:
    """Compile `main` for the graph executor, or for "aot", with `params` bound by name. Passes run under the context.

    `executor` is "graph", "aot" or an object with such a `name`. A graph says of each result the kind of device it lies
    on: that of `target` where nothing puts it elsewhere. All stand for this CPU; the arguments about hosts, runtimes
    and pools are accepted and change nothing. Raises `VerifyError` for what the executor cannot run: a graph has no
    control flow, data types, function values or tensors of unknown shape.
    """
    mod = as_module(ir_mod)
    name = mod_name or "default"
    kind = str(getattr(executor, "name", executor) or "graph")
    if kind == "aot":
        with building:
            return AOTExecutorFactory(mod, params, name)
    if kind != "graph":
        hint = did_you_mean(kind, ("graph", "aot")) or 'there are "graph" and "aot"'
        raise RunError(Diagnostic(f"nothing is built for the executor `{kind}`", hint=hint))
    with building:
        return build_graph(mod, params, name, target)


def build_graph(
    mod: IRModule, params: Mapping[str, Any] | None = None, name: str = "default", target: Any = None
) -> GraphExecutorFactory:
    """Compile `main` to a graph of kernels; see `build`."""
    context = PassContext.current()
    with PassContext(
        max(context.opt_level, 1), context.required_pass, context.disabled_pass, context.instruments, context.config
    ):
        mod = _flat(reachable(bind_params(mod, params)))
        shapes = STATIC if _has_unknown_shape(mod["main"]) else ""
        before, after = parse_pipeline(shapes + OPTIMISE + FLATTEN), parse_pipeline(LOWER)
        place = PlanDevices(default_device(target))
        mod = Sequential([*before.passes, place, *after.passes], name="relay.build")(mod)
    code = GraphCode(mod, prefix=f"tvmgen_{name}_")
    return GraphExecutorFactory(code.graph, code.kernels, code.params, name)


def _flat(mod: IRModule) -> IRModule:
    """Return the module with the calls of functions replaced by their bodies, as far as they are not recursive."""
    if "main" not in mod:
        raise VerifyError(Diagnostic("a graph is made of the function `main`", hint="the module has none"))
    marked = {n: f.with_attr("Inline", 1) for n, f in mod.items() if n != "main" and not f.is_primitive}
    mod = ToGraphNormalForm()(Inline()(mod.with_functions(marked)))
    return InferType()(mod.with_functions({"main": beta_reduced(mod["main"], mod)}))


def _has_unknown_shape(function: Function) -> bool:
    return any(n.checked_type_ is not None and is_dynamic(n.checked_type_) for n in post_order(function))


def create_graph(graph_json: str, lib: KernelLibrary | str, device: Any = None, debug: bool = False) -> GraphModule:
    """Return an executor for a graph and its kernels as they were saved. Raises `VerifyError` for malformed ones."""
    if not isinstance(graph_json, str):
        raise RunTypeError(f"a graph is given as JSON text, not {type(graph_json).__name__}")
    library = lib if isinstance(lib, KernelLibrary) else KernelLibrary(lib)
    return (GraphModuleDebug if debug else GraphModule)(Graph.from_json(graph_json), kernel_functions(library.text))
