"""The lessons as they are stored: exercises come with a check and a folded solution that passes it, and nothing local.

What the cells do is checked by running them (`make test`); this reads the files only.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from passlab import dumps
from passlab.course.registry import cell_digest, tasks_of
from tests.each import each
from tests.notebook.lesson_minutes import FOLDED, estimated, stated

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EVERY = sorted(NOTEBOOKS.glob("*.ipynb"))
LESSONS = sorted(path for path in NOTEBOOKS.glob("*.ipynb") if not path.name.startswith("01-"))  # all but the tour
STAGES = ("exercise", "check", "solution")


def cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def tags(cell):
    return cell["metadata"].get("tags", [])


def shown(cell):
    """The plain text of what a cell gave."""
    outputs = [output.get("data", {}).get("text/plain", output.get("text", "")) for output in cell["outputs"]]
    return "".join("".join(output) for output in outputs)


def test_lessons_are_numbered_in_their_order():
    numbers = [path.stem.partition("-")[0] for path in LESSONS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 12


@each("path", EVERY, ids=lambda path: path.stem)
def test_a_lesson_states_the_minutes_that_it_takes(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert stated(notebook) == estimated(notebook)
    assert 15 <= stated(notebook).lesson <= 40
    assert stated(notebook).project <= 60


def test_the_manual_lists_the_lessons_with_their_minutes():
    page = (NOTEBOOKS.parent / "docs/lessons/index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+)\]\((.+)\) \| .+ \| (\d+) \| (\d*) *\|$", page, re.MULTILINE)
    expected = []
    for path in EVERY:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        title = notebook["cells"][0]["source"][0].removeprefix("# ").strip()
        minutes = stated(notebook)
        expected.append((title, path.name, str(minutes.lesson), str(minutes.project or "")))
    assert rows == expected


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_kernels_as_loops_compute_what_the_network_computes(tmp_path):
    library = tmp_path / "digits.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", NOTEBOOKS / "digits.c", "-o", library], check=True)
    loops = ctypes.CDLL(str(library))
    rng = np.random.default_rng(0)
    data, weight, bias, image = (rng.normal(size=n).astype("float32") for n in (64, 640, 10, 256))
    numbers, positive = np.zeros(10, "float32"), np.zeros(256, "float32")
    loops.dense(*(array.ctypes.data_as(ctypes.c_void_p) for array in (data, weight, bias, numbers)))
    loops.relu(*(array.ctypes.data_as(ctypes.c_void_p) for array in (image, positive)))
    np.testing.assert_allclose(numbers, weight.reshape(10, 64) @ data + bias, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(positive, np.maximum(image, 0))
    assert (
        loops.classify(*(array.ctypes.data_as(ctypes.c_void_p) for array in (data, weight, bias))) == numbers.argmax()
    )


def test_the_dump_of_llvm_is_that_of_the_loops_of_the_lesson():
    defined = re.findall(
        r"^(?:static )?\w+ (\w+)\(", (NOTEBOOKS / "digits.c").read_text(encoding="utf-8"), re.MULTILINE
    )
    recording = dumps.read(NOTEBOOKS / "digits-llvm.txt.gz")
    assert set(defined) == {"positive", "relu", "dense", "largest", "classify"}
    assert re.findall(r"^define .*@(\w+)\(", recording.program(0), re.MULTILINE) == [
        "relu",
        "positive",
        "dense",
        "largest",
        "classify",
    ]
    assert 'source_filename = "digits.c"' in recording.program(0)


def test_the_dump_of_tvm_is_that_of_the_network_of_the_course():
    recording = dumps.read(NOTEBOOKS / "digits-tvm.txt.gz")
    operators = re.findall(r"= R\.([\w.]+)\(", recording.program(1))
    expected = [
        "nn.conv2d",
        "reshape",
        "add",
        "nn.relu",
        "nn.max_pool2d",
        "reshape",
        "permute_dims",
        "matmul",
        "add",
        "nn.softmax",
    ]
    assert operators == expected


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
class TestLesson:
    def test_three_to_five_exercises_each_with_a_check_and_a_solution(self, path):
        stages = [tag for cell in cells(path) for tag in tags(cell) if tag in STAGES]
        assert len(stages) % 3 == 0
        assert stages == list(STAGES) * (len(stages) // 3)
        assert 3 <= len(stages) // 3 <= 5

    def test_what_is_given_does_not_pass_and_the_solution_does(self, path):
        for cell in cells(path):
            if "check" in tags(cell):
                assert shown(cell).startswith("○ "), "nobody is wrong before he has done something"
            if "solution" in tags(cell):
                assert "✓ " in shown(cell), cell["id"]
                assert "✗ " not in shown(cell), cell["id"]

    def test_solutions_are_folded_and_their_outputs_give_nothing_away(self, path):
        for cell in cells(path):
            if "solution" in tags(cell):
                assert cell["metadata"]["jupyter"] == {"outputs_hidden": True, "source_hidden": True}, cell["id"]
                assert cell["source"][0] == f"{FOLDED}\n", "JupyterLab shows the first line of a folded cell"
                assert [output["output_type"] for output in cell["outputs"]] == ["execute_result"], cell["id"]
                assert "(the solution): correct." in shown(cell)

    def test_each_exercise_has_a_variable_and_a_kind_of_its_own(self, path):
        sources = ["".join(cell["source"]) for cell in cells(path) if set(STAGES) & set(tags(cell))]
        tasks = tasks_of(path.stem.partition("-")[0])
        assert len(sources) == 3 * len(tasks)
        for task, exercise, check, solution in zip(tasks, *[iter(sources)] * 3, strict=True):
            assert f"answer_{task.number}" in exercise
            assert task.starter == cell_digest(exercise), "the cell as it is given is no answer"
            assert check == f"check({task.number})"
            assert solution == f"{FOLDED}\ncheck.solution({task.number})"

    def test_pictures_carry_the_lesson(self, path):
        pictures = [
            cell["id"] for cell in cells(path) if any("text/html" in o.get("data", {}) for o in cell["outputs"])
        ]
        assert len(pictures) >= 2

    def test_the_learner_predicts_and_the_network_of_the_course_comes_in(self, path):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        prose = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        assert re.search(r"[Pp]redict|\*\*Think\*\*", prose), "a learner commits to an answer first"
        assert "network" in prose or "digits" in "".join("".join(cell["source"]) for cell in notebook["cells"])

    def test_only_announced_cells_fail_and_they_fail_with_a_diagnostic(self, path):
        for cell in cells(path):
            errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
            assert bool(errors) == ("raises-exception" in tags(cell)), cell["id"]
            assert all("error: " in error["evalue"] or "error: " in "\n".join(error["traceback"]) for error in errors)
            assert all("Traceback" not in "\n".join(error["traceback"]) for error in errors)

    def test_it_was_run_in_order_and_holds_nothing_of_the_machine_it_ran_on(self, path):
        assert [cell["execution_count"] for cell in cells(path)] == list(range(1, len(cells(path)) + 1))
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
        assert all("execution" not in cell["metadata"] for cell in notebook["cells"])
        assert path.stat().st_size < 250_000


def test_the_recording_of_triton_is_that_of_the_kernel_of_the_lesson():
    recording = dumps.read(NOTEBOOKS / "softmax-triton.txt.gz")
    code = (NOTEBOOKS / "softmax_triton.py").read_text()
    lines = code.split("\n")
    rows = [row for row in recording.sources() if row["file"] == "softmax_triton.py"]
    assert {row["line"]: row["text"] for row in rows} == {n: lines[n - 1].strip() for n in range(12, 20)}
    assert lines[11].startswith("def softmax(")
    assert not [place for places in recording.places("SASS") for place in places if place.startswith("/")]
