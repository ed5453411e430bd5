"""What tests of passes written for TVM read from programs, and write into them."""

from __future__ import annotations

import pytest


def test_lists_in_attributes_print_as_lists() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2, 3, 4))
    axes = relay.transpose(x, axes=[0, 2, 1]).attrs.axes
    assert (str(axes), f"{axes}") == ("[0, 2, 1]", "[0, 2, 1]")
    assert [axis.value for axis in axes] == [0, 2, 1]
    assert str(relay.nn.pad(x, ((0, 0), (1, 1), (2, 2))).attrs.pad_width) == "[[0, 0], [1, 1], [2, 2]]"
    assert str(relay.Function([x], x).with_attr("dims", [1, 2]).attrs["dims"]) == "[1, 2]"
    again = relay.transpose(x, axes)
    assert tvm.ir.structural_equal(again, relay.transpose(x, axes=(0, 2, 1)), map_free_vars=True)
    stored = dict(again.attrs)["axes"]
    assert (type(stored), type(stored[0])) == (tuple, int)


def test_the_text_of_a_program_has_its_spans() -> None:
    from tvm import relay

    x = relay.var("x", shape=(2,))
    call = relay.Call(relay.op.get("exp"), [x], span=relay.Span(relay.SourceName("layer"), 1, 1, 2, 3))
    assert "span=layer:1:2" in relay.Function([x], call).astext()
    assert "span" not in relay.Function([x], call).astext(spans=False)


def test_a_device_assigned_to_a_node_changes_nothing() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2,))
    x.virtual_device_ = tvm.cpu()
    function = relay.Function([x], x)
    function.virtual_device_ = tvm.cpu()
    other = relay.var("x", shape=(2,))
    assert tvm.ir.structural_equal(function, relay.Function([other], other))
    with pytest.raises(AttributeError, match="immutable"):
        x.name_hint = "y"


def test_an_expression_is_simulated_as_quantized() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.quantize import QAnnotateKind
    from tvm.relay.quantize._annotate import attach_simulated_quantize

    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.var("w", shape=(4, 4, 1, 1))
    call = attach_simulated_quantize(relay.nn.conv2d(x, w), QAnnotateKind.INPUT)
    assert attach_simulated_quantize(call, QAnnotateKind.INPUT) is call
    assert attach_simulated_quantize(call, QAnnotateKind.WEIGHT) is not call
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(call), call))
    mod = relay.transform.InferType()(mod)
    assert [p.checked_type.shape for p in mod["main"].params[2:]] == [()] * 3
    converted = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)["main"].body
    assert converted.op.name == "layout_transform"
    assert converted.args[0].op is call.op
