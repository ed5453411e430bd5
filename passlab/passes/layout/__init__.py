"""Passes that change the memory layout of tensors, and legalize operators."""
