"""Modules that the magics and hooks load on first use, because loading the extension must be fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.lazy import lazy_module

if TYPE_CHECKING:
    from passlab import dumps as dumps
    from passlab import hosts as hosts
    from passlab import steps as steps
    from passlab.display import html as html
    from passlab.ir import expr as expr
    from passlab.ir import gc_pause as gc_pause
    from passlab.notebook import completion as completion
    from passlab.notebook import live as live
    from passlab.notebook import pipelines as pipelines
    from passlab.notebook import prediction_form as prediction_form
    from passlab.notebook import printed as printed
    from passlab.notebook import progress as progress
    from passlab.notebook import widgets as widgets

_MODULES = ("completion", "live", "pipelines", "prediction_form", "printed", "progress", "widgets")

__getattr__, __dir__ = lazy_module(
    __name__,
    {
        "dumps": "passlab.dumps",
        "hosts": "passlab.hosts",
        "html": "passlab.display.html",
        "expr": "passlab.ir.expr",
        "gc_pause": "passlab.ir.gc_pause",
        "steps": "passlab.steps",
        **{name: f"passlab.notebook.{name}" for name in _MODULES},
    },
)
