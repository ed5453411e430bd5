"""The standard passes: one pass, one file. A pass is loaded when its name is first used.

`PASSES` maps the name a pass is made by to "module:Class"; `ALIASES` maps other names (Relay's name in `PassInfo`,
where it differs) to that one.
"""

from __future__ import annotations

PASSES: dict[str, str] = {
    "PrintIR": "print_ir:PrintIR",
}

ALIASES: dict[str, str] = {}
