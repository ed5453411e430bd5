"""How deep the programs are that tests nest: far beyond Python's recursion limit, and the full depth with SLOW=1.

Passlab promises 100,000 levels of everything. Twenty thousand prove that nothing recurses, at a fifth of the time.
"""

from __future__ import annotations

import os

DEEP = 100_000 if os.environ.get("SLOW") else 20_000
