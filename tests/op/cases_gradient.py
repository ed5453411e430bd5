"""Uses of operators, in the notation of edge cases, whose gradients take other ways than those of the declared edges."""

from __future__ import annotations

_GRID = "%g: (1, 2, 2, 3)"
_ROIS = "%r: (2, 5) float32 = [[0.5, 0.35, 0.45, 3.07, 3.26], [1.5, 1.2, 1.1, 6.3, 3.3]]"
_BOXES = "%b: (2, 4) float32 = [[0.11, 0.23, 0.71, 0.86], [0.21, 0.13, 0.74, 0.95]]"
_SPARSE = "%d: (3, 2, 2), %i: (3) int32 = [0, 2, 1], %p: (3) int32 = [0, 2, 3]"

MORE: tuple[str, ...] = (
    # reductions and products
    "sum(%x: (2, 3))", "sum(%x: (2, 3), axis=[0], keepdims=True)", "sum(%x: (2, 3), axis=[0], exclude=True)",
    "mean(%x: (2, 3, 2), axis=[1], exclude=True)", "max(%x: (2, 3), axis=[0], exclude=True)",
    "min(%x: (2, 3), axis=[0], keepdims=True)", "prod(%x: (2, 3), axis=[0])", "variance(%x: (2, 3), %m: (1, 3), axis=[0])",
    "cumsum(%x: (2, 3), axis=0, exclusive=True)", "cumprod(%x: (2, 3), axis=1, exclusive=True)",
    'einsum((%x: (2, 3), %y: (4, 3), %w: (3)), equation="ij,kj,j->ik")', 'einsum((%x: (2, 3),), equation="ij->i")',
    'einsum((%x: (3, 3, 2), %y: (2, 3)), equation="iij,ji->j")', 'einsum((%x: (2, 1, 3), %y: (4, 3)), equation="a...b,...b->...a")',
    'einsum((%x: (1, 3), %y: (2, 3)), equation="ij,ij->j")', 'einsum((%x: (2, 3), %y: (3)), equation="ij,j")',
    "nn.matmul(%x: (2, 4, 3), %w: (3, 5), units=None)", "nn.matmul(%x: (2, 3, 4), %w: (5, 3), units=None, transpose_a=True, transpose_b=True)",
    "nn.matmul(%x: (2, 3, 4), %w: (3, 5), units=None, transpose_a=True)", "nn.matmul(%x: (3, 2), %w: (3, 4), units=None, transpose_a=True)",
    "nn.batch_matmul(%x: (2, 4, 3), %w: (2, 4, 5), transpose_a=True, transpose_b=False)",
    "nn.batch_matmul(%x: (1, 2, 3), %w: (2, 4, 3), transpose_b=True)", "nn.batch_matmul(%x: (2, 3, 2), %w: (1, 3, 4), transpose_a=True)",
    # results of another dtype than the data: the gradients have that of the data
    *(
        f'{use}, out_dtype="float64")'
        for use in (
            "nn.dense(%x: (2, 3) float32, %w: (4, 3) float32, units=None",
            "nn.dense(%x: (2, 2, 3) float32, %w: (4, 3) float32, units=None",
            "nn.matmul(%x: (2, 3) float32, %w: (3, 4) float32, units=None",
            "nn.matmul(%x: (2, 2, 3) float32, %w: (3, 4) float32, units=None",
            "nn.batch_matmul(%x: (2, 2, 3) float32, %w: (2, 3, 4) float32",
            "nn.conv1d(%x: (1, 2, 5) float32, %w: (3, 2, 3) float32",
            "nn.conv2d(%x: (1, 2, 4, 5) float32, %w: (3, 2, 3, 2) float32",
            "nn.conv3d(%x: (1, 2, 3, 4, 5) float32, %w: (3, 2, 2, 3, 2) float32",
            "nn.conv1d_transpose(%x: (1, 2, 5) float32, %w: (2, 3, 3) float32",
            "nn.conv2d_transpose(%x: (1, 2, 4, 5) float32, %w: (2, 3, 3, 2) float32",
            "nn.conv3d_transpose(%x: (1, 2, 3, 4, 5) float32, %w: (2, 3, 2, 3, 2) float32",
            "image.resize2d(%x: (1, 2, 3, 4) float32, size=[5, 3], roi=None",
            "image.dilation2d(%x: (1, 2, 4, 4) float32, %w: (2, 2, 2) float32",
            ("nn.deformable_conv2d(%x: (1, 2, 4, 4) float32, %o: (1, 8, 3, 3) float32, %w: (2, 2, 2, 2) float32, "
            "kernel_size=[2, 2], channels=2"),
        )
    ),
    # convolutions
    "nn.conv1d(%x: (2, 4, 9), %w: (6, 2, 3), strides=[2], padding=[2, 1], dilation=[2], groups=2)",
    'nn.conv1d(%x: (1, 3, 8), %w: (3, 1, 3), groups=3, out_layout="NWC")',
    "nn.conv2d(%x: (2, 4, 7, 6), %w: (4, 2, 3, 2), strides=[2, 3], padding=[2, 0, 1, 1], dilation=[2, 1], groups=2)",
    "nn.conv2d(%x: (1, 3, 5, 5), %w: (3, 2, 3, 3), groups=3, channels=6, kernel_size=[3, 3])",
    'nn.conv2d(%x: (1, 2, 5, 5, 2), %w: (1, 2, 3, 3, 2, 2), data_layout="NCHW2c", kernel_layout="OIHW2i2o")',
    'nn.conv2d(%x: (1, 5, 4, 4), %w: (3, 3, 2, 2), data_layout="NHWC", kernel_layout="HWIO", groups=2, out_layout="NCHW")',
    'nn.conv2d(%x: (1, 4, 4, 2), %w: (3, 3, 2, 1), data_layout="NHWC", kernel_layout="HWOI", groups=2)',
    "nn.conv3d(%x: (2, 2, 5, 4, 5), %w: (4, 1, 2, 3, 2), strides=[2, 1, 2], padding=[1, 0, 1, 0, 2, 0], dilation=[2, 1, 1], groups=2)",
    "nn.conv3d(%x: (2, 1, 4, 4, 4), %w: (2, 1, 3, 3, 3), strides=[2, 2, 2])",
    "nn.conv1d_transpose(%x: (2, 4, 4), %w: (4, 3, 3), strides=[3], padding=[1, 2], dilation=[2], groups=2, output_padding=[2])",
    'nn.conv1d_transpose(%x: (1, 4, 2), %w: (3, 2, 3), data_layout="NWC", kernel_layout="WIO")',
    "nn.conv2d_transpose(%x: (2, 4, 3, 4), %w: (4, 1, 3, 2), strides=[2, 3], padding=[1, 0, 2, 1], groups=2, output_padding=[1, 2])",
    'nn.conv2d_transpose(%x: (1, 3, 3, 2), %w: (2, 2, 2, 3), data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW")',
    "nn.conv3d_transpose(%x: (1, 2, 3, 2, 3), %w: (2, 2, 2, 2, 2), strides=[2, 1, 2], padding=[1, 0, 0], output_padding=[1, 0, 1])",
    "nn.conv3d_transpose(%x: (2, 4, 2, 2, 2), %w: (4, 1, 2, 3, 2), dilation=[2, 1, 1], groups=2)",
    'nn.conv2d_backward_weight(%g: (2, 4, 3, 3), %x: (2, 4, 6, 6), kernel_size=[3, 3], strides=[2, 2], padding=[1, 0, 1, 1], groups=2, kernel_layout="NCHW", out_layout="OIHW")',
    'nn.conv2d_backward_weight(%g: (1, 2, 2, 3), %x: (1, 4, 4, 2), kernel_size=[3, 3], data_layout="NHWC", kernel_layout="NHWC", out_layout="HWIO")',
    "nn.deformable_conv2d(%x: (2, 4, 5, 5), %o: (2, 16, 3, 2), %w: (4, 2, 2, 2), kernel_size=[2, 2], channels=4, groups=2, deformable_groups=2, strides=[2, 2], padding=[1, 0], dilation=[1, 2])",
    'nn.deformable_conv2d(%x: (1, 4, 4, 2), %o: (1, 3, 3, 8), %w: (2, 2, 2, 3), kernel_size=[2, 2], channels=3, data_layout="NHWC", kernel_layout="HWIO")',
    "nn.correlation(%x: (2, 3, 6, 7), %y: (2, 3, 6, 7), kernel_size=3, max_displacement=2, stride1=2, stride2=2, padding=[3, 3])",
    "nn.correlation(%x: (1, 2, 5, 5), %y: (1, 2, 5, 5), max_displacement=2, stride1=2, padding=[2, 2], is_multiply=False)",
    # pooling
    *(
        f"nn.{kind}_pool{rank}d(%x: (2, 3, {size}), pool_size={[3] * rank}, strides={[2] * rank}, padding={[1, 0, 1][:rank] + [1, 1, 0][:rank]}, ceil_mode=True)"
        for kind in ("max", "avg")
        for rank, size in ((1, "7"), (2, "6, 5"), (3, "5, 6, 4"))
    ),
    "nn.avg_pool3d(%x: (1, 2, 4, 5, 4), pool_size=[2, 3, 2], padding=[1, 1, 1], count_include_pad=True)",
    'nn.max_pool2d(%x: (1, 2, 4, 4, 2), pool_size=[2, 2], strides=[2, 2], layout="NCHW2c")',
    'nn.max_pool3d(%x: (1, 4, 4, 4, 2), pool_size=[2, 2, 2], dilation=[2, 1, 2], layout="NDHWC")',
    'nn.max_pool1d(%x: (1, 5, 2), pool_size=[2], layout="NWC")', 'nn.global_max_pool2d(%x: (1, 3, 2, 2), layout="NHWC")',
    "nn.max_pool2d_grad(%g: (1, 2, 3, 3), %x: (1, 2, 5, 6), pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 0])",
    'nn.max_pool2d_grad(%g: (1, 2, 3, 2), %x: (1, 4, 5, 2), pool_size=[2, 2], strides=[2, 2], ceil_mode=True, layout="NHWC")',
    "nn.avg_pool2d_grad(%g: (1, 2, 3, 3), %x: (1, 2, 5, 6), pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 0], count_include_pad=True)",
    "nn.adaptive_max_pool2d(%x: (1, 2, 7, 5), output_size=[3, 4])", "nn.adaptive_avg_pool2d(%x: (1, 2, 7, 5), output_size=[3, 4])",
    "nn.adaptive_avg_pool1d(%x: (2, 2, 7), output_size=[])", 'nn.adaptive_max_pool3d(%x: (1, 3, 4, 5, 2), output_size=[2, 3, 2], layout="NDHWC")',
    # resizing and sampling
    *(
        f'image.resize1d(%x: (1, 2, 5), size=[{size}], roi={roi}, method="{method}", coordinate_transformation_mode="{mode}", cubic_exclude={exclude})'
        for method in ("nearest_neighbor", "linear", "cubic")
        for mode, roi in (("half_pixel", None), ("align_corners", None), ("asymmetric", None), ("tf_crop_and_resize", "[0.2f, 1.1f]"))
        for size, exclude in ((3, 0), (8, 1))
    ),
    'image.resize2d(%x: (2, 3, 4, 2), size=[5, 3], roi=None, layout="NHWC", method="cubic", cubic_alpha=-0.75f)',
    'image.resize2d(%x: (1, 2, 3, 4), size=[5, 3], roi=[0.1f, 0.2f, 0.8f, 1.2f], coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3f)',
    'image.resize3d(%x: (1, 1, 3, 2, 4), size=[2, 4, 3], roi=None, method="linear")',
    'nn.upsampling(%x: (1, 2, 3, 3), scale_h=1.5f, scale_w=2f, method="bicubic")',
    "image.affine_grid(%x: (3, 2, 3), target_shape=[4, 3])",
    *(
        f'image.grid_sample(%x: (1, 2, 3, 4), {_GRID}, method="{method}", padding_mode="{beyond}", align_corners={aligned})'
        for method in ("bilinear", "nearest", "bicubic")
        for beyond in ("zeros", "border", "reflection")
        for aligned in (True, False)
    ),
    'image.grid_sample(%x: (2, 1, 2, 3, 2), %g: (2, 3, 2, 1, 2), layout="NCDHW", padding_mode="reflection")',
    f"image.crop_and_resize(%x: (2, 2, 5, 6), {_BOXES}, %i: (2) int32 = [1, 0], crop_size=[3, 4])",
    f'image.crop_and_resize(%x: (2, 5, 6, 2), {_BOXES}, %i: (2) int32 = [1, 1], crop_size=[3, 1], layout="NHWC", method="nearest_neighbor", extrapolation_value=1f)',
    "image.crop_and_resize(%x: (2, 2, 4, 4), %b: (2, 4), %i: (2) int32 = [1, 0], crop_size=[3, 4])",
    f"vision.roi_align(%x: (2, 2, 4, 5), {_ROIS}, pooled_size=[2, 3], spatial_scale=0.8f, sample_ratio=2)",
    f"contrib.roi_align(%x: (2, 2, 4, 5), {_ROIS}, pooled_size=[2, 3], spatial_scale=0.2f, sample_ratio=2)",
    f'contrib.roi_align(%x: (2, 5, 4, 2), {_ROIS}, pooled_size=[2, 2], spatial_scale=1f, sample_ratio=1, layout="NHWC", mode="max")',
    f'vision.roi_align(%x: (2, 5, 4, 2), {_ROIS}, pooled_size=[2, 2], spatial_scale=1f, sample_ratio=1, layout="NHWC", mode="max")',
    f'contrib.roi_align(%x: (2, 2, 4, 5), {_ROIS}, pooled_size=[2, 3], spatial_scale=1f, sample_ratio=2, mode="max_weighted")',
    "image.dilation2d(%x: (1, 2, 5, 6), %w: (2, 2, 3), strides=[1, 2], padding=[1, 0, 1, 1], dilations=[2, 1])",
    # what is moved, written and picked
    "take(%x: (2, 3, 4), %i: (2, 2) int32 = [[-1, 1], [5, 0]], axis=1)", "take(%x: (2, 3), %i: (3) int32 = [0, 5, 5], axis=None)",
    'take(%x: (2, 3, 4), %i: (2, 2) int32 = [[-1, 1], [5, 0]], axis=-1, mode="wrap")', 'take(%x: (2, 3), %i: (2) int32 = [-1, 0], axis=0, mode="fast")',
    "take(%x: (2, 3, 4, 2), %i: (2, 2) int32 = [[3, 1], [0, 0]], axis=2, batch_dims=1)",
    'take(%x: (2, 3, 4), %i: (2, 3, 2) int32 = [[[0, 1], [5, 1], [0, -1]], [[1, 1], [0, 2], [3, 3]]], axis=2, batch_dims=2, mode="wrap")',
    "gather_nd(%x: (2, 3, 4), %i: (1, 2, 2) int32 = [[[1, 2], [0, 0]]], batch_dims=1)", "gather_nd(%x: (2, 3), %i: (2, 2) int64 = [[0, 1], [-1, 2]])",
    "adv_index((%x: (3, 4, 2), %i: (2) int32 = [0, 2], %j: (2, 1) int64 = [[1], [-1]]))",
    *(
        f'scatter_elements(%x: (2, 3), %i: (2, 2) int64 = [[0, 0], [2, 1]], %u: (2, {width}), axis=1, reduction="{how}")'
        for how in ("update", "add", "mul", "min", "max")
        for width in (2, 3)
    ),
    *(
        f'scatter_nd(%x: (3, 2), %i: (1, 3) int64 = [[0, 2, 0]], %u: (3, 2), mode="{how}")'
        for how in ("update", "add", "mul", "min", "max")
    ),
    "sparse_to_dense(%i: (3) int64 = [0, 3, 0], %v: (3), %d: (), output_shape=[4])",
    "strided_slice(%x: (3, 4), begin=[0, -1], end=[3, -9], strides=[1, -2], axes=None)",
    "nn.pad(%x: (3, 4), %v: (), pad_width=[[-1, 2], [1, -2]])", 'nn.pad(%x: (4, 4), %v: (), pad_width=[[2, 1], [0, 2]], pad_mode="reflect")',
    "matrix_set_diag(%x: (2, 3, 4), %d: (2, 3, 3), k1=-1, k2=1)",
    "matrix_set_diag(%x: (4, 3), %d: (3, 3), k1=-1, k2=1, super_diag_right_align=False, sub_diag_right_align=True)",
    "sliding_window(%x: (2, 5, 6), axis=1, window_shape=[3, 2], strides=[2, 2])",
    'nn.depth_to_space(%x: (1, 9, 2, 1), block_size=2, layout="NCHW", mode="CRD")', 'nn.space_to_depth(%x: (1, 4, 4, 3), block_size=2, layout="NHWC")',
    "nn.batch_to_space_nd(%x: (5, 3), block_shape=[2], crops=[[1, 1]])", "nn.space_to_batch_nd(%x: (2, 3, 3), block_shape=[2, 2], paddings=[[1, 0], [0, 1]])",
    "nn.fifo_buffer(%x: (2, 2), %b: (2, 3), axis=1)", "vision.yolo_reorg(%x: (2, 8, 4, 2), stride=2)",
    'layout_transform(%x: (1, 4, 2, 3), src_layout="NCHW", dst_layout="NCHW2c")', "repeat(%x: (2, 3), repeats=2)",
    # inputs that say how
    'dyn.full(%v: (), %s: (1) int64 = [3], shape=None, dtype="float64")',
    "dyn.tile(%x: (3), %r: (2) int32 = [2, 2], reps=[])", "dyn.tile(%x: (2, 3, 1), %r: (1) int32 = [2], reps=[])",
    'dyn.strided_slice(%x: (4, 5), %b: (2) int64 = [1, -3], %e: (2) int64 = [-1, 2], %s: (2) int64 = [1, 1], begin=None, end=None, strides=None, slice_mode="size", axes=None)',
    'dyn.topk(%x: (3, 4), %k: () int32 = 2, k=None, ret_type="values", is_ascend=True)',
    "dyn.nn.pad(%x: (3, 3), %w: (2, 2) int64 = [[1, -1], [-1, 2]], %v: (), pad_width=[])",
    "arange(%a: () float64 = 0.5, %b: () float64 = 6.25, %c: () float64 = 1.5, start=None, stop=None, step=None, dtype=\"float64\")",
    # signals, draws, sparse and quantized data
    "stft(%x: (9), %w: (4), n_fft=4, hop_length=3, win_length=4, normalized=True)", "stft(%x: (2, 9), %w: (3), n_fft=5, hop_length=2, win_length=4, onesided=False)",
    "dft(%x: (2, 4), %y: (2, 4), inverse=True)",
    'random.uniform(%key: (10) uint64, %l: (), %h: (), out_shape=[2, 3], out_dtype="float64")',
    'random.normal(%key: (10) uint64, %m: (), %s: (), out_shape=[2, 3], out_dtype="float64")',
    f"nn.sparse_dense(%x: (5, 6), {_SPARSE}, sparse_lhs=True)", f"nn.sparse_dense(%x: (3, 6), {_SPARSE})",
    "nn.sparse_add(%x: (2, 3), %d: (3), %i: (3) int32 = [2, 0, 1], %p: (3) int32 = [0, 1, 3])",
    "nn.sparse_dense(%x: (2, 3), %d: (4), %i: (4) int32 = [0, 2, 1, 1], %p: (4) int32 = [0, 2, 2, 3])",
    'nn.sparse_conv2d(%x: (1, 2, 3, 2), %d: (3), %i: (3) int32 = [0, 7, 16], %p: (3) int32 = [0, 2, 3], kernel_size=[3, 3])',
    'nn.sparse_conv2d(%x: (1, 2, 3, 2), %d: (3), %i: (3) int32 = [0, 1, 1], %p: (3) int32 = [0, 2, 3], layout="NCHW")',
    "nn.sparse_transpose(%d: (4), %i: (4) int32 = [2, 0, 1, 0], %p: (4) int32 = [0, 2, 3, 4])",
    "sparse_fill_empty_rows(%i: (3, 2) int64 = [[3, 1], [1, 0], [1, 1]], %v: (3), %s: (2) int64 = [5, 3], %d: (1))",
    "qnn.simulated_dequantize(%x: (2, 3), %c: () int32 = 2, %s: (3), %z: (3), out_dtype=\"float32\")",
    'qnn.dequantize(%q: (2, 3) int8, %s: (3) float32, %z: (3) int32, out_dtype="float32", axis=1)',
    'nn.nll_loss(%x: (2, 3, 2), %t: (2, 2) int32 = [[0, 1], [2, -1]], %w: (3), reduction="mean", ignore_index=-1)',
    "nn.lrn(%x: (1, 6, 2), size=4, alpha=0.5f, beta=0.6f, bias=1.5f)", "nn.group_norm(%x: (2, 6, 2), %g: (6), %b: (6), num_groups=3, center=False)",
    "nn.l2_normalize(%x: (2, 3), eps=1.5f, axis=[])",
)  # fmt: skip

# Uses without a gradient, of operators that have one otherwise, and what the refusal says.
REFUSED: dict[str, str] = {
    (
        "vision.roi_align(%x: (2, 2, 4, 5), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 1, 1, 9, 2]], "
        "pooled_size=[2, 2], spatial_scale=0.5f)"
    ): "as many samples as it has pixels",
    (
        "contrib.roi_align(%x: (2, 2, 4, 5), %r: (5, 5) float32 = [[0, 0, 0, 3, 3], [1, 1, 1, 9, 2], "
        "[0, 1, 1, 1.5, 1.25], [1, 2, 2, 2, 2], [1, 3, 3, 1, 4]], pooled_size=[2, 2], spatial_scale=0.5f)"
    ): "as many samples as it has pixels",
    'scatter_elements(%x: (2, 3), %i: (1, 3) int32 = [[1, 0, -1]], %u: (1, 3), axis=0, reduction="mean")': "depends on",
    (
        "dyn.strided_slice(%x: (4, 5), %b: (1) int64 = [1], %e: (1) int64 = [3], %s: (1) int64 = [1], begin=None, "
        "end=None, strides=None, axes=[1])"
    ): "chosen axes",
    'dyn.nn.pad(%x: (2, 3), %w: (2, 2) int64 = [[1, 0], [0, 2]], %v: (), pad_width=[], pad_mode="edge")': "constant",
}
