"""The notebook: `%load_ext passlab` brings the magics, completion and rich views of programs.

The only package that imports IPython and the widget libraries; it glues `lab` and `display` to them.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Register the magics, the completer and the formatters with an IPython shell. Loading twice changes nothing.

    >>> from IPython.core.interactiveshell import InteractiveShell
    >>> shell = InteractiveShell()  # `%load_ext passlab` makes this call for the shell of a notebook
    >>> passlab.load_ipython_extension(shell)
    >>> "passes" in shell.magics_manager.magics["cell"]
    True
    >>> passlab.unload_ipython_extension(shell)
    """
    from passlab.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Undo everything that loading did."""
    from passlab.notebook.extension import unload

    unload(shell)


def show(value: object) -> Any:
    """Return the view of a value as a widget, or as static output where its view has none.

    For notebooks without IPython's display, such as marimo's: `passlab.notebook.show(rec)` as the last line of a cell.
    Raises `PassTypeError` for what has no view.
    """
    from passlab.notebook import widgets

    return widgets.show(value)
