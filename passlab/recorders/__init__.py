"""Live recordings of the passes of other compilers: each module records one host, and is imported on its own.

    from passlab.recorders import tvm, xdsl, onnx, torch, mlir, triton
    rec = tvm.record(mod, pipeline)

`HostRecorder` is the protocol of all of them; with it a recorder for another compiler takes thirty lines.
"""

from __future__ import annotations

from passlab.recorders.protocol import GraphNode, HostRecorder

__all__ = ["GraphNode", "HostRecorder"]
