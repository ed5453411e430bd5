"""Tensor arrays do what lists of NumPy arrays do: `TensorArrayOps`, `StaticTensorArrayOps` and how a prelude names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import relay
from passlab.errors import DiagnosticError, NodeValueError
from passlab.evaluate.values import ADTValue
from passlab.ir import Expr, IRModule
from passlab.relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps, get_tensor_array_shape

ANY = relay.Any()


def run(prelude: Prelude, body: Expr, **arguments: np.ndarray[Any, Any]) -> Any:
    """The value of `body` as Python lists and tuples, the same from the reference and the virtual machine."""
    mod = prelude.mod.snapshot()
    mod["main"] = relay.Function(relay.analysis.free_vars(body), body)
    reference = plain(relay.create_executor("debug", mod).evaluate()(**arguments))
    assert plain(relay.create_executor("vm", mod).evaluate()(**arguments)) == reference
    return reference


def plain(value: Any) -> Any:
    """Lists as lists, tensors as (constructor, elements), plain tensors as their elements."""
    if not isinstance(value, ADTValue):
        return np.asarray(value).tolist()
    name = value.constructor.name_hint
    if name not in ("Cons", "Nil"):
        return (name, *(plain(field) for field in value.fields))
    results = []
    while value.constructor.name_hint == "Cons":
        results.append(plain(value.fields[0]))
        value = value.fields[1]
    return results


def chain(prelude: Prelude, tensors: list[Expr]) -> Expr:
    result: Expr = prelude.Nil()
    for tensor in reversed(tensors):
        result = prelude.Cons(tensor, result)
    return result


def i32(value: Any) -> Expr:
    return relay.const(value, "int32")


# ---------------------------------------------------------------- names and modules


def test_arrays_of_a_dtype_come_when_they_are_asked_for() -> None:
    mod = IRModule()
    prelude = Prelude(mod)
    plain_prelude = mod.snapshot()
    array = prelude.get_global_var("tensor_array", "float32")
    assert array is mod.get_global_var("tensor_array_float32")
    assert "tensor_array_int8" not in mod
    assert len(mod) > len(plain_prelude)
    asked = mod.snapshot()
    TensorArrayOps(prelude, "float32").register()
    assert mod.same_contents(asked)
    assert prelude.get_name("tensor_t", "int8") == "tensor_int8_t"
    assert "tensor_array_int8" in mod


def test_types_and_constructors_are_found_by_dtype() -> None:
    prelude = Prelude()
    header = prelude.get_type("tensor_t", "int64")
    assert header.name_hint == "tensor_int64_t"
    assert prelude.get_tensor_ctor("tensor2", "int64") is prelude.get_ctor("tensor_int64_t", "tensor2", "int64")
    ops = TensorArrayOps(prelude, "int64")
    assert (ops.get_type("tensor_t"), ops.get_ctor("tensor_nil").belong_to) == (header, header)
    fields = [[str(t) for t in c.inputs] for c in prelude.mod.get_type("tensor_int64_t")[1:]]
    assert fields == [[], ["int64"], *([f"Tensor[({', '.join('?' * rank)}), int64]"] for rank in range(1, 7))]
    with pytest.raises(NodeValueError, match="no tensor arrays of this dtype"):
        prelude.get_type("tensor_t", "float31")
    with pytest.raises(DiagnosticError, match="tensor_array_rad_int64"):
        prelude.get_global_var("tensor_array_rad", "int64")


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "bool"])
def test_every_function_has_a_type(dtype: str) -> None:
    prelude = Prelude()
    TensorArrayOps(prelude, dtype).register()
    typed = relay.transform.InferType()(prelude.mod)
    read = typed[f"tensor_array_read_{dtype}"].checked_type
    assert str(read) == f"fn (List[tensor_{dtype}_t], int32) -> tensor_{dtype}_t"


def test_the_module_reads_back() -> None:
    prelude = Prelude()
    TensorArrayOps(prelude, "int8").register()
    StaticTensorArrayOps(prelude, "int8", (2, ANY)).register()
    typed = relay.transform.InferType()(prelude.mod)
    again = relay.transform.InferType()(relay.fromtext(typed.astext()))
    relay.analysis.well_formed(again)
    assert again.astext() == typed.astext()


# ---------------------------------------------------------------- tensors of any rank


@pytest.mark.parametrize("rank", range(6))
def test_written_elements_are_read_and_stacked(rank: int) -> None:
    prelude = Prelude()
    a, b = (np.arange(2**rank, dtype="int32").reshape((2,) * rank) + start for start in (0, 50))
    wrap = prelude.get_tensor_ctor(f"tensor{rank}", "int32")
    write = prelude.get_global_var("tensor_array_write", "int32")
    array = prelude.get_global_var("tensor_array", "int32")(i32(2))
    array = write(write(array, i32(1), wrap(relay.const(b))), i32(0), wrap(relay.const(a)))
    read = prelude.get_global_var("tensor_array_read", "int32")(array, i32(1))
    stack = prelude.get_global_var("tensor_array_stack", "int32")(array)
    assert run(prelude, read) == (f"tensor{rank}_int32", b.tolist())
    assert run(prelude, stack) == (f"tensor{rank + 1}_int32", np.stack([a, b]).tolist())


def test_a_new_array_holds_nothing() -> None:
    prelude = Prelude()
    array = prelude.get_global_var("tensor_array", "float32")
    assert run(prelude, array(i32(3))) == [("tensor_nil_float32",)] * 3
    assert run(prelude, array(i32(0))) == []


@pytest.mark.parametrize("rank", range(1, 7))
def test_unstack_gives_rows_and_concat_joins(rank: int) -> None:
    prelude = Prelude()
    data = np.arange(3 * 2 ** (rank - 1), dtype="float32").reshape(3, *(2,) * (rank - 1))
    rows = prelude.get_global_var(f"tensor_array_unstack_tensor{rank}", "float32")(relay.const(data))
    assert run(prelude, rows) == [(f"tensor{rank - 1}_float32", row.tolist()) for row in data]
    if rank > 1:
        joined = prelude.get_global_var("tensor_array_concat", "float32")(rows)
        assert run(prelude, joined) == (f"tensor{rank - 1}_float32", np.concatenate(list(data)).tolist())


def test_scatter_split_and_gather() -> None:
    prelude = Prelude()
    data = np.arange(12, dtype="float32").reshape(6, 2)
    array = prelude.get_global_var("tensor_array", "float32")(i32(3))
    lengths = relay.var("lengths", shape=(ANY,), dtype="int32")
    value = prelude.get_tensor_ctor("tensor2", "float32")(relay.const(data))
    pieces = prelude.get_global_var("tensor_array_split", "float32")(array, value, lengths)
    expected = [("tensor2_float32", piece.tolist()) for piece in np.split(data, [2, 3])]
    assert run(prelude, pieces, lengths=np.array([2, 1, 3], "int32")) == expected

    rows = prelude.get_global_var("tensor_array_unstack_tensor2", "float32")(relay.const(data))
    scatter = prelude.get_global_var("tensor_array_scatter", "float32")
    moved = scatter(rows, i32([5, 0]), rows)
    assert run(prelude, moved) == [("tensor1_float32", data[at].tolist()) for at in (1, 1, 2, 3, 4, 0)]
    gathered = prelude.get_global_var("tensor_array_gather", "float32")(rows, i32([4, 0, 4]))
    assert run(prelude, gathered) == ("tensor2_float32", data[[4, 0, 4]].tolist())


# ---------------------------------------------------------------- tensors of one shape


def static(shape: tuple[Any, ...], batch_dim: int | None = None) -> tuple[Prelude, StaticTensorArrayOps]:
    prelude = Prelude()
    ops = StaticTensorArrayOps(prelude, "float32", shape, batch_dim)
    ops.register()
    return prelude, ops


def test_names_tell_dtype_and_shape() -> None:
    prelude, ops = static((2, ANY))
    assert ops.get_name("tensor_t") == "static_tensor_float32_2_any_t"
    assert ops.get_name("tensor_array_scatter", {"indices": (3,)}) == "tensor_array_scatter_float32_2_any_indices_3"
    assert prelude.get_name_static("tensor_array", "int8", ()) == "tensor_array_int8_scalar"
    assert prelude.get_name_static("tensor_array", "int8", (4,), 1) == "tensor_array_int8_batch1_4"
    assert prelude.get_name_static("tensor_nil", "int8", (4,), 1) == "tensor_nil_int8_4"
    read = prelude.get_global_var_static("tensor_array_read", "float32", (2, ANY))
    assert read is ops.get_global_var("tensor_array_read")
    assert prelude.get_type_static("tensor_t", "float32", (2, ANY)) is ops.get_type("tensor_t")
    constructor = prelude.get_tensor_ctor_static("tensor_constructor", "float32", (2, ANY))
    assert constructor is ops.get_ctor("tensor_constructor")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, ANY), (ANY, ANY, 2)])
@pytest.mark.parametrize("batch_dim", [None, 1])
def test_every_static_function_has_a_type(shape: tuple[Any, ...], batch_dim: int | None) -> None:
    prelude, ops = static(shape, batch_dim)
    typed = relay.transform.InferType()(prelude.mod)
    before = prelude.mod.snapshot()
    ops.register()
    assert prelude.mod.same_contents(before)
    data = typed[ops.get_name("tensor_get_data")].checked_type.ret_type
    assert data == relay.TensorType(shape, "float32")


def test_shapes_are_kept_in_types() -> None:
    prelude, ops = static((2, 3))
    elements = relay.var("elements", prelude.List(ops.get_type("tensor_t")()))
    assert get_tensor_array_shape(elements, "float32", prelude) == (2, 3)
    pieces = relay.var("pieces", prelude.List(prelude.get_type_static("tensor_t", "float32", (ANY, 3))()))
    assert get_tensor_array_shape(pieces, "float32", prelude) == (ANY, 3)
    loose = relay.var("loose", prelude.List(prelude.get_type("tensor_t", "float32")()))
    assert get_tensor_array_shape(loose, "float32", prelude) is None
    assert "main" not in prelude.mod
    with pytest.raises(NodeValueError, match="this is not a tensor array"):
        get_tensor_array_shape(relay.const(1.0), "float32", prelude)


def test_static_functions_agree_with_numpy() -> None:
    prelude, ops = static((4, 2))
    data = np.arange(8, dtype="float32").reshape(4, 2)
    tensor = ops.get_ctor("tensor_constructor")(relay.const(data))

    def call(name: str, *args: Expr) -> Any:
        return run(prelude, ops.get_global_var(name)(*args))

    def boxed(value: np.ndarray[Any, Any], shape: str) -> tuple[str, Any]:
        return (f"tensor_constructor_float32_{shape}", value.tolist())

    pair = chain(prelude, [tensor, ops.get_ctor("tensor_constructor")(relay.const(data + 10))])
    assert call("tensor_get_data", tensor) == data.tolist()
    assert call("tensor_take", tensor, i32(1), i32(3)) == boxed(data[1:3], "any_2")
    assert call("tensor_concatenate", tensor, tensor) == boxed(np.concatenate([data, data]), "any_2")
    assert call("tensor_expand_dims", tensor) == boxed(data[None], "any_4_2")
    assert call("tensor_array", i32(2)) == [("tensor_nil_float32_4_2",)] * 2
    assert call("tensor_array_read", pair, i32(1)) == boxed(data + 10, "4_2")
    assert call("tensor_array_write", pair, i32(1), tensor) == [boxed(data, "4_2")] * 2
    assert call("tensor_array_unstack", relay.const(data)) == [boxed(row, "2") for row in data]
    assert call("tensor_array_stack", pair) == boxed(np.stack([data, data + 10]), "any_4_2")
    assert call("tensor_array_gather", pair, i32([1, 1, 0])) == boxed(np.stack([data + 10, data + 10, data]), "any_4_2")
    assert call("tensor_array_scatter", pair, i32([1]), pair) == [boxed(data, "4_2")] * 2


def test_static_split_and_concat_undo_each_other() -> None:
    prelude, ops = static((4, 2))
    data = np.arange(8, dtype="float32").reshape(4, 2)
    nothing = prelude.get_tensor_ctor_static("tensor_nil", "float32", (ANY, 2))()
    pieces = ops.get_global_var("tensor_array_split")(
        chain(prelude, [nothing, nothing]), ops.get_ctor("tensor_constructor")(relay.const(data)), i32([1, 3])
    )
    name = "tensor_constructor_float32_any_2"
    assert run(prelude, pieces) == [(name, data[:1].tolist()), (name, data[1:].tolist())]
    assert run(prelude, ops.get_global_var("tensor_array_concat")(pieces)) == (name, data.tolist())


def test_a_stack_of_one_has_a_known_length() -> None:
    prelude, ops = static((2,), batch_dim=1)
    one = chain(prelude, [ops.get_ctor("tensor_constructor")(relay.const([1.0, 2.0]))])
    stacked = ops.get_global_var("tensor_array_stack")(one)
    assert run(prelude, stacked) == ("tensor_constructor_float32_1_2", [[1.0, 2.0]])
    assert run(prelude, ops.get_global_var("tensor_array_gather")(one, i32([0]))) == run(prelude, stacked)


def test_functions_are_made_for_other_shapes_of_arguments() -> None:
    prelude, ops = static((2, 3))
    ops.define_tensor_array_scatter((2,), force_update=True)
    ops.define_tensor_array_split((4, 3), (2,), force_update=True)
    typed = relay.transform.InferType()(prelude.mod)
    scatter = typed[ops.get_name("tensor_array_scatter", {"indices": (2,)})]
    assert str(scatter.params[1].checked_type) == "Tensor[(2), int32]"
    split = typed[ops.get_name("tensor_array_split")]
    assert [str(p.checked_type) for p in split.params[1:]] == ["static_tensor_float32_4_3_t", "Tensor[(2), int32]"]
