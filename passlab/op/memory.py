"""The dialect of programs with planned memory: storage, tensors in storage, and calls of kernels on them.

`memory.*` allocates and frees memory, `vm.*` are operations of the virtual machine, and `call_lowered` calls a compiled
function. Operators that only the virtual machine executes have no kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Constant
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import FuncType, GlobalTypeVar, IncompleteType, TensorType, TupleType, Type, TypeCall
from passlab.op.attr_fields import anything, attrs, dims, dtype, expression
from passlab.op.autodiff import gradient_by, zero_gradient
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.edge_cases import on_one
from passlab.op.no_gradient import MACHINE_INSTRUCTION
from passlab.op.relations import product, refuse, tensor
from passlab.op.shape import SHAPE_OF, shape_of_array, shape_of_type

Kernel = Callable[..., Any]
NOTHING = TupleType(())


# The type of a block of memory: the external type `Storage`.
STORAGE: Type = TypeCall(GlobalTypeVar("Storage"), ())


def _instruction_kernel(attrs: Attrs, *values: Any, out: Array | None = None) -> Array:
    raise RunError(
        Diagnostic(
            "this operator is an instruction of the virtual machine",
            hint="run the program with `create_executor('vm')`",
        )
    )


def _instruction(name: str, inputs: Sequence[str], *, kernel: Kernel = _instruction_kernel, **facts: Any) -> Op:
    """Declare an instruction of the virtual machine; by default it has no kernel outside."""
    facts |= {"pattern": OpPattern.OPAQUE, "non_computational": True, "level": 10, "no_gradient": MACHINE_INSTRUCTION}
    return operator(name, inputs, **facts)(kernel)


def _scalar_integer(types: Sequence[Type], index: int, name: str) -> bool:
    """Check that input `index` is an integer scalar; return whether it is known."""
    ty = tensor(types, index, name)
    if ty is not None and (ty.shape or "int" not in ty.dtype):
        refuse(f"{name} must be an integer scalar", index, found=ty)
    return ty is not None


def _shape_vector(types: Sequence[Type], index: int) -> bool:
    ty = tensor(types, index, "shape")
    if ty is not None and (len(ty.shape) > 1 or "int" not in ty.dtype):
        refuse("shape must be a vector of integers", index, found=ty)
    return ty is not None


def _alloc_storage_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    valid = [_scalar_integer(types, 0, "size"), _shape_vector(types, 1), _scalar_integer(types, 2, "alignment")]
    return STORAGE if all(valid) else None


alloc_storage = _instruction(
    "memory.alloc_storage",
    ("size", "shape", "alignment"),
    attrs=attrs(
        "AllocStorageAttrs",
        dtype("dtype", "float32", doc="the dtype of the elements"),
        anything("virtual_device", doc="the device of the memory", optional=True),
    ),
    relation=_alloc_storage_type,
    python=Python("size, shape, alignment, virtual_device=None, dtype_hint='float32'", {"dtype_hint": "dtype"}),
    doc="A block of memory of `size` bytes.",
    shapes="size (), alignment () -> a storage",
    source="Relay's memory dialect",
    example="memory.alloc_storage(%size, %shape, %alignment, virtual_device=None)",
)


def _alloc_tensor_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    if isinstance(types[0], IncompleteType):
        return None
    if types[0] is not STORAGE:
        refuse("storage must have the type Storage", 0, expected=STORAGE, found=types[0])
    if not _scalar_integer(types, 1, "offset") or not _shape_vector(types, 2):
        return None
    if isinstance(attrs.const_shape, Constant):
        return TensorType(tuple(attrs.const_shape.data.reshape(-1).tolist()), attrs.dtype)
    if attrs.assert_shape is None:
        refuse("the shape of the tensor is not known", hint="give `const_shape` or `assert_shape`")
    return TensorType(attrs.assert_shape, attrs.dtype)


def _set_const_shape(values: dict[str, Any]) -> None:
    """Set `const_shape` to a `shape` that is a constant: the result type has that shape."""
    if values["const_shape"] is None and isinstance(values["shape"], Constant):
        values["const_shape"] = values["shape"]


alloc_tensor = _instruction(
    "memory.alloc_tensor",
    ("storage", "offset", "shape"),
    attrs=attrs(
        "AllocTensorAttrs",
        dtype("dtype", "float32", doc="the dtype of the tensor"),
        expression("const_shape", doc="its shape, if that is a constant", optional=True),
        dims("assert_shape", doc="its shape as far as it is known", optional=True),
    ),
    relation=_alloc_tensor_type,
    python=Python(
        'storage, offset, shape, dtype="float32", assert_shape=None, const_shape=None', prepare=_set_const_shape
    ),
    doc="A tensor in a block of memory, `offset` bytes from its start.",
    shapes="a storage, offset (), shape (rank) -> shape",
    source="Relay's memory dialect",
    example="memory.alloc_tensor(%storage, %offset, %shape, const_shape=None, assert_shape=[2, 3])",
)


def _statement_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The type of an instruction without a result: the empty tuple."""
    return NOTHING


def _kill_kernel(attrs: Attrs, value: Array, out: Array | None = None) -> tuple[()]:
    """Do nothing: outside the virtual machine there are no registers to clear."""
    return ()


kill = _instruction(
    "memory.kill",
    ("to_free",),
    relation=_statement_type,
    stateful=True,
    kernel=_kill_kernel,
    doc="End the lifetime of a value: its memory may be reused.",
    shapes="any value -> ()",
    source="Relay's memory dialect",
    example="memory.kill(%x)",
)

invoke_tvm_op = _instruction(
    "vm.invoke_tvm_op",
    ("op", "ins", "outs"),
    attrs=DictAttrs,
    relation=_statement_type,
    stateful=True,
    doc="Call a primitive function on `ins`, which writes its results into `outs`.",
    shapes="a function, a tuple of inputs, a tuple of outputs -> ()",
    source="Relay's virtual machine dialect",
    example="vm.invoke_tvm_op(%f, (%x,), (%y,))",
)

shape_of = operator(
    "vm.shape_of",
    ("tensor",),
    attrs=SHAPE_OF,
    relation=shape_of_type,
    non_computational=True,
    gradient=zero_gradient,
    doc="The shape of a tensor as a vector, as an instruction.",
    shapes="(d0, ..., dn) -> (n + 1)",
    source="ndarray.shape",
    edge_cases=on_one("vm.shape_of", 'dtype="int64"'),
)(shape_of_array)


def _reshape_tensor_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    _shape_vector(types, 1)
    before, after = product(data.shape), product(attrs.newshape)
    if type(before) is int and type(after) is int and before != after:
        refuse(f"{before} elements cannot be reshaped into {after}", 0, found=f"the shape {list(attrs.newshape)}")
    return TensorType(attrs.newshape, data.dtype)


def _reshape_tensor_shape(attrs: Attrs, data: Array, shape: Array) -> Type:
    return TensorType(tuple(shape.reshape(-1).tolist()), data.dtype)


@operator(
    "vm.reshape_tensor",
    ("data", "shape"),
    attrs=attrs("ReshapeTensorAttrs", dims("newshape", doc="the new shape as far as it is known")),
    relation=_reshape_tensor_type,
    shape_function=_reshape_tensor_shape,
    non_computational=True,
    gradient=gradient_by("reshape_like"),
    shapes="data (...), shape (rank) -> shape",
    source="np.reshape",
    edge_cases=(
        "vm.reshape_tensor(%x: (2, 3), %shape: (2) int64 = [3, 2], newshape=[3, 2])",
        "vm.reshape_tensor(%x: (0, 3), %s: (1) int64 = [0], newshape=[0])",
    ),
)
def reshape_tensor(attrs: Attrs, data: Array, shape: Array) -> Array:
    """Reinterpret a tensor in the shape that a vector holds, without a copy. Raises `RunError` if it does not fit."""
    sizes = shape.reshape(-1).tolist()
    if math.prod(sizes) != data.size or any(size < 0 for size in sizes):
        raise RunError(Diagnostic(f"{data.size} elements cannot be reshaped", found=f"the shape {sizes}"))
    return data.reshape(sizes)


def _lowered_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    func, inputs = types[0], types[1]
    if isinstance(func, IncompleteType) or isinstance(inputs, IncompleteType):
        return None
    if not isinstance(func, FuncType):
        refuse("call_lowered calls a function", 0, expected="a function", found=func)
    if not isinstance(inputs, TupleType) or len(inputs.fields) != len(func.arg_types):
        refuse(
            "the arguments must be a tuple, one for each parameter", 1, expected=TupleType(func.arg_types), found=inputs
        )
    return func.ret_type


call_lowered = _instruction(
    "call_lowered",
    ("func", "call_args"),
    attrs=attrs("CallLoweredAttrs", anything("metadata", {}, doc="facts of the compiler")),
    relation=_lowered_type,
    doc="Call a compiled function on a tuple of arguments.",
    shapes="a compiled function and a tuple of its arguments -> its result",
    source="Relay",
    example="call_lowered(%f, (%x,))",
)
