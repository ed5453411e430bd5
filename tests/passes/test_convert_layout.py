"""ConvertLayout: what goes along with convolutions, what does not, and that numbers stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.errors import PassValueError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Call, IRModule
from passlab.ir.equal import structural_equal
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.testing import mobilenet, resnet
from passlab.text.parser import parse
from tests.each import each
from tests.passes.law_programs import arguments

CONV = "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])"
ALONG = {
    "an operator on each element": "sigmoid(nn.leaky_relu(%0, alpha=0.1f))",
    "two results": "add(%0, nn.relu(%0))",
    "a scalar": "multiply(%0, 2f)",
    "a bias": "nn.bias_add(%0, %b)",
    "a bias on the last axis": "add(%0, %c)",
    "what is in the layout of the program": "add(%y, %0)",
    "a choice": "where(less(%0, 0f), %y, %0)",
    "concatenation": "concatenate((%0, %y, %0), axis=1)",
    "concatenation along the last axis": "concatenate((%0, %y), axis=-1)",
    "parts": "{ %1 = split(%0, indices_or_sections=2, axis=1); add(%1.0, %1.1) }",
    "a bias for each channel": "add(%0, reshape(%b, newshape=[8, 1, 1]))",
    "a bias for each place": "add(mean(%y, axis=[1], keepdims=True), %0)",
    "padding": "nn.pad(%0, 0f, pad_width=[[0, 0], [1, 2], [0, 1], [0, 0]])",
    "a slice": "strided_slice(%0, begin=[0, 1, 2], end=[1, 7, 5], strides=[1, 2, 1])",
    "a slice of some axes": "strided_slice(%0, begin=[1], end=[5], strides=[1], axes=[1])",
    "pooling": "nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2])",
    "global pooling": "squeeze(nn.global_avg_pool2d(%0), axis=[2, 3])",
    "adaptive pooling": "nn.adaptive_avg_pool2d(%0, output_size=[2, 2])",
    "a mean over places": "mean(%0, axis=[2, 3])",
    "a mean that keeps its axes": "subtract(%0, mean(%0, axis=[2, 3], keepdims=True))",
    "a variance around its own mean": "variance(%0, mean(%0, axis=[1], keepdims=True), axis=[1])",
    "a variance around a mean of the program": "variance(%0, mean(%y, axis=[2, 3], keepdims=True), axis=[2, 3])",
    "a variance around one number": "variance(%0, 0.5f, axis=[1], exclude=True, keepdims=True)",
    "a sum over all but channels": "sum(%0, axis=[1], exclude=True)",
    "the largest channel": "argmax(%0, axis=[1])",
    "a softmax": "nn.softmax(%0, axis=1)",
    "normalization": "nn.l2_normalize(%0, eps=0.001f, axis=[1])",
    "batch normalization": "nn.batch_norm(%0, %b, %b, %b, abs(%b)).0",
    "a transposition": "transpose(%0, axes=[0, 2, 3, 1])",
    "a parametric relu": "nn.prelu(%0, %b, axis=1)",
    "resizing": 'image.resize2d(%0, size=[8, 8], roi=[0f, 0f, 0f, 0f], layout="NCHW")',
    "another convolution": "nn.conv2d(%0, %v, channels=2, kernel_size=[1, 1])",
    "dropout": "{ %1 = nn.dropout(%0); add(%1.0, %1.1) }",
    "a barrier": "annotation.stop_fusion(%0)",
    "mirrored padding": 'nn.mirror_pad(%0, mode="REFLECT", pad_width=[[0, 0], [0, 0], [1, 1], [1, 2]])',
    "dilation": "nn.dilate(%0, strides=[1, 1, 2, 3])",
    "tiling": "tile(%0, reps=[1, 2, 1, 3])",
    "repetition": "repeat(%0, repeats=2, axis=1)",
    "broadcasting": "broadcast_to(%0, shape=[3, 8, 4, 4])",
    "sorting": "sort(%0, axis=1)",
    "the order of channels": "argsort(%0, axis=1)",
    "the largest channels": 'topk(%0, k=2, axis=1, dtype="int32").0',
    "where the largest are": 'topk(%0, k=2, axis=3, ret_type="indices", dtype="int32")',
    "normalization of layers": "nn.layer_norm(%0, %b, %b, axis=1)",
    "normalization of instances": "nn.instance_norm(%0, %b, %b)",
    "filling": "full_like(%0, 2f)",
    "simulated integers": "relay.op.annotation.simulated_quantize(%0, 0.5f, -4f, 3f, kind=1)",
    "crops": 'image.crop_and_resize(%0, %o, subtract(%i, %i), crop_size=[2, 2], layout="NCHW")',
    "a grouped convolution": "nn.conv2d(%0, %g, groups=8, channels=8, kernel_size=[1, 1])",
}
BACK = {
    "upsampling, whose places must not move": "nn.upsampling(%0, scale_h=2f, scale_w=2f)",
    "regions, unless they are asked for": (
        "vision.roi_align(%0, %r, pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2)"
    ),
    "a layout of the program": 'layout_transform(%0, src_layout="NCHW", dst_layout="NHWC")',
    "a reshape": "reshape(%0, newshape=[1, -1])",
    "a place among all": "argmax(%0, axis=None)",
    "a branch": "if (%t) { %0 } else { nn.relu(%0) }",
    "a call": "{ let %f = fn (%p: Tensor[(1, 8, 4, 4), float32]) { exp(%p) }; %f(%0) }",
    "a product of matrices": "nn.batch_matmul(reshape(%0, newshape=[1, 8, 16]), reshape(%y, newshape=[1, 16, 8]))",
}
LAYOUTS = {"rows": ["NHWC", "default"], "packed": ["NCHW4c", "OIHW4o"], "turned": ["HWNC", "OIHW"]}


def program(use: str) -> IRModule:
    return infer_module(
        parse(f"""
        def @main(%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(8, 4, 3, 3), float32], %y: Tensor[(1, 8, 4, 4), float32],
                  %b: Tensor[(8), float32], %c: Tensor[(4), float32], %v: Tensor[(2, 8, 1, 1), float32],
                  %g: Tensor[(8, 1, 1, 1), float32], %t: bool, %r: Tensor[(2, 5), float32],
                  %o: Tensor[(2, 4), float32], %i: Tensor[(2), int32]) {{
          %0 = {CONV};
          {use.strip("{} ") if use.startswith("{") else use}
        }}""")
    )


def converted(mod: IRModule, layouts: list[str], name: str = "nn.conv2d") -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([transform.ConvertLayout({name: layouts})])(mod)


def counted(mod: IRModule) -> dict[str, int]:
    table: dict[str, int] = {}
    for node in post_order(mod["main"]):
        if isinstance(node, Call) and isinstance(node.op, Op):
            table[node.op.name] = table.get(node.op.name, 0) + 1
    return table


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("what", [*ALONG, *BACK])
def test_numbers_stay_what_they_are(what: str, layouts: str):
    mod = program({**ALONG, **BACK}[what])
    if layouts == "packed" and "conv2d" in {**ALONG, **BACK}[what]:
        pytest.skip("these weights have too few channels to be split")
    module = converted(mod, LAYOUTS[layouts])
    args = arguments(mod)
    got, want = (np.asarray(Evaluator(m).run("main", args)) for m in (module, mod))
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)


def brought_back(mod: IRModule) -> bool:
    """Whether the result of a convolution itself is transformed."""
    results = [n for n in post_order(mod["main"]) if isinstance(n, Call)]
    convolutions = {n for n in results if n.op is Op.get("nn.conv2d")}
    return any(
        n.op is Op.get("layout_transform") and n.args[0] in convolutions and n is not mod["main"].body for n in results
    )


@each("what", ALONG)
def test_operators_go_along(what: str):
    assert not brought_back(converted(program(ALONG[what]), ["NHWC", "default"]))


@pytest.mark.parametrize("what", BACK)
def test_others_get_their_data_back(what: str):
    assert brought_back(converted(program(BACK[what]), ["NHWC", "default"]))


def test_each_value_is_transformed_once_to_each_layout():
    mod = converted(
        program(
            "(reshape(%0, newshape=[-1]), batch_flatten(%0), reshape(%0, newshape=[4, -1]))".replace(
                "batch_flatten", "nn.batch_flatten"
            )
        ),
        ["NHWC", "default"],
    )
    assert counted(mod)["layout_transform"] == 3


def test_transpositions_and_transformations_of_the_program_stay():
    chain = 'layout_transform(transpose(%0, axes=[0, 2, 3, 1]), src_layout="NHWC", dst_layout="NCHW")'
    mod = converted(program(f"(transpose(%0, axes=[0, 2, 3, 1]), {chain})"), ["NHWC", "default"])
    axes = [n.attrs.axes for n in post_order(mod["main"]) if isinstance(n, Call) and n.op is Op.get("transpose")]
    assert set(axes) == {(0, 1, 2, 3)}
    twice = 'layout_transform(%0, src_layout="NCHW", dst_layout="NHWC")'
    assert counted(converted(program(twice), ["NHWC", "default"]))["layout_transform"] == 4  # of %x, of %w and two more


def test_convolutions_can_be_left_out_by_number():
    mod = program(
        "nn.conv2d(nn.conv2d(%0, %v, channels=2, kernel_size=[1, 1]), %v2)".replace(
            ", %v2", ", transpose(%v, axes=[1, 0, 2, 3]), channels=8, kernel_size=[1, 1]"
        )
    )
    with transform.LayoutConfig(skip_layers=[0, 2]):
        module = converted(mod, ["NHWC", "default"])
    layouts = [
        n.attrs["data_layout"]
        for n in post_order(module["main"])
        if isinstance(n, Call) and n.op is Op.get("nn.conv2d")
    ]
    assert layouts == ["NCHW", "NHWC", "NCHW"]


@pytest.mark.parametrize("network", [resnet, mobilenet], ids=lambda m: m.__name__.rpartition(".")[2])
def test_a_network_needs_no_more_than_its_ends(network: Any):
    mod = infer_module(network.get_workload(image_shape=(3, 32, 32))[0])
    module = converted(mod, ["NHWC", "default"])
    inputs = len(mod["main"].params)
    activations = [
        n for n in post_order(module["main"])
        if isinstance(n, Call) and n.op is Op.get("layout_transform") and isinstance(n.args[0], Call)
        and n.args[0].op is not Op.get("expand_dims")
    ]  # fmt: skip
    assert len(activations) <= 2
    assert counted(module)["layout_transform"] <= inputs + 2


@pytest.mark.parametrize(
    ("desired", "says"),
    [
        ({"nn.relus": ["NHWC"]}, "nn.relus"),
        ({"nn.conv2d": ["N+C"]}, "N+C"),
        ({"nn.conv2d": ["HNWC", "default"]}, "default"),
    ],
)
def test_what_cannot_be_is_refused(desired: dict[str, list[str]], says: str):
    with pytest.raises(PassValueError) as caught:
        transform.ConvertLayout(desired)(program("%0"))
    assert says in str(caught.value)


def test_an_operator_without_layouts_may_be_named():
    mod = program("nn.relu(%0)")
    assert transform.ConvertLayout({"nn.relu": ["NHWC"]})(mod) is mod


CHAIN = "%x: Tensor[(1, 32, 8, 8), float32], %w: Tensor[(32, 32, 3, 3), float32]"
PACKED = """%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c");
    %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i4o");
    %2 = nn.contrib_conv2d_NCHWc(%0, %1, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3], data_layout="NCHW4c",
                   kernel_layout="OIHW4i4o");"""


@pytest.mark.parametrize(
    ("follows", "packed"),
    [
        ("multiply(%0, %s)", 'layout_transform(multiply(%2, %s), src_layout="NCHW4c", dst_layout="NCHW")'),
        (
            "nn.pad(%0, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
            """%3 = nn.pad(%2, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1], [0, 0]]);
            layout_transform(%3, src_layout="NCHW4c", dst_layout="NCHW")""",
        ),
        (
            "strided_slice(%0, begin=[8], end=[16], strides=[1], axes=[1])",
            """%3 = strided_slice(%2, begin=[2], end=[4], strides=[1], axes=[1]);
            layout_transform(%3, src_layout="NCHW4c", dst_layout="NCHW")""",
        ),
        (
            "sum(%0, axis=[1], keepdims=True)",
            """%3 = sum(%2, axis=[1, 4], keepdims=True);
            layout_transform(%3, src_layout="NCHW1c", dst_layout="NCHW")""",
        ),
        (
            "split(%0, indices_or_sections=[8], axis=1).1",
            """%3 = split(%2, indices_or_sections=[2], axis=1);
            layout_transform(%3.1, src_layout="NCHW4c", dst_layout="NCHW")""",
        ),
        (
            "nn.upsampling(%0, scale_h=2f, scale_w=2f)",
            """%3 = nn.upsampling(%2, scale_h=2f, scale_w=2f, layout="NCHW4c");
            layout_transform(%3, src_layout="NCHW4c", dst_layout="NCHW")""",
        ),
        (
            "slice_like(%0, nn.relu(%0), axes=[2, 3])",
            None,
        ),
    ],
)
def test_what_follows_goes_along_in_blocks(follows: str, packed: str | None):
    scale = ", %s: Tensor[(1), float32]" if "%s" in follows else ""
    conv = "%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);"
    mod = infer_module(parse(f"def @main({CHAIN}{scale}) {{ {conv} {follows} }}"))
    module = infer_module(transform.ConvertLayout({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]})(mod))
    if packed is not None:
        assert structural_equal(module, infer_module(parse(f"def @main({CHAIN}{scale}) {{ {PACKED} {packed} }}")))
    want, got = (Evaluator(m).run("main", arguments(mod)) for m in (mod, module))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("channels", [8, 64])
def test_sums_in_another_order_move_by_little_beside_their_summands(channels: int):
    image, weight = f"Tensor[(1, {channels}, 6, 6), float32]", f"Tensor[({channels}, {channels}, 3, 3), float32]"
    conv = f"nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels={channels}, kernel_size=[3, 3])"
    mod = infer_module(parse(f"def @main(%x: {image}, %w: {weight}) {{ {conv} }}"))
    with transform.PassContext(opt_level=3):
        module = infer_module(transform.Sequential([transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})])(mod))
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(p.type_annotation.shape).astype("float32") for p in mod["main"].params]
    before, after = (Evaluator(m).run("main", args) for m in (mod, module))
    summands = Evaluator(mod).run("main", [np.abs(a) for a in args])
    assert module is not mod
    assert (np.abs(before - after) <= 4 * np.spacing(summands)).all()


@pytest.mark.parametrize(
    "use",
    [
        "nn.upsampling(%0, scale_h=2f, scale_w=2f)",
        "dyn.nn.upsampling(%0, 2f, 2f, scale_h=0f, scale_w=0f)",
    ],
)
def test_upsampling_goes_along_where_only_channels_are_split(use: str):
    mod = program(use)
    module = converted(mod, LAYOUTS["packed"])
    assert not brought_back(module)
    got, want = (np.asarray(Evaluator(m).run("main", arguments(mod))) for m in (module, mod))
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)


def test_a_projection_keeps_the_effects_of_the_other_fields():
    """The smallest program where a projection of a moved field lost what the field beside it writes."""
    mod = infer_module(
        parse("""
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]) {
  let %r = ref(1f);
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = (ref_write(%r, 2f), %0);
  let %y = nn.relu(%1.1);
  (%y, ref_read(%r))
}
""")
    )
    result = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)
    assert result is not mod
    (_, expected), (_, cell) = (Evaluator(m).run("main", arguments(mod)) for m in (mod, infer_module(result)))
    assert float(expected) == float(cell) == 2
