"""Operators on quantized tensors at Relay's addresses: `relay.qnn.op.quantize`, and passes in `relay.qnn.transform`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(
    __name__, "qnn.", names={name: f"passlab.relay.qnn.{name}" for name in ("op", "transform")}
)
