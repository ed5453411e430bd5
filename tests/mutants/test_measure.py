"""How mutants are measured: which tests a function gets, that processes see the mutant, and what counts as caught."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import measure, noting, reach
from tests.mutants.definitions import HOUSE
from tests.mutants.drawing import Mutant
from tests.mutants.forks import HOOK, Forks, hooked
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

MORE = f"""
import os, subprocess, sys, time
from passlab.errors import PasslabError
from passlab.op.nn.activation import _zeros

def test_nothing():
    pass
def test_property():
    assert PasslabError("no").args[0]
def test_cache():
    assert not _zeros(numpy.dtype("float32")).flags.writeable
def test_module():
    from passlab import doctor
    assert "~" not in str(list(doctor._platform()))
def test_wait():
    time.sleep(60)
def test_exit():
    os._exit(1)
def test_process():
    subprocess.run([sys.executable, "-c", {SEES + chr(10) + "test_division()"!r}], check=True)
def test_fails():
    assert False
"""


def ran(folder: Path, text: str, mutation: Mutation | None = MUTANT.mutation, limit: float = 60) -> measure.Run:
    test = folder / "test_one.py"
    test.write_text(text, encoding="utf-8")
    return measure.run(mutation, [str(test)], limit)


def test_a_failure_catches_a_mutant_and_passlab_itself_passes(tmp_path: Path) -> None:
    caught = ran(tmp_path, SEES)
    assert caught.how.startswith("caught by ")
    assert caught.how.endswith("test_one.py::test_division")
    itself = ran(tmp_path, SEES, mutation=None)
    assert (itself.how, itself.passed) == ("SURVIVED", 1)


def test_tests_without_end_catch_a_mutant(tmp_path: Path) -> None:
    assert ran(tmp_path, "import time\ndef test_wait():\n    time.sleep(60)\n", limit=3).how == "caught: no end"


# Of each: what it is, a key of the mutant, the tests that are run, and how that ends.
FORKED = [
    ("a function that was made long ago", MUTANT.mutation.key, "nothing division", "division"),
    ("tests that do not see it", MUTANT.mutation.key, "nothing", ""),
    ("no mutant", None, "nothing division", ""),
    ("a property", "PasslabError.args / keep argument 0", "property", "property"),
    ("a function behind a cache", "activation:_zeros / other constant 0 / True", "cache", "cache"),
    ("a module that is not loaded", "doctor:_platform / other text 0 / '~'", "module", "module"),
    ("what runs when a module is loaded", "_EXCERPT_WIDTH / other constant 0 / 161", "nothing", "fresh"),
    ("a test that does not end", None, "wait", "no end"),
    ("a test that ends the process", None, "exit", "the process has died"),
    ("a process that a test starts", MUTANT.mutation.key, "process", "process"),
    ("a test that fails without a mutant", None, "nothing fails", "fails"),
]


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    file = tmp_path_factory.mktemp("tests") / "test_one.py"
    file.write_text(SEES + MORE, encoding="utf-8")
    forks = Forks([str(file)])
    yield forks
    forks.close()


@pytest.mark.parametrize(("key", "tests", "expected"), [case[1:] for case in FORKED], ids=[case[0] for case in FORKED])
def test_a_fork_has_the_mutant_and_the_next_has_not(forks: Forks, key: str, tests: str, expected: str) -> None:
    named = {name.partition("::test_")[2]: name for name in forks.tests}
    answer = forks.run(key and Mutation.from_key(key), [named[test] for test in tests.split()], 5)
    assert named.get(expected, expected) in (answer.get("failed"), *answer), answer
    assert forks.run(None, [named["division"]], 60) == {"passed": 1, "failed": ""}


def test_a_process_that_a_test_starts_has_the_mutant_too() -> None:
    child = (
        "import numpy; from passlab.op.broadcast import division_kernel\n"
        "kernel = division_kernel(lambda a, b: a - b, lambda a, b, out: a + b)\n"
        "print(kernel(None, numpy.ones(1, 'float32'), numpy.ones(1, 'float32')))\n"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    environment = os.environ | hooked(MUTANT.mutation)
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
    measure.report([(MUTANT, measure.Run("", 7, 1.0)), *[(MUTANT, measure.Run("no end", 0, 1.0))] * 2])
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


def test_what_survives_the_nearest_tests_is_measured_by_those_that_are_farther(forks: Forks) -> None:
    near, far = (
        [reach.Test(name, 1.0) for name in forks.tests if name.endswith(ends)]
        for ends in (("nothing", "fails"), "division")
    )
    assert measure.measure(MUTANT, [near], forks).how == "SURVIVED"
    assert measure.measure(MUTANT, [near, far], forks).how.endswith("::test_division")


def test_verdicts_are_kept_in_a_file(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    assert not measure.read(notes)
    verdict = measure.Run("no end", 3, 1.5)
    measure.write(notes, MUTANT, verdict)
    assert measure.read(notes) == {MUTANT.mutation.key: verdict}


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
    paths = os.pathsep.join(map(str, (HOOK, measure.ROOT)))
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
