"""The wheel installs into a fresh environment, and works there without the checkout.

Each Python of the machine that passlab supports gets an environment of its own. The one that runs the tests lends its
dependencies, so nothing is fetched; for the others they are installed where a package index answers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.architecture.test_packaging import build_wheel

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PROGRAM = """
import numpy as np, passlab
from passlab import relay
net = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
rec = passlab.record(net, "FuseOps", opt_level=3)
print(passlab.__file__)
print(relay.create_executor("vm", rec.output).evaluate()(np.float32([-1, 2])).tolist())
print(len(passlab.display.recording_view(rec).html()) > 1000, len(relay.op.list()) > 250)
"""


def interpreter(number: str) -> str:
    """The interpreter of a version, skipping where the machine has none."""
    if number == HERE:
        return sys.executable
    named = [shutil.which(f"python{number}"), *Path.home().glob(f".pyenv/versions/{number}.*/bin/python{number}")]
    for path in filter(None, named):
        if run([str(path), "--version"], Path.cwd()).returncode == 0:  # a shim may stand for nothing
            return str(path)
    pytest.skip(f"there is no Python {number} here")


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.nightly
@pytest.mark.parametrize("number", VERSIONS)
def test_the_wheel_works_in_a_fresh_environment(number: str, wheel: Path, tmp_path: Path) -> None:
    python = interpreter(number)
    environment = tmp_path / "environment"
    created = run([python, "-m", "venv", str(environment)], tmp_path)
    assert created.returncode == 0, created.stderr
    fresh = str(environment / "bin" / "python")
    lent = ["--no-deps", "--no-index"] if number == HERE else []
    installed = run([fresh, "-m", "pip", "install", "-q", *lent, str(wheel)], tmp_path)
    if number != HERE and installed.returncode != 0:
        pytest.skip(f"no package index answers for Python {number}")
    assert installed.returncode == 0, installed.stderr
    if number == HERE:
        packages = Path(
            run([fresh, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path).stdout.strip()
        )
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    result = run([fresh, "-c", PROGRAM], tmp_path)
    assert result.returncode == 0, result.stderr
    place, values, works = result.stdout.splitlines()
    assert Path(place).is_relative_to(environment)
    assert values == "[0.0, 2.0]"
    assert works == "True True"
    examined = run([str(environment / "bin" / "passlab"), "doctor"], tmp_path)
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert (environment / "share" / "jupyter" / "labextensions" / "passlab" / "package.json").exists()
