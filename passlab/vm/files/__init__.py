"""Executables as bytes and back: all bytes of a file are checked before use."""
