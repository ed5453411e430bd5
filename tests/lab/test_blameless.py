"""Random programs through correct passes and executors: nothing is blamed."""

from __future__ import annotations

import pytest

from tests.lab.blameless import blame


@pytest.mark.rotating
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_nothing_that_is_right_is_blamed(first):
    for seed in range(first, first + 10):
        row, _ = blame(seed)
        assert row is None or "blamed" not in row, row


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("first", range(100, 2100, 20))
def test_nothing_that_is_right_is_blamed_in_many_programs(first):
    rows = [row for seed in range(first, first + 20) if (row := blame(seed)[0]) is not None]
    assert not [row for row in rows if "blamed" in row]
