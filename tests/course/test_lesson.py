"""The exercises of a lesson by their numbers: tries that survive restarts, cells that failed, endless and odd answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading

import pytest

from passlab.course import Exercise, Tries, WrongAnswerError, lesson
from passlab.course.progress import PROGRESS, read_progress, write_progress
from passlab.course.registry import CELLS, TASKS, Task, tasks_of
from passlab.course.verdicts import TEXTS
from passlab.errors import PasslabError

TWO = Exercise("Two", expects=int).requires("it is two", lambda n: n == 2, hint=("count again", "one and one"))


@pytest.fixture
def two(monkeypatch):
    """Lesson 2 with one exercise more, number 9, made anew at each check as a notebook makes it."""
    monkeypatch.setitem(
        TASKS, ("02", 9), Task("02", 9, lambda names: TWO.requires("it is", bool), "", "answer_9 = 2", 3)
    )
    monkeypatch.setattr(CELLS, "last", {})
    TASKS["02", 9].make.__doc__ = "Two."


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
    for number in (0, 99, "2x", None, True, 2.0, "", "../02"):
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
            assert re.search(rf"(?m)^(def )?answer_{task.number}( = |\()", task.solution)
            assert task.title


def test_a_lesson_has_one_label_and_no_two_exercises_of_a_number_one_title():
    from passlab.course.registry import LESSONS

    assert lesson(2, {}).number == lesson("2", {}).number == lesson("02", {}).number == "02"
    for number in {label[:2] for label in LESSONS}:
        titles = [task.title for label in LESSONS if label[:2] == number for task in tasks_of(label)]
        assert len(titles) == len(set(titles)), "progress is kept by title"


def test_what_was_solved_stays_solved_where_an_exercise_has_moved(tmp_path, two):
    write_progress(
        tmp_path / PROGRESS, {"02b": {"Two": {"solved": "2026-01-01", "wrong": {"it is two": ["ab", "cd"]}}}}
    )
    check = lesson(2, {"answer_9": 3}, tmp_path)
    assert check(9).hint == "hint: count again; one and one"
    record = read_progress(tmp_path / PROGRESS)
    assert list(record) == ["02b"]
    assert len(record["02b"]["Two"]["wrong"]["it is two"]) == 3
    check.reset()
    assert read_progress(tmp_path / PROGRESS) == {}


_WRITER = """
import sys
from pathlib import Path
from passlab.course.progress import Progress
progress = Progress(Path(sys.argv[1]), "02")
for number in range(60):
    progress.added(f"exercise {sys.argv[2]}", "it holds", f"{sys.argv[2]}-{number}")
sys.exit(bool(progress.trouble))
"""


def test_kernels_that_write_at_once_lose_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, tmp_path, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    kept = read_progress(tmp_path / PROGRESS)["02"]
    assert [len(kept[f"exercise {number}"]["wrong"]["it holds"]) for number in range(3)] == [60, 60, 60]


def test_an_interrupt_during_a_check_leaves_everything_usable(tmp_path, two):
    def interrupted(n):
        raise KeyboardInterrupt

    exercise = Exercise("Sum", seconds=5).agrees("it sums", lambda n: n, lambda rng: 1)
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        exercise.check(interrupted)
    assert threading.active_count() <= threads + 1
    assert exercise.check(lambda n: n)
    names = {"answer_9": 2}
    assert lesson(2, names, tmp_path)(9)


def test_a_real_interrupt_ends_a_check_at_once(tmp_path):
    script = (
        "import signal, threading, os\n"
        "from passlab.course import Exercise\n"
        "def spin(n):\n"
        "    while True: n += 1\n"
        "exercise = Exercise('Sum', seconds=60).agrees('it sums', lambda n: n, lambda rng: 1)\n"
        # Once before: while `numpy.random` is imported, Cython's start of its modules swallows an interrupt.
        "exercise.check(lambda n: n)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background begins with it ignored
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    print(exercise.check(spin))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', bool(exercise.check(lambda n: n)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout.strip() == "interrupted True", done.stderr


class TestAnotherLanguage:
    """`texts.json` in the folder of the lessons has the sentences of verdicts."""

    @pytest.fixture(autouse=True)
    def english_again(self):
        yield
        TEXTS.clear()

    def test_verdicts_hints_and_requirements_are_said_in_it(self, tmp_path):
        texts = {
            "{}: not yet.": "{}: noch nicht.",
            "How large": "Wie gro\u00df",
            "it is the expected answer": "das ist die Antwort",
            "hint: {}": "Hinweis: {}",
            "a node is computed once": "ein Knoten wird einmal berechnet",
            "`{}` does not exist yet: run the cell above, then check again.": "`{}` fehlt: f\u00fchre die Zelle dar\u00fcber aus.",
        }
        (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        lesson(2, {"answer_2": (4, 4)}, tmp_path)(2)
        verdict = lesson(2, {"answer_2": (4, 5)}, tmp_path)(2)
        assert str(verdict).splitlines() == [
            "\u2717 Wie gro\u00df: noch nicht.", "    \u2717 das ist die Antwort", "  Hinweis: ein Knoten wird einmal berechnet",
        ]  # fmt: skip
        assert str(lesson(2, {}, tmp_path)(1)).endswith("`answer_1` fehlt: f\u00fchre die Zelle dar\u00fcber aus.")
        assert "not yet" in str(lesson(2, {"answer_2": 1}, tmp_path / "other")(2)), "a folder without texts is English"

    @pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"{}: not yet.": "noch nicht."}'])
    def test_a_table_that_cannot_be_used_is_refused(self, text, tmp_path):
        (tmp_path / "texts.json").write_text(text)
        with pytest.raises(PasslabError, match=r"texts\.json"):
            lesson(2, {}, tmp_path)
