"""Damaged files of every format end in what can be read or in an error of passlab; a full run is `tests.faults.damaged_files`."""

from __future__ import annotations

import pytest

from tests.faults.damaged_files import FORMATS, outcomes


@pytest.mark.rotating
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    counts = outcomes(name, tmp_path, flips=40, cuts=11)
    assert counts.total() == 51
    assert counts.total() > counts["read"] or name == "dump"  # something was refused; of a dump, every line is kept
