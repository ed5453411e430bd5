"""nbval, imported without the grammars of a checker that notebooks never ask.

Where `rfc3987_syntax` is installed, jsonschema imports it to check addresses in other alphabets, and it compiles 38 grammars
as it is imported: two seconds of every process that reads a notebook's format.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: an import of it fails, as jsonschema expects
from nbval.plugin import *  # noqa: E402, F403 - its hooks and options are those of this plugin

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]
