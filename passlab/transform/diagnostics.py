"""`PassDiagnostics`: the findings that a pass reports about its module.

    ctx.diag_ctx.emit(Diagnostic("this convolution has no weight", call.span))

Findings are evaluated after the pass has run: any error makes the pass raise, warnings are logged.
"""

from __future__ import annotations

import logging

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.module import IRModule

_log = logging.getLogger("passlab.transform")


class PassDiagnostics:
    """The findings of one run of a pass over one module."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a finding."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Log the findings as warnings. Raises `DiagnosticError` with all findings if one of them is an error."""
        if any(finding.severity == "error" for finding in self.diagnostics):
            raise DiagnosticError(*self.diagnostics)
        for finding in self.diagnostics:
            _log.warning("%s", finding.render())
