"""The executor "onnxruntime": whole programs as models in onnxruntime; what ONNX cannot say, on the virtual machine.

    run = relay.create_executor("onnxruntime", mod, params=params).evaluate()

How a function runs, the first that is possible:

1. *whole*: one session of the function, also for tensors of unknown shape.
2. *specialised*: a session for each set of shapes of the arguments, where an operator needs known shapes.
3. *parts*: bytecode on the virtual machine, where each large region of operators that onnxruntime runs is a session:

       conv2d -> relu -> dilate -> conv2d -> relu        ONNX has no `nn.dilate`
       ``--- session ---/           ``--- session ---/

`plan` says which, and why not the one before. Needs the packages onnx and onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from threading import Lock
from typing import Any

from passlab.errors import Diagnostic, ModelError, PasslabError
from passlab.evaluate.arguments import check_argument
from passlab.executor.building import inline_all
from passlab.executor.create import DebugExecutor, Executor, RecentlyUsed, VMExecutor
from passlab.executor.specializing import specialize
from passlab.infer import infer_module
from passlab.ir.expr import Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import Type, tensor_types
from passlab.ir.types import is_dynamic as has_unknown_shape
from passlab.ir.walk import post_order
from passlab.lazy import late
from passlab.passes.external.annotate_target import AnnotateTarget
from passlab.passes.external.inline_compiler_functions_bound_to import InlineCompilerFunctionsBoundTo
from passlab.passes.external.merge_compiler_regions import MergeCompilerRegions
from passlab.passes.external.partition_graph import PartitionGraph
from passlab.rewriting.entry import with_entry
from passlab.transform import Sequential
from passlab.vm.kernels.onnx_provider import COMPILER, CPU, Session, execution_providers, runs

WORTH = 1 << 14  # elements of the largest tensor of a region: for smaller ones, a call of a session costs more


@dataclass(frozen=True)
class Plan:
    """How a function runs: "whole", "specialised" or "parts"; `reasons` say what keeps it from being whole."""

    kind: str
    reasons: tuple[Diagnostic, ...]
    run: Executor | Session


class OnnxRuntimeExecutor(Executor):
    """Runs programs on onnxruntime, and what it cannot run on the virtual machine.

    `providers` names execution providers of onnxruntime for whole programs, such as "CUDAExecutionProvider"; the CPU's
    is the default.
    """

    kind = "onnxruntime"

    def __init__(self, mod: IRModule, providers: Any = None) -> None:
        late("passlab.frontend.onnx.package", "onnx")()  # says now that the package is missing
        super().__init__(infer_module(mod))
        self.providers = CPU if providers is None else execution_providers(providers)
        # A plan holds a session, with the weights of the program.
        self._plans: RecentlyUsed[tuple[Function, tuple[Type | None, ...]], Plan] = RecentlyUsed()
        self._lock = Lock()  # a function is compiled once, whichever thread calls it first

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        function: Function = entry if isinstance(entry, Function) else self.mod[entry]
        run = self._plan(function, args).run
        if isinstance(run, Executor):
            return run.call(GlobalVar("main"), args)
        values = [check_argument(param, value) for param, value in zip(function.params, args, strict=True)]
        try:
            return run(values)
        except Exception:  # noqa: BLE001 - of no common class: a division by zero, shapes that do not fit
            # Raises the operator's error at its place in the program. Where only onnxruntime fails, the value is right.
            return DebugExecutor(self.mod).call(entry, values)

    def plan(self, *args: Any, entry: str = "main") -> Plan:
        """Return how a function runs for these arguments, which are needed where its parameters have unknown shapes."""
        return self._plan(self.mod[entry], args)

    def _plan(self, function: Function, args: Sequence[Any]) -> Plan:
        with self._lock:
            plan = self._plans.get((function, ()), lambda: self._first_plan(function))
            if plan.kind == "whole" or not is_dynamic(function):
                return plan
            static, types = specialize(function, args)
            return self._plans.get((function, types), lambda: self._specialised(static, plan))

    def _first_plan(self, function: Function) -> Plan:
        try:
            return Plan("whole", (), Session(function, self.mod, self.providers))
        except ModelError as error:
            parts = partition(with_entry(self.mod, function))
            return Plan("parts", tuple(error.diagnostics), VMExecutor(parts, providers=COMPILER))

    def _specialised(self, static: Function, parts: Plan) -> Plan:
        try:
            return Plan("specialised", parts.reasons, Session(static, self.mod, self.providers))
        except PasslabError:
            return parts


def is_dynamic(function: Function) -> bool:
    """Whether a function has a parameter of unknown shape."""
    return any(p.type_annotation is not None and has_unknown_shape(p.type_annotation) for p in function.params)


def partition(mod: IRModule) -> IRModule:
    """Return a module in which regions that onnxruntime runs are functions of the compiler "onnxruntime".

    Regions of small tensors stay as they are: a call of a session takes a few microseconds.
    """
    _register_operators()
    passes = Sequential([AnnotateTarget(COMPILER), MergeCompilerRegions(), PartitionGraph()])
    result = passes(inline_all(mod))
    small = [name for name, f in result.items() if f.attrs.get("Compiler") == COMPILER and not _is_large(f)]
    return InlineCompilerFunctionsBoundTo(small)(result)


@cache
def _register_operators() -> None:
    """Tell `AnnotateTarget` which operators onnxruntime runs."""
    for name in late("passlab.frontend.onnx.export.table", "writers")():
        Op.get(name).set_attr(f"target.{COMPILER}", runs, 11)


def _is_large(region: Function) -> bool:
    """Whether a region has a tensor of `WORTH` elements or more, or of unknown shape."""
    types = [ty for node in post_order(region) for ty in tensor_types(node.checked_type_)]
    return any(ty.dynamic or prod(ty.concrete_shape) >= WORTH for ty in types)
