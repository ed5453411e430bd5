"""Remove global functions that are not reachable.

before:
    def @main(%x: int32) -> int32 { @used(%x) }
    def @used(%x: int32) -> int32 { add(%x, 1) }
    def @unused(%x: int32) -> int32 { @used(%x) }
after:
    def @main(%x: int32) -> int32 { @used(%x) }
    def @used(%x: int32) -> int32 { add(%x, 1) }

keep:
    def @main(%x: int32) -> int32 { @main(%x) }
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.analysis.call_graph import CallGraph
from passlab.ir.module import IRModule
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT)
class RemoveUnusedFunctions(ModulePass):
    """Remove global functions that `entry_functions` (default ["main"]) do not reach through global names.

    Raises `DiagnosticError` if an entry does not exist.
    """

    entry_functions: Sequence[str] | None = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        entries = ["main"] if self.entry_functions is None else list(self.entry_functions)
        reached = CallGraph(mod).reachable(*entries)
        return mod.with_functions({name: None for name, _ in mod.items() if name not in reached})
