"""The entry of a compiled program: any function of a module, or one from outside, next to all functions of the module.

A function from outside gets a name that the module does not have. Where a compiler starts from `main`, the entry
becomes `main` of a module in which the user's function of that name has a fresh one:

    def @main(%x) { %x + 1 }                     def @main_1(%x) { %x + 1 }
    def @g(%x) { @main(%x) * 2 }      @g ->      def @main(%x) { @main_1(%x) * 2 }      def @g(%x) { @main_1(%x) * 2 }
"""

from __future__ import annotations

from passlab.errors import Diagnostic, VerifyError, did_you_mean
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.supply import NameSupply
from passlab.ir.walk import post_order, rewrite

MAIN = "main"


def with_entry(mod: IRModule, entry: Function | GlobalVar | str) -> IRModule:
    """Return a module whose `main` is the entry: a function, or the name of one of the module.

    The module's own `main` keeps its callers, under a fresh name; without callers it is left out. Returns the module
    itself where the entry is its `main`. Raises `VerifyError` for a name that the module does not have.
    """
    if isinstance(entry, (str, GlobalVar)):
        entry = entry_function(mod, entry)
    if MAIN not in mod or mod[MAIN] is entry:
        return mod if MAIN in mod else mod.with_functions({MAIN: entry})
    functions = dict(mod.items()) | {MAIN: entry}
    callers = {name: mains for name, f in functions.items() if (mains := _mains(f))}
    if not callers:
        return mod.with_functions(functions)
    fresh = GlobalVar(_fresh_name(mod))
    old = mod[MAIN]
    changed = {name: _renamed(functions[name], mains, fresh) for name, mains in callers.items()}
    return mod.with_functions({**functions, **changed, fresh.name_hint: _renamed(old, _mains(old), fresh)})


def named_entry(mod: IRModule, entry: Function | GlobalVar) -> tuple[str, IRModule]:
    """Return the name of an entry, and a module that has it: a function from outside gets a fresh name.

    A kernel, or a function of another compiler, is called by an entry with a fresh name, for it has no code of its own.
    """
    if isinstance(entry, GlobalVar):
        function = entry_function(mod, entry)
        if not (function.is_primitive or function.attrs.get("Compiler")):
            return entry.name_hint, mod
        params = [Var(param.name_hint, param.type_annotation) for param in function.params]
        entry = Function(params, Call(entry, params))
    for name, function in mod.items():
        if function is entry:
            return name, mod
    name = _fresh_name(mod)
    return name, mod.with_functions({name: entry})


def _fresh_name(mod: IRModule) -> str:
    """Return `main`, or `main_1` and so on where the module has such a function."""
    names = NameSupply()
    for name in mod.functions:
        names.reserve_name(name.name_hint)
    return names.fresh_name(MAIN)


def entry_function(mod: IRModule, entry: str | GlobalVar) -> Function:
    """Return the function of a name. Raises `VerifyError`, with the names of the module, if it is not one of them."""
    name = entry if isinstance(entry, str) else entry.name_hint
    if name not in mod:
        names = [known for known, _ in mod.items()]
        hint = did_you_mean(name, names) or (f"it has {', '.join(f'@{known}' for known in names)}" if names else None)
        raise VerifyError(Diagnostic(f"the module has no function @{name}", hint=hint or "it has no functions"))
    function: Function = mod[name]
    return function


def _mains(function: Function) -> list[GlobalVar]:
    """Return the global variables in a function that name `main`: programs may have several of one name."""
    return [node for node in post_order(function) if type(node) is GlobalVar and node.name_hint == MAIN]


def _renamed(function: Function, mains: list[GlobalVar], fresh: GlobalVar) -> Function:
    replace: dict[Expr, Expr] = dict.fromkeys(mains, fresh)
    return rewrite(function, replace=replace)
