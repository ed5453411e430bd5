"""Objects beside programs that suites for TVM save as JSON and read back: arrays, functions by name, relations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def _read_back(value: Any) -> Any:
    import tvm

    return tvm.ir.load_json(tvm.ir.save_json(value))


def test_arrays_alone_and_by_name() -> None:
    import tvm

    array = tvm.nd.array(np.arange(6.0, dtype="float16").reshape(2, 3))
    again = _read_back(array)
    assert isinstance(again, tvm.nd.NDArray)
    assert (again.dtype, again.numpy().tolist()) == ("float16", array.numpy().tolist())
    by_name = {"a": array, "b": tvm.nd.array(3)}
    tvm.ir.assert_structural_equal(by_name, _read_back(by_name))


def test_functions_by_name_are_called() -> None:
    import tvm

    tvm.register_func("test_old_json.successor", lambda x: x + 1, override=True)
    function = _read_back([tvm.ir.EnvFunc.get("test_old_json.successor")])[0]
    assert (function.name, function(1), function.func(2)) == ("test_old_json.successor", 2, 3)
    record = _read_back(tvm.ir.make_node("attrs.TestAttrs", name="xx", padding=(3, 4), func=function))
    assert isinstance(record.func, tvm.ir.EnvFunc)
    assert (record.func(10), record.padding[1].value, record.axis) == (11, 4, 10)
    with pytest.raises(tvm.error.TVMError, match="upper bound"):
        tvm.ir.make_node("attrs.TestAttrs", name="xx", axis=100)


def test_relations_keep_their_arguments_and_attributes() -> None:
    import tvm

    function = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")
    arguments = [tvm.ir.TypeVar("t"), tvm.ir.FuncType([], tvm.ir.TupleType([])), tvm.ir.TensorType((1, 2), "int8")]
    attrs = tvm.ir.make_node("attrs.TestAttrs", name="attr", padding=(3, 4))
    relation = tvm.ir.TypeRelation(function, arguments, 2, attrs)
    tvm.ir.assert_structural_equal(_read_back(relation), relation, map_free_vars=True)


def test_numbers_in_containers_and_nodes_by_name_are_literals() -> None:
    import tvm

    converted = tvm.runtime.convert({"a": [1, 2.5, "x"]})["a"]
    assert [converted[0].value, converted[1].value, converted[2]] == [1, 2.5, "x"]
    assert (converted[0].dtype, converted[1].dtype, tvm.runtime.convert(2**40).dtype) == ("int32", "float32", "int64")
    node = tvm.ir.make_node("IntImm", dtype="int64", value=10, span=None)
    assert isinstance(node, tvm.tir.IntImm)
    assert (node.value, node.dtype) == (10, "int64")
