"""The form that takes a guess in a notebook: buttons for a choice, a field for a number or words.

It stands next to the text of the question, which is what remains where no kernel runs.
"""

from __future__ import annotations

from typing import Any

import ipywidgets
from IPython.core.getipython import get_ipython

from passlab.course.predictions import LETTERS, Asked


def bundle(asked: Asked) -> dict[str, Any] | None:
    """Return the forms in which a cell shows a question; None in a shell without widgets, which shows its text."""
    if getattr(get_ipython(), "kernel", None) is None:
        return None
    form: dict[str, Any] = _form(asked)._repr_mimebundle_()
    return form | {"text/plain": repr(asked)}


def _form(asked: Asked) -> Any:
    """Return the widget: the question, the places for the guess, and a line that says what became of it."""
    state = ipywidgets.Label(_plain(_state(asked)))

    def take(guess: Any) -> None:
        state.value = _plain(_state(asked.take(guess)))

    question = ipywidgets.Label(_plain(asked.question.text))
    if asked.question.choices:
        places = [
            _button(f"{letter}  {_plain(text)}", letter, take)
            for letter, text in zip(LETTERS, asked.question.choices, strict=False)
        ]
        return ipywidgets.VBox([question, *places, state])
    field = ipywidgets.Text(value=asked.guess, placeholder="your guess")
    ready = _button("That is my guess", None, lambda _: take(field.value))
    return ipywidgets.VBox([question, ipywidgets.HBox([field, ready]), state])


def _button(text: str, guess: Any, take: Any) -> Any:
    button = ipywidgets.Button(description=text, layout=ipywidgets.Layout(width="max-content", max_width="100%"))
    button.on_click(lambda _: take(guess))
    return button


def _plain(text: str) -> str:
    """Return a text without the marks of code, which a widget would show as they are."""
    return text.replace("`", "")


def _state(asked: Asked) -> str:
    """Return the last line of the text: what was refused, what was kept, or how to go on."""
    if asked.refused:
        return asked.refused
    if asked.guess:
        return f"Your guess: {asked.question.said(asked.guess)}. Now run the cells below."
    return "Guess first, then run the cells below."
