"""Optimizations of a program together with its parameters: each module has `convert(func, params, ...)`."""

from passlab.relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
