"""Tensor arrays of tensors of one shape, which keep that shape in the types of their results.

The names end in dtype and shape (`tensor_array_read_float32_2_any`); types of other shapes, such as that of stacked
tensors, are defined where they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING

from passlab.analysis import free_vars
from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Expr, Function
from passlab.ir.type_text import type_text
from passlab.ir.types import ANY, Any, GlobalTypeVar, TensorType, TypeCall
from passlab.relay import tensor_array_text as texts
from passlab.relay.tensor_arrays import ArrayNames, HasModule
from passlab.text.parser import parse
from passlab.transform import get_pass

if TYPE_CHECKING:
    from passlab.relay.prelude import Prelude

Shape = Sequence["int | Any"]


def static_name(
    canonical: str,
    dtype: str,
    shape: Shape,
    batch_dim: int | None = None,
    extra_shapes: Mapping[str, Shape] | None = None,
) -> str:
    """Return the name of a type, constructor or function for tensors of `shape`; an unknown dimension is `any`.

    `extra_shapes` are shapes of other arguments of the function. Of the values of `batch_dim`, only 1 is in the name.
    """
    dims = _dims(shape) + "".join(f"_{name}_{_dims(other)}" for name, other in (extra_shapes or {}).items())
    dims = dims or "scalar"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{dims}_t"
    if batch_dim != 1 or canonical in ("tensor_constructor", "tensor_nil"):
        return f"{canonical}_{dtype}_{dims}"
    return f"{canonical}_{dtype}_batch{batch_dim}_{dims}"


def _dims(shape: Shape) -> str:
    return "_".join("any" if isinstance(dim, Any) else str(int(dim)) for dim in shape)


def get_tensor_array_shape(expr: Expr, dtype: str, prelude: Prelude) -> tuple[int | Any, ...] | None:
    """Return the shape of the tensors in an array created by `StaticTensorArrayOps`, or None for arrays of any rank.

    Raises `NodeValueError` if `expr`, typed in the module of `prelude`, is not a list.
    """
    mod = prelude.mod.snapshot()
    mod["main"] = Function(free_vars(expr), expr)
    ty = get_pass("InferType")(mod)["main"].body.checked_type
    if not isinstance(ty, TypeCall) or not ty.args or not isinstance(ty.args[0], TypeCall):
        raise NodeValueError(Diagnostic("this is not a tensor array", found=type_text(ty)))
    header = ty.args[0].func
    if not isinstance(header, GlobalTypeVar) or not header.name_hint.startswith(f"static_tensor_{dtype}_"):
        return None
    tensor = prelude.mod.get_type(header.name_hint)[2].inputs[0]
    return tuple(tensor.shape)


class StaticTensorArrayOps(ArrayNames):
    """The tensor arrays of tensors of `dtype` and `shape` in the module of a prelude.

    With `batch_dim=1` a stack is one tensor, whose new first axis has length 1 instead of an unknown one.
    """

    def __init__(self, prelude: HasModule, dtype: str, shape: Shape, batch_dim: int | None = None) -> None:
        self.prelude = prelude
        self.dtype = dtype
        self.shape = tuple(shape)
        self.batch_dim = batch_dim

    # ------------------------------------------------------------ names
    def get_name(self, canonical: str, extra_shapes: Mapping[str, Shape] | None = None) -> str:
        """Return the name of an entity for this dtype and shape."""
        return static_name(canonical, self.dtype, self.shape, self.batch_dim, extra_shapes)

    # ------------------------------------------------------------ definitions
    def register(self) -> None:
        """Add the data type and all functions to the module; a second call changes nothing."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_concatenate()
        self.define_tensor_expand_dims()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()
        self.define_tensor_get_data()

    def define_tensor_adt(self) -> None:
        """Define the data type: a tensor of this shape, or an element without a tensor."""
        name = self.get_name("tensor_t")
        if self.prelude.mod.find_type(name) is None:
            self._add(name, texts.STATIC)

    def define_tensor_take(self) -> None:
        """Define `tensor_take`: rows lower to upper (not included). Not for scalars."""
        if self.shape:
            self._define("tensor_take", texts.TAKE)

    def define_tensor_concatenate(self) -> None:
        """Define `tensor_concatenate`: one tensor after the other. Not for scalars."""
        if self.shape:
            self._define("tensor_concatenate", texts.CONCATENATE)

    def define_tensor_expand_dims(self) -> None:
        """Define `tensor_expand_dims`: a new first axis of length 1."""
        self._define("tensor_expand_dims", texts.EXPAND_DIMS)

    def define_tensor_array(self) -> None:
        """Define `tensor_array`: an array of n elements without tensors."""
        self._define("tensor_array", texts.ARRAY)

    def define_tensor_array_read(self) -> None:
        """Define `tensor_array_read`: the element at an index."""
        self._define("tensor_array_read", texts.READ)

    def define_tensor_array_write(self) -> None:
        """Define `tensor_array_write`: the array with another element at an index."""
        self._define("tensor_array_write", texts.WRITE)

    def define_tensor_array_unstack(self) -> None:
        """Define `tensor_array_unstack`: the rows of a plain tensor of this shape. Not for scalars."""
        if self.shape:
            self._define("tensor_array_unstack", texts.UNSTACK, "tensor_array_unstack_helper")

    def define_tensor_array_scatter(self, indices_shape: Shape | None = None, force_update: bool = False) -> None:
        """Define `tensor_array_scatter`: an array with values at indices.

        `indices_shape` fixes the number of indices, which is then in the name; `force_update` replaces its definition.
        """
        extra = {"indices": indices_shape} if indices_shape is not None else None
        name = self.get_name("tensor_array_scatter", extra)
        if force_update or name not in self.prelude.mod:
            helper = self.get_name("tensor_array_scatter_helper", extra)
            indices = _vector(indices_shape)
            self.define_tensor_array_read()
            self.define_tensor_array_write()
            self._add(name, texts.SCATTER, helper=helper, scatter=name, indices=indices)

    def define_tensor_array_split(
        self, value_shape: Shape | None = None, lengths_shape: Shape | None = None, force_update: bool = False
    ) -> None:
        """Define `tensor_array_split`: a tensor cut into pieces along its first axis. Not for scalars.

        `value_shape` and `lengths_shape` fix the types of the arguments; `force_update` replaces its definition.
        """
        name = self.get_name("tensor_array_split")
        if not self.shape or (name in self.prelude.mod and not force_update):
            return
        self._concatenate().define_tensor_array_write()
        value = self if value_shape is None else self._with_shape(value_shape)
        value.define_tensor_take()
        names = {"value": value.get_name("tensor_t"), "take": value.get_name("tensor_take")}
        self._add(name, texts.SPLIT, helper=self.get_name("ta_split_helper"), lengths=_vector(lengths_shape), **names)

    def define_tensor_array_concat(self) -> None:
        """Define `tensor_array_concat`: all tensors of an array, concatenated. Not for scalars."""
        if self.shape:
            self._concatenate().define_tensor_concatenate()
            self._define("tensor_array_concat", texts.CONCAT)

    def define_tensor_array_stack(self) -> None:
        """Define `tensor_array_stack`: the tensors of an array along a new first axis."""
        self.define_tensor_expand_dims()
        if self.batch_dim == 1:
            self._define("tensor_array_stack", texts.STACK_ONE)
        else:
            self._stack().define_tensor_concatenate()
            self._define("tensor_array_stack", texts.STACK)

    def define_tensor_array_gather(self) -> None:
        """Define `tensor_array_gather`: the elements at some indices, stacked."""
        self.define_tensor_array_read()
        self.define_tensor_array_stack()
        self._define("tensor_array_gather", texts.GATHER, "tensor_array_gather_helper")

    def define_tensor_get_data(self) -> None:
        """Define `tensor_get_data`: the plain tensor in an element."""
        self._define("tensor_get_data", texts.GET_DATA)

    # ------------------------------------------------------------ texts
    def _with_shape(self, shape: Shape) -> StaticTensorArrayOps:
        """Return the arrays of another shape, after adding their data type."""
        ops = StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)
        ops.define_tensor_adt()
        return ops

    def _concatenate(self) -> StaticTensorArrayOps:
        return self._with_shape((ANY, *self.shape[1:]))

    def _stack(self) -> StaticTensorArrayOps:
        return self._with_shape((1 if self.batch_dim == 1 else ANY, *self.shape))

    def _define(self, canonical: str, text: Template, helper: str = "") -> None:
        name = self.get_name(canonical)
        if name not in self.prelude.mod:
            self._add(name, text, helper=self.get_name(helper))

    def _add(self, name: str, text: Template, **own: str) -> None:
        used = set(text.get_identifiers())
        names = {word: self._substitute(word) for word in used - own.keys()} | own
        mod = self.prelude.mod
        mod.update(parse(text.substitute(names), name, mod))

    def _substitute(self, word: str) -> str:
        """Return the text for a placeholder; adds the definitions of the types in it."""
        kind, _, rest = word.partition("_")
        if kind in ("joined", "stacked"):
            other = self._concatenate() if kind == "joined" else self._stack()
            return other._substitute(rest or "element")
        if word == "tensor":
            return type_text(TensorType(self.shape, self.dtype))
        if word in ("part", "wrap"):
            return self._with_shape(self.shape[1:])._substitute("element" if word == "part" else "constructor")
        return self.get_name(_CANONICAL.get(word) or f"tensor_array_{word}")


_CANONICAL = {
    "array": "tensor_array",
    "concatenate": "tensor_concatenate",
    "constructor": "tensor_constructor",
    "element": "tensor_t",
    "expand_dims": "tensor_expand_dims",
    "get_data": "tensor_get_data",
    "nil": "tensor_nil",
    "take": "tensor_take",
}


def _vector(shape: Shape | None) -> str:
    return type_text(TensorType(shape if shape is not None else (ANY,), "int32"))
