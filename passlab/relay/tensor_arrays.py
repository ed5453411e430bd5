"""Tensor arrays: lists whose elements are tensors of any rank up to 6, and the functions on them, for one dtype.

The elements of a list have one type, so tensors of several ranks are wrapped in a data type with one constructor per
rank. `static_tensor_arrays` does the same for tensors of one shape.
"""

from __future__ import annotations

from typing import Protocol

from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.adt import Constructor
from passlab.ir.dtypes import DTYPES
from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar
from passlab.relay.tensor_array_text import ARRAY, CONCAT, DYNAMIC, GATHER, READ, SCATTER, SPLIT, STACK, UNSTACK, WRITE
from passlab.text.parser import parse

RANKS = 6


class HasModule(Protocol):
    """The owner of the arrays: a `Prelude`."""

    mod: IRModule


def dynamic_name(canonical: str, dtype: str) -> str:
    """Return the name of a type, constructor or function of the tensor arrays of a dtype: `tensor_array_float32`."""
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


class ArrayNames:
    """Look-up in the module of a prelude by the names of one kind of tensor arrays."""

    prelude: HasModule

    def get_name(self, canonical: str) -> str:
        """Return the name of an entity for this kind of arrays."""
        raise NotImplementedError

    def get_global_var(self, canonical: str) -> GlobalVar:
        """Return the global variable of a function: `tensor_array_read`, ..."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """Return the type variable of `tensor_t`."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """Return a constructor: `tensor_nil`, or one with a tensor."""
        return self.prelude.mod.get_constructor(self.get_name("tensor_t"), self.get_name(canonical))


class TensorArrayOps(ArrayNames):
    """The tensor arrays of `dtype` in the module of a prelude: `TensorArrayOps(prelude, "float32").register()`.

    A `Prelude` registers the arrays of a dtype on their first look-up, so this is rarely needed.
    """

    def __init__(self, prelude: HasModule, dtype: str) -> None:
        if dtype not in DTYPES:
            raise NodeValueError(Diagnostic("there are no tensor arrays of this dtype", found=repr(dtype)))
        self.prelude = prelude
        self.dtype = dtype

    def get_name(self, canonical: str) -> str:
        """Return the name of an entity in this dtype: `tensor_array_read` is `tensor_array_read_float32`."""
        return dynamic_name(canonical, self.dtype)

    def register(self) -> None:
        """Add the data type and its functions to the module; a second call changes nothing."""
        mod = self.prelude.mod
        if mod.find_type(self.get_name("tensor_t")) is None:
            mod.update(parse(_definitions(self.dtype), f"tensor arrays of {self.dtype}", mod))


def _definitions(dtype: str) -> str:
    """Return the text of all definitions for one dtype."""

    def name_of(name: str) -> str:
        return dynamic_name(name, dtype)

    names = {name: name_of(f"tensor_array_{name}") for name in LISTS}
    names |= {"array": name_of("tensor_array"), "nil": name_of("tensor_nil"), "take": name_of("tensor_take")}
    names |= {"expand_dims": name_of("tensor_expand_dims"), "stacked_concatenate": name_of("tensor_concatenate")}
    names |= dict.fromkeys(("element", "joined", "stacked", "part", "value"), name_of("tensor_t"))
    names |= dict.fromkeys(("indices", "lengths"), "Tensor[(?), int32]")
    names |= {"joined_nil": names["nil"], "joined_write": names["write"]}
    names |= {"joined_concatenate": names["stacked_concatenate"]}
    texts = [DYNAMIC.substitute(names, **_cases(dtype)), ARRAY.substitute(names)]
    texts += [text.substitute(names) for text in (READ, WRITE, CONCAT, STACK)]
    texts += [
        text.substitute(names, helper=name_of(helper))
        for text, helper in (
            (SCATTER, "tensor_array_scatter_helper"),
            (SPLIT, "ta_split_helper"),
            (GATHER, "tensor_array_gather_helper"),
        )
    ]
    for rank in range(1, RANKS + 1):
        name, wrap = f"tensor_array_unstack_tensor{rank}", name_of(f"tensor{rank - 1}")
        rank_names = {"helper": name_of(f"{name}_helper"), "unstack": name_of(name), "wrap": wrap}
        texts.append(UNSTACK.substitute(names, tensor=_tensor(rank, dtype), **rank_names))
    return "".join(texts)


LISTS = ("read", "write", "scatter", "split", "concat", "stack", "gather")


def _tensor(rank: int, dtype: str) -> str:
    return f"Tensor[({', '.join('?' * rank)}), {dtype}]"


def _cases(dtype: str) -> dict[str, str]:
    """Return the parts of the text that exist once per rank: constructors, and the arms of matches."""
    ranks = range(1, RANKS + 1)
    wrap = [dynamic_name(f"tensor{rank}", dtype) for rank in range(RANKS + 1)]
    constructors = [f"  {wrap[rank]}({_tensor(rank, dtype)})," for rank in range(RANKS + 1)]
    takes = [f"    {wrap[rank]}(%t) => {wrap[rank]}(take(%t, %rows, axis=0))," for rank in ranks]
    expansions = [f"    {wrap[rank - 1]}(%t) => {wrap[rank]}(expand_dims(%t, axis=0))," for rank in ranks]
    joined = [
        f"    ({wrap[rank]}(%a), {wrap[rank]}(%b)) => {wrap[rank]}(concatenate((%a, %b), axis=0))," for rank in ranks
    ]
    lines = {"constructors": constructors, "takes": takes, "expansions": expansions, "concatenations": joined}
    return {name: "\n".join(arms) for name, arms in lines.items()}
