"""The global functions and data types that generated programs use, and the types of their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from passlab.infer import infer_module
from passlab.ir.adt import Constructor
from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.types import ANY, FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type
from passlab.text.parser import parse

BOOL, INT, VECTOR = TensorType((), "bool"), TensorType((), "int32"), TensorType((2, 3), "float32")
CELL, COUNTER = RefType(INT), FuncType([INT], INT)
STATIC_PARAMETERS: tuple[Type, ...] = (
    VECTOR,
    VECTOR,
    TensorType((1, 2, 5, 5), "float32"),
    TensorType((2, 3), "float16"),
    TensorType((3,), "int8"),
    TensorType((2, 3), "int32"),
    TensorType((2, 2, 3), "float32"),
    TupleType([VECTOR, TupleType([INT, TensorType((3,), "float32")])]),
    TensorType((0, 3), "float32"),
    TensorType((4,), "uint8"),
    TensorType((4,), "int4"),
    TensorType((2, 3), "bfloat16"),
    TensorType((3,), "uint64"),
    TensorType((), "float64"),
)
DYNAMIC_PARAMETERS: tuple[Type, ...] = (TensorType((ANY, 3), "float32"),)

_V = "Tensor[(2, 3), float32]"
_TEXT = f"""
    type List[A] {{ Cons(A, List[A]), Nil, }}
    type Option[A] {{ Some(A), None, }}
    def @id[A](%x: A) -> A {{ %x }}
    def @square(%x: {_V}, Inline=1) -> {_V} {{ multiply(%x, %x) }}
    def @power(%x: {_V}, %n: int32) -> {_V} {{
      if (less(%n, 1)) {{ %x }} else {{ tanh(@power(add(%x, 1f), subtract(%n, 1))) }}
    }}
    def @sum(%xs: List[{_V}]) -> {_V} {{
      match (%xs) {{ Cons(%h, %t) => add(%h, @sum(%t)), Nil => zeros(shape=[2, 3], dtype="float32") }}
    }}
    def @unused(%x: {_V}) -> {_V} {{ @square(%x) }}
"""
_EFFECTS = """
    def @bump(%r: ref(int32), %k: int32) -> int32 {
      let %u = ref_write(%r, add(multiply(ref_read(%r), 3), %k));
      ref_read(%r)
    }
    def @counter(%start: int32) -> fn (int32) -> int32 {
      let %r = ref(%start);
      fn (%k: int32) -> int32 { @bump(%r, %k) }
    }
    def @swapped(%a: int32, %b: int32, Inline=1) -> int32 { subtract(%b, %a) }
"""


@dataclass(frozen=True)
class ProgramLibrary:
    """A typed module without `main`, and the names that generated programs use of it."""

    mod: IRModule
    list_type: GlobalTypeVar
    cons: Constructor
    nil: Constructor
    option_type: GlobalTypeVar
    some: Constructor
    none: Constructor

    def function(self, name: str) -> GlobalVar:
        """Return the global variable of a function."""
        return self.mod.get_global_var(name)


@cache
def library(effects: bool) -> ProgramLibrary:
    """Return the library, with or without the functions that read and write references."""
    mod = infer_module(parse(_TEXT + _EFFECTS if effects else _TEXT))
    list_type, cons, nil = mod.get_type("List")
    option_type, some, none = mod.get_type("Option")
    return ProgramLibrary(mod, list_type, cons, nil, option_type, some, none)
