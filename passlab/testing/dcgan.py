"""The generator of DCGAN: images from noise by transposed convolutions (Radford et al., 2015)."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var


def _deconv(data: Expr, channels: int, size: tuple[int, int], name: str, layout: str) -> Expr:
    """A transposed convolution by 4x4 windows, two apart, whose result has `size`."""
    return layers.conv2d_transpose(
        data,
        kernel_size=(4, 4),
        strides=(2, 2),
        channels=channels,
        padding=(1, 1),
        output_padding=(size[0] % 2, size[1] % 2),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
        name=name,
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Return the network: `code` (by default the variable `data`) of `random_len` numbers to images of `oshape`.

    Raises `PasslabError` when the images are not 64 by 64.
    """
    if layout == "NCHW":
        channels, height, width = oshape
    else:
        height, width, channels = oshape
    if (height, width) != (64, 64):
        raise PasslabError(Diagnostic("this generator makes images of 64 by 64", found=str(oshape)))
    net: Expr = var("data", (batch_size, random_len), dtype) if code is None else code
    net = op("nn.relu", op("nn.dense", net, var("dense_weight"), units=4 * 4 * ngf * 8))
    net = op("reshape", net, newshape=(-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8))
    for name, times, size in (("g2", 4, 8), ("g3", 2, 16), ("g4", 1, 32)):
        net = _deconv(net, ngf * times, (size, size), f"{name}_deconv", layout)
        axis, epsilon = layout.index("C"), 1e-5 + 1e-12
        net = layers.batch_norm_infer(net, epsilon=epsilon, scale=False, axis=axis, name=f"{name}_batch_norm")
        net = op("nn.relu", net)
    return close_over(op("tanh", _deconv(net, channels, (64, 64), "g5_deconv", layout)))


def get_workload(
    batch_size: int,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, layout, dtype))
