"""While `tvm` is importable, arrays that leave passlab have the methods of TVM's arrays.

`install` wraps the functions and methods that return arrays, and the arrays of constants; they return the same memory
as an `NDArray`. Some further members get TVM's looser behaviour. The tables below list all
changes. `uninstall` restores everything. At the end are the operators that the library DNNL computes.

The file begins with the record of attributes that TVM's own programs test with, and renderers of findings.
"""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from passlab.compat.arrays import as_ndarray
from passlab.compat.compiling import DebugDatum, function_metadata, label_ops
from passlab.compat.scalars import FloatImm, IntImm, StringImm
from passlab.compat.solving import EnvFunc
from passlab.compat.targets import Anywhere
from passlab.errors import Diagnostic, DiagnosticError
from passlab.evaluate.values import ADTValue, RefValue
from passlab.executor import AotModule, GraphModule, param_dict
from passlab.executor.create import Executor, FunctionValue, map_leaves
from passlab.executor.factories import Factory
from passlab.executor.graph_module import GraphModuleDebug
from passlab.executor.outputs import CallableByName, RunsByInputs
from passlab.executor.param_dict import load_param_dict
from passlab.ir import diagnostics
from passlab.ir.attrs import Attrs, DictAttrs, Field, attrs_class
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.immutable import Immutable
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import TensorType, Type, TypeRelation
from passlab.op.annotation import on_device
from passlab.op.dtypes import array_dtype
from passlab.passes.external import annotate_target
from passlab.passes.program import plain_functions, print_ir
from passlab.pattern.language import DFPattern, is_op, wildcard
from passlab.relay import pattern_tables
from passlab.relay.constructors import SourceName
from passlab.relay.prelude import Prelude
from passlab.relay.tensor_arrays import TensorArrayOps
from passlab.testing.init import Initializer
from passlab.text import records
from passlab.text.meta_objects import BUILDERS
from passlab.text.printer import render
from passlab.text.tensor_bytes import decode_tensor
from passlab.vm import Executable, VirtualMachine
from passlab.vm.compiling.compiler import VMCompiler
from passlab.vm.files.saving import KernelLibrary


def _axis(value: Any) -> int:
    if not 1 <= int(value) <= 10:
        raise ValueError(f"{value} is {'below the lower bound 1' if value < 1 else 'above the upper bound 10'}")
    return int(value)


TestAttrs = attrs_class(
    "attrs.TestAttrs",
    (
        Field("axis", _axis, 10, "an axis", "int"),
        Field("name", str, doc="a name", kind="str"),
        Field("padding", lambda sizes: tuple(IntImm("int32", size) for size in sizes), (0, 0), "two sizes", "Array"),
        Field("func", lambda value: value, None, "a function", "TypedEnvFunc<int(int)>"),
    ),
)


FOUND_BY_NAME: dict[str, Any] = {TestAttrs.type_key: TestAttrs, "IntImm": IntImm, "FloatImm": FloatImm}


def finding_tests(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return the search for a class of records by name that also finds `TestAttrs` and literals."""

    @wraps(find)
    def record_class(type_key: str, fields: Iterable[str] = ()) -> Any:
        return FOUND_BY_NAME.get(type_key) or find(type_key, fields)

    return record_class


_MATCH = "The Relay type checker is unable to show the following types match"
_SIZES = re.compile(r"(dimension \d+ conflicts: )(\S+)( does not match )(\S+)\.")


def _as_tvm(finding: Diagnostic) -> Diagnostic:
    """Return a finding whose message alone says what TVM's does: both types, and where they differ."""
    if not finding.message.startswith(_MATCH) or finding.expected is None or not finding.notes:
        return finding
    detail = _SIZES.sub(r"\1\4\3\2.", finding.notes[0][0])
    message = f"{_MATCH}:\n  {finding.found}\n  {finding.expected}\nIn particular:\n  {detail}"
    return replace(finding, message=message)


def override_renderer(render: Callable[[diagnostics.DiagnosticContext], object] | None) -> None:
    """Let a function show findings, with messages as TVM's; the error is then `DiagnosticError` itself, as in TVM."""

    def show(context: diagnostics.DiagnosticContext) -> None:
        assert render is not None
        findings = tuple(map(_as_tvm, context.diagnostics))
        render(replace(context, diagnostics=findings))
        raise DiagnosticError(*findings)

    diagnostics.override_renderer(None if render is None else show)


# Lists in the attributes of calls: for programs outside passlab they print as lists, and their numbers have a
# `value`.


class AttributeList(tuple[Any, ...]):
    """The elements of a list in an attribute."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"

    __str__ = __repr__


def _number(value: Any) -> Any:
    return IntImm("int32", value) if type(value) is int else value


def _list_of(value: Any) -> Any:
    return AttributeList(map(_number, value)) if isinstance(value, tuple) else _number(value)


def as_list(value: Any) -> Any:
    """Return an attribute value whose numbers have a `value`; tuples are lists, and so are the tuples in them."""
    return AttributeList(map(_list_of, value)) if isinstance(value, tuple) else _number(value)


def is_inside(name: str) -> bool:
    """Whether a module is one of passlab's own."""
    return name.startswith("passlab.")


def _listed(member: Any) -> property:
    """Return the property over a slot that holds a list."""

    def value(self: Attrs) -> Any:
        stored = member.__get__(self)
        inside = is_inside(sys._getframe(1).f_globals.get("__name__", ""))
        return stored if inside else as_list(stored)

    return property(value, member.__set__)


def list_fields() -> Iterator[tuple[type[Attrs], str, property]]:
    """Return the fields of all records that hold lists: the class, the name and the property that replaces the slot."""
    for record in Attrs.__subclasses__():
        for field in record.schema:
            if "list" in field.kind:
                yield record, field.name, _listed(vars(record)[field.name])


# `InferTypeLocal`, which in TVM stores the type on the expression itself, even if its parts have none.

_types: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()


def remembering(type_of: Callable[..., Type]) -> Callable[..., Type]:
    """Return `InferTypeLocal` that remembers the type of each expression."""

    @wraps(type_of)
    def infer_type_local(expr: Expr, *args: Any, **kwargs: Any) -> Type:
        result = type_of(expr, *args, **kwargs)
        _types[expr] = result
        return result

    return infer_type_local


def with_remembered(member: Any) -> property:
    """Return the property over the type of an expression that falls back on the remembered type."""

    def checked_type(self: Expr) -> Type:
        remembered = _types.get(self) if self.checked_type_ is None else None
        result: Type = member.__get__(self) if remembered is None else remembered
        return result

    return property(checked_type)


# Functions whose results are wrapped: the module that defines each, and its name.
FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("passlab.executor.building", "optimize"),
    ("passlab.executor.param_dict", "load_param_dict"),
    ("passlab.frontend.onnx.importing", "from_onnx"),
    ("passlab.relay.calibration", "get_calibration_data"),
    ("passlab.testing.checks", "rand"),
    ("passlab.testing.init", "create_workload"),
    ("passlab.testing.checks", "run_as_python"),
)
# Methods whose results are wrapped; if a method returns a function, the results of that function are wrapped.
METHODS: tuple[tuple[type, str], ...] = (
    (Executor, "evaluate"),
    (FunctionValue, "__call__"),
    (VirtualMachine, "invoke"),
    (VirtualMachine, "get_outputs"),
    (VMCompiler, "get_params"),
    (GraphModuleDebug, "debug_get_output"),
    (GraphModuleDebug, "execute_node"),
    (GraphModule, "get_output"),
    (GraphModule, "get_input"),
    (AotModule, "get_output"),
    (AotModule, "get_input"),
)
TIMING = (
    "cooldown_interval_ms",
    "limit_zero_time_iterations",
    "min_repeat_ms",
    "number",
    "repeat",
    "repeats_to_cooldown",
)
ARRAYS: tuple[tuple[type, str], ...] = ((Constant, "data"), (RefValue, "value"))
_PRINTED = print_ir.StandardError()  # PrintIR writes there, as TVM's, whatever logging is set up
_before: list[tuple[Any, str, Any]] = []


def wrap_result(value: Any) -> Any:
    """Return a result whose arrays are `NDArray`s, in tuples, lists, dictionaries and values of data types too."""
    if type(value) is list:
        return [map_leaves(field, _leaf) for field in value]
    return map_leaves(value, _leaf)


def _leaf(value: Any) -> Any:
    if type(value) is dict:
        return {key: wrap_result(part) for key, part in value.items()}
    return _wrap_data(value) if isinstance(value, ADTValue) else as_ndarray(value)


def _wrap_data(root: ADTValue) -> ADTValue:
    """Return a value of a data type with `NDArray`s in it; iterative, because lists are long."""
    done: dict[int, ADTValue] = {}
    stack: list[tuple[ADTValue, bool]] = [(root, False)]
    while stack:
        value, ready = stack.pop()
        if ready:
            fields = [done[id(f)] if isinstance(f, ADTValue) else wrap_result(f) for f in value.fields]
            done[id(value)] = ADTValue(value.constructor, fields)
        elif id(value) not in done:
            stack.append((value, True))
            stack.extend((f, False) for f in value.fields if isinstance(f, ADTValue))
    return done[id(root)]


def _wrapping(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        if callable(result) and not isinstance(result, (np.ndarray, FunctionValue)):
            return _wrapping(result)
        return wrap_result(result)

    return call


class _Listed(dict[Any, Any]):
    """The functions or types of a module; `items()` is a list, as in TVM's maps: `mod.functions.items()[0]`."""

    def items(self) -> Any:
        """Return the pairs."""
        return list(super().items())


def _listed_functions(self: IRModule) -> _Listed:
    return _Listed(self.functions_items())


def _listed_types(member: property) -> property:
    """Return the data types of a module as such a map."""
    getter: Any = member.fget
    return property(lambda self: _Listed(getter(self)))


def _with_tensor_arrays(make: Callable[..., None]) -> Callable[..., None]:
    """Return the `__init__` of `Prelude` that also defines tensor arrays of three dtypes, as TVM's does for all."""

    @wraps(make)
    def init(self: Prelude, mod: IRModule | None = None) -> None:
        make(self, mod)
        for dtype in ("float32", "int32", "int64"):
            TensorArrayOps(self, dtype).register()

    return init


def _with_zeros(check: Callable[..., None]) -> Callable[..., None]:
    """Return the check of a graph's inputs that sets missing ones to zeros, with a warning, as TVM does."""

    @wraps(check)
    def check_inputs(self: GraphModule) -> None:
        shapes, dtypes = self.get_input_info()
        unset = [name for name in shapes if self.values[self.rows[self.inputs[name]]] is None]
        for name in unset:
            self.set_input(name, np.zeros(shapes[name], array_dtype(dtypes[name])))
        if unset:
            warnings.warn(
                f"inputs are not set, and read as zeros: {', '.join(unset[:8])}", RuntimeWarning, stacklevel=3
            )
        check(self)

    return check_inputs


def _with_known_names(load: Callable[..., None]) -> Callable[..., None]:
    """Return the `load_params` of an executor that leaves parameters with unknown names out, with a warning."""

    @wraps(load)
    def load_params(self: RunsByInputs, params: Any) -> None:
        arrays = params if isinstance(params, Mapping) else load_param_dict(params)
        unused = [name for name in arrays if self.get_input_index(name) < 0]
        if unused:
            warnings.warn(f"there are no inputs {', '.join(unused)}", RuntimeWarning, stacklevel=3)
        load(self, {name: value for name, value in arrays.items() if name not in unused})

    return load_params


def _shape_with_values(member: Any) -> property:
    """Return the shape of a tensor type; for programs outside passlab its numbers have a `value`, as in TVM."""

    def shape(self: TensorType) -> Any:
        dims = member.__get__(self)
        if is_inside(sys._getframe(1).f_globals.get("__name__", "")):
            return dims
        return tuple(IntImm("int32", dim) if isinstance(dim, int) else dim for dim in dims)

    return property(shape, member.__set__)


def _with_anywhere(member: Any) -> property:
    """Return the device of an annotation; for programs outside passlab it is an object even without an annotation."""

    def virtual_device(self: Any) -> Any:
        inside = is_inside(sys._getframe(1).f_globals.get("__name__", ""))
        return member.__get__(self) or (None if inside else Anywhere())

    return property(virtual_device, member.__set__)


def _with_prefixes(member: property) -> property:
    """Return the names of an executable's kernels with TVM's prefix, which names the module."""
    getter: Any = member.fget
    return property(lambda self: [f"vm_mod_{name}" for name in getter(self)])


class _Library(KernelLibrary, CallableByName):
    """Kernels that are a `tvm.runtime.Module`."""


def _with_bytearray(method: Callable[..., tuple[bytes, Any]]) -> Callable[..., tuple[bytearray, Any]]:
    """Return the `save` of an executable whose bytes are a `bytearray` and whose kernels a `Module`, as in TVM."""

    @wraps(method)
    def save(self: Executable) -> tuple[bytearray, Any]:
        code, library = method(self)
        return bytearray(code), _Library(library.text)

    return save


def save_param_dict(params: Any) -> bytearray:
    """Return parameters as bytes that can be changed, as TVM's are."""
    return bytearray(param_dict.save_param_dict(params))


def _named_source(member: Any) -> property:
    """Return the property over the name of a span's text, an object with a `name` as in TVM."""

    def source_name(self: Any) -> SourceName | None:
        name = member.__get__(self)
        return None if name is None else SourceName(name)

    return property(source_name)


def _with_values(method: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return the access to an attribute whose numbers have a `value` for programs outside passlab, as in TVM."""

    @wraps(method)
    def access(self: Any, name: str) -> Any:
        value = method(self, name)
        if is_inside(sys._getframe(1).f_globals.get("__name__", "")):
            return value
        return as_list(value)

    return access


def _with_hashes(method: Callable[..., tuple[IRModule, Any]]) -> Callable[..., tuple[IRModule, Any]]:
    """Return the `optimize` of the machine's compiler whose functions have the attribute `hash`, as TVM's."""

    @wraps(method)
    def optimize(self: VMCompiler, *args: Any, **kwargs: Any) -> tuple[IRModule, Any]:
        mod, params = method(self, *args, **kwargs)
        return label_ops()(mod), params

    return optimize


class _Invocations(CallableByName):
    """The module of a machine: its function `invoke` runs a function by name."""

    function_names = ("invoke",)

    def __init__(self, machine: VirtualMachine) -> None:
        self.invoke = machine.invoke


def _timed_by_module(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the `benchmark` of a machine that calls `Module.time_evaluator`, which programs for TVM may replace."""

    @wraps(method)
    def benchmark(self: VirtualMachine, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("end_to_end"):
            return method(self, device, *args, **kwargs)
        options = {name: kwargs.pop(name) for name in TIMING if name in kwargs}
        func_name = kwargs.pop("func_name", "main")
        kwargs.pop("end_to_end", None)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return _Invocations(self).time_evaluator("invoke", device, **{"number": 5, "repeat": 5, **options})(func_name)

    return benchmark


def _with_unused_names(arguments: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return what orders arguments, as in TVM: unknown names are left out, with a warning, and several parameters may
    have one name.
    """

    @wraps(arguments)
    def ordered(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [param.name_hint for param in function.params]
        unused = [name for name in kwargs if name not in names]
        if unused:
            warnings.warn(f"the function has no parameters {', '.join(unused)}", RuntimeWarning, stacklevel=4)
        rest = names[len(args) :]
        if rest and all(name in kwargs for name in rest) and not set(names[: len(args)]) & kwargs.keys():
            return arguments(function, (*args, *(kwargs[name] for name in rest)), {})
        return arguments(function, args, {name: value for name, value in kwargs.items() if name in names})

    return ordered


def _set_note(self: Expr, name: str, value: object) -> None:
    """Ignore an assignment to the device of a node, as TVM does; no other attribute can be assigned to."""
    if name != "virtual_device_":
        Immutable.__setattr__(self, name, value)


def _text_of_module(self: IRModule) -> str:
    """Return the text of a module, for programs outside passlab with the spans of its nodes, as TVM does."""
    return render(self, spans=not is_inside(sys._getframe(1).f_globals.get("__name__", ""))).text


def _seed_numpy(self: Initializer, seed: int) -> None:
    """Seed NumPy's own generator and draw from it: a program's data after `create_workload` equal TVM's."""
    np.random.seed(seed)  # noqa: NPY002 - this is the generator of old programs
    self.random = np.random.mtrand._rand


def _with_spans(astext: Callable[..., str]) -> Callable[..., str]:
    """Return the `astext` that prints spans for programs outside passlab, as TVM does."""

    @wraps(astext)
    def text(self: Any, *args: Any, spans: bool | None = None, **kwargs: Any) -> str:
        outside = not is_inside(sys._getframe(1).f_globals.get("__name__", ""))
        return astext(self, *args, spans=outside if spans is None else spans, **kwargs)

    return text


def _array_property(member: Any) -> property:
    """Return a property over a slot whose value is an `NDArray`."""
    return property(lambda self: wrap_result(member.__get__(self)), member.__set__)


_OnDeviceAttrs: Any = on_device.spec.attrs
# Other members, and functions that return their replacements.
CHANGED: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (DictAttrs, "__getattr__", _with_values),
    (DictAttrs, "__getitem__", _with_values),
    (Expr, "__setattr__", lambda _: _set_note),
    (Expr, "astext", _with_spans),
    (Expr, "checked_type", with_remembered),
    (Executable, "primitive_ops", _with_prefixes),
    (Executable, "save", _with_bytearray),
    (GraphModule, "_check_inputs", _with_zeros),
    (IRModule, "__str__", lambda _: _text_of_module),
    (IRModule, "astext", _with_spans),
    (Initializer, "reseed", lambda _: _seed_numpy),
    (IRModule, "functions", lambda member: property(_listed_functions)),
    (IRModule, "type_definitions", _listed_types),
    (GraphModuleDebug, "debug_datum", lambda _: property(DebugDatum)),
    (Prelude, "__init__", _with_tensor_arrays),
    (RunsByInputs, "load_params", _with_known_names),
    (Span, "source_name", _named_source),
    (TensorType, "shape", _shape_with_values),
    (TypeRelation, "func", lambda _: property(lambda self: self.name)),
    (VMCompiler, "optimize", _with_hashes),
    (_OnDeviceAttrs, "virtual_device", _with_anywhere),
    (VirtualMachine, "benchmark", _timed_by_module),
    (Factory, "function_metadata", lambda _: property(function_metadata)),
)


def _int_imm(node: dict[str, Any], *_: Any) -> int:
    """Return the literal of a JSON node."""
    dtype, value = node["attrs"].get("dtype", "int32"), int(node["attrs"]["value"])
    return bool(value) if dtype == "bool" else IntImm(dtype, value)


# Readers of JSON nodes whose values are literals with a dtype.
READERS: dict[str, Callable[..., Any]] = {
    "IntImm": _int_imm,
    "FloatImm": lambda node, *_: FloatImm(node["attrs"].get("dtype", "float64"), float(node["attrs"]["value"])),
    "EnvFunc": lambda node, *_: EnvFunc(str(node.get("repr_str", ""))),
    "runtime.NDArray": lambda node, *_: as_ndarray(decode_tensor(str(node["repr_b64"]))),
    "tir.StringImm": lambda node, get, _: StringImm(get(int(node["attrs"]["value"]))),
}


def install() -> None:
    """Wrap the methods of the table; a second call changes nothing."""
    if _before:
        return
    for key, reader in READERS.items():
        _before.append((BUILDERS, key, BUILDERS[key]))
        BUILDERS[key] = reader
    for owner, name in METHODS:
        _before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, _wrapping(vars(owner)[name]))
    for module, name in FUNCTIONS:
        function = getattr(import_module(module), name)
        _replace(name, function, _wrapping(function))
    create, registered = (import_module(f"passlab.{name}") for name in ("executor.create", "op.registered"))
    _replace("arguments", create.arguments, _with_unused_names(create.arguments))
    type_of = plain_functions.type_of
    for name in ("type_of", "InferTypeLocal"):  # packages keep what they import late under the second name
        _replace(name, type_of, remembering(type_of))
    _replace("record_class", records.record_class, finding_tests(records.record_class))
    _replace("compiler_for", annotate_target.compiler_for, with_dnnl(annotate_target.compiler_for))
    _before.append((pattern_tables.TABLES, DNNL, pattern_tables.TABLES.get(DNNL)))
    pattern_tables.TABLES[DNNL] = pattern_tables.TABLES.get(DNNL) or pattern_table
    _replace("REFUSALS", registered.REFUSALS, ())  # what a user's relation raises arrives as it was raised, as in TVM
    for owner, name in ARRAYS:
        member = vars(owner)[name]
        _before.append((owner, name, member))
        setattr(owner, name, _array_property(member))
    for record, name, replacement in list_fields():
        _before.append((record, name, vars(record)[name]))
        setattr(record, name, replacement)
    logging.getLogger(print_ir.LOGGER).addHandler(_PRINTED)
    for owner, name, changed in CHANGED:
        member = vars(owner).get(name)
        _before.append((owner, name, member))
        setattr(owner, name, changed(member))


def uninstall() -> None:
    """Restore the methods and functions."""
    logging.getLogger(print_ir.LOGGER).removeHandler(_PRINTED)
    while _before:
        owner, name, value = _before.pop()
        if isinstance(owner, ModuleType):
            _replace(name, vars(owner)[name], value, remember=False)
        elif isinstance(owner, dict):
            owner[name] = value
        elif value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _replace(name: str, function: Any, replacement: Any, remember: bool = True) -> None:
    """Replace a function in each module of passlab that has it under a name."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("passlab.") and vars(module).get(name) is function:
            if remember:
                _before.append((module, name, function))
            setattr(module, name, replacement)


# ---------------------------------------------------------------- dnnl
# `tvm.relay.op.contrib.dnnl`: which parts of a program the library DNNL computes, for programs that are partitioned by
# it. Its code is not here: the parts run like any other.
DNNL = "dnnl"
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv2d_transpose", "conv3d_transpose")
_POOLS = ("nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d", "nn.max_pool3d", "nn.avg_pool3d")
OPERATORS = (
    *(f"nn.{name}" for name in (*_CONVOLUTIONS, "dense", "batch_norm", "layer_norm", "softmax", "relu", "leaky_relu")),
    *_POOLS,
    *("abs", "add", "clip", "exp", "log", "multiply", "round", "sigmoid", "sqrt", "tanh"),
)
_AFTERWARDS = ("nn.relu", "tanh", "sigmoid", "")  # what one kernel computes after a sum of products


def _sums_of_products(name: str) -> Iterator[tuple[str, DFPattern]]:
    """Yield the patterns of an operator, longest first: a bias added, another tensor added, a function of one argument.

    A bias is an `add`: CanonicalizeOps makes one of each `nn.bias_add`.
    """
    product = is_op(f"nn.{name}")(wildcard(), wildcard())
    biased = is_op("add")(product, wildcard())
    for kind, value in (("_bias_sum", is_op("add")(biased, wildcard())), ("_bias", biased), ("", product)):
        for after in _AFTERWARDS:
            if kind or after:
                end = after.rpartition(".")[2]
                yield f"{DNNL}.{name}{kind}{'_' * bool(end)}{end}", is_op(after)(value) if after else value


def pattern_table() -> list[tuple[str, DFPattern]]:
    """Return the composites that DNNL computes as one kernel, as pairs of a name and a pattern."""
    return [row for name in (*_CONVOLUTIONS, "dense") for row in _sums_of_products(name)]


def supports(call: Call) -> bool:
    """Whether DNNL computes the call of an operator: none with int64, no pool that rounds its size up."""
    if not is_call_of(call, *OPERATORS) or getattr(call.attrs, "ceil_mode", False):
        return False
    types = (arg.checked_type for arg in call.args)
    return not any(isinstance(ty, TensorType) and ty.dtype == "int64" for ty in types)


def with_dnnl(compiler_for: Callable[[Call, Sequence[str]], str]) -> Callable[[Call, Sequence[str]], str]:
    """Return the search for the compiler of a call that also knows DNNL, unless the program says what it supports."""

    @wraps(compiler_for)
    def extended(call: Call, targets: Sequence[str]) -> str:
        compiler = compiler_for(call, targets)
        if compiler != "default" or DNNL not in targets or not is_op_call(call):
            return compiler
        return DNNL if f"target.{DNNL}" not in call.op.spec.extra and supports(call) else compiler

    return extended
