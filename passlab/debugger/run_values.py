"""The values that a recorded run computed for the nodes of its source program.

The value of a kernel belongs to its last operator, if the passes of the compilation put that operator in the place of
a node of the source program; the other operators of the kernel have no value. Nor has a node that became several
instructions of one function: it is unknown which of them has its value. Where equal functions became one, its nodes
have the values of all. Linear in the number of instructions executed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, PLAIN, RETURN
from passlab.errors import Diagnostic, RunError
from passlab.ir.expr import Expr, TupleGetItem
from passlab.ir.types import TensorType, Type
from passlab.ir.walk import post_order
from passlab.lab.node_values import NodeValues

if TYPE_CHECKING:
    from passlab.debugger.trace_data import TraceData

_NO_PROJECTION = ("kill_register", "move")  # instructions of a projection that do not compute it


def node_values_of(trace: TraceData) -> NodeValues:
    """Return the values of the nodes of a recorded run's program.

    Raises `RunError` for the run of an executable whose program is unknown.
    """
    mod = trace.source
    if mod is None:
        hint = "debug the program or a recording of its compilation: vm.Debugger(net, *args)"
        raise RunError(Diagnostic("the program of this executable is unknown", hint=hint))
    run = NodeValues(mod, trace.entry)
    for param, value in zip(mod[trace.entry].params, trace.args, strict=False):
        run.note(param, value)
    sources = _SourceNodes(trace, {node for function in mod.functions.values() for node in post_order(function)})
    for event in range(len(trace)):
        for node, start in sources.computed_by(event):
            values = [value for _, _, value in trace.written(event)]
            value = values[0] if len(values) == 1 else tuple(values)
            if values and _has_shape(value, node.checked_type_):
                run.note(node, value, float(trace.seconds[start : event + 1].sum()))
    run.error = trace.error
    if trace.finished:
        run.result = trace.result
    return run


class _SourceNodes:
    """The nodes of the source program whose values instructions write."""

    def __init__(self, trace: TraceData, program: set[Expr]) -> None:
        self.trace, self.program = trace, program
        recording = trace.code_map.recording
        events = [] if recording is None else recording.events
        self._replaced = {new: old for event in events for old, new in event.rewrites if new is not old}
        self._origins = {} if recording is None else recording.provenance.origins
        code = trace.code_map
        claims = {point: (self._source_node(point), code.function[point]) for point in np.unique(trace.point).tolist()}
        counts = Counter(claims.values())
        self._nodes = {point: claim[0] for point, claim in claims.items() if counts[claim] == 1}

    def computed_by(self, event: int) -> list[tuple[Expr, int]]:
        """Return the nodes whose value an event writes, each with the event that began to compute it."""
        trace = self.trace
        starts = [event]
        if trace.role[event] == RETURN:
            starts = self._calls(int(trace.frame_of[event]))
        nodes = [(self._nodes.get(int(trace.point[start])), start) for start in starts]
        return [(node, start) for node, start in nodes if node is not None]

    def _calls(self, frame: int) -> list[int]:
        """Return the calls whose value a frame returns: several after tail calls, none for the entry of the program."""
        log, calls = self.trace.log, []
        while (created := int(log.created[frame])) >= 0:
            calls.append(created)
            caller = int(self.trace.frame_of[created])
            if caller == int(log.parent[frame]):
                break
            frame = caller
        return calls

    def _source_node(self, point: int) -> Expr | None:
        """Return the source node that the last node of an instruction replaced or rebuilt."""
        code = self.trace.code_map
        nodes = code.nodes(point)
        if not nodes or code.role[point] not in (PLAIN, KERNEL, CALL):
            return None
        if code.role[point] == PLAIN and (
            type(nodes[-1]) is not TupleGetItem or code.mnemonic(point) in _NO_PROJECTION
        ):
            return None
        node: Expr | None = nodes[-1]
        while node is not None and node not in self.program:
            node = self._predecessor(node)
        return node

    def _predecessor(self, node: Expr) -> Expr | None:
        """Return the node that a pass replaced by this one; None where this is only a part of the replacement."""
        origin = self._origins.get(node)
        exact = origin is not None and (origin.rebuilt or self._replaced.get(node) is origin.old)
        return origin.old if origin is not None and exact and origin.old is not node else None


def _has_shape(value: Any, ty: Type | None) -> bool:
    """Whether a value has the known dimensions of a node's type; passes of layouts change them."""
    if not isinstance(ty, TensorType) or not isinstance(value, np.ndarray):
        return True
    sizes = zip(value.shape, ty.shape, strict=False)
    return value.ndim == len(ty.shape) and all(dim == size for size, dim in sizes if isinstance(dim, int))
