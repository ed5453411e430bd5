"""State of programs: whether a module has any, and which expressions may be evaluated elsewhere, later, or repeatedly.

An argument that replaces a parameter is evaluated where the parameter was used: later than the other arguments, perhaps
in one branch only, perhaps once for each call of a closure. That is correct for expressions that neither read nor
change state nor create a reference.
"""

from __future__ import annotations

from passlab.analysis.contents import contents_of
from passlab.analysis.purity import LocalPurity
from passlab.analysis.stated_types import states_type
from passlab.ir.expr import Expr, Function, RefCreate, RefRead, RefWrite
from passlab.ir.module import IRModule


def stateless(mod: IRModule) -> bool:
    """Return True if nothing in a module reads or changes state, so that all its expressions are pure.

    What each function contains is found once; after that a call takes time linear in the number of functions.
    """
    return all(_has_no_state(function) for _, function in mod.items())


def _has_no_state(function: Function) -> bool:
    contents = contents_of(function)
    reads_or_writes = not contents.kinds.isdisjoint((RefRead, RefWrite))
    return not (function.attrs.get("Extern") or reads_or_writes or any(op.spec.stateful for op in contents.operators))


class Movability:
    """A predicate: `Movability(mod)(expr)` is True if the expression may be evaluated elsewhere, later or repeatedly.

    Calls of functions count as movable only if the module has no state at all. Each node is visited once.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._purity = LocalPurity(also=(RefCreate,))
        self._mod = mod
        self._stateless: bool | None = None

    def __call__(self, expr: Expr) -> bool:
        if not states_type(expr):
            return False
        if self._purity.of(expr):
            return True
        if self._stateless is None:
            self._stateless = self._mod is not None and stateless(self._mod)
        return self._stateless
