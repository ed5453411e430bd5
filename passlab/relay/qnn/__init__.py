"""Quantized operators, in `relay.qnn.op`."""

from passlab.relay.qnn import op

__all__ = ["op"]
