"""Passes that differentiate."""
