"""A recorded run on its program: what each node of the program as it was written computed, on the machine that ran it.

The value of a kernel is that of the last operator in it, where the passes of the compilation put that operator in the
place of a node of the program; the operators before it in the kernel have no value of their own, and none is made up.
Nor has a node that several instructions of a function stem from: which of them has its value is not known. Where equal
functions became one, its nodes have the values of all. Linear in the instructions that ran.
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

_OTHER = ("kill_register", "move")  # instructions that serve a projection and do not compute it


def node_values_of(trace: TraceData) -> NodeValues:
    """Return what a recorded run computed, node by node of its program.

    Raises `RunError` for the run of an executable whose program is not known.
    """
    mod = trace.source
    if mod is None:
        hint = "run the program or a recording of its compilation: vm.Debugger(net, *args)"
        raise RunError(Diagnostic("the program of this executable is not known", hint=hint))
    run = NodeValues(mod, trace.entry)
    for param, value in zip(mod[trace.entry].params, trace.args, strict=False):
        run.note(param, value)
    homes = _Homes(trace, {node for function in mod.functions.values() for node in post_order(function)})
    for event in range(len(trace)):
        for node, start in homes.nodes(event):
            values = [value for _, _, value in trace.written(event)]
            value = values[0] if len(values) == 1 else tuple(values)
            if values and _fits(value, node.checked_type_):
                run.note(node, value, float(trace.seconds[start : event + 1].sum()))
    run.error = trace.error
    if trace.finished:
        run.result = trace.result
    return run


class _Homes:
    """Which nodes of the program have the value that an instruction writes, and since when it was computed."""

    def __init__(self, trace: TraceData, program: set[Expr]) -> None:
        self.trace, self.program = trace, program
        recording = trace.code_map.recording
        events = [] if recording is None else recording.events
        self._replaced = {new: old for event in events for old, new in event.rewrites if new is not old}
        self._origins = {} if recording is None else recording.provenance.origins
        code = trace.code_map
        claims = {site: (self._of(site), code.function[site]) for site in np.unique(trace.site).tolist()}
        counts = Counter(claims.values())
        self._nodes = {site: claim[0] for site, claim in claims.items() if counts[claim] == 1}

    def nodes(self, event: int) -> list[tuple[Expr, int]]:
        """The nodes of which an instruction writes the value, and the instructions with which their computing began."""
        trace = self.trace
        sites = [event]
        if trace.role[event] == RETURN:
            sites = self._calls(int(trace.frame_of[event]))
        homes = [(self._nodes.get(int(trace.site[start])), start) for start in sites]
        return [(node, start) for node, start in homes if node is not None]

    def _calls(self, frame: int) -> list[int]:
        """The calls whose value a frame returns: several where it was entered by tail calls, none for the program's."""
        log, calls = self.trace.log, []
        while (created := int(log.created[frame])) >= 0:
            calls.append(created)
            caller = int(self.trace.frame_of[created])
            if caller == int(log.parent[frame]):
                break
            frame = caller
        return calls

    def _of(self, site: int) -> Expr | None:
        """The node of the program whose place the last node of an instruction has, or which it only rebuilds."""
        code = self.trace.code_map
        nodes: list[Any] = code.nodes(site)
        if not nodes or code.role[site] not in (PLAIN, KERNEL, CALL):
            return None
        if code.role[site] == PLAIN and (type(nodes[-1]) is not TupleGetItem or code.mnemonic(site) in _OTHER):
            return None
        node: Expr | None = nodes[-1]
        while node is not None and node not in self.program:
            node = self._before(node)
        return node

    def _before(self, node: Expr) -> Expr | None:
        """What a node was before the pass that made it; None where it is only a part of what took a node's place."""
        origin = self._origins.get(node)
        exact = origin is not None and (origin.rebuilt or self._replaced.get(node) is origin.old)
        return origin.old if origin is not None and exact and origin.old is not node else None


def _fits(value: Any, ty: Type | None) -> bool:
    """Whether a value has the shape that the type of a node says, as far as that is known: the same layout."""
    if not isinstance(ty, TensorType) or not isinstance(value, np.ndarray):
        return True
    sizes = zip(value.shape, ty.shape, strict=False)
    return value.ndim == len(ty.shape) and all(dim == size for size, dim in sizes if isinstance(dim, int))
