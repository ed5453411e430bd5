"""Answers to the exercises of the lessons: for each, in order, three right ones or more, and wrong ones that look right."""

from __future__ import annotations

from tests.notebook import (
    answers_on_compilers,
    answers_on_passes,
    answers_on_precision,
    answers_on_programs,
    answers_on_running,
)

Answers = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]

ANSWERS: Answers = {
    **answers_on_programs.ANSWERS,
    **answers_on_passes.ANSWERS,
    **answers_on_precision.ANSWERS,
    **answers_on_running.ANSWERS,
    **answers_on_compilers.ANSWERS,
}
