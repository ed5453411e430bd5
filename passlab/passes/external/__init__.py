"""Passes that hand parts of a program to external compilers."""
