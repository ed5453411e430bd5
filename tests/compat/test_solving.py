"""`_test_type_solver`, `EnvFunc` and arithmetic of `te` and `tir`: what TVM's own tests of types lean on."""

from __future__ import annotations

from typing import Any

import pytest

from passlab.errors import TypeInferenceError


def rel(name: str, args: list[Any]) -> Any:
    import tvm

    function = tvm.ir.EnvFunc.get(f"tvm.relay.type_relation.{name}")
    assert function.name.endswith(name)
    return tvm.relay.TypeRelation(function, args, len(args) - 1, None)


def solver() -> Any:
    from tvm import relay

    return relay.analysis._ffi_api._test_type_solver()


def test_relations_conclude_forwards_and_backwards() -> None:
    from tvm import relay

    one, tall = relay.TensorType((10, 20)), relay.TensorType((10, 1, 1))
    unknown, wide, result = (relay.IncompleteType() for _ in range(3))
    solving = solver()
    solving("AddConstraint")(rel("Broadcast", [one, unknown, result]))
    assert not solving("Solve")()
    solving("AddConstraint")(rel("Identity", [unknown, tall]))
    solving("AddConstraint")(rel("Identity", [result, wide]))
    assert solving("Solve")()
    assert solving("Resolve")(wide) == relay.TensorType((10, 10, 20))


def test_generic_functions_are_unified() -> None:
    from tvm import relay

    a, b, c = (relay.TypeVar(name) for name in "abc")
    general, special = relay.FuncType([a, b], c, [a, b, c]), relay.FuncType([a, a], a, [a])
    assert solver()("Unify")(general, special) == special


def test_conflicts_are_errors() -> None:
    import tvm
    from tvm import relay

    x, three, four = relay.IncompleteType(), relay.TensorType((3,)), relay.TensorType((4,))
    names = relay.GlobalTypeVar("a"), relay.GlobalTypeVar("b")
    for left, right in ((three, four), (x, relay.TupleType([x])), names):
        with pytest.raises(tvm.error.TVMError):
            solver()("Unify")(left, right)
    solving = solver()
    solving("AddConstraint")(rel("Broadcast", [three, four, x]))
    with pytest.raises(tvm.error.TVMError, match="broadcast"):
        solving("Solve")()
    with pytest.raises(tvm.error.TVMError, match="has no `Guess`"):
        solving("Guess")


def test_arithmetic_of_dimensions() -> None:
    from tvm import te, tir

    n, m = te.size_var("n"), te.var("m")
    assert tir.indexdiv(n, 4) == te.floordiv(n, 4) == n // 4
    assert tir.indexmod(n, 4) == n % 4
    assert (tir.Add(n, m), tir.Mul(n, 2), tir.Sub(n, 1)) == (n + m, n * 2, n - 1)
    assert tir.Cast("int32", te.round(n * tir.const(2.0, "float64"))) == n * 2
    assert (te.floor(2.0), te.min_value("int8").value, tir.max_value("int8").value) == (2, -128, 127)
    assert isinstance(n + 1, tir.PrimExpr)
    assert isinstance(3, tir.PrimExpr)
    assert not isinstance("n", tir.PrimExpr)


def test_a_relation_tells_its_function() -> None:
    import tvm
    from tvm import relay

    function = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")
    attrs = tvm.ir.make_node("attrs.TestAttrs", name="attr", padding=(3, 4))
    relation = relay.TypeRelation(function, [relay.TensorType((1, 2))], 1, attrs)
    assert (relation.func.name, relation.num_inputs, relation.attrs.name) == (function.name, 1, "attr")
    assert relay.TypeMutator().visit(relation) == relation


def test_a_conflict_names_the_first_type_as_expected() -> None:
    from tvm import relay

    for left, right in (("int32", "float32"), ("float32", "int32")):
        with pytest.raises(TypeInferenceError) as caught:
            solver()("Unify")(relay.scalar_type(left), relay.scalar_type(right))
        (said,) = caught.value.diagnostics
        assert (said.expected, said.found) == (left, right)
