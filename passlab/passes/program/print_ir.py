"""Print the program between two passes, without changing it.

keep:
    def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }
"""

from __future__ import annotations

import logging
import sys

from passlab.ir.module import IRModule
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

LOGGER = "passlab.PrintIR"
_log = logging.getLogger(LOGGER)


@standard_pass(opt_level=0, contract=EXACT)
class PrintIR(ModulePass):
    """Log the module as Relay text under `header`, to standard error unless logging is set up otherwise.

    `show_meta_data` includes all constants in the text. The logger is `passlab.PrintIR`, the level INFO.
    """

    header: str = ""
    show_meta_data: bool = False

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        text = f"PrintIR({self.header}):\n{mod.astext(show_meta_data=self.show_meta_data)}"
        # Where logging is not configured, the text goes to standard error, since printing is the purpose.
        if not _log.handlers and not logging.getLogger().handlers:
            _log.addHandler(StandardError())
        if not _log.isEnabledFor(logging.INFO):
            _log.setLevel(logging.INFO)
        _log.info("%s", text)
        return mod


class StandardError(logging.Handler):
    """Writes to the current standard error: a notebook replaces it."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{record.getMessage()}\n")
