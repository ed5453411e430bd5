"""`relay.backend._backend`: the memory plan of a function, under the name that Relay's own programs use.

The plan is made by the graph executor, for a function after `FuseOps`; as in Relay, results of the function may reuse
the storage of other tensors. (A graph gives its outputs separate storages.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from passlab.devices import VirtualDevice
from passlab.errors import RunTypeError, type_in_words
from passlab.executor.graph import ExecutorNode, row_pointers
from passlab.executor.graph_codegen import GraphCode, plan_memory
from passlab.infer import infer_module
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_op_call
from passlab.ir.walk import outside_kernels, post_order, rewrite
from passlab.op.dtypes import array_dtype
from passlab.vm.files.saving import KernelLibrary

DEVICE_OPERATORS = ("on_device", "device_copy")


@dataclass(frozen=True)
class StorageInfo:
    """The storages of an expression: for each tensor the number of its storage, its device, and the storage's size.

    The size belongs to the first tensor in the storage, in bytes, as in Relay.
    """

    storage_ids: list[int]
    virtual_devices: list[VirtualDevice]
    storage_sizes: list[int]

    @property
    def device_types(self) -> list[int]:
        """Relay's numbers for the kinds of devices."""
        return [device.device_type for device in self.virtual_devices]


@dataclass(frozen=True)
class StaticMemoryPlan:
    """The memory plan of a function: the storages of the tensors of each expression."""

    expr_to_storage_info: dict[Expr, StorageInfo]


def GraphPlanMemory(func: Function) -> StaticMemoryPlan:
    """Return the memory plan of a function without control flow, for its parameters, constants and calls.

    Raises `VerifyError` for constructs that no graph has: control flow, references, tensors of unknown shape.
    """
    if not isinstance(func, Function):
        raise RunTypeError(f"the memory of a function is planned, not of {type_in_words(func)}")
    typed = infer_module(IRModule.from_expr(func))["main"]
    lowered, replacements = _lower(typed)
    code = GraphCode(lowered)
    rows = row_pointers(code.nodes)
    tensors = [tensor for node_tensors in code.tensors for tensor in node_tensors]
    sizes = [prod(t.concrete_shape) * array_dtype(t.dtype).itemsize for t in tensors]
    devices = [device for device, node_tensors in zip(code.devices, code.tensors, strict=True) for _ in node_tensors]
    reader = ExecutorNode("results", "results", tuple(code.heads), 0)  # keeps the results alive until the end
    storages = plan_memory([*code.nodes, reader], [], sizes, devices)
    first_sizes: dict[int, int] = {}
    for storage, size in zip(storages, sizes, strict=True):
        first_sizes.setdefault(storage, size)

    def info(expr: Expr) -> StorageInfo:
        entries = [rows[node] + index for node, index in code.entries[expr]]
        scoped = [replace(devices[i], memory_scope=devices[i].memory_scope or "global") for i in entries]
        return StorageInfo([storages[i] for i in entries], scoped, [first_sizes[storages[i]] for i in entries])

    return StaticMemoryPlan({old: info(new) for old, new in replacements.items() if code.entries.get(new)})


def build(mod: dict[Any, KernelLibrary], target: Any = None, target_host: Any = None) -> KernelLibrary:
    """Return the library of the kernels that `GraphExecutorCodegen` created; the target is ignored."""
    libraries = list(mod.values())
    if len(libraries) != 1 or not isinstance(libraries[0], KernelLibrary):
        raise RunTypeError("a library is built of the kernels that `GraphExecutorCodegen.codegen` returned")
    return libraries[0]


def _outside_kernels(func: Function) -> list[Expr]:
    """Return the nodes of a function except those inside its primitive functions."""
    return post_order(func, enter=lambda n: n is func or outside_kernels(n))


def _lower(func: Function) -> tuple[IRModule, dict[Expr, Expr]]:
    """Return a module whose `main` calls a kernel for each call of a function, and the replacements of nodes."""
    replacements: dict[Expr, Expr] = {}  # `rewrite` records all its replacements here
    kernels: dict[str, Function] = {}

    def kernel(function: Function) -> GlobalVar:
        name = f"kernel_{len(kernels)}"
        kernels[name] = function
        return GlobalVar(name)

    for node in _outside_kernels(func):
        if isinstance(node, Function) and node.is_primitive:
            replacements[node] = kernel(node)

    def lower_call(pre: Expr, post: Expr) -> Expr:
        if not isinstance(pre, Call) or not is_op_call(post) or post.op.name in DEVICE_OPERATORS:
            return post
        params = [Var(f"p{i}", arg.checked_type) for i, arg in enumerate(pre.args)]
        body = Call(post.op, params, post.attrs, post.type_args)
        return Call(kernel(Function(params, body).with_attr("Primitive", 1)), post.args, None, (), post.span)

    main = rewrite(func, lower_call, replace=replacements, only=(Call,))
    mod = infer_module(IRModule.from_expr(main).with_functions(kernels))
    typed = dict(zip(post_order(main), post_order(mod["main"]), strict=True))
    return mod, {node: typed[new] for node in _outside_kernels(func) if (new := replacements.get(node, node)) in typed}
