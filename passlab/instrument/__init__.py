"""Instruments: code that runs around passes. They measure, print, dump, limit, verify and record.

Its names come from `__init__.pyi`, loaded on first use.
"""

from __future__ import annotations

from passlab.lazy import lazy_module, names_in_stub

# `Recorder` gives a `lab.Recording`, and the lab is a higher layer than the instruments.
_NAMES = {**names_in_stub(__file__), "Recorder": "passlab.lab.recordings.recording:Recorder"}
__all__ = sorted(_NAMES)

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
