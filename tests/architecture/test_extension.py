"""The JupyterLab extension that is committed is the one its sources make, found out without Node."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile

import pytest

from tests.architecture.sources import ROOT
from tests.architecture.test_packaging import PROJECT, build_wheel

EXTENSION = ROOT / "extension"
BUILT = json.loads((EXTENSION / "dist/package.json").read_text(encoding="utf-8"))


def hash_of_sources() -> str:
    """What extension/stamp.mjs writes: a hash over "path NUL length NUL bytes" of what the build reads."""
    shared = [f"../passlab/display/web/{name}" for name in ("commands.json", "relaytokens.js")]
    paths = ["../package-lock.json", "package.json", *shared]
    paths += [
        path.relative_to(EXTENSION).as_posix() for name in ("schema", "src") for path in (EXTENSION / name).iterdir()
    ]
    result = hashlib.sha256()
    for path in sorted(paths):
        text = (EXTENSION / path).read_bytes()
        result.update(f"{path}\0{len(text)}\0".encode() + text)
    return result.hexdigest()


def test_it_is_built_from_its_sources():
    stamp = (EXTENSION / "dist/built-from.txt").read_text(encoding="ascii").strip()
    assert stamp == hash_of_sources(), "run `make scripts` and commit extension/dist"


def test_what_jupyterlab_loads_is_there():
    entry = EXTENSION / "dist" / BUILT["jupyterlab"]["_build"]["load"]
    parts = [path for path in entry.parent.glob("*.js") if path != entry and path.name != "style.js"]
    assert parts
    assert [path.name for path in parts if path.name.split(".")[1] not in entry.read_text(encoding="utf-8")] == []


def test_it_has_the_version_of_the_package_and_runs_in_every_jupyterlab_that_is_asked_for():
    assert BUILT["version"] == PROJECT["project"]["version"]
    assert BUILT["dependencies"]["@jupyterlab/codemirror"] == "^4.0.0"
    assert "jupyterlab>=4.2" in PROJECT["project"]["optional-dependencies"]["lab"]


def test_the_menus_that_it_adds_to_name_commands_that_it_has():
    schema = json.loads((EXTENSION / "dist/schemas/passlab/manual.json").read_text(encoding="utf-8"))
    items = [item for menu in schema["jupyter.lab.menus"]["main"] for item in menu["items"]]
    items = [inner for item in items for inner in item.get("submenu", {}).get("items", [item])]
    source = (EXTENSION / "src/index.js").read_text(encoding="utf-8")
    table = json.loads((EXTENSION / "../passlab/display/web/commands.json").read_text(encoding="utf-8"))
    of_views = [
        f"passlab:{re.sub(r'[^0-9A-Za-z_]+', '-', view)}:{re.sub(r'[^0-9a-z_]+', '-', row[2].lower()).strip('-')}"
        for view, entry in table.items()
        for row in entry["commands"]
    ]
    assert items
    assert len(of_views) == len(set(of_views))  # JupyterLab takes each name once
    assert all(f'addCommand("{item["command"]}"' in source or item["command"] in of_views for item in items)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    with zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel"))) as built:
        return built.namelist()


def test_the_wheel_puts_it_where_jupyterlab_looks(wheel):
    held = {name.split(".data/data/")[1] for name in wheel if ".data/data/" in name}
    files = [path for path in (EXTENSION / "dist").rglob("*") if path.is_file()]
    names = {path.relative_to(EXTENSION / "dist").as_posix() for path in files} | {"install.json"}
    assert held == {f"share/jupyter/labextensions/passlab/{name}" for name in names}
