"""The operators of neural networks. Importing this package declares all of them."""

from __future__ import annotations

from passlab.op.nn import (
    activation,
    backward,
    conv,
    conv_transpose,
    correlation,
    deformable,
    dynamic,
    loss,
    matmul,
    normalize,
    packed,
    pad,
    pool,
    rearrange,
    recurrent,
    sparse,
    upsampling,
)
