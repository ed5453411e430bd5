"""`View`: one object in every form: plain text, HTML, data for a widget, a data frame.

The functions of `passlab.display` create views. A view depends neither on IPython nor on a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from passlab import limits
from passlab.arguments import checked, checked_own
from passlab.display.html import Markup, tag
from passlab.display.view_parts import Part, html_of
from passlab.errors import Diagnostic, PassTypeError, type_in_words, visible
from passlab.lazy import notebook_forms

if TYPE_CHECKING:
    import pandas as pd


P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", bound="BriefView")


class HasFrame(Protocol):
    """A table, or an object of the lab with one."""

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""


class View:
    """Base of all views: its text and its HTML are drawn from one list of parts.

    `kind` is the name of its data. `script` is the module in `static` that shows it live, "" for views without a
    widget. `whole` says how to see the rest of a text that is longer than `limits.output_bytes`.

    >>> view = display.operators_view(passlab.parse("def @main(%x: float32) { exp(%x) }"))
    >>> isinstance(view, display.View), view.text() == str(view), "<" in view.html()
    (True, True, True)
    """

    _repr_mimebundle_ = notebook_forms

    kind = ""
    script = ""
    whole = "frame() has a row for each"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        checked_own(cls)

    @property
    def left_out(self) -> int:
        """How many lines at the end `parts` leaves out."""
        return 0

    @property
    def title(self) -> str:
        """The content of the view, in one line."""
        return ""

    @property
    def page_title(self) -> str:
        """The title of a page of the view."""
        return self.title

    def parts(self) -> Iterable[Part]:
        """Return the parts of the view, from top to bottom."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the view as plain text: the same for every run, without times, addresses or paths."""
        return cap([line for part in self.parts() for line in part.lines()], self.whole, self.left_out)

    def html(self) -> Markup:
        """Return the view as static HTML with inline styles, for places where no widget runs."""
        return tag("div", html_of(self.parts()))

    def data(self) -> Mapping[str, Any]:
        """Return the data of the widget, as JSON; for a view without a widget, the text."""
        return {"kind": self.kind, "title": self.title, "text": self.text()}

    def twin(self) -> View:
        """Return the view whose static form is stored next to the widget: this view, or a shorter one."""
        return self

    def for_terminal(self) -> View:
        """Return the view whose text a terminal shows: this view, or a shorter one that says how to print all of it."""
        return self

    def source(self) -> HasFrame:
        """Return the object with the rows of the data frame. Raises `TypeError` for views that are not tables."""
        raise TypeError(f"{type_in_words(self)} is not a table")

    def frame(self) -> pd.DataFrame:
        """Return the view as a pandas data frame. Raises `TypeError` for views that are not tables."""
        return self.source().frame()

    def __repr__(self) -> str:
        return self.text()


class BriefView(View):
    """Base of the views that a terminal shows with the first lines or rows alone: those are `brief`."""

    brief = False

    def for_terminal(self: V) -> V:
        """Return the view with its first lines or rows."""
        view = copy(self)
        view.brief = True
        return view


def checked_view(*kinds: type, hint: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function that returns the view of its first argument.

    If that argument has none of the classes `kinds`, the function raises `PassTypeError`; `hint` says what returns one.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name, first = function.__name__, next(iter(function.__annotations__))
        held = checked(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for shown in args[:1] or [kwargs[key] for key in (first,) if key in kwargs]:
                if not isinstance(shown, kinds):
                    expected = " or ".join(kind.__name__ for kind in kinds)
                    message = f"`{name}` has no view of this object"
                    actual = type(shown).__name__
                    raise PassTypeError(Diagnostic(message, expected=expected, found=actual, hint=hint))
            return held(*args, **kwargs)

        return call

    return decorate


def cap(lines: list[str], whole: str, left_out: int = 0) -> str:
    """Return lines as one text of at most `limits.output_bytes`; `whole` says how to see the rest.

    `left_out` is the number of lines that belong behind these.
    """
    budget = limits.current().output_bytes
    lines = [visible(line) for line in lines]
    for count, line in enumerate(lines):
        budget -= len(line.encode("utf-8", "replace")) + 1
        if budget < 0:
            left_out, lines = left_out + len(lines) - count, lines[:count]
            break
    return "\n".join([*lines, f"... {left_out:,} more lines: {whole}"] if left_out else lines)
