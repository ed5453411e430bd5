"""Views as notebook output: a live widget where there is one for the kind of view, HTML and text everywhere."""

from __future__ import annotations

from typing import Any

from passlab.display.view import View


class Shown:
    """A view as static output: HTML and plain text."""

    def __init__(self, view: View) -> None:
        self.view = view

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": str(self.view.html()), "text/plain": self.view.text()}


def show(view: View) -> Any:
    """Return what displays a view in a notebook."""
    return Shown(view)


__all__ = ["show"]
