"""`Table`: rows of plain data with a stable text form, convertible to a pandas data frame.

Instruments and lists of passes return tables. The text depends neither on the width of a terminal nor on pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PassValueError, did_you_mean, visible
from passlab.lazy import notebook_forms

if TYPE_CHECKING:
    import pandas as pd


_WIDEST = 400  # characters to which columns of text are aligned; a longer cell stands out


class Table:
    """Rows under named columns. Methods and columns of a data frame (`query`, `sort_values`, ...) work on `frame()`.

    >>> table = passlab.table.Table(("operator", "calls"), [("exp", 1), ("add", 3)])
    >>> table.column("calls"), table.search("exp").rows
    ([1, 3], [('exp', 1)])
    """

    _repr_mimebundle_ = notebook_forms

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.columns = list(columns)
        self.rows = [tuple(row) for row in rows]

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=self.columns)

    def column(self, name: str) -> list[Any]:
        """Return the values of one column. Raises `PassValueError` for one that is not there."""
        if name not in self.columns:
            hint = did_you_mean(name, self.columns) or f"there are {', '.join(self.columns)}"
            raise PassValueError(Diagnostic(f"the table has no column `{name}`", hint=hint))
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def search(self, *words: str) -> Table:
        """Return the rows that contain every word, in any column and letter case."""
        terms = [word.casefold() for text in words for word in text.split()]
        texts = (" ".join(map(str, row)).casefold() for row in self.rows)
        return Table(
            self.columns, [row for row, text in zip(self.rows, texts, strict=True) if all(w in text for w in terms)]
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, key: Any) -> Any:
        return dict(zip(self.columns, self.rows[key], strict=True)) if isinstance(key, int) else self.frame()[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.frame(), name)

    def __str__(self) -> str:
        return text_table(self.columns, self.rows)

    __repr__ = __str__


class Tabular:
    """An object with a table of its contents: `table()` as plain data, `text()`, and `frame()` for pandas.

    >>> from passlab.table import Table, Tabular
    >>> class Squares(Tabular):
    ...     def table(self):
    ...         return Table(("n", "square"), [(n, n * n) for n in range(3)])
    >>> Squares().frame().square.sum().item()
    5
    """

    _repr_mimebundle_ = notebook_forms

    def table(self) -> Table:
        """Return the object as rows under named columns."""
        raise NotImplementedError

    def frame(self) -> pd.DataFrame:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return `table()` as text."""
        return str(self.table())


def text_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as aligned text under a heading: numbers to the right, everything else to the left."""
    rows = list(rows)
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [min(_WIDEST, max([len(name), *(len(row[i]) for row in cells)])) for i, name in enumerate(columns)]
    right = [
        bool(rows) and all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        for i in range(len(columns))
    ]

    def line(values: Sequence[str]) -> str:
        cells = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True))
        return "  ".join(cells).rstrip()

    return "\n".join([line([str(name) for name in columns]), line(["-" * w for w in widths]), *map(line, cells)])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return visible(str(value)).replace("\n", " ")
