"""The layers of the house: the contracts of pyproject.toml, run as `lint-imports` runs them."""

from __future__ import annotations

import os

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.architecture.sources import ROOT


def test_imports_run_downwards_only(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)  # it would silence all loggers made so far
    status = lint_imports(config_filename=os.fspath(ROOT / "pyproject.toml"))
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
