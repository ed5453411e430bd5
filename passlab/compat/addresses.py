"""The table of addresses: it maps modules of TVM to passlab.

A string is a module of passlab under a second name. A pair consists of names with their targets, and of modules whose
names are included. A submodule that is not listed here is looked up below those modules.
"""

from __future__ import annotations

from passlab.compat.source_addresses import FURTHER, OWN, SOURCES, Entry
from passlab.compat.source_addresses import names_of as _of

_ARRAYS = _of(f"{OWN}.arrays", "NDArray") | _of(f"{OWN}.contexts", "array", "empty")
_DEVICES = _of(
    "passlab.devices", "cpu", "cuda", "device", "gpu", "Device", context="device", vpi="cpu", TVMContext="Device"
) | _of(f"{OWN}.targets", cl="opencl_device", mtl="metal_device")
_ERRORS = _of(
    "passlab.errors",
    "DiagnosticError",
    OpError="PasslabError",
    InternalError="PasslabError",
    OpAttributeUnImplemented="AttrsError",
    OpNotImplemented="DiagnosticError",  # an unknown operator of Relay, or one of a model that cannot be read
)
_ERRORS["TVMError"] = "builtins:RuntimeError"  # what a user's pass raises reaches programs for TVM as a TVMError
_FUNCTIONS = _of(f"{OWN}.functions", "register_func", "get_global_func")
_REGISTRY = {
    **_FUNCTIONS,
    **_of(f"{OWN}.functions", "list_global_func_names", "remove_global_func"),
    **_of(f"{OWN}.functions", register_object="ignore", register_intrin_lowering="ignore"),
}
_NUMBERS = _of(f"{OWN}.scalars", "FloatImm", "IntImm", "StringImm", "const", "convert", "max_value", "min_value")
_ARITHMETIC = _of(
    f"{OWN}.scalars", "floordiv", "floormod", "indexdiv", "indexmod", round="whole", ceil="whole", floor="whole"
)
_NODES = _of(f"{OWN}.scalars", "Add", "FloorDiv", "FloorMod", "Mul", "PrimExpr", "Sub", Cast="cast")
_DIMENSIONS = {**_of("passlab.ir.types", "Any", "SizeVar"), **_of(f"{OWN}.scalars", "size_var", "var", "Var")}
_PARAMETERS = _of("passlab.executor.param_dict", "load_param_dict") | _of(f"{OWN}.results", "save_param_dict")
_RUNTIME = {
    **_ARRAYS,
    **_DEVICES,
    **_of(f"{OWN}.scalars", "const", "convert"),
    **_PARAMETERS,
    "DataType": "passlab.ir.dtypes:dtype_name",
    "DataTypeCode": "passlab.ir.dtypes",
    "Module": "passlab.executor.outputs:CallableByName",
    "Object": "passlab.ir.types:Immutable",
    "ObjectPath": "builtins:str",
    "PackedFunc": "types:FunctionType",
    "Report": "passlab.vm:Report",
    "String": "builtins:str",
    "TVMError": "builtins:RuntimeError",
    "enabled": f"{OWN}.testing:device_enabled",
    "ndarray": "tvm.nd",
}
_TARGET = {
    **_of("passlab.devices", "Target", "TargetKind", "VirtualDevice"),
    **_of(f"{OWN}.placement", "CompilationConfig", "make_compilation_config"),
    **_of(
        f"{OWN}.targets",
        "arm_cpu",
        "create",
        "cuda",
        "llvm",
        "rocm",
        "vulkan",
        "generic_func",
        "get_native_generic_func",
        "override_native_generic_func",
    ),
}
_TESTING = f"{OWN}.testing"
_INSTRUMENTS = {
    **_of("passlab.instrument", PrintAfterAll="PrintIRAfter", PrintBeforeAll="PrintIRBefore"),
    **_of(f"{OWN}.stand_ins", "PassTimingInstrument"),
}

# The strategies that lower operators to loops in TVM: each is absent, and its call raises an error.
_STRATEGIES = _of(
    "tvm.relay.op.strategy",
    "OpImplementation",
    "OpSpecialization",
    "OpStrategy",
    "register_broadcast_schedule",
    "register_compute",
    "register_external_compiler",
    "register_injective_schedule",
    "register_reduce_schedule",
    "register_schedule",
    "register_shape_func",
    "register_strategy",
    "schedule_injective",
)

_OP = (
    _STRATEGIES
    | _of(f"{OWN}.conversion_rules", "register_optional_fake_quantization_to_integer")
    | _of(f"{OWN}.stand_ins", "scatter_add")
)
_SPANS = _of(f"{OWN}.spans", "SequentialSpan", "SpanCheck")
_WITH_FIELDS = _of(
    f"{OWN}.with_fields",
    *(f"{cls}WithFields" for cls in ("Call", "Constant", "If", "Let", "RefCreate", "RefRead", "RefWrite")),
    *(f"{cls}WithFields" for cls in ("Tuple", "TupleGetItem", "Var")),
)

_LAYOUTS = _of("passlab.op.layout_names", Layout="LayoutName", layout="LayoutName") | _of(
    f"{OWN}.layouts", "BijectiveLayout", bijective_layout="BijectiveLayout"
)

_LISTED: dict[str, Entry] = {
    "tvm": (
        {
            "IRModule": "passlab.ir.module:IRModule",
            "TVMError": "builtins:RuntimeError",
            "__version__": f"{OWN}.targets:VERSION",
            **_DEVICES,
            **{kind: f"{OWN}.targets:{kind}_device" for kind in ("metal", "opencl", "rocm", "vulkan")},
            **_FUNCTIONS,
            **_of(f"{OWN}.scalars", "const", "convert", "max_value", "min_value", "size_var", "var"),
            "DataType": "passlab.ir.dtypes:dtype_name",
            "parser": "tvm.parser",
            "register_object": f"{OWN}.functions:ignore",
        },
        (),
    ),
    "tvm._ffi": (dict(_REGISTRY), ()),
    "tvm._ffi.base": (dict(_ERRORS), ()),
    "tvm._ffi.registry": (dict(_REGISTRY), ()),
    "tvm.arith": ({}, ()),
    "tvm.contrib": ({}, ()),
    "tvm.contrib.debugger": ({}, ()),
    "tvm.contrib.debugger.debug_executor": "passlab.relay.debug_executor",
    "tvm.contrib.debugger.debug_runtime": (
        _of(f"{OWN}.contexts", create="create_debug"),
        ("passlab.relay.debug_executor",),
    ),
    "tvm.contrib.download": f"{OWN}.downloading",
    "tvm.contrib.graph_executor": "passlab.relay.graph_executor",
    "tvm.contrib.graph_runtime": (_of(f"{OWN}.contexts", create="create_graph"), ("passlab.relay.graph_executor",)),
    "tvm.contrib.relay_viz": f"{OWN}.relay_viz",
    "tvm.contrib.relay_viz.dot": f"{OWN}.relay_viz.dot",
    "tvm.contrib.relay_viz.interface": f"{OWN}.relay_viz.interface",
    "tvm.contrib.relay_viz.terminal": f"{OWN}.relay_viz.terminal",
    "tvm.contrib.util": f"{OWN}.folders",
    "tvm.contrib.utils": f"{OWN}.folders",
    "tvm.error": (dict(_ERRORS), ("passlab.errors",)),
    "tvm.instrument": (_INSTRUMENTS, ("passlab.instrument",)),
    "tvm.ir": (
        {
            "Array": "builtins:tuple",
            "Map": "builtins:dict",
            "Node": "passlab.ir.types:Immutable",
            "SourceName": "passlab.relay.constructors:SourceName",
            "Span": "passlab.relay.constructors:Span",
            "TypeConstraint": "passlab.ir.types:TypeRelation",
            **_of(f"{OWN}.spans", "SequentialSpan"),
            **_of(f"{OWN}.solving", "EnvFunc"),
            **_of(f"{OWN}.scalars", "FloatImm", "IntImm"),
            **_of(f"{OWN}.scalars", PrimExpr="PrimExpr"),
            **_of("passlab.ir.supply", "GlobalVarSupply", "NameSupply"),
            **_of("passlab.transform", "PassContext"),
            **_of(f"{OWN}.functions", register_intrin_lowering="ignore"),
        },
        ("passlab.ir",),
    ),
    "tvm.ir.base": ({}, ("tvm.ir",)),
    "tvm.ir.container": (_of("builtins", Array="tuple", Map="dict"), ()),
    "tvm.ir.expr": ({}, ("passlab.ir.expr", "passlab.ir")),
    "tvm.ir.instrument": (_INSTRUMENTS, ("passlab.instrument",)),
    "tvm.ir.memory_pools": ({}, ()),
    "tvm.nd": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.ndarray": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.parser": (_of(f"{OWN}.spans", "SpanCheck"), ("passlab.relay.parsing",)),
    "tvm.relay": (
        {
            **_SPANS,
            **_of(f"{OWN}.stand_ins", "scatter_add"),
            **_PARAMETERS,
            **_of(f"{OWN}.contexts", "create_executor"),
        },
        ("passlab.relay",),
    ),
    "tvm.relay.op": (_OP, ("passlab.relay.op",)),
    "tvm.relay.op.op": (_OP | _of(f"{OWN}.functions", register="register_op"), ("passlab.relay.op.op",)),
    "tvm.relay._transform": "passlab.transform",
    "tvm.relay.backend.executor": ({}, ("passlab.relay.backend",)),
    "tvm.relay.backend.executor_factory": ({}, ("passlab.executor",)),
    "tvm.relay.backend.runtime": ({}, ("passlab.relay.backend",)),
    "tvm.relay.debug": (_of(f"{OWN}.functions", debug="ignore"), ()),
    "tvm.relay.converter": (_of("passlab.frontend", "to_onnx"), ()),
    "tvm.relay.dataflow_pattern": "passlab.relay.dataflow_pattern",
    "tvm.relay.frontend": ({}, ("passlab.relay.frontend",)),
    "tvm.relay.frontend.onnx": ({}, ("passlab.frontend",)),
    "tvm.relay.op.contrib": (
        {
            "ndarray_size": "passlab.relay:ndarray_size",
            **{
                f"adaptive_{kind}_pool{rank}d": f"passlab.relay.nn:adaptive_{kind}_pool{rank}d"
                for kind in ("avg", "max")
                for rank in (1, 2, 3)
            },
        },
        ("passlab.relay.op.contrib",),
    ),
    "tvm.relay.op.contrib.register": "passlab.relay.op.contrib",
    "tvm.relay.expr": (_WITH_FIELDS, ("passlab.relay.expr",)),
    "tvm.relay.function": (_of(f"{OWN}.with_fields", "FunctionWithFields"), ("passlab.relay.function",)),
    "tvm.relay.param_dict": (dict(_PARAMETERS), ()),
    "tvm.rpc": (_of(f"{OWN}.rpc", "LocalSession", "Server", "connect", RPCSession="LocalSession"), ()),
    "tvm.runtime": (_RUNTIME, ("passlab.relay.runtime",)),
    "tvm.container": ({}, ("tvm.runtime.container",)),
    "tvm.runtime.container": (
        {
            **_of("builtins", String="str"),
            **_of(f"{OWN}.values", "ADT", "ShapeTuple"),
            **_of("builtins", Array="tuple", Map="dict", tuple_object="tuple"),
        },
        (),
    ),
    "tvm.runtime.module": (
        {
            **_of("passlab.executor", "load_module"),
            **_of("passlab.executor.outputs", Module="CallableByName"),
            **_of("passlab.vm.benchmarking", "BenchmarkResult"),
        },
        (),
    ),
    "tvm.runtime.ndarray": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.runtime.object": ({"Object": "passlab.ir.types:Immutable"}, ()),
    "tvm.runtime.packed_func": ({"PackedFunc": "types:FunctionType"}, ()),
    "tvm.runtime.params": (dict(_PARAMETERS), ()),
    "tvm.runtime.profiling": ({"Report": "passlab.vm:Report"}, ()),
    "tvm.runtime.profiler_vm": ({}, ("passlab.vm",)),
    "tvm.runtime.vm": (_of(f"{OWN}.values", "Executable"), ("passlab.vm",)),
    "tvm.script": ({}, ()),
    "tvm.script.tir": (_of(f"{OWN}.scalars", "float16", "float32", "float64", "int16", "int32", "int64", "int8"), ()),
    "tvm.target": (_TARGET, ()),
    "tvm.target.target": (_TARGET, ()),
    "tvm.target.compilation_config": (_of(f"{OWN}.placement", "CompilationConfig", "make_compilation_config"), ()),
    "tvm.target.virtual_device": (_TARGET, ()),
    "tvm.te": (_of(f"{OWN}.scalars", "const", "max_value", "min_value", "size_var", "var") | _ARITHMETIC, ()),
    "tvm.testing": ({name: f"{_TESTING}:{name}" for name in ("assert_allclose",)}, (_TESTING,)),
    "tvm.testing.plugin": f"{OWN}.pytest_plugin",
    "tvm.testing.utils": ({}, (_TESTING,)),
    "tvm.tir": ({**_NUMBERS, **_DIMENSIONS, **_LAYOUTS, **_ARITHMETIC, **_NODES}, ()),
    "tvm.tir.data_layout": (_LAYOUTS, ()),
    "tvm.tir.expr": ({**_NUMBERS, **_DIMENSIONS, **_NODES}, ()),
    "tvm.topi": (_of(f"{OWN}.topi.shapes", "get_const_tuple"), ()),
    "tvm.topi.nn.util": f"{OWN}.topi.shapes",
    "tvm.topi.nn.utils": f"{OWN}.topi.shapes",
    "tvm.topi.testing": f"{OWN}.topi.testing",
    "tvm.topi.util": f"{OWN}.topi.shapes",
    "tvm.topi.utils": f"{OWN}.topi.shapes",
    "tvm.transform": ({}, ("passlab.transform",)),
}


def _with_further(address: str, entry: Entry) -> Entry:
    """Return an entry extended by the names of `FURTHER`."""
    more = FURTHER.get(address)
    if more is None or isinstance(entry, str):
        return entry
    return {**entry[0], **more}, entry[1]


MODULES: dict[str, Entry] = {address: _with_further(address, entry) for address, entry in (_LISTED | SOURCES).items()}
