"""The Python functions of operators against Relay's own: names of parameters, their order, their defaults."""

from __future__ import annotations

import ast
import functools
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import AttrsError, NodeTypeError
from passlab.ir.op import Op
from passlab.op.declare import OpBuilder
from tests.each import each


def _facts(name: str) -> list[str]:
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


FACTS = _facts("relay_signatures.txt")
PASSES = _facts("relay_pass_signatures.txt")
# Operators whose function here is under no name of Relay's interface, and why.
ELSEWHERE: dict[str, str] = {
    "contrib_reverse_reshape": "`reverse_reshape` in Python",
    "annotation.bitpack_end": "made by a pass",
    "annotation.bitpack_start": "made by a pass",
    "annotation.cast_hint": "made by a pass",
    "annotation.with_funcid": "made by a pass",
    "call_lowered": "made by a pass",
    "contrib.recurrent": "made by importers",
    "contrib.roi_align": "made by importers",
    "debug": "`relay.debug`, of a Python function",
    "fast_erf": "made by the pass FastMath",
    "fast_exp": "made by the pass FastMath",
    "fast_tanh": "made by the pass FastMath",
    "fixed_point_multiply_per_axis": "made by lowering quantized programs",
    "hardswish": "known by name only, as the value that qnn.hardswish stands for",
    "nn.contrib_conv2d_NCHWc": "`contrib_conv2d_nchwc` in Python",
    "nn.contrib_depthwise_conv2d_NCHWc": "`contrib_depthwise_conv2d_nchwc` in Python",
    "nn.internal.sparse_dense_padded": "made by a pass",
    "nn.sparse_conv2d": "made by a pass",
    "on_device": "`relay.annotation.on_device` in Python",
    "parser.MetaRef": "made by the parser",
    "relay.op.annotation.simulated_quantize": "made by automatic quantization",
    "scatter": "the name of scatter_elements before 0.9",
}
ROOMS_WITHOUT_A_FACE = ("dyn.", "memory.", "vm.")  # made by passes, or by the functions of their static namesakes


def parameters(fact: str) -> list[tuple[str, Any]]:
    """The parameters of a line of facts with their defaults; those without one have `inspect.Parameter.empty`."""
    call = ast.parse(f"def f({fact.partition('(')[2][:-1]}): ...").body[0]
    assert isinstance(call, ast.FunctionDef)
    names = [arg.arg for arg in call.args.args]
    defaults = [ast.literal_eval(value) for value in call.args.defaults]
    return list(zip(names, [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults, strict=True))


def function(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), relay)


@each("fact", FACTS, ids=lambda fact: fact.partition("(")[0])
def test_a_function_has_relays_parameters(fact: str) -> None:
    result = inspect.signature(function(fact.partition("(")[0])).parameters.values()
    assert [(p.name, p.default) for p in result] == parameters(fact)
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in result)


@each("fact", PASSES, ids=lambda fact: fact.partition("(")[0])
def test_a_pass_has_relays_parameters(fact: str) -> None:
    result = inspect.signature(function(f"transform.{fact.partition('(')[0]}")).parameters.values()
    expected = parameters(fact)
    assert [p.name for p in result] == [name for name, _ in expected]
    for p, (_, default) in zip(result, expected, strict=True):
        assert default in (inspect.Parameter.empty, None, p.default)  # None stands for a default of passlab's own


def test_every_operator_is_in_the_facts_or_has_a_reason() -> None:
    paths = {fact.partition("(")[0] for fact in FACTS}
    names = {path.replace("qnn.op.", "qnn.") for path in paths}
    rest = [name for name in Op.list_op_names() if not name.startswith(ROOMS_WITHOUT_A_FACE)]
    assert sorted(set(rest) - names) == sorted(ELSEWHERE)


@each("fact", [f for f in FACTS if not f.startswith("qnn.")], ids=lambda f: f.partition("(")[0])
def test_the_same_function_is_under_relay_op(fact: str) -> None:
    path = fact.partition("(")[0]
    assert function(f"op.{path}") is function(path)


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("op.transform.reshape", "reshape"), ("op.transform.take", "take"), ("op.tensor.exp", "exp"),
        ("op.tensor.add", "add"), ("op.reduce.sum", "sum"), ("op.reduce.logsumexp", "logsumexp"),
        ("op.algorithm.topk", "topk"), ("op.nn.nn.conv2d", "nn.conv2d"), ("op.image.image.resize2d", "image.resize2d"),
        ("op.vision.nms.non_max_suppression", "vision.non_max_suppression"),
        ("op.vision.multibox.multibox_prior", "vision.multibox_prior"),
        ("op.vision.rcnn.roi_align", "vision.roi_align"), ("op.vision.yolo.yolo_reorg", "vision.yolo_reorg"),
        ("op.random.kernel.uniform", "random.uniform"), ("op.annotation.annotation.stop_fusion", "annotation.stop_fusion"),
        ("qnn.op.qnn.quantize", "qnn.op.quantize"),
    ],
)  # fmt: skip
def test_functions_are_where_relays_source_has_them(path: str, same: str) -> None:
    assert function(path) is function(same)


def test_a_module_of_relays_source_can_be_imported() -> None:
    from passlab.relay.op import nn, reduce, tensor, transform
    from passlab.relay.op.transform import reshape

    assert reshape is relay.reshape
    assert transform.reshape is relay.reshape
    assert tensor.exp is relay.exp
    assert reduce.sum is relay.sum
    assert nn.dense is relay.nn.dense


def test_the_sums_of_segments() -> None:
    data = np.arange(6, dtype="float32").reshape(3, 2)
    x, ids = relay.var("x", shape=(3, 2)), relay.var("ids", shape=(3,), dtype="int32")
    for count, want in ((None, [[2, 3], [0, 1], [4, 5]]), (4, [[2, 3], [0, 1], [4, 5], [0, 0]])):
        mod = relay.transform.InferType()(
            passlab.IRModule.from_expr(relay.Function([x, ids], relay.segment_sum(x, ids, count)))
        )
        run = relay.create_executor("debug", mod).evaluate()
        np.testing.assert_array_equal(run(data, np.array([1, 0, 2], "int32")), np.array(want, "float32"))


def test_places_are_devices_or_their_names() -> None:
    x = relay.var("x", shape=(2,))
    by_name, by_device = (relay.annotation.on_device(x, d).attrs.virtual_device for d in ("cpu", relay.cpu()))
    assert by_name == by_device
    assert relay.device_copy(x, "cpu", "cuda").attrs.dst_virtual_device.device == relay.cuda()


def test_what_python_leaves_out_is_relays_default_there() -> None:
    """In Python some defaults are not those of the text."""
    x = relay.var("x", shape=(1, 4, 2, 2))
    assert relay.nn.leaky_relu(x).attrs.alpha == 0.01
    assert relay.nn.lrn(x).attrs.alpha == 1e-5
    assert relay.nn.group_norm(x, x, x, 2).attrs.num_groups == 2
    assert relay.nn.fifo_buffer(x, x, 1).attrs.axis == 1
    assert relay.vision.yolo_reorg(x, 2).attrs.stride == 2
    assert relay.nn.cross_entropy(predictions=x, targets=x).args == (x, x)
    assert relay.nn.cross_entropy_with_logits(predictions=x, targets=x).args == (x, x)
    assert relay.nn.max_pool2d_grad(x, x, 2).attrs.pool_size == (2, 2)
    assert relay.nn.avg_pool2d_grad(x, x, 2, count_include_pad=True).attrs.count_include_pad
    assert relay.reverse(x, 1).attrs.axis == 1
    assert relay.repeat(x, 2, None).attrs.axis is None
    assert relay.unravel_index(indices=x, shape=x).args == (x, x)
    assert relay.reverse_reshape(x, [-1, 0]).op is Op.get("contrib_reverse_reshape")


def test_calls_have_their_operands_in_the_order_of_the_parameters() -> None:
    moved = {}
    for fact in FACTS:
        builder = function(fact.partition("(")[0])
        if isinstance(builder, OpBuilder) and builder._python is not None:
            own = [builder._python.names.get(name, name) for name in builder.__signature__.parameters]
            names = [name for part in own for name in (part if isinstance(part, tuple) else (part,))]
            order = tuple(name for name in names if name in builder._spec.inputs)
            moved |= {builder._spec.name: order} if order != tuple(builder._spec.inputs) else {}
    assert moved == {
        "qnn.simulated_quantize": ("data", "output_scale", "output_zero_point", "out_dtype"),
        "qnn.simulated_dequantize": ("data", "input_scale", "input_zero_point", "in_dtype"),
    }  # Relay's own


def test_what_is_left_out_makes_a_call() -> None:
    """The defaults of the signature are values that the operator takes."""
    x = relay.var("x", shape=(2, 2))
    refused = {}
    for fact in FACTS:
        builder = function(fact.partition("(")[0])
        if isinstance(builder, OpBuilder):
            parameters = builder.__signature__.parameters.values()
            needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if all(p.name in builder._spec.inputs for p in needed):
                try:
                    builder(*[relay.Tuple([x]) if builder._spec.name == "meshgrid" else x for _ in needed])
                except AttrsError:
                    continue  # Relay's default is one that it refuses, too
                except NodeTypeError as error:
                    refused[builder._spec.name] = str(error).splitlines()[0]
    assert refused == {}


def test_no_signature_is_written_that_follows_from_the_declaration() -> None:
    written = {}
    for name in Op.list_op_names():
        builder = Op.get(name).spec.builder
        assert isinstance(builder, OpBuilder)
        if builder._python is not None and builder._python.signature is not None:
            written[name] = builder._python.signature
    same = {name for name, signature in written.items() if signature == OpBuilder(Op.get(name).spec, 1).__signature__}
    assert same == {"nn.conv2d", "nn.conv3d"}  # one text for all ranks, of which that of `nn.conv1d` differs
