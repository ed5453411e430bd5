"""The units of the scripts, without a browser: `node --test` runs the files beside this one."""

from __future__ import annotations

import subprocess

import pytest

from tests.scripts.node import HERE, ROOT, node


@pytest.mark.rotating
@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.js")), ids=lambda path: path.name.removesuffix(".test.js"))
def test_units_of(path):
    done = subprocess.run([node(), "--test", str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nℹ skipped 0\n" in done.stdout
    assert "\nℹ tests 0\n" not in done.stdout
