"""The installed wheel, in an empty folder: a part of the suite passes against it, and what it carries is there.

Nothing of the checkout is in that folder but the tests themselves, so that a file missing from the wheel is missed here.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.package.conftest import Installed, run

# From each layer a file or two that need a second or two: text, types, operators, passes, machine, lab, views, course.
SMOKE = (
    "tests/text/test_roundtrip.py",
    "tests/text/test_metadata.py",
    "tests/infer/test_errors.py",
    "tests/transform/test_sequential.py",
    "tests/transform/test_decorators.py",
    "tests/relay/test_names.py",
    "tests/relay/test_prelude.py",
    "tests/vm/test_debugger.py",
    "tests/vm/test_decision_tree.py",
    "tests/lab/test_bisect.py",
    "tests/lab/test_fork_files.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_options.py",
    "tests/cli/test_wrong_words.py",
    "tests/notebook/test_wrong_words.py",
    "tests/dumps/test_cuts.py",
    "tests/dumps/test_gaps.py",
    "tests/course/test_lesson.py",
    "tests/display/test_views.py",
)
LARGEST = 6_000_000  # bytes of the wheel


def smoke(python: str, folder: Path) -> tuple[int, str]:
    """Run the smoke part of the suite in an empty folder; return the exit status and the output."""
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    done = run([python, "-m", "pytest", "-q", "-p", "no:randomly", "-m", "not nightly", *SMOKE], folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_part_of_the_suite_passes_against_the_installed_wheel(installed: Installed, tmp_path: Path) -> None:
    where = installed.run([installed.python, "-c", "import passlab; print(passlab.__file__)"], tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.folder)
    status, output = smoke(installed.python, tmp_path)
    assert status == 0, output[-4000:]


def test_the_wheel_carries_the_course_the_manual_the_extension_and_the_types(installed: Installed) -> None:
    held = {name: info.file_size for info in zipfile.ZipFile(installed.wheel).infolist() for name in [info.filename]}
    data = f"passlab-{installed.wheel.name.split('-')[1]}.data/data/share/jupyter/labextensions/passlab/"
    assert held["passlab/py.typed"] == 0
    assert f"{data}package.json" in held
    lessons = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert lessons <= {Path(name).name for name in held if name.startswith("passlab/course/notebooks/")}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {
        "lessons/index.md"
    }
    assert pages == {name.removeprefix("passlab/pages/") for name in held if name.startswith("passlab/pages/")}
    assert installed.wheel.stat().st_size < LARGEST


def test_the_commands_work_where_nothing_of_the_checkout_is(installed: Installed, tmp_path: Path) -> None:
    for arguments, expected in (
        (["--version"], "passlab "),
        (["passes"], "FoldConstant"),
        (["docs", "which", "pass", "broke", "my", "program"], "Find the pass that broke a program"),
        (["course", "start", "course"], "files copied"),
    ):
        done = installed.run([installed.script("passlab"), *arguments], tmp_path)
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
    assert (tmp_path / "course" / "01-tour.ipynb").exists()
    (tmp_path / "open.relay").write_text("def @main(%x: Tensor[(?, 3), float32]) { nn.relu(%x) }", encoding="utf-8")
    for arguments, status, expected in (
        (["run", "open.relay", "--shape", "x=2,3"], 0, "[[0.27392337"),
        (["run", "open.relay", "--shape", "y=2,3"], 1, "`y`"),
        (["run", "away.relay"], 1, "away.relay"),
        (["pases"], 2, "passes"),
    ):
        done = installed.run([installed.script("passlab"), *arguments], tmp_path)
        assert (done.returncode, expected in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    examined = installed.run([installed.script("passlab"), "doctor"], tmp_path)
    assert examined.returncode == 0, examined.stdout


if __name__ == "__main__":  # python -m tests.package.test_smoke PYTHON FOLDER: in an environment of one's own
    code, text = smoke(sys.argv[1], Path(sys.argv[2]))
    print(text)
    sys.exit(code)
