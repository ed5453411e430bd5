"""Passes that compute parts of a program at compile time."""
