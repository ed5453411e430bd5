"""Tests that import `tvm`: it is passlab while they run, and gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import passlab.compat


@pytest.fixture(autouse=True)
def tvm_is_passlab() -> Iterator[None]:
    passlab.compat.install()
    yield
    passlab.compat.uninstall()


# Other tests are collected and run without it.
passlab.compat.uninstall()
