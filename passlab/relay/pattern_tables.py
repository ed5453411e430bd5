"""The capabilities of external compilers: tables of patterns that each compiles as one operator.

A compiler also declares the single operators it supports: `relay.op.register_op_attr("nn.relu", "target.toy",
predicate)`. The passes MergeComposite, AnnotateTarget, MergeCompilerRegions and PartitionGraph use both. No compiler is
built in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Table = Sequence[tuple[Any, ...]]
TABLES: dict[str, Callable[[], Table] | None] = {}


def register_pattern_table(compiler: str, table: Callable[[], Table] | None = None) -> Callable[..., Any]:
    """Register the function that returns a compiler's entries `(name, pattern)` or `(name, pattern, check)`.

    Without `table`, return a decorator of that function. A second registration replaces the first.
    """

    def register(function: Callable[[], Table]) -> Callable[[], Table]:
        TABLES[compiler] = function
        return function

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table | None:
    """Return the patterns of a compiler, to pass to MergeComposite; None if none are registered."""
    function = TABLES.get(compiler)
    return None if function is None else function()
