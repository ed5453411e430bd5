"""What users register for operators: layouts (AlterOpLayout, ConvertLayout) and other calls (Legalize)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from passlab import relay, transform
from passlab.errors import OpNotFoundError, PassError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.ir.op import Op
from passlab.text.parser import parse
from tests.passes.law_programs import arguments

X, W = "%x: Tensor[(1, 4, 6, 6), float32]", "%w: Tensor[(8, 4, 3, 3), float32]"
OP = Op.get("nn.conv2d")
CONV = "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])"


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    """Each test starts from the operators as they are declared."""
    before = {name: (dict(Op.get(name).spec.extra), dict(Op.get(name).spec.levels)) for name in Op.list_op_names()}
    yield
    for name, (extra, levels) in before.items():
        spec = Op.get(name).spec
        for facts, old in ((spec.extra, extra), (spec.levels, levels)):
            facts.clear()
            facts.update(old)


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def run(name: str, mod: IRModule, **options: Any) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([transform.get_pass(name, **options)])(mod)


def same_numbers(mod: IRModule, result: IRModule) -> None:
    want, got = (np.asarray(Evaluator(m).run("main", arguments(mod))) for m in (mod, result))
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def packed(attrs: Any, args: Any, types: Any, out_type: Any) -> Any:
    assert str(types[1]) == "Tensor[(8, 4, 3, 3), float32]"
    changes = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o", "out_layout": "NCHW4c"}
    return relay.Call(Op.get("nn.conv2d"), args, attrs.with_fields(**changes))


def test_a_convolution_that_has_the_layouts_already_stays():
    relay.op.register_alter_op_layout("nn.conv2d", lambda attrs, args, types, out_type: relay.Call(OP, args, attrs))
    blocked = 'data_layout="NCHW4c", kernel_layout="OIHW4i4o"'
    mod = typed(
        "def @main(%x: Tensor[(1, 2, 6, 6, 4), float32], %w: Tensor[(1, 2, 3, 3, 4, 4), float32]) {"
        f" nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3], {blocked})) }}"
    )
    assert run("AlterOpLayout", mod) is mod


def test_a_target_packs_the_channels_and_everything_goes_along():
    relay.op.register_alter_op_layout("nn.conv2d", packed)
    mod = typed(f"def @main({X}, {W}, %b: Tensor[(8, 1, 1), float32]) {{ nn.relu(add({CONV}, %b)) }}")
    result = run("AlterOpLayout", mod)
    expected = typed(f"""def @main({X}, {W}, %b: Tensor[(8, 1, 1), float32]) {{
      %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c");
      %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i4o");
      %2 = nn.conv2d(%0, %1, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], data_layout="NCHW4c",
                     kernel_layout="OIHW4i4o", out_layout="NCHW4c");
      %3 = layout_transform(expand_dims(%b, axis=0), src_layout="NCHW", dst_layout="NCHW4c");
      layout_transform(nn.relu(add(%2, %3)), src_layout="NCHW4c", dst_layout="NCHW")
    }}""")
    same_numbers(mod, result)
    assert_structural_equal(result, expected)


def test_an_argument_that_the_function_made_itself_stands_as_it_is():
    def altered(attrs: Any, args: Any, types: Any, out_type: Any) -> Any:
        weight = relay.layout_transform(args[1], "OIHW", "HWIO")
        changes = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        return relay.Call(Op.get("nn.conv2d"), [args[0], weight], attrs.with_fields(**changes))

    relay.op.register_alter_op_layout("nn.conv2d", altered)
    mod = typed(f"def @main({X}, {W}) {{ {CONV} }}")
    result = run("AlterOpLayout", mod)
    assert str(result).count('dst_layout="HWIO"') == 1
    same_numbers(mod, result)


def test_an_expression_of_another_kind_stands_in_the_layouts_of_before():
    def altered(attrs: Any, args: Any, types: Any, out_type: Any) -> Any:
        return relay.nn.relu(relay.nn.relu(args[0]))

    relay.op.register_alter_op_layout("nn.relu", altered)
    mod = typed(f"def @main({X}, {W}) {{ nn.relu({CONV}) }}")
    result = run("AlterOpLayout", mod)
    assert str(result).count("nn.relu") == 2
    same_numbers(mod, result)


def test_an_operator_of_several_results_may_be_replaced():
    relay.op.register_alter_op_layout("split", lambda attrs, args, types, out: relay.split(args[0], 2, -3))
    mod = typed(f"def @main({X}) {{ %0 = split(%x, indices_or_sections=2, axis=1); add(%0.0, %0.1) }}")
    result = run("AlterOpLayout", mod)
    assert "axis=-3" in str(result)
    same_numbers(mod, result)


def test_pooling_is_replaced_too():
    def altered(attrs: Any, args: Any, types: Any, out_type: Any) -> Any:
        return relay.Call(Op.get("nn.max_pool2d"), args, attrs.with_fields(layout="NHWC"))

    relay.op.register_alter_op_layout("nn.max_pool2d", altered)
    mod = typed(f"def @main({X}) {{ nn.relu(nn.max_pool2d(%x, pool_size=[2, 2])) }}")
    result = run("AlterOpLayout", mod)
    assert str(result).count("layout_transform") == 2
    same_numbers(mod, result)


def test_what_does_not_fit_is_left_alone():
    def altered(attrs: Any, args: Any, types: Any, out_type: Any) -> Any:
        changes = {"data_layout": "NCHW3c", "kernel_layout": "OIHW3i"}
        return relay.Call(Op.get("nn.conv2d"), args, attrs.with_fields(**changes))

    relay.op.register_alter_op_layout("nn.conv2d", altered)
    mod = typed(f"def @main({X}, {W}) {{ {CONV} }}")
    assert run("AlterOpLayout", mod) is mod


def test_none_and_the_call_itself_change_nothing():
    mod = typed(f"def @main({X}, {W}) {{ {CONV} }}")
    for hook in (lambda *inputs: None, lambda attrs, args, *rest: relay.Call(Op.get("nn.conv2d"), args, attrs)):
        relay.op.register_alter_op_layout("nn.conv2d", hook)
        assert run("AlterOpLayout", mod) is mod


@pytest.mark.parametrize("value", [lambda args: relay.sum(args[0]), lambda args: 3], ids=["type", "kind"])
def test_what_is_no_replacement_is_said(value: Any):
    mod = typed(f"def @main({X}) {{ exp(%x) }}")
    relay.op.register_alter_op_layout("exp", lambda attrs, args, *rest: value(args))
    with pytest.raises(PassError, match="registered for `exp`"):
        run("AlterOpLayout", mod)
    relay.op.register_legalize("exp", lambda attrs, args, types: value(args))
    with pytest.raises(PassError, match="registered for `exp`"):
        run("Legalize", mod)


def test_a_conversion_that_is_registered_comes_first():
    seen = []

    @relay.op.register_convert_op_layout("nn.conv2d")
    def converted(attrs: Any, args: Any, types: Any, desired: Any) -> Any:
        seen.append(desired)
        changes = {"data_layout": desired[0], "kernel_layout": "HWIO"}
        return relay.Call(Op.get("nn.conv2d"), args, attrs.with_fields(**changes))

    mod = typed(f"def @main({X}, {W}) {{ nn.conv2d({CONV}, reshape(%w, newshape=[4, 8, 3, 3]), kernel_size=[3, 3]) }}")
    result = run("ConvertLayout", mod, desired_layouts={"nn.conv2d": ["NHWC", "default"]})
    assert seen == [["NHWC", "default"]] * 2
    same_numbers(mod, result)
    with transform.LayoutConfig(skip_layers=[0]):
        assert str(run("ConvertLayout", mod, desired_layouts={"nn.conv2d": ["NHWC", "default"]})).count('"NHWC"') == 3


def test_an_operator_becomes_convertible_by_registering(caplog: pytest.LogCaptureFixture):
    relay.op.register_convert_op_layout("nn.dense", lambda *inputs: None)
    mod = typed(f"def @main({X}, {W}) {{ {CONV} }}")
    assert run("ConvertLayout", mod, desired_layouts={"nn.dense": ["anything"]}) is mod
    assert "nn.conv2d" in caplog.text


# ---------------------------------------------------------------- Legalize
def test_legalize_asks_for_each_call_arguments_first():
    asked = []

    @relay.op.register_legalize("exp")
    def legal(attrs: Any, args: Any, types: Any) -> Any:
        asked.append([str(t) for t in types])
        return None if len(asked) == 1 else relay.power(relay.const(np.float32(np.e)), args[0])

    mod = typed("def @main(%x: Tensor[(2), float32]) { exp(exp(%x)) }")
    result = run("Legalize", mod)
    assert asked == [["Tensor[(2), float32]"] * 2] * 2
    assert str(result).count("exp(") == 1
    assert str(result).count("power(") == 1


def test_legalize_reads_any_attribute_and_ignores_those_of_no_operator():
    transform_to = relay.op.register_op_attr(
        "nn.relu", "MyLegalize", lambda attrs, args, types: relay.maximum(args[0], relay.const(0.0, "float32"))
    )
    assert callable(transform_to)
    mod = typed("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
    assert run("Legalize", mod) is mod
    assert "maximum" in str(run("Legalize", mod, legalize_map_attr_name="MyLegalize"))


def test_kernels_are_not_looked_into():
    relay.op.register_legalize("exp", lambda attrs, args, types: relay.log(args[0]))
    mod = typed("""def @main(%x: Tensor[(3), float32]) {
      %0 = fn (%p0: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] { exp(%p0) };
      %0(%x)
    }""")
    assert run("Legalize", mod) is mod


def test_a_higher_level_wins_and_the_same_level_is_replaced():
    first, second = (lambda *inputs: None), (lambda *inputs: None)
    relay.op.register_legalize("exp", first, level=11)
    relay.op.register_legalize("exp", second)
    assert Op.get("exp").get_attr("FTVMLegalize") is first
    relay.op.register_legalize("exp", second, level=11)
    assert Op.get("exp").get_attr("FTVMLegalize") is second
    relay.op.unregister_op_attr("exp", "FTVMLegalize")
    assert Op.get("exp").get_attr("FTVMLegalize") is None
    with pytest.raises(OpNotFoundError):
        relay.op.register_legalize("exp2", first)
