"""Executor factories: the results of `relay.build` and of `relay.runtime.load_module`.

`factory["default"](device)` is an executor. The passes have already run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, RunError, RunTypeError, VerifyError, type_in_words
from passlab.executor.aot.aot_module import AotModule
from passlab.executor.aot.loading import CompiledProgram
from passlab.executor.aot.module_source import source_of
from passlab.executor.graph import Graph
from passlab.executor.graph_module import GraphModule, GraphModuleDebug
from passlab.executor.library import GRAPH, PROGRAM, check_kernels, graph_file, program_file, read_graph, read_program
from passlab.executor.outputs import CallableByName, RunsByInputs
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.vm.executable import Executable
from passlab.vm.files.disk import FileName, read_bytes, write_bytes
from passlab.vm.files.library_file import is_packed, unpack
from passlab.vm.files.loading import kernel_functions, load
from passlab.vm.files.saving import EXECUTABLE, KernelLibrary


class Factory(CallableByName):
    """The base class of the results of `build`: `factory[mod_name](device)` returns an executor."""

    own_functions: tuple[str, ...] = ()
    libmod_name: str

    @property
    def function_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the functions that the factory has."""
        return self.libmod_name, *self.own_functions

    def __getitem__(self, name: Any) -> Callable[..., Any]:
        if isinstance(name, str) and name == self.libmod_name:
            return lambda *devices: self.module()  # all devices are this CPU
        return super().__getitem__(name)

    def module(self) -> RunsByInputs:
        """Return an executor."""
        raise NotImplementedError

    def file(self) -> bytes:
        """Return the whole factory as the bytes of one file."""
        raise NotImplementedError

    def export_library(self, file_name: FileName, *_: Any, **__: Any) -> None:
        """Write the factory to one file for `relay.runtime.load_module`. The same program gives the same bytes.

        Further arguments, which configure compilers of other languages in TVM, are accepted and ignored. Raises
        `RunError` if the file cannot be written, or if its name ends in `.py`: only `AOTExecutorFactory` writes Python.
        """
        if str(file_name).endswith(".py"):
            hint = 'build the program with `executor="aot"`, whose library is a Python module'
            raise RunError(Diagnostic(f"{type_in_words(self)} cannot be written as a Python module", hint=hint))
        write_bytes(file_name, self.file(), "the library")

    def get_devices(self) -> list[str]:
        """Return an empty list: TVM lists the devices of external compilers here."""
        return []


@checked
class GraphExecutorFactory(Factory):
    """The result of `build` for the graph executor. It unpacks to (graph as JSON, library of kernels, parameters).

    `factory["default"](device)` is an executor, as in Relay, `factory["debug_create"]("default", device)` one that
    keeps the value of every node. "default" is the `mod_name` of `build`.
    """

    own_functions = ("debug_create", "get_graph_json", "get_graph_params", "get_lib", "get_params", "remove_params")

    def __init__(self, graph: Graph, kernels: Mapping[str, Function], params: Mapping[str, Any], name: str) -> None:
        self.graph = graph
        self.kernels = dict(kernels)
        self.params = dict(params)
        self.libmod_name = name

    def debug_create(self, name: str = "default", *devices: Any) -> GraphModuleDebug:
        """Return an executor that keeps the value of every node. Raises `RunError` for the name of another module."""
        self[name]  # raises for an unknown name
        return GraphModuleDebug(self.graph, self.kernels, self.params)

    def get_executor_config(self) -> str:
        """Return Relay's JSON of the graph."""
        return self.graph_json

    def __repr__(self) -> str:
        return f"GraphExecutorFactory({len(self.graph.nodes)} nodes, {len(self.kernels)} kernels)"

    @property
    def graph_json(self) -> str:
        """Relay's JSON of the graph."""
        return self.graph.to_json()

    @cached_property
    def lib(self) -> KernelLibrary:
        """The kernels as Relay text."""
        return KernelLibrary.of(self.kernels)

    def get_graph_json(self) -> str:
        """Return Relay's JSON of the graph."""
        return self.graph_json

    def get_lib(self) -> KernelLibrary:
        """Return the kernels as Relay text."""
        return self.lib

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by the names of their inputs."""
        return self.params

    get_graph_params = get_params

    def remove_params(self) -> GraphExecutorFactory:
        """Return the factory without its parameters, which its executors then get by `load_params`."""
        return GraphExecutorFactory(self.graph, self.kernels, {}, self.libmod_name)

    def file(self) -> bytes:
        """Return graph, kernels and parameters as the bytes of one file."""
        return graph_file(self.libmod_name, self.graph, self.lib, self.params)

    def module(self, debug: bool = False) -> GraphModule:
        """Return an executor with the parameters set; with `debug` one that keeps every node's value."""
        return (GraphModuleDebug if debug else GraphModule)(self.graph, self.kernels, self.params)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.graph_json, self.lib, self.params))


@checked
class AOTExecutorFactory(Factory):
    """The result of `build` for the executor "aot": the program as Python source.

    `factory["default"](device)` imports it and returns its executor. `ir_mod` is the lowered program.
    """

    own_functions = ("get_lib", "get_params", "save")

    def __init__(self, ir_mod: IRModule, name: str) -> None:
        self.ir_mod = ir_mod
        self.source = source_of(ir_mod)
        self.libmod_name = name

    def __repr__(self) -> str:
        return f"AOTExecutorFactory({len(self.source.text.splitlines())} lines, {len(self.source.constants)} arrays)"

    @property
    def lib(self) -> str:
        """The text of the Python module."""
        return self.source.text

    @property
    def params(self) -> dict[str, Any]:
        """The arrays of the file next to the module."""
        return dict(self.source.constants)

    def get_lib(self) -> str:
        """Return the text of the Python module."""
        return self.lib

    def get_params(self) -> dict[str, Any]:
        """Return the arrays of the file next to the module."""
        return self.params

    def get_executor_config(self) -> None:
        """Return None: a Python module needs no configuration."""

    def export_library(self, file_name: FileName, *_: Any, **__: Any) -> None:
        """Write the program to one file: as a Python module if its name ends in `.py`.

        The Python module needs NumPy and not passlab: `import net; net.main(x)`. It contains the constants; the types
        of its entry are in a stub next to it (`net.pyi`), which is for editors only. Any other name gives a file that
        `relay.runtime.load_module` reads. Raises `RunError` if the file cannot be written.
        """
        if str(file_name).endswith(".py"):
            self.source.save_single(str(file_name))
        else:
            super().export_library(file_name)

    def save(self, path: str | Path) -> Path:
        """Write the Python module, and its constants next to it."""
        return self.source.save(path)

    def file(self) -> bytes:
        """Return the lowered program, as Relay text, as the bytes of one file."""
        return program_file(self.libmod_name, self.ir_mod)

    def module(self) -> AotModule:
        """Import the Python module and return its executor."""
        return AotModule(CompiledProgram(self.source, self.ir_mod["main"], self.ir_mod))


@checked
def create_graph(graph_json: str, lib: KernelLibrary | str, device: Any = None, debug: bool = False) -> GraphModule:
    """Return an executor for a saved graph (JSON) and its kernels.

    Raises `VerifyError` for malformed ones. Raises `RunTypeError` for arguments of other classes.

    >>> graph, library, params = relay.build(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> module = executor.create_graph(graph, library)
    >>> module.run(x=np.float32(1))
    >>> print(module.get_output(0))
    2.0
    """
    if not isinstance(graph_json, str):
        raise RunTypeError(f"a graph is given as JSON text, not {type(graph_json).__name__}")
    if not isinstance(lib, (KernelLibrary, str)):
        raise RunTypeError(f"a library is a KernelLibrary or its text, not {type(lib).__name__}")
    graph, kernels = Graph.from_json(graph_json), kernel_functions(lib if isinstance(lib, str) else lib.text)
    check_kernels(graph, kernels)
    return (GraphModuleDebug if debug else GraphModule)(graph, kernels)


# ---------------------------------------------------------------- reading files of `export_library`
PARTS = {GRAPH: 4, PROGRAM: 4, EXECUTABLE: 2}  # the number of parts of each kind
Library = GraphExecutorFactory | AOTExecutorFactory | Executable | KernelLibrary


@checked
def load_module(path: FileName, fmt: str = "") -> Library:
    """Read a file of `export_library`: return a result of `relay.build`, an executable, or a library of kernels.

    Every part of the file is verified, and no code in it is run. `fmt` is accepted and ignored: the file contains its
    kind. Raises `VerifyError` for a file that is damaged or of another format, `RunError` if it cannot be read.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "net.tar")
    >>> relay.build(passlab.parse("def @main(%x: float32) { %x + 1f }")).export_library(str(path))
    >>> module = executor.load_module(str(path))["default"](passlab.cpu())
    >>> module.run(x=np.float32(1))
    >>> print(module.get_output(0))
    2.0
    """
    data = read_bytes(path, "the library")
    return read_library(data) if is_packed(data) else _kernels(data)


def read_library(data: bytes) -> GraphExecutorFactory | AOTExecutorFactory | Executable:
    """Decode the bytes of a file of `export_library`. Raises `VerifyError` for damaged ones."""
    kind, parts = unpack(data)
    if PARTS.get(kind) != len(parts):
        raise VerifyError(f"a library of the kind {kind[:20]!r} with {len(parts)} parts cannot be read")
    if kind == EXECUTABLE:
        return load(parts[0], KernelLibrary.of_bytes(parts[1]))
    if kind == GRAPH:
        name, graph, kernels, params = read_graph(parts)
        return GraphExecutorFactory(graph, kernels, params, name)
    name, mod = read_program(parts)
    return AOTExecutorFactory(mod, name)


def _kernels(data: bytes) -> KernelLibrary:
    """Return the library of a file that contains only the Relay text of kernels."""
    library = KernelLibrary.of_bytes(data)
    try:
        kernel_functions(library.text)
    except VerifyError as error:
        hint = "`export_library` writes files that can be loaded"
        raise VerifyError(Diagnostic("the file is not a library of passlab", hint=hint), *error.diagnostics) from error
    return library
