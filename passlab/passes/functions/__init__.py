"""Passes that change the functions of a program: inlining, lifting, calling conventions."""
