"""The operators on quantized tensors as functions: `relay.qnn.op.quantize(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "qnn.", ("qnn",))
