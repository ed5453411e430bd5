"""Fresh names and global variables for passes."""

from __future__ import annotations

from collections.abc import Iterable

from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.node_errors import not_a_node_error


class NameSupply:
    """Creates unique names. With a prefix, names are `prefix_name` unless requested without it."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._counts: dict[str, int] = {}  # by used name: the number of the last name derived from it

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """Return the name, or the name followed by `_1`, `_2`, ... if it is in use. Dots become underscores."""
        base = self._full(name, add_prefix).replace(".", "_")
        fresh = base
        while fresh in self._counts:
            self._counts[base] += 1
            fresh = f"{base}_{self._counts[base]}"
        self._counts[fresh] = 0
        return fresh

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Mark a name as in use, and return it."""
        full = self._full(name, add_prefix)
        self._counts.setdefault(full, 0)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name is in use."""
        return self._full(name, add_prefix) in self._counts

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name


class GlobalVarSupply:
    """Creates global variables with fresh names: for modules, whose names are in use, or from a `NameSupply`.

    For modules, the prefix is the attribute `mod_name` of the first one, or `tvmgen_default`.
    """

    def __init__(self, value: IRModule | Iterable[IRModule] | NameSupply | None = None) -> None:
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        self._vars: dict[str, GlobalVar] = {}
        if value is None or isinstance(value, NameSupply):
            return
        for index, mod in enumerate([value] if isinstance(value, IRModule) else value):
            if not isinstance(mod, IRModule):
                raise not_a_node_error(mod, "a module")
            if index == 0:
                self.name_supply.prefix = str(mod.get_attr("mod_name") or "tvmgen_default")
            for var in mod.get_global_vars():
                self.reserve_global(var, allow_conflict=True)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a new global variable with an unused name."""
        var = GlobalVar(self.name_supply.fresh_name(name, add_prefix))
        self._vars[var.name_hint] = var
        return var

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the one global variable of this supply with a name, created on first request."""
        full = self.name_supply.reserve_name(name, add_prefix)
        if full not in self._vars:
            self._vars[full] = GlobalVar(full)
        return self._vars[full]

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Mark a global variable as in use. Raises `NodeValueError` if another one has its name."""
        cached = self._vars.get(global_var.name_hint)
        if cached is not None and cached is not global_var and not allow_conflict:
            raise NodeValueError(Diagnostic(f"another global variable is called @{global_var.name_hint}"))
        self._vars[self.name_supply.reserve_name(global_var.name_hint, add_prefix=False)] = global_var
