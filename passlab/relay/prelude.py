"""`Prelude`: the standard library (lists, options, trees and the functions on them) in a module, by name."""

from __future__ import annotations

from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, UnknownNameError, did_you_mean
from passlab.ir.adt import Constructor
from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar
from passlab.relay.tensor_arrays import (
    Shape,
    StaticTensorArrayOps,
    TensorArrayOps,
    dynamic_name,
    get_tensor_array_shape,
    static_name,
)

__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]


# Names of types and constructors before TVM 0.7.
_OLD_NAMES = {
    "l": "List", "nil": "Nil", "cons": "Cons", "optional": "Option", "none": "None", "some": "Some",
    "tree": "Tree", "rose": "Rose",
}  # fmt: skip


@checked
class Prelude:
    """The standard library of `mod` (by default a new module): `p.map`, `p.foldl`, `p.mod.get_type("List")`.

    Functions are attributes as global variables, data types as type variables and constructors as constructors, also by
    their names in TVM 0.6: `p.l`, `p.nil`, `p.cons`.

    Tensor arrays are looked up by dtype, `p.get_global_var("tensor_array_read", "float32")`; the functions of a dtype
    are added to the module on first use, so that programs without them stay small. Tensor arrays of one shape are
    registered with `StaticTensorArrayOps`, and are then looked up by dtype and shape.

    >>> prelude = relay.Prelude()
    >>> print(prelude.map, prelude.mod.get_type("List")[0])
    @map List
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self.mod.import_from_std("prelude.rly")

    # ------------------------------------------------------------ by name, or by canonical name and dtype
    def get_name(self, canonical: str, dtype: str) -> str:
        """Return the name of `canonical` among the tensor arrays of a dtype: `tensor_array_float32`."""
        TensorArrayOps(self, dtype).register()
        return dynamic_name(canonical, dtype)

    def get_global_var(self, name: str, dtype: str | None = None) -> GlobalVar:
        """Return the global variable of a function by name, or by its name among tensor arrays and a dtype."""
        return self.mod.get_global_var(name if dtype is None else self.get_name(name, dtype))

    def get_type(self, name: str, dtype: str | None = None) -> tuple[Any, ...] | GlobalTypeVar:
        """Return (type variable, constructor, ...) of a data type; with a dtype (`"tensor_t"`) the type variable."""
        if dtype is None:
            return self.mod.get_type(name)
        return self.mod.get_global_type_var(self.get_name(name, dtype))

    def get_ctor(self, type_name: str, name: str, dtype: str | None = None) -> Constructor:
        """Return a constructor of a data type by name, or by its name among tensor arrays and a dtype."""
        return self.mod.get_constructor(type_name, name if dtype is None else self.get_name(name, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """Return the constructor `tensor0` ... `tensor6` or `tensor_nil` of a dtype."""
        return self.get_ctor(dynamic_name("tensor_t", dtype), canonical, dtype)

    # ------------------------------------------------------------ tensor arrays of one shape
    def get_name_static(self, canonical: str, dtype: str, shape: Shape, batch_dim: int | None = None) -> str:
        """Return the name of `canonical` for tensors of a shape: `tensor_array_read_float32_2_any`."""
        return static_name(canonical, dtype, shape, batch_dim)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Shape, batch_dim: int | None = None
    ) -> GlobalVar:
        """Return the global variable of a function for tensors of a shape."""
        return self.mod.get_global_var(static_name(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Shape) -> GlobalTypeVar:
        """Return the type variable of `tensor_t` for tensors of a shape."""
        return self.mod.get_global_type_var(static_name(canonical, dtype, shape))

    def get_ctor_static(self, type_name: str, name: str, dtype: str, shape: Shape) -> Constructor:
        """Return a constructor of a type (`"tensor_t"`) for tensors of a shape."""
        return self.mod.get_constructor(static_name(type_name, dtype, shape), static_name(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Shape) -> Constructor:
        """Return `tensor_constructor` or `tensor_nil` for tensors of a shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.mod:
            return self.mod.get_global_var(name)
        name = _OLD_NAMES.get(name, name)
        constructor = self.mod.find_constructor(name)
        if constructor is not None:
            return constructor
        data = self.mod.find_type(name)
        if data is not None:
            return data.header
        raise UnknownNameError(Diagnostic(f"the prelude has no `{name}`", hint=did_you_mean(name, dir(self))))

    def __dir__(self) -> list[str]:
        types: list[GlobalTypeVar] = self.mod.get_global_type_vars()
        constructors = [c.name_hint for t in types for c in self.mod.type_data(t.name_hint).constructors]
        functions = [name for name, _ in self.mod.items()]
        members = ("mod", *(name for name in vars(Prelude) if name.startswith("get_")))
        return sorted({*members, *functions, *constructors, *(t.name for t in types)})
