"""The page of differences from TVM says what passlab does: each row of its first table is run.

`CHECKS` has a check for each topic, by the first words of its row. What needs a longer story is told by a test elsewhere,
which `ELSEWHERE` names.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import instrument, relay, transform, vm
from passlab.devices import Target
from passlab.errors import AttrsError, ModelError, ParseError, PassTypeError, RunError, TypeInferenceError
from passlab.passes.normal_form.to_basic_block_normal_form import ToBasicBlockNormalForm
from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/differences-from-tvm.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Different on purpose")[2].partition("## ")[0]
TOPICS = re.findall(r"^\| (?!Topic|---)(.+?) \|", TABLE, re.MULTILINE)
SUM = "def @main(%x: Tensor[(2, 3), float32]) { sum(%x, axis=[0, 1]) }"
THREE = "def @main(%x: float32) { %x + (1f + 2f) }"
EXP = "def @main(%x: Tensor[(2), float32]) { exp(%x) }"


def value(text: str, *arguments: Any, kind: str = "debug") -> Any:
    return relay.create_executor(kind, passlab.parse(text)).evaluate()(*arguments)


def constants_of_other_compilers_are_parameters() -> None:
    y = relay.var("y", shape=(2,))
    part = relay.Function([y], relay.add(y, relay.const(np.ones(2, "float32"))))
    part = part.with_attr("Primitive", 1).with_attr("Compiler", "toy").with_attr("global_symbol", "toy_0")
    mod = passlab.IRModule.from_expr(part(relay.var("x", shape=(2,))))
    assert [array.tolist() for array in relay.build(mod).get_params().values()] == [[1, 1]]


def nodes_never_change() -> None:
    mod = passlab.text.parse(THREE)
    body = mod["main"].body
    parts = (body, body.op, *body.args, *body.args[1].args)
    for name in ("InferType", "FoldConstant", "ToANormalForm", "FuseOps"):
        transform.get_pass(name)(mod)
    body = mod["main"].body
    assert all(a is b for a, b in zip(parts, (body, body.op, *body.args, *body.args[1].args), strict=True))


def types_are_one_object() -> None:
    assert relay.TensorType((2, 3), "float32") is relay.TensorType((2, 3), "float32")


def containers_are_plain() -> None:
    assert str(passlab.parse(SUM)["main"].body.attrs.axis) == "(0, 1)"
    assert isinstance(passlab.parse(SUM)["main"].params, tuple)


def an_error_is_its_text() -> None:
    with pytest.raises(ParseError) as raised:
        passlab.parse("def @main(%x: float32) { %y }")
    assert raised.value.args[0] == str(raised.value)
    assert "^^" in str(raised.value)


class Failing(instrument.PassInstrument):
    def run_before_pass(self, mod: Any, info: Any) -> None:
        raise ValueError("mine")


class WithoutAnswer(instrument.PassInstrument):
    def should_run(self, mod: Any, info: Any) -> Any:
        return None


def fold_under(tool: instrument.PassInstrument) -> None:
    with transform.PassContext(instruments=[tool]):
        transform.FoldConstant()(passlab.parse(THREE))


def hooks_raise_what_they_raise() -> None:
    with pytest.raises(ValueError, match="mine"):
        fold_under(Failing())


def a_hook_must_answer() -> None:
    with pytest.raises(PassTypeError, match="returned nothing"):
        fold_under(WithoutAnswer())


def wrong_arguments_are_refused() -> None:
    with pytest.raises(AttrsError, match="did you mean `axis`"):
        relay.sum(relay.var("x", shape=(2,)), axes=1)


def ranks_are_checked() -> None:
    data, indices, updates = (relay.var(n, shape=s) for n, s in (("d", (3, 4)), ("i", (1, 2)), ("u", (2,))))
    scattered = relay.scatter_nd(data, relay.cast(indices, "int64"), updates)
    x, w = relay.var("x", shape=(1, 1, 8, 8, 4)), relay.var("w", shape=(2, 1, 3, 3, 4, 4))
    blocked = {"channels": 8, "kernel_size": (3, 3), "data_layout": "NCHW4c"}
    convolved = relay.nn.contrib_conv2d_nchwc(x, w, **blocked)
    for body, says in ((scattered, "updates do not fit"), (convolved, "its layout OIHW has 4")):
        with pytest.raises(TypeInferenceError, match=says):
            transform.InferType()(passlab.IRModule.from_expr(body))
    blocked["kernel_layout"] = "OIHW4i4o"
    convolved = relay.nn.contrib_conv2d_nchwc(x, w, **blocked)
    assert transform.InferType()(passlab.IRModule.from_expr(convolved))["main"].ret_type.shape == (1, 2, 6, 6, 4)


def programs_are_logged() -> None:
    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, record.getMessage()))

    lines: list[tuple[int, str]] = []
    logger, handler = logging.getLogger("passlab.PrintIR"), Lines()
    logger.addHandler(handler)
    try:
        transform.PrintIR("here")(passlab.parse(EXP))
    finally:
        logger.removeHandler(handler)
    ((level, text),) = lines
    assert level == logging.INFO
    assert text.startswith("PrintIR(here):")
    assert "exp(%x)" in text


def functions_are_not_pinned() -> None:
    mod = passlab.parse("""def @main(%c: bool, %x: float32) {
      let %f = if (%c) { fn (%a: float32) { exp(%a) } } else { fn (%a: float32) { tanh(%a) } };
      %f(%x)
    }""")
    planned = transform.PlanDevices(passlab.cuda())(mod)
    lets = [n for n in passlab.ir.walk.post_order(planned["main"]) if isinstance(n, relay.Let)]
    assert any(isinstance(let.value, relay.If) for let in lets)


def arguments_of_a_run_are_checked() -> None:
    with pytest.raises(RunError, match="shape"):
        value(EXP, np.ones(3, "float32"), kind="vm")
    with pytest.raises(RunError, match="dtype"):
        value(EXP, np.ones(2, "int8"), kind="vm")
    graph = relay.build(passlab.parse(EXP)).module()
    graph.run(x=np.ones(2, "float32"))
    with pytest.raises(RunError, match="does not fit"):
        graph.get_output(0, np.zeros(2, "int32"))


def unset_inputs_are_refused() -> None:
    with pytest.raises(RunError, match="inputs are not set: x"):
        relay.build(passlab.parse(EXP))["default"](passlab.cpu()).run()


def saved_data_are_bytes() -> None:
    assert type(relay.save_param_dict({"a": np.ones(2)})) is bytes
    assert type(vm.compile(passlab.parse(EXP)).save()[0]) is bytes


def a_function_pass_takes_three() -> None:
    with pytest.raises(PassTypeError):
        transform.function_pass(opt_level=1)(lambda func: func)(passlab.parse(THREE))


def times_are_kept() -> None:
    timing = instrument.PassTimingInstrument()
    fold_under(timing)
    assert "FoldConstant" in timing.render()


def results_share_no_memory() -> None:
    x = np.float32([1, 2])
    result = value("def @main(%x: Tensor[(2), float32]) { %x }", x, kind="vm")
    assert not np.shares_memory(np.asarray(result), x)


def building_does_not_simplify() -> None:
    mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { (%x + 1f) - 1f }")
    names = [event.name for event in passlab.lab.record_compilation(mod, "graph").events]
    assert not {"SimplifyExpr", "Legalize"} & set(names)


def a_quadratic_stays() -> None:
    text = "def @main(%x: float32, %y: float32) { %x * %x + %x * %y * 2f + %y * %y }"
    simplified = transform.SimplifyExpr()(passlab.parse(text))
    assert passlab.testing.count_ops(simplified)["multiply"] >= 4


def kernels_take_any_number_of_arguments() -> None:
    params = [relay.var(f"x{i}", shape=(2,)) for i in range(40)]
    mod = passlab.IRModule.from_expr(relay.Function(params, functools.reduce(relay.add, params)))
    with Target("metal"):
        assert Target.current().max_function_args == 31
        fused = transform.FuseOps(2)(transform.InferType()(mod))["main"]
    assert len(fused.body.args) == 40


def level_zero_compiles() -> None:
    with transform.PassContext(opt_level=0):
        exe = vm.compile(passlab.parse("def @main(%x: float32) { exp(tanh(%x)) }"))
    assert exe.primitive_ops == ["fused_tanh", "fused_exp"]


def shifts_of_floats_are_refused() -> None:
    with pytest.raises(TypeInferenceError):
        passlab.parse("def @main(%x: float32) { left_shift(%x, 1f) }")


def a_normal_form_returns_the_same() -> None:
    mod = transform.InferType()(passlab.parse(THREE))
    assert ToBasicBlockNormalForm()(mod) is mod


def casts_wrap() -> None:
    text = 'def @main(%x: Tensor[(4), float32]) { cast(%x, dtype="int8") }'
    for kind in ("debug", "vm", "graph", "aot"):
        assert value(text, np.float32([1.9, -1.9, 300, np.nan]), kind=kind).tolist() == [1, -1, 44, 0]


def floats_in_attributes_are_near() -> None:
    texts = (f"def @main(%x: float32) {{ nn.leaky_relu(%x, alpha={alpha}f) }}" for alpha in (0.1, 0.1 + 1e-11))
    a, b = (passlab.text.parse(text)["main"] for text in texts)
    assert passlab.structural_equal(a, b)
    assert passlab.structural_hash(a) == passlab.structural_hash(b)


def unusual_names_read_back() -> None:
    for name in ("", "1", "a.b"):
        func = relay.Function([x := relay.var(name, shape=())], relay.exp(x))
        again = passlab.parse(passlab.IRModule.from_expr(func).astext())
        assert again["main"].params[0].name_hint == name


def spans_are_printed_when_asked_for() -> None:
    mod = passlab.parse(EXP)
    assert "from_string" not in mod.astext()
    assert "from_string" in mod.astext(spans=True)


def long_types_are_cut() -> None:
    x = relay.var("x", shape=(2,))
    body: Any = x
    for _ in range(60):
        body = relay.Tuple([body, body])
    mod = transform.InferType()(passlab.IRModule.from_expr(relay.Function([x], body)))
    assert len(mod.astext()) < 200_000


def the_rest_of_unique_is_zero() -> None:
    result = value("def @main(%x: Tensor[(4), int32]) { unique(%x) }", np.int32([3, 3, 1, 1]))
    assert np.asarray(result[0]).tolist() == [1, 3, 0, 0]


def dimensions_have_no_dtype() -> None:
    text = "def @main(%x: Tensor[(3), float32]) { argmax(%x) }"
    assert str(passlab.parse(text)["main"].ret_type) == "int32"
    assert passlab.parse(text)["main"].params[0].checked_type.shape == (3,)


def kernels_are_named_after_operators() -> None:
    assert vm.compile(passlab.parse(EXP)).primitive_ops == ["fused_exp"]


def sizes_are_kept_in_a_normal_form() -> None:
    n, m = relay.SizeVar("n"), relay.SizeVar("m")
    assert relay.TensorType((n + m, 3)) is relay.TensorType((m + n, 3))
    assert relay.TensorType((n * 2 + 1,)) is not relay.TensorType((n * 2,))


def flattening_keeps_the_order() -> None:
    text = """def @main(%x: Tensor[(1, 3, 2, 2), float32], %w: Tensor[(2, 3, 1, 1), float32]) {
        nn.batch_flatten(nn.conv2d(%x, %w, channels=2, kernel_size=[1, 1])) }"""
    body = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(transform.InferType()(passlab.parse(text)))[
        "main"
    ].body
    assert (body.args[0].op.name, body.args[0].attrs.dst_layout) == ("layout_transform", "NCHW")


def no_target_has_other_integers() -> None:
    text = """def @main(%x: Tensor[(2, 3), int8], %w: Tensor[(4, 3), int8]) {
        qnn.dense(%x, %w, 1, 2, 0.5f, 0.25f, units=4, out_dtype="int32") }"""
    mod = transform.InferType()(passlab.parse(text))
    assert relay.qnn.transform.Legalize()(mod) is mod
    x, w = np.int8([[1, 2, 3], [4, 5, 6]]), np.arange(12, dtype=np.int8).reshape(4, 3)
    plain = relay.qnn.transform.CanonicalizeOps()(mod)
    result = relay.create_executor("debug", plain).evaluate()(x, w)
    assert np.asarray(result).tolist() == ((x.astype("int32") - 1) @ (w.astype("int32") - 2).T).tolist()


def shorter_draws_begin_longer_ones() -> None:
    def draw(count: int) -> list[int]:
        numbers = relay.TupleGetItem(relay.random.threefry_generate(relay.random.threefry_key(1), (count,)), 1)
        mod = passlab.IRModule.from_expr(relay.Function([], numbers))
        return list(relay.create_executor("debug", mod).evaluate()())

    assert all(draw(count) == draw(8)[:count] for count in (5, 6, 7))


def a_sequence_of_length_0_keeps_the_state() -> None:
    onnx = pytest.importorskip("onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    weights = [
        helper.make_tensor("w", real, [1, 9, 2], np.ones(18)),
        helper.make_tensor("r", real, [1, 9, 3], np.ones(27)),
        helper.make_tensor("s", onnx.TensorProto.INT32, [1], [0]),
    ]
    node = helper.make_node("GRU", ["x", "w", "r", "", "s", "h"], ["y", "yh"], hidden_size=3)
    inputs = [helper.make_tensor_value_info(name, real, shape) for name, shape in (("x", [2, 1, 2]), ("h", [1, 1, 3]))]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("yh", real, [1, 1, 3])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    mod, params = relay.frontend.from_onnx(model)
    state = np.full((1, 1, 3), 7, "float32")
    result = relay.create_executor("debug", mod).evaluate()(np.zeros((2, 1, 2), "float32"), state, **params)
    np.testing.assert_array_equal(result, state)


def onnx_model(text: str) -> Any:
    onnx = pytest.importorskip("onnx")
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')


def shapes_of_a_model_are_checked() -> None:
    model = onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    for shape in ({"z": (2,)}, {"x": (1, 2)}):
        with pytest.raises(ModelError):
            relay.frontend.from_onnx(model, shape=shape)


def an_unknown_reduction_is_refused() -> None:
    text = 'g (float[3] x, int64[1] i, float[1] u) => (float[3] y) {{ y = ScatterElements<reduction="{}">(x, i, u) }}'
    relay.frontend.from_onnx(onnx_model(text.format("add")))
    with pytest.raises(ModelError):
        relay.frontend.from_onnx(onnx_model(text.format("update")))


def random_operators_draw_the_same_numbers() -> None:
    model = onnx_model("g (float[2] x) => (float[2] y) { y = RandomUniformLike<seed = 1.0>(x) }")
    draws = [
        relay.create_executor("debug", relay.frontend.from_onnx(model)[0]).evaluate()(np.zeros(2, "float32"))
        for _ in range(2)
    ]
    assert draws[0].tolist() == draws[1].tolist()


def a_source_has_the_text_of_its_node() -> None:
    body = relay.frontend.from_onnx(onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"))[0]["main"].body
    assert body.span.text == "y = Relu(x)"


CHECKS: dict[str, Callable[[], None]] = {
    "`random.threefry_generate` of more": shorter_draws_begin_longer_ones,
    "Recurrent layers of ONNX, sequences": a_sequence_of_length_0_keeps_the_state,
    "`shape` of `from_onnx`": shapes_of_a_model_are_checked,
    "`ScatterElements` of ONNX": an_unknown_reduction_is_refused,
    "Random operators of ONNX": random_operators_draw_the_same_numbers,
    "Sources of imported nodes": a_source_has_the_text_of_its_node,
    "Nodes": nodes_never_change,
    "Types": types_are_one_object,
    "`Map`": containers_are_plain,
    "Text of an error": an_error_is_its_text,
    "Errors of Python hooks": hooks_raise_what_they_raise,
    "`should_run` without": a_hook_must_answer,
    "Wrong arguments": wrong_arguments_are_refused,
    "Ranks that": ranks_are_checked,
    "`PrintIR`": programs_are_logged,
    "Functions in `PlanDevices`": functions_are_not_pinned,
    "Arguments of a run": arguments_of_a_run_are_checked,
    "Unset inputs": unset_inputs_are_refused,
    "Parameters saved": saved_data_are_bytes,
    "`function_pass`": a_function_pass_takes_three,
    "`PassTimingInstrument`": times_are_kept,
    "Results and arguments": results_share_no_memory,
    "Passes of `relay.build`": building_does_not_simplify,
    "`SimplifyExpr` of": a_quadratic_stays,
    "Flattening in `ConvertLayout`": flattening_keeps_the_order,
    "`relay.qnn.transform.Legalize`": no_target_has_other_integers,
    "Number of arguments": kernels_take_any_number_of_arguments,
    "Constants in functions for other compilers": constants_of_other_compilers_are_parameters,
    "Level 0": level_zero_compiles,
    "Shifts of floats": shifts_of_floats_are_refused,
    "`ToBasicBlockNormalForm`": a_normal_form_returns_the_same,
    "Casts of floats": casts_wrap,
    "Floats in attributes": floats_in_attributes_are_near,
    "Unusual names": unusual_names_read_back,
    "Spans in text": spans_are_printed_when_asked_for,
    "Types whose text": long_types_are_cut,
    "Unused part of": the_rest_of_unique_is_zero,
    "dtype of a shape": dimensions_have_no_dtype,
    "Names of kernels": kernels_are_named_after_operators,
    "Sizes computed": sizes_are_kept_in_a_normal_form,
}


ELSEWHERE = {
    "Attributes of a module": "tests/executor/test_saved_values.py",
    "Names of a model's file": "tests/frontend/test_sources.py",
    "`qnn.softmax`": "tests/op/test_vectors.py",
    "Tensor arrays of `Prelude`": "tests/relay/test_tensor_arrays.py",
    "`nn.lrn` in float16": "tests/op_nn/test_activation.py",
    "`AnnotateTarget` of references": "tests/passes/test_annotate_target.py",
    "`relay.quantize`": "tests/relay/test_quantize.py",
    "Variables bound twice": "tests/executor/test_scopes.py",
    "`FakeQuantizationToInteger`": "tests/passes/test_quantized_regions.py",
    "Sizes computed from symbolic ones": "tests/ir/test_sizes.py",
}


def test_every_row_is_checked() -> None:
    assert [topic for topic in TOPICS if not topic.startswith((*CHECKS, *ELSEWHERE))] == []
    assert [start for start in (*CHECKS, *ELSEWHERE) if not any(topic.startswith(start) for topic in TOPICS)] == []
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).exists()] == []


@each("topic", CHECKS)
def test_passlab_does_what_the_row_says(topic: str) -> None:
    CHECKS[topic]()
