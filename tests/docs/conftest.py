"""Examples of the manual may import `passlab.compat`, which makes `tvm` importable: each test ends without it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def tvm_is_gone_afterwards() -> Iterator[None]:
    yield
    if compat := sys.modules.get("passlab.compat"):
        compat.uninstall()
