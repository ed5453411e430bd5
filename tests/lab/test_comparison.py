"""`lab.compare`: which passes of two recordings correspond, and where the programs diverge."""

from __future__ import annotations

import re

import pytest

import passlab
from passlab import lab
from passlab.errors import PassTypeError

NET = "def @main(%x: Tensor[(3), float32]) { nn.relu(exp(%x) + (1f + 2f)) }"


def recording(passes, **options):
    return passlab.record(passlab.parse(NET), passes, **options)


def steps(result):
    return [(row.a and row.a.id, row.b and row.b.id, row.same) for row in result.rows]


def test_equal_recordings_never_part():
    comparison = lab.compare(
        recording("InferType, FoldConstant, FuseOps"), recording("InferType, FoldConstant, FuseOps")
    )
    assert steps(comparison) == [("0", "0", True), ("1", "1", True), ("2", "2", True), ("3", "3", True)]
    assert comparison.first_divergence is None
    assert comparison.same
    assert "the programs never differ" in comparison.summary()


def test_a_pass_more_on_one_side_is_a_row_of_its_own_and_where_they_part():
    comparison = lab.compare(recording("InferType, FuseOps"), recording("InferType, FoldConstant, FuseOps"))
    assert steps(comparison) == [("0", "0", True), ("1", "1", True), (None, "2", False), ("2", "3", False)]
    first = comparison.first_divergence
    assert first.name == "FoldConstant"
    assert first.operators == {"add": -1}
    assert first.diff().op_counts["add"] == (2, 1)
    assert not comparison.same
    assert "they diverge at FoldConstant (only in the second)" in comparison.summary()


def test_options_tell_passes_apart_and_skipped_ones_are_aligned():
    comparison = lab.compare(recording("InferType, FuseOps(fuse_opt_level=0)"), recording("InferType, FuseOps"))
    assert [row.name for row in comparison.rows][2:] == ["FuseOps(fuse_opt_level=0)", "FuseOps"]
    skipped = lab.compare(recording("InferType, FuseOps"), recording("InferType, FuseOps", disabled_pass=["FuseOps"]))
    assert steps(skipped)[2] == ("2", "2", False)
    assert skipped.table()[2]["outcome_b"] == "skipped: disabled"


def test_recordings_that_meet_again_are_the_same_in_the_end():
    comparison = lab.compare(recording("InferType, FoldConstant"), recording("InferType, ToANormalForm, FoldConstant"))
    back = lab.compare(
        recording("InferType, FoldConstant"),
        recording("InferType, ToANormalForm, ToGraphNormalForm, FoldConstant"),
    )
    assert not comparison.same
    assert back.same
    assert "the last programs are the same" in back.summary()
    assert back.first_divergence.name == "ToANormalForm"


def test_the_table_has_times_and_the_text_has_none():
    comparison = lab.compare(recording("InferType, FuseOps"), recording("InferType"))
    assert comparison.table().columns[-2:] == ["seconds_a", "seconds_b"]
    assert "seconds_a" not in comparison.text()
    assert comparison.table()[2]["seconds_b"] is None


def test_what_is_no_recording_is_refused():
    with pytest.raises(PassTypeError):
        lab.compare(recording("InferType"), passlab.parse(NET))


PIPELINES = [
    "InferType",
    "InferType, FoldConstant",
    "InferType, ToANormalForm, FuseOps",
    "InferType, FuseOps, FoldConstant",
]


@pytest.mark.parametrize("one", PIPELINES)
@pytest.mark.parametrize("other", PIPELINES)
def test_the_sentence_has_what_decides_first_and_the_counts_of_the_rows(one, other):
    comparison = lab.compare(recording(one), recording(other))
    decisive = "they diverge at" if comparison.first_divergence else "the programs never differ"
    start = "the last programs are the same" if comparison.same and comparison.first_divergence else decisive
    words = comparison.summary()
    assert words.startswith(start)
    assert comparison.first_divergence is None or f"diverge at {comparison.first_divergence.name}" in words
    rows = comparison.rows
    counts = {
        "in both": sum(row.a is not None and row.b is not None for row in rows),
        "only in the first": sum(row.b is None for row in rows),
        "only in the second": sum(row.a is None for row in rows),
    }
    for where, count in counts.items():
        told = re.findall(rf"(\d+) (?:steps? )?{where}(?:,|$)", words)
        assert told == ([str(count)] if count else [])
