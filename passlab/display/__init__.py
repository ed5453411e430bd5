"""What programs, diffs, recordings, timings and graphs look like: text, HTML, data for widgets, data frames.

The only package that writes markup. It imports no IPython: `notebook` shows the views. Its names come from
`__init__.pyi`, loaded on first use.
"""

from __future__ import annotations

from passlab.lazy import lazy_module, names_in_stub

_NAMES = names_in_stub(__file__)
__all__ = sorted(_NAMES)

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
