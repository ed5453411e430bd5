"""Exercises: the verdict on each kind of answer."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.course import Exercise, Tries, same

POSITIVE = (
    Exercise("A positive even number")
    .requires("it is positive", lambda n: n > 0, hint="try 2")
    .requires("it is even", lambda n: n % 2 == 0)
)


def program(body):
    return passlab.parse(f"def @main(%x: Tensor[(2), float32]) {{ {body} }}")


def test_a_right_answer_lists_what_it_meets():
    verdict = POSITIVE.check(4)
    assert verdict
    assert str(verdict) == "✓ A positive even number: correct.\n    ✓ it is positive\n    ✓ it is even"


def test_a_wrong_answer_says_how_far_it_came_and_what_to_try():
    assert str(POSITIVE.check(3)) == "✗ A positive even number: not yet.\n    ✓ it is positive\n    ✗ it is even"
    assert not POSITIVE.check(3)


def test_hints_grow_with_each_try_of_the_same_kind():
    exercise = Exercise("Two again", expects=int).requires(
        "it is two", lambda n: n == 2, hint=("count again", "one and one")
    )
    verdicts = [exercise.check(answer) for answer in (3, 4, 3, 5)]
    assert [verdict.hint for verdict in verdicts] == [
        "(the next try comes with a hint)",
        "hint: count again",
        "hint: count again",
        "hint: count again; one and one",
    ]
    assert exercise.solution(2).title == "Two again (the solution)"
    assert exercise.solution(3).hint == "(the next try comes with a hint)", "a solution starts anew"


def test_an_answer_of_another_kind_is_told_which_kind_is_expected():
    pair = Exercise("Pair").equals((4, 15))
    assert (
        str(pair.check("4, 15"))
        == "✗ Pair: not yet.\n    ✗ the answer is a pair of whole numbers\n      yours is the text '4, 15'"
    )
    assert pair.check([4, 15])
    assert Exercise("Names").equals(["a"]).check(3).missing == "the answer is a list of texts"
    assert Exercise("Program", expects=passlab.IRModule).check("x").missing == "the answer is a program (a module)"
    own = Exercise("Own", expects=lambda value: value.ready, expected_kind="something that is ready")
    assert own.check(None).missing == "the answer is something that is ready"


@pytest.mark.parametrize(("expects", "right", "wrong"), [
    (int, [3, np.int64(3)], [True, 3.0, "3", None]), (float, [3, 0.5, np.float32(1)], [False, "1", 1j]),
    ([str], [[], ["a"], ("a", "b")], ["a", [1], None]), ((int, str), [(1, "a"), [1, "a"]], [(1,), ("a", 1), 1]),
    ([(int, int)], [[(1, 2)], [[1, 2]]], [[1, 2], [(1, 2, 3)]]), (callable, [len, int], [1, "f"]), (type, [int], [1, len]),
])  # fmt: skip
def test_kinds_of_answers(expects, right, wrong):
    exercise = Exercise("Kind", expects=expects)
    assert all(exercise.check(answer) for answer in right)
    assert not any(exercise.check(answer) for answer in wrong)


def test_random_questions_cannot_be_answered_from_a_table():
    total = Exercise("Sum", expects=callable).agrees(
        "it sums", lambda n: n * (n + 1) // 2, lambda rng: int(rng.integers(0, 1000)), first=[0, 3]
    )
    assert total.check(lambda n: sum(range(n + 1)))
    assert total.check(lambda n: 1).why == "for 0: it gives 1, expected 0"
    assert not total.check({0: 0, 3: 6}.get)
    assert str(total.check(lambda n: {0: 0, 3: 6}[n], seed=1)).count("KeyError") == 1


def test_an_answer_that_leaves_python_is_part_of_the_verdict():
    assert (
        "SystemExit"
        in Exercise("Exit")
        .requires("it returns", lambda f: f())
        .check(lambda: (_ for _ in ()).throw(SystemExit(1)))
        .why
    )


def test_no_answer_is_neither_right_nor_wrong():
    verdict = POSITIVE.check(...)
    assert verdict.passed is None
    assert not verdict
    assert "no answer yet" in str(verdict)


def test_an_answer_that_raises_is_told_so_and_the_lesson_goes_on():
    verdict = POSITIVE.check("four")
    assert verdict.passed is False
    assert "TypeError" in verdict.why


def test_a_diagnostic_is_shown_as_it_is():
    verdict = Exercise("Text").requires("it is Relay", passlab.parse).check("def @main( {")
    assert "error: " in str(verdict)


def test_the_hint_of_the_exercise_stands_in_for_that_of_a_requirement():
    exercise = Exercise("Two at last", hint="count again").equals(2)
    exercise.check(4)
    assert str(exercise.check(3)).endswith("hint: count again")


def test_odd_characters_of_an_answer_are_made_visible():
    def refuse(answer):
        raise ValueError(answer)

    assert "\\u202e" in str(Exercise("Name").requires("it is a name", refuse).check("\u202eevil"))


def test_requirements_are_added_to_a_copy():
    more = POSITIVE.requires("it is small", lambda n: n < 10)
    assert not more.check(12)
    assert POSITIVE.check(12)


@pytest.mark.parametrize(("answer", "expected", "alike"), [
    (2, 2, True), ("a", "b", False), ([1, (2, 3)], (1, [2, 3]), True), ([1], [1, 2], False), ("ab", ["a", "b"], False),
    (np.float32([1, np.nan]), np.float32([1, np.nan]), True), (np.float64([1]), np.float32([1]), False),
    ([1.0], np.float32([1]), False), ({"a": [1]}, {"a": (1,)}, True), ({"a": 1}, {"b": 1}, False),
])  # fmt: skip
def test_values_are_the_same_to_a_teacher(answer, expected, alike):
    assert same(answer, expected) is alike


def test_programs_are_the_same_by_structure_and_types_by_identity():
    assert same(program("let %a = exp(%x); add(%a, %a)"), program("let %b = exp(%x); add(%b, %b)"))
    assert not same(program("exp(%x)"), program("log(%x)"))
    assert not same("exp", program("exp(%x)"))
    type_ = program("exp(%x)")["main"].checked_type
    assert same(program("log(%x)")["main"].checked_type, type_)
    assert not same(str(type_), type_)


class Nameless:
    """An answer that raises whatever it is asked."""

    @property
    def __class__(self):
        raise RuntimeError("no class")

    def __repr__(self):
        raise RuntimeError("no text")


def test_an_answer_that_cannot_be_written_down_is_refused():
    for answer in (10**5000, Nameless(), lambda n: 10**5000, lambda n: Nameless(), [10**5000]):
        for exercise in (
            Exercise("Number").equals(3),
            Exercise("Pair").equals((3, 4)),
            Exercise("Function", expects=callable).agrees("it doubles", lambda n: 2 * n, lambda rng: 4, times=2),
        ):
            assert exercise.check(answer, tries=Tries()).passed is False
