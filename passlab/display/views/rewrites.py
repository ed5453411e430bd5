"""The rewrites of a pass as data for a browser: rule, reason, removed and added nodes, the two parts side by side."""

from __future__ import annotations

from passlab.diffing.diff import diff, node_name
from passlab.display.nodes import number_of
from passlab.display.protocol.programs import DiffData
from passlab.display.protocol.recordings import Misses, RewriteRow
from passlab.display.views.diffs import DiffView
from passlab.errors import visible
from passlab.ir.expr import Expr
from passlab.lab.recordings.rewrites import RewriteStep
from passlab.rewriting.rules import NearMiss

MOST = 2000  # rewrites of a pass that are listed


def step_data(step: RewriteStep) -> RewriteRow:
    """Return the list entry of a rewrite, and the nodes that it highlights."""
    return {
        "rule": visible(step.rule),
        "pass_name": visible(step.event.name),
        "title": visible(f"{node_name(step.old)} → {node_name(step.new)}"),
        "why": visible(step.why),
        "nodes": [number_of(node) for node in (*step.removed, *step.added)],
    }


def parts_data(step: RewriteStep) -> DiffData:
    """Return the matched part and its replacement, side by side."""
    return DiffView(diff(step.before, step.after)).data()


def misses_data(node: Expr, misses: list[NearMiss]) -> Misses:
    """Return why rules did not rewrite a node."""
    rows = [[miss.rule.name, f"{miss.matched} of {miss.total}", miss.rule.pattern, miss.reason] for miss in misses[:8]]
    return {"node": visible(node_name(node)), "rows": [[visible(cell) for cell in row] for row in rows]}
