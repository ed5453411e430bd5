"""Passes that change the dtypes of a computation, quantization included."""
