"""The operators of quantized networks: integers represent `scale * (integer - zero_point)`."""

from __future__ import annotations

from passlab.op.qnn import arithmetic, products, quantize
