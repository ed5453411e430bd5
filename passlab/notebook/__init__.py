"""The notebook: `%load_ext passlab` brings the magics, completion and rich views of programs.

The only package that imports IPython and the widget libraries; it glues `lab` and `display` to them.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Register the magics, the completer and the formatters with an IPython shell. Loading twice changes nothing."""
    from passlab.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Undo everything that loading did."""
    from passlab.notebook.extension import unload

    unload(shell)
