"""Passes that change what the functions of a program are."""
