"""Live recordings of other compilers' passes: each module records one host, imported when it is asked for.

    from passlab.recorders import tvm, xdsl, onnx, torch, mlir
    rec = tvm.record(mod, pipeline)

`Recorder` is the protocol they all speak; with it a recorder for another compiler is thirty lines.
"""

from __future__ import annotations

from passlab.recorders.protocol import GraphNode, Recorder

__all__ = ["GraphNode", "Recorder"]
