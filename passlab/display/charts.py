"""Charts of recordings, dumps and profiles, for notebooks and papers: `rec.plot("nodes")`.

    what is measured  ->  a tidy frame: one row a bar, steps as ordered categories  ->  bars, one a step

Altair draws them; Matplotlib where Altair is not installed. Both are optional: the extra `plot` has Altair and what it
needs to write files. `save_picture` writes a chart or a graph as SVG or PNG.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from passlab.arguments import checked
from passlab.atomic_file import atomic_file, checked_path, write_bytes, write_text
from passlab.display.views.graph import GraphView
from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, MissingPackageError, PassTypeError, PassValueError, did_you_mean, visible
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.lab.recordings.recording import Recording
from passlab.oracle.trial import Inputs, Trial
from passlab.vm.kernels.primitive import flat_values
from passlab.vm.report import Report

if TYPE_CHECKING:
    import pandas as pd

MOST_OPERATORS, OTHERS = 9, "others"  # operators with a colour of their own
MOST_BARS = 100
LONGEST = 64  # letters of a label
WIDTH, BAR = 460, 20  # pixels of the bars, and of one with its gap
INSTALL = "pip install altair vl-convert-python"
SCALE = 3  # pixels of a PNG for each point


class Chart(NamedTuple):
    """A chart as data: `frame` has a column for the bars' names, their length, and their `colour` ("" for none)."""

    frame: pd.DataFrame
    bars: str
    length: str
    axis: str
    colour: str = ""


def plot(value: Any, what: str = "", inputs: Inputs = None) -> Any:
    """Return a chart of a recording, a dump or a profile: an Altair chart, or a Matplotlib figure.

    `what` is the name of a column of its frame: see `chart_of`. Raises `MissingPackageError` if neither Altair nor
    Matplotlib is installed.
    """
    chart = chart_of(value, what, inputs)
    for name, draw in (("altair", _altair), ("matplotlib.pyplot", _matplotlib)):
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        return draw(package, chart)
    raise MissingPackageError(Diagnostic("a chart needs the package `altair` or `matplotlib`", hint=INSTALL))


def chart_of(value: Any, what: str = "", inputs: Inputs = None) -> Chart:
    """Return what a chart shows, as data.

    Of a `Recording`: "nodes", "operators" (calls), "seconds", "peak_bytes", or "error": the largest difference of the
    result after each step from the result of the input, over the input's largest magnitude, on drawn or given `inputs`.
    Of a `TextRecording`: "lines" after each step. Of a `Report`: "seconds" or "bytes" of each kernel.
    Raises `PassValueError` for others, and where nothing was measured.
    """
    for cls, charts in _CHARTS.items():
        if isinstance(value, cls):
            chosen = what or next(iter(charts))
            if chosen not in charts:
                hint = did_you_mean(chosen, charts) or f"there are {', '.join(charts)}"
                raise PassValueError(Diagnostic(f"a {cls.__name__} has no chart `{chosen}`", hint=hint))
            return charts[chosen](value, inputs)
    names = ", ".join(cls.__name__ for cls in _CHARTS)
    raise PassTypeError(Diagnostic("this object has no chart", expected=names, found=type(value).__name__))


# ---------------------------------------------------------------- what is measured
def _bars(names: Iterable[str], length: str, values: Iterable[float | None], axis: str, bars: str = "step") -> Chart:
    """One bar a name, in this order; names are made different by numbers."""
    import pandas as pd

    seen = Counter[str]()
    labels = []
    for name in map(_cut, names):
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    columns = {bars: pd.Categorical(labels, categories=labels, ordered=True), length: pd.Series(list(values))}
    frame = pd.DataFrame(columns).dropna(subset=[length])
    if frame.empty:
        hint = "passlab.record(mod, passes, memory=True) measures memory" if length == "peak_bytes" else None
        raise PassValueError(Diagnostic(f"`{length}` was not measured", hint=hint))
    if len(frame) > MOST_BARS:
        axis = f"{axis} (the first {MOST_BARS} of {len(frame):,})"
        frame = frame.head(MOST_BARS)
    frame[bars] = frame[bars].cat.remove_unused_categories()
    return Chart(frame, bars, length, axis)


def _label(event: Event) -> str:
    return _cut(f"{event.id} {event.text or event.name}")


def _cut(name: str) -> str:
    name = visible(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _steps(length: str, axis: str, measure: Callable[[Event], float | None]) -> Callable[[Recording, Inputs], Chart]:
    def chart(recording: Recording, _: Inputs) -> Chart:
        steps = [event for event in recording.steps if event.status != "skipped"]
        return _bars(map(_label, steps), length, map(measure, steps), axis)

    return chart


def _operators(recording: Recording, _: Inputs) -> Chart:
    import pandas as pd

    steps = [event for event in recording.steps if event.status != "skipped"]
    counts = [count_module(event.after)[1] for event in steps]
    most = Counter[str]()
    for calls in counts:
        most |= Counter(calls)
    shown = [name for name, _ in most.most_common(MOST_OPERATORS)]
    rows = []
    for event, calls in zip(steps, counts, strict=True):
        rest = sum(calls.values()) - sum(calls.get(name, 0) for name in shown)
        for name, count in (*((name, calls.get(name, 0)) for name in shown), (OTHERS, rest)):
            if count:
                rows.append((_label(event), name, count))
    frame = pd.DataFrame(rows, columns=["step", "operator", "calls"])
    frame["step"] = pd.Categorical(frame["step"], categories=list(dict.fromkeys(map(_label, steps))), ordered=True)
    operators = [name for name in (*shown, OTHERS) if name in set(frame["operator"])]
    frame["operator"] = pd.Categorical(frame["operator"], categories=operators, ordered=True)
    return Chart(frame, "step", "calls", "calls of operators", "operator")


def _error(recording: Recording, inputs: Inputs) -> Chart:
    trial = Trial(inputs, "main", 0)
    trial.check_inputs(recording.input)
    trial.draws(recording.input)
    first = trial.run(recording.input, 0)
    steps = [event for event in recording.steps if event.status != "skipped"]

    def distance(event: Event) -> float | None:
        run = trial.run(event.after, 0)
        if first.error is not None or run.error is not None:
            return None
        return relative_error(first.value, run.value)

    chart = _bars(
        map(_label, steps), "relative_error", map(distance, steps), "largest difference / largest value of the input"
    )
    trial.release()
    return chart


def relative_error(before: Any, after: Any) -> float | None:
    """Return the largest difference of two results over the largest magnitude of the first; None if they are unlike."""
    pairs = list(zip(flat_values([before]), flat_values([after]), strict=False))
    if any(not isinstance(x, np.ndarray) or x.dtype == object or np.shape(x) != np.shape(y) for x, y in pairs):
        return None
    size = max((float(np.max(np.abs(x), initial=0)) for x, _ in pairs), default=0.0)
    far = max((float(np.max(np.abs(np.subtract(y, x, dtype="float64")), initial=0)) for x, y in pairs), default=0.0)
    return far / (size or 1.0)


def _lines(recording: TextRecording, _: Inputs) -> Chart:
    """Of all steps, or of those that changed something if there are very many."""
    few = len(recording.steps) <= MOST_BARS
    steps = [
        (s, s.after_body.lines) for s in (recording.steps if few else recording.changed) if s.after_body is not None
    ]
    names = (f"{step.number} {step.name}" for step, _ in steps)
    which = "each step" if few else "each step that changed something"
    return _bars(names, "lines", [lines for _, lines in steps], f"lines after {which}")


def _kernels(length: str, axis: str, column: str, unit: float) -> Callable[[Report, Inputs], Chart]:
    def chart(report: Report, _: Inputs) -> Chart:
        rows = report.rows()
        values = [None if row.get(column) is None else row[column] * unit for row in rows]
        return _bars([str(row["Name"]) for row in rows], length, values, axis, "kernel")

    return chart


_CHARTS: Mapping[type, Mapping[str, Callable[[Any, Inputs], Chart]]] = {
    Recording: {
        "nodes": _steps("nodes", "nodes after the step", lambda event: count_module(event.after)[0]),
        "operators": _operators,
        "seconds": _steps("seconds", "seconds", lambda event: None if event.status == "input" else event.seconds),
        "peak_bytes": _steps("peak_bytes", "bytes at the peak", lambda event: event.peak_bytes),
        "error": _error,
    },
    TextRecording: {"lines": _lines},
    Report: {
        "seconds": _kernels("seconds", "seconds", "Duration (us)", 1e-6),
        "bytes": _kernels("bytes", "bytes", "Bytes", 1),
    },
}


# ---------------------------------------------------------------- drawing
def _altair(alt: Any, chart: Chart) -> Any:
    flat = {"scale": alt.Scale(domain=[0, 1])} if _is_flat(chart) else {}
    order = list(chart.frame[chart.bars].cat.categories)
    coding: dict[str, Any] = {
        "y": alt.Y(f"{chart.bars}:N", sort=order, title=None, axis=alt.Axis(labelLimit=600)),
        "x": alt.X(f"{chart.length}:Q", title=chart.axis, **flat),
        "tooltip": list(chart.frame.columns),
    }
    if chart.colour:
        colours = list(chart.frame[chart.colour].cat.categories)
        coding["color"] = alt.Color(f"{chart.colour}:N", sort=colours, scale=alt.Scale(scheme="tableau10"))
        coding["order"] = alt.Order("rank:Q")
    frame = chart.frame.assign(rank=chart.frame[chart.colour].cat.codes) if chart.colour else chart.frame
    drawn = alt.Chart(frame).mark_bar().encode(**coding).properties(width=WIDTH, height=alt.Step(BAR))
    return drawn.configure_axis(labelFontSize=12, titleFontSize=12).configure_legend(labelFontSize=12, titleFontSize=12)


def _is_flat(chart: Chart) -> bool:
    """Whether all bars have no length, so that no scale follows from them."""
    return not chart.frame[chart.length].any()


def _matplotlib(pyplot: Any, chart: Chart) -> Any:
    names = list(chart.frame[chart.bars].cat.categories)
    place = {name: at for at, name in enumerate(names)}
    figure, axes = pyplot.subplots(figsize=(7, 1 + 0.25 * len(names)), layout="constrained")
    groups = [("", chart.frame)] if not chart.colour else list(chart.frame.groupby(chart.colour, observed=True))
    ends = [0.0] * len(names)
    for name, rows in groups:
        at = [place[label] for label in rows[chart.bars]]
        axes.barh(at, rows[chart.length], left=[ends[row] for row in at], label=str(name))
        for row, length in zip(at, rows[chart.length], strict=True):
            ends[row] += length
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(chart.axis)
    if _is_flat(chart):
        axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    if chart.colour:
        axes.legend(title=chart.colour, bbox_to_anchor=(1, 1), loc="upper left", frameon=False)
    pyplot.close(figure)  # a notebook would show it a second time
    return figure


# ---------------------------------------------------------------- files
@checked
def save_picture(picture: Any, path: str | os.PathLike[str]) -> None:
    """Write a graph or a chart as SVG or PNG, by the ending of `path`. A PNG has three pixels a point.

    Raises `PassValueError` for other endings, `MissingPackageError` where a package is missing, `FileAccessError`.
    Raises `PassTypeError` for a value that is not a picture.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "graph.svg")
    >>> display.save_picture(display.graph_view(passlab.parse("def @main(%x: float32) { exp(%x) }")), path)
    >>> path.read_text().startswith("<svg")
    True
    """
    ending = checked_path(path).suffix
    kind = ending.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise PassValueError(Diagnostic(f"a picture is not written as `{ending}`", expected=".svg or .png"))
    if isinstance(picture, GraphView) and kind == "svg":
        return write_text(path, picture.svg())
    if isinstance(picture, GraphView) or type(picture).__module__.partition(".")[0] == "altair":
        try:
            convert = importlib.import_module("vl_convert")
        except ImportError as error:
            message = "writing this picture needs the package `vl-convert-python`"
            raise MissingPackageError(Diagnostic(message, hint=INSTALL)) from error
        if isinstance(picture, GraphView):
            return write_bytes(path, convert.svg_to_png(picture.svg(), scale=SCALE))
        spec = picture.to_json()
        if kind == "svg":
            return write_text(path, convert.vegalite_to_svg(spec))
        return write_bytes(path, convert.vegalite_to_png(spec, scale=SCALE))
    if type(picture).__module__.partition(".")[0] == "matplotlib":
        with atomic_file(path) as file:
            picture.savefig(file, format=kind, dpi=72 * SCALE)
        return None
    hint = "graph_view(mod) and rec.plot() return pictures"
    raise PassTypeError(Diagnostic("this is not a picture", found=type(picture).__name__, hint=hint))
