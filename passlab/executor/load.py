"""`load_module`: reads any file that `export_library` wrote."""

from __future__ import annotations

from passlab.errors import Diagnostic, VerifyError
from passlab.executor.factories import AOTExecutorFactory, GraphExecutorFactory
from passlab.executor.library import GRAPH, PROGRAM, read_graph, read_program
from passlab.vm.executable import Executable
from passlab.vm.files.container import is_packed, unpack
from passlab.vm.files.disk import FileName, read_bytes
from passlab.vm.files.loading import kernel_functions, load
from passlab.vm.files.saving import EXECUTABLE, KernelLibrary

PARTS = {GRAPH: 4, PROGRAM: 4, EXECUTABLE: 2}  # the number of parts of each kind
Library = GraphExecutorFactory | AOTExecutorFactory | Executable | KernelLibrary


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
