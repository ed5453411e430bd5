"""The running engine: verified bytecode as Python functions."""
