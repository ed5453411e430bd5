"""The compiled engine: verified bytecode as Python functions."""
