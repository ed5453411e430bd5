"""`create_executor`: one function for all executors. They give the same results.

    relay.create_executor("debug", mod).evaluate()(x)        # main, by the reference evaluator
    relay.create_executor("definition", mod).evaluate()(x)   # main, by the documented meaning of each operator
    relay.create_executor("vm", mod).evaluate(expr)          # an expression, through bytecode
    relay.create_executor("graph", mod).evaluate()(x)        # main without control flow, as a graph of kernels
    relay.create_executor("aot", mod).evaluate()(x)          # main, compiled to a Python module
    relay.create_executor("onnxruntime", mod).evaluate()(x)  # main, as a model in onnxruntime

Unlike Relay's, an executor never changes the module that it is created from.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Generic, TypeVar

from passlab.errors import Diagnostic, MissingPackageError, RunError, RunTypeError, did_you_mean
from passlab.evaluate import Closure, Evaluator
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.by_definition import DefinitionEvaluator
from passlab.evaluate.ownership import own_result, private_copy
from passlab.executor.aot import CompiledProgram, python_source
from passlab.executor.building import build_graph
from passlab.executor.graph_module import GraphModule
from passlab.executor.specializing import specialize
from passlab.infer import infer_expr, infer_module
from passlab.ir.expr import Constant, Expr, Function, GlobalVar, Let, Var, unwrap
from passlab.ir.module import IRModule
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import FuncType, TensorType, TupleType, Type, fold_tuple, type_nodes
from passlab.ir.variables import free_vars
from passlab.lazy import late
from passlab.pickling import OfOneProcess
from passlab.rewriting.entry import named_entry, with_entry
from passlab.rewriting.parameters import bind_params
from passlab.vm.compiling.compiler import as_module
from passlab.vm.compiling.compiler import compile as compile_module
from passlab.vm.kernels.providers import Choice
from passlab.vm.objects import VMClosure
from passlab.vm.relay_api import VirtualMachine

MOST_COMPILED = 64  # programs that an executor keeps
_K = TypeVar("_K")
_V = TypeVar("_V")


class Executor(OfOneProcess):
    """Runs the functions of a module. Subclasses implement `call`, which runs one function.

    >>> mod = passlab.parse("def @main(%x: float32) { %x + 1f }")
    >>> executor = relay.create_executor("vm", mod)
    >>> print(executor.evaluate()(np.float32(1)))
    2.0
    """

    kind = ""
    pickled_instead = "pickle the module, and create an executor for it again"

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Var, Any] | None = None) -> Any:
        """Return a Python function for `main` (without `expr`), a function or a global; the value of other expressions.

        `binds` maps free variables to values (arrays or expressions). Raises `RunError` if variables stay free,
        `RunTypeError` if `expr` is not an expression.
        """
        if expr is None:
            return self._callable(self.mod.get_global_var("main"))
        if not isinstance(expr, (Expr, TupleWrapper)):
            raise RunTypeError(
                Diagnostic(
                    "`evaluate` takes an expression",
                    found=type(expr).__name__,
                    hint="`passlab.parse_expr` reads one; without an argument `main` is evaluated",
                )
            )
        expr = unwrap(expr)
        bindings: Any = {} if binds is None else binds
        if not isinstance(bindings, Mapping) or not all(isinstance(var, Var) for var in bindings):
            raise RunTypeError("`binds` is a mapping from variables to values")
        for var, value in bindings.items():
            expr = Let(var, value if isinstance(value, Expr) else Constant(value), expr)
        free = free_vars(expr)
        if free:
            names = ", ".join(f"%{v.name_hint}" for v in free)
            raise RunError(
                Diagnostic(f"the expression has free variables: {names}", free[0].span, hint="give them in `binds`")
            )
        return self._callable(expr) if isinstance(expr, (Function, GlobalVar)) else self.value(expr)

    def _callable(self, entry: Function | GlobalVar) -> Callable[..., Any]:
        function: Function = entry if isinstance(entry, Function) else self.mod[entry]
        # A result that does not consist of tensors may hold functions, which capture arguments.
        ty = function.checked_type_
        result = ty.ret_type if isinstance(ty, FuncType) else function.ret_type
        may_capture = result is None or any(
            not isinstance(part, (TupleType, TensorType)) for part in type_nodes(result)
        )

        def run(*args: Any, **kwargs: Any) -> Any:
            values = arguments(function, args, kwargs)
            # A closure may read its captured arrays later, when the caller has overwritten them: copy in and out.
            if may_capture or any(isinstance(value, FunctionValue) for value in values):
                return private_copy(self.call(entry, [private_copy(value) for value in values]))
            return own_result(self.call(entry, values), values)

        return run

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        """Return the result of a function on positional arguments."""
        raise NotImplementedError

    def value(self, expr: Expr) -> Any:
        """Return the value of a closed expression."""
        return self.call(Function((), expr), [])

    def call_value(self, value: Any, args: list[Any]) -> Any:
        """Call a function that a program of this executor returned."""
        raise NotImplementedError


class DebugExecutor(Executor):
    """Runs programs by the reference evaluator: the whole language, nothing optimised."""

    kind = "debug"

    def __init__(self, mod: IRModule) -> None:
        super().__init__(infer_module(mod))
        self.evaluator = Evaluator(self.mod)

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        return self._out(
            self.evaluator.run(infer_expr(entry, self.mod) if isinstance(entry, Function) else entry, self._in(args))
        )

    def value(self, expr: Expr) -> Any:
        return self._out(self.evaluator.evaluate(infer_expr(expr, self.mod)))

    def _in(self, args: list[Any]) -> list[Any]:
        """Unwrap the functions among the arguments that an executor of this kind returned."""
        return [a.value if isinstance(a, FunctionValue) and a.executor.kind == self.kind else a for a in args]

    def _out(self, value: Any) -> Any:
        """Wrap the functions in a result as Python functions."""
        return map_leaves(value, lambda v: FunctionValue(self, v) if isinstance(v, Closure) else v)

    def call_value(self, value: Any, args: list[Any]) -> Any:
        return self._out(self.evaluator.call_value(value, self._in(args)))


class RecentlyUsed(Generic[_K, _V]):
    """What an executor compiled, by function and shapes: the `MOST_COMPILED` used last."""

    def __init__(self) -> None:
        self._values: dict[_K, _V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _K, make: Callable[[], _V]) -> _V:
        """Return the value of a key, made on first use; the one used the longest time ago is dropped."""
        value = self._values.pop(key) if key in self._values else make()
        self._values[key] = value
        if len(self._values) > MOST_COMPILED:
            del self._values[next(iter(self._values))]
        return value


class DefinitionExecutor(DebugExecutor):
    """Runs programs by the definitions of the operators (`passlab.definitions`): slow, and without any kernel."""

    kind = "definition"

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.evaluator = DefinitionEvaluator(self.mod)


class VMExecutor(Executor):
    """Runs programs as bytecode on the virtual machine."""

    kind = "vm"

    def __init__(self, mod: IRModule, target: Any = None, providers: Choice = None) -> None:
        super().__init__(infer_module(mod))
        self.target = target
        self.providers = providers
        self._machines: RecentlyUsed[Function | str, tuple[VirtualMachine, str]] = RecentlyUsed()
        self._lock = Lock()  # a function is compiled once, whichever thread calls it first

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        # Global variables of one name may be different objects, so the name is the key.
        key = entry if isinstance(entry, Function) else entry.name_hint
        with self._lock:
            machine, name = self._machines.get(key, lambda: self._machine(entry))
        return self._out(machine, machine.call(name, args))

    def _machine(self, entry: Function | GlobalVar) -> tuple[VirtualMachine, str]:
        name, mod = named_entry(self.mod, entry)
        exe = compile_module(infer_module(mod), self.target, entry=name)
        return VirtualMachine(exe, providers=self.providers), name

    def _out(self, machine: VirtualMachine, value: Any) -> Any:
        """Wrap the functions in a result as Python functions."""
        return map_leaves(value, lambda v: FunctionValue(self, (machine, v)) if isinstance(v, VMClosure) else v)

    def call_value(self, value: Any, args: list[Any]) -> Any:
        machine, closure = value
        return self._out(machine, machine.call_value(closure, args))


class GraphExecutor(Executor):
    """Runs functions without control flow as graphs of kernels in planned memory.

    A function with parameters of unknown shape is compiled once for each set of argument shapes.
    """

    kind = "graph"

    def __init__(self, mod: IRModule) -> None:
        super().__init__(infer_module(mod))
        self._graphs: RecentlyUsed[tuple[Function, tuple[Type | None, ...]], tuple[GraphModule, Type | None]]
        self._graphs = RecentlyUsed()
        self._lock = Lock()  # a graph has one arena, so calls from several threads run one after the other

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        function: Function = entry if isinstance(entry, Function) else self.mod[entry]
        for param, value in zip(function.params, args, strict=True):
            if isinstance(value, tuple) and not isinstance(param.type_annotation, TupleType):
                check_argument(param, value)  # a graph flattens tuples, so it would accept a tuple of one array here
        static, types = specialize(function, args)
        with self._lock:
            module, ty = self._graphs.get((function, types), lambda: self._graph(static))
            module.use_inputs(args)
            module.run()
            outputs = iter([module.get_output(i) for i in range(module.get_num_outputs())])
        # A graph flattens tuples; the result type shows how to nest its outputs again.
        return fold_tuple(ty, lambda _: next(outputs), tuple) if ty is not None else next(outputs)

    def _graph(self, static: Function) -> tuple[GraphModule, Type | None]:
        mod = infer_module(with_entry(self.mod, static))
        return build_graph(mod).module(), mod["main"].ret_type


class AOTExecutor(Executor):
    """Runs programs as Python modules that were compiled ahead of time."""

    kind = "aot"

    def __init__(self, mod: IRModule) -> None:
        super().__init__(infer_module(mod))
        self._compiled: RecentlyUsed[Function, CompiledProgram] = RecentlyUsed()
        self._lock = Lock()  # a function is compiled once, whichever thread calls it first

    def call(self, entry: Function | GlobalVar, args: list[Any]) -> Any:
        function: Function = entry if isinstance(entry, Function) else self.mod[entry]
        with self._lock:
            compiled = self._compiled.get(function, lambda: self._program(entry))
        return self._out(compiled, compiled(*args))

    def _program(self, entry: Function | GlobalVar) -> CompiledProgram:
        name, mod = named_entry(self.mod, entry)
        mod = infer_module(mod)
        return CompiledProgram(python_source(mod, entry=name), mod[name], mod)

    def _out(self, compiled: CompiledProgram, value: Any) -> Any:
        """Wrap the functions in a result as Python functions."""
        return map_leaves(value, lambda v: FunctionValue(self, (compiled, v)) if callable(v) else v)

    def call_value(self, value: Any, args: list[Any]) -> Any:
        compiled, function = value
        return self._out(compiled, compiled.call_value(function, args))


def map_leaves(root: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested tuples with `change` applied to the values in them; the same object where nothing changed."""
    result: list[Any] = []
    done: dict[int, Any] = {}  # by identity: `root` keeps the tuples alive, and one may occur many times
    stack: list[tuple[Any, int]] = [(root, -1)]  # a value and -1, or a tuple whose fields are done and their number
    while stack:
        value, count = stack.pop()
        if count >= 0:
            fields = tuple(result[len(result) - count :])
            same = all(new is old for new, old in zip(fields, value, strict=True))
            done[id(value)] = value if same else fields
            result[len(result) - count :] = [done[id(value)]]
        elif isinstance(value, tuple) and id(value) in done:
            result.append(done[id(value)])
        elif isinstance(value, tuple):
            stack.append((value, len(value)))
            stack.extend((field, -1) for field in reversed(value))
        else:
            result.append(change(value))
    return result[0]


class FunctionValue(OfOneProcess):
    """A function that a program returned, as a Python function of values."""

    pickled_instead = "pickle the module, and run it again"

    def __init__(self, executor: Executor, value: Any) -> None:
        self.executor = executor
        self.value = value

    def __call__(self, *args: Any) -> Any:
        return private_copy(self.executor.call_value(self.value, [private_copy(a) for a in args]))

    def __repr__(self) -> str:
        return f"<function of a program, by the {self.executor.kind} executor>"


def arguments(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return positional and named arguments in the order of the parameters. Raises `RunError` if they do not fit."""
    names = [p.name_hint for p in function.params]
    takes = f"it takes {', '.join(f'%{name}' for name in names) or 'nothing'}"
    if len(args) > len(names):
        message = f"the function takes {len(names)} arguments, not {len(args)}"
        raise RunError(Diagnostic(message, function.span, hint=takes))
    named = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            hint = did_you_mean(name, names) or takes
            raise RunError(Diagnostic(f"the function has no parameter %{name}", hint=hint))
        if name in named:
            raise RunError(f"the parameter %{name} is given twice")
        named[name] = value
    if len(named) < len(set(names)):
        missing = [param for param in function.params if param.name_hint not in named]
        message = f"arguments are missing: {', '.join(f'%{param.name_hint}' for param in missing)}"
        unpack = (
            "a dictionary of arguments is given as `**arguments`" if any(isinstance(a, dict) for a in args) else None
        )
        raise RunError(Diagnostic(message, missing[0].span, hint=unpack))
    if len(set(names)) < len(names):  # names are only hints: passes may repeat them
        if len(args) != len(names):
            raise RunError("parameters share a name: give all arguments by position")
        return list(args)
    return [named[name] for name in names]


EXECUTORS: dict[str, Callable[[IRModule], Executor]] = {
    "debug": DebugExecutor,
    "definition": DefinitionExecutor,
    "vm": VMExecutor,
    "graph": GraphExecutor,
    "aot": AOTExecutor,
    "onnxruntime": lambda mod: _onnxruntime_executor(mod, None),
}


def _onnxruntime_executor(mod: IRModule, providers: Any) -> Executor:
    """Return the executor on onnxruntime. Raises `MissingPackageError` without that package or `onnx`."""
    try:
        executor: Executor = late("passlab.executor.onnx_executor", "OnnxRuntimeExecutor")(mod, providers)
    except ModuleNotFoundError as error:
        what = f"the executor `onnxruntime` needs the package {error.name}"
        raise MissingPackageError(Diagnostic(what, hint="pip install onnxruntime onnx")) from error
    return executor


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
    providers: Any = None,
) -> Executor:
    """Return an executor of a kind for a module (by default an empty one), with `params` bound in its `main`.

    The kind "vm" computes on the device that `target` names, with the kernels of `providers` (see `VirtualMachine`);
    for "onnxruntime" `providers` names execution providers of onnxruntime. The other kinds compute on this CPU;
    `device` is ignored. Raises `RunError` for an unknown kind, and for `providers` with a kind that has none;
    `MissingPackageError` for "onnxruntime" where that package is missing.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }")
    >>> for kind in ("debug", "graph", "vm", "aot"):
    ...     print(relay.create_executor(kind, mod).evaluate()(np.float32([1, 2])))
    [2. 3.]
    [2. 3.]
    [2. 3.]
    [2. 3.]
    """
    kind_name = str(kind)  # a value of any type has a text, but not every value can be hashed
    if kind_name not in EXECUTORS:
        name = reprlib.repr(kind).strip("'")
        hint = did_you_mean(name, EXECUTORS) or f"there are {', '.join(EXECUTORS)}"
        raise RunError(Diagnostic(f"unknown execution strategy: {name}", hint=hint))
    module = bind_params(as_module(mod) if mod is not None else IRModule(), params)
    if kind_name == "vm":
        return VMExecutor(module, target, providers)
    if kind_name == "onnxruntime":
        return _onnxruntime_executor(module, providers)
    if providers is not None:
        raise RunError(Diagnostic(f"the `{kind}` executor computes with NumPy", hint="the `vm` executor has providers"))
    return EXECUTORS[kind_name](module)
