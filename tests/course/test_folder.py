"""A learner's folder: lessons are copied and never overwritten, a fresh copy keeps the old one, a class is graded."""

from __future__ import annotations

import csv
import errno
import json
import zipfile

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.atomic_file import writing_error
from passlab.cli import main
from passlab.course import compiler, grading
from passlab.course import folder as course
from passlab.course.folder import reset, start, status
from passlab.course.given import learners_copy, lesson_file
from passlab.course.progress import PROGRESS
from passlab.course.registry import CELLS, LESSONS, TASKS, lesson, tasks_of
from passlab.errors import PasslabError

TOUR = passlab.parse(
    "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w)) }"
)
RIGHT = {2: "answer_2 = (4, 15)"}


def submission(path, answers):
    """Write lesson 2 with some answer cells changed, by the number of the exercise."""
    notebook = json.loads((course.lessons_folder() / "02-reading-relay.ipynb").read_text())
    exercises = [cell for cell in notebook["cells"] if "exercise" in cell["metadata"].get("tags", [])]
    for number, source in answers.items():
        exercises[number - 1]["source"] = source
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))


def test_starting_twice_keeps_what_the_learner_wrote(tmp_path):
    copied, kept = course.start(tmp_path)
    assert not kept
    assert {path.name for path in copied} >= {"01-tour.ipynb", "02-reading-relay.ipynb", "digits.relay"}
    (tmp_path / "02-reading-relay.ipynb").write_text("mine")
    (tmp_path / "03-types-by-hand.ipynb").unlink()
    again, kept = course.start(tmp_path)
    assert [path.name for path in again] == ["03-types-by-hand.ipynb"]
    assert len(kept) == len(copied) - 1
    assert (tmp_path / "02-reading-relay.ipynb").read_text() == "mine"


def test_a_lesson_copied_alone_finds_what_it_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = lesson_file("digits.relay")
    assert given == course.lessons_folder() / "digits.relay"
    (tmp_path / "digits.relay").write_text("mine")
    assert lesson_file("digits.relay").read_text() == "mine", "a file of the learner comes first"
    for name, fix in (("digit.relay", "did you mean `digits.relay`"), ("../README.md", "digits.c")):
        with pytest.raises(PasslabError, match="no lesson reads a file") as refused:
            lesson_file(name)
        assert fix in str(refused.value)


def test_progress_is_shown_and_a_fresh_copy_keeps_the_old_one(tmp_path, capsys):
    course.start(tmp_path)
    assert lesson(2, {"answer_2": (4, 15)}, tmp_path)(2)
    assert [row.title for row in course.status(tmp_path)][:2] == ["A tour of passlab", "Reading Relay"]
    first = course.status(tmp_path)[1]
    assert (first.title, first.solved, len(first.open), first.points) == ("Reading Relay", ("How large",), 4, 1)
    assert lesson(1, {"answer_1": TOUR}, tmp_path)(1)
    assert main(["course", "next", str(tmp_path)]) == 0
    assert "open: Share the work, The other way round, Count the leaves, The reader" in capsys.readouterr().out
    mine = tmp_path / "02-reading-relay.ipynb"
    for text in ("mine", "mine again"):
        mine.write_text(text)
        assert main(["course", "reset", "2", str(tmp_path)]) == 0
    assert sorted(path.read_text() for path in tmp_path.glob("*-kept-*")) == ["mine", "mine again"]
    assert mine.read_bytes() == learners_copy((course.lessons_folder() / mine.name).read_bytes())
    assert course.status(tmp_path)[1].solved == ()
    with zipfile.ZipFile(course.submit(tmp_path)) as archive:
        assert {"02-reading-relay.ipynb", PROGRESS} <= set(archive.namelist())
        assert not [name for name in archive.namelist() if "kept" in name]


def test_what_is_handed_in_has_the_learners_compiler(tmp_path):
    course.start(tmp_path)
    (tmp_path / "my_compiler").mkdir()
    (tmp_path / "my_compiler" / "plan.py").write_text("answer_4 = len")
    with zipfile.ZipFile(course.submit(tmp_path)) as archive:
        assert "my_compiler/plan.py" in archive.namelist()


@pytest.mark.nightly  # starts a process
def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    submission(tmp_path / "class" / "ada" / "02-reading-relay.ipynb", RIGHT)
    monkeypatch.setenv("HOME", "/proc")
    monkeypatch.delenv("IPYTHONDIR", raising=False)
    outcomes = {one.exercise: one.outcome for one in grading.grade(tmp_path / "class", [2])}
    assert outcomes == {1: "empty", 2: "right", 3: "empty", 4: "empty", 5: "empty"}


@pytest.mark.rotating
def test_a_notebook_that_an_editor_of_windows_has_saved_is_graded(tmp_path):
    for student, change in (
        ("ada", lambda text: b"\xef\xbb\xbf" + text),
        ("bob", lambda text: text.replace(b"\n", b"\r\n")),
    ):
        path = tmp_path / "class" / student / "02-reading-relay.ipynb"
        submission(path, RIGHT)
        path.write_bytes(change(path.read_bytes()))
    outcomes = {one.student: one.outcome for one in grading.grade(tmp_path / "class", [2]) if one.exercise == 2}
    assert outcomes == {"ada": "right", "bob": "right"}


def test_nobody_who_handed_in_is_left_out(tmp_path, monkeypatch):
    """A notebook with another name is found by the lesson in its code, and whoever handed in none is missing."""
    folder = tmp_path / "class"
    submission(folder / "ann" / "Copy of Reading Relay (2).ipynb", RIGHT)
    submission(folder / "My homework.ipynb", RIGHT)
    (folder / "bob").mkdir()
    (folder / "bob" / "broken.ipynb").write_text('{"cells": [')
    (folder / "eve.zip").write_text("no archive")
    monkeypatch.setattr(
        grading, "_graded", lambda student, number, path, *limits: [(student, number, path is not None)]
    )
    for lessons in ([2], []):
        graded = {(student, number): found for student, number, found in grading.grade(folder, lessons)}
        handed_in = {("ann", "02"): True, ("My homework", "02"): True, ("bob", "02"): False, ("eve", "02"): False}
        assert graded == handed_in


def test_what_cannot_be_done_is_said(tmp_path, capsys):
    for arguments, words in (
        (["status", str(tmp_path)], "there are no lessons in this folder"),
        (["reset", "77", str(tmp_path)], "there is no such lesson"),
        (["grade", str(tmp_path)], "no submission was found"),
        (["grade", str(tmp_path / "none")], "cannot be read"),
    ):
        assert main(["course", *arguments]) == 1
        assert words in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    with pytest.raises(PasslabError, match="cannot be created"):
        course.start(tmp_path / "file")


@pytest.mark.nightly  # starts a process for each submission
def test_right_wrong_empty_crashed_and_endless_answers_are_told_apart(tmp_path, monkeypatch):
    forged = "answer_2 = 1\ncheck = lambda number: True"
    for student, answer in (
        ("ada", "answer_2 = (4, 15)"),
        ("bob", "answer_2 = (4, 4)"),
        ("cyd", "answer_2 = ..."),
        ("dan", "answer_2 = 1 / 0"),
        ("eve", forged),
        ("=fox", "import os\nos._exit(3)"),
        ("gil", "while True: pass"),
        ("hal", "answer_2 = bytearray(10**12)"),
    ):
        submission(tmp_path / "class" / student / "02-reading-relay.ipynb", {2: answer})
    with zipfile.ZipFile(tmp_path / "class" / "ivy.zip", "w") as archive:
        submission(tmp_path / "02-reading-relay.ipynb", RIGHT)
        archive.write(tmp_path / "02-reading-relay.ipynb", "../../02-reading-relay.ipynb")
        archive.writestr("02-reading-relay-kept-1.ipynb", "no notebook")
    (tmp_path / "class" / "jon").mkdir()
    (tmp_path / "class" / "jon" / "02-reading-relay.ipynb").write_text("{}")
    grades = grading.grade(tmp_path / "class", [2], seconds=60)
    outcomes = {one.student: one.outcome for one in grades if one.exercise == 2}
    assert outcomes == {
        "ada": "right", "bob": "wrong", "cyd": "empty", "dan": "crashed", "eve": "wrong", "=fox": "crashed",
        "gil": "timeout", "hal": "crashed", "ivy": "right", "jon": "crashed",
    }  # fmt: skip
    later = {one.outcome for one in grades if one.student == "gil" and one.exercise == 3}
    assert later == {"empty"}, "an endless cell does not take the others with it"
    files = grading.write_grades(grades, tmp_path / "out")
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["student"] for row in rows} == {"'=fox", "ada", "bob", "cyd", "dan", "eve", "gil", "hal", "ivy", "jon"}
    assert "How large: correct" in (tmp_path / "out" / "ada.html").read_text()
    assert not (tmp_path.parent / "02-reading-relay.ipynb").exists()


class TestAFolderThatCannotBeWritten:
    """A full disk, a folder of somebody else: the check goes on, and nothing of the learner is lost."""

    @pytest.fixture
    def full(self, tmp_path, monkeypatch):
        start(tmp_path)

        def refuse(path, *_):
            raise writing_error(path, OSError(errno.ENOSPC, "No space left on device"))

        for module in ("folder", "own", "progress"):
            for name in ("write_text", "write_bytes"):
                monkeypatch.setattr(f"passlab.course.{module}.{name}", refuse, raising=False)
        return tmp_path

    def test_reset_leaves_the_lesson_where_it_was(self, full):
        before = {path.name: path.read_bytes() for path in full.iterdir()}
        with pytest.raises(PasslabError, match="disk is full"):
            reset(full, 2)
        assert {path.name: path.read_bytes() for path in full.iterdir()} == before

    def test_ones_own_compiler_compiles_and_says_that_it_kept_nothing(self, full):
        _, weights = relay.testing.digits.get_workload()
        text = (full / "digits.relay").read_text(encoding="utf-8")
        compiled = compiler(full).build(text, weights, {"image": (1, 1, 8, 8)})
        assert "disk is full" in compiled.trouble
        assert np.isclose(compiled.run(np.ones((1, 1, 8, 8))).sum(), 1, atol=1e-5)

    def test_a_guess_and_a_part_are_taken_with_a_sentence(self, full, monkeypatch):
        monkeypatch.setattr(CELLS, "last", {})
        tasks_of(2)
        source = TASKS["02", 5].solution
        space: dict[str, object] = {}
        exec(source, space)
        CELLS.ran(source, None)
        check = lesson(2, space, full)
        assert "disk is full" in str(check(5).required())
        assert "disk is full" in repr(check.predict(1, "a"))
        assert "You guessed" in repr(check.predict.look(1))


@pytest.mark.parametrize("damage", ["bytes", "folder"])
def test_a_damaged_part_of_the_compiler_is_written_anew(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(CELLS, "last", {})
    part = tmp_path / "my_compiler" / "read.py"
    part.parent.mkdir()
    part.mkdir() if damage == "folder" else part.write_bytes(b"\xff\xfe\0")
    tasks_of(2)
    source = TASKS["02", 5].solution
    space: dict[str, object] = {}
    exec(source, space)
    CELLS.ran(source, None)
    verdict = str(lesson(2, space, tmp_path)(5).required())
    assert ("kept in my_compiler/read.py" in verdict) == (damage == "bytes")
    assert compiler(tmp_path).parts["read"].is_own == (damage == "bytes")


def test_the_list_for_the_sidebar_is_complete_and_renewed(tmp_path):
    start(tmp_path)
    listed = json.loads((tmp_path / "lessons.json").read_text(encoding="utf-8"))["lessons"]
    assert [one["label"] for one in listed] == list(LESSONS)
    assert all((tmp_path / one["notebook"]).is_file() and one["title"] and one["minutes"] >= 15 for one in listed)
    rows = status(tmp_path)
    assert [[task["title"] for task in one["exercises"]] for one in listed] == [list(row.open) for row in rows]
    assert [sum(task["points"] for task in one["exercises"]) for one in listed] == [row.most_points for row in rows]
    (tmp_path / "lessons.json").write_text("old", encoding="utf-8")
    start(tmp_path)
    assert json.loads((tmp_path / "lessons.json").read_text(encoding="utf-8"))["lessons"] == listed
