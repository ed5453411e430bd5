"""Executables as bytes and back: nothing in a file is believed before it is checked."""
