"""Keep only the global functions that are reachable.

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

from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, promise=EXACT)
class RemoveUnusedFunctions(ModulePass):
    """Remove global functions that none of `entry_functions` (["main"] if not given) reaches through global names.

    Raises `DiagnosticError` when an entry does not exist.
    """

    entry_functions: Sequence[str] | None = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        entries = ["main"] if self.entry_functions is None else list(self.entry_functions)
        reached = {mod.get_global_var(name).name_hint for name in entries}
        waiting = list(reached)
        while waiting:
            for node in post_order(mod[waiting.pop()]):
                if type(node) is GlobalVar and node.name_hint in mod and node.name_hint not in reached:
                    reached.add(node.name_hint)
                    waiting.append(node.name_hint)
        return mod.with_functions({name: None for name, _ in mod.items() if name not in reached})
