"""`Table`: rows of plain data with a stable text form, convertible to a pandas data frame.

Instruments and lists of passes return tables. The text depends neither on the width of a terminal nor on pandas.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassValueError, did_you_mean, visible
from passlab.lazy import notebook_forms

if TYPE_CHECKING:
    import pandas as pd


_WIDEST = 160  # characters of a line; where the columns need more, the widest is wrapped


class Word(NamedTuple):
    """A word that names columns: what it means, and the unit of its numbers ("s", "bytes", "%"), "" for a count."""

    meaning: str
    unit: str = ""


# The names of columns: one word for one concept, in every table and data frame.
COLUMNS: Mapping[str, Word] = {
    "step": Word('the number of a pass in its pipeline or dump, from 1; 0 and "input" are the program before them'),
    "steps": Word("how many steps there are"),
    "pass": Word("the name of a pass, with its options where they are known"),
    "depth": Word("in how many other passes this one ran"),
    "made_by": Word("the pass that made a node or a line"),
    "came_from": Word("the nodes that a node was made from"),
    "since": Word("the first step that may have made this: dumps that leave steps out give a range"),
    "phase": Word("the part of a compilation, or of a solution, that this belongs to"),
    "rule": Word("the name of a rewrite rule"),
    "rules": Word("the rewrite rules that were applied, and how often"),
    "rewrites": Word("how many rewrites were made"),
    "made": Word("whether a rewrite was made, and not held back"),
    "status": Word("what came of a pass or a compilation: ran, skipped, failed, or input"),
    "outcome": Word("what a pass or a check came to, in a few words"),
    "verdict": Word("what a pass of a dump did, as far as the dump shows it"),
    "why": Word("the reason for an outcome"),
    "changed": Word("whether something changed; of a search, how many programs did"),
    "change": Word("how something changed"),
    "error": Word("the exception that was raised, with its message"),
    "failed": Word("whether the pass raised an exception"),
    "ran": Word("whether the pass ran"),
    "note": Word("a remark on this row"),
    "opt_level": Word("the optimisation level from which a pass runs"),
    "required": Word("the passes that a pass needs before it"),
    "options": Word("the options of a pass, with their defaults"),
    "contract": Word("what a pass promises"),
    "other_name": Word("another name of the same pass"),
    "what_it_does": Word("one sentence about what this is for"),
    "what_it_would_do": Word("what a pass would do to the program"),
    "what_happened": Word("what a pass did, as an instrument saw it"),
    "what_was_cut": Word("what a reduction took out of the program"),
    "what_to_do": Word("the fix"),
    "kind": Word("the class of a thing in a word"),
    "kinds": Word("the classes of inputs that were compared"),
    "role": Word("what a thing is used for"),
    "seconds": Word("wall time, with everything inside; seconds of a pass include the passes in it", "s"),
    "own_seconds": Word("wall time without the passes inside", "s"),
    "start_seconds": Word("when this began, after the start of the measurement", "s"),
    "percent": Word("part of the time of all rows", "%"),
    "percent_of_all": Word("part of the time of all passes", "%"),
    "percent_of_parent": Word("part of the time of the pass around this one", "%"),
    "bytes": Word("memory that is read, written or held, as the table says", "bytes"),
    "peak_bytes": Word("the largest memory in use at once", "bytes"),
    "kept_bytes": Word("memory still in use at the end", "bytes"),
    "live_bytes": Word("memory of the storages that are alive", "bytes"),
    "constant_bytes": Word("memory of the constants of a program", "bytes"),
    "functions": Word("how many functions a program has"),
    "nodes": Word("how many nodes a program has; of a kernel or a graph, the nodes in it"),
    "calls": Word("how many calls of an operator or a kernel there are"),
    "kernels": Word("how many kernels a program calls"),
    "parameters": Word("elements of all constants"),
    "elements": Word("elements that all calls together compute"),
    "macs": Word("multiply-accumulate operations of one run"),
    "operators": Word("the names of operators, or how the number of their calls changed"),
    "operator": Word("the name of an operator"),
    "function": Word("the name of a function"),
    "node": Word("a node of a program, in a few words"),
    "fields": Word("the fields of a node that changed"),
    "name": Word("the name of a value, a box or a file"),
    "box": Word("the number of a box in a picture of a graph"),
    "attribute": Word("the name of an attribute"),
    "attributes": Word("the attributes of an operator"),
    "inputs": Word("the inputs of an operator; of a comparison, on how many inputs it was made"),
    "pattern": Word("how an operator can be fused"),
    "level": Word("the support level of an operator, 1 to 10"),
    "value": Word("a value, in a few words"),
    "values": Word("how the values of two programs compare"),
    "shape": Word("the extents of a tensor"),
    "shapes": Word("dtypes and extents of the arguments and results of a kernel"),
    "dtype": Word("the dtype of a tensor"),
    "stride": Word("elements from one place to the next, for each dimension"),
    "minimum": Word("the smallest finite number of a value"),
    "maximum": Word("the largest finite number of a value"),
    "nan": Word("how many numbers are NaN"),
    "inf": Word("how many numbers are infinite"),
    "largest_error": Word("the largest absolute difference of two values"),
    "relative_error": Word("the largest difference from the first result, over its largest magnitude"),
    "runs": Word("how many times something ran, or a node was computed"),
    "kernel": Word("the name of a kernel, or of another instruction of the machine"),
    "device": Word("the device that holds or runs this"),
    "runs_on": Word("the device or provider that computes a kernel"),
    "hash": Word("the hash of what a kernel computes"),
    "instruction": Word("an instruction of bytecode, as text"),
    "opcode": Word("the operation of an instruction"),
    "pc": Word("the index of an instruction in its function"),
    "frame": Word("the number of a frame of the virtual machine"),
    "instant": Word("an instant of a trace: how many instructions were executed before it"),
    "event": Word("an event of a profile or a compilation: its number, or its name"),
    "register": Word("a register of the virtual machine"),
    "wrote": Word("the registers that an instruction wrote"),
    "written_at": Word("the instant at which a register was written"),
    "written_by": Word("the step or part that wrote a file"),
    "original": Word("the value in the original run"),
    "branch": Word("the value in the run that branched off"),
    "storage": Word("the number of a storage"),
    "born": Word("the instant at which a storage was allocated"),
    "died": Word("the instant at which a storage was released"),
    "lane": Word("the place of a storage in the picture of memory"),
    "constant": Word("the number of a constant"),
    "number": Word("the number of this row's thing, from 1 or, for kernels, from 0"),
    "program": Word("a program, or whether two programs are the same"),
    "programs": Word("how many programs there are"),
    "source": Word("where this comes from: an input, a generator, an expression"),
    "tried": Word("how many programs a search ran"),
    "removed": Word("how many nodes were removed"),
    "added": Word("how many nodes were added"),
    "skipped": Word("nodes more or fewer if the pass is left out"),
    "repeated": Word("nodes more or fewer if the pass runs twice"),
    "moved": Word("nodes more or fewer if the pass runs one place later"),
    "result": Word("how the result compares with the result of the unchanged pipeline"),
    "shortest_way": Word("the fewest passes that lead to a program"),
    "compared_on": Word("on how many inputs the programs were compared"),
    "left_out": Word("what was not compared"),
    "effect": Word("what a step of a solution does"),
    "decision": Word("what a solver decided, and why"),
    "model": Word("the name of a model"),
    "file": Word("the name of a file"),
    "path": Word("the names of the passes around this one, and its own"),
    "line": Word("the number of a line, from 1"),
    "lines": Word("how many lines a text has, or the numbers of the lines meant"),
    "text": Word("a line or a program as it is written"),
    "lines_at_the_end": Word("how many lines of the last program come from this line"),
    "same_text": Word("whether both texts are equal but for names"),
    "unit": Word("the function, graph or module of a dump that a step ran on"),
    "remark": Word("a remark of the compiler"),
    "remarks": Word("how many remarks of the compiler belong to this"),
    "statistics": Word("what the compiler counted in a pass, over all its runs"),
    "place": Word("a place in a file of the user: `file:line`"),
    "called_at": Word("the place of the call in a file of the user"),
    "user_code": Word("the line of the user's program"),
    "report": Word("the report that a figure is from"),
    "what": Word("what was measured or counted"),
    "count": Word("how often a compiler counted something"),
    "metric": Word("the name of a figure"),
    "compile_id": Word("the number of a compilation of torch.compile"),
    "record": Word("the number of the record in the log"),
    "version": Word("the compiled version that did not fit a call"),
    "guard": Word("the code of a guard"),
    "guards": Word("how many guards were made"),
    "graphs": Word("how many graphs were captured"),
    "source_nodes": Word("the nodes of the program that a kernel computes"),
    "explanation": Word("why the compiler cannot go on here"),
    "hint": Word("a remedy that the compiler names"),
    "detail": Word("facts about a finding"),
    "symbol": Word("the name of a symbolic size"),
    "range": Word("the values that a symbol can have"),
    "part": Word("a part of the installation"),
    "state": Word("whether it is in order"),
    "passes": Word("how many of the passes ran"),
    "holds": Word("whether the property still held"),
    "how_the_tool_ended": Word("the exit status or the signal of the tool"),
}
# Endings of a word: of two programs or recordings, and of a program before a pass, or its difference.
SIDES = ("_a", "_b", "_before", "_change")


@checked
class Table:
    """Rows under named columns. Methods and columns of a data frame (`query`, `sort_values`, ...) work on `frame()`.

    Raises `PassValueError` for a row that has not one value for each column.

    >>> table = passlab.table.Table(("operator", "calls"), [("exp", 1), ("add", 3)])
    >>> table.column("calls"), table.search("exp").rows
    ([1, 3], [('exp', 1)])
    """

    _repr_mimebundle_ = notebook_forms

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.columns = list(columns)
        self.rows = [tuple(row) for row in rows]
        _check_widths(self.columns, self.rows)

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

    def __getitem__(self, key: int | str | Sequence[str] | pd.Series) -> Any:
        if isinstance(key, int):
            return dict(zip(self.columns, self.rows[key], strict=True))
        if isinstance(key, str):
            self.column(key)  # raises for one that is not there
        return self.frame()[key]

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


@checked
def text_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as aligned text under a heading: numbers to the right, everything else to the left.

    Where lines would be longer than a terminal is wide, the widest column of text is wrapped. Raises `PassValueError`
    for a row that has not one value for each column.
    """
    rows = list(rows)
    _check_widths(columns, rows)
    units = [unit_of(name) for name in columns]
    cells = [[_cell(value, unit) for value, unit in zip(row, units, strict=True)] for row in rows]
    heads = [spoken(name) for name in columns]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    right = [
        bool(rows) and all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        for i in range(len(columns))
    ]
    over = sum(widths) + 2 * len(widths) - _WIDEST
    if over > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        widths[widest] = max(_WIDEST // 2, widths[widest] - over)

    def lines(values: Sequence[str]) -> Iterator[str]:
        parts = [
            textwrap.wrap(v, w, break_on_hyphens=False) if len(v) > w else [v]
            for v, w in zip(values, widths, strict=True)
        ]
        for line in zip_longest(*parts, fillvalue=""):
            aligned = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(line, widths, right, strict=True))
            yield "  ".join(aligned).rstrip()

    return "\n".join(
        [*lines(heads), *lines(["-" * w for w in widths]), *(line for row in cells for line in lines(row))]
    )


def _check_widths(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        if len(row) != len(columns):
            raise PassValueError(Diagnostic(f"a row has {len(row)} values, for {len(columns)} columns"))


def _cell(value: Any, unit: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return seconds_text(value) if unit == "s" else f"{value:.2f}"
    return visible(str(value)).replace("\n", " ")


@checked
def seconds_text(seconds: float) -> str:
    """Return a duration in seconds as text, to a microsecond."""
    return f"{seconds:,.6f}"


@checked
def unit_of(column: str) -> str:
    """Return the unit of a column: "s", "bytes", "%", or "" for words and counts."""
    word = word_of(column)
    return COLUMNS[word].unit if word else ""


@checked
def spoken(column: str) -> str:
    """Return the heading of a column: its name as words. Names of operators and passes stay as they are."""
    return column.replace("_", " ") if word_of(column) else str(column)


@checked
def word_of(column: str) -> str:
    """Return the word of `COLUMNS` that a column is named by, without an ending of `SIDES`; "" for another name."""
    for ending in ("", *SIDES):
        word = column.removesuffix(ending)
        if word in COLUMNS and word + ending == column:
            return word
    return ""
