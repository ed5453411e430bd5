"""Functions for rewrites of quantized operators, in `relay.qnn.op.canonicalizations`."""

from passlab.passes.precision.lookup_tables import create_integer_lookup_op, create_integer_lookup_table, run_const_expr

__all__ = ["create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr"]
