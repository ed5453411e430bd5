"""The course: exercises that check an answer and say in a sentence what is missing."""

from __future__ import annotations

from passlab.lazy import lazy_module, names_in_stub

_NAMES = names_in_stub(__file__)
__all__ = sorted(_NAMES)

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
