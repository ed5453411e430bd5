"""Functions for rewrites of quantized operators, in `relay.qnn.op.legalizations`."""

from passlab.passes.precision.lookup_tables import hardswish_func

__all__ = ["hardswish_func"]
