"""What instructions call to compute: kernels of primitive functions, shape functions, and their providers."""
