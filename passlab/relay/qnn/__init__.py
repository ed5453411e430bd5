"""Quantized operators, here (`relay.qnn.quantize`) and in `relay.qnn.op`, and their passes in `relay.qnn.transform`."""

from passlab.relay.operators import operator_module
from passlab.relay.qnn import op, transform

__getattr__, __dir__ = operator_module(__name__, "qnn.")
__all__ = ["op", "transform"]
