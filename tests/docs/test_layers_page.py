"""The layers that the manual shows are those that the linter enforces."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def enforced() -> list[set[str]]:
    """The layers of `pyproject.toml`, highest first; the packages of one layer do not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [{name.strip("() ") for name in layer.split("|")} - {"__main__"} for layer in layers]


def test_the_page_of_laws_shows_the_layers_that_are_enforced() -> None:
    page = (ROOT / "docs/develop/laws.md").read_text(encoding="utf-8")
    block = page.partition("## The layers")[2].partition("```text\n")[2].partition("```")[0]
    shown = [set(line.split(", ")) for line in block.splitlines()]
    assert shown == [layer for layer in enforced() if layer], (
        "copy the layers of pyproject.toml into docs/develop/laws.md"
    )
