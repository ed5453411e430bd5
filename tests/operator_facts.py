"""The facts that tests register for operators: what one test file leaves behind, another file would see."""

from __future__ import annotations

import sys


def facts_of_tests() -> set[tuple[str, str]]:
    """Return (operator, fact) for each fact registered by code outside of passlab."""
    op = sys.modules.get("passlab.ir.op")
    return {
        (name, fact)
        for name, operator in (op._registry.items() if op else ())
        for fact, value in operator.spec.extra.items()
        if not str(getattr(value, "__module__", "")).startswith("passlab")
    }
