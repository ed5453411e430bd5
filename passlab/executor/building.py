"""`relay.build`: from a module to a graph, its kernels and its parameters.

graph_json, lib, params = relay.build(mod, params=params)
module = relay.build(mod).module()                  # or `create_graph` of the three, saved and read again
relay.build(mod).export_library("net.lib")          # all of it as one file; relay.runtime.load_module reads it
relay.build(mod, executor="aot").save("net.py")     # a Python module that needs only NumPy
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.arguments import checked
from passlab.errors import (
    Diagnostic,
    RunError,
    RunTypeError,
    VerifyError,
    did_you_mean,
    naming_interrupts,
    type_in_words,
)
from passlab.executor.aot.module_source import lower
from passlab.executor.factories import AOTExecutorFactory, GraphExecutorFactory
from passlab.executor.graph_codegen import GraphCode
from passlab.executor.value_form import value_form
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.types import is_dynamic
from passlab.ir.walk import post_order
from passlab.passes.external.inline_composites import inlined
from passlab.passes.functions.inline import Inline
from passlab.passes.lowering.plan_devices import PlanDevices
from passlab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from passlab.passes.program.infer_type import InferType
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.rewriting.entry import with_entry
from passlab.rewriting.parameters import bind_params
from passlab.rewriting.region_lets import without_marks
from passlab.transform import Sequential, parse_pipeline
from passlab.vm.compiling.compiler import OPTIMISE, as_module, compiling, default_device, reachable

# Computes shapes that follow from constants and from known shapes. Runs only if some shape is unknown.
STATIC = """
    FoldConstant
    DynamicToStatic
    InferType
"""
INFERENCE = """
    InferType
    SimplifyInference
"""
FLATTEN = """
    ToGraphNormalForm
    InferType
"""
FUSE = """
    FuseOps
    InferType
"""
LOWER = """
    FuseOps
    PlaceKernels
    InferType
    LowerTE
    InferType
"""


@checked
def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: Any = "default",
    *,
    entry: str = "main",
) -> GraphExecutorFactory | AOTExecutorFactory:
    """Compile `main` for the graph executor, or for "aot", with `params` bound by name. Passes run under the context.

    Another `entry` becomes `main` of what is compiled; a function of that name keeps its callers.

    `executor` is "graph", "aot" or an object with such a `name`. A graph records the kind of device of each result; the
    default is the kind of `target`. All devices stand for this CPU; the arguments about hosts, runtimes and pools are
    accepted and ignored. Raises `VerifyError` for programs that the executor cannot run: a graph has no control flow,
    data types, function values or tensors of unknown shape. Raises `RunError` for another executor. Raises
    `RunTypeError` for a `mod_name` that is not a string.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }")
    >>> module = relay.build(mod)["default"](passlab.cpu())
    >>> module.run(x=np.float32([1, 2]))
    >>> print(module.get_output(0))
    [2. 3.]
    """
    mod = as_module(ir_mod)
    if entry != "main":
        mod = with_entry(mod, entry)
    if not isinstance(mod_name, str | None):
        raise RunTypeError(f"the name of a module is a string, not {type_in_words(mod_name)}")
    name = mod_name or "default"
    kind = "graph" if executor is None else str(getattr(executor, "name", executor))
    again = naming_interrupts("the compilation", hint="the program is as it was: compile it again")
    if kind == "aot":
        with again, building():
            return AOTExecutorFactory(lower(infer_module(mod), params), name)
    if kind != "graph":
        hint = did_you_mean(kind, ("graph", "aot")) or 'there are "graph" and "aot"'
        raise RunError(Diagnostic(f"`build` does not compile for the executor `{kind}`", hint=hint))
    with again, building():
        return build_graph(mod, params, name, target)


def optimize(
    mod: IRModule | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """Run only the passes of `build`, up to the fusion of operators; return the module and `params`.

    >>> mod, params = relay.optimize(passlab.parse("def @main(%x: float32) { tanh(exp(%x)) }"))
    >>> mod["main"].body.op.is_primitive, params
    (True, {})
    """
    with building():
        return _run_passes(as_module(mod), params, target, FUSE), dict(params or {})


def _run_passes(mod: IRModule, params: Mapping[str, Any] | None, target: Any, last: str) -> IRModule:
    """Return the module after the passes of the compiler and the pipeline `last`."""
    with compiling():
        mod = inline_all(bind_params(inlined(value_form(reachable(mod))), params))
        # DynamicToStatic would find nothing in a program whose shapes are all known.
        types = [n.checked_type_ for n in post_order(mod["main"])]
        shapes = STATIC if any(ty is not None and is_dynamic(ty) for ty in types) else ""
        before, after = parse_pipeline(shapes + OPTIMISE + FLATTEN), parse_pipeline(last)
        plan = PlanDevices(default_device(target))
        return Sequential([*before.passes, plan, *after.passes], name="relay.build")(mod)


def graph_code(mod: IRModule | Function) -> GraphCode:
    """Return `main` as a graph, with the expression of each node and the decisions of the memory planner."""
    with building():
        return GraphCode(_run_passes(as_module(mod), None, None, LOWER))


def build_graph(
    mod: IRModule, params: Mapping[str, Any] | None = None, name: str = "default", target: Any = None
) -> GraphExecutorFactory:
    """Compile `main` to a graph of kernels; see `build`."""
    code = GraphCode(_run_passes(mod, params, target, LOWER), prefix=f"tvmgen_{name}_")
    return GraphExecutorFactory(code.graph, code.kernels, code.params, name)


def inline_all(mod: IRModule) -> IRModule:
    """Return the module with calls replaced by the bodies of the called functions, except recursive calls.

    `SimplifyInference` runs first: `nn.dropout` draws random numbers, so a let that binds it cannot be removed.
    """
    if "main" not in mod:
        raise VerifyError(Diagnostic("a graph is built from the function `main`", hint="the module has none"))
    plain = {n: without_marks(f).without_attr("Extern") for n, f in mod.items()}  # external functions run here too
    marked = {n: f if n == "main" or f.is_primitive else f.with_attr("Inline", 1) for n, f in plain.items()}
    mod = Sequential(parse_pipeline(INFERENCE).passes)(Inline()(mod.with_functions(marked)))
    mod = ToGraphNormalForm()(mod)
    return InferType()(mod.with_functions({"main": beta_reduced(mod["main"], mod)}))
