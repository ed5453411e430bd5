"""Quantized operators, in `relay.qnn.op`, and the passes over them, in `relay.qnn.transform`."""

from passlab.relay.qnn import op, transform

__all__ = ["op", "transform"]
