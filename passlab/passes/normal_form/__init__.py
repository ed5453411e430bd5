"""Passes that bring a program into a normal form."""
