"""The view of the passes that would change a program, each by itself, and of what each would do.

The file begins with the view of any table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from passlab.display.protocol.analyses import ProspectRow, ProspectsData
from passlab.display.rows import Rows, shown_value
from passlab.display.view import BriefView, HasFrame, checked_view
from passlab.display.view_parts import Part
from passlab.errors import visible
from passlab.ir.module import IRModule
from passlab.lab.variants.prospects import prospects
from passlab.table import Table


# ---------------------------------------------------------------- tables: of passes, of origins, of an instrument
class TableView(BriefView):
    """A table. `title` is what it is called, above it."""

    kind = "table"
    title = ""

    def __init__(self, table: Table, title: str = "") -> None:
        self.table, self.title = table, title

    def parts(self) -> Iterable[Part]:
        yield Rows(self.table, self.title, brief=self.brief)

    def data(self) -> Mapping[str, Any]:
        rows = [[shown_value(value) for value in row] for row in self.table.rows]
        return {"kind": self.kind, "title": self.title, "columns": list(self.table.columns), "rows": rows}

    def source(self) -> HasFrame:
        """Return the rows as a pandas data frame."""
        return self.table


@checked_view(Table, hint="`table()` of a result returns one")
def table_view(table: Table, title: str = "") -> TableView:
    """Return the view of a table, under a title if it has one.

    >>> print(display.table_view(transform.list_passes().search("fuse"), "passes").title)
    passes
    """
    return TableView(table, title)


# ---------------------------------------------------------------- prospects
FAILS = "fails"


class ProspectsView(TableView):
    """Passes that would change a program, failing ones last. `name` is the name of the program."""

    kind = script = "prospects"

    def __init__(self, mod: IRModule, name: str = "") -> None:
        table = prospects(mod)
        rows = sorted(table.rows, key=lambda row: str(row[-1]).startswith(FAILS))
        called = f"`{name}`" if name else "the program"
        what = "these passes, each by itself, would change" if rows else "no pass that needs no options would change"
        super().__init__(
            Table(("pass", "opt_level", "what_it_would_do"), rows),
            f"{what} {called}; `%passes {name or 'NAME'} PASS` runs one",
        )
        self.mod, self.name = mod, name

    def data(self) -> ProspectsData:
        """Return the rows: pass, level, what it would do, and whether it fails."""
        rows = [
            ProspectRow(visible(name), level, visible(what).removeprefix(f"{FAILS}: "), str(what).startswith(FAILS))
            for name, level, what in self.table.rows
        ]
        return {"kind": self.kind, "title": self.title, "rows": rows}


@checked_view(IRModule, hint="passlab.parse(text) returns one")
def prospects_view(mod: IRModule, name: str = "") -> ProspectsView:
    """Return the view of the passes that would change a program; each is tried on it: see `lab.prospects`.

    >>> display.prospects_view(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "net").title
    'these passes, each by itself, would change `net`; `%passes net PASS` runs one'
    """
    return ProspectsView(mod, name)
