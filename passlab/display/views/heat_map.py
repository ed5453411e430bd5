"""The view of `lab.what_if`: a heat map of passes and changes, whose cells open their pipelines next to the
original.
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.display.protocol.recordings import HeatCell, HeatMapData
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Fold, Part, Sentence
from passlab.errors import counted, visible
from passlab.lab.variants.what_if import CHANGES, Variant, WhatIfTable

FACTS = {"nodes": "nodes", "kernels": "kernels", "constant_bytes": "bytes of constants", "elements": "elements"}


class HeatMapView(View):
    """The effect of each pass of a pipeline: the result without it, with it twice, and with it after the next one."""

    kind = script = "heatmap"

    def __init__(self, table: WhatIfTable) -> None:
        self.table = table

    @property
    def title(self) -> str:
        """How many variants there are, and how many of them lead to the same program."""
        variants = self.table.variants
        same = sum(variant.same for variant in variants)
        return f"What if: {counted(len(variants), 'variant')} of a pipeline, {same:,} with the same result"

    def parts(self) -> Iterable[Part]:
        """Yield the heat map, the laws, and the numbers of every variant."""
        yield Sentence(self.title, "muted")
        yield Rows(self.table.heat_map())
        for law in self.table.laws():
            yield Sentence(law)
        yield Fold("all variants", [Rows(self.table.table())])
        if self.table.stopped:
            yield Sentence(f"Stopped: {self.table.stopped}.", "bad")

    def data(self) -> HeatMapData:
        table = self.table
        heat = table.heat_map()
        cells = [
            [self._cell(table.variant(change, number), text) for change, text in zip(CHANGES, row[1:], strict=True)]
            for number, row in enumerate(heat.rows, 1)
        ]
        return {
            "kind": self.kind,
            "title": self.title,
            "passes": [visible(one.info.name) for one in table.passes],
            "columns": list(CHANGES),
            "cells": cells,
            "laws": [visible(law) for law in table.laws()],
            "note": f"Stopped: {table.stopped}." if table.stopped else "",
        }

    def _cell(self, variant: Variant | None, text: str) -> HeatCell | None:
        """A cell: its text, its outcome, by how many nodes the result differs, and facts about the variant."""
        if variant is None:
            return None
        cost, base = variant.cost, self.table.base.cost
        facts, difference = [], 0
        if cost is not None and base is not None:
            difference = cost.nodes - base.nodes
            facts = [f"{name}: {_change(getattr(base, field), getattr(cost, field))}" for field, name in FACTS.items()]
        values = variant.correct if cost is None else f"values: {variant.correct}"
        outcome = text if text in ("fails", "wrong") else "same" if variant.same else "differs"
        return {"text": text, "outcome": outcome, "nodes": difference, "facts": [*facts, visible(values)]}

    def source(self) -> HasFrame:
        """Return the table: one row per variant, with the seconds it took."""
        return self.table


def _change(old: int, new: int) -> str:
    return f"{old:,}" if old == new else f"{old:,} → {new:,}"


@checked_view(WhatIfTable, hint="lab.what_if(mod, passes) returns one")
def heat_map_view(table: WhatIfTable) -> HeatMapView:
    """Return the view of the variants of a pipeline.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> display.heat_map_view(lab.what_if(mod, "FoldConstant, FuseOps", seconds=5)).title
    'What if: 5 variants of a pipeline, 2 with the same result'
    """
    return HeatMapView(table)
