"""The wheel holds what the code needs, and the project file names what exists."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, python_sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "section", "entry"),
    [
        ("passlab/cli.py", PROJECT["project"].get("scripts", {}), "passlab.cli:main"),
        (
            "passlab/display/text/lexer.py",
            PROJECT["project"].get("entry-points", {}).get("pygments.lexers", {}),
            "passlab.display.text.lexer:RelayLexer",
        ),
        (
            "extension/dist",
            PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"].get("shared-data", {}),
            "share/jupyter/labextensions/passlab",
        ),
    ],
)
def test_the_project_file_names_it_if_it_exists(path, section, entry):
    assert (ROOT / path).exists() == (entry in section.values())


def test_the_lock_holds_every_direct_dependency_and_no_address():
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [line for group in (PROJECT["project"]["dependencies"], *extras.values()) for line in group]
    names = {line.split(">")[0].split("[")[0].strip().lower().replace("_", "-") for line in asked} - {"passlab"}
    names -= {"torch"}  # kernels that nobody needs to work on passlab, larger than all else together
    names -= {
        "apache-tvm",
        "iree-base-compiler",
        "xdsl",
    }  # compilers that passlab records; their tests say so where they are not installed
    names -= {"altair", "vl-convert-python", "triton"}  # charts, and a compiler of kernels: the same
    names -= {"distributed"}  # a cluster for searches; its tests say so where it is not installed
    locked = {line.split("==")[0] for line in LOCK.splitlines() if "==" in line}
    assert names <= locked, "run `make lock`"
    assert not [word for word in ("://", "--index", "--find-links") if word in LOCK], "the lock names no registry"


def test_a_cure_names_packages_that_an_index_has_and_passlab_is_tried_with():
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [line for group in (PROJECT["project"]["dependencies"], *extras.values()) for line in group]
    known = {re.split(r"[\[>=;]", line)[0].strip() for line in asked} - {"passlab"}  # it may not be on an index yet
    fixes = [
        (source.path, word)
        for source in python_sources("passlab")
        for text in re.findall(r"pip install ([^\n`]*)", source.text)
        for word in re.match(r"[\w\[\]{} -]*", text)[0].split()  # up to the first sign
        if "{" not in word
    ]
    assert len(fixes) > 10
    assert [fix for fix in fixes if fix[1] not in known] == []


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    held = set(zipfile.ZipFile(build_wheel(tmp_path)).namelist())
    tracked = subprocess.run(["git", "ls-files", "passlab"], cwd=ROOT, check=True, capture_output=True, text=True)
    files = set(tracked.stdout.split())
    sources = {path for path in files if re.fullmatch(r"passlab/display/web/[^/]*\.(?:js|json|mjs|ts)", path)}
    assert sources
    assert files - sources <= held
    assert not sources & held
