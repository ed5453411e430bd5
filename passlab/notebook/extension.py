"""Load the extension into a shell, and unload it."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary

from passlab.instrument.presenter import Presenter
from passlab.notebook import formatters, kernel_hooks
from passlab.notebook import lazy_modules as rooms
from passlab.notebook.dump_magics import DumpMagics
from passlab.notebook.fault_magics import FaultMagics
from passlab.notebook.magics import RelayMagics
from passlab.notebook.model_magics import ModelMagics

_loaded: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
MAGICS = {
    "line": (
        "passes",
        "bisect",
        "culprit",
        "fuzz",
        "instruments",
        "compare",
        "graph",
        "blame",
        "run",
        "vm",
        "dump",
        "simplify",
    ),
    "cell": ("relay", "passes", "bisect", "culprit", "llvm", "mlir"),
}


def load(shell: Any) -> None:
    """Register magics, completion and formatters, unless they are registered already."""
    if shell in _loaded:
        return
    before = {
        (kind, name): _resolve(shell.magics_manager.magics[kind].get(name))
        for kind, names in MAGICS.items()
        for name in names
    }
    # The shell's own %run stays reachable: ours calls it for everything that is not a program.
    magics = RelayMagics(shell, run_script=before[("line", "run")])
    shell.register_magics(magics, FaultMagics, DumpMagics, ModelMagics)
    shell.events.register("post_run_cell", cell_ended)
    Presenter.show = _show_printed
    _loaded[shell] = {
        "magics": before,
        "formatters": formatters.register(shell.display_formatter),
        "completer": kernel_hooks.register_completion(shell, magics),
        "inspection": kernel_hooks.register_inspection(shell),
    }


def cell_ended(_: object = None) -> None:
    """Let the live programs of the notebook, if any, follow passes that a cell has redefined."""
    live = sys.modules.get(f"{__package__}.live")
    if live is not None:
        live.cell_ended()


def _show_printed(printer: Any, whole: bool) -> None:
    rooms.printed.HERE.show(printer, whole)


def _resolve(magic: Any) -> Any:
    """Return the magic itself: IPython may have a proxy that looks it up by name when called, and would find ours."""
    resolve = getattr(magic, "_resolve", None)
    return resolve() if callable(resolve) else magic


def unload(shell: Any) -> None:
    """Undo `load`, and restore what was registered before."""
    state = _loaded.pop(shell, None)
    if state is None:
        return
    shell.events.unregister("post_run_cell", cell_ended)
    Presenter.show = None
    for (kind, name), old in state["magics"].items():
        table = shell.magics_manager.magics[kind]
        if old is None:
            table.pop(name, None)
        else:
            table[name] = old
    formatters.unregister(shell.display_formatter, state["formatters"])
    kernel_hooks.unregister_completion(shell, state["completer"])
    if state["inspection"] is not None:
        state["inspection"]()
