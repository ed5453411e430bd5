"""The import of `tvm.NAME`: a finder on Python's import path, which reads the table of addresses.

A module is either passlab's own under a second name, so that classes are the same objects at both addresses, or an
`Overlay`. An overlay puts a few names of its own in front of the names of a module of passlab. Submodules that the
table does not list are looked up below the module that their parent stands for.

The file begins with names and modules of TVM that passlab lacks: they can be imported, and their first use raises an
error, which suggests an alternative.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from passlab.compat import addresses, results
from passlab.errors import Diagnostic, PasslabError, UnknownNameError
from passlab.lazy import load
from passlab.op.dtypes import Array
from passlab.relay.operators import OperatorNamespace

# ---------------------------------------------------------------- what passlab lacks, and what to use instead
NUMPY = "kernels are NumPy here: `op.add_kernel(function)`, or the manual's page *Writing an operator*"
TUNING = "there is nothing to tune: kernels run on NumPy; leave the tuning out and call `relay.build`"
PARTITION = "partition with `relay.transform.MergeComposite` and `PartitionGraph`"
DEVICES = "every device is this CPU: leave the device's own code out"
# Packages of TVM by their first names after `tvm`, longest match first.
INSTEAD = {
    "auto_scheduler": TUNING,
    "autotvm": TUNING,
    "meta_schedule": TUNING,
    "contrib.cutlass": "write the patterns of a compiler with `relay.op.contrib.register_pattern_table`",
    "contrib.pipeline_executor": "run the parts one after the other with `relay.create_executor`",
    "contrib.torch": "`relay.frontend.from_pytorch` reads PyTorch's exported programs",
    "build": "`relay.build` compiles a program of Relay",
    "build_config": "`tvm.transform.PassContext`",
    "contrib": DEVICES,
    "lower": "`relay.build` compiles a program of Relay",
    "relay.op.contrib": "write the patterns of a compiler with `relay.op.contrib.register_pattern_table`",
    "relay.op.op": NUMPY,
    "relay.op": NUMPY,
    "driver": "`passlab` on the command line, or `relay.build`",
    "driver.tvmc": "`passlab opt`, `passlab run` on the command line",
    "micro": DEVICES,
    "relax": "Relax is another language: passlab has Relay",
    "relay.collage": PARTITION,
    "relay.transform.CollagePartition": PARTITION,
    "relay.transform.RewriteAnnotatedOps": "`relay.transform.PlanDevices`",
    "relay.frontend": "`relay.frontend.from_onnx`, `from_pytorch`; or write `mod.astext()` with TVM and read it here",
    "relay.op.strategy": NUMPY,
    "rpc": DEVICES,
    "script": "TVMScript is not read; Relay text is: `relay.parse`",
    "target.datatype": "dtypes come from NumPy and `ml_dtypes` (bfloat16, float8_e4m3fn, int4, ...)",
    "te": NUMPY,
    "tir": NUMPY,
    "topi": NUMPY,
}


class CompatError(PasslabError, ImportError):
    """The addresses of `tvm` cannot be installed.

    >>> from passlab import compat
    >>> issubclass(compat.CompatError, Exception)
    True
    """


class MissingInCompatError(PasslabError, ImportError):
    """A module of TVM has no counterpart in passlab."""


def missing_module(name: str) -> MissingInCompatError:
    """Return the error for a module such as `tvm.autotvm`, with an alternative."""
    return MissingInCompatError(_finding(name))


def missing_name(name: str) -> UnknownNameError:
    """Return the error for a name such as `tvm.te.create_schedule`, with an alternative."""
    return UnknownNameError(_finding(name))


def _finding(name: str) -> Diagnostic:
    parts = name.split(".")[1:]
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    hint = next((INSTEAD[prefix] for prefix in prefixes if prefix in INSTEAD), None)
    hint = hint or "the manual's page *Differences from TVM* says what is there"
    return Diagnostic(f"passlab has no `{name}`", hint=hint)


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


ROOT = "tvm"


class Overlay(ModuleType):
    """A module of names with their targets, then the names of the modules `below`, then submodules."""

    def __init__(self, name: str, names: dict[str, str], below: tuple[str, ...]) -> None:
        super().__init__(name, f"passlab under the name `{name}`")
        self.__path__: list[str] = []
        self._names = names
        self._below = below

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name.startswith("__") and name not in self._names:
            raise AttributeError(name)
        value = self._find(name)
        setattr(self, name, value)
        return value

    def _find(self, name: str) -> object:
        if name in self._names:
            return load(self._names[name])
        address = f"{self.__name__}.{name}"
        value = self._below_value(name)
        if address in addresses.MODULES and (value is None or _is_module(value)):
            return importlib.import_module(address)
        if value is not None:
            return value
        if is_absent(self.__name__) and not _leads_to_a_module(address):
            return absent_name(self.__name__, name)
        if _resolvable(address):
            return importlib.import_module(address)
        raise missing_name(f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a submodule, which importing it sets, does not hide a function of the same name."""
        if isinstance(value, ModuleType) and f"{self.__name__}.{name}" in addresses.MODULES:
            own = load(self._names[name]) if name in self._names else self._below_value(name)
            value = value if own is None or _is_module(own) else own
        super().__setattr__(name, value)

    def _below_value(self, name: str) -> object:
        """Return what a name is in the first of the modules below that has it, None where none has."""
        for target in self._below:
            value = getattr(importlib.import_module(target), name, None)
            if value is not None:
                return value
        return None

    def __dir__(self) -> Iterator[str]:
        inherited = (name for target in self._below for name in dir(importlib.import_module(target)))
        own = (address.rpartition(".")[2] for address in addresses.MODULES if address.startswith(f"{self.__name__}."))
        return iter(sorted({*self._names, *inherited, *own}))


class TVMFinder:
    """The finder on `sys.meta_path` for `tvm` and its submodules."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the loader of a module of `tvm`, None for all other modules. Raises `MissingInCompatError`."""
        if name != ROOT and not name.startswith(f"{ROOT}."):
            return None
        if not _resolvable(name):
            raise missing_module(name)
        return ModuleSpec(name, TVMLoader(), is_package=True)


class TVMLoader(Loader):
    """Puts the module of an address into `sys.modules`."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module that `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace `module` by the module of the address."""
        name = module.__name__
        sys.modules[name] = _module(name)


def _module(name: str) -> ModuleType:
    """Return the module at an address, which `_resolvable` has checked."""
    entry = addresses.MODULES.get(name)
    if isinstance(entry, str):
        return importlib.import_module(entry)
    if entry is not None:
        return Overlay(name, *entry)
    module = _below_parent(name)
    if module is None:
        return AbsentModule(name)
    # Importing a submodule sets an attribute of its package, which must not be one of passlab's own modules then.
    covered = any(a.startswith(f"{name}.") and not isinstance(e, str) for a, e in addresses.MODULES.items())
    return Overlay(name, {}, (module.__name__,)) if covered else module


def _resolvable(name: str) -> bool:
    return name in addresses.MODULES or is_absent(name) or _below_parent(name) is not None


def _leads_to_a_module(name: str) -> bool:
    """Whether an address belongs to a module, or to a package above one."""
    return name in ABSENT or any(a == name or a.startswith(f"{name}.") for a in addresses.MODULES)


def _below_parent(name: str) -> ModuleType | None:
    """Return the module called `name` below the one that its parent stands for, or None if it has no such module."""
    package, _, last = name.rpartition(".")
    parent = sys.modules.get(package)
    if parent is None or isinstance(parent, AbsentModule) or last.startswith("__"):
        return None
    bases = parent._below if isinstance(parent, Overlay) else (parent.__name__,)
    for base in bases:
        real = importlib.import_module(base)
        value = getattr(real, last, None)
        if _is_module(value):
            return value
        below = f"{base}.{last}"
        if not hasattr(real, "__path__"):
            continue
        if below in addresses.MODULES or (
            not base.startswith(f"{ROOT}.") and importlib.util.find_spec(below) is not None
        ):
            return importlib.import_module(below)
    return None


def _is_module(value: object) -> bool:
    return isinstance(value, (ModuleType, OperatorNamespace))


_FINDER = TVMFinder()


def is_installed() -> bool:
    """Whether `import tvm` finds passlab.

    >>> from passlab import compat
    >>> compat.install()
    >>> compat.is_installed()
    True
    >>> compat.uninstall()
    """
    return _FINDER in sys.meta_path


def install() -> None:
    """Make `import tvm` find passlab; a second call changes nothing. Raises `CompatError` if a real `tvm` is
    imported.

    >>> from passlab import compat
    >>> compat.install()
    >>> import tvm
    >>> tvm.IRModule is passlab.IRModule
    True
    >>> compat.uninstall()
    """
    if is_installed():
        return
    module = sys.modules.get(ROOT)
    if module is not None:
        where = getattr(module, "__file__", None) or "somewhere"
        hint = "use passlab by its own names, `from passlab import relay`, or start a process that does not import tvm"
        raise CompatError(Diagnostic("a real `tvm` is imported already", found=where, hint=hint))
    sys.meta_path.insert(0, _FINDER)
    results.install()


def uninstall() -> None:
    """Remove the addresses of `tvm` and the methods of results; a second call changes nothing.

    >>> from passlab import compat
    >>> compat.install()
    >>> compat.uninstall()
    >>> compat.is_installed()
    False
    """
    if is_installed():
        sys.meta_path.remove(_FINDER)
        for name in [n for n in sys.modules if n == ROOT or n.startswith(f"{ROOT}.")]:
            del sys.modules[name]
        results.uninstall()
