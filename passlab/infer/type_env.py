"""The part of the module that inference depends on, and the dependencies of typed nodes on it.

The type of an expression that refers to a global function or a data type depends on its module. So each such typed node
has a `TypeDependency`: the signatures and definitions used in typing it. In a module with the same ones its type is
valid; in any other it is inferred again. Nodes without such references (whole networks, mostly) have none, and their
types are valid everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from passlab.ir.adt import TypeData
from passlab.ir.expr import Expr, Function, GlobalVar, set_checked_type
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, IncompleteType, Type, holds


class TypeDependency:
    """The signatures and data type definitions under which nodes were typed."""

    __slots__ = ("signatures", "data", "_covered", "__weakref__")

    def __init__(self, signatures: dict[str, Type], data: dict[str, TypeData | None]) -> None:
        self.signatures = signatures
        self.data = data
        self._covered: WeakKeyDictionary[TypeDependency, bool] = WeakKeyDictionary()

    def covers(self, other: TypeDependency) -> bool:
        """Whether this has all signatures and definitions of `other`, the same objects."""
        covered = self._covered.get(other)
        if covered is None:
            covered = self._covered[other] = all(
                self.signatures.get(name) is ty for name, ty in other.signatures.items()
            ) and all(name in self.data and self.data[name] is data for name, data in other.data.items())
        return covered


def type_dependency_of(node: Expr) -> TypeDependency | None:
    """Return the dependencies of a node's type, None for the many nodes without any."""
    dependency: TypeDependency | None = node._type_dependency
    return dependency


def is_complete(ty: Type | None) -> bool:
    """Whether there is an annotation without unknowns."""
    return ty is not None and not holds(ty, IncompleteType)


def signature_of(fn: Function) -> FuncType | None:
    """Return the type of a function as far as it is known without visiting its body: typed, or annotated completely."""
    if fn._checked_type is not None:
        return fn._checked_type  # type: ignore[return-value]
    if not is_complete(fn.ret_type) or not all(is_complete(p.type_annotation) for p in fn.params):
        return None
    args = [p.type_annotation for p in fn.params]
    return FuncType(args, fn.ret_type, fn.type_params)  # type: ignore[arg-type]


class TypeEnv:
    """The functions and data types an expression may refer to. `mod` is None for an expression without a module."""

    def __init__(self, mod: IRModule | None) -> None:
        self.mod = mod
        self.functions: Mapping[str, Function] = mod._functions if mod is not None else {}
        self._solved: dict[str, Function] | None = None
        self.failed: set[str] = set()  # functions whose own errors are reported already
        self.new_global_vars: dict[str, GlobalVar] = {}  # new global variables, for signatures that changed
        self._signatures: dict[str, FuncType | None] = {}
        self._holding: dict[TypeDependency, bool] = {}

    def signature(self, name: str) -> FuncType | None:
        """Return the type of a global function, None while it is unknown."""
        if name not in self._signatures:
            fn = self.functions.get(name)
            self._signatures[name] = signature_of(fn) if fn is not None else None
        return self._signatures[name]

    def add_typed_function(self, name: str, fn: Function) -> None:
        """Record a function that is typed now."""
        if self._solved is None:  # the common case records nothing: then the table of the module is not copied
            self.functions = self._solved = dict(self.functions)
        self._solved[name] = fn
        self._signatures[name] = fn._checked_type  # type: ignore[assignment]

    def set_signature(self, name: str, ty: Type) -> None:
        """Record the type found for a function whose nodes are about to be typed."""
        self._signatures[name] = ty  # type: ignore[assignment]

    def data(self, name: str) -> TypeData | None:
        """Return the definition of a data type, or None."""
        return self.mod.find_type(name) if self.mod is not None else None

    def satisfies(self, dependency: TypeDependency) -> bool:
        """Whether the module has the same signatures and definitions, so that the types of these nodes are valid."""
        valid = self._holding.get(dependency)
        if valid is None:
            valid = self._has_signatures(dependency.signatures) and all(
                self.data(n) is d for n, d in dependency.data.items()
            )
            self._holding[dependency] = valid
        return valid

    def _has_signatures(self, signatures: Mapping[str, Type]) -> bool:
        """Whether the functions have these types; a program has thousands of kernels, most of them typed."""
        changed, functions = self._signatures, self.functions
        for name, ty in signatures.items():
            fn = functions.get(name) if name not in changed else None
            if (fn is None or fn._checked_type is not ty) and self.signature(name) is not ty:
                return False
        return True

    def global_var(self, node: GlobalVar, ty: Type) -> GlobalVar:
        """Return the one global variable with this name and the type `ty`.

        A variable of the module with another type is also used by other modules: a new one replaces it.
        """
        name = node.name_hint
        var = self.new_global_vars.get(name)
        if var is None:
            var = self.mod.get_global_var(name) if self.mod is not None and name in self.mod else node
        if var._checked_type is None:
            set_checked_type(var, ty)
        elif var._checked_type is not ty:
            var = GlobalVar(name, var.span)
            set_checked_type(var, ty)
            self.new_global_vars[name] = var
        return var

    def dependency(self, names: set[str], data: set[str]) -> TypeDependency:
        """Return the dependencies of nodes that refer to these functions and data types."""
        signatures: dict[str, Type] = {n: ty for n in sorted(names) if (ty := self.signature(n)) is not None}
        return TypeDependency(signatures, {n: self.data(n) for n in sorted(data)})
