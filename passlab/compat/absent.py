"""Names and modules of TVM that passlab lacks: they can be imported, and their first use raises an error.

Old files import at their top names that only a part of them uses, so `from tvm import autotvm` returns a module here.
Its names are classes without instances: `isinstance` is false, and any other use raises an error that names the missing
part and an alternative.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from passlab.compat.missing import missing_name
from passlab.op.dtypes import Array

# Packages of TVM without a counterpart: everything below them is absent, except the addresses in the table.
_PACKAGES = (
    "arith auto_scheduler autotvm driver dlight exec meta_schedule micro relax script te"
    " tir topi target.datatype target.detect_target target.intrin target.tag relay.backend._backend"
    " relay.backend.contrib relay.qnn.strategy relay.backend.aot"
    " relay.collage relay.data_dep_optimization.utils relay.op.strategy relay.op.op_attrs_layout runtime.disco"
    " runtime.script_printer testing.aot testing.auto_scheduler testing.popen_pool testing.runner testing.tir"
    " testing.usmp relay.testing.darknet relay.testing.tf relay.testing.tflite"
    " relay.testing.yolo_detection relay.transform.suffixes relay.transform.memory_plan relay.frontend.pytorch"
    " relay.qnn.op.layout_conversions"
)
_CONTRIB = (
    "cblas cc clang coreml_runtime cublas cublaslt cuda_graph cudnn cutlass dlpack dnnl emcc ethosu hexagon hipblas"
    " libtorch micro miopen mkl mps mrvl msc mxnet ndk nnpack peak pipeline_executor pipeline_executor_build"
    " popen_pool random relay_viz.utils rocblas rocm rpc sdaccel sparse spirv_utils stackvm tar target tedd"
    " tflite_runtime torch tvmjs tvmls uvm vllm xcode"
)
_VENDORS = (
    "arm_compute_lib bnns clml cmsisnn coreml cublas cudnn cutlass dnnl ethosn ethosu fsi libtorch mrvl onnx tachikoma"
    " te_target tensorrt vitis_ai vsi_npu"
)
_IMPORTERS = (
    "caffe caffe2 coreml darknet keras mxnet mxnet_qnn_op_utils nnvm_common oneflow paddlepaddle pytorch_utils"
    " qnn_torch tensorflow tensorflow2 tensorflow2_ops tensorflow_ops tensorflow_parser tflite tflite_flexbuffer"
)
ABSENT = (
    frozenset(f"tvm.{name}" for name in _PACKAGES.split())
    | {f"tvm.contrib.{name}" for name in _CONTRIB.split()}
    | {f"tvm.relay.op.contrib.{name}" for name in _VENDORS.split()}
    | {f"tvm.relay.frontend.{name}" for name in _IMPORTERS.split()}
)


def is_absent(name: str) -> bool:
    """Whether a module of TVM, or one above it, is known to have no counterpart."""
    while name:
        if name in ABSENT:
            return True
        name = name.rpartition(".")[0]
    return False


class AbsentName(type):
    """The metaclass of names in absent modules."""

    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def _refuse(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise missing_name(f"{cls.__module__}.{cls.__qualname__}")

    __call__ = __iter__ = __len__ = __getitem__ = __enter__ = __exit__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __lt__ = __gt__ = _refuse

    def __getattr__(cls, name: str) -> Array:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_name(f"{cls.__module__}.{cls.__qualname__}.{name}")

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> AbsentName:
        """Create the class of a name. Raises `UnknownNameError` for a class derived from one."""
        for base in bases:
            if isinstance(base, AbsentName):
                base._refuse()
        return super().__new__(mcs, name, bases, members)


def absent_name(module: str, name: str) -> AbsentName:
    """Return the placeholder for a name of an absent module."""
    return AbsentName(name, (), {"__module__": module, "__doc__": f"`{module}.{name}` is not in passlab."})


class AbsentModule(ModuleType):
    """A module that can be imported, and whose names raise an error on their first use."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"`{name}` is not in passlab")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = absent_name(self.__name__, name)
        setattr(self, name, value)
        return value
