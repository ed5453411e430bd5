"""The view of a table, such as a list of passes, the origins of nodes, or the measurements of an instrument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from passlab.display.parts import Part
from passlab.display.rows import Rows, shown_value
from passlab.display.view import HasFrame, View, checked_view
from passlab.table import Table


class TableView(View):
    """A table. `title` is what it is called, above it."""

    kind = "table"
    title = ""

    def __init__(self, table: Table, title: str = "") -> None:
        self.table, self.title = table, title

    def parts(self) -> Iterable[Part]:
        yield Rows(self.table, self.title)

    def data(self) -> Mapping[str, Any]:
        rows = [[shown_value(value) for value in row] for row in self.table.rows]
        return {"kind": self.kind, "title": self.title, "columns": list(self.table.columns), "rows": rows}

    def source(self) -> HasFrame:
        """Return the rows as a pandas data frame."""
        return self.table


@checked_view(Table, hint="`table()` of a result returns one")
def table_view(table: Table, title: str = "") -> TableView:
    """Return the view of a table, under a title if it has one."""
    return TableView(table, title)
