"""Quantized operators (`relay.qnn.quantize`, also in `relay.qnn.op`), and the passes over them in `relay.qnn.transform`."""

from passlab.relay.operators import operator_module
from passlab.relay.qnn import op, transform

__getattr__, __dir__ = operator_module(__name__, "qnn.")
__all__ = ["op", "transform"]
