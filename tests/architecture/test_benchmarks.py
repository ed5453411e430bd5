"""Every benchmark can be started: the names that it imports exist, and it reads its command line."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.architecture.sources import ROOT

SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("benchmarks/[a-z]*.py"))}
STARTED = [name for name, text in SCRIPTS.items() if "__main__" in text]


def imported(name):
    """Import a script; skip the test where a package is missing that passlab does not need."""
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"benchmarks", "passlab", "tests"}:
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_can_be_imported(name):
    imported(name)


@pytest.mark.parametrize("name", STARTED)
def test_a_benchmark_explains_its_options_and_refuses_others(name, capsys):
    main = imported(name).main
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert f"python -m benchmarks.{name}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["--no-such-option"])
    assert end.value.code == 2


def test_all_benchmarks_are_run_together():
    apart = {"anchors", "calibrate"}  # they measure source code, and this machine
    assert set(BENCHMARKS) == {name for name in STARTED if name not in apart}
