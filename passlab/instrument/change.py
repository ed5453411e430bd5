"""Which functions differ between two modules, by identity first: for every option "only when changed"."""

from __future__ import annotations

from passlab.ir.equal import structural_equal
from passlab.ir.module import IRModule


def changed_functions(before: IRModule, after: IRModule) -> list[str]:
    """Return the names of functions that were added, removed, or differ in structure, in the order of `after`.

    Costs nothing for functions that are the same object, and linear time for the others.
    """
    old, new = dict(before.items()), dict(after.items())
    functions = [
        name
        for name, function in new.items()
        if name not in old or not structural_equal(old[name], function, exact=True, by_name=True)
    ]
    return functions + [name for name in old if name not in new]


def is_changed(before: IRModule, after: IRModule) -> bool:
    """Whether two modules differ in structure: functions, type definitions or attributes."""
    if before is after or before.same_contents(after):  # both tests cost nothing for unchanged modules
        return False
    old, new = list(before.type_definitions.values()), list(after.type_definitions.values())
    same_types = len(old) == len(new) and all(map(structural_equal, old, new))
    return not same_types or before.attrs != after.attrs or bool(changed_functions(before, after))


def only_functions(mod: IRModule, names: list[str] | None) -> IRModule:
    """Return a module with only the functions of some names; the same module for None."""
    if names is None:
        return mod
    return mod.with_functions({name: None for name, _ in list(mod.items()) if name not in names})
