"""Passes that make a program smaller without changing what it computes."""
