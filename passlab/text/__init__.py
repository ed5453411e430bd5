"""Relay text, both ways: `parser` reads it, `printer` writes it, `library` holds the standard library written in it."""
