"""The widget of a dump: what is shown, and the name that all widgets of one recording follow."""

import pytest

from passlab.display import text_recording_view
from passlab.dumps import read
from passlab.errors import DumpError
from passlab.notebook.widgets import show
from tests.dumps import corpus, writer


@pytest.fixture
def recording():
    return read(corpus.stream("llvm22-list-both"))


def test_a_name_is_picked_in_all_widgets_of_one_recording_and_in_no_other(recording):
    one, two = (show(text_recording_view(recording)) for _ in range(2))
    other = show(text_recording_view(read(writer.llvm_dump(writer.run(1), "both").encode())))
    step = recording["EarlyCSEPass"]
    name = next(line.names[0] for line in recording.history("total").lines(step.number) if line.names)
    one.pick(name, "total", step)
    assert one.picked == two.picked == {"unit": "total", "name": name, "step": step.number}
    assert other.picked == {}
    two.picked = {}
    assert one.picked == {}


def test_what_is_not_there_cannot_be_picked(recording):
    widget = show(text_recording_view(recording))
    for name, unit in (("%nobody", "total"), ("%0", "nobody")):
        with pytest.raises(DumpError, match="nobody"):
            widget.pick(name, unit)
    assert widget.picked == {}


def test_the_step_that_is_shown_is_known(recording):
    widget = show(text_recording_view(recording))
    assert widget.step is None
    widget.selected = 9
    assert widget.step is recording.step(10)
