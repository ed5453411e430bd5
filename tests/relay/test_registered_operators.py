"""Operators that a user declares in Relay's way, step by step: they type, run everywhere, and have gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from passlab import IRModule, ir, relay
from passlab.errors import AttrsError, OpNotFoundError, PasslabError, RunError, TypeInferenceError, VerifyError
from passlab.ir.op import remove_op

X = np.array([0.5, 1.0, 4.0], "float32")


def natural_log(attrs, data):
    return np.log(data)


@pytest.fixture
def my_log() -> Iterator[ir.Op]:
    relay.op.op.register("my_log", "The natural logarithm.")
    op = relay.op.op.get("my_log")
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "The input.")
    op.set_attrs_type_key("DictAttrs")
    op.add_type_rel("my_log", lambda types, attrs: relay.TensorType(types[0].shape, types[0].dtype))
    op.set_support_level(3)
    op.add_kernel(natural_log)
    yield op
    remove_op("my_log")


def program(op: ir.Op) -> relay.Function:
    x = relay.var("x", shape=(3,))
    return relay.Function([x], relay.Call(op, [x], ir.make_node("DictAttrs", base=1)))


def test_its_facts_are_those_given(my_log: ir.Op) -> None:
    assert (my_log.num_inputs, my_log.spec.inputs, my_log.support_level) == (1, ("data",), 3)
    relay.op.op.register_pattern("my_log", relay.op.OpPattern.ELEMWISE)
    relay.op.op.register_stateful("my_log", False)
    assert my_log.get_attr("TOpPattern") == relay.op.OpPattern.ELEMWISE
    assert my_log.spec.pattern is relay.op.OpPattern.ELEMWISE
    assert my_log.get_attr("TOpIsStateful") is False
    my_log.reset_attr("TOpPattern")
    assert my_log.get_attr("TOpPattern") == relay.op.OpPattern.OPAQUE
    assert "The natural logarithm" in str(relay.my_log.__doc__)


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_it_runs(my_log: ir.Op, kind: str) -> None:
    result = relay.create_executor(kind, IRModule.from_expr(program(my_log))).evaluate()(X)
    np.testing.assert_allclose(np.asarray(result), np.log(X), rtol=1e-6)


RESULTS = {
    "a list": lambda attrs, data: [float(number) for number in np.log(data)],
    "wider floats": lambda attrs, data: np.log(data.astype("float64")),
    "half floats": lambda attrs, data: np.log(data).astype("float16"),
    "integers": lambda attrs, data: np.log(data).astype("int64"),
    "another order of bytes": lambda attrs, data: np.log(data).astype(">f4"),
}


def kernel(attrs, data):
    return RESULTS[RETURNED[0]](attrs, data)  # a function of this module, which compiled Python imports


RETURNED = [""]


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
@pytest.mark.parametrize("returned", RESULTS)
def test_its_kernel_may_return_what_becomes_its_type(my_log: ir.Op, kind: str, returned: str) -> None:
    RETURNED[0] = returned
    my_log.add_kernel(kernel)
    expected = np.asarray(RESULTS[returned](None, X)).astype("float32")
    for body in (program(my_log).body, relay.exp(program(my_log).body)):
        mod = IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
        result = np.asarray(relay.create_executor(kind, mod).evaluate()(X))
        assert result.dtype == np.dtype("float32")
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, expected if body.op is my_log else np.exp(expected))


def part(attrs, data):
    return data[:2]


def one_row(attrs, data):
    return data[:1]  # which NumPy would spread over all rows


def nothing(attrs, data):
    np.log(data)


def turned(attrs, data):
    return data * 1j


def writing(attrs, data):
    data *= 2
    return data


def writing_out(attrs, data):
    return np.log(data, out=data)


def looking_up(attrs, data):
    return {}["no such key"]


def with_a_bare_exception(attrs, data):
    raise Exception("stop")


REFUSED = {
    part: "unexpected shape",
    one_row: "unexpected shape",
    nothing: "the kernel `nothing` returned nothing",
    turned: "returned complex numbers",
    writing: "writes into one of its inputs",
    writing_out: "writes into one of its inputs",
    looking_up: "the kernel `looking_up` failed: KeyError",
    with_a_bare_exception: "the kernel `with_a_bare_exception` failed: Exception: stop",
}


SIZES = [(kind, 3) for kind in ("debug", "vm", "graph", "aot")] + [("debug", "?"), ("vm", "?"), ("aot", "?")]
CASES = [
    (kernel, kind, size)
    for kernel in REFUSED
    for kind, size in SIZES
    # Compiled Python does not have the type relation, which alone says an unknown size.
    if (kind, size) != ("aot", "?") or kernel not in (part, one_row)
]


@pytest.mark.parametrize(("kernel", "kind", "size"), CASES)
def test_what_a_kernel_must_not_do_is_an_error_on_every_executor(my_log: ir.Op, kernel, kind: str, size) -> None:
    my_log.add_kernel(kernel)
    x = relay.var("x", shape=(relay.Any() if size == "?" else size,))
    mod = IRModule.from_expr(relay.Function([x], relay.Tuple([relay.Call(my_log, [x], ir.make_node("DictAttrs")), x])))
    given = X.copy()
    with pytest.raises(RunError, match=REFUSED[kernel]) as caught:
        relay.create_executor(kind, mod).evaluate()(given)
    if kernel in (part, one_row):  # one message for all executors
        said = caught.value.diagnostics[0]
        assert (said.expected, said.found) == ("(3)", {part: "(2)", one_row: "(1)"}[kernel])
    np.testing.assert_array_equal(given, X)


def alias(attrs, data):
    return data


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_its_kernel_may_return_its_input(my_log: ir.Op, kind: str) -> None:
    my_log.add_kernel(alias)
    given = X.copy()
    result = np.asarray(relay.create_executor(kind, IRModule.from_expr(program(my_log))).evaluate()(given))
    np.testing.assert_array_equal(result, X)


class Scaled:
    def __call__(self, attrs, data):
        return 2 * data


def test_an_object_as_kernel_is_refused_ahead_of_time_and_runs_elsewhere(my_log: ir.Op) -> None:
    my_log.add_kernel(Scaled())
    mod = IRModule.from_expr(program(my_log))
    for kind in ("debug", "vm", "graph"):
        np.testing.assert_array_equal(np.asarray(relay.create_executor(kind, mod).evaluate()(X)), 2 * X)
    with pytest.raises(VerifyError, match="holds a Scaled, which cannot be written in Python"):
        relay.create_executor("aot", mod).evaluate()(X)


def test_it_parses_and_prints(my_log: ir.Op) -> None:
    mod = IRModule.from_expr(program(my_log))
    assert "my_log(%x" in mod.astext()
    assert ir.structural_equal(relay.parse(mod.astext()), relay.transform.InferType()(mod))


def test_it_has_the_gradient_that_was_registered(my_log: ir.Op) -> None:
    relay.op.op.register_gradient("my_log", lambda call, grad: [grad / call.args[0]])
    relay.testing.check_grad(program(my_log), inputs=[X], eps=1e-2, atol=1e-3)
    my_log.reset_attr("FPrimalGradient")
    with pytest.raises(PasslabError, match="my_log"):
        relay.testing.check_grad(program(my_log), inputs=[X])


def test_a_relation_that_asserts_refuses_the_call(my_log: ir.Op) -> None:
    def rank_two(types, attrs):
        assert len(types[0].shape) == 2, "a matrix is needed"

    my_log.add_type_rel("my_log", rank_two)
    with pytest.raises(TypeInferenceError, match="a matrix is needed"):
        relay.transform.InferType()(IRModule.from_expr(program(my_log)))


def test_relations_of_relay_are_known_by_name(my_log: ir.Op) -> None:
    my_log.set_num_inputs(2)
    my_log.add_type_rel("Broadcast")
    x, y = relay.var("x", shape=(3, 1)), relay.var("y", shape=(4,))
    typed = relay.transform.InferType()(IRModule.from_expr(relay.Function([x, y], relay.Call(my_log, [x, y]))))
    assert typed["main"].ret_type is relay.TensorType((3, 4))
    with pytest.raises(OpNotFoundError, match="did you mean `Broadcast`"):
        my_log.add_type_rel("Brodcast")


def test_a_lambda_is_no_kernel_of_compiled_python(my_log: ir.Op) -> None:
    my_log.add_kernel(lambda attrs, data: np.log(data))
    mod = IRModule.from_expr(program(my_log))
    assert relay.create_executor("vm", mod).evaluate()(X).shape == (3,)
    with pytest.raises(VerifyError, match="compiled Python cannot import"):
        relay.create_executor("aot", mod).evaluate()(X)


def test_declared_operators_keep_their_declaration() -> None:
    with pytest.raises(OpNotFoundError, match=r"passlab declares the operator `nn\.relu`"):
        relay.op.op.register("nn.relu")
    with pytest.raises(OpNotFoundError, match="keeps its declaration"):
        relay.op.get("nn.relu").add_argument("more")


def test_registered_twice_it_starts_anew(my_log: ir.Op) -> None:
    again = relay.op.op.register("my_log")
    assert relay.op.get("my_log") is again
    assert again.num_inputs == 0


def test_a_replaced_gradient_of_a_declared_operator_is_undone() -> None:
    exp = relay.op.get("exp")
    before = exp.spec.gradient
    relay.op.register_gradient("exp", lambda call, grad: [grad])
    assert exp.spec.gradient is not before
    exp.reset_attr("FPrimalGradient")
    assert exp.spec.gradient is before


def test_raw_constructors_take_attributes_by_position() -> None:
    x = relay.var("x", shape=(2, 3))
    call = relay.op._make.sum(x, [1], True, False)
    assert ir.structural_equal(call, relay.sum(x, axis=1, keepdims=True), map_free_vars=True)
    with pytest.raises(AttrsError, match="is given 0 arguments"):
        relay.op._make.sum()
