"""Charts as data: tidy frames with one vocabulary, whose figures are those of the objects; and the packages that draw."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import passlab
from passlab import display, relay
from passlab.display import charts
from passlab.dumps import read
from passlab.errors import MissingPackageError, PassTypeError, PassValueError
from passlab.evaluate.samples import random_arguments
from passlab.instrument.statistics import count_module
from passlab.table import COLUMNS
from passlab.transform import function_pass
from tests.display.programs import network
from tests.display.view_examples import DUMP, PIPELINE


def recorded():
    return passlab.record(network(), PIPELINE, opt_level=2, memory=True)


def profiled():
    mod = network()
    names = [parameter.name_hint for parameter in mod["main"].params]
    return (
        relay.build(mod).module(debug=True).profile(**dict(zip(names, random_arguments(mod["main"], 0), strict=True)))
    )


VALUES = {"Recording": recorded, "TextRecording": lambda: read(DUMP), "Report": profiled}
CASES = [(cls.__name__, what) for cls, known in charts._CHARTS.items() for what in known]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_a_frame_is_tidy_and_speaks_one_vocabulary(name, what):
    chart = charts.chart_of(VALUES[name](), what)
    frame = chart.frame
    assert set(frame.columns) == {chart.bars, chart.length, *filter(None, [chart.colour])} <= COLUMNS.keys()
    assert pd.api.types.is_numeric_dtype(frame[chart.length])
    assert not frame[chart.length].isna().any()
    for column in filter(None, (chart.bars, chart.colour)):
        assert frame[column].dtype.ordered
        assert set(frame[column].cat.categories) == set(frame[column])
    assert chart.colour or frame[chart.bars].is_unique


def test_nodes_and_operators_are_those_of_each_step():
    rec = recorded()
    nodes, operators = charts.chart_of(rec, "nodes").frame, charts.chart_of(rec, "operators").frame
    steps = rec.steps
    assert list(nodes["nodes"]) == [count_module(event.after)[0] for event in steps]
    assert list(nodes["step"]) == [f"{event.id} {event.text or event.name}" for event in steps]
    for event in steps:
        shown = operators[operators["step"] == f"{event.id} {event.text or event.name}"]
        calls = count_module(event.after)[1]
        assert dict(zip(shown["operator"], shown["calls"], strict=True)) == dict(calls)


def test_the_error_is_that_of_numpy():
    @function_pass(opt_level=0, name="Double")
    def double(function, mod, ctx):
        return relay.Function(function.params, relay.multiply(function.body, relay.const(np.float32(1.5))))

    x = relay.var("x", shape=(4,))
    mod = passlab.IRModule.from_expr(relay.Function([x], relay.tanh(x)))
    value = np.array([0.5, -2.0, 0.0, 1.0], "float32")
    frame = charts.chart_of(passlab.record(mod, ["InferType", double]), "error", [value]).frame
    assert list(frame["relative_error"]) == pytest.approx([0, 0, 0.5])
    assert charts.relative_error(np.array([1.0, -4.0]), np.array([2.0, -4.0])) == 0.25
    assert charts.relative_error(np.array([1.0]), np.array([1.0, 2.0])) is None


def test_names_that_are_cut_or_alike_stay_apart():
    rec = passlab.record(network(), ["InferType"] * 3)
    assert charts.chart_of(rec, "nodes").frame["step"].is_unique


def test_what_was_not_measured_says_how_to_measure_it():
    with pytest.raises(PassValueError, match="memory=True"):
        charts.chart_of(passlab.record(network(), PIPELINE), "peak_bytes")


@pytest.mark.parametrize(("name", "what"), CASES)
def test_a_misspelt_chart_is_guessed(name, what):
    with pytest.raises(PassValueError, match=f"did you mean `{what}`"):
        charts.chart_of(VALUES[name](), f"{what}s")


def test_other_objects_have_no_chart():
    with pytest.raises(PassTypeError, match="Recording, TextRecording, Report"):
        charts.plot(3)


def test_without_a_package_that_draws_the_cure_is_named(monkeypatch):
    rec = recorded()
    for name in ("altair", "matplotlib", "matplotlib.pyplot", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match="pip install altair"):
        rec.plot()
    with pytest.raises(MissingPackageError, match="pip install altair"):
        display.save_picture(display.graph_view(network()), "graph.png")


@pytest.mark.parametrize("package", ["altair", "matplotlib.pyplot"])
@pytest.mark.parametrize(("name", "what"), CASES)
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_each_package_draws_and_writes_every_chart(package, name, what, kind, tmp_path):
    drawn = pytest.importorskip(package)
    if package == "altair":
        pytest.importorskip("vl_convert")
    draw = charts._altair if package == "altair" else charts._matplotlib
    chart = charts.chart_of(VALUES[name](), what)
    path = tmp_path / f"picture.{kind}"
    display.save_picture(draw(drawn, chart), path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG") if kind == "png" else b"<svg" in data


def test_a_graph_is_written_as_svg(tmp_path):
    path = tmp_path / "graph.svg"
    display.save_picture(display.graph_view(network()), path)
    text = path.read_text(encoding="utf-8")
    assert text == display.graph_view(network()).svg()
    assert re.match(r'<svg style="background:#ffffff" [^>]*>', text), "on white, whatever stands behind it"


@pytest.mark.parametrize(("picture", "name", "error"), [(3, "a.png", PassTypeError), (3, "a.pdf", PassValueError)])
def test_what_cannot_be_written_says_why(picture, name, error, tmp_path):
    with pytest.raises(error):
        display.save_picture(picture, Path(tmp_path) / name)
    assert not list(tmp_path.iterdir())
