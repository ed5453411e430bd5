"""Move function literals for external compilers that already have a name to global functions.

before: compiler_filter="toy"
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) };
      %0(%x)
    }
after:
    def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
    def @toy_0(%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) }

keep: compiler_filter="other"
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) };
      %f(%x)
    }
"""

from __future__ import annotations

from passlab.errors import Diagnostic, PassError
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Expr, Function, GlobalVar, Let
from passlab.ir.module import IRModule
from passlab.ir.variables import free_vars
from passlab.ir.walk import post_order
from passlab.rewriting.let_removal import LetAction, remove_lets
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT, name="OutlineCompilerFunctions")
class OutlineCompilerFunctionsWithExistingGlobalSymbols(ModulePass):
    """Move function literals with attributes `Compiler` and `global_symbol` to global functions of that name.

    With `compiler_filter`, only functions for that compiler are moved. A literal bound by `let` is replaced by its
    global name, and the binding disappears. Literals that capture variables stay. Raises `PassError` if two different
    functions have the same name.
    """

    compiler_filter: str = ""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions: dict[str, Function] = {}
        changes: dict[str | GlobalVar, Function] = {}
        for name, function in mod.items():
            literals = [n for n in post_order(function.body) if isinstance(n, Function) and self._is_outlined(n)]
            if not literals:
                continue
            names: dict[Expr, Expr] = {n: self._outline(n, mod, functions) for n in literals}

            def choose(let: Let, value: Expr, names: dict[Expr, Expr] = names) -> LetAction:
                return LetAction.INLINE if let.value in names else LetAction.KEEP

            def use_name(pre: Expr, post: Expr, names: dict[Expr, Expr] = names) -> Expr:
                return names.get(pre, post)

            changes[name] = remove_lets(function, choose, use_name)
        new = {_global_var(mod, name): function for name, function in functions.items()}
        return mod.with_functions({**changes, **new}) if changes else mod

    def _is_outlined(self, function: Function) -> bool:
        attrs = function.attrs
        included = self.compiler_filter in ("", attrs.get("Compiler"))
        return bool(attrs.get("Compiler")) and "global_symbol" in attrs and included and not free_vars(function)

    def _outline(self, function: Function, mod: IRModule, functions: dict[str, Function]) -> GlobalVar:
        """Add a literal to the new functions, unless an equal one has its name, and return its global variable."""
        name = str(function.attrs["global_symbol"])
        existing = mod[name] if name in mod else functions.get(name)
        if existing is not None and not structural_equal(existing, function, exact=True):
            what = f"two functions for `{function.attrs['Compiler']}` are called `{name}`"
            raise PassError(Diagnostic(what, function.span, hint="give each a `global_symbol` of its own"))
        if existing is None:
            functions[name] = function
        return _global_var(mod, name)


def _global_var(mod: IRModule, name: str) -> GlobalVar:
    """Return the global variable with a name, the module's own if it has one."""
    return mod.get_global_var(name) if name in mod else GlobalVar(name)
