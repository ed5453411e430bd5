"""Answers to the exercises of the lessons: for each, in order, three right ones or more, and wrong ones that look right."""

from __future__ import annotations

from tests.notebook import (
    answers_on_building,
    answers_on_compilers,
    answers_on_passes,
    answers_on_precision,
    answers_on_programs,
    answers_on_running,
)
from tests.notebook.answers_of_others import OTHERS
from tests.notebook.sly_answers import SLY

Answers = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]

PLAIN: Answers = {
    **answers_on_programs.ANSWERS,
    **answers_on_passes.ANSWERS,
    **answers_on_precision.ANSWERS,
    **answers_on_running.ANSWERS,
    **answers_on_compilers.ANSWERS,
}
for _lesson, _more in answers_on_building.ANSWERS.items():
    PLAIN[_lesson] = [*PLAIN.get(_lesson, []), *_more]
ANSWERS: Answers = {
    lesson: [
        ((*right, *more), (*wrong, *traps, *SLY.get(lesson, {}).get(number, ())))
        for number, (right, wrong) in enumerate(exercises, 1)
        for more, traps in [OTHERS.get(lesson, {}).get(number, ((), ()))]
    ]
    for lesson, exercises in PLAIN.items()
}
