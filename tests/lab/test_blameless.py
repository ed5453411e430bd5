"""Random programs through correct passes and executors: nothing is blamed."""

from __future__ import annotations

import time

import pytest

from passlab import lab, parse, transform
from passlab.ir.walk import rewrite
from passlab.lab.culprits import bisection
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


@pytest.mark.rotating
def test_a_pass_that_a_busy_machine_holds_up_is_not_blamed(monkeypatch):
    monkeypatch.setattr(bisection, "PATIENCE", 0.2)
    runs = []

    @transform.function_pass(opt_level=0)
    def slow(func, mod, ctx):
        runs.append(func)
        if len(runs) > 1:
            time.sleep(3)
        return rewrite(func, lambda old, new: new.with_fields(span=None))

    found = lab.bisect(parse("def @main(%x: float32) { exp(%x) }"), [slow])
    assert len(runs) > 1
    assert not found.found, found
