"""Dumps that went through a terminal or a console: wrapped, cut off, filled up or doubled lines falsify no verdict."""

import re

import pytest

from passlab.dumps import read
from tests.dumps import corpus, writer
from tests.dumps.test_extents import as_rows

DUMPS = {
    "made llvm": lambda: writer.llvm_dump(writer.run(3, 40), "both").encode(),
    "made mlir": lambda: writer.mlir_dump(writer.run(5, 40), "both").encode(),
    **{name: (lambda name=name: corpus.stream(name)) for name in ("llvm22-list-changed", "mlir22-small-modscope")},
    **{
        name: (lambda name=name: corpus.stream(name))
        for name in ("llvm22-dot-changed-diff", "tvm-zero-after", "xdsl-a")
    },
}


def wrapped(data, width):
    return b"\n".join(re.sub(rb"(.{%d})(?=.)" % width, rb"\1\n", line) for line in data.split(b"\n"))


def cut(data, width):
    return b"\n".join(line[:width] for line in data.split(b"\n"))


def wrapped_between_words(data, width):
    folded = re.compile(rb"(?m)^(?=.{%d}.)(.{1,%d} )(?! )" % (width, width - 1))
    while (again := folded.sub(rb"\1\n", data)) != data:
        data = again
    return data


def without_blanks(change):
    return lambda data, width: re.sub(rb"(?m)[ \t]+$", b"", change(data, width))


def verdicts(data):
    return [row[:3] for row in as_rows(read(data))]


@pytest.mark.rotating
@pytest.mark.parametrize("name", DUMPS)
def test_consoles_that_fill_or_double_lines_change_nothing(name):
    data = DUMPS[name]()
    whole = verdicts(data)
    assert verdicts(data.replace(b"\n", b"   \n")) == whole
    assert verdicts(data.replace(b"\n", b"\r\r\n")) == whole
    assert verdicts(data.replace(b"\n", b"\n\n")) == whole
    assert verdicts(data.expandtabs(8)) == whole
    assert verdicts(re.sub(rb"(?m)^", b"I1128 12:00:00.123456 4242 tool.cc:42] ", data)) == whole


@pytest.mark.rotating
@pytest.mark.parametrize("name", DUMPS)
@pytest.mark.parametrize(
    "change",
    [wrapped, cut, wrapped_between_words, *map(without_blanks, (wrapped, cut, wrapped_between_words))],
)
def test_no_verdict_is_wrong_where_lines_are_wrapped_or_cut_off(name, change):
    data = DUMPS[name]()
    whole = verdicts(data)
    for width in (60, 80, 100, 120, 132, 160, 200):
        found = verdicts(change(data, width))
        rest = iter(whole)
        for row in found:
            if row[2] != "unknown":
                assert row in rest, (width, row)  # some headings are lost: the others keep their order


def test_lines_that_were_wrapped_are_joined():
    data = corpus.stream("llvm22-list-changed")
    recording = read(wrapped(data, 80))
    assert "lines that were wrapped at 80 characters are joined" in recording.notes
    assert [step.verdict for step in recording] == [step.verdict for step in read(data)]
    assert recording[50].after == read(data)[50].after


def test_lines_of_machine_code_go_on_in_no_other():
    """The first line of each function is the longest one here, and nothing wrapped it."""
    for mode in ("both", "after"):
        text = writer.machine_dump(writer.run(8, 24), mode)
        assert not any("wrapped" in note for note in read(text.encode()).notes)
        assert all(line in text for step in read(text.encode()) for line in step.after.splitlines())
