"""What a type checker knows of passlab, installed from the wheel, in an empty folder.

A user's program passes, each name that it uses has a type, and each of its planted mistakes is found. The same is asked
of every public name of every public module.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import passlab
from passlab.relay.addresses import ADDRESSES
from passlab.relay.operators import OperatorNamespace
from tests.architecture.sources import ROOT
from tests.package.conftest import Installed

PROGRAM, MISTAKES = "user_program.py", "user_mistakes.py"
HERE = Path(__file__).parent
Messages = list[tuple[int, str, str]]  # line, "error" or "note", text


def mypy(installed: Installed, folder: Path, file: str) -> Messages:
    """What mypy, in its strict mode, says of a file."""
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed.python]
    done = installed.run([*command, "--no-error-summary", "--cache-dir", str(installed.folder / "mypy"), file], folder)
    lines = re.findall(r"^[^:\n]+:(\d+): (error|note): (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [(int(line), kind, text) for line, kind, text in lines]


def pyright(installed: Installed, folder: Path, file: str) -> Messages:
    """What pyright says of a file."""
    node = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    program = ROOT / "node_modules" / "pyright" / "index.js"
    if node is None or not program.exists():
        pytest.skip("pyright is not installed: `make check` installs the tools that run on Node")
    done = installed.run([node, str(program), "--outputjson", "--pythonpath", installed.python, file], folder)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert done.returncode in (0, 1), done.stdout + done.stderr
    kinds = {"information": "note", "warning": "error", "error": "error"}
    missing_source = "reportMissingModuleSource"  # a stub without a source beside it: the module is found as it runs
    return [
        (d["range"]["start"]["line"] + 1, kinds[d["severity"]], d["message"])
        for d in found
        if d.get("rule") != missing_source
    ]


# A checker reads all of passlab for this, which takes a dozen seconds.
pytestmark = pytest.mark.rotating(parts=15)

Checker = Callable[[Installed, Path, str], Messages]
CHECKERS = pytest.mark.parametrize("checker", [mypy, pyright], ids=["mypy", "pyright"])
UNKNOWN = re.compile(r'(?:Revealed type is|Type of ".*" is) "(?:Any|Unknown)"$')


def lines_with(text: str, word: str) -> set[int]:
    return {number for number, line in enumerate(text.splitlines(), 1) if word in line}


@CHECKERS
def test_a_users_program_is_right_and_every_name_in_it_has_a_type(
    checker: Checker, installed: Installed, tmp_path: Path
) -> None:
    text = (HERE / PROGRAM).read_text(encoding="utf-8")
    (tmp_path / PROGRAM).write_text(text, encoding="utf-8")
    messages = checker(installed, tmp_path, PROGRAM)
    assert [m for m in messages if m[1] == "error"] == []
    revealed = {line: said for line, _, said in messages if "evealed type is" in said or "Type of" in said}
    names = lines_with(text, "reveal(")
    assert len(names) > 50
    assert names - lines_with(text, "def reveal(") == set(revealed)
    assert {line: said for line, said in revealed.items() if UNKNOWN.match(said)} == {}


@CHECKERS
def test_every_mistake_is_found_at_its_line(checker: Checker, installed: Installed, tmp_path: Path) -> None:
    text = (HERE / MISTAKES).read_text(encoding="utf-8")
    (tmp_path / MISTAKES).write_text(text, encoding="utf-8")
    errors = {line for line, kind, _ in checker(installed, tmp_path, MISTAKES) if kind == "error"}
    assert errors == lines_with(text, "# wrong:")
    assert len(errors) > 20


def test_the_users_program_runs(installed: Installed, tmp_path: Path) -> None:
    shutil.copy(HERE / PROGRAM, tmp_path)
    done = installed.run([installed.python, PROGRAM], tmp_path)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------------------- all names there are


def modules_in(package: ModuleType) -> set[str]:
    values = (getattr(package, name) for name in dir(package))
    return {value.__name__ for value in values if isinstance(value, ModuleType)}


MODULES = {"passlab", *(f"passlab.{name}" for name in ADDRESSES), *modules_in(passlab), *modules_in(passlab.relay)}


def names_of(module: str) -> list[str]:
    """The public names of a module: those that it lists; without a list, its own and not what it imports."""
    found = importlib.import_module(module)
    row = ADDRESSES.get(module.removeprefix("passlab."))
    source = importlib.import_module(getattr(row, "below", "") or getattr(row, "target", "") or found.__name__)
    listed = getattr(source, "__all__", None)
    file = getattr(source, "__file__", None)  # an address without a file has a stub
    has_stub = file is None or Path(file).with_suffix(".pyi").exists()

    def is_own(name: str) -> bool:
        value = getattr(found, name)
        if isinstance(value, ModuleType):
            return has_stub and value.__name__ in MODULES
        return has_stub or getattr(value, "__module__", "") == source.__name__

    names = listed or [name for name in dir(found) if not name.startswith("_") and is_own(name)]
    return sorted(n for n in names if n.isidentifier() and not isinstance(getattr(found, n), OperatorNamespace))


@pytest.mark.nightly
@CHECKERS
def test_every_public_name_of_every_module_has_a_type(checker: Checker, installed: Installed, tmp_path: Path) -> None:
    lines = ["from typing_extensions import reveal_type"]
    for module in sorted(MODULES):
        lines.append(f"import {module}")
        lines += [f"reveal_type({module}.{name})" for name in names_of(module)]
    (tmp_path / "names.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    messages = checker(installed, tmp_path, "names.py")
    assert len(lines) > 1500
    assert sorted({f"{lines[line - 1]}: {said}" for line, kind, said in messages if kind == "error"}) == []
    unknown = {lines[line - 1] for line, _, said in messages if UNKNOWN.match(said)}
    assert sorted(line for line in unknown if not line.endswith(".ANY)")) == []  # an instance of Relay's class `Any`


@pytest.mark.nightly
@CHECKERS
def test_a_misspelt_name_is_found_in_every_module(checker: Checker, installed: Installed, tmp_path: Path) -> None:
    lines = [line for module in sorted(MODULES) for line in (f"import {module}", f"{module}.no_such_name")]
    (tmp_path / "names.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = {line for line, kind, _ in checker(installed, tmp_path, "names.py") if kind == "error"}
    assert [line for number, line in enumerate(lines, 1) if "no_such_name" in line and number not in found] == []
