"""The table of addresses: it maps modules of TVM to passlab.

A string is a module of passlab under a second name. A pair consists of names with their targets, and of modules whose
names are included. A submodule that is not listed here is looked up below those modules.
"""

from __future__ import annotations

# More of the table of addresses: modules of TVM's source tree, whose names most programs take from packages.

OWN = "passlab.compat"
Entry = str | tuple[dict[str, str], tuple[str, ...]]


def names_of(module: str, *names: str, **renamed: str) -> dict[str, str]:
    """Return targets of names in a module; `renamed` maps names of TVM to names of the module."""
    return {**{name: f"{module}:{name}" for name in names}, **{name: f"{module}:{to}" for name, to in renamed.items()}}


_of = names_of


def _same(package: str, *addresses: str) -> dict[str, Entry]:
    """Return entries of addresses whose names belong to one package."""
    return {address: ({}, (package,)) for address in addresses}


_STUBS = f"{OWN}.stubs"
_RULES = f"{OWN}.conversion_rules"
_AFFINE = _of(
    "passlab.passes.precision.quantized_region", TensorAffineType="QuantParams", TupleAffineType="QuantParamsTuple"
)
_COMPILING = f"{OWN}.compiling"
_TUPLES = _of(f"{OWN}.compiling", "flatten_tuple_type", "from_tuple_type", "to_tuple_type")

_TARGETS = _of(
    f"{OWN}.targets",
    *("adreno", "bifrost", "hexagon", "intel_graphics", "mali", "micro", "rasp", "riscv_cpu", "stm32", "vta"),
)

# Packages of TVM that are single modules here: they need their own address to have submodules.
_PACKAGES = {
    f"tvm.relay.{name}": f"passlab.relay.{name}"
    for name in (
        "analysis",
        "backend",
        "op.annotation",
        "op.image",
        "op.nn",
        "op.random",
        "op.vision",
        "qnn",
        "transform",
    )
}

SOURCES: dict[str, Entry] = {
    **{address: ({}, (package,)) for address, package in _PACKAGES.items()},
    "tvm.relay.qnn.op": (_of("passlab.transform.registering", "register_qnn_legalize"), ("passlab.relay.qnn.op",)),
    "tvm.relay.op.op_attrs": ({}, ("passlab.ir.attrs", f"{OWN}.record_classes")),
    "tvm.relay.quantize": (_of(_STUBS, "qconfig"), ("passlab.relay.quantize",)),
    **_same(
        "tvm.relay.quantize",
        *(f"tvm.relay.quantize.{name}" for name in ("_calibrate", "_partition", "_quantize")),
    ),
    "tvm.relay.quantize._annotate": (
        _of("passlab.relay.quantize.annotating", "attach_simulated_quantize"),
        ("passlab.relay.quantize",),
    ),
    **_same("passlab.relay.quantize.conversions", "tvm.relay.quantize._partition_conversions"),
    **_same("passlab.relay.quantize.calibration", "tvm.relay.quantize.kl_divergence"),
    "tvm.relay.backend._backend": (
        _of(_COMPILING, GraphPlanMemory="graph_plan_memory"),
        ("passlab.relay.backend._backend",),
    ),
    **_same("passlab.relay.analysis", "tvm.relay.analysis.analysis", "tvm.relay.analysis.operations_distribution"),
    "tvm.relay.analysis": (_of(_COMPILING, "extract_operators"), ("passlab.relay.analysis",)),
    "tvm.relay.data_dep_optimization.utils": ({"_run_opt_pass": "passlab.testing:run_opt_pass"}, ()),
    "tvm.relay.op.contrib.dnnl": (_of(f"{OWN}.results", "pattern_table"), ()),
    "tvm.relay.testing.byoc": (_of(f"{OWN}.annotators", "CcompilerAnnotator"), ()),
    "tvm.relay.op.nn.utils": (_of(_STUBS, *(f"get_pad_tuple{rank}d" for rank in (1, 2, 3))), ()),
    "tvm.topi.random": (_of(_STUBS, threefry_test_wrapping="always"), ()),
    "tvm.rpc.server": (_of(f"{OWN}.rpc", "Server"), ()),
    "tvm.relay.transform": (
        _of(_STUBS, "ManifestAlloc")
        | _of(_COMPILING, Conv2dToSparse2="conv2d_to_sparse2", LabelOps="label_ops")
        | _of("passlab.transform", ToCPS="to_cps"),
        ("passlab.relay.transform",),
    ),
    "tvm.ir.diagnostics": (_of(f"{OWN}.results", "override_renderer"), ("passlab.ir.diagnostics",)),
    **_same("passlab.analysis.regions", "tvm.relay.analysis.annotated_regions"),
    **_same("passlab.analysis.call_graph", "tvm.relay.analysis.call_graph"),
    **_same("passlab.analysis.census", "tvm.relay.analysis.feature"),
    **_same("passlab.analysis.state", "tvm.relay.analysis.count_layers"),
    **_same("passlab.relay.op.nn", "tvm.relay.op.nn.nn"),
    **_same("passlab.relay.op.annotation", "tvm.relay.op.annotation.annotation"),
    **_same("passlab.relay.op.image", "tvm.relay.op.image.image"),
    **_same("passlab.relay.op.random", "tvm.relay.op.random.kernel"),
    **_same(
        "passlab.relay.op.vision",
        "tvm.relay.op.vision.nms",
        "tvm.relay.op.vision.multibox",
        "tvm.relay.op.vision.rcnn",
        "tvm.relay.op.vision.yolo",
    ),
    **dict.fromkeys(("tvm.relay.op.memory", "tvm.relay.op.memory.memory"), (_TUPLES, ("passlab.relay.memory",))),
    "tvm.relay.memory": (_TUPLES, ("passlab.relay.memory",)),
    "tvm.relay.parser": (_of(f"{OWN}.spans", "SpanCheck"), ("passlab.relay.parsing",)),
    "tvm.relay.testing": (
        _of(f"{OWN}.testing", "ctx_list", "enabled_targets", _np_randn_from_type="random_of_type")
        | _of("passlab.relay.transform", "gradient")
        | _of("passlab.relay.prelude", "Prelude"),
        ("passlab.testing",),
    ),
    "tvm.relay.transform.mixed_precision": (
        {
            **_of("passlab.transform.registering", "register_mixed_precision_conversion"),
            **_of(_STUBS, *(f"MIXED_PRECISION_{kind}" for kind in ("ALWAYS", "FOLLOW", "NEVER"))),
            **_of(_RULES, *(f"DEFAULT_{kind}_LIST" for kind in ("ALWAYS", "FOLLOW", "NEVER"))),
            **_of(_RULES, "get_generic_out_dtypes", "register_func_to_op_list"),
        },
        ("passlab.relay.transform",),
    ),
    "tvm.relay.transform.infer_layout_utils": (_of("passlab.transform.registering", "InferCorrectLayoutOutput"), ()),
    "tvm.relay.transform.fake_quantization_to_integer": (
        _of("passlab.transform.registering", "register_fake_quantization_to_integer")
        | _of("passlab.passes.precision.quantized_region", approx_equal="nearly_equal")
        | _of(_RULES, "fold_constant", "get_zeros", "infer_shape")
        | _of(_RULES, "get_binary_types", "register_binary_identity", "register_binary_qnn", "register_unary_identity")
        | _of(_RULES, "register_optional_fake_quantization_to_integer", "register_unary_qnn"),
        (),
    ),
    **_same("passlab.relay.transform", "tvm.relay.transform.transform", "tvm.relay.transform.flexible_shape"),
    **_same("passlab.relay.op.nn", "tvm.relay.op.nn._make"),
    **_same("passlab.relay.op._make", "tvm.relay._make"),
    **_same("passlab.relay", "tvm.relay._ffi_api", "tvm.relay.ir_pass"),
    # Templates of AutoTVM are registered at the top of files that also compile and run programs.
    "tvm.autotvm": (
        _of(
            f"{OWN}.functions",
            **dict.fromkeys(("register_topi_compute", "register_topi_schedule", "template"), "ignore"),
        ),
        (),
    ),
    "tvm.ir._ffi_api": ({}, ("tvm.ir",)),
    "tvm.runtime.name_transforms": (_of(_STUBS, "sanitize_name"), ()),
    **_same("passlab.relay.build_module", "tvm.relay._build_module"),
    "tvm.relay.analysis._ffi_api": (
        _of(f"{OWN}.solving", _test_type_solver="type_solver"),
        ("passlab.relay.analysis",),
    ),
    "tvm.relay.transform._ffi_api": (
        _of(f"{OWN}.used_memory", AnnotateUsedMemory="annotate_used_memory"),
        ("passlab.transform",),
    ),
    **_same("passlab.errors", "tvm.relay.error"),
    **_same("passlab.ir", "tvm.ir.function", "tvm.ir.type", "tvm.ir.tensor_type", "tvm.ir.type_relation"),
    "tvm.relay.type_relation": ({"TypeCall": "passlab.ir.types:TypeCall"}, ("passlab.ir.types",)),
    "tvm.ir.affine_type": (_AFFINE, ()),
    "tvm.ir.attrs": (_of("passlab.ir", "Attrs", "DictAttrs", "make_node"), ()),
    "tvm.ir.json_compact": (_of("passlab.text.program_json", "create_updater", "upgrade_json"), ()),
    "tvm.ir.memory_pools": (
        _of(
            _STUBS,
            "ConstantMemoryPools",
            "ConstantPoolInfo",
            "PoolInfo",
            "PoolInfoProperties",
            "WorkspaceMemoryPools",
            "WorkspacePoolInfo",
        ),
        (),
    ),
    "tvm.relay.base": (
        _of(f"{OWN}.functions", register_relay_node="ignore") | _of(f"{OWN}.spans", "SequentialSpan"),
        ("passlab.relay.base",),
    ),
    "tvm.relay.backend.te_compiler": ({**_of(_COMPILING, "CCacheKey", "CachedFunc", "TECompiler", "get")}, ()),
    "tvm.relay.backend.compile_engine": (_of(_COMPILING, "CCacheKey", "get", CompileEngine="TECompiler"), ()),
    "tvm.relay.backend.interpreter": (
        {"Interpreter": f"{_STUBS}:Interpreter", "Executor": "passlab.executor.create:Executor"},
        ("passlab.relay.backend.interpreter",),
    ),
    "tvm.relay.backend.vm": ({"VMExecutor": "passlab.executor.create:VMExecutor"}, ("passlab.relay.vm", "passlab.vm")),
    "tvm.relay.vm": ({"VMExecutor": "passlab.executor.create:VMExecutor"}, ("passlab.relay.vm", "passlab.vm")),
    "tvm.relay.backend.utils": (_of(_STUBS, "mangle_module_name"), ()),
    "tvm.relay.backend.name_transforms": (
        _of(
            _STUBS,
            "prefix_generated_name",
            "prefix_name",
            "sanitize_name",
            "to_c_constant_style",
            "to_c_function_style",
            "to_c_variable_style",
        ),
        (),
    ),
    "tvm.relay.backend.executor_factory": (
        _of(
            "passlab.executor.factories",
            AOTExecutorFactoryModule="AOTExecutorFactory",
            ExecutorFactoryModule="Factory",
            GraphExecutorFactoryModule="GraphExecutorFactory",
        ),
        ("passlab.executor",),
    ),
    "tvm.relay.backend.graph_executor_factory": (
        _of("passlab.executor.factories", GraphExecutorFactoryModule="GraphExecutorFactory"),
        ("passlab.executor",),
    ),
    "tvm.relay.frontend.change_datatype": f"{OWN}.change_datatype",
    "tvm.relay.frontend.common": ({}, (f"{OWN}.importers",)),
    "tvm.relay.analysis.sparse_dense": (
        _of("passlab.analysis.sparse_dense", _search_dense_op_weight="search_dense_op_weight"),
        ("passlab.analysis.sparse_dense",),
    ),
    "tvm.relay.build_module": (
        {
            **_of("passlab.executor.create", "GraphExecutor", AotExecutor="AOTExecutor"),
            **_of(_COMPILING, "BuildModule"),
        },
        ("passlab.relay.build_module",),
    ),
    "tvm.relay.qnn.op.op": (
        _of("passlab.transform.registering", "register_qnn_canonicalize", "register_qnn_legalize"),
        ("passlab.relay.qnn.op",),
    ),
    "tvm.relay.qnn.op.qnn": (
        _of(_STUBS, "RequantizeConfig", "current_requantize_config"),
        ("passlab.relay.qnn.op",),
    ),
    **_same("passlab.testing.checks", "tvm.relay.testing.py_converter"),
    "tvm.topi.nn": (_of(f"{OWN}.tensor_cores", "batch_matmul_legalize", "conv2d_legalize", "dense_legalize"), ()),
    "tvm.topi.nn.qnn": (_of("passlab.op.qnn.quantize", SQNN_DTYPE_TO_CODE="CODES"), ()),
    "tvm.relay.testing.config": (_of(f"{OWN}.testing", "ctx_list"), ()),
    "tvm.runtime.executor": (_of("passlab.relay.graph_executor", AotModule="GraphModule"), ()),
    "tvm.runtime.executor.aot_executor": (_of("passlab.relay.graph_executor", AotModule="GraphModule"), ()),
    "tvm.runtime.object_generic": (
        {**_of(f"{OWN}.scalars", "convert", convert_to_object="convert"), "ObjectGeneric": "builtins:object"},
        (),
    ),
    "tvm._ffi.runtime_ctypes": (
        {"DataType": "passlab.ir.dtypes:dtype_name"} | _of("passlab.devices", "Device", TVMContext="Device"),
        (),
    ),
    "tvm.runtime.object_path": ({"ObjectPath": "builtins:str"}, ()),
    "tvm.contrib.nvcc": (
        _of(_STUBS, "have_bf16", "have_fp16", "have_int8", "have_tensorcore", "parse_compute_version"),
        (),
    ),
    "tvm.contrib.cudnn": (_of(_STUBS, exists="_never"), ()),
    "tvm.contrib.thrust": (_of(_STUBS, "can_use_rocthrust", "can_use_thrust"), ()),
    "tvm.contrib.pipeline_executor": (_of(_STUBS, "pipeline_executor_enabled"), ()),
    "tvm.contrib.pipeline_executor_build": (_of(_STUBS, "pipeline_executor_build_enabled"), ()),
    "tvm.contrib.pickle_memoize": (_of(_STUBS, "memoize"), ()),
    "tvm.support": (_of(_STUBS, "describe", "libinfo"), ()),
    "tvm.target.codegen": (_of(_STUBS, "llvm_lookup_intrinsic_id", "llvm_version_major"), ()),
    "tvm.target.x86": (_of(_STUBS, "target_has_amx", "target_has_avx512", "target_has_vnni"), ()),
}
# Additional names of modules in `addresses`.
FURTHER: dict[str, dict[str, str]] = {
    "tvm._ffi.base": {"py_str": f"{_STUBS}:py_str"},
    "tvm.nd": _of(f"{OWN}.arrays", "from_dlpack", "numpyasarray"),
    "tvm.ndarray": _of(f"{OWN}.arrays", "from_dlpack", "numpyasarray"),
    "tvm.relay": {
        **dict.fromkeys(("ExprWithOp", "TempExpr"), "passlab.ir.expr:Expr"),
        "TypeConstraint": "passlab.ir.types:TypeRelation",
    },
    "tvm.relay.expr": dict.fromkeys(("ExprWithOp", "TempExpr"), "passlab.ir.expr:Expr"),
    "tvm.runtime.profiler_vm": {"enabled": f"{_STUBS}:always"},
    "tvm": {
        **{kind: f"{OWN}.targets:{kind}_device" for kind in ("ext_dev", "hexagon", "webgpu")},
        "support": "tvm.support",
    },
    "tvm.error": _of(
        "passlab.errors", OpAttributeInvalid="AttrsError", OpAttributeRequired="AttrsError", RPCError="PasslabError"
    )
    | _of(_STUBS, "register_error"),
    "tvm.instrument": {"PassPrintingInstrument": f"{_STUBS}:PassPrintingInstrument"},
    "tvm.ir": _AFFINE | _of(_STUBS, "Range"),
    "tvm.ir.instrument": {"PassPrintingInstrument": f"{_STUBS}:PassPrintingInstrument"},
    "tvm.runtime": {
        "BenchmarkResult": "passlab.vm.benchmarking:BenchmarkResult",
        **_of(f"{OWN}.values", "ShapeTuple"),
        **_of(_STUBS, "num_threads"),
        **_of(f"{OWN}.folders", "load_param_dict_from_file", "save_param_dict_to_file"),
    },
    "tvm.runtime.container": _of(_STUBS, "getitem_helper"),
    "tvm.runtime.module": {
        "BenchmarkResult": "passlab.vm.benchmarking:BenchmarkResult",
        "Module": "passlab.executor.outputs:CallableByName",
    },
    "tvm.runtime.packed_func": _of(f"{OWN}.scalars", "convert"),
    "tvm.target": _TARGETS,
    "tvm.target.target": _TARGETS,
}


_ARRAYS = names_of(f"{OWN}.arrays", "NDArray") | names_of(f"{OWN}.contexts", "array", "empty")
_DEVICES = names_of(
    "passlab.devices", "cpu", "cuda", "device", "gpu", "Device", context="device", vpi="cpu", TVMContext="Device"
) | names_of(f"{OWN}.targets", cl="opencl_device", mtl="metal_device")
_ERRORS = names_of(
    "passlab.errors",
    "DiagnosticError",
    OpError="PasslabError",
    InternalError="PasslabError",
    OpAttributeUnImplemented="AttrsError",
    OpNotImplemented="DiagnosticError",  # an unknown operator of Relay, or one of a model that cannot be read
)
_ERRORS["TVMError"] = "builtins:RuntimeError"  # what a user's pass raises reaches programs for TVM as a TVMError
_FUNCTIONS = names_of(f"{OWN}.functions", "register_func", "get_global_func")
_REGISTRY = {
    **_FUNCTIONS,
    **names_of(f"{OWN}.functions", "list_global_func_names", "remove_global_func"),
    **names_of(f"{OWN}.functions", register_object="ignore", register_intrin_lowering="ignore"),
}
_NUMBERS = names_of(f"{OWN}.scalars", "FloatImm", "IntImm", "StringImm", "const", "convert", "max_value", "min_value")
_ARITHMETIC = names_of(
    f"{OWN}.scalars", "floordiv", "floormod", "indexdiv", "indexmod", round="whole", ceil="whole", floor="whole"
)
_NODES = names_of(f"{OWN}.scalars", "Add", "FloorDiv", "FloorMod", "Mul", "PrimExpr", "Sub", Cast="cast")
_DIMENSIONS = {**names_of("passlab.ir.types", "Any", "SizeVar"), **names_of(f"{OWN}.scalars", "size_var", "var", "Var")}
_PARAMETERS = names_of("passlab.executor.param_dict", "load_param_dict") | names_of(f"{OWN}.results", "save_param_dict")
_RUNTIME = {
    **_ARRAYS,
    **_DEVICES,
    **names_of(f"{OWN}.scalars", "const", "convert"),
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
    **names_of("passlab.devices", "Target", "TargetKind", "VirtualDevice"),
    **names_of(f"{OWN}.targets", "CompilationConfig", "make_compilation_config"),
    **names_of(
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
    **names_of("passlab.instrument", PrintAfterAll="PrintIRAfter", PrintBeforeAll="PrintIRBefore"),
    **names_of(f"{OWN}.stubs", "PassTimingInstrument"),
}

# The strategies that lower operators to loops in TVM: each is absent, and its call raises an error.
_STRATEGIES = names_of(
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
    | names_of(f"{OWN}.conversion_rules", "register_optional_fake_quantization_to_integer")
    | names_of(f"{OWN}.stubs", "scatter_add")
)
_SPANS = names_of(f"{OWN}.spans", "SequentialSpan", "SpanCheck")
_WITH_FIELDS = names_of(
    f"{OWN}.with_fields",
    *(f"{cls}WithFields" for cls in ("Call", "Constant", "If", "Let", "RefCreate", "RefRead", "RefWrite")),
    *(f"{cls}WithFields" for cls in ("Tuple", "TupleGetItem", "Var")),
)

_LAYOUTS = names_of("passlab.op.layout_names", Layout="LayoutName", layout="LayoutName") | names_of(
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
            **names_of(f"{OWN}.scalars", "const", "convert", "max_value", "min_value", "size_var", "var"),
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
        names_of(f"{OWN}.contexts", create="create_debug"),
        ("passlab.relay.debug_executor",),
    ),
    "tvm.contrib.download": f"{OWN}.downloading",
    "tvm.contrib.graph_executor": "passlab.relay.graph_executor",
    "tvm.contrib.graph_runtime": (
        names_of(f"{OWN}.contexts", create="create_graph"),
        ("passlab.relay.graph_executor",),
    ),
    **_same(
        f"{OWN}.relay_viz",
        *(f"tvm.contrib.relay_viz{part}" for part in ("", ".dot", ".interface", ".terminal")),
    ),
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
            **names_of(f"{OWN}.spans", "SequentialSpan"),
            **names_of(f"{OWN}.solving", "EnvFunc"),
            **names_of(f"{OWN}.scalars", "FloatImm", "IntImm"),
            **names_of(f"{OWN}.scalars", PrimExpr="PrimExpr"),
            **names_of("passlab.ir.supply", "GlobalVarSupply", "NameSupply"),
            **names_of("passlab.transform", "PassContext"),
            **names_of(f"{OWN}.functions", register_intrin_lowering="ignore"),
        },
        ("passlab.ir",),
    ),
    "tvm.ir.base": ({}, ("tvm.ir",)),
    "tvm.ir.container": (names_of("builtins", Array="tuple", Map="dict"), ()),
    "tvm.ir.expr": ({}, ("passlab.ir.expr", "passlab.ir")),
    "tvm.ir.instrument": (_INSTRUMENTS, ("passlab.instrument",)),
    "tvm.ir.memory_pools": ({}, ()),
    "tvm.nd": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.ndarray": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.parser": (names_of(f"{OWN}.spans", "SpanCheck"), ("passlab.relay.parsing",)),
    "tvm.relay": (
        {
            **_SPANS,
            **names_of(f"{OWN}.stubs", "scatter_add"),
            **_PARAMETERS,
            **names_of(f"{OWN}.contexts", "create_executor"),
        },
        ("passlab.relay",),
    ),
    "tvm.relay.op": (_OP, ("passlab.relay.op",)),
    "tvm.relay.op.op": (_OP | names_of(f"{OWN}.functions", register="register_op"), ("passlab.relay.op.op",)),
    "tvm.relay._transform": "passlab.transform",
    "tvm.relay.backend.executor": ({}, ("passlab.relay.backend",)),
    "tvm.relay.backend.executor_factory": ({}, ("passlab.executor",)),
    "tvm.relay.backend.runtime": ({}, ("passlab.relay.backend",)),
    "tvm.relay.debug": (names_of(f"{OWN}.functions", debug="ignore"), ()),
    "tvm.relay.converter": (names_of("passlab.frontend", "to_onnx"), ()),
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
    "tvm.relay.function": (names_of(f"{OWN}.with_fields", "FunctionWithFields"), ("passlab.relay.function",)),
    "tvm.relay.param_dict": (dict(_PARAMETERS), ()),
    "tvm.rpc": (names_of(f"{OWN}.rpc", "LocalSession", "Server", "connect", RPCSession="LocalSession"), ()),
    "tvm.runtime": (_RUNTIME, ("passlab.relay.runtime",)),
    "tvm.container": ({}, ("tvm.runtime.container",)),
    "tvm.runtime.container": (
        {
            **names_of("builtins", String="str"),
            **names_of(f"{OWN}.values", "ADT", "ShapeTuple"),
            **names_of("builtins", Array="tuple", Map="dict", tuple_object="tuple"),
        },
        (),
    ),
    "tvm.runtime.module": (
        {
            **names_of("passlab.executor", "load_module"),
            **names_of("passlab.executor.outputs", Module="CallableByName"),
            **names_of("passlab.vm.benchmarking", "BenchmarkResult"),
        },
        (),
    ),
    "tvm.runtime.ndarray": ({**_ARRAYS, **_DEVICES}, ()),
    "tvm.runtime.object": ({"Object": "passlab.ir.types:Immutable"}, ()),
    "tvm.runtime.packed_func": ({"PackedFunc": "types:FunctionType"}, ()),
    "tvm.runtime.params": (dict(_PARAMETERS), ()),
    "tvm.runtime.profiling": ({"Report": "passlab.vm:Report"}, ()),
    "tvm.runtime.profiler_vm": ({}, ("passlab.vm",)),
    "tvm.runtime.vm": (names_of(f"{OWN}.values", "Executable"), ("passlab.vm",)),
    "tvm.script": ({}, ()),
    "tvm.script.tir": (
        names_of(f"{OWN}.scalars", "float16", "float32", "float64", "int16", "int32", "int64", "int8"),
        (),
    ),
    "tvm.target": (_TARGET, ()),
    "tvm.target.target": (_TARGET, ()),
    "tvm.target.compilation_config": (names_of(f"{OWN}.targets", "CompilationConfig", "make_compilation_config"), ()),
    "tvm.target.virtual_device": (_TARGET, ()),
    "tvm.te": (names_of(f"{OWN}.scalars", "const", "max_value", "min_value", "size_var", "var") | _ARITHMETIC, ()),
    "tvm.testing": ({name: f"{_TESTING}:{name}" for name in ("assert_allclose",)}, (_TESTING,)),
    "tvm.testing.plugin": f"{OWN}.testing",
    "tvm.testing.utils": ({}, (_TESTING,)),
    "tvm.tir": ({**_NUMBERS, **_DIMENSIONS, **_LAYOUTS, **_ARITHMETIC, **_NODES}, ()),
    "tvm.tir.data_layout": (_LAYOUTS, ()),
    "tvm.tir.expr": ({**_NUMBERS, **_DIMENSIONS, **_NODES}, ()),
    "tvm.topi": (names_of(f"{OWN}.topi", "get_const_tuple"), ()),
    "tvm.topi.nn.util": f"{OWN}.topi",
    "tvm.topi.nn.utils": f"{OWN}.topi",
    "tvm.topi.sparse.utils": f"{OWN}.topi",
    "tvm.topi.testing": f"{OWN}.topi",
    "tvm.topi.util": f"{OWN}.topi",
    "tvm.topi.utils": f"{OWN}.topi",
    "tvm.transform": ({}, ("passlab.transform",)),
}


def _with_further(address: str, entry: Entry) -> Entry:
    """Return an entry extended by the names of `FURTHER`."""
    more = FURTHER.get(address)
    if more is None or isinstance(entry, str):
        return entry
    return {**entry[0], **more}, entry[1]


MODULES: dict[str, Entry] = {address: _with_further(address, entry) for address, entry in (_LISTED | SOURCES).items()}
