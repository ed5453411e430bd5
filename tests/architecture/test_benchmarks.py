"""Every benchmark can be started: the names that it imports exist."""

from __future__ import annotations

import importlib

import pytest

from tests.architecture.sources import ROOT


@pytest.mark.parametrize("name", sorted(path.stem for path in ROOT.glob("benchmarks/[a-z]*.py")))
def test_a_benchmark_can_be_imported(name):
    try:
        importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"benchmarks", "passlab", "tests"}:
            raise
        pytest.skip(f"{error.name} is not installed")
