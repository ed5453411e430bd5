"""Convolutions, including transposed and deformable ones."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.windows import AUTO, spatial_rank, windows_of
from passlab.frontend.pooling import Windows, split_padding
from passlab.ir.expr import Expr


def kernel_of(n: OnnxNode, weight: Expr) -> list[int]:
    """Return the size of a kernel: the attribute of the node, or else the size of its weight."""
    return n.integers("kernel_shape", None) or list(n.static_shape(weight, range(2, n.rank(weight))))


def convolve(n: OnnxNode, x: Expr, weight: Expr, windows: Windows, out_dtype: str = "") -> Expr:
    """Return the convolution of an image without its bias."""
    return n(
        f"nn.conv{windows.rank}d",
        x,
        weight,
        strides=windows.strides,
        padding=windows.pads,
        dilation=windows.dilations,
        groups=n.integer("group", 1),
        channels=n.static_shape(weight, [0])[0],
        kernel_size=windows.kernel,
        out_dtype=out_dtype,
    )


@onnx_operator("Conv", 1, 11, 22)
def conv(n: OnnxNode, x: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """`nn.conv1d`, `nn.conv2d` or `nn.conv3d`, and `nn.bias_add`."""
    spatial_rank(n, x)
    image, windows = windows_of(n, x, kernel_of(n, weight))
    result = convolve(n, image, weight, windows)
    return result if bias is None else n("nn.bias_add", result, bias, axis=1)


@onnx_operator("ConvTranspose", 1, 11, 22)
def conv_transpose(n: OnnxNode, x: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """`nn.conv1d_transpose`, `nn.conv2d_transpose` or `nn.conv3d_transpose`, and `nn.bias_add`."""
    rank, kernel, groups = spatial_rank(n, x), kernel_of(n, weight), n.integer("group", 1)
    strides, dilations = n.integers("strides", None) or [1] * rank, n.integers("dilations", None) or [1] * rank
    if not rank == len(kernel) == len(strides) == len(dilations):
        n.refuse("has windows of another rank than its image")
    extent = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    pads, output_padding = _transposed_padding(n, x, strides, extent)
    extension = [min(pad, 0) for pad in pads]  # negative padding extends the result, which is done by `nn.pad` below
    result = n(
        f"nn.conv{rank}d_transpose",
        x,
        weight,
        strides=strides,
        padding=[max(pad, 0) for pad in pads],
        dilation=dilations,
        groups=groups,
        channels=n.static_shape(weight, [1])[0] * groups,
        kernel_size=kernel,
        output_padding=output_padding,
    )
    if any(extension):
        sides = [[-before, -after] for before, after in zip(extension[:rank], extension[rank:], strict=True)]
        result = n("nn.pad", result, pad_width=[[0, 0], [0, 0], *sides])
    return result if bias is None else n("nn.bias_add", result, bias, axis=1)


def _transposed_padding(n: OnnxNode, x: Expr, strides: list[int], extent: list[int]) -> tuple[list[int], list[int]]:
    """Return the padding at both ends and the output padding: explicit, or chosen for the size of the result.

    The padding of a transposed convolution crops its result. It is negative if the result is larger than the windows.
    """
    rank = len(strides)
    auto, output_shape = n.choice("auto_pad", "NOTSET", AUTO), n.integers("output_shape", None)
    output_padding = n.integers("output_padding", None) or [0] * rank
    if output_shape is None and not auto.startswith("SAME"):
        return (n.integers("pads", None) if auto == "NOTSET" else None) or [0] * 2 * rank, output_padding
    lengths = n.static_shape(x, range(2, 2 + rank))
    # SAME gives the size of the image times the stride.
    sizes = (
        output_shape[-rank:] if output_shape else [length * step for length, step in zip(lengths, strides, strict=True)]
    )
    totals = [
        step * (length - 1) + extra + window - size  # the size without padding, minus the size that is wanted
        for length, step, window, extra, size in zip(lengths, strides, extent, output_padding, sizes, strict=True)
    ]
    return split_padding(totals, auto == "SAME_UPPER"), output_padding


@onnx_operator("DeformConv", 19, 22)
def deformable_conv(
    n: OnnxNode, x: Expr, weight: Expr, offset: Expr, bias: Expr | None = None, mask: Expr | None = None
) -> Expr:
    """`nn.deformable_conv2d`, and `nn.bias_add`."""
    if mask is not None:
        n.refuse("weighs its taps with a mask", hint="Relay's `nn.deformable_conv2d` has none")
    x, windows = windows_of(n, x, kernel_of(n, weight))
    rank = windows.rank
    if rank != 2 or windows.pads[:rank] != windows.pads[rank:]:
        n.refuse("is supported on images with two spatial axes, padded alike at both ends")
    result = n(
        "nn.deformable_conv2d",
        x,
        offset,
        weight,
        strides=windows.strides,
        padding=windows.pads[:rank],
        dilation=windows.dilations,
        deformable_groups=n.integer("offset_group", 1),
        groups=n.integer("group", 1),
        channels=n.static_shape(weight, [0])[0],
        kernel_size=windows.kernel,
    )
    return result if bias is None else n("nn.bias_add", result, bias, axis=1)
