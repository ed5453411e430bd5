"""Recordings of Relay and of text are asked for their steps in one way."""

from __future__ import annotations

import pytest

import passlab
from passlab import dumps
from passlab.errors import DumpError, PassError, PassIndexError, PassTypeError

DUMP = """*** IR Dump After SROAPass on f ***
define i32 @f(i32 %x) {
  ret i32 %x
}
*** IR Dump After InstCombinePass on f ***
define i32 @f(i32 %x) {
  ret i32 0
}
"""


@pytest.fixture(params=["Relay", "text"])
def recording(request):
    """A recording with two steps, and the number of the first."""
    if request.param == "text":
        return dumps.read_text(DUMP), 1, DumpError
    return passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant"), 0, PassError


def test_numbers_are_those_of_the_steps_from_the_first_or_from_the_end(recording):
    rec, first, _ = recording
    steps = rec.steps
    assert [*rec] == steps
    assert len(rec) == len(steps) == 2
    assert [rec[first], rec[first + 1], rec[-1], rec[-2]] == [*steps, *reversed(steps)]
    assert rec[:1] == steps[:1]
    assert all(rec[rec[n].name] is rec[n] for n in (first, first + 1))


def test_what_is_no_step_is_refused_with_the_numbers_and_names_that_are(recording):
    rec, first, unknown = recording
    for number in (first - 1 if first else 2, first + 2, -3):
        with pytest.raises(PassIndexError, match=f"step {number} of a recording with steps {first} to {first + 1}"):
            rec[number]
    with pytest.raises(unknown, match=f"no pass `nowhere` was recorded[^$]*{rec[-1].name}"):
        rec["nowhere"]
    with pytest.raises(PassTypeError, match="a recording is indexed by number or name of a pass"):
        rec[1.5]


def test_a_page_and_a_chart_come_from_the_recording(recording, tmp_path):
    rec, _, _ = recording
    rec.to_html(tmp_path / "page.html", static=True)
    assert rec[-1].name in (tmp_path / "page.html").read_text()
    assert repr(rec) == rec.text()
