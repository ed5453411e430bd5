"""The names of columns are one vocabulary, `passlab.table.COLUMNS`: in every table, data frame and chart of passlab."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.debugger.trace import Trace
from passlab.display import charts, profile_view, timing_view
from passlab.instrument import MemoryInstrument, PassTimingInstrument, StatisticsInstrument, TraceInstrument
from passlab.table import COLUMNS, SIDES, Table, spoken, unit_of, word_of
from passlab.transform import PassContext
from tests.architecture.sources import python_sources
from tests.each import each

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "columns.md"
# Columns that a program, a pipeline or another table names, by the expression that gives them.
OPEN = {
    "shown": "operations of a dump",
    "list(names) or [op for op, _ in moved.most_common(12) if op]": "operations of a dump",
    "self.passes": "passes of a pipeline",
    "table.columns": "columns of another table",
    "[names[at] for at in kept]": "columns of another table",
    "bars": "what a chart counts: its kinds are words of their own below",
    "length": "what a chart counts",
    "_columns(rows)": "renamed by FRAME_COLUMNS",
}


def columns_of(source):
    """Yield (line, name or None, expression) for the columns of each table and data frame that a module makes."""
    if "Table(" not in source.text and ".DataFrame(" not in source.text:
        return
    name = source.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    made = []
    for node in source.all(ast.Call):
        if getattr(node.func, "id", getattr(node.func, "attr", "")) == "Table":
            made.append((node, node.args[0]))
        if getattr(node.func, "attr", "") == "DataFrame":
            named = [keyword.value for keyword in node.keywords if keyword.arg == "columns"]
            made.append((node, named[0] if named else node.args[0]))
    scopes = list(source.all(ast.FunctionDef))
    for call, expression in made:
        around = [scope for scope in scopes if scope.lineno <= call.lineno <= (scope.end_lineno or 0)]
        yield from ((call.lineno, *found) for found in resolved(expression, around[-1:], name))


def resolved(expression, around, module):
    """Yield (name, expression) of each column; the name is None where only a run tells it."""
    if isinstance(expression, (ast.Tuple, ast.List)):
        for one in expression.elts:
            yield from resolved(one.value if isinstance(one, ast.Starred) else one, around, module)
        return
    if isinstance(expression, ast.Constant):
        yield expression.value, repr(expression.value)
        return
    if isinstance(expression, ast.Dict):
        for key in expression.keys:
            yield from resolved(key, around, module)
        return
    if isinstance(expression, ast.Name):
        local = [
            node.value
            for scope in around
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [expression.id]
        ]
        added = [
            node.args[0]
            for scope in around
            for node in ast.walk(scope)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{expression.id}.append"
        ]
        if local:
            for value in (*local, *added):
                yield from resolved(value, around, module)
            return
    try:
        values = eval(ast.unparse(expression), dict(vars(importlib.import_module(module))))
        yield from ((str(value), ast.unparse(expression)) for value in values)
    except NameError:
        yield None, ast.unparse(expression)


@functools.cache
def every_column():
    """(path, line, name or None, expression) of the columns of every table and data frame of passlab."""
    sources = [source for source in python_sources("passlab") if source.path != "passlab/table.py"]
    return [(source.path, *found) for source in sources for found in columns_of(source)]


def test_every_column_of_every_table_is_a_word_of_the_vocabulary():
    assert len(every_column()) > 250  # the search still finds the tables
    wrong = [
        f"{path}:{line}: {name or expression}"
        for path, line, name, expression in every_column()
        if (expression not in OPEN if name is None else not word_of(name))
    ]
    assert wrong == []


def test_every_word_is_the_name_of_a_column():
    used = {word_of(name) for *_, name, _ in every_column() if name is not None}
    used |= {word_of(name) for kinds in charts._CHARTS.values() for name in kinds}
    used |= {"kernel", "seconds", "percent", "device", "calls", "shapes", "bytes", "node", "hash", "relative_error"}
    assert set(COLUMNS) - used == set()


@each("name", sorted(COLUMNS))
def test_a_word_is_an_attribute_of_a_frame_with_a_meaning_and_at_most_one_unit(name):
    word = COLUMNS[name]
    assert re.fullmatch("[a-z]+(_[a-z]+)*", name)
    assert word.meaning[0].islower() or word.meaning[0] in '`"'
    assert not word.meaning.endswith(".")
    assert word.unit == ("s" if "seconds" in name else "bytes" if "bytes" in name else "%" if "percent" in name else "")


def test_no_two_words_mean_the_same():
    meanings = [word.meaning for word in COLUMNS.values()]
    assert len(set(meanings)) == len(meanings)


def test_the_manual_has_the_vocabulary():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(name, word.meaning, word.unit) for name, word in sorted(COLUMNS.items())]
    assert all(f"`{side}`" in PAGE.read_text(encoding="utf-8") for side in SIDES)


def test_headings_are_words_and_names_of_operators_stay():
    table = Table(("peak_bytes", "batch_norm", "seconds_b"), [(1, 2, 0.25)])
    assert str(table).split("\n")[0].split("  ") == ["peak bytes", "batch_norm", "seconds b"]
    assert str(table).split()[-1] == "0.250000"
    assert spoken("made_by") == "made by"
    assert unit_of("start_seconds") == "s"
    assert word_of("_a") == ""


# ---------------------------------------------------------------- the same quantity, in the same unit
NET = "def @main(%x: Tensor[(64, 64), float32]) { tanh(exp(tanh(%x))) }"


def test_times_of_one_run_are_seconds_in_every_frame():
    timing, trace, statistics, memory = (
        PassTimingInstrument(), TraceInstrument(), StatisticsInstrument(), MemoryInstrument(),
    )  # fmt: skip
    with PassContext(instruments=[timing, trace, statistics, memory]):
        recording = passlab.record(passlab.parse(NET), ["InferType", "FuseOps"])
    expected = [event.seconds for event in recording.steps if event.status == "ran"]
    frame = recording.frame()
    assert frame[(frame.status == "ran") & (frame.depth == 0)].seconds.tolist() == expected
    view = timing_view(recording).frame()
    assert view[view.depth == 0].seconds.tolist()[-len(expected) :] == pytest.approx(expected)
    for one in (timing, trace):
        measured = one.frame()
        seconds = measured[measured["pass"].isin(["InferType", "FuseOps"])].seconds
        assert 0 < seconds.sum() <= 2 * sum(expected) + 1
    assert {"nodes", "nodes_before"} <= set(statistics.frame().columns)
    assert {"peak_bytes", "kept_bytes"} <= set(memory.frame().columns)
    assert recording.frame().step.tolist() == [event.id for event in recording.events]


def test_times_of_a_run_are_seconds_in_trace_profile_and_chart(rng):
    x = rng.random((64, 64), "float32")
    trace = Trace.record(relay.vm.compile(passlab.parse(NET), "llvm"), [x])
    instructions, report = trace.frame(), trace.profile()
    whole = float(np.sum(trace.seconds))
    assert instructions.seconds.sum() == pytest.approx(whole)
    assert report.frame().seconds.sum() == pytest.approx(whole)
    assert profile_view(report).frame().seconds.sum() == pytest.approx(whole)
    chart = charts.chart_of(report, "seconds").frame
    assert chart.seconds.sum() == pytest.approx(whole)
    assert list(report.frame().columns)[:6] == ["kernel", "seconds", "percent", "device", "calls", "shapes"]
