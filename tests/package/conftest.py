"""What a user has who installed passlab: an environment with the wheel, and an empty folder to work in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.test_packaging import build_wheel


@dataclass(frozen=True)
class Installed:
    """An environment in which the wheel is installed, and nothing of the checkout is found."""

    wheel: Path
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))

    def script(self, name: str) -> str:
        return str(Path(self.python).with_name(name))

    def run(self, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder, with no trace of the checkout in its surroundings."""
        return run(command, folder)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with no trace of the checkout in its surroundings."""
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a fresh environment, to which the one that runs the tests lends its other packages."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(folder)
    environment = Installed(wheel, folder / "environment")
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(environment.folder)],
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            environment.python,
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            str(wheel),
        ],
    ):
        done = run(command, folder)
        assert done.returncode == 0, done.stderr
    place = run([environment.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder)
    Path(place.stdout.strip(), "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment
