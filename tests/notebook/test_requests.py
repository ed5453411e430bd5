"""The kernel's side of a request: answered once, and told to be done, whatever happens."""

from __future__ import annotations

from typing import Any

import pytest

import passlab
from passlab.notebook import show
from passlab.notebook.view_widget import TICKETS, ViewWidget

NET = "def @main() { add(tanh(2f), 1f) }"


class Asked(ViewWidget):
    """A widget that notes what it is asked, and fails on demand."""

    def _answer(self, content: object) -> None:
        self.asked.append(content)
        if isinstance(content, dict) and "raise" in content:
            raise content["raise"]


@pytest.fixture
def widget() -> Any:
    view = passlab.display.module_view(passlab.parse(NET))
    made = Asked(view)
    made.asked, made.sent = [], []
    made.send = lambda content, buffers=None: made.sent.append(content)
    yield made
    made.close()


def test_a_request_is_done_after_its_answer(widget: Any) -> None:
    widget._on_message(None, {"pair": [0, 1], "ticket": "a"}, [])
    assert widget.asked == [{"pair": [0, 1]}]
    assert widget.sent == [{"done": "a"}]


def test_a_request_that_comes_twice_is_answered_once(widget: Any) -> None:
    for _ in range(3):
        widget._on_message(None, {"run": "FuseOps", "ticket": "a"}, [])
    assert len(widget.asked) == 1
    assert widget.sent == 3 * [{"done": "a"}]


def test_as_many_requests_are_remembered_as_it_says(widget: Any) -> None:
    for number in range(3 * TICKETS):
        widget._on_message(None, {"ticket": str(number)}, [])
    assert len(widget._tickets) == TICKETS
    assert widget._tickets[-1] == str(3 * TICKETS - 1)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no such step"), "The kernel could not answer: ValueError: no such step"),
        (KeyboardInterrupt(), "The kernel was interrupted."),
    ],
)
def test_a_request_that_fails_is_done_too_and_says_why(widget: Any, error: BaseException, words: str) -> None:
    with pytest.raises(type(error)):
        widget._on_message(None, {"raise": error, "ticket": "a"}, [])
    assert widget.sent == [{"done": "a", "problem": words}]


@pytest.mark.parametrize("content", [None, [], "x", {}, {"ticket": 3}, {"ticket": None}])
def test_what_has_no_ticket_gets_no_receipt(widget: Any, content: object) -> None:
    widget._on_message(None, content, [])
    assert widget.sent == []


def test_every_widget_tells_when_a_request_is_done() -> None:
    rec = passlab.record(passlab.parse(NET), ["FuseOps"])
    values = [
        rec,
        rec.output,
        passlab.display.graph_view(rec.output),
        passlab.lab.compare(rec, rec),
        passlab.vm.Debugger(rec.output),
    ]
    for value in values:
        made = show(value)
        sent: list[Any] = []
        made.send = lambda content, buffers=None, sent=sent: sent.append(content)
        made._on_message(None, {"ticket": "only"}, [])
        assert sent == [{"done": "only"}], type(made)
        made.close()
