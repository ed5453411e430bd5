"""The operators of neural networks."""
