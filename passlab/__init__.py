"""passlab: see, understand and fix compiler passes in a notebook.

This module only names the public interface; every name is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.lazy import lazy_module

if TYPE_CHECKING:
    from passlab.devices import Device, Target, VirtualDevice, cpu, cuda, device, gpu
    from passlab.errors import PasslabError
    from passlab.ir.equal import assert_structural_equal, structural_equal, structural_hash
    from passlab.ir.module import IRModule
    from passlab.relay.parsing import parse, parse_expr

__version__ = "0.1.0"

_NAMES = {
    **{room: f"passlab.{room}" for room in (
        "analysis", "devices", "display", "errors", "evaluate", "executor", "frontend", "infer", "instrument", "ir",
        "lab", "limits", "notebook", "op", "pattern", "relay", "testing", "text", "transform", "vm",
    )},
    **{name: f"passlab.devices:{name}" for name in ("Device", "Target", "VirtualDevice")},
    **{name: f"passlab.devices:{name}" for name in ("cpu", "cuda", "device", "gpu")},
    **{name: f"passlab.relay.parsing:{name}" for name in ("fromtext", "parse", "parse_expr")},
    **{name: f"passlab.ir.equal:{name}" for name in ("assert_structural_equal", "structural_equal", "structural_hash")},
    "IRModule": "passlab.ir.module:IRModule",
    "PasslabError": "passlab.errors:PasslabError",
    "Debugger": "passlab.debugger.debugger:Debugger",
    "Recording": "passlab.lab.recording:Recording",
    "Trace": "passlab.debugger.trace:Trace",
    "diff": "passlab.diffing.diff:diff",
    "record": "passlab.lab.recording:record",
    "runtime": "passlab.relay.runtime",
    "load_ipython_extension": "passlab.notebook:load_ipython_extension",
    "unload_ipython_extension": "passlab.notebook:unload_ipython_extension",
}  # fmt: skip
__all__ = [
    "Device", "IRModule", "PasslabError", "Target", "VirtualDevice", "assert_structural_equal", "cpu", "cuda", "device",
    "gpu", "parse", "parse_expr", "structural_equal", "structural_hash",
]  # fmt: skip

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
