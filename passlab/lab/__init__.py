"""Recordings of pipelines and what is computed from them: differences, origins, faults. Plain data, no markup.

Its names come from `__init__.pyi`, loaded on first use.
"""

from passlab.lazy import lazy_module, names_in_stub

# The debugger is a higher layer than the lab.
_NAMES = {
    **names_in_stub(__file__),
    **{name: f"passlab.debugger.trace:{name}" for name in ("Fork", "Trace")},
    "Debugger": "passlab.debugger.debugger:Debugger",
}
__getattr__, __dir__ = lazy_module(__name__, _NAMES)
