"""The exercises of a lesson by their numbers: tries that survive restarts, cells that failed, endless and odd answers."""

from __future__ import annotations

import json
import threading

import pytest

from passlab.course import Exercise, Tries, WrongAnswerError, lesson
from passlab.course.registry import CELLS, PROGRESS, TASKS, Task, read_progress, tasks_of
from passlab.errors import PasslabError

TWO = Exercise("Two", expects=int).requires("it is two", lambda n: n == 2, hint=("count again", "one and one"))


@pytest.fixture
def two(monkeypatch):
    """Lesson 2 with one exercise more, number 9, made anew at each check as a notebook makes it."""
    monkeypatch.setitem(TASKS, (2, 9), Task(2, 9, lambda names: TWO.requires("it is", bool), "", "answer_9 = 2", 3))
    monkeypatch.setattr(CELLS, "last", {})
    TASKS[2, 9].make.__doc__ = "Two."


def test_hints_grow_across_checks_and_restarts_by_different_answers(tmp_path, two):
    names = {}
    hints = []
    for answer in (3, 3, 4, 3, 5):
        names["answer_9"] = answer
        hints.append(lesson(2, names, tmp_path)(9).hint)  # a lesson made anew is a kernel started anew
    again = "(the next try comes with a hint)"
    assert hints == [again, again, "hint: count again", "hint: count again", "hint: count again; one and one"]
    names["answer_9"] = 2
    assert lesson(2, names, tmp_path)(9)
    record = json.loads((tmp_path / PROGRESS).read_text())["02"]["Two"]
    assert len(record["wrong"]["it is two"]) == 3
    assert record["solved"]
    lesson(2, names, tmp_path).reset()
    assert "02" not in read_progress(tmp_path / PROGRESS)


def test_a_cell_that_failed_hides_the_answer_of_an_older_run(tmp_path, two):
    check = lesson(2, {"answer_9": 2}, tmp_path)
    assert check(9)
    CELLS.ran("answer_9 = 3 +", SyntaxError())
    assert str(check(9)) == (
        "\u25cb Two: your cell of `answer_9` raised SyntaxError: mend it, run it, then check again."
    )
    CELLS.ran("%%relay answer_9\ndef @main() {", PasslabError("no"))
    assert "raised PasslabError" in str(check(9))
    CELLS.ran("print(answer_9)", ValueError())  # reads it only
    CELLS.ran("answer_9 = 2", None)
    assert check(9)


def test_an_answer_that_was_never_run_is_no_error(tmp_path, two):
    assert "`answer_9` does not exist yet: run the cell above" in str(lesson(2, {}, tmp_path)(9))


def test_cells_of_the_lesson_that_did_not_run_are_named(tmp_path):
    check = lesson(4, {"answer_1": type("A", (), {})}, tmp_path)
    assert "the check needs `net`: run the cells above first." in str(check(1))


def test_exercises_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(PasslabError, match="no such exercise"):
        lesson(2, {}, tmp_path)(7)
    for number in (1, 99, "2", None):
        with pytest.raises(PasslabError, match="no such lesson"):
            lesson(number, {}, tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]", '{"02": 3}', '{"02": {"Two": 5}}', "\0", '"x"'])
def test_a_damaged_file_of_progress_costs_no_check(tmp_path, two, text):
    (tmp_path / PROGRESS).write_text(text)
    verdict = lesson(2, {"answer_9": 3}, tmp_path)(9)
    assert verdict.passed is False
    assert lesson(2, {"answer_9": 2}, tmp_path)(9)


def test_a_folder_that_cannot_be_written_costs_a_sentence(tmp_path, two):
    (tmp_path / PROGRESS).mkdir()
    verdict = lesson(2, {"answer_9": 3}, tmp_path)(9)
    assert verdict.passed is False
    assert PROGRESS in str(verdict)


@pytest.mark.parametrize("answer", [lambda n: next(iter(int, 1)), lambda n: [0 for _ in iter(int, 1)]])
def test_an_endless_answer_ends_with_a_sentence(answer):
    def spin(n):
        while True:
            n += 1

    for endless in (spin, answer):
        before = threading.active_count()
        verdict = Exercise("Sum", seconds=0.2).agrees("it sums", lambda n: n, lambda rng: 1).check(endless)
        if endless is spin:
            assert "it did not end within 0.2 s" in verdict.why
        assert verdict.passed is False
        assert threading.active_count() <= before + 1


def test_printing_is_not_returning_and_dots_are_no_answer():
    total = Exercise("Sum", expects=callable).agrees("it sums", lambda n: n, lambda rng: 1)
    assert "it prints the text '1' and returns None: use `return`" in total.check(print).why
    assert total.check(lambda n: ...).passed is None
    assert Exercise("Pair").equals((1, 2)).check((1, ...)).passed is None


class Everything:
    def __eq__(self, other):
        return True

    __hash__ = None


class EveryNumber(int):
    __eq__ = Everything.__eq__
    __hash__ = int.__hash__


@pytest.mark.parametrize("expected", [1, 1.5, "a", True, (1, 2), ["a"], {"a": 1}, None, 2j])
def test_an_answer_is_not_asked_whether_it_is_right(expected):
    for odd in (Everything(), EveryNumber(7)):
        assert not Exercise("Odd").equals(expected).check(odd)
    assert Exercise("Same").equals(expected).check(expected)


def test_a_whole_number_is_not_written_as_a_float():
    assert not Exercise("Four").equals(4).check(4.0)
    assert Exercise("Four").equals(4.0).check(4)


def test_verdicts_can_be_asserted_and_are_worth_points():
    verdict = TWO.check(3, tries=Tries())
    with pytest.raises(WrongAnswerError, match="Two: not yet"):
        verdict.required()
    assert TWO.check(2).required().score == 1
    three = Exercise("Three", points=3).requires("a", bool).requires("b", lambda n: n > 5).requires("c", bool)
    assert [three.check(n, tries=Tries()).score for n in (0, 1, 6)] == [0, 1, 3]


def test_marks_are_letters_where_the_console_has_no_others(monkeypatch):
    import io
    import sys

    for name, mark in (("ascii", "no"), ("cp1252", "no"), ("utf-8", "\u2717")):
        stream = io.TextIOWrapper(io.BytesIO(), name)
        monkeypatch.setattr(sys, "stdout", stream)
        print(TWO.check(3))
        stream.flush()
        assert stream.buffer.getvalue().decode(name).startswith(f"{mark} Two: not yet.")


def test_every_exercise_has_hints_a_kind_and_a_solution():
    from passlab.course.registry import LESSONS

    for number in LESSONS:
        for task in tasks_of(number):
            assert f"answer_{task.number} = " in task.solution
            assert task.title
