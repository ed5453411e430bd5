"""Passes that change the dtypes a program computes in, quantization included."""
