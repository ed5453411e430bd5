"""One version: the package, its extension, the citation and the changelog name the same."""

from __future__ import annotations

import json
import re

import passlab
from tests.architecture.sources import ROOT
from tests.architecture.test_packaging import PROJECT


def test_one_version_is_named_everywhere() -> None:
    named = {
        "pyproject.toml": PROJECT["project"]["version"],
        "passlab": passlab.__version__,
        "extension": json.loads((ROOT / "extension/package.json").read_text(encoding="utf-8"))["version"],
        "built extension": json.loads((ROOT / "extension/dist/package.json").read_text(encoding="utf-8"))["version"],
        "CITATION.cff": version_in(r"^version: (\S+)$", "CITATION.cff"),
        "CHANGELOG.md": version_in(r"^## (\d\S*)", "CHANGELOG.md"),
    }
    assert len(set(named.values())) == 1, named


def version_in(pattern: str, name: str) -> str:
    match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, f"{name} names no version"
    return match[1]
