"""MLIR from Python (upstream's bindings, IREE's): their pass manager has no callback, but it prints into a folder.

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


def _manager(module: Any) -> Any:
    """Return the pass manager class of the bindings that a module is of."""
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
    """Run a pipeline, in MLIR's own words, on a module in place and return its recording.

    `elide_larger` leaves elements of larger constants out of the texts; None keeps them. Raises `DumpError` where the
    pipeline is wrong; a pass that fails is the last step.
    """
    with module.context as context, tempfile.TemporaryDirectory() as folder:
        try:
            manager = _manager(module).parse(pipeline, context)
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
        recording.hold()  # the folder goes
        recording.name, recording.crash = name, failure
    return recording
