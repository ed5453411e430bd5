"""Predictions: a guess is taken in three forms, and in a learner's copy nothing tells an answer before it is asked for."""

from __future__ import annotations

import json
import re

import pytest

from passlab.course import folder as course
from passlab.course import lesson
from passlab.course.given import lesson_files, look_number, prose_of
from passlab.course.predictions import QUESTIONS, a_number, in_words, one_of
from passlab.course.progress import PROGRESS, read_progress
from passlab.course.registry import LESSONS, tasks_of
from passlab.errors import PasslabError

KINDS = (one_of("Which?", "the first", "the second", right="b"), a_number("How many?", 4), in_words("Why?", "because"))
for label in LESSONS:
    tasks_of(label)


@pytest.fixture
def predict(tmp_path, monkeypatch):
    monkeypatch.setitem(QUESTIONS, "02", list(KINDS))
    return lesson(2, {}, tmp_path).predict


def test_no_answer_before_a_guess(predict):
    for number in (1, 2, 3):
        assert "Guess first" in str(predict.look(number))
        predict(number, ...)
        assert "Guess first" in str(predict.look(number)), "dots are no guess"


@pytest.mark.parametrize(("number", "guess", "kept", "words"), [
    (1, "b", "b", "You guessed b: the second. That is right."), (1, " B ", "b", "right"), (1, "The second", "b", "right"),
    (1, "a", "a", "You guessed a: the first. The answer: b: the second."), (2, 4, "4", "You guessed 4. That is right."),
    (2, "4", "4", "right"), (2, 4.0, "4", "right"), (2, 5, "5", "You guessed 5. The answer: 4."),
    (3, "so", "so", "You guessed so. The answer: because."),
])  # fmt: skip
def test_a_guess_is_taken_and_kept(predict, tmp_path, number, guess, kept, words):
    assert f"Your guess: {kept}" in str(predict(number, guess))
    for again in (predict, lesson(2, {}, tmp_path).predict):  # also when the kernel was started anew
        assert words in str(again.look(number))
        assert f"Your guess: {kept}" in str(again(number))


@pytest.mark.parametrize(("number", "guess", "words"), [
    (1, "c", "That is not one of a, b."), (1, 1, "not one of a, b"), (1, "", "not one of"), (1, None, "not one of"),
    (2, "many", "That is not a number."), (2, True, "not a number"), (2, [4], "not a number"), (2, 10**400, "not a number"),
    (3, "  ", "That is not a text."), (3, 3, "not a text"),
])  # fmt: skip
def test_what_is_no_guess_is_said(predict, number, guess, words):
    assert words in str(predict(number, guess))
    assert "Guess first" in str(predict.look(number))


def test_a_prediction_that_does_not_exist_is_refused(predict):
    for number in (0, 4, "1", None):
        with pytest.raises(PasslabError, match="no such prediction"):
            predict(number)


def test_a_guess_can_be_changed_and_reset(predict, tmp_path):
    predict(1, "a")
    predict(1, "b")
    assert "right" in str(predict.look(1))
    lesson(2, {}, tmp_path).reset()
    assert read_progress(tmp_path / PROGRESS) == {}


def test_the_prose_of_the_answer_comes_from_the_lesson(tmp_path):
    predict = lesson(2, {}, tmp_path).predict
    predict(1, "b")
    assert "the very same object" in predict.look(1).prose
    assert predict.look(1)._repr_markdown_().startswith("*You guessed b: one and two. That is right.*\n\n")


# ------------------------------------------------------------------------------------------------------------- lessons
def copies(tmp_path):
    course.start(tmp_path)
    return {
        label: json.loads((tmp_path / path.name).read_text(encoding="utf-8"))["cells"]
        for label, path in lesson_files().items()
    }


def source(cell):
    return "".join(cell["source"])


def test_each_prediction_is_asked_looked_at_and_registered():
    for label, path in lesson_files().items():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        prompts = sum(len(re.findall(r"\*\*(?:Predict|Think|predict)\b", source(cell))) for cell in cells)
        asked = [int(match[1]) for cell in cells if (match := re.fullmatch(r"predict\((\d+)\)", source(cell)))]
        looked = [look_number(cell) for cell in cells if look_number(cell)]
        expected = list(range(1, len(QUESTIONS.get(label, [])) + 1))
        assert asked == expected, path
        assert sorted(looked) == expected, path
        assert prompts == len(expected), f"{path.name}: each prompt to predict has a question"
        assert all(prose_of(label, number) for number in expected)


# Numbers that the next output draws or lists, for the reader to count.
COUNTED = {
    ("04b", 1), ("10", 1), ("10", 2), ("11", 1), ("12", 1), ("13b", 1), ("14", 3), ("15", 1), ("15b", 3), ("19c", 1), ("21", 2)
}  # fmt: skip


def test_a_number_to_predict_stands_in_the_next_output():
    """A verdict that changes with passlab changes the output of its cell, and must change the answer, too."""
    for label, path in lesson_files().items():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for number, question in enumerate(QUESTIONS.get(label, []), 1):
            if not isinstance(question.right, float) or (label, number) in COUNTED:
                continue
            asked = next(i for i, cell in enumerate(cells) if source(cell) == f"predict({number})")
            shown = next(cell for cell in cells[asked + 1 :] if cell["cell_type"] == "code")["outputs"]
            texts = [output.get("text") or output["data"]["text/plain"] for output in shown]
            numbers = re.findall(r"\d+(?:\.\d+)?", " ".join("".join(text) for text in texts))
            assert question.right in map(float, numbers), (
                f"{path.name}, prediction {number}: {question.right} not in {texts}"
            )


def test_a_learners_copy_answers_nothing_before_it_is_asked(tmp_path):
    """Behind a prediction there is neither an output nor prose until the cell that looks."""
    answered = 0
    for label, cells in copies(tmp_path).items():
        for number in range(1, len(QUESTIONS.get(label, [])) + 1):
            asked = next(i for i, cell in enumerate(cells) if source(cell) == f"predict({number})")
            look = next(i for i, cell in enumerate(cells) if source(cell) == f"predict.look({number})")
            assert re.search(r"[Pp]redict|Think", source(cells[asked - 1]))
            assert asked < look
            shown = [cell["outputs"] for cell in cells[asked : look + 1] if cell["cell_type"] == "code"]
            assert shown == [[] for _ in shown], (label, number)
            prose = prose_of(label, number)
            assert not [cell for cell in cells if cell["cell_type"] == "markdown" and prose in source(cell)]
            answered += 1
    assert answered >= 50


def test_a_learners_copy_has_no_verdict_before_he_acts(tmp_path):
    for label, cells in copies(tmp_path).items():
        for cell in cells:
            if {"check", "solution", "predict"} & set(cell["metadata"].get("tags", [])):
                assert cell["outputs"] == [], label
            for output in cell.get("outputs", []):
                assert "\u2717" not in "".join(output.get("data", {}).get("text/plain", "")), label


def test_a_learners_copy_is_a_notebook_with_the_same_cells(tmp_path):
    import nbformat

    course.start(tmp_path)
    for path in lesson_files().values():
        given, copy = (nbformat.read(file, 4) for file in (path, tmp_path / path.name))
        nbformat.validate(copy)
        assert [cell.id for cell in given.cells] == [cell.id for cell in copy.cells]
