"""Uses of operators, in the notation of edge cases, that give attributes values which no declared edge gives them."""

from __future__ import annotations

_DYN = "%s: (2) int64 = [6, 3], %r: (4) float32"
_NMS = (
    "%x: (1, 4, 7) float32 = [[[0.9, 9, 0, 0, 2, 2, 0], [0.8, 9, 0, 0, 2, 1.9, 0], [0.6, 9, 0, 0, 2, 1.9, 1], "
    "[0.7, 9, 5, 5, 6, 6, 1]]], %c: (1) int32 = [4], %i: (1, 4) int32 = [[0, 1, 2, 3]]"
)
_LOC = (
    "%p: (1, 3, 2) float32 = [[[0.1, 0.8], [0.9, 0.2], [0.4, 0.3]]], %l: (1, 8) float32, "
    "%a: (1, 2, 4) float32 = [[[0.1, 0.1, 0.4, 0.5], [0.2, 0.2, 0.8, 0.9]]]"
)
_RPN = (
    "%p: (1, 2, 2, 2) float32 = [[[[0, 0], [0, 0]], [[0.9, 0.3], [0.5, 0.7]]]], %m: (1, 4, 2, 2) float32 = "
    "[[[[0, 0.1], [0, -0.1]], [[0, 0], [0.1, 0]], [[0, 0.2], [0, 0]], [[0, 0], [-0.2, 0]]]], "
    "%i: (1, 3) float32 = [[64, 64, 1]], scales=[1f], ratios=[1f], rpn_pre_nms_top_n=4, rpn_post_nms_top_n=3"
)
_SCALES = "0.25f, 1, 0.125f, -2, 0.5f, 3"

VALUES: tuple[str, ...] = (
    "argmax(%x: (2, 4), axis=[1], select_last_index=True)", "argmin(%x: (2, 4), axis=[0], select_last_index=True)",
    "contrib_reverse_reshape(%x: (0, 3), newshape=[3, 0], allowzero=True)",
    "dyn.reshape(%x: (0, 3), %s: (2) int64 = [3, 0], newshape=[], allowzero=True)",
    *(
        f'dyn.image.resize2d(%x: (1, 2, 3, 4), {_DYN} = [0, 0, 0, 0], size=None, roi=None, {how})'
        for how in (
            'method="cubic", cubic_alpha=-0.75f, cubic_exclude=1',
            'method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"',
            'out_dtype="float64"',
        )
    ),
    (
        f"dyn.image.resize2d(%x: (1, 3, 4, 2), {_DYN} = [0.1, 0.2, 0.8, 1.2], size=None, roi=None, "
        'layout="NHWC", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3f)'
    ),
    *(
        f"dyn.nn.pad(%x: (3, 3), %w: (2, 2) int64 = [[1, 0], [0, 2]], %v: (), pad_width=[], pad_mode=\"{mode}\")"
        for mode in ("edge", "reflect")
    ),
    (
        "dyn.nn.upsampling(%x: (1, 2, 3, 2), %h: () float32 = 2, %w: () float32 = 1.5, scale_h=0f, scale_w=0f, "
        'layout="NHWC", method="bilinear", align_corners=True)'
    ),
    (
        "dyn.nn.upsampling3d(%x: (1, 2, 2, 3, 1), %d: () float32 = 2, %h: () float32 = 1, %w: () float32 = 2, "
        'scale_d=0f, scale_h=0f, scale_w=0f, layout="NDHWC", method="trilinear", '
        'coordinate_transformation_mode="align_corners")'
    ),
    "gather_nd(%x: (2, 3), %i: (1, 2) int32 = [[1, 0]], index_rank=1)",
    (
        "image.crop_and_resize(%x: (2, 1, 3, 4) float32, %b: (1, 4) float32 = [[0.1, 0.2, 0.8, 0.9]], "
        '%i: (1) int32 = [1], crop_size=[2, 3], out_dtype="float64")'
    ),
    'image.dilation2d(%x: (1, 2, 4, 4) float32, %w: (2, 2, 2) float32, out_dtype="float64")',
    'image.resize1d(%x: (1, 2, 5), size=[7], roi=None, method="cubic", cubic_alpha=-0.75f, out_dtype="float64")',
    (
        'image.resize1d(%x: (1, 2, 5), size=[7], roi=[0.2f, 1.3f], coordinate_transformation_mode="tf_crop_and_resize", '
        "extrapolation_value=-2f)"
    ),
    'image.resize2d(%x: (1, 2, 3, 4), size=[5, 3], roi=None, method="cubic", cubic_exclude=1, out_dtype="float64")',
    (
        'image.resize3d(%x: (1, 1, 3, 2, 4), size=[2, 4, 3], roi=[0.1f, 0f, 0.2f, 0.9f, 1f, 1.2f], '
        'coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2f, out_dtype="float64")'
    ),
    (
        'image.resize3d(%x: (1, 1, 3, 2, 4), size=[2, 4, 3], roi=None, method="cubic", cubic_alpha=-0.75f, '
        "cubic_exclude=1)"
    ),
    'nn.avg_pool2d_grad(%g: (1, 2, 3, 2), %x: (1, 4, 5, 2), pool_size=[2, 2], strides=[2, 2], ceil_mode=True, layout="NHWC")',
    "nn.avg_pool2d_grad(%g: (1, 2, 2, 3), %x: (1, 2, 4, 5), pool_size=[2, 2], dilation=[2, 2])",
    # windows in padding alone, and the rule for halves where none is given
    "nn.max_pool1d(%x: (1, 2, 5), pool_size=[1], padding=[2])", "nn.max_pool2d(%x: (1, 2, 3, 3), pool_size=[1, 2], padding=[1, 2])",
    "nn.max_pool3d(%x: (1, 1, 2, 2, 2), pool_size=[1, 1, 1], padding=[1, 0, 1])",
    'image.resize1d(%x: (1, 2, 4), size=[7], roi=None, method="nearest_neighbor", rounding_method="")',
    'image.resize2d(%x: (1, 1, 4, 3), size=[7, 6], roi=None, method="nearest_neighbor", rounding_method="", coordinate_transformation_mode="align_corners")',
    'image.resize3d(%x: (1, 1, 2, 3, 2), size=[3, 5, 4], roi=None, method="nearest_neighbor", rounding_method="")',
    "nn.max_pool2d_grad(%g: (1, 2, 2, 3), %x: (1, 2, 4, 5), pool_size=[2, 2], dilation=[2, 2])",
    'nn.batch_matmul(%x: (2, 2, 3) int8, %y: (2, 3, 2) int8, out_dtype="int32")',
    "nn.batch_norm(%x: (2, 3, 2), %g: (3), %b: (3), %m: (3), %v: (3) T = [0.5, 1, 2], epsilon=0.25f)",
    'nn.conv1d(%x: (1, 2, 5) int8, %w: (3, 2, 3) int8, channels=3, kernel_size=[3], out_dtype="int32")',
    'nn.conv1d_transpose(%x: (1, 2, 3) int8, %w: (2, 3, 2) int8, channels=3, kernel_size=[2], out_layout="NWC", out_dtype="int32")',
    (
        "nn.conv2d_backward_weight(%g: (1, 2, 2, 2) int8, %x: (1, 2, 5, 5) int8, kernel_size=[2, 2], dilation=[3, 3], "
        'channels=2, kernel_layout="NCHW", out_layout="OIHW", out_dtype="int32")'
    ),
    'nn.conv2d_transpose(%x: (1, 2, 2, 3) int8, %w: (2, 3, 2, 2) int8, channels=3, kernel_size=[2, 2], out_dtype="int32")',
    (
        "nn.conv3d(%x: (1, 2, 3, 3, 3) int8, %w: (2, 2, 2, 2, 2) int8, channels=2, kernel_size=[2, 2, 2], "
        'out_layout="NDHWC", out_dtype="int32")'
    ),
    (
        "nn.conv3d_transpose(%x: (1, 2, 2, 2, 2) int8, %w: (2, 2, 2, 3, 2) int8, channels=3, kernel_size=[2, 2, 2], "
        'data_layout="NDHWC", kernel_layout="DHWOI", out_layout="NCDHW", out_dtype="int32")'
    ),
    (
        "nn.deformable_conv2d(%x: (1, 2, 4, 4) float32, %o: (1, 8, 3, 3) float32, %w: (2, 2, 2, 2) float32, "
        'kernel_size=[2, 2], channels=2, out_layout="NHWC", out_dtype="float64")'
    ),
    "nn.group_norm(%x: (2, 3, 4), %g: (4), %b: (4), num_groups=2, axis=-1, epsilon=0.25f)",
    "nn.instance_norm(%x: (2, 3, 4), %g: (3), %b: (3), epsilon=0.25f, scale=False)",
    "nn.layer_norm(%x: (2, 3), %g: (3), %b: (3), epsilon=0.25f)", "nn.lrn(%x: (1, 2, 5), axis=-1, size=3)",
    "nn.internal.sparse_dense_padded(%x: (4, 3), %d: (3), %i: (3) int32 = [0, 2, 1], %p: (3) int32 = [0, 2, 3], sparse_lhs=True)",
    'nn.matmul(%x: (2, 3) int8, %w: (3, 4) int8, units=None, out_dtype="int32")',
    (
        'nn.upsampling3d(%x: (1, 2, 2, 3, 1), scale_d=2f, scale_h=2f, scale_w=1f, layout="NDHWC", method="trilinear", '
        'coordinate_transformation_mode="align_corners")'
    ),
    'nn.upsampling(%x: (1, 2, 3, 2), scale_h=2f, scale_w=1.5f, method="bilinear")',
    *(
        f"{name}(%q: (2, 3) int8, %r: (2, 3) int8, %s: (3) float32 = [0.25, 0.5, 1], 1, %t: (3) float32 = [0.125, 1, 2], "
        "-2, 0.5f, 3, lhs_axis=1, rhs_axis=1)"
        for name in ("qnn.add", "qnn.mul", "qnn.subtract")
    ),
    (
        "qnn.avg_pool2d(%q: (1, 4, 5, 2) int8, 0.5f, 1, 0.5f, 1, pool_size=[2, 2], strides=[2, 2], "
        'padding=[1, 0, 1, 0], layout="NHWC", ceil_mode=True, count_include_pad=True)'
    ),
    "qnn.avg_pool2d(%q: (1, 2, 5, 5) int8, 0.5f, 1, 0.5f, 1, pool_size=[2, 2], dilation=[2, 2])",
    (
        "qnn.conv2d(%q: (1, 2, 6, 6) uint8, %w: (3, 2, 2, 2) int8, 128, -3, 0.5f, 0.5f, channels=3, kernel_size=[2, 2], "
        'strides=[2, 1], dilation=[2, 3], out_dtype="int32")'
    ),
    (
        "qnn.conv2d_transpose(%q: (1, 3, 3, 2) uint8, %w: (2, 2, 1, 2) int8, 128, -3, 0.5f, 0.5f, channels=2, "
        "kernel_size=[2, 2], strides=[2, 2], padding=[1, 0], output_padding=[1, 0], dilation=[1, 2], groups=2, "
        'data_layout="NHWC", kernel_layout="HWOI", out_dtype="int32")'
    ),
    'qnn.quantize(%x: (3, 2) float32, %s: (3) float32 = [0.5, 0.25, 2], %z: (3) int32 = [0, 1, 2], out_dtype="int8", axis=0)',
    'qnn.dequantize(%q: (3, 2) int8, %s: (3) float32 = [0.5, 0.25, 2], %z: (3) int32 = [0, 1, 2], out_dtype="float32", axis=0)',
    (
        "qnn.requantize(%q: (3, 2) int32, %s: (3) float32 = [0.5, 0.25, 2], 1, 0.25f, 2, axis=0, "
        'compute_dtype="float32", out_dtype="int8")'
    ),
    'qnn.requantize(%q: (3, 2) int32, 0.5f, 1, 0.3f, 2, compute_dtype="float64", out_dtype="int8")',
    "qnn.simulated_quantize(%x: (3, 2) float32, 2, %s: (3) float32 = [0.5, 0.25, 2], %z: (3) int32 = [0, 1, 2], axis=0)",
    (
        "qnn.simulated_dequantize(%x: (3, 2) float32, 2, %s: (3) float32 = [0.5, 0.25, 2], "
        '%z: (3) int32 = [0, 1, 2], axis=0, out_dtype="float32")'
    ),
    "qnn.softmax(%q: (2, 3, 2) int8, 0.25f, 1, 0.125f, 3, axis=1)",
    *(
        f'relay.op.annotation.simulated_quantize(%x: (2, 3), 0.5f, -4f, 3f, kind=1, sign=False, rounding="{how}")'
        for how in ("floor", "ceil")
    ),
    "reshape_like(%x: (2, 12), %y: (5, 3, 4), lhs_begin=1, rhs_begin=1, rhs_end=3)",
    "variance(%x: (2, 3), %m: (1, 3), axis=[1], exclude=True)",
    "vision.get_valid_counts(%x: (2, 3, 6), 0.1f, score_threshold=0.25f, id_index=5, score_index=4)",
    "vision.multibox_prior(%x: (1, 2, 2, 3), sizes=[0.5f], ratios=[2f], steps=[0.25f, 0.5f], offsets=[0.25f, 0.75f])",
    f"vision.multibox_transform_loc({_LOC}, clip=False, variances=[0.2f, 0.1f, 0.3f, 0.4f], keep_background=True)",
    f"vision.non_max_suppression({_NMS}, -1, 0.5f, score_index=0, coord_start=2, id_index=6, top_k=3)",
    (
        "vision.non_max_suppression(%x: (1, 3, 6) float32 = [[[0, 0, 2, 2, 1, 0.9], [0, 0, 2, 1.9, 1, 0.8], "
        "[5, 5, 6, 6, 0, 0.7]]], %c: (1) int32 = [3], %i: (1, 3) int32 = [[0, 1, 2]], -1, 0.5f, score_index=5, "
        "coord_start=0, id_index=4)"
    ),
    (
        f"vision.non_max_suppression({_NMS}, -1, 0.5f, score_index=0, coord_start=2, id_index=6, return_indices=False, "
        "invalid_to_bottom=True)"
    ),
    f"vision.proposal({_RPN}, rpn_min_size=1, feature_stride=8, threshold=0.4f)",
    f"vision.proposal({_RPN}, rpn_min_size=1, iou_loss=True)",
    (
        "vision.roi_pool(%x: (2, 4, 5, 2), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 2, 1, 9, 4]], "
        'pooled_size=[2, 2], spatial_scale=0.5f, layout="NHWC")'
    ),
    "sequence_mask(%x: (3, 2), %n: (2) int64 = [0, 2], mask_value=2f, axis=0)",
    # without elements
    *(
        f"nn.{name}(%x: (0, 2, 2, 3), %y: (0, 2, 2, 3), max_displacement=0)" for name in ("correlation",)
    ),
    "image.grid_sample(%x: (0, 2, 3, 4), %g: (0, 2, 2, 2))", "image.dilation2d(%x: (0, 2, 4, 4), %w: (2, 2, 2))",
    "image.crop_and_resize(%x: (2, 1, 3, 4), %b: (0, 4) float32, %i: (0) int32, crop_size=[2, 3])",
    "nn.avg_pool2d_grad(%g: (0, 2, 2, 2), %x: (0, 2, 4, 4), pool_size=[2, 2], strides=[2, 2])",
    "nn.max_pool2d_grad(%g: (0, 2, 2, 2), %x: (0, 2, 4, 4), pool_size=[2, 2], strides=[2, 2])",
    'nn.conv2d_backward_weight(%g: (0, 3, 2, 3), %x: (0, 2, 4, 5), kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW")',
    "nn.deformable_conv2d(%x: (0, 2, 4, 4), %o: (0, 8, 3, 3), %w: (2, 2, 2, 2), kernel_size=[2, 2], channels=2)",
    "nn.dilate(%x: (0, 3), strides=[2, 2])", "nn.upsampling3d(%x: (0, 1, 2, 2, 2), scale_d=2f, scale_h=1f, scale_w=2f)",
    'nn.nll_loss(%x: (0, 2), %t: (0) int32, %w: (2), reduction="sum", ignore_index=1)',
    "nn.sparse_conv2d(%x: (0, 2, 2, 2), %d: (2, 1, 1), %i: (2) int32 = [0, 1], %p: (3) int32 = [0, 1, 2])",
    "nn.sparse_transpose(%d: (0), %i: (0) int32, %p: (3) int32 = [0, 0, 0])", "tile(%x: (0, 3), reps=[2, 1])",
    "broadcast_to(%x: (0, 1), shape=[0, 3])", "dyn.tile(%x: (0, 3), %r: (2) int64 = [2, 1], reps=[])",
    "sparse_to_dense(%i: (0, 2) int32, %v: (0), %d: (), output_shape=[2, 3])",
    "dyn.sparse_to_dense(%i: (0, 1) int32, %v: (0), %d: (), %s: (1) int32 = [4])",
    "dyn.strided_slice(%x: (0, 5), %b: (2) int64 = [0, 1], %e: (2) int64 = [9, 3], %s: (2) int64 = [1, 1], begin=None, end=None, strides=None, axes=None)",
    "vision.roi_align(%x: (1, 2, 4, 4), %r: (0, 5) float32, pooled_size=[2, 2], spatial_scale=1f)",
    "vision.roi_pool(%x: (1, 2, 4, 4), %r: (0, 5) float32, pooled_size=[2, 2], spatial_scale=1f)",
    "vision.yolo_reorg(%x: (0, 4, 2, 4), stride=2)",
)  # fmt: skip

# Attributes that are held elsewhere, since their result has another form.
ELSEWHERE: dict[tuple[str, str], str] = {
    ("vision.all_class_non_max_suppression", "output_format"): "tests/op_nn/test_vision.py",
}
# Attributes that have no say in the value, and why: Relay's records have them.
_LAYOUT = "the result is in the layout of the data"
_OF_THE_DATA = ("broadcast_to", "collapse_sum_to", "dyn.broadcast_to", "sort")
IDLE: dict[tuple[str, str], str] = {
    **{
        (f"nn.{kind}_pool{rank}d", "out_layout"): _LAYOUT
        for kind in ("max", "avg", "adaptive_max", "adaptive_avg")
        for rank in (1, 2, 3)
    },
    **{
        (name, "out_layout"): _LAYOUT
        for name in (
            "nn.global_avg_pool2d", "nn.global_max_pool2d", "nn.avg_pool2d_grad", "nn.max_pool2d_grad",
            "qnn.avg_pool2d", "qnn.conv2d", "qnn.conv2d_transpose",
        )
    },
    **{(name, "dtype"): "the result has the dtype of the data" for name in _OF_THE_DATA},
    ("nn.correlation", "layout"): "there is one choice",
    ("nn.dropout", "rate"): "at inference nothing is dropped",
    ("nn.space_to_depth", "mode"): "it is that of nn.depth_to_space, whose record is shared",
    ("dyn.image.resize2d", "size"): "an input of the operator",
    ("dyn.image.resize2d", "roi"): "an input of the operator",
    ("on_device", "virtual_device"): "it says where, not what",
    ("on_device", "constrain_body"): "it says where, not what",
}  # fmt: skip
