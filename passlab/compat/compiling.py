"""TVM's direct interfaces to compilation: builds step by step, kernels one by one, facts about built functions.

The file begins with nested tuples as lists of their parts, from left to right: types, and expressions of such types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from passlab import transform
from passlab.analysis import list_op_freqs
from passlab.compat.scalars import IntImm
from passlab.devices import Target
from passlab.errors import Diagnostic, RunError
from passlab.executor import build, optimize
from passlab.executor.factories import AOTExecutorFactory, GraphExecutorFactory
from passlab.executor.graph_module import GraphModuleDebug
from passlab.infer import infer_module
from passlab.ir import structural_equal, structural_hash
from passlab.ir.expr import Expr, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, TupleType, Type, fold_tuple
from passlab.ir.walk import rewrite
from passlab.op.dtypes import array_dtype
from passlab.relay.backend import _backend
from passlab.relay.data_dep_optimization.bsr_conv2d import convert2


def flatten_tuple_type(ty: Type) -> list[Type]:
    """Return the types in a type of nested tuples."""
    types: list[Type] = []
    fold_tuple(ty, types.append, lambda parts: None)
    return types


def from_tuple_type(ty: Type, expr: Expr) -> list[Expr]:
    """Return the parts of an expression whose type consists of nested tuples."""
    parts: list[Expr] = []
    stack: list[tuple[Type, Expr]] = [(ty, expr)]
    while stack:
        of_type, part = stack.pop()
        if isinstance(of_type, TupleType):
            fields = [(field, TupleGetItem(part, at)) for at, field in enumerate(of_type.fields)]
            stack.extend(reversed(fields))
        else:
            parts.append(part)
    return parts


def to_tuple_type(ty: Type, exprs: Iterable[Expr]) -> Any:
    """Return the expression of a type of nested tuples, built of its parts."""
    rest = iter(exprs)
    return fold_tuple(ty, lambda _: next(rest), Tuple)


# ------------------------------------------------------------ builds step by step
class BuildModule:
    """`relay.build` as an object: `build` or `optimize`, then the parts of the result."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._factory: Any = None

    def build(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        executor: Any = None,
        runtime: Any = None,
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: Any = None,
        mod_name: str | None = None,
    ) -> tuple[Any, Any, Any]:
        """Compile a module; return the graph, the library of kernels and the parameters."""
        self.set_params(params or {})
        self._factory = build(
            mod, target, target_host, executor, runtime, params=self._params, mod_name=mod_name or "default"
        )
        return self.get_graph_json(), self.get_module(), self.get_params()

    def optimize(self, mod: IRModule, target: Any = None, target_host: Any = None, params: Any = None) -> Any:
        """Run only the passes; return the module and the parameters."""
        return optimize(mod, target, params)

    def set_params(self, params: Any) -> None:
        """Set parameters by name for the next build."""
        self._params = dict(params)

    def _built(self) -> Any:
        if self._factory is None:
            raise RunError(Diagnostic("nothing is built yet", hint="call `build` first"))
        return self._factory

    def get_graph_json(self) -> Any:
        """Return the graph as JSON, None for the executor "aot"."""
        return self._built().get_executor_config()

    get_executor_config = get_graph_json

    def get_module(self) -> Any:
        """Return the library of kernels."""
        return self._built().lib

    def get_params(self) -> Any:
        """Return the parameters by name."""
        return self._built().params

    def get_function_metadata(self) -> dict[str, FunctionInfo]:
        """Return the facts about each function of the result."""
        return function_metadata(self._built())


# ------------------------------------------------------------ facts about built functions
@dataclass(frozen=True)
class FunctionInfo:
    """The bytes that a function needs, by target, and its program."""

    workspace_sizes: dict[Target, int]
    io_sizes: dict[Target, int]
    constant_sizes: dict[Target, int]
    tir_primfuncs: dict[Target, Any]
    relay_primfuncs: dict[Target, Function]


def tensor_bytes(ty: Type | None) -> int:
    """Return the bytes of the tensors of a type; tensors of unknown shape do not count."""
    sizes = []
    for tensor in flatten_tuple_type(ty) if ty is not None else ():
        assert isinstance(tensor, TensorType)
        is_static = all(isinstance(dim, int) for dim in tensor.shape)
        sizes.append(prod(tensor.concrete_shape) * array_dtype(tensor.dtype).itemsize if is_static else 0)
    return sum(sizes)


def _info(function: Function, workspace: int, constants: int) -> FunctionInfo:
    target = Target()
    ports = sum(tensor_bytes(p.checked_type) for p in function.params) + tensor_bytes(function.ret_type)
    return FunctionInfo(
        {target: IntImm("int64", workspace)},
        {target: IntImm("int64", ports)},
        {target: IntImm("int64", constants)},
        {},
        {target: function},
    )


def function_metadata(factory: Any) -> dict[str, FunctionInfo]:
    """Return the facts about `__tvm_main__` and about each kernel of what `relay.build` returned, by name."""
    if isinstance(factory, AOTExecutorFactory):
        kernels = {name: f for name, f in factory.ir_mod.items() if f.is_primitive}
        return {**_kernel_infos(kernels), "__tvm_main__": _info(factory.ir_mod["main"], 0, _sizes(factory.params))}
    assert isinstance(factory, GraphExecutorFactory)
    graph = factory.graph
    sizes = [prod(shape) * array_dtype(dtype).itemsize for shape, dtype in zip(graph.shapes, graph.dtypes, strict=True)]
    ports = {graph.row_ptr[node] for node in graph.arg_nodes} | {graph.row_ptr[n] + i for n, i in graph.heads}
    target = Target()
    main = FunctionInfo(
        {target: IntImm("int64", sum(size for row, size in enumerate(sizes) if row not in ports))},
        {target: IntImm("int64", sum(sizes[row] for row in ports))},
        {target: IntImm("int64", _sizes(factory.params))},
        {},
        {},
    )
    return {**_kernel_infos(factory.kernels), "__tvm_main__": main}


class DebugDatum:
    """What TVM's debugger of graphs tells about the nodes of an executor."""

    def __init__(self, module: GraphModuleDebug) -> None:
        self.module = module

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """Return for each node its name, its kernel (`param` for an input), its inputs and the shape of its result."""
        graph = self.module.graph
        return [
            {
                "name": node.name,
                "op": node.func_name or "param",
                "inputs": [graph.nodes[number].name for number, _ in node.inputs],
                "shape": list(graph.shapes[graph.row_ptr[at]]),
            }
            for at, node in enumerate(graph.nodes)
        ]


def _kernel_infos(kernels: Mapping[str, Function]) -> dict[str, FunctionInfo]:
    typed = infer_module(IRModule(kernels)) if kernels else IRModule()
    return {name: _info(function, 0, 0) for name, function in typed.items()}


def _sizes(params: Mapping[str, Any]) -> int:
    return sum(array.nbytes for array in params.values())


# ------------------------------------------------------------ kernels one by one
class CachedFunc:
    """A function for which the cache has a kernel: one object for structurally equal functions."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def same_as(self, other: object) -> bool:
        """Whether the other is this object."""
        return self is other


class TECompiler:
    """TVM's cache of compiled operators; the kernels themselves are passlab's own."""

    def __init__(self) -> None:
        self._lowered: dict[int, list[CachedFunc]] = {}

    def lower(self, source_func: Any, target: Any = None, mod_name: str = "default") -> CachedFunc:
        """Return the entry of a function: the same object for structurally equal ones."""
        function = source_func.source_func if isinstance(source_func, CCacheKey) else source_func
        entries = self._lowered.setdefault(structural_hash(function), [])
        for entry in entries:
            if structural_equal(entry.function, function):
                return entry
        entries.append(CachedFunc(function))
        return entries[-1]

    def jit(self, source_func: Any, target: Any = None) -> Callable[..., None]:
        """Return what runs a function: called with its arguments and an array for each result."""
        function = self.lower(source_func, target).function
        module = build(IRModule.from_expr(function)).module()
        count = len(function.params)

        def run(*arrays: Any) -> None:
            for number, array in enumerate(arrays[:count]):
                module.set_input(number, array)
            module.run()
            for number, array in enumerate(arrays[count:]):
                module.get_output(number, array)

        return run

    def clear(self) -> None:
        """Forget all entries."""
        self._lowered.clear()

    def items(self) -> list[Any]:
        """Return the entries: (function, entry)."""
        return [(entry.function, entry) for entries in self._lowered.values() for entry in entries]

    def get_current_ccache_key(self, source_func: Function, target: Any = None) -> CCacheKey:
        """Return the key of a function."""
        return CCacheKey(source_func, Target.of(target))


@dataclass(frozen=True)
class CCacheKey:
    """The key of a kernel: a function and a target."""

    source_func: Function
    target: Target


_COMPILER = TECompiler()


def get() -> TECompiler:
    """Return the one cache."""
    return _COMPILER


# ------------------------------------------------------------ memory plans
def graph_plan_memory(func: Function) -> StaticMemoryPlan:
    """Return the memory plan of a function, with the interface of all versions of TVM."""
    return StaticMemoryPlan(_backend.GraphPlanMemory(func).expr_to_storage_info)


class StaticMemoryPlan(_backend.StaticMemoryPlan):
    """A memory plan that is also the map of older versions: from expressions to storages, kinds of device, sizes."""

    def items(self) -> list[tuple[Expr, list[list[IntImm]]]]:
        """Return pairs of an expression and three lists: storages, kinds of devices, and sizes in bytes."""
        return [
            (expr, [[IntImm("int64", number) for number in part] for part in parts])
            for expr, info in self.expr_to_storage_info.items()
            for parts in [(info.storage_ids, info.device_types, info.storage_sizes)]
        ]


# ------------------------------------------------------------ labels and counts
def extract_operators(mod: IRModule) -> list[str]:
    """Return the names of the operators that a module calls, each once."""
    return list(list_op_freqs(mod))


def _with_labels(function: Function, mod: IRModule, ctx: transform.PassContext) -> Function:
    def label(pre: Function, post: Function) -> Expr:
        return post.with_attr("hash", f"{structural_hash(post.without_attr('hash')) & (2**64 - 1):016x}")

    result = rewrite(function, label, only=(Function,), name="label")
    assert isinstance(result, Function)
    return result


def label_ops() -> Any:
    """Return the pass that gives each function the attribute `hash`: its structural hash in hexadecimal digits."""
    return transform.function_pass(_with_labels, 1, "LabelOps")


def conv2d_to_sparse2(layout: str, kernel_size: int, blocksize: tuple[int, int], sparsity_threshold: float) -> Any:
    """Return the pass that makes convolutions with constant weights sparse: `data_dep_optimization.bsr_conv2d`."""

    def with_sparse(function: Function, mod: IRModule, ctx: transform.PassContext) -> Any:
        return convert2(function, {}, blocksize, sparsity_threshold, layout, kernel_size)[0]

    return transform.function_pass(with_sparse, 5, "Conv2dToSparse2")
