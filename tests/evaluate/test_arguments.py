"""What is given to a program: every kind of executor takes the same values, and tells the same of those that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import RunError
from passlab.evaluate.values import ADTValue, RefValue
from tests.each import each

KINDS = ("debug", "vm", "graph", "aot")
DATA = "type Tree { Leaf, Node(float32, Tree, Tree) } type Other { One(float32) }"
OF_TENSOR = "def @main(%x: Tensor[(3, 4), float32]) { (%x + 1f, transpose(%x, axes=[1, 0]), nn.dense(%x, %x)) }"
X = np.arange(12, dtype="float32").reshape(3, 4)


class Subclass(np.ndarray):
    pass


class Foreign:
    """A tensor of another library."""

    def __init__(self, give) -> None:
        self.numpy = give


def run(kind: str, text: str, *args):
    return relay.create_executor(kind, passlab.parse(DATA + text)).evaluate()(*args)


@each("kind", KINDS)
@each(
    "argument",
    [
        X.astype(">f4"), X.view(Subclass), np.ma.masked_array(X, mask=False), X.tolist(), memoryview(X),
        np.asfortranarray(X), np.arange(48, dtype="f4").reshape(6, 8)[::2, ::2] * 0 + X, Foreign(lambda: X),
        relay.const(X), np.frombuffer(b"\0" + X.tobytes(), "u1")[1:].view("f4").reshape(3, 4),
    ],
)  # fmt: skip
def test_arrays_of_every_make_are_arrays(kind, argument):
    results = run(kind, OF_TENSOR, argument)
    for got, expected in zip(results, (X + 1, X.T, X @ X.T), strict=True):
        assert type(got) is np.ndarray
        assert got.dtype.isnative
        np.testing.assert_array_equal(got, expected)


@each("kind", KINDS)
@each(
    ("argument", "why"),
    [
        (np.ma.masked_array(X, mask=X > 3), "masked"), (X.astype(object), "numbers"), (X.astype("c8"), "numbers"),
        (np.zeros((3, 4), [("a", "f4")]), "numbers"), (np.zeros((3, 4), "V4"), "numbers"), (None, "numbers"),
        (np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]), "numbers"),
        ((X,), "shape differs"), (X[:, :2], "shape differs"),
        (Foreign(lambda: 1 / 0), "division by zero"), (Foreign(3), "numbers"), (np.zeros((0, 4), "f4"), "shape differs"),
        (ADTValue, "numbers"), (lambda: X, "numbers"), (RefValue(X), "a reference"), (relay.op.get("exp"), "function"),
    ],
)  # fmt: skip
def test_what_is_no_such_array_is_told_with_the_parameter(kind, argument, why):
    with pytest.raises(RunError, match=why) as caught:
        run(kind, OF_TENSOR, argument)
    assert "%x" in str(caught.value)


@each("kind", KINDS)
@each(
    ("dtype", "argument"),
    [
        ("int32", 1.5),
        ("int32", float("nan")),
        ("uint8", -1),
        ("int8", 300),
        ("bool", 2),
        ("int64", 2**70),
        ("int32", "1"),
    ],
)
def test_a_number_that_a_dtype_cannot_hold_is_told(kind, dtype, argument):
    with pytest.raises(RunError, match="%x does not fit"):
        run(kind, f"def @main(%x: {dtype}) {{ %x }}", argument)


@each("kind", KINDS)
@each(("dtype", "argument"), [("int32", 2.0), ("bool", 1), ("bfloat16", 1.5), ("float32", True), ("uint8", 255)])
def test_a_number_that_a_dtype_can_hold_is_a_scalar(kind, dtype, argument):
    got = run(kind, f"def @main(%x: {dtype}) {{ (%x, %x) }}", argument)[0]
    assert (got.dtype.name, got.shape) == (dtype, ())
    assert float(got) == float(argument)


TYPES = passlab.parse(DATA + "def @main() { 1 }")
LEAF, NODE = TYPES.get_type("Tree")[1:]


def tree(fields) -> ADTValue:
    return ADTValue(NODE, fields) if fields else ADTValue(LEAF, ())


FIRST = "def @main(%t: Tree[]) -> float32 { match (%t) { Leaf => 0f, Node(%v, _, _) => %v } }"
DATA_KINDS = ("debug", "vm", "aot")


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_fields_of_data_values_are_fitted_too(kind):
    assert float(run(kind, FIRST, tree((2.5, tree(()), tree(()))))) == 2.5
    other = TYPES.get_type("Other")[1]
    wrong = [
        (tree((2.5, tree(()))), "number of fields"), (tree((None, tree(()), tree(()))), "numbers"),
        (tree((2.5, tree(()), 3.0)), "an array"), (ADTValue(other, (2.5,)), "another type"), (X, "an array"),
        (tree((2.5, tree(()), ADTValue(other, (2.5,)))), "another type"), (tree((X, tree(()), tree(()))), "shape differs"),
    ]  # fmt: skip
    for inputs, why in wrong:
        with pytest.raises(RunError, match=why):
            run(kind, FIRST, inputs)


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_data_values_may_be_deep_and_share_their_parts(kind):
    deep = tree(())
    for _ in range(20_000):
        deep = tree((np.float32(1), tree(()), deep))
    assert float(run(kind, FIRST, deep)) == 1
    shared = tree(())
    for _ in range(64):  # 2**64 leaves, when they are counted
        shared = tree((np.float32(2), shared, shared))
    assert float(run(kind, FIRST, shared)) == 2
    grown = run(
        kind,
        """def @grow(%n: int32, %t: Tree[]) -> Tree[] { if (%n == 0) { %t } else { @grow(%n - 1, Node(1f, %t, %t)) } }
        def @main(%n: int32) { @grow(%n, Leaf) }""",
        np.int32(64),
    )
    assert grown[1] is grown[2]


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_a_value_that_a_program_never_looks_into_passes_through(kind):
    inputs = tree((np.asarray(np.float32(1)), tree(()), tree(())))
    assert repr(run(kind, "def @main(%t: Tree[]) { %t }", inputs)) == repr(inputs)
    nodes_only = "def @main(%t: Tree[]) { match (%t) { Node(_, %l, _) => %l, _ => %t } }"
    assert run(kind, nodes_only, inputs).constructor.name_hint == "Leaf"


@pytest.mark.parametrize("kind", ["debug", "vm", "aot", "graph"])
def test_a_list_of_one_array_is_that_array(kind):
    text = "def @main(%x: Tensor[(3, 4), float32]) { negative(%x) }"
    np.testing.assert_array_equal(run(kind, text, [X]), -X)


def test_a_cell_is_a_cell():
    text = "def @main(%r: ref(float32)) { ref_read(%r) }"
    assert float(run("debug", text, RefValue(np.float32(3)))) == 3
    for inputs, why in ((np.float32(3), "an array"), (RefValue(X), "shape differs"), (tree(()), "another type")):
        with pytest.raises(RunError, match=why):
            run("debug", text, inputs)


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_functions_in_a_result_can_be_called(kind):
    first, (second, x) = run(kind, """
        def @main(%x: float32) {
          (fn (%y: float32) { %x * %y }, (fn (%f: float32, %g: float32) { (fn () { %f - %g }, %x) }, %x))
        }""", np.float32(3))  # fmt: skip
    assert float(first(np.float32(5))) == 15
    inner, same = second(np.float32(5), np.float32(1))
    assert [float(inner()), float(same), float(x)] == [4, 3, 3]


APPLY = "def @main(%f: fn (float32) -> float32) { %f(2f) }"


def test_the_evaluator_takes_functions():
    double = run("debug", "def @main() { fn (%x: float32) -> float32 { %x + %x } }")
    assert float(run("debug", APPLY, double)) == 4
    assert float(run("debug", APPLY, relay.op.get("negative"))) == -2
    with pytest.raises(RunError, match="another number of arguments"):
        run("debug", APPLY, run("debug", "def @main() { fn () { 1f } }"))


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_a_function_of_elsewhere_is_refused(kind):
    for item in (lambda x: x, "f", None, X):
        with pytest.raises(RunError, match="not a function of a program"):
            run(kind, APPLY, item)
    if kind != "debug":
        with pytest.raises(RunError, match="cannot be called here") as caught:
            run(kind, APPLY, relay.op.get("exp"))
        assert "`debug` executor" in str(caught.value)


def test_a_machine_takes_the_functions_that_it_returned():
    mod = passlab.parse(
        "def @make(%x: float32) { fn (%y: float32) -> float32 { %x * %y } }"
        + APPLY.replace("(%f:", "(%b: bool, %f:").replace("%f(2f)", "if (%b) { %f(2f) } else { @make(1f)(2f) }")
    )
    machine = relay.vm.VirtualMachine(relay.vm.compile(mod))
    assert float(machine.run(True, machine.invoke("make", 3.0))) == 6


def test_shapes_that_do_not_fit_are_refused_in_the_words_of_the_type_relation() -> None:
    unknown = [relay.Any(), relay.Any()]
    c, x, y = relay.var("c", shape=unknown, dtype="bool"), relay.var("x", shape=unknown), relay.var("y", shape=unknown)
    run = relay.create_executor("debug").evaluate(relay.Function([c, x, y], relay.where(c, x, y)))
    with pytest.raises(RunError, match=r"Incompatible broadcast type Tensor\[\(3, 1\)") as raised:
        run(np.ones((3, 4), bool), np.ones((3, 1), "float32"), np.ones((2, 4), "float32"))
    assert "its arguments: Tensor[(3, 4), bool]" in str(raised.value)
    assert str(raised.value).splitlines()[-1].startswith("  help: Invalid broadcast shapes")
