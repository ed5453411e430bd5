"""The operators of neural networks. Importing this package declares all of them."""

from __future__ import annotations

from passlab.op.nn import activation, conv, conv_transpose, dense, matmul, normalize, pad, pool, upsampling
