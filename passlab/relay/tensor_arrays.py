"""Tensor arrays: lists whose elements are tensors of any rank up to 6, and the functions on them, for one dtype.

The elements of a list have one type, so tensors of several ranks are wrapped in a data type with one constructor per
rank (`TensorArrayOps`). Tensors of one shape have types that keep the shape (`StaticTensorArrayOps`). Both write Relay
text, from the same templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING, Protocol

from passlab.analysis import free_vars
from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.adt import Constructor
from passlab.ir.dtypes import DTYPES
from passlab.ir.expr import Expr, Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.type_text import type_text
from passlab.ir.types import ANY, Any, GlobalTypeVar, TensorType, TypeCall
from passlab.text.parser import parse
from passlab.transform import get_pass

if TYPE_CHECKING:
    from passlab.relay.prelude import Prelude


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


# ---------------------------------------------------------------- the functions as Relay text
# With placeholders for names and types (`$read`, `$element`). Tensors of
# any rank and tensors of one shape differ in their wrappers, not in the operations on lists of them. `$element` is the
# type of the elements, `$joined` that of concatenated tensors, `$stacked` that of stacked tensors; indices and lengths
# are vectors of int32. The text uses only the lists of the prelude.
ARRAY = Template("""
def @$array(%n: int32) -> List[$element] {
  if (equal(%n, 0)) {
    Nil
  } else {
    Cons($nil, @$array(subtract(%n, 1)))
  }
}
""")

READ = Template("""
def @$read(%array: List[$element], %n: int32) -> $element {
  @nth(%array, %n)
}
""")

WRITE = Template("""
def @$write(%array: List[$element], %n: int32, %v: $element) -> List[$element] {
  @update(%array, %n, %v)
}
""")

UNSTACK = Template("""
def @$helper(%i: int32, %end: int32, %tensor: $tensor) -> List[$part] {
  if (equal(%i, %end)) {
    Nil
  } else {
    Cons($wrap(take(%tensor, %i, axis=0)), @$helper(add(%i, 1), %end, %tensor))
  }
}

def @$unstack(%tensor: $tensor) -> List[$part] {
  @$helper(0, take(shape_of(%tensor, dtype="int32"), 0), %tensor)
}
""")

# Element i of the values is written at the i-th index.
SCATTER = Template("""
def @$helper(
  %array: List[$element], %i: int32, %end: int32, %indices: $indices, %values: List[$element]
) -> List[$element] {
  if (equal(%i, %end)) {
    %array
  } else {
    let %written = @$write(%array, take(%indices, %i), @$read(%values, %i));
    @$helper(%written, add(%i, 1), %end, %indices, %values)
  }
}

def @$scatter(%array: List[$element], %indices: $indices, %values: List[$element]) -> List[$element] {
  @$helper(%array, 0, take(shape_of(%indices, dtype="int32"), 0), %indices, %values)
}
""")

# The value is cut along its first axis into pieces of the given lengths, which overwrite the array from its start.
SPLIT = Template("""
def @$helper(
  %array: List[$joined], %value: $value, %offset: int32, %i: int32, %end: int32, %lengths: $lengths
) -> List[$joined] {
  if (equal(%i, %end)) {
    %array
  } else {
    let %after = add(%offset, take(%lengths, %i));
    let %rest = @$helper(%array, %value, %after, add(%i, 1), %end, %lengths);
    @$joined_write(%rest, %i, @$take(%value, %offset, %after))
  }
}

def @$split(%array: List[$joined], %value: $value, %lengths: $lengths) -> List[$joined] {
  @$helper(%array, %value, 0, 0, take(shape_of(%lengths, dtype="int32"), 0), %lengths)
}
""")

CONCAT = Template("""
def @$concat(%array: List[$joined]) -> $joined {
  match (%array) {
    Nil => $joined_nil,
    Cons(%tensor, Nil) => %tensor,
    Cons(%tensor, %rest) => @$joined_concatenate(%tensor, @$concat(%rest)),
  }
}
""")

STACK = Template("""
def @$stack(%array: List[$element]) -> $stacked {
  let %tensors = @map(@$expand_dims, %array);
  @foldl(@$stacked_concatenate, @hd(%tensors), @tl(%tensors))
}
""")

STACK_ONE = Template("""
def @$stack(%array: List[$element]) -> $stacked {
  @hd(@map(@$expand_dims, %array))
}
""")

GATHER = Template("""
def @$helper(
  %array: List[$element], %found: List[$element], %left: int32, %indices: Tensor[(?), int32]
) -> $stacked {
  if (equal(%left, 0)) {
    @$stack(%found)
  } else {
    let %i = subtract(%left, 1);
    @$helper(%array, Cons(@$read(%array, take(%indices, %i)), %found), %i, %indices)
  }
}

def @$gather(%array: List[$element], %indices: Tensor[(?), int32]) -> $stacked {
  @$helper(%array, Nil, take(shape_of(%indices, dtype="int32"), 0), %indices)
}
""")

# ---------------------------------------------------------------- tensors of any rank

DYNAMIC = Template("""
type $element {
  $nil,
$constructors
}

def @$take(%tensor: $element, %lower: int32, %upper: int32) -> $element {
  let %rows = arange(%lower, %upper, 1, dtype="int32");
  match? (%tensor) {
$takes
  }
}

def @$expand_dims(%tensor: $element) -> $element {
  match? (%tensor) {
$expansions
  }
}

def @$stacked_concatenate(%x: $element, %y: $element) -> $element {
  match? ((%x, %y)) {
$concatenations
  }
}
""")

# ---------------------------------------------------------------- tensors of one shape

STATIC = Template("""
type $element {
  $nil,
  $constructor($tensor),
}
""")

GET_DATA = Template("""
def @$get_data(%tensor: $element) -> $tensor {
  match? (%tensor) {
    $constructor(%t) => %t,
  }
}
""")

TAKE = Template("""
def @$take(%tensor: $element, %lower: int32, %upper: int32) -> $joined {
  match? (%tensor) {
    $constructor(%t) => $joined_constructor(take(%t, arange(%lower, %upper, 1, dtype="int32"), axis=0)),
  }
}
""")

CONCATENATE = Template("""
def @$concatenate(%x: $element, %y: $element) -> $joined {
  match? ((%x, %y)) {
    ($constructor(%a), $constructor(%b)) => $joined_constructor(concatenate((%a, %b), axis=0)),
  }
}
""")

EXPAND_DIMS = Template("""
def @$expand_dims(%tensor: $element) -> $stacked {
  match? (%tensor) {
    $constructor(%t) => $stacked_constructor(expand_dims(%t, axis=0)),
  }
}
""")


# ---------------------------------------------------------------- tensors of one shape, in Python
# They keep that shape in the types of their results. The names end in dtype and
# shape (`tensor_array_read_float32_2_any`); types of other shapes, such as that of stacked tensors, are defined where
# they are needed.
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
            self._add(name, STATIC)

    def define_tensor_take(self) -> None:
        """Define `tensor_take`: rows lower to upper (not included). Not for scalars."""
        if self.shape:
            self._define("tensor_take", TAKE)

    def define_tensor_concatenate(self) -> None:
        """Define `tensor_concatenate`: one tensor after the other. Not for scalars."""
        if self.shape:
            self._define("tensor_concatenate", CONCATENATE)

    def define_tensor_expand_dims(self) -> None:
        """Define `tensor_expand_dims`: a new first axis of length 1."""
        self._define("tensor_expand_dims", EXPAND_DIMS)

    def define_tensor_array(self) -> None:
        """Define `tensor_array`: an array of n elements without tensors."""
        self._define("tensor_array", ARRAY)

    def define_tensor_array_read(self) -> None:
        """Define `tensor_array_read`: the element at an index."""
        self._define("tensor_array_read", READ)

    def define_tensor_array_write(self) -> None:
        """Define `tensor_array_write`: the array with another element at an index."""
        self._define("tensor_array_write", WRITE)

    def define_tensor_array_unstack(self) -> None:
        """Define `tensor_array_unstack`: the rows of a plain tensor of this shape. Not for scalars."""
        if self.shape:
            self._define("tensor_array_unstack", UNSTACK, "tensor_array_unstack_helper")

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
            self._add(name, SCATTER, helper=helper, scatter=name, indices=indices)

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
        self._add(name, SPLIT, helper=self.get_name("ta_split_helper"), lengths=_vector(lengths_shape), **names)

    def define_tensor_array_concat(self) -> None:
        """Define `tensor_array_concat`: all tensors of an array, concatenated. Not for scalars."""
        if self.shape:
            self._concatenate().define_tensor_concatenate()
            self._define("tensor_array_concat", CONCAT)

    def define_tensor_array_stack(self) -> None:
        """Define `tensor_array_stack`: the tensors of an array along a new first axis."""
        self.define_tensor_expand_dims()
        if self.batch_dim == 1:
            self._define("tensor_array_stack", STACK_ONE)
        else:
            self._stack().define_tensor_concatenate()
            self._define("tensor_array_stack", STACK)

    def define_tensor_array_gather(self) -> None:
        """Define `tensor_array_gather`: the elements at some indices, stacked."""
        self.define_tensor_array_read()
        self.define_tensor_array_stack()
        self._define("tensor_array_gather", GATHER, "tensor_array_gather_helper")

    def define_tensor_get_data(self) -> None:
        """Define `tensor_get_data`: the plain tensor in an element."""
        self._define("tensor_get_data", GET_DATA)

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
