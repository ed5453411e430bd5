"""The view of the passes that would change a program, each by itself, and of what each would do."""

from __future__ import annotations

from passlab.display.protocol.analyses import ProspectRow, ProspectsData
from passlab.display.view import checked_view
from passlab.display.views.tables import TableView
from passlab.errors import visible
from passlab.ir.module import IRModule
from passlab.lab.variants.prospects import prospects
from passlab.table import Table

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
            Table(("pass", "level", "what it would do"), rows),
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
    """Return the view of the passes that would change a program; each is tried on it: see `lab.prospects`."""
    return ProspectsView(mod, name)
