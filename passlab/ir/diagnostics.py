"""Renderers show the diagnostics about a program before the error that contains them is raised.

A tool that collects diagnostics sets its own renderer: `override_renderer(function)`. The function is called with a
`DiagnosticContext` whenever a text or the types of a module are rejected; the error is still raised afterwards.
`override_renderer(None)` removes the renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.module import IRModule


class DiagnosticLevel(IntEnum):
    """The severity of a diagnostic, numbered as in Relay."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True)
class DiagnosticContext:
    """The diagnostics about one program; `module` is None if its text is rejected."""

    module: IRModule | None
    diagnostics: tuple[Diagnostic, ...]

    def render(self) -> None:
        """Show the diagnostics with the current renderer."""
        get_renderer().render(self)


class DiagnosticRenderer:
    """Shows diagnostics with the user's function; without one it shows nothing, since the error has the same text."""

    def __init__(self, render: Callable[[DiagnosticContext], object] | None = None) -> None:
        self._render = render

    def render(self, context: DiagnosticContext) -> None:
        """Show the diagnostics of a context."""
        if self._render is not None:
            self._render(context)


_renderer: ContextVar[DiagnosticRenderer | None] = ContextVar("renderer", default=None)


def override_renderer(render: Callable[[DiagnosticContext], object] | None) -> None:
    """Set the function that shows diagnostics in this execution context; None removes it."""
    _renderer.set(None if render is None else DiagnosticRenderer(render))


def get_renderer() -> DiagnosticRenderer:
    """Return the current renderer."""
    return _renderer.get() or DiagnosticRenderer()


@contextmanager
def show_diagnostics(module: IRModule | None = None) -> Iterator[None]:
    """Within the block, show the diagnostics of an error about a program before it propagates."""
    try:
        yield
    except DiagnosticError as error:
        if _renderer.get() is not None:
            DiagnosticContext(module, error.diagnostics).render()
        raise


__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
    "show_diagnostics",
]
