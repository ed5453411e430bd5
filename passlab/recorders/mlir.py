"""MLIR from Python (upstream's bindings or IREE's): the pass manager has no callbacks, so it prints into a folder.

rec = passlab.recorders.mlir.record(module, "builtin.module(canonicalize,cse)")
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from passlab.dumps import read
from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, DumpError, MissingPackageError

_BINDINGS = ("mlir", "iree.compiler", "jaxlib.mlir")


def _pass_manager(module: Any) -> Any:
    """Return the class `PassManager` of the bindings that made a module."""
    home = type(module).__module__
    names = [name for name in _BINDINGS if home.startswith((name, "iree.compiler._mlir_libs", "jaxlib.mlir"))]
    for name in [*names, *_BINDINGS]:
        try:
            return import_module(f"{name}.passmanager").PassManager
        except ImportError:
            continue
    hint = "pip install iree-base-compiler, or build MLIR with its Python bindings"
    raise MissingPackageError(Diagnostic("no Python bindings of MLIR are installed", hint=hint))


def record(module: Any, pipeline: str, *, elide_larger: int | None = 64, name: str = "MLIR") -> TextRecording:
    """Run a pipeline, written in MLIR's syntax, on a module in place and return its recording.

    The texts leave out constants with more than `elide_larger` elements; None keeps them. Raises `DumpError` for an
    invalid pipeline; a pass that fails is the last step.
    """
    with module.context as context, tempfile.TemporaryDirectory() as folder:
        try:
            manager = _pass_manager(module).parse(pipeline, context)
        except Exception as error:
            if isinstance(error, MissingPackageError):
                raise
            raise DumpError(Diagnostic(f"MLIR does not take this pipeline: {error}")) from error
        context.enable_multithreading(False)
        options = {"large_elements_limit": elide_larger} if elide_larger is not None else {}
        manager.enable_ir_printing(
            print_before_all=True, print_after_all=True, tree_printing_dir_path=folder, **options
        )
        failure = ""
        try:
            manager.run(getattr(module, "operation", module))
        except Exception as error:
            failure = str(error)
        recording = read(Path(folder), "mlir-tree")
        recording.detach()  # reads the texts before the folder is deleted
        recording.name, recording.crash = name, failure
    return recording
