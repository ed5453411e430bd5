"""The layers of the house: the contracts of pyproject.toml, run as `lint-imports` runs them."""

from __future__ import annotations

import os
import sys

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.architecture.sources import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_imports_run_downwards_only(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)  # it would silence all loggers made so far
    status = lint_imports(config_filename=os.fspath(ROOT / "pyproject.toml"))
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def contract(name: str) -> dict[str, list[str]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["id"] == name)


def test_every_package_but_notebook_is_kept_from_the_notebook_libraries():
    packages = {
        path.stem for path in (ROOT / "passlab").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    held = {module.removeprefix("passlab.") for module in contract("notebook-only")["source_modules"]}
    assert held == packages - {"__init__", "__main__", "notebook"}


def test_imports_are_ignored_between_three_modules_of_families_alone():
    ignored = {
        name: contract(name).get("ignore_imports", [])
        for name in ("layers", "families", "definitions", "notebook-only")
    }
    assert {name: len(imports) for name, imports in ignored.items()} == {
        "layers": 0,
        "families": 3,
        "definitions": 0,
        "notebook-only": 0,
    }
