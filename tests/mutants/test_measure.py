"""How mutants are measured: which tests a function gets, that processes see the mutant, and what counts as caught."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import measure, noting, reach
from tests.mutants.definitions import HOUSE
from tests.mutants.drawing import Mutant
from tests.mutants.mutation import Mutation

pytestmark = pytest.mark.rotating

BROADCAST = HOUSE / "op" / "broadcast.py"
MUTANT = Mutant(
    Mutation("division_kernel.kernel", "negate condition"), BROADCAST, "passlab.op.broadcast:division_kernel.kernel"
)
SEES = """
import numpy
from passlab.op.broadcast import division_kernel

def test_division():
    kernel = division_kernel(lambda a, b: a - b, lambda a, b, out: a + b)
    one = numpy.ones(2, "float32")
    assert kernel(None, one, one).tolist() == [2, 2]
"""


def ran(folder: Path, text: str, mutant: Mutant | None = MUTANT, limit: float = 60) -> measure.Run:
    test = folder / "test_one.py"
    test.write_text(text, encoding="utf-8")
    return measure.run(mutant, [str(test)], limit)


def test_a_failure_catches_a_mutant_and_passlab_itself_passes(tmp_path: Path) -> None:
    caught = ran(tmp_path, SEES)
    assert caught.how.startswith("caught by "), caught.output
    assert caught.how.endswith("test_one.py::test_division")
    itself = ran(tmp_path, SEES, mutant=None)
    assert (itself.status, itself.passed) == (measure.PASSED, 1), itself.output


def test_a_mutant_that_no_test_sees_survives(tmp_path: Path) -> None:
    survived = ran(tmp_path, "def test_nothing():\n    import passlab\n    assert passlab\n")
    assert (survived.how, survived.passed) == ("SURVIVED", 1), survived.output


def test_tests_without_end_catch_a_mutant(tmp_path: Path) -> None:
    assert ran(tmp_path, "import time\ndef test_wait():\n    time.sleep(60)\n", limit=3).how == "caught: no end"


def test_a_process_that_a_test_starts_has_the_mutant_too() -> None:
    child = (
        "import numpy; from passlab.op.broadcast import division_kernel\n"
        "kernel = division_kernel(lambda a, b: a - b, lambda a, b, out: a + b)\n"
        "print(kernel(None, numpy.ones(1, 'float32'), numpy.ones(1, 'float32')))\n"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    paths = os.pathsep.join(map(str, (measure.HOOK, measure.ROOT)))
    environment = os.environ | {"PYTHONPATH": paths, "PASSLAB_MUTATION": measure.planted(MUTANT)}
    done = subprocess.run([sys.executable, "-c", parent], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[0.]\n", "")


def test_a_survivor_is_shown_by_its_lines_before_and_after() -> None:
    assert measure.difference(MUTANT.mutation).splitlines() == [
        "    - if is_float(lhs.dtype):",
        "    + if not is_float(lhs.dtype):",
    ]
    path, _, line = measure.line_of(MUTANT).partition(":")
    assert "is_float" in (measure.ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_the_report_ends_with_the_share(capsys: pytest.CaptureFixture[str]) -> None:
    measure.report([(MUTANT, measure.Run(0, 7, 1.0, "")), *[(MUTANT, measure.Run(1, 0, 1.0, ""))] * 2])
    first, *_, last = capsys.readouterr().out.strip().splitlines()
    assert first.startswith("passlab/op/broadcast.py:")
    assert last == "2 of 3 mutants caught: 67 %"


def test_the_nearest_tests_are_those_of_the_own_package_one_of_each_first(tmp_path: Path) -> None:
    tests = [
        ("tests/vm/test_a.py::test_x", 0.1),
        ("tests/op/test_a.py::test_x[1]", 0.2),
        ("tests/op/test_a.py::test_x[2]", 0.3),
        ("tests/op/test_a.py::test_y", 4.0),
        ("tests/op/test_a.py::test_other", 0.0),
    ]
    data = {"tests": tests, "functions": {"passlab.op.a:f": [0, 1, 2, 3]}}
    (tmp_path / "op.json").write_text(json.dumps(data), encoding="utf-8")

    def names(most: int, seconds: float) -> list[str]:
        return [test.name[6:] for test in reach.nearest("passlab.op.a:f", most, seconds, tmp_path)]

    x1, x2, y = "op/test_a.py::test_x[1]", "op/test_a.py::test_x[2]", "op/test_a.py::test_y"
    assert names(9, 60) == [x1, y, x2, "vm/test_a.py::test_x"]
    assert names(2, 60) == [x1, y]
    assert names(9, 1) == [x1, x2, "vm/test_a.py::test_x"]
    assert names(9, 0) == [x1]
    assert not reach.nearest("passlab.ir.a:f", 9, 60, tmp_path)


def test_what_only_an_import_calls_is_near_to_the_tests_of_its_module_then_of_its_package(tmp_path: Path) -> None:
    names = ["tests/op/test_a.py::test_a", "tests/op/test_b.py::test_b", "tests/vm/test_c.py::test_c"]
    console = f"{reach.DIAGNOSTICS}[vm]"
    tests = [(name, 1.0) for name in [*names, console]]
    functions = {"passlab.op.a:f": [0, 2, 3], "passlab.op.b:g": [1], "passlab.vm.c:h": [2]}
    (tmp_path / "op.json").write_text(json.dumps({"tests": tests, "functions": functions}), encoding="utf-8")
    near = reach.nearest("passlab.op.a:register", 9, 60, tmp_path)
    assert [test.name for test in near] == [console, names[0], names[2], names[1]]


def test_what_survives_the_nearest_tests_is_measured_by_those_that_are_farther(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(f"def test_nothing():\n    pass\n{SEES}", encoding="utf-8")
    near, far = ([reach.Test(f"{tmp_path}/test_two.py::test_{name}", 1.0)] for name in ("nothing", "division"))
    assert measure.measure(MUTANT, [near]).how == "SURVIVED"
    assert measure.measure(MUTANT, [near, far]).how.endswith("::test_division")


def test_the_plugin_notes_what_passes_in_every_process(tmp_path: Path) -> None:
    test = tmp_path / "test_one.py"
    only_made = "from passlab.op.broadcast import division_kernel; division_kernel(max, max)"
    tests = f"""
import os, subprocess, sys
def test_fails():
    test_division()
    assert False
def test_made():
    {only_made}
def test_process():
    subprocess.run([sys.executable, "-c", {SEES + chr(10) + "test_division()"!r}], check=True)
def test_fork():
    child = os.fork()
    if child == 0:
        test_division()
        os._exit(0)
    os.waitpid(child, 0)
"""
    test.write_text(SEES + tests, encoding="utf-8")
    noting.prepare(tmp_path / "calls")
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.mutants.reach", f"--reach-to={tmp_path}/notes.json"]
    paths = os.pathsep.join(map(str, (measure.HOOK, measure.ROOT)))
    environment = os.environ | {"PYTHONPATH": paths, "PASSLAB_REACH": str(tmp_path / "calls")}
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(test)], env=environment, cwd=measure.ROOT, check=False
    )

    def names(function: str) -> list[str]:
        return [test.name.rpartition("::")[2] for test in reach.nearest(function, 9, 60, tmp_path)]

    *first, last = names(MUTANT.function)
    assert sorted(first) == ["test_division", "test_fork", "test_process"]
    assert last == "test_made"  # it reaches another function of the file
    assert {"test_made", "test_process"} <= set(names("passlab.op.broadcast:division_kernel"))
