"""What has a view shows it in a notebook that has not loaded passlab's extension, and in hosts without widgets."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest
from IPython.core.interactiveshell import InteractiveShell

import passlab
from passlab.errors import PassTypeError
from passlab.lazy import load, notebook_forms
from passlab.notebook import formatters, widgets
from tests.display.view_examples import EXAMPLES
from tests.each import each

NET = """
type Tree { Leaf(Tensor[(), float32]), Node(Tree, Tree) }
def @sum(%t: Tree) -> Tensor[(), float32] {
  match (%t) { Leaf(%x) => %x, Node(%a, %b) => add(@sum(%a), @sum(%b)) }
}
def @main() -> Tensor[(), float32] { @sum(Node(Leaf(1f), Leaf(2f))) }
"""
STATIC = {"text/html", "text/plain", formatters.OUTPUT}
LIVE = STATIC | {"application/vnd.jupyter.widget-view+json"}


@each(("module", "name"), formatters.VIEWS)
def test_every_class_with_a_view_brings_its_forms(module: str, name: str) -> None:
    cls = load(f"{module}:{name}")
    assert cls._repr_mimebundle_ is notebook_forms
    for sub in cls.__subclasses__():
        assert sub._repr_mimebundle_ is notebook_forms, sub


def values() -> list[Any]:
    rec = passlab.record(passlab.parse(NET), ["InferType", "ToANormalForm"], name="tree")
    return [
        rec,
        rec.output,
        rec.output["sum"],
        rec.steps[-1].diff(),
        rec.frame,
        passlab.lab.compare(rec, rec),
        rec.blame(),
    ]


@pytest.mark.parametrize("at", range(7))
def test_a_shell_without_the_extension_shows_what_one_with_it_shows(at: int) -> None:
    value = values()[at]
    plain, loaded = InteractiveShell(), InteractiveShell()
    loaded.run_line_magic("load_ext", "passlab")
    try:
        shown, expected = (shell.display_formatter.format(value)[0] for shell in (plain, loaded))
    finally:
        loaded.run_line_magic("unload_ext", "passlab")
    assert set(shown) == set(expected)
    assert {form: shown[form] for form in STATIC & set(shown)} == {form: expected[form] for form in STATIC & set(shown)}


@each("name", sorted(EXAMPLES))
def test_every_view_shows_itself(name: str) -> None:
    view = EXAMPLES[name]()
    forms, _ = InteractiveShell().display_formatter.format(view)
    assert set(forms) == (LIVE if view.script else STATIC)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_without_the_widget_library_there_are_the_static_forms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatters, "find_spec", lambda name: None)
    forms, _ = InteractiveShell().display_formatter.format(EXAMPLES[name]())
    assert set(forms) == STATIC


def test_what_has_no_view_keeps_its_own_text() -> None:
    forms, _ = InteractiveShell().display_formatter.format(passlab.transform.FoldConstant())
    assert set(forms) == {"text/plain"}
    assert notebook_forms(3) is None


def test_both_names_of_show_take_values_and_views():
    rec = values()[0]
    for show in (passlab.notebook.show, widgets.show):
        for value in (rec, passlab.display.recording_view(rec)):
            assert type(show(value)).__name__ == "PipelineWidget"
        with pytest.raises(PassTypeError, match="this value has no view"):
            show(3)


def test_a_box_of_ipywidgets_carries_the_static_forms_of_the_views_in_it(running_shell: InteractiveShell) -> None:
    rec = values()[0]
    inner = ipywidgets.Tab([widgets.show(rec.output), ipywidgets.Button()])
    box = ipywidgets.HBox([widgets.show(rec), inner])
    inner.children = (*inner.children, box)  # a box in itself
    shown = running_shell.display_formatter.format(box)[0]
    assert set(shown) == LIVE
    for value in (rec, rec.output):
        assert formatters.bundle(value)[0]["text/plain"] in shown["text/plain"]
    plain = running_shell.display_formatter.format(ipywidgets.HBox([ipywidgets.Button()]))[0]
    assert set(plain) == LIVE - {"text/html", formatters.OUTPUT}
