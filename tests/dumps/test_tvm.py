"""A build of TVM with its lowering of loops, against a live recording: each pass ends after those inside it.

`tvm.compile` of two dense layers for a CPU, TVM 0.27. The truth has a name, whether the program changed (by structure),
the depth, and the number in the order of begin.
"""

import gzip
import json
from pathlib import Path

import pytest

from passlab.dumps import read

DATA = Path(__file__).parent / "tvm"
TRUTH = json.loads((DATA / "build.json").read_text())
BY_STRUCTURE = {"tirx.FP8StorageLegalize"}  # makes other objects, with the same text


@pytest.mark.parametrize("when", ["after", "before"])
def test_most_passes_of_a_build_are_decided_and_none_wrongly(when):
    truth = TRUTH if when == "after" else sorted(TRUTH, key=lambda row: row[3])
    steps = read(gzip.decompress((DATA / f"build.{when}.txt.gz").read_bytes())).steps
    assert [step.name for step in steps] == [name for name, *_ in truth]
    for step, (name, changed, *_) in zip(steps, truth, strict=True):
        if step.verdict != "unknown" and name not in BY_STRUCTURE:
            assert (step.verdict == "changed") == changed, step
    assert sum(step.verdict != "unknown" for step in steps) >= 60
